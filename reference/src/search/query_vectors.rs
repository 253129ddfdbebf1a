//! What is searched for: the questions, each with its vector.

use std::sync::Arc;
use std::time::Duration;
#[cfg(feature = "memory")]
use std::time::Instant;

use crate::embed::Purpose;
use crate::index::library::Library;
#[cfg(feature = "memory")]
use crate::search::query_cache::QueryCache;
use crate::search::question::RetrievalError;
use crate::search::stages::{Stage, Stages};
use crate::store::contract::Connection;

/// What is searched for.
#[derive(Debug)]
pub struct QueryVectors {
    /// By both retrievers, each with its vector; the first is what was asked.
    pub questions: Vec<(String, Arc<[f32]>)>,
    /// By the vector retriever alone.
    pub passage: Option<Arc<[f32]>>,
}

/// A question's vector, and for how long it has been remembered; `None` where it was made for this.
pub type Embedded = (Arc<[f32]>, Option<Duration>);

/// Embeds what is searched for.
#[derive(Debug, Clone, Copy)]
pub struct Embedding<'a> {
    /// Whose model embeds.
    pub library: &'a Library,
    /// Vectors of questions already asked; `None` where it is asked afresh.
    #[cfg(feature = "memory")]
    pub query_cache: Option<&'a QueryCache>,
    /// How long it takes.
    pub stages: &'a Stages,
}

impl Embedding<'_> {
    /// The questions with their vectors; that of the first is already there.
    ///
    /// # Errors
    /// `Embedder` where the provider is down.
    pub async fn query_vectors(
        self,
        connection: &mut dyn Connection,
        questions: &[String],
        first: &Arc<[f32]>,
    ) -> Result<QueryVectors, RetrievalError> {
        let mut with_vectors = Vec::with_capacity(questions.len());
        for (number, text) in questions.iter().enumerate() {
            let vector = match number {
                0 => Arc::clone(first),
                _ => self.question(connection, text).await?.0,
            };
            with_vectors.push((text.clone(), vector));
        }
        Ok(QueryVectors { questions: with_vectors, passage: None })
    }

    /// The vector of a question.
    ///
    /// # Errors
    /// `Embedder` where the provider is down.
    pub async fn question(self, connection: &mut dyn Connection, text: &str) -> Result<Embedded, RetrievalError> {
        let _timed = self.stages.time(Stage::Embed);
        let vectors = self.library.vectors();
        #[cfg(feature = "memory")]
        let model = vectors.question_model(text);
        #[cfg(feature = "memory")]
        if vectors.may_be_remembered()
            && let Some((vector, age)) =
                self.query_cache.and_then(|query_cache| query_cache.recall(&model, text, Instant::now()))
        {
            return Ok((vector, Some(age)));
        }
        let vector: Arc<[f32]> = vectors.searched_with(connection, text, Purpose::Query).await?.into();
        #[cfg(feature = "memory")]
        if let Some(query_cache) = self.query_cache {
            query_cache.keep(&model, text, Arc::clone(&vector), Instant::now());
        }
        Ok((vector, None))
    }
}
