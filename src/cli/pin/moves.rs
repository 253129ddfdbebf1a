//! What a new pin would move: the lock's entry against a few runs.

use crate::cli::pin::runs::Runs;
use crate::domain::monitor::Monitor;
use crate::domain::observation::ToolsSeen;
use crate::domain::pinned::Pinned;
use crate::domain::quality::pinning;
use crate::domain::rules::ShrinksRule;
use crate::domain::tools::Drift;
use crate::domain::wording::counted;

/// Changes of tools that are named.
const CHANGES_NAMED: usize = 20;

/// A sentence for each thing that differs; nothing where a new pin would be the old one.
pub(super) fn moves(monitor: &Monitor, pinned: Option<&Pinned>, runs: &Runs) -> Vec<String> {
    let Some(pinned) = pinned else { return vec!["nothing is pinned of it yet".to_owned()] };
    let mut said = Vec::new();
    let server = runs.observations.last().and_then(|seen| seen.server.as_ref());
    let now = server.map(|server| (server.name.clone(), server.version.clone()));
    if now != pinned.server {
        let words = |server: &Option<(String, String)>| {
            server.as_ref().map_or("nameless".to_owned(), |(name, version)| format!("{name} {version}"))
        };
        said.push(format!("the server was {}, now {}", words(&pinned.server), words(&now)));
    }
    said.extend(tools(pinned, runs.tools()));
    said.extend(pinned.sources.zip(runs.sources()).and_then(|(was, now)| fewer_sources(was, now)));
    if pinned.reached_index && !runs.reached_index() {
        said.push("answers came from the index, and do not now".to_owned());
    }
    for (nth, canary) in monitor.canaries.iter().enumerate() {
        match pinned.canaries.get(&canary.id) {
            None => said.push(format!("{}: not pinned", canary.id)),
            Some(pin) => {
                said.extend(
                    pinning::moved(pin, &runs.answers(nth)).into_iter().map(|what| format!("{}: {what}", canary.id)),
                );
            }
        }
    }
    said
}

/// A corpus that grows is none of a lock's business; one that lost more than may go by itself is.
fn fewer_sources(was: u32, now: u32) -> Option<String> {
    let is_much = f64::from(now) < f64::from(was) * (1.0 - ShrinksRule::STANDARD.by);
    is_much.then(|| format!("{} before, now {now}", counted(was, "source", "sources")))
}

/// How the tools differ from the pinned ones.
pub(super) fn tools(pinned: &Pinned, seen: Option<&ToolsSeen>) -> Vec<String> {
    let Some(seen) = seen else { return Vec::new() };
    let Some(pinned) = &pinned.tools else { return vec!["its tools are not pinned".to_owned()] };
    if pinned.hash == seen.hash {
        return Vec::new();
    }
    let drift = seen.drift.as_deref().cloned();
    let drift = drift.unwrap_or_else(|| Drift::by_hashes(&pinned.hash, &pinned.tools, &seen.tools));
    let line = |class: &str, line: String| format!("tools, {class}: {line}");
    let mut said: Vec<String> =
        drift.changes.iter().take(CHANGES_NAMED).map(|change| line(change.class.slug(), change.line())).collect();
    let more = drift.changes.len().saturating_sub(CHANGES_NAMED) + drift.more as usize;
    if more > 0 {
        said.push(format!("tools: {more} changes more"));
    }
    if said.is_empty() {
        said.push("tools: listed otherwise than pinned".to_owned());
    }
    said
}
