//! What stands beside the plain search: steps, each with its turn at fixed moments of every search.
//!
//! The core has none. A feature adds one, which has a file of its own; `settings` lists them in their order.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use http::Extensions;

use crate::embed::{Embedder as _, Purpose};
use crate::index::library::Library;
use crate::search::question::{Findings, Question, RetrievalError};
use crate::search::retrievers::{QueryVectors, Retrievers};
use crate::search::score::Scale;
use crate::search::stages::{Stage, Stages};
use crate::search::tuning::Tuning;
use crate::store::contract::Connection;

/// The name of what is degraded where the embedder fails.
pub const EMBEDDING: &str = "embedding";

/// What is added to every search. At each moment all steps have their turn, in the order of their list; what a step
/// does not say, it leaves as it is. The moments stand in the order in which they come.
#[async_trait]
pub trait Step: Debug + Send + Sync {
    /// Its settings as one line: an answer that is remembered is given only to questions under the same lines.
    fn line(&self) -> Option<String> {
        None
    }

    /// Whether it reads more of a question than the terms that are looked for: then other words with the same terms may
    /// have other hits.
    fn reads_wording(&self) -> bool {
        false
    }

    /// The vector of a question that a model has embedded before, and for how long it has been known.
    fn known_vector(&self, _model: &str, _text: &str) -> Option<(Arc<[f32]>, Duration)> {
        None
    }

    /// A model has embedded a question.
    fn keep_vector(&self, _model: &str, _text: &str, _vector: &Arc<[f32]>) {}

    /// Before anything is searched: questions may change. `true` where the hits are known, and nothing is to be
    /// searched.
    async fn prepare(&self, _search: &mut Search<'_>) -> Result<bool, RetrievalError> {
        Ok(false)
    }

    /// Adds to what is searched for. It is given the whole search, so that it can let go of the connection while it
    /// waits for others.
    async fn widen<'a>(&self, search: Search<'a>) -> Result<Search<'a>, RetrievalError> {
        Ok(search)
    }

    /// Brings the candidates, `depth` of each retriever, in the place of the core. `true` where it did.
    async fn candidates(&self, _search: &mut Search<'_>, _depth: usize) -> Result<bool, RetrievalError> {
        Ok(false)
    }

    /// Changes candidates and their scores.
    async fn refine(&self, _search: &mut Search<'_>) -> Result<(), RetrievalError> {
        Ok(())
    }

    /// Puts the hits in order; those of the same final score stay as they are then.
    fn order(&self, _search: &mut Search<'_>) {}

    /// All hits are found, the best first.
    async fn found(&self, _search: &mut Search<'_>) -> Result<(), RetrievalError> {
        Ok(())
    }

    /// Chooses what is shown, and makes the context of it, in the place of the core. `true` where it did.
    async fn choose(&self, _search: &mut Search<'_>, _budget: usize) -> Result<bool, RetrievalError> {
        Ok(false)
    }
}

/// A search under way.
#[derive(Debug)]
pub struct Search<'a> {
    /// What is asked.
    pub question: &'a Question,
    /// By which numbers.
    pub tuning: &'a Tuning,
    /// When.
    pub now: DateTime<Utc>,
    /// The settings of the server and of all steps, a line each.
    pub settings_line: &'a str,
    /// What embeds questions.
    pub embedding: QuestionEmbedder<'a>,
    /// What reads the index.
    pub connection: Box<dyn Connection>,
    /// What is searched for.
    pub query_vectors: QueryVectors,
    /// What has been found so far.
    pub findings: Findings,
    /// What steps keep from one moment to another, each by a type of its own.
    pub kept: Extensions,
}

impl<'a> Search<'a> {
    /// Embeds the first `count` questions, but for those that are embedded. Where the provider is down, and the question
    /// may be answered in part, none has a vector: they are searched for by their words.
    ///
    /// # Errors
    /// `Embedder` where the provider is down.
    pub async fn embed(&mut self, count: usize) -> Result<(), RetrievalError> {
        let QueryVectors { questions, vectors, .. } = &mut self.query_vectors;
        for text in questions.iter().take(count).skip(vectors.len()) {
            if self.findings.degraded.contains(&EMBEDDING) {
                vectors.push(Arc::from([]));
                continue;
            }
            match self.embedding.question(self.connection.as_mut(), text).await {
                Ok((vector, age)) => {
                    if vectors.is_empty() {
                        self.findings.cache.vector_age = age;
                    }
                    vectors.push(vector);
                }
                Err(RetrievalError::Embedder(why)) if self.question.may_be_partial => {
                    tracing::warn!(why, "the embedder does not answer: a search by words alone");
                    self.findings.degraded.push(EMBEDDING);
                    *vectors = vec![Arc::from([]); vectors.len() + 1];
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Both retrievers, as this search wants them.
    pub fn retrievers(&self) -> Retrievers<'a> {
        let blank = self.query_vectors.vectors.first().is_some_and(|vector| vector.is_empty());
        let scale = if blank { Scale::Words } else { Scale::of(self.embedding.library.vectors().embedder().model()) };
        Retrievers { stages: self.embedding.stages, tuning: self.tuning, scale }
    }
}

/// Embeds questions.
#[derive(Debug, Clone, Copy)]
pub struct QuestionEmbedder<'a> {
    /// Whose model embeds.
    pub library: &'a Library,
    /// Who may know the vector; nobody where it is asked afresh.
    pub steps: &'a [Box<dyn Step>],
    /// How long it takes.
    pub stages: &'a Stages,
}

impl QuestionEmbedder<'_> {
    /// The vector of a question, and for how long it has been known; `None` where it was made for this.
    ///
    /// # Errors
    /// `Embedder` where the provider is down.
    pub async fn question(
        &self,
        connection: &mut dyn Connection,
        text: &str,
    ) -> Result<(Arc<[f32]>, Option<Duration>), RetrievalError> {
        let _timed = self.stages.time(Stage::Embed);
        let vectors = self.library.vectors();
        let model = vectors.question_model(text);
        if vectors.may_be_remembered()
            && let Some((vector, age)) = self.steps.iter().find_map(|step| step.known_vector(&model, text))
        {
            return Ok((vector, Some(age)));
        }
        let vector: Arc<[f32]> = vectors.searched_with(connection, text, Purpose::Query).await?.into();
        for step in self.steps {
            step.keep_vector(&model, text, &vector);
        }
        Ok((vector, None))
    }
}
