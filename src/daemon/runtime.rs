//! One monitor's place in the daemon: what is declared, how it stands, and what pages show of it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use crate::daemon::clock::Clock;
use crate::daemon::connectivity::ConnectivityTask;
use crate::daemon::transcript_policy::TranscriptPolicy;
use crate::domain::answer::Turn;
use crate::domain::context::Spread;
use crate::domain::monitor::{Canary, CanaryKind, Monitor, MonitorId};
use crate::domain::monitor_state::MonitorState;
use crate::domain::observation::{BeatKind, ConnectivityStep, Observation, ToolsSeen};
use crate::domain::outcome::{AskVerdict, Outcome, Verdict};
use crate::domain::protocol::Era;
use crate::domain::quality::confirmation::CanaryState;
use crate::domain::rate_limit::{self, Hold, Quiet, Spent};
use crate::domain::schedule::{self, Doubt};
use crate::domain::server_profile::{RecentAction, ServerProfile};
use crate::domain::signal::{Phase, Signal};
use crate::live::state::{BeatMark, CanaryView, MonitorView, OpenIncident, RollUp, STRIP_LEN, SignalView, ToolsView};
use crate::store::read::recent::HourCount;
use crate::store::write::probe_memory::address_hash;
use crate::tool_lists::known::KnownLists;

/// Hours that coverage and uptime look back over.
const DAY_HOURS: i64 = 24;
/// A monitor not seen for so many intervals is unknown, whatever it was.
const STALE_INTERVALS: u32 = 3;

/// The days' footprints are written this often: each writing is a row more in the beat's commit.
const DAYS_SAVED_EVERY: Duration = Duration::from_secs(600);

/// One monitor in the daemon. Owned by whoever works on it: the scheduler, or the one beat in flight.
#[derive(Debug)]
pub(crate) struct MonitorRuntime {
    pub monitor: Arc<Monitor>,
    /// How it stands; replaced only after the beat that changed it was remembered.
    pub state: MonitorState,
    pub profile: ServerProfile,
    /// The order of a round of canaries.
    pub round: Vec<usize>,
    /// Canaries the round has asked so far.
    pub turn: usize,
    /// Start of the last beat that was remembered, for covered time.
    pub last_started: Option<Instant>,
    /// When the source-listing tool was last asked.
    pub sources_asked_at: Option<DateTime<Utc>>,
    /// The last beats, the oldest first; shared with what pages show.
    pub strip: Arc<[BeatMark]>,
    /// Since when the monitor is known.
    pub first_seen: DateTime<Utc>,
    /// What the last beat saw and meant.
    pub last: Option<Arc<(Observation, Outcome)>>,
    /// The tools seen last, which an outage since does not take away.
    pub listed: Option<LastListing>,
    /// The list last written down: its hash, whether its tokens were known, and when.
    pub listing_noted: Option<(String, bool, DateTime<Utc>)>,
    /// Tokens of answers since Serin started.
    pub answer_tokens: Spread,
    /// Our own trouble with it.
    pub trouble: Option<String>,
    /// Whether the file changed it while nobody ran, so that what is open is weighed anew.
    pub edited_unseen: bool,
    /// What the connectivity diagnosis showed after the failure that is still to be confirmed.
    pub connectivity: Vec<ConnectivityStep>,
    /// The connectivity diagnosis under way.
    pub diagnosing: Option<ConnectivityTask>,
    /// What Serin itself did just before the failure that is still in doubt.
    pub recent_action: Option<RecentAction>,
    /// Which transcripts were kept lately.
    pub transcript_policy: TranscriptPolicy,
    /// The quiet its server asked for.
    pub quiet: Quiet,
    hours: VecDeque<HourCount>,
    /// Stretches of the wall clock that never were, since it was set forward over them.
    skipped: VecDeque<(DateTime<Utc>, DateTime<Utc>)>,
    clock: Clock,
    /// Yesterday and today, UTC; today last.
    days: [Spent; 2],
    days_saved_at: DateTime<Utc>,
    last_beat_at: Option<DateTime<Utc>>,
    roll_up: RollUp,
    since: DateTime<Utc>,
}

