//! A question, what it finds, and why it may find nothing.

use std::time::Duration;

use crate::index::library::LibraryError;
use crate::index::vectors::EmbeddingError;
use crate::search::context::{BUDGET_TOKENS, Context};
use crate::search::found::Found;
use crate::store::filter::Filter;
use crate::store::records::StoreError;

/// A question, its limits already checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// As it was asked.
    pub text: String,
    /// Hits wanted, 1 to 20.
    pub top_k: usize,
    /// Hits whose score is below are left out.
    pub min_score: f64,
    /// Which sources may answer.
    pub filter: Filter,
    /// The conversation it is asked in, whose earlier hits need not come again; empty is none.
    pub conversation: String,
    /// Whether a hit brings the section it is of.
    pub expand: bool,
    /// Tokens the context may take.
    pub budget_tokens: usize,
    /// Whether it is asked afresh and in its own words alone: what is remembered of questions is neither looked up,
    /// kept nor counted, and no writer is asked.
    pub passes_memory: bool,
    /// Whether it is answered where a part of the search fails, such as the embedder; the findings say which.
    pub may_be_partial: bool,
}

impl Question {
    /// A question of everything there is, in no conversation, answered as far as it can be.
    pub fn new(text: &str, top_k: usize) -> Self {
        Self {
            text: text.to_owned(),
            top_k,
            min_score: 0.0,
            filter: Filter::default(),
            conversation: String::new(),
            expand: false,
            budget_tokens: BUDGET_TOKENS,
            passes_memory: false,
            may_be_partial: true,
        }
    }
}

/// What a search brought.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Findings {
    /// Hits, the best first.
    pub hits: Vec<Found>,
    /// The text for a prompt.
    pub context: Context,
    /// How the answer was come by.
    pub cache: CacheUse,
    /// Hits left out because the conversation was shown them already.
    pub seen_before: usize,
    /// The questions that were searched for, where they are not just the one that was asked.
    /// What a language model added shows where it was asked; a remembered answer keeps no record of it.
    pub rewritten: Vec<String>,
    /// Parts of the work that could not be done.
    pub degraded: Vec<&'static str>,
}

/// How an answer was come by.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CacheUse {
    /// How long the answer had been remembered; `None` where it was not.
    pub age: Option<Duration>,
    /// How long the question's vector had been remembered; `None` where it was made for this.
    pub vector_age: Option<Duration>,
}

/// Why a search failed; codes are part of the contract.
#[derive(Debug, thiserror::Error)]
pub enum RetrievalError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The embedder does not answer.
    #[error("{0}")]
    Embedder(String),
    /// The index was made by another embedder.
    #[error("{0}")]
    Foreign(String),
    /// Nothing is indexed.
    #[error("nothing is indexed yet")]
    IndexMissing,
    /// No source has the name, or is of the collection, that the question is narrowed by.
    #[error("{0}")]
    SourceUnknown(String),
    /// A part of the search failed, and the question wants a whole answer.
    #[error("{0} failed, and no partial answer is wanted")]
    Partial(String),
    /// Retrieval itself.
    #[error("retrieval failed")]
    Failed,
}

impl From<EmbeddingError> for RetrievalError {
    fn from(error: EmbeddingError) -> Self {
        LibraryError::from(error).into()
    }
}

impl From<LibraryError> for RetrievalError {
    fn from(error: LibraryError) -> Self {
        match error {
            LibraryError::Store(error) => Self::Store(error),
            LibraryError::Embedder(error) => Self::Embedder(error.to_string()),
            LibraryError::Foreign(why) => Self::Foreign(why),
        }
    }
}

impl RetrievalError {
    /// The code of the envelope, and what to do next.
    pub fn code(&self) -> (&'static str, &'static str) {
        match self {
            Self::Store(StoreError::Saturated { .. }) => ("POOL_SATURATED", "Ask again in a few seconds."),
            Self::Store(StoreError::Full(_)) => ("BUDGET_LIMIT_EXCEEDED", "Remove sources, then index again."),
            Self::Store(StoreError::Schema { .. }) => ("INDEX_SCHEMA_MISMATCH", "Run `serin reference migrate`."),
            Self::Store(StoreError::Width { .. }) => ("INDEX_SCHEMA_MISMATCH", "Index again with --full-rebuild."),
            Self::Store(StoreError::Locked { .. }) => ("INDEX_LOCK_ACTIVE", "Index again when the other has finished."),
            Self::Store(StoreError::Denied(_)) => ("INVALID_ARGUMENT", "It is not changed."),
            Self::Store(_) => ("COLLECTION_UNAVAILABLE", "Ask again; tell the operator if it stays."),
            Self::Embedder(_) => ("EMBEDDING_UNAVAILABLE", "Ask again in a minute."),
            Self::Foreign(_) => ("INDEX_SCHEMA_MISMATCH", "Index again with --full-rebuild."),
            Self::IndexMissing => ("INDEX_MISSING", "Add documents with index_document first."),
            Self::SourceUnknown(_) => ("SOURCE_UNKNOWN", "Ask for one of them, or for all; list_sources has them."),
            Self::Partial(_) => ("PARTIAL_RESULT", "Ask again, or allow partial answers."),
            Self::Failed => ("RETRIEVAL_FAILED", "Ask again; tell the operator if it stays."),
        }
    }
}
