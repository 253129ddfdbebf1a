//! For codebases: which rules a change touches, and how far it reaches.

use std::collections::{BTreeMap, BTreeSet};

use crate::embed::Embedder as _;
use crate::search::found::Found;
use crate::search::pending::VECTORS;
use crate::search::question::{Question, RetrievalError};
use crate::search::retrieval::Retrieval;
use crate::search::score::Scale;
use crate::search::step::EMBEDDING;
use crate::store::contract::Patience;
use crate::store::filter::Filter;

/// Candidates that a change is compared with: 3 constraints, 3 patterns, 6 others.
const CANDIDATES: usize = 12;
/// Chunks looked at for users of one name.
const MENTIONS_MAX: usize = 200;
/// Names followed from one step to the next.
const NAMES_MAX: usize = 50;
/// Sources reported.
const SOURCES_MAX: usize = 100;

/// A constraint that a change touches.
#[derive(Debug, Clone, PartialEq)]
pub struct Applying {
    /// Its place among all candidates, from 1.
    pub rank: usize,
    /// The constraint.
    pub found: Found,
}

/// Who uses a thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Impact {
    /// Its source.
    pub source: String,
    /// What kind of source that is.
    pub source_type: String,
    /// How many steps away: 1 uses the thing itself.
    pub distance: u32,
    /// The name by which it was found.
    pub through: String,
    /// Chunks of it that hold that name.
    pub mentions: usize,
}

/// The score from which a hit is not clearly of something else.
const fn related(scale: Scale) -> f64 {
    match scale {
        Scale::Words | Scale::Weights => 0.005,
        Scale::Cosine => 0.2,
    }
}

impl Retrieval {
    /// The constraints that stand among the first `max_rank` candidates for a change, the first first; of those whose score
    /// is lower than `min_score`, or else shows that they are of something else, none.
    ///
    /// # Errors
    /// As `search`.
    pub async fn constraints(
        &self,
        change: &str,
        max_rank: usize,
        min_score: Option<f64>,
    ) -> Result<Vec<Applying>, RetrievalError> {
        let question = Question { passes_memory: true, ..Question::new(change, CANDIDATES) };
        let findings = self.search(&question).await?;
        if findings.degraded.iter().any(|scope| [EMBEDDING, VECTORS].contains(scope)) {
            // By words alone "none applies" would be a guess.
            return Err(RetrievalError::Embedder("the vectors cannot be had".to_owned()));
        }
        let scale = Scale::of(self.library.vectors().embedder().model());
        let min_score = min_score.unwrap_or(related(scale));
        let candidates = (1..).zip(findings.hits).take(max_rank);
        let applying =
            candidates.filter(|(_, found)| found.chunk.source_type == "constraints" && found.score >= min_score);
        Ok(applying.map(|(rank, found)| Applying { rank, found }).collect())
    }

    /// The sources that use a name, and those that use what is defined where it is used, step by step.
    ///
    /// # Errors
    /// The store's; `IndexMissing`.
    pub async fn impact(&self, symbol: &str, depth: u32) -> Result<Vec<Impact>, RetrievalError> {
        let mut held = self.library.store().connect(Patience::Search).await?;
        if held.is_empty().await? {
            return Err(RetrievalError::IndexMissing);
        }
        let mut reached = BTreeMap::<String, Impact>::new();
        let mut asked = BTreeSet::new();
        let mut names = vec![symbol.to_owned()];
        for distance in 1..=depth {
            let mut next = BTreeSet::new();
            for name in names.iter().take(NAMES_MAX) {
                if !asked.insert(name.clone()) {
                    continue;
                }
                let words = std::slice::from_ref(name);
                let worded = held.worded(words, &Filter::default(), MENTIONS_MAX).await?;
                let ids: Vec<i64> = worded.iter().map(|worded| worded.place.id).collect();
                for chunk in held.chunks(&ids).await?.into_iter().filter(|chunk| mentions(&chunk.content, name)) {
                    next.extend(defined(&chunk.section).filter(|defined| defined != name));
                    let impact = reached.entry(chunk.source.clone()).or_insert_with(|| Impact {
                        source: chunk.source.clone(),
                        source_type: chunk.source_type.clone(),
                        distance,
                        through: name.clone(),
                        mentions: 0,
                    });
                    impact.mentions += usize::from(impact.distance == distance && impact.through == *name);
                }
            }
            names = next.into_iter().collect();
        }
        let mut impacts: Vec<Impact> = reached.into_values().collect();
        impacts.sort_by(|left, right| {
            (left.distance, right.mentions, &left.source).cmp(&(right.distance, left.mentions, &right.source))
        });
        impacts.truncate(SOURCES_MAX);
        Ok(impacts)
    }
}

/// Whether a text holds a name as a whole word: the keyword retriever stems, and `puts` is not `put`.
fn mentions(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Names that a section of code defines: the section of a function is its signature.
fn defined(section: &str) -> impl Iterator<Item = String> {
    const MAKERS: &[&str] = &["fn", "def", "function", "func", "class", "struct", "enum", "trait", "interface", "type"];
    let words: Vec<&str> = section.split_whitespace().collect();
    let mut made: Vec<&str> = words.windows(2).filter(|pair| MAKERS.contains(&pair[0])).map(|pair| pair[1]).collect();
    if made.is_empty() {
        // Shell has no word for it.
        made.extend(words.last().filter(|word| word.ends_with("()")));
    }
    let names: Vec<String> = made
        .into_iter()
        .map(|word| word.split(|c: char| !c.is_alphanumeric() && !"_.:".contains(c)).next().unwrap_or_default())
        // `def self.put`, `function Store:put`: what it is of is not its name.
        .map(|path| path.rsplit(['.', ':']).find(|name| !name.is_empty()).unwrap_or_default().to_owned())
        .filter(|name| name.len() > 2)
        .collect();
    names.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_words() {
        for (text, expected) in [
            ("store.put(x)", true),
            ("put", true),
            ("store.puts(x)", false),
            ("output", false),
            ("put_all()", false),
            ("we put_all and put", true),
        ] {
            assert_eq!(mentions(text, "put"), expected, "{text}");
        }
    }

    #[test]
    fn sections_define_names() {
        let names = |section: &str| defined(section).collect::<Vec<_>>();
        assert_eq!(names("pub async fn search(&self) -> Result"), ["search"]);
        assert_eq!(names("class Retriever(Base):"), ["Retriever"]);
        assert_eq!(names("func (s *Store) Close() error"), Vec::<String>::new(), "a receiver is no name");
        assert_eq!(names("class Store > def self.open(path)"), ["Store", "open"]);
        assert_eq!(names("function Store:close()"), ["close"]);
        assert_eq!(names("deploy_all()"), ["deploy_all"]);
        assert_eq!(names("Guide > Setup"), Vec::<String>::new());
    }
}
