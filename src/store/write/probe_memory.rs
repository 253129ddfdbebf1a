//! What is known of a server between beats: what probes learnt of it, and what they cost it, by day.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

use crate::domain::database_address::DatabaseAddress;
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::observation::Footprint;
use crate::domain::protocol::{Era, Transport, legacy_version};
use crate::domain::rate_limit::Spent;
use crate::domain::server_profile::{Caution, KeptSession, ServerProfile};
use crate::store::read::beside;
use crate::store::read::readers::Readers;
use crate::store::sql::connection::Connection;
use crate::store::sql::row::Row;
use crate::store::sql::rows::Rows;
use crate::store::sql::statement::query;
use crate::store::values::change_set::{ChangeSet, ServerProfileRow};
use crate::store::values::column::{timestamp_or_none, word, word_or_none};
use crate::store::values::error::StoreError;
use crate::store::values::whose::{Whose, is_of};

static LEARNT: Rows = Rows::new(
    "INSERT INTO learnt (monitor, address, era, transport, found_at, discover, closing, \
     certificate_until, admits_strangers, answered, session, session_version, session_opened_at) VALUES ",
    13,
    " ON CONFLICT (monitor) DO UPDATE SET address = excluded.address, era = excluded.era, \
     transport = excluded.transport, found_at = excluded.found_at, discover = excluded.discover, \
     closing = excluded.closing, certificate_until = excluded.certificate_until, \
     admits_strangers = excluded.admits_strangers, answered = excluded.answered, session = excluded.session, \
     session_version = excluded.session_version, session_opened_at = excluded.session_opened_at",
);
static FOOTPRINTS: Rows = Rows::new(
    "INSERT INTO footprints (monitor, day, beats, requests, bytes_out, bytes_in, connections, sessions_opened, \
     sessions_closed, tokens) VALUES ",
    10,
    " ON CONFLICT (monitor, day) DO UPDATE SET beats = excluded.beats, requests = excluded.requests, \
     bytes_out = excluded.bytes_out, bytes_in = excluded.bytes_in, connections = excluded.connections, \
     sessions_opened = excluded.sessions_opened, sessions_closed = excluded.sessions_closed, \
     tokens = excluded.tokens",
);

/// What stands for a server's address where learnt things are remembered: a hash over what is resolved, so that neither
/// a secret is stored nor another server behind the same `${env:…}` taken for this one.
pub fn address_hash(monitor: &Monitor) -> String {
    let mut sum = Sha256::new();
    let program = monitor.reach.program.iter();
    let given = program.flat_map(|program| {
        std::iter::once(program.command.as_str()).chain(program.args.iter().map(|argument| argument.expose()))
    });
    for text in std::iter::once(monitor.url.resolved.expose()).chain(given) {
        sum.update((text.len() as u64).to_le_bytes());
        sum.update(text.as_bytes());
    }
    hex::encode(sum.finalize())
}

/// What a Serin learnt of the server at this address, read beside it, whether it runs or not.
///
/// # Errors
/// Where there is no such database, or it is of another version.
pub async fn recall(database: impl Into<DatabaseAddress>, address: &str) -> Result<Option<ServerProfile>, StoreError> {
    let readers = beside::readers(&database.into()).await?;
    let row = query(
        "SELECT era, transport, found_at, discover, closing, certificate_until, admits_strangers, answered, session, \
         session_version, session_opened_at FROM learnt WHERE address = $1 ORDER BY found_at DESC NULLS LAST LIMIT 1",
    )
    .bind(address)
    .fetch_optional(&readers)
    .await?;
    let profile = row.map(|row| profile_of(&row, 0)).transpose();
    readers.close().await;
    profile
}

/// Writes what the records bring of it.
pub(in crate::store) async fn keep(connection: &mut Connection, records: &[&ChangeSet]) -> Result<(), sqlx::Error> {
    // The last of each counts; PostgreSQL takes no row twice in one statement.
    let profiles = records.iter().filter_map(|record| record.profile.as_ref());
    let profiles: BTreeMap<&MonitorId, &ServerProfileRow> = profiles.map(|row| (&row.monitor, row)).collect();
    let profiles: Vec<&ServerProfileRow> = profiles.into_values().collect();
    LEARNT
        .run(connection, &profiles, |query, row| {
            query
                .bind(row.monitor.as_str())
                .bind(row.address.as_str())
                .bind(row.profile.era.map(|era| era.slug()))
                .bind(row.profile.transport.map(|transport| transport.slug()))
                .bind(row.profile.era_found_at.map(|at| at.timestamp_micros()))
                .bind(row.profile.discover.slug())
                .bind(row.profile.closing.slug())
                .bind(row.profile.certificate_until.map(|at| at.timestamp_micros()))
                .bind(row.profile.admits_strangers)
                .bind(row.profile.answered)
                .bind(row.profile.kept.as_ref().map(|kept| kept.id.as_str()))
                .bind(row.profile.kept.as_ref().map(|kept| kept.version))
                .bind(row.profile.kept.as_ref().map(|kept| kept.opened_at.timestamp_micros()))
        })
        .await?;
    let spent = records.iter().flat_map(|record| &record.spent);
    let spent: BTreeMap<(&MonitorId, i64), &(MonitorId, Spent)> = spent.map(|one| ((&one.0, one.1.day), one)).collect();
    let spent: Vec<&(MonitorId, Spent)> = spent.into_values().collect();
    FOOTPRINTS
        .run(connection, &spent, |query, (monitor, spent)| {
            let cost = &spent.footprint;
            query
                .bind(monitor.as_str())
                .bind(spent.day)
                .bind(stored(spent.beats))
                .bind(i64::from(cost.requests))
                .bind(stored(cost.bytes_out))
                .bind(stored(cost.bytes_in))
                .bind(i64::from(cost.connections))
                .bind(i64::from(cost.sessions_opened))
                .bind(i64::from(cost.sessions_closed))
                .bind(stored(cost.tokens))
        })
        .await
}

