//! What a search remembers: answers to what was asked before, and what a conversation was shown.

use std::collections::HashSet;
use std::time::Instant;

use crate::search::answers::{self, Key};
use crate::search::context::Context;
use crate::search::conversation;
use crate::search::found::Found;
use crate::search::query_vectors::{Embedded, Embedding};
use crate::search::question::{Question, RetrievalError};
use crate::search::retrieval::{Layer, Memory, Retrieval, Search, Unanswered};
use crate::search::stages::Stage;
#[cfg(feature = "generator")]
use crate::search::written::Written;
use crate::store::contract::Connection;
use crate::store::learnt::Remembered;

impl Retrieval {
    /// Looks whether the answer is remembered: to the very words, or to a question that means the same.
    pub(super) async fn recall(
        &self,
        connection: &mut dyn Connection,
        search: Search<'_>,
        spelt_out: &str,
    ) -> Result<Memory, RetrievalError> {
        let Search { question, tuning, now } = search;
        let timed = self.stages.time(Stage::Recall);
        let (remembers, remembering) = (self.remembers(question), self.settings.remembering);
        let model = self.library.vectors().question_model(spelt_out);
        let model = if tuning.is_keyed_by_model { model.as_str() } else { "" };
        let key = Key::of(question, model, &self.settings_line);
        let similar_from = tuning.similar_from.unwrap_or(remembering.similar_from);
        let generation = connection.generation().await?;
        if remembers && let Some(same) = answers::same(connection, &key, now).await? {
            self.query_cache.looked(true, Instant::now());
            return Ok(Memory::Answer(same));
        }
        drop(timed);
        let (vector, vector_age) = self.embedding(question).question(connection, spelt_out).await?;
        if remembers && let Some(similar) = answers::similar(connection, &key, &vector, similar_from, now).await? {
            self.query_cache.looked(true, Instant::now());
            return Ok(Memory::Answer(similar));
        }
        if !question.passes_memory {
            self.query_cache.looked(vector_age.is_some(), Instant::now());
        }
        Ok(Memory::Nothing(Unanswered {
            key,
            generation,
            vector,
            vector_age,
            #[cfg(feature = "generator")]
            written: Written::default(),
        }))
    }

    /// Keeps an answer, where this question's are kept.
    pub(super) async fn keep_answer(
        &self,
        connection: &mut dyn Connection,
        search: Search<'_>,
        unanswered: &Unanswered,
        hits: &[Found],
    ) -> Result<(), RetrievalError> {
        if self.remembers(search.question) {
            let Unanswered { key, generation, vector, .. } = unanswered;
            answers::keep(connection, key, vector, hits, *generation, search.now).await?;
        }
        Ok(())
    }

    /// The hits that a conversation was not shown yet, and the context made of them.
    pub(super) async fn choose_unseen(
        &self,
        connection: &mut dyn Connection,
        search: Search<'_>,
        ranked: Vec<Found>,
        budget: usize,
    ) -> Result<(Vec<Found>, Context, usize), RetrievalError> {
        let Search { question, now, .. } = search;
        let forget_before = now - conversation::REMEMBERED_FOR;
        let shown = connection.shown(&question.conversation, forget_before).await?;
        let seen: HashSet<String> = shown.into_iter().map(|shown| shown.chunk).collect();
        let (hits, seen_before) = conversation::choose(ranked, &seen, question.top_k);
        let context = conversation::assemble(&hits, &seen, budget);
        let shown: Vec<Remembered> = hits
            .iter()
            .map(|found| Remembered { chunk: conversation::mark(&found.chunk), score: found.final_score })
            .collect();
        connection.keep_shown(&question.conversation, &shown, now, forget_before).await?;
        Ok((hits, context, seen_before))
    }

    /// The vector of a question, and for how long it has been remembered here.
    ///
    /// # Errors
    /// `Embedder` where the provider is down.
    pub async fn embed(&self, connection: &mut dyn Connection, text: &str) -> Result<Embedded, RetrievalError> {
        let embedding =
            Embedding { library: &self.library, query_cache: Some(&self.query_cache), stages: &self.stages };
        let (vector, age) = embedding.question(connection, text).await?;
        self.query_cache.looked(age.is_some(), Instant::now());
        Ok((vector, age))
    }

    /// Whether searches are as fast as they get: enough remembered, the cold start over.
    pub fn is_warm(&self, now: Instant) -> bool {
        self.layer().is_none_or(Layer::is_warm) && self.query_cache.is_warm(now)
    }

    fn remembers(&self, question: &Question) -> bool {
        self.settings.remembering.is_on && !question.passes_memory
    }
}
