//! What the server knows: the store on disk and the vectors in memory, kept in step.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};

use crate::rag::cut::markdown;
use crate::rag::embed::hashing::HashingEmbedder;
use crate::rag::fault::kinds::Fault;
use crate::rag::fault::switches::Faults;
use crate::rag::store::sqlite::{self, NewSource, Store, StoreError};
use crate::rag::store::vectors::{Entry, Index};

/// Letters of a document: 50,000 tokens, a long manual's chapter.
pub const DOCUMENT_CHARS_MAX: usize = 200_000;

/// The store and its vectors.
#[derive(Debug)]
pub struct Library {
    /// Text, words and vectors on disk.
    pub store: Store,
    index: RwLock<Arc<Index>>,
    faults: Faults,
}

/// What became of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indexed {
    /// Chunks it was cut into.
    pub chunks: usize,
    /// Whether the very same text was there already.
    pub unchanged: bool,
}

impl Library {
    /// Opens the store and reads its vectors into memory.
    ///
    /// # Errors
    /// As `Store::open`.
    pub async fn open(path: &Path, faults: Faults) -> Result<Self, StoreError> {
        let store = Store::open(path).await?;
        let mut index = Index::default();
        for (id, source, ordinal, vector) in sqlite::vectors(&mut *store.acquire_patiently().await?).await? {
            index.push(Entry { id, source, ordinal }, &vector);
        }
        Ok(Self { store, index: RwLock::new(Arc::new(index)), faults })
    }

    /// The vectors as they are now.
    pub fn index(&self) -> Arc<Index> {
        Arc::clone(&self.index.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Cuts a document, embeds it and puts it in the place of what its source said before.
    ///
    /// # Errors
    /// `StoreError::Full`, `Saturated` or `Sql`; the old text stays then.
    pub async fn put(
        &self,
        source: &str,
        source_type: &str,
        text: &str,
        now: DateTime<Utc>,
    ) -> Result<Indexed, StoreError> {
        let chunks = markdown::markdown(text);
        let count = chunks.len();
        if self.faults.dose(Fault::IndexFrozen).is_some() {
            return Ok(Indexed { chunks: count, unchanged: false });
        }
        let embedded: Vec<_> = chunks
            .into_iter()
            .map(|chunk| {
                let vector = HashingEmbedder::INDEX.embed(&chunk.searched());
                (chunk, vector)
            })
            .collect();
        let content_hash: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let new = NewSource { source, source_type, content_hash: &content_hash, indexed_at: now, chunks: &embedded };
        let Some(ids) = self.store.replace(new).await? else {
            return Ok(Indexed { chunks: count, unchanged: true });
        };
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        let known = index.iter().any(|(entry, _)| entry.source == source);
        // Searches that have begun keep the old one; where nobody holds it, it grows in place.
        if known {
            *index = Arc::new(index.without(source));
        }
        let growing = Arc::make_mut(&mut index);
        for ((ordinal, id), (_, vector)) in (0_i64..).zip(ids).zip(&embedded) {
            growing.push(Entry { id, source: source.to_owned(), ordinal }, vector);
        }
        Ok(Indexed { chunks: count, unchanged: false })
    }
}