/// A list of tools as a beat saw it.
#[derive(Debug, Clone)]
pub(crate) struct LastListing {
    /// The list, held against what was accepted then.
    pub tools: ToolsSeen,
    /// In which era it was asked for.
    pub era: Option<Era>,
    pub at: DateTime<Utc>,
}

impl MonitorRuntime {
    /// A place for a monitor nobody has looked at yet.
    pub(crate) fn new(monitor: Arc<Monitor>, now: DateTime<Utc>) -> Self {
        Self {
            round: schedule::round(&monitor),
            monitor,
            state: MonitorState::new(now),
            profile: ServerProfile::default(),
            turn: 0,
            last_started: None,
            sources_asked_at: None,
            strip: Arc::new([]),
            first_seen: now,
            last: None,
            listed: None,
            listing_noted: None,
            answer_tokens: Spread::default(),
            trouble: None,
            edited_unseen: false,
            hours: VecDeque::new(),
            skipped: VecDeque::new(),
            clock: Clock::default(),
            connectivity: Vec::new(),
            diagnosing: None,
            recent_action: None,
            transcript_policy: TranscriptPolicy::default(),
            quiet: Quiet::default(),
            days: [Spent::default(), Spent { day: Spent::day_of(now), ..Spent::default() }],
            days_saved_at: now,
            last_beat_at: None,
            roll_up: RollUp::Unknown,
            since: now,
        }
    }

    /// Takes another declaration over; what was learnt of another address is forgotten.
    pub(crate) fn declare(&mut self, monitor: Arc<Monitor>) {
        if address_hash(&monitor) != address_hash(&self.monitor) {
            self.profile = ServerProfile::default();
            self.listed = None;
            self.quiet = Quiet::default();
        }
        self.round = schedule::round(&monitor);
        self.monitor = monitor;
    }

    /// Takes note of the tools a beat saw, where it saw any; `noted`: they were written down.
    pub(crate) fn list(&mut self, seen: &Observation, now: DateTime<Utc>, noted: bool) {
        if let Some(tools) = &seen.tools {
            if noted {
                self.listing_noted = Some((tools.hash.clone(), tools.tokens.is_some(), now));
            }
            self.listed = Some(LastListing { tools: tools.clone(), era: seen.era, at: now });
        }
    }

    /// Counts in what the answers of a beat cost a model's context.
    pub(crate) fn weigh(&mut self, seen: &Observation) {
        let answers = seen.asks.iter().filter_map(|ask| ask.result.as_ref()?.as_ref().ok()?.tokens);
        answers.for_each(|tokens| self.answer_tokens.push(tokens));
    }

    /// The lists that the next probe holds what it sees against.
    pub(crate) fn lists(&self) -> KnownLists {
        let accepted = self.state.tools.baseline.as_ref().map(|baseline| Arc::clone(&baseline.listing));
        KnownLists { accepted, latest: self.listed.as_ref().map(|listed| Arc::clone(&listed.tools.listing)) }
    }

    /// Puts remembered days back.
    pub(crate) fn restore_days(&mut self, days: &[Spent]) {
        for day in &mut self.days {
            if let Some(remembered) = days.iter().find(|one| one.day == day.day) {
                *day = *remembered;
            }
        }
        if let Some(before) = days.iter().find(|one| one.day + 1 == self.days[1].day) {
            self.days[0] = *before;
        }
    }

    /// Why a beat of this kind is not to be made now.
    pub(crate) fn hold(&self, kind: BeatKind, now: DateTime<Utc>) -> Option<Hold> {
        rate_limit::hold(&self.monitor, kind, &self.quiet, &self.days[1], self.last_beat_at, now)
    }

