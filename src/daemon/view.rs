//! One monitor as pages show it: what a beat leaves to be drawn, and how it is drawn once somebody asks.

use std::collections::VecDeque;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;

use crate::daemon::kept_probe::KeptProbe;
use crate::daemon::runtime::{LastListing, MonitorRuntime};
use crate::daemon::strip::Strip;
use crate::domain::context::Spread;
use crate::domain::incident::Incident;
use crate::domain::monitor::{Canary, Likeness, Monitor, MonitorId};
use crate::domain::monitor_state::MonitorState;
use crate::domain::observation::{BeatKind, ToolsSeen};
use crate::domain::outcome::AskVerdict;
use crate::domain::paging::hold::TellingHold;
use crate::domain::paging::parent::ParentStand;
use crate::domain::quality::confirmation::CanaryState;
use crate::domain::quality::replicas::OriginalStand;
use crate::domain::rate_limit::{Hold, Spent};
use crate::domain::schedule::stale_after;
use crate::domain::server_profile::ServerProfile;
use crate::domain::signal::{Level, Phase, Signal};
use crate::live::glance::{DeclaredGlance, FiguresGlance, IncidentGlance, SignalGlance};
use crate::live::monitor_view::{
    CanaryView, CostView, DayView, DeclaredView, HourMark, LatencyView, Look, MonitorView, OpenIncident, RollUp,
    SignalView, ToolsView,
};
use crate::live::standing::Standing;

/// A monitor as a beat left it. What is large is shared with the runtime; nothing is put into words before somebody asks.
#[derive(Debug)]
pub(crate) struct MonitorSnapshot {
    monitor: Arc<Monitor>,
    state: Arc<MonitorState>,
    roll_up: RollUp,
    since: DateTime<Utc>,
    strip: Arc<Mutex<Strip>>,
    last: Option<Arc<KeptProbe>>,
    spent: [Spent; 2],
    hold: Option<Box<Hold>>,
    profile: ServerProfile,
    listed: Option<LastListing>,
    answer_tokens: Spread,
    day: (Option<f64>, Option<f64>),
    first_seen: DateTime<Utc>,
    hours: Arc<Mutex<VecDeque<HourMark>>>,
    trouble: Option<Box<str>>,
}

impl MonitorRuntime {
    /// The monitor as it stands now.
    pub(crate) fn view(&mut self, now: DateTime<Utc>) -> MonitorSnapshot {
        let roll_up = self.roll_up(now);
        if roll_up != self.rolled_up.0 {
            self.rolled_up = (roll_up, now);
        }
        MonitorSnapshot {
            monitor: Arc::clone(&self.monitor),
            state: Arc::clone(&self.state),
            roll_up,
            since: self.began(roll_up).unwrap_or(self.rolled_up.1),
            strip: Arc::clone(&self.history.strip),
            last: self.last.clone(),
            spent: self.spending.days(),
            hold: self.spending.hold(&self.monitor, BeatKind::Scheduled, now).map(Box::new),
            profile: self.profile.clone(),
            listed: self.listings.last.clone(),
            answer_tokens: self.answer_tokens,
            day: self.history.coverage(self.monitor.every, now),
            first_seen: self.history.first_seen,
            hours: Arc::clone(&self.history.hours),
            trouble: self.trouble.clone(),
        }
    }

    /// Since when something is wrong that makes it so: the first failed beat of what is open; none where nothing is.
    fn began(&self, roll_up: RollUp) -> Option<DateTime<Utc>> {
        let makes_it_so = |signal: &Signal| match roll_up {
            RollUp::Down => *signal == Signal::Availability,
            RollUp::NoAccess => *signal == Signal::Access,
            RollUp::Degraded => self.state.signal(*signal).phase == Phase::Open,
            _ => false,
        };
        let open = Signal::ALL.into_iter().filter(makes_it_so);
        open.filter_map(|signal| self.state.incident(signal).map(Incident::since)).min()
    }

    fn roll_up(&self, now: DateTime<Utc>) -> RollUp {
        let open = |signal: Signal| self.state.signal(signal).phase == Phase::Open;
        let clearing = |signal: Signal| self.state.signal(signal).phase == Phase::Clearing;
        let pending = |signal: Signal| phase(&self.state, signal) == Phase::Pending;
        let is_stale = |at: DateTime<Utc>| (now - at).to_std().is_ok_and(|age| age > stale_after(&self.monitor));
        let stale = self.history.seen_at().is_none_or(is_stale);
        match () {
            () if open(Signal::Availability) => RollUp::Down,
            () if open(Signal::Access) => RollUp::NoAccess,
            () if Signal::ALL.into_iter().any(open) => RollUp::Degraded,
            () if Signal::ALL.into_iter().any(clearing) => RollUp::Recovering,
            // One that fails from the first beat on is not well until enough beats have said so.
            () if stale || !self.state.has_worked() => RollUp::Unknown,
            () if Signal::ALL.into_iter().any(pending) => RollUp::Waiting,
            () => RollUp::Up,
        }
    }
}

