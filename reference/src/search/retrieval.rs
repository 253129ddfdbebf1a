//! One search, whole: a connection, the memory of answers, both retrievers, fusion, rerank, the context.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
#[cfg(any(feature = "memory", feature = "weights"))]
use chrono::{DateTime, Utc};

use crate::index::library::Library;
#[cfg(feature = "rerank")]
use crate::rerank::Reranker;
#[cfg(feature = "memory")]
use crate::search::answers::{Key, Recalled, Remembering};
use crate::search::context::Context;
use crate::search::found::Found;
#[cfg(feature = "weights")]
use crate::search::pools;
#[cfg(feature = "memory")]
use crate::search::query_cache::QueryCache;
use crate::search::query_vectors::{Embedding, QueryVectors};
use crate::search::question::{CacheUse, Findings, Question, RetrievalError};
#[cfg(feature = "weights")]
use crate::search::ranking::{self, Ranking};
#[cfg(feature = "rerank")]
use crate::search::reranking;
use crate::search::retrievers::Retrievers;
#[cfg(feature = "weights")]
use crate::search::rewriting::Rewriting;
use crate::search::stages::{Stage, Stages};
#[cfg(feature = "chunkers")]
use crate::search::summaries;
use crate::search::tuning::Tuning;
#[cfg(feature = "generator")]
use crate::search::writer::Writer;
#[cfg(feature = "generator")]
use crate::search::written::Written;
use crate::store::contract::Connection;
use crate::text::draw::mix;

/// Chunks each retriever brings and the reranker looks at, where nothing else is set.
pub const OVER_FETCH: usize = 20;
/// The most that may be set.
pub const OVER_FETCH_MAX: usize = 100;
/// How a server searches.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Chunks each retriever brings and the reranker looks at.
    pub over_fetch: usize,
    /// What a source is worth beside its text.
    #[cfg(feature = "weights")]
    pub ranking: Ranking,
    /// What short words stand for.
    #[cfg(feature = "weights")]
    pub rewriting: Rewriting,
    /// Whether answers are remembered.
    #[cfg(feature = "memory")]
    pub remembering: Remembering,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            over_fetch: OVER_FETCH,
            #[cfg(feature = "weights")]
            ranking: Ranking::default(),
            #[cfg(feature = "weights")]
            rewriting: Rewriting::default(),
            #[cfg(feature = "memory")]
            remembering: Remembering::default(),
        }
    }
}

impl Settings {
    /// The settings as one line: another line finds other answers.
    #[cfg(feature = "memory")]
    fn line(&self) -> String {
        #[cfg(not(feature = "weights"))]
        return self.over_fetch.to_string();
        #[cfg(feature = "weights")]
        format!("{}\n{}\n{}", self.over_fetch, self.ranking.line(), self.rewriting.line())
    }
}

/// Searches a library.
#[derive(Debug)]
pub struct Retrieval {
    /// What there is to find.
    pub library: Library,
    /// Questions already embedded.
    #[cfg(feature = "memory")]
    pub query_cache: QueryCache,
    /// How long each part of a search takes.
    pub stages: Stages,
    pub(super) settings: Settings,
    #[cfg(feature = "memory")]
    pub(super) settings_line: String,
    #[cfg(feature = "rerank")]
    reranker: Option<Arc<dyn Reranker>>,
    #[cfg(feature = "generator")]
    pub(super) writer: Option<Arc<Writer>>,
    layer: Option<Arc<dyn Layer>>,
}

// Laboratory: searches that hang, fail or are swallowed cannot be had from below, where a search is only reads.
/// Stands around every search, as middleware stands around requests: it may tune each anew, or answer in its place.
#[async_trait]
pub trait Layer: Debug + Send + Sync {
    /// Answers a question, usually by `Retrieval::search_tuned`.
    ///
    /// # Errors
    /// `RetrievalError`.
    async fn search(&self, retrieval: &Retrieval, question: &Question) -> Result<Findings, RetrievalError>;

    /// A caller of a tool is about to search; health, which searches too, does not come by here.
    fn called(&self) {}

    /// Whether it lets searches be as fast as they get.
    fn is_warm(&self) -> bool {
        true
    }

    /// What `/metrics` shows of it: name, meaning, value.
    fn gauges(&self) -> Vec<(&'static str, &'static str, f64)> {
        Vec::new()
    }
}

/// One search: what is asked, by which numbers, and when.
#[derive(Clone, Copy)]
pub(super) struct Search<'a> {
    pub(super) question: &'a Question,
    pub(super) tuning: &'a Tuning,
    #[cfg(any(feature = "memory", feature = "weights"))]
    pub(super) now: DateTime<Utc>,
}

/// What is remembered of a question.
pub(super) enum Memory {
    /// Its answer.
    #[cfg(feature = "memory")]
    Answer(Recalled),
    /// Nothing: what is known of it so far.
    Nothing(Unanswered),
}

