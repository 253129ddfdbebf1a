//! One monitor as its pages show it. Its values stay in one file, since pages read them side by side.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::context::Spread;
use crate::domain::contract::Baseline;
use crate::domain::flapping::Flapping;
use crate::domain::monitor::{CanaryKind, Monitor, MonitorId};
use crate::domain::monitor_state::{CanaryScore, CanaryWatch};
use crate::domain::observation::{BeatKind, Observation, ToolsSeen};
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::protocol::Era;
use crate::domain::rate_limit::{Hold, Spent};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::schedule::stale_after;
use crate::domain::server_profile::ServerProfile;
use crate::domain::signal::{HeldBy, Level, Phase, Signal};

/// Beats shown in a strip.
pub const STRIP_LEN: usize = 60;

/// The roll-up of a monitor, worst first (DESIGN §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RollUp {
    /// The availability signal is open: nobody can ask it anything.
    Down,
    /// The access signal is open: credentials or certificates.
    NoAccess,
    /// Any other signal is open.
    Degraded,
    /// An incident is clearing.
    Recovering,
    /// Nothing is open, and a signal is pending: over its limit, not yet for long enough, or held back.
    Waiting,
    /// Nothing seen lately, or nothing well yet.
    Unknown,
    /// Seen lately, and no signal is over its limit.
    Up,
}

impl RollUp {
    /// All of them, the worst first.
    pub const ALL: [Self; 7] =
        [Self::Down, Self::NoAccess, Self::Degraded, Self::Recovering, Self::Waiting, Self::Unknown, Self::Up];

    /// As pages and the API write it, such as `no access`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::NoAccess => "no access",
            Self::Degraded => "degraded",
            Self::Recovering => "recovering",
            Self::Waiting => "waiting",
            Self::Unknown => "unknown",
            Self::Up => "up",
        }
    }

    /// What a word stands for; none where it is none of [`RollUp::word`].
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|roll_up| roll_up.word() == word)
    }

    /// Whether something is open or only just over: what asks for attention.
    pub const fn is_failing(self) -> bool {
        matches!(self, Self::Down | Self::NoAccess | Self::Degraded | Self::Recovering)
    }

    /// The state as the API has always had it: who counts on `up` there still finds it. What waits is told beside it.
    pub const fn settled(self) -> Self {
        match self {
            Self::Waiting => Self::Up,
            other => other,
        }
    }
}

/// One monitor, as pages show it.
#[derive(Debug, Clone)]
pub struct MonitorView {
    /// The id of the file: its key everywhere, never changed by a reload.
    pub id: MonitorId,
    /// What the file says of it.
    pub declared: DeclaredView,
    /// The worst of its signals in one word.
    pub roll_up: RollUp,
    /// When the roll-up last changed.
    pub since: DateTime<Utc>,
    /// Whether it was ever seen to work.
    pub has_worked: bool,
    /// Every signal that is judged on this monitor, in [`Signal::ALL`]'s order.
    pub signals: Vec<SignalView>,
    /// The last beats, the oldest first, at most [`STRIP_LEN`].
    pub strip: Arc<[BeatMark]>,
    /// How long its searches take, beside the limit.
    pub latency: LatencyView,
    /// Every canary's last answer, in the order of the file.
    pub canaries: Vec<CanaryView>,
    /// How many of them are right.
    pub canary_score: CanaryScore,
    /// How many wrong answers are an incident, and what is watched over many.
    pub canary_watch: CanaryWatch,
    /// What the last beat saw and what it meant; none before the first, and where another machine made it.
    pub last: Option<Arc<(Observation, Outcome)>>,
    /// The same in short, whichever machine made it.
    pub look: Option<Look>,
    /// What probes cost the server, and what holds them back.
    pub cost: CostView,
    /// What probes learnt of the server.
    pub profile: ServerProfile,
    /// The tools seen last and those accepted; none before the first list.
    pub tools: Option<ToolsView>,
    /// Tokens of the canaries' answers since Serin started.
    pub answer_tokens: Spread,
    /// How much of the last day was seen.
    pub day: DayView,
    /// Our own trouble that keeps this view from being fresh, where there is one.
    pub trouble: Option<String>,
}

