//! A varied fleet in the live state and in a real database file, and the router over both on a free port.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, DurationRound as _, TimeDelta, Timelike as _, Utc};
use serin::daemon::janitor::{JanitorPlan, turn};
use serin::domain::answer::{Turn, Variant};
use serin::domain::context::Spread;
use serin::domain::contract::Baseline;
use serin::domain::fault::{Fault, FaultKind};
use serin::domain::fleet::{Fleet, Provenance, Retention};
use serin::domain::incident::{Course, Incident, ResolveCause};
use serin::domain::monitor::{Canary, CanaryKind, Monitor, MonitorId};
use serin::domain::observation::{
    BeatKind, Footprint, HealthSeen, Observation, Phases, ServerIdentity, SourcesSeen, Stage, Step, ToolsSeen,
};
use serin::domain::outcome::{Evidence, Finding, Outcome, Verdict};
use serin::domain::paging::notification::{Event, MonitorCard, Notification};
use serin::domain::protocol::Era;
use serin::domain::rate_limit::Spent;
use serin::domain::reason::{FailureReason, Severity};
use serin::domain::rules::RulePlace;
use serin::domain::rules::{ContractRule, ErrorsRule, FreshnessRule, LatencyRule, QualityRule, Rules, StreakRule};
use serin::domain::schedule::Command;
use serin::domain::secret::{Address, Secret};
use serin::domain::server_profile::ServerProfile;
use serin::domain::signal::{Level, Phase, Signal};
use serin::domain::tools::{ChangeClass, Drift, Instruction, KnownCalls, Listing, ToolChange, ToolSeen};
use serin::live::state::{BeatMark, CanaryView, LiveState, MonitorView, OpenIncident, RollUp, SignalView, ToolsView};
use serin::store::Store;
use serin::store::values::change_set::StageTimes;
use serin::store::values::change_set::{Addressee, AskRow, BeatRow, BeatSeen, ChangeSet, Outgoing, TimelineRow};
use serin::web::connections::Limits;
use serin::web::state::{Settings, WebState};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A running web over a filled live state.
pub(crate) struct Running {
    pub(crate) url: String,
    pub(crate) live: Arc<LiveState>,
    pub(crate) store: Store,
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) server: JoinHandle<()>,
    _fleet: watch::Sender<Arc<Fleet>>,
    _folder: tempfile::TempDir,
}

/// Serves an empty live state, with a token or open.
pub(crate) async fn serve(token: Option<&str>, fleet: Fleet) -> Running {
    serve_within(token, fleet, Limits::default()).await
}

/// The same, with limits on connections.
pub(crate) async fn serve_within(token: Option<&str>, fleet: Fleet, limits: Limits) -> Running {
    drop(rustls::crypto::ring::default_provider().install_default());
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("serin.db")).await.unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listen = listener.local_addr().unwrap();
    let live = Arc::new(LiveState::default());
    let shutdown = CancellationToken::new();
    let (send, commands) = mpsc::channel(COMMANDS_MAX);
    let (fleet_in, fleet_out) = watch::channel(Arc::new(fleet));
    let lock = folder.path().join("monitors.lock");
    let settings = Settings { listen, token: token.map(Secret::new), lock };
    let state = WebState::new(Arc::clone(&live), store.clone(), settings, fleet_out, send, shutdown.clone());
    let server = tokio::spawn(serin::web::serve::serve(listener, state, limits, shutdown.clone()));
    let url = format!("http://{listen}");
    Running { url, live, store, commands, shutdown, server, _fleet: fleet_in, _folder: folder }
}

/// Twenty monitors in every state, with three hours of the first one's past in the database.
pub(crate) async fn varied() -> Running {
    let running = serve(None, fleet(&(0..20).map(monitor).collect::<Vec<_>>())).await;
    let now = Utc::now();
    for n in 0..20 {
        running.live.put(view(n, now));
    }
    past(&running.store, now).await;
    running
}

