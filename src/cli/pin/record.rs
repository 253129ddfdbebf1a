//! What runs and relations come to: one monitor's entry of the lock.

use std::sync::Arc;

use crate::cli::pin::runs::Runs;
use crate::config::describe::lock::can_be_pinned;
use crate::domain::monitor::Monitor;
use crate::domain::pinned::{Pinned, Relation};
use crate::domain::quality::pinning;

/// The entry of a monitor that was asked so.
pub(super) fn pinned(monitor: &Monitor, runs: &Runs, relations: Vec<Relation>) -> Pinned {
    let canaries = monitor.canaries.iter().enumerate();
    let canaries = canaries.filter_map(|(nth, canary)| {
        let pin = pinning::pinned(canary, &runs.answers(nth))?;
        Some((canary.id.clone(), pin))
    });
    let answers = (0..monitor.canaries.len()).flat_map(|nth| runs.answers(nth));
    let server = runs.observations.last().and_then(|seen| seen.server.as_ref());
    let listing = runs.tools().map(|tools| &tools.listing).filter(|listing| can_be_pinned(listing));
    Pinned {
        hash: String::new(),
        place: (String::new(), 0),
        runs: u32::try_from(runs.observations.len()).unwrap_or(u32::MAX),
        reached_index: runs.reached_index(),
        server: server.map(|server| (server.name.clone(), server.version.clone())),
        scale: pinning::scale(answers),
        sources: runs.sources(),
        relations,
        canaries: canaries.collect(),
        tools: listing.map(Arc::clone),
    }
}
