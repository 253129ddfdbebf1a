//! What one beat is to do, as the loops hand it to a probe.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::domain::fleet::Monitor;
use crate::domain::learnt::Learnt;
use crate::domain::observation::{BeatKind, Turn};
use crate::tool_lists::known::Lists;

/// What one beat is to do.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// Whom to look at.
    pub monitor: Arc<Monitor>,
    /// Why.
    pub kind: BeatKind,
    /// When it was due.
    pub scheduled_at: DateTime<Utc>,
    /// Now, as the loop that starts it read the clock.
    pub started_at: DateTime<Utc>,
    /// Canaries to ask, by index into the monitor's list, in order.
    pub asks: Vec<(usize, Turn)>,
    /// Canaries to ask as well in this beat as soon as one of its answers is wrong; by index too.
    pub further: Vec<usize>,
    /// Whether to ask the source-listing tool too.
    pub ask_sources: bool,
    /// What earlier probes learnt.
    pub learnt: Learnt,
    /// Lists of tools that are remembered.
    pub lists: Lists,
}
