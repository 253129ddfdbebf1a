//! Who watches which shard, where several machines share a server: all of it by the server's clock.
//!
//! A machine says every other second that it lives, gives up what others are to have, and takes what is nobody's, in one
//! transaction of its writer: one that cannot write loses its shards. Whoever decides something first takes the row of the
//! shard, so that nobody else takes it before that is written (`fence`); whoever takes a shard counts its epoch up, and reads
//! how it stands afterwards. So it matters to nobody's decision how long a machine stood still, or what time it believes in.

use std::collections::{BTreeSet, HashSet};

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::fleet_files::FileWord;
use crate::domain::lease::{Holding, Lease, Leases, Move, Node, next_move};
use crate::domain::shard::{Shard, Shards};
use crate::live::nodes::{NodeView, NodesView};
use crate::store::sql::connection::Connection;
use crate::store::sql::dialect::{number_rows, numbers};
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::change_set::LOCAL;
use crate::store::values::column::{timestamp, timestamp_from};
use crate::store::values::error::StoreError;
use crate::store::values::lease_turn::{LeaseTurn, NodeNote};

/// A machine that was not heard of for so long is gone: it may stand still, or its network is away.
const GONE_AFTER: TimeDelta = TimeDelta::seconds(10);
/// The same where its session has ended: it was killed, or cut off. One that was cut off is back sooner.
const GONE_WITHOUT_SESSION_AFTER: TimeDelta = TimeDelta::seconds(5);
/// One that is gone is shown for so long.
const SHOWN_FOR: TimeDelta = TimeDelta::hours(24);

/// Under these keys stands which file is in force, and since when.
const IN_FORCE: &str = "file_in_force";
const IN_FORCE_AT: &str = "file_in_force_at";

/// By which a session of ours is known among those of the server: it is taken with every connection that writes.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct SessionMark(i64);

impl SessionMark {
    pub(in crate::store) fn new() -> Self {
        // Positive, as `pg_locks` shows its halves.
        Self(rand::random::<i64>() & i64::MAX)
    }

    /// Marks a session, for as long as it lasts.
    pub(in crate::store) async fn put(self, connection: &mut Connection) -> Result<(), StoreError> {
        query("SELECT pg_try_advisory_lock($1)").bind(self.0).fetch_one(connection).await?;
        Ok(())
    }
}

/// Which of these leases still count, kept for the rest of the transaction: nobody takes those shards before its end.
pub(in crate::store) async fn fence(
    connection: &mut Connection,
    node: &str,
    leases: &HashSet<Lease>,
) -> Result<HashSet<Lease>, sqlx::Error> {
    let shards: Vec<u8> = leases.iter().map(|lease| lease.shard.number()).collect();
    let rows = query(concat!(
        "SELECT shard, epoch FROM leases WHERE role = 'decide' AND location = $1 AND node = $2 AND shard IN ",
        numbers!("$3"),
        " ORDER BY shard FOR SHARE"
    ));
    let rows = rows.bind(LOCAL).bind(node).bind(serde_json::json!(shards).to_string()).fetch_all(connection).await?;
    let held = rows.iter().map(lease).collect::<Result<HashSet<_>, _>>()?;
    Ok(leases.intersection(&held).copied().collect())
}

fn lease(row: &Row) -> Result<Lease, sqlx::Error> {
    let (number, epoch): (u8, i64) = (row.try_get(0)?, row.try_get(1)?);
    let shard = Shards::ALL.find(number).ok_or(sqlx::Error::RowNotFound)?;
    Ok(Lease { shard, epoch })
}

/// Says that a machine lives, and moves shards as it is its turn to. `is_settled`: its own connection has lasted for a while,
/// so that what is not heard of others says something of them.
pub(in crate::store) async fn turn(
    connection: &mut Connection,
    (node, session, is_settled): (&str, SessionMark, bool),
    note: &NodeNote,
) -> Result<LeaseTurn, StoreError> {
    let now = say(connection, (node, session), note).await?;
    let file_in_force = file_in_force(connection).await?;
    let mut nodes = nodes(connection, node, (now, is_settled)).await?;
    let holdings = holdings(connection).await?;
    let has_file = |view: &NodeView| file_in_force.as_ref().is_none_or(|file| *file == view.file);
    let known = nodes.iter().map(|it| Node { id: it.id.clone(), has_file: has_file(it), is_gone: it.is_gone });
    let mut known: Vec<Node> = known.collect();
    // Whom a server that took over has never heard of may not have come back to it yet.
    let owners = holdings.iter().filter(|_| !is_settled).filter_map(|holding| holding.node.clone());
    let unknown: BTreeSet<String> = owners.filter(|id| known.iter().all(|node| node.id != *id)).collect();
    known.extend(unknown.into_iter().map(|id| Node { id, has_file: true, is_gone: false }));
    let next = next_move(node, &note.held, &known, &holdings);
    let leases = moved(connection, node, (&note.held, &holdings), &next).await?;
    let others = holdings.iter().filter(|it| leases.of(it.shard).is_none());
    let whose: Vec<&str> = others.filter_map(|holding| holding.node.as_deref()).collect();
    for view in &mut nodes {
        let own = || leases.iter().count();
        view.shards = if view.id == node { own() } else { whose.iter().filter(|id| **id == view.id).count() };
    }
    let watched: usize = nodes.iter().filter(|view| !view.is_gone).map(|view| view.shards).sum();
    let nodes = NodesView {
        own: node.to_owned(),
        troubles: Vec::new(),
        unwatched: Shards::ALL.iter().count().saturating_sub(watched),
        nodes,
        file_in_force,
        clock_ahead: Utc::now() - now,
    };
    Ok(LeaseTurn { leases, nodes })
}

