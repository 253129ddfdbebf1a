//! `/live`, `/ready` and `/health`: each looks for itself, none asks the switchboard.
//!
//! `/live` says that the process answers; `/ready` takes a connection, scans and embeds; `/health`
//! looks at the index besides. Reasons are the words a monitor knows. 503 where not ok.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;

use crate::rag::fault::strikes::Strikes;
use crate::rag::find::arms;
use crate::rag::serve::life::Life;
use crate::rag::store::contract::Patience;
use crate::rag::store::filter::Filter;
use crate::rag::store::records::{PoolFigures, StoreError};

/// Mean tokens of a chunk above which chunking has gone wrong.
const CHUNK_TOKENS_MAX: f64 = 500.0;
/// The text whose embedding shows that the embedder answers.
const EMBEDDER_PROBE: &str = "health";

/// What all three answer.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// `ok` or `unhealthy`.
    pub status: &'static str,
    /// Why it is unhealthy.
    #[serde(skip_serializing_if = "Option::is_none")]
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
}

/// The pool's figures.
#[derive(Debug, Clone, Serialize)]
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
    let reason = examine(&life, &mut report).await.err();
    reply(report, reason.filter(|reason| *reason != "chunk_size_anomaly" && *reason != "index_empty_or_stale"))
}

/// `/health`.
pub async fn health(State(life): State<Arc<Life>>) -> (StatusCode, Json<Report>) {
    let mut report = report(&life);
    let reason = examine(&life, &mut report).await.err();
    reply(report, reason)
}

/// Looks at every part; the first that does not work is the reason.
async fn examine(life: &Life, report: &mut Report) -> Result<(), &'static str> {
    let store = life.retrieval.library.store();
    let (figures, sample, near) = {
        let mut held = store.connect(Patience::Search).await.map_err(|error| match error {
            StoreError::Saturated { .. } => "pool_saturated",
            _ => "vector_store_unreachable",
        })?;
        let unreachable = |_error: StoreError| "vector_store_unreachable";
        let figures = held.figures().await.map_err(unreachable)?;
        let sample = held.sample().await.map_err(unreachable)?;
        let near = match &sample {
            Some((source, vector)) => {
                let strikes = arms::strikes(held.as_mut(), &life.faults).await.map_err(unreachable)?;
                // What the corpus has lost is no fault of the store.
                let strikes = Strikes { missing: None, missing_sources: HashSet::new(), ..strikes };
                let filter = Filter { source: source.clone(), ..Filter::default() };
                held.near(vector, &filter, 1, &strikes).await.map_err(unreachable)?
            }
            None => Vec::new(),
        };
        (figures, sample, near)
    };
    report.chunks = Some(figures.chunks);
    report.sources = Some(figures.sources);
    report.pool = pool(store.pool());
    life.retrieval.library.embedding().ask(EMBEDDER_PROBE).await.map_err(|_error| "external_api_failure")?;
    if sample.is_none() {
        return Err("index_empty_or_stale");
    }
    if near.is_empty() || figures.reachable != figures.chunks {
        return Err("vector_store_unreachable");
    }
    if figures.mean_tokens > CHUNK_TOKENS_MAX {
        return Err("chunk_size_anomaly");
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
