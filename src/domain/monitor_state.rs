//! How a monitor stands between beats, and what one more beat makes of it.
//!
//! [`Standing::weigh`] is the heart of Serin: it takes one judged observation into the windows and
//! streaks, turns each signal's figure into a level, and lets `incident::step` say whether
//! something opened or ended. It changes nothing outside its return value, so a beat that cannot be
//! remembered leaves the old state in force.
//!
//! The file is long because the eight signals are decided together: what each reads, what holds it
//! back and what one takes over from another has to be seen side by side. Read `weigh` first, then
//! `level` and `decide`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::answer::{Answer, Ask, Turn as AskTurn};
use crate::domain::classify::{HEALTH_URL, LADDER, WITHIN_DAYS};
use crate::domain::context;
use crate::domain::contract::{self, ToolsState};
use crate::domain::errors::{ErrorsWindow, SearchCall};
use crate::domain::fleet::Provenance;
use crate::domain::incident::{ClosingBar, Course, Incident, IncidentTurn, Need, ResolveCause, ToldAs, Worst, step};
use crate::domain::latency::warming::{COLD_START, Warming};
use crate::domain::latency::window::{LatencyWindow, Sample};
use crate::domain::monitor::{Canary, Monitor};
use crate::domain::observation::{Observation, Stage, ToolsSeen};
use crate::domain::outcome::{AskVerdict, Evidence, Finding, Outcome, Verdict};
use crate::domain::quality::confirmation::CanaryState;
use crate::domain::quality::diagnosis::{Diagnosis, diagnose};
use crate::domain::quality::extent::{CanaryHeard, Extent, Horizon, Roll};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::restart::{Restart, RestartMarks, recognise};
use crate::domain::rules::ContextRule;
use crate::domain::signal::{Level, Phase, Reading, Signal, SignalState};
use crate::domain::wording::{as_written, counted, span};

/// Readings in a row that differ from what was told before an open incident is told anew.
const UPDATE_AFTER: u32 = 2;
/// Two restarts told within this time are one piece of news.
const RESTARTS_APART: Duration = Duration::from_secs(300);
/// Looks at a contract or a date before it counts.
const SECOND_LOOK: u32 = 2;
/// The evidence key under which an incident names the one whose cause it took over.
pub const ABSORBS: &str = "absorbs";

/// How one monitor stands.
#[derive(Debug, Clone, PartialEq)]
pub struct MonitorState {
    /// Each signal's state, in [`Signal::ALL`]'s order.
    signals: [SignalState; 8],
    /// Each signal's latest reading.
    readings: [Reading; 8],
    /// Open incidents.
    open: BTreeMap<Signal, OpenSignal>,
    /// Canaries by id. Boxed, since a node of the map has room for eleven, and most monitors have two.
    pub canaries: BTreeMap<String, Box<CanaryState>>,
    /// Search calls of the latency window.
    pub latency: LatencyWindow,
    /// Search calls of the errors window.
    pub errors: ErrorsWindow,
    /// The accepted tools.
    pub tools: ToolsState,
    /// By what a restart is recognised.
    pub marks: RestartMarks,
    warming: Warming,
    refused: bool,
    restart_told_at: Option<DateTime<Utc>>,
    /// Since when this process knows the monitor.
    begun_at: DateTime<Utc>,
    /// When a wrong canary was last seen to turn right while the quality incident was open.
    turned_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone, PartialEq)]
struct OpenSignal {
    incident: Incident,
    /// Readings in a row that differ from what was told.
    drift: u32,
    /// When the first of them came.
    drifts_since: Option<DateTime<Utc>>,
    /// Whether it was open when this process started.
    resumed: bool,
}

/// One beat, judged, with what the loop knows about it.
#[derive(Debug, Clone, Copy)]
pub struct Beat<'a> {
    /// Whose.
    pub monitor: &'a Monitor,
    /// Where the rules came from.
    pub provenance: &'a Provenance,
    /// What was seen.
    pub seen: &'a Observation,
    /// What it means.
    pub outcome: &'a Outcome,
    /// Time since the beat before during which we were looking.
    pub covered: Duration,
    /// The turn's moment.
    pub now: DateTime<Utc>,
}

/// What a beat changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// An incident opened; a silent one took over the cause of one that was told already.
    Opened {
        /// It.
        incident: Incident,
        /// Whether nobody is told.
        silent: bool,
    },
    /// Its reason, severity or extent changed, and people are told.
    Updated(Incident),
    /// What the connectivity diagnosis showed came after people were told, and they are told of it.
    LookedCloser(Incident),
    /// Its headline or evidence changed, and nobody is told.
    Refreshed(Incident),
    /// It ended.
    Resolved(Incident),
    /// The server restarted.
    Restarted(Restart),
    /// A first baseline of the tools stands.
    ToolsSettled,
}

/// What a signal would open or update an incident with.
struct Cause {
    reason: FailureReason,
    severity: Severity,
    stage: Stage,
    line: u32,
    summary: String,
    evidence: Vec<Evidence>,
    /// What the server's health said beside it.
    health: Vec<Evidence>,
    /// How far it reaches, and the summary for when it is over; where that is counted.
    counted: Option<(Extent, String)>,
}

impl Cause {
    /// What is told of it, as far as a change is news.
    fn told(&self) -> ToldAs {
        let reach = self.counted.as_ref().map(|(extent, _)| extent.reach());
        ToldAs { reason: self.reason, severity: self.severity, reach }
    }

    fn is_expiry(&self) -> bool {
        matches!(self.reason, FailureReason::CertificateExpiring | FailureReason::CredentialExpiring)
    }
}

