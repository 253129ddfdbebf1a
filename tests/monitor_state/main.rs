//! How a monitor's state goes over many beats: what opens, what ends, and what is never told.

#![expect(clippy::unwrap_used, reason = "a test stops where what it stands on is missing")]

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serin::domain::answer::{Answer, Ask, Hit, Turn, Variant};
use serin::domain::classify::classify;
use serin::domain::fault::{Fault, FaultKind};
use serin::domain::fleet::Provenance;
use serin::domain::incident::{Incident, ResolveCause};
use serin::domain::monitor::{Canary, CanaryKind, Monitor, MonitorId};
use serin::domain::monitor_state::{Beat, Decision, MonitorState};
use serin::domain::observation::{BeatKind, Harvested, HealthSeen, Observation, Phases, Stage, Step, ToolsSeen};
use serin::domain::outcome::Outcome;
use serin::domain::paging::parent::ParentStand;
use serin::domain::paging::quiet::QuietBook;
use serin::domain::route::{Match, Route};
use serin::domain::signal::Signal;
use serin::domain::sources::{SourcesLeft, SourcesSeen};
use serin::domain::tools::{Listing, ToolSeen};

use crate::common::monitors::{self, address};

#[expect(dead_code, reason = "other tests need more of it")]
#[path = "../common/mod.rs"]
mod common;
mod outages;
mod answers;
mod caches;
mod signals;
mod endings;
mod holds;
mod quiet;
mod parents;
mod follow_ups;
mod histories;
mod leaks;
mod changes;
mod replicas;
mod near_misses;
mod m_of_n;
mod flapping;
mod track;
mod model;

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
}

fn canary(id: &str) -> Canary {
    Canary {
        query: format!("about {id}"),
        kind: CanaryKind::Meaning,
        within: 3,
        definition_hash: id.to_owned(),
        ..monitors::canary(id)
    }
}

