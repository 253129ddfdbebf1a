//! How a monitor's state goes over many beats: what opens, what ends, and what is never told.

#![expect(clippy::unwrap_used, reason = "a test stops where what it stands on is missing")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use proptest::prelude::*;
use serin::domain::answer::{Answer, Ask, Hit, Turn, Variant};
use serin::domain::classify::{LADDER, classify};
use serin::domain::fault::{Fault, FaultKind};
use serin::domain::fleet::Provenance;
use serin::domain::incident::{Incident, ResolveCause};
use serin::domain::monitor::{Canary, CanaryKind, Monitor, MonitorId};
use serin::domain::monitor_state::{Beat, Decision, MonitorState};
use serin::domain::observation::{
    BeatKind, CrossCheck, HealthSeen, Observation, Phases, SourcesSeen, Stage, Step, ToolsSeen,
};
use serin::domain::outcome::{Evidence, Outcome, Verdict};
use serin::domain::protocol::Era;
use serin::domain::reason::Severity;
use serin::domain::rules::{ContextRule, FreshnessRule};
use serin::domain::secret::{Address, Secret};
use serin::domain::signal::{Phase, Signal};
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
    state: MonitorState,
    second: i64,
    beats: u32,
    ids: u32,
    told: Vec<String>,
    decided: Vec<Decision>,
    /// When each was decided, in seconds.
    moments: Vec<i64>,
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
    Some(match decision {
        Decision::Opened { incident, silent } => {
            let how = if *silent { "silently opened" } else { "opened" };
            format!("{how} {} {}", incident.signal.slug(), incident.reason.slug())
        }
        Decision::Updated(incident) => format!("updated {} {}", incident.signal.slug(), incident.reason.slug()),
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

#[test]
fn a_ladder_that_ends_after_the_page_is_told_once() {
    // From which failed beat on the connectivity diagnosis is known, and what is told.
    let opened = "3 opened availability timeout";
    let rows: [(u32, &[&str], &str); 3] = [
        (2, &[opened], "known before the page, it is in the page"),
        (3, &[opened], "known with the page, too"),
        (5, &[opened, "5 looked closer at availability"], "later, it is told, and once"),
    ];
    for (known_from, told, sentence) in rows {
        let mut scene = Scene::new(docs());
        for nth in 1..=7 {
            scene.second += 60;
            let mut seen = well(at(scene.second));
            HANGS(&mut seen);
            let mut outcome = classify(&scene.monitor, &seen);
            if nth >= known_from {
                outcome.findings[0].evidence.push(Evidence::new(LADDER, "name ok".to_owned()));
            }
            scene.weigh(&seen, &outcome, 60);
        }
        assert_eq!(scene.told, told, "{sentence}");
        let open = scene.state.incident(Signal::Availability).unwrap();
        let diagnoses = open.evidence.iter().filter(|evidence| evidence.key == LADDER).count();
        assert_eq!((diagnoses, usize::try_from(open.sequence).unwrap()), (1, told.len()), "{sentence}");
    }
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
        &[(3, 3600, MONTH), (3, 3600, FORTNIGHT), (3, 3600, WEEK)],
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
        "causes that take turns are told every five minutes at most, and only what is so by then",
        docs(),
        &[(3, 60, HANGS), (2, 60, REFUSED), (2, 60, HANGS), (2, 60, REFUSED), (4, 60, HANGS)],
        &[
            "3 opened availability timeout",
            "5 updated availability connection_refused",
            "11 updated availability timeout",
        ],
    );
    check(
        "one that comes too soon is told when its time has come",
        docs(),
        &[(3, 60, HANGS), (2, 60, REFUSED), (6, 60, HANGS)],
        &[
            "3 opened availability timeout",
            "5 updated availability connection_refused",
            "10 updated availability timeout",
        ],
    );
    check(
        "and not at all where it is over by then",
        docs(),
        &[(3, 60, HANGS), (2, 60, REFUSED), (3, 60, HANGS), (9, 60, REFUSED)],
        &["3 opened availability timeout", "5 updated availability connection_refused"],
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
    assert_eq!(scene.state.signal(Signal::Latency).held_by.as_deref(), Some("cold_start"), "and it is shown");
}

#[test]
fn what_waits_says_how_far_it_is() {
    type Row<'a> = (&'a [(u32, u32, Look)], Signal, Option<&'a str>, &'a str);
    let rows: [Row<'_>; 5] = [
        (&[(1, 60, WELL)], Signal::Latency, None, "what is calm waits for nothing"),
        (&[(1, 60, SLOW)], Signal::Latency, Some("for 0s of 5m"), "the first slow beat"),
        (&[(4, 50, SLOW)], Signal::Latency, Some("for 2m of 5m"), "150 s of them: whole minutes"),
        (&[(2, 60, LOCKED_OUT)], Signal::Access, Some("2 of 3 beats"), "a streak"),
        (&[(6, 60, SLOW)], Signal::Latency, None, "what is open waits no longer"),
    ];
    let patient = with(|monitor| {
        quick_latency(monitor);
        monitor.rules.latency.sustained = Duration::from_secs(300);
        monitor.rules.latency.min_samples = 1;
    });
    for (beats, signal, far, sentence) in rows {
        let mut scene = Scene::new(patient.clone());
        scene.beats(beats);
        assert_eq!(scene.state.pending(signal, &patient).as_deref(), far, "{sentence}");
    }
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
    let ended = scene.state.reconsider(&docs(), at(scene.second));
    assert_eq!(ended.first().and_then(|one| one.resolve_cause.clone()), Some(ResolveCause::RuleChanged));
}

#[test]
fn accepting_ends_what_is_about_the_change() {
    let seen = tools("v2");
    let accept = |scene: &mut Scene, seen: &ToolsSeen| scene.state.accept(seen, "kim", at(scene.second));
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
    assert_eq!(scene.state.signal(Signal::Contract).phase, Phase::Quiet, "and nothing is about to");

    let mut broken = seen;
    broken.calls = KnownCalls { known: 3, broken: 1, why: Vec::new() };
    let mut scene = Scene::new(docs());
    scene.beats(&[(2, 60, WELL), (2, 60, OTHER_TOOLS)]);
    assert_eq!(accept(&mut scene, &broken), None, "a call that breaks is no matter of taste");
    assert!(scene.state.incident(Signal::Contract).is_some());
}

#[test]
fn a_beat_that_was_ours_changes_nothing() {
    let mut scene = Scene::new(docs());
    scene.beats(&[(2, 60, HANGS)]);
    let before = scene.state.clone();
    let outcome = Outcome { verdict: Verdict::Unknown, findings: Vec::new(), asks: Vec::new() };
    scene.weigh(&well(at(600)), &outcome, 60);
    assert_eq!(scene.state, before, "unknown is neither good nor bad");
}

#[test]
fn edits_and_removal_end_what_they_no_longer_warrant() {
    let ended = |scene: &mut Scene, monitor: &Monitor| -> Vec<String> {
        let ended = scene.state.reconsider(monitor, at(scene.second));
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
    assert_eq!(scene.state.signal(Signal::Latency).phase, Phase::Quiet);

    let mut scene = Scene::new(with(quick_latency));
    scene.beats(&[(3, 60, SLOW), (6, 60, WELL)]);
    assert_eq!(scene.state.signal(Signal::Latency).phase, Phase::Clearing);
    assert_eq!(ended(&mut scene, &same), [""; 0], "what was clearing anyway is not ended by an edit");

    let mut scene = Scene::new(docs());
    scene.beats(&[(3, 60, EMPTY)]);
    let without = with(|monitor| monitor.canaries.clear());
    assert_eq!(ended(&mut scene, &without), ["quality rule_changed"], "canaries that are gone judge nothing");

    let mut scene = Scene::new(docs());
    scene.beats(&[(3, 60, LOCKED_OUT), (3, 60, HANGS)]);
    let removed = scene.state.remove(at(scene.second));
    let causes: Vec<_> = removed.iter().map(|one| one.resolve_cause.clone()).collect();
    assert_eq!(causes, [Some(ResolveCause::MonitorRemoved), Some(ResolveCause::MonitorRemoved)]);
    assert_eq!(scene.state.incidents().count(), 0);
}

#[test]
fn an_incident_is_taken_once() {
    let mut scene = Scene::new(docs());
    scene.beats(&[(3, 60, HANGS)]);
    let taken = scene.state.acknowledge("i1", "ada", at(200)).unwrap();
    assert_eq!((taken.acknowledged.unwrap().0.as_str(), taken.sequence), ("ada", 2));
    assert_eq!(scene.state.acknowledge("i1", "bob", at(201)), None, "the first to take it has it");
    assert_eq!(scene.state.acknowledge("i9", "bob", at(201)), None, "nobody takes what is not open");
    scene.beats(&[(2, 60, REFUSED)]);
    let updated = scene.state.incident(Signal::Availability).unwrap();
    assert_eq!(updated.sequence, 3, "what comes after is told after it");
    assert_eq!(updated.acknowledged.as_ref().unwrap().0, "ada", "and it stays taken");
}

/// As [`Scene`], told with words: what each canary, by its place, is heard to answer on each beat.
///
/// `e` nothing, `w` another source, `r` the right one, `-` not asked.
fn heard(scene: &mut Scene, beats: &[(u32, u32, &str)]) {
    for (times, after, answers) in beats {
        for _ in 0..*times {
            scene.beat(*after, |seen| {
                let asked = answers.chars().enumerate().filter(|(_, word)| *word != '-');
                let one = |(at, word): (usize, char)| {
                    let own = format!("z{at}.md");
                    let sources: &[&str] = match word {
                        'e' => &[],
                        'w' => &[&own],
                        _ => &["a.md"],
                    };
                    ask(&format!("c{at:02}"), answer(sources))
                };
                seen.asks = asked.map(one).collect();
            });
        }
    }
}

/// So many canaries, of which a beat asks one.
fn canaries(count: usize) -> Monitor {
    with(|monitor| {
        monitor.canaries = (0..count).map(|at| canary(&format!("c{at:02}"))).collect();
        monitor.search.per_beat = 1;
    })
}

/// What was told, each with its beat and its count, such as `3 opened: searches come back empty: 1 of 6 asked`.
fn sentences(scene: &Scene) -> Vec<String> {
    let count = |incident: &Incident| {
        let said = incident.summary.trim_start_matches("docs: ");
        said.split_once(" since ").map_or(said, |(count, _)| count).to_owned()
    };
    let beat = |second: i64| second / 60;
    let told = scene.decided.iter().zip(&scene.moments).filter_map(|(decision, second)| match decision {
        Decision::Opened { incident, .. } => Some(format!("{} opened: {}", beat(*second), count(incident))),
        Decision::Updated(incident) => Some(format!("{} updated: {}", beat(*second), count(incident))),
        Decision::Resolved(incident) => Some(format!("{} resolved: {}", beat(*second), count(incident))),
        _ => None,
    });
    told.collect()
}

fn check_heard(sentence: &str, count: usize, beats: &[(u32, u32, &str)], told: &[&str]) {
    let mut scene = Scene::new(canaries(count));
    heard(&mut scene, beats);
    assert_eq!(sentences(&scene), told, "{sentence}");
}

#[test]
fn an_update_tells_how_far_it_reaches_and_nothing_that_is_over() {
    check_heard(
        "what all answer is told with the page",
        5,
        &[(1, 60, "e----"), (1, 60, "eee--"), (1, 60, "ee-ee")],
        &["3 opened: every search comes back empty: 5 of 5 asked"],
    );
    check_heard(
        "what was not asked does not count",
        5,
        &[(1, 60, "rrrrr"), (1, 60, "e----"), (1, 60, "ee---"), (1, 60, "ee---")],
        &["4 opened: searches come back empty: 2 of 2 asked"],
    );
    check_heard(
        "some, half and all, each once it was seen twice, and five minutes apart",
        6,
        &[(3, 60, "errrrr"), (2, 60, "eeerrr"), (9, 60, "eeeeee")],
        &[
            "3 opened: searches come back empty: 1 of 6 asked",
            "5 updated: searches come back empty: 3 of 6 asked",
            "10 updated: every search comes back empty: 6 of 6 asked",
        ],
    );
    check_heard(
        "within a third or a half nothing is news",
        6,
        &[(3, 60, "errrrr"), (9, 60, "eerrrr")],
        &["3 opened: searches come back empty: 1 of 6 asked"],
    );
    check_heard(
        "a canary that is wrong once crosses nothing",
        6,
        &[(3, 60, "eerrrr"), (1, 60, "eeerrr"), (9, 60, "eerrrr")],
        &["3 opened: searches come back empty: 2 of 6 asked"],
    );
    check_heard(
        "what is back to what was told when its time has come is not told",
        6,
        &[(3, 60, "errrrr"), (2, 60, "eeerrr"), (3, 60, "eeeeee"), (9, 60, "eeerrr")],
        &["3 opened: searches come back empty: 1 of 6 asked", "5 updated: searches come back empty: 3 of 6 asked"],
    );
    check_heard(
        "less is news too",
        6,
        &[(3, 60, "eeeeee"), (3, 60, "errrrr")],
        &["3 opened: every search comes back empty: 6 of 6 asked", "5 updated: searches come back empty: 1 of 6 asked"],
    );
}

#[test]
fn after_recovery_nothing_is_claimed() {
    let (all, gone) = ("eeeeeeeeeeeeewww", "3 opened: searches come back empty: 13 of 16 asked");
    check_heard(
        "three that were not asked again are not said to be wrong",
        16,
        &[(3, 60, all), (2, 60, "rrrrrrrr--------"), (6, 60, "--------rrrrr---"), (2, 60, "-------------rrr")],
        &[gone, "13 resolved: searches came back empty: 13 of 16 asked"],
    );
    check_heard(
        "three that are asked again and still wrong are",
        16,
        &[(3, 60, all), (2, 60, "rrrrrrrr--------"), (2, 60, "--------rrrrrwww")],
        &[gone, "7 updated: searches lost their source: 3 of 16 asked"],
    );
    let mut scene = Scene::new(canaries(16));
    heard(&mut scene, &[(3, 60, all), (2, 60, "rrrrrrrr--------")]);
    let open = scene.state.incident(Signal::Quality).unwrap();
    assert!(open.summary.contains("answers turn right: 8 of 16 asked since "), "{}", open.summary);
    assert!(open.summary.contains(", 8 to be asked again"), "{}", open.summary);
    let (unheard, share) = scene.state.wants_hearing(&scene.monitor);
    assert_eq!((unheard.len(), share), (8, 8), "and they are asked at once");
}

#[test]
fn what_an_incident_was_at_its_worst_is_what_its_end_tells() {
    let mut scene = Scene::new(canaries(4));
    heard(&mut scene, &[(3, 60, "err-"), (8, 60, "eeee"), (8, 60, "eerr"), (2, 60, "rrrr")]);
    let ended = scene.decided.iter().rev().filter_map(incident_of).next().unwrap();
    let value = |key: &str| ended.evidence.iter().find(|one| one.key == key).map(|one| one.value.as_str());
    assert!(ended.summary.starts_with("docs: every search came back empty: 4 of 4 asked since "), "{ended:#?}");
    assert_eq!((value("asked"), value("wrong"), value("not_asked")), (Some("4"), Some("4"), Some("0")));
    assert!(value("canary.c03").is_some_and(|said| said.starts_with("empty_results: ")), "{ended:#?}");
}

/// Another process takes over: what the store keeps is there, what it does not is not.
fn restarted(scene: &mut Scene) {
    let before = std::mem::replace(&mut scene.state, MonitorState::new(at(scene.second + 1)));
    for signal in Signal::ALL {
        scene.state.restore_signal(signal, before.signal(signal).clone());
    }
    before.incidents().cloned().for_each(|incident| scene.state.restore_incident(incident));
    scene.state.canaries = before.canaries;
}

#[test]
fn a_change_that_waits_is_told_by_the_next_process_too() {
    let mut scene = Scene::new(canaries(6));
    heard(&mut scene, &[(3, 60, "errrrr"), (2, 60, "eeerrr"), (2, 60, "eeeeee")]);
    restarted(&mut scene);
    let (unheard, _) = scene.state.wants_hearing(&scene.monitor);
    assert_eq!(unheard.len(), 6, "what was wrong before is asked once more");
    heard(&mut scene, &[(8, 60, "eeeeee")]);
    assert_eq!(
        sentences(&scene),
        [
            "3 opened: searches come back empty: 1 of 6 asked",
            "5 updated: searches come back empty: 3 of 6 asked",
            "10 updated: every search comes back empty: 6 of 6 asked",
        ],
        "once, and not before its time"
    );
    restarted(&mut scene);
    heard(&mut scene, &[(1, 60, "-----e"), (9, 60, "eeeeee")]);
    assert_eq!(sentences(&scene).len(), 3, "what was told is not told again");
}

#[test]
fn a_fault_in_doubt_wants_everybody_heard_before_the_page() {
    /// Beats, who is wanted, how many of them by the next beat, a sentence.
    type Row<'a> = (&'a [(u32, u32, &'a str)], &'a str, usize, &'a str);
    let wants = |beats: &[(u32, u32, &str)]| {
        let mut scene = Scene::new(canaries(5));
        heard(&mut scene, beats);
        let (unheard, share) = scene.state.wants_hearing(&scene.monitor);
        (unheard.join(" "), share)
    };
    let rows: [Row<'_>; 8] = [
        (&[(3, 60, "rrrrr")], "", 0, "nobody, where nothing is in doubt"),
        (&[(1, 60, "rrrrr"), (1, 60, "e----")], "c01 c02 c03 c04", 2, "two beats are left for four"),
        (&[(1, 60, "e----"), (1, 60, "e-r--")], "c01 c03 c04", 3, "one is left for three"),
        (&[(1, 60, "e----"), (1, 60, "eerrr")], "", 0, "all were heard"),
        (&[(1, 60, "e----"), (1, 60, "r----")], "", 0, "it was a blip"),
        (&[(3, 60, "e----")], "c01 c02 c03 c04", 4, "the page went out without them, and still"),
        (&[(3, 60, "errrr"), (1, 60, "e----")], "", 0, "nothing changes, and the round will come by"),
        (&[(3, 60, "errrr"), (1, 60, "ee-e-")], "c02 c04", 2, "a change is about to be told"),
    ];
    for (beats, unheard, share, sentence) in rows {
        assert_eq!(wants(beats), (unheard.to_owned(), share), "{sentence}");
    }
}

#[test]
fn a_clock_that_is_set_back_hides_no_page() {
    let mut scene = Scene::new(canaries(3));
    heard(&mut scene, &[(2, 60, "e--")]);
    scene.second -= 3_600;
    heard(&mut scene, &[(1, 60, "ee-")]);
    scene.second -= 3_600;
    heard(&mut scene, &[(3, 60, "eee")]);
    let said: Vec<String> = sentences(&scene).iter().map(|one| one.split_once(' ').unwrap().1.to_owned()).collect();
    assert_eq!(said, ["opened: searches come back empty: 2 of 2 asked"], "and nothing is claimed that was not asked");
    let open = scene.state.incident(Signal::Quality).unwrap();
    assert!(open.summary.contains("every search comes back empty: 3 of 3 asked"), "{}", open.summary);
}

/// Two updates of one incident are five minutes apart, but for one that is louder.
fn no_running_commentary(scene: &Scene) -> Result<(), TestCaseError> {
    let mut last: BTreeMap<&str, (i64, Severity)> = BTreeMap::new();
    for (decision, second) in scene.decided.iter().zip(&scene.moments) {
        if let Decision::Updated(incident) = decision {
            let before = last.insert(&incident.id, (*second, incident.severity));
            if let Some((at, severity)) = before {
                prop_assert!(second - at >= 300 || incident.severity > severity, "{incident:?} {at} {second}");
            }
        }
    }
    Ok(())
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
                Decision::Updated(incident) | Decision::LookedCloser(incident) => {
                    let (id, sequence) = open.get_mut(&incident.signal).unwrap();
                    prop_assert!(*id == incident.id && incident.sequence > *sequence);
                    *sequence = incident.sequence;
                }
                Decision::Resolved(incident) => {
                    let (id, sequence) = open.remove(&incident.signal).unwrap();
                    prop_assert!(id == incident.id && incident.sequence > sequence);
                }
                Decision::Refreshed(_) | Decision::Restarted(_) | Decision::ToolsSettled => {}
            }
        }
        no_running_commentary(&scene)?;
        for signal in Signal::ALL {
            let (phase, incident) = (scene.state.signal(signal).phase, scene.state.incident(signal));
            prop_assert_eq!(phase.has_incident(), incident.is_some(), "{:?}", signal);
            prop_assert_eq!(incident.map(|one| &one.id), open.get(&signal).map(|(id, _)| id));
        }
    }
}