    /// Which canaries the next beat asks, and which ones as well as soon as one of its answers is wrong.
    pub(crate) fn asks(&self, now: DateTime<Utc>) -> (Vec<(usize, Turn)>, Vec<usize>) {
        let failing = self.state.wants_asking();
        let (unheard, share) = self.state.wants_hearing(&self.monitor);
        let spare = || rate_limit::spare_calls(&self.monitor, &self.days[1], now);
        let doubt =
            Doubt { failing: &failing, unheard: &unheard, share, spare: if unheard.is_empty() { 0 } else { spare() } };
        let asks = schedule::asks(&self.monitor, &self.round, self.turn, doubt);
        // Where one wrong answer is enough, no beat is left between it and the page.
        let at_once = self.monitor.rules.quality.after == 1 && failing.is_empty() && unheard.is_empty();
        let further = self.round.iter().copied().filter(|nth| !asks.iter().any(|(at, _)| at == nth));
        let further = if at_once { further.take(spare()).collect() } else { Vec::new() };
        (asks, further)
    }

    /// Takes in what a probe cost, whether or not it can be remembered, and whether it was told to slow down.
    pub(crate) fn spend(&mut self, seen: &Observation) {
        let day = Spent::day_of(seen.started_at);
        if day != self.days[1].day {
            self.days = [self.days[1], Spent { day, ..Spent::default() }];
        }
        self.days[1].add(seen.footprint);
        self.last_beat_at = Some(seen.started_at);
        self.quiet.hear(seen, self.monitor.every);
    }

    /// The days whose figures are to be written with this beat; none most of the time.
    pub(crate) fn unsaved_days(&self, now: DateTime<Utc>) -> Vec<(MonitorId, Spent)> {
        if (now - self.days_saved_at).to_std().is_ok_and(|age| age < DAYS_SAVED_EVERY) {
            return Vec::new();
        }
        let written = self.days.iter().filter(|day| day.beats > 0);
        written.map(|day| (self.monitor.id.clone(), *day)).collect()
    }

    /// Those that were due are on disk.
    pub(crate) fn days_saved(&mut self, now: DateTime<Utc>) {
        if !self.unsaved_days(now).is_empty() {
            self.days_saved_at = now;
        }
    }

    /// Puts remembered hours back.
    pub(crate) fn restore_hours(&mut self, hours: Vec<HourCount>) {
        self.hours = hours.into();
    }

    /// Whether the source-listing tool is due.
    pub(crate) fn wants_sources(&self, now: DateTime<Utc>) -> bool {
        let asked_lately = |at: DateTime<Utc>| (now - at).to_std().is_ok_and(|age| age < schedule::SOURCES_EVERY);
        // An open or pending freshness incident asks each beat, so that its second look and its end come soon.
        let waiting = self.state.signal(Signal::Freshness).phase != Phase::Quiet;
        self.monitor.rules.freshness.is_some() && (waiting || !self.sources_asked_at.is_some_and(asked_lately))
    }

    /// Time since the last remembered beat, as far as it counts as covered: one interval and a half at most.
    pub(crate) fn covered(&self, started: Instant) -> Duration {
        let most = self.monitor.every.mul_f64(1.5);
        self.last_started.map_or(Duration::ZERO, |last| started.duration_since(last).min(most))
    }

    /// Counts a beat in for strip and coverage; `lived` is the machine's age when it started.
    pub(crate) fn count(&mut self, mark: BeatMark, lived: Duration, scheduled: bool) {
        self.skipped.extend(self.clock.skipped(mark.at, lived));
        self.clock.read(mark.at, lived);
        let gone = (self.strip.len() + 1).saturating_sub(STRIP_LEN);
        self.strip = self.strip[gone..].iter().copied().chain([mark]).collect();
        if !scheduled {
            return;
        }
        let hour_us = 3_600_000_000;
        let hour = DateTime::from_timestamp_micros(mark.at.timestamp_micros().div_euclid(hour_us) * hour_us);
        let hour = hour.unwrap_or(mark.at);
        if self.hours.back().is_none_or(|last| last.hour != hour) {
            self.hours.push_back(HourCount { hour, due: 0, seen: 0, up: 0 });
        }
        if let Some(last) = self.hours.back_mut() {
            last.due += 1;
            last.seen += u32::from(mark.verdict != Verdict::Unknown);
            last.up += u32::from(matches!(mark.verdict, Verdict::Good | Verdict::Degraded));
        }
        let oldest = hour - chrono::Duration::hours(DAY_HOURS);
        while self.hours.front().is_some_and(|first| first.hour <= oldest) {
            self.hours.pop_front();
        }
        while self.skipped.front().is_some_and(|(_, to)| *to <= oldest) {
            self.skipped.pop_front();
        }
    }

