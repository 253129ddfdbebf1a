//! Days and hours of many monitors at once, as the bars of lists show them: a fixed number of queries, however many
//! monitors are asked for, and nothing of histograms is read.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::cell::Cell;
use crate::domain::monitor::MonitorId;
use crate::domain::quality::answers::Answers;
use crate::store::packed::packs::{self, from_slot};
use crate::store::packed::sealing;
use crate::store::read::readers::Readers;
use crate::store::sql::connection::Connection;
use crate::store::sql::dialect::{number_rows, texts};
use crate::store::sql::statement::query;
use crate::store::values::change_set::LOCAL;
use crate::store::values::error::StoreError;

/// Monitors that are read at once; a page of a list has a hundred. What is beyond is left out.
pub const MONITORS_MAX: usize = 200;
/// Days that are read at once: a quarter of a year, and what two clocks may differ by.
const DAYS_MAX: i64 = 92;
/// Hours whose answers are read at once.
const HOURS_MAX: i64 = 48;

/// Day by day and monitor by monitor in the order of the table; `$1` is the first day, `$2` the last, `$3` the owners.
const DAYS: &str = concat!(
    "WITH RECURSIVE days_asked (d) AS (VALUES (CAST($1 AS BIGINT)) UNION ALL SELECT d + 1 FROM days_asked WHERE d < $2) \
     SELECT slot, up, down, maintenance, unknown, COALESCE(asked, 0), COALESCE(right_answers, 0) FROM days_asked CROSS JOIN ",
    number_rows!("$3"),
    " AS owner CROSS JOIN days WHERE slot = (d << 32) | owner.value ORDER BY slot"
);
const PACKS: &str = concat!(
    "WITH RECURSIVE hours (h) AS (VALUES (CAST($1 AS BIGINT)) UNION ALL SELECT h + 1 FROM hours WHERE h < $2) \
     SELECT slot, data FROM hours CROSS JOIN ",
    number_rows!("$3"),
    " AS owner CROSS JOIN beat_packs WHERE slot = (h << 32) | owner.value ORDER BY slot"
);

impl Readers {
    /// What each day (UTC) that is rolled up came to, the oldest first, of at most [`MONITORS_MAX`] monitors. Days
    /// without a beat are left out, and so is today. Two queries.
    ///
    /// # Errors
    /// Where the database does not answer, or holds something that cannot be read.
    pub async fn day_cells(
        &self,
        monitors: &[MonitorId],
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<HashMap<MonitorId, Vec<(DateTime<Utc>, Cell)>>, StoreError> {
        let mut reading = self.readers.begin().await?;
        let owners = owners(&mut reading, monitors).await?;
        let first = packs::day_number(from);
        let last = packs::day_number(until - TimeDelta::microseconds(1)).min(first + DAYS_MAX);
        let mut found: HashMap<MonitorId, Vec<(DateTime<Utc>, Cell)>> = HashMap::new();
        if last < first || owners.is_empty() {
            return Ok(found);
        }
        let rows = query(DAYS).bind(first).bind(last).bind(numbers(&owners)).fetch_all(&mut reading).await?;
        for row in rows {
            let (day, owner) = from_slot(row.try_get(0)?);
            let Some(monitor) = owners.get(&owner) else { continue };
            let count = |index| row.try_get::<i64>(index).map(|n| u32::try_from(n).unwrap_or_default());
            let cell = Cell {
                up_s: count(1)?,
                down_s: count(2)?,
                apart_s: count(3)?,
                unknown_s: count(4)?,
                asked: count(5)?,
                right: count(6)?,
            };
            found.entry(monitor.clone()).or_default().push((packs::day_from(day)?, cell));
        }
        Ok(found)
    }

    /// How often canaries were right in each sealed hour, the oldest first, of at most [`MONITORS_MAX`] monitors. Hours
    /// without a pack are left out. Two queries; a pack takes some 10 µs to read.
    ///
    /// # Errors
    /// Where the database does not answer, or holds a pack that cannot be read.
    pub async fn hour_answers(
        &self,
        monitors: &[MonitorId],
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<HashMap<MonitorId, Vec<(DateTime<Utc>, Answers)>>, StoreError> {
        let mut reading = self.readers.begin().await?;
        let sealing = sealing::sealing(&mut reading).await?;
        let owners = owners(&mut reading, monitors).await?;
        let first = packs::hour_number(from);
        let last =
            packs::hour_number(until.min(sealing.last_sealed) - TimeDelta::microseconds(1)).min(first + HOURS_MAX);
        let mut found: HashMap<MonitorId, Vec<(DateTime<Utc>, Answers)>> = HashMap::new();
        if last < first || owners.is_empty() {
            return Ok(found);
        }
        let rows = query(PACKS).bind(first).bind(last).bind(numbers(&owners)).fetch_all(&mut reading).await?;
        for row in rows {
            let (hour, owner) = from_slot(row.try_get(0)?);
            let Some(monitor) = owners.get(&owner) else { continue };
            let hour = packs::hour_from(hour)?;
            if !sealing.has_packs(monitor, hour) {
                continue;
            }
            let beats = packs::read(hour, row.try_get(1)?)?.beats;
            let mut answers = Answers::default();
            let asked = beats.iter().filter(|beat| beat.is_scheduled()).flat_map(|beat| &beat.asks);
            asked.filter(|ask| ask.is_asked_by_schedule()).for_each(|ask| answers.count(ask.shape.verdict == "right"));
            found.entry(monitor.clone()).or_default().push((hour, answers));
        }
        Ok(found)
    }
}

/// The numbers of the monitors that have packs.
async fn owners(connection: &mut Connection, monitors: &[MonitorId]) -> Result<HashMap<i64, MonitorId>, StoreError> {
    let ids: Vec<&str> = monitors.iter().take(MONITORS_MAX).map(MonitorId::as_str).collect();
    let rows = query(concat!(
        "SELECT number, monitor FROM pack_owners \
         WHERE location = $1 AND monitor IN ",
        texts!("$2")
    ))
    .bind(LOCAL)
    .bind(serde_json::json!(ids).to_string())
    .fetch_all(connection)
    .await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, MonitorId::new(row.try_get(1)?)))).collect()
}

/// In the order of the table, so that neighbours are read from one page.
fn numbers(owners: &HashMap<i64, MonitorId>) -> String {
    let mut numbers: Vec<i64> = owners.keys().copied().collect();
    numbers.sort_unstable();
    serde_json::json!(numbers).to_string()
}