/// The phase that is shown: wrong answers that are asked again before anybody is told are no calm, and what was bad among
/// the latest beats and is well now is nothing to wait for.
fn phase(state: &MonitorState, signal: Signal) -> Phase {
    match state.signal(signal).phase {
        Phase::Quiet if signal == Signal::Quality && state.is_in_doubt() => Phase::Pending,
        Phase::Pending if state.reading(signal).level == Level::Calm => Phase::Quiet,
        phase => phase,
    }
}

impl Standing for MonitorSnapshot {
    fn id(&self) -> &MonitorId {
        &self.monitor.id
    }

    fn roll_up(&self) -> RollUp {
        self.roll_up
    }

    fn declared(&self) -> DeclaredGlance<'_> {
        let Monitor { name, url, labels, .. } = &*self.monitor;
        DeclaredGlance { name, url: &url.shown, labels, stale_after: stale_after(&self.monitor) }
    }

    fn signals(&self) -> [Option<SignalGlance<'_>>; Signal::ALL.len()] {
        Signal::ALL.map(|signal| {
            let incident = self.state.incident(signal).map(|open| IncidentGlance {
                id: &open.id,
                reason: open.reason,
                severity: open.severity,
                is_taken: open.acknowledged.is_some(),
                is_quiet: self.quiet_by(&open.id).is_some(),
            });
            let glance = SignalGlance { signal, phase: phase(&self.state, signal), incident };
            self.is_judged(signal).then_some(glance)
        })
    }

    fn figures(&self) -> FiguresGlance<'_> {
        let of = |canary: &Canary| {
            let last = self.state.canaries.get(&canary.id)?.outcome()?;
            Some((canary.kind, matches!(last, AskVerdict::Right { .. })))
        };
        FiguresGlance {
            seen_at: self.strip.lock().seen_at(),
            canaries: self.monitor.canaries.iter().filter_map(of).collect(),
            coverage: self.day.0,
            tools_tokens: self.tools().and_then(|tools| tools.tokens),
            answer_tokens: &self.answer_tokens,
            spent_today: self.spent[1].footprint,
            hold: self.hold.as_deref().copied(),
        }
    }

    fn p95_limit_ms(&self) -> f64 {
        self.monitor.rules.latency.p95.as_secs_f64() * 1e3
    }

    fn since(&self) -> DateTime<Utc> {
        self.since
    }

    fn p95_ms(&self) -> Option<f64> {
        self.p95().map(|(p95_ms, _)| p95_ms)
    }

    fn as_original(&self) -> Option<OriginalStand> {
        (self.monitor.likeness == Likeness::Original).then(|| self.state.as_original())
    }

    fn as_parent(&self, now: DateTime<Utc>) -> Option<ParentStand> {
        Some(self.state.as_parent(&self.monitor, now))
    }

    fn fails_since(&self) -> Option<DateTime<Utc>> {
        let availability = self.state.signal(Signal::Availability);
        (availability.phase != Phase::Quiet).then_some(availability.since)
    }

    fn host(&self) -> String {
        self.monitor.host_and_port()
    }

    fn was_well(&self) -> bool {
        self.strip.lock().marks().any(|mark| mark.is_well())
    }

    fn has_worked(&self) -> bool {
        self.state.has_worked()
    }

    fn first_seen(&self) -> DateTime<Utc> {
        self.first_seen
    }

    fn view(&self) -> MonitorView {
        let last = self.last.as_ref().map(|last| Arc::new(last.shown(self.id(), self.tools())));
        let rechecked_at = self.last.as_ref().and_then(|last| last.rechecked_at);
        MonitorView {
            id: self.monitor.id.clone(),
            declared: DeclaredView::of(&self.monitor),
            roll_up: self.roll_up,
            since: self.since,
            has_worked: self.state.has_worked(),
            signals: Signal::ALL.into_iter().filter(|it| self.is_judged(*it)).map(|it| self.signal(it)).collect(),
            strip: self.strip.lock().marks().collect(),
            latency: self.latency(),
            canaries: self.monitor.canaries.iter().map(|canary| self.canary(canary)).collect(),
            canary_score: self.state.canary_score(&self.monitor.canaries),
            canary_watch: self.state.canary_watch(&self.monitor),
            look: last.as_deref().map(|(seen, outcome)| Look::of(seen, outcome, rechecked_at)),
            last,
            cost: CostView { spent: self.spent, hold: self.hold.as_deref().copied() },
            profile: self.profile.clone(),
            tools: self.listed.as_ref().map(|listed| ToolsView {
                seen: ToolsSeen::clone(&listed.tools),
                seen_at: listed.at,
                era: listed.era,
                accepted: self.state.tools.baseline.clone(),
            }),
            answer_tokens: self.answer_tokens,
            day: DayView {
                coverage: self.day.0,
                uptime: self.day.1,
                first_seen: self.first_seen,
                hours: self.hours.lock().iter().copied().collect(),
            },
            trouble: self.trouble.as_deref().map(str::to_owned),
        }
    }
}