impl MonitorState {
    /// A monitor nobody has looked at yet.
    pub fn new(now: DateTime<Utc>) -> Self {
        Self {
            signals: std::array::from_fn(|_| SignalState::quiet(now)),
            readings: std::array::from_fn(|_| Reading { level: Level::Unknown, figure: String::new(), samples: 0 }),
            open: BTreeMap::new(),
            canaries: BTreeMap::new(),
            latency: LatencyWindow::default(),
            errors: ErrorsWindow::default(),
            tools: ToolsState::default(),
            marks: RestartMarks::default(),
            warming: Warming::default(),
            refused: false,
            restart_told_at: None,
            begun_at: now,
            turned_at: None,
        }
    }

    /// A signal's state.
    pub const fn signal(&self, signal: Signal) -> &SignalState {
        &self.signals[signal as usize]
    }

    /// A signal's latest reading.
    pub const fn reading(&self, signal: Signal) -> &Reading {
        &self.readings[signal as usize]
    }

    /// Good beats in a row and how many it takes, while an incident that ends by counting them is clearing.
    pub fn clearing(&self, signal: Signal, monitor: &Monitor) -> Option<(u32, u32)> {
        let (state, need) = (self.signal(signal), bar_of(monitor, signal).close);
        (state.phase == Phase::Clearing && need.covered.is_zero()).then_some((state.streak, need.readings))
    }

    /// How far a pending signal is from opening, such as `for 2m of 20m` or `1 of 3 beats`.
    pub fn pending(&self, signal: Signal, monitor: &Monitor) -> Option<String> {
        let (state, need) = (self.signal(signal), bar_of(monitor, signal).open);
        let far = |covered: Duration| {
            Duration::from_secs(match covered.as_secs() {
                seconds @ 0..120 => seconds,
                seconds => seconds - seconds % 60,
            })
        };
        let said = match need.covered {
            Duration::ZERO => format!("{} of {} beats", state.streak, need.readings),
            _ if state.streak < need.readings => format!("{} of {} beats", state.streak, need.readings),
            needed => format!("for {} of {}", as_written(far(state.covered)), as_written(needed)),
        };
        (state.phase == Phase::Pending).then_some(said)
    }

    /// A signal's open incident.
    pub fn incident(&self, signal: Signal) -> Option<&Incident> {
        self.open.get(&signal).map(|open| &open.incident)
    }

    /// All open incidents, in the order of the signals.
    pub fn incidents(&self) -> impl Iterator<Item = &Incident> {
        self.open.values().map(|open| &open.incident)
    }

    /// Puts a remembered state back in force, after a restart of Serin.
    pub fn restore_signal(&mut self, signal: Signal, state: SignalState) {
        self.signals[signal as usize] = state;
    }

    /// Puts a remembered incident back in force.
    pub fn restore_incident(&mut self, incident: Incident) {
        let state = &mut self.signals[incident.signal as usize];
        if !state.phase.has_incident() {
            *state = SignalState { phase: Phase::Open, ..SignalState::quiet(incident.opened_at) };
        }
        self.open.insert(incident.signal, OpenSignal { incident, drift: 0, drifts_since: None, resumed: true });
    }

    /// Puts remembered marks back in force.
    pub fn restore_marks(&mut self, marks: RestartMarks) {
        if let Some(at) = marks.restarted_at {
            self.warming.restarted(at);
        }
        self.marks = marks;
    }

    /// Notes who took an incident; the incident as it now is, where it is open and nobody had taken it.
    pub fn acknowledge(&mut self, incident: &str, actor: &str, now: DateTime<Utc>) -> Option<Incident> {
        let open =
            self.open.values_mut().find(|open| open.incident.id == incident && open.incident.acknowledged.is_none())?;
        open.incident.acknowledged = Some((actor.to_owned(), now));
        open.incident.sequence += 1;
        Some(open.incident.clone())
    }

    /// Makes the tools just seen the accepted ones; the incident that ends with it, where there is one.
    ///
    /// Calls that do not fit are no matter of taste: an incident about them stays open until they fit.
    pub fn accept(&mut self, seen: &ToolsSeen, by: &str, now: DateTime<Utc>) -> Option<Incident> {
        self.tools.accept(Arc::clone(&seen.listing), by, now);
        if seen.calls.broken > 0 {
            return None;
        }
        self.readings[Signal::Contract as usize] = reading(Level::Calm, as_accepted(seen), 1);
        let drifted = |reason| matches!(reason, FailureReason::SchemaDrift | FailureReason::ToolMissing);
        match self.incident(Signal::Contract).map(|incident| incident.reason) {
            Some(reason) if drifted(reason) => self.resolve(Signal::Contract, ResolveCause::Accepted, now),
            Some(_) => None,
            None => {
                self.signals[Signal::Contract as usize] = SignalState::quiet(now);
                None
            }
        }
    }

    /// Canaries that the next beat should ask again: the unconfirmed first, those nearest to being confirmed before the
    /// others, so that a fault which strikes many is not told later; then the longest unheard.
    pub fn wants_asking(&self) -> Vec<&str> {
        let mut ids: Vec<_> = self.canaries.iter().filter(|(_, canary)| canary.wants_asking()).collect();
        let nearness = |canary: &CanaryState| if canary.is_confirmed() { 0 } else { canary.wrong_in_a_row };
        ids.sort_by_key(|(id, canary)| {
            (canary.is_confirmed(), Reverse(nearness(canary)), canary.answered_at, (*id).clone())
        });
        ids.into_iter().map(|(id, _)| id.as_str()).collect()
    }

