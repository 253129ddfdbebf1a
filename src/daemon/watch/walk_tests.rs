//! Random walks of whole beats through the real store, with a death before or after any commit: what is told of incidents
//! that explain each other and that people silence, checked against what deliveries and holds say, not against the
//! code that decides. What a step does and what holds after it are read together, which is why this file is long.
//!
//! `SERIN_WALKS` and `SERIN_STEPS` ask for more of them than there is time for on each change, `SERIN_TEST_SEED` for those
//! from that one on.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use futures_util::{StreamExt as _, stream};

use super::*;
use crate::daemon::{changes, resume};
use crate::domain::answer::{Answer, Ask, Hit, Turn, Variant};
use crate::domain::depends_on::Parent;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::fleet_files::FleetFiles;
use crate::domain::grouping::Grouping;
use crate::domain::incident::Incident;
use crate::domain::lease::Leases;
use crate::domain::maintenance::{MaintenanceWindow, WindowRuns};
use crate::domain::monitor::{Canary, CanaryKind, MonitorId};
use crate::domain::observation::{HealthSeen, Phases, Stage, Step, ToolsSeen};
use crate::domain::paging::hold::{HoldKind, TellingHold};
use crate::domain::paging::parent::VERDICT_WITHIN;
use crate::domain::paging::silence::Silence;
use crate::domain::reason::Severity;
use crate::domain::receiver::{Channel, Receiver};
use crate::domain::recurrence::{Recurrence, parsed};
use crate::domain::route::{Escalation, Match, Route};
use crate::domain::secret::{Address, Secret};
use crate::domain::signal::Signal;
use crate::domain::tools::{Listing, ToolSeen};
use crate::store::read::ledger::DeliveryFilter;

mod courier;

use courier::Courier;

/// Walks, and beats of each, where nobody asks for more.
const WALKS: u64 = 24;
const STEPS: u64 = 50;
/// What walks found, by the seed of each, which is walked on each change: errors that came and went with a change of tools
/// were told to nobody.
const FOUND: [u64; 1] = [703_489];
/// So many walk at once, since each waits for its disk most of the time.
const AT_ONCE: usize = 12;
/// Beats that show an incident which nothing holds, by the last of which it is told: two for what was held, and two more
/// for a verdict that is waited for.
const TOLD_WITHIN: u32 = 4;

/// Every so many walks goes along a monitor that comes and goes, and is watched closely.
const FLAPS_EVERY: u64 = 4;

/// After so long an escalation is due, and after so long, looked at once a minute, it was told.
const ESCALATES_AFTER: TimeDelta = TimeDelta::minutes(3);
const ESCALATED_WITHIN: TimeDelta = TimeDelta::minutes(5);

/// What a beat shows, and which signals show a fault in it.
#[derive(Debug, Clone, Copy)]
struct Look {
    show: fn(&mut Observation),
    signals: &'static [Signal],
}

const LOOKS: [Look; 8] = [
    Look { show: |_| {}, signals: &[] },
    Look { show: |seen| fail_at(seen, FaultKind::Silent), signals: &[Signal::Availability] },
    Look { show: |seen| fail_at(seen, FaultKind::AuthRejected), signals: &[Signal::Access] },
    Look { show: fail_asks, signals: &[Signal::Errors] },
    Look {
        show: |seen| {
            let mut tools = tools("v2");
            tools.invalid_call = Some("`query` is gone".to_owned());
            seen.tools = Some(tools);
            fail_asks(seen);
        },
        signals: &[Signal::Contract, Signal::Errors],
    },
    Look { show: find_nothing, signals: &[Signal::Quality] },
    Look { show: |seen| seen.health = vec![health(Some("pool_saturated"))], signals: &[Signal::Health] },
    Look {
        show: |seen| {
            find_nothing(seen);
            seen.health = vec![health(Some("pool_saturated"))];
        },
        signals: &[Signal::Quality, Signal::Health],
    },
];