/// As [`varied`], and with 90 days of the same monitor's past, sealed and rolled up.
pub(crate) async fn lived_in() -> Running {
    let running = varied().await;
    let now = Utc::now();
    let fleet = Arc::clone(&running._fleet.borrow());
    running.store.config_loaded(&fleet, "", now - TimeDelta::days(120)).await.unwrap();
    months(&running.store, now).await;
    let mut plan = JanitorPlan::default();
    while turn(&running.store, &mut plan, Retention::default(), now).await.unwrap() {}
    running
}

/// Beats of 90 days: hourly at first, every six minutes in the last week; slow afternoons, one bad morning, one
/// outage, and a night that nobody saw.
async fn months(store: &Store, now: DateTime<Utc>) {
    let midnight = now.duration_trunc(TimeDelta::days(1)).unwrap();
    let mut waiting = tokio::task::JoinSet::new();
    let mut at = midnight - TimeDelta::days(90);
    let mut turn = 0_i64;
    while at < now - TimeDelta::hours(3) {
        let days_ago = (midnight - at).num_days();
        let hour = at.hour();
        let unseen = days_ago == 4 && (2..6).contains(&hour);
        let sparse = days_ago == 2 && hour == 20 && at.minute() > 18;
        if !unseen && !sparse {
            let (store, record) = (store.clone(), month_beat(at, turn, days_ago));
            waiting.spawn(async move { store.commit(record).await });
        }
        while waiting.len() > 500 {
            waiting.join_next().await.unwrap().unwrap().unwrap();
        }
        at += if days_ago >= 8 { TimeDelta::hours(1) } else { TimeDelta::minutes(6) };
        turn += 1;
    }
    while let Some(committed) = waiting.join_next().await {
        committed.unwrap().unwrap();
    }
}

fn month_beat(at: DateTime<Utc>, turn: i64, days_ago: i64) -> ChangeSet {
    let hour = at.hour();
    let busy = 1.0 + (1.0 - (f64::from(hour) - 14.0).abs() / 10.0).max(0.0);
    let slow = if days_ago == 3 && (9..12).contains(&hour) { 4.0 } else { 1.0 };
    let down = days_ago == 20 && (7..9).contains(&hour);
    // Ten days ago one canary was wrong all morning, and had no answer all afternoon.
    let verdict = |place: i64| match (days_ago, place, hour) {
        (10, 0, 0..12) => "wrong",
        (10, 0, _) => "failed",
        _ => "right",
    };
    let ask = |place: i64| AskRow {
        canary: format!("canary-{place}"),
        variant: Variant::Plain,
        turn: Turn::Scheduled,
        elapsed: Duration::from_secs_f64(slow * busy * (0.14 + 0.01 * ((turn * 37 + place * 5) % 11) as f64)),
        fresh_connection: false,
        verdict: verdict(place),
        reason: None,
        rank: Some(1),
        sources: vec!["auth/tokens.md".to_owned()],
        scores: vec![Some(0.8)],
        lengths: vec![400],
        bytes: 2_000,
        tokens: None,
    };
    ChangeSet {
        beat: Some(BeatRow {
            monitor: id_of(1),
            scheduled_at: at,
            started_at: at,
            kind: BeatKind::Scheduled,
            era: Some(Era::Legacy),
            transport: None,
            seen: BeatSeen::Seen,
            verdict: if down { Verdict::Down } else { Verdict::Good },
            reason: down.then_some(FailureReason::ConnectionRefused),
            stage: down.then_some(Stage::Connect),
            elapsed: Duration::from_millis(640),
            stages: StageTimes { tools: (!down).then_some(Duration::from_millis(22)), ..StageTimes::default() },
            fresh_connection: true,
            config_hash: "0".to_owned(),
        }),
        asks: if down { Vec::new() } else { (0..8).map(ask).collect() },
        ..ChangeSet::default()
    }
}

/// Wishes that wait at once.
pub(crate) const COMMANDS_MAX: usize = 8;

