//! One cell of the matrix: a healthy server is watched for a while, something happens to it, it is mended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use serin_reference::data::manuals;
use serin_reference::data::plan::{CHUNKS_MIN, ManualsPlan};
use serin_reference::data::question::QuestionKind;
use serin_reference::index::documentation::SOURCES;
use serin_reference::lab::kinds::{Dose, Fault};

use crate::cli::drill::canaries::{Golden, golden, wanted};
use crate::cli::drill::case::{Case, Deed};
use crate::cli::drill::matrix::{Cell, Naming};
use crate::cli::drill::shape::Shape;
use crate::cli::drill::stand::{DrillServer, Stand};
use crate::cli::drill::watcher::{Told, Watcher};
use crate::cli::pin;
use crate::domain::answer::{Answer, Variant};
use crate::domain::monitor::{Canary, CanaryKind, Monitor};
use crate::domain::observation::Observation;
use crate::domain::outcome::{AskVerdict, Outcome};
use crate::domain::pinned::Pinned;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::rules::{ContextRule, LatencyRule};
use crate::domain::search::SearchFields;
use crate::domain::secret::{Address, Secret};

/// Canaries asked in one beat, as where nothing is declared.
const PER_BEAT: u32 = 2;
/// A canary whose source comes later than this is at the edge of its rank: the next documents push it out.
const RANK_SAFE: u32 = 3;
/// Results asked for: enough that lists can be compared.
const TOP_K: &str = "10";
/// No call may take longer: what hangs is to cost the drill little.
const TIMEOUT: Duration = Duration::from_secs(3);
/// P95 over minutes in the place of twenty, so that it moves within a drill.
const LATENCY: (Duration, Duration, u32) = (Duration::from_secs(300), Duration::from_secs(120), 5);
/// Calm beats beyond the round in which every canary is asked once.
const CALM_BEATS_MORE: u32 = 4;
/// Beats in which what harms nobody is watched.
const BENIGN_BEATS: u32 = 20;
/// Beats in which an incident has to end once its cause is gone; the window of errors is half an hour.
const RESOLVE_BEATS_MAX: u32 = 45;
/// How long a server that crashes stays away.
const DOWN_FOR: Duration = Duration::from_millis(100);
/// Tokens that the context of an answer may take, as callers ask it of the server: less than its results have.
const BUDGET_TOKENS: &str = "500";
/// How many tokens more than the heaviest answer of a healthy server the file allows.
const ANSWER_ROOM: f64 = 1.2;
/// How far scores jitter: the fourth decimal, as hosted embeddings do.
const JITTER: f64 = 0.0005;

/// What a shape is watched by: golden questions that its healthy server answers rightly, so many of each kind, and what is
/// pinned of them.
#[derive(Debug)]
pub(super) struct Baseline {
    pub(super) canaries: Vec<Canary>,
    pinned: Arc<Pinned>,
}

/// Looks at a shape's healthy server for what it is watched by.
///
/// # Errors
/// What keeps a server from being asked.
pub(super) async fn baseline(stand: &Stand) -> anyhow::Result<Baseline> {
    let golden = golden(stand.shape)?;
    let server = stand.server().await?;
    let declared = golden.iter().map(|golden| golden.canary.clone()).collect();
    let watcher = Watcher::begin(Arc::new(monitor(&server.url(false), stand.shape, declared)), Utc::now());
    let mut looks = Vec::new();
    for kind in QuestionKind::ALL {
        let of_kind: Vec<Golden> = golden.iter().filter(|golden| golden.kind == kind).cloned().collect();
        let declared = of_kind.iter().map(|golden| golden.canary.clone()).collect();
        let asked = Monitor { canaries: declared, ..Monitor::clone(&watcher.monitor) };
        let (seen, outcome) = watcher.over(Arc::new(asked)).survey(Variant::Fresh).await;
        let answers = seen.asks.iter().zip(outcome.asks).map(|(ask, verdict)| {
            let answer = ask.result.as_ref().and_then(|result| result.as_ref().ok());
            let is_right = matches!(verdict, AskVerdict::Right { rank } if rank.is_none_or(|rank| rank <= RANK_SAFE));
            (is_right, answer.and_then(top_score))
        });
        looks.extend(of_kind.into_iter().zip(answers).map(|(golden, (is_right, top))| Look { golden, is_right, top }));
    }
    let canaries = canaries(&looks);
    let asked = Monitor { canaries: canaries.clone(), ..Monitor::clone(&watcher.monitor) };
    let pinned = Arc::new(pin::of_stranger(&Arc::new(asked)).await?);
    server.stop().await;
    Ok(Baseline { canaries, pinned })
}

/// How a golden question was answered by a healthy server.
#[derive(Debug)]
struct Look {
    golden: Golden,
    is_right: bool,
    /// The best score of any result.
    top: Option<f64>,
}

fn top_score(answer: &Answer) -> Option<f64> {
    answer.hits.iter().filter_map(|hit| hit.score).reduce(f64::max)
}

