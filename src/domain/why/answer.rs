//! The answer and its parts. Every moment is UTC.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::incident::Incident;
use crate::domain::monitor::MonitorId;
use crate::domain::monitor_state::Standing;
use crate::domain::paging::hold::TellingHold;
use crate::domain::rules::RulePlace;
use crate::domain::signal::{Level, Phase, Signal};

/// Beats of each signal that an answer shows, the latest.
pub const LOOKS_SHOWN: usize = 20;
/// Incidents that an answer about a monitor shows, the latest.
pub const INCIDENTS_SHOWN: usize = 20;

/// Why people were told of a monitor or an incident, or were not.
#[derive(Debug, Clone, PartialEq)]
pub struct Why {
    /// Whose server it is about.
    pub monitor: MonitorId,
    /// The id of the incident that was asked about; none where it was the monitor.
    pub incident: Option<String>,
    /// The moment whose readings are told.
    pub at: DateTime<Utc>,
    /// The moment up to which it is told who heard: that of the readings, or of the question where an incident was asked about.
    pub until: DateTime<Utc>,
    /// Whether `until` is the moment of the question.
    pub is_now: bool,
    /// What the record has of the beats until `at`.
    pub record: Record,
    /// The file in force at `at`; none where it is not kept.
    pub file: Option<FileOfThen>,
    /// How each signal stood; empty where no beat of then is kept.
    pub signals: Vec<SignalThen>,
    /// The incident asked about; of a monitor those that were open at `at` or ended in the hour before, the latest first.
    pub incidents: Vec<IncidentThen>,
    /// What the record cannot say, a sentence each.
    pub notes: Vec<String>,
}

/// What is kept of the beats before the moment that is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// They were weighed again.
    Weighed(Weighed),
    /// Beats are kept from this moment on only.
    Gone(DateTime<Utc>),
    /// Nobody looked at it in the days before.
    Unseen,
}

/// Beats that were weighed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighed {
    /// How many.
    pub beats: u64,
    /// When the first of them began.
    pub from: DateTime<Utc>,
    /// When the last of them began that showed something.
    pub last: DateTime<Utc>,
    /// Of a later one that showed nothing, when it was due, and why: `missed`, `internal` or `uplink`.
    pub blind: Option<(DateTime<Utc>, &'static str)>,
    /// How far beats were to be apart.
    pub every: Duration,
}

/// The file that judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOfThen {
    /// Its name.
    pub name: String,
    /// Its commit, where one was known.
    pub commit: Option<String>,
    /// When it came into force.
    pub since: DateTime<Utc>,
}

/// One signal at the moment that is asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalThen {
    /// Which.
    pub signal: Signal,
    /// Reading, level, phase, and what is missing before it opens.
    pub standing: Standing,
    /// When it opens, in words; empty where it is not judged.
    pub opens: String,
    /// When it closes, in words.
    pub closes: String,
    /// Where its rule stands.
    pub rule: RulePlace,
    /// Who would be told if it opened as it stands.
    pub listeners: Vec<Listener>,
    /// What would have nobody told, as silences and windows were at that moment.
    pub quiet: Vec<String>,
    /// Its latest beats, at most [`LOOKS_SHOWN`], the oldest first.
    pub looks: Vec<LookThen>,
}

/// What one beat made of a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookThen {
    /// When it began.
    pub at: DateTime<Utc>,
    /// The figure against its limit.
    pub level: Level,
    /// The figure, empty where there is none.
    pub figure: String,
    /// Where the signal stood after it.
    pub phase: Phase,
}

/// A receiver that a route names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Its name.
    pub receiver: String,
    /// Who hears of it where it cannot be reached.
    pub fallback: Option<String>,
    /// Where the route stands.
    pub route: RulePlace,
}

/// An incident, and what became of telling it.
#[derive(Debug, Clone, PartialEq)]
pub struct IncidentThen {
    /// As it is in the record.
    pub incident: Incident,
    /// When its signal opens, in words of the file that was in force when it opened; empty where that is not kept.
    pub opens: String,
    /// Whom the routes of then tell of it; none where the file of then is not kept.
    pub listeners: Option<Vec<Listener>>,
    /// What held or holds it, the first first.
    pub holds: Vec<HoldThen>,
    /// What was told of it, the first first.
    pub tellings: Vec<ToldThen>,
}

/// A hold, and what it is in words.
#[derive(Debug, Clone, PartialEq)]
pub struct HoldThen {
    /// As it is in the record.
    pub hold: TellingHold,
    /// Such as `silenced by kim: reindexing`.
    pub said: String,
}

/// One delivery of an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldThen {
    /// What was told, such as `incident.opened`.
    pub event: String,
    /// To whom.
    pub receiver: String,
    /// In whose place; none where it is a receiver of its own.
    pub fallback_of: Option<String>,
    /// When that was decided.
    pub at: DateTime<Utc>,
    /// `pending`, `sent` or `dead`.
    pub state: String,
    /// When it was last tried.
    pub tried_at: Option<DateTime<Utc>>,
    /// What the last try was answered, one bounded line; empty where nothing was.
    pub answer: String,
    /// The route that named the receiver; none where the file of then is not kept, or names it nowhere.
    pub route: Option<RulePlace>,
}

impl Why {
    /// The incidents that were open at a moment.
    pub fn open_at(&self, at: DateTime<Utc>) -> impl Iterator<Item = &IncidentThen> {
        self.incidents.iter().filter(move |one| one.is_open(at))
    }
}

impl IncidentThen {
    /// Whether it was open at a moment.
    pub fn is_open(&self, at: DateTime<Utc>) -> bool {
        self.incident.opened_at <= at && self.incident.resolved_at.is_none_or(|end| end > at)
    }
}

impl HoldThen {
    /// Whether it held at a moment.
    pub fn held(&self, at: DateTime<Utc>) -> bool {
        let TellingHold { since, until, ended_at, .. } = &self.hold;
        *since <= at && [until, ended_at].into_iter().flatten().all(|end| *end > at)
    }

    /// When it was over; none where it holds on.
    pub fn over_at(&self) -> Option<DateTime<Utc>> {
        [self.hold.until, self.hold.ended_at].into_iter().flatten().min()
    }
}