fn fail_at(seen: &mut Observation, kind: FaultKind) {
    seen.steps.truncate(1);
    seen.steps.push(step(Stage::Handshake, Some(kind)));
    (seen.tools, seen.asks) = (None, Vec::new());
}

fn fail_asks(seen: &mut Observation) {
    for ask in &mut seen.asks {
        ask.result = Some(Err(Fault { kind: FaultKind::ToolError, detail: "as seen".to_owned() }));
    }
}

fn find_nothing(seen: &mut Observation) {
    for ask in &mut seen.asks {
        ask.result = Some(Ok(Answer::default()));
    }
}

fn step(stage: Stage, fault: Option<FaultKind>) -> Step {
    Step {
        stage,
        label: stage.slug().to_owned(),
        elapsed: Duration::from_millis(10),
        phases: Phases::default(),
        fresh_connection: true,
        fault: fault.map(|kind| Fault { kind, detail: "as seen".to_owned() }),
        notes: Vec::new(),
    }
}

fn tools(shape: &str) -> ToolsSeen {
    let tool = ToolSeen { name: "search".to_owned(), full_hash: shape.to_owned(), shape_hash: shape.to_owned() };
    let listing = Listing { hash: shape.to_owned(), tools: vec![tool], ..Listing::default() };
    ToolsSeen { listing: Arc::new(listing), search_tool: Some("search".to_owned()), ..ToolsSeen::default() }
}

fn health(reason: Option<&str>) -> HealthSeen {
    HealthSeen {
        address: "http://docs/health".to_owned(),
        status: Some(if reason.is_none() { 200 } else { 503 }),
        ok: reason.is_none(),
        reason: reason.map(str::to_owned),
        cache_warm: None,
        instance: None,
        process_started_at: None,
        version: None,
        fault: None,
    }
}

fn address() -> Address {
    Address { shown: String::new(), resolved: Secret::new("http://127.0.0.1:9/mcp") }
}

fn monitor(id: &str) -> Monitor {
    let canary = |id: &str| Canary {
        id: id.to_owned(),
        query: id.to_owned(),
        kind: CanaryKind::Meaning,
        expect: vec!["a.md".to_owned()],
        within: 3,
        max_score: None,
        text: None,
        forbid: Vec::new(),
        also: Vec::new(),
        line: 1,
        definition_hash: id.to_owned(),
    };
    let mut monitor = Monitor::undeclared(id, address());
    monitor.canaries = ["a", "b", "c"].map(canary).to_vec();
    monitor.health = vec![address()];
    // Beats follow each other at once here, and only what is covered counts.
    monitor.rules.availability.page_after = Duration::ZERO;
    // A window of three beats, or errors would stay open for most of a walk.
    monitor.rules.errors.window = Duration::from_secs(180);
    monitor
}

/// A beat on which everything is well.
fn well(monitor: &Monitor, now: DateTime<Utc>) -> Observation {
    let hit = Hit { source: "a.md".to_owned(), score: Some(0.9), chars: 100, excerpt: "a".to_owned() };
    let ask = |canary: &Canary| Ask {
        canary: canary.id.clone(),
        variant: Variant::Plain,
        turn: Turn::Scheduled,
        elapsed: Duration::from_millis(20),
        fresh_connection: false,
        result: Some(Ok(Answer { hits: vec![hit.clone()], ..Answer::default() })),
    };
    Observation {
        elapsed: Duration::from_millis(50),
        steps: [Stage::Connect, Stage::Handshake, Stage::Tools].into_iter().map(|stage| step(stage, None)).collect(),
        tools: Some(tools("v1")),
        asks: monitor.canaries.iter().map(ask).collect(),
        health: vec![health(None)],
        ..Observation::blank(monitor.id.clone(), BeatKind::Scheduled, now, now)
    }
}

