//! What earlier probes learnt about a server, and the next one uses: how it speaks, and what hurts it.

use chrono::{DateTime, Utc};

use crate::domain::protocol::{Era, Transport};

/// What is known of a server between probes. Kept over restarts of Serin; forgotten when the address changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Learnt {
    /// The era found; forgotten after a failure that could mean it changed.
    pub era: Option<Era>,
    /// The transport found, with the era.
    pub transport: Option<Transport>,
    /// When they were found.
    pub era_found_at: Option<DateTime<Utc>>,
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

    /// Era and transport are open again; what hurts the server stays known.
    pub fn forget_era(&mut self) {
        self.era = None;
        self.transport = None;
        self.era_found_at = None;
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
