//! Canaries as JSON, within a monitor: how they stand, how each kind is watched, and which checks judge them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::fleet::Provenance;
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::{CanaryScore, CanaryWatch, FallWatch, KindWatch};
use crate::domain::quality::unarmed;
use crate::live::monitor_view::{CanaryView, MonitorView};

/// How many canaries are right, each counted once.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScoreBody {
    right: usize,
    asked: usize,
    /// The share of all such questions that is answered rightly at least, 0 to 1, with 95 %; null before the first answer.
    at_least: Option<f64>,
}

/// By what canaries are judged beyond a single answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WatchBody {
    /// Wrong answers of a canary in a row that are an incident just now, and why.
    after: String,
    /// How each kind is watched for a slow fall of its hit rate.
    hit_rates: BTreeMap<&'static str, String>,
    /// Every kind that is declared.
    kinds: Vec<KindBody>,
}

/// The canaries of one kind.
#[derive(Debug, Serialize, JsonSchema)]
struct KindBody {
    kind: &'static str,
    #[serde(flatten)]
    score: ScoreBody,
    /// Canaries not asked yet; while something is in doubt, not asked since.
    not_asked: usize,
    slow_fall: FallBody,
}

/// Where the detector of slow falls of a kind's hit rate stands; null is what does not apply.
#[derive(Debug, Serialize, JsonSchema)]
struct FallBody {
    /// `learning`, `never`, `armed` or `fell`.
    state: &'static str,
    /// Answers of the baseline so far, and how many it takes: while it is learning.
    asked: Option<u32>,
    needed: Option<u32>,
    /// The hit rate that is promised at least, 0 to 1.
    bound: Option<f64>,
    /// What bets against that are worth, from 1, and at what worth it is told.
    worth: Option<f64>,
    limit: Option<f64>,
}

/// A canary and its last answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CanaryBody {
    id: String,
    kind: &'static str,
    query: String,
    expected: String,
    verdict: Option<String>,
    got: String,
    rank: Option<u32>,
    wrong_in_a_row: u32,
    /// The first wrong answer of the doubt that it is in; null where nobody doubts it.
    wrong_since: Option<DateTime<Utc>>,
    answered_at: Option<DateTime<Utc>>,
    elapsed_ms: Option<f64>,
}

/// Which checks judge a monitor beside each answer by itself, and against what.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ArmedBody {
    /// The lock's entry in force; null where there is none.
    lock: Option<LockBody>,
    checks: Vec<CheckBody>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LockBody {
    file: String,
    line: u32,
    /// Of the checkout, `-dirty` behind it where a file differs.
    commit: Option<String>,
    hash: String,
    /// How often each canary was asked for it.
    runs: u32,
    /// Whether each of these answers came from the index.
    reached_index: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CheckBody {
    /// Its key in the file, below `rules`.
    check: &'static str,
    armed: bool,
    /// What it needs; null where it is armed.
    why: Option<String>,
}

pub(crate) fn score_body(score: CanaryScore) -> ScoreBody {
    ScoreBody { right: score.right, asked: score.asked, at_least: score.at_least() }
}

pub(crate) fn watch_body(watch: &CanaryWatch) -> WatchBody {
    let hit_rates = watch.kinds.iter().map(|watch| (watch.kind.slug(), watch.fall.said()));
    WatchBody {
        after: watch.after.clone(),
        hit_rates: hit_rates.collect(),
        kinds: watch.kinds.iter().map(kind_body).collect(),
    }
}

fn kind_body(watch: &KindWatch) -> KindBody {
    KindBody {
        kind: watch.kind.slug(),
        score: score_body(watch.score),
        not_asked: watch.score.not_asked,
        slow_fall: fall_body(watch.fall),
    }
}

fn fall_body(fall: FallWatch) -> FallBody {
    let none = FallBody { state: "learning", asked: None, needed: None, bound: None, worth: None, limit: None };
    match fall {
        FallWatch::Learning { asked, of } => FallBody { asked: Some(asked), needed: Some(of), ..none },
        FallWatch::Hopeless(bound) => FallBody { state: "never", bound: Some(bound), ..none },
        FallWatch::Armed { bound, worth, limit } => {
            FallBody { state: "armed", bound: Some(bound), worth: Some(worth), limit: Some(limit), ..none }
        }
        FallWatch::Fell { bound, .. } => FallBody { state: "fell", bound: Some(bound), ..none },
    }
}

pub(crate) fn canary_body(view: &CanaryView) -> CanaryBody {
    CanaryBody {
        id: view.id.clone(),
        kind: view.kind.slug(),
        query: view.query.clone(),
        expected: view.expected.clone(),
        verdict: view.verdict.clone(),
        got: view.got.clone(),
        rank: view.rank,
        wrong_in_a_row: view.wrong_in_a_row,
        wrong_since: view.doubted_since,
        answered_at: view.answered_at,
        elapsed_ms: view.elapsed_ms,
    }
}

/// Of a monitor as it is declared, and as its tools were seen last.
pub(crate) fn armed_body(view: &MonitorView, monitor: &Monitor, provenance: &Provenance) -> ArmedBody {
    let lock = monitor.pinned.as_ref().map(|pinned| LockBody {
        file: pinned.place.0.clone(),
        line: pinned.place.1,
        commit: provenance.commit.clone(),
        hash: pinned.hash.clone(),
        runs: pinned.runs,
        reached_index: pinned.reached_index,
    });
    let checks = unarmed::checks_seen(monitor, view.listed()).into_iter();
    ArmedBody { lock, checks: checks.map(|(check, why)| CheckBody { check, armed: why.is_none(), why }).collect() }
}
