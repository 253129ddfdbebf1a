//! One search, whole: a connection, the memory of answers, both arms, fusion, rerank, the context.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use crate::rag::fault::kinds::Fault;
use crate::rag::fault::switches::Faults;
use crate::rag::find::answers::{self, Key, Recalled, Remembering};
use crate::rag::find::context::Context;
use crate::rag::find::conversation;
use crate::rag::find::found::Found;
use crate::rag::find::question::{CacheUse, Findings, Question, RetrievalError};
use crate::rag::find::ranking::{self, Pool, Ranking};
use crate::rag::find::rewriting::Rewriting;
use crate::rag::find::stages::{Stage, Stages};
use crate::rag::find::warmth::Warmth;
use crate::rag::find::writer::{self, Writer, Written};
use crate::rag::find::{arms, fusion};
use crate::rag::index::library::Library;
use crate::rag::rerank::{Passage, Reranker};
use crate::rag::store::contract::{Connection, Patience};
use crate::rag::store::filter::Filter;
use crate::rag::store::records::{Remembered, StoreError, StoredChunk};
use crate::rag::text::draw::mix;

/// Chunks each arm brings and the reranker looks at, where nothing else is set.
pub const OVER_FETCH: usize = 20;
/// The most that may be set.
pub const OVER_FETCH_MAX: usize = 100;
/// A hang ends after all, for a server must not keep what nobody waits for.
const HANG_MAX: Duration = Duration::from_secs(120);
/// The part of a cold start's wait below which it counts as over.
const COLD_ABOVE: f64 = 0.1;
/// How long the reranker may take: past this the fused order is the better answer.
const RERANK_WITHIN: Duration = Duration::from_secs(2);
/// Passages of a long document that come in the place of its summary.
const PASSAGES_OF_SUMMARY: usize = 5;

/// How a server searches.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Chunks each arm brings and the reranker looks at.
    pub over_fetch: usize,
    /// What a source is worth beside its text.
    pub ranking: Ranking,
    /// What short words stand for.
    pub rewriting: Rewriting,
    /// Whether answers are remembered.
    pub remembering: Remembering,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            over_fetch: OVER_FETCH,
            ranking: Ranking::default(),
            rewriting: Rewriting::default(),
            remembering: Remembering::default(),
        }
    }
}

impl Settings {
    /// The settings as one line: another line finds other answers.
    fn line(&self) -> String {
        format!("{}\n{}\n{}", self.over_fetch, self.ranking.line(), self.rewriting.line())
    }
}

/// Searches a library.
#[derive(Debug)]
pub struct Retrieval {
    /// What there is to find.
    pub library: Library,
    /// Questions already embedded.
    pub warmth: Warmth,
    /// How long each part of a search takes.
    pub stages: Stages,
    settings: Settings,
    settings_line: String,
    reranker: Option<Arc<dyn Reranker>>,
    writer: Option<Arc<Writer>>,
    faults: Faults,
    started: Instant,
}

/// What is remembered of a question.
enum Memory {
    /// Its answer.
    Answer(Recalled),
    /// Nothing: what is known of it so far.
    Nothing(Unanswered),
}

/// A question without a remembered answer.
struct Unanswered {
    key: Key,
    generation: i64,
    vector: Arc<[f32]>,
    vector_age: Option<Duration>,
}

/// What is searched for.
struct Sought {
    /// By both arms, each with its vector; the first is what was asked.
    questions: Vec<(String, Arc<[f32]>)>,
    /// By the vector arm alone.
    passage: Option<Arc<[f32]>>,
}

/// What both arms and the reranker brought.
struct Ranked {
    hits: Vec<Found>,
    degraded: Vec<&'static str>,
}

impl Retrieval {
    /// A retrieval whose cold start begins at `started`.
    pub fn new(
        library: Library,
        settings: Settings,
        reranker: Option<Arc<dyn Reranker>>,
        writer: Option<Arc<Writer>>,
        faults: Faults,
        started: Instant,
    ) -> Self {
        let reranks = reranker.as_ref().map_or("", |reranker| reranker.name());
        let writes = writer.as_ref().map_or("", |writer| writer.line());
        let settings_line = format!("{}\n{reranks}\n{writes}", settings.line());
        let (warmth, stages) = (Warmth::default(), Stages::default());
        Self { library, warmth, stages, settings, settings_line, reranker, writer, faults, started }
    }

