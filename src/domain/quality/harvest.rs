//! Harvested canaries: sentences out of a server's own earlier answers, each asked once, of that server alone, to see
//! whether it brings its source back (RETRIEVAL.md §2).
//!
//! No cache knows what was never asked before, so that the index answers. Such a question shares its words with its source:
//! it speaks for what is stored and for the keyword arm, and for nothing else. Single ones prove nothing, since a sentence
//! may be found elsewhere with good reason; what is judged is how often, by [`crate::domain::quality::erosion`].
//!
//! What is gathered here never leaves memory but for its own server: neither the question nor what it brought is written,
//! shown, logged or told. It is bounded, and gone with the process.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::calls::TWICE_EVERY;
use crate::domain::quality::propose::{rarity, sentences, tokens};
use crate::domain::quality::ranking::fingerprint;

/// Under what name they are recorded, which no canary can have.
pub(crate) const HARVESTED: &str = "(harvested)";

/// Sentences kept; as many are asked in a week at most.
const SENTENCES_MAX: usize = 256;
/// Characters of a sentence: shorter ones say little, longer ones are cut by what embeds them.
const SENTENCE_CHARS: std::ops::RangeInclusive<usize> = 30..=200;
/// Characters of a source's name.
const SOURCE_CHARS_MAX: usize = 200;
/// Words that a sentence holds of those that stand in one source only.
const RARE_WORDS: usize = 2;
/// Sources seen before any word may be called rare.
const SOURCES_LEAST: usize = 8;
/// Places for words. Two words that share one count as one word, which makes fewer of them rare.
const PLACES: usize = 8_192;
/// Sentences remembered as asked, those of the last week among them.
const ASKED_MAX: usize = 512;
/// Within which no more are asked than there are.
const WEEK: TimeDelta = TimeDelta::weeks(1);

/// Marks a place whose word stands in several sources.
const SEVERAL: u16 = u16::MAX;

/// The sentences gathered of one monitor's answers.
pub struct Harvest {
    /// By a hash of their text. The smallest are kept, a fair draw of all that came by.
    sentences: BTreeMap<u64, Sentence>,
    /// In which source a word was seen, by a hash of it: 0 in none, [`SEVERAL`].
    words: Box<[u16]>,
    words_known: usize,
    /// A few sources by their marks, to see whether there are enough.
    sources: BTreeSet<u16>,
    /// What was asked, the latest last.
    asked: VecDeque<(DateTime<Utc>, u64)>,
}

/// A sentence and the source that it stands in.
#[derive(Clone, PartialEq, Eq)]
pub struct Sentence {
    text: String,
    source: String,
}

/// Nothing of what it says.
impl std::fmt::Debug for Sentence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sentence").finish_non_exhaustive()
    }
}

/// How much there is, and nothing of what it says.
impl std::fmt::Debug for Harvest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Harvest").field("sentences", &self.sentences.len()).finish_non_exhaustive()
    }
}

impl Sentence {
    /// The question.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The source that should answer it.
    pub fn source(&self) -> &str {
        &self.source
    }
}

impl Default for Harvest {
    fn default() -> Self {
        Self {
            sentences: BTreeMap::new(),
            words: vec![0; PLACES].into_boxed_slice(),
            words_known: 0,
            sources: BTreeSet::new(),
            asked: VecDeque::new(),
        }
    }
}

impl Harvest {
    /// Takes in what a result says.
    pub fn gather(&mut self, source: &str, text: &str) {
        if source.is_empty() || source.chars().count() > SOURCE_CHARS_MAX || source.contains("\\u{") {
            return;
        }
        // Whose part it stands in does not matter.
        let source = source.split('#').next().unwrap_or(source);
        let mark = mark(source);
        self.sources.insert(mark);
        if self.sources.len() > SOURCES_LEAST {
            self.sources.pop_last();
        }
        for token in tokens(text).filter(|token| rarity(token) > 0) {
            let place = &mut self.words[place(token)];
            self.words_known += usize::from(*place == 0);
            *place = if *place == 0 || *place == mark { mark } else { SEVERAL };
        }
        for sentence in sentences(text).into_iter().filter(|sentence| is_fit(sentence)) {
            let key = hash(sentence);
            if !self.asked.iter().any(|(_, asked)| *asked == key) {
                let sentence = Sentence { text: sentence.to_owned(), source: source.to_owned() };
                self.sentences.entry(key).or_insert(sentence);
            }
        }
        while self.sentences.len() > SENTENCES_MAX {
            self.sentences.pop_last();
        }
        // Where most places are taken, no further word is rare: another draw begins.
        if self.words_known > PLACES / 2 {
            *self = Self { asked: std::mem::take(&mut self.asked), ..Self::default() };
        }
    }

    /// The next sentence to ask, where one is due. `every`: between two beats. `is_wanted`: answers are waited for, since
    /// too little is known or something is in doubt; else they are spread over the week.
    pub fn draw(&mut self, every: Duration, is_wanted: bool, now: DateTime<Utc>) -> Option<Sentence> {
        let held = i32::try_from(self.sentences.len()).unwrap_or(i32::MAX);
        let this_week = self.asked.iter().filter(|(at, _)| (now - *at).abs() < WEEK).count();
        if this_week >= self.sentences.len() || self.sources.len() < SOURCES_LEAST {
            return None;
        }
        let least = TimeDelta::from_std(every.saturating_mul(TWICE_EVERY)).unwrap_or(WEEK);
        let gap = if is_wanted { least } else { least.max(WEEK / held.max(1)) };
        if self.asked.back().is_some_and(|(last, _)| (now - *last).abs() < gap) {
            return None;
        }
        while let Some((key, sentence)) = self.sentences.pop_first() {
            if self.is_of_one_source(&sentence) {
                self.asked.push_back((now, key));
                if self.asked.len() > ASKED_MAX {
                    self.asked.pop_front();
                }
                return Some(sentence);
            }
        }
        None
    }

