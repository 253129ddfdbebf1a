//! Drills as they are written down.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::store::values::change_set::Outgoing;

/// A drill that is told now, or that was missed.
#[derive(Debug, Clone, PartialEq)]
pub struct DrillRun {
    /// Of this run, a UUIDv7.
    pub id: String,
    /// Which drill of the file.
    pub drill: String,
    /// The moment it was due at.
    pub due_at: DateTime<Utc>,
    /// When it began.
    pub begun_at: DateTime<Utc>,
    /// The line of the file, such as `monitors.yaml:12`.
    pub place: String,
    /// One message for each receiver, whose first addressee it is; none where the drill was missed.
    pub calls: Vec<Outgoing>,
    /// How long each may take.
    pub timeout: Duration,
}

/// What came of a drill at a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrillOutcome {
    /// From the promise to its yes; none where it did not accept it in time.
    pub took: Option<Duration>,
    /// What the last try was answered, where it did not; empty where it was not tried.
    pub answer: String,
}

/// What a receiver is to be asked for no longer.
#[derive(Debug, Clone, PartialEq)]
pub struct DrillEnd {
    /// Id of the run.
    pub run: String,
    /// Who was told.
    pub receiver: String,
    /// Id of the message that was to be accepted.
    pub notification: String,
    /// When this is.
    pub now: DateTime<Utc>,
    /// Whether its time is over: what it did not accept by now is given up.
    pub is_late: bool,
    /// That it is over, to all those where it would stay open; whoever was not told of the drill does not hear it.
    pub end: Outgoing,
}
