//! What one attempt is made of, and what comes of it.

use chrono::{DateTime, Utc};

use crate::domain::paging::delivery::AttemptEnd;

/// A message as it was written at the decision.
#[derive(Debug, Clone, Copy)]
pub struct Frozen<'a> {
    /// The notification's id, constant over attempts and receivers.
    pub id: &'a str,
    /// Its bytes.
    pub payload: &'a str,
    /// What the receiver knows its incident by, where an earlier attempt said so.
    pub external_ref: Option<&'a str>,
    /// When its incident ended, whatever this message tells of it.
    pub over_at: Option<DateTime<Utc>>,
    /// Whether somebody had it brought once more: a webhook knows that by a header, its bytes are those of the first time.
    pub replayed: bool,
}

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// What the receiver said.
    pub end: AttemptEnd,
    /// What it knows the incident by from now on; none: what it was, or nothing.
    pub external_ref: Option<String>,
}