/// Numbers that look drawn, the same for each seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// A monitor on its walk, and what is known of its incidents from outside.
struct Walk<'a> {
    context: &'a LoopContext,
    fleet: &'a Fleet,
    id: MonitorId,
    runtime: MonitorRuntime,
    /// What it depends on, and whether that is down just now.
    parent: MonitorRuntime,
    parent_down: bool,
    now: DateTime<Utc>,
    /// Every incident there ever was: how often it was seen while nobody was told and nothing held it.
    unheard: BTreeMap<String, u32>,
    /// When each was taken that somebody has.
    taken: BTreeMap<String, DateTime<Utc>>,
    /// What was said of each, to whomever.
    said: BTreeMap<String, Vec<String>>,
    /// Since when each was told, taken by nobody ever, held by nothing and not about to end.
    unclaimed: BTreeMap<String, DateTime<Utc>>,
    /// Those that are over, and of which all was checked.
    over: BTreeSet<String>,
    story: Vec<String>,
}

/// Where a process dies.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Dies {
    Before,
    After,
    Never,
}

impl Walk<'_> {
    async fn beat(&mut self, look: Look, dies: Dies) {
        self.now += Duration::from_secs(60);
        self.beat_of_parent().await;
        self.let_go().await;
        self.story.push(format!("{:?} {dies:?}", look.signals));
        let held = self.held().await;
        let mut seen = well(&self.runtime.monitor, self.now);
        (look.show)(&mut seen);
        let outcome = classify(&self.runtime.monitor, &seen);
        let observed = (seen, ServerProfile::default(), outcome);
        let quiets = self.context.quiets.book();
        let parents = self.parents().await;
        let judged = judged(
            Known { store: &self.context.store, original: None, parents: &parents },
            &self.runtime,
            (self.fleet, &quiets),
            observed,
            (Instant::now(), self.now),
        );
        let record =
            record(self.context, &self.runtime, (self.fleet, &quiets), (&judged, Vec::new()), self.now).await.unwrap();
        if dies != Dies::Before {
            self.context.store.commit(record).await.unwrap();
        }
        match dies {
            Dies::Never => self.runtime.state = judged.next.state,
            Dies::Before | Dies::After => self.restart().await,
        }
        self.check(&held).await;
        self.listen(look).await;
        self.follow().await;
    }

    /// How what it depends on stands, as the loops see it.
    async fn parents(&self) -> Vec<ParentStand> {
        let means = (&*self.context.prober, &*self.context.live);
        self.context.parents.stands(means, &self.runtime.monitor, false, self.now).await
    }

    /// What it depends on is looked at, a moment before it.
    async fn beat_of_parent(&mut self) {
        let mut seen = well(&self.parent.monitor, self.now);
        if self.parent_down {
            fail_at(&mut seen, FaultKind::Silent);
        }
        let outcome = classify(&self.parent.monitor, &seen);
        let (observed, quiets) = ((seen, ServerProfile::default(), outcome), self.context.quiets.book());
        let known = Known { store: &self.context.store, original: None, parents: &[] };
        let judged = judged(known, &self.parent, (self.fleet, &quiets), observed, (Instant::now(), self.now));
        let record =
            record(self.context, &self.parent, (self.fleet, &quiets), (&judged, Vec::new()), self.now).await.unwrap();
        self.context.store.commit(record).await.unwrap();
        self.parent.state = judged.next.state;
        self.context.live.put(self.parent.view(self.now));
    }

    /// Another process takes over, with what the store has.
    async fn restart(&mut self) {
        let mut all =
            resume::started(&self.context.store, (self.fleet, &FleetFiles::default()), &Leases::whole(), self.now)
                .await
                .unwrap();
        self.story.push("began anew".to_owned());
        let declared = Arc::clone(&self.runtime.monitor);
        let parent = self.parent.monitor.id.clone();
        let at = all.iter().position(|runtime| runtime.monitor.id == parent).unwrap();
        self.parent = all.swap_remove(at);
        self.context.live.put(self.parent.view(self.now));
        self.runtime = all.into_iter().find(|runtime| runtime.monitor.id == self.id).unwrap();
        self.runtime.monitor = declared;
        self.unheard.values_mut().for_each(|times| *times = 0);
    }

    /// Live holds by the incident they hold, as the store has them.
    async fn held(&self) -> BTreeSet<(String, String)> {
        let live = self.context.store.live_holds(self.now).await.unwrap().into_values();
        live.map(|hold| (hold.incident, hold.by)).collect()
    }

    /// What was said of an incident in the order of its numbers, each with who hears of it.
    async fn events(&self, incident: &str) -> Vec<(String, Vec<String>)> {
        let mut filter = DeliveryFilter::of_incident(incident);
        let mut by_number: BTreeMap<u32, (String, Vec<String>)> = BTreeMap::new();
        loop {
            let lines = self.context.store.deliveries(&filter).await.unwrap();
            let Some(last) = lines.last() else { return by_number.into_values().collect() };
            filter.after = Some(last.id.clone());
            for line in lines {
                let event = line.event.trim_start_matches("incident.").to_owned();
                let (known, to) = by_number.entry(line.sequence).or_insert_with(|| (event.clone(), Vec::new()));
                assert_eq!(*known, event, "two messages of one number: {:#?}", self.story);
                assert!(!to.contains(&line.receiver), "twice to {}: {:#?}", line.receiver, self.story);
                to.push(line.receiver);
            }
        }
    }

    /// Who heard of an incident hears all that is said of it to everybody from then on, and its end, last.
    fn check_receivers(&self, said: &[(String, Vec<String>)], is_over: bool) {
        for receiver in RECEIVERS {
            let Some(first) = said.iter().position(|(_, to)| to.iter().any(|name| name == receiver)) else { continue };
            let why = format!("{receiver}: {said:?}\n{:#?}", self.story);
            let is_for_all = |event: &str| matches!(event, "opened" | "updated" | "acknowledged" | "resolved");
            for (event, to) in said[first..].iter().filter(|(event, _)| is_for_all(event)) {
                assert!(to.iter().any(|name| name == receiver), "{event} is kept from who was told: {why}");
            }
            assert!(
                receiver != LEAD || said[first].0 == "escalated",
                "the lead hears of it in time, not before: {why}"
            );
            assert!(!is_over || said.last().unwrap().0 == "resolved", "and its end last: {why}");
        }
    }

    /// What holds for every incident at every moment. `held` is what held before the step.
    async fn check(&mut self, held: &BTreeSet<(String, String)>) {
        let open: Vec<Incident> = self.runtime.state.incidents().cloned().collect();
        for incident in &open {
            self.unheard.entry(incident.id.clone()).or_default();
        }
        let holds_now = self.held().await;
        for id in self.unheard.keys().cloned().collect::<Vec<_>>() {
            if self.over.contains(&id) {
                continue;
            }
            let Some(stored) = self.context.store.incident(&id).await.unwrap() else { continue };
            let said = self.events(&id).await;
            self.check_receivers(&said, stored.resolved_at.is_some());
            let events: Vec<String> = said.into_iter().map(|(event, _)| event).collect();
            let before = self.said.insert(id.clone(), events.clone()).unwrap_or_default();
            let why = format!("{id} {:?} {events:?}\n{:#?}", stored.signal, self.story);
            assert!(events.starts_with(&before), "what was said stays said: {why}");
            let of = |event: &str| events.iter().filter(|one| *one == event).count();
            assert!(events.is_empty() || events[0] == "opened" && of("opened") == 1, "one opening, and first: {why}");
            let is_over = stored.resolved_at.is_some();
            assert_eq!(of("resolved"), usize::from(is_over && !events.is_empty()), "its end to whom was told: {why}");
            assert!(!is_over || events.is_empty() || events.last().unwrap() == "resolved", "and last: {why}");
            if is_over {
                self.over.insert(id.clone());
            }
            let stays_held = holds_now.iter().any(|hold| hold.0 == id && held.contains(hold));
            let is_news = |event: &&String| matches!(&***event, "opened" | "updated" | "reminder" | "escalated");
            let news = events[before.len()..].iter().filter(is_news).count();
            assert!(!stays_held || news == 0, "nothing new is told of what is held: {why}");
            let is_follow_up = |event: &&String| matches!(&***event, "reminder" | "escalated");
            let followed = events[before.len()..].iter().filter(is_follow_up).count();
            let stays_taken =
                self.taken.get(&id).is_some_and(|at| stored.acknowledged.as_ref().is_some_and(|(_, now)| now == at));
            assert!(!stays_taken || followed == 0, "nobody is reminded of what somebody has: {why}");
            match stored.acknowledged {
                Some((_, at)) => self.taken.insert(id.clone(), at),
                None => self.taken.remove(&id),
            };
        }
        // Those known when the beat was judged: one that ends with an incident is let go a moment later.
        let book = self.context.quiets.book();
        for (second, first) in &holds_now {
            if self.unheard.contains_key(second) {
                let is_open = open.iter().any(|incident| incident.id == *first);
                let is_told = self.said.get(first).is_some_and(|said| !said.is_empty());
                let is_silence = book.has(first);
                let stand = self.parent.state.as_parent(&self.parent.monitor, self.now);
                // Down, or waited for no longer than a verdict takes.
                let holds = self.context.store.holds_of(second).await.unwrap();
                let mut live = holds.iter().filter(|hold| hold.by == stand.name && hold.is_live(self.now));
                let is_behind = live
                    .any(|hold| hold.until.is_some_and(|until| until <= self.now + VERDICT_WITHIN) || stand.is_down);
                assert!(
                    is_silence || is_behind || is_open && is_told,
                    "held by what is over, or by what nobody heard of: {:#?}",
                    self.story
                );
            }
        }
    }

    /// Who takes nothing is followed up: what was told, that nobody ever took and nothing holds, is escalated in time.
    async fn follow(&mut self) {
        let held = self.held().await;
        for incident in self.runtime.state.incidents() {
            let said = &self.said[&incident.id];
            let is_open = self.runtime.state.signal(incident.signal).phase == Phase::Open;
            let is_held = held.iter().any(|hold| hold.0 == incident.id);
            let was_taken = said.iter().any(|event| event == "acknowledged") || self.taken.contains_key(&incident.id);
            if said.is_empty() || was_taken || is_held || !is_open {
                self.unclaimed.remove(&incident.id);
                continue;
            }
            let since = *self.unclaimed.entry(incident.id.clone()).or_insert(self.now);
            let is_late = self.now - since >= ESCALATED_WITHIN;
            let is_escalated = said.iter().any(|event| event == "escalated");
            assert!(
                !is_late || is_escalated,
                "nobody took it, and nobody else was told: {:?} {:#?}",
                incident.signal,
                self.story
            );
        }
    }

    /// Nobody is left in the dark: what is open, held by nothing and seen again and again is told.
    async fn listen(&mut self, look: Look) {
        let held = self.held().await;
        for incident in self.runtime.state.incidents() {
            let times = self.unheard.get_mut(&incident.id).unwrap();
            let is_held = held.iter().any(|hold| hold.0 == incident.id);
            let is_told = self.said.get(&incident.id).is_some_and(|said| !said.is_empty());
            // What a window found calm again is about to end, though a beat that it holds may have failed.
            let is_open = self.runtime.state.signal(incident.signal).phase == Phase::Open;
            let is_shown = is_open && look.signals.contains(&incident.signal);
            *times = if is_held || is_told { 0 } else { *times + u32::from(is_shown) };
            assert!(*times < TOLD_WITHIN, "silence: {:?} {:#?}", incident.signal, self.story);
        }
    }

    /// What the loop does that keeps what is quiet: nothing that a silence let go stays untold where it is open.
    async fn let_go(&mut self) {
        let (held, silences) = (self.held().await, self.context.store.silences(self.now).await.unwrap());
        self.context.quiets.put(QuietBook::new(&silences, self.fleet, self.now));
        changes::tell(self.context, &mut self.runtime, self.now).await.unwrap();
        self.check(&held).await;
        for incident in self.runtime.state.incidents() {
            let telling = self.runtime.state.telling(incident.signal).unwrap();
            let is_open = self.runtime.state.signal(incident.signal).phase == Phase::Open;
            let was_silenced = telling.holds.iter().any(|hold| hold.kind.is_quiet());
            let was_explained = telling.holds.iter().any(TellingHold::explains);
            if is_open && was_silenced && !was_explained && !telling.is_held(self.now) {
                assert!(!self.said[&incident.id].is_empty(), "let go and not told: {:#?}", self.story);
            }
        }
    }

    /// Somebody silences the monitor or one of its incidents, or ends a silence.
    async fn silence(&mut self, dice: &mut Dice) {
        let live = self.context.store.silences(self.now).await.unwrap();
        let mine = live.iter().find(|silence| silence.matches.monitor[0] == self.id.as_str());
        if let Some(silence) = mine.filter(|_| dice.below(2) == 0) {
            self.story.push(format!("silence {} ended", silence.id));
            assert_eq!(self.context.store.end_silence(&silence.id, "ada", self.now).await, Ok(true));
        } else {
            let open = self.runtime.state.incidents().next();
            let until_incident = open.filter(|_| dice.below(2) == 0).map(|incident| incident.id.clone());
            let minutes = 1 + dice.below(20) as i64;
            let until =
                (until_incident.is_none() || dice.below(2) == 0).then(|| self.now + TimeDelta::minutes(minutes));
            let signal = if dice.below(2) == 0 { vec![Signal::ALL[dice.below(8)]] } else { Vec::new() };
            self.story.push(format!("silenced {signal:?} until {until:?} {until_incident:?}"));
            let matches = Match { monitor: vec![self.id.to_string()], signal, ..Match::default() };
            let (author, comment) = ("ada".to_owned(), "known".to_owned());
            let id = Uuid::now_v7().to_string();
            let silence = Silence { id, matches, author, comment, from: self.now, until, until_incident, ended: None };
            assert_eq!(self.context.store.make_silence(silence, self.now).await, Ok(true));
        }
        self.let_go().await;
    }

    /// Something else than a beat: a person takes an incident, or the file is edited.
    async fn meddle(&mut self, dice: &mut Dice) {
        let held = self.held().await;
        if dice.below(2) == 0 {
            let open: Vec<String> = self.runtime.state.incidents().map(|incident| incident.id.clone()).collect();
            if let Some(id) = open.first() {
                if self.context.store.acknowledge(id, "ada", self.now).await.unwrap() {
                    self.story.push(format!("taken {id}"));
                } else {
                    self.story.push(format!("given back {id}"));
                    self.context.store.give_back(id, "ada", self.now).await.unwrap();
                }
                if dice.below(4) == 0 {
                    // It is on disk, and Serin dies before it tells.
                    self.restart().await;
                    self.story.push("died".to_owned());
                    let untold: Vec<_> = self.runtime.state.taken_untold().collect();
                    for (id, by) in untold {
                        changes::claimed(self.context, &mut self.runtime, (&id, &by), None, self.now).await.unwrap();
                    }
                }
                changes::claimed(self.context, &mut self.runtime, (id, "ada"), None, self.now).await.unwrap();
            }
        } else {
            let mut edited = Monitor::clone(&self.runtime.monitor);
            edited.rules.errors.share = if edited.rules.errors.share > 0.5 { 0.05 } else { 2.0 };
            edited.definition_hash = format!("share {}", edited.rules.errors.share);
            self.story.push(edited.definition_hash.clone());
            changes::edit(self.context, &mut self.runtime, Arc::new(edited), self.now).await.unwrap();
        }
        self.check(&held).await;
    }
}

