//! What whoever explores wants, and what an exploration found.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::fault::FaultKind;
use crate::domain::monitor::{Canary, Monitor};
use crate::domain::observation::Observation;
use crate::domain::quality::canary::same_source;
use crate::domain::quality::propose::{NONSENSE, Proposal};
use crate::domain::quality::propose_text::is_statement;
use crate::domain::search::Search;
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
    /// The monitor as a file declares it, so that it is searched as declared and nothing is proposed that it asks already.
    pub declared: Option<Arc<Monitor>>,
}

impl Wish {
    /// Whether the file asks this already.
    pub(super) fn is_declared(&self, query: &str) -> bool {
        let query = query.trim();
        self.known().any(|canary| canary.query.trim().to_lowercase() == query.to_lowercase())
    }

    /// Whether a canary of the file expects this source.
    pub(super) fn is_expected(&self, source: &str) -> bool {
        self.known().any(|canary| canary.expect.iter().any(|expected| same_source(expected, source)))
    }

    fn known(&self) -> impl Iterator<Item = &Canary> {
        self.declared.iter().flat_map(|monitor| &monitor.canaries)
    }

    /// Whether whoever explores asks in a query language: nonsense is an error there, and a stranger's words are commands.
    pub(super) fn states(&self) -> bool {
        !self.asks.is_empty() && self.asks.iter().all(|question| is_statement(question))
    }

    /// Questions that should find nothing, as many as are asked.
    pub(super) fn unfindable(&self) -> Vec<String> {
        match &self.asks_nothing[..] {
            [] if self.states() => Vec::new(),
            [] => NONSENSE.map(str::to_owned).to_vec(),
            given => given.iter().take(NONSENSE.len()).cloned().collect(),
        }
    }

    /// What of it is left out, a sentence each.
    pub(super) fn left_out(&self) -> Vec<String> {
        let options =
            [("--ask", self.asks.len(), CANARIES_MAX), ("--ask-nothing", self.asks_nothing.len(), NONSENSE.len())];
        let beyond = options.into_iter().filter(|(_, given, most)| given > most);
        beyond
            .map(|(name, given, most)| format!("of {given} questions by {name}, the first {most} were asked"))
            .collect()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_nothing_is_what_somebody_gave_or_nonsense_where_it_is_no_error() {
        let list = |texts: &[&str]| -> Vec<String> { texts.iter().map(|text| (*text).to_owned()).collect() };
        type Row<'r> = (&'r [&'r str], &'r [&'r str], &'r [&'r str], usize, &'r str);
        let rows: [Row<'_>; 5] = [
            (&[], &[], &NONSENSE, 0, "nonsense"),
            (&["SELECT 1"], &[], &[], 0, "no nonsense in a query language"),
            (&["SELECT 1"], &["SELECT 1 WHERE 1=0"], &["SELECT 1 WHERE 1=0"], 0, "what was given"),
            (&["SELECT a valve", "from which date?"], &[], &NONSENSE, 0, "some are plain words"),
            (&[], &["a", "b", "c"], &["a", "b"], 1, "two, and that is said"),
        ];
        for (asks, asks_nothing, expected, left_out, sentence) in rows {
            let wish = Wish { asks: list(asks), asks_nothing: list(asks_nothing), ..Wish::default() };
            assert_eq!(wish.unfindable(), expected, "{sentence}");
            assert_eq!(wish.left_out().len(), left_out, "{sentence}");
        }
    }
}
