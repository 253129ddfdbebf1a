//! The text a caller pastes into its prompt: hits with their sources, within a budget of tokens.

use crate::rag::store::sqlite::StoredChunk;
use crate::rag::text::tokens;

/// Tokens the context may take.
pub const BUDGET_TOKENS: usize = 2_000;

/// A context and what it cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// The text, each piece under its `[Source: …]`.
    pub text: String,
    /// Its length in tokens.
    pub tokens: usize,
    /// Whether a hit did not fit.
    pub truncated: bool,
}

/// Puts hits together, the best first, until the budget is spent.
pub fn assemble<'a>(hits: impl Iterator<Item = &'a StoredChunk>, budget: usize) -> Context {
    let mut context = Context { text: String::new(), tokens: 0, truncated: false };
    for hit in hits {
        let gap = if context.text.is_empty() { "" } else { "\n\n" };
        let section = if hit.section.is_empty() { String::new() } else { format!(" § {}", hit.section) };
        let longer = format!("{}{gap}[Source: {}{section}]\n{}", context.text, hit.source, hit.content);
        // The whole is counted each time: counts of parts do not add up to that of the whole.
        let cost = tokens::count(&longer);
        if cost > budget {
            context.truncated = true;
            break;
        }
        context.text = longer;
        context.tokens = cost;
    }
    context
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(content: &str) -> StoredChunk {
        StoredChunk {
            id: 1,
            source: "a.md".to_owned(),
            source_type: "documentation".to_owned(),
            ordinal: 0,
            section: "A".to_owned(),
            content: content.to_owned(),
            char_start: 0,
            char_end: 0,
            tokens: 0,
        }
    }

    #[test]
    fn a_context_keeps_its_budget() {
        let hits = [hit("first"), hit(&"x".repeat(400)), hit("third")];
        let context = assemble(hits.iter(), 50);
        assert_eq!(context.text, "[Source: a.md § A]\nfirst");
        assert!(context.truncated && context.tokens <= 50);
        assert!(!assemble(hits.iter(), 500).truncated);
    }
}
