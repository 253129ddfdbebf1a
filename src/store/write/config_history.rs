//! What people do and what files say: acknowledgements, actions, and the fleet in force.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use crate::domain::action::{Action, Asked};
use crate::domain::fleet::Fleet;
use crate::domain::fleet_files::{FileWord, FleetFiles};
use crate::domain::monitor::MonitorId;
use crate::store::server::leases;
use crate::store::sql::connection::Connection;
use crate::store::sql::rows::Rows;
use crate::store::sql::statement::query;
use crate::store::values::change_set::TimelineRow;
use crate::store::values::column::id_of;
use crate::store::values::error::StoreError;
use crate::store::write::actions;
use crate::store::write::append::Names;
use crate::store::write::config_files::KeptFiles;
use crate::store::write::decide::{lapse, timeline};

static MONITORS: Rows =
    Rows::new("INSERT INTO monitors (id, first_seen) VALUES ", 2, " ON CONFLICT (id) DO UPDATE SET removed_at = NULL");
static CANARIES: Rows = Rows::new(
    "INSERT INTO canaries (monitor, id, definition_hash, first_seen) VALUES ",
    4,
    " ON CONFLICT (monitor, id) DO UPDATE SET definition_hash = excluded.definition_hash, removed_at = NULL",
);

/// What is remembered of a fleet that came into force.
#[derive(Debug, Clone)]
pub(in crate::store) struct FleetNote {
    file: String,
    hash: String,
    declared: String,
    word: FileWord,
    commit: Option<String>,
    kept: KeptFiles,
    monitors: Vec<MonitorId>,
    /// Monitor, canary, hash of its definition.
    canaries: Vec<(MonitorId, String, String)>,
    now: DateTime<Utc>,
}

impl FleetNote {
    /// The same, as it is written again.
    pub(in crate::store) fn again(&self) -> Self {
        Self { word: FileWord::Again, ..self.clone() }
    }

    /// What it takes in memory, roughly.
    pub(in crate::store) fn bytes(&self) -> usize {
        self.kept.bytes() + self.monitors.len() * 100 + self.canaries.len() * 200
    }

    /// What is remembered of a fleet that these files declare.
    pub(in crate::store) fn of(fleet: &Fleet, (files, word): (&FleetFiles, FileWord), now: DateTime<Utc>) -> Self {
        let canaries = fleet.monitors.iter().flat_map(|monitor| {
            monitor
                .canaries
                .iter()
                .map(|canary| (monitor.id.clone(), canary.id.clone(), canary.definition_hash.clone()))
        });
        Self {
            file: fleet.provenance.file.clone(),
            hash: fleet.provenance.hash.clone(),
            declared: fleet.provenance.declared.clone(),
            word,
            commit: fleet.provenance.commit.clone(),
            kept: KeptFiles::of(files),
            monitors: fleet.monitors.iter().map(|monitor| monitor.id.clone()).collect(),
            canaries: canaries.collect(),
            now,
        }
    }
}

/// See [`crate::store::Store::config_loaded`].
pub(in crate::store) async fn loaded(
    connection: &mut Connection,
    names: &mut Names,
    fleet: &FleetNote,
) -> Result<bool, StoreError> {
    let now = fleet.now.timestamp_micros();
    if connection.is_postgres() && !leases::put_in_force(connection, (&fleet.declared, fleet.word, fleet.now)).await? {
        return Ok(false);
    }
    let number = names.config(connection, &fleet.hash).await?;
    query("UPDATE config_versions SET \"commit\" = $2, file = $3, loaded_at = $4 WHERE number = $1")
        .bind(number)
        .bind(&fleet.commit)
        .bind(&fleet.file)
        .bind(now)
        .execute(&mut *connection)
        .await?;
    fleet.kept.write(connection, number, now).await?;
    let canaries_known = known_canaries(connection).await?;
    let canaries: HashMap<(&str, &str), &str> =
        fleet.canaries.iter().map(|(monitor, id, hash)| ((monitor.as_str(), id.as_str()), hash.as_str())).collect();
    for (monitor, id) in canaries_known.keys().filter(|(of, id)| !canaries.contains_key(&(of.as_str(), id.as_str()))) {
        query("UPDATE canaries SET removed_at = $3 WHERE monitor = $1 AND id = $2")
            .bind(monitor)
            .bind(id)
            .bind(now)
            .execute(&mut *connection)
            .await?;
    }
    let new: Vec<((&str, &str), &str)> = canaries
        .into_iter()
        .filter(|((monitor, id), hash)| {
            canaries_known.get(&((*monitor).to_owned(), (*id).to_owned())).is_none_or(|known| known != hash)
        })
        .collect();
    CANARIES
        .run(connection, &new, |query, ((monitor, id), hash)| {
            query.bind((*monitor).to_owned()).bind((*id).to_owned()).bind((*hash).to_owned()).bind(now)
        })
        .await?;
    monitors(connection, fleet, now).await?;
    Ok(true)
}

