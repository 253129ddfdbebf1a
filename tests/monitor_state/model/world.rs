//! The real decisions and the model side by side: whatever happens, happens to both, and both have to say the same.

use std::collections::BTreeMap;
use std::time::Duration;

use serin::domain::classify::classify;
use serin::domain::fleet::Provenance;
use serin::domain::incident::Incident;
use serin::domain::monitor::Monitor;
use serin::domain::monitor_state::{Beat, Decision, MonitorState, TellPolicy};
use serin::domain::paging::hold::{HoldKind, TellingHold};
use serin::domain::paging::notification::Event;
use serin::domain::paging::parent::ParentStand;
use serin::domain::paging::quiet::{Quiet, QuietBook};
use serin::domain::paging::tell::Telling;
use serin::domain::reason::Severity;
use serin::domain::route::{Escalation, Match, Route};
use serin::domain::signal::{Phase, Signal};

use crate::common::monitors::address;
use crate::model::spec::{ESCALATES_AFTER, Holds, Moment, Receiver, Told, VERDICT};
use crate::{HANGS, LOCKED_OUT, Look, WELL, at, well};

/// Seconds from one moment to the next, and how long a window runs.
const TURN: i64 = 60;
const WINDOW: i64 = 120;
/// Beats without a fault that end an incident.
const RECOVERS_AFTER: u32 = 2;
/// The signals that these worlds can open, what explains the other first.
const SIGNALS: [Signal; 2] = [Signal::Availability, Signal::Access];

/// What a beat sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Seen {
    Well,
    Down,
    LockedOut,
}

impl Seen {
    fn look(self) -> Look {
        match self {
            Self::Well => WELL,
            Self::Down => HANGS,
            Self::LockedOut => LOCKED_OUT,
        }
    }

    fn shows(self, signal: Signal) -> bool {
        self == Self::Down && signal == Signal::Availability || self == Self::LockedOut && signal == Signal::Access
    }
}

/// How what it depends on stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Stand {
    Up,
    Doubted,
    Down,
}

/// One thing that can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happens {
    Beat(Seen),
    /// A minute goes by without a beat.
    Time,
    /// A silence begins or ends.
    Silence(bool),
    /// A window of two minutes begins.
    Window,
    /// The window is gone from the file.
    WindowRemoved,
    Parent(Stand),
    Take(Signal),
    GiveBack(Signal),
    /// Another process goes on with what is on disk.
    Restart,
    /// What is a page becomes a ticket, and back.
    Edit,
}

/// Whatever can happen in a world.
#[derive(Debug, Clone)]
pub(super) struct Scope(Vec<Happens>);

impl Scope {
    pub(super) fn of(happens: &[Happens]) -> Self {
        Self(happens.to_vec())
    }
}

#[derive(Debug, Clone)]
pub(super) struct World {
    scope: Scope,
    now: i64,
    monitor: Monitor,
    state: MonitorState,
    silenced: bool,
    window_until: Option<i64>,
    parent: Stand,
    ids: u32,
    /// Beats since the rule was edited, as far as they count.
    edited: u8,
    /// The model: one entry for each open incident.
    told: BTreeMap<Signal, Told>,
    /// Incidents that were held until this moment.
    held_until_now: Vec<Signal>,
    story: Vec<Happens>,
}

impl World {
    pub(super) fn new(scope: Scope) -> Self {
        let mut monitor = Monitor::undeclared("docs", address("http://docs/mcp"));
        for rule in [&mut monitor.rules.availability, &mut monitor.rules.access] {
            (rule.after, rule.recover_after, rule.page_after) = (1, RECOVERS_AFTER, Duration::ZERO);
            rule.severity = Severity::Page;
        }
        Self {
            scope,
            now: 0,
            monitor,
            state: MonitorState::new(at(0)),
            silenced: false,
            window_until: None,
            parent: Stand::Up,
            ids: 0,
            edited: 9,
            told: BTreeMap::new(),
            held_until_now: Vec::new(),
            story: Vec::new(),
        }
    }

