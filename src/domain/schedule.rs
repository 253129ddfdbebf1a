//! When a monitor is looked at, and what people may ask for between two looks.

use crate::domain::fleet::MonitorId;

/// What a person asks of the loops, from a page, the API or the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Somebody takes an open incident.
    Acknowledge {
        /// The incident's id.
        incident: String,
        /// Who, as they wrote it: bounded and free of control characters.
        actor: String,
    },
    /// Look at a monitor now.
    Recheck {
        /// Which.
        monitor: MonitorId,
    },
}