/// The moment by the server's clock.
async fn say(
    connection: &mut Connection,
    (node, SessionMark(session)): (&str, SessionMark),
    note: &NodeNote,
) -> Result<DateTime<Utc>, StoreError> {
    let row = query(
        "INSERT INTO nodes (id, name, version, file, session, started_at, seen_at) \
         VALUES ($1, $2, $3, $4, $5, $6, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)) \
         ON CONFLICT (id) DO UPDATE SET name = excluded.name, file = excluded.file, session = excluded.session, \
         seen_at = excluded.seen_at RETURNING seen_at",
    );
    let row = row.bind(node).bind(&note.name).bind(env!("CARGO_PKG_VERSION")).bind(&note.file).bind(session);
    let row = row.bind(note.started_at.timestamp_micros()).fetch_one(&mut *connection).await?;
    let now = timestamp_from(row.try_get(0)?)?;
    query("DELETE FROM nodes WHERE seen_at < $1")
        .bind((now - SHOWN_FOR).timestamp_micros())
        .execute(connection)
        .await?;
    Ok(now)
}

/// Puts a file in force; false where it stays as it is.
pub(in crate::store) async fn put_in_force(
    connection: &mut Connection,
    (file, word, at): (&str, FileWord, DateTime<Utc>),
) -> Result<bool, StoreError> {
    // One after another: what is in force is one file.
    query("SELECT pg_advisory_xact_lock(hashtext('serin: the file in force'))").fetch_one(&mut *connection).await?;
    if file_in_force(connection).await?.is_some_and(|in_force| in_force == file) {
        return Ok(true);
    }
    let known = format!("file: {file}");
    let was_in_force = query("SELECT 1 FROM meta WHERE key = $1").bind(&known).fetch_optional(&mut *connection).await?;
    let is_other_there = "SELECT 1 FROM nodes n JOIN meta m ON m.key = 'file_in_force' AND m.value = n.file \
         WHERE n.seen_at > CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) - $1 LIMIT 1";
    let is_other_there = query(is_other_there).bind(GONE_AFTER.num_microseconds().unwrap_or_default());
    let is_other_there = is_other_there.fetch_optional(&mut *connection).await?.is_some();
    let waits = match word {
        FileWord::Change => false,
        FileWord::Start => is_other_there,
        FileWord::Proven => is_other_there && was_in_force.is_some(),
        FileWord::Again => {
            noted(connection, IN_FORCE_AT).await?.and_then(|at| at.parse().ok()) > Some(at.timestamp_micros())
        }
    };
    if waits {
        return Ok(false);
    }
    let at = at.timestamp_micros().to_string();
    for (key, value) in [(known.as_str(), file), (IN_FORCE, file), (IN_FORCE_AT, &at)] {
        let put =
            "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        query(put).bind(key).bind(value).execute(&mut *connection).await?;
    }
    Ok(true)
}

/// What stands for the file in force; none before any was.
pub(in crate::store) async fn file_in_force(connection: &mut Connection) -> Result<Option<String>, StoreError> {
    noted(connection, IN_FORCE).await
}

