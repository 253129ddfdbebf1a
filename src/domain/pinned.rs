//! How a server answered when somebody looked and took that for good: one monitor's entry of the lock file
//! (RETRIEVAL.md §2). Only `serin pin` writes it, and a person commits it: what would adapt by itself would learn damage.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::answer::{TEXT_NAME, Turn};
use crate::domain::tools::Listing;

/// What is pinned of one monitor.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pinned {
    /// Changes exactly when something that is pinned changes; lowercase hex.
    pub hash: String,
    /// Where its block stands: file as people open it, and its first line.
    pub place: (String, u32),
    /// How often each canary was asked for it.
    pub runs: u32,
    /// Whether each of these answers came from the index, as far as that can be told. Else what caches hide is not known,
    /// and checks that compare lists and scores do not arm.
    pub reached_index: bool,
    /// What the server called itself: name and version.
    pub server: Option<(String, String)>,
    /// The lowest and the highest score of any result; none where results have none.
    pub scale: Option<(f64, f64)>,
    /// How many sources the server listed; none where it lists none, or where nobody read the list to its end.
    pub sources: Option<u32>,
    /// Relations that held in every run.
    pub relations: Vec<Relation>,
    /// By id.
    pub canaries: BTreeMap<String, PinnedCanary>,
    /// The accepted list of tools with the server's instructions; none where the entry holds none.
    pub tools: Option<Arc<Listing>>,
}

/// How one canary was answered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PinnedCanary {
    /// The declaration it was asked by; under another one nothing is known of it.
    pub definition_hash: String,
    /// The lists of distinct sources that were seen, in the order given, the most frequent first. Where answers are texts,
    /// the name of the one that came each time; empty where they differed.
    pub lists: Vec<Vec<String>>,
    /// The first result's score; none where it had none.
    pub top_score: Option<PinnedScore>,
    /// The fewest and the most results.
    pub results: (u32, u32),
    /// The median of its results' lengths in characters; none where no result had a text.
    pub chars: Option<u32>,
    /// The first result's length in characters, where it was the same in every run.
    pub first_chars: Option<u32>,
    /// Characters of the shortest and the longest answer, where each was a text without a list of results.
    pub text_chars: Option<(u32, u32)>,
    /// Whether one text came twice in some run: servers that show a summary in each result do that.
    pub repeats: bool,
    /// Whether scores fell from each result to the next in every run: fused ranks beside other scores may well not.
    pub sorted: bool,
}

impl Pinned {
    /// The most results of any answer.
    pub fn most_results(&self) -> usize {
        self.canaries.values().map(|canary| canary.results.1).max().unwrap_or_default() as usize
    }
}

impl PinnedCanary {
    /// Whether it was answered with texts, of which there are no lists to compare.
    pub fn is_text(&self) -> bool {
        let is_name = |list: &Vec<String>| matches!(&list[..], [name] if name.starts_with(TEXT_NAME));
        self.text_chars.is_some() || !self.lists.is_empty() && self.lists.iter().all(is_name)
    }

    /// Whether its texts differed from run to run, so that another text says nothing.
    pub fn words_anew(&self) -> bool {
        self.is_text() && self.lists.len() != 1
    }
}

/// A score over the runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PinnedScore {
    /// Its median, on the server's own scale.
    pub median: f64,
    /// How much it moves by itself: the median absolute deviation, on the same scale; 0 where it never moved.
    pub mad: f64,
}

/// What may hold between two answers; which of them do is each server's own affair (RETRIEVAL.md §3, check 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relation {
    /// The same question twice brings the same list.
    SameTwice,
    /// Fewer results asked for are the first of more.
    Prefix,
    /// Capitals and blanks do not matter.
    CaseAndBlanks,
    /// A question that differs by a nonce alone brings the same list, so that a nonce passes caches and changes nothing.
    Nonce,
}

impl Relation {
    /// Every relation, in the order of the lock file.
    pub const ALL: [Self; 4] = [Self::SameTwice, Self::Prefix, Self::CaseAndBlanks, Self::Nonce];

    /// The word in the lock file and on pages.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::SameTwice => "same_twice",
            Self::Prefix => "prefix",
            Self::CaseAndBlanks => "case_and_blanks",
            Self::Nonce => "nonce",
        }
    }

    /// Those that beats look at again.
    pub const LOOKED_AT: [Self; 3] = [Self::SameTwice, Self::Prefix, Self::CaseAndBlanks];

    /// As what a beat asks the altered question; none where it asks the canary's own once more, or does not ask.
    pub const fn turn(self) -> Option<Turn> {
        match self {
            Self::Prefix => Some(Turn::Fewer),
            Self::CaseAndBlanks => Some(Turn::Respelled),
            Self::SameTwice | Self::Nonce => None,
        }
    }

    /// The relation that an altered question was asked for.
    pub fn of_turn(turn: Turn) -> Option<Self> {
        Self::ALL.into_iter().find(|relation| relation.turn() == Some(turn))
    }

    /// The relation that a word stands for.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|relation| relation.slug() == slug)
    }
}
