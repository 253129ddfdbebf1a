//! What a conversation has been shown need not be paid for again.
//!
//! MCP has no sessions to remember by, so a conversation is an argument. New chunks come first; a
//! chunk that was shown within the hour comes again only where it scores clearly higher than the
//! best new one, and such chunks have a fifth of the budget at most.

use std::collections::HashSet;
use std::time::Duration;

use crate::search::context::{self, Context};
use crate::search::found::Found;
use crate::store::records::StoredChunk;
use crate::text::draw::fnv;

/// How long a conversation is remembered.
pub const REMEMBERED_FOR: Duration = Duration::from_hours(1);
/// How much higher a chunk must score to be shown again.
const CLEARLY_HIGHER: f64 = 1.25;
/// The part of the budget that is for new chunks.
const FOR_NEW: f64 = 0.8;

/// What a chunk that was shown is recognised by: its name and its text, for a source that is indexed anew
/// says something else in the same place.
pub fn mark(chunk: &StoredChunk) -> String {
    format!("{}@{:016x}", chunk.name(), fnv(chunk.content.bytes()))
}

/// The hits a conversation is shown, the best first, and how many were left out as seen.
pub fn choose(ranked: Vec<Found>, seen: &HashSet<String>, top_k: usize) -> (Vec<Found>, usize) {
    let is_seen = |found: &Found| seen.contains(&mark(&found.chunk));
    let best_new = ranked.iter().filter(|found| !is_seen(found)).map(|found| found.final_score).reduce(f64::max);
    let before = ranked.iter().take(top_k).filter(|found| is_seen(found)).count();
    let mut chosen: Vec<Found> = ranked
        .into_iter()
        .filter(|found| !is_seen(found) || best_new.is_some_and(|best| found.final_score > best * CLEARLY_HIGHER))
        .collect();
    chosen.truncate(top_k);
    let again = chosen.iter().filter(|found| is_seen(found)).count();
    (chosen, before.saturating_sub(again))
}

/// The context: what is shown again has what new chunks leave, a fifth of the budget at most.
pub fn assemble(hits: &[Found], seen: &HashSet<String>, budget: usize) -> Context {
    let (again, new): (Vec<Found>, Vec<Found>) =
        hits.iter().cloned().partition(|found| seen.contains(&mark(&found.chunk)));
    if again.is_empty() {
        return context::assemble(hits, budget);
    }
    let for_new = (budget as f64 * FOR_NEW) as usize;
    let new = context::assemble(&new, for_new);
    let again = context::assemble(&again, (budget - for_new).min(budget.saturating_sub(new.tokens + 2)));
    let parts: Vec<&str> =
        [again.text.as_str(), new.text.as_str()].into_iter().filter(|text| !text.is_empty()).collect();
    let text = parts.join("\n\n");
    let tokens = crate::text::tokens::count(&text);
    Context { text, tokens, truncated: new.truncated || again.truncated }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ordinal: i64, final_score: f64) -> Found {
        let content = format!("Passage number {ordinal}. ").repeat(10);
        let chunk = StoredChunk {
            source: "a.md".to_owned(),
            ordinal,
            tokens: 50,
            content,
            char_start: ordinal * 1_000,
            char_end: ordinal * 1_000 + 200,
            ..StoredChunk::default()
        };
        Found { chunk, score: 0.5, fused_score: 0.1, final_score, expanded: None }
    }

    fn check(says: &str, seen: &[i64], expected: &[i64], left_out: usize) {
        let ranked = vec![found(0, 0.9), found(1, 0.6), found(2, 0.5), found(3, 0.4)];
        let seen: HashSet<String> = seen.iter().map(|ordinal| mark(&found(*ordinal, 0.0).chunk)).collect();
        let (chosen, seen_before) = choose(ranked, &seen, 2);
        let got: Vec<i64> = chosen.iter().map(|found| found.chunk.ordinal).collect();
        assert_eq!((got.as_slice(), seen_before), (expected, left_out), "{says}");
    }

    #[test]
    fn new_chunks_come_first() {
        check("nothing was shown", &[], &[0, 1], 0);
        check("what was shown stays away", &[1], &[0, 2], 1);
        check("but not where it is clearly better", &[0], &[0, 1], 0);
        check("all was shown", &[0, 1, 2, 3], &[], 2);
    }

    #[test]
    fn what_comes_again_has_a_fifth() {
        let seen = HashSet::from([mark(&found(0, 0.9).chunk)]);
        let hits = [found(0, 0.9), found(1, 0.6), found(2, 0.5)];
        let context = assemble(&hits, &seen, 150);
        assert!(!context.text.contains("number 0."), "a fifth of 150 tokens is not enough for it");
        assert!(context.text.contains("number 1.") && context.truncated && context.tokens <= 150);
        assert!(assemble(&hits, &seen, 1_000).text.contains("number 0."));
    }
}
