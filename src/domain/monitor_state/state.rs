//! What is known of a monitor between beats: its signals, windows, canaries, tools and open incidents.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::contract::ToolsState;
use crate::domain::errors::ErrorsWindow;
use crate::domain::flapping::Bouts;
use crate::domain::fleet::Provenance;
use crate::domain::incident::Incident;
use crate::domain::latency::warm_up::WarmUp;
use crate::domain::latency::warming::Warming;
use crate::domain::latency::window::LatencyWindow;
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::changes::{Changes, is_about_change};
use crate::domain::observation::Observation;
use crate::domain::outcome::{Judged, Outcome, Verdict};
use crate::domain::paging::follow_up::FollowUp;
use crate::domain::paging::hold::TellingHold;
use crate::domain::paging::notification::Event;
use crate::domain::paging::parent::ParentStand;
use crate::domain::paging::quiet::QuietBook;
use crate::domain::paging::tell::{Asked, Telling, tell};
use crate::domain::quality::canary::canary_of;
use crate::domain::quality::canary_states::CanaryStates;
use crate::domain::quality::corpus::{SOURCES_KNOWN, SourceCounts};
use crate::domain::quality::index_sight::{CACHED_ANSWERS, IndexSight};
use crate::domain::quality::replicas::OriginalStand;
use crate::domain::quality::track_record::TrackRecord;
use crate::domain::reason::FailureReason;
use crate::domain::recent_beats::RecentBeats;
use crate::domain::restart::{Restart, RestartMarks};
use crate::domain::route::Route;
use crate::domain::signal::{Level, Phase, Reading, Signal, SignalState};
use crate::domain::unclaimed::Unclaimed;

/// Phases, readings, incidents and windows of one monitor: what one beat hands to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct MonitorState {
    /// Each signal's state, in [`Signal::ALL`]'s order.
    pub(super) signals: [SignalState; 8],
    /// Each signal's latest reading.
    pub(super) readings: [Reading; 8],
    /// With what reason each would open an incident, where the latest beat found it elevated.
    pub(super) reasons: [Option<FailureReason>; 8],
    /// Beats of signals that are on their way to an incident by how many of the latest were bad; no others.
    pub(super) recent: BTreeMap<Signal, RecentBeats>,
    /// The latest openings of each signal that opened lately.
    pub(super) bouts: BTreeMap<Signal, Bouts>,
    pub(super) open: BTreeMap<Signal, OpenSignal>,
    /// Canaries by id.
    pub canaries: CanaryStates,
    /// Search calls of the latency window.
    pub latency: LatencyWindow,
    /// Search calls of the errors window.
    pub errors: ErrorsWindow,
    /// The accepted list of tools, and the candidate for the next.
    pub tools: ToolsState,
    /// By what a restart is recognised.
    pub marks: RestartMarks,
    pub(super) warming: Warming,
    pub(super) warm_up: WarmUp,
    pub(super) index_sight: IndexSight,
    pub(super) changes: Changes,
    pub(super) sources: SourceCounts,
    /// Canaries of which no source was in the list that was read whole last, by id.
    pub(super) unlisted: Vec<String>,
    pub(super) refused: bool,
    pub(super) restart_told_at: Option<DateTime<Utc>>,
    /// Since when this process knows the monitor.
    pub(super) begun_at: DateTime<Utc>,
    /// When a beat was last weighed; none: not since this process started.
    pub(super) weighed_at: Option<DateTime<Utc>>,
    /// When a wrong canary was last seen to turn right while the quality incident was open.
    pub(super) turned_at: Option<DateTime<Utc>>,
    /// What canaries have shown so far.
    pub(super) track: TrackRecord,
    /// Whether its server was seen to work before this process knew the monitor, under whatever id.
    pub(super) has_worked_before: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenSignal {
    pub(super) incident: Incident,
    /// Readings in a row that differ from what was told.
    pub(super) drift: u32,
    /// When the first of them came.
    pub(super) drifts_since: Option<DateTime<Utc>>,
    /// Since when it waits for a verdict on what may explain it, as it does once; none: it does not yet.
    pub(super) waits_since: Option<DateTime<Utc>>,
    /// Whether it was open when this process started.
    pub(super) resumed: bool,
    /// Whether anybody was told, and what holds it.
    pub(super) telling: Telling,
}