    /// Canaries that say nothing yet of the fault in doubt, or of a change that is about to be told, and how many of them
    /// the next beat should ask, so that all are heard before it is.
    pub fn wants_hearing<'a>(&self, monitor: &'a Monitor) -> (Vec<&'a str>, usize) {
        let Some(horizon) = self.horizon(self.begun_at) else { return (Vec::new(), 0) };
        let changes_since = self.open.get(&Signal::Quality).and_then(|open| open.drifts_since);
        let unheard = |canary: &&Canary| {
            let known = self.canaries.get(&canary.id).filter(|known| known.definition_hash == canary.definition_hash);
            let stale = |at: DateTime<Utc>| known.and_then(|known| known.answered_at).is_none_or(|last| last < at);
            matches!(horizon.heard(known.map(|known| &**known)), CanaryHeard::NotAsked | CanaryHeard::Waiting)
                || changes_since.is_some_and(stale)
        };
        let ids: Vec<&'a str> = monitor.canaries.iter().filter(unheard).map(|canary| canary.id.as_str()).collect();
        let pending = self.canaries.values().filter(|canary| canary.state.phase == Phase::Pending);
        let left = pending.map(|canary| monitor.rules.quality.after.saturating_sub(canary.wrong_in_a_row)).min();
        let told = self.signal(Signal::Quality).phase.has_incident();
        let beats = if told { 1 } else { left.unwrap_or(1).max(1) };
        let share = ids.len().div_ceil(beats as usize);
        (ids, share)
    }

    /// Whether a canary says something of the fault in doubt; where there is none, whether it was ever asked.
    pub fn is_heard(&self, canary: &str) -> bool {
        let known = self.canaries.get(canary).map(|known| &**known);
        let asked = || known.is_some_and(|known| known.outcome().is_some());
        self.horizon(self.begun_at)
            .map_or_else(asked, |at| matches!(at.heard(known), CanaryHeard::Right | CanaryHeard::Wrong))
    }

    /// From when on answers say something of the fault in doubt; none where nothing is in doubt.
    fn horizon(&self, now: DateTime<Utc>) -> Option<Horizon> {
        let open = self.open.get(&Signal::Quality);
        let told = open.and_then(|open| open.incident.course.since);
        let since = told.or_else(|| self.canaries.values().filter_map(|canary| canary.doubted_since).min())?;
        let resumed_at = open.filter(|open| open.resumed).map(|_| self.begun_at);
        Some(Horizon { since, turned_at: self.turned_at.filter(|_| open.is_some()), resumed_at, now })
    }

    /// Takes one beat in: the new state, and what it changed, in the order of decision.
    pub fn weigh(&self, beat: Beat<'_>, new_id: &mut dyn FnMut() -> String) -> (Self, Vec<Decision>) {
        let mut next = self.clone();
        let mut decisions = Vec::new();
        if beat.outcome.verdict == Verdict::Unknown {
            return (next, decisions);
        }
        next.follow_clock(beat.now);
        next.notice_restart(beat, &mut decisions);
        let fresh = next.take_in(beat, &mut decisions);
        next.hear_warmth(beat);
        for signal in Signal::ALL {
            let (reading, cause) = next.level(signal, beat, fresh);
            next.decide(signal, reading, cause, beat, new_id, &mut decisions);
        }
        (next, decisions)
    }

    /// A clock that was set back must not make every answer one from before the fault.
    fn follow_clock(&mut self, now: DateTime<Utc>) {
        self.begun_at = self.begun_at.min(now);
        self.turned_at = self.turned_at.map(|at| at.min(now));
        if let Some(open) = self.open.get_mut(&Signal::Quality) {
            open.incident.course.since = open.incident.course.since.map(|at| at.min(now));
            open.drifts_since = open.drifts_since.map(|at| at.min(now));
        }
        for canary in self.canaries.values_mut() {
            canary.doubted_since = canary.doubted_since.map(|at| at.min(now));
        }
    }

    /// A server that was refused and is back, or whose marks changed, restarted.
    fn notice_restart(&mut self, beat: Beat<'_>, decisions: &mut Vec<Decision>) {
        let restart = recognise(&mut self.marks, beat.seen, self.refused, beat.now);
        let refused = |finding: &Finding| finding.reason == FailureReason::ConnectionRefused;
        match beat.outcome.finding(Signal::Availability) {
            Some(finding) if refused(finding) => self.refused = true,
            Some(_) => {}
            None => self.refused = false,
        }
        if let Some(restart) = restart {
            self.warming.restarted(beat.now);
            let told_lately = |at: DateTime<Utc>| (beat.now - at).to_std().is_ok_and(|age| age < RESTARTS_APART);
            if !self.restart_told_at.is_some_and(told_lately) {
                self.restart_told_at = Some(beat.now);
                decisions.push(Decision::Restarted(restart));
            }
        }
    }

    /// Several addresses may speak of several caches: one that is cold is enough. Samples of a cold
    /// start that is over leave the window, or it would open a ticket for a server that is fast again.
    fn hear_warmth(&mut self, beat: Beat<'_>) {
        let said = beat.seen.health.iter().filter_map(|health| health.cache_warm).reduce(|all, one| all && one);
        let over = said.and_then(|warm| self.warming.hear(warm, beat.now));
        if let Some(start) = over.filter(|_| !self.signal(Signal::Latency).phase.has_incident()) {
            self.latency.forget_since(start);
        }
    }

    /// Takes samples, calls, canary answers and tools in; says which windows got something new.
    fn take_in(&mut self, beat: Beat<'_>, decisions: &mut Vec<Decision>) -> Fresh {
        let mut fresh = Fresh::default();
        let rules = &beat.monitor.rules;
        let counts = beat.seen.kind.counts_for_percentiles();
        for (ask, verdict) in beat.seen.asks.iter().zip(&beat.outcome.asks) {
            if counts && ask.turn == AskTurn::Scheduled {
                fresh.calls |= self.time_call(ask, verdict, beat.now);
                fresh.samples |= matches!(verdict, AskVerdict::Right { .. } | AskVerdict::Wrong { .. })
                    || matches!(verdict, AskVerdict::Failed { reason: FailureReason::Timeout });
            }
            fresh.answers |= self.hear(ask, verdict, beat);
        }
        let throttled = beat.seen.fault_before_search().is_some() && beat.outcome.finding(Signal::Errors).is_some();
        if throttled {
            let failed = beat.outcome.finding(Signal::Errors).map(|finding| finding.reason);
            self.errors.push(SearchCall { at_us: beat.now.timestamp_micros(), failed });
            fresh.calls = true;
        }
        if counts && beat.monitor.canaries.is_empty() && beat.seen.tools.is_some() {
            for step in beat.seen.steps.iter().filter(|step| step.stage == Stage::Tools) {
                self.latency.push(Sample::new(beat.now, step.elapsed, false));
                fresh.samples = true;
            }
        }
        self.latency.trim(rules.latency.window, beat.now);
        self.errors.trim(rules.errors.window, beat.now);
        if beat.seen.tools.as_ref().is_some_and(|tools| self.tools.settle(tools, beat.now)) {
            decisions.push(Decision::ToolsSettled);
        }
        fresh
    }

    fn time_call(&mut self, ask: &Ask, verdict: &AskVerdict, now: DateTime<Utc>) -> bool {
        let failed = match verdict {
            AskVerdict::NotAsked => return false,
            AskVerdict::Failed { reason } => Some(*reason),
            AskVerdict::Right { .. } | AskVerdict::Wrong { .. } => None,
        };
        self.errors.push(SearchCall { at_us: now.timestamp_micros(), failed });
        if failed.is_none() || failed == Some(FailureReason::Timeout) {
            self.latency.push(Sample::new(now, ask.elapsed, failed.is_some()));
        }
        true
    }

    /// Whether the ask brought an answer that says something about quality.
    fn hear(&mut self, ask: &Ask, verdict: &AskVerdict, beat: Beat<'_>) -> bool {
        let Some(declared) = beat.monitor.canaries.iter().find(|canary| canary.id == ask.canary) else {
            return false;
        };
        let hash = &declared.definition_hash;
        let told = self.signal(Signal::Quality).phase.has_incident();
        let state = self
            .canaries
            .entry(ask.canary.clone())
            .and_modify(|state| {
                if state.definition_hash != *hash {
                    **state = CanaryState::new(hash.clone(), beat.now);
                }
            })
            .or_insert_with(|| Box::new(CanaryState::new(hash.clone(), beat.now)));
        let was_wrong = state.is_wrong();
        state.hear(verdict, beat.monitor.rules.quality.after, beat.now);
        state.elapsed = ask.elapsed;
        if was_wrong && !state.is_wrong() && told {
            self.turned_at = Some(beat.now);
        }
        if let Some(Ok(answer)) = &ask.result {
            state.list = Some(fingerprint(answer));
            state.tokens = answer.tokens.or(state.tokens);
        }
        matches!(verdict, AskVerdict::Right { .. } | AskVerdict::Wrong { .. })
    }

    /// What this beat says of a signal, and with what cause it would open.
    fn level(&self, signal: Signal, beat: Beat<'_>, fresh: Fresh) -> (Reading, Option<Cause>) {
        match signal {
            Signal::Availability => self.by_finding(signal, beat, !throttled(beat)),
            Signal::Access => {
                // A 429 before any search comes before anybody looks at credentials.
                let reached = beat.outcome.finding(Signal::Availability).is_none();
                self.by_finding(signal, beat, reached && !throttled(beat))
            }
            Signal::Health => {
                let asked = !beat.seen.health.is_empty() && !beat.seen_unreachable();
                self.by_finding(signal, beat, asked)
            }
            Signal::Freshness => {
                let asked = beat.monitor.rules.freshness.is_some()
                    && beat.seen.sources.as_ref().is_some_and(|sources| sources.last_indexed_at.is_some());
                self.by_finding(signal, beat, asked)
            }
            Signal::Errors => self.errors_level(beat, fresh),
            Signal::Latency => self.latency_level(beat, fresh),
            Signal::Contract => self.contract_level(beat),
            Signal::Quality => self.quality_level(beat, fresh),
        }
    }

    /// A beat that found something is elevated; one that could have and did not is calm.
    fn by_finding(&self, signal: Signal, beat: Beat<'_>, looked: bool) -> (Reading, Option<Cause>) {
        let (severity, line) = rule_of(beat.monitor, signal);
        match beat.outcome.finding(signal) {
            Some(finding) => {
                let streak = self.signal(signal).streak + 1;
                let figure = match self.signal(signal).phase {
                    Phase::Quiet | Phase::Pending => format!("{}, {streak} in a row", finding.reason.slug()),
                    Phase::Open | Phase::Clearing => finding.reason.slug().to_owned(),
                };
                (reading(Level::Elevated, figure, 1), Some(cause(finding, severity, line)))
            }
            None if looked => (reading(Level::Calm, "well".to_owned(), 1), None),
            // Asked once an hour: between two looks the last one is what there is to show.
            None if signal == Signal::Freshness && self.reading(signal).samples > 0 => {
                (Reading { level: Level::Unknown, ..self.reading(signal).clone() }, None)
            }
            None => (reading(Level::Unknown, "not seen".to_owned(), 0), None),
        }
    }

    fn errors_level(&self, beat: Beat<'_>, fresh: Fresh) -> (Reading, Option<Cause>) {
        let rule = &beat.monitor.rules.errors;
        let mut reading = self.errors.reading(rule, self.signal(Signal::Errors).phase.has_incident());
        let evidence = self.errors.evidence();
        if !fresh.calls {
            reading.level = Level::Unknown;
        }
        let throttled = evidence.first().is_some_and(|first| first.key == FailureReason::RateLimited.slug());
        let (reason, severity) = if throttled {
            (FailureReason::RateLimited, rule.severity.min(Severity::Ticket))
        } else {
            (FailureReason::ElevatedErrorRate, rule.severity)
        };
        let main = evidence.first().map_or_else(String::new, |first| format!(", mostly {}", first.key));
        let summary = format!("{}{main}", reading.figure);
        let stage = Stage::Search;
        let mut cause =
            Cause { reason, severity, stage, line: rule.line, summary, evidence, health: Vec::new(), counted: None };
        if let Some(finding) = beat.outcome.finding(Signal::Errors) {
            cause.evidence.push(Evidence::new("latest", finding.summary.clone()));
        }
        let cause = (reading.level == Level::Elevated).then(|| named_by_health(cause, beat));
        (reading, cause)
    }

    fn latency_level(&self, beat: Beat<'_>, fresh: Fresh) -> (Reading, Option<Cause>) {
        let rule = &beat.monitor.rules.latency;
        let mut reading = self.latency.reading(rule);
        if !fresh.samples {
            reading.level = Level::Unknown;
        }
        let cause = (reading.level == Level::Elevated).then(|| Cause {
            reason: FailureReason::LatencyElevated,
            severity: rule.severity,
            stage: Stage::Search,
            line: rule.line,
            summary: format!("{} over {}, for {}", reading.figure, span(rule.window), span(rule.sustained)),
            evidence: vec![
                Evidence::new("p95", reading.figure.clone()),
                Evidence::new("samples", reading.samples.to_string()),
                Evidence::new("window_seconds", rule.window.as_secs().to_string()),
            ],
            health: Vec::new(),
            counted: None,
        });
        (reading, cause)
    }

    fn contract_level(&self, beat: Beat<'_>) -> (Reading, Option<Cause>) {
        let rule = &beat.monitor.rules.contract;
        let Some(tools) = &beat.seen.tools else {
            return (reading(Level::Unknown, "not seen".to_owned(), 0), None);
        };
        let broken = beat.outcome.finding(Signal::Contract);
        let context = beat.monitor.rules.context.as_ref();
        let heavy = context.and_then(|rule| self.context(beat, rule, tools));
        let drifted = contract::judge(self.tools.baseline.as_ref(), tools, broken, rule);
        // What the eras say against each other is told only where nothing else is wrong with the tools.
        let eras = beat.seen.cross_check.as_ref().and_then(contract::eras);
        let drifted = drifted.or(eras.filter(|_| heavy.is_none()));
        match (drifted, heavy) {
            (Some(mut finding), heavy) => {
                finding.evidence.extend(heavy.into_iter().flat_map(|heavy| heavy.evidence));
                let figure = finding.summary.clone();
                (reading(Level::Elevated, figure, 1), Some(cause(&finding, rule.breaking, rule.line)))
            }
            (None, Some(heavy)) => {
                let (severity, line) = context.map_or((rule.breaking, rule.line), |rule| (rule.severity, rule.line));
                (reading(Level::Elevated, heavy.summary.clone(), 1), Some(cause(&heavy, severity, line)))
            }
            (None, None) if self.weighs_in_the_dark(beat, tools) => {
                (reading(Level::Unknown, "not everything is counted yet".to_owned(), 0), None)
            }
            (None, None) => match beat.seen.cross_check.as_ref().and_then(contract::eras) {
                // What the eras say against each other is told only where nothing else is wrong with the tools.
                Some(finding) => {
                    let figure = finding.summary.clone();
                    (reading(Level::Elevated, figure, 1), Some(cause(&finding, rule.breaking, rule.line)))
                }
                None => (reading(Level::Calm, as_accepted(tools), 1), None),
            },
        }
    }

    fn context(&self, beat: Beat<'_>, rule: &ContextRule, tools: &ToolsSeen) -> Option<Finding> {
        let canaries = beat.monitor.canaries.iter();
        let weighed = canaries.filter_map(|canary| Some((canary, self.canaries.get(&canary.id)?.tokens?)));
        context::judge(rule, tools.tokens, weighed)
    }

    /// Whether an incident about context is open and not every figure is known: what is not counted is not light.
    fn weighs_in_the_dark(&self, beat: Beat<'_>, tools: &ToolsSeen) -> bool {
        let about_it = |incident: &Incident| incident.reason == FailureReason::ContextCost;
        let Some(rule) = beat.monitor.rules.context.as_ref() else { return false };
        let counted = |canary: &Canary| self.canaries.get(&canary.id).is_some_and(|known| known.tokens.is_some());
        self.incident(Signal::Contract).is_some_and(about_it)
            && (rule.tools_tokens.is_some() && tools.tokens.is_none()
                || rule.answer_tokens.is_some() && !beat.monitor.canaries.iter().all(counted))
    }

    fn quality_level(&self, beat: Beat<'_>, fresh: Fresh) -> (Reading, Option<Cause>) {
        let rule = &beat.monitor.rules.quality;
        let horizon = self.horizon(beat.now);
        let diagnosis = horizon.and_then(|horizon| diagnose(&beat.monitor.canaries, &self.canaries, horizon));
        let level = match &diagnosis {
            _ if !fresh.answers => Level::Unknown,
            // Confirmed once, and just now right: neither well nor worth a page.
            Some(found) if found.extent.wrong == 0 => Level::Unknown,
            Some(_) => Level::Elevated,
            None => Level::Calm,
        };
        let (figure, heard) = self.quality_figure(beat.monitor, horizon);
        let cause = diagnosis.filter(|_| fresh.answers).map(|found| {
            let Diagnosis { reason, extent, summary, was, evidence } = found;
            let (severity, line, counted) = (rule.severity, rule.line, Some((extent, was)));
            let (stage, health) = (Stage::Search, Vec::new());
            named_by_health(Cause { reason, severity, stage, line, summary, evidence, health, counted }, beat)
        });
        (reading(level, figure, u32::try_from(heard).unwrap_or(u32::MAX)), cause)
    }

    /// Such as `4 of 5 canaries right`, and while something is in doubt only what was heard of it; and how many that are.
    fn quality_figure(&self, monitor: &Monitor, horizon: Option<Horizon>) -> (String, usize) {
        let Some(horizon) = horizon else {
            let known: Vec<_> = self.canaries.values().filter(|canary| canary.last.is_some()).collect();
            let right = known.iter().filter(|canary| !canary.is_wrong()).count();
            return (format!("{right} of {} right", counted(known.len(), "canary", "canaries")), known.len());
        };
        let extent = Roll::call(&monitor.canaries, &self.canaries, horizon).extent(horizon, 0);
        (extent.figure(horizon.now), extent.asked)
    }

    /// What holds an opening back just now; nothing ever holds a resolution.
    fn held(&self, signal: Signal, beat: Beat<'_>) -> Option<&'static str> {
        let (open, now) = (|signal| self.signal(signal).phase.has_incident(), beat.now);
        // Canaries that are just going wrong will carry the cause in a moment; one page is better than
        // a page, its absorption and a successor. They get no longer than it would take them.
        let patience = beat.monitor.rules.health.after + beat.monitor.rules.quality.after;
        let about_to_tell = self.canaries.values().any(|canary| canary.state.phase == Phase::Pending)
            && self.signal(Signal::Health).streak < patience;
        match signal {
            Signal::Errors | Signal::Latency | Signal::Quality if open(Signal::Availability) => {
                Some(Signal::Availability.slug())
            }
            Signal::Latency if self.warming.holds(now) => Some(COLD_START),
            Signal::Health if self.carries(Signal::Quality, beat) || about_to_tell => Some(Signal::Quality.slug()),
            Signal::Health if self.carries(Signal::Errors, beat) => Some(Signal::Errors.slug()),
            _ => None,
        }
    }

    /// Whether an open incident tells, or is about to tell, what the server's health says on this beat.
    ///
    /// An old ticket about something else must not keep the server's own alarm from anybody.
    fn carries(&self, signal: Signal, beat: Beat<'_>) -> bool {
        let (Some(incident), Some(health)) = (self.incident(signal), beat.outcome.finding(Signal::Health)) else {
            return false;
        };
        let told = |said: &Evidence| said.key == HEALTH_URL && incident.evidence.contains(said);
        let named = health.reason != FailureReason::Unhealthy;
        // What is still elevated takes a named cause over within two readings.
        let takes_over = named && self.reading(signal).level == Level::Elevated;
        incident.reason == health.reason || takes_over || !named && health.evidence.iter().any(told)
    }

    fn decide(
        &mut self,
        signal: Signal,
        reading: Reading,
        cause: Option<Cause>,
        beat: Beat<'_>,
        new_id: &mut dyn FnMut() -> String,
        decisions: &mut Vec<Decision>,
    ) {
        let held = self.held(signal, beat);
        let mut bar = bar_of(beat.monitor, signal);
        if cause.as_ref().is_some_and(Cause::is_expiry) {
            // A date is certain at first sight.
            bar.open = Need::readings(1);
        }
        let (state, turn) = step(self.signal(signal), reading.level, beat.covered, bar, held, beat.now);
        self.signals[signal as usize] = state;
        self.readings[signal as usize] = reading;
        match (turn, cause) {
            (Some(IncidentTurn::Opened), Some(cause)) => self.open(signal, cause, beat, new_id, decisions),
            (Some(IncidentTurn::Resolved), _) => {
                decisions.extend(self.resolve(signal, ResolveCause::Recovered, beat.now).map(Decision::Resolved));
            }
            (None, Some(cause)) => decisions.extend(self.update(signal, cause, beat)),
            (Some(IncidentTurn::Opened), None) | (None, None) => {}
        }
    }

    fn open(
        &mut self,
        signal: Signal,
        mut cause: Cause,
        beat: Beat<'_>,
        new_id: &mut dyn FnMut() -> String,
        decisions: &mut Vec<Decision>,
    ) {
        let id = new_id();
        let carries = matches!(signal, Signal::Quality | Signal::Errors);
        let same_cause = self.incident(Signal::Health).is_some_and(|health| health.reason == cause.reason);
        let mut silent = false;
        if carries && same_cause {
            let into = ResolveCause::Absorbed { into: id.clone() };
            if let Some(absorbed) = self.resolve(Signal::Health, into, beat.now) {
                cause.evidence.push(Evidence::new(ABSORBS, absorbed.id.clone()));
                // Whoever slept through a ticket has to hear of the page that takes it over.
                silent = absorbed.severity >= cause.severity;
                decisions.push(Decision::Resolved(absorbed));
            }
        }
        let told = cause.told();
        let mut incident = Incident {
            id,
            monitor: beat.monitor.id.clone(),
            signal,
            subject: String::new(),
            severity: cause.severity,
            reason: cause.reason,
            stage: cause.stage.slug().to_owned(),
            summary: format!("{}: {}", beat.monitor.id, cause.summary),
            evidence: [cause.evidence, cause.health].concat(),
            rule: beat.provenance.rule(cause.line),
            opened_at: beat.now,
            resolved_at: None,
            resolve_cause: None,
            acknowledged: None,
            sequence: 1,
            course: Course { told: Some(told), ..Course::default() },
        };
        if let Some((extent, was)) = cause.counted {
            incident.course.since = Some(extent.since);
            note_worst(&mut incident, extent, was);
        }
        self.turned_at = self.turned_at.filter(|_| signal != Signal::Quality);
        self.open
            .insert(signal, OpenSignal { incident: incident.clone(), drift: 0, drifts_since: None, resumed: false });
        decisions.push(Decision::Opened { incident, silent });
    }

    /// An open incident follows what is so. People are told of another cause, severity or reach once it was seen often
    /// enough in a row, and is so now; one that comes too soon after the last is seen again on the next beats, and told
    /// when its time has come if it is still so.
    fn update(&mut self, signal: Signal, cause: Cause, beat: Beat<'_>) -> Option<Decision> {
        let open = self.open.get_mut(&signal)?;
        let before = open.incident.clone();
        if let Some((extent, _)) = cause.counted.as_ref().filter(|(extent, _)| !extent.stands()) {
            // Wrong answers from before others turned right are claimed by nobody until they were asked for again.
            if extent.turned {
                retell(&mut open.incident, &cause, beat.monitor, false);
            }
            return (open.incident != before).then(|| Decision::Refreshed(open.incident.clone()));
        }
        let told = *open.incident.course.told.get_or_insert(ToldAs { reach: cause.told().reach, ..told_of(&before) });
        let now = cause.told();
        let nearer = cause.is_expiry() && within(&before.evidence) > within(&cause.evidence);
        let differs = nearer || now.differs(&told);
        open.drift = if differs { open.drift + 1 } else { 0 };
        open.drifts_since = differs.then(|| open.drifts_since.unwrap_or(beat.now));
        let sure = nearer || open.drift >= UPDATE_AFTER;
        let found = connectivity(&cause.evidence).filter(|_| connectivity(&before.evidence).is_none()).cloned();
        let tell = differs && sure && before.course.lets_tell(now.severity > told.severity, beat.now);
        let same = cause.reason == before.reason && cause.severity == before.severity;
        if tell || cause.counted.is_some() && (same || sure || !differs) {
            take_over(&mut open.incident, cause, beat.monitor, tell);
        }
        if tell {
            (open.drift, open.drifts_since) = (0, None);
            open.incident.course.told = Some(now);
            open.incident.course.updated_at = Some(beat.now);
            open.incident.sequence += 1;
            return Some(Decision::Updated(open.incident.clone()));
        }
        if let Some(found) = found {
            open.incident.evidence.push(found);
            open.incident.sequence += 1;
            return Some(Decision::LookedCloser(open.incident.clone()));
        }
        (open.incident != before).then(|| Decision::Refreshed(open.incident.clone()))
    }

    fn resolve(&mut self, signal: Signal, why: ResolveCause, now: DateTime<Utc>) -> Option<Incident> {
        self.signals[signal as usize] = SignalState::quiet(now);
        let mut incident = self.open.remove(&signal)?.incident;
        if let Some(worst) = incident.course.worst.clone() {
            // Its end is told, and its page says, what it was at its worst.
            (incident.reason, incident.summary, incident.evidence) = (worst.reason, worst.summary, worst.evidence);
        }
        incident.resolved_at = Some(now);
        incident.resolve_cause = Some(why);
        incident.sequence += 1;
        Some(incident)
    }

    /// Looks at open incidents again under edited rules: what they no longer warrant ends.
    pub fn reconsider(&mut self, monitor: &Monitor, now: DateTime<Utc>) -> Vec<Incident> {
        let declared = |id: &str, hash: &str| monitor.canaries.iter().any(|c| c.id == id && c.definition_hash == hash);
        self.canaries.retain(|id, state| declared(id, &state.definition_hash));
        let rules = &monitor.rules;
        self.latency.trim(rules.latency.window, now);
        self.errors.trim(rules.errors.window, now);
        let about_context = |incident: &Incident| incident.reason == FailureReason::ContextCost;
        let unwarranted = |signal: &Signal| match signal {
            Signal::Availability | Signal::Access => false,
            Signal::Contract => rules.context.is_none() && self.incident(Signal::Contract).is_some_and(about_context),
            Signal::Errors => self.errors.reading(&rules.errors, true).level == Level::Calm,
            // One that is clearing was calm under the old rules too: it ends in its own time, as recovered.
            Signal::Latency => {
                self.signal(Signal::Latency).phase == Phase::Open
                    && self.latency.reading(&rules.latency).level == Level::Calm
            }
            Signal::Quality => {
                let confirmed =
                    |canary: &Canary| self.canaries.get(&canary.id).is_some_and(|known| known.is_confirmed());
                !monitor.canaries.iter().any(confirmed)
            }
            Signal::Freshness => rules.freshness.is_none(),
            Signal::Health => monitor.health.is_empty(),
        };
        let ended: Vec<Signal> = self.open.keys().filter(|signal| unwarranted(signal)).copied().collect();
        ended.into_iter().filter_map(|signal| self.resolve(signal, ResolveCause::RuleChanged, now)).collect()
    }

    /// Ends everything that is open, since the monitor is no longer in the file.
    pub fn remove(&mut self, now: DateTime<Utc>) -> Vec<Incident> {
        let open: Vec<Signal> = self.open.keys().copied().collect();
        open.into_iter().filter_map(|signal| self.resolve(signal, ResolveCause::MonitorRemoved, now)).collect()
    }
}

