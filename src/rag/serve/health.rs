//! `/live`, `/ready` and `/health`: each looks for itself, none asks the switchboard.
//!
//! `/live` says that the process answers; `/ready` takes a connection, scans and embeds; `/health`
//! looks at the index besides. Reasons are the words a monitor knows. 503 where not ok.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;

use crate::rag::serve::life::Life;
use crate::rag::store::scan;
use crate::rag::store::sqlite;

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
    /// Chunks indexed.
    pub chunks: i64,
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
    let library = &life.retrieval.library;
    let (chunks, sources, tokens) = {
        let mut connection = library.store.acquire().await.map_err(|error| match error {
            sqlite::StoreError::Saturated => "pool_saturated",
            _ => "vector_store_unreachable",
        })?;
        sqlite::figures(&mut connection).await.map_err(|_error| "vector_store_unreachable")?
    };
    report.chunks = chunks;
    report.sources = Some(sources);
    let pool = library.store.pool_figures();
    report.pool.idle = pool.1;
    life.retrieval.ask_embedder(EMBEDDER_PROBE).map_err(|_error| "external_api_failure")?;
    let index = library.index();
    let Some((first, vector)) = index.iter().next() else { return Err("index_empty_or_stale") };
    let near = scan::search(&index, vector, &first.source, 1, &life.faults);
    if near.is_empty() || index.len() != usize::try_from(chunks).unwrap_or(0) {
        return Err("vector_store_unreachable");
    }
    if tokens > CHUNK_TOKENS_MAX {
        return Err("chunk_size_anomaly");
    }
    Ok(())
}

fn report(life: &Life) -> Report {
    let (size, idle, waiting) = life.retrieval.library.store.pool_figures();
    Report {
        status: "ok",
        reason: None,
        cache_warm: life.retrieval.is_warm(Instant::now()),
        instance_id: life.instance_id.clone(),
        started_at: life.started_at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
        version: env!("CARGO_PKG_VERSION"),
        pool: Pool { size, idle, waiting, max: sqlite::CONNECTIONS },
        chunks: i64::try_from(life.retrieval.library.index().len()).unwrap_or(i64::MAX),
        sources: None,
    }
}

fn reply(mut report: Report, reason: Option<&'static str>) -> (StatusCode, Json<Report>) {
    report.reason = reason;
    if reason.is_some() {
        report.status = "unhealthy";
        return (StatusCode::SERVICE_UNAVAILABLE, Json(report));
    }
    (StatusCode::OK, Json(report))
}
