//! One thing to say, and why now.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::domain::incident::Incident;
use crate::domain::outcome::Evidence;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::rules::RulePlace;

/// One thing to say to people.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// UUIDv7; constant over all attempts and receivers.
    pub id: String,
    /// Its place among the notifications of its incident, from 1; 1 where there is no incident.
    pub sequence: u32,
    /// Opened, updated, resolved, restarted or a test.
    pub event: Event,
    /// When it was decided, UTC.
    pub at: DateTime<Utc>,
    /// The incident as it stood then, where there is one.
    pub incident: Option<Incident>,
    /// The monitor that it is about, as messages show it; with an empty id where it is about none.
    pub monitor: MonitorCard,
    /// The cause, where there is one.
    pub reason: Option<FailureReason>,
    /// Where it showed, as the stage's word.
    pub failed_stage: Option<String>,
    /// Whether it wakes somebody, waits for working hours, or is only noted.
    pub severity: Severity,
    /// One line that starts with the monitor's id.
    pub summary: String,
    /// Key and value of each thing seen, in the order in which it is shown.
    pub evidence: Vec<Evidence>,
    /// What would resolve it, as a sentence.
    pub resolves_when: Option<String>,
    /// The team's own runbook, or else the page of Serin's.
    pub runbook_url: String,
    /// Where the incident's page is.
    pub incident_url: Option<String>,
    /// The rule that led here.
    pub rule: Option<RulePlace>,
    /// The command that repeats the probe; empty where there is none.
    pub reproduce: String,
    /// What its route puts together with others, such as `team=docs`.
    pub group_key: Option<String>,
}

impl Notification {
    /// Whether it is news of something that wakes somebody.
    pub const fn is_loud(&self) -> bool {
        use Event as E;
        let is_news =
            matches!(self.event, E::IncidentOpened | E::IncidentUpdated | E::IncidentReminder | E::IncidentEscalated);
        is_news && matches!(self.severity, Severity::Page)
    }
}

/// What a message shows of a monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorCard {
    /// Its id, as it stands in addresses.
    pub id: String,
    /// `name` of the file, else the id.
    pub name: String,
    /// The address as it may be shown.
    pub url: String,
    /// Labels of the file, as routes and filters match them.
    pub labels: BTreeMap<String, String>,
}

/// What happened (DESIGN §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// A signal was elevated for as long as its rule says.
    IncidentOpened,
    /// Its reason, severity or extent changed.
    IncidentUpdated,
    /// Still open.
    IncidentReminder,
    /// Nobody reacted.
    IncidentEscalated,
    /// A person took it.
    IncidentAcknowledged,
    /// It recovered, or what it was about is gone.
    IncidentResolved,
    /// The server restarted, and its sessions with it where it has any.
    ServerRestarted,
    /// The list of tools differs from the accepted one.
    ContractChanged,
    /// Nothing is wrong: somebody wants to know who would hear of it.
    Drill,
    /// A drill is over, for those where it would stay open.
    DrillOver,
}

impl Event {
    /// All ten, for whatever goes over them.
    pub const ALL: [Self; 10] = [
        Self::IncidentOpened,
        Self::IncidentUpdated,
        Self::IncidentReminder,
        Self::IncidentEscalated,
        Self::IncidentAcknowledged,
        Self::IncidentResolved,
        Self::ServerRestarted,
        Self::ContractChanged,
        Self::Drill,
        Self::DrillOver,
    ];

    /// The event a word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.slug() == slug)
    }

    /// The word used in webhook and table.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::IncidentOpened => "incident.opened",
            Self::IncidentUpdated => "incident.updated",
            Self::IncidentReminder => "incident.reminder",
            Self::IncidentEscalated => "incident.escalated",
            Self::IncidentAcknowledged => "incident.acknowledged",
            Self::IncidentResolved => "incident.resolved",
            Self::ServerRestarted => "server.restarted",
            Self::ContractChanged => "contract.changed",
            Self::Drill => "drill",
            Self::DrillOver => "drill.over",
        }
    }
}