/// Which windows got something new in a beat; a window that did not says nothing.
#[derive(Debug, Clone, Copy, Default)]
struct Fresh {
    calls: bool,
    samples: bool,
    answers: bool,
}

impl Beat<'_> {
    fn seen_unreachable(&self) -> bool {
        self.outcome.verdict == Verdict::Down
    }
}

fn as_accepted(tools: &ToolsSeen) -> String {
    format!("{}, as accepted", counted(tools.tools.len(), "tool", "tools"))
}

fn throttled(beat: Beat<'_>) -> bool {
    beat.seen.fault_before_search().is_some() && beat.outcome.finding(Signal::Errors).is_some()
}

const fn reading(level: Level, figure: String, samples: u32) -> Reading {
    Reading { level, figure, samples }
}

fn cause(finding: &Finding, severity: Severity, line: u32) -> Cause {
    Cause {
        reason: finding.reason,
        severity: finding.severity.unwrap_or(severity),
        stage: finding.stage,
        line,
        summary: finding.summary.clone(),
        evidence: finding.evidence.clone(),
        health: Vec::new(),
        counted: None,
    }
}

/// A cause that the server's health names beats the symptom that we saw, which goes into the evidence.
fn named_by_health(mut cause: Cause, beat: Beat<'_>) -> Cause {
    let Some(health) = beat.outcome.finding(Signal::Health) else { return cause };
    if health.reason.may_be_named_by_server() && health.reason != FailureReason::Unhealthy {
        cause.evidence.insert(0, Evidence::new("symptom", cause.reason.slug()));
        cause.reason = health.reason;
        cause.summary = format!("{}; {}", health.summary, cause.summary);
        if let Some((_, was)) = &mut cause.counted {
            *was = format!("{}; {was}", health.summary);
        }
    }
    cause.health.clone_from(&health.evidence);
    cause
}

