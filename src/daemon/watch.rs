//! One beat, whole: observe, judge, remember, weigh, decide, commit. Nothing is sent in here.
//!
//! The monitor's state changes for good only once the commit has reached the disk. Where it did not, the beat is
//! *unknown*: our own trouble is never the target's, and the next beat decides again.
//! The steps stay in one file, since their order is what keeps that.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;
use uuid::Uuid;

use crate::daemon::answer_texts::new_texts;
use crate::daemon::beat_history::BeatWeight;
use crate::daemon::day_bytes::DayBytes;
use crate::daemon::decided::{add_decision, announce};
use crate::daemon::failure_confirmation::confirm_failure;
use crate::daemon::listing;
use crate::daemon::loop_context::LoopContext;
use crate::daemon::notify::{Notifier, hold_lines};
use crate::daemon::permits::Permit;
use crate::daemon::rows::{ask_rows, beat_row, changed_holds, changed_signals, lapsed, marks_row};
use crate::daemon::runtime::MonitorRuntime;
use crate::daemon::transcript_policy::TranscriptPolicy;
use crate::domain::answer::{KeptText, Turn};
use crate::domain::classify::{classify, is_any_wrong, our_own};
use crate::domain::fault::FaultKind;
use crate::domain::fleet::Fleet;
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::{Beat, Decision, MonitorState};
use crate::domain::observation::{BeatKind, Observation};
use crate::domain::outcome::{AskVerdict, Outcome, Verdict};
use crate::domain::paging::parent::ParentStand;
use crate::domain::paging::quiet::QuietBook;
use crate::domain::quality::replicas::OriginalStand;
use crate::domain::schedule::{self, BeatAsks};
use crate::domain::server_profile::ServerProfile;
use crate::domain::signal::{Phase, Signal};
use crate::live::monitor_view::BeatMark;
use crate::net::lived::lived;
use crate::probe::assignment::{Assignment, Further};
use crate::store::values::change_set::{BeatRow, ChangeSet, ServerProfileRow, TranscriptRow};
use crate::store::write::probe_memory::address_hash;
use crate::store::{Store, StoreError};

/// What the scheduler has to know once a beat is over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct BeatResult {
    /// When to look again soon; replaces what was planned. None: leave it.
    pub suspects: Option<Vec<DateTime<Utc>>>,
    /// The beat broke down inside Serin.
    pub broke_down: bool,
    /// Serin stood still in the middle of the beat.
    pub stood_still: bool,
    /// The beat was given up, since probes that hang hold every place; its kind and when it was due.
    pub given_up: Option<(BeatKind, DateTime<Utc>)>,
}