    /// Answers a question.
    ///
    /// # Errors
    /// `RetrievalError`, of which a naive server's faults (`PoolSaturated`, `ErrorAsEmpty`) make an empty list.
    pub async fn search(&self, question: &Question) -> Result<Findings, RetrievalError> {
        let outcome = self.stages.whole(self.attempt(question)).await;
        let naive = match &outcome {
            Err(RetrievalError::Store(StoreError::Saturated { .. })) => {
                self.faults.dose(Fault::PoolSaturated).is_some()
            }
            _ => false,
        };
        match outcome {
            Err(error) if naive || self.faults.dose(Fault::ErrorAsEmpty).is_some() => {
                tracing::warn!(%error, "swallowed, as a naive server does: the caller gets an empty list");
                Ok(Findings {
                    hits: Vec::new(),
                    context: Context::default(),
                    cache: CacheUse::default(),
                    seen_before: 0,
                    rewritten: Vec::new(),
                    degraded: Vec::new(),
                })
            }
            outcome => outcome,
        }
    }

    async fn attempt(&self, question: &Question) -> Result<Findings, RetrievalError> {
        let is_slow = self.faults.dose(Fault::PoolSaturated).is_some_and(|dose| dose.mode == "slow");
        let patience = if is_slow { Patience::Writer } else { Patience::Search };
        let connecting = self.stages.time(Stage::Connect);
        let mut held = self.library.store().connect(patience).await?;
        drop(connecting);
        if self.faults.strikes(Fault::Hang).is_some() {
            tokio::time::sleep(HANG_MAX).await;
        }
        if self.faults.strikes(Fault::ToolError).is_some() {
            return Err(RetrievalError::Failed);
        }
        if held.is_empty().await? {
            return Err(RetrievalError::IndexMissing);
        }
        let now = Utc::now();
        let mut questions = self.settings.rewriting.questions(&question.text);
        let (ranked, cache, degraded) = match self.recall(held.as_mut(), question, &questions[0], now).await? {
            Memory::Answer(Recalled { ranked, cache }) => (ranked, cache, Vec::new()),
            Memory::Nothing(unanswered) => {
                let mut written = Written::default();
                if let Some(writer) = self.writer.as_ref().filter(|_| !question.passes_memory) {
                    // A slow writer must not keep a connection that other searches wait for.
                    drop(held);
                    written = writer.write(&question.text, &questions).await;
                    held = self.library.store().connect(patience).await?;
                }
                self.find(held.as_mut(), question, &mut questions, written, unanswered, now).await?
            }
        };
        let (hits, context, seen_before) = self.choose(held.as_mut(), question, ranked, now).await?;
        let rewritten = if questions.len() > 1 || questions[0] != question.text { questions } else { Vec::new() };
        Ok(Findings { hits, context, cache, seen_before, rewritten, degraded })
    }

    /// Looks whether the answer is remembered: to the very words, or to a question that means the same.
    async fn recall(
        &self,
        connection: &mut dyn Connection,
        question: &Question,
        spelt_out: &str,
        now: DateTime<Utc>,
    ) -> Result<Memory, RetrievalError> {
        let timed = self.stages.time(Stage::Recall);
        let (remembers, remembering) = (self.remembers(question), self.settings.remembering);
        let model = self.library.embedding().question_model(spelt_out);
        let key = Key::of(question, &model, &self.settings_line, &self.faults);
        let generation = connection.generation().await?;
        if remembers && let Some(same) = answers::same(connection, &key, now).await? {
            self.warmth.looked(true, Instant::now());
            return Ok(Memory::Answer(same));
        }
        drop(timed);
        let (vector, vector_age) = self.vector_of(connection, question, spelt_out).await?;
        if remembers
            && let Some(similar) = answers::similar(connection, &key, &vector, remembering, &self.faults, now).await?
        {
            return Ok(Memory::Answer(similar));
        }
        Ok(Memory::Nothing(Unanswered { key, generation, vector, vector_age }))
    }