/// What the last beat came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// By the schedule, in doubt, or because somebody asked.
    pub kind: BeatKind,
    /// When the probe started, UTC, by the clock of whoever made it.
    pub started_at: DateTime<Utc>,
    /// When the last one began that somebody asked for, this or one before it; none since Serin started.
    pub rechecked_at: Option<DateTime<Utc>>,
    /// Duration of the whole probe.
    pub elapsed: Duration,
    /// Good, degraded, down, or unknown.
    pub verdict: Verdict,
    /// The first finding's reason; none where nothing was found.
    pub reason: Option<FailureReason>,
    /// That finding in one line.
    pub summary: Option<String>,
    /// How many findings there were.
    pub findings: usize,
    /// The protocol's era, where known.
    pub era: Option<Era>,
}

impl Look {
    /// What was seen, and what it came to.
    pub fn of(seen: &Observation, outcome: &Outcome, rechecked_at: Option<DateTime<Utc>>) -> Self {
        Self {
            kind: seen.kind,
            started_at: seen.started_at,
            rechecked_at,
            elapsed: seen.elapsed,
            verdict: outcome.verdict,
            reason: outcome.reason(),
            summary: outcome.findings.first().map(|finding| finding.summary.clone()),
            findings: outcome.findings.len(),
            era: seen.era,
        }
    }
}

/// What the file says of a monitor, as far as pages show it.
#[derive(Debug, Clone)]
pub struct DeclaredView {
    /// `name` of the file, else the id.
    pub name: String,
    /// The address as it may be shown.
    pub url: String,
    /// Labels of the file, as routes and filters match them.
    pub labels: BTreeMap<String, String>,
    /// Time between scheduled beats.
    pub every: Duration,
    /// The age from which on what was seen says nothing of now.
    pub stale_after: Duration,
    /// The line of the file on which it starts.
    pub line: u32,
    /// Calls a day that the schedule amounts to.
    pub calls_per_day: u64,
}

/// Durations of searches over the rule's window.
#[derive(Debug, Clone, Copy)]
pub struct LatencyView {
    /// P95 in milliseconds, with its sample count; none below the least.
    pub p95_ms: Option<(f64, u32)>,
    /// Samples in the window, and the least that P95 takes.
    pub samples: (u32, u32),
    /// The P95 limit in milliseconds.
    pub limit_ms: f64,
}

/// What probes cost a server.
#[derive(Debug, Clone)]
pub struct CostView {
    /// Yesterday and today (UTC), today last.
    pub spent: [Spent; 2],
    /// Why the next beat of the schedule is not made, where it is held back.
    pub hold: Option<Hold>,
}

/// Beats and answers of one monitor in one hour, in 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HourMark {
    /// The hour's first moment.
    pub hour: DateTime<Utc>,
    /// Scheduled beats that were due.
    pub due: u32,
    /// Seconds that they stand for: each the interval of when it was made.
    pub due_s: u32,
    /// Those that showed us anything.
    pub seen: u32,
    /// Those that found the server able to answer, outside maintenance.
    pub up: u32,
    /// Of those that showed us anything, how many fell into maintenance.
    pub apart: u32,
    /// Questions that scheduled beats asked canaries since Serin started.
    pub asked: u32,
    /// Those whose answer was right.
    pub right: u32,
}

/// How much of a day was seen.
#[derive(Debug, Clone)]
pub struct DayView {
    /// Seen ÷ due time over the last 24 h (or since the monitor is known), 0–1; none before the first beat.
    pub coverage: Option<f64>,
    /// Up ÷ seen time over the same stretch, 0–1.
    pub uptime: Option<f64>,
    /// Since when the monitor is known, UTC.
    pub first_seen: DateTime<Utc>,
    /// Its last hours with a beat, the oldest first: a day, and until yesterday is rolled up.
    pub hours: Vec<HourMark>,
}

