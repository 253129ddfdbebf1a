//! What lists and metrics read of every monitor at once: borrowed from where it stands, so that a look over a fleet
//! copies nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::context::Spread;
use crate::domain::monitor::CanaryKind;
use crate::domain::observation::Footprint;
use crate::domain::rate_limit::Hold;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::signal::{Phase, Signal};

/// What the file says of a monitor, as far as lists are narrowed by it.
#[derive(Debug, Clone, Copy)]
pub struct DeclaredGlance<'a> {
    /// `name` of the file, else the id.
    pub name: &'a str,
    /// The address as it may be shown.
    pub url: &'a str,
    /// Labels of the file, as routes and filters match them.
    pub labels: &'a BTreeMap<String, String>,
    /// The age from which on what was seen says nothing of now.
    pub stale_after: Duration,
}

/// How a monitor's canaries were answered when each was last asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CanariesGlance {
    /// Those that were answered rightly.
    pub right: usize,
    /// Those that were answered wrongly, or not at all.
    pub not_right: usize,
    /// Those that ask for what is there, as far as they were ever asked: an index that is gone answers the others rightly.
    pub finding: usize,
    /// Those of them that were answered rightly.
    pub found: usize,
}

impl FromIterator<(CanaryKind, bool)> for CanariesGlance {
    /// Of each canary that was ever asked its kind, and whether its last answer was right.
    fn from_iter<Canaries: IntoIterator<Item = (CanaryKind, bool)>>(canaries: Canaries) -> Self {
        canaries.into_iter().fold(Self::default(), |mut sum, (kind, is_right)| {
            let finds = usize::from(kind != CanaryKind::Negative);
            sum.right += usize::from(is_right);
            sum.not_right += usize::from(!is_right);
            sum.finding += finds;
            sum.found += finds * usize::from(is_right);
            sum
        })
    }
}

/// Where a signal stands, and its incident.
#[derive(Debug, Clone, Copy)]
pub struct SignalGlance<'a> {
    /// The signal that is judged.
    pub signal: Signal,
    /// Quiet, pending, open or clearing.
    pub phase: Phase,
    /// The open incident, where there is one.
    pub incident: Option<IncidentGlance<'a>>,
}

/// An open incident, as far as it is counted and looked up.
#[derive(Debug, Clone, Copy)]
pub struct IncidentGlance<'a> {
    /// Its id, as it stands in addresses.
    pub id: &'a str,
    /// The failure reason, as page, webhook and runbook name it.
    pub reason: FailureReason,
    /// Whether it wakes somebody, waits for working hours, or is only noted.
    pub severity: Severity,
    /// Whether somebody has acknowledged it.
    pub is_taken: bool,
    /// Whether anything keeps it quiet: a silence, a window, what explains it.
    pub is_quiet: bool,
}

/// A monitor's figures.
#[derive(Debug, Clone, Copy)]
pub struct FiguresGlance<'a> {
    /// When a beat last showed us anything, UTC; none before the first.
    pub seen_at: Option<DateTime<Utc>>,
    /// How its canaries were answered.
    pub canaries: CanariesGlance,
    /// Seen ÷ due time over the last 24 h, 0–1; none before the first beat.
    pub coverage: Option<f64>,
    /// Tokens of the list of tools seen last; none where they were not counted.
    pub tools_tokens: Option<u32>,
    /// Tokens of the canaries' answers since Serin started.
    pub answer_tokens: &'a Spread,
    /// What probes cost the server today (UTC).
    pub spent_today: Footprint,
    /// Why the next beat of the schedule is not made, where it is held back.
    pub hold: Option<Hold>,
}