impl OpenSignal {
    /// An incident that nobody was told of yet.
    pub(super) fn new(incident: Incident) -> Self {
        Self { incident, drift: 0, drifts_since: None, waits_since: None, resumed: false, telling: Telling::default() }
    }

    /// People are told of it from now on.
    pub(super) fn first_told(&mut self, now: DateTime<Utc>) {
        self.telling.told = true;
        self.incident.course.unclaimed = self.incident.acknowledged.is_none().then(|| Unclaimed::since(now));
    }

    /// What is to be written where the incident is not as it was, and nobody is told.
    pub(super) fn refreshed(&self, before: &Incident) -> Option<Decision> {
        (self.incident != *before).then(|| Decision::Refreshed(self.incident.clone()))
    }
}

/// One beat, judged, with what the loop knows about it.
#[derive(Debug, Clone, Copy)]
pub struct Beat<'a> {
    /// The declaration in force for this beat.
    pub monitor: &'a Monitor,
    /// Where the rules came from.
    pub provenance: &'a Provenance,
    /// Who hears of what; what nobody would hear of is told to nobody.
    pub routes: &'a [Route],
    /// What silences and maintenance windows keep quiet.
    pub quiets: &'a QuietBook,
    /// How what it depends on stands.
    pub parents: &'a [ParentStand],
    /// The beat's observation, with the answers' texts still in it.
    pub seen: &'a Observation,
    /// What `classify` made of it.
    pub outcome: &'a Outcome,
    /// How the monitor stands whose server has to answer alike; none where there is none, or nothing is known of it.
    pub original: Option<&'a OriginalStand>,
    /// Time since the beat before during which we were looking.
    pub covered: Duration,
    /// The clock as the turn read it, UTC.
    pub now: DateTime<Utc>,
}

/// What decides, beside the incident itself, whether people are told of it.
#[derive(Debug, Clone, Copy)]
pub struct TellPolicy<'a> {
    /// The declaration in force.
    pub monitor: &'a Monitor,
    /// Who hears of what.
    pub routes: &'a [Route],
    /// What silences and maintenance windows keep quiet.
    pub quiets: &'a QuietBook,
    /// How what it depends on stands.
    pub parents: &'a [ParentStand],
}

impl MonitorState {
    /// Whether its server was ever seen to work: it listed its tools.
    pub const fn has_worked(&self) -> bool {
        self.has_worked_before || self.tools.saw_a_list()
    }
}

impl<'a> TellPolicy<'a> {
    pub(super) const fn of(beat: Beat<'a>) -> Self {
        Self { monitor: beat.monitor, routes: beat.routes, quiets: beat.quiets, parents: beat.parents }
    }
}

impl Beat<'_> {
    pub(super) fn seen_unreachable(&self) -> bool {
        self.outcome.verdict == Verdict::Down
    }
}

/// What is to be written and told because of a beat.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// An incident opened.
    Opened {
        /// As it is to be written.
        incident: Incident,
        /// Whether nobody is told just now: something holds it, is waited for, or no route fits.
        silent: bool,
    },
    /// The opening of an incident is told that nobody was told of when it opened.
    Told {
        /// As it is now.
        incident: Incident,
        /// What held it last, where something did.
        held: Option<TellingHold>,
    },
    /// Its reason, severity or extent changed, and people are told.
    Updated(Incident),
    /// Nobody took it for so long that people are reminded, or others told.
    FollowedUp {
        /// As it is now.
        incident: Incident,
        /// What is told, and to whom.
        told: FollowUp,
    },
    /// It opened too often, is calm, and stays open: people hear that in the place of its end.
    Flaps(Incident),
    /// What the connectivity diagnosis showed came after people were told, and they are told of it.
    LookedCloser(Incident),
    /// Its headline or evidence changed, and nobody is told.
    Refreshed(Incident),
    /// The incident, with its end and cause.
    Resolved(Incident),
    /// The server was started anew, by the marks it shows of that.
    Restarted(Restart),
    /// A first baseline of the tools stands.
    ToolsSettled,
}

