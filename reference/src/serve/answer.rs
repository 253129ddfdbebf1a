//! The one shape in which every tool answers, and what each puts into it.

use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use crate::search::found::Found;
use crate::search::question::{Findings, Question, RetrievalError};
use crate::serve::arguments::cursor;
use crate::store::records::{StoreError, StoredSource};

/// The envelope.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Envelope<T> {
    /// `ok` or `error`.
    pub status: &'static str,
    /// What was asked for; null after an error.
    pub data: Option<T>,
    /// A fixed code such as INDEX_MISSING; null where all went well.
    pub error_code: Option<String>,
    /// What went wrong and what to do next; null where all went well.
    pub error_message: Option<String>,
    /// Whether a part of the work could not be done.
    pub partial: bool,
    /// Which parts.
    pub degraded_scopes: Vec<String>,
    /// The name of this call in the server's log.
    pub operation_id: String,
}

impl<T> Envelope<T> {
    /// All went well.
    pub fn ok(data: T) -> Self {
        Self { status: "ok", data: Some(data), error_code: None, error_message: None, ..Self::error("", String::new()) }
    }

    /// A part of the work could not be done.
    pub fn degraded(mut self, scopes: &[&str]) -> Self {
        self.partial = !scopes.is_empty();
        self.degraded_scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        self
    }

    /// With the name of the call.
    pub fn of(mut self, operation: &str) -> Self {
        operation.clone_into(&mut self.operation_id);
        self
    }

    /// Something went wrong.
    pub fn error(code: &str, message: String) -> Self {
        Self {
            status: "error",
            data: None,
            error_code: Some(code.to_owned()),
            error_message: Some(message),
            partial: false,
            degraded_scopes: Vec::new(),
            operation_id: String::new(),
        }
    }

    /// Retrieval went wrong while it did something.
    pub fn failed(doing: &str, error: &RetrievalError) -> Self {
        let (code, next) = error.code();
        // What SQLite says names paths; the log has it.
        let why = match error {
            RetrievalError::Store(StoreError::Sql(_)) => "the store fails".to_owned(),
            other => other.to_string(),
        };
        Self::error(code, format!("{doing}: {why}. {next}"))
    }
}

/// What `search_documents` brings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SearchData {
    /// The question as it was understood.
    pub query: String,
    /// Hits, the best first.
    pub results: Vec<Hit>,
    /// How many there are.
    pub total_results: usize,
    /// Tokens of `context`, exact by the o200k vocabulary.
    pub tokens_used: usize,
    /// Whether a hit did not fit into `context`.
    pub truncated: bool,
    /// The hits as one text with [Source: …] before each, ready for a prompt.
    pub context: String,
    /// Whether the answer, or the question's vector, was remembered.
    pub cache: CacheNote,
    /// What was searched for, where it is more than the question.
    pub rewritten: Vec<String>,
    /// Hits left out because this conversation was shown them already.
    pub seen_before: usize,
    /// Arguments that this tool does not know, and that had no effect.
    pub ignored_arguments: Vec<String>,
}

/// A chunk that answers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Hit {
    /// The text, verbatim.
    pub content: String,
    /// The document it is from: cite this.
    pub source: String,
    /// Its place in the list, from 1.
    pub rank: usize,
    /// How near question and text are in meaning, 0 to 1.
    pub score: f64,
    /// What the order follows: the reranker's score, weighted, with the source's prior and recency.
    pub final_score: f64,
    /// Reciprocal ranks in both arms, summed; it compares only within one list.
    pub fused_score: f64,
    /// The same as `score`, before any prior.
    pub semantic_score: f64,
    /// What kind of source it is.
    pub source_type: String,
    /// Headings above the text.
    pub section: String,
    /// The chunk's name: source and place.
    pub chunk_id: String,
    /// Where the text begins in its source, in characters.
    pub char_start: i64,
    /// Where it ends, exclusive.
    pub char_end: i64,
    /// The collection of its source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub collection: String,
    /// The day its source is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The whole section it is of, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expanded: Option<String>,
}

/// What the memory of questions did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CacheNote {
    /// Whether the answer, or else the question's vector, came from memory.
    pub hit: bool,
    /// For how long it had been there.
    pub age_seconds: Option<u64>,
    /// `answer`, `vector` or `none`.
    pub kind: &'static str,
}