    /// What can happen now, of all that may.
    pub(super) fn possible(&self) -> Vec<Happens> {
        let is_possible = |happens: &&Happens| match happens {
            Happens::Beat(_) | Happens::Time | Happens::Edit | Happens::Restart => true,
            Happens::Silence(begins) => self.silenced != *begins,
            Happens::Window => self.window_until.is_none(),
            Happens::WindowRemoved => self.window_until.is_some(),
            // What is down is up again before it is doubted once more.
            Happens::Parent(stand) => self.parent != *stand && (self.parent, *stand) != (Stand::Down, Stand::Doubted),
            Happens::Take(signal) => self.told.get(signal).is_some_and(|told| !told.taken),
            Happens::GiveBack(signal) => self.told.get(signal).is_some_and(|told| told.taken),
        };
        self.scope.0.iter().filter(is_possible).copied().collect()
    }

    /// Lets something happen to both, and compares what they say of it.
    pub(super) fn happens(&mut self, happens: Happens) {
        self.story.push(happens);
        self.held_until_now.clear();
        if matches!(happens, Happens::Beat(_) | Happens::Time) {
            self.now += TURN - 1;
            self.held_until_now = self.told.keys().filter(|signal| self.holds(**signal).any()).copied().collect();
            self.now += 1;
            self.window_until = self.window_until.filter(|until| *until > self.now);
        }
        match happens {
            Happens::Beat(seen) => return self.beat(seen),
            Happens::Take(signal) => return self.take(signal),
            Happens::GiveBack(signal) => return self.give_back(signal),
            Happens::Restart => self.restart(),
            Happens::Edit => self.edit(),
            Happens::Silence(begins) => self.silenced = begins,
            Happens::Window => self.window_until = Some(self.now + WINDOW),
            Happens::WindowRemoved => self.window_until = None,
            Happens::Parent(stand) => self.parent = stand,
            Happens::Time => {}
        }
        // Whatever it was, the loop that keeps what is quiet looks now.
        self.look();
    }

    /// Whoever was told hears of the end, however it comes: as a recovery, or with the monitor.
    pub(super) fn ends(mut self) {
        let mut removed = self.clone();
        for incident in removed.state.remove(at(removed.now)) {
            assert!(removed.told.remove(&incident.signal).is_some(), "its end is no news: {:?}", removed.story);
        }
        assert!(removed.told.is_empty(), "gone from the file, and still open: {:?}", removed.story);
        for _ in 0..RECOVERS_AFTER {
            self.happens(Happens::Beat(Seen::Well));
        }
        assert!(self.told.is_empty(), "well again, and still open: {:?}", self.story);
    }

    /// What lasts when everything that held it is over is heard of, by whoever is to hear of it, and of the lead in time.
    pub(super) fn lasts(mut self) {
        for over in [Happens::Silence(false), Happens::WindowRemoved, Happens::Parent(Stand::Up)] {
            if self.silenced || over != Happens::Silence(false) {
                self.happens(over);
            }
        }
        for _ in 0..3 {
            self.happens(Happens::Beat(Seen::Down));
        }
        let told = self.told.get(&Signal::Availability);
        let audience = Self::audience(self.monitor.rules.availability.severity);
        let is_told = told.is_some_and(|told| audience.iter().all(|who| told.by.contains(who)));
        assert!(is_told, "it lasts, nothing holds it, and not everybody heard: {:?} {:?}", told, self.story);
        self.happens(Happens::Time);
        self.happens(Happens::Time);
        let told = &self.told[&Signal::Availability];
        assert!(told.taken || told.by.contains("lead"), "nobody took it, and the lead knows nothing: {:?}", self.story);
    }