    /// Searches, and remembers what it finds. What was written joins the questions.
    async fn find(
        &self,
        connection: &mut dyn Connection,
        question: &Question,
        questions: &mut Vec<String>,
        written: Written,
        unanswered: Unanswered,
        now: DateTime<Utc>,
    ) -> Result<(Vec<Found>, CacheUse, Vec<&'static str>), RetrievalError> {
        let Unanswered { key, generation, vector, vector_age } = unanswered;
        if let Some(dose) = self.faults.strikes(Fault::SlowOnMiss) {
            arms::pause(dose.amount).await;
        }
        let mut sought = self.sought(connection, question, questions, &vector).await?;
        let is_whole = self.join(connection, &mut sought, written).await;
        let Ranked { hits, mut degraded } = self.rank(connection, question, &sought, now).await?;
        if !is_whole {
            degraded.push(writer::SCOPE);
        }
        if self.remembers(question) && degraded.is_empty() {
            answers::keep(connection, &key, &vector, &hits, generation, now).await?;
        }
        *questions = sought.questions.into_iter().map(|(text, _)| text).collect();
        Ok((hits, CacheUse { vector_age, ..CacheUse::default() }, degraded))
    }

    /// The questions with their vectors; that of the first is already there.
    async fn sought(
        &self,
        connection: &mut dyn Connection,
        question: &Question,
        questions: &[String],
        first: &Arc<[f32]>,
    ) -> Result<Sought, RetrievalError> {
        let mut with_vectors = Vec::with_capacity(questions.len());
        for (number, text) in questions.iter().enumerate() {
            let vector = match number {
                0 => Arc::clone(first),
                _ => self.vector_of(connection, question, text).await?.0,
            };
            with_vectors.push((text.clone(), vector));
        }
        Ok(Sought { questions: with_vectors, passage: None })
    }

    /// Adds what was written; whether nothing of it is missing. A text of the writer's that cannot be
    /// embedded is left out, for it must never fail a search.
    async fn join(&self, connection: &mut dyn Connection, sought: &mut Sought, written: Written) -> bool {
        let mut is_whole = !written.is_partial;
        let left_out = |error: &RetrievalError| tracing::warn!(%error, "what was written cannot be embedded");
        for text in written.questions {
            match self.embed(connection, &text).await {
                Ok((vector, _)) => sought.questions.push((text, vector)),
                Err(error) => {
                    left_out(&error);
                    is_whole = false;
                }
            }
        }
        if let Some(passage) = written.passage {
            match self.library.embedding().passage(connection, &passage).await {
                Ok(made) => sought.passage = Some(made.vector.into()),
                Err(error) => {
                    left_out(&error.into());
                    is_whole = false;
                }
            }
        }
        is_whole
    }

    /// Both arms for every question, fused, reranked, and ranked with what the sources are worth.
    async fn rank(
        &self,
        connection: &mut dyn Connection,
        question: &Question,
        sought: &Sought,
        now: DateTime<Utc>,
    ) -> Result<Ranked, RetrievalError> {
        let vector = &sought.questions[0].1;
        let depth = self.settings.over_fetch.max(question.top_k);
        let asks_all = question.filter.source_types.is_empty();
        let pools = if asks_all { ranking::pools(&connection.kinds().await?) } else { None };
        let mut candidates = Vec::new();
        match pools {
            None => candidates = self.gather(connection, sought, &question.filter, depth).await?,
            Some(pools) => {
                for Pool { kinds, size } in pools {
                    let filter = Filter { source_types: kinds, ..question.filter.clone() };
                    let mut pool = self.gather(connection, sought, &filter, depth).await?;
                    pool.truncate(size);
                    candidates.extend(pool);
                }
            }
        }
        let candidates = self.unfold_summaries(connection, question, vector, candidates).await?;
        let (candidates, degraded) = self.rerank(question, candidates).await;
        let mut hits = ranking::rank(candidates, &self.settings.ranking, now);
        if self.faults.strikes(Fault::Shuffled).is_some() {
            let draw = mix(self.started.elapsed().as_nanos() as u64);
            hits.sort_by_key(|found| mix(draw ^ found.chunk.id.cast_unsigned()));
        }
        hits.retain(|found| found.score >= question.min_score);
        if self.faults.strikes(Fault::EmptyResults).is_some() {
            hits.retain(|found| found.fused_score >= 0.5);
        }
        Ok(Ranked { hits, degraded })
    }

    /// Both arms for every question, and the vector arm for a passage, fused into one list of candidates.
    async fn gather(
        &self,
        connection: &mut dyn Connection,
        sought: &Sought,
        filter: &Filter,
        depth: usize,
    ) -> Result<Vec<Found>, RetrievalError> {
        let mut lists = Vec::with_capacity(sought.questions.len() * 2 + 1);
        for (text, vector) in &sought.questions {
            lists.extend(self.both_arms(connection, text, vector, filter, depth).await?);
        }
        if let Some(passage) = &sought.passage {
            let strikes = arms::strikes(connection, &self.faults).await?;
            lists.push(arms::vector(connection, passage, filter, depth, &strikes, &self.faults).await?);
        }
        let mut fused = self.fuse(&lists);
        fused.truncate(depth);
        if let Some(dose) = self.faults.dose(Fault::KCut) {
            fused.truncate(dose.amount as usize);
        }
        self.read(connection, &sought.questions[0].1, fused).await
    }

