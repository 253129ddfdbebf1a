//! What a person reads of a pin: a line a canary, and what is armed by it.

use serde_json::{Value, json};

use crate::cli::pin::runs::Runs;
use crate::domain::monitor::Monitor;
use crate::domain::pinned::{Pinned, PinnedCanary};
use crate::domain::quality::form::from_to;
use crate::domain::wording::counted;

/// A line for each canary, then what is pinned in all.
pub(super) fn lines(monitor: &Monitor, runs: &Runs, pinned: &Pinned, lock: &str) -> Vec<String> {
    let width = monitor.canaries.iter().map(|canary| canary.id.len()).max().unwrap_or_default();
    let mut lines = Vec::new();
    for (canary, rank) in monitor.canaries.iter().zip(&runs.ranks) {
        let Some(pin) = pinned.canaries.get(&canary.id) else { continue };
        if pin.is_text() {
            lines.push(format!("  {:width$}  {}", canary.id, of_text(pin)));
            continue;
        }
        let rank = rank.map_or("no rank".to_owned(), |rank| format!("rank {rank}"));
        let score = pin
            .top_score
            .map_or("no score".to_owned(), |score| format!("top-1 {:.4} ± {:.4}", score.median, score.mad));
        let lists = counted(pin.lists.len(), "list", "lists");
        lines.push(format!("  {:width$}  {rank:<8} {score:<24} {lists}", canary.id));
    }
    let way = if pinned.reached_index { "from the index" } else { "through a cache" };
    let tools =
        pinned.tools.as_ref().map_or("no tools, since the list is too long or names one twice".to_owned(), |tools| {
            counted(tools.tools.len(), "tool", "tools")
        });
    lines.push(format!(
        "{}: {}, {} and {tools} pinned in {lock}, {way}",
        monitor.id,
        counted(pinned.runs as usize, "run", "runs"),
        counted(pinned.canaries.len(), "canary", "canaries"),
    ));
    lines.extend(armed(pinned));
    lines
}

/// How a canary was answered with texts.
fn of_text(pin: &PinnedCanary) -> String {
    let (shortest, longest) = pin.text_chars.unwrap_or_default();
    let again = if pin.words_anew() { "another one in some run" } else { "the same each time" };
    format!("a text of {} characters, {again}", from_to(shortest, longest))
}

/// What is armed by it, and what it takes to arm the rest.
fn armed(pinned: &Pinned) -> Vec<String> {
    if pinned.canaries.is_empty() {
        return vec!["  armed: changes of the tools alone, since there is no canary".to_owned()];
    }
    if !pinned.reached_index {
        return vec![
            "  armed: changes of the tools; nothing that compares lists or scores, since a cache answered \
             (`search.fresh_arguments` names a way past it)"
                .to_owned(),
        ];
    }
    let held: Vec<&str> = pinned.relations.iter().map(|relation| relation.slug()).collect();
    let held = if held.is_empty() { "none held in every run".to_owned() } else { held.join(", ") };
    let is_listed = |pin: &PinnedCanary| !pin.is_text() && pin.results.1 > 0;
    let compared = match pinned.scale {
        _ if pinned.canaries.values().all(|pin| !is_listed(pin)) => "lengths of texts",
        Some(_) => "lists, counts, lengths and scores",
        None => "lists, counts and lengths",
    };
    vec![format!("  armed: changes of the tools, {compared}; relations: {held}")]
}

/// The same for machines.
pub(super) fn value(monitor: &Monitor, runs: &Runs, pinned: &Pinned, lock: &str) -> Value {
    let canaries = monitor.canaries.iter().zip(&runs.ranks).filter_map(|(canary, rank)| {
        let pin = pinned.canaries.get(&canary.id)?;
        let score = pin.top_score.map(|score| json!({ "median": score.median, "mad": score.mad }));
        Some(json!({
            "id": canary.id, "rank": rank, "top_score": score, "lists": pin.lists.len(),
            "results": [pin.results.0, pin.results.1],
            "text_chars": pin.text_chars.map(|(shortest, longest)| [shortest, longest]),
        }))
    });
    json!({
        "id": monitor.id.as_str(),
        "lock": lock,
        "refused": null,
        "runs": pinned.runs,
        "reached_index": pinned.reached_index,
        "relations": pinned.relations.iter().map(|relation| relation.slug()).collect::<Vec<_>>(),
        "tools": pinned.tools.as_ref().map(|tools| tools.tools.len()),
        "canaries": canaries.collect::<Vec<_>>(),
    })
}