async fn noted(connection: &mut Connection, key: &str) -> Result<Option<String>, StoreError> {
    let row = query("SELECT value FROM meta WHERE key = $1").bind(key).fetch_optional(connection).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Something is added to shards of others: they have another number from then on, so that whoever has them reads them once more.
pub(in crate::store) async fn renumber(connection: &mut Connection, shards: &[u8]) -> Result<(), sqlx::Error> {
    query(concat!(
        "UPDATE leases SET epoch = epoch + 1 WHERE role = 'decide' AND location = $1 AND shard IN ",
        numbers!("$2")
    ))
    .bind(LOCAL)
    .bind(serde_json::json!(shards).to_string())
    .execute(connection)
    .await?;
    Ok(())
}

/// What a machine has, by the database.
pub(in crate::store) async fn held(connection: &mut Connection, node: &str) -> Result<Leases, sqlx::Error> {
    let rows = query("SELECT shard, epoch FROM leases WHERE role = 'decide' AND location = $1 AND node = $2");
    rows.bind(LOCAL).bind(node).fetch_all(connection).await?.iter().map(lease).collect()
}

async fn nodes(
    connection: &mut Connection,
    own: &str,
    (now, is_settled): (DateTime<Utc>, bool),
) -> Result<Vec<NodeView>, StoreError> {
    let rows = query(
        "SELECT id, name, version, file, started_at, seen_at, EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' \
         AND objsubid = 1 AND (CAST(classid AS BIGINT) << 32) + CAST(objid AS BIGINT) = session) FROM nodes ORDER BY name, id",
    );
    let rows = rows.fetch_all(connection).await?;
    let view = |row: &Row| -> Result<NodeView, StoreError> {
        let (id, seen_at): (String, _) = (row.try_get(0)?, timestamp(row, 5)?);
        let gone_after = if row.try_get(6)? { GONE_AFTER } else { GONE_WITHOUT_SESSION_AFTER };
        Ok(NodeView {
            name: row.try_get(1)?,
            version: row.try_get(2)?,
            file: row.try_get(3)?,
            started_at: timestamp(row, 4)?,
            seen_at,
            is_gone: id != own && is_settled && now - seen_at > gone_after,
            shards: 0,
            id,
        })
    };
    rows.iter().map(view).collect()
}

async fn holdings(connection: &mut Connection) -> Result<Vec<Holding>, StoreError> {
    let rows = query("SELECT shard, epoch, node FROM leases WHERE role = 'decide' AND location = $1 ORDER BY shard");
    let rows = rows.bind(LOCAL).fetch_all(connection).await?;
    let holding = |row: &Row| -> Result<Holding, StoreError> {
        let Lease { shard, epoch } = lease(row)?;
        Ok(Holding { shard, node: row.try_get(2)?, epoch })
    };
    rows.iter().map(holding).collect()
}

/// Gives up and takes, and gives what is held then. A shard whose owner is in the middle of something is left for the next
/// turn, and so is one that another machine was faster at.
async fn moved(
    connection: &mut Connection,
    node: &str,
    (held, holdings): (&Leases, &[Holding]),
    next: &Move,
) -> Result<Leases, StoreError> {
    let numbers =
        |shards: &[Shard]| serde_json::json!(shards.iter().map(|it| it.number()).collect::<Vec<_>>()).to_string();
    if !next.give_up.is_empty() {
        let given_up = query(concat!(
            "UPDATE leases SET node = NULL, epoch = epoch + 1 WHERE role = 'decide' AND location = $1 AND node = $2 AND shard IN ",
            numbers!("$3")
        ));
        given_up.bind(LOCAL).bind(node).bind(numbers(&next.give_up)).execute(&mut *connection).await?;
    }
    let still = holdings.iter().filter(|it| it.node.as_deref() == Some(node) && !next.give_up.contains(&it.shard));
    let still = still.map(|it| Lease { shard: it.shard, epoch: it.epoch }).filter(|lease| held.have(*lease));
    let mut leases: Vec<Lease> = still.collect();
    if !next.take.is_empty() {
        // As it was when it was looked at: whoever took it since counted on.
        let free = holdings.iter().filter(|it| next.take.contains(&it.shard));
        let (shards, epochs): (Vec<u8>, Vec<i64>) = free.map(|it| (it.shard.number(), it.epoch)).unzip();
        let taken = query(concat!(
            "UPDATE leases SET node = $2, epoch = epoch + 1 WHERE role = 'decide' AND location = $1 AND shard IN \
             (SELECT l.shard FROM leases l JOIN ",
            number_rows!("$3"),
            " s ON l.shard = s.value JOIN ",
            number_rows!("$4"),
            " e ON e.key = s.key AND e.value = l.epoch WHERE l.role = 'decide' AND l.location = $1 \
             ORDER BY l.shard FOR UPDATE OF l SKIP LOCKED) RETURNING shard, epoch"
        ));
        let taken = taken.bind(LOCAL).bind(node);
        let taken = taken.bind(serde_json::json!(shards).to_string()).bind(serde_json::json!(epochs).to_string());
        let rows = taken.fetch_all(connection).await?;
        leases.extend(rows.iter().map(lease).collect::<Result<Vec<_>, _>>()?);
    }
    Ok(leases.into_iter().collect())
}

/// Leaves in order: what was a machine's is nobody's at once.
pub(in crate::store) async fn leave(connection: &mut Connection, node: &str) -> Result<(), StoreError> {
    query("UPDATE leases SET node = NULL, epoch = epoch + 1 WHERE node = $1")
        .bind(node)
        .execute(&mut *connection)
        .await?;
    query("DELETE FROM nodes WHERE id = $1").bind(node).execute(connection).await?;
    Ok(())
}