/// The list of tools as last seen, beside the accepted one.
#[derive(Debug, Clone)]
pub struct ToolsView {
    /// The list seen last, with the calls we know of it.
    pub seen: ToolsSeen,
    /// When the list was last seen, UTC.
    pub seen_at: DateTime<Utc>,
    /// In which era it was asked for.
    pub era: Option<Era>,
    /// The accepted list; none until one was stable.
    pub accepted: Option<Baseline>,
}

/// Where a signal stands, its reading, and its incident.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalView {
    /// The signal that is judged.
    pub signal: Signal,
    /// Quiet, pending, open or clearing.
    pub phase: Phase,
    /// What the latest reading says.
    pub level: Level,
    /// The reading in words, such as `p95 1240 ms of 800 ms (n=40)`.
    pub figure: String,
    /// When it got into its phase.
    pub since: DateTime<Utc>,
    /// What holds it back.
    pub held_by: Option<HeldBy>,
    /// The open incident, where there is one.
    pub incident: Option<OpenIncident>,
}

/// What a signal line shows of its incident.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenIncident {
    /// Its id, as it stands in addresses.
    pub id: String,
    /// The failure reason, as page, webhook and runbook name it.
    pub reason: FailureReason,
    /// Whether it wakes somebody, waits for working hours, or is only noted.
    pub severity: Severity,
    /// The headline, one line without markup.
    pub summary: String,
    /// When its signal had been elevated long enough, UTC.
    pub opened_at: DateTime<Utc>,
    /// Since when something is wrong: the first failed beat that led to it.
    pub since: DateTime<Utc>,
    /// What keeps it open although it is calm, where it opened too often.
    pub flapping: Option<Flapping>,
    /// What it is quiet by, such as `explained by incident 0199…`; none where nothing holds it.
    pub quiet: Option<String>,
    /// Whether somebody has acknowledged it.
    pub is_taken: bool,
    /// How many messages there were about it: an open page looks again with each.
    pub sequence: u32,
}

/// What a strip shows of one beat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BeatMark {
    /// When the probe started, UTC.
    pub at: DateTime<Utc>,
    /// Good, degraded, down, or unknown.
    pub verdict: Verdict,
    /// The first finding's reason; none where nothing was found.
    pub reason: Option<FailureReason>,
    /// Duration of the whole probe in milliseconds.
    pub elapsed_ms: f32,
}

impl BeatMark {
    /// Whether it found the server able to answer.
    pub const fn is_well(&self) -> bool {
        matches!(self.verdict, Verdict::Good | Verdict::Degraded)
    }
}

impl DeclaredView {
    /// What a declaration says.
    pub fn of(monitor: &Monitor) -> Self {
        Self {
            name: monitor.name.clone(),
            url: monitor.url.shown.clone(),
            labels: monitor.labels.clone(),
            every: monitor.every,
            stale_after: stale_after(monitor),
            line: monitor.line,
            calls_per_day: monitor.calls_per_day(),
        }
    }
}

/// A canary as declared, and its last answer in words.
#[derive(Debug, Clone, PartialEq)]
pub struct CanaryView {
    /// Its id, as it stands in addresses.
    pub id: String,
    /// Which part of retrieval it tests, such as meaning or exact words.
    pub kind: CanaryKind,
    /// The text given to the search tool.
    pub query: String,
    /// What is expected, in words.
    pub expected: String,
    /// `right`, `wrong` or `failed`; none before the first answer.
    pub verdict: Option<String>,
    /// What came back, in words.
    pub got: String,
    /// Rank of the expected source, from 1.
    pub rank: Option<u32>,
    /// Wrong answers in a row.
    pub wrong_in_a_row: u32,
    /// The first wrong answer of the doubt that it is in; none where nobody doubts it.
    pub doubted_since: Option<DateTime<Utc>>,
    /// When it last answered.
    pub answered_at: Option<DateTime<Utc>>,
    /// Duration of that call in milliseconds.
    pub elapsed_ms: Option<f64>,
}
