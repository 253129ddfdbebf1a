//! What the server knows: documents are cut, embedded and kept here.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};

use crate::rag::cut::markdown::{self, Chunk};
use crate::rag::embed::hashing::Embedder;
use crate::rag::fault::kinds::Fault;
use crate::rag::fault::switches::Faults;
use crate::rag::index::document::{Document, Indexed};
use crate::rag::store::contract::{Patience, Store};
use crate::rag::store::records::{NewSource, Replaced, StoreError};
use crate::rag::text::tokens;

/// Letters of a document: 50,000 tokens, a long manual's chapter.
pub const DOCUMENT_CHARS_MAX: usize = 200_000;

/// The fact that names the embedder an index was made with.
const EMBEDDER: &str = "embedder";

/// Why a library cannot be used, or a document not be put into it.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The index was made by another embedder.
    #[error("this index was made with {found}, this server embeds with {own}: index again with --full-rebuild")]
    Foreign {
        /// Its embedder.
        found: String,
        /// Ours.
        own: String,
    },
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A store, and how documents come into it.
#[derive(Debug)]
pub struct Library {
    store: Arc<dyn Store>,
    faults: Faults,
}

impl Library {
    /// A library over a store. An index remembers the embedder that made it: another one's vectors
    /// mean nothing in it.
    ///
    /// # Errors
    /// `Foreign` for an index of another embedder, or what the store says.
    pub async fn open(store: Arc<dyn Store>, faults: Faults) -> Result<Self, LibraryError> {
        let own = Embedder::INDEX.fingerprint();
        let found = store.connect(Patience::Writer).await?.fact(EMBEDDER).await?;
        match found {
            Some(found) if found != own => return Err(LibraryError::Foreign { found, own }),
            Some(_same) => {}
            None => store.set_fact(EMBEDDER, Some(&own)).await?,
        }
        Ok(Self { store, faults })
    }

    /// The store.
    pub fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// Cuts a document, embeds it and puts it in the place of what its source said before.
    ///
    /// # Errors
    /// `StoreError::Full`, `Saturated` or `Sql`; the old text stays then.
    pub async fn put(&self, document: &Document<'_>, now: DateTime<Utc>) -> Result<Indexed, StoreError> {
        let chunks = markdown::markdown(document.text);
        let mut indexed = Indexed {
            chunks: chunks.len(),
            tokens: chunks.iter().map(|chunk| tokens::count(&chunk.content)).sum(),
            redacted: 0,
            unchanged: false,
        };
        if self.faults.dose(Fault::IndexFrozen).is_some() {
            return Ok(indexed);
        }
        let embedded = embed(chunks);
        let content_hash = hex(&Sha256::digest(document.text.as_bytes()));
        let new = NewSource {
            source: document.source,
            source_type: document.source_type,
            collection: document.collection,
            tags: document.tags,
            dated: document.dated,
            volatility: document.volatility,
            content_hash: &content_hash,
            parser: "",
            text: document.text,
            indexed_at: now,
            chunks: &embedded,
            drops_answers: self.faults.dose(Fault::CacheStale).is_none(),
        };
        indexed.unchanged = self.store.replace(new).await? == Replaced::Unchanged;
        Ok(indexed)
    }
}

fn embed(chunks: Vec<Chunk>) -> Vec<(Chunk, Option<Vec<f32>>)> {
    let embed = |chunk: Chunk| {
        let vector = Embedder::INDEX.embed(&chunk.searched());
        (chunk, Some(vector))
    };
    chunks.into_iter().map(embed).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
