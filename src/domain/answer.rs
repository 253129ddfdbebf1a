//! What a canary was asked, why, and what came back.

use std::time::Duration;

use crate::domain::fault::Fault;

/// One canary of a beat.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// Id of the canary, unique within its monitor.
    pub canary: String,
    /// Its text, or one that pierces caches.
    pub variant: Variant,
    /// Why it was asked, or that it was not.
    pub turn: Turn,
    /// Duration of the call; zero where it was not asked.
    pub elapsed: Duration,
    /// Whether the call opened its own connection.
    pub fresh_connection: bool,
    /// What came back; none where it was not asked.
    pub result: Option<Result<Answer, Fault>>,
}

/// Which text of a canary was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Variant {
    /// The text of the file, the same in each beat: caches may answer it.
    Plain,
    /// A text that was never asked before, so that no cache answers it.
    Fresh,
}

impl Variant {
    /// The word stored and shown.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Fresh => "fresh",
        }
    }

    /// The variant a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        [Self::Plain, Self::Fresh].into_iter().find(|variant| variant.slug() == slug)
    }
}

/// Why a canary was on this beat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Turn {
    /// Its turn in the round.
    Scheduled,
    /// Outside the round: it was wrong last time, or others are and it was not asked since. Out of every percentile and
    /// share, since it was not asked by chance.
    ReAsk,
    /// No time was left, or the server could not be reached: neither good nor bad.
    NotAsked,
}

impl Turn {
    /// The word stored and shown.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::ReAsk => "re-ask",
            Self::NotAsked => "not_asked",
        }
    }

    /// The turn a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        [Self::Scheduled, Self::ReAsk, Self::NotAsked].into_iter().find(|turn| turn.slug() == slug)
    }
}

/// A search tool's answer, reduced to what is judged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Results in the order given, at most [`HITS_MAX`].
    pub hits: Vec<Hit>,
    /// How many there are in all, as the server says.
    pub total: Option<u64>,
    /// What the server says of itself in the answer, such as `degraded: true`, at most a handful.
    pub self_reported: Vec<String>,
    /// Length of the JSON-RPC result in bytes.
    pub bytes: u64,
    /// Tokens of what a model would read of it; none where they were not counted.
    pub tokens: Option<u32>,
    /// What a model would read of it, only until the probe has counted its tokens.
    pub text: Option<Box<str>>,
}

/// Results kept of one answer.
pub const HITS_MAX: usize = 50;

/// One result of a search, in the order of the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The source's name; empty where none was found.
    pub source: String,
    /// The score; none where there is none or it is not a number.
    pub score: Option<f64>,
    /// Characters of the whole text, of which `excerpt` is the beginning.
    pub chars: u32,
    /// The first words of the text, bounded, for the evidence.
    pub excerpt: String,
}
