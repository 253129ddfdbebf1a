//! What the text of an answer has to hold, or may not: for tools that answer with text and not with a list of results.

use regex::{Regex, RegexBuilder};

/// Bytes that a compiled pattern may take, and as many again while it runs: a file may hold hundreds.
const COMPILED_BYTES_MAX: usize = 64 * 1024;

/// A pattern in the syntax of the crate regex, known to be one.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// Reads one.
    ///
    /// # Errors
    /// Why it is none, or that it is too large.
    pub fn new(text: &str) -> Result<Self, String> {
        let built = RegexBuilder::new(text).size_limit(COMPILED_BYTES_MAX).dfa_size_limit(COMPILED_BYTES_MAX).build();
        built.map(Self).map_err(|error| error.to_string())
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether it matches anywhere in a text.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

/// One thing that a text holds or does not.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// Whole words in this order, in any case and with any blanks between them.
    Words(String),
    /// Whatever the pattern matches.
    Pattern(Pattern),
}

impl Wanted {
    /// Whether a text holds it.
    pub fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Words(words) => holds_words(&plain(text), &plain(words)),
            Self::Pattern(pattern) => pattern.is_in(text),
        }
    }

    /// As a page shows it.
    pub fn shown(&self) -> String {
        match self {
            Self::Words(words) => format!("“{words}”"),
            Self::Pattern(pattern) => format!("/{}/", pattern.as_str()),
        }
    }
}

/// By what a tool that answers with text tells more than it found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TextSigns {
    /// Matches an answer that tells an error.
    pub error: Option<Pattern>,
    /// Matches an answer which says that nothing was found.
    pub empty: Option<Pattern>,
}

/// What the text of an answer has to hold, and may not, beside the question's own words.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExpectedText {
    /// All of these.
    pub contains: Vec<Wanted>,
    /// None of these.
    pub not_contains: Vec<Wanted>,
}

impl ExpectedText {
    /// What is wrong with an answer's text, in words; none: it is right. An echo of the question counts for nothing.
    pub(crate) fn wrong(&self, text: &str, question: &str) -> Option<String> {
        let own = without_question(text, question);
        if let Some(missing) = self.contains.iter().find(|wanted| !wanted.is_in(&own)) {
            return Some(format!("{} not found in the answer", missing.shown()));
        }
        let found = self.not_contains.iter().find(|wanted| wanted.is_in(&own))?;
        Some(format!("{} found in the answer, where it may not be", found.shown()))
    }
}

/// A text without the question: real servers head their answer with it, and an echo is no find.
pub fn without_question(text: &str, question: &str) -> String {
    let words: Vec<String> = question.split_whitespace().map(regex::escape).collect();
    // Whole words only: `boil` is no echo in `boilers`.
    let bound = |letter: Option<char>, mark| if letter.is_some_and(char::is_alphanumeric) { mark } else { "" };
    let (begins, ends) =
        (bound(question.trim().chars().next(), r"\b"), bound(question.trim().chars().next_back(), r"\b"));
    match RegexBuilder::new(&format!("{begins}{}{ends}", words.join(r"\s+"))).case_insensitive(true).build() {
        Ok(echo) if !words.is_empty() => echo.replace_all(text, " ").into_owned(),
        _ => text.to_owned(),
    }
}

/// Small letters with single blanks between words.
fn plain(text: &str) -> String {
    let text = text.to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn holds_words(text: &str, words: &str) -> bool {
    let inside = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let whole = |(at, found): (usize, &str)| {
        let begins = inside(found.chars().next()) && inside(text[..at].chars().next_back());
        let ends = inside(found.chars().next_back()) && inside(text[at + found.len()..].chars().next());
        !begins && !ends
    };
    !words.is_empty() && text.match_indices(words).any(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole_and_in_order_and_patterns_are_patterns() {
        let words = |words: &str| Wanted::Words(words.to_owned());
        let pattern = |text: &str| Wanted::Pattern(Pattern::new(text).unwrap());
        let text = "# Boilers\n\nThe Copper\n  valve of boiler INV-204 (1,5 kg) leaks. Straße.";
        let rows = [
            (words("copper valve"), true, "in any case, over a line"),
            (words("valve copper"), false, "in another order"),
            (words("boiler"), true, "beside a longer word"),
            (words("oiler"), false, "inside a word"),
            (words("INV-204 (1,5 kg)"), true, "with signs"),
            (words("straße"), true, "beyond ASCII"),
            (words(" "), false, "nothing"),
            (pattern(r"\bINV-\d{3}\b"), true, "a pattern"),
            (pattern("copper"), false, "keeps to its case"),
        ];
        for (wanted, held, sentence) in rows {
            assert_eq!(wanted.is_in(text), held, "{sentence}");
        }
    }

    #[test]
    fn an_echo_of_the_question_is_no_find() {
        let own = without_question("Results for \"Copper  valve?\":\n1. copper pipes", "copper valve?");
        assert!(!own.contains("valve") && own.contains("copper pipes"), "{own}");
        assert_eq!(without_question("a (b", "(b"), "a  ", "signs are signs");
        assert_eq!(without_question("text", ""), "text");
        assert_eq!(without_question("/boilers.md", "boil"), "/boilers.md", "a part of a word is no echo");
    }

    #[test]
    fn a_pattern_that_is_none_or_too_large_is_refused() {
        assert!(Pattern::new("(").is_err());
        assert!(Pattern::new("(a{1000}){1000}").is_err());
    }
}
