//! What must be the same in two questions before one's answer may serve the other: numbers,
//! identifiers and negations. Nearness of meaning alone does not do: opposite questions reach a
//! cosine of .83 to .99.

use unicode_segmentation::UnicodeSegmentation;

/// Words that turn a question into its opposite.
const NEGATIONS: &[&str] = &[
    "not",
    "no",
    "never",
    "without",
    "none",
    "cannot",
    "neither",
    "nor",
    "except",
    "isn't",
    "aren't",
    "don't",
    "doesn't",
    "didn't",
    "won't",
    "can't",
    "wasn't",
    "weren't",
    "shouldn't",
    "wouldn't",
    "couldn't",
    "hasn't",
    "haven't",
    "disable",
    "disabled",
    "off",
    "before",
    "after",
    "minimum",
    "maximum",
    "min",
    "max",
    "under",
    "over",
];

/// The question's numbers, identifiers and negations, sorted, each once: two questions may share an
/// answer only where these lines are equal.
pub fn of(question: &str) -> String {
    let mut marks: Vec<String> = question.split_whitespace().filter_map(identifier).collect();
    marks.extend(question.unicode_words().map(str::to_lowercase).filter(|word| {
        word.chars().any(|c| c.is_numeric()) || NEGATIONS.contains(&word.replace('\u{2019}', "'").as_str())
    }));
    marks.sort_unstable();
    marks.dedup();
    marks.join(" ")
}

/// A word that is a name rather than language: with an underscore, a slash, a colon, a capital after
/// a small letter, or nothing but capitals.
fn identifier(word: &str) -> Option<String> {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    let has_sign = bare.chars().any(|c| matches!(c, '_' | '/' | ':' | '@' | '#' | '.'));
    let letters: Vec<char> = bare.chars().filter(|c| c.is_alphabetic()).collect();
    let is_shouted = letters.len() > 1 && letters.iter().all(|c| c.is_uppercase());
    let has_hump = letters.windows(2).any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    (has_sign || is_shouted || has_hump).then(|| bare.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, left: &str, right: &str, same: bool) {
        assert_eq!(of(left) == of(right), same, "{says}: {:?} and {:?}", of(left), of(right));
    }

    #[test]
    fn questions_may_share_an_answer_or_not() {
        check("other words", "how long does a token live", "what is the life of a token", true);
        check("another number", "what happens after 5 failures", "what happens after 3 failures", false);
        check("another code", "what is RAG-1107", "what is RAG-1108", false);
        check("another name", "what does put_all do", "what does get_all do", false);
        check("another type", "where is HashMap used", "where is BTreeMap used", false);
        check("its opposite", "when is a page sent", "when is a page not sent", false);
        check("its opposite, short", "who can read it", "who can't read it", false);
        check("on and off", "switch the cache", "switch the cache off", false);
        check("the other side", "the wait before a retry", "the wait after a retry", false);
    }
}
