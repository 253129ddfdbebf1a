//! What `/live`, `/ready` and `/health` answer, and why a server is not well.

use std::time::Duration;
#[cfg(feature = "memory")]
use std::time::Instant;

use chrono::{DateTime, Utc};
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

#[cfg(feature = "memory")]
use crate::search::retrieval::Layer;
use crate::serve::state::ServerState;
use crate::store::records::{PoolFigures, StoreError};

/// What all three answer; null where nobody looked. Who asks needs no token, so no document is named.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Report")]
pub struct HealthReport {
    /// `ok` or `unhealthy`.
    pub status: &'static str,
    /// Why it is unhealthy, in a monitor's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The same in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Whether searches are as fast as they get.
    pub cache_warm: bool,
    /// New with each start.
    pub instance_id: String,
    /// RFC 3339.
    pub started_at: String,
    /// Of the program.
    pub version: &'static str,
    /// The pool, which is what runs out first.
    pub pool: PoolReport,
    /// How long a query by vector took.
    pub vector_query_ms: Option<f64>,
    /// How long the embedding of a short text took.
    pub embedding_ms: Option<f64>,
    /// Chunks indexed.
    pub chunks: Option<i64>,
    /// Sources indexed.
    pub sources: Option<i64>,
    /// The search for a stored chunk.
    pub canary: Option<CanaryNote>,
    /// How long chunks are.
    pub chunk_tokens: Option<ChunkTokens>,
    /// Sources that were indexed too long ago, which the log names; null where nothing is too long.
    pub stale_sources: Option<usize>,
    /// What is remembered.
    pub cache: Cache,
}

/// The memory of answers and questions.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Cache {
    /// The share of questions of the last five minutes that met something remembered; null where nobody asked.
    pub hit_rate: Option<f64>,
    /// Answers remembered; null where nobody looked.
    pub answers: Option<i64>,
}

/// The pool's figures.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Pool")]
pub struct PoolReport {
    /// Connections open.
    pub size: u32,
    /// Of which idle.
    pub idle: usize,
    /// Callers waiting for one.
    pub waiting: usize,
    /// Connections it may open.
    pub max: u32,
}

/// A stored chunk that was asked for by its own text.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CanaryNote {
    /// Its place among the hits, from 1; null where it is not among them.
    pub rank: Option<usize>,
    /// How near it was to itself, 0 to 1.
    pub score: Option<f64>,
    /// How long the search took.
    pub took_ms: f64,
}

/// How long chunks are, in tokens.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChunkTokens {
    /// On average.
    pub mean: f64,
    /// The longest; null where it could not be looked for in time.
    pub worst: Option<i64>,
    /// What neither may pass.
    pub limit: u32,
}

/// Why a server is not well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// In a monitor's word.
    pub reason: &'static str,
    /// In a sentence.
    pub detail: String,
}

impl Trouble {
    /// A reason, in a monitor's word and in a sentence.
    pub fn of(reason: &'static str, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into() }
    }

    /// What a store's error means. SQL names paths: the log has it, callers do not.
    pub fn of_store(error: &StoreError) -> Self {
        if let StoreError::Saturated { .. } = error {
            return Self::of("pool_saturated", error.to_string());
        }
        tracing::warn!(%error, "health found the store failing");
        #[cfg(feature = "chroma")]
        if let StoreError::Vectors(error) = error {
            return Self::of("vector_store_unreachable", error.unnamed());
        }
        Self::of("vector_store_unreachable", "the store fails")
    }
}

/// A report in which nobody has looked at anything yet.
pub fn unseen(state: &ServerState) -> HealthReport {
    #[cfg(feature = "memory")]
    let (cache_warm, hit_rate) = {
        let (now, cache) = (Instant::now(), &state.retrieval.query_cache);
        (state.retrieval.layer().is_none_or(Layer::is_warm) && cache.is_warm(now), cache.hit_rate(now))
    };
    // Nothing is remembered, so no search is faster than the first.
    #[cfg(not(feature = "memory"))]
    let (cache_warm, hit_rate) = (true, None);
    HealthReport {
        status: "ok",
        reason: None,
        detail: None,
        cache_warm,
        instance_id: state.instance_id.clone(),
        started_at: stamp(state.started_at),
        version: env!("CARGO_PKG_VERSION"),
        pool: pool(state.retrieval.library.store().pool()),
        vector_query_ms: None,
        embedding_ms: None,
        chunks: None,
        sources: None,
        canary: None,
        chunk_tokens: None,
        stale_sources: None,
        cache: Cache { hit_rate, answers: None },
    }
}

/// The pool's figures as a caller gets them.
pub fn pool(PoolFigures { size, idle, waiting, max }: PoolFigures) -> PoolReport {
    PoolReport { size, idle, waiting, max }
}

/// A length of time in milliseconds, to the microsecond.
pub fn millis(took: Duration) -> f64 {
    (took.as_secs_f64() * 1e6).round() / 1e3
}

fn stamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
