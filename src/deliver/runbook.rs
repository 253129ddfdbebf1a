//! The runbooks Serin brings, one for each reason.

use crate::domain::reason::FailureReason;

/// The Markdown text for a reason.
pub const fn text(_reason: FailureReason) -> &'static str {
    ""
}
