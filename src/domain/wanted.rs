//! What the text of an answer has to hold, or may not: for tools that answer with text and not with a list of results.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

use regex::{Regex, RegexBuilder};
use unicode_normalization::{UnicodeNormalization as _, is_nfc};

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

    fn matches<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        self.0.find_iter(text).map(|found| found.range()).filter(|place| !place.is_empty())
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
    /// As a page shows it.
    pub fn shown(&self) -> String {
        match self {
            Self::Words(words) => format!("“{words}”"),
            Self::Pattern(pattern) => format!("/{}/", pattern.as_str()),
        }
    }
}

/// A text that answers a question, while it is looked through. Each way of looking has its own form of the text, made
/// once, and only where somebody looks that way.
#[derive(Debug)]
pub(crate) struct Searched<'t> {
    text: Cow<'t, str>,
    question: Cow<'t, str>,
    /// Where it repeats the question.
    echoes: OnceCell<Vec<Range<usize>>>,
    plain: OnceCell<String>,
    plain_echoes: OnceCell<Vec<Range<usize>>>,
}

impl<'t> Searched<'t> {
    pub(crate) fn new(text: &'t str, question: &'t str) -> Self {
        Self {
            text: composed(text),
            question: composed(question),
            echoes: OnceCell::new(),
            plain: OnceCell::new(),
            plain_echoes: OnceCell::new(),
        }
    }

    /// Whether it holds something. An echo of the question counts for nothing: what lies wholly inside one is no find,
    /// however much else is.
    pub(crate) fn holds(&self, wanted: &Wanted) -> bool {
        self.holds_before_end(wanted, 0)
    }

    /// The same of what ends so many bytes before the end, or more.
    fn holds_before_end(&self, wanted: &Wanted, bytes: usize) -> bool {
        match wanted {
            Wanted::Words(words) => {
                let (text, words) = (self.plain.get_or_init(|| plain(&self.text)), plain(&composed(words)));
                let question = || plain(&self.question);
                let echoes = || self.plain_echoes.get_or_init(|| whole_words(text, &question()).collect()).as_slice();
                any_beyond(whole_words(text, &words).filter(|place| place.end + bytes <= text.len()), echoes)
            }
            Wanted::Pattern(pattern) => {
                let echoes = || self.echoes.get_or_init(|| echoes_in(&self.text, &self.question)).as_slice();
                any_beyond(pattern.matches(&self.text).filter(|place| place.end + bytes <= self.text.len()), echoes)
            }
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
    /// What is wrong with an answer's text, in words; none: it is right.
    pub(crate) fn wrong(&self, text: &str, question: &str) -> Option<String> {
        let searched = Searched::new(text, question);
        if let Some(missing) = self.contains.iter().find(|wanted| !searched.holds(wanted)) {
            return Some(format!("{} not found in the answer", missing.shown()));
        }
        let found = self.not_contains.iter().find(|wanted| searched.holds(wanted))?;
        Some(format!("{} found in the answer, where it may not be", found.shown()))
    }

    /// Whether the beginning of a text tells what the whole is: it holds what may not be there, or all that has to be where
    /// nothing is forbidden. JSON that is cut is read by nobody.
    pub(crate) fn is_told_by_beginning(&self, begins: &str, question: &str) -> bool {
        if begins.trim_start().starts_with(['{', '[', '"']) {
            return false;
        }
        // At the cut a word may go on, and so may an echo, whose blanks may be others.
        let cut = 2 * question.len() + 1;
        let searched = Searched::new(begins, question);
        let holds = |wanted: &Wanted| searched.holds_before_end(wanted, cut);
        let is_all_there = self.not_contains.is_empty() && self.contains.iter().all(holds);
        is_all_there || self.not_contains.iter().any(holds)
    }
}

/// Whether one of these places reaches beyond the echoes. Most texts hold no such place, and few an echo.
fn any_beyond<'e>(mut places: impl Iterator<Item = Range<usize>>, echoes: impl Fn() -> &'e [Range<usize>]) -> bool {
    places.any(|place| {
        let echoes = echoes();
        let behind = echoes.partition_point(|echo| echo.start <= place.start);
        let echo = behind.checked_sub(1).and_then(|nearest| echoes.get(nearest));
        echo.is_none_or(|echo| place.end > echo.end)
    })
}

/// Where a text repeats the question: real servers head their answer with it, and an echo is no find.
fn echoes_in(text: &str, question: &str) -> Vec<Range<usize>> {
    let words: Vec<String> = question.split_whitespace().map(regex::escape).collect();
    match RegexBuilder::new(&words.join(r"\s+")).case_insensitive(true).build() {
        // Whole words only: `boil` is no echo in `boilers`.
        Ok(echo) if !words.is_empty() => {
            echo.find_iter(text).map(|found| found.range()).filter(|place| is_whole(text, place)).collect()
        }
        _ => Vec::new(),
    }
}

/// A text without the question.
pub(crate) fn without_question(text: &str, question: &str) -> String {
    let text = composed(text);
    let (mut own, mut from) = (String::with_capacity(text.len()), 0);
    for echo in echoes_in(&text, &composed(question)) {
        own.push_str(&text[from..echo.start]);
        own.push(' ');
        from = echo.end;
    }
    own + &text[from..]
}

/// One form for what can be written in two: in names of files an accent often stands behind its letter.
fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc(text) { Cow::Borrowed(text) } else { Cow::Owned(text.nfc().collect()) }
}

