//! The terms of a question: what the keyword arm looks for.

use crate::text::words;

/// Terms of a question that are searched for. BM25 looks at every chunk that holds any of them, so a
/// pasted paragraph would cost as much as a hundred questions and find no more.
const TERMS_MAX: usize = 12;
/// Words of a question that are looked at.
const WORDS_MAX: usize = 400;

/// The words of a question that say most, each once, by the alphabet: whoever asks the same in another order has sums of
/// the same order. A code such as `RAG-1107` stays one term. Of many words those that name something are taken first, then
/// the longest: they are the rarest.
pub fn of(question: &str) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    for term in question.split_whitespace().take(WORDS_MAX) {
        let term: String = term.chars().filter(|c| *c != '"' && !c.is_control()).collect();
        let bare = words::bare(term.trim_matches(|c: char| !c.is_alphanumeric()));
        if !bare.is_empty() && !words::is_stop_word(bare) && !terms.iter().any(|known| known == bare) {
            terms.push(bare.to_owned());
        }
    }
    terms.sort_by_key(|term| std::cmp::Reverse((is_name(term), term.chars().count())));
    terms.truncate(TERMS_MAX);
    terms.sort_by_cached_key(|term| term.to_lowercase());
    terms
}

/// Whether a word is a code or an identifier rather than language.
fn is_name(term: &str) -> bool {
    term.chars().any(|c| c.is_ascii_digit() || !c.is_alphanumeric()) || term.chars().skip(1).any(char::is_uppercase)
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
        check("an owner is the word itself", "the pump's seal", &["pump", "seal"]);
        check("order says nothing", "seals of the Pump", &["Pump", "seals"]);
        check("repeats go", "pool's pool", &["pool"]);
        check(
            "of a pasted paragraph what says most",
            "the pump PX-17 hums near walls while tanks, pipes, seals, bolts, casings, bearings, gaskets, impellers, \
             couplings and flanges sit idle",
            &"bearings bolts casings couplings flanges gaskets impellers pipes PX-17 seals tanks walls"
                .split(' ')
                .collect::<Vec<_>>(),
        );
        check("nothing stays nothing", "  ?! ", &[]);
    }
}
