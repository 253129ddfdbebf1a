//! `/metrics`, in the text format of Prometheus.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::search::retrieval::Layer;
use crate::serve::state::ServerState;
use crate::store::contract::Patience;

/// `/metrics`.
pub async fn metrics(State(state): State<Arc<ServerState>>) -> Response {
    let mut registry = Registry::with_prefix("serin_reference");
    let counts = &state.counts;
    registry.register("searches", "Searches by how they ended", counts.searches.clone());
    registry.register("answers", "Searches by where their answer came from", counts.answers.clone());
    registry.register("documents", "Documents by what became of them", counts.documents.clone());
    let stages = state.retrieval.stages.family();
    registry.register("stage_seconds", "How long each part of a search takes", stages);
    let (hits, misses) = state.retrieval.library.vectors().counts();
    let embeddings = [("embedding_cache_hits", hits), ("embedding_cache_misses", misses)];
    for (name, value) in embeddings {
        let counter: Counter<u64, AtomicU64> = Counter::default();
        counter.inc_by(value);
        registry.register(name, "Vectors of texts found in the store, or made", counter);
    }
    let mut gauge = |name: &str, help: &str, value: f64| {
        let gauge = Gauge::<f64, AtomicU64>::default();
        gauge.set(value);
        registry.register(name, help, gauge);
    };
    let pool = state.retrieval.library.store().pool();
    gauge("pool_size", "Connections open", f64::from(pool.size));
    gauge("pool_idle", "Connections idle", pool.idle as f64);
    gauge("pool_waiting", "Callers waiting for a connection", pool.waiting as f64);
    gauge("pool_max", "Connections the pool may open", f64::from(pool.max));
    gauge(
        "cache_hit_rate",
        "Hits of the last five minutes",
        state.retrieval.query_cache.hit_rate(Instant::now()).unwrap_or(0.0),
    );
    for (name, help, value) in state.retrieval.layer().map(Layer::gauges).unwrap_or_default() {
        gauge(name, help, value);
    }
    gauge("started_at_seconds", "When this life began", state.started_at.timestamp_micros() as f64 / 1e6);
    // A pool that is saturated is not asked for more: what is known without it is shown all the same.
    if let Ok(mut held) = state.retrieval.library.store().connect(Patience::Search).await
        && let Ok(figures) = held.figures().await
    {
        gauge("chunks", "Chunks that are searched", figures.chunks as f64);
        gauge("sources", "Sources", figures.sources as f64);
        gauge("answers_remembered", "Answers remembered", figures.answers as f64);
        gauge("embeddings_remembered", "Vectors of texts remembered", figures.embeddings as f64);
        gauge("chunk_tokens_mean", "Mean tokens of a chunk", figures.mean_tokens);
    }
    let mut text = String::new();
    if let Err(error) = encode(&mut text, &registry) {
        tracing::error!(%error, "metrics could not be written");
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response()
}
