//! One monitor under watch, beat by beat: the daemon's probe, judgement and state, without its database and its sending.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::domain::answer::Variant;
use crate::domain::classify::{classify, is_any_wrong};
use crate::domain::fleet::Provenance;
use crate::domain::incident::Incident;
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::{Beat, CanaryRound, Decision, MonitorState};
use crate::domain::observation::{BeatKind, Observation, Stage, ToolsSeen};
use crate::domain::outcome::{Evidence, Outcome};
use crate::domain::paging::quiet::QuietBook;
use crate::domain::rate_limit::{Spent, spare_calls};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::route::Route;
use crate::domain::schedule::{BeatAsks, PlannedAsk};
use crate::domain::server_profile::ServerProfile;
use crate::domain::signal::Signal;
use crate::domain::sources::source_pages;
use crate::probe::assignment::{Assignment, Further};
use crate::probe::decode::sources::TOOL_NAMES;
use crate::probe::prober::Prober;
use crate::tool_lists::known::KnownLists;

/// The evidence that names the other of two causes.
const OTHER_CAUSE: &str = "or_else";

/// What people were told on a beat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    /// The beat, from 1 since the count was last set back.
    pub(super) beat: u32,
    pub(super) signal: Signal,
    pub(super) reason: FailureReason,
    /// The other cause, where the two cannot be told apart.
    pub(super) or_else: Option<String>,
    pub(super) severity: Severity,
    /// Its headline.
    pub(super) summary: String,
    /// What the headline stands on.
    pub(super) evidence: Vec<Evidence>,
}

impl Told {
    fn of(incident: &Incident, beat: u32) -> Self {
        let Incident { signal, reason, severity, summary, evidence, .. } = incident;
        let other = evidence.iter().find(|evidence| evidence.key == OTHER_CAUSE);
        Self {
            beat,
            signal: *signal,
            reason: *reason,
            or_else: other.map(|other| other.value.clone()),
            severity: *severity,
            summary: summary.clone(),
            evidence: evidence.clone(),
        }
    }
}

/// One monitor, and how it stands.
#[derive(Debug)]
pub(super) struct Watcher {
    pub(super) monitor: Arc<Monitor>,
    prober: Prober,
    state: MonitorState,
    profile: ServerProfile,
    round: CanaryRound,
    tools: Option<ToolsSeen>,
    sources_asked_at: Option<DateTime<Utc>>,
    spent: Spent,
    incidents: u64,
    /// The clock that the domain is given.
    now: DateTime<Utc>,
    /// Beats since the count was last set back.
    pub(super) beats: u32,
    /// What was told since then.
    pub(super) told: Vec<Told>,
}

impl Watcher {
    /// A watch that begins now, over a server nobody has looked at yet.
    pub(super) fn begin(monitor: Arc<Monitor>, now: DateTime<Utc>) -> Self {
        Self {
            round: CanaryRound::begin(&monitor),
            monitor,
            prober: Prober::new(1).once(),
            state: MonitorState::new(now),
            profile: ServerProfile::default(),
            tools: None,
            sources_asked_at: None,
            spent: Spent::default(),
            incidents: 0,
            now,
            beats: 0,
            told: Vec::new(),
        }
    }

    /// A watch over the same server by another declaration, of which nothing is known yet.
    pub(super) fn over(&self, monitor: Arc<Monitor>) -> Self {
        Self::begin(monitor, self.now)
    }

    /// Counts beats, and what is told, anew.
    pub(super) fn count_anew(&mut self) {
        self.beats = 0;
        self.told.clear();
    }

    /// Whether an incident is open.
    pub(super) fn is_open(&self) -> bool {
        self.state.incidents().next().is_some()
    }

