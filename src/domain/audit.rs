//! What people and programs asked Serin to do.

use chrono::{DateTime, Utc};

/// An action that somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLine {
    /// A UUIDv7: sorts by when it was asked for.
    pub id: String,
    /// When, UTC.
    pub at: DateTime<Utc>,
    /// Whose right it was: `token`, `key NAME`, `loopback`.
    pub who: String,
    /// The address that it came from.
    pub source: String,
    /// Method and path, such as `POST /silences`.
    pub action: String,
    /// The HTTP status of the answer; none while there is none, or where Serin ended before there was one.
    pub status: Option<u16>,
}
