//! How a monitor's standing goes over many beats: what opens, what ends, and what is never told.

#![expect(clippy::unwrap_used, reason = "a test stops where what it stands on is missing")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use proptest::prelude::*;
use serin::domain::classify::classify;
use serin::domain::fleet::{
    Address, Canary, CanaryKind, ContextRule, FreshnessRule, Monitor, MonitorId, Provenance, Secret,
};
use serin::domain::incident::{Incident, ResolveCause};
use serin::domain::observation::{
    Answer, Ask, BeatKind, CrossCheck, Fault, FaultKind, HealthSeen, Hit, Observation, Phases, SourcesSeen, Stage,
    Step, ToolsSeen, Turn, Variant,
};
use serin::domain::outcome::{Outcome, Verdict};
use serin::domain::protocol::Era;
use serin::domain::reason::Severity;
use serin::domain::signal::{Phase, Signal};
use serin::domain::standing::{Beat, Decision, Standing};
use serin::domain::tools::{KnownCalls, Listing, ToolSeen};

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
}

fn address(shown: &str) -> Address {
    Address { shown: shown.to_owned(), resolved: Secret::new(shown) }
}

fn canary(id: &str) -> Canary {
    Canary {
        id: id.to_owned(),
        query: format!("about {id}"),
        kind: CanaryKind::Meaning,
        expect: vec!["a.md".to_owned()],
        within: 3,
        max_score: None,
        line: 1,
        definition_hash: id.to_owned(),
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
    seen.sources = Some(SourcesSeen { count: 1, last_indexed_at });
};
const CURRENT: Look = |seen| seen.sources = Some(SourcesSeen { count: 1, last_indexed_at: Some(seen.started_at) });

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

fn slow(seen: &mut Observation) {
    for ask in &mut seen.asks {
        ask.elapsed = Duration::from_secs(2);
    }
}

/// A monitor under watch, beat by beat.
struct Scene {
    monitor: Monitor,
    standing: Standing,
    second: i64,
    beats: u32,
    ids: u32,
    told: Vec<String>,
    decided: Vec<Decision>,
}

impl Scene {
    fn new(monitor: Monitor) -> Self {
        Self {
            monitor,
            standing: Standing::new(at(0)),
            second: 0,
            beats: 0,
            ids: 0,
            told: Vec::new(),
            decided: Vec::new(),
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
        let provenance = Provenance::default();
        let beat = Beat {
            monitor: &self.monitor,
            provenance: &provenance,
            seen,
            outcome,
            covered: Duration::from_secs(u64::from(after)),
            now: at(self.second),
        };
        let ids = &mut self.ids;
        let mut id = || {
            *ids += 1;
            format!("i{ids}")
        };
        let (next, decisions) = self.standing.weigh(beat, &mut id);
        self.standing = next;
        self.beats += 1;
        for decision in &decisions {
            self.told.extend(word(decision).map(|word| format!("{} {word}", self.beats)));
        }
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
    Some(match decision {
        Decision::Opened { incident, silent } => {
            let how = if *silent { "silently opened" } else { "opened" };
            format!("{how} {} {}", incident.signal.slug(), incident.reason.slug())
        }
        Decision::Updated(incident) => format!("updated {} {}", incident.signal.slug(), incident.reason.slug()),
        Decision::Resolved(incident) => {
            let why = incident.resolve_cause.as_ref().map_or("", ResolveCause::slug);
            format!("resolved {} {why}", incident.signal.slug())
        }
        Decision::Restarted(restart) => format!("restarted, {}", if restart.certain { "certainly" } else { "likely" }),
        Decision::ToolsSettled => return None,
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

#[test]
fn eras_that_differ_hide_nothing_worse() {
    const DIFFERING: Look = |seen| {
        let (own_only, other_only) = (vec!["search".to_owned()], Vec::new());
        seen.cross_check = Some(CrossCheck { own: Era::Modern, own_only, other_only, changed: Vec::new() });
    };
    const DIFFERING_AND_BROKEN: Look = |seen| {
        DIFFERING(seen);
        if let Some(tools) = &mut seen.tools {
            tools.invalid_call = Some("`query` is gone".to_owned());
        }
    };
    let severities = |beats: &[(u32, u32, Look)]| {
        let mut scene = Scene::new(docs());
        scene.beats(beats);
        let told = scene.decided.iter().filter_map(|decision| match decision {
            Decision::Opened { incident, .. } | Decision::Updated(incident) => Some(incident.severity),
            _ => None,
        });
        (scene.told, told.collect::<Vec<_>>())
    };
    let (told, severity) = severities(&[(2, 60, WELL), (2, 60, DIFFERING), (2, 60, WELL)]);
    assert_eq!(told, ["4 opened contract schema_drift", "6 resolved contract recovered"], "two looks, a notice");
    assert_eq!(severity, [Severity::Notice]);
    let (told, severity) = severities(&[(2, 60, WELL), (2, 60, DIFFERING), (3, 60, DIFFERING_AND_BROKEN)]);
    assert_eq!(severity, [Severity::Notice, Severity::Page], "a call that no longer fits still pages: {told:?}");
}

fn ends_in(seen: &mut Observation, days: i64) {
    seen.certificate_until = seen.started_at.checked_add_signed(chrono::TimeDelta::days(days));
}

#[test]
fn what_ends_soon_is_told_at_once_and_again_when_it_is_near() {
    const FAR: Look = |seen| ends_in(seen, 31);
    const MONTH: Look = |seen| ends_in(seen, 29);
    const FORTNIGHT: Look = |seen| ends_in(seen, 13);
    const WEEK: Look = |seen| ends_in(seen, 6);
    const CREDENTIAL: Look = |seen| {
        ends_in(seen, 29);
        seen.credential_until = seen.started_at.checked_add_signed(chrono::TimeDelta::hours(71));
    };
    const LOCKED_OUT_TOO: Look = |seen| {
        ends_in(seen, 6);
        LOCKED_OUT(seen);
    };
    check("31 days are time enough", docs(), &[(3, 60, FAR)], &[]);
    check(
        "30, 14 and 7 days are told once each",
        docs(),
        &[(3, 60, MONTH), (3, 60, FORTNIGHT), (3, 60, WEEK)],
        &[
            "1 opened access certificate_expiring",
            "4 updated access certificate_expiring",
            "7 updated access certificate_expiring",
        ],
    );
    check(
        "a renewal ends it",
        docs(),
        &[(2, 60, WEEK), (2, 60, FAR)],
        &["1 opened access certificate_expiring", "4 resolved access recovered"],
    );
    check(
        "a beat that saw no certificate says nothing of it",
        docs(),
        &[(2, 60, WEEK), (6, 60, REFUSED), (2, 60, WEEK)],
        &[
            "1 opened access certificate_expiring",
            "5 opened availability connection_refused",
            "9 restarted, likely",
            "10 resolved availability recovered",
        ],
    );
    check("the nearer end is told", docs(), &[(2, 60, CREDENTIAL)], &["1 opened access credential_expiring"]);
    check(
        "a refused credential takes it over",
        docs(),
        &[(2, 60, WEEK), (3, 60, LOCKED_OUT_TOO)],
        &["1 opened access certificate_expiring", "4 updated access auth_rejected"],
    );
    let mut scene = Scene::new(docs());
    scene.beats(&[(2, 60, WEEK), (2, 60, LOCKED_OUT_TOO)]);
    let severities: Vec<Severity> = scene.decided.iter().filter_map(incident_of).map(|open| open.severity).collect();
    assert_eq!(severities, [Severity::Ticket, Severity::Page], "the ticket becomes a page");
    let mut seen = well(at(0));
    ends_in(&mut seen, 6);
    let outcome = classify(&docs(), &seen);
    assert_eq!((outcome.verdict, outcome.reason()), (Verdict::Good, None), "and makes no beat bad");
}

fn incident_of(decision: &Decision) -> Option<&Incident> {
    match decision {
        Decision::Opened { incident, .. } | Decision::Updated(incident) | Decision::Resolved(incident) => {
            Some(incident)
        }
        _ => None,
    }
}

#[test]
fn an_outage_is_told_once_and_not_before_its_time() {
    check("two failures are no outage", docs(), &[(1, 60, WELL), (2, 60, REFUSED)], &[]);
    check(
        "three failures within 44 s are not told yet",
        docs(),
        &[(1, 60, WELL), (1, 60, HANGS), (1, 5, HANGS), (1, 5, HANGS), (1, 34, HANGS)],
        &[],
    );
    check(
        "the one at 45 s is",
        docs(),
        &[(1, 60, WELL), (1, 60, HANGS), (1, 5, HANGS), (1, 5, HANGS), (1, 35, HANGS)],
        &["5 opened availability timeout"],
    );
    check("45 s with two failures are not enough", docs(), &[(1, 60, WELL), (1, 60, HANGS), (1, 45, HANGS)], &[]);
    check("time unseen does not count", docs(), &[(1, 60, HANGS), (1, 0, HANGS), (3, 0, HANGS)], &[]);
    check("a blip never pages", docs(), &[(1, 60, HANGS), (1, 5, WELL), (1, 5, HANGS), (1, 60, WELL)], &[]);
    check(
        "a crash that is back in time is a restart and no page",
        docs(),
        &[(1, 60, WELL), (1, 60, REFUSED), (1, 5, REFUSED), (1, 5, REFUSED), (1, 34, WELL)],
        &["5 restarted, likely"],
    );
    check(
        "an outage ends after two good beats, and one good beat is not two",
        docs(),
        &[(4, 60, HANGS), (1, 60, WELL), (1, 60, HANGS), (2, 60, WELL)],
        &["3 opened availability timeout", "8 resolved availability recovered"],
    );
    check(
        "another cause is told after two readings",
        docs(),
        &[(3, 60, HANGS), (1, 60, REFUSED), (1, 60, HANGS), (2, 60, REFUSED)],
        &["3 opened availability timeout", "7 updated availability connection_refused"],
    );
    check(
        "causes that take turns are told ever more rarely",
        docs(),
        &[(3, 60, HANGS), (2, 60, REFUSED), (2, 60, HANGS), (2, 60, REFUSED), (4, 60, HANGS)],
        &[
            "3 opened availability timeout",
            "5 updated availability connection_refused",
            "13 updated availability timeout",
        ],
    );
}

#[test]
fn credentials_and_limits_are_no_outage() {
    check(
        "a refused credential is access",
        docs(),
        &[(3, 60, LOCKED_OUT), (2, 60, WELL)],
        &["3 opened access auth_rejected", "5 resolved access recovered"],
    );
    check(
        "a credential refused at the search is one cause and one incident",
        docs(),
        &[(1, 60, WELL), (8, 60, SEARCH_LOCKED)],
        &["4 opened access auth_rejected"],
    );
    check("429 is never availability", docs(), &[(6, 60, THROTTLED)], &["3 opened errors rate_limited"]);
    check(
        "429 proves nothing about credentials",
        docs(),
        &[(3, 60, LOCKED_OUT), (2, 60, THROTTLED)],
        &["3 opened access auth_rejected"],
    );
    check(
        "429 neither ends an outage nor opens anything beside it",
        docs(),
        &[(3, 60, HANGS), (5, 60, THROTTLED)],
        &["3 opened availability timeout"],
    );
}

#[test]
fn answers_are_judged_over_several_beats() {
    check("twice empty is not three times", docs(), &[(1, 60, WELL), (2, 60, EMPTY), (1, 60, WELL)], &[]);
    check(
        "three times is, and two right answers end it",
        docs(),
        &[(3, 60, EMPTY), (2, 60, WELL)],
        &["3 opened quality empty_results", "5 resolved quality recovered"],
    );
    check(
        "a cause that the server names beats the symptom",
        docs(),
        &[(3, 60, EMPTY_AND_SATURATED)],
        &["3 opened quality pool_saturated"],
    );
    check(
        "a search that does not answer says nothing of quality",
        docs(),
        &[(2, 60, EMPTY), (1, 60, HANGS), (1, 60, EMPTY)],
        &["4 opened quality empty_results"],
    );
    check(
        "failing searches are errors",
        docs(),
        &[(1, 60, WELL), (1, 60, TOOL_ERRORS)],
        &["2 opened errors elevated_error_rate"],
    );
    check(
        "errors that are open neither end nor come again while the server cannot be reached",
        docs(),
        &[(1, 60, TOOL_ERRORS), (9, 60, HANGS)],
        &["1 opened errors elevated_error_rate", "4 opened availability timeout"],
    );
}

#[test]
fn the_servers_own_word_opens_by_itself_only_where_nothing_carries_it() {
    check("three bad words open", docs(), &[(3, 60, SATURATED)], &["3 opened health pool_saturated"]);
    check(
        "a quality incident of the same cause takes it over and is not told again",
        docs(),
        &[(3, 60, SATURATED), (3, 60, EMPTY_AND_SATURATED)],
        &["3 opened health pool_saturated", "6 resolved health absorbed", "6 silently opened quality pool_saturated"],
    );
    check(
        "a page that takes over a ticket is told",
        with(|monitor| monitor.rules.health.severity = Severity::Ticket),
        &[(3, 60, SATURATED), (3, 60, EMPTY_AND_SATURATED)],
        &["3 opened health pool_saturated", "6 resolved health absorbed", "6 opened quality pool_saturated"],
    );
    check(
        "it is held while quality carries its cause, and opens by itself afterwards",
        docs(),
        &[(4, 60, EMPTY_AND_SATURATED), (2, 60, SATURATED), (1, 60, SATURATED)],
        &["3 opened quality pool_saturated", "6 resolved quality recovered", "6 opened health pool_saturated"],
    );
    check(
        "an old ticket about something else does not hide the server's alarm",
        docs(),
        &[(4, 60, WRONG), (3, 60, WRONG_AND_UNHEALTHY)],
        &["3 opened quality constant_response", "7 opened health unhealthy"],
    );
    check(
        "an unlisted word that came with the symptom is in its evidence already",
        docs(),
        &[(8, 60, WRONG_AND_UNHEALTHY)],
        &["3 opened quality constant_response"],
    );
}

fn quick_latency(monitor: &mut Monitor) {
    monitor.rules.latency.sustained = Duration::from_secs(120);
    monitor.rules.latency.window = Duration::from_secs(300);
    monitor.rules.latency.min_samples = 3;
}

#[test]
fn slowness_has_to_last_and_a_cold_server_is_not_slow() {
    check("not before its time", with(quick_latency), &[(1, 60, WELL), (2, 60, SLOW)], &[]);
    check("then it opens", with(quick_latency), &[(4, 60, SLOW)], &["3 opened latency latency_elevated"]);
    check("a cold start holds it", with(quick_latency), &[(29, 60, SLOW_AND_COLD)], &[]);
    check(
        "up to the cap and no longer",
        with(quick_latency),
        &[(40, 60, SLOW_AND_COLD)],
        &["31 opened latency latency_elevated"],
    );
    let mut scene = Scene::new(with(quick_latency));
    scene.beats(&[(5, 60, SLOW_AND_COLD)]);
    assert_eq!(scene.standing.signal(Signal::Latency).held_by.as_deref(), Some("cold_start"), "and it is shown");
}

#[test]
fn contract_and_freshness_take_two_looks() {
    check(
        "one other list is not two, and the way back ends it",
        docs(),
        &[(2, 60, WELL), (1, 60, OTHER_TOOLS), (1, 60, WELL), (2, 60, OTHER_TOOLS), (2, 60, WELL)],
        &["6 opened contract schema_drift", "8 resolved contract recovered"],
    );
    let fresh = with(|monitor| {
        let older_than = Duration::from_secs(3600);
        monitor.rules.freshness = Some(FreshnessRule { older_than, severity: Severity::Ticket, line: 1 });
    });
    check(
        "beats that did not ask neither open nor close it",
        fresh,
        &[(1, 60, STALE), (3, 60, WELL), (1, 60, STALE), (3, 60, WELL), (1, 60, CURRENT)],
        &["5 opened freshness source_stale", "9 resolved freshness recovered"],
    );
}

#[test]
fn what_takes_too_much_of_a_context_is_told() {
    let limited = with(|monitor| {
        let limits = (Some(2_000), Some(1_000));
        monitor.rules.context =
            Some(ContextRule { tools_tokens: limits.0, answer_tokens: limits.1, severity: Severity::Ticket, line: 1 });
    });
    check(
        "a heavy answer of one canary counts until that canary answers lightly",
        limited.clone(),
        &[(2, 60, LIGHT), (1, 60, HEAVY_A), (1, 60, ONLY_B), (1, 60, LIGHT), (1, 60, LIGHT)],
        &["4 opened contract context_cost", "6 resolved contract recovered"],
    );
    check(
        "what nobody counted is neither heavy nor light",
        limited.clone(),
        &[(1, 60, LIGHT), (2, 60, HEAVY_TOOLS), (4, 60, WELL), (2, 60, LIGHT)],
        &["3 opened contract context_cost", "9 resolved contract recovered"],
    );
    let mut scene = Scene::new(limited);
    scene.beats(&[(1, 60, LIGHT), (2, 60, HEAVY_A)]);
    let ended = scene.standing.reconsider(&docs(), at(scene.second));
    assert_eq!(ended.first().and_then(|one| one.resolve_cause.clone()), Some(ResolveCause::RuleChanged));
}

#[test]
fn accepting_ends_what_is_about_the_change() {
    let seen = tools("v2");
    let accept = |scene: &mut Scene, seen: &ToolsSeen| scene.standing.accept(seen, "kim", at(scene.second));
    let mut scene = Scene::new(docs());
    scene.beats(&[(2, 60, WELL), (2, 60, OTHER_TOOLS)]);
    let ended = accept(&mut scene, &seen).and_then(|incident| incident.resolve_cause);
    assert_eq!(ended, Some(ResolveCause::Accepted));
    scene.told.clear();
    scene.beats(&[(3, 60, OTHER_TOOLS)]);
    assert_eq!(scene.told, [""; 0], "and it stays quiet");

    let mut scene = Scene::new(docs());
    scene.beats(&[(2, 60, WELL), (1, 60, OTHER_TOOLS)]);
    assert_eq!(accept(&mut scene, &seen), None, "nothing is open yet");
    assert_eq!(scene.standing.signal(Signal::Contract).phase, Phase::Quiet, "and nothing is about to");

    let mut broken = seen;
    broken.calls = KnownCalls { known: 3, broken: 1, why: Vec::new() };
    let mut scene = Scene::new(docs());
    scene.beats(&[(2, 60, WELL), (2, 60, OTHER_TOOLS)]);
    assert_eq!(accept(&mut scene, &broken), None, "a call that breaks is no matter of taste");
    assert!(scene.standing.incident(Signal::Contract).is_some());
}

#[test]
fn a_beat_that_was_ours_changes_nothing() {
    let mut scene = Scene::new(docs());
    scene.beats(&[(2, 60, HANGS)]);
    let before = scene.standing.clone();
    let outcome = Outcome { verdict: Verdict::Unknown, findings: Vec::new(), asks: Vec::new() };
    scene.weigh(&well(at(600)), &outcome, 60);
    assert_eq!(scene.standing, before, "unknown is neither good nor bad");
}

#[test]
fn edits_and_removal_end_what_they_no_longer_warrant() {
    let ended = |scene: &mut Scene, monitor: &Monitor| -> Vec<String> {
        let ended = scene.standing.reconsider(monitor, at(scene.second));
        ended
            .iter()
            .map(|one| format!("{} {}", one.signal.slug(), one.resolve_cause.as_ref().unwrap().slug()))
            .collect()
    };
    let mut scene = Scene::new(with(quick_latency));
    scene.beats(&[(3, 60, SLOW)]);
    let same = scene.monitor.clone();
    assert_eq!(ended(&mut scene, &same), [""; 0], "the same rules end nothing");
    let lenient = with(|monitor| {
        quick_latency(monitor);
        monitor.rules.latency.p95 = Duration::from_secs(5);
    });
    assert_eq!(ended(&mut scene, &lenient), ["latency rule_changed"], "a limit above the figure does");
    assert_eq!(scene.standing.signal(Signal::Latency).phase, Phase::Quiet);

    let mut scene = Scene::new(with(quick_latency));
    scene.beats(&[(3, 60, SLOW), (6, 60, WELL)]);
    assert_eq!(scene.standing.signal(Signal::Latency).phase, Phase::Clearing);
    assert_eq!(ended(&mut scene, &same), [""; 0], "what was clearing anyway is not ended by an edit");

    let mut scene = Scene::new(docs());
    scene.beats(&[(3, 60, EMPTY)]);
    let without = with(|monitor| monitor.canaries.clear());
    assert_eq!(ended(&mut scene, &without), ["quality rule_changed"], "canaries that are gone judge nothing");

    let mut scene = Scene::new(docs());
    scene.beats(&[(3, 60, LOCKED_OUT), (3, 60, HANGS)]);
    let removed = scene.standing.remove(at(scene.second));
    let causes: Vec<_> = removed.iter().map(|one| one.resolve_cause.clone()).collect();
    assert_eq!(causes, [Some(ResolveCause::MonitorRemoved), Some(ResolveCause::MonitorRemoved)]);
    assert_eq!(scene.standing.incidents().count(), 0);
}

#[test]
fn an_incident_is_taken_once() {
    let mut scene = Scene::new(docs());
    scene.beats(&[(3, 60, HANGS)]);
    let taken = scene.standing.acknowledge("i1", "ada", at(200)).unwrap();
    assert_eq!((taken.acknowledged.unwrap().0.as_str(), taken.sequence), ("ada", 2));
    assert_eq!(scene.standing.acknowledge("i1", "bob", at(201)), None, "the first to take it has it");
    assert_eq!(scene.standing.acknowledge("i9", "bob", at(201)), None, "nobody takes what is not open");
    scene.beats(&[(2, 60, REFUSED)]);
    let updated = scene.standing.incident(Signal::Availability).unwrap();
    assert_eq!(updated.sequence, 3, "what comes after is told after it");
    assert_eq!(updated.acknowledged.as_ref().unwrap().0, "ada", "and it stays taken");
}

const LOOKS: [Look; 16] = [
    WELL,
    REFUSED,
    HANGS,
    LOCKED_OUT,
    THROTTLED,
    EMPTY,
    WRONG,
    EMPTY_AND_SATURATED,
    SATURATED,
    WRONG_AND_UNHEALTHY,
    SEARCH_LOCKED,
    TOOL_ERRORS,
    SLOW,
    SLOW_AND_COLD,
    OTHER_TOOLS,
    STALE,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any history at all: one incident a signal, each end after its opening, sequences without a repeat.
    #[test]
    fn any_sequence_of_beats_keeps_the_books(
        beats in prop::collection::vec((0..LOOKS.len(), 1..5_u32, 0..90_u32), 1..40),
    ) {
        let mut scene = Scene::new(with(|monitor| {
            quick_latency(monitor);
            let older_than = Duration::from_secs(3600);
            monitor.rules.freshness = Some(FreshnessRule { older_than, severity: Severity::Ticket, line: 1 });
        }));
        for (look, times, after) in beats {
            scene.beats(&[(times, after, LOOKS[look])]);
        }
        let mut open: BTreeMap<Signal, (String, u32)> = BTreeMap::new();
        for decision in &scene.decided {
            match decision {
                Decision::Opened { incident, .. } => {
                    let before = open.insert(incident.signal, (incident.id.clone(), incident.sequence));
                    prop_assert_eq!(before, None, "two incidents of {:?}", incident.signal);
                }
                Decision::Updated(incident) => {
                    let (id, sequence) = open.get_mut(&incident.signal).unwrap();
                    prop_assert!(*id == incident.id && incident.sequence > *sequence);
                    *sequence = incident.sequence;
                }
                Decision::Resolved(incident) => {
                    let (id, sequence) = open.remove(&incident.signal).unwrap();
                    prop_assert!(id == incident.id && incident.sequence > sequence);
                }
                Decision::Restarted(_) | Decision::ToolsSettled => {}
            }
        }
        for signal in Signal::ALL {
            let (phase, incident) = (scene.standing.signal(signal).phase, scene.standing.incident(signal));
            prop_assert_eq!(phase.has_incident(), incident.is_some(), "{:?}", signal);
            prop_assert_eq!(incident.map(|one| &one.id), open.get(&signal).map(|(id, _)| id));
        }
    }
}
