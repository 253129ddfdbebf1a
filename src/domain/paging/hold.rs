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
    /// Which one: the id of the incident that explains this one, the id of a silence, or `file:line@commit` of a window.
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
    /// Somebody silenced it.
    Silence,
    /// It came in a maintenance window of the file.
    Window,
    /// Something that its monitor depends on is down, or is about to be confirmed so.
    Parent,
    /// A list brought its monitor in, and it has never worked: nobody relies on it yet.
    Quarantine,
}

/// What holds an incident just now, before it is noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holding<'a> {
    /// What sort of thing it is.
    pub kind: HoldKind,
    /// Which one, as [`TellingHold::by`].
    pub by: &'a str,
    /// When it ends by itself, UTC.
    pub until: Option<DateTime<Utc>>,
}

impl HoldKind {
    /// The word that stands in the database and in the API for it.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Cause => "cause",
            Self::Silence => "silence",
            Self::Window => "window",
            Self::Parent => "parent",
            Self::Quarantine => "quarantine",
        }
    }

    /// Whether people wanted to hear nothing of it, so that they hear of what is left as soon as that is over.
    pub const fn is_quiet(self) -> bool {
        matches!(self, Self::Silence | Self::Window)
    }

    /// What a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        let all = [Self::Cause, Self::Silence, Self::Window, Self::Parent, Self::Quarantine];
        all.into_iter().find(|kind| kind.slug() == slug)
    }
}

impl TellingHold {
    /// Whether it says why the incident is seen, so that this has to outlast it. Who only waits for a verdict knows nothing.
    pub const fn explains(&self) -> bool {
        match self.kind {
            HoldKind::Cause | HoldKind::Quarantine => true,
            HoldKind::Parent => self.until.is_none(),
            HoldKind::Silence | HoldKind::Window => false,
        }
    }

    /// Whether what is left after it is told at once, without another look.
    pub const fn is_told_after(&self) -> bool {
        self.kind.is_quiet() || matches!(self.kind, HoldKind::Parent) && self.until.is_some()
    }

    /// An incident is explained by another from now on, until that one ends.
    pub fn by_cause(incident: &str, by: &str, now: DateTime<Utc>) -> Self {
        Self::begun(incident, HoldKind::Cause, by, None, now)
    }

    /// Something holds an incident from now on.
    pub fn begun(incident: &str, kind: HoldKind, by: &str, until: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Self {
        let (incident, by) = (incident.to_owned(), by.to_owned());
        Self { incident, kind, by, since: now, until, ended_at: None }
    }

    /// It holds no longer, since now or since it ended by itself.
    pub fn end(&mut self, now: DateTime<Utc>) {
        self.ended_at.get_or_insert(self.until.filter(|until| *until < now).unwrap_or(now));
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
            HoldKind::Silence => format!("silenced ({})", self.by),
            HoldKind::Window => format!("in maintenance ({})", self.by),
            HoldKind::Parent if self.until.is_none() => format!("behind {}, which is down", self.by),
            HoldKind::Parent => format!("behind {}, which is being looked at", self.by),
            HoldKind::Quarantine => format!("in quarantine: listed by {}, and never worked", self.by),
        }
    }
}