/// How far one gets, where that is known.
fn connectivity(evidence: &[Evidence]) -> Option<&Evidence> {
    evidence.iter().find(|evidence| evidence.key == LADDER)
}

/// What an incident of an older version was told with, as far as that is known.
fn told_of(incident: &Incident) -> ToldAs {
    ToldAs { reason: incident.reason, severity: incident.severity, reach: None }
}

/// Headline and evidence of a cause become the incident's. What health says is part of it once people are told so:
/// an old incident about something else must not keep the server's own alarm from anybody.
fn retell(incident: &mut Incident, cause: &Cause, monitor: &Monitor, told: bool) {
    let absorbs = incident.evidence.iter().find(|evidence| evidence.key == ABSORBS).cloned();
    let health = cause.health.iter().filter(|said| told || incident.evidence.contains(said)).cloned();
    let health: Vec<Evidence> = health.collect();
    incident.summary = format!("{}: {}", monitor.id, cause.summary);
    incident.evidence.clone_from(&cause.evidence);
    incident.evidence.extend(health.into_iter().chain(absorbs));
}

fn take_over(incident: &mut Incident, cause: Cause, monitor: &Monitor, told: bool) {
    retell(incident, &cause, monitor, told);
    incident.reason = cause.reason;
    incident.severity = cause.severity;
    incident.stage = cause.stage.slug().to_owned();
    if let Some((extent, was)) = cause.counted {
        incident.course.since = Some(extent.since);
        note_worst(incident, extent, was);
    }
}

