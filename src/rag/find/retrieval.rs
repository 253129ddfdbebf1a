//! One search, whole: a connection, both arms, fusion, the rows, the context.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use sqlx::SqliteConnection;

use crate::rag::embed::hashing::HashingEmbedder;
use crate::rag::fault::kinds::Fault;
use crate::rag::fault::switches::Faults;
use crate::rag::find::context::{self, BUDGET_TOKENS, Context};
use crate::rag::find::fusion::{self, Fused};
use crate::rag::find::warmth::Warmth;
use crate::rag::index::library::Library;
use crate::rag::store::scan::{self, Near};
use crate::rag::store::sqlite::{self, StoreError, StoredChunk};
use crate::rag::store::terms;
use crate::rag::store::vectors::Index;
use crate::rag::text::draw::mix;

/// Chunks each arm brings: over-fetched, so that fusion has something to choose from.
const DEPTH: usize = 20;
/// A hang ends after all, for a server must not keep what nobody waits for.
const HANG_MAX: Duration = Duration::from_secs(120);
/// The part of a cold start's wait below which it counts as over.
const COLD_ABOVE: f64 = 0.1;

/// A question, its limits already checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// As it was asked.
    pub text: String,
    /// Hits wanted, 1 to 20.
    pub top_k: usize,
    /// Hits whose cosine is below are left out.
    pub min_score: f64,
    /// Only sources that begin with this.
    pub source: String,
}

/// A chunk that answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The chunk.
    pub chunk: StoredChunk,
    /// Cosine of question and chunk, 0 to 1; a chunk that only the keyword arm brought has its own too.
    pub score: f64,
    /// The fused score that the order follows.
    pub final_score: f64,
}

/// What a search brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// Hits, the best first.
    pub hits: Vec<Found>,
    /// The text for a prompt.
    pub context: Context,
    /// How long the question's vector had been remembered; `None` where it was made for this.
    pub remembered: Option<Duration>,
}

/// Why a search failed; codes are part of the contract.
#[derive(Debug, thiserror::Error)]
pub enum RetrievalError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The embedder does not answer.
    #[error("the embedding provider does not answer")]
    Embedder,
    /// Nothing is indexed.
    #[error("nothing is indexed yet")]
    IndexMissing,
    /// Retrieval itself.
    #[error("retrieval failed")]
    Failed,
}

impl RetrievalError {
    /// The code of the envelope, and what to do next.
    pub fn code(&self) -> (&'static str, &'static str) {
        match self {
            Self::Store(StoreError::Saturated) => ("POOL_SATURATED", "Ask again in a few seconds."),
            Self::Store(StoreError::Full) => ("BUDGET_LIMIT_EXCEEDED", "Remove sources, then index again."),
            Self::Store(StoreError::Incompatible { .. }) => ("INDEX_SCHEMA_MISMATCH", "Build the index again."),
            Self::Store(StoreError::Sql(_)) => ("COLLECTION_UNAVAILABLE", "Ask again; tell the operator if it stays."),
            Self::Embedder => ("EMBEDDING_UNAVAILABLE", "Ask again in a minute."),
            Self::IndexMissing => ("INDEX_MISSING", "Add documents with index_document first."),
            Self::Failed => ("RETRIEVAL_FAILED", "Ask again; tell the operator if it stays."),
        }
    }
}

/// Searches a library.
#[derive(Debug)]
pub struct Retrieval {
    /// What there is to find.
    pub library: Library,
    /// Questions already embedded.
    pub warmth: Warmth,
    faults: Faults,
    started: Instant,
}

impl Retrieval {
    /// A retrieval whose cold start begins at `started`.
    pub fn new(library: Library, faults: Faults, started: Instant) -> Self {
        Self { library, warmth: Warmth::default(), faults, started }
    }

    /// Answers a question.
    ///
    /// # Errors
    /// `RetrievalError`, of which a naive server's faults (`PoolSaturated`, `ErrorAsEmpty`) make an empty list.
    pub async fn search(&self, question: &Question) -> Result<Findings, RetrievalError> {
        let outcome = self.attempt(question).await;
        let naive = match &outcome {
            Err(RetrievalError::Store(StoreError::Saturated)) => self.faults.dose(Fault::PoolSaturated).is_some(),
            _ => false,
        };
        match outcome {
            Err(error) if naive || self.faults.dose(Fault::ErrorAsEmpty).is_some() => {
                tracing::warn!(%error, "swallowed, as a naive server does: the caller gets an empty list");
                let context = Context { text: String::new(), tokens: 0, truncated: false };
                Ok(Findings { hits: Vec::new(), context, remembered: None })
            }
            outcome => outcome,
        }
    }

    async fn attempt(&self, question: &Question) -> Result<Findings, RetrievalError> {
        let mut connection = self.library.store.acquire().await?;
        if self.faults.strikes(Fault::Hang).is_some() {
            tokio::time::sleep(HANG_MAX).await;
        }
        if self.faults.strikes(Fault::ToolError).is_some() {
            return Err(RetrievalError::Failed);
        }
        let index = self.library.index();
        if index.is_empty() {
            return Err(RetrievalError::IndexMissing);
        }
        let words = self.keyword_arm(&mut connection, question).await?;
        let (vector, remembered) = self.embed(&question.text)?;
        let near = self.vector_arm(&index, &vector, question).await;
        let hidden = self.hidden(&index);
        let words: Vec<i64> = words.into_iter().filter(|id| !hidden.contains(id)).collect();
        let near: Vec<Near> = near.into_iter().filter(|near| !hidden.contains(&near.id)).collect();
        let fused = self.fuse(&words, &near);
        let hits = self.read(&mut connection, &index, &vector, question, fused).await?;
        let context = context::assemble(hits.iter().map(|found| &found.chunk), BUDGET_TOKENS);
        Ok(Findings { hits, context, remembered })
    }

