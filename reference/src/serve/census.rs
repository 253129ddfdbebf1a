//! What `/health` counts over the whole index: its chunks, its holes, how long and how old they are.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::embed::Embedder as _;
#[cfg(feature = "remote")]
use crate::index::later::PENDING;
use crate::serve::report::{ChunkTokens, HealthReport, Trouble};
use crate::serve::state::ServerState;
use crate::store::contract::{Connection, Patience};
use crate::store::records::{Figures, StoreError, StoredSource};

/// Tokens of a chunk, on average and at most, above which chunking has gone wrong.
const CHUNK_TOKENS_MAX: u32 = 500;
/// Stale sources that the log names; the rest is counted.
const STALE_NAMED_MAX: usize = 10;
/// How long counting over the whole index may take: some two seconds for a million chunks.
const COUNTING_WITHIN: Duration = Duration::from_secs(5);
/// How long the look for the longest chunk may take; it is done once for each change of the index.
const LONGEST_WITHIN: Duration = Duration::from_secs(5);

/// Sources that are too old, and how long chunks are: what is a trouble only where answers are good.
#[derive(Debug)]
pub struct Census {
    mean: f64,
    worst: Option<i64>,
    stale: usize,
    sources: i64,
}

/// Counts, and writes it into the report.
///
/// # Errors
/// What fails, an empty index, or one with holes.
pub async fn take(state: &ServerState, report: &mut HealthReport) -> Result<Census, Trouble> {
    let counting = async {
        let mut held = state.retrieval.library.store().connect(Patience::Search).await?;
        // While an index waits for its vectors, answers say so; nothing is lost.
        let is_pending = held.fact(PENDING).await?.is_some();
        let counted = (held.figures().await?, held.sources().await?);
        Ok((is_pending, counted.0, counted.1, longest(state, held.as_mut()).await?))
    };
    let (is_pending, figures, sources, worst) = tokio::time::timeout(COUNTING_WITHIN + LONGEST_WITHIN, counting)
        .await
        .map_err(|_late| Trouble::of("vector_store_unreachable", "the index could not be counted in time"))?
        .map_err(|error: StoreError| Trouble::of_store(&error))?;
    report.chunks = Some(figures.chunks);
    report.sources = Some(figures.sources);
    report.cache.answers = Some(figures.answers);
    report.chunk_tokens = Some(ChunkTokens { mean: figures.mean_tokens, worst, limit: CHUNK_TOKENS_MAX });
    if let Some(limit) = state.stale_after {
        let stale = stale(&sources, limit, Utc::now());
        report.stale_sources = Some(stale.len());
        let oldest: Vec<&str> = stale.iter().take(STALE_NAMED_MAX).map(|source| source.source.as_str()).collect();
        if !oldest.is_empty() {
            tracing::warn!(stale = stale.len(), ?oldest, "sources were indexed too long ago");
        }
    }
    whole(&figures, !is_pending && state.retrieval.library.vectors().embedder().model().dimensions > 0)?;
    let stale = report.stale_sources.unwrap_or_default();
    Ok(Census { mean: figures.mean_tokens, worst, stale, sources: figures.sources })
}

impl Census {
    /// Whether the index is fit to answer from.
    ///
    /// # Errors
    /// `source_stale`, `chunk_size_anomaly`.
    pub fn judge(&self) -> Result<(), Trouble> {
        let Self { mean, worst, stale, sources } = *self;
        if stale > 0 {
            let why = format!("{stale} of {sources} sources were indexed too long ago");
            return Err(Trouble::of("source_stale", why));
        }
        chunks_fit(mean, worst)
    }
}

/// Whether there is something to find, and all of it can be reached, by vectors too where it has some.
fn whole(figures: &Figures, has_vectors: bool) -> Result<(), Trouble> {
    if figures.chunks == 0 {
        return Err(Trouble::of("index_empty_or_stale", "nothing is indexed"));
    }
    if has_vectors && figures.reachable != figures.chunks {
        let why = format!("{} of {} vectors can be reached", figures.reachable, figures.chunks);
        return Err(Trouble::of("vector_store_unreachable", why));
    }
    Ok(())
}