/// A question without a remembered answer.
pub(super) struct Unanswered {
    #[cfg(feature = "memory")]
    pub(super) key: Key,
    #[cfg(feature = "memory")]
    pub(super) generation: i64,
    pub(super) vector: Arc<[f32]>,
    pub(super) vector_age: Option<Duration>,
    #[cfg(feature = "generator")]
    pub(super) written: Written,
}

/// What both retrievers and the reranker brought.
struct Ranked {
    hits: Vec<Found>,
    degraded: Vec<&'static str>,
}

impl Retrieval {
    /// A retrieval with nothing around it.
    pub fn new(library: Library, settings: Settings) -> Self {
        #[cfg(feature = "memory")]
        let settings_line = settings.line();
        Self {
            library,
            #[cfg(feature = "memory")]
            query_cache: QueryCache::default(),
            stages: Stages::default(),
            settings,
            #[cfg(feature = "memory")]
            settings_line,
            #[cfg(feature = "rerank")]
            reranker: None,
            #[cfg(feature = "generator")]
            writer: None,
            layer: None,
        }
    }

    /// The same, with a reranker behind the fusion.
    #[cfg(feature = "rerank")]
    pub fn reranked_by(mut self, reranker: Option<Arc<dyn Reranker>>) -> Self {
        #[cfg(feature = "memory")]
        self.knows_by(reranker.as_ref().map_or("", |reranker| reranker.name()));
        self.reranker = reranker;
        self
    }

    /// The same, with a language model that words questions anew.
    #[cfg(feature = "generator")]
    pub fn written_by(mut self, writer: Option<Arc<Writer>>) -> Self {
        self.knows_by(writer.as_ref().map_or("", |writer| writer.line()));
        self.writer = writer;
        self
    }

    /// Whoever finds other answers has another line.
    #[cfg(all(feature = "memory", feature = "rerank"))]
    fn knows_by(&mut self, part: &str) {
        self.settings_line.push('\n');
        self.settings_line.push_str(part);
    }

    /// The same, with a layer around every search.
    pub fn within(self, layer: Option<Arc<dyn Layer>>) -> Self {
        Self { layer, ..self }
    }

    /// What stands around every search.
    pub fn layer(&self) -> Option<&dyn Layer> {
        self.layer.as_deref()
    }

    /// Answers a question.
    ///
    /// # Errors
    /// `RetrievalError`.
    pub async fn search(&self, question: &Question) -> Result<Findings, RetrievalError> {
        match self.layer() {
            Some(layer) => layer.search(self, question).await,
            None => self.search_tuned(question, &Tuning::default()).await,
        }
    }

    /// Answers a question by these numbers, past the layer.
    ///
    /// # Errors
    /// `RetrievalError`.
    pub async fn search_tuned(&self, question: &Question, tuning: &Tuning) -> Result<Findings, RetrievalError> {
        // On the heap: with all its steps it is larger than whoever waits for it should carry.
        self.stages.whole(Box::pin(self.attempt(question, tuning))).await
    }

    async fn attempt(&self, question: &Question, tuning: &Tuning) -> Result<Findings, RetrievalError> {
        let connecting = self.stages.time(Stage::Connect);
        let mut held = self.library.store().connect(tuning.patience).await?;
        drop(connecting);
        if held.is_empty().await? {
            return Err(RetrievalError::IndexMissing);
        }
        let search = Search {
            question,
            tuning,
            #[cfg(any(feature = "memory", feature = "weights"))]
            now: Utc::now(),
        };
        #[cfg(not(feature = "weights"))]
        let mut questions = vec![question.text.clone()];
        #[cfg(feature = "weights")]
        let mut questions = self.settings.rewriting.questions(&question.text);
        let (ranked, cache, degraded) = match self.recall(held.as_mut(), search, &questions[0]).await? {
            #[cfg(feature = "memory")]
            Memory::Answer(Recalled { ranked, cache }) => (ranked, cache, Vec::new()),
            Memory::Nothing(unanswered) => {
                #[cfg(feature = "generator")]
                let (again, unanswered) = self.word_anew(held, search, &questions, unanswered).await?;
                #[cfg(feature = "generator")]
                {
                    held = again;
                }
                self.find(held.as_mut(), search, &mut questions, unanswered).await?
            }
        };
        let (hits, context, seen_before) = self.choose(held.as_mut(), search, ranked).await?;
        let rewritten = if questions.len() > 1 || questions[0] != question.text { questions } else { Vec::new() };
        Ok(Findings { hits, context, cache, seen_before, rewritten, degraded })
    }

    /// The question's vector; no answer is remembered.
    #[cfg(not(feature = "memory"))]
    async fn recall(
        &self,
        connection: &mut dyn Connection,
        search: Search<'_>,
        spelt_out: &str,
    ) -> Result<Memory, RetrievalError> {
        let (vector, vector_age) = self.embedding(search.question).question(connection, spelt_out).await?;
        Ok(Memory::Nothing(Unanswered { vector, vector_age }))
    }

