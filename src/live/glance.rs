//! What lists and metrics read of every monitor at once: borrowed from where it stands, so that a look over a fleet
//! copies nothing.

use std::collections::BTreeMap;

use crate::domain::context::Spread;
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
}

/// A monitor's figures.
#[derive(Debug, Clone, Copy)]
pub struct FiguresGlance<'a> {
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