fn chunks_fit(mean: f64, worst: Option<i64>) -> Result<(), Trouble> {
    let too_long = mean > f64::from(CHUNK_TOKENS_MAX) || worst.is_some_and(|worst| worst > i64::from(CHUNK_TOKENS_MAX));
    if !too_long {
        return Ok(());
    }
    let worst = worst.map_or_else(String::new, |worst| format!(", the longest {worst}"));
    let why = format!("chunks have {mean:.0} tokens on average{worst}; {CHUNK_TOKENS_MAX} are allowed");
    Err(Trouble::of("chunk_size_anomaly", why))
}

/// Tokens of the longest chunk, looked for once for each change of the index; `None` where that takes too long.
async fn longest(state: &ServerState, connection: &mut dyn Connection) -> Result<Option<i64>, StoreError> {
    let generation = connection.generation().await?;
    let known = *state.longest.lock();
    if let Some((_, tokens)) = known.filter(|(of, _)| *of == generation) {
        return Ok(Some(tokens));
    }
    match tokio::time::timeout(LONGEST_WITHIN, connection.longest()).await {
        Ok(tokens) => {
            let tokens = tokens?;
            *state.longest.lock() = Some((generation, tokens));
            Ok(Some(tokens))
        }
        Err(_late) => Ok(None),
    }
}

/// Sources that were indexed longer ago than the limit, the oldest first.
fn stale(sources: &[StoredSource], limit: Duration, now: DateTime<Utc>) -> Vec<&StoredSource> {
    // A clock that was set back makes nothing stale.
    let is_stale = |source: &&StoredSource| (now - source.indexed_at).to_std().is_ok_and(|age| age > limit);
    let mut stale: Vec<&StoredSource> = sources.iter().filter(is_stale).collect();
    stale.sort_by(|left, right| (left.indexed_at, &left.source).cmp(&(right.indexed_at, &right.source)));
    stale
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::store::records::{Origin, Volatility};

    fn source(name: &str, hours_ago: i64, now: DateTime<Utc>) -> StoredSource {
        StoredSource {
            source: name.to_owned(),
            source_type: String::new(),
            collection: String::new(),
            tags: Vec::new(),
            dated: None,
            volatility: Volatility::Normal,
            origin: Origin::Caller,
            content_hash: String::new(),
            parser: String::new(),
            chunk_count: 1,
            indexed_at: now - chrono::TimeDelta::hours(hours_ago),
        }
    }

    fn check_stale(says: &str, limit_h: u64, expected: &[&str]) {
        let now = Utc::now();
        let sources =
            [source("new", 0, now), source("old", 30, now), source("ancient", 300, now), source("clock", -5, now)];
        let stale = stale(&sources, Duration::from_hours(limit_h), now);
        assert_eq!(stale.iter().map(|source| source.source.as_str()).collect::<Vec<_>>(), expected, "{says}");
    }

    #[test]
    fn sources_grow_stale() {
        check_stale("past the limit, the oldest first", 24, &["ancient", "old"]);
        check_stale("a longer limit", 100, &["ancient"]);
        check_stale("long enough for all", 1_000, &[]);
    }

    fn check_chunks(says: &str, mean: f64, worst: Option<i64>, fits: bool) {
        let judged = chunks_fit(mean, worst).map_err(|trouble| trouble.reason);
        assert_eq!(judged, if fits { Ok(()) } else { Err("chunk_size_anomaly") }, "{says}");
    }

    #[test]
    fn chunks_have_a_length() {
        check_chunks("short ones", 60.0, Some(200), true);
        check_chunks("just at the limit", 500.0, Some(500), true);
        check_chunks("long ones everywhere", 501.0, None, false);
        check_chunks("one that is too long", 60.0, Some(501), false);
        check_chunks("nobody had the time to look", 60.0, None, true);
    }

    fn check_whole(says: &str, chunks: i64, reachable: i64, expected: Result<(), &str>) {
        let figures = Figures { chunks, reachable, ..Figures::default() };
        assert_eq!(whole(&figures, true).map_err(|trouble| trouble.reason), expected, "{says}");
    }

    #[test]
    fn an_index_is_whole() {
        check_whole("all of it can be reached", 5, 5, Ok(()));
        check_whole("a hole", 5, 4, Err("vector_store_unreachable"));
        check_whole("nothing", 0, 0, Err("index_empty_or_stale"));
        let words = Figures { chunks: 5, ..Figures::default() };
        assert_eq!(whole(&words, false), Ok(()), "words alone are found without vectors");
    }
}
