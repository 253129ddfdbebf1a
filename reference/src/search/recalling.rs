//! The step that remembers: vectors of questions, answers to what was asked before, and what a conversation was shown.

use std::collections::HashSet;
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;

use crate::embed::Embedder as _;
use crate::search::answers::{self, Key, Recalled, Remembering};
use crate::search::conversation;
use crate::search::query_cache::QueryCache;
use crate::search::question::{Question, RetrievalError};
use crate::search::stages::Stage;
use crate::search::step::{Search, Step};
use crate::store::cache::ShownChunk;
use crate::store::records::StoreError;
#[cfg(feature = "tenants")]
use crate::tenants::asker::own;
use crate::text::terms;

/// Ends a term in a key, and a question; no question holds either.
const TERM_END: &str = "\u{1f}";
const QUESTION_END: &str = "\u{1e}";

/// Remembers for the next question.
#[derive(Debug)]
pub struct Recalling {
    /// Whether answers are.
    pub remembering: Remembering,
    /// Questions already embedded.
    pub query_cache: Arc<QueryCache>,
}

/// A question without a remembered answer: how its own is kept once it is found.
#[derive(Debug, Clone)]
struct Unanswered {
    key: Key,
    generation: i64,
}

#[async_trait]
impl Step for Recalling {
    fn known_vector(&self, model: &str, text: &str) -> Option<(Arc<[f32]>, Duration)> {
        self.query_cache.recall(own(model).as_ref(), text, Instant::now())
    }

    fn keep_vector(&self, model: &str, text: &str, vector: &Arc<[f32]>) {
        self.query_cache.keep(own(model).as_ref(), text, Arc::clone(vector), Instant::now());
    }

    /// Looks whether the answer is remembered.
    async fn prepare(&self, search: &mut Search<'_>) -> Result<bool, RetrievalError> {
        let Search { question, tuning, now, settings_line, embedding, .. } = *search;
        let timed = embedding.stages.time(Stage::Recall);
        let remembers = self.remembers(question);
        let model = embedding.library.vectors().question_model(&search.query_vectors.questions[0]);
        let model = if tuning.is_keyed_by_model { model.as_str() } else { "" };
        let key = Key::of(question, &counts(search).await?, model, settings_line);
        let generation = search.connection.generation().await?;
        if remembers && let Some(same) = answers::same(search.connection.as_mut(), &key, now).await? {
            self.give(same, search);
            return Ok(true);
        }
        drop(timed);
        search.embed(1).await?;
        if !question.passes_memory {
            self.query_cache.looked(search.findings.cache.vector_age.is_some(), Instant::now());
        }
        search.kept.insert(Unanswered { key, generation });
        Ok(false)
    }

    /// Keeps the answer, where this question's are kept and nothing is missing of it.
    async fn found(&self, search: &mut Search<'_>) -> Result<(), RetrievalError> {
        let findings = &search.findings;
        if self.remembers(search.question)
            && findings.degraded.is_empty()
            && let Some(Unanswered { key, generation }) = search.kept.get()
        {
            let connection = search.connection.as_mut();
            answers::keep(connection, key, &findings.hits, *generation, search.now).await?;
        }
        Ok(())
    }

    /// The hits that a conversation was not shown yet, and the context made of them.
    async fn choose(&self, search: &mut Search<'_>, budget: usize) -> Result<bool, RetrievalError> {
        let Search { question, now, .. } = *search;
        if question.conversation.is_empty() {
            return Ok(false);
        }
        let forget_before = now - conversation::REMEMBERED_FOR;
        let shown = search.connection.shown(&question.conversation, forget_before).await?;
        let seen: HashSet<String> = shown.into_iter().map(|shown| shown.chunk).collect();
        let findings = &mut search.findings;
        (findings.hits, findings.seen_before) =
            conversation::choose(mem::take(&mut findings.hits), &seen, question.top_k);
        findings.context = conversation::assemble(&findings.hits, &seen, budget);
        let shown: Vec<ShownChunk> = findings
            .hits
            .iter()
            .map(|found| ShownChunk { chunk: conversation::mark(&found.chunk), score: found.final_score })
            .collect();
        search.connection.keep_shown(&question.conversation, &shown, now, forget_before).await?;
        Ok(true)
    }
}

/// What of a question its hits depend on: its words, or, where it is searched for by words alone and no step reads more,
/// what is looked for. The question as it was typed is searched for, too, where a summary is unfolded.
async fn counts(search: &mut Search<'_>) -> Result<String, StoreError> {
    let Search { question, embedding, .. } = *search;
    let is_embedded = embedding.library.vectors().embedder().model().dimensions > 0;
    if is_embedded || embedding.steps.is_empty() || embedding.steps.iter().any(|step| step.reads_wording()) {
        return Ok(question.text.clone());
    }
    let texts = [&question.text].into_iter().chain(&search.query_vectors.questions);
    let terms: Vec<Vec<String>> = texts.map(|text| terms::of(text)).collect();
    let mut looked_for = search.connection.looked_for(&terms.concat()).await?.into_iter();
    let mut counts = String::new();
    for of_one in &terms {
        counts.extend(looked_for.by_ref().take(of_one.len()).map(|term| term + TERM_END));
        counts.push_str(QUESTION_END);
    }
    Ok(counts)
}

impl Recalling {
    fn remembers(&self, question: &Question) -> bool {
        self.remembering.is_on && !question.passes_memory
    }

    fn give(&self, Recalled { ranked, cache }: Recalled, search: &mut Search<'_>) {
        self.query_cache.looked(true, Instant::now());
        search.findings.hits = ranked;
        search.findings.cache = cache;
    }
}

/// Whether somebody asked the same before is told (`cache`), so it is remembered for each tenant alone.
#[cfg(not(feature = "tenants"))]
fn own(model: &str) -> &str {
    model
}