    /// What tells two worlds apart, as far as it matters for what comes: times as they are from now, no longer than anything
    /// waits.
    pub(super) fn key(&self) -> String {
        let ago = |at: i64| (self.now - at).min(6 * TURN);
        let since = |at: chrono::DateTime<chrono::Utc>| ago((at - crate::at(0)).num_seconds());
        let of = |signal: &Signal| {
            let (state, incident) = (self.state.signal(*signal), self.state.incident(*signal));
            let course = incident.map(|incident| {
                let course = &incident.course;
                let unclaimed = course.unclaimed.map(|from| {
                    // What is due once is told once, however long ago that was.
                    let waits = since(from.since).min(ESCALATES_AFTER + TURN);
                    (waits, from.told_until - from.since >= chrono::TimeDelta::seconds(ESCALATES_AFTER))
                });
                (incident.severity, incident.acknowledged.is_some(), unclaimed, course.updated_at.map(since))
            });
            let opened = incident.map(|incident| since(incident.opened_at).min(2 * TURN));
            let telling = self.state.telling(*signal).map(|telling| {
                let live: Vec<_> = telling
                    .live(at(self.now))
                    .map(|hold| (hold.kind, hold.until.map(|until| (until - at(self.now)).num_seconds())))
                    .collect();
                let ever = |is_so: fn(&TellingHold) -> bool| telling.holds.iter().any(is_so);
                let quiet = ever(TellingHold::is_told_after);
                (telling.told, telling.still.min(2), live, ever(TellingHold::explains), quiet)
            });
            format!("{:?} {} {course:?} {opened:?} {telling:?}", state.phase, state.streak)
        };
        let told: Vec<_> = self.told.iter().map(|(signal, told)| (signal, told.as_of(self.now))).collect();
        let window = self.window_until.map(|until| until - self.now);
        let severity = self.monitor.rules.availability.severity;
        let around = (self.silenced, window, self.parent, severity, self.edited.min(2));
        format!("{:?} {told:?} {around:?}", SIGNALS.each_ref().map(of))
    }

    // How it stands, for either side.

    /// Who hears of it by the routes: pages go to two, tickets to one of them.
    fn audience(severity: Severity) -> Vec<Receiver> {
        match severity {
            Severity::Page => vec!["oncall", "desk"],
            _ => vec!["desk"],
        }
    }

    fn routes() -> [Route; 2] {
        let route = |severity: Severity, to: &[&str]| Route {
            matches: Match { severity: vec![severity], ..Match::default() },
            to: to.iter().map(|name| (*name).to_owned()).collect(),
            escalate: vec![Escalation {
                after: Duration::from_secs(ESCALATES_AFTER as u64),
                to: vec!["lead".to_owned()],
            }],
            ..Route::default()
        };
        [route(Severity::Page, &["oncall", "desk"]), route(Severity::Ticket, &["desk"])]
    }

    fn quiets(&self) -> QuietBook {
        let quiet = |kind, by: &str, until: Option<i64>| Quiet {
            kind,
            by: by.to_owned(),
            matches: Match::default(),
            from: at(0),
            until: until.map(at),
        };
        let silence = self.silenced.then(|| quiet(HoldKind::Silence, "s", None));
        let window = self.window_until.map(|until| quiet(HoldKind::Window, "w", Some(until)));
        QuietBook::of(silence.into_iter().chain(window).collect())
    }

    fn parents(&self) -> [ParentStand; 1] {
        [ParentStand {
            name: "db".to_owned(),
            is_down: self.parent == Stand::Down,
            is_in_doubt: self.parent == Stand::Doubted,
            seen_at: Some(at(self.now)),
            verdict_within: Duration::from_secs(VERDICT as u64),
        }]
    }

    /// What holds an incident by what people are promised.
    fn holds(&self, signal: Signal) -> Holds {
        let told = &self.told[&signal];
        let first = self.told.get(&Signal::Availability).filter(|_| signal == Signal::Access);
        Holds {
            quiet: self.silenced || self.window_until.is_some(),
            explained: self.parent == Stand::Down || first.is_some_and(|first| !first.by.is_empty()),
            awaited: self.parent == Stand::Doubted && self.now < told.opened_at + VERDICT,
        }
    }

