//! Makes the past small and forgets what is over, in short steps, so that no beat waits for it.
//!
//! Each turn does the first of these that has something to do: late beats join their packs; an hour that is over
//! is sealed; its rows are swept; a day that is sealed is rolled up; and once a day, what was kept long enough
//! is forgotten. How far it is stands in the database, so it may die anywhere and goes on there.
//! It reports no turns: a loop that turns when there is something to do would look as if it stood still.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use tokio_util::sync::CancellationToken;

use crate::daemon::loop_context::LoopContext;
use crate::domain::fleet::Retention;
use crate::domain::lease::Job;
use crate::domain::monitor::MonitorId;
use crate::domain::shard::Shards;
use crate::store::Store;
use crate::store::StoreError;
use crate::store::packed::packs::hour_of;
use crate::store::packed::sealing::Sealing;
use crate::store::write::retain::Retained;
use crate::store::write::seal::{GRACE, Owned};

/// How often it looks whether there is something to do.
const LOOK_EVERY: Duration = Duration::from_secs(60);
const FORGET_EVERY: TimeDelta = TimeDelta::days(1);
/// Between two steps it rests as long as the step took, within these: beats go first.
const REST: std::ops::RangeInclusive<Duration> = Duration::from_millis(5)..=Duration::from_millis(200);
/// Beats whose hour is read in one step, at least; each reading walks over the whole hour.
const READ_AT_ONCE: usize = 4_000;
/// An hour of a large fleet is read in so many steps, so that memory holds two beats a monitor of it, some 1.5 kB.
const READINGS: usize = 32;
/// Monitors and beats that are sealed in one step: some 6,000 rows, which are some 10 ms of the writer.
const SEALED_AT_ONCE: (usize, usize) = (32, 2_000);
/// Monitors whose day is rolled up in one step: some 1,500 packs.
const ROLLED_AT_ONCE: u32 = 64;
/// Pages given back to the disk in one step.
const SHRUNK_AT_ONCE: u32 = 500;
/// Answers, lists and sources outlive the packs that name them by this.
const NAMED_LONGER: TimeDelta = TimeDelta::days(2);

/// What it is in the middle of; all of it can be found out again.
#[derive(Debug, Default)]
pub struct JanitorPlan {
    /// The hour being sealed.
    sealing: Option<SealedHour>,
    /// The day being rolled up, and the last owner that has its row.
    rolling: Option<(DateTime<Utc>, i64)>,
    /// What is still to be forgotten today.
    forgetting: Vec<Forgetting>,
    forgot_at: Option<DateTime<Utc>>,
}

/// An hour of some shards whose packs are being written.
#[derive(Debug)]
struct SealedHour {
    shards: Shards,
    at: DateTime<Utc>,
    /// Whose beats are still to be read, by id, and how many those are.
    left: Vec<(MonitorId, usize)>,
    /// Beats that are read in one step.
    at_once: usize,
    /// Whose packs are to be written next.
    read: Vec<Owned>,
}

impl SealedHour {
    async fn begin(store: &Store, shards: Shards, at: DateTime<Utc>) -> Result<Self, StoreError> {
        let left = store.monitors_with_rows(&shards, at).await?;
        let beats: usize = left.iter().map(|(_, beats)| beats).sum();
        Ok(Self { shards, at, left, at_once: READ_AT_ONCE.max(beats / READINGS), read: Vec::new() })
    }

    /// Reads or writes some of it; false where nothing is left.
    async fn step(&mut self, store: &Store) -> Result<bool, StoreError> {
        if self.read.is_empty() {
            let some = most(&self.left, (usize::MAX, self.at_once), |(_, beats)| *beats);
            let some = self.left.split_off(self.left.len() - some);
            let (Some((first, _)), Some((last, _))) = (some.first(), some.last()) else { return Ok(false) };
            self.read = store.to_seal(&self.shards, self.at, (first, last)).await?;
        } else {
            let some = most(&self.read, SEALED_AT_ONCE, |owned| owned.beats.len());
            let some = self.read.split_off(self.read.len() - some);
            store.seal(self.at, some).await?;
        }
        Ok(true)
    }
}

/// How many from the end are within so many of them and so many beats: one at least, where there is any.
fn most<T>(all: &[T], (most, beats_most): (usize, usize), beats: impl Fn(&T) -> usize) -> usize {
    let mut sum = 0;
    let within = all.iter().rev().take(most).take_while(|one| {
        let is_first = sum == 0;
        sum += beats(one).max(1);
        is_first || sum <= beats_most
    });
    within.count()
}

/// One kind of what is forgotten.
#[derive(Debug, Clone, Copy)]
enum Forgetting {
    Transcripts,
    Kept(Retained),
    Unused,
    Pages,
}

/// The order matters: what names something goes before what is named.
const DAILY: [Forgetting; 10] = [
    Forgetting::Pages,
    Forgetting::Kept(Retained::Files),
    Forgetting::Unused,
    Forgetting::Kept(Retained::Tools),
    Forgetting::Kept(Retained::Notices),
    Forgetting::Kept(Retained::Incidents),
    Forgetting::Kept(Retained::Days),
    Forgetting::Kept(Retained::Answers),
    Forgetting::Kept(Retained::Packs),
    Forgetting::Transcripts,
];

