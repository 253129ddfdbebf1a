//! What is judged over time, and the words for how a signal stands.

use std::borrow::Cow;
use std::time::Duration;

use chrono::{DateTime, Utc};

/// What is judged over time, each with a state of its own, so that one colour never hides another.
///
/// The order is the order in which one beat's levels are decided: availability first, health last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Signal {
    /// Transport, protocol, handshake and tools faults.
    Availability,
    /// Credentials and certificates.
    Access,
    /// The share of failed search calls.
    Errors,
    /// P95 of search calls over the rule's window.
    Latency,
    /// tools/list against the baseline.
    Contract,
    /// Whether canaries get the answers they should.
    Quality,
    /// How long ago any source was indexed.
    Freshness,
    /// What the server's health addresses say.
    Health,
}

impl Signal {
    /// Every signal, in the order of decision.
    pub const ALL: [Self; 8] = [
        Self::Availability,
        Self::Access,
        Self::Errors,
        Self::Latency,
        Self::Contract,
        Self::Quality,
        Self::Freshness,
        Self::Health,
    ];

    /// The word used in YAML, table and page.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Availability => "availability",
            Self::Access => "access",
            Self::Errors => "errors",
            Self::Latency => "latency",
            Self::Contract => "contract",
            Self::Quality => "quality",
            Self::Freshness => "freshness",
            Self::Health => "health",
        }
    }

    /// The signal a word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.slug() == slug)
    }
}

/// What keeps an elevated signal from opening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldBy {
    /// Another signal, which tells of the same cause.
    Signal(Signal),
    /// The server restarted or is warming its cache.
    ColdStart,
}

impl HeldBy {
    /// The word used in table and page.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Signal(signal) => signal.slug(),
            Self::ColdStart => "cold_start",
        }
    }

    /// What a word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Signal::from_slug(slug).map(Self::Signal).or_else(|| (slug == "cold_start").then_some(Self::ColdStart))
    }
}

/// What a window or a beat says of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// Within its limit.
    Calm,
    /// Above its limit.
    Elevated,
    /// Not seen, or too few samples: neither good nor bad.
    Unknown,
}

impl Level {
    /// Every level, in the order of the numbers by which packs know them.
    pub const ALL: [Self; 3] = [Self::Calm, Self::Elevated, Self::Unknown];

    /// The word stored and shown.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::Elevated => "elevated",
            Self::Unknown => "unknown",
        }
    }
}

/// Where a signal is on its way to an incident and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Nothing to tell.
    Quiet,
    /// Elevated, not yet for long enough.
    Pending,
    /// Over its limit for long enough: an incident is open.
    Open,
    /// An incident is open and the signal is calm, not yet for long enough.
    Clearing,
}

impl Phase {
    /// The word stored and shown.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Pending => "pending",
            Self::Open => "open",
            Self::Clearing => "clearing",
        }
    }

    /// The phase a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        [Self::Quiet, Self::Pending, Self::Open, Self::Clearing].into_iter().find(|phase| phase.slug() == slug)
    }

    /// Whether an incident is open.
    pub const fn has_incident(self) -> bool {
        matches!(self, Self::Open | Self::Clearing)
    }
}

/// One signal's state, as it is kept between beats and over restarts.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalState {
    /// Quiet, pending, open or clearing.
    pub phase: Phase,
    /// When it got into its phase, UTC.
    pub since: DateTime<Utc>,
    /// Readings in a row that speak for leaving the phase (Pending, Clearing); 0 otherwise.
    pub streak: u32,
    /// Covered time since the first of them; unseen time does not count.
    pub covered: Micros,
    /// Why an elevated signal does not open, where something holds it back.
    pub held_by: Option<HeldBy>,
}

/// A length of time in half the room of a [`Duration`]: a monitor keeps eight of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(u64);

impl Micros {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// This and so much more.
    pub fn and(self, more: Duration) -> Self {
        Self::from(self.length() + more)
    }

    /// The length, to the microsecond.
    pub const fn length(self) -> Duration {
        Duration::from_micros(self.0)
    }
}

impl From<Duration> for Micros {
    fn from(length: Duration) -> Self {
        Self(u64::try_from(length.as_micros()).unwrap_or(u64::MAX))
    }
}

impl SignalState {
    /// A signal nobody has looked at yet.
    pub const fn quiet(since: DateTime<Utc>) -> Self {
        Self { phase: Phase::Quiet, since, streak: 0, covered: Micros::ZERO, held_by: None }
    }
}

/// A figure in a window, with the number of samples behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The figure against the rule's limit.
    pub level: Level,
    /// The figure as a page shows it, such as `p95 1240 ms` or `3 of 40 failed`; empty where there is none.
    pub figure: Cow<'static, str>,
    /// Samples behind the figure.
    pub samples: u32,
}
