//! Where the last run stood: the runtime of each monitor with every window, phase, baseline and open incident put back. One that
//! returns to the file, or to a list, is put back the same way: it is no stranger.
//!
//! What the file says now wins: rules edited while Serin was down are weighed on the first match of
//! the fleet, and a monitor that left the file gets a runtime of its own just to end what it had open.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;

use crate::daemon::beat_history::KEPT_HOURS;
use crate::daemon::rows::{LEAK, TRACK};
use crate::daemon::runtime::MonitorRuntime;
use crate::domain::answer::{Turn, Variant};
use crate::domain::contract::Baseline;
use crate::domain::errors::SearchCall;
use crate::domain::flapping::WITHIN;
use crate::domain::fleet::Fleet;
#[cfg(test)]
use crate::domain::fleet_files::FileWord;
#[cfg(test)]
use crate::domain::fleet_files::FleetFiles;
use crate::domain::incident::Incident;
use crate::domain::lease::Leases;
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::outcome::AskVerdict;
use crate::domain::quality::canary;
use crate::domain::quality::confirmation::{AnsweredBy, CanaryState};
use crate::domain::quality::track_record::TrackRecord;
use crate::domain::reason::FailureReason;
use crate::domain::recent_beats::RecentBeats;
use crate::domain::restart::RestartMarks;
use crate::domain::secret::{Address, Secret};
use crate::domain::signal::{Phase, Signal, SignalState};
use crate::live::monitor_view::HourMark;
use crate::store::Store;
use crate::store::StoreError;
use crate::store::read::recent::{AskLine, HourCount};
use crate::store::values::change_set::SignalRow;
use crate::store::values::whose::Whose;
use crate::store::write::probe_memory::address_hash;

/// Strips and coverage look back this far.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// A canary's own streak is kept under this prefix of the quality signal's subject; of its way to a leak, see [`LEAK`].
const CANARY: &str = "canary:";

/// A runtime for every monitor of the fleet that is watched under these leases, and for every other that still has something
/// open and is declared by no file.
///
/// # Errors
/// Where the store cannot be read.
pub(crate) async fn runtimes(
    store: &Store,
    fleet: &Fleet,
    leases: &Leases,
    now: DateTime<Utc>,
) -> Result<Vec<MonitorRuntime>, StoreError> {
    let whole = *leases == Leases::whole();
    let ours = fleet.monitors.iter().filter(|monitor| whole || leases.of_monitor(&monitor.id).is_some());
    let ours: Vec<Arc<Monitor>> = ours.map(Arc::clone).collect();
    let mut runtimes = new(store, &ours, (leases, if whole { Some(Whose::Everybodys) } else { None }), now).await?;
    runtimes.extend(departed(store, fleet, leases, now).await?);
    let ids: Vec<MonitorId> = runtimes.keys().cloned().collect();
    restored(store, runtimes, if whole { Whose::Everybodys } else { Whose::Of(&ids) }, now).await
}

/// What a start has of a fleet that comes into force with it.
#[cfg(test)]
pub(crate) async fn started(
    store: &Store,
    (fleet, files): (&Fleet, &FleetFiles),
    leases: &Leases,
    now: DateTime<Utc>,
) -> Result<Vec<MonitorRuntime>, StoreError> {
    store.config_loaded(fleet, (files, FileWord::Start), now).await?;
    runtimes(store, fleet, leases, now).await
}

/// A runtime for each of these monitors, which a fleet in force has and nobody here has looked at since it was last removed, if
/// ever, or since another machine did.
///
/// # Errors
/// Where the store cannot be read.
pub(crate) async fn returned(
    store: &Store,
    monitors: &[Arc<Monitor>],
    leases: &Leases,
    now: DateTime<Utc>,
) -> Result<Vec<MonitorRuntime>, StoreError> {
    let runtimes = new(store, monitors, (leases, None), now).await?;
    let ids: Vec<MonitorId> = runtimes.keys().cloned().collect();
    restored(store, runtimes, Whose::Of(&ids), now).await
}

/// A runtime for each monitor that no file declares any more and that still has something open, as far as it is watched under
/// these leases.
///
/// # Errors
/// Where the store cannot be read.
pub(crate) async fn left_open(
    store: &Store,
    fleet: &Fleet,
    leases: &Leases,
    now: DateTime<Utc>,
) -> Result<Vec<MonitorRuntime>, StoreError> {
    let runtimes = departed(store, fleet, leases, now).await?;
    let ids: Vec<MonitorId> = runtimes.keys().cloned().collect();
    if ids.is_empty() { Ok(Vec::new()) } else { restored(store, runtimes, Whose::Of(&ids), now).await }
}

