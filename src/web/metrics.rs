//! `GET /metrics`: the live state as OpenMetrics, drawn at scrape time; nothing is kept between scrapes.

use std::collections::BTreeMap;
use std::fmt::Error;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use crate::domain::context::{BOUNDS, Spread};
use crate::domain::fleet::Fleet;
use crate::domain::monitor::CanaryKind;
use crate::domain::outcome::Verdict;
use crate::domain::rate_limit::Hold;
use crate::domain::signal::Phase;
use crate::live::drill_metrics::{DrillMetrics, DrillTimes, SECONDS as ACCEPTANCE_SECONDS};
use crate::live::footprint::Footprint;
use crate::live::listings::ListingView;
use crate::live::monitor_view::RollUp;
use crate::live::search_metrics::{SECONDS, SearchMetrics, VERDICTS};
use crate::live::standing::Standing;
use crate::web::state::WebState;

/// Up to this many monitors every signal has its series; beyond, only those that are not quiet.
const QUIET_SIGNALS_MONITORS_MAX: usize = 2_000;
/// Up to this many monitors each has its own histogram of answers, twelve lines; beyond, the fleet has one.
const HISTOGRAMS_MONITORS_MAX: usize = 500;
/// Monitors shown in one scrape; what DESIGN §10 promises to carry.
const MONITORS_MAX: usize = 50_000;

