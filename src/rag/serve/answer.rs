//! The one shape in which every tool answers, and what each puts into it.

use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use crate::rag::find::retrieval::{Findings, Found, Question, RetrievalError};
use crate::rag::store::sqlite::StoredSource;

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
}

impl<T> Envelope<T> {
    /// All went well.
    pub fn ok(data: T) -> Self {
        Self {
            status: "ok",
            data: Some(data),
            error_code: None,
            error_message: None,
            partial: false,
            degraded_scopes: Vec::new(),
        }
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
        }
    }

    /// Retrieval went wrong while it did something.
    pub fn failed(doing: &str, error: &RetrievalError) -> Self {
        let (code, next) = error.code();
        // What SQLite says names paths; the log has it.
        let why = match error {
            RetrievalError::Store(crate::rag::store::sqlite::StoreError::Sql(_)) => "the store fails".to_owned(),
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
    /// Tokens of `context`, estimated.
    pub tokens_used: usize,
    /// Whether a hit did not fit into `context`.
    pub truncated: bool,
    /// The hits as one text with [Source: …] before each, ready for a prompt.
    pub context: String,
    /// Whether the question's vector was remembered.
    pub cache: CacheNote,
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
    /// The fused score that the order follows; it compares only within one list.
    pub final_score: f64,
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
}

/// What the memory of questions did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CacheNote {
    /// Whether the vector came from memory.
    pub hit: bool,
    /// For how long it had been there.
    pub age_seconds: Option<u64>,
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
    /// Arguments that this tool does not know, and that had no effect.
    pub ignored_arguments: Vec<String>,
}

/// What `list_sources` brings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SourcesData {
    /// Sources, by name.
    pub sources: Vec<SourceNote>,
    /// How many there are.
    pub total_sources: usize,
    /// Chunks of all of them.
    pub total_chunks: i64,
    /// When the newest was indexed, RFC 3339.
    pub last_indexed: Option<String>,
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
}

/// Findings as a caller gets them.
pub fn search(question: Question, findings: Findings, ignored_arguments: Vec<String>) -> SearchData {
    let Findings { hits, context, remembered } = findings;
    SearchData {
        query: question.text,
        total_results: hits.len(),
        results: (1..).zip(hits).map(|(rank, found)| hit(rank, found)).collect(),
        tokens_used: context.tokens,
        truncated: context.truncated,
        context: context.text,
        cache: CacheNote { hit: remembered.is_some(), age_seconds: remembered.map(|age| age.as_secs()) },
        ignored_arguments,
    }
}

/// Sources as a caller gets them.
pub fn sources(stored: Vec<StoredSource>) -> SourcesData {
    let stamp = |at: chrono::DateTime<chrono::Utc>| at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
    SourcesData {
        total_sources: stored.len(),
        total_chunks: stored.iter().map(|source| source.chunk_count).sum(),
        last_indexed: stored.iter().map(|source| source.indexed_at).max().map(stamp),
        sources: stored
            .into_iter()
            .map(|source| SourceNote {
                last_indexed: stamp(source.indexed_at),
                source: source.source,
                source_type: source.source_type,
                chunk_count: source.chunk_count,
            })
            .collect(),
    }
}

fn hit(rank: usize, found: Found) -> Hit {
    let Found { chunk, score, final_score } = found;
    Hit {
        chunk_id: format!("{}#{}", chunk.source, chunk.ordinal),
        content: chunk.content,
        source: chunk.source,
        rank,
        score,
        final_score,
        semantic_score: score,
        source_type: chunk.source_type,
        section: chunk.section,
        char_start: chunk.char_start,
        char_end: chunk.char_end,
    }
}
