//! Words as both arms see them: lower case, without the words that say nothing, cut to a stem.

use std::collections::HashSet;
use std::sync::LazyLock;

use unicode_segmentation::UnicodeSegmentation;

/// Words of a text that carry meaning, stemmed, in their order, repeats kept.
pub fn content_stems(text: &str) -> Vec<String> {
    content_words(text).iter().map(|word| stem(word)).collect()
}

/// Words of a text that carry meaning, in lower case and otherwise as they stand.
pub fn content_words(text: &str) -> Vec<String> {
    text.unicode_words().filter(|word| !is_stop_word(word)).map(|word| bare(word).to_lowercase()).collect()
}

/// A word without the sign of the possessive: *the pump's seal* is about a pump.
pub fn bare(word: &str) -> &str {
    let owner = word.strip_suffix(['s', 'S']).and_then(|rest| rest.strip_suffix(['\'', '\u{2019}']));
    owner.filter(|owner| !owner.is_empty()).unwrap_or(word)
}

/// Whether a word says nothing of what a text is about.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(bare(word).to_lowercase().as_str())
}

/// A light English stem: plural, past and progressive endings go, so that *indexes*, *indexed* and
/// *indexing* meet. Words with a digit, and words of three letters or fewer, stay as they are.
pub fn stem(word: &str) -> String {
    if word.chars().count() <= 3 || word.chars().any(|c| !c.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut stem = word;
    for (ending, least) in ENDINGS {
        if let Some(rest) = stem.strip_suffix(ending)
            && rest.len() >= *least
        {
            stem = rest;
            break;
        }
    }
    let doubled = stem.as_bytes();
    if let [.., before, last] = doubled
        && before == last
        && stem.len() > 3
        && !matches!(last, b'l' | b's' | b'z' | b'e' | b'o')
    {
        stem = &stem[..stem.len() - 1];
    }
    stem.strip_suffix('e').filter(|rest| rest.len() >= 3).unwrap_or(stem).to_owned()
}

/// Endings in the order they are tried, each with the least that must remain before it.
const ENDINGS: &[(&str, usize)] = &[
    ("ingly", 4),
    ("ings", 3),
    ("edly", 4),
    ("ness", 4),
    ("ies", 3),
    ("ing", 3),
    ("sses", 3),
    ("ers", 4),
    ("ed", 3),
    ("er", 4),
    ("es", 3),
    ("ly", 4),
    ("y", 3),
    ("s", 3),
];

static STOP_WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    "a about above after again against all also am an and any are as at be because been before being below between \
     both but by can cannot could did do does doing don't down during each either else ever every few for from \
     further get gets give given goes got had has have having he her here hers him his how however i if in into is \
     it its itself just let like made make makes many may me might more most much must my near need needs no \
     nor not now of off on once one only onto or other our ours out over own per put rather same say says see seen \
     she should since so some such take takes than that the their them then there these they this those through \
     till to too under until up upon us use used uses using very want was way we well were what when where whether \
     which while who whom whose why will with within without would yet you your yours"
        .split_whitespace()
        .collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, left: &str, right: &str) {
        assert_eq!(stem(left), stem(right), "{says}");
    }

    #[test]
    fn forms_of_one_word_meet() {
        check("a plural is its singular", "chunks", "chunk");
        check("a past form is its present", "indexed", "index");
        check("a progressive form is its present", "indexing", "index");
        check("a doubled letter goes", "cutting", "cut");
        check("a silent e goes on both sides", "cached", "cache");
        check("ies and y meet", "queries", "query");
    }

    #[test]
    fn an_owner_is_the_word_itself() {
        let owned = |says: &str, text: &str, expected: &[&str]| assert_eq!(content_words(text), expected, "{says}");
        owned("one owner", "the pump's seal", &["pump", "seal"]);
        owned("with a printer's apostrophe", "the PUMP\u{2019}S seal", &["pump", "seal"]);
        owned("several", "the pumps' seals", &["pumps", "seals"]);
        owned("a small word stays small", "it's what's here", &[]);
        owned("a name keeps its apostrophe", "o'neill", &["o'neill"]);
        assert_eq!(bare("'s"), "'s", "nothing owns nothing");
    }

    #[test]
    fn a_code_is_left_alone() {
        assert_eq!(content_stems("What is RAG-1107?"), ["rag", "1107"]);
    }
}