/// Remembers how it is now, where it never reached further.
fn note_worst(incident: &mut Incident, extent: Extent, was: String) {
    if incident.course.worst.as_ref().is_none_or(|worst| extent.exceeds(worst.wrong, worst.asked)) {
        incident.course.worst = Some(Worst {
            reason: incident.reason,
            wrong: extent.wrong,
            asked: extent.asked,
            summary: format!("{}: {was}", incident.monitor),
            evidence: incident.evidence.clone(),
        });
    }
}

fn rule_of(monitor: &Monitor, signal: Signal) -> (Severity, u32) {
    let rules = &monitor.rules;
    match signal {
        Signal::Availability => (rules.availability.severity, rules.availability.line),
        Signal::Access => (rules.access.severity, rules.access.line),
        Signal::Errors => (rules.errors.severity, rules.errors.line),
        Signal::Latency => (rules.latency.severity, rules.latency.line),
        Signal::Contract => (rules.contract.breaking, rules.contract.line),
        Signal::Quality => (rules.quality.severity, rules.quality.line),
        Signal::Health => (rules.health.severity, rules.health.line),
        Signal::Freshness => {
            rules.freshness.as_ref().map_or((Severity::Ticket, monitor.line), |rule| (rule.severity, rule.line))
        }
    }
}