/// Takes one beat of a monitor from the first byte to the commit.
pub(crate) async fn beat(
    context: &LoopContext,
    runtime: &mut MonitorRuntime,
    kind: BeatKind,
    scheduled_at: DateTime<Utc>,
    mut permit: Permit,
) -> BeatResult {
    let (started, lived, now) = (Instant::now(), lived(), Utc::now());
    let fleet = Arc::clone(&context.fleet.borrow());
    let observed = permit.within(Box::pin(observe(context, runtime, &fleet, (kind, scheduled_at, now)))).await;
    // Who waits for a commit needs no place.
    drop(permit);
    let Some(observed) = observed else {
        // It was made to bear something, though nobody knows how much.
        let unseen = Observation::blank(runtime.monitor.id.clone(), kind, scheduled_at, now);
        runtime.spending.spend(&unseen, runtime.monitor.every);
        return BeatResult { given_up: Some((kind, scheduled_at)), ..BeatResult::default() };
    };
    runtime.spending.spend(&observed.0, runtime.monitor.every);
    let quiets = context.quiets.book();
    let original = runtime.monitor.original().and_then(|original| context.live.standing(&original.id)?.as_original());
    let is_well = observed.2.verdict == Verdict::Good && runtime.state.incidents().next().is_none();
    let parents = context.parents.stands((&context.prober, &context.live), &runtime.monitor, is_well, now).await;
    let known = Known { store: &context.store, original: original.as_ref(), parents: &parents };
    let mut judged = judged(known, runtime, (&fleet, &quiets), *observed, (started, now));
    let transcripts = std::mem::take(&mut judged.transcripts);
    let record = Box::pin(record(context, runtime, (&fleet, &quiets), (&judged, transcripts), now)).await;
    let counted = Counted {
        mark: BeatMark {
            at: now,
            verdict: judged.outcome.verdict,
            reason: judged.outcome.reason(),
            elapsed_ms: judged.seen.elapsed.as_secs_f32() * 1e3,
        },
        lived,
        weight: BeatWeight {
            scheduled: kind == BeatKind::Scheduled,
            apart: quiets.maintenance_until(&runtime.monitor, now).is_some(),
            answers: answers(&judged.seen, &judged.outcome),
            every: runtime.monitor.every,
        },
    };
    let stood_still = our_own(&judged.seen).is_some_and(|fault| fault.kind == FaultKind::StoodStill);
    let suspects = suspects(&runtime.state, &judged.next.state, &runtime.monitor, &judged.seen);
    let before = (runtime.round.turn, runtime.sources_asked_at, runtime.listings.last.clone());
    context.live.metrics().searches.count(&runtime.monitor, &judged.seen, &judged.outcome);
    let (next, decisions) = judged.kept(runtime, now);
    if remembered(context, runtime, next, (record, decisions), counted).await {
        return BeatResult { suspects, stood_still, ..BeatResult::default() };
    }
    // What was asked and is forgotten is asked again by the next beat.
    (runtime.round.turn, runtime.sources_asked_at, runtime.listings.last) = before;
    BeatResult { stood_still, ..BeatResult::default() }
}

/// What a beat saw, and what follows from it. In a box, since a beat that waits for its commit keeps the room of whatever
/// it once held.
struct Judged {
    seen: Observation,
    outcome: Outcome,
    next: Next,
    decisions: Vec<Decision>,
    transcripts: Vec<TranscriptRow>,
    texts: Vec<KeptText>,
}

/// What is known beside a beat when it is judged.
struct Known<'a> {
    store: &'a Store,
    /// How the monitor stands just now that this one is declared a replica of.
    original: Option<&'a OriginalStand>,
    /// How what it depends on stands.
    parents: &'a [ParentStand],
}

fn judged(
    Known { store, original, parents }: Known<'_>,
    runtime: &MonitorRuntime,
    (fleet, quiets): (&Fleet, &QuietBook),
    (mut seen, profile, outcome): Observed,
    (started, now): (Instant, DateTime<Utc>),
) -> Box<Judged> {
    let covered = runtime.history.covered(started, runtime.monitor.every);
    let (monitor, provenance, routes) = (&*runtime.monitor, &fleet.provenance, &*fleet.routes);
    let (seen_now, judged) = (&seen, &outcome);
    let beat =
        Beat { monitor, provenance, routes, quiets, parents, seen: seen_now, outcome: judged, original, covered, now };
    let (state, decisions) = runtime.state.weigh(beat, &mut || Uuid::now_v7().to_string());
    let noted = listing::row(runtime, &seen, now).is_some().then_some(now);
    let mut transcript_policy = runtime.transcript_policy.clone();
    let transcripts = transcript_policy.rows((&seen, &outcome), &decisions, &state, runtime.monitor.every, now);
    let mut texts_today = runtime.texts_today;
    let room = (&mut texts_today, runtime.monitor.canaries.len());
    let texts = new_texts(&seen, room, |name| store.keeps_text(name), now);
    // What is kept is in the database; memory would not hold that of a whole fleet.
    seen.transcript = None;
    let next = Next { state: Arc::new(state), profile, transcript_policy, texts_today, noted, started };
    Box::new(Judged { seen, outcome, next, decisions, transcripts, texts })
}

impl Judged {
    /// Leaves with the runtime what was seen, and answers what is still to be remembered.
    fn kept(self: Box<Self>, runtime: &mut MonitorRuntime, now: DateTime<Utc>) -> (Next, Vec<Decision>) {
        runtime.see(&self.seen, now);
        runtime.keep(self.seen, self.outcome);
        (self.next, self.decisions)
    }
}

