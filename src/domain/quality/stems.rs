//! Words of a text as a keyword arm sees them: small letters, without the words that say nothing, cut to a stem.
//!
//! The stemmer is a light one for English: plural, past and progressive endings go. It joins too little rather than too
//! much, and an analyzer of the server's own may join more.

use std::collections::BTreeSet;

/// Words that stand in any text, so that sharing one says nothing.
const STOP_WORDS: &str = "a about above after again against all also am an and any are as at be because been before being below \
    between both but by can cannot could did do does doing don't down during each either else every few for from further \
    get gets got had has have having he her here hers him his how however i if in into is isn't it its itself just let \
    like may me might more most much must my near need needs no nor not now of off on once one only onto or other our ours \
    out over own per rather same she should since so some such than that the their theirs them then there these they this \
    those through till to too under until up upon us very was we were what when where whether which while who whom whose \
    why will with within without would yet you your yours";

/// Endings in the order in which they are tried, each with the fewest letters that have to stay.
const ENDINGS: [(&str, usize); 13] = [
    ("ingly", 4),
    ("ings", 3),
    ("edly", 4),
    ("ness", 4),
    ("ies", 3),
    ("ing", 3),
    ("ers", 4),
    ("ed", 3),
    ("er", 4),
    ("es", 3),
    ("ly", 4),
    ("y", 3),
    ("s", 3),
];

/// Stems of the words that say what a text is about.
pub(crate) fn content_stems(text: &str) -> BTreeSet<String> {
    let says_something = |word: &String| !STOP_WORDS.split_ascii_whitespace().any(|stop| stop == word);
    words(text).filter(says_something).map(|word| stem(&word).to_owned()).collect()
}

/// All words of a text in their order, in small letters and without the sign of the possessive.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let parts = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’'));
    parts.filter_map(|part| {
        let word = part.trim_matches(['\'', '’']).replace('’', "'").to_lowercase();
        let bare = word.strip_suffix("'s").unwrap_or(&word);
        (!bare.is_empty()).then(|| bare.to_owned())
    })
}

/// A word's stem; one with a digit, a letter of another alphabet or three letters at most is its own.
fn stem(word: &str) -> &str {
    if word.len() <= 3 || word.bytes().any(|byte| !byte.is_ascii_lowercase()) {
        return word;
    }
    let cut = |(ending, least): &(&str, usize)| word.strip_suffix(ending).filter(|rest| rest.len() >= *least);
    let mut stem = ENDINGS.iter().find_map(cut).unwrap_or(word);
    if let [.., before, last] = stem.as_bytes()
        && before == last
        && stem.len() > 3
        && !matches!(last, b'l' | b's' | b'z' | b'e' | b'o')
    {
        stem = &stem[..stem.len() - 1];
    }
    stem.strip_suffix('e').filter(|rest| rest.len() >= 3).unwrap_or(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_meet_and_others_do_not() {
        let rows = [
            ("chunks", "chunk", true, "a plural"),
            ("queries", "query", true, "one in ies"),
            ("indexed", "indexing", true, "past and progressive"),
            ("cutting", "cut", true, "a doubled letter"),
            ("cached", "cache", true, "a silent e"),
            ("the pump’s seal", "seals of pumps", true, "an owner"),
            ("RAG-1107", "rag 1107", true, "a code by its parts"),
            ("token", "tokenizer", false, "a word of another meaning"),
            ("login", "sign in", false, "another word"),
        ];
        for (left, right, meets, sentence) in rows {
            assert_eq!(content_stems(left) == content_stems(right), meets, "{sentence}: {:?}", content_stems(left));
        }
        assert!(content_stems("what is it that they do not have?").is_empty(), "words that say nothing");
        assert_eq!(words("Don't ‘STOP’").collect::<Vec<_>>(), ["don't", "stop"]);
    }
}