    /// Seen ÷ due time and up ÷ seen time over the last day, or since the monitor is known.
    fn coverage(&self, now: DateTime<Utc>) -> (Option<f64>, Option<f64>) {
        let seen: u32 = self.hours.iter().map(|hour| hour.seen).sum();
        let up: u32 = self.hours.iter().map(|hour| hour.up).sum();
        if seen == 0 {
            return (None, None);
        }
        let oldest = self.hours.front().map_or(now, |hour| hour.hour).min(now - chrono::Duration::hours(DAY_HOURS));
        let from = self.first_seen.max(oldest);
        let skipped = self.skipped.iter().map(|(since, to)| (*to - from.max(*since)).to_std().unwrap_or_default());
        let stretch = (now - from).to_std().unwrap_or_default().saturating_sub(skipped.sum());
        let due = (stretch.as_secs_f64() / self.monitor.every.as_secs_f64()).max(f64::from(seen));
        (Some(f64::from(seen) / due), Some(f64::from(up) / f64::from(seen)))
    }

    /// The monitor as pages show it.
    pub(crate) fn view(&mut self, now: DateTime<Utc>) -> MonitorView {
        let roll_up = self.roll_up(now);
        if roll_up != self.roll_up {
            self.roll_up = roll_up;
            self.since = now;
        }
        let (coverage, uptime) = self.coverage(now);
        let rules = &self.monitor.rules;
        let p95 = self.state.latency.p95().filter(|(_, n)| *n >= rules.latency.min_samples);
        MonitorView {
            id: self.monitor.id.clone(),
            name: self.monitor.name.clone(),
            url: self.monitor.url.shown.clone(),
            labels: self.monitor.labels.clone(),
            every: self.monitor.every,
            line: self.monitor.line,
            roll_up,
            since: self.since,
            signals: self.signals(),
            strip: Arc::clone(&self.strip),
            p95_ms: p95.map(|(p95, n)| (p95.as_secs_f64() * 1e3, n)),
            p95_samples: (self.state.latency.len(), rules.latency.min_samples),
            p95_limit_ms: rules.latency.p95.as_secs_f64() * 1e3,
            canaries: self.monitor.canaries.iter().map(|canary| self.canary(canary)).collect(),
            last: self.last.clone(),
            spent: self.days,
            hold: self.hold(BeatKind::Scheduled, now),
            profile: self.profile.clone(),
            calls_per_day: self.monitor.calls_per_day(),
            tools: self.listed.as_ref().map(|listed| ToolsView {
                seen: listed.tools.clone(),
                seen_at: listed.at,
                era: listed.era,
                accepted: self.state.tools.baseline.clone(),
            }),
            answer_tokens: self.answer_tokens,
            coverage,
            uptime,
            trouble: self.trouble.clone(),
        }
    }

