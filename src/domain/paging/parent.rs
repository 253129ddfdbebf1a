//! How what a monitor depends on stands, and when that is why it fails.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::incident::Incident;
use crate::domain::monitor::Monitor;
use crate::domain::paging::hold::{HoldKind, Holding};
use crate::domain::secret::Address;
use crate::domain::signal::Signal;

/// Nobody waits longer for a parent's verdict, however rarely it is looked at.
pub const VERDICT_WITHIN: Duration = Duration::from_secs(60);

/// How a parent stands when its child is decided about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentStand {
    /// As a hold names it.
    pub name: String,
    /// Whether it is down, and people know or want to hear nothing of it.
    pub is_down: bool,
    /// Whether it fails and is not confirmed to be down yet.
    pub is_in_doubt: bool,
    /// When it was last looked at, UTC; none: not since Serin started.
    pub seen_at: Option<DateTime<Utc>>,
    /// How long after a child opened its verdict is waited for.
    pub verdict_within: Duration,
}

impl ParentStand {
    /// Of a monitor, as whoever watches it has it: whether it is down, and in doubt.
    pub fn of(monitor: &Monitor, (is_down, is_in_doubt): (bool, bool), seen_at: Option<DateTime<Utc>>) -> Self {
        Self {
            name: monitor.id.to_string(),
            is_down,
            is_in_doubt,
            seen_at,
            verdict_within: (monitor.rules.availability.page_after + monitor.every).min(VERDICT_WITHIN),
        }
    }

    /// Of an address that was asked just now.
    pub fn answered(address: &Address, answers: bool, now: DateTime<Utc>) -> Self {
        Self {
            name: address.shown.clone(),
            is_down: !answers,
            is_in_doubt: false,
            seen_at: Some(now),
            verdict_within: Duration::ZERO,
        }
    }

    /// How it holds an incident of its child, where it does: until it is up again, or until its verdict is there.
    pub(crate) fn holds<'a>(&'a self, child: &Monitor, incident: &Incident, now: DateTime<Utc>) -> Option<Holding<'a>> {
        let holding = |until| Some(Holding { kind: HoldKind::Parent, by: &self.name, until });
        if self.is_down {
            return holding(None);
        }
        let before = match incident.signal {
            Signal::Availability => child.rules.availability.page_after,
            _ => child.every,
        };
        // By a clock that was set back since, it opened just now.
        let opened_at = incident.opened_at.min(now);
        let failed_at = opened_at - TimeDelta::from_std(before).unwrap_or_default();
        let verdict_at = opened_at + TimeDelta::from_std(self.verdict_within).unwrap_or_default();
        let is_open = self.is_in_doubt || self.seen_at.is_none_or(|at| at < failed_at);
        if is_open && opened_at == incident.opened_at && now < verdict_at { holding(Some(verdict_at)) } else { None }
    }
}
