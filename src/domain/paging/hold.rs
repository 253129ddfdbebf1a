//! What keeps an open incident from being told, for how long, and what it is.

use chrono::{DateTime, Utc};

/// Why people are not told of an incident just now. It holds what is said, never the incident: that opened, is counted and
/// shown all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TellingHold {
    /// Id of the incident that is held.
    pub incident: String,
    /// What sort of thing holds it.
    pub kind: HoldKind,
    /// Which one: of a cause, the id of the incident that explains this one.
    pub by: String,
    /// Since when, UTC.
    pub since: DateTime<Utc>,
    /// When it ends by itself, UTC; none where it ends with what holds.
    pub until: Option<DateTime<Utc>>,
    /// When it ended, UTC; none while it holds.
    pub ended_at: Option<DateTime<Utc>>,
}

/// What can hold an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HoldKind {
    /// Another incident of the same monitor explains it, and was told.
    Cause,
}

impl HoldKind {
    /// The word that stands in the database and in the API for it.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Cause => "cause",
        }
    }

    /// What a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        [Self::Cause].into_iter().find(|kind| kind.slug() == slug)
    }
}

impl TellingHold {
    /// An incident is explained by another from now on, until that one ends.
    pub fn by_cause(incident: &str, by: &str, now: DateTime<Utc>) -> Self {
        let (incident, by) = (incident.to_owned(), by.to_owned());
        Self { incident, kind: HoldKind::Cause, by, since: now, until: None, ended_at: None }
    }

    /// Whether it still holds.
    pub fn is_live(&self, now: DateTime<Utc>) -> bool {
        self.ended_at.is_none() && self.until.is_none_or(|until| until > now)
    }

    /// When it came to its end, UTC; none while it holds.
    pub fn over_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.ended_at.or(self.until.filter(|until| *until <= now))
    }

    /// What it is quiet by, in words: `explained by incident 0199…`.
    pub fn said(&self) -> String {
        match self.kind {
            HoldKind::Cause => format!("explained by incident {}", self.by),
        }
    }
}