    /// The vector of a question.
    ///
    /// # Errors
    /// `Embedder` where the provider is down.
    pub fn embed(&self, text: &str) -> Result<(std::sync::Arc<[f32]>, Option<Duration>), RetrievalError> {
        self.provider()?;
        let model = if self.faults.strikes(Fault::WrongQueryModel).is_some() {
            HashingEmbedder::OTHER
        } else {
            HashingEmbedder::INDEX
        };
        let remembered = self.warmth.embed(model, text, Instant::now());
        Ok((remembered.vector, remembered.age))
    }

    /// Has the embedder make a vector now: a remembered one would show nothing of the provider.
    ///
    /// # Errors
    /// `Embedder` where the provider is down.
    pub fn ask_embedder(&self, text: &str) -> Result<Vec<f32>, RetrievalError> {
        self.provider()?;
        Ok(HashingEmbedder::INDEX.embed(text))
    }

    fn provider(&self) -> Result<(), RetrievalError> {
        match self.faults.dose(Fault::EmbedderDown) {
            Some(_down) => Err(RetrievalError::Embedder),
            None => Ok(()),
        }
    }

    /// Whether searches are as fast as they get: enough vectors remembered, the cold start over.
    pub fn is_warm(&self, now: Instant) -> bool {
        let cold = self
            .faults
            .dose(Fault::LatencyDecay)
            .is_some_and(|dose| fading(now.saturating_duration_since(self.started), dose.tau_ms) > COLD_ABOVE);
        !cold && self.warmth.is_warm(now)
    }

    async fn keyword_arm(
        &self,
        connection: &mut SqliteConnection,
        question: &Question,
    ) -> Result<Vec<i64>, RetrievalError> {
        if self.faults.strikes(Fault::KeywordArmOff).is_some() {
            return Ok(Vec::new());
        }
        Ok(terms::search(connection, &question.text, &question.source, DEPTH).await?)
    }

    async fn vector_arm(&self, index: &Index, vector: &[f32], question: &Question) -> Vec<Near> {
        let mut wait_ms = self.faults.strikes(Fault::LatencyStep).map_or(0.0, |dose| dose.amount);
        if let Some(dose) = self.faults.strikes(Fault::LatencyDecay) {
            wait_ms += dose.amount * fading(self.started.elapsed(), dose.tau_ms);
        }
        if wait_ms >= 1.0 {
            tokio::time::sleep(Duration::from_secs_f64(wait_ms / 1_000.0)).await;
        }
        if self.faults.strikes(Fault::VectorArmOff).is_some() {
            return Vec::new();
        }
        scan::search(index, vector, &question.source, DEPTH, &self.faults)
    }

    /// Chunks that a truncated corpus no longer holds.
    fn hidden(&self, index: &Index) -> std::collections::HashSet<i64> {
        let Some(dose) = self.faults.dose(Fault::CorpusTruncated) else { return std::collections::HashSet::new() };
        index.iter().filter(|(entry, _)| scan::struck(Some(dose), entry)).map(|(entry, _)| entry.id).collect()
    }

    fn fuse(&self, words: &[i64], near: &[Near]) -> Vec<Fused> {
        let steep = self.faults.dose(Fault::RrfSteep).is_some();
        let mut fused = fusion::merge(words, near, if steep { 1.0 } else { fusion::K });
        if self.faults.strikes(Fault::Shuffled).is_some() {
            let draw = mix(self.started.elapsed().as_nanos() as u64);
            fused.sort_by_key(|entry| mix(draw ^ entry.id.cast_unsigned()));
        }
        if let Some(dose) = self.faults.dose(Fault::KCut) {
            fused.truncate(dose.amount as usize);
        }
        fused
    }

    async fn read(
        &self,
        connection: &mut SqliteConnection,
        index: &Index,
        vector: &[f32],
        question: &Question,
        fused: Vec<Fused>,
    ) -> Result<Vec<Found>, RetrievalError> {
        let ids: Vec<i64> = fused.iter().map(|entry| entry.id).collect();
        let mut rows: HashMap<i64, StoredChunk> =
            sqlite::chunks(connection, &ids).await?.into_iter().map(|chunk| (chunk.id, chunk)).collect();
        let lost: Vec<i64> = fused.iter().filter(|entry| entry.near.is_none()).map(|entry| entry.id).collect();
        let lexical: HashMap<i64, f32> = index
            .iter()
            .filter(|(entry, _)| lost.contains(&entry.id))
            .map(|(entry, numbers)| (entry.id, scan::dot(vector, numbers)))
            .collect();
        let offset = self.faults.dose(Fault::ScoresOffset).map_or(0.0, |dose| dose.amount);
        let mut found = Vec::with_capacity(question.top_k);
        for entry in fused {
            let cosine = entry.near.map_or_else(|| lexical.get(&entry.id).copied().unwrap_or(0.0), |near| near.cosine);
            // Four digits: what is beyond them is noise, and differs between machines.
            let score = ((f64::from(cosine) + offset).clamp(0.0, 1.0) * 10_000.0).round() / 10_000.0;
            if score < question.min_score {
                continue;
            }
            if let Some(chunk) = rows.remove(&entry.id) {
                found.push(Found { chunk, score, final_score: entry.score });
            }
            if found.len() == question.top_k {
                break;
            }
        }
        Ok(found)
    }
}

/// What is left of a cold start after a while: 1 at its beginning, a third after `tau_ms`.
fn fading(since: Duration, tau_ms: f64) -> f64 {
    (-(since.as_secs_f64() * 1_000.0) / tau_ms).exp()
}