impl Readers {
    /// What was learnt of every server.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn server_profiles(&self, whose: Whose<'_>) -> Result<Vec<ServerProfileRow>, StoreError> {
        let rows = query(concat!(
            "SELECT monitor, address, era, transport, found_at, discover, closing, certificate_until, admits_strangers, \
             answered, session, session_version, session_opened_at FROM learnt WHERE ",
            is_of!("monitor", "$1")
        ))
        .bind(whose.ids())
        .fetch_all(&self.readers)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(ServerProfileRow {
                    monitor: MonitorId::new(row.try_get(0)?),
                    address: row.try_get(1)?,
                    profile: profile_of(row, 2)?,
                })
            })
            .collect()
    }

    /// What probes cost each server on the day of `now` and on the day before, the later last.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn spent(
        &self,
        now: DateTime<Utc>,
        whose: Whose<'_>,
    ) -> Result<HashMap<MonitorId, Vec<Spent>>, StoreError> {
        let rows = query(concat!(
            "SELECT monitor, day, beats, requests, bytes_out, bytes_in, connections, sessions_opened, \
             sessions_closed, tokens FROM footprints WHERE day >= $1 AND ",
            is_of!("monitor", "$2"),
            " ORDER BY day"
        ))
        .bind(Spent::day_of(now) - 1)
        .bind(whose.ids())
        .fetch_all(&self.readers)
        .await?;
        let mut days: HashMap<MonitorId, Vec<Spent>> = HashMap::new();
        for row in &rows {
            let number = |column: usize| row.try_get::<i64>(column).map(i64::unsigned_abs);
            let few = |column: usize| number(column).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
            days.entry(MonitorId::new(row.try_get(0)?)).or_default().push(Spent {
                day: row.try_get(1)?,
                beats: number(2)?,
                footprint: Footprint {
                    requests: few(3)?,
                    bytes_out: number(4)?,
                    bytes_in: number(5)?,
                    connections: few(6)?,
                    sessions_opened: few(7)?,
                    sessions_closed: few(8)?,
                    tokens: number(9)?,
                },
            });
        }
        Ok(days)
    }
}

/// What was learnt, from these columns on.
fn profile_of(row: &Row, first: usize) -> Result<ServerProfile, StoreError> {
    let [id, version]: [Option<String>; 2] = [row.try_get(first + 8)?, row.try_get(first + 9)?];
    let opened_at = timestamp_or_none(row, first + 10)?;
    let kept = id.zip(version.as_deref().and_then(legacy_version)).zip(opened_at);
    Ok(ServerProfile {
        era: word_or_none(row.try_get(first)?, "era", Era::from_slug)?,
        transport: word_or_none(row.try_get(first + 1)?, "transport", Transport::from_slug)?,
        era_found_at: timestamp_or_none(row, first + 2)?,
        discover: word(row.try_get(first + 3)?, "discover", Caution::from_slug)?,
        closing: word(row.try_get(first + 4)?, "closing", Caution::from_slug)?,
        certificate_until: timestamp_or_none(row, first + 5)?,
        admits_strangers: row.try_get(first + 6)?,
        answered: row.try_get::<Option<String>>(first + 7)?.as_deref().and_then(legacy_version),
        kept: kept.map(|((id, version), opened_at)| Arc::new(KeptSession { id, version, opened_at })),
        ..ServerProfile::default()
    })
}

/// SQLite's integers have a sign; a count that would not fit is as good as the greatest.
fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::monitor::Program;
    use crate::domain::secret::{Address, Secret};

    #[test]
    fn an_address_is_the_same_only_where_it_leads_to_the_same_server() {
        let at = |resolved: &str| {
            Monitor::undeclared("m", Address { shown: "${env:URL}".to_owned(), resolved: Secret::new(resolved) })
        };
        let program = |argument: &str| {
            let mut monitor = at("stdio: serve ${env:PLACE}");
            let args = vec![Secret::new(argument)];
            let program = Program { command: "serve".to_owned(), args, env: vec![], keep: false };
            monitor.reach.program = Some(Box::new(program));
            address_hash(&monitor)
        };
        let one = address_hash(&at("https://one.example/mcp"));
        assert_eq!(one, address_hash(&at("https://one.example/mcp")));
        assert_ne!(one, address_hash(&at("https://two.example/mcp")), "shown alike, and another server");
        assert_ne!(program("here"), program("there"));
        assert!(!one.contains("one.example"), "and the address itself is not told");
    }
}
