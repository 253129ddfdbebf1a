//! What a store keeps so that it need not be had again: embeddings that were paid for, answers, and what conversations
//! were shown.

use std::collections::HashMap;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::store::records::StoreError;

/// Vectors remembered: 150 MB at 384 numbers each.
pub const EMBEDDINGS_MAX: i64 = 100_000;
/// Answers remembered: 20 MB at a usual length.
pub const ANSWERS_MAX: i64 = 2_000;
/// Keys in one statement.
pub const KEYS_MAX: usize = 500;
/// The answer to exactly this question, not yet expired, as `AnswerRow`.
pub const ANSWER: &str = "SELECT hits, made_at FROM answers WHERE exact = $1 AND expires_at > $2";
/// What a conversation was shown since a moment, as `ShownRow`.
pub const SHOWN: &str = "SELECT chunk, score FROM shown WHERE conversation = $1 AND shown_at >= $2 ORDER BY chunk";

/// An answer's hits, and when it was made.
pub type AnswerRow = (String, i64);
/// A chunk's name and its score.
pub type ShownRow = (String, f64);

/// A connection of a store that keeps embeddings, answers and conversations. Whatever is asked of it fails with `Sql`
/// where the database does.
#[async_trait]
pub trait StoreCache {
    /// Vectors of texts already embedded, by the digest of model and text.
    async fn embedded(&mut self, keys: &[[u8; 32]]) -> Result<HashMap<[u8; 32], Vec<f32>>, StoreError>;

    /// Keeps vectors for whoever embeds these texts again; the oldest go where there are too many.
    async fn keep_embedded(&mut self, vectors: &[([u8; 32], Vec<f32>)], now: DateTime<Utc>) -> Result<(), StoreError>;

    /// What the keyword retriever looks for with each of these terms: terms that are the same to it are the same here.
    async fn looked_for(&mut self, terms: &[String]) -> Result<Vec<String>, StoreError>;

    /// The answer kept for exactly this question in exactly this scope.
    async fn answer(&mut self, exact: &[u8; 32], now: DateTime<Utc>) -> Result<Option<CachedAnswer>, StoreError>;

    /// Keeps an answer, unless the index has changed since it was found; expired ones, and the
    /// oldest where there are too many, go.
    async fn keep_answer(&mut self, answer: &NewAnswer<'_>, now: DateTime<Utc>) -> Result<(), StoreError>;

    /// What a conversation was shown since a moment: chunk and final score.
    async fn shown(&mut self, conversation: &str, since: DateTime<Utc>) -> Result<Vec<ShownChunk>, StoreError>;

    /// Remembers what a conversation is shown now, and forgets what no conversation asks for any more.
    async fn keep_shown(
        &mut self,
        conversation: &str,
        shown: &[ShownChunk],
        now: DateTime<Utc>,
        forget_before: DateTime<Utc>,
    ) -> Result<(), StoreError>;
}

/// An answer about to be cached.
#[derive(Debug, Clone)]
pub struct NewAnswer<'a> {
    /// Digest of what is asked and all that must be the same: embedder, hits wanted, filter.
    pub exact: [u8; 32],
    /// The hits, as JSON.
    pub hits: &'a str,
    /// Sources that it touches.
    pub sources: Vec<&'a str>,
    /// When it is no longer used.
    pub expires_at: DateTime<Utc>,
    /// The index's count of changes when it was found.
    pub generation: i64,
}

/// A cached answer.
#[derive(Debug, Clone, PartialEq)]
pub struct CachedAnswer {
    /// The hits, as JSON.
    pub hits: String,
    /// When it was made.
    pub made_at: DateTime<Utc>,
}

impl From<AnswerRow> for CachedAnswer {
    fn from((hits, made_at): AnswerRow) -> Self {
        Self { hits, made_at: DateTime::from_timestamp_micros(made_at).unwrap_or_default() }
    }
}

/// A chunk a conversation has been shown.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownChunk {
    /// The chunk's name.
    pub chunk: String,
    /// The final score it was shown with.
    pub score: f64,
}

impl From<ShownRow> for ShownChunk {
    fn from((chunk, score): ShownRow) -> Self {
        Self { chunk, score }
    }
}