    async fn both_arms(
        &self,
        connection: &mut dyn Connection,
        text: &str,
        vector: &[f32],
        filter: &Filter,
        depth: usize,
    ) -> Result<[Vec<i64>; 2], RetrievalError> {
        let strikes = arms::strikes(connection, &self.faults).await?;
        let words = {
            let _timed = self.stages.time(Stage::Keyword);
            arms::keyword(connection, text, filter, depth, &strikes, &self.faults).await?
        };
        let _timed = self.stages.time(Stage::Vector);
        arms::wait(&self.faults, self.started).await;
        let near = arms::vector(connection, vector, filter, depth, &strikes, &self.faults).await?;
        Ok([words, near])
    }

    fn fuse(&self, lists: &[Vec<i64>]) -> Vec<(i64, f64)> {
        let k = if self.faults.dose(Fault::RrfSteep).is_some() { 1.0 } else { fusion::K };
        let first = if self.faults.dose(Fault::RrfZeroBased).is_some() { 0 } else { fusion::FIRST_RANK };
        fusion::merge(lists, k, first)
    }

    /// The chunks of a fused list, each with its cosine.
    async fn read(
        &self,
        connection: &mut dyn Connection,
        vector: &[f32],
        fused: Vec<(i64, f64)>,
    ) -> Result<Vec<Found>, RetrievalError> {
        let ids: Vec<i64> = fused.iter().map(|(id, _)| *id).collect();
        let mut rows: HashMap<i64, StoredChunk> =
            connection.chunks(&ids).await?.into_iter().map(|chunk| (chunk.id, chunk)).collect();
        let cosines = connection.cosines(vector, &ids).await?;
        let offset = self.faults.dose(Fault::ScoresOffset).map_or(0.0, |dose| dose.amount);
        let found = fused.into_iter().filter_map(|(id, fused_score)| {
            let cosine = cosines.get(&id).copied().unwrap_or(0.0);
            // Four digits: what is beyond them is noise, and differs between machines.
            let score = ((f64::from(cosine) + offset).clamp(0.0, 1.0) * 10_000.0).round() / 10_000.0;
            Some(Found { chunk: rows.remove(&id)?, score, fused_score, final_score: fused_score, expanded: None })
        });
        Ok(found.collect())
    }

    /// A long document is found by its summary first, and by its passages second: they come in the
    /// summary's place, with its standing.
    async fn unfold_summaries(
        &self,
        connection: &mut dyn Connection,
        question: &Question,
        vector: &[f32],
        candidates: Vec<Found>,
    ) -> Result<Vec<Found>, RetrievalError> {
        if candidates.iter().all(|found| found.chunk.role != "summary") {
            return Ok(candidates);
        }
        let mut present: HashSet<i64> = candidates.iter().map(|found| found.chunk.id).collect();
        let mut unfolded = Vec::with_capacity(candidates.len());
        for found in candidates {
            if found.chunk.role != "summary" {
                unfolded.push(found);
                continue;
            }
            let filter = Filter { source: found.chunk.source.clone(), ..question.filter.clone() };
            let depth = PASSAGES_OF_SUMMARY + 1;
            let lists = self.both_arms(connection, &question.text, vector, &filter, depth).await?;
            let passages = self.read(connection, vector, self.fuse(&lists)).await?;
            let of_document = passages
                .into_iter()
                .filter(|passage| passage.chunk.source == found.chunk.source && passage.chunk.role == "passage")
                .filter(|passage| present.insert(passage.chunk.id))
                .take(PASSAGES_OF_SUMMARY)
                .map(|passage| Found { fused_score: found.fused_score, final_score: found.final_score, ..passage });
            unfolded.extend(of_document.collect::<Vec<_>>());
        }
        Ok(unfolded)
    }

