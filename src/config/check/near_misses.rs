//! `pair:` of a canary: the one that looks like it and has to be answered otherwise.

use crate::config::check::checker::{Checker, similar};
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::domain::monitor::Canary;
use crate::domain::near_miss::NearMiss;

/// A pair as it is written.
#[derive(Debug)]
pub(in crate::config) struct WrittenPair {
    /// Id of the canary that names the other.
    pub canary: String,
    /// What it names.
    pub other: String,
    /// Where it does.
    pub place: TextSpan,
}

/// Holds each pair against the canaries of its monitor. Two that name each other are one pair. `is_faulty`: some canary
/// could not be read, so that nobody knows whether an id is missing.
pub(in crate::config) fn near_misses(
    checker: &mut Checker<'_>,
    (what, canaries): (&str, &[Canary]),
    written: Vec<WrittenPair>,
    is_faulty: bool,
) -> Vec<NearMiss> {
    let mut found: Vec<NearMiss> = Vec::new();
    for WrittenPair { canary, other, place } in written {
        let query = |id: &str| canaries.iter().find(|canary| canary.id == id).map(|canary| canary.query.trim());
        let (message, mend) = match query(&other) {
            None if is_faulty => continue,
            None => {
                let message = format!("canary '{canary}' pairs with {}, which {what} does not have", quoted(&other));
                let known = similar(&other, canaries.iter().map(|canary| canary.id.as_str()));
                let mend = known.map(|known| format!("did you mean '{known}'?"));
                (message, mend.unwrap_or_else(|| "name another canary of the same monitor by its id".to_owned()))
            }
            Some(_) if other == canary => (
                format!("canary '{canary}' pairs with itself"),
                "name the one that asks nearly the same and gets another answer".to_owned(),
            ),
            Some(query_of_other)
                if query(&canary).is_some_and(|own| own.to_lowercase() == query_of_other.to_lowercase()) =>
            {
                (
                    format!("canary '{canary}' pairs with '{other}', which asks the same"),
                    "pair two questions that look alike and are not, such as how it is switched on and how off"
                        .to_owned(),
                )
            }
            Some(_) => {
                let is_known = |pair: &NearMiss| pair.canary == other && pair.other == canary;
                if !found.iter().any(is_known) {
                    found.push(NearMiss { canary, other });
                }
                continue;
            }
        };
        checker.report(Diagnostic::new(place, message).help(mend));
    }
    found
}