/// Notes which monitors came and which went. A list that others keep changes all day: what stays is not written again.
async fn monitors(connection: &mut Connection, fleet: &FleetNote, now: i64) -> Result<(), StoreError> {
    let rows = query("SELECT id FROM monitors WHERE removed_at IS NULL").fetch_all(&mut *connection).await?;
    let known = rows.iter().map(|row| Ok(MonitorId::new(row.try_get(0)?)));
    let known: HashSet<MonitorId> = known.collect::<Result<_, sqlx::Error>>()?;
    let declared: HashSet<&MonitorId> = fleet.monitors.iter().collect();
    for id in known.iter().filter(|id| !declared.contains(id)) {
        query("UPDATE monitors SET removed_at = $2 WHERE id = $1")
            .bind(id.as_str())
            .bind(now)
            .execute(&mut *connection)
            .await?;
        query("DELETE FROM standings WHERE monitor = $1").bind(id.as_str()).execute(&mut *connection).await?;
    }
    let new: Vec<&MonitorId> = declared.into_iter().filter(|id| !known.contains(*id)).collect();
    MONITORS.run(connection, &new, |query, id| query.bind(id.as_str().to_owned()).bind(now)).await?;
    Ok(())
}

/// The hash of each canary that is not removed, by monitor and id.
async fn known_canaries(connection: &mut Connection) -> Result<HashMap<(String, String), String>, sqlx::Error> {
    let rows = query("SELECT monitor, id, definition_hash FROM canaries WHERE removed_at IS NULL");
    let rows = rows.fetch_all(connection).await?;
    rows.iter().map(|row| Ok(((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?))).collect()
}

/// See [`crate::store::Store::touch`].
pub(in crate::store) async fn touch(connection: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    query("INSERT INTO meta (key, value) VALUES ('touched_at', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value")
        .bind(now.timestamp_micros().to_string())
        .execute(connection)
        .await?;
    Ok(())
}

/// See [`crate::store::Store::link_key`].
pub(in crate::store) async fn link_key(connection: &mut Connection) -> Result<Vec<u8>, sqlx::Error> {
    query("INSERT INTO meta (key, value) VALUES ('link_key', $1) ON CONFLICT (key) DO NOTHING")
        .bind(hex::encode(rand::random::<[u8; 32]>()))
        .execute(&mut *connection)
        .await?;
    let row = query("SELECT value FROM meta WHERE key = 'link_key'").fetch_one(connection).await?;
    hex::decode(row.try_get::<&str>(0)?).map_err(|error| sqlx::Error::Decode(error.into()))
}

/// See [`crate::store::Store::give_back`].
pub(in crate::store) async fn give_back(
    connection: &mut Connection,
    incident: &str,
    actor: &str,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    if !lapse(connection, incident, None).await? {
        return Ok(false);
    }
    let row = said(incident, actor, ("given_back", format!("un-acknowledged by {actor}")), now);
    timeline(connection, &row).await?;
    claimed(connection, (incident, false), actor, now).await?;
    Ok(true)
}

/// See [`crate::store::Store::acknowledge`].
pub(in crate::store) async fn acknowledge(
    connection: &mut Connection,
    incident: &str,
    actor: &str,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let taken = query(
        "UPDATE incidents SET acknowledged_by = $2, acknowledged_at = $3 \
         WHERE id = $1 AND resolved_at IS NULL AND acknowledged_at IS NULL",
    )
    .bind(incident)
    .bind(actor)
    .bind(now.timestamp_micros())
    .execute(&mut *connection)
    .await?;
    if taken == 0 {
        return Ok(false);
    }
    let row = said(incident, actor, ("acknowledged", format!("acknowledged by {actor}")), now);
    timeline(connection, &row).await?;
    claimed(connection, (incident, true), actor, now).await?;
    Ok(true)
}

/// Whoever watches the incident's monitor is to know of it, and to tell others.
async fn claimed(
    connection: &mut Connection,
    (incident, is_taken): (&str, bool),
    actor: &str,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let row = query("SELECT monitor FROM incidents WHERE id = $1").bind(incident).fetch_one(&mut *connection).await?;
    let asked = Asked::Claimed { incident: incident.to_owned(), is_taken };
    let id = id_of(now, &[asked.written().0, incident, actor]);
    let (monitor, actor) = (MonitorId::new(row.try_get(0)?), actor.to_owned());
    actions::write(connection, &Action { id, monitor, actor, at: now, asked }).await
}

/// A line of an incident's timeline that a person left.
fn said(incident: &str, actor: &str, (kind, text): (&str, String), at: DateTime<Utc>) -> TimelineRow {
    TimelineRow { incident: incident.to_owned(), at, kind: kind.to_owned(), actor: actor.to_owned(), text }
}