impl MonitorSnapshot {
    /// What keeps one of its incidents quiet just now.
    fn quiet_by(&self, incident: &str) -> Option<&TellingHold> {
        self.state.holds().find(|hold| hold.incident == incident && hold.ended_at.is_none())
    }

    /// The tools seen last.
    fn tools(&self) -> Option<&ToolsSeen> {
        self.listed.as_ref().map(|listed| &*listed.tools)
    }

    /// P95 in milliseconds, with its sample count; none below the least.
    fn p95(&self) -> Option<(f64, u32)> {
        let p95 = self.state.latency.p95().filter(|(_, n)| *n >= self.monitor.rules.latency.min_samples);
        p95.map(|(p95, n)| (p95.as_secs_f64() * 1e3, n))
    }

    fn latency(&self) -> LatencyView {
        let rule = &self.monitor.rules.latency;
        LatencyView {
            p95_ms: self.p95(),
            samples: (self.state.latency.len(), rule.min_samples),
            limit_ms: self.p95_limit_ms(),
        }
    }

    fn is_judged(&self, signal: Signal) -> bool {
        match signal {
            Signal::Availability | Signal::Access | Signal::Contract | Signal::Latency => true,
            Signal::Errors | Signal::Quality => !self.monitor.canaries.is_empty(),
            Signal::Freshness => self.monitor.lists_sources(),
            Signal::Health => !self.monitor.health.is_empty(),
        }
    }

    fn signal(&self, signal: Signal) -> SignalView {
        let (state, reading) = (self.state.signal(signal), self.state.reading(signal));
        let phase = phase(&self.state, signal);
        let doubted = self
            .state
            .canary_score(&self.monitor.canaries)
            .since
            .filter(|_| phase == Phase::Pending && phase != state.phase);
        let began = self.state.incident(signal).filter(|_| phase == Phase::Open).map(Incident::since);
        SignalView {
            signal,
            phase,
            level: reading.level,
            figure: self.figure(signal),
            since: doubted.or(began).unwrap_or(state.since),
            held_by: state.held_by,
            incident: self.state.incident(signal).map(|incident| OpenIncident {
                id: incident.id.clone(),
                reason: incident.reason,
                severity: incident.severity,
                summary: incident.summary.clone(),
                opened_at: incident.opened_at,
                since: incident.since(),
                flapping: incident.course.flapping,
                quiet: self.quiet_by(&incident.id).map(TellingHold::said),
                is_taken: incident.acknowledged.is_some(),
                sequence: incident.sequence,
            }),
        }
    }

    /// The reading in words, and how far the signal is where it is on its way to an incident or back.
    fn figure(&self, signal: Signal) -> String {
        let figure = &self.state.reading(signal).figure;
        if let Some(far) = self.state.calming(signal) {
            return format!("{figure}; {far}");
        }
        match (self.state.clearing(signal, &self.monitor), self.state.pending(signal, &self.monitor)) {
            (Some((good, needed)), _) => format!("{figure}; {good} of {needed} good beats"),
            (None, Some(far)) => format!("{figure}; {far}"),
            (None, None) => figure.to_string(),
        }
    }

    fn canary(&self, canary: &Canary) -> CanaryView {
        let heard = self.state.canaries.get(&canary.id);
        let (mut got, rank) = heard.map_or((String::new(), None), |heard| got(canary, heard));
        if heard.is_some_and(CanaryState::is_leaking) {
            got.push_str(", and a source that is forbidden");
        }
        CanaryView {
            id: canary.id.clone(),
            kind: canary.kind,
            query: canary.query.clone(),
            expected: canary.expected(),
            verdict: heard.and_then(|heard| heard.outcome()).map(|last| last.slug().to_owned()),
            got,
            rank,
            wrong_in_a_row: heard.map_or(0, |heard| heard.wrong_in_a_row),
            doubted_since: heard.and_then(|heard| heard.doubted_since),
            answered_at: heard.and_then(|heard| heard.answered_at),
            elapsed_ms: heard.filter(|heard| heard.outcome().is_some()).map(|heard| heard.elapsed.as_secs_f64() * 1e3),
        }
    }
}

fn got(canary: &Canary, heard: &CanaryState) -> (String, Option<u32>) {
    match &heard.outcome() {
        None | Some(AskVerdict::NotAsked) => (String::new(), None),
        Some(AskVerdict::Right { rank: Some(rank) }) => (format!("at rank {rank}"), Some(*rank)),
        Some(AskVerdict::Right { rank: None }) if canary.text.is_some() || !canary.forbid.is_empty() => {
            ("as expected".to_owned(), None)
        }
        Some(AskVerdict::Right { rank: None }) => ("nothing, as it should".to_owned(), None),
        Some(AskVerdict::Wrong { reason, rank, seen }) => (format!("{}: {seen}", reason.slug()), *rank),
        Some(AskVerdict::Failed { reason }) => (format!("no answer: {}", reason.slug()), None),
    }
}
