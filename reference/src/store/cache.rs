//! What a store keeps so that it need not be had again: embeddings that were paid for, answers, and what conversations
//! were shown.

use std::collections::HashMap;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::store::records::StoreError;

/// A connection of a store that keeps embeddings, answers and conversations.
#[async_trait]
pub trait StoreCache {
    /// Vectors of texts already embedded, by the digest of model and text.
    ///
    /// # Errors
    /// `Sql`.
    async fn embedded(&mut self, keys: &[[u8; 32]]) -> Result<HashMap<[u8; 32], Vec<f32>>, StoreError>;

    /// Keeps vectors for whoever embeds these texts again; the oldest go where there are too many.
    ///
    /// # Errors
    /// `Sql`.
    async fn keep_embedded(&mut self, vectors: &[([u8; 32], Vec<f32>)], now: DateTime<Utc>) -> Result<(), StoreError>;

    /// The answer kept for exactly this question in exactly this scope.
    ///
    /// # Errors
    /// `Sql`.
    async fn answer(&mut self, exact: &[u8; 32], now: DateTime<Utc>) -> Result<Option<CachedAnswer>, StoreError>;

    /// The newest answers of a scope that have a question's guard, for a comparison of meaning.
    ///
    /// # Errors
    /// `Sql`.
    async fn answers(
        &mut self,
        scope: &[u8; 32],
        guard: &str,
        now: DateTime<Utc>,
    ) -> Result<Vec<CachedAnswer>, StoreError>;

    /// Keeps an answer, unless the index has changed since it was found; expired ones, and the
    /// oldest where there are too many, go.
    ///
    /// # Errors
    /// `Sql`.
    async fn keep_answer(&mut self, answer: &NewAnswer<'_>, now: DateTime<Utc>) -> Result<(), StoreError>;

    /// What a conversation was shown since a moment: chunk and final score.
    ///
    /// # Errors
    /// `Sql`.
    async fn shown(&mut self, conversation: &str, since: DateTime<Utc>) -> Result<Vec<ShownChunk>, StoreError>;

    /// Remembers what a conversation is shown now, and forgets what no conversation asks for any more.
    ///
    /// # Errors
    /// `Sql`.
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
    /// Digest of question and scope.
    pub exact: [u8; 32],
    /// Digest of all that must be the same: embedder, hits wanted, filter.
    pub scope: [u8; 32],
    /// Numbers, identifiers and negations of the question, which must be the same too.
    pub guard: &'a str,
    /// The question's vector.
    pub vector: &'a [f32],
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
    /// The question's vector.
    pub vector: Vec<f32>,
    /// The hits, as JSON.
    pub hits: String,
    /// When it was made.
    pub made_at: DateTime<Utc>,
}

/// A chunk a conversation has been shown.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownChunk {
    /// The chunk's name.
    pub chunk: String,
    /// The final score it was shown with.
    pub score: f64,
}
