//! Joins units into pieces that never pass the token limit.
//!
//! What is embedded is the heading path and the text together, so that is what is counted. Counts of
//! parts do not add up to that of the whole: the sum says where to stop, the whole is then counted.

use crate::chunk::units::Unit;
use crate::text::tokens;

/// What is embedded and what the keyword retriever reads of a stretch: its headings and its text.
pub(crate) fn searched(section: &str, content: &str) -> String {
    format!("{section}\n{content}")
}

/// Sentences in a chunk where the section has that many.
const SENTENCES: usize = 5;
/// The least and the most a chunk takes, so that a section's last sentences are not left alone.
const SENTENCES_MIN: usize = 4;
/// See `SENTENCES_MIN`.
const SENTENCES_MAX: usize = 6;
/// Tokens by which counts of the parts may differ from that of a heading path and one unit.
const SEAM_TOKENS: usize = 6;
/// How far past the limit a sum may go before the whole is counted: joined sentences cost a little
/// less than alone.
const SLACK_TOKENS: usize = 8;
/// White space between units that a chunk may span; empty lines without end would eat its tokens.
const GAP_BYTES_MAX: usize = 64;
/// The share of a chunk that its heading path may take.
const PATH_SHARE: usize = 4;
/// The longest heading path, in tokens: beyond this it says less than the text it takes the place of.
const PATH_TOKENS_MAX: usize = 48;

/// The part of a list of headings that fits, the innermost first to stay, joined by ` > `.
pub(crate) fn path(titles: &[&str], tokens_max: usize) -> String {
    let limit = (tokens_max / PATH_SHARE).min(PATH_TOKENS_MAX);
    for first in 0..titles.len() {
        let joined = titles[first..].join(" > ");
        if tokens::count(&joined) <= limit {
            return joined;
        }
    }
    titles.last().map_or_else(String::new, |title| title[..tokens::fitting(title, limit)].trim_end().to_owned())
}

/// Units of one heading path, to be joined.
#[derive(Debug)]
pub(crate) struct Packer<'a> {
    text: &'a str,
    section: &'a str,
    path_tokens: usize,
    tokens_max: usize,
}

/// Units `first..=last`, joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// Of the heading path and the text.
    pub(crate) tokens: usize,
}

impl<'a> Packer<'a> {
    /// For chunks of at most `tokens_max` below this heading path.
    pub(crate) fn new(text: &'a str, section: &'a str, tokens_max: usize) -> Self {
        Self { text, section, path_tokens: tokens::count(section) + 1, tokens_max }
    }

    /// The most tokens a unit may have, so that it fits a chunk of its own.
    pub(crate) fn budget(&self) -> usize {
        self.tokens_max.saturating_sub(self.path_tokens + SEAM_TOKENS).max(1)
    }

    /// Runs of four to six units with `overlap` sentences shared between neighbours, fewer where
    /// tokens do not suffice.
    pub(crate) fn sentences(&self, units: &[Unit], overlap: usize) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut fresh = 0;
        while fresh < units.len() {
            let mut first = if runs.is_empty() { fresh } else { shared(units, fresh, overlap) };
            let run = loop {
                let run = self.reach(units, first, wanted(units.len() - first, overlap));
                // A chunk that only repeats is none: share less, until something new is said.
                if run.last >= fresh {
                    break run;
                }
                first += 1;
            };
            fresh = run.last + 1;
            runs.push(run);
        }
        runs
    }

    /// Runs of as many units as fit.
    #[cfg(feature = "chunkers")]
    pub(crate) fn full(&self, units: &[Unit]) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut first = 0;
        while first < units.len() {
            let rest = self.next(&units[first..]);
            let run = Run { first, last: first + rest.last, ..rest };
            first = run.last + 1;
            runs.push(run);
        }
        runs
    }

    /// The first run of as many units as fit.
    #[cfg(feature = "chunkers")]
    pub(crate) fn next(&self, units: &[Unit]) -> Run {
        self.reach(units, 0, usize::MAX)
    }

    /// As many units from `first` as fit, `most` at most, one at least.
    fn reach(&self, units: &[Unit], first: usize, most: usize) -> Run {
        let mut last = first;
        let mut sum = self.path_tokens + units[first].tokens;
        while last + 1 < units.len() && last + 1 - first < most {
            let next = &units[last + 1];
            sum += next.tokens + 1;
            if sum > self.tokens_max + SLACK_TOKENS || next.start.saturating_sub(units[last].end) > GAP_BYTES_MAX {
                break;
            }
            last += 1;
        }
        loop {
            let tokens = tokens::count(&searched(self.section, &self.text[units[first].start..units[last].end]));
            if tokens <= self.tokens_max || last == first {
                return Run { first, last, tokens };
            }
            last -= 1;
        }
    }
}

/// How many units to take of those left: five, or what leaves four to six for the next.
fn wanted(left: usize, overlap: usize) -> usize {
    if left <= SENTENCES_MAX {
        return left;
    }
    let rest = |taken: usize| left + overlap - taken;
    [SENTENCES, SENTENCES_MIN, SENTENCES_MAX]
        .into_iter()
        .find(|taken| rest(*taken) >= SENTENCES_MIN)
        .unwrap_or(SENTENCES)
}

/// The first unit of a run that repeats up to `overlap` sentences before `fresh`.
fn shared(units: &[Unit], fresh: usize, overlap: usize) -> usize {
    let repeated = units[..fresh].iter().rev().take(overlap).take_while(|unit| unit.prose).count();
    fresh - repeated
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Units of one word each, as `(first, last)` of the runs.
    fn runs(count: usize, overlap: usize, tokens_max: usize) -> Vec<(usize, usize)> {
        let text = "word ".repeat(count);
        let units: Vec<Unit> =
            (0..count).map(|at| Unit { start: at * 5, end: at * 5 + 4, tokens: 1, prose: true }).collect();
        let packer = Packer::new(&text, "", tokens_max);
        packer.sentences(&units, overlap).iter().map(|run| (run.first, run.last)).collect()
    }

    fn check(says: &str, got: Vec<(usize, usize)>, expected: &[(usize, usize)]) {
        assert_eq!(got, expected, "{says}");
    }

    #[test]
    fn four_to_six_a_chunk_one_shared() {
        check("nothing gives nothing", runs(0, 1, 99), &[]);
        check("six are one chunk", runs(6, 1, 99), &[(0, 5)]);
        check("seven are four and four", runs(7, 1, 99), &[(0, 3), (3, 6)]);
        check("nine are five and five", runs(9, 1, 99), &[(0, 4), (4, 8)]);
        check("ten are five and six", runs(10, 1, 99), &[(0, 4), (4, 9)]);
        check("nothing shared", runs(10, 0, 99), &[(0, 4), (5, 9)]);
        check("where only one fits, none is shared", runs(3, 1, 2), &[(0, 0), (1, 1), (2, 2)]);
    }

    #[test]
    fn a_path_keeps_its_innermost_headings() {
        assert_eq!(path(&["One", "Two"], 200), "One > Two");
        let long = "word ".repeat(60);
        assert_eq!(path(&[&long, "Two"], 200), "Two");
        assert!(tokens::count(&path(&["漢".repeat(300).as_str()], 200)) <= PATH_TOKENS_MAX);
    }
}