async fn new(
    store: &Store,
    monitors: &[Arc<Monitor>],
    (leases, whose): (&Leases, Option<Whose<'_>>),
    now: DateTime<Utc>,
) -> Result<HashMap<MonitorId, MonitorRuntime>, StoreError> {
    let ids: Vec<MonitorId> = monitors.iter().map(|monitor| monitor.id.clone()).collect();
    let first_seen = store.first_seens(whose.unwrap_or(Whose::Of(&ids))).await?;
    let new = |monitor: &Arc<Monitor>| {
        let mut runtime = MonitorRuntime::under(leases, Arc::clone(monitor), now);
        runtime.history.first_seen = first_seen.get(&monitor.id).copied().unwrap_or(now);
        (monitor.id.clone(), runtime)
    };
    Ok(monitors.iter().map(new).collect())
}

/// What is open and declared by nobody. What another machine's file has and ours does not have yet is none of it.
async fn departed(
    store: &Store,
    fleet: &Fleet,
    leases: &Leases,
    now: DateTime<Utc>,
) -> Result<HashMap<MonitorId, MonitorRuntime>, StoreError> {
    let declared: HashSet<&MonitorId> = fleet.monitors.iter().map(|monitor| &monitor.id).collect();
    let open = store.open_incidents().await?.into_iter().map(|incident| incident.monitor);
    let ids: Vec<MonitorId> = open.filter(|id| !declared.contains(id) && leases.of_monitor(id).is_some()).collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let elsewhere = store.declared_anywhere(&ids).await?;
    let left = ids.into_iter().filter(|id| !elsewhere.contains(id));
    Ok(left.map(|id| (id.clone(), MonitorRuntime::under(leases, Arc::new(undeclared(&id)), now))).collect())
}

async fn restored(
    store: &Store,
    mut runtimes: HashMap<MonitorId, MonitorRuntime>,
    whose: Whose<'_>,
    now: DateTime<Utc>,
) -> Result<Vec<MonitorRuntime>, StoreError> {
    let mut tellings = store.tellings().await?;
    for incident in store.open_incidents().await? {
        if let Some(runtime) = runtimes.get_mut(&incident.monitor) {
            let telling = tellings.remove(&incident.id).unwrap_or_default();
            runtime.state_mut().restore_incident(incident, telling);
        }
    }
    for row in store.signal_states(whose).await? {
        if let Some(runtime) = runtimes.get_mut(&row.monitor) {
            restore(runtime, row, now);
        }
    }
    for incident in store.openings_since(now - WITHIN).await? {
        if let Some(runtime) = runtimes.get_mut(&incident.monitor) {
            runtime.state_mut().restore_opening(&incident);
        }
    }
    windows(store, &mut runtimes, whose, now).await?;
    for (id, strip) in store.recent_beats(now - DAY, whose).await? {
        if let Some(runtime) = runtimes.get_mut(&id) {
            runtime.history.strip = Arc::new(Mutex::new(strip.into_iter().collect()));
        }
    }
    for (id, hours) in store.coverage(now - TimeDelta::hours(KEPT_HOURS), whose).await? {
        if let Some(runtime) = runtimes.get_mut(&id) {
            let every = runtime.monitor.every;
            let hours = hours.into_iter().map(|hour| hour_mark(hour, every)).collect();
            runtime.history.hours = Arc::new(Mutex::new(hours));
        }
    }
    marks(store, &mut runtimes, whose, now).await?;
    known(store, &mut runtimes, whose, now).await?;
    worked(store, &mut runtimes).await?;
    Ok(runtimes.into_values().map(settled).collect())
}

/// Answers of before the start are for the database to tell, where a page asks.
/// Nobody wrote down the rhythm of then: beats stand for as long as they do now, and several for an hour at most, or a
/// rhythm that has become slower would cover hours that had no beat.
fn hour_mark(HourCount { hour, due, seen, up, apart }: HourCount, every: Duration) -> HourMark {
    let every_s = every.as_secs().max(1);
    let due_s = (u64::from(due) * every_s).min(every_s.max(3_600));
    HourMark { hour, due, due_s: u32::try_from(due_s).unwrap_or(u32::MAX), seen, up, apart, asked: 0, right: 0 }
}

/// Puts a signal back where it stood, or a canary on one of its ways. Of a canary there may be a row for each of both.
fn restore(runtime: &mut MonitorRuntime, row: SignalRow, now: DateTime<Utc>) {
    let new = || CanaryState::new(&row.rule_hash, now);
    if let Some(id) = row.subject.strip_prefix(LEAK) {
        let canary = runtime.state_mut().canaries.get_or_insert_with(id, new);
        canary.leak = (row.state.phase != Phase::Quiet).then(|| Box::new(row.state));
    } else if let Some(id) = row.subject.strip_prefix(CANARY) {
        let canary = runtime.state_mut().canaries.get_or_insert_with(id, new);
        if row.state.phase == Phase::Pending {
            canary.wrong_in_a_row = row.state.streak;
        }
        canary.doubted_since = (row.state.phase != Phase::Quiet).then_some(row.state.since);
        canary.state = row.state;
    } else if row.subject == TRACK {
        // One that cannot be read is begun anew.
        if let Some(record) = row.detector.as_deref().and_then(TrackRecord::from_bytes) {
            let monitor = Arc::clone(&runtime.monitor);
            runtime.state_mut().restore_track_record(record, &monitor);
        }
    } else {
        runtime.edited_unseen |= row.rule_hash != runtime.monitor.definition_hash;
        // Beats that cannot be read are counted anew.
        let recent = row.detector.as_deref().and_then(RecentBeats::from_bytes).unwrap_or_default();
        runtime.state_mut().restore_recent_beats(row.signal, recent);
        runtime.state_mut().restore_signal(row.signal, row.state);
    }
}

/// A phase that speaks of an incident the store does not have is put right: the incident is the truth.
fn settled(mut runtime: MonitorRuntime) -> MonitorRuntime {
    for signal in Signal::ALL {
        let state = runtime.state.signal(signal);
        if let Some(incident) = runtime.state.incident(signal).filter(|_| !state.phase.has_incident()).cloned() {
            let open = SignalState { phase: Phase::Open, ..SignalState::quiet(incident.opened_at) };
            runtime.state_mut().restore_signal(signal, open);
            continue;
        }
        if state.phase.has_incident() && runtime.state.incident(signal).is_none() {
            let quiet = SignalState::quiet(state.since);
            runtime.state_mut().restore_signal(signal, quiet);
        }
    }
    runtime
}

/// Latency and errors windows, and each canary's last answer.
async fn windows(
    store: &Store,
    runtimes: &mut HashMap<MonitorId, MonitorRuntime>,
    whose: Whose<'_>,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let rules = runtimes.values().map(|runtime| &runtime.monitor.rules);
    let window = rules.map(|rules| rules.latency.window.max(rules.errors.window)).max().unwrap_or_default();
    let asks = store.recent_asks(now - window, whose).await?;
    let past_caches = asks.iter().filter(|ask| ask.variant == Variant::Fresh);
    let past_caches: HashSet<MonitorId> = past_caches.map(|ask| ask.monitor.clone()).collect();
    for ask in asks {
        let Some(runtime) = runtimes.get_mut(&ask.monitor) else { continue };
        if ask.turn == Turn::NotAsked {
            continue;
        }
        let knows_way = past_caches.contains(&ask.monitor);
        let by = AnsweredBy { variant: ask.variant, index: ask.cache.says_index(ask.variant, knows_way) };
        if ask.scheduled && ask.turn == Turn::Scheduled {
            recount(runtime, &ask, by);
        }
        let declared = runtime.monitor.canaries.iter().find(|canary| canary.id == ask.canary);
        if let Some(declared) = declared {
            let hash = declared.definition_hash.clone();
            let answered = last(&ask, runtime.state.incident(Signal::Quality));
            let state = runtime.state_mut();
            let canary = state.canaries.get_or_insert_with(&ask.canary, || CanaryState::new(&hash, now));
            canary.elapsed = ask.elapsed;
            canary.tokens = ask.tokens.or(canary.tokens);
            canary.failed = ask.reason.filter(|_| ask.verdict == "failed");
            if let Some(last) = answered {
                canary.remember(last, by, ask.started_at);
            }
        }
    }
    for runtime in runtimes.values_mut() {
        let monitor = Arc::clone(&runtime.monitor);
        let state = runtime.state_mut();
        state.latency.trim(monitor.rules.latency.window, now);
        state.errors.trim(monitor.rules.errors.window, now);
    }
    Ok(())
}

fn recount(runtime: &mut MonitorRuntime, ask: &AskLine, by: AnsweredBy) {
    let failed = (ask.verdict == "failed").then_some(ask.reason).flatten();
    let state = runtime.state_mut();
    state.errors.push(SearchCall { at_us: ask.started_at.timestamp_micros(), failed });
    if by.index && (failed.is_none() || failed == Some(FailureReason::Timeout)) {
        state.latency.push(ask.started_at, ask.elapsed, failed.is_some());
    }
}

/// The last answer; what a wrong one brought is told by the incident that is open about it.
fn last(ask: &AskLine, incident: Option<&Incident>) -> Option<AskVerdict> {
    match (ask.verdict, ask.reason) {
        ("right", _) => Some(AskVerdict::Right { rank: ask.rank }),
        ("wrong", Some(reason)) => {
            let (key, head) = (canary::key(&ask.canary), format!("{}: ", reason.slug()));
            let told = incident.and_then(|incident| incident.evidence.iter().find(|evidence| evidence.key == key));
            let told = told.and_then(|evidence| evidence.value.strip_prefix(&head));
            let seen = told.unwrap_or("what it brought is not remembered").to_owned();
            Some(AskVerdict::Wrong { reason, rank: ask.rank, seen })
        }
        _ => None,
    }
}

async fn marks(
    store: &Store,
    runtimes: &mut HashMap<MonitorId, MonitorRuntime>,
    whose: Whose<'_>,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    for row in store.tools_baselines(whose).await? {
        if let Some(runtime) = runtimes.get_mut(&row.monitor) {
            let (listing, accepted_by) = (row.tools.listing, row.accepted_by);
            let monitor = Arc::clone(&runtime.monitor);
            let state = runtime.state_mut();
            state.tools.baseline = Some(Baseline { listing, accepted_by, accepted_at: row.from });
            state.take_lock(&monitor, None, now);
        }
    }
    for row in store.marks(whose).await? {
        if let Some(runtime) = runtimes.get_mut(&MonitorId::new(&row.monitor)) {
            runtime.state_mut().restore_marks(RestartMarks {
                instances: row.instance.into_iter().collect(),
                version: row.version,
                process_started_at: row.process_started_at,
                restarted_at: row.restarted_at,
            });
        }
    }
    Ok(())
}

