//! What goes into a store and what comes out of it.

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::chunk::Chunk;

/// The most chunks an index holds: in a file 1.5 GB of vectors of 384 numbers, and a scan of a tenth of a second. What is
/// beyond has not been measured in PostgreSQL either.
pub const CHUNKS_MAX: usize = 1_000_000;

/// What goes wrong with a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No connection was free in time.
    #[error("every connection of the pool is busy and none came free within {} ms", .waited.as_millis())]
    Saturated {
        /// How long the caller waited.
        waited: Duration,
    },
    /// The tables are of another version.
    #[error("{place} has tables of version {found}, this program has {wanted}: {mend}")]
    Schema {
        /// The file or database, without secrets.
        place: String,
        /// Its version.
        found: String,
        /// This program's.
        wanted: u32,
        /// What to do.
        mend: &'static str,
    },
    /// Somebody else writes.
    #[error("INDEX_LOCK_ACTIVE: {holder} is writing to this index: wait for it, or use --wait to queue behind it")]
    Locked {
        /// Who, as the lock says.
        holder: String,
    },
    /// The index is full.
    #[error("the index holds {0} chunks at most: remove sources first, or raise `chunks_max`")]
    Full(usize),
    /// The file cannot be reached.
    #[error("{path} cannot be used: {why}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the operating system says.
        why: std::io::Error,
    },
    /// The vectors are of another width than those the index was made with.
    #[error("the index holds vectors of {found} numbers, and these have {wanted}: index again with --full-rebuild")]
    Width {
        /// Numbers in a vector of the index.
        found: usize,
        /// Numbers in a vector that should go in.
        wanted: usize,
    },
    /// The vectors, which another server keeps, cannot be had.
    #[cfg(feature = "chroma")]
    #[error(transparent)]
    Vectors(#[from] crate::remote::trouble::ServerError),
    /// Whoever asks may not.
    #[error("{0}")]
    Denied(String),
    /// The database said no.
    #[error("the store fails: {0}")]
    Sql(#[from] sqlx::Error),
}

/// Where a chunk is from. Chunks that are worth the same come in this order, by source and then by place: keys are
/// given in the order of writing, which two histories of the same documents need not share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChunkPlace {
    /// The chunk's source.
    pub source: String,
    /// Its place within the source.
    pub ordinal: i64,
    /// Its key.
    pub id: i64,
}

/// A chunk the keyword retriever found.
#[derive(Debug, Clone, PartialEq)]
pub struct Worded {
    /// Which it is.
    pub place: ChunkPlace,
    /// Its BM25, the more the better; comparable within one index.
    pub score: f64,
}

/// Who holds a term.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holders {
    /// Chunks of the whole index that do.
    pub chunks: i64,
    /// Those that do of the chunks that were asked for.
    pub ids: Vec<i64>,
}

/// Who holds the terms of a question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holding {
    /// Chunks of the index that are searched.
    pub chunks: i64,
    /// Who holds each term, in their order.
    pub terms: Vec<Holders>,
}

/// A chunk the vector retriever found.
#[derive(Debug, Clone, PartialEq)]
pub struct Near {
    /// Which it is.
    pub place: ChunkPlace,
    /// Cosine of question and chunk, -1 to 1.
    pub cosine: f32,
}

/// A chunk as an answer needs it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoredChunk {
    /// Its key.
    pub id: i64,
    /// Where it is from.
    pub source: String,
    /// What kind of source that is.
    pub source_type: String,
    /// Its source's collection.
    pub collection: String,
    /// The day its source is of.
    pub dated: Option<NaiveDate>,
    /// How volatile its source is declared.
    pub volatility: Volatility,
    /// `passage`, `section` or `summary`.
    pub role: String,
    /// Its place within the source, from 0.
    pub ordinal: i64,
    /// The place of the section it is of, where the source was cut into parents and children.
    pub parent: Option<i64>,
    /// Headings above it.
    pub section: String,
    /// Its text.
    pub content: String,
    /// Where it begins, in characters.
    pub char_start: i64,
    /// Where it ends, exclusive.
    pub char_end: i64,
    /// Its length in tokens.
    pub tokens: i64,
}