/// Three canaries, one health address, the standard rules.
fn docs() -> Monitor {
    let mut monitor = Monitor::undeclared("docs", address("http://docs/mcp"));
    monitor.canaries = vec![canary("a"), canary("b"), canary("c")];
    monitor.search.per_beat = 3;
    monitor.health = vec![address("http://docs/health")];
    monitor
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

fn answer(sources: &[&str]) -> Result<Answer, Fault> {
    let hit = |(at, source): (usize, &&str)| Hit {
        source: (*source).to_owned(),
        score: Some(0.9),
        chars: 100,
        excerpt: format!("{source} {at}"),
    };
    Ok(Answer { hits: sources.iter().enumerate().map(hit).collect(), ..Answer::default() })
}

fn ask(canary: &str, result: Result<Answer, Fault>) -> Ask {
    Ask {
        canary: canary.to_owned(),
        variant: Variant::Plain,
        turn: Turn::Scheduled,
        elapsed: Duration::from_millis(20),
        fresh_connection: false,
        result: Some(result),
    }
}

fn says(ok: bool, reason: Option<&str>, cache_warm: Option<bool>) -> HealthSeen {
    HealthSeen {
        address: "http://docs/health".to_owned(),
        status: Some(if ok { 200 } else { 503 }),
        ok,
        reason: reason.map(str::to_owned),
        cache_warm,
        instance: None,
        process_started_at: None,
        version: None,
        fault: None,
    }
}

/// A beat on which everything is well.
fn well(now: DateTime<Utc>) -> Observation {
    Observation {
        elapsed: Duration::from_millis(50),
        steps: [Stage::Connect, Stage::Handshake, Stage::Tools].into_iter().map(|stage| step(stage, None)).collect(),
        tools: Some(tools("v1")),
        asks: ["a", "b", "c"].into_iter().map(|id| ask(id, answer(&["a.md"]))).collect(),
        health: vec![says(true, None, None)],
        ..Observation::blank(MonitorId::new("docs"), BeatKind::Scheduled, now, now)
    }
}

/// What a beat shows instead of everything being well.
type Look = fn(&mut Observation);

fn fails_at(seen: &mut Observation, stage: Stage, kind: FaultKind) {
    seen.steps.retain(|step| step.stage < stage);
    seen.steps.push(step(stage, Some(kind)));
    seen.tools = None;
    seen.asks.clear();
}

const WELL: Look = |_| {};
const REFUSED: Look = |seen| {
    fails_at(seen, Stage::Connect, FaultKind::Refused);
    seen.health.clear();
};
const HANGS: Look = |seen| fails_at(seen, Stage::Handshake, FaultKind::Silent);
const LOCKED_OUT: Look = |seen| fails_at(seen, Stage::Handshake, FaultKind::AuthRejected);
const THROTTLED: Look = |seen| fails_at(seen, Stage::Handshake, FaultKind::RateLimited { retry_after_seconds: None });
const EMPTY: Look = |seen| answers(seen, &[]);
const WRONG: Look = |seen| answers(seen, &["z.md"]);
const EMPTY_AND_SATURATED: Look = |seen| {
    answers(seen, &[]);
    seen.health = vec![says(false, Some("pool_saturated"), None)];
};
const SATURATED: Look = |seen| seen.health = vec![says(false, Some("pool_saturated"), None)];
const WRONG_AND_UNHEALTHY: Look = |seen| {
    answers(seen, &["z.md"]);
    seen.health = vec![says(false, Some("disk on fire"), None)];
};
const SAYS_WRONG: Look = |seen| seen.health = vec![says(false, Some("wrong_results"), None)];
const WRONG_AND_SAYS_SO: Look = |seen| {
    answers(seen, &["z.md"]);
    seen.health = vec![says(false, Some("wrong_results"), None)];
};
const SEARCH_LOCKED: Look = |seen| {
    seen.steps.push(step(Stage::Search, Some(FaultKind::AuthRejected)));
    fail_asks(seen, FaultKind::AuthRejected);
};
const TOOL_ERRORS: Look = |seen| fail_asks(seen, FaultKind::ToolError);
const SLOW: Look = |seen| slow(seen);
const SLOW_AND_COLD: Look = |seen| {
    slow(seen);
    seen.health = vec![says(true, None, Some(false))];
};
const OTHER_TOOLS: Look = |seen| seen.tools = Some(tools("v2"));
const LIGHT: Look = |seen| weigh(seen, 900, &[("a", 500), ("b", 500), ("c", 500)]);
const HEAVY_A: Look = |seen| weigh(seen, 900, &[("a", 1_500), ("b", 500), ("c", 500)]);
const ONLY_B: Look = |seen| weigh(seen, 900, &[("b", 500)]);
const HEAVY_TOOLS: Look = |seen| weigh(seen, 2_001, &[("a", 500), ("b", 500), ("c", 500)]);
const STALE: Look = |seen| {
    let last_indexed_at = Some(seen.started_at - Duration::from_secs(7200));
    seen.sources = Some(SourcesSeen { count: 1, last_indexed_at, ..SourcesSeen::default() });
};
const CURRENT: Look = |seen| {
    let last_indexed_at = Some(seen.started_at);
    seen.sources = Some(SourcesSeen { count: 1, last_indexed_at, ..SourcesSeen::default() });
};
/// Old sources on the first of many pages.
const STALE_IN_PART: Look = |seen| {
    STALE(seen);
    let known = seen.sources.take().unwrap();
    let (count, total, left) = (500, Some(12_000), Some(SourcesLeft::TooMany));
    seen.sources = Some(SourcesSeen { count, total, left, ..known });
};

fn answers(seen: &mut Observation, sources: &[&str]) {
    for ask in &mut seen.asks {
        ask.result = Some(answer(sources));
    }
}

fn fail_asks(seen: &mut Observation, kind: FaultKind) {
    for ask in &mut seen.asks {
        ask.result = Some(Err(Fault { kind, detail: "as seen".to_owned() }));
    }
}

/// What the list and the answers of these canaries cost; the others are not asked.
fn weigh(seen: &mut Observation, tools: u32, answers: &[(&str, u32)]) {
    Arc::make_mut(&mut seen.tools.as_mut().unwrap().listing).tokens = Some(tools);
    seen.asks.retain(|ask| answers.iter().any(|(id, _)| *id == ask.canary));
    for ask in &mut seen.asks {
        let tokens = answers.iter().find(|(id, _)| *id == ask.canary).map(|(_, tokens)| *tokens);
        ask.result.as_mut().unwrap().as_mut().unwrap().tokens = tokens;
    }
}

/// A sentence out of an earlier answer was asked back, and brought its source at this rank.
fn asked_back(seen: &mut Observation, rank: Option<u32>) {
    let ask = Ask { variant: Variant::Fresh, turn: Turn::Harvested, ..ask("(harvested)", Ok(Answer::default())) };
    seen.harvested = Some(Box::new(Harvested { ask, rank }));
}

fn slow(seen: &mut Observation) {
    for ask in &mut seen.asks {
        ask.elapsed = Duration::from_secs(2);
    }
}

/// The route that brings these signals to one receiver; everything where none is named.
fn heard(signals: &[Signal]) -> Route {
    let matches = Match { signal: signals.to_vec(), ..Match::default() };
    Route { matches, to: vec!["oncall".to_owned()], ..Route::default() }
}

/// A monitor under watch, beat by beat.
struct Scene {
    monitor: Monitor,
    state: MonitorState,
    second: i64,
    beats: u32,
    ids: u32,
    told: Vec<String>,
    decided: Vec<Decision>,
    /// When each was decided, in seconds.
    moments: Vec<i64>,
    /// The monitor that this one is a replica of.
    original: Option<MonitorState>,
    /// The signals that a route brings to somebody; empty: all of them.
    heard: Vec<Signal>,
    /// What is quiet.
    quiets: QuietBook,
    /// How what it depends on stands.
    parents: Vec<ParentStand>,
}

impl Scene {
    fn new(monitor: Monitor) -> Self {
        Self {
            monitor,
            state: MonitorState::new(at(0)),
            second: 0,
            beats: 0,
            ids: 0,
            told: Vec::new(),
            decided: Vec::new(),
            moments: Vec::new(),
            original: None,
            heard: Vec::new(),
            quiets: QuietBook::default(),
            parents: Vec::new(),
        }
    }

    /// One beat, so many covered seconds after the one before.
    fn beat(&mut self, after: u32, look: impl Fn(&mut Observation)) {
        self.second += i64::from(after);
        let mut seen = well(at(self.second));
        look(&mut seen);
        let outcome = classify(&self.monitor, &seen);
        self.weigh(&seen, &outcome, after);
    }

    fn weigh(&mut self, seen: &Observation, outcome: &Outcome, after: u32) {
        let (provenance, routes) = (Provenance::default(), [heard(&self.heard)]);
        let original = self.original.as_ref().map(MonitorState::as_original);
        let beat = Beat {
            monitor: &self.monitor,
            provenance: &provenance,
            routes: &routes,
            quiets: &self.quiets,
            parents: &self.parents,
            seen,
            outcome,
            original: original.as_ref(),
            covered: Duration::from_secs(u64::from(after)),
            now: at(self.second),
        };
        let ids = &mut self.ids;
        let mut id = || {
            *ids += 1;
            format!("i{ids}")
        };
        let (next, decisions) = self.state.weigh(beat, &mut id);
        self.state = next;
        self.beats += 1;
        for decision in &decisions {
            self.told.extend(word(decision).map(|word| format!("{} {word}", self.beats)));
        }
        self.moments.extend(decisions.iter().map(|_| self.second));
        self.decided.extend(decisions);
    }

    fn beats(&mut self, beats: &[(u32, u32, Look)]) {
        for (times, after, look) in beats {
            for _ in 0..*times {
                self.beat(*after, look);
            }
        }
    }
}

fn word(decision: &Decision) -> Option<String> {
    let about = |incident: &Incident| format!("{} {}", incident.signal.slug(), incident.reason.slug());
    Some(match decision {
        Decision::FollowedUp { incident, told } => format!("{} {}", told.event.slug(), about(incident)),
        Decision::Opened { incident, silent: true } => format!("quietly opened {}", about(incident)),
        Decision::Opened { incident, .. } => format!("opened {}", about(incident)),
        Decision::Told { incident, held } => {
            let by = held.as_ref().map(|hold| format!(", held back by {}", hold.by));
            format!("told {}{}", about(incident), by.unwrap_or_default())
        }
        Decision::Updated(incident) => format!("updated {} {}", incident.signal.slug(), incident.reason.slug()),
        Decision::Flaps(incident) => format!("flaps {}", incident.signal.slug()),
        Decision::LookedCloser(incident) => format!("looked closer at {}", incident.signal.slug()),
        Decision::Resolved(incident) => {
            let why = incident.resolve_cause.as_ref().map_or("", ResolveCause::slug);
            format!("resolved {} {why}", incident.signal.slug())
        }
        Decision::Restarted(restart) => format!("restarted, {}", if restart.certain { "certainly" } else { "likely" }),
        Decision::Refreshed(_) | Decision::ToolsSettled => return None,
    })
}

/// Beats as (times, seconds after the one before, what they show); what is told as "beat what".
fn check(sentence: &str, monitor: Monitor, beats: &[(u32, u32, Look)], told: &[&str]) {
    let mut scene = Scene::new(monitor);
    scene.beats(beats);
    assert_eq!(scene.told, told, "{sentence}");
}

/// As `docs`, with rules that need no page of beats to be met.
fn with(edit: impl Fn(&mut Monitor)) -> Monitor {
    let mut monitor = docs();
    edit(&mut monitor);
    monitor
}

fn incident_of(decision: &Decision) -> Option<&Incident> {
    match decision {
        Decision::Opened { incident, .. }
        | Decision::Told { incident, .. }
        | Decision::Updated(incident)
        | Decision::Flaps(incident)
        | Decision::Resolved(incident) => Some(incident),
        _ => None,
    }
}

fn quick_latency(monitor: &mut Monitor) {
    monitor.rules.latency.sustained = Duration::from_secs(120);
    monitor.rules.latency.window = Duration::from_secs(300);
    monitor.rules.latency.min_samples = 3;
}
