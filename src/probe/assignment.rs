//! What one beat is to do, as the loops hand it to a probe.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;

use crate::domain::monitor::Monitor;
use crate::domain::observation::{BeatKind, Observation};
use crate::domain::quality::harvest::Harvest;
use crate::domain::schedule::PlannedAsk;
use crate::domain::server_profile::ServerProfile;
use crate::tool_lists::known::KnownLists;

/// What one beat is to do.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// Address, limits and canaries of the monitor to probe.
    pub monitor: Arc<Monitor>,
    /// Scheduled, suspect, asked for by somebody, or a drill.
    pub kind: BeatKind,
    /// When it was due, UTC.
    pub scheduled_at: DateTime<Utc>,
    /// Now, as the loop that starts it read the clock.
    pub started_at: DateTime<Utc>,
    /// Canaries to ask, in order.
    pub asks: Vec<PlannedAsk>,
    /// What to ask as well where the answers to those call for it.
    pub further: Further,
    /// How many pages of the source-listing tool may be asked for; 0: it is left alone.
    pub source_pages: usize,
    /// Whether the names of all sources are wanted, and so every page, to see whether those of canaries are among them.
    pub source_names: bool,
    /// What earlier probes learnt of the server; the probe gives back its own.
    pub profile: ServerProfile,
    /// Lists of tools that are remembered.
    pub lists: KnownLists,
}

/// What is asked in the same beat, where what was seen so far calls for it. A probe does not judge: whoever
/// hands it out says how that is known.
#[derive(Debug, Clone)]
pub struct Further {
    /// Which, by index into the monitor's list.
    pub canaries: Vec<usize>,
    /// Whether what was seen so far calls for them.
    pub called_for: fn(&Monitor, &Observation) -> bool,
    /// One of the canaries once more, with its question altered, where its own was answered: its turn says how.
    pub altered: Option<PlannedAsk>,
    /// What sentences out of its answers are kept in, where such are asked back.
    pub harvest: Option<Harvesting>,
}

/// What sentences out of answers are kept in, and whether answers to them are waited for.
#[derive(Debug, Clone)]
pub struct Harvesting {
    /// The monitor's sentences.
    pub pool: Arc<Mutex<Harvest>>,
    /// Whether too little is known of them yet, or something is in doubt.
    pub is_wanted: bool,
}

impl Further {
    /// Nothing else is asked.
    pub const NONE: Self = Self { canaries: Vec::new(), called_for: |_, _| false, altered: None, harvest: None };
}
