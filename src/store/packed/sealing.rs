//! How far the past is sealed: shard by shard, since each is watched by one machine at a time and goes on at its own pace.

use chrono::{DateTime, Utc};

use crate::domain::monitor::MonitorId;
use crate::domain::shard::{Shard, Shards};
use crate::store::sql::connection::Connection;
use crate::store::sql::statement::query;
use crate::store::values::column::timestamp;
use crate::store::values::error::StoreError;

/// How far the hours of one shard are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardSealing {
    /// Beats from before this that come now are late.
    pub begun_until: DateTime<Utc>,
    /// Before this packs are the truth.
    pub sealed_until: DateTime<Utc>,
}

/// How far the janitor is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealing {
    /// By the number of the shard.
    shards: Vec<ShardSealing>,
    /// Before this packs are the truth for everybody.
    pub first_sealed: DateTime<Utc>,
    /// From this on packs are the truth for nobody.
    pub last_sealed: DateTime<Utc>,
    /// Before this no row is left over.
    pub swept_until: DateTime<Utc>,
    /// Before this every day has its row.
    pub rolled_until: DateTime<Utc>,
}

impl Sealing {
    /// How far the hours of a monitor are.
    pub(in crate::store) fn of(&self, monitor: &MonitorId) -> ShardSealing {
        self.shards[usize::from(Shard::of(monitor.as_str()).number())]
    }

    /// Those of some shards whose hour is begun and not sealed, and until when: the earliest, where there are several.
    pub fn begun(&self, among: &Shards) -> Option<(DateTime<Utc>, Shards)> {
        self.earliest(among, |shard| (shard.begun_until > shard.sealed_until).then_some(shard.begun_until))
    }

    /// Those of some shards that are sealed least far, and how far; none where there are none.
    pub fn furthest_behind(&self, among: &Shards) -> Option<(DateTime<Utc>, Shards)> {
        self.earliest(among, |shard| Some(shard.sealed_until))
    }

    fn earliest(
        &self,
        among: &Shards,
        moment: impl Fn(&ShardSealing) -> Option<DateTime<Utc>>,
    ) -> Option<(DateTime<Utc>, Shards)> {
        let of = |shard: &Shard| moment(&self.shards[usize::from(shard.number())]);
        let earliest = among.iter().filter_map(|shard| of(&shard)).min()?;
        Some((earliest, among.iter().filter(|shard| of(shard) == Some(earliest)).collect()))
    }

    /// Whether a monitor's pack of an hour, where there is one, is the truth.
    pub(in crate::store) fn has_packs(&self, monitor: &MonitorId, hour: DateTime<Utc>) -> bool {
        hour < self.first_sealed || hour < self.of(monitor).sealed_until
    }

    /// Whether a row of a monitor is the truth.
    pub(in crate::store) fn is_truth(&self, monitor: &MonitorId, started_at: DateTime<Utc>, is_late: bool) -> bool {
        is_late || started_at >= self.last_sealed || started_at >= self.of(monitor).sealed_until
    }
}

/// Until when the hours of each shard are begun, as whoever writes beats has it in memory.
#[derive(Debug)]
pub(in crate::store) struct Begun {
    /// By the number of the shard.
    until: Vec<DateTime<Utc>>,
    /// The latest of them: few beats are from before it, and the shard of the others need not be known.
    last: DateTime<Utc>,
}

impl Begun {
    /// As the database has it.
    pub(in crate::store) fn of(sealing: &Sealing) -> Self {
        let until: Vec<_> = sealing.shards.iter().map(|shard| shard.begun_until).collect();
        Self { last: until.iter().max().copied().unwrap_or_default(), until }
    }

    /// Notes that the hours of some shards are begun until a moment.
    pub(in crate::store) fn begin(&mut self, shards: &Shards, until: DateTime<Utc>) {
        for shard in shards.iter() {
            let begun = &mut self.until[usize::from(shard.number())];
            *begun = (*begun).max(until);
            self.last = self.last.max(until);
        }
    }

    /// As far as either says.
    pub(in crate::store) fn join(&mut self, other: &Self) {
        self.until.iter_mut().zip(&other.until).for_each(|(until, other)| *until = (*until).max(*other));
        self.last = self.last.max(other.last);
    }

    /// Whether a beat that is written now comes when its hour is begun already.
    pub(in crate::store) fn is_late(&self, monitor: &MonitorId, started_at: DateTime<Utc>) -> bool {
        started_at < self.last && started_at < self.until[usize::from(Shard::of(monitor.as_str()).number())]
    }
}

/// How far the janitor is.
pub(in crate::store) async fn sealing(connection: &mut Connection) -> Result<Sealing, StoreError> {
    let rows = query("SELECT begun_until, sealed_until FROM shards ORDER BY shard");
    let rows = rows.fetch_all(&mut *connection).await?;
    let shards = rows
        .iter()
        .map(|row| Ok(ShardSealing { begun_until: timestamp(row, 0)?, sealed_until: timestamp(row, 1)? }))
        .collect::<Result<Vec<_>, StoreError>>()?;
    let sealed = || shards.iter().map(|shard| shard.sealed_until);
    let (Some(first_sealed), Some(last_sealed), 256) = (sealed().min(), sealed().max(), shards.len()) else {
        return Err(StoreError::Unreadable(format!("{} shards of 256", shards.len())));
    };
    let row = query("SELECT swept_until, rolled_until FROM sealing").fetch_one(connection).await?;
    let (swept_until, rolled_until) = (timestamp(&row, 0)?, timestamp(&row, 1)?);
    Ok(Sealing { shards, first_sealed, last_sealed, swept_until, rolled_until })
}

/// Before this packs are the truth for a monitor.
pub(in crate::store) async fn sealed_until(
    connection: &mut Connection,
    monitor: &MonitorId,
) -> Result<DateTime<Utc>, StoreError> {
    let row = query("SELECT sealed_until FROM shards WHERE shard = $1")
        .bind(Shard::of(monitor.as_str()).number())
        .fetch_one(connection)
        .await?;
    timestamp(&row, 0)
}

/// Before this every day has its row.
pub(in crate::store) async fn rolled_until(connection: &mut Connection) -> Result<DateTime<Utc>, StoreError> {
    let row = query("SELECT rolled_until FROM sealing").fetch_one(connection).await?;
    timestamp(&row, 0)
}