    /// Searches, and remembers what it finds. What was written joins the questions.
    async fn find(
        &self,
        connection: &mut dyn Connection,
        search: Search<'_>,
        questions: &mut Vec<String>,
        unanswered: Unanswered,
    ) -> Result<(Vec<Found>, CacheUse, Vec<&'static str>), RetrievalError> {
        let Search { question, tuning, .. } = search;
        let (vector, vector_age) = (Arc::clone(&unanswered.vector), unanswered.vector_age);
        if !tuning.miss_waits.is_zero() {
            tokio::time::sleep(tuning.miss_waits).await;
        }
        let embedding = self.embedding(question);
        let query_vectors = embedding.query_vectors(connection, questions, &vector).await?;
        #[cfg(feature = "generator")]
        let (query_vectors, missing) = embedding.join(connection, query_vectors, unanswered.written.clone()).await;
        let Ranked { hits, degraded } = self.rank(connection, search, &query_vectors).await?;
        #[cfg(feature = "generator")]
        let degraded = [degraded, missing].concat();
        #[cfg(feature = "memory")]
        if degraded.is_empty() {
            self.keep_answer(connection, search, &unanswered, &hits).await?;
        }
        *questions = query_vectors.questions.into_iter().map(|(text, _)| text).collect();
        Ok((hits, CacheUse { vector_age, ..CacheUse::default() }, degraded))
    }

    /// Both retrievers for every question, fused, reranked, and ranked with what the sources are worth.
    async fn rank(
        &self,
        connection: &mut dyn Connection,
        search: Search<'_>,
        query_vectors: &QueryVectors,
    ) -> Result<Ranked, RetrievalError> {
        let Search { question, tuning, .. } = search;
        let retrievers = Retrievers { stages: &self.stages, tuning };
        let depth = self.settings.over_fetch.max(question.top_k);
        #[cfg(not(feature = "weights"))]
        let candidates = retrievers.candidates(connection, query_vectors, &question.filter, depth).await?;
        #[cfg(feature = "weights")]
        let candidates = pools::candidates(retrievers, connection, query_vectors, &question.filter, depth).await?;
        #[cfg(feature = "chunkers")]
        let candidates =
            summaries::unfold(retrievers, connection, question, &query_vectors.questions[0].1, candidates).await?;
        #[cfg(not(feature = "rerank"))]
        let degraded = Vec::new();
        #[cfg(feature = "rerank")]
        let (candidates, degraded) = self.rerank(question, candidates).await;
        // The sort is stable: equal ones stay in the order of the fusion, which is by place.
        #[cfg(not(feature = "weights"))]
        let mut hits = candidates;
        #[cfg(not(feature = "weights"))]
        hits.sort_by(|left, right| right.final_score.total_cmp(&left.final_score));
        #[cfg(feature = "weights")]
        let mut hits = ranking::rank(candidates, &self.settings.ranking, search.now);
        if let Some(draw) = tuning.shuffled_by {
            hits.sort_by_key(|found| mix(draw ^ found.chunk.id.cast_unsigned()));
        }
        hits.retain(|found| found.score >= question.min_score && found.fused_score >= tuning.fused_min);
        Ok(Ranked { hits, degraded })
    }

    /// The candidates as the reranker scores them, and its name where it could not.
    #[cfg(feature = "rerank")]
    async fn rerank(&self, question: &Question, mut candidates: Vec<Found>) -> (Vec<Found>, Vec<&'static str>) {
        let Some(reranker) = &self.reranker else { return (candidates, Vec::new()) };
        let is_done = reranking::rerank(reranker, &question.text, &mut candidates, &self.stages).await;
        (candidates, if is_done { Vec::new() } else { vec![reranking::SCOPE] })
    }

    /// The hits that are shown, and the context made of them.
    async fn choose(
        &self,
        connection: &mut dyn Connection,
        search: Search<'_>,
        mut ranked: Vec<Found>,
    ) -> Result<(Vec<Found>, Context, usize), RetrievalError> {
        let Search { question, tuning, .. } = search;
        let _timed = self.stages.time(Stage::Context);
        let budget = (question.budget_tokens as f64 * tuning.budget_times) as usize;
        if question.expand {
            for found in &mut ranked {
                if let Some(parent) = found.chunk.parent {
                    let section = connection.chunk_at(&found.chunk.source, parent).await?;
                    found.expanded = section.map(|section| section.content);
                }
            }
        }
        #[cfg(feature = "memory")]
        if !question.conversation.is_empty() {
            return self.choose_unseen(connection, search, ranked, budget).await;
        }
        ranked.truncate(question.top_k);
        let context = super::context::assemble(&ranked, budget);
        Ok((ranked, context, 0))
    }

    #[cfg_attr(not(feature = "memory"), expect(unused_variables, reason = "no question is remembered"))]
    pub(super) fn embedding(&self, question: &Question) -> Embedding<'_> {
        Embedding {
            library: &self.library,
            #[cfg(feature = "memory")]
            query_cache: (!question.passes_memory).then_some(&self.query_cache),
            stages: &self.stages,
        }
    }
}
