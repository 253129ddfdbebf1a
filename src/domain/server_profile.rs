//! What earlier probes learnt about a server, and the next one uses: how it speaks, and what hurts it.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::domain::protocol::{Era, FRAGILE_UP_TO, Transport};

/// What is known of a server between probes. Kept over restarts of Serin; forgotten when the address changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerProfile {
    /// The era found. One bad answer does not end it.
    pub era: Option<Era>,
    /// The transport found, with the era.
    pub transport: Option<Transport>,
    /// When era and transport were found, UTC; they are looked at again about daily.
    pub era_found_at: Option<DateTime<Utc>>,
    /// Whether the beat before had to go on in the other era. Not kept over restarts.
    pub era_in_doubt: bool,
    /// The legacy version that `initialize` was answered with last.
    pub answered: Option<&'static str>,
    /// The session that probes share, since closing one may bring this server down.
    pub kept: Option<Arc<KeptSession>>,
    /// What was last done to it for the first time. Not kept over restarts.
    pub recent_action: Option<RecentAction>,
    /// Whether `server/discover` brings the server down, as it does two old releases in the field.
    pub discover: Caution,
    /// Whether closing a session brings the server down.
    pub closing: Caution,
    /// Whether the last stranger was let in, where the file says that none is: each beat looks again then.
    pub admits_strangers: bool,
    /// When the certificate seen last ends: a resumed TLS session shows none.
    pub certificate_until: Option<DateTime<Utc>>,
}

impl ServerProfile {
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

    /// Whether a session is to stay open: as the file says in `close_sessions`, unless the server was seen to go down with
    /// one. `answered` is the legacy version agreed on in this very probe, where it came to that.
    pub fn spares(&self, close_sessions: Option<bool>, session: &[u8], answered: Option<&str>) -> bool {
        if self.closing == Caution::Harmful {
            return true;
        }
        match close_sessions {
            Some(close) => !close,
            None => self.era != Some(Era::Modern) && may_kill(session, answered.or(self.answered)),
        }
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

/// Whether closing this session may bring its server down: the Python SDK up to 1.9.4 names sessions by 32 hexadecimal
/// digits and knows no version after 2025-03-26. Where no version was answered, it may be one of those.
fn may_kill(session: &[u8], answered: Option<&str>) -> bool {
    let by_that_sdk = session.len() == 32 && session.iter().all(u8::is_ascii_hexdigit);
    by_that_sdk && answered.is_none_or(|version| version <= FRAGILE_UP_TO)
}

/// A session that is left open over beats, and used by each of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSession {
    /// As the server named it.
    pub id: String,
    /// The version agreed on in it.
    pub version: &'static str,
    /// When a probe opened it, UTC.
    pub opened_at: DateTime<Utc>,
}

/// Something we did that servers were seen to die of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecentAction {
    /// The request that may have brought it down.
    pub what: RiskyAction,
    /// When it was sent, UTC.
    pub at: DateTime<Utc>,
}

/// What servers were seen to die of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RiskyAction {
    /// A first `server/discover`.
    Discover,
    /// A first DELETE of a session, or a first stream that was closed.
    Closing,
}

impl RiskyAction {
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
    /// Never asked, so nobody knows.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_releases_that_die_with_them_stay_open() {
        const PYTHON: &str = "0123456789abcdef0123456789abcdef";
        const OTHER: &str = "01234567-89ab-cdef-0123-456789abcdef";
        let of = |closing, era, known| ServerProfile { closing, era, answered: known, ..ServerProfile::default() };
        let open = |answered| of(Caution::Unchecked, None, answered);
        let (old, oldest, newer) = (Some("2025-03-26"), Some("2024-11-05"), Some("2025-06-18"));
        type Row = (&'static str, Option<bool>, ServerProfile, &'static str, Option<&'static str>, bool);
        let rows: Vec<Row> = vec![
            ("an old version and that SDK's id", None, open(None), PYTHON, old, true),
            ("the oldest version", None, open(None), PYTHON, oldest, true),
            ("in capitals", None, open(None), "0123456789ABCDEF0123456789ABCDEF", old, true),
            ("an old version and an id of another form", None, open(None), OTHER, old, false),
            ("a digit more", None, open(None), "0123456789abcdef0123456789abcdef0", old, false),
            ("a newer version", None, open(None), PYTHON, newer, false),
            ("no version yet: an error reply opened it", None, open(None), PYTHON, None, true),
            ("no version yet, and it answered a newer one before", None, open(newer), PYTHON, None, false),
            ("no version yet, and it answered an old one before", None, open(old), PYTHON, None, true),
            ("a server of the modern era", None, of(Caution::Unchecked, Some(Era::Modern), None), PYTHON, None, false),
            ("the file says to close", Some(true), open(None), PYTHON, old, false),
            ("the file says not to", Some(false), open(None), OTHER, newer, true),
            (
                "it went down once, whatever the file says",
                Some(true),
                of(Caution::Harmful, None, None),
                OTHER,
                newer,
                true,
            ),
        ];
        for (sentence, close, profile, session, answered, expected) in rows {
            assert_eq!(profile.spares(close, session.as_bytes(), answered), expected, "{sentence}");
        }
    }
}