/// So many of each kind as are watched, of those that are right. A question about nothing is one as well where a limit
/// parts it from what is right: half the way to the usual score of a right answer, as a careful person would set it.
fn canaries(looks: &[Look]) -> Vec<Canary> {
    let mut right: Vec<f64> = looks.iter().filter(|look| look.is_right).filter_map(|look| look.top).collect();
    right.sort_by(f64::total_cmp);
    let usual = right.get(right.len() / 2).copied();
    let mut chosen = Vec::new();
    for kind in QuestionKind::ALL {
        let of_kind = looks.iter().filter(|look| look.golden.kind == kind);
        let canaries = of_kind.filter_map(|Look { golden, is_right, top }| {
            if *is_right {
                return Some(golden.canary.clone());
            }
            let (top, usual) = top.zip(usual)?;
            let is_apart = golden.canary.kind == CanaryKind::Negative && top < usual;
            is_apart.then(|| Canary { max_score: Some(f64::midpoint(top, usual)), ..golden.canary.clone() })
        });
        chosen.extend(canaries.take(wanted(kind)));
    }
    chosen
}

/// The monitor of a drill: the standard rules, but for latency, whose window is shortened, and what answers may weigh.
fn monitor(url: &str, shape: Shape, canaries: Vec<Canary>) -> Monitor {
    let address = Address { shown: url.to_owned(), resolved: Secret::new(url) };
    let mut monitor = Monitor::undeclared(shape.slug(), address);
    monitor.timeout = TIMEOUT;
    monitor.search.per_beat = PER_BEAT;
    let arguments = [("top_k", TOP_K), ("budget_tokens", BUDGET_TOKENS)];
    monitor.search.arguments = arguments.map(|(name, json)| (name.to_owned(), json.to_owned())).into();
    monitor.search.fields = SearchFields { score: shape.score().map(str::to_owned), ..SearchFields::default() };
    monitor.canaries = canaries;
    let (window, sustained, min_samples) = LATENCY;
    let rules = &mut monitor.rules;
    rules.latency = LatencyRule { window, window_derived: false, sustained, min_samples, ..rules.latency.clone() };
    monitor
}

/// The monitor with a limit on what an answer may take of a model's context, above all that were seen.
fn limited(monitor: &Monitor, seen: &Observation) -> Monitor {
    let answers = seen.asks.iter().filter_map(|ask| ask.result.as_ref()?.as_ref().ok()?.tokens);
    let heaviest = f64::from(answers.max().unwrap_or_default());
    let mut monitor = monitor.clone();
    let answer_tokens = Some((heaviest * ANSWER_ROOM) as u32);
    monitor.rules.context =
        Some(ContextRule { tools_tokens: None, answer_tokens, severity: Severity::Ticket, line: 1 });
    monitor
}

/// Tries one case on a shape of server.
///
/// # Errors
/// What keeps a server from starting, or a document from getting in.
pub(super) async fn run(stand: &Stand, baseline: &Baseline, case: &Case, seed: u64) -> anyhow::Result<Cell> {
    let canaries = baseline.canaries.as_slice();
    let server = stand.server().await?;
    let url = server.url(case.deed == Deed::Sessions);
    let mut monitor = monitor(&url, stand.shape, canaries.to_vec());
    monitor.pinned = Some(Arc::clone(&baseline.pinned));
    let mut watcher = Watcher::begin(Arc::new(monitor), Utc::now());
    // As with users, who asked all of it before.
    let (seen, _) = watcher.survey(Variant::Plain).await;
    if case.limits_answers {
        watcher = watcher.over(Arc::new(limited(&watcher.monitor, &seen)));
    }
    let round = u32::try_from(canaries.len()).unwrap_or(u32::MAX).div_ceil(PER_BEAT);
    for _ in 0..round + CALM_BEATS_MORE {
        watcher.beat().await;
    }
    let false_pages = std::mem::take(&mut watcher.told);
    let healthy = ranks(&watcher.survey(Variant::Fresh).await);
    watcher.count_anew();

    let faults = case.faults(seed);
    befall(&server, &faults, (case, canaries), &watcher).await?;
    let expected = case.expected(stand.shape);
    let beats = if case.is_benign() { BENIGN_BEATS } else { case.beats_max };
    while watcher.beats < beats && !is_named(&watcher.told, expected) {
        if case.deed == Deed::Jitter {
            let sign = if watcher.beats.is_multiple_of(2) { 1.0 } else { -1.0 };
            server.on(&[(Fault::ScoresOffset, Dose::of(Fault::ScoresOffset).amount(sign * JITTER))]).await;
        }
        watcher.beat().await;
    }
    let told = std::mem::take(&mut watcher.told);
    let is_noticed = told.iter().all(|told| told.severity == Severity::Notice) && !is_named(&told, expected);
    let kept = if is_noticed && !case.is_benign() {
        Some(
            ranks(&watcher.survey(Variant::Fresh).await) == healthy && {
                ranks(&watcher.survey(Variant::Plain).await) == healthy
            },
        )
    } else {
        None
    };
    let named = naming(case, &told, expected, kept);
    let resolved = mended(&server, &faults, (case, stand.remembers), &mut watcher, &told).await?;
    server.stop().await;
    Ok(Cell {
        case: case.name,
        shape: stand.shape,
        cache: stand.remembers,
        seed,
        expected,
        told,
        named,
        false_pages,
        resolved,
        is_of_nine: case.is_of_nine,
        note: case.note,
    })
}