impl StoredChunk {
    /// The chunk's name for callers: source and place. It outlives the key, which a re-index changes.
    pub fn name(&self) -> String {
        format!("{}#{}", self.source, self.ordinal)
    }
}

/// A source as `list_sources` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSource {
    /// Its name.
    pub source: String,
    /// Its kind.
    pub source_type: String,
    /// Its collection.
    pub collection: String,
    /// Its tags, sorted.
    pub tags: Vec<String>,
    /// The day its content is of.
    pub dated: Option<NaiveDate>,
    /// How volatile it is declared.
    pub volatility: Volatility,
    /// Who brought it.
    pub origin: Origin,
    /// SHA-256 of what was given, in hex.
    pub content_hash: String,
    /// The parser and settings it was cut with.
    pub parser: String,
    /// Chunks it was cut into.
    pub chunk_count: i64,
    /// When it was last indexed.
    pub indexed_at: DateTime<Utc>,
}

/// Who brought a source: the indexer takes away what it brought itself and no longer finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// A caller of `index_document`.
    #[default]
    Caller,
    /// The indexer, from a file.
    Indexer,
}

impl Origin {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Indexer => "indexer",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Caller, Self::Indexer].into_iter().find(|origin| origin.name() == name)
    }
}

/// How soon a source's content is expected to change: it decides how long answers from it are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Volatility {
    /// Hardly ever: answers are kept for a day.
    Stable,
    /// Now and then: eight hours.
    #[default]
    Normal,
    /// During the day: an hour.
    Changing,
    /// All the time: no answer is kept.
    Live,
}

impl Volatility {
    /// All of them, from the calmest.
    pub const ALL: [Self; 4] = [Self::Stable, Self::Normal, Self::Changing, Self::Live];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Normal => "normal",
            Self::Changing => "changing",
            Self::Live => "live",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|volatility| volatility.name() == name)
    }
}

/// A source about to be kept.
#[derive(Debug, Clone)]
pub struct NewSource<'a> {
    /// Its name.
    pub source: &'a str,
    /// Its kind.
    pub source_type: &'a str,
    /// Its collection.
    pub collection: &'a str,
    /// Its tags.
    pub tags: &'a [String],
    /// The day its content is of.
    pub dated: Option<NaiveDate>,
    /// How volatile it is declared.
    pub volatility: Volatility,
    /// Who brought it.
    pub origin: Origin,
    /// SHA-256 of what was given, in hex.
    pub content_hash: &'a str,
    /// The parser and settings it was cut with.
    pub parser: &'a str,
    /// Its text, secrets taken out.
    pub text: &'a str,
    /// Now.
    pub indexed_at: DateTime<Utc>,
    /// Its chunks, and the vectors of those that are searched.
    pub chunks: &'a [(Chunk, Option<Vec<f32>>)],
    // Laboratory: answers go within the store's own transaction, so only a record can ask it to leave them.
    /// Whether remembered answers that touch it go, as they must.
    pub drops_answers: bool,
}

/// What became of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// Its text was there already, cut by the same parser, and all else that is known of it is the same.
    Unchanged,
    /// It is new.
    Added,
    /// It stands in the place of an older text.
    Changed,
}

/// Counts over the whole index.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Figures {
    /// Chunks that are searched.
    pub chunks: i64,
    /// Sources.
    pub sources: i64,
    /// Mean tokens of a chunk that is searched.
    pub mean_tokens: f64,
    /// Answers remembered.
    pub answers: i64,
    /// Vectors remembered.
    pub embeddings: i64,
    /// Vectors that the vector retriever can reach; fewer than chunks is a hole.
    pub reachable: i64,
}

/// The pool's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolFigures {
    /// Connections open.
    pub size: u32,
    /// Of which idle.
    pub idle: usize,
    /// Callers waiting for one.
    pub waiting: usize,
    /// Connections it may open.
    pub max: u32,
}
