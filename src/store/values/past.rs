//! A beat as it is remembered, whether its row is still there or its hour is sealed in a pack.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::answer::{CacheWord, Turn, Variant};
use crate::domain::coverage::Availability;
use crate::domain::observation::{BeatKind, Stage};
use crate::domain::outcome::{Judged, Verdict};
use crate::domain::protocol::{Era, Transport};
use crate::domain::reason::FailureReason;
use crate::store::values::change_set::{BeatSeen, SourcesLook, StageTimes};

/// One beat of one monitor.
///
/// From a pack its moments are right to the hundredth of a second, its durations to 0.4 %, and its scores to 0.03 %;
/// all else is as it was. Whether the age of sources was judged shows where sources were looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct PastBeat {
    /// When it was due, UTC.
    pub scheduled_at: DateTime<Utc>,
    /// When the probe started, UTC.
    pub started_at: DateTime<Utc>,
    /// What it was and what came of it.
    pub shape: BeatShape,
    /// Duration of the whole probe.
    pub elapsed: Duration,
    /// Duration of each stage that was answered.
    pub stages: StageTimes,
    /// The list of sources, where it was looked at.
    pub sources: Option<SourcesLook>,
    /// What was asked, in order.
    pub asks: Vec<PastAsk>,
}

/// What many beats have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BeatShape {
    /// By the schedule, in doubt, or because somebody asked.
    pub kind: BeatKind,
    /// The protocol's era, where known.
    pub era: Option<Era>,
    /// Streamable HTTP, HTTP+SSE or stdio.
    pub transport: Transport,
    /// Whether tools/list had a connection of its own.
    pub fresh_connection: bool,
    /// Whether it showed us anything.
    pub seen: BeatSeen,
    /// Good, degraded, down, or unknown.
    pub verdict: Verdict,
    /// The first finding's reason; none where nothing was found.
    pub reason: Option<FailureReason>,
    /// The stage of the probe in which it showed.
    pub stage: Option<Stage>,
    /// The file in force, by its number.
    pub config: i64,
    /// The lock file in force, by its number; 0: none.
    pub lock: i64,
    /// What it said of each signal, in the order of [`crate::domain::signal::Signal::ALL`].
    pub judged: [Judged; 8],
    /// Whether it fell into a maintenance window that keeps availability quiet.
    pub in_maintenance: bool,
}

/// One canary of a beat.
#[derive(Debug, Clone, PartialEq)]
pub struct PastAsk {
    /// Id of the canary, unique within its monitor.
    pub canary: Arc<str>,
    /// What it was and what came of it.
    pub shape: AskShape,
    /// From the call's start to the last byte.
    pub elapsed: Duration,
    /// What was answered; none where nothing was.
    pub answer: Option<PastAnswer>,
    /// Length of the JSON-RPC result in bytes.
    pub bytes: u64,
    /// Tokens of the answer, where they were counted.
    pub tokens: Option<u32>,
    /// What the answer admits of itself, a line each; none where it admits nothing.
    pub self_reported: Option<Arc<str>>,
}

/// What many asks have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AskShape {
    /// The plain question, or one of its variants.
    pub variant: Variant,
    /// Why it was asked, or that it was not.
    pub turn: Turn,
    /// Whether the call opened its own connection.
    pub fresh_connection: bool,
    /// `right`, `wrong`, `failed`, `not_asked`.
    pub verdict: &'static str,
    /// Why, where it is not right.
    pub reason: Option<FailureReason>,
    /// Rank of the expected source, from 1.
    pub rank: Option<u32>,
    /// What the answer says of a cache.
    pub cache: CacheWord,
}

/// A ranked list, as it was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct PastAnswer {
    /// Which list, by its number in `ranked_lists`.
    pub list: i64,
    /// A score for each place; NaN where there was none.
    pub scores: Vec<f32>,
    /// Characters for each place.
    pub lengths: Vec<u32>,
}

impl PastBeat {
    /// Whether it is one of the schedule's, which uptime and percentiles are made of.
    pub fn is_scheduled(&self) -> bool {
        self.shape.kind == BeatKind::Scheduled
    }

    /// Whether it showed us anything.
    pub fn is_seen(&self) -> bool {
        self.shape.seen == BeatSeen::Seen
    }

    /// What it says of the time after it.
    pub fn state(&self) -> Availability {
        if self.shape.in_maintenance {
            return Availability::Maintenance;
        }
        match (self.shape.seen, self.shape.verdict) {
            (BeatSeen::Seen, Verdict::Good | Verdict::Degraded) => Availability::Up,
            (BeatSeen::Seen, Verdict::Down) => Availability::Down,
            _ => Availability::Unknown,
        }
    }
}

impl PastAsk {
    /// Whether the schedule asked it: neither asked again in doubt, nor left out.
    pub fn is_asked_by_schedule(&self) -> bool {
        self.shape.turn == Turn::Scheduled && self.shape.verdict != "not_asked"
    }

    /// Whether its duration counts among the percentiles: asked by the schedule, and answered or waited for to the end. A
    /// call that failed otherwise has no duration worth the name, nor has one that a cache answered.
    pub fn is_timed(&self) -> bool {
        self.shape.turn == Turn::Scheduled
            && self.shape.cache != CacheWord::Hit
            && (matches!(self.shape.verdict, "right" | "wrong") || self.is_censored())
    }

    /// Whether it ran into its timeout: how long it would have taken nobody knows.
    pub fn is_censored(&self) -> bool {
        self.shape.reason == Some(FailureReason::Timeout)
    }
}