/// Who is told, and what of.
const RECEIVERS: [&str; 3] = ["oncall", DESK, LEAD];
/// People, who get one message of what comes together; the others are programs.
const DESK: &str = "desk";
const LEAD: &str = "lead";

fn desk() -> Arc<Receiver> {
    Arc::new(Receiver {
        name: DESK.to_owned(),
        channel: Channel::Email { to: vec!["desk@example.org".to_owned()] },
        at_most: None,
        line: 1,
        definition_hash: "desk".to_owned(),
    })
}

/// Pages go to the one on call and to the desk, everything else to the desk; the lead hears of what nobody takes.
fn routes() -> Vec<Route> {
    let pages = Match { severity: vec![Severity::Page], ..Match::default() };
    let oncall = Route { matches: pages, to: vec!["oncall".to_owned()], goes_on: true, ..Route::default() };
    let escalate = vec![Escalation { after: ESCALATES_AFTER.to_std().unwrap(), to: vec![LEAD.to_owned()] }];
    let remind = Some(Duration::from_secs(420));
    let group = Some(Grouping { wait: Duration::from_secs(120), ..Grouping::default() });
    vec![oncall, Route { to: vec![DESK.to_owned()], remind, escalate, group, ..Route::default() }]
}

/// Two hours of which eleven minutes are maintenance.
fn maintenance() -> MaintenanceWindow {
    MaintenanceWindow {
        name: String::new(),
        matches: Match { monitor: vec!["docs".to_owned()], ..Match::default() },
        runs: WindowRuns::Repeated {
            starts: Recurrence::new(parsed("40 */2 * * *").unwrap(), jiff::tz::TimeZone::UTC),
            lasts: Duration::from_secs(660),
        },
        line: 7,
    }
}

