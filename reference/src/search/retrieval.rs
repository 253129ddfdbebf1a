//! One search, whole: a connection, the question's vector, both retrievers, fusion, the order, the context.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::Utc;
use http::Extensions;

use crate::index::library::Library;
use crate::search::context;
#[cfg(feature = "memory")]
use crate::search::query_cache::QueryCache;
use crate::search::question::{Findings, Question, RetrievalError};
use crate::search::retrievers::QueryVectors;
use crate::search::settings::SearchSettings;
use crate::search::stages::{Stage, Stages};
use crate::search::step::{QuestionEmbedder, Search, Step};
use crate::search::tuning::Tuning;
use crate::text::draw::mix;

/// Searches a library.
#[derive(Debug)]
pub struct Retrieval {
    /// What there is to find.
    pub library: Library,
    /// Questions already embedded.
    #[cfg(feature = "memory")]
    pub query_cache: Arc<QueryCache>,
    /// How long each part of a search takes.
    pub stages: Stages,
    over_fetch: usize,
    pub(super) steps: Vec<Box<dyn Step>>,
    settings_line: String,
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

impl Retrieval {
    /// A retrieval with nothing around it.
    pub fn new(library: Library, settings: SearchSettings) -> Self {
        let over_fetch = settings.over_fetch;
        #[cfg(feature = "memory")]
        let query_cache = Arc::<QueryCache>::default();
        let steps = settings.steps(
            #[cfg(feature = "memory")]
            &query_cache,
        );
        let lines = steps.iter().filter_map(|step| step.line());
        Self {
            library,
            #[cfg(feature = "memory")]
            query_cache,
            stages: Stages::default(),
            over_fetch,
            settings_line: lines.fold(over_fetch.to_string(), |lines, line| format!("{lines}\n{line}")),
            steps,
            layer: None,
        }
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
        let mut connection = self.library.store().connect(tuning.patience).await?;
        drop(connecting);
        if connection.is_empty().await? {
            return Err(RetrievalError::IndexMissing);
        }
        let mut search = Search {
            question,
            tuning,
            now: Utc::now(),
            settings_line: &self.settings_line,
            embedding: self.embedding(!question.passes_memory),
            connection,
            query_vectors: QueryVectors { questions: vec![question.text.clone()], ..QueryVectors::default() },
            findings: Findings::default(),
            kept: Extensions::new(),
        };
        let mut is_known = false;
        for step in &self.steps {
            is_known = is_known || step.prepare(&mut search).await?;
        }
        if !is_known {
            search = self.find(search).await?;
        }
        self.choose(&mut search).await?;
        let (questions, mut findings) = (search.query_vectors.questions, search.findings);
        if questions.len() > 1 || questions[0] != question.text {
            findings.rewritten = questions;
        }
        // By name, whichever step was first.
        findings.degraded.sort_unstable();
        if !question.may_be_partial && !findings.degraded.is_empty() {
            return Err(RetrievalError::Partial(findings.degraded.join(", ")));
        }
        Ok(findings)
    }

    /// What embeds questions, with what steps know of those asked before or without.
    pub fn embedding(&self, may_be_known: bool) -> QuestionEmbedder<'_> {
        let steps = if may_be_known { self.steps.as_slice() } else { &[] };
        QuestionEmbedder { library: &self.library, steps, stages: &self.stages }
    }

    /// Every hit, the best first.
    async fn find<'a>(&self, mut search: Search<'a>) -> Result<Search<'a>, RetrievalError> {
        let Search { question, tuning, .. } = search;
        if !tuning.miss_waits.is_zero() {
            tokio::time::sleep(tuning.miss_waits).await;
        }
        for step in &self.steps {
            search = step.widen(search).await?;
        }
        search.embed(usize::MAX).await?;
        let gathered = self.gather(&mut search).await;
        #[cfg(feature = "chroma")]
        let gathered = if search.goes_by_words(&gathered) { self.gather(&mut search).await } else { gathered };
        gathered?;
        for step in &self.steps {
            step.refine(&mut search).await?;
        }
        for step in &self.steps {
            step.order(&mut search);
        }
        let hits = &mut search.findings.hits;
        // The sort is stable: equal ones stay in the order of the steps, or else of the fusion, which is by place.
        if let Some(draw) = tuning.ties_by {
            hits.sort_by_key(|found| mix(draw ^ found.chunk.id.cast_unsigned()));
        }
        hits.sort_by(|left, right| right.final_score.total_cmp(&left.final_score));
        if let Some(draw) = tuning.shuffled_by {
            hits.sort_by_key(|found| mix(draw ^ found.chunk.id.cast_unsigned()));
        }
        hits.retain(|found| found.score >= question.min_score && found.fused_score >= tuning.fused_min);
        for step in &self.steps {
            step.found(&mut search).await?;
        }
        Ok(search)
    }

    /// The candidates: of a step that brings them, or else both retrievers for every question, fused.
    async fn gather(&self, search: &mut Search<'_>) -> Result<(), RetrievalError> {
        let depth = self.over_fetch.max(search.question.top_k);
        for step in &self.steps {
            if step.candidates(search, depth).await? {
                return Ok(());
            }
        }
        let (retrievers, connection) = (search.retrievers(), search.connection.as_mut());
        let filter = &search.question.filter;
        search.findings.hits = retrievers.candidates(connection, &search.query_vectors, filter, depth).await?;
        Ok(())
    }

    /// The hits that are shown, and the context made of them.
    async fn choose(&self, search: &mut Search<'_>) -> Result<(), RetrievalError> {
        let Search { question, tuning, .. } = *search;
        let _timed = self.stages.time(Stage::Context);
        let budget = (question.budget_tokens as f64 * tuning.budget_times) as usize;
        if question.expand {
            for found in &mut search.findings.hits {
                if let Some(parent) = found.chunk.parent {
                    let section = search.connection.chunk_at(&found.chunk.source, parent).await?;
                    found.expanded = section.map(|section| section.content);
                }
            }
        }
        for step in &self.steps {
            if step.choose(search, budget).await? {
                return Ok(());
            }
        }
        search.findings.hits.truncate(question.top_k);
        search.findings.context = context::assemble(&search.findings.hits, budget);
        Ok(())
    }
}