/// Small letters with single blanks between words.
fn plain(text: &str) -> String {
    let text = text.to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where these words stand in a text, none of them as a part of a longer one.
fn whole_words<'t>(text: &'t str, words: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    let places = text.match_indices(words).map(|(at, found)| at..at + found.len());
    places.filter(move |place| !place.is_empty() && is_whole(text, place))
}

/// Whether what stands at a place is no part of a longer word.
fn is_whole(text: &str, place: &Range<usize>) -> bool {
    let (before, after) = (text[..place.start].chars().next_back(), text[place.end..].chars().next());
    let found = &text[place.clone()];
    let begins = !is_one_word(before, found.chars().next());
    // Korean has blanks, and hangs what other languages put before a word onto its end.
    let has_ending = after.is_some_and(|letter| matches!(letter, '\u{ac00}'..='\u{d7a3}'));
    begins && (has_ending || !is_one_word(found.chars().next_back(), after))
}

/// Whether two letters side by side belong to one word.
fn is_one_word(one: Option<char>, other: Option<char>) -> bool {
    let is_letter = |letter: Option<char>| letter.is_some_and(|it| it.is_alphanumeric() && !is_without_blanks(it));
    is_letter(one) && is_letter(other)
}

/// Letters of scripts that put no blanks between words: Thai and Lao, Burmese, Khmer, Japanese, Chinese.
const fn is_without_blanks(letter: char) -> bool {
    matches!(
        letter,
        '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff66}'..='\u{ff9f}'
            | '\u{20000}'..='\u{3ffff}'
    )
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
            assert_eq!(Searched::new(text, "where?").holds(&wanted), held, "{sentence}");
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
    fn what_only_an_echo_holds_is_not_found_and_what_reaches_beyond_it_is() {
        let words = |words: &str| Wanted::Words(words.to_owned());
        let pattern = |text: &str| Wanted::Pattern(Pattern::new(text).unwrap());
        let text = "Results for \"copper valve\":\n1. The copper valve INV-204 of boiler 3. Valve 7: see the index";
        let rows = [
            (words("copper valve"), false, "the question itself"),
            (words("copper"), false, "a word that stands in echoes alone"),
            (words("valve"), true, "the question's word, where it is no echo"),
            (words("copper valve INV-204"), true, "an echo and what follows it"),
            (words("the copper"), true, "an echo's beginning and what stands before it"),
            (pattern(r"(?i)copper\s+valve INV-\d+"), true, "a pattern across an echo's end"),
            (pattern("copper .*boiler"), true, "a pattern across a whole echo"),
            (pattern("copper|val"), false, "a pattern within echoes"),
        ];
        // One look at all of them, as a canary takes it.
        let searched = Searched::new(text, "copper  Valve");
        for (wanted, held, sentence) in rows {
            assert_eq!(searched.holds(&wanted), held, "{sentence}");
        }
    }

    #[test]
    fn words_are_found_in_every_script_and_in_either_form() {
        let words = |words: &str| Wanted::Words(words.to_owned());
        let rows = [
            ("この検索結果は三件", words("検索"), true, "Japanese has no blanks"),
            ("APIの検索", words("api"), true, "nor between scripts"),
            ("ผลการค้นหา", words("ค้นหา"), true, "Thai"),
            ("보일러는 낡았다", words("보일러"), true, "Korean, with an ending"),
            ("API는 낡았다", words("api"), true, "behind a word of another script"),
            ("보일러는 낡았다", words("일러"), false, "a Korean word begins where it begins"),
            ("cafe\u{301} latte", words("café latte"), true, "an accent behind its letter"),
            ("café latte", words("cafe\u{301}"), true, "the same in the file"),
            ("café latte", words("cafe"), false, "without it"),
            ("cafe\u{301} latte", Wanted::Pattern(Pattern::new("café").unwrap()), true, "for a pattern"),
        ];
        for (text, wanted, held, sentence) in rows {
            assert_eq!(Searched::new(text, "where?").holds(&wanted), held, "{sentence}");
        }
        let boil = Wanted::Pattern(Pattern::new("boil").unwrap());
        let echoes = [
            ("Für 検索結果: 無し", "検索結果", words("検索"), false, "within a question without blanks"),
            ("cafe\u{301}: nothing", "café", words("café"), false, "of a question in the other form"),
            ("boil² leaks", "boil", boil, true, "a part of a word is no echo, whatever sign it ends in"),
        ];
        for (text, question, wanted, held, sentence) in echoes {
            assert_eq!(Searched::new(text, question).holds(&wanted), held, "{sentence}");
        }
    }

    #[test]
    fn a_beginning_tells_the_whole_where_its_end_changes_nothing() {
        let words = |all: &[&str]| all.iter().map(|words| Wanted::Words((*words).to_owned())).collect::<Vec<_>>();
        let wants = |contains: &[&str], not_contains: &[&str]| ExpectedText {
            contains: words(contains),
            not_contains: words(not_contains),
        };
        let end = Wanted::Pattern(Pattern::new("quarter$").unwrap());
        let rows = [
            (
                wants(&["boilers", "quarter"], &[]),
                "Boilers: each quarter, and so on, and on, and on, and on",
                true,
                "all of it is there",
            ),
            (
                wants(&["boilers", "month"], &[]),
                "Boilers: each quarter, and so on, and on, and on, and on",
                false,
                "the end may hold the rest",
            ),
            (
                wants(&["boilers"], &["draft"]),
                "Boilers: each quarter, and so on, and on, and on, and on",
                false,
                "or what may not be there",
            ),
            (
                wants(&["month"], &["boilers"]),
                "Boilers: each quarter, and so on, and on, and on, and on",
                true,
                "that is there already",
            ),
            (wants(&["quarter"], &[]), "Boilers: each quarter", false, "a word at the cut may go on"),
            (ExpectedText { contains: vec![end], ..ExpectedText::default() }, "each quarter", false, "and is no end"),
            (
                wants(&["boilers"], &[]),
                "{\"a\": \"boilers, and so on, and on, and on, and on",
                false,
                "JSON that is cut",
            ),
            (wants(&["copper"], &[]), "all of it: copper val", false, "an echo that is cut is no find"),
        ];
        for (wanted, begins, expected, sentence) in rows {
            assert_eq!(wanted.is_told_by_beginning(begins, "copper valve?"), expected, "{sentence}");
        }
    }

    #[test]
    fn a_pattern_that_is_none_or_too_large_is_refused() {
        assert!(Pattern::new("(").is_err());
        assert!(Pattern::new("(a{1000}){1000}").is_err());
    }
}