    // What happens, to both.

    fn beat(&mut self, seen: Seen) {
        let mut observed = well(at(self.now));
        (observed.asks, observed.health) = (Vec::new(), Vec::new());
        (seen.look())(&mut observed);
        observed.health.clear();
        let outcome = classify(&self.monitor, &observed);
        let (routes, quiets, parents) = (Self::routes(), self.quiets(), self.parents());
        let beat = Beat {
            monitor: &self.monitor,
            provenance: &Provenance::default(),
            routes: &routes,
            quiets: &quiets,
            parents: &parents,
            seen: &observed,
            outcome: &outcome,
            original: None,
            covered: Duration::from_secs(TURN as u64),
            now: at(self.now),
        };
        let ids = &mut self.ids;
        let (next, decisions) = self.state.weigh(beat, &mut || {
            *ids += 1;
            ids.to_string()
        });
        self.state = next;
        self.edited = self.edited.saturating_add(1);
        let said = self.turns(&decisions);
        for signal in SIGNALS {
            if !self.told.contains_key(&signal) {
                assert!(!said.contains_key(&signal), "said of what is not open: {said:?} {:?}", self.story);
                continue;
            }
            let holds = self.holds(signal);
            let told = self.told.get_mut(&signal).expect("it is open");
            told.held(holds);
            let is_shown = seen.shows(signal);
            if is_shown && !holds.any() {
                told.seen(self.held_until_now.contains(&signal));
            }
            let moment = if is_shown { Moment::Shown } else { Moment::Calm };
            self.compare(signal, moment, holds, said.get(&signal).map_or(&[], Vec::as_slice));
        }
    }