/// What walks came by: those that meet nothing prove nothing.
#[derive(Debug, Default, Clone, Copy)]
struct Met {
    incidents: usize,
    /// Told when what held them was over.
    told_late: usize,
    never_told: usize,
    escalated: usize,
    reminded: usize,
    behind: usize,
    in_window: usize,
    flapped: usize,
    deaths: usize,
    /// Messages of several, and those that came twice.
    grouped: usize,
    repeated: usize,
}

impl Met {
    const fn and(self, other: Self) -> Self {
        Self {
            incidents: self.incidents + other.incidents,
            told_late: self.told_late + other.told_late,
            never_told: self.never_told + other.never_told,
            escalated: self.escalated + other.escalated,
            reminded: self.reminded + other.reminded,
            behind: self.behind + other.behind,
            in_window: self.in_window + other.in_window,
            flapped: self.flapped + other.flapped,
            deaths: self.deaths + other.deaths,
            grouped: self.grouped + other.grouped,
            repeated: self.repeated + other.repeated,
        }
    }
}

/// A walk from its first beat to the removal of its monitor, in a store of its own.
async fn walk(seed: u64, steps: u64) -> Met {
    let folder = tempfile::tempdir().unwrap();
    let parent = Arc::new(monitor("db"));
    let depends_on = vec![Parent::Monitor("db".to_owned())];
    let mut child = Monitor { depends_on, ..monitor("docs") };
    let flaps = seed.is_multiple_of(FLAPS_EVERY);
    if flaps {
        (child.rules.availability.after, child.rules.availability.recover_after) = (1, 1);
    }
    if seed % FLAPS_EVERY == 1 {
        (child.rules.availability.after, child.rules.availability.of) = (2, Some(4));
    }
    let child = Arc::new(child);
    let monitors = vec![Arc::clone(&child), Arc::clone(&parent)];
    let (receivers, maintenance) = (vec![desk()], vec![maintenance()]);
    let fleet = Fleet { monitors, routes: routes(), receivers, maintenance, ..Fleet::default() };
    let context = LoopContext::idle(folder.path(), fleet.clone()).await;
    let start = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
    let mut dice = Dice(seed);
    let mut walk = Walk {
        context: &context,
        fleet: &fleet,
        id: child.id.clone(),
        runtime: MonitorRuntime::new(child, start),
        parent: MonitorRuntime::new(parent, start),
        parent_down: false,
        now: start,
        unheard: BTreeMap::new(),
        taken: BTreeMap::new(),
        said: BTreeMap::new(),
        unclaimed: BTreeMap::new(),
        over: BTreeSet::new(),
        story: vec![format!("seed {seed}")],
    };
    walk.beat(LOOKS[0], Dies::Never).await;
    walk.beat(LOOKS[0], Dies::Never).await;
    let (mut look, mut met, mut courier) = (LOOKS[0], Met::default(), Courier::default());
    let looks = if flaps { 2 } else { LOOKS.len() };
    for _ in 0..steps {
        // Faults last a while, or nothing would open.
        if dice.below(if flaps { 2 } else { 4 }) == 0 {
            look = LOOKS[dice.below(looks)];
        }
        if dice.below(8) == 0 {
            walk.parent_down = !walk.parent_down && dice.below(2) == 0;
            walk.story.push(format!("parent down: {}", walk.parent_down));
        }
        let dies = [Dies::Before, Dies::After].get(dice.below(20)).copied().unwrap_or(Dies::Never);
        met.deaths += usize::from(dies != Dies::Never);
        walk.beat(look, dies).await;
        courier.turn(&context.store, walk.now, &mut dice, &walk.story).await;
        if dice.below(12) == 0 {
            walk.meddle(&mut dice).await;
        }
        if dice.below(16) == 0 {
            walk.silence(&mut dice).await;
        }
        if dice.below(24) == 0 {
            // After whatever was written last, be it what was told without a beat.
            walk.restart().await;
            met.deaths += 1;
        }
    }
    let held = walk.held().await;
    changes::remove(&context, &mut walk.runtime, walk.now).await.unwrap();
    walk.check(&held).await;
    assert_eq!(walk.over.len(), walk.unheard.len(), "with its monitor everything ends: {:#?}", walk.story);
    let left = courier.rest(&context.store, walk.now, &walk.story).await;
    assert!(left == 0 || courier.rest(&context.store, walk.now + TimeDelta::hours(2), &walk.story).await == 0);
    (met.grouped, met.repeated) = (courier.grouped, courier.repeated);
    for id in walk.unheard.keys() {
        courier.has_all(id, &walk.events(id).await, &walk.story);
        let holds = context.store.holds_of(id).await.unwrap();
        let by = |kind: HoldKind| holds.iter().filter(|hold| hold.kind == kind).count();
        let of = |event: &str| walk.said[id].iter().filter(|one| *one == event).count();
        let timeline = context.store.timeline(id).await.unwrap();
        let flapped = timeline.iter().filter(|line| line.text.contains("flapping: opened")).count();
        assert!(flapped <= 1, "it is told once that it flaps: {timeline:?}");
        met = met.and(Met {
            incidents: 1,
            told_late: timeline.iter().filter(|line| line.kind == "told").count(),
            never_told: usize::from(walk.said[id].is_empty()),
            escalated: of("escalated"),
            reminded: of("reminder"),
            behind: by(HoldKind::Parent),
            in_window: by(HoldKind::Window),
            flapped,
            ..Met::default()
        });
    }
    context.store.close().await;
    met
}

