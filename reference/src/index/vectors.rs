//! Vectors of documents and questions, by whichever embedder.
//!
//! What is made at once is faster than any look into a database, so it is made anew each time. Vectors of others cost
//! money or time and are kept beside the index (`embedding`, feature `remote`).

use std::fmt::Debug;

use async_trait::async_trait;

#[cfg(not(feature = "remote"))]
use crate::embed::Embedder as _;
use crate::embed::provider::Provider;
use crate::embed::{EmbedError, Purpose};
use crate::store::contract::{Connection, Store};
use crate::store::records::StoreError;

/// Vectors of documents and questions.
#[async_trait]
pub trait Vectors: Debug + Send + Sync {
    /// What makes them.
    fn embedder(&self) -> &Provider;

    /// Vectors found in the store, and vectors that had to be made.
    fn counts(&self) -> (u64, u64);

    /// The vectors of documents, in their order. A text without a word has no direction: zeros.
    ///
    /// # Errors
    /// `EmbeddingError`; nothing is made up.
    async fn documents(&self, store: &dyn Store, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingError>;

    /// The vector that is searched with: of a question, or of a passage in a question's place, made as a
    /// document's is.
    ///
    /// # Errors
    /// `EmbeddingError`; nothing is made up.
    async fn searched_with(
        &self,
        connection: &mut dyn Connection,
        text: &str,
        purpose: Purpose,
    ) -> Result<Vec<f32>, EmbeddingError>;

    /// Has the embedder make a question's vector now: a remembered one would show nothing of the provider.
    ///
    /// # Errors
    /// `EmbedError`.
    async fn ask(&self, text: &str) -> Result<Vec<f32>, EmbedError>;

    /// The name of the model that a question is embedded with now.
    fn question_model(&self, text: &str) -> String;

    // Laboratory: a provider that is down shows only where no remembered vector stands in for it.
    /// Whether a question's vector that is remembered may be taken in place of a new one.
    fn may_be_remembered(&self) -> bool {
        true
    }
}

/// Why there is no vector.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddingError {
    /// The embedder does not make one.
    #[error(transparent)]
    Embedder(#[from] EmbedError),
    /// What is remembered cannot be read or kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Vectors that nobody waits or pays for.
#[cfg(not(feature = "remote"))]
#[derive(Debug)]
pub struct BuiltIn(Provider);

#[cfg(not(feature = "remote"))]
impl BuiltIn {
    /// Vectors of a provider.
    pub fn new(provider: Provider) -> Self {
        Self(provider)
    }
}

#[cfg(not(feature = "remote"))]
#[async_trait]
impl Vectors for BuiltIn {
    fn embedder(&self) -> &Provider {
        &self.0
    }

    fn counts(&self) -> (u64, u64) {
        (0, 0)
    }

    async fn documents(&self, _store: &dyn Store, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        Ok(self.0.embed(texts, Purpose::Document).await?)
    }

    async fn searched_with(
        &self,
        _connection: &mut dyn Connection,
        text: &str,
        purpose: Purpose,
    ) -> Result<Vec<f32>, EmbeddingError> {
        Ok(one(self.0.embed(&[text.to_owned()], purpose).await?))
    }

    async fn ask(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        Ok(one(self.0.embed(&[text.to_owned()], Purpose::Query).await?))
    }

    fn question_model(&self, _text: &str) -> String {
        self.0.model().name.to_string()
    }
}

/// The vector of the only text.
pub(super) fn one(vectors: Vec<Vec<f32>>) -> Vec<f32> {
    vectors.into_iter().next().unwrap_or_default()
}
