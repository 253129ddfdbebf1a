//! The terms of a question: what the keyword arm looks for.

use crate::rag::text::words;

/// Terms of a question that are searched for; further ones add work and hardly any meaning.
const TERMS_MAX: usize = 32;

/// The words of a question that say something, as they were written, each once. A code such as
/// `RAG-1107` stays one term.
pub fn of(question: &str) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    for term in question.split_whitespace() {
        let term: String = term.chars().filter(|c| *c != '"' && !c.is_control()).collect();
        let bare = term.trim_matches(|c: char| !c.is_alphanumeric());
        if bare.is_empty() || words::is_stop_word(bare) || terms.iter().any(|known| known == bare) {
            continue;
        }
        terms.push(bare.to_owned());
        if terms.len() == TERMS_MAX {
            break;
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, question: &str, expected: &[&str]) {
        assert_eq!(of(question), expected, "{says}");
    }

    #[test]
    fn questions_have_terms() {
        check("small words go", "What is the pool?", &["pool"]);
        check("a code is one term", "RAG-1107", &["RAG-1107"]);
        check("signs around a word go", "(\"NEAR(b\")", &["NEAR(b"]);
        check("repeats go", "pool pool", &["pool"]);
        check("nothing stays nothing", "  ?! ", &[]);
    }
}