impl MonitorState {
    /// A monitor nobody has looked at yet.
    pub fn new(now: DateTime<Utc>) -> Self {
        Self {
            signals: std::array::from_fn(|_| SignalState::quiet(now)),
            readings: std::array::from_fn(|_| Reading { level: Level::Unknown, figure: Cow::default(), samples: 0 }),
            reasons: [None; 8],
            recent: BTreeMap::new(),
            bouts: BTreeMap::new(),
            open: BTreeMap::new(),
            canaries: CanaryStates::default(),
            latency: LatencyWindow::default(),
            errors: ErrorsWindow::default(),
            tools: ToolsState::default(),
            marks: RestartMarks::default(),
            warming: Warming::default(),
            warm_up: WarmUp::default(),
            index_sight: IndexSight::default(),
            changes: Changes::default(),
            sources: SourceCounts::default(),
            unlisted: Vec::new(),
            refused: false,
            restart_told_at: None,
            begun_at: now,
            has_worked_before: false,
            weighed_at: None,
            turned_at: None,
            track: TrackRecord::default(),
        }
    }

    /// Where a signal stands between quiet and open, and since when.
    pub const fn signal(&self, signal: Signal) -> &SignalState {
        &self.signals[signal as usize]
    }

    /// What the latest beat said of a signal: its level and its figure.
    pub const fn reading(&self, signal: Signal) -> &Reading {
        &self.readings[signal as usize]
    }

    /// What the latest beat said of each signal, in [`Signal::ALL`]'s order.
    pub fn judged(&self) -> [Judged; 8] {
        Signal::ALL.map(|signal| Judged { level: self.reading(signal).level, reason: self.reasons[signal as usize] })
    }

    /// The incident that is open or clearing on a signal.
    pub fn incident(&self, signal: Signal) -> Option<&Incident> {
        self.open.get(&signal).map(|open| &open.incident)
    }

    /// All open incidents, in the order of the signals.
    pub fn incidents(&self) -> impl Iterator<Item = &Incident> {
        self.open.values().map(|open| &open.incident)
    }

    /// How it stands for those that depend on it. One that is down and was told to nobody holds nobody back: of whatever fails
    /// somebody has to hear.
    pub fn as_parent(&self, monitor: &Monitor, now: DateTime<Utc>) -> ParentStand {
        let phase = self.signal(Signal::Availability).phase;
        let telling = self.telling(Signal::Availability);
        let is_known = telling.is_some_and(|telling| telling.told || telling.is_held(now));
        let is_open = phase == Phase::Open;
        // By a rule that counts the latest beats it may be pending and well for now.
        let is_pending = phase == Phase::Pending && self.reading(Signal::Availability).level != Level::Calm;
        ParentStand::of(monitor, (is_open && is_known, is_pending || is_open && !is_known), self.weighed_at)
    }

    /// Puts a remembered state back in force, after a restart of Serin.
    pub fn restore_signal(&mut self, signal: Signal, state: SignalState) {
        self.signals[signal as usize] = state;
    }

    /// The latest beats of a signal that is on its way to an incident by how many of them were bad.
    pub fn recent_beats(&self, signal: Signal) -> Option<&RecentBeats> {
        self.recent.get(&signal)
    }

    /// Puts remembered beats back in force.
    pub fn restore_recent_beats(&mut self, signal: Signal, recent: RecentBeats) {
        if !recent.is_empty() {
            self.recent.insert(signal, recent);
        }
    }

    /// What is known of telling the incident that is open or clearing on a signal.
    pub fn telling(&self, signal: Signal) -> Option<&Telling> {
        self.open.get(&signal).map(|open| &open.telling)
    }

