//! What whoever explores wants, and what an exploration found.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::fault::FaultKind;
use crate::domain::monitor::Search;
use crate::domain::observation::Observation;
use crate::domain::quality::propose::Proposal;
use crate::domain::server_profile::ServerProfile;

/// Canaries looked for at most: enough for a start, and each is asked here and again when it is confirmed.
pub(crate) const CANARIES_MAX: usize = 8;

/// What whoever explores already knows or wants.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// The tool to search with; none: the one that looks most like it.
    pub tool: Option<String>,
    /// Its argument that takes the question, or a JSON pointer into the arguments.
    pub query: Option<String>,
    /// Questions that find something; none: the server's own words are asked.
    pub asks: Vec<String>,
    /// Questions that find nothing; none: nonsense is asked.
    pub asks_nothing: Vec<String>,
    /// Further arguments, each value as JSON text.
    pub arguments: BTreeMap<String, String>,
    /// Canaries wanted, at most [`CANARIES_MAX`].
    pub canaries: usize,
}

/// What an exploration found.
#[derive(Debug, Clone)]
pub struct Explored {
    /// The conversation: steps, era, transport, identity, tools, sources, what it cost. Its asks stay empty.
    pub seen: Observation,
    /// What the next probe can use.
    pub profile: ServerProfile,
    /// How the server is searched; none where that was not found out.
    pub search: Option<Search>,
    /// Pointers to lists that answers held, where none of them was found to hold results.
    pub lists: Vec<String>,
    /// Canaries that the server answered as proposed, with the highest score allowed to a negative one.
    pub canaries: Vec<(Proposal, Option<f64>)>,
    /// Durations of the searches that were answered; of tools/list where none was.
    pub durations: Vec<Duration>,
    /// What was guessed or left out, and should be looked at.
    pub guesses: Vec<String>,
    /// What could not be found out, a sentence each.
    pub gaps: Vec<String>,
}

impl Explored {
    /// Whether the server asked for quiet, so that nothing more should be sent.
    pub fn was_throttled(&self) -> bool {
        let faults = self.seen.steps.iter().filter_map(|step| step.fault.as_ref());
        faults.into_iter().any(|fault| matches!(fault.kind, FaultKind::RateLimited { .. }))
    }
}
