//! Since when nobody has an incident that people know of: from then on reminders and escalations are counted.

use chrono::{DateTime, Utc};

/// Since when nobody has an incident, and up to when what follows was told, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unclaimed {
    /// When people were told, or when it was given back.
    pub since: DateTime<Utc>,
    /// Up to when what follows was told.
    pub told_until: DateTime<Utc>,
}

impl Unclaimed {
    /// From now on.
    pub const fn since(now: DateTime<Utc>) -> Self {
        Self { since: now, told_until: now }
    }

    /// A clock that was set back must not put it off beyond what it would take from now.
    pub fn follow_clock(&mut self, now: DateTime<Utc>) {
        (self.since, self.told_until) = (self.since.min(now), self.told_until.min(now));
    }
}