pub(crate) async fn scrape(State(state): State<WebState>) -> Response {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape { state }));
    let mut text = String::new();
    match encode(&mut text, &registry) {
        Ok(()) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[derive(Debug)]
struct Scrape {
    state: WebState,
}

impl Collector for Scrape {
    fn encode(&self, mut to: DescriptorEncoder) -> Result<(), Error> {
        let mut all = self.state.live.all();
        // Each machine tells of what it watches: whoever adds them up counts nothing twice.
        all.retain(|one| one.followed().is_none());
        all.truncate(MONITORS_MAX);
        monitors(&mut to, &all)?;
        signals(&mut to, &all)?;
        manners(&mut to, &all)?;
        context(&mut to, &all)?;
        searches(&mut to, &self.state.live.metrics().searches)?;
        self.serin(&mut to)
    }
}

type Standings = [std::sync::Arc<dyn Standing>];

fn monitors(to: &mut DescriptorEncoder, all: &Standings) -> Result<(), Error> {
    let help = "1 where the server can be used (up, degraded or recovering), 0 where it cannot; absent where unknown";
    let mut family = to.encode_descriptor("serin_monitor_up", help, None, MetricType::Gauge)?;
    for one in all.iter().filter(|one| one.roll_up() != RollUp::Unknown) {
        let up = i64::from(!matches!(one.roll_up(), RollUp::Down | RollUp::NoAccess));
        gauge(&mut family, &[("monitor", one.id().as_str())], up)?;
    }
    let help = "95th percentile of search calls over the rule's window; absent below its least samples";
    let mut family = to.encode_descriptor("serin_search_p95", help, Some(&Unit::Seconds), MetricType::Gauge)?;
    for one in all {
        if let Some(p95_ms) = one.p95_ms() {
            gauge(&mut family, &[("monitor", one.id().as_str())], p95_ms / 1e3)?;
        }
    }
    let help = "canaries by their last answer";
    let mut family = to.encode_descriptor("serin_canaries", help, None, MetricType::Gauge)?;
    for one in all {
        let (id, canaries) = (one.id().as_str(), one.figures().canaries);
        for (answer, count) in [("right", canaries.right), ("not_right", canaries.not_right)] {
            gauge(&mut family, &[("monitor", id), ("answer", answer)], i64::try_from(count).unwrap_or(i64::MAX))?;
        }
    }
    let help = "share of due time over the last 24 h in which something was seen";
    let mut family = to.encode_descriptor("serin_coverage_ratio", help, None, MetricType::Gauge)?;
    for one in all {
        if let Some(coverage) = one.figures().coverage {
            gauge(&mut family, &[("monitor", one.id().as_str())], coverage)?;
        }
    }
    Ok(())
}

/// What tools and answers take of a model's context.
fn context(to: &mut DescriptorEncoder, all: &Standings) -> Result<(), Error> {
    let help = "tokens of the list of tools (o200k_base); absent where not counted";
    let mut family = to.encode_descriptor("serin_tools_tokens", help, None, MetricType::Gauge)?;
    for one in all {
        if let Some(tokens) = one.figures().tools_tokens {
            gauge(&mut family, &[("monitor", one.id().as_str())], i64::from(tokens))?;
        }
    }
    let mut lists = Spread::default();
    all.iter().filter_map(|one| one.figures().tools_tokens).for_each(|tokens| lists.push(tokens));
    let help = "tokens of the lists of tools, one figure a monitor";
    let family = to.encode_descriptor("serin_fleet_tools_tokens", help, None, MetricType::Histogram)?;
    histogram(family, lists)?;
    let help = "tokens of canaries' answers since the start (o200k_base)";
    let mut family = to.encode_descriptor("serin_answer_tokens", help, None, MetricType::Histogram)?;
    if all.len() <= HISTOGRAMS_MONITORS_MAX {
        for one in all {
            let tokens = *one.figures().answer_tokens;
            histogram(family.encode_family(&[("monitor", one.id().as_str())])?, tokens)?;
        }
        return Ok(());
    }
    let mut fleet = Spread::default();
    for one in all {
        let tokens = one.figures().answer_tokens;
        fleet.sum += tokens.sum;
        fleet.counts.iter_mut().zip(tokens.counts).for_each(|(sum, count)| *sum += count);
    }
    histogram(family, fleet)
}

/// What was asked of all servers. The histogram has name, labels and bounds of the OpenTelemetry conventions for MCP
/// (mcp.client.operation.duration, semantic conventions 1.39).
fn searches(to: &mut DescriptorEncoder, searches: &SearchMetrics) -> Result<(), Error> {
    let help = "answered searches of canaries by how long they took";
    let name = "mcp_client_operation_duration";
    let mut family = to.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
    let (counts, seconds) = searches.durations();
    let buckets: Vec<(f64, u64)> = SECONDS.into_iter().chain([f64::MAX]).zip(counts.iter().copied()).collect();
    let count = counts.iter().sum();
    let labels = [("mcp_method_name", "tools/call"), ("gen_ai_operation_name", "execute_tool")];
    let mut encoder = family.encode_family(&labels)?;
    encoder.encode_histogram::<[(&str, &str); 0]>(seconds, count, &buckets, None)?;
    let mut family =
        to.encode_descriptor("serin_canary_verdicts", "canaries asked, by what came of it", None, MetricType::Counter)?;
    for kind in CanaryKind::ALL {
        for (verdict, count) in VERDICTS.into_iter().zip(searches.verdicts(kind)) {
            let labels = [("kind", kind.slug()), ("verdict", verdict)];
            ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn histogram(mut encoder: MetricEncoder, spread: Spread) -> Result<(), Error> {
    let bounds = BOUNDS.iter().map(|bound| f64::from(*bound)).chain(std::iter::once(f64::MAX));
    let buckets: Vec<(f64, u64)> = bounds.zip(spread.counts).collect();
    #[expect(clippy::cast_precision_loss, reason = "sums of tokens stay far below 2^52")]
    let sum = spread.sum as f64;
    encoder.encode_histogram::<[(&str, &str); 0]>(sum, spread.count(), &buckets, None)
}

fn signals(to: &mut DescriptorEncoder, all: &Standings) -> Result<(), Error> {
    let quiet_too = all.len() <= QUIET_SIGNALS_MONITORS_MAX;
    let help = "0 quiet, 1 pending, 2 open, 3 clearing";
    let mut family = to.encode_descriptor("serin_signal_phase", help, None, MetricType::Gauge)?;
    for one in all {
        let signals = one.signals().into_iter().flatten();
        for signal in signals.filter(|signal| quiet_too || signal.phase != Phase::Quiet) {
            let phase: i64 = match signal.phase {
                Phase::Quiet => 0,
                Phase::Pending => 1,
                Phase::Open => 2,
                Phase::Clearing => 3,
            };
            gauge(&mut family, &[("monitor", one.id().as_str()), ("signal", signal.signal.slug())], phase)?;
        }
    }
    let mut family = to.encode_descriptor("serin_incident_open", "open incidents", None, MetricType::Gauge)?;
    for one in all {
        for signal in one.signals().into_iter().flatten() {
            let Some(incident) = signal.incident else { continue };
            let labels = [
                ("monitor", one.id().as_str()),
                ("signal", signal.signal.slug()),
                ("reason", incident.reason.slug()),
                ("severity", incident.severity.slug()),
            ];
            gauge(&mut family, &labels, 1_i64)?;
        }
    }
    Ok(())
}

/// What probes cost the servers today, and whose beats are held back.
fn manners(to: &mut DescriptorEncoder, all: &Standings) -> Result<(), Error> {
    let few = all.len() <= QUIET_SIGNALS_MONITORS_MAX;
    let shown = || all.iter().filter(|_| few);
    let help = "requests that probes sent today (UTC)";
    let mut family = to.encode_descriptor("serin_probe_requests_today", help, None, MetricType::Gauge)?;
    for one in shown() {
        let requests = i64::from(one.figures().spent_today.requests);
        gauge(&mut family, &[("monitor", one.id().as_str())], requests)?;
    }
    let help = "bytes that probes sent and received today (UTC)";
    let mut family = to.encode_descriptor("serin_probe_today", help, Some(&Unit::Bytes), MetricType::Gauge)?;
    for one in shown() {
        let cost = one.figures().spent_today;
        let bytes = i64::try_from(cost.bytes_out.saturating_add(cost.bytes_in)).unwrap_or(i64::MAX);
        gauge(&mut family, &[("monitor", one.id().as_str())], bytes)?;
    }
    let help = "sessions that probes opened today (UTC) and did not close";
    let mut family = to.encode_descriptor("serin_probe_sessions_left_today", help, None, MetricType::Gauge)?;
    for one in shown() {
        let cost = one.figures().spent_today;
        let left = i64::from(cost.sessions_opened) - i64::from(cost.sessions_closed);
        gauge(&mut family, &[("monitor", one.id().as_str())], left)?;
    }
    let help = "1 while beats are held back: the server asked for quiet, or a cap is spent or spaces them";
    let mut family = to.encode_descriptor("serin_monitor_held", help, None, MetricType::Gauge)?;
    for one in all {
        let why = match one.figures().hold {
            None => continue,
            Some(Hold::Quiet { .. }) => "quiet",
            Some(Hold::Spent { .. }) => "cap_spent",
            Some(Hold::Spaced { .. }) => "cap_spaced",
        };
        gauge(&mut family, &[("monitor", one.id().as_str()), ("why", why)], 1_i64)?;
    }
    Ok(())
}

impl Scrape {
    fn serin(&self, to: &mut DescriptorEncoder) -> Result<(), Error> {
        let metrics = self.state.live.metrics();
        let mut family = to.encode_descriptor("serin_beats", "beats judged", None, MetricType::Counter)?;
        for verdict in [Verdict::Good, Verdict::Degraded, Verdict::Down, Verdict::Unknown] {
            let labels = [("verdict", verdict.slug())];
            ConstCounter::new(metrics.beats(verdict)).encode(family.encode_family(&labels)?)?;
        }
        let missed =
            to.encode_descriptor("serin_beats_missed", "beats due that did not take place", None, MetricType::Counter)?;
        ConstCounter::new(metrics.missed()).encode(missed)?;
        let figures = [
            (
                "serin_writer_queue",
                "records waiting for the database, or for others to share their commit",
                metrics.writer_queue(),
            ),
            ("serin_deliveries_pending", "deliveries not brought yet", metrics.deliveries_pending()),
            (
                "serin_banners",
                "banners across the pages: config faults and Serin's own trouble",
                self.state.live.banners().len() as u64,
            ),
        ];
        for (name, help, figure) in figures {
            let encoder = to.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(i64::try_from(figure).unwrap_or(i64::MAX)).encode(encoder)?;
        }
        let help = "1 where a receiver has taken nothing for five minutes of what it was to be told";
        let mut family = to.encode_descriptor("serin_receiver_failing", help, None, MetricType::Gauge)?;
        let failing = metrics.receivers_failing();
        for receiver in &self.state.fleet_now().receivers {
            let is_failing = i64::from(failing.contains(&receiver.name));
            gauge(&mut family, &[("receiver", receiver.name.as_str())], is_failing)?;
        }
        lists(to, &self.state.listings.all())?;
        drills(to, &metrics.drills, &self.state.fleet_now())?;
        let late = metrics.take_start_late_seconds_max();
        let help = "greatest lateness of a beat's start since the last scrape";
        let encoder = to.encode_descriptor("serin_start_late_max", help, Some(&Unit::Seconds), MetricType::Gauge)?;
        ConstGauge::new(late).encode(encoder)?;
        let mut family = to.encode_descriptor(
            "serin_loop_turn_time",
            "when a loop last took a turn",
            Some(&Unit::Seconds),
            MetricType::Gauge,
        )?;
        for (name, at) in metrics.turns() {
            gauge(&mut family, &[("loop", name)], at.timestamp())?;
        }
        process(to)
    }
}

/// How the lists of `discover:` stand.
fn lists(to: &mut DescriptorEncoder<'_>, all: &BTreeMap<String, ListingView>) -> Result<(), Error> {
    type Figure = fn(&ListingView) -> Option<i64>;
    let figures: [(&str, &str, Option<&Unit>, Figure); 7] = [
        ("serin_list_monitors", "monitors watched because a list names them", None, |view| {
            i64::try_from(view.watched).ok()
        }),
        ("serin_list_never_worked", "of these, such as never worked and tell nobody until they do", None, |view| {
            i64::try_from(view.never_worked.len()).ok()
        }),
        ("serin_list_gone", "of these, gone from the list and watched on since they fail", None, |view| {
            i64::try_from(view.gone.len()).ok()
        }),
        ("serin_list_held", "of these, missing at once and held until a person lets them go", None, |view| {
            i64::try_from(view.held.len()).ok()
        }),
        ("serin_list_refused", "what a list names and what cannot be watched", None, |view| {
            i64::try_from(view.refused_count).ok()
        }),
        ("serin_list_trouble", "1: a list cannot be read or kept, or nobody watches what it names", None, |view| {
            Some(i64::from(view.trouble().is_some()))
        }),
        ("serin_list_read_time", "when a list was last read well", Some(&Unit::Seconds), |view| {
            view.read_at.map(|at| at.timestamp())
        }),
    ];
    for (name, help, unit, figure) in figures {
        let mut family = to.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        for (source, view) in all {
            if let Some(figure) = figure(view) {
                gauge(&mut family, &[("list", source.as_str())], figure)?;
            }
        }
    }
    Ok(())
}

/// How long receivers take to accept drills, and which did not; of those that the file has now.
fn drills(to: &mut DescriptorEncoder, drills: &DrillMetrics, fleet: &Fleet) -> Result<(), Error> {
    let help = "drills accepted by how long it took from the promise to the receiver's yes";
    let name = "serin_drill_acceptance";
    let mut family = to.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
    for receiver in &fleet.receivers {
        let DrillTimes { counts, took } = drills.times(&receiver.name);
        let count = counts.iter().sum();
        if count == 0 {
            continue;
        }
        let buckets: Vec<(f64, u64)> = ACCEPTANCE_SECONDS.into_iter().chain([f64::MAX]).zip(counts).collect();
        let labels = [("receiver", receiver.name.as_str())];
        let mut encoder = family.encode_family(&labels)?;
        encoder.encode_histogram::<[(&str, &str); 0]>(took.as_secs_f64(), count, &buckets, None)?;
    }
    let help = "1 where a receiver did not accept its last drill in time, nor any since";
    let mut family = to.encode_descriptor("serin_drill_failed", help, None, MetricType::Gauge)?;
    let failed = drills.failed();
    for receiver in fleet.drilled(&fleet.drills) {
        let has_failed = i64::from(failed.contains(&receiver.name));
        gauge(&mut family, &[("receiver", receiver.name.as_str())], has_failed)?;
    }
    Ok(())
}

/// What Serin takes itself, by the names that every Prometheus dashboard knows.
fn process(to: &mut DescriptorEncoder) -> Result<(), Error> {
    let Some(takes) = Footprint::now() else { return Ok(()) };
    let memory = [
        ("process_resident_memory", "resident memory, pages of the program's own file included", takes.resident_bytes),
        ("serin_anonymous_memory", "resident memory that nothing but Serin holds", takes.anonymous_bytes),
    ];
    for (name, help, bytes) in memory {
        let encoder = to.encode_descriptor(name, help, Some(&Unit::Bytes), MetricType::Gauge)?;
        ConstGauge::new(i64::try_from(bytes).unwrap_or(i64::MAX)).encode(encoder)?;
    }
    let help = "user and system time since the start";
    let encoder = to.encode_descriptor("process_cpu", help, Some(&Unit::Seconds), MetricType::Counter)?;
    ConstCounter::new(takes.cpu_seconds).encode(encoder)
}

fn gauge<N>(family: &mut MetricEncoder, labels: &[(&str, &str)], value: N) -> Result<(), Error>
where
    ConstGauge<N>: prometheus_client::encoding::EncodeMetric,
{
    ConstGauge::new(value).encode(family.encode_family(&labels)?)
}