pub(crate) const NAMES: [&str; 20] = [
    "Support knowledge base",
    "Product documentation",
    "Legal archive",
    "Engineering handbook",
    "Partner portal search",
    "Clinical guidelines",
    "Release notes",
    "Customer tickets",
    "Field manuals",
    "HR policies",
    "Pricing sheets",
    "API reference",
    "Incident reviews",
    "Sales playbooks",
    "Research papers",
    "Internal wiki",
    "Vendor contracts",
    "Training courses",
    "Store locator",
    "Code search",
];
const IDS: [&str; 20] = [
    "support-kb",
    "docs",
    "legal",
    "handbook",
    "partner",
    "clinical",
    "releases",
    "tickets",
    "manuals",
    "hr",
    "pricing",
    "api-ref",
    "reviews",
    "sales",
    "papers",
    "wiki",
    "vendors",
    "courses",
    "stores",
    "code",
];
/// Roll-up, loud signal, phase, reason, severity, figure.
type Loud = (Signal, Phase, FailureReason, Severity, &'static str);

fn state(n: usize) -> (RollUp, Vec<Loud>) {
    use FailureReason as R;
    let page = Severity::Page;
    match n {
        0 => (
            RollUp::Degraded,
            vec![
                (Signal::Quality, Phase::Open, R::WrongResults, page, "4 of 8 canaries wrong, 4 in a row"),
                (Signal::Latency, Phase::Pending, R::LatencyElevated, Severity::Ticket, "p95 1.24 s of 800 ms (n=40)"),
            ],
        ),
        1 => (
            RollUp::Degraded,
            vec![(Signal::Latency, Phase::Open, R::LatencyElevated, Severity::Ticket, "p95 1.24 s of 800 ms (n=40)")],
        ),
        2 => (
            RollUp::Down,
            vec![(Signal::Availability, Phase::Open, R::ConnectionRefused, page, "14 failed beats in a row")],
        ),
        3 => (RollUp::NoAccess, vec![(Signal::Access, Phase::Open, R::AuthRejected, page, "3 refused beats in a row")]),
        4 => {
            (RollUp::Recovering, vec![(Signal::Errors, Phase::Clearing, R::ElevatedErrorRate, page, "1 of 40 failed")])
        }
        5 => (RollUp::Degraded, vec![(Signal::Health, Phase::Open, R::PoolSaturated, page, "503 pool_saturated")]),
        6 => {
            (RollUp::Degraded, vec![(Signal::Contract, Phase::Open, R::ToolMissing, page, "search_documents is gone")])
        }
        7 => (
            RollUp::Down,
            vec![(Signal::Availability, Phase::Open, R::TlsFailure, page, "certificate expired 2 h ago")],
        ),
        8 => (RollUp::Unknown, vec![]),
        9 => (
            RollUp::Degraded,
            vec![(Signal::Freshness, Phase::Open, R::SourceStale, Severity::Ticket, "newest source 96 h old of 72 h")],
        ),
        10 => (RollUp::Waiting, vec![(Signal::Availability, Phase::Pending, R::Timeout, page, "1 failed beat of 3")]),
        11 => (
            RollUp::Waiting,
            vec![(Signal::Latency, Phase::Pending, R::ColdStart, Severity::Notice, "p95 980 ms of 800 ms (n=24)")],
        ),
        _ => (RollUp::Up, vec![]),
    }
}

fn streak(line: u32) -> StreakRule {
    StreakRule { after: 3, recover_after: 2, page_after: Duration::from_secs(45), severity: Severity::Page, line }
}

fn rules(line: u32) -> Rules {
    let minutes = |n: u64| Duration::from_secs(60 * n);
    Rules {
        availability: streak(line),
        access: streak(line),
        errors: ErrorsRule { share: 0.05, window: minutes(30), min_bad: 3, severity: Severity::Page, line },
        latency: LatencyRule {
            p95: Duration::from_millis(800),
            window: minutes(20),
            window_derived: false,
            sustained: minutes(20),
            min_samples: 20,
            severity: Severity::Ticket,
            line: line + 8,
        },
        contract: ContractRule {
            breaking: Severity::Page,
            compatible: Severity::Notice,
            wording: Severity::Ticket,
            line,
        },
        health: streak(line),
        quality: QualityRule { within: 5, after: 3, severity: Severity::Page, line: line + 9 },
        freshness: Some(FreshnessRule { older_than: minutes(72 * 60), severity: Severity::Ticket, line }),
        context: None,
    }
}

const QUESTIONS: [(&str, CanaryKind, &str, &str); 8] = [
    ("token-life", CanaryKind::Meaning, "how long does an unused token live?", "auth/tokens.md"),
    ("err-4417", CanaryKind::Keyword, "ERR-4417", "errors/4417.md"),
    ("reset", CanaryKind::Mixed, "reset a forgotten password", "account/password.md"),
    ("quota", CanaryKind::Meaning, "what happens when I ask too often?", "limits/rate.md"),
    ("export", CanaryKind::Mixed, "export an invoice as PDF", "billing/export.md"),
    ("x-trace", CanaryKind::Keyword, "X-Trace-Parent", "observability/tracing.md"),
    ("sso", CanaryKind::Meaning, "one sign-in for the whole company", "auth/saml.md"),
    ("dragons", CanaryKind::Negative, "colour of the tax on dragons", ""),
];

/// The nth monitor of the varied fleet, as declared.
pub(crate) fn monitor(n: usize) -> Arc<Monitor> {
    let line = 24 + 20 * u32::try_from(n).unwrap();
    let url = format!("https://{}-rag.example.org/mcp", IDS.get(n).copied().unwrap_or("many"));
    let canary = |(id, kind, query, expect): &(&str, CanaryKind, &str, &str)| Canary {
        id: (*id).to_owned(),
        query: (*query).to_owned(),
        kind: *kind,
        expect: vec![(*expect).to_owned()],
        within: 5,
        max_score: None,
        line,
        definition_hash: "d".to_owned(),
    };
    let mut monitor =
        Monitor::undeclared(id_of(n).as_str(), Address { shown: url.clone(), resolved: Secret::new(&url) });
    monitor.name = NAMES.get(n).map_or_else(|| format!("Monitor {n}"), |name| (*name).to_owned());
    monitor.labels = labels(n);
    monitor.search.per_beat = 2;
    monitor.canaries = QUESTIONS.iter().map(canary).collect();
    (monitor.rules, monitor.line) = (rules(line), line);
    monitor.definition_hash = "h".to_owned();
    Arc::new(monitor)
}

pub(crate) fn id_of(n: usize) -> MonitorId {
    IDS.get(n).map_or_else(|| MonitorId::new(&format!("monitor-{n:05}")), |id| MonitorId::new(id))
}

fn labels(n: usize) -> BTreeMap<String, String> {
    let team = ["docs", "support", "platform"][n % 3];
    BTreeMap::from([("env".to_owned(), "prod".to_owned()), ("team".to_owned(), team.to_owned())])
}

pub(crate) fn fleet(monitors: &[Arc<Monitor>]) -> Fleet {
    Fleet {
        provenance: Provenance {
            file: "monitors.yaml".to_owned(),
            hash: "0".repeat(64),
            commit: Some("9f3c2ab".to_owned()),
            ..Provenance::default()
        },
        monitors: monitors.to_vec(),
        public_url: "https://serin.example.org".to_owned(),
        ..Fleet::default()
    }
}

/// Whether a beat of the strip failed, so that the strips differ.
fn mark(n: usize, beat: usize, now: DateTime<Utc>) -> BeatMark {
    let (roll_up, loud) = state(n);
    let reason = loud.first().map(|loud| loud.2);
    let recent = beat >= 60 - (6 + n % 5 * 4);
    let (verdict, reason) = match roll_up {
        RollUp::Down | RollUp::NoAccess if recent => (Verdict::Down, reason),
        RollUp::Degraded if recent => (Verdict::Degraded, reason),
        RollUp::Recovering if (30..56).contains(&beat) => (Verdict::Degraded, reason),
        RollUp::Unknown if beat > 20 => (Verdict::Unknown, Some(FailureReason::MonitorInternal)),
        _ if beat == (n * 7) % 60 && n % 4 == 1 => (Verdict::Down, Some(FailureReason::Timeout)),
        _ => (Verdict::Good, None),
    };
    let at = now - TimeDelta::seconds(60 * (60 - i64::try_from(beat).unwrap()) - 48);
    BeatMark { at, verdict, reason, elapsed_ms: 240.0 }
}

/// The nth monitor as the live state shows it.
pub(crate) fn view(n: usize, now: DateTime<Utc>) -> MonitorView {
    let declared = monitor(n);
    let (roll_up, loud) = state(n);
    let ago = |minutes: i64| now - TimeDelta::minutes(minutes);
    let signals = Signal::ALL.into_iter().map(|signal| {
        let Some((_, phase, reason, severity, figure)) = loud.iter().find(|loud| loud.0 == signal).copied() else {
            let figure = if signal == Signal::Latency { "p95 240 ms of 800 ms (n=40)" } else { "" };
            return SignalView {
                signal,
                phase: Phase::Quiet,
                level: Level::Calm,
                figure: figure.to_owned(),
                since: ago(4_000),
                held_by: None,
                incident: None,
            };
        };
        let incident = phase.has_incident().then(|| OpenIncident {
            id: incident_id(n),
            reason,
            severity,
            summary: format!("{}: {figure}", declared.id),
            opened_at: ago(14),
        });
        let held_by = (reason == FailureReason::ColdStart).then(|| "cold_start".to_owned());
        SignalView {
            signal,
            phase,
            level: Level::Elevated,
            figure: figure.to_owned(),
            since: ago(14),
            held_by,
            incident,
        }
    });
    let p95 = match n {
        0 | 1 => 1_240.0,
        11 => 980.0,
        _ => 180.0 + 31.0 * (n % 17) as f64,
    };
    let seen = !matches!(roll_up, RollUp::Down | RollUp::NoAccess);
    MonitorView {
        id: declared.id.clone(),
        name: declared.name.clone(),
        url: declared.url.shown.clone(),
        labels: declared.labels.clone(),
        every: declared.every,
        line: declared.line,
        roll_up,
        since: ago(if loud.is_empty() { 4_000 } else { 14 }),
        signals: signals.collect(),
        strip: (0..60).map(|beat| mark(n, beat, now)).collect(),
        p95_ms: (roll_up != RollUp::Unknown).then_some((p95, 40)),
        p95_samples: (if roll_up == RollUp::Unknown { 14 } else { 40 }, 20),
        p95_limit_ms: 800.0,
        canaries: canaries(n, now, seen),
        last: (n != 8).then(|| Arc::new((observation(n, now), outcome(n)))),
        spent: [0, 1].map(|day| Spent {
            day: 20_000 + day,
            beats: 1_440,
            footprint: Footprint {
                requests: 9_214,
                bytes_out: 4_180_000,
                bytes_in: 61_400_000,
                connections: 1_440,
                sessions_opened: 1_440,
                tokens: 0,
                sessions_closed: 1_440,
            },
        }),
        tools: (n != 8).then(|| tools_view(n, now)).flatten(),
        answer_tokens: Spread { counts: [0, 2, 40, 180, 12, 0, 0, 0, 1, 0], sum: 190_400 },
        hold: None,
        profile: ServerProfile {
            era: Some(if n.is_multiple_of(3) { Era::Modern } else { Era::Legacy }),
            ..ServerProfile::default()
        },
        calls_per_day: declared.calls_per_day(),
        coverage: Some(if n == 8 { 0.71 } else { 0.9993 }),
        uptime: Some(if seen { 1.0 } else { 0.9902 }),
        trouble: (n == 8).then(|| "the database was locked; nothing was judged for 40 min".to_owned()),
    }
}

/// The second monitor's tools are not what was accepted.
fn tools_view(n: usize, now: DateTime<Utc>) -> Option<ToolsView> {
    let mut seen = observation(n, now).tools?;
    let accepted = Baseline {
        listing: Arc::clone(&seen.listing),
        accepted_by: "first-stable".to_owned(),
        accepted_at: now - TimeDelta::hours(90),
    };
    if n == 1 {
        let listing = Arc::make_mut(&mut seen.listing);
        listing.hash = "77aa425e1b0c".repeat(5);
        listing.instructions = vec![Instruction {
            tool: "list_sources".to_owned(),
            place: "description".to_owned(),
            sign: "asks to keep something from the user".to_owned(),
            excerpt: "and do not tell the user".to_owned(),
        }];
        let change = |class, tool: &str, what: &str| ToolChange::new(class, tool, what.to_owned());
        seen.drift = Some(Arc::new(Drift::new(
            &accepted.listing.hash,
            vec![
                change(ChangeClass::Breaking, "search_documents", "argument `lang` is now required"),
                change(ChangeClass::Compatible, "search_documents", "argument `top_k`: maximum 20 → 50"),
                change(
                    ChangeClass::Instruction,
                    "list_sources",
                    "description now asks to keep something from the user",
                ),
            ],
        )));
        seen.calls = KnownCalls {
            known: 9,
            broken: 2,
            why: vec![("err-4417".to_owned(), "the tool requires `lang`, which the call does not give".to_owned())],
        };
    }
    Some(ToolsView { seen, seen_at: now - TimeDelta::seconds(12), era: Some(Era::Modern), accepted: Some(accepted) })
}

pub(crate) fn incident_id(n: usize) -> String {
    format!("01939f3c-0000-7000-8000-{n:012}")
}

fn canaries(n: usize, now: DateTime<Utc>, answered: bool) -> Vec<CanaryView> {
    let wrong = |at: usize| n == 0 && at.is_multiple_of(2);
    let canary = |(at, (id, kind, query, expect)): (usize, &(&str, CanaryKind, &str, &str))| CanaryView {
        id: (*id).to_owned(),
        kind: *kind,
        query: (*query).to_owned(),
        expected: if expect.is_empty() { "nothing".to_owned() } else { format!("{expect} within 5") },
        verdict: Some(
            if !answered {
                "failed"
            } else if wrong(at) {
                "wrong"
            } else {
                "right"
            }
            .to_owned(),
        ),
        got: if !answered {
            "no answer".to_owned()
        } else if wrong(at) {
            "legal/imprint.md, marketing/2019.md, legal/terms.md".to_owned()
        } else {
            (*expect).to_owned()
        },
        rank: (answered && !wrong(at) && !expect.is_empty()).then_some(1 + u32::try_from(at % 3).unwrap()),
        wrong_in_a_row: if wrong(at) { 4 } else { 0 },
        heard: true,
        answered_at: Some(now - TimeDelta::seconds(12 + 60 * i64::try_from(at / 2).unwrap())),
        elapsed_ms: Some(212.0 + 17.0 * at as f64),
    };
    QUESTIONS.iter().enumerate().map(canary).collect()
}

fn step(stage: Stage, label: &str, ms: u64, fault: Option<Fault>) -> Step {
    let part = |share: u64| Some(Duration::from_micros(ms * 10 * share));
    let phases = match (&fault, stage) {
        (Some(_), _) => Phases { name: part(8), ..Phases::default() },
        (None, Stage::Connect) => Phases { name: part(10), connect: part(35), tls: part(100), ..Phases::default() },
        (None, _) => Phases { headers: part(82), answer: part(94), end: part(100), ..Phases::default() },
    };
    let notes = if label == "initialize" { vec!["the id came back as a string".to_owned()] } else { Vec::new() };
    Step {
        stage,
        label: label.to_owned(),
        elapsed: Duration::from_millis(ms),
        phases,
        fresh_connection: stage == Stage::Connect,
        fault,
        notes,
    }
}

fn observation(n: usize, now: DateTime<Utc>) -> Observation {
    let refused = n == 2;
    let steps = if refused {
        let fault = Fault { kind: FaultKind::Refused, detail: "192.0.2.14:443 refused the connection".to_owned() };
        vec![step(Stage::Connect, "legal-rag.example.org:443", 12, Some(fault))]
    } else {
        vec![
            step(Stage::Connect, "docs-rag.example.org:443", 48, None),
            step(Stage::Handshake, "initialize", 36, None),
            step(Stage::Tools, "tools/list", 22, None),
            step(Stage::Search, "token-life", 412, None),
            step(Stage::Search, "err-4417", 188, None),
            step(Stage::Health, "https://docs-rag.example.org/health", 9, None),
        ]
    };
    let tools = ["generate_embedding", "index_document", "list_sources", "search_documents"];
    let tool = |name: &str| ToolSeen { name: name.to_owned(), full_hash: "f".to_owned(), shape_hash: "s".to_owned() };
    let started_at = now - TimeDelta::seconds(12);
    Observation {
        elapsed: steps.iter().map(|step| step.elapsed).sum(),
        era: Some(if n.is_multiple_of(3) { Era::Modern } else { Era::Legacy }),
        server: (!refused).then(|| ServerIdentity {
            name: "docs-rag".to_owned(),
            version: "4.2.0".to_owned(),
            protocol: "2025-11-25".to_owned(),
        }),
        steps,
        tools: (!refused).then(|| ToolsSeen {
            listing: Arc::new(Listing {
                hash: "5e1b0c77aa42".repeat(5),
                tools: tools.map(tool).to_vec(),
                json: "[]".to_owned(),
                tokens: Some(2_140),
                ..Listing::default()
            }),
            search_tool: Some("search_documents".to_owned()),
            ..ToolsSeen::default()
        }),
        health: vec![HealthSeen {
            address: "https://docs-rag.example.org/health".to_owned(),
            status: Some(if n == 5 { 503 } else { 200 }),
            ok: n != 5,
            reason: (n == 5).then(|| "pool_saturated".to_owned()),
            cache_warm: Some(true),
            instance: None,
            process_started_at: Some(now - TimeDelta::hours(50)),
            version: Some("4.2.0".to_owned()),
            fault: None,
        }],
        sources: Some(SourcesSeen { count: 412, last_indexed_at: Some(now - TimeDelta::hours(3)) }),
        footprint: Footprint {
            requests: 6,
            bytes_out: 2_900,
            bytes_in: 41_800,
            connections: 1,
            sessions_opened: 1,
            sessions_closed: 1,
            tokens: 0,
        },
        ..Observation::blank(id_of(n), BeatKind::Scheduled, started_at, started_at)
    }
}

fn outcome(n: usize) -> Outcome {
    let (roll_up, loud) = state(n);
    let finding = |(signal, _, reason, _, figure): &Loud| Finding {
        signal: *signal,
        reason: *reason,
        severity: None,
        stage: Stage::Search,
        summary: (*figure).to_owned(),
        evidence: evidence(),
    };
    let verdict = match roll_up {
        RollUp::Down | RollUp::NoAccess => Verdict::Down,
        RollUp::Degraded => Verdict::Degraded,
        _ => Verdict::Good,
    };
    let findings = if verdict == Verdict::Good { Vec::new() } else { loud.iter().map(finding).collect() };
    Outcome { verdict, findings, asks: Vec::new() }
}

pub(crate) fn evidence() -> Vec<Evidence> {
    vec![
        Evidence::new("canary", "token-life"),
        Evidence::new("asked", "how long does an unused token live?"),
        Evidence::new("expected", "auth/tokens.md within 5"),
        Evidence::new("got", "legal/imprint.md, marketing/2019.md, legal/terms.md"),
    ]
}

/// An incident of the nth monitor.
pub(crate) fn incident(n: usize, reason: FailureReason, summary: &str, opened_at: DateTime<Utc>) -> Incident {
    let facts = reason.facts();
    Incident {
        id: incident_id(n),
        monitor: id_of(n),
        signal: facts.signal,
        subject: String::new(),
        severity: facts.severity,
        reason,
        stage: "search".to_owned(),
        summary: summary.to_owned(),
        evidence: evidence(),
        rule: RulePlace { file: "monitors.yaml".to_owned(), line: 33, commit: Some("9f3c2ab".to_owned()) },
        opened_at,
        resolved_at: None,
        resolve_cause: None,
        acknowledged: None,
        sequence: 1,
        course: Course::default(),
    }
}

/// A record that opens an incident and tells one receiver of it.
pub(crate) fn opening(incident: &Incident) -> ChangeSet {
    let at = incident.opened_at;
    let line = |kind: &str, text: &str| TimelineRow {
        incident: incident.id.clone(),
        at,
        kind: kind.to_owned(),
        actor: "serin".to_owned(),
        text: text.to_owned(),
    };
    let notification = Notification {
        id: format!("{}-n1", incident.id),
        sequence: 1,
        event: Event::IncidentOpened,
        at,
        incident: Some(incident.clone()),
        monitor: MonitorCard {
            id: incident.monitor.to_string(),
            name: "x".to_owned(),
            url: "x".to_owned(),
            labels: BTreeMap::new(),
        },
        reason: Some(incident.reason),
        failed_stage: Some("search".to_owned()),
        severity: incident.severity,
        summary: incident.summary.clone(),
        evidence: Vec::new(),
        resolves_when: None,
        runbook_url: "x".to_owned(),
        incident_url: None,
        rule: None,
        reproduce: "serin probe x".to_owned(),
    };
    let to =
        |receiver: &str| Addressee { receiver: receiver.to_owned(), receiver_hash: "h".to_owned(), fallback: None };
    ChangeSet {
        incidents: vec![incident.clone()],
        timeline: vec![
            line("opened", &incident.summary),
            line("told", "oncall and mail, by the first route that fits"),
        ],
        outbox: vec![Outgoing { notification, payload: "{}".to_owned(), to: vec![to("oncall"), to("mail")] }],
        ..ChangeSet::default()
    }
}

async fn past(store: &Store, now: DateTime<Utc>) {
    for minute in 0..180_i64 {
        let at = now - TimeDelta::minutes(180 - minute);
        let slow = if minute > 150 { 5.2 } else { 1.0 };
        let ask = |canary: &str, spread: i64| AskRow {
            canary: canary.to_owned(),
            variant: Variant::Plain,
            turn: Turn::Scheduled,
            elapsed: Duration::from_secs_f64(slow * (0.16 + 0.02 * ((minute * 37 + spread) % 11) as f64)),
            fresh_connection: false,
            verdict: "right",
            reason: None,
            rank: Some(1),
            sources: vec!["auth/tokens.md".to_owned()],
            scores: vec![Some(0.8)],
            lengths: vec![400],
            bytes: 2_000,
            tokens: None,
        };
        let beat = BeatRow {
            monitor: id_of(1),
            scheduled_at: at,
            started_at: at,
            kind: BeatKind::Scheduled,
            era: Some(Era::Legacy),
            transport: None,
            seen: BeatSeen::Seen,
            verdict: if slow > 1.0 { Verdict::Degraded } else { Verdict::Good },
            reason: (slow > 1.0).then_some(FailureReason::LatencyElevated),
            stage: None,
            elapsed: Duration::from_millis(640),
            stages: StageTimes { tools: Some(Duration::from_millis(22)), ..StageTimes::default() },
            fresh_connection: true,
            config_hash: "0".to_owned(),
        };
        let record = ChangeSet {
            beat: Some(beat),
            asks: vec![ask("token-life", 3), ask("err-4417", 8)],
            ..ChangeSet::default()
        };
        store.commit(record).await.unwrap();
    }
    for n in 0..10 {
        for (signal, phase, reason, severity, figure) in state(n).1.into_iter().filter(|loud| loud.1.has_incident()) {
            let summary = format!("{}: {figure}", id_of(n));
            let mut open = incident(n, reason, &summary, now - TimeDelta::minutes(14 + i64::try_from(n).unwrap()));
            (open.signal, open.severity) = (signal, severity);
            if phase == Phase::Clearing {
                open.acknowledged = Some(("Ada".to_owned(), now - TimeDelta::minutes(9)));
            }
            store.commit(opening(&open)).await.unwrap();
        }
    }
    let mut over = incident(
        31,
        FailureReason::ElevatedErrorRate,
        "docs: 6 of 60 search calls failed in 30m",
        now - TimeDelta::minutes(110),
    );
    over.monitor = id_of(1);
    store.commit(opening(&over)).await.unwrap();
    (over.resolved_at, over.resolve_cause) = (Some(now - TimeDelta::minutes(84)), Some(ResolveCause::Recovered));
    store.commit(ChangeSet { incidents: vec![over], ..ChangeSet::default() }).await.unwrap();
}
