//! What the server knows: documents are cut, embedded and kept here.

use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};

use crate::rag::cut::markdown::{self, Chunk};
use crate::rag::embed::hashing::Embedder;
use crate::rag::fault::kinds::Fault;
use crate::rag::fault::switches::Faults;
use crate::rag::index::document::{Document, Indexed};
use crate::rag::index::lock::{Holder, WriterLock};
use crate::rag::store::contract::{Patience, Store};
use crate::rag::store::records::{NewSource, Replaced, StoreError, StoredSource};
use crate::rag::text::tokens;

/// Letters of a document: 50,000 tokens, a long manual's chapter.
pub const DOCUMENT_CHARS_MAX: usize = 200_000;
/// The fact that names the embedder an index was made with.
const EMBEDDER: &str = "embedder";

/// A store, and how documents come into it.
#[derive(Debug)]
pub struct Library {
    store: Arc<dyn Store>,
    lock: Option<PathBuf>,
    writing: tokio::sync::Mutex<()>,
    faults: Faults,
}

/// The right to write, held until it is dropped.
#[derive(Debug)]
pub struct Writing<'a> {
    _within: tokio::sync::MutexGuard<'a, ()>,
    lock: Option<WriterLock>,
}

impl Writing<'_> {
    /// Who had the lock and died with it.
    pub fn recovered(&self) -> Option<&Holder> {
        self.lock.as_ref().and_then(|lock| lock.recovered.as_ref())
    }
}

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

impl Library {
    /// A library over a store. An index remembers the embedder that made it: another one's vectors
    /// mean nothing in it. `lock` is the file that writers lock; `None` for a store nobody else can reach.
    ///
    /// # Errors
    /// `Foreign` for an index of another embedder, or what the store says.
    pub async fn open(store: Arc<dyn Store>, lock: Option<PathBuf>, faults: Faults) -> Result<Self, LibraryError> {
        let own = Embedder::INDEX.fingerprint();
        let found = store.connect(Patience::Writer).await?.fact(EMBEDDER).await?;
        match found {
            Some(found) if found != own => return Err(LibraryError::Foreign { found, own }),
            Some(_same) => {}
            None => store.set_fact(EMBEDDER, Some(&own)).await?,
        }
        Ok(Self { store, lock, writing: tokio::sync::Mutex::new(()), faults })
    }

    /// The store.
    pub fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// Takes the right to write: within this process callers queue, and of processes one has it.
    ///
    /// # Errors
    /// `Locked` with the process that has it, unless the caller `waits`.
    pub async fn write(&self, doing: &str, waits: bool) -> Result<Writing<'_>, StoreError> {
        let within = self.writing.lock().await;
        let take = move |path: PathBuf, doing: String| WriterLock::take(&path, &doing, waits, Utc::now());
        let lock = match self.lock.clone() {
            None => None,
            Some(path) if waits => {
                let doing = doing.to_owned();
                let waiting = tokio::task::spawn_blocking(move || take(path, doing));
                Some(waiting.await.map_err(|error| StoreError::Sql(sqlx::Error::Protocol(error.to_string())))??)
            }
            Some(path) => Some(take(path, doing.to_owned())?),
        };
        Ok(Writing { _within: within, lock })
    }

    /// Cuts a document, embeds it and puts it in the place of what its source said before.
    ///
    /// # Errors
    /// `StoreError::Full`, `Saturated` or `Sql`; the old text stays then.
    pub async fn put(&self, document: &Document<'_>, now: DateTime<Utc>) -> Result<Indexed, LibraryError> {
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
        let content_hash = hash(document.text);
        let parser = self.parser();
        let new = NewSource {
            source: document.source,
            source_type: document.source_type,
            collection: document.collection,
            tags: document.tags,
            dated: document.dated,
            volatility: document.volatility,
            origin: document.origin,
            content_hash: &content_hash,
            parser: &parser,
            text: document.text,
            indexed_at: now,
            chunks: &embedded,
            drops_answers: self.faults.dose(Fault::CacheStale).is_none(),
        };
        indexed.unchanged = self.store.replace(new).await? == Replaced::Unchanged;
        Ok(indexed)
    }

    /// Whether a source is this very document, cut as it would be cut now.
    pub fn has(&self, known: &StoredSource, document: &Document<'_>) -> bool {
        let facts = (&known.source_type, &known.collection, &known.tags, known.dated, known.volatility);
        let wanted = (document.source_type, document.collection, document.tags, document.dated, document.volatility);
        (facts.0.as_str(), facts.1.as_str(), facts.2.as_slice(), facts.3, facts.4) == wanted
            && known.parser == self.parser()
            && known.content_hash == hash(document.text)
    }

    /// Takes everything away, so that another embedder or another store layout can begin anew.
    ///
    /// # Errors
    /// The store's.
    pub async fn rebuild(&self) -> Result<(), LibraryError> {
        self.store.wipe().await?;
        self.store.set_fact(EMBEDDER, Some(&Embedder::INDEX.fingerprint())).await?;
        Ok(())
    }

    /// The parser and what it is told: a source that was cut by another is cut again.
    fn parser(&self) -> String {
        "markdown/1".to_owned()
    }
}

fn embed(chunks: Vec<Chunk>) -> Vec<(Chunk, Option<Vec<f32>>)> {
    let embed = |chunk: Chunk| {
        let vector = Embedder::INDEX.embed(&chunk.searched());
        (chunk, Some(vector))
    };
    chunks.into_iter().map(embed).collect()
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
