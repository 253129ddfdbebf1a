//! From levels to incidents: when one opens, and when it ends.

use chrono::{DateTime, Utc};

use crate::domain::fleet::MonitorId;
use crate::domain::outcome::Evidence;
use crate::domain::paging::notification::RulePlace;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::signal::Signal;

/// One monitor × one signal × one subject, from opening to resolution.
#[derive(Debug, Clone, PartialEq)]
pub struct Incident {
    /// UUIDv7.
    pub id: String,
    /// Whose.
    pub monitor: MonitorId,
    /// Of which signal.
    pub signal: Signal,
    /// Which part of the signal; empty where it has no parts.
    pub subject: String,
    /// How loud.
    pub severity: Severity,
    /// The cause, as of the last update.
    pub reason: FailureReason,
    /// Where it showed, as the stage's word.
    pub stage: String,
    /// One line that starts with the monitor's id.
    pub summary: String,
    /// What was seen when it opened or was last updated.
    pub evidence: Vec<Evidence>,
    /// The rule that led here.
    pub rule: RulePlace,
    /// When it opened.
    pub opened_at: DateTime<Utc>,
    /// When it ended.
    pub resolved_at: Option<DateTime<Utc>>,
    /// Why it ended.
    pub resolve_cause: Option<ResolveCause>,
    /// Who took it, and when.
    pub acknowledged: Option<(String, DateTime<Utc>)>,
    /// The sequence of its latest notification.
    pub sequence: u32,
}

/// Why an incident ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolveCause {
    /// The signal was calm for long enough.
    Recovered,
    /// A newer incident carries the same cause.
    Absorbed {
        /// Which.
        into: String,
    },
    /// The rule was edited, and it no longer warrants an incident.
    RuleChanged,
    /// The monitor was removed from the file.
    MonitorRemoved,
    /// The new tools were accepted.
    Accepted,
}

impl ResolveCause {
    /// The word stored and shown.
    pub const fn slug(&self) -> &'static str {
        match self {
            Self::Recovered => "recovered",
            Self::Absorbed { .. } => "absorbed",
            Self::RuleChanged => "rule_changed",
            Self::MonitorRemoved => "monitor_removed",
            Self::Accepted => "accepted",
        }
    }
}