/// How long each signal takes to open and to close (DESIGN §4).
fn bar_of(monitor: &Monitor, signal: Signal) -> ClosingBar {
    let rules = &monitor.rules;
    let streak = |rule: &crate::domain::rules::StreakRule| ClosingBar {
        open: Need { readings: rule.after, covered: rule.page_after },
        close: Need::readings(rule.recover_after),
    };
    match signal {
        Signal::Availability => streak(&rules.availability),
        Signal::Access => streak(&rules.access),
        Signal::Health => streak(&rules.health),
        Signal::Latency => {
            ClosingBar { open: Need::covered(rules.latency.sustained), close: Need::covered(rules.latency.sustained) }
        }
        // The window and the canaries' own streaks are the patience of these two.
        Signal::Errors | Signal::Quality => ClosingBar { open: Need::readings(1), close: Need::readings(1) },
        Signal::Contract => ClosingBar { open: Need::readings(SECOND_LOOK), close: Need::readings(SECOND_LOOK) },
        Signal::Freshness => ClosingBar { open: Need::readings(SECOND_LOOK), close: Need::readings(1) },
    }
}

/// The threshold that an expiry has passed, in days; beyond all of them where it is no expiry.
fn within(evidence: &[Evidence]) -> u32 {
    let days = evidence.iter().find(|evidence| evidence.key == WITHIN_DAYS);
    days.and_then(|evidence| evidence.value.parse().ok()).unwrap_or(u32::MAX)
}

/// FNV-1a over the sources in order: equal lists, equal fingerprints, on every machine.
fn fingerprint(answer: &Answer) -> u64 {
    let bytes = answer.hits.iter().flat_map(|hit| hit.source.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