/// Whether somebody was told the right reason, or what means the same to somebody outside.
fn is_named(told: &[Told], expected: &[FailureReason]) -> bool {
    told.iter().any(|told| expected.contains(&told.reason))
}

fn naming(case: &Case, told: &[Told], expected: &[FailureReason], kept: Option<bool>) -> Naming {
    let is_loud = |told: &&Told| told.severity == Severity::Page;
    match (told.iter().find(|told| expected.contains(&told.reason)), told.first(), kept) {
        _ if case.is_benign() && told.iter().any(|told| is_loud(&told)) => Naming::Woken,
        _ if case.is_benign() => Naming::Quiet,
        (Some(right), ..) => Naming::Right { beats: right.beat },
        // What changed is noticed, and that it harms anybody cannot be seen.
        (None, _, Some(true)) => Naming::Unseen,
        (None, Some(_), _) => Naming::Otherwise,
        (None, None, _) => Naming::Missed,
    }
}

/// The rank of each expected source; none where it did not come.
fn ranks((seen, outcome): &(Observation, Outcome)) -> BTreeMap<String, Option<u32>> {
    let asked = seen.asks.iter().zip(&outcome.asks);
    let rank = |verdict: &AskVerdict| match verdict {
        AskVerdict::Right { rank } => Some(rank.unwrap_or(0)),
        AskVerdict::Wrong { rank, .. } => *rank,
        AskVerdict::Failed { .. } | AskVerdict::NotAsked => None,
    };
    asked.map(|(ask, verdict)| (ask.canary.clone(), rank(verdict))).collect()
}

/// What the case does to its server.
async fn befall(
    server: &DrillServer,
    faults: &[(Fault, Dose)],
    (case, canaries): (&Case, &[Canary]),
    watcher: &Watcher,
) -> anyhow::Result<()> {
    if case.deed == Deed::OtherModel {
        let other = [(Fault::WrongQueryModel, Dose::of(Fault::WrongQueryModel))];
        server.on(faults).await;
        server.forget_answers().await?;
        server.on(&other).await;
        watcher.survey(Variant::Plain).await;
        server.off(&other).await;
        return Ok(());
    }
    server.on(faults).await;
    match case.deed {
        Deed::None | Deed::Jitter | Deed::Sessions | Deed::OtherModel => {}
        Deed::Crash => server.crash(DOWN_FOR).await?,
        Deed::Grow(percent) => {
            let plan = ManualsPlan::new(1, CHUNKS_MIN * 10)?;
            for manual in manuals::documents(plan, 0).take((SOURCES.len() * percent).div_ceil(100)) {
                server.index(&manual.source, &manual.text).await?;
            }
        }
        Deed::Edit => {
            for (source, text) in SOURCES.iter().step_by(3) {
                server.index(source, &format!("{text}\n\nLooked through again this week.\n")).await?;
            }
        }
        Deed::Twin => {
            let is_expected =
                |source: &str| canaries.iter().any(|canary| canary.expect.iter().any(|one| one == source));
            for (source, text) in SOURCES.iter().filter(|(source, _)| is_expected(source)) {
                server.index(&format!("copies/{source}"), text).await?;
            }
        }
        Deed::Renumber => {
            for (source, text) in SOURCES.iter().rev() {
                server.index(source, &format!("{text}\n")).await?;
            }
        }
        Deed::Reindex => {
            // A fault of the cutting that strikes nothing: all of it is cut and embedded again.
            let nothing = [(Fault::ChunksEmpty, Dose::of(Fault::ChunksEmpty).share(0.0))];
            server.on(&nothing).await;
        }
        Deed::Flush => server.forget_answers().await?,
    }
    Ok(())
}

/// Mends the server, as its runbook says, and waits for the end of what was told; in how many beats it came.
async fn mended(
    server: &DrillServer,
    faults: &[(Fault, Dose)],
    (case, remembers): (&Case, bool),
    watcher: &mut Watcher,
    told: &[Told],
) -> anyhow::Result<Option<u32>> {
    if case.is_benign() || told.is_empty() {
        return Ok(None);
    }
    server.off(faults).await;
    // Calls that hang hold their connections to the store until the process ends.
    if case.deed == Deed::Crash || faults.iter().any(|(fault, _)| *fault == Fault::Hang) {
        server.crash(DOWN_FOR).await?;
    }
    if remembers {
        server.forget_answers().await?;
    }
    watcher.count_anew();
    while watcher.beats < RESOLVE_BEATS_MAX && watcher.is_open() {
        watcher.beat().await;
    }
    Ok((!watcher.is_open()).then_some(watcher.beats))
}
