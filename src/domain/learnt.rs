//! What earlier probes learnt about a server, and the next one uses: how it speaks, and what hurts it.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::domain::protocol::{Era, FRAGILE_UP_TO, Transport};

/// What is known of a server between probes. Kept over restarts of Serin; forgotten when the address changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Learnt {
    /// The era found. One bad answer does not end it.
    pub era: Option<Era>,
    /// The transport found, with the era.
    pub transport: Option<Transport>,
    /// When they were found.
    pub era_found_at: Option<DateTime<Utc>>,
    /// Whether the beat before had to go on in the other era. Not kept over restarts.
    pub era_in_doubt: bool,
    /// The legacy version that `initialize` was answered with last.
    pub answered: Option<&'static str>,
    /// The session that probes share, since closing one may bring this server down.
    pub kept: Option<Arc<KeptSession>>,
    /// What was last done to it for the first time. Not kept over restarts.
    pub deed: Option<Deed>,
    /// Whether `server/discover` brings the server down, as it does two old releases in the field.
    pub discover: Caution,
    /// Whether closing a session brings the server down.
    pub closing: Caution,
    /// Whether the last stranger was let in, where the file says that none is: each beat looks again then.
    pub admits_strangers: bool,
    /// When the certificate seen last ends: a resumed TLS session shows none.
    pub certificate_until: Option<DateTime<Utc>>,
}

impl Learnt {
    /// Era and transport were found.
    pub fn found(&mut self, era: Era, transport: Transport, now: DateTime<Utc>) {
        self.era = Some(era);
        self.transport = Some(transport);
        self.era_found_at = Some(now);
    }

    /// Whether it may be a release that dies of what newer ones take: it answers with a version they do not know.
    pub fn may_be_fragile(&self) -> bool {
        self.answered.is_some_and(|version| version <= FRAGILE_UP_TO)
    }

    /// Takes over what protects the server from another memory of it.
    pub fn heed(&mut self, other: &Self) {
        for (own, theirs) in [(&mut self.discover, other.discover), (&mut self.closing, other.closing)] {
            if theirs == Caution::Harmful {
                *own = theirs;
            }
        }
        self.answered = other.answered.or(self.answered);
        self.kept.clone_from(&other.kept);
    }
}

/// A session that is left open over beats, and used by each of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSession {
    /// As the server named it.
    pub id: String,
    /// The version agreed on in it.
    pub version: &'static str,
    /// When it was opened.
    pub opened_at: DateTime<Utc>,
}

/// Something we did that servers were seen to die of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deed {
    /// What.
    pub what: Doing,
    /// When.
    pub at: DateTime<Utc>,
}

/// What servers were seen to die of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// A first `server/discover`.
    Discover,
    /// A first DELETE of a session, or a first stream that was closed.
    Closing,
}

impl Doing {
    /// As an incident tells it.
    pub const fn said(self) -> &'static str {
        match self {
            Self::Discover => "Serin sent this server a server/discover",
            Self::Closing => "Serin closed a session of this server for the first time",
        }
    }
}

/// Whether a thing we do was seen to hurt a server (MCP.md, "Do no harm").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Caution {
    /// Not looked at yet.
    #[default]
    Unchecked,
    /// The server still answered after it.
    Harmless,
    /// The server no longer answered after it: never done again.
    Harmful,
}

impl Caution {
    /// The word stored and shown.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Unchecked => "unchecked",
            Self::Harmless => "harmless",
            Self::Harmful => "harmful",
        }
    }

    /// The finding a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        [Self::Unchecked, Self::Harmless, Self::Harmful].into_iter().find(|caution| caution.slug() == slug)
    }
}