    /// Whether it holds enough words that stand in its source only, as far as was seen.
    fn is_of_one_source(&self, sentence: &Sentence) -> bool {
        let mark = mark(&sentence.source);
        let rare: BTreeSet<usize> = tokens(&sentence.text)
            .filter(|token| rarity(token) > 0)
            .map(place)
            .filter(|place| self.words[*place] == mark)
            .collect();
        rare.len() >= RARE_WORDS
    }

    /// Sentences that may still be asked.
    pub fn held(&self) -> usize {
        self.sentences.len()
    }
}

/// Whether a sentence is a question that harms nobody: one line of words, of a length that is embedded whole.
fn is_fit(sentence: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || " ,-'’._()/".contains(c);
    SENTENCE_CHARS.contains(&sentence.chars().count()) && sentence.chars().all(plain)
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// A source by a number that is neither none's nor that of several.
fn mark(source: &str) -> u16 {
    (fingerprint(source) % u32::from(SEVERAL - 1)) as u16 + 1
}

fn place(word: &str) -> usize {
    (hash(&word.to_lowercase()) % PLACES as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEAT: Duration = Duration::from_secs(60);

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + minute * 60, 0).unwrap()
    }

    /// Sources of one sentence each, with two words of its own.
    fn gathered(sources: usize) -> Harvest {
        let mut harvest = Harvest::default();
        for nth in 0..sources {
            harvest.gather(&format!("{nth}.md"), &format!("The device code{nth}a needs module code{nth}b at once."));
        }
        harvest
    }

    #[test]
    fn a_sentence_is_asked_that_stands_in_one_source_only() {
        let plain = "The boiler needs its inspection in winter.";
        let own = "The alternator takes cartridge XK-2201 and gasket GT-9.";
        type Row<'r> = (&'r [(&'r str, &'r str)], Option<&'r str>, &'r str);
        let rows: [Row<'_>; 6] = [
            (&[("a.md", own)], Some("a.md"), "two words that no other source holds"),
            (&[("a.md#1", own), ("a.md#2", own)], Some("a.md"), "two parts of one source"),
            (&[("a.md", own), ("b.md", own)], None, "a sentence that two sources hold"),
            (&[("a.md", own), ("b.md", "An alternator; XK-2201, cartridge, gasket.")], None, "one rare word is left"),
            (&[("a.md", "Is it so?\nYes.")], None, "too short to say anything"),
            (&[("", own)], None, "a result that names no source"),
        ];
        for (passages, expected, sentence) in rows {
            let mut harvest = Harvest::default();
            (0..SOURCES_LEAST).for_each(|nth| harvest.gather(&format!("{nth}.md"), plain));
            passages.iter().for_each(|(source, text)| harvest.gather(source, text));
            let drawn = harvest.draw(BEAT, true, at(0));
            assert_eq!(drawn.as_ref().map(Sentence::source), expected, "{sentence}");
        }
        let mut few = gathered(SOURCES_LEAST - 1);
        assert_eq!(few.draw(BEAT, true, at(0)), None, "of so few sources every word is one's own");
    }

    #[test]
    fn each_is_asked_once_and_never_more_in_a_week_than_there_are() {
        let mut harvest = gathered(20);
        let mut asked = Vec::new();
        for minute in 0..7 * 24 * 60 {
            // What answers bring anew is what was asked before.
            let again = gathered(20);
            again
                .sentences
                .into_values()
                .for_each(|sentence| harvest.gather(&sentence.source, &format!("{}.", sentence.text)));
            asked.extend(harvest.draw(BEAT, true, at(minute)).map(|sentence| (minute, sentence.text)));
        }
        let texts: BTreeSet<&String> = asked.iter().map(|(_, text)| text).collect();
        assert_eq!(texts.len(), asked.len(), "none twice");
        assert_eq!(asked.len(), 10, "ten of twenty: then as many were asked as are left");
        assert!(
            asked.windows(2).all(|pair| pair[1].0 - pair[0].0 >= i64::from(TWICE_EVERY)),
            "one beat in five at most"
        );
    }

    #[test]
    fn where_nobody_waits_for_answers_they_are_spread_over_the_week() {
        let mut harvest = gathered(100);
        let asked = (0..7 * 24 * 60).filter_map(|minute| harvest.draw(BEAT, false, at(minute))).count();
        assert!((40..=100).contains(&asked), "{asked} of 100, ever fewer as fewer are left");
        let first_day = {
            let mut harvest = gathered(100);
            (0..24 * 60).filter_map(|minute| harvest.draw(BEAT, false, at(minute))).count()
        };
        assert!((10..=15).contains(&first_day), "a seventh of them: {first_day}");
    }

    #[test]
    fn what_is_kept_is_bounded_and_shows_nothing() {
        let mut harvest = Harvest::default();
        for nth in 0..50_000 {
            let text = format!("The {nth}th device named secret{nth} wants module m{nth}x at once.");
            harvest.gather(&format!("{nth}.md"), &text);
        }
        assert!(harvest.held() <= SENTENCES_MAX && harvest.sources.len() <= SOURCES_LEAST);
        assert!(harvest.words_known <= PLACES / 2, "words are forgotten before all of them collide");
        let drawn = harvest.draw(BEAT, true, at(0));
        let shown = format!("{harvest:?} {drawn:?}");
        assert!(drawn.is_some() && !shown.contains("secret") && !shown.contains(".md"), "{shown}");
    }
}