    /// One beat, an interval after the one before.
    pub(super) async fn beat(&mut self) {
        self.now += self.monitor.every;
        self.beats += 1;
        let spare = || spare_calls(&self.monitor, &self.spent, self.now);
        let knows_way = self.tools.as_ref().is_some_and(|tools| tools.fresh.is_some());
        let BeatAsks { asks, further, altered } = self.state.asks(&self.monitor, &self.round, knows_way, &spare);
        let freshness = self.state.signal(Signal::Freshness);
        let asked_at = self.state.sources_known_at(self.sources_asked_at);
        let source_pages = source_pages(&self.monitor, freshness, asked_at, spare, self.now);
        let further = Further { canaries: further, called_for: is_any_wrong, altered, harvest: None };
        let (mut seen, outcome, profile) = self.observe(asks, further, source_pages).await;
        // As in the daemon: judged, and nobody else reads them.
        let asked = seen.asks.iter_mut().chain(seen.altered.as_deref_mut());
        for answer in asked.filter_map(|ask| ask.result.as_mut()?.as_mut().ok()) {
            (answer.text, answer.read) = (None, None);
        }
        self.weigh(&seen, &outcome);
        self.profile = profile;
        self.see(seen);
    }

    /// Asks every canary once, and gives what that is judged as; the watch itself goes on as if nobody had.
    pub(super) async fn survey(&self, variant: Variant) -> (Observation, Outcome) {
        let (seen, outcome, _) = self.observe(PlannedAsk::every(&self.monitor, variant), Further::NONE, 0).await;
        (seen, outcome)
    }

    async fn observe(
        &self,
        asks: Vec<PlannedAsk>,
        further: Further,
        source_pages: usize,
    ) -> (Observation, Outcome, ServerProfile) {
        let accepted = self.state.tools.baseline.as_ref().map(|baseline| Arc::clone(&baseline.listing));
        let latest = self.tools.as_ref().map(|tools| Arc::clone(&tools.listing));
        let assignment = Assignment {
            monitor: Arc::clone(&self.monitor),
            // A drill's own kind counts for no percentile.
            kind: BeatKind::Scheduled,
            scheduled_at: self.now,
            started_at: self.now,
            asks,
            further,
            source_pages,
            source_names: self.state.lost_since().is_some(),
            profile: self.profile.clone(),
            lists: KnownLists { accepted, latest },
        };
        let (seen, profile) = Box::pin(self.prober.run(&assignment)).await;
        let outcome = classify(&self.monitor, &seen);
        (seen, outcome, profile)
    }

    fn weigh(&mut self, seen: &Observation, outcome: &Outcome) {
        let provenance = Provenance::default();
        // Whatever is told, somebody hears it: here that is who reads the matrix.
        let routes = [Route { to: vec!["drill".to_owned()], ..Route::default() }];
        let (monitor, covered, now) = (&*self.monitor, self.monitor.every, self.now);
        let (provenance, routes, quiets) = (&provenance, &routes, &QuietBook::default());
        let beat =
            Beat { monitor, provenance, routes, quiets, parents: &[], seen, outcome, original: None, covered, now };
        let incidents = &mut self.incidents;
        let (state, decisions) = self.state.weigh(beat, &mut || {
            *incidents += 1;
            incidents.to_string()
        });
        self.state = state;
        for decision in &decisions {
            if let Decision::Opened { incident, silent: false }
            | Decision::Told { incident, .. }
            | Decision::Updated(incident) = decision
            {
                self.told.push(Told::of(incident, self.beats));
            }
        }
    }

    fn see(&mut self, seen: Observation) {
        let day = Spent::day_of(self.now);
        if day != self.spent.day {
            self.spent = Spent { day, ..Spent::default() };
        }
        self.spent.add(seen.footprint);
        self.round.see(&seen);
        if seen.steps.iter().any(|step| step.stage == Stage::Search && TOOL_NAMES.contains(&step.label.as_str())) {
            self.sources_asked_at = Some(self.now);
        }
        self.tools = seen.tools.or(self.tools.take());
    }
}
