//! The text a caller pastes into its prompt: hits with their sources, within a budget of tokens.
//!
//! Hits that overlap in their source become one passage, so that no sentence is paid for twice.
//! Passages come by relevance, what is in one by position.

use crate::search::found::Found;
use crate::store::records::StoredChunk;
use crate::text::tokens;

/// Tokens the context may take where nothing is said.
pub const BUDGET_TOKENS: usize = 2_000;
/// Tokens of the line that names a passage's source, about.
const HEADER_TOKENS: usize = 24;

/// A context and what it cost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Context {
    /// The text, each passage under its `[Source: …]`.
    pub text: String,
    /// Its length in tokens, exact.
    pub tokens: usize,
    /// Whether a hit did not fit.
    pub truncated: bool,
}

/// Puts hits together, the best first, until the budget is spent.
pub fn assemble(hits: &[Found], budget: usize) -> Context {
    let mut fitting = 0;
    let mut estimate = 0;
    while let Some(hit) = hits.get(fitting) {
        estimate += usize::try_from(hit.chunk.tokens).unwrap_or(0).max(cost(hit)) + HEADER_TOKENS;
        // The estimate is generous; what it lets pass is counted exactly below.
        if estimate > budget + budget / 4 {
            break;
        }
        fitting += 1;
    }
    loop {
        let text = passages(&hits[..fitting]).join("\n\n");
        // The whole is counted: counts of parts do not add up to that of the whole.
        let tokens = tokens::count(&text);
        if tokens <= budget || fitting == 0 {
            return Context { text, tokens, truncated: fitting < hits.len() };
        }
        fitting -= 1;
    }
}

fn cost(hit: &Found) -> usize {
    hit.expanded.as_deref().map_or(0, tokens::count)
}

/// One stretch of a source, made of hits that overlap.
struct Stretch<'a> {
    chunk: &'a StoredChunk,
    text: String,
    start: i64,
    end: i64,
}

fn passages(hits: &[Found]) -> Vec<String> {
    let mut passages: Vec<Stretch<'_>> = Vec::new();
    for hit in hits {
        if let Some(section) = &hit.expanded {
            let known =
                passages.iter().any(|passage| passage.chunk.source == hit.chunk.source && passage.text == *section);
            if !known {
                passages.push(Stretch { chunk: &hit.chunk, text: section.clone(), start: 0, end: 0 });
            }
            continue;
        }
        let chunk = &hit.chunk;
        match passages.iter_mut().find(|passage| passage.touches(chunk)) {
            Some(passage) => passage.join(chunk),
            None => passages.push(Stretch {
                chunk,
                text: chunk.content.clone(),
                start: chunk.char_start,
                end: chunk.char_end,
            }),
        }
    }
    passages.iter().map(Stretch::render).collect()
}

impl Stretch<'_> {
    /// Whether a chunk shares text with this passage.
    fn touches(&self, chunk: &StoredChunk) -> bool {
        self.chunk.source == chunk.source
            && self.chunk.section == chunk.section
            && chunk.char_start < self.end
            && self.start < chunk.char_end
    }

    fn join(&mut self, chunk: &StoredChunk) {
        let skip = |from: i64| usize::try_from(from).unwrap_or(0);
        if chunk.char_start < self.start {
            let rest: String = self.text.chars().skip(skip(chunk.char_end - self.start)).collect();
            self.text = format!("{}{rest}", chunk.content);
        } else {
            self.text.extend(chunk.content.chars().skip(skip(self.end - chunk.char_start)));
        }
        self.start = self.start.min(chunk.char_start);
        self.end = self.end.max(chunk.char_end);
    }

    fn render(&self) -> String {
        let section = if self.chunk.section.is_empty() { String::new() } else { format!(" § {}", self.chunk.section) };
        format!("[Source: {}{section}]\n{}", self.chunk.source, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(content: &str, start: i64) -> Found {
        let chunk = StoredChunk {
            source: "a.md".to_owned(),
            section: "A".to_owned(),
            content: content.to_owned(),
            char_start: start,
            char_end: start + i64::try_from(content.chars().count()).unwrap(),
            ..StoredChunk::default()
        };
        Found { chunk, score: 0.5, fused_score: 0.1, final_score: 0.1, expanded: None }
    }

    fn check(says: &str, hits: &[Found], expected: &str) {
        assert_eq!(assemble(hits, 500).text, expected, "{says}");
    }

    #[test]
    fn a_context_keeps_its_budget() {
        let hits = [hit("first", 0), hit(&"x".repeat(400), 100), hit("third", 600)];
        let context = assemble(&hits, 50);
        assert_eq!(context.text, "[Source: a.md § A]\nfirst");
        assert!(context.truncated && context.tokens <= 50);
        assert!(!assemble(&hits, 500).truncated);
        assert_eq!(assemble(&hits, 0), Context { truncated: true, ..Context::default() });
    }

    #[test]
    fn what_overlaps_is_paid_once() {
        let (one, two) = (hit("One. Twö. ", 0), hit("Twö. Three.", 5));
        check("a later piece", &[one.clone(), two.clone()], "[Source: a.md § A]\nOne. Twö. Three.");
        check("an earlier piece", &[two.clone(), one.clone()], "[Source: a.md § A]\nOne. Twö. Three.");
        check("a piece within", &[one.clone(), hit("Twö", 5)], "[Source: a.md § A]\nOne. Twö. ");
        check(
            "a piece elsewhere",
            &[one.clone(), hit("Far.", 90)],
            "[Source: a.md § A]\nOne. Twö. \n\n[Source: a.md § A]\nFar.",
        );
        let expanded = Found { expanded: Some("Whole.".to_owned()), ..one };
        check("two of one section", &[expanded.clone(), expanded], "[Source: a.md § A]\nWhole.");
    }
}