    /// Reads question and passages together. Where that fails the fused order stands, and says so.
    async fn rerank(&self, question: &Question, mut candidates: Vec<Found>) -> (Vec<Found>, Vec<&'static str>) {
        let Some(reranker) = &self.reranker else { return (candidates, Vec::new()) };
        let _timed = self.stages.time(Stage::Rerank);
        if self.faults.strikes(Fault::RerankerOff).is_some() || candidates.is_empty() {
            return (candidates, Vec::new());
        }
        let is_reversed = self.faults.strikes(Fault::RerankerReversed).is_some();
        let scoring = async {
            match self.faults.strikes(Fault::RerankerFails) {
                Some(dose) if dose.mode == "memory" => Err("out of memory, on request".to_owned()),
                Some(_slow) => std::future::pending().await,
                None => {
                    let passages: Vec<Passage<'_>> = candidates.iter().map(|found| passage(&found.chunk)).collect();
                    reranker.scores(&question.text, &passages).await.map_err(|error| error.to_string())
                }
            }
        };
        let scores = tokio::time::timeout(RERANK_WITHIN, scoring)
            .await
            .unwrap_or_else(|_late| Err(format!("it took longer than {} ms", RERANK_WITHIN.as_millis())));
        match scores {
            Ok(scores) if scores.len() == candidates.len() => {
                let share = reranker.share();
                for (found, score) in candidates.iter_mut().zip(scores) {
                    let score = score * share + found.score * (1.0 - share);
                    found.final_score = if is_reversed { 1.0 - score } else { score };
                }
                (candidates, Vec::new())
            }
            Ok(_short) => (candidates, vec!["rerank"]),
            Err(error) => {
                tracing::warn!(error, "the reranker failed: the fused order is answered");
                (candidates, vec!["rerank"])
            }
        }
    }

    /// The hits that are shown, and the context made of them.
    async fn choose(
        &self,
        connection: &mut dyn Connection,
        question: &Question,
        mut ranked: Vec<Found>,
        now: DateTime<Utc>,
    ) -> Result<(Vec<Found>, Context, usize), RetrievalError> {
        let _timed = self.stages.time(Stage::Context);
        let times = self.faults.dose(Fault::BudgetExceeded).map_or(1.0, |dose| dose.amount);
        let budget = (question.budget_tokens as f64 * times) as usize;
        if question.expand {
            for found in &mut ranked {
                if let Some(parent) = found.chunk.parent {
                    let section = connection.chunk_at(&found.chunk.source, parent).await?;
                    found.expanded = section.map(|section| section.content);
                }
            }
        }
        if question.conversation.is_empty() {
            ranked.truncate(question.top_k);
            let context = super::context::assemble(&ranked, budget);
            return Ok((ranked, context, 0));
        }
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

    fn remembers(&self, question: &Question) -> bool {
        self.settings.remembering.is_on && !question.passes_memory
    }

    /// The vector of a question's text.
    async fn vector_of(
        &self,
        connection: &mut dyn Connection,
        question: &Question,
        text: &str,
    ) -> Result<(Arc<[f32]>, Option<Duration>), RetrievalError> {
        if !question.passes_memory {
            return self.embed(connection, text).await;
        }
        let _timed = self.stages.time(Stage::Embed);
        Ok((self.library.embedding().question(connection, text).await?.vector.into(), None))
    }

    /// The vector of a question, and for how long it has been remembered here.
    ///
    /// # Errors
    /// `Embedder` where the provider is down.
    pub async fn embed(
        &self,
        connection: &mut dyn Connection,
        text: &str,
    ) -> Result<(Arc<[f32]>, Option<Duration>), RetrievalError> {
        let _timed = self.stages.time(Stage::Embed);
        let embedding = self.library.embedding();
        let model = embedding.question_model(text);
        if self.faults.dose(Fault::EmbedderDown).is_none()
            && let Some((vector, age)) = self.warmth.recall(&model, text, Instant::now())
        {
            return Ok((vector, Some(age)));
        }
        let vector: Arc<[f32]> = embedding.question(connection, text).await?.vector.into();
        self.warmth.keep(&model, text, Arc::clone(&vector), Instant::now());
        Ok((vector, None))
    }

    /// Whether searches are as fast as they get: enough remembered, the cold start over.
    pub fn is_warm(&self, now: Instant) -> bool {
        let cold = self
            .faults
            .dose(Fault::LatencyDecay)
            .is_some_and(|dose| arms::fading(now.saturating_duration_since(self.started), dose.tau_ms) > COLD_ABOVE);
        !cold && self.warmth.is_warm(now)
    }
}

fn passage(chunk: &StoredChunk) -> Passage<'_> {
    Passage { section: &chunk.section, content: &chunk.content }
}
