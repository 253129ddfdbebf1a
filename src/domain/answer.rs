//! What a canary was asked, why, and what came back.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::fault::Fault;

/// One canary of a beat.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// Id of the canary, unique within its monitor.
    pub canary: String,
    /// As the file has it, or in a way that keeps caches out.
    pub variant: Variant,
    /// Why it was asked, or that it was not.
    pub turn: Turn,
    /// Duration of the call; zero where it was not asked.
    pub elapsed: Duration,
    /// Whether the call opened its own connection.
    pub fresh_connection: bool,
    /// What came back; none where it was not asked.
    pub result: Option<Result<Answer, Fault>>,
}

/// How a canary's question was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Variant {
    /// As the file has it, the same in each beat: caches may answer it.
    Plain,
    /// In a way that keeps caches out, such as by an argument.
    Fresh,
    /// In other words of the file. That is another question: whether it is answered rightly is judged, and its list, scores
    /// and lengths are compared with nothing.
    Reworded,
}

impl Variant {
    /// The word stored and shown.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Fresh => "fresh",
            Self::Reworded => "reworded",
        }
    }

    /// The variant a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        [Self::Plain, Self::Fresh, Self::Reworded].into_iter().find(|variant| variant.slug() == slug)
    }
}

/// Why a canary was on this beat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Turn {
    /// Its turn in the round.
    Scheduled,
    /// Outside the round: it was wrong last time or brought what is forbidden, or others are wrong and it was not asked
    /// since. Out of every percentile and share, since it was not asked by chance.
    ReAsk,
    /// For fewer results than the canary asks for, to see whether they are the first of its own: none of its answers.
    Fewer,
    /// In other capitals and blanks, to see whether that changes anything: none of its answers.
    Respelled,
    /// Of a sentence out of an earlier answer: no canary's answer.
    Harvested,
    /// No time was left, or the server could not be reached: neither good nor bad.
    NotAsked,
}

impl Turn {
    /// The word stored and shown.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::ReAsk => "re-ask",
            Self::Fewer => "fewer",
            Self::Respelled => "respelled",
            Self::Harvested => "harvested",
            Self::NotAsked => "not_asked",
        }
    }

    /// Whether another question was asked than a canary's own, so that the answer is none of its answers.
    pub const fn is_altered(self) -> bool {
        matches!(self, Self::Fewer | Self::Respelled | Self::Harvested)
    }

    /// The turn a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        let all = [Self::Scheduled, Self::ReAsk, Self::Fewer, Self::Respelled, Self::Harvested, Self::NotAsked];
        all.into_iter().find(|turn| turn.slug() == slug)
    }
}

/// What an answer says of a cache that it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum CacheWord {
    /// Nothing: it may have come from one, or not.
    #[default]
    Unsaid,
    /// That none answered, so that the index did.
    Missed,
    /// That a cache answered, which proves nothing about the index.
    Hit,
}

impl CacheWord {
    /// Every word, in the order of the numbers by which packs know them.
    pub const ALL: [Self; 3] = [Self::Unsaid, Self::Missed, Self::Hit];

    /// Whether the index answered, as far as that can be told. `knows_way`: caches of this server can be passed, so that
    /// what did not pass them may well come from one.
    pub const fn says_index(self, variant: Variant, knows_way: bool) -> bool {
        match self {
            Self::Hit => false,
            Self::Missed => true,
            Self::Unsaid => !matches!(variant, Variant::Plain) || !knows_way,
        }
    }

    /// The word stored and shown.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Unsaid => "unsaid",
            Self::Missed => "missed",
            Self::Hit => "hit",
        }
    }

    /// What a stored word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|word| word.slug() == slug)
    }
}

/// A search tool's answer, reduced to what is judged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Results in the order given, at most [`HITS_MAX`].
    pub hits: Vec<Hit>,
    /// How many there are in all, as the server says.
    pub total: Option<u64>,
    /// What the server says of itself in the answer, such as `degraded: true`, at most a handful.
    pub self_reported: Vec<String>,
    /// What it says of a cache.
    pub cache: CacheWord,
    /// Length of the JSON-RPC result in bytes.
    pub bytes: u64,
    /// Tokens of what a model would read of it; none where they were not counted.
    pub tokens: Option<u32>,
    /// What a model would read of it, until the probe has counted its tokens; where a canary reads it, until it is judged.
    pub text: Option<Box<str>>,
    /// The same as people read it, where that differs (JSON has escapes) and a canary reads it; until it is judged.
    pub read: Option<Box<str>>,
    /// Whether neither a list of results was found nor a text which says that there is none: only the text tells anything.
    pub text_only: bool,
    /// The text's first words, bounded, for the evidence; none where no canary reads the text.
    pub begins: Option<String>,
    /// What stays of the text for good, where only the text tells anything.
    pub kept: Option<Box<KeptText>>,
    /// The texts of its results with their sources, bounded; empty where nobody holds canaries against them.
    pub passages: Vec<SeenPassage>,
}

impl Answer {
    /// Names of its sources in the order given. Where only the text tells anything it is a list with one source, which
    /// stands for that text.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        let text = self.kept.iter().map(|text| &*text.name);
        self.hits.iter().map(|hit| &*hit.source).chain(text)
    }
}

/// What is kept of an answer's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptText {
    /// Stands for it among the names of sources: [`TEXT_NAME`] and the first 32 hexadecimal digits of its SHA-256.
    pub name: Box<str>,
    /// Length of the whole in bytes.
    pub bytes: u64,
    /// Characters of the whole.
    pub chars: u32,
    /// How it begins: bounded, harmless to show, and without our secrets.
    pub begins: Arc<str>,
}

/// A stretch of a source, as a search brought it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenPassage {
    /// The source's name, as answers give it.
    pub source: String,
    /// Its text on one line, bounded.
    pub text: String,
}

/// How the name of a source begins that stands for a text.
pub const TEXT_NAME: &str = "text:";

/// Results kept of one answer.
pub const HITS_MAX: usize = 50;

/// One result of a search, in the order of the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The source's name; empty where none was found.
    pub source: String,
    /// The score; none where there is none or it is not a number.
    pub score: Option<f64>,
    /// Characters of the whole text, of which `excerpt` is the beginning.
    pub chars: u32,
    /// The first words of the text, bounded, for the evidence.
    pub excerpt: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_list_with_one_source() {
        let hit = |source: &str| Hit { source: source.to_owned(), score: None, chars: 1, excerpt: String::new() };
        let text = KeptText { name: "text:ab".into(), bytes: 2, chars: 2, begins: "hi".into() };
        let rows = [
            (Answer::default(), vec![], "no results"),
            (Answer { hits: vec![hit("a.md"), hit("b.md")], ..Answer::default() }, vec!["a.md", "b.md"], "results"),
            (Answer { kept: Some(Box::new(text)), ..Answer::default() }, vec!["text:ab"], "a text alone"),
        ];
        for (answer, expected, sentence) in rows {
            assert_eq!(answer.sources().collect::<Vec<_>>(), expected, "{sentence}");
        }
    }
}
