//! `/live`, `/ready` and `/health`: each looks for itself, none asks the switchboard.
//!
//! `/live` says that the process answers; `/ready` takes a connection, scans and embeds; `/health`
//! looks at the index besides. Reasons are the words a monitor knows. 503 where not ok.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use chrono::Utc;
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use crate::rag::fault::strikes::Strikes;
use crate::rag::find::arms;
use crate::rag::serve::life::Life;
use crate::rag::store::contract::Patience;
use crate::rag::store::filter::Filter;
use crate::rag::store::records::{Figures, Near, PoolFigures, StoreError, StoredSource};

/// Mean tokens of a chunk above which chunking has gone wrong.
const CHUNK_TOKENS_MAX: f64 = 500.0;
/// How long the store may take for a vector query and its counts.
const STORE_WITHIN: Duration = Duration::from_secs(1);
/// How long the embedder may take for a word.
const EMBEDDER_WITHIN: Duration = Duration::from_secs(2);
/// The text whose embedding shows that the embedder answers.
const EMBEDDER_PROBE: &str = "health";

/// What all three answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Report {
    /// `ok` or `unhealthy`.
    pub status: &'static str,
    /// Why it is unhealthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Whether searches are as fast as they get.
    pub cache_warm: bool,
    /// New with each start.
    pub instance_id: String,
    /// RFC 3339.
    pub started_at: String,
    /// Of the program.
    pub version: &'static str,
    /// The pool, which is what runs out first.
    pub pool: Pool,
    /// Chunks indexed; null where nobody looked.
    pub chunks: Option<i64>,
    /// Sources indexed; null where nobody looked.
    pub sources: Option<i64>,
    /// Sources that were indexed too long ago; null where nothing is too long.
    pub stale_sources: Option<usize>,
    /// What is remembered.
    pub cache: Cache,
}

/// The memory of answers and questions.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Cache {
    /// The share of questions of the last five minutes that met something remembered; null where
    /// nobody asked.
    pub hit_rate: Option<f64>,
    /// Answers remembered; null where nobody looked.
    pub answers: Option<i64>,
}

/// The pool's figures.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Pool {
    /// Connections open.
    pub size: u32,
    /// Of which idle.
    pub idle: usize,
    /// Callers waiting for one.
    pub waiting: usize,
    /// Connections it may open.
    pub max: u32,
}

/// `/live`.
pub async fn live(State(life): State<Arc<Life>>) -> (StatusCode, Json<Report>) {
    reply(report(&life), None)
}

/// `/ready`.
pub async fn ready(State(life): State<Arc<Life>>) -> (StatusCode, Json<Report>) {
    let mut report = report(&life);
    let reason = parts(&life, &mut report).await.err();
    reply(report, reason)
}

/// `/health`.
pub async fn health(State(life): State<Arc<Life>>) -> (StatusCode, Json<Report>) {
    let mut report = report(&life);
    let reason = match parts(&life, &mut report).await {
        Ok(seen) => index(&life, &seen, &mut report).err(),
        Err(reason) => Some(reason),
    };
    reply(report, reason)
}

/// What was seen of the index.
struct Seen {
    figures: Figures,
    sources: Vec<StoredSource>,
    /// The sources found with a stored vector; `None` where nothing is stored.
    near: Option<(String, Vec<Near>)>,
}

/// Looks whether a search would be answered now; the first part that does not work is the reason.
async fn parts(life: &Life, report: &mut Report) -> Result<Seen, &'static str> {
    let store = life.retrieval.library.store();
    let looking = async {
        let mut held = store.connect(Patience::Search).await?;
        let strikes = arms::strikes(held.as_mut(), &life.faults).await?;
        // What the corpus has lost is no fault of the store.
        let strikes = Strikes { missing: None, missing_sources: HashSet::new(), ..strikes };
        let near = match held.sample().await? {
            Some((source, vector)) => {
                let filter = Filter { source: source.clone(), ..Filter::default() };
                Some((source, held.near(&vector, &filter, 1, &strikes).await?))
            }
            None => None,
        };
        Ok::<_, StoreError>(Seen { figures: held.figures().await?, sources: held.sources().await?, near })
    };
    let seen = match tokio::time::timeout(STORE_WITHIN, looking).await {
        Ok(Ok(seen)) => seen,
        Ok(Err(StoreError::Saturated { .. })) => return Err("pool_saturated"),
        Ok(Err(_)) | Err(_) => return Err("vector_store_unreachable"),
    };
    let pool = store.pool();
    (report.pool, report.chunks, report.sources) =
        (self::pool(pool), Some(seen.figures.chunks), Some(seen.figures.sources));
    report.cache.answers = Some(seen.figures.answers);
    // Said before anybody gets an empty list: nothing is idle, and somebody waits.
    if pool.idle == 0 && pool.waiting > 0 && pool.size >= pool.max {
        return Err("pool_saturated");
    }
    let asking = life.retrieval.library.embedding().ask(EMBEDDER_PROBE);
    match tokio::time::timeout(EMBEDDER_WITHIN, asking).await {
        Ok(Ok(_vector)) => {}
        Ok(Err(_)) | Err(_) => return Err("external_api_failure"),
    }
    let is_lost = seen.near.as_ref().is_some_and(|(_, near)| near.is_empty());
    if is_lost || seen.figures.reachable != seen.figures.chunks {
        return Err("vector_store_unreachable");
    }
    Ok(seen)
}

/// Looks at what is indexed.
fn index(life: &Life, seen: &Seen, report: &mut Report) -> Result<(), &'static str> {
    if seen.near.is_none() {
        return Err("index_empty_or_stale");
    }
    if seen.figures.mean_tokens > CHUNK_TOKENS_MAX {
        return Err("chunk_size_anomaly");
    }
    if let Some(limit) = life.stale_after {
        let now = Utc::now();
        let is_stale = |source: &&StoredSource| (now - source.indexed_at).to_std().is_ok_and(|age| age > limit);
        let stale = seen.sources.iter().filter(is_stale).count();
        report.stale_sources = Some(stale);
        if stale > 0 {
            return Err("source_stale");
        }
    }
    Ok(())
}

fn report(life: &Life) -> Report {
    Report {
        status: "ok",
        reason: None,
        cache_warm: life.retrieval.is_warm(Instant::now()),
        instance_id: life.instance_id.clone(),
        started_at: life.started_at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
        version: env!("CARGO_PKG_VERSION"),
        pool: pool(life.retrieval.library.store().pool()),
        chunks: None,
        sources: None,
        stale_sources: None,
        cache: Cache { hit_rate: life.retrieval.warmth.hit_rate(Instant::now()), answers: None },
    }
}

fn pool(PoolFigures { size, idle, waiting, max }: PoolFigures) -> Pool {
    Pool { size, idle, waiting, max }
}

fn reply(mut report: Report, reason: Option<&'static str>) -> (StatusCode, Json<Report>) {
    report.reason = reason;
    if reason.is_some() {
        report.status = "unhealthy";
        return (StatusCode::SERVICE_UNAVAILABLE, Json(report));
    }
    (StatusCode::OK, Json(report))
}
