//! Sources, vectors and answers to try a store with.

use chrono::{DateTime, TimeDelta, Utc};
use serin_reference::chunk::{Chunk, Role};
use serin_reference::store::cache::{NewAnswer, ShownChunk};
use serin_reference::store::contract::{Connection, Patience, Store};
use serin_reference::store::filter::Filter;
use serin_reference::store::records::{NewSource, Origin, Replaced, StoreError, Volatility};
use serin_reference::text::draw::mix;
use serin_reference::text::tokens;

/// A source that a row of a test changes as it likes.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) collection: String,
    pub(crate) tags: Vec<String>,
    pub(crate) dated: Option<&'static str>,
    pub(crate) volatility: Volatility,
    pub(crate) version: String,
    /// Heading, text, and vector where it is searched.
    pub(crate) chunks: Vec<(String, String, Option<Vec<f32>>)>,
    pub(crate) drops_answers: bool,
}

impl Piece {
    /// One chunk without a heading, with a vector made of its name.
    pub(crate) fn new(name: &str, text: &str) -> Self {
        let seed = name.bytes().fold(7, |seed, byte| mix(seed ^ u64::from(byte)));
        Self {
            name: name.to_owned(),
            kind: "manual".to_owned(),
            collection: String::new(),
            tags: Vec::new(),
            dated: None,
            volatility: Volatility::Normal,
            version: "1".to_owned(),
            chunks: vec![(String::new(), text.to_owned(), Some(drawn(seed, 8)))],
            drops_answers: true,
        }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(crate) async fn put(&self, store: &dyn Store) -> Result<Replaced, StoreError> {
        let chunks: Vec<(Chunk, Option<Vec<f32>>)> = self
            .chunks
            .iter()
            .map(|(section, content, vector)| {
                let (section, content) = (section.clone(), content.clone());
                let char_end = content.chars().count();
                let tokens = tokens::count(&content);
                let role = if vector.is_some() { Role::Passage } else { Role::Section };
                (Chunk { section, content, char_start: 0, char_end, tokens, role, parent: None }, vector.clone())
            })
            .collect();
        let text = self.chunks.iter().map(|(_, text, _)| text.as_str()).collect::<Vec<_>>().join("\n");
        store
            .replace(NewSource {
                source: &self.name,
                source_type: &self.kind,
                collection: &self.collection,
                tags: &self.tags,
                dated: self.dated.map(|day| day.parse().unwrap()),
                volatility: self.volatility,
                origin: Origin::Caller,
                content_hash: &self.version,
                parser: "test",
                text: &text,
                indexed_at: now(),
                chunks: &chunks,
                drops_answers: self.drops_answers,
            })
            .await
    }
}

/// A vector of length one, the same for a seed every time.
pub(crate) fn drawn(seed: u64, width: u64) -> Vec<f32> {
    // A sum of twelve even draws is near enough to a normal one, and has no direction it prefers.
    let even = |number: u64| (mix(mix(seed) ^ number) >> 40) as f32 / (1_u64 << 24) as f32;
    unit((0..width).map(|at| (0..12).map(|draw| even(at * 12 + draw)).sum::<f32>() - 6.0).collect())
}

pub(crate) fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|number| *number /= length);
    vector
}

/// A fixed moment.
pub(crate) fn now() -> DateTime<Utc> {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

pub(crate) fn later(seconds: i64) -> DateTime<Utc> {
    now() + TimeDelta::seconds(seconds)
}

pub(crate) async fn connect(store: &dyn Store) -> Box<dyn Connection> {
    store.connect(Patience::Writer).await.unwrap()
}

/// Sources and places of what the keyword arm finds.
pub(crate) async fn worded(store: &dyn Store, terms: &[&str], filter: &Filter, depth: usize) -> Vec<String> {
    let terms: Vec<String> = terms.iter().map(|term| (*term).to_owned()).collect();
    let found = connect(store).await.worded(&terms, filter, depth).await.unwrap();
    found.into_iter().map(|found| format!("{}#{}", found.place.source, found.place.ordinal)).collect()
}

/// Sources and places of what the vector arm finds.
pub(crate) async fn near(store: &dyn Store, vector: &[f32], filter: &Filter, depth: usize) -> Vec<String> {
    let mut held = connect(store).await;
    let near = held.near(vector, filter, depth).await.unwrap();
    assert!(
        near.is_sorted_by(|a, b| (b.cosine, &a.place) <= (a.cosine, &b.place)),
        "nearest first, equal ones by place: {near:?}"
    );
    let ids: Vec<i64> = near.iter().map(|near| near.place.id).collect();
    let chunks = held.chunks(&ids).await.unwrap();
    ids.iter().map(|id| chunks.iter().find(|chunk| chunk.id == *id).unwrap().name()).collect()
}

/// An answer to the question of this number.
pub(crate) fn answer(number: u8, sources: &[&'static str], generation: i64) -> NewAnswer<'static> {
    NewAnswer { exact: [number; 32], hits: "[]", sources: sources.to_vec(), expires_at: later(3_600), generation }
}

pub(crate) fn remembered(chunk: &str, score: f64) -> ShownChunk {
    ShownChunk { chunk: chunk.to_owned(), score }
}
