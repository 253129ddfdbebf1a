//! What a sentence that was asked back came to.

use crate::domain::classify::reason_of;
use crate::domain::observation::{Harvested, Observation, Stage};
use crate::domain::outcome::AskVerdict;
use crate::domain::reason::FailureReason;

/// What came of a sentence that was asked back; none where none was.
pub fn harvested(seen: &Observation) -> Option<AskVerdict> {
    let Harvested { ask, rank } = seen.harvested.as_deref()?;
    let reason = FailureReason::WrongResults;
    Some(match (ask.result.as_ref()?, *rank) {
        (Err(fault), _) => AskVerdict::Failed { reason: reason_of(Stage::Search, fault.kind).0 },
        (Ok(_), None) => AskVerdict::Wrong { reason, rank: None, seen: String::new() },
        (Ok(_), rank) => AskVerdict::Right { rank },
    })
}
