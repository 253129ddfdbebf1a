//! `GET /api/v1/status`: how Serin itself is, as one document; `serin status` prints it.

use std::collections::BTreeMap;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::deliver::internal::OpenAlert;
use crate::deliver::internal_alert::InternalAlert;
use crate::domain::outcome::Verdict;
use crate::domain::wording::{counted, span};
use crate::live::monitor_view::RollUp;
use crate::live::nodes::{NodeView, NodesView};
use crate::live::process_metrics::{FileNote, HeartbeatNote, ProcessMetrics, RecentBeats};
use crate::store::read::backlog::Backlog;
use crate::store::read::figures::Figures;
use crate::web::state::WebState;

/// Starts later than this, for the hundredth that is latest, are said to be ill: what a fleet is promised (DESIGN §10).
const LATE_MS_MAX: u64 = 1000;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Status {
    /// Nothing is in `ill`.
    well: bool,
    /// What is not as it should be, a line each, the worst first.
    ill: Vec<String>,
    at: DateTime<Utc>,
    started_at: DateTime<Utc>,
    uptime_seconds: u64,
    versions: Versions,
    monitors: MonitorsBody,
    beats: BeatsBody,
    lately: LatelyBody,
    /// Records and wishes that wait for the database, or for others to share their commit.
    writer_queue: u64,
    /// None where the database did not answer.
    outbox: Option<Outbox>,
    /// None where it did not answer.
    database: Option<DatabaseBody>,
    config: ConfigBody,
    probes: Probes,
    /// None where none is declared.
    heartbeat: Option<HeartbeatBody>,
    troubles: Vec<AlertBody>,
    /// The machines that share the fleet; empty where it is this one's alone.
    machines: Vec<MachineBody>,
    /// When each loop last took a turn.
    loops: BTreeMap<&'static str, DateTime<Utc>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Versions {
    serin: &'static str,
    /// None where the database did not answer, or is another.
    sqlite: Option<String>,
    /// None where the database did not answer, or is a file.
    postgresql: Option<String>,
    schema: Option<i64>,
    rustc: &'static str,
    target: &'static str,
    /// None is used yet: every time is UTC.
    time_zone_data: Option<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct MonitorsBody {
    total: usize,
    /// How many are in each state that any is in.
    states: BTreeMap<&'static str, usize>,
    /// Of those that are up, the ones with a signal over its limit that opens nothing yet.
    waiting: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BeatsBody {
    good: u64,
    degraded: u64,
    down: u64,
    unknown: u64,
    missed: u64,
}

/// Within the last minutes.
#[derive(Debug, Serialize, JsonSchema)]
struct LatelyBody {
    over_seconds: u64,
    starts: u64,
    missed: u64,
    /// Upper bounds; none where nothing started, or beyond 10 s.
    start_late_p50_ms_at_most: Option<u64>,
    start_late_p99_ms_at_most: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Outbox {
    pending: u64,
    oldest_seconds: Option<u64>,
    given_up: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DatabaseBody {
    file: String,
    bytes: u64,
    /// Of `bytes`, what the next rows will take.
    free_bytes: u64,
    log_bytes: u64,
    monitor_days: f64,
    bytes_per_monitor_day: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ConfigBody {
    file: String,
    hash: String,
    commit: Option<String>,
    in_force_since: DateTime<Utc>,
    refused_at: Option<DateTime<Utc>>,
    refused_why: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Probes {
    /// How many may be in flight at once; three quarters of them for those that take long.
    places: u64,
    /// The limit on open files, which decides it.
    files: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct HeartbeatBody {
    /// When one was last taken; none since the start.
    taken_at: Option<DateTime<Utc>>,
    /// Why the latest was kept back or did not get through.
    failing: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct AlertBody {
    trouble: &'static str,
    meaning: &'static str,
    resolves_when: &'static str,
    since: DateTime<Utc>,
    times_seen: u64,
    detail: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct MachineBody {
    name: String,
    is_this: bool,
    version: String,
    started_at: DateTime<Utc>,
    /// By the database's clock.
    heard_of_at: DateTime<Utc>,
    /// Whether others watch what was its.
    is_gone: bool,
    /// Shards of the fleet that it watches, of 256.
    shards: usize,
    /// Whether it has the file in force.
    has_file: bool,
}

fn machines(nodes: &NodesView) -> Vec<MachineBody> {
    let machine = |node: &NodeView| MachineBody {
        name: node.name.clone(),
        is_this: node.id == nodes.own,
        version: node.version.clone(),
        started_at: node.started_at,
        heard_of_at: node.seen_at,
        is_gone: node.is_gone,
        shards: node.shards,
        has_file: nodes.file_in_force.as_ref().is_none_or(|file| *file == node.file),
    };
    nodes.nodes.iter().map(machine).collect()
}

/// `GET /api/v1/status`. It answers while the database is away, and says so.
pub(crate) async fn show(State(state): State<WebState>) -> Json<Status> {
    let now = Utc::now();
    let metrics = state.live.metrics();
    let figures = state.ask(state.store.figures(now)).await.ok();
    // A database that just let us wait is not asked twice.
    let backlog = match figures {
        Some(_) => state.ask(state.store.backlog(now)).await.ok(),
        None => None,
    };
    let (lately, troubles) = (metrics.lately(Instant::now()), state.alerts.open());
    let mut ill = ill(&lately, &troubles, &metrics.silent_loops(), backlog.as_ref());
    ill.extend(state.live.nodes().now().troubles.iter().cloned());
    let versions = Versions {
        serin: env!("CARGO_PKG_VERSION"),
        sqlite: figures.as_ref().and_then(|figures| figures.sqlite.clone()),
        postgresql: figures.as_ref().and_then(|figures| figures.postgresql.clone()),
        schema: figures.as_ref().map(|figures| figures.schema),
        rustc: env!("SERIN_RUSTC"),
        target: env!("SERIN_TARGET"),
        time_zone_data: None,
    };
    Json(Status {
        well: ill.is_empty(),
        ill,
        at: now,
        started_at: state.started_at,
        uptime_seconds: seconds(now, state.started_at),
        versions,
        monitors: monitors(&state),
        beats: beats(metrics),
        lately: lately_body(&lately),
        writer_queue: state.store.waiting(),
        outbox: backlog.map(|backlog| outbox(backlog, now)),
        database: figures.map(database),
        config: config(metrics.file()),
        probes: Probes { places: metrics.permits(), files: metrics.files() },
        heartbeat: state.fleet_now().heartbeat.as_ref().map(|_| heartbeat(metrics.heartbeat())),
        troubles: troubles.into_iter().map(trouble).collect(),
        machines: machines(&state.live.nodes().now()),
        loops: metrics.turns(),
    })
}

/// Everything that is not as it should be, a line each.
fn ill(
    lately: &RecentBeats,
    troubles: &[(InternalAlert, OpenAlert)],
    silent_loops: &[&str],
    backlog: Option<&Backlog>,
) -> Vec<String> {
    let mut ill: Vec<String> = troubles
        .iter()
        .map(|(kind, open)| {
            let since = open.since.format("%Y-%m-%d %H:%M:%S UTC");
            format!("{} since {since}: {} ({})", kind.slug(), kind.meaning(), open.detail)
        })
        .collect();
    ill.extend(silent_loops.iter().map(|name| format!("the {name} loop takes no turns")));
    if backlog.is_none() {
        ill.push("the database does not answer a read".to_owned());
    }
    if lately.missed > 0 {
        ill.push(format!(
            "{} missed in the last {}",
            counted(lately.missed, "beat was", "beats were"),
            span(lately.over)
        ));
    }
    if lately.starts() > 0 && lately.late_ms_at_most(0.99).is_none_or(|ms| ms > LATE_MS_MAX) {
        ill.push(format!("more than a hundredth of the beats starts later than {LATE_MS_MAX} ms"));
    }
    let behind = backlog.into_iter().flat_map(|backlog| &backlog.behind);
    ill.extend(behind.map(|behind| format!("{behind}; /deliveries says more")));
    ill
}

fn seconds(now: DateTime<Utc>, since: DateTime<Utc>) -> u64 {
    (now - since).to_std().unwrap_or_default().as_secs()
}

fn monitors(state: &WebState) -> MonitorsBody {
    let mut states = BTreeMap::new();
    let standings = state.live.all();
    for standing in &standings {
        *states.entry(standing.roll_up().settled().word()).or_default() += 1;
    }
    let waiting = standings.iter().filter(|standing| standing.roll_up() == RollUp::Waiting).count();
    MonitorsBody { total: standings.len(), states, waiting }
}

fn beats(metrics: &ProcessMetrics) -> BeatsBody {
    BeatsBody {
        good: metrics.beats(Verdict::Good),
        degraded: metrics.beats(Verdict::Degraded),
        down: metrics.beats(Verdict::Down),
        unknown: metrics.beats(Verdict::Unknown),
        missed: metrics.missed(),
    }
}

fn lately_body(lately: &RecentBeats) -> LatelyBody {
    LatelyBody {
        over_seconds: lately.over.as_secs(),
        starts: lately.starts(),
        missed: lately.missed,
        start_late_p50_ms_at_most: lately.late_ms_at_most(0.5),
        start_late_p99_ms_at_most: lately.late_ms_at_most(0.99),
    }
}

fn outbox(backlog: Backlog, now: DateTime<Utc>) -> Outbox {
    let oldest_seconds = backlog.oldest.map(|oldest| seconds(now, oldest));
    Outbox { pending: backlog.pending, oldest_seconds, given_up: backlog.dead }
}

fn database(figures: Figures) -> DatabaseBody {
    DatabaseBody {
        bytes_per_monitor_day: figures.bytes_per_monitor_day(),
        file: figures.name.clone(),
        bytes: figures.bytes,
        free_bytes: figures.free_bytes,
        log_bytes: figures.log_bytes,
        monitor_days: figures.monitor_days,
    }
}

fn config(note: FileNote) -> ConfigBody {
    let (refused_at, refused_why) = note.refused.unzip();
    let FileNote { file, hash, commit, since, .. } = note;
    ConfigBody { file, hash, commit, in_force_since: since, refused_at, refused_why }
}

fn heartbeat(HeartbeatNote { taken_at, failing }: HeartbeatNote) -> HeartbeatBody {
    HeartbeatBody { taken_at, failing }
}

fn trouble((kind, open): (InternalAlert, OpenAlert)) -> AlertBody {
    AlertBody {
        trouble: kind.slug(),
        meaning: kind.meaning(),
        resolves_when: kind.resolves_when(),
        since: open.since,
        times_seen: open.times,
        detail: open.detail,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::store::read::backlog::Behind;

    fn check(lately: RecentBeats, silent: &[&str], backlog: Option<Backlog>, expected: &[&str], sentence: &str) {
        let found = ill(&lately, &[], silent, backlog.as_ref());
        assert_eq!(found.len(), expected.len(), "{sentence}: {found:?}");
        for (line, words) in found.iter().zip(expected) {
            assert!(line.contains(words), "{sentence}: {line}");
        }
    }

    #[test]
    fn what_is_ill_is_said() {
        let calm = || RecentBeats { over: Duration::from_secs(300), late: vec![99, 0, 0], missed: 0 };
        let since = DateTime::UNIX_EPOCH;
        let waiting = |receivers: &[&str]| {
            let behind = |name: &&str| Behind {
                receiver: (*name).to_owned(),
                waiting: 2,
                since,
                why: "HTTP 503".to_owned(),
                is_drill: false,
            };
            let behind = receivers.iter().map(behind).collect();
            Some(Backlog { pending: 2_208, oldest: Some(since), dead: 0, behind })
        };
        let late = |bucket: usize| {
            let mut late = vec![0; ProcessMetrics::LATE_BOUNDS_MS.len() + 1];
            late[0] = 95;
            late[bucket] = 5;
            RecentBeats { late, ..calm() }
        };
        let none = || Some(Backlog::default());
        check(calm(), &[], none(), &[], "well");
        check(RecentBeats::default(), &[], none(), &[], "just started, nothing was due yet");
        check(calm(), &["courier"], none(), &["the courier loop takes no turns"], "a loop stands still");
        check(calm(), &[], None, &["does not answer"], "the database is away");
        let missed = |missed| RecentBeats { missed, ..calm() };
        check(missed(2), &[], none(), &["2 beats were missed in the last 5 min"], "beats are missed");
        check(missed(1), &[], none(), &["1 beat was missed"], "one is missed");
        check(late(9), &[], none(), &[], "up to a second late is in time");
        check(late(10), &[], none(), &["starts later than 1000 ms"], "beats are late");
        check(late(12), &[], none(), &["starts later than 1000 ms"], "beats are later than can be told");
        check(calm(), &[], waiting(&[]), &[], "deliveries wait for their turn");
        let said = "receiver 'a' is behind: 2 deliveries wait, the oldest since 1970-01-01 00:00:00 UTC; the last try: HTTP 503";
        check(calm(), &[], waiting(&["a", "b"]), &[said, "receiver 'b'"], "receivers take nothing");
    }
}
