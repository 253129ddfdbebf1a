//! What retrieval is compared with: plain BM25 and TF-IDF over the same chunks, stop words dropped.
//!
//! They are written down here once more, and not taken from the server, so that a fault of its keyword arm shows.

use std::collections::{BTreeMap, HashMap};

use serin_reference::text::words;

/// BM25's usual constants, those of SQLite's FTS5.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// The chunks of a corpus, counted.
#[derive(Debug)]
pub(crate) struct Counted {
    sources: Vec<String>,
    chunks: Vec<HashMap<String, f64>>,
    lengths: Vec<f64>,
    holding: HashMap<String, f64>,
}

impl Counted {
    /// Counts the stems of chunks, each a source's name and a text.
    pub(crate) fn new(chunks: impl Iterator<Item = (String, String)>) -> Self {
        let mut counted =
            Self { sources: Vec::new(), chunks: Vec::new(), lengths: Vec::new(), holding: HashMap::new() };
        for (source, text) in chunks {
            let mut counts = HashMap::<String, f64>::new();
            for stem in words::content_stems(&text) {
                *counts.entry(stem).or_default() += 1.0;
            }
            for stem in counts.keys() {
                *counted.holding.entry(stem.clone()).or_default() += 1.0;
            }
            counted.lengths.push(counts.values().sum());
            counted.sources.push(source);
            counted.chunks.push(counts);
        }
        counted
    }

    /// How many chunks there are.
    pub(crate) fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Sources by BM25, the best first, each once for each of its chunks.
    pub(crate) fn bm25(&self, question: &str) -> Vec<&str> {
        let (all, mean) = (self.len() as f64, self.lengths.iter().sum::<f64>() / self.len().max(1) as f64);
        let terms: BTreeMap<String, f64> = words::content_stems(question).into_iter().map(|stem| (stem, 1.0)).collect();
        self.ranked(|chunk| {
            let parts = terms.keys().filter_map(|term| {
                let (count, holding) = (self.chunks[chunk].get(term)?, self.holding.get(term)?);
                let idf = ((all - holding + 0.5) / (holding + 0.5)).ln().max(1e-6);
                Some(idf * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * self.lengths[chunk] / mean)))
            });
            parts.sum()
        })
    }

    /// Sources by the cosine of (1 + ln f) · ln(N / n), the best first, each once for each of its chunks.
    pub(crate) fn tf_idf(&self, question: &str) -> Vec<&str> {
        let mut asked = HashMap::<String, f64>::new();
        for stem in words::content_stems(question) {
            *asked.entry(stem).or_default() += 1.0;
        }
        let weight = |term: &String, count: f64| {
            let holding = self.holding.get(term).copied().unwrap_or(self.len() as f64);
            (1.0 + count.ln()) * (self.len() as f64 / holding).ln()
        };
        self.ranked(|chunk| {
            let counts = &self.chunks[chunk];
            let shared = asked
                .iter()
                .filter_map(|(term, count)| counts.get(term).map(|here| weight(term, *count) * weight(term, *here)));
            let dot: f64 = shared.sum();
            let length = counts.iter().map(|(term, count)| weight(term, *count).powi(2)).sum::<f64>().sqrt();
            if dot > 0.0 { dot / length } else { 0.0 }
        })
    }

    /// Sources of the chunks whose worth is above 0, the best first, equal ones in their order.
    fn ranked(&self, worth: impl Fn(usize) -> f64) -> Vec<&str> {
        let mut found: Vec<(usize, f64)> =
            (0..self.len()).map(|chunk| (chunk, worth(chunk))).filter(|(_, worth)| *worth > 0.0).collect();
        found.sort_by(|left, right| right.1.total_cmp(&left.1));
        found.into_iter().map(|(chunk, _)| self.sources[chunk].as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rarer_words_and_shorter_chunks_come_first() {
        let chunks = [
            ("both", "a pump and its impeller stand here"),
            ("common", "a pump"),
            ("long", "a pump stands between a tank, a pipe, a valve, a seal and a bolt"),
            ("none", "sourdough"),
        ];
        let counted = Counted::new(chunks.iter().map(|(source, text)| ((*source).to_owned(), (*text).to_owned())));
        let question = "the pump's impeller";
        assert_eq!(counted.bm25(question), ["both", "common", "long"]);
        assert_eq!(counted.tf_idf(question), ["both", "common", "long"]);
        assert!(counted.bm25("what is it").is_empty(), "stop words find nothing");
    }
}
