//! What one observation means: the judgement, before any patience.

use crate::domain::observation::Stage;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::signal::{Level, Signal};

/// What one probe means: a verdict, and the findings it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The beat as one word, for the strip and the exit code.
    pub verdict: Verdict,
    /// Everything wrong, the leading cause first; at most one for each signal.
    pub findings: Vec<Finding>,
    /// The judgement of each ask, in the order of the observation.
    pub asks: Vec<AskVerdict>,
}

impl Outcome {
    /// What this beat says of one signal.
    pub fn finding(&self, signal: Signal) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.signal == signal)
    }

    /// The first finding's reason; none where nothing was found.
    pub fn reason(&self) -> Option<FailureReason> {
        let told = self.findings.first().map(|finding| finding.reason);
        // What will happen in some days makes no beat bad today.
        told.filter(|_| self.verdict != Verdict::Good)
    }
}

/// A beat as one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Everything that was looked at was well.
    Good,
    /// Something was wrong, though the server could be asked.
    Degraded,
    /// The server could not be asked at all.
    Down,
    /// Nothing was seen: our own trouble.
    Unknown,
}

impl Verdict {
    /// The word stored and shown.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Degraded => "degraded",
            Self::Down => "down",
            Self::Unknown => "unknown",
        }
    }

    /// The verdict a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        [Self::Good, Self::Degraded, Self::Down, Self::Unknown].into_iter().find(|verdict| verdict.slug() == slug)
    }
}

/// What one beat says of one signal: its level, and why where that is elevated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Judged {
    /// Within its limit, above it, or not seen.
    pub level: Level,
    /// With what reason an incident would open.
    pub reason: Option<FailureReason>,
}

impl Judged {
    /// Not looked at.
    pub const UNKNOWN: Self = Self { level: Level::Unknown, reason: None };
}

/// One thing wrong in one beat.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The signal it feeds; follows from reason and stage (DESIGN §5).
    pub signal: Signal,
    /// The failure reason, as page, webhook and runbook name it.
    pub reason: FailureReason,
    /// How loud, where the finding itself decides (contract classes); else the rule's.
    pub severity: Option<Severity>,
    /// The stage of the probe in which it showed.
    pub stage: Stage,
    /// One line, without the monitor's name.
    pub summary: String,
    /// Key and value of each thing seen, in the order in which it is shown.
    pub evidence: Vec<Evidence>,
}

/// What stands before what was seen, where a canary was asked in other words.
pub(crate) const IN_OTHER_WORDS: &str = "in other words: ";

/// One piece of evidence: a short name and a bounded line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// What it is, in `snake_case`.
    pub key: String,
    /// What was seen, as one line for people.
    pub value: String,
}

impl Evidence {
    /// `key` names what was looked at, `value` says what was seen.
    pub fn new(key: &str, value: impl Into<String>) -> Self {
        Self { key: key.to_owned(), value: value.into() }
    }
}

/// Whether a canary got what it declares, as [`AskVerdict::slug`] is stored.
#[derive(Debug, Clone, PartialEq)]
pub enum AskVerdict {
    /// An expected source came back in time and high enough; or nothing did, where nothing should.
    Right {
        /// Rank of the expected source, from 1; none for a negative canary.
        rank: Option<u32>,
    },
    /// An answer came, and not the one declared.
    Wrong {
        /// What it is counted as.
        reason: FailureReason,
        /// Rank of the expected source, where it was found beyond `within`.
        rank: Option<u32>,
        /// One line of what was seen instead.
        seen: String,
    },
    /// No answer: that is never a matter of quality.
    Failed {
        /// What it is counted as.
        reason: FailureReason,
    },
    /// Not asked: neither good nor bad.
    NotAsked,
}

impl AskVerdict {
    /// The word stored and shown.
    pub const fn slug(&self) -> &'static str {
        match self {
            Self::Right { .. } => "right",
            Self::Wrong { .. } => "wrong",
            Self::Failed { .. } => "failed",
            Self::NotAsked => "not_asked",
        }
    }
}