/// What a beat makes of a runtime once it is remembered.
struct Next {
    state: Arc<MonitorState>,
    profile: ServerProfile,
    transcript_policy: TranscriptPolicy,
    texts_today: DayBytes,
    /// When the list of tools was written down, where it was.
    noted: Option<DateTime<Utc>>,
    started: Instant,
}

/// A beat, as strip and coverage count it.
#[derive(Clone, Copy)]
struct Counted {
    mark: BeatMark,
    lived: Duration,
    weight: BeatWeight,
}

/// Questions of the schedule that canaries were asked, and those whose answer was right.
fn answers(seen: &Observation, outcome: &Outcome) -> (u32, u32) {
    let asked = seen.asks.iter().zip(&outcome.asks);
    let asked = asked.filter(|(ask, verdict)| ask.turn == Turn::Scheduled && **verdict != AskVerdict::NotAsked);
    asked.fold((0, 0), |(asked, right), (_, verdict)| {
        (asked + 1, right + u32::from(matches!(verdict, AskVerdict::Right { .. })))
    })
}

/// Commits a beat and lets the runtime follow; false where it could not be remembered.
///
/// Where nothing was decided the commit waits for others to share it. Nobody looking at a page waits with it: such a beat
/// is shown first, and taken back should it not be remembered.
async fn remembered(
    context: &LoopContext,
    runtime: &mut MonitorRuntime,
    next: Next,
    (record, decisions): (Result<Box<ChangeSet>, StoreError>, Vec<Decision>),
    counted: Counted,
) -> bool {
    let (now, verdict) = (counted.mark.at, counted.mark.verdict);
    let is_quiet = decisions.is_empty();
    let before = Arc::clone(&runtime.state);
    if is_quiet {
        runtime.state = Arc::clone(&next.state);
        runtime.history.count(counted.mark, counted.lived, counted.weight);
        context.live.put(runtime.view(now));
    }
    let committed = match record {
        Ok(record) => context.store.commit(record).await,
        Err(error) => Err(error),
    };
    context.note_write(committed.as_ref().err(), now);
    if let Err(error) = committed {
        if is_quiet {
            runtime.state = before;
            runtime.history.take_back(counted.weight);
        } else {
            let unknown = BeatMark { verdict: Verdict::Unknown, reason: None, ..counted.mark };
            let unheard = BeatWeight { answers: (0, 0), ..counted.weight };
            runtime.history.count(unknown, counted.lived, unheard);
        }
        if error == StoreError::LeaseLost {
            // It is shown as whoever watches it now has it.
            return false;
        }
        runtime.trouble = Some(format!("this beat could not be remembered: {error}").into());
        context.live.metrics().beat(Verdict::Unknown);
        context.live.put(runtime.view(now));
        return false;
    }
    if !is_quiet {
        runtime.state = next.state;
        runtime.history.count(counted.mark, counted.lived, counted.weight);
    }
    let is_shown = is_quiet && runtime.trouble.is_none() && runtime.profile == next.profile;
    runtime.profile = next.profile;
    runtime.transcript_policy = next.transcript_policy;
    runtime.texts_today = next.texts_today;
    runtime.spending.days_saved(now);
    // What showed us nothing covers no time.
    if verdict != Verdict::Unknown {
        runtime.history.last_started = Some(next.started);
    }
    runtime.trouble = None;
    if let Some(at) = next.noted {
        runtime.listings.note(at);
    }
    context.live.metrics().beat(verdict);
    if !is_shown {
        context.live.put(runtime.view(now));
    }
    announce(context, &runtime.monitor.id, &decisions);
    true
}

