//! The built-in canary of `/health`: a stored chunk, asked for by its own text, must come first.
//!
//! It takes the whole way of a search, and only memory is passed by. A wrong embedding model hides
//! behind the keyword arm here as everywhere, but its cosine does not: a text is near to itself.

use std::time::{Duration, Instant};

use crate::search::question::{Findings, Question, RetrievalError};
use crate::serve::report::{CanaryNote, HealthReport, Trouble, millis};
use crate::serve::state::ServerState;
use crate::store::contract::{Connection, Patience};
use crate::store::filter::Filter;
use crate::store::records::{StoreError, StoredChunk};

/// How long the search may take: whoever asks for health waits some seconds, rarely more.
const WITHIN: Duration = Duration::from_secs(5);
/// Hits asked for: what is second or third is there, but not first.
const TOP_K: usize = 3;
/// The cosine below which a text is not near to itself. Models that embed questions in another way
/// than passages still give .8; another model of the same width gives about 0.
const NEAR_ITSELF: f32 = 0.5;
/// Sources a chunk is looked for in, the largest first: in them it has rivals.
const SOURCES_LOOKED_AT: usize = 4;
/// Chunks of each that are looked at.
const CHUNKS_LOOKED_AT: i64 = 8;
/// Tokens from which a text is its own best answer; shorter ones, such as a heading's single line, are shared.
const TOKENS_MIN: i64 = 20;

/// Asks for a stored chunk.
///
/// # Errors
/// `index_empty_or_stale` where none is stored, `empty_results`, `wrong_results`, or what fails.
pub async fn look(state: &ServerState, report: &mut HealthReport) -> Result<(), Trouble> {
    let chosen = {
        let store = state.retrieval.library.store();
        let mut held = store.connect(Patience::Search).await.map_err(|error| Trouble::of_store(&error))?;
        choose(held.as_mut()).await.map_err(|error| Trouble::of_store(&error))?
    };
    let Some(chunk) = chosen else {
        return Err(Trouble::of("index_empty_or_stale", "nothing is indexed that could be found"));
    };
    let began = Instant::now();
    let question = question(&chunk);
    let searched = tokio::time::timeout(WITHIN, state.retrieval.search(&question)).await;
    let took_ms = millis(began.elapsed());
    report.canary = Some(CanaryNote { rank: None, score: None, took_ms });
    let judged = match searched {
        Err(_late) => Err(Trouble::of(
            "unhealthy",
            format!("a search for a stored chunk took longer than {} s", WITHIN.as_secs()),
        )),
        Ok(Err(error)) => Err(search_trouble(&error)),
        Ok(Ok(found)) => {
            let place = place(&found, &chunk);
            let score = place.map(|at| found.hits[at].score);
            report.canary = Some(CanaryNote { rank: place.map(|at| at + 1), score, took_ms });
            let near = nearness(state, &question, &chunk).await.map_err(|error| search_trouble(&error))?;
            judge(&found, place, near)
        }
    };
    if let Err(trouble) = &judged {
        tracing::warn!(chunk = chunk.name(), reason = trouble.reason, "health's own canary failed");
    }
    judged
}

/// What a search's error means for a server's health.
fn search_trouble(error: &RetrievalError) -> Trouble {
    match error {
        RetrievalError::Store(error) => Trouble::of_store(error),
        RetrievalError::Embedder(_) => Trouble::of("external_api_failure", "the embedding provider does not answer"),
        RetrievalError::IndexMissing => Trouble::of("index_empty_or_stale", error.to_string()),
        RetrievalError::SourceUnknown(_)
        | RetrievalError::Foreign(_)
        | RetrievalError::Partial(_)
        | RetrievalError::Failed => Trouble::of("unhealthy", error.to_string()),
    }
}

/// The chunk's place among the hits. Another chunk with the very same text is as good.
fn place(found: &Findings, chunk: &StoredChunk) -> Option<usize> {
    found.hits.iter().position(|hit| hit.chunk.id == chunk.id || hit.chunk.content == chunk.content)
}

/// How near a chunk's own text is to it; 1 where there are no vectors.
async fn nearness(state: &ServerState, question: &Question, chunk: &StoredChunk) -> Result<f32, RetrievalError> {
    let mut held = state.retrieval.library.store().connect(Patience::Search).await?;
    let (vector, _) = state.retrieval.embedding(false).question(held.as_mut(), &question.text).await?;
    if vector.is_empty() {
        return Ok(1.0);
    }
    Ok(held.cosines(&vector, &[chunk.id]).await?.get(&chunk.id).copied().unwrap_or(0.0))
}

fn judge(found: &Findings, place: Option<usize>, near: f32) -> Result<(), Trouble> {
    let says = match place {
        _ if found.hits.is_empty() => {
            return Err(Trouble::of("empty_results", "a stored chunk's own text finds nothing"));
        }
        None => "a stored chunk's own text does not find it",
        Some(0) if near < NEAR_ITSELF => "a text is not near to itself: questions and index are embedded differently",
        Some(0) => return Ok(()),
        Some(_later) => "a stored chunk's own text does not find it first",
    };
    Err(Trouble::of("wrong_results", says))
}

/// The chunk's own text as a question within its source: there, priors of sources change no order.
fn question(chunk: &StoredChunk) -> Question {
    Question {
        filter: Filter { source: chunk.source.clone(), ..Filter::default() },
        passes_memory: true,
        ..Question::new(&format!("{}\n{}", chunk.section, chunk.content), TOP_K)
    }
}

/// A passage of one of the largest sources that is there to be found, the same one each time;
/// the longest where all are short.
async fn choose(connection: &mut dyn Connection) -> Result<Option<StoredChunk>, StoreError> {
    let mut sources = connection.sources().await?;
    sources.sort_by(|left, right| right.chunk_count.cmp(&left.chunk_count).then(left.source.cmp(&right.source)));
    let mut longest: Option<StoredChunk> = None;
    for source in sources.iter().filter(|source| source.chunk_count > 0).take(SOURCES_LOOKED_AT) {
        for ordinal in 0..CHUNKS_LOOKED_AT {
            let Some(chunk) = connection.chunk_at(&source.source, ordinal).await? else { break };
            let is_there = chunk.role == "passage" && !chunk.content.trim().is_empty();
            if !is_there {
                continue;
            }
            if chunk.tokens >= TOKENS_MIN {
                return Ok(Some(chunk));
            }
            if longest.as_ref().is_none_or(|longest| chunk.tokens > longest.tokens) {
                longest = Some(chunk);
            }
        }
    }
    Ok(longest)
}