/// What `index_document` did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct IndexData {
    /// The document's name.
    pub source: String,
    /// Chunks it was cut into.
    pub chunk_count: usize,
    /// Whether this very text was there already.
    pub unchanged: bool,
    /// Tokens of its chunks.
    pub tokens: usize,
    /// Secrets that were taken out of it before anything else was done.
    pub redacted: usize,
    /// Arguments that this tool does not know, and that had no effect.
    pub ignored_arguments: Vec<String>,
}

/// What `list_sources` brings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SourcesData {
    /// The sources of this page, by name.
    pub sources: Vec<SourceNote>,
    /// How many there are on all pages.
    pub total: usize,
    /// Chunks of all of them.
    pub total_chunks: i64,
    /// When the newest of all was indexed, RFC 3339.
    pub last_indexed: Option<String>,
    /// What asks for the next page, where more is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Arguments that this tool does not know, and that had no effect.
    pub ignored_arguments: Vec<String>,
}

/// A source.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SourceNote {
    /// Its name.
    pub source: String,
    /// Its kind.
    pub source_type: String,
    /// Chunks it was cut into.
    pub chunk_count: i64,
    /// When it was indexed, RFC 3339.
    pub last_indexed: String,
    /// Its collection.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub collection: String,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The day its content is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// Findings as a caller gets them.
pub fn search(question: Question, findings: Findings, ignored_arguments: Vec<String>) -> SearchData {
    let Findings { hits, context, cache, seen_before, rewritten, degraded: _ } = findings;
    let kind = match (cache.age, cache.vector_age) {
        (Some(_), _) => "answer",
        (None, Some(_)) => "vector",
        (None, None) => "none",
    };
    SearchData {
        query: question.text,
        total_results: hits.len(),
        results: (1..).zip(hits).map(|(rank, found)| hit(rank, found)).collect(),
        tokens_used: context.tokens,
        truncated: context.truncated,
        context: context.text,
        cache: CacheNote {
            hit: kind != "none",
            age_seconds: cache.age.or(cache.vector_age).map(|age| age.as_secs()),
            kind,
        },
        rewritten,
        seen_before,
        ignored_arguments,
    }
}

/// The sources after a name, at most so many, as a caller gets them.
pub fn sources(mut stored: Vec<StoredSource>, (after, limit): (String, usize), ignored: Vec<String>) -> SourcesData {
    let stamp = |at: chrono::DateTime<chrono::Utc>| at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
    // Bytes decide on every store, so that a page goes on after a name whatever came and went meanwhile.
    stored.sort_unstable_by(|left, right| left.source.cmp(&right.source));
    let total_chunks = stored.iter().map(|source| source.chunk_count).sum();
    let last_indexed = stored.iter().map(|source| source.indexed_at).max().map(stamp);
    let note = |source: StoredSource| SourceNote {
        last_indexed: stamp(source.indexed_at),
        source: source.source,
        source_type: source.source_type,
        chunk_count: source.chunk_count,
        collection: source.collection,
        tags: source.tags,
        date: source.dated.map(|day| day.to_string()),
    };
    let (total, begin) = (stored.len(), stored.partition_point(|source| source.source <= after));
    let sources: Vec<SourceNote> = stored.into_iter().skip(begin).take(limit).map(note).collect();
    let last = sources.last().filter(|_| begin + sources.len() < total);
    let next_cursor = last.map(|last| cursor(&last.source));
    SourcesData { sources, total, total_chunks, last_indexed, next_cursor, ignored_arguments: ignored }
}

/// A hit as a caller gets it, at its rank.
pub fn hit(rank: usize, found: Found) -> Hit {
    let Found { chunk, score, fused_score, final_score, expanded } = found;
    // Six digits: what is beyond them is noise of the machine.
    let rounded = |score: f64| (score * 1_000_000.0).round() / 1_000_000.0;
    Hit {
        chunk_id: chunk.name(),
        content: chunk.content,
        source: chunk.source,
        rank,
        score,
        final_score: rounded(final_score),
        fused_score: rounded(fused_score),
        semantic_score: score,
        source_type: chunk.source_type,
        section: chunk.section,
        char_start: chunk.char_start,
        char_end: chunk.char_end,
        collection: chunk.collection,
        date: chunk.dated.map(|day| day.to_string()),
        expanded,
    }
}
