//! The janitor's steps, as the janitor asks for them. What they read comes from a reader, and only what they write is
//! the writer's (`maintenance`).

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt;

use crate::domain::lease::Job;
use crate::domain::monitor::MonitorId;
use crate::domain::shard::{Shard, Shards};
use crate::store::packed::packs::{self, DAY_HOURS, day_number, slot};
use crate::store::packed::roll::rolled_up;
use crate::store::packed::sealing::{self, Sealing};
use crate::store::read::unsealed::{self, Unsealed};
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::column::timestamp_from;
use crate::store::values::error::StoreError;
use crate::store::write::handle::Store;
use crate::store::write::maintenance::Maintenance;
use crate::store::write::retain::{DOOMED_FOR_US, Doom, Retained, Table};
use crate::store::write::seal::Owned;
use crate::store::write::work::{CommitAnswer, Work};

/// Lists or sources looked at in one step.
const DOOMED_AT_ONCE: usize = 500;

impl Store {
    /// How far the janitor is.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn sealing(&self) -> Result<Sealing, StoreError> {
        sealing::sealing(&mut self.readers.acquire().await?).await
    }

    /// The first moment of the hour that holds the oldest beat from `sealed_until` on; none where there is none.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn oldest_unsealed_hour(&self, sealed_until: DateTime<Utc>) -> Result<Option<DateTime<Utc>>, StoreError> {
        let oldest: Option<i64> = query("SELECT MIN(started_at) FROM beats WHERE started_at >= $1")
            .bind(sealed_until.timestamp_micros())
            .fetch_one(&self.readers)
            .await?
            .try_get(0)?;
        oldest.map(timestamp_from).transpose().map(|oldest| oldest.map(packs::hour_of))
    }

    /// Who of these shards has beats in an hour that have rows, by id, and how many.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn monitors_with_rows(
        &self,
        shards: &Shards,
        hour: DateTime<Utc>,
    ) -> Result<Vec<(MonitorId, usize)>, StoreError> {
        let rows =
            query("SELECT monitor, COUNT(*) FROM beats WHERE started_at >= $1 AND started_at < $2 GROUP BY monitor ORDER BY monitor")
                .bind(hour.timestamp_micros())
                .bind((hour + packs::HOUR).timestamp_micros())
                .fetch_all(&self.readers)
                .await?;
        let counted = |row: &Row| -> Result<_, StoreError> {
            let beats: i64 = row.try_get(1)?;
            Ok((MonitorId::new(row.try_get(0)?), usize::try_from(beats).unwrap_or_default()))
        };
        let mut monitors = rows.iter().map(counted).collect::<Result<Vec<_>, _>>()?;
        monitors.retain(|(monitor, _)| shards.hold_monitor(monitor));
        Ok(monitors)
    }

    /// From now on beats of these shards from before this moment are late.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn begin_sealing(&self, shards: &Shards, until: DateTime<Utc>) -> Result<(), StoreError> {
        self.maintenance(Maintenance::Begin { shards: *shards, until }).await.map(drop)
    }

    /// What is to be sealed of an hour that is begun: the beats of these shards' monitors between two ids, both of which are
    /// in. One walk over the hour in order of time, whoever it is for.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn to_seal(
        &self,
        shards: &Shards,
        hour: DateTime<Utc>,
        (first, last): (&MonitorId, &MonitorId),
    ) -> Result<Vec<Owned>, StoreError> {
        let mut reader = self.readers.acquire().await?;
        let rows = unsealed::beats_between(&mut reader, (hour, hour + packs::HOUR), (shards, first, last)).await?;
        let on_time = |(monitor, rows): (String, Vec<Unsealed>)| {
            let monitor = MonitorId::new(&monitor);
            let beats: Vec<_> = rows.into_iter().filter(|row| !row.is_late).map(|row| row.beat).collect();
            (!beats.is_empty()).then_some(Owned { monitor, beats })
        };
        Ok(rows.into_iter().filter_map(on_time).collect())
    }

    /// Seals the hour of some monitors, all of whose beats are given. Only while it is begun and not yet sealed.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn seal(&self, hour: DateTime<Utc>, owned: Vec<Owned>) -> Result<(), StoreError> {
        self.maintenance(Maintenance::Seal { hour, owned }).await.map(drop)
    }

    /// The hours of these shards before this moment are sealed: packs are their truth from now on.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn sealed(&self, shards: &Shards, until: DateTime<Utc>) -> Result<(), StoreError> {
        self.maintenance(Maintenance::Sealed { shards: *shards, until }).await.map(drop)
    }

    /// Deletes some of the rows that packs have taken over; whether there may be more.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn sweep(&self) -> Result<bool, StoreError> {
        self.maintenance(Maintenance::Sweep).await
    }

    /// Has some late beats of these shards join their packs; whether there may be more.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn join_late(&self, shards: &Shards, now: DateTime<Utc>) -> Result<bool, StoreError> {
        self.maintenance(Maintenance::JoinLate { shards: *shards, now }).await
    }

    /// The owners of packs after one, in the order of their numbers, at most so many.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn owners_after(&self, after: i64, most: u32) -> Result<Vec<i64>, StoreError> {
        let rows = query("SELECT number FROM pack_owners WHERE number > $1 ORDER BY number LIMIT $2")
            .bind(after)
            .bind(most)
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    /// The next day that has packs and no rows yet; none where every pack's day has its rows.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn next_day_to_roll(&self, sealing: &Sealing) -> Result<Option<DateTime<Utc>>, StoreError> {
        let next: Option<i64> = query("SELECT MIN(slot) FROM beat_packs WHERE slot >= $1")
            .bind(slot(packs::hour_number(sealing.rolled_until), 0))
            .fetch_one(&self.readers)
            .await?
            .try_get(0)?;
        next.map(|next| packs::day_from(packs::from_slot(next).0.div_euclid(DAY_HOURS))).transpose()
    }

    /// Makes the rows of a day, all of whose hours are sealed, for some owners.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn roll(&self, day: DateTime<Utc>, owners: &[i64]) -> Result<(), StoreError> {
        let mut reader = self.readers.acquire().await?;
        let mut rows = Vec::with_capacity(owners.len());
        for owner in owners {
            rows.extend(rolled_up(&mut reader, *owner, day).await?);
        }
        drop(reader);
        self.maintenance(Maintenance::Roll { rows }).await.map(drop)
    }

    /// Every day before this moment has its rows.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn rolled(&self, until: DateTime<Utc>) -> Result<(), StoreError> {
        self.maintenance(Maintenance::Rolled { until }).await.map(drop)
    }

    /// Forgets some of what was kept from before a moment; whether there may be more.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn forget(&self, what: Retained, before: DateTime<Utc>) -> Result<bool, StoreError> {
        self.maintenance(Maintenance::Forget { what, before }).await
    }

    /// Looks for ranked lists that no pack of `before` or later names, and for sources that no list names. What is
    /// found is doomed, and dropped a day later unless it was used meanwhile. Reads all lists: once a day.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn doom_unused(&self, before: DateTime<Utc>, now: DateTime<Utc>) -> Result<(), StoreError> {
        let mut unused = Vec::new();
        let mut named: HashSet<i64> = HashSet::new();
        let mut rows = query("SELECT id, sources, used_until, doomed_at FROM ranked_lists").fetch(&self.readers);
        while let Some(row) = rows.try_next().await? {
            let used_until: i64 = row.try_get(2)?;
            let is_ripe =
                row.try_get::<Option<i64>>(3)?.is_none_or(|doomed| doomed <= now.timestamp_micros() - DOOMED_FOR_US);
            if used_until < day_number(before) && is_ripe {
                unused.push(row.try_get(0)?);
            }
            named.extend(row.try_get::<&str>(1)?.split(',').filter_map(|id| id.parse::<i64>().ok()));
        }
        drop(rows);
        let mut nameless = Vec::new();
        let mut rows = query("SELECT id, doomed_at FROM sources").fetch(&self.readers);
        while let Some(row) = rows.try_next().await? {
            let id: i64 = row.try_get(0)?;
            let is_ripe =
                row.try_get::<Option<i64>>(1)?.is_none_or(|doomed| doomed <= now.timestamp_micros() - DOOMED_FOR_US);
            if !named.contains(&id) && is_ripe {
                nameless.push(id);
            }
        }
        drop(rows);
        for (table, numbers) in [(Table::Lists, unused), (Table::Sources, nameless)] {
            for numbers in numbers.chunks(DOOMED_AT_ONCE) {
                self.maintenance(Maintenance::Drop(Doom { table, numbers: numbers.to_vec(), now })).await?;
            }
        }
        Ok(())
    }

    /// Gives free pages back to the disk where they are many, at most so many at once; whether there may be more.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn shrink(&self, pages: u32) -> Result<bool, StoreError> {
        self.maintenance(Maintenance::Shrink { pages }).await
    }

    /// Has the writer do a step of maintenance; whether there may be more of it.
    async fn maintenance(&self, maintenance: Maintenance) -> Result<bool, StoreError> {
        let shards = match &maintenance {
            Maintenance::Begin { shards, .. }
            | Maintenance::Sealed { shards, .. }
            | Maintenance::JoinLate { shards, .. } => *shards,
            Maintenance::Seal { owned, .. } => owned.iter().map(|owned| Shard::of(owned.monitor.as_str())).collect(),
            _ => [Job::Forgetting.shard()].into_iter().collect(),
        };
        match self.ask_for(&shards, Work::Chore(Box::new(maintenance))).await? {
            CommitAnswer::Changed(more) => Ok(more),
            _ => Ok(false),
        }
    }
}
