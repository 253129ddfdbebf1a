//! A question in more words than were typed: acronyms and terms of the trade spelt out from a table,
//! and two questions in one taken apart.
//!
//! Nothing is replaced: what was asked is searched for first, and what is added stands beside it.

use std::collections::BTreeMap;

use crate::text::words;

/// Entries in a table of terms.
pub const TERMS_MAX: usize = 2_000;
/// Questions one question may become, itself included.
const QUESTIONS_MAX: usize = 3;
/// The longest question that is taken apart: a pasted paragraph is not two questions, and would cost three searches.
const SPLIT_BYTES_MAX: usize = 160;
/// Words that carry meaning which a part must have to be a question of its own.
const WORDS_MIN: usize = 2;

/// What short and local words stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewriting {
    /// By the word in lower case: what is searched for beside it.
    terms: BTreeMap<String, String>,
    /// Whether questions are taken apart at "and".
    pub splits: bool,
}

impl Default for Rewriting {
    fn default() -> Self {
        Self { terms: BTreeMap::new(), splits: true }
    }
}

impl Rewriting {
    /// A table of terms, and whether questions are taken apart. A term that stands for nothing is
    /// left out.
    pub fn new(terms: BTreeMap<String, String>, splits: bool) -> Self {
        let terms = terms.into_iter().map(|(term, means)| (term.trim().to_lowercase(), means.trim().to_owned()));
        Self {
            terms: terms.filter(|(term, means)| !term.is_empty() && !means.is_empty()).take(TERMS_MAX).collect(),
            splits,
        }
    }

    /// The questions to search for: the one that was asked, with its terms spelt out, and its parts
    /// where it asks two things. Never more than three.
    pub fn questions(&self, asked: &str) -> Vec<String> {
        let mut questions = vec![self.spelt_out(asked)];
        if self.splits {
            questions.extend(parts(asked).into_iter().map(|part| self.spelt_out(&part)));
        }
        questions.truncate(QUESTIONS_MAX);
        questions
    }

    fn spelt_out(&self, question: &str) -> String {
        let said = question.to_lowercase();
        let mut longer = question.to_owned();
        for word in question.split_whitespace() {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            if let Some(means) = self.terms.get(&bare)
                && !said.contains(&means.to_lowercase())
                && !longer.ends_with(means.as_str())
            {
                longer = format!("{longer} {means}");
            }
        }
        longer
    }

    /// The settings as one line, for the key of remembered answers.
    pub fn line(&self) -> String {
        format!("{:?}", (self.splits, &self.terms))
    }
}

/// The two questions in "… and …", where both sides could be asked alone.
fn parts(asked: &str) -> Vec<String> {
    let Some((left, right)) = asked.split_once(" and ") else { return Vec::new() };
    if asked.len() > SPLIT_BYTES_MAX {
        return Vec::new();
    }
    let could_be_asked = |part: &str| words::content_stems(part).len() >= WORDS_MIN;
    if could_be_asked(left) && could_be_asked(right) {
        vec![left.trim().to_owned(), right.trim().to_owned()]
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, terms: &[(&str, &str)], splits: bool, asked: &str, expected: &[&str]) {
        let terms = terms.iter().map(|(term, means)| ((*term).to_owned(), (*means).to_owned())).collect();
        assert_eq!(Rewriting::new(terms, splits).questions(asked), expected, "{says}");
    }

    #[test]
    fn questions_are_rewritten() {
        let sla = &[("SLA", "service level agreement")];
        check("an acronym is spelt out", sla, true, "what is the SLA?", &["what is the SLA? service level agreement"]);
        check(
            "but not where it is already",
            sla,
            true,
            "is an SLA a service level agreement",
            &["is an SLA a service level agreement"],
        );
        check("and not within a word", sla, true, "slate roofs", &["slate roofs"]);
        check(
            "two questions are three searches",
            sla,
            true,
            "how is a token rotated and what does the SLA promise",
            &[
                "how is a token rotated and what does the SLA promise service level agreement",
                "how is a token rotated",
                "what does the SLA promise service level agreement",
            ],
        );
        check("a pair of words is one question", &[], true, "bread and butter", &["bread and butter"]);
        check("unless told not to", &[], false, "rotate a token and scrub a log", &["rotate a token and scrub a log"]);
    }
}
