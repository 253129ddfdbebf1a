//! What is known of a server between beats: what probes learnt of it, and what they cost it, by day.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::{Row, SqliteConnection};

use crate::domain::fleet::MonitorId;
use crate::domain::learnt::{Caution, Learnt};
use crate::domain::observation::Footprint;
use crate::domain::pace::Spent;
use crate::domain::protocol::{Era, Transport};
use crate::store::column::{moment_or_none, word, word_or_none};
use crate::store::record::{BeatRecord, LearntRow};
use crate::store::rows::Rows;
use crate::store::{Store, StoreError};

static LEARNT: Rows = Rows::new(
    "INSERT INTO learnt (monitor, address, era, transport, found_at, discover, closing, \
     certificate_until, admits_strangers) VALUES ",
    9,
    " ON CONFLICT (monitor) DO UPDATE SET address = excluded.address, era = excluded.era, \
     transport = excluded.transport, found_at = excluded.found_at, discover = excluded.discover, \
     closing = excluded.closing, certificate_until = excluded.certificate_until, \
     admits_strangers = excluded.admits_strangers",
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

/// Writes what the records bring of it.
pub(in crate::store) async fn keep(
    connection: &mut SqliteConnection,
    records: &[&BeatRecord],
) -> Result<(), sqlx::Error> {
    let learnt: Vec<&LearntRow> = records.iter().filter_map(|record| record.learnt.as_ref()).collect();
    LEARNT
        .run(connection, &learnt, |query, row| {
            query
                .bind(row.monitor.as_str())
                .bind(row.address.as_str())
                .bind(row.learnt.era.map(|era| era.slug()))
                .bind(row.learnt.transport.map(|transport| transport.slug()))
                .bind(row.learnt.era_found_at.map(|at| at.timestamp_micros()))
                .bind(row.learnt.discover.slug())
                .bind(row.learnt.closing.slug())
                .bind(row.learnt.certificate_until.map(|at| at.timestamp_micros()))
                .bind(row.learnt.admits_strangers)
        })
        .await?;
    let spent: Vec<&(MonitorId, Spent)> = records.iter().flat_map(|record| &record.spent).collect();
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

impl Store {
    /// What was learnt of every server.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn learnt(&self) -> Result<Vec<LearntRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT monitor, address, era, transport, found_at, discover, closing, certificate_until, admits_strangers FROM learnt",
        )
        .fetch_all(&self.readers)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(LearntRow {
                    monitor: MonitorId::new(row.try_get(0)?),
                    address: row.try_get(1)?,
                    learnt: Learnt {
                        era: word_or_none(row.try_get(2)?, "era", Era::from_slug)?,
                        transport: word_or_none(row.try_get(3)?, "transport", Transport::from_slug)?,
                        era_found_at: moment_or_none(row, 4)?,
                        discover: word(row.try_get(5)?, "discover", Caution::from_slug)?,
                        closing: word(row.try_get(6)?, "closing", Caution::from_slug)?,
                        certificate_until: moment_or_none(row, 7)?,
                        admits_strangers: row.try_get(8)?,
                    },
                })
            })
            .collect()
    }

    /// What probes cost each server on the day of `now` and on the day before, the later last.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn spent(&self, now: DateTime<Utc>) -> Result<HashMap<MonitorId, Vec<Spent>>, StoreError> {
        let rows = sqlx::query(
            "SELECT monitor, day, beats, requests, bytes_out, bytes_in, connections, sessions_opened, \
             sessions_closed, tokens FROM footprints WHERE day >= $1 ORDER BY day",
        )
        .bind(Spent::day_of(now) - 1)
        .fetch_all(&self.readers)
        .await?;
        let mut days: HashMap<MonitorId, Vec<Spent>> = HashMap::new();
        for row in &rows {
            let number = |column: usize| row.try_get::<i64, _>(column).map(i64::unsigned_abs);
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

/// SQLite's integers have a sign; a count that would not fit is as good as the greatest.
fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