/// Seals, rolls up and forgets, a step a turn, until shutdown.
pub async fn run(context: LoopContext, shutdown: CancellationToken) {
    let mut plan = JanitorPlan::default();
    let mut leases = Arc::clone(&context.leases.borrow());
    while !shutdown.is_cancelled() {
        let (started, now) = (Instant::now(), Utc::now());
        let retention = context.fleet.borrow().retention;
        let held = Arc::clone(&context.leases.borrow());
        if *held != *leases {
            // What was read under other leases is not written under these.
            (plan.sealing, plan.rolling) = (None, None);
            leases = held;
        }
        let store = context.store.under(Arc::clone(&leases));
        let pause = match turn(&store, &mut plan, (&leases.shards(), retention), now).await {
            Ok(true) => started.elapsed().clamp(*REST.start(), *REST.end()),
            Ok(false) => LOOK_EVERY,
            // Where the store does not answer, the beats say so; nothing is lost by waiting.
            Err(error) => {
                tracing::debug!(%error, "the past could not be made smaller");
                LOOK_EVERY
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// One step; whether there may be more to do. What is nobody's shard's is done by whoever has that job.
///
/// # Errors
/// Where the store does not answer.
pub async fn turn(
    store: &Store,
    plan: &mut JanitorPlan,
    (shards, retention): (&Shards, Retention),
    now: DateTime<Utc>,
) -> Result<bool, StoreError> {
    if store.join_late(shards, now).await? {
        // One may have joined a pack of the day that is being rolled up: it is rolled up anew.
        plan.rolling = None;
        return Ok(true);
    }
    let sealing = store.sealing().await?;
    if !shards.has(Job::Forgetting.shard()) {
        return seal(store, plan, (shards, &sealing), now).await;
    }
    Ok(seal(store, plan, (shards, &sealing), now).await?
        || sweep(store, &sealing).await?
        || roll(store, plan, &sealing).await?
        || forget(store, plan, &sealing, retention, now).await?)
}

async fn seal(
    store: &Store,
    plan: &mut JanitorPlan,
    (shards, sealing): (&Shards, &Sealing),
    now: DateTime<Utc>,
) -> Result<bool, StoreError> {
    if let Some((until, some)) = sealing.begun(shards) {
        let hour = until - TimeDelta::hours(1);
        // Where a step fails, the hour is begun again.
        let mut begun = match plan.sealing.take().filter(|begun| (begun.at, begun.shards) == (hour, some)) {
            Some(begun) => begun,
            None => SealedHour::begin(store, some, hour).await?,
        };
        if begun.step(store).await? {
            plan.sealing = Some(begun);
        } else {
            store.sealed(&some, until).await?;
        }
        return Ok(true);
    }
    // Shards that are equally far go on together: all of them, mostly.
    let Some((sealed_until, some)) = sealing.furthest_behind(shards) else { return Ok(false) };
    let over = hour_of(now - GRACE);
    let next = match store.oldest_unsealed_hour(sealed_until).await? {
        Some(oldest) => oldest + TimeDelta::hours(1),
        // Nothing was seen since: the hours go by without packs.
        None => over,
    };
    if next > over || next <= sealed_until {
        return Ok(false);
    }
    store.begin_sealing(&some, next).await?;
    Ok(true)
}

async fn sweep(store: &Store, sealing: &Sealing) -> Result<bool, StoreError> {
    Ok(sealing.swept_until < sealing.first_sealed && store.sweep().await?)
}

async fn roll(store: &Store, plan: &mut JanitorPlan, sealing: &Sealing) -> Result<bool, StoreError> {
    let Some(day) = store.next_day_to_roll(sealing).await? else { return Ok(false) };
    if day + TimeDelta::days(1) > sealing.first_sealed {
        return Ok(false);
    }
    let after = plan.rolling.filter(|(rolling, _)| *rolling == day).map_or(0, |(_, after)| after);
    let owners = store.owners_after(after, ROLLED_AT_ONCE).await?;
    match owners.last() {
        Some(last) => {
            store.roll(day, &owners).await?;
            plan.rolling = Some((day, *last));
        }
        None => {
            store.rolled(day + TimeDelta::days(1)).await?;
            plan.rolling = None;
        }
    }
    Ok(true)
}

async fn forget(
    store: &Store,
    plan: &mut JanitorPlan,
    sealing: &Sealing,
    retention: Retention,
    now: DateTime<Utc>,
) -> Result<bool, StoreError> {
    if plan.forgetting.is_empty() && plan.forgot_at.is_none_or(|at| now - at >= FORGET_EVERY || now < at) {
        plan.forgetting = DAILY.to_vec();
        plan.forgot_at = Some(now);
    }
    let Some(what) = plan.forgetting.last() else { return Ok(false) };
    let more = match what {
        Forgetting::Transcripts => store.forget_transcripts(now, retention.transcripts).await? > 0,
        // A pack is kept until its day has a row, whatever the file says.
        Forgetting::Kept(Retained::Packs) => {
            store.forget(Retained::Packs, (now - retention.beats).min(sealing.rolled_until)).await?
        }
        Forgetting::Kept(Retained::Answers) => {
            store.forget(Retained::Answers, now - retention.beats - NAMED_LONGER).await?
        }
        Forgetting::Kept(Retained::Days) => store.forget(Retained::Days, now - retention.days).await?,
        // By them beats and incidents were judged that are still kept.
        Forgetting::Kept(Retained::Files) => {
            store.forget(Retained::Files, now - retention.incidents.max(retention.beats)).await?
        }
        Forgetting::Kept(kept) => store.forget(*kept, now - retention.incidents).await?,
        Forgetting::Unused => {
            store.doom_unused(now - retention.beats - NAMED_LONGER, now).await?;
            false
        }
        Forgetting::Pages => store.shrink(SHRUNK_AT_ONCE).await?,
    };
    if !more {
        plan.forgetting.pop();
    }
    Ok(true)
}