    /// What opened and ended, noted in the model; what is said of what is open, by signal.
    fn turns(&mut self, decisions: &[Decision]) -> BTreeMap<Signal, Vec<&'static str>> {
        let mut said: BTreeMap<Signal, Vec<&'static str>> = BTreeMap::new();
        for decision in decisions {
            match decision {
                Decision::Opened { incident, silent } => {
                    let before = self.told.insert(incident.signal, Told::opened(self.now));
                    assert!(before.is_none(), "opened twice: {:?}", self.story);
                    if !silent {
                        said.entry(incident.signal).or_default().push("opened");
                    }
                }
                Decision::Resolved(incident) => {
                    // Whom it is told is who was told: nobody, or all of them.
                    let ended = self.told.remove(&incident.signal);
                    assert!(ended.is_some(), "an end without an opening: {:?}", self.story);
                }
                Decision::Told { incident, .. } => {
                    said.entry(incident.signal).or_default().push("opened");
                }
                Decision::Updated(incident) => {
                    said.entry(incident.signal).or_default().push("updated");
                }
                Decision::FollowedUp { incident, told } => {
                    assert_eq!((told.event, &*told.to), (Event::IncidentEscalated, &["lead".to_owned()][..]));
                    said.entry(incident.signal).or_default().push("escalated");
                }
                Decision::Refreshed(_) | Decision::ToolsSettled => {}
                other => panic!("nothing else can happen here: {other:?}"),
            }
        }
        said
    }

    /// Between beats the loop looks at what is held and what is due.
    fn look(&mut self) {
        let (monitor, routes, quiets, parents) = (self.monitor.clone(), Self::routes(), self.quiets(), self.parents());
        let policy = TellPolicy { monitor: &monitor, routes: &routes, quiets: &quiets, parents: &parents };
        let mut decisions = self.state.let_go(policy, at(self.now));
        decisions.extend(self.state.follow_up(policy, at(self.now)));
        let said = self.turns(&decisions);
        for signal in SIGNALS.into_iter().filter(|signal| self.told.contains_key(signal)).collect::<Vec<_>>() {
            let holds = self.holds(signal);
            self.told.get_mut(&signal).expect("it is open").held(holds);
            // What is calm again and about to end is left to the next beat.
            let is_open = self.state.signal(signal).phase == Phase::Open;
            let moment = if is_open { Moment::Between } else { Moment::Calm };
            self.compare(signal, moment, holds, said.get(&signal).map_or(&[], Vec::as_slice));
        }
    }

    /// What was said of an open incident is what has to be said, no more and no less.
    fn compare(&mut self, signal: Signal, moment: Moment, holds: Holds, said: &[&str]) {
        let (now, severity) = (self.now, self.incident(signal).severity);
        let (audience, is_page) = (Self::audience(severity), severity == Severity::Page);
        let told = self.told.get_mut(&signal).expect("it is open");
        let why = format!("{signal:?} {moment:?} {holds:?} {said:?}\n{told:?}\n{:?}", self.story);
        let of = |event: &str| said.iter().filter(|what| **what == event).count();
        let opens = told.is_to_be_told(moment, holds);
        assert_eq!(of("opened"), usize::from(opens), "its opening, once it is to be told and not before: {why}");
        if opens {
            told.hear(audience.iter().copied(), now);
        }
        // When a change is told is a matter of its own; it never is of what nobody heard of, nor while something holds it.
        let changes = of("updated");
        assert!(changes <= 1 && (changes == 0 || !told.by.is_empty() && !holds.any()), "a change: {why}");
        if changes == 1 {
            let is_worse = is_page && !told.is_page;
            told.hear(audience, now);
            if is_worse {
                // Who took less than this has not taken this.
                told.unclaimed(now);
            }
        }
        let escalates = moment == Moment::Between && told.is_to_be_escalated(holds, now);
        assert_eq!(of("escalated"), usize::from(escalates), "the lead, once it is due and not before: {why}");
        if escalates {
            told.by.insert("lead");
            told.escalated = true;
        }
        if opens || changes == 1 {
            told.is_page = is_page;
        }
        let known = self.state.telling(signal).expect("it is open").told;
        assert_eq!(known, !told.by.is_empty(), "whether anybody was told is known: {why}");
    }

    fn incident(&self, signal: Signal) -> Incident {
        self.state.incident(signal).expect("it is open").clone()
    }

    fn take(&mut self, signal: Signal) {
        let before = self.incident(signal);
        let taken = self.state.acknowledge(&before.id, "ada", at(self.now)).expect("nobody has it");
        let told = self.told.get_mut(&signal).expect("it is open");
        let is_told = taken.sequence > before.sequence;
        assert_eq!(is_told, !told.by.is_empty(), "who was told hears who has it: {:?}", self.story);
        told.take();
    }

    fn give_back(&mut self, signal: Signal) {
        let id = self.incident(signal).id;
        let holds = self.holds(signal);
        let (_, event) = self.state.give_back(&id, at(self.now)).expect("somebody has it");
        let told = self.told.get_mut(&signal).expect("it is open");
        let is_news = !told.by.is_empty() && !holds.any();
        assert_eq!(event, is_news.then_some(Event::IncidentUpdated), "{:?}", self.story);
        told.unclaimed(self.now);
    }

    /// What is on disk, and nothing else, goes on.
    fn restart(&mut self) {
        let mut next = MonitorState::new(at(self.now));
        for signal in SIGNALS {
            let state = self.state.signal(signal).clone();
            if let (Some(incident), Some(telling)) = (self.state.incident(signal), self.state.telling(signal)) {
                let telling = Telling::remembered(telling.told, telling.holds.clone());
                next.restore_incident(incident.clone(), telling);
            }
            next.restore_signal(signal, state);
        }
        self.state = next;
        self.told.values_mut().for_each(Told::restarted);
    }

    fn edit(&mut self) {
        let rule = &mut self.monitor.rules.availability;
        rule.severity = if rule.severity == Severity::Page { Severity::Ticket } else { Severity::Page };
        self.edited = 0;
        let ended = self.state.reconsider(&self.monitor, at(self.now));
        assert!(ended.is_empty(), "a rule that is louder or not ends nothing: {:?}", self.story);
    }
}