/// What needs a place: the probe, its judgement, and whatever is looked at once more.
async fn observe(
    context: &LoopContext,
    runtime: &mut MonitorRuntime,
    fleet: &Fleet,
    (kind, scheduled_at, now): (BeatKind, DateTime<Utc>, DateTime<Utc>),
) -> Box<Observed> {
    let assignment = assign(runtime, kind, scheduled_at, now);
    let (mut seen, profile, transcript) = context.prober.record(&assignment).await;
    let outcome = classify(&runtime.monitor, &seen);
    if outcome.verdict != Verdict::Good {
        seen.transcript = transcript.map(|transcript| transcript.written(&assignment, &seen, &outcome));
    }
    // Judged, and nobody else reads them: what stays of them for good stands beside them.
    let asked = seen.asks.iter_mut().chain(seen.altered.as_deref_mut());
    let asked = asked.chain(seen.harvested.as_deref_mut().map(|harvested| &mut harvested.ask));
    for answer in asked.filter_map(|ask| ask.result.as_mut()?.as_mut().ok()) {
        (answer.text, answer.read) = (None, None);
    }
    let judged = (&mut seen, outcome);
    let outcome = confirm_failure(context, runtime, &fleet.control, judged, profile.recent_action, now).await;
    Box::new((seen, profile, outcome))
}

/// What a probe showed, what it taught us of the server, and what it comes to.
type Observed = (Observation, ServerProfile, Outcome);

fn assign(runtime: &MonitorRuntime, kind: BeatKind, scheduled_at: DateTime<Utc>, now: DateTime<Utc>) -> Assignment {
    let BeatAsks { asks, further, altered } = runtime.asks(now);
    Assignment {
        monitor: Arc::clone(&runtime.monitor),
        kind,
        scheduled_at,
        started_at: now,
        asks,
        further: Further { canaries: further, called_for: is_any_wrong, altered, harvest: runtime.harvesting(now) },
        source_pages: runtime.source_pages(now),
        source_names: runtime.state.lost_since().is_some(),
        profile: runtime.profile.clone(),
        lists: runtime.lists(),
    }
}

/// The beat's transaction: what was seen, what it changed, and what is to be said of it.
async fn record(
    context: &LoopContext,
    runtime: &MonitorRuntime,
    (fleet, quiets): (&Fleet, &QuietBook),
    (judged, transcripts): (&Judged, Vec<TranscriptRow>),
    now: DateTime<Utc>,
) -> Result<Box<ChangeSet>, StoreError> {
    let Judged { seen, outcome, next: Next { state: next, profile, .. }, decisions, texts, .. } = judged;
    let notifier = Notifier { fleet, quiets, live: &context.live, monitor: &runtime.monitor, now };
    let mut record = Box::new(ChangeSet {
        beat: Some(BeatRow {
            in_maintenance: quiets.maintenance_until(&runtime.monitor, now).is_some(),
            ..beat_row(seen, outcome, next, (&fleet.provenance.hash, &runtime.monitor))
        }),
        asks: ask_rows(seen, outcome),
        texts: texts.clone(),
        signals: changed_signals(runtime, next),
        marks: (runtime.state.marks != next.marks).then(|| marks_row(runtime, next)),
        profile: (runtime.profile != *profile).then(|| ServerProfileRow {
            monitor: runtime.monitor.id.clone(),
            address: address_hash(&runtime.monitor),
            profile: profile.clone(),
        }),
        spent: runtime.spending.unsaved_days(now).into_iter().map(|day| (runtime.monitor.id.clone(), day)).collect(),
        holds: changed_holds(runtime, next),
        lapsed: lapsed(runtime, next).map(|(incident, at)| (incident.to_owned(), at)).collect(),
        listing: listing::row(runtime, seen, now),
        transcripts,
        ..ChangeSet::under(runtime.lease)
    });
    record.timeline = hold_lines(&record.holds, next);
    for decision in decisions {
        add_decision(&mut record, (decision, seen, next), &context.store, &notifier).await?;
    }
    Ok(record)
}

/// When to look again soon: planned at the first failure, dropped with the first good beat.
fn suspects(
    before: &MonitorState,
    after: &MonitorState,
    monitor: &Monitor,
    seen: &Observation,
) -> Option<Vec<DateTime<Utc>>> {
    let phase = |state: &MonitorState| state.signal(Signal::Availability).phase;
    match (phase(before), phase(after)) {
        (Phase::Quiet, Phase::Pending) => {
            let ended_at = seen.started_at + seen.elapsed;
            Some(schedule::suspects(seen.started_at, ended_at, monitor.rules.availability.page_after))
        }
        (Phase::Pending, after) if after != Phase::Pending => Some(Vec::new()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod walk_tests;

#[cfg(test)]
pub(crate) mod month;