/// A number that somebody asks for by a variable of the environment.
fn asked(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().map_or(usual, |text| text.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_comes_what_was_told_is_ended_and_what_lasts_is_told() {
    let (first, walks, steps) = (asked("SERIN_TEST_SEED", 1), asked("SERIN_WALKS", WALKS), asked("SERIN_STEPS", STEPS));
    let walked = stream::iter((first..first + walks).chain(FOUND)).map(|seed| tokio::spawn(walk(seed, steps)));
    let mut met = Met::default();
    let mut walked = walked.buffer_unordered(AT_ONCE);
    while let Some(one) = walked.next().await {
        met = met.and(one.unwrap());
    }
    println!("{walks} walks from seed {first}, {steps} steps each: {met:?}");
    assert!(met.told_late > 0 && met.never_told > 0, "walks that hold nothing prove nothing: {met:?}");
    assert!(met.behind > 0 && met.in_window > 0, "nor do those in which no parent is down, or no window runs: {met:?}");
    assert!(met.grouped > 0 && met.repeated > 0, "nor do messages of which none waits for another: {met:?}");
    assert!(met.flapped > 0, "nor do those in which nothing flaps: {met:?}");
    assert!(met.escalated > 0 && met.reminded > 0, "nor do walks that follow nothing up: {met:?}");
}
