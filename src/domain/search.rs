//! How a monitor's search tool is called, how that gets past its caches, and where answers keep what is judged.

use std::collections::BTreeMap;

use crate::domain::wanted::TextSigns;

/// How a monitor's search tool is called, and where its answers keep what we judge.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The tool's name; none: found among the usual names (`search_documents`, `search`, `query`, …).
    pub tool: Option<String>,
    /// Where the question goes: JSON pointers into the arguments, at least one, such as `/query`.
    pub query: Vec<String>,
    /// Further arguments, each value as JSON text.
    pub arguments: BTreeMap<String, String>,
    /// JSON pointer to the list of results; none: found by shape.
    pub results: Option<String>,
    /// JSON pointers inside one result (`source`, `content`, `score`), and `total` inside the answer.
    pub fields: SearchFields,
    /// Whether each of `fields` points into the answer, at a list of all results' parts, instead of into one result.
    pub by_columns: bool,
    /// What a text says that is no list of results; none: nothing is known of it.
    pub said: Option<Box<TextSigns>>,
    /// Canaries asked in one beat.
    pub per_beat: u32,
    /// How its calls get past the server's caches.
    pub fresh: Fresh,
    /// Whether sentences out of its answers are asked back.
    pub harvest: bool,
}

impl Default for Search {
    /// One that nobody declared: the question in `query`, and everything else found.
    fn default() -> Self {
        Self {
            tool: None,
            query: vec!["/query".to_owned()],
            arguments: BTreeMap::new(),
            results: None,
            fields: SearchFields::default(),
            by_columns: false,
            said: None,
            per_beat: 0,
            fresh: Fresh::default(),
            harvest: false,
        }
    }
}

impl Search {
    /// The same search with half as many results asked for, by this argument: half of what it asks for, else of the `most`
    /// that ever came. None where that is nothing.
    #[must_use]
    pub fn fewer(&self, argument: &str, most: usize) -> Option<Self> {
        let asked = self.arguments.get(argument).and_then(|json| json.parse::<usize>().ok()).unwrap_or(most);
        let half = asked.min(most) / 2;
        (half > 0).then(|| {
            let mut fewer = self.clone();
            fewer.arguments.insert(argument.to_owned(), half.to_string());
            fewer
        })
    }

    /// The same search as it goes past caches this way.
    #[must_use]
    pub fn past_caches(&self, way: FreshWay) -> Self {
        let mut fresh = self.clone();
        match (way, &self.fresh) {
            (FreshWay::Given, Fresh::Given(given)) => {
                fresh.arguments.extend(given.iter().map(|(name, json)| (name.clone(), json.clone())));
            }
            // A nonce stands in the question.
            (FreshWay::Given, Fresh::Found | Fresh::Off) | (FreshWay::Nonce, _) => {}
            (FreshWay::Known(name, json), _) => {
                fresh.arguments.insert(name.to_owned(), json.to_owned());
            }
        }
        fresh
    }
}

/// How searches get past a server's caches, so that its index answers: a right answer of a cache proves nothing of the
/// index (RETRIEVAL.md §1.5).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Fresh {
    /// By an argument that the tool's schema offers for it, where that is one of those we know; else by a nonce, where the
    /// lock says that one changes nothing.
    #[default]
    Found,
    /// By further arguments, which stand before those of the same name; each value as JSON text, at least one.
    Given(BTreeMap<String, String>),
    /// Not at all, for a server that bills by it: the index is seen only where caches leave it to be.
    Off,
}

/// By what searches get past the caches of a server, as its list of tools and the lock say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreshWay {
    /// By the arguments that the file gives.
    Given,
    /// By an argument that we know: its name, and its value as JSON text.
    Known(&'static str, &'static str),
    /// By a nonce at the end of each question, of which the lock says that it changes nothing.
    Nonce,
}

impl FreshWay {
    /// How people read it, such as `` `cache: "bypass"` ``.
    pub fn said(self) -> String {
        match self {
            Self::Given => "`fresh_arguments`".to_owned(),
            Self::Known(name, json) => format!("`{name}: {json}`"),
            Self::Nonce => {
                "a nonce at the end of each question, since monitors.lock says that it changes nothing".to_owned()
            }
        }
    }
}

/// Where a result keeps its parts; an empty one is found among the usual names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchFields {
    /// Pointer to the source's name, relative to one result.
    pub source: Option<String>,
    /// Pointer to the text, relative to one result.
    pub content: Option<String>,
    /// Pointer to the score, relative to one result.
    pub score: Option<String>,
    /// Pointer to the count of all results, relative to the answer.
    pub total: Option<String>,
}
