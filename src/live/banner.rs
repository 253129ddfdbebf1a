//! What stands across the top of every page while something is wrong with Serin itself.

use chrono::{DateTime, Utc};

/// A line across the top of every page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Banner {
    /// What it is about, such as `config`, `database` or `uplink`. One banner a kind.
    pub kind: &'static str,
    /// One or more lines for people.
    pub text: String,
    /// When it began, UTC.
    pub since: DateTime<Utc>,
}