    /// Every hold of the incidents that are open, over or not.
    pub fn holds(&self) -> impl Iterator<Item = &TellingHold> {
        self.open.values().flat_map(|open| &open.telling.holds)
    }

    /// Puts a remembered incident back in force.
    pub fn restore_incident(&mut self, incident: Incident, telling: Telling) {
        let state = &mut self.signals[incident.signal as usize];
        if !state.phase.has_incident() {
            *state = SignalState { phase: Phase::Open, ..SignalState::quiet(incident.opened_at) };
        }
        let counted = |key: &str| {
            let counted = incident.evidence.iter().find(|said| said.key == key);
            counted.and_then(|said| said.value.parse().ok()).unwrap_or_default()
        };
        match (incident.signal, incident.reason) {
            (_, FailureReason::IndexUnseen) => self.index_sight.restore(incident.opened_at, counted(CACHED_ANSWERS)),
            (Signal::Freshness, FailureReason::CorpusTruncated) => self.sources.restore(counted(SOURCES_KNOWN)),
            (Signal::Quality, FailureReason::CanaryStale) => {
                self.sources.resume(counted(SOURCES_KNOWN));
                let canaries = incident.evidence.iter().filter_map(|said| canary_of(&said.key));
                self.unlisted = canaries.map(str::to_owned).collect();
            }
            (Signal::Quality, _) if is_about_change(&incident) => self.changes.restore(&incident),
            _ => {}
        }
        let mut open = OpenSignal { resumed: true, telling, ..OpenSignal::new(incident) };
        if open.telling.told && open.incident.acknowledged.is_none() && open.incident.course.unclaimed.is_none() {
            // Given back, or told by an older version.
            open.incident.course.unclaimed = Some(Unclaimed::since(self.begun_at));
        }
        self.open.insert(open.incident.signal, open);
    }

    /// Its server was seen to work before this process knew the monitor.
    pub const fn restore_worked(&mut self) {
        self.has_worked_before = true;
    }

    /// Puts remembered marks back in force.
    pub fn restore_marks(&mut self, marks: RestartMarks) {
        if let Some(at) = marks.restarted_at {
            self.warming.restarted(at);
        }
        self.marks = marks;
    }

    /// Incidents that somebody took before this process began and of which that was not told yet, each with who has it.
    pub fn taken_untold(&self) -> impl Iterator<Item = (String, String)> {
        let taken = self.incidents().filter(|incident| incident.course.unclaimed.is_some());
        taken.filter_map(|incident| Some((incident.id.clone(), incident.acknowledged.as_ref()?.0.clone())))
    }

    /// From now on nobody has an open incident; as it now is with what there is to tell, where somebody had it.
    pub fn give_back(&mut self, incident: &str, now: DateTime<Utc>) -> Option<(Incident, Option<Event>)> {
        let open = self.open.values_mut().find(|open| open.incident.id == incident)?;
        open.incident.acknowledged.take()?;
        let told = tell(Asked::GivenBack, &open.telling, now);
        open.incident.course.unclaimed = open.telling.told.then(|| Unclaimed::since(now));
        open.incident.sequence += u32::from(told.is_some());
        Some((open.incident.clone(), told))
    }

    /// Notes who took an incident; the incident as it now is, where it is open and nobody had taken it.
    pub fn acknowledge(&mut self, incident: &str, actor: &str, now: DateTime<Utc>) -> Option<Incident> {
        let is_free =
            |open: &OpenSignal| open.incident.acknowledged.is_none() || open.incident.course.unclaimed.is_some();
        let open = self.open.values_mut().find(|open| open.incident.id == incident && is_free(open))?;
        open.incident.acknowledged = Some((actor.to_owned(), now));
        open.incident.course.unclaimed = None;
        // Where nobody was notified, there is no message to come after.
        open.incident.sequence += u32::from(open.telling.told);
        Some(open.incident.clone())
    }
}