/// What was learnt of each server, and what it was made to bear today and yesterday.
async fn known(
    store: &Store,
    runtimes: &mut HashMap<MonitorId, MonitorRuntime>,
    whose: Whose<'_>,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    for row in store.server_profiles(whose).await? {
        // What was learnt of another address is worth nothing.
        if let Some(runtime) =
            runtimes.get_mut(&row.monitor).filter(|runtime| address_hash(&runtime.monitor) == row.address)
        {
            runtime.profile = row.profile;
        }
    }
    for (id, days) in store.spent(now, whose).await? {
        if let Some(runtime) = runtimes.get_mut(&id) {
            runtime.spending.restore_days(&days);
        }
    }
    Ok(())
}

/// Which listed monitors' servers have worked under another id: a source that was renamed lists no strangers.
async fn worked(store: &Store, runtimes: &mut HashMap<MonitorId, MonitorRuntime>) -> Result<(), StoreError> {
    let is_untried = |runtime: &MonitorRuntime| runtime.monitor.discovered.is_some() && !runtime.state.has_worked();
    let untried = runtimes.values_mut().filter(|runtime| is_untried(runtime));
    let untried: Vec<_> = untried.map(|runtime| (address_hash(&runtime.monitor), runtime)).collect();
    let addresses: Vec<String> = untried.iter().map(|(address, _)| address.clone()).collect();
    let worked = if addresses.is_empty() { HashSet::new() } else { store.worked_at(&addresses).await? };
    for (_, runtime) in untried.into_iter().filter(|(address, _)| worked.contains(address)) {
        runtime.state_mut().restore_worked();
    }
    Ok(())
}

/// A monitor that is no longer declared, as far as ending its incidents needs one. It is never probed:
/// the scheduler removes it when it first matches the fleet.
fn undeclared(id: &MonitorId) -> Monitor {
    Monitor::undeclared(id.as_str(), Address { shown: String::new(), resolved: Secret::new("") })
}

#[cfg(test)]
pub(super) mod tests;