    fn roll_up(&self, now: DateTime<Utc>) -> RollUp {
        let open = |signal: Signal| self.state.signal(signal).phase == Phase::Open;
        let clearing = |signal: Signal| self.state.signal(signal).phase == Phase::Clearing;
        let pending = |signal: Signal| self.state.signal(signal).phase == Phase::Pending;
        let seen = self.strip.iter().rev().find(|mark| mark.verdict != Verdict::Unknown);
        let stale = seen.is_none_or(|mark| {
            (now - mark.at).to_std().is_ok_and(|age| age > self.monitor.every * STALE_INTERVALS + self.monitor.timeout)
        });
        match () {
            () if open(Signal::Availability) => RollUp::Down,
            () if open(Signal::Access) => RollUp::NoAccess,
            () if Signal::ALL.into_iter().any(open) => RollUp::Degraded,
            () if Signal::ALL.into_iter().any(clearing) => RollUp::Recovering,
            () if stale => RollUp::Unknown,
            () if Signal::ALL.into_iter().any(pending) => RollUp::Waiting,
            () => RollUp::Up,
        }
    }

    fn signals(&self) -> Vec<SignalView> {
        let rules = &self.monitor.rules;
        let judged = |signal: &Signal| match signal {
            Signal::Availability | Signal::Access | Signal::Contract | Signal::Latency => true,
            Signal::Errors | Signal::Quality => !self.monitor.canaries.is_empty(),
            Signal::Freshness => rules.freshness.is_some(),
            Signal::Health => !self.monitor.health.is_empty(),
        };
        let view = |signal: Signal| {
            let (state, reading) = (self.state.signal(signal), self.state.reading(signal));
            SignalView {
                signal,
                phase: state.phase,
                level: reading.level,
                figure: self.figure(signal),
                since: state.since,
                held_by: state.held_by.clone(),
                incident: self.state.incident(signal).map(|incident| OpenIncident {
                    id: incident.id.clone(),
                    reason: incident.reason,
                    severity: incident.severity,
                    summary: incident.summary.clone(),
                    opened_at: incident.opened_at,
                }),
            }
        };
        Signal::ALL.into_iter().filter(judged).map(view).collect()
    }

    /// The reading in words, and how far the signal is where it is on its way to an incident or back.
    fn figure(&self, signal: Signal) -> String {
        let figure = &self.state.reading(signal).figure;
        match (self.state.clearing(signal, &self.monitor), self.state.pending(signal, &self.monitor)) {
            (Some((good, needed)), _) => format!("{figure}; {good} of {needed} good beats"),
            (None, Some(far)) => format!("{figure}; {far}"),
            (None, None) => figure.clone(),
        }
    }

    fn canary(&self, canary: &Canary) -> CanaryView {
        let expected = match canary.kind {
            CanaryKind::Negative => {
                canary.max_score.map_or_else(|| "nothing".to_owned(), |limit| format!("nothing scored above {limit}"))
            }
            _ => format!("{} within {}", canary.expect.join(" or "), canary.within),
        };
        let heard = self.state.canaries.get(&canary.id);
        let (got, rank) = heard.map_or((String::new(), None), |heard| got(heard));
        CanaryView {
            id: canary.id.clone(),
            kind: canary.kind,
            query: canary.query.clone(),
            expected,
            verdict: heard.and_then(|heard| heard.outcome()).map(|last| last.slug().to_owned()),
            heard: self.state.is_heard(&canary.id),
            got,
            rank,
            wrong_in_a_row: heard.map_or(0, |heard| heard.wrong_in_a_row),
            answered_at: heard.and_then(|heard| heard.answered_at),
            elapsed_ms: heard.filter(|heard| heard.outcome().is_some()).map(|heard| heard.elapsed.as_secs_f64() * 1e3),
        }
    }
}

fn got(heard: &CanaryState) -> (String, Option<u32>) {
    match &heard.outcome() {
        None | Some(AskVerdict::NotAsked) => (String::new(), None),
        Some(AskVerdict::Right { rank: Some(rank) }) => (format!("at rank {rank}"), Some(*rank)),
        Some(AskVerdict::Right { rank: None }) => ("nothing, as it should".to_owned(), None),
        Some(AskVerdict::Wrong { reason, rank, seen }) => (format!("{}: {seen}", reason.slug()), *rank),
        Some(AskVerdict::Failed { reason }) => (format!("no answer: {}", reason.slug()), None),
    }
}
