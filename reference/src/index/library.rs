//! What the server knows: documents are cut, embedded and kept here.

#[cfg(feature = "project")]
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};

use crate::chunk::{Chunk, Method, PARSER_VERSION, Role};
use crate::embed::EmbedError;
#[cfg(not(feature = "remote"))]
use crate::embed::Embedder as _;
use crate::embed::provider::Provider;
#[cfg(feature = "remote")]
use crate::embed::{Fingerprint, fingerprint};
use crate::index::document::{Cutting, Document, Indexed};
#[cfg(feature = "remote")]
use crate::index::embedding::KeptVectors;
#[cfg(feature = "project")]
use crate::index::lock::{Holder, WriterLock};
use crate::index::preparing::{Preparing, Usual};
#[cfg(not(feature = "remote"))]
use crate::index::vectors::BuiltIn as KeptVectors;
use crate::index::vectors::{EmbeddingError, Vectors};
use crate::store::contract::{Patience, Store};
use crate::store::records::{NewSource, Replaced, StoreError};

/// Letters of a document: 50,000 tokens, a long manual's chapter.
pub const DOCUMENT_CHARS_MAX: usize = 200_000;
/// The fact that names the embedder an index was made with.
const EMBEDDER: &str = "embedder";

/// What a library is made of. Whoever wants something between the library and one of these puts it there.
#[derive(Debug)]
pub struct Parts {
    /// Where chunks, words and vectors are kept.
    pub store: Arc<dyn Store>,
    /// What makes vectors.
    pub vectors: Arc<dyn Vectors>,
    /// What is done to documents before.
    pub preparing: Arc<dyn Preparing>,
    /// How they are cut where nobody says.
    pub cutting: Cutting,
    /// The file that writers lock; `None` for a store nobody else can reach.
    #[cfg(feature = "project")]
    pub lock: Option<PathBuf>,
}

impl Parts {
    /// A store and an embedder, with nothing in between.
    pub fn new(store: Arc<dyn Store>, provider: Provider) -> Self {
        let (vectors, preparing) = (Arc::new(KeptVectors::new(provider)), Arc::new(Usual));
        Self {
            store,
            vectors,
            preparing,
            cutting: Cutting::default(),
            #[cfg(feature = "project")]
            lock: None,
        }
    }
}

/// A store, and how documents come into it.
#[derive(Debug)]
pub struct Library {
    pub(super) parts: Parts,
    writing: tokio::sync::Mutex<()>,
}

/// The right to write, held until it is dropped.
#[derive(Debug)]
pub struct WriteGuard<'a> {
    _within: tokio::sync::MutexGuard<'a, ()>,
    #[cfg(feature = "project")]
    lock: Option<WriterLock>,
}

#[cfg(feature = "project")]
impl WriteGuard<'_> {
    /// Who had the lock and died with it.
    pub fn recovered(&self) -> Option<&Holder> {
        self.lock.as_ref().and_then(|lock| lock.recovered.as_ref())
    }
}

/// Why a library cannot be used, or a document not be put into it.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The index was made by another embedder.
    #[error("{0}")]
    Foreign(String),
    /// The embedder does not embed.
    #[error(transparent)]
    Embedder(#[from] EmbedError),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<EmbeddingError> for LibraryError {
    fn from(error: EmbeddingError) -> Self {
        match error {
            EmbeddingError::Embedder(error) => Self::Embedder(error),
            EmbeddingError::Store(error) => Self::Store(error),
        }
    }
}

impl Library {
    /// A library. An index remembers the embedder that made it: another one's vectors mean nothing in it.
    ///
    /// # Errors
    /// `Foreign` for an index of another embedder, or what the store says.
    pub async fn open(parts: Parts) -> Result<Self, LibraryError> {
        let known = parts.store.connect(Patience::Writer).await?.fact(EMBEDDER).await?;
        let library = Self { parts, writing: tokio::sync::Mutex::new(()) };
        match known {
            Some(known) => library.recognise(&known).await?,
            None => library.sign().await?,
        }
        Ok(library)
    }

    /// Looks whether the index's embedder is ours.
    #[cfg(feature = "remote")]
    async fn recognise(&self, known: &str) -> Result<(), LibraryError> {
        #[cfg(feature = "builtin")]
        if self.parts.vectors.embedder().built_in().is_some_and(|built_in| built_in.fingerprint() == known) {
            // The first version of the index kept a digest; this one keeps vectors.
            return self.sign().await;
        }
        let Ok(known) = serde_json::from_str::<Fingerprint>(known) else { return Err(foreign(known)) };
        known.fits(&fingerprint(self.parts.vectors.embedder()).await?).map_err(LibraryError::Foreign)
    }

    #[cfg(not(feature = "remote"))]
    async fn recognise(&self, known: &str) -> Result<(), LibraryError> {
        if known == self.signature().await? { Ok(()) } else { Err(foreign(known)) }
    }

    /// Writes down whose vectors the index holds.
    pub(super) async fn sign(&self) -> Result<(), LibraryError> {
        Ok(self.parts.store.set_fact(EMBEDDER, Some(&self.signature().await?)).await?)
    }

    #[cfg_attr(not(feature = "remote"), expect(clippy::unused_async, reason = "no embedder is asked"))]
    async fn signature(&self) -> Result<String, LibraryError> {
        let embedder = self.parts.vectors.embedder();
        #[cfg(feature = "remote")]
        let own = fingerprint(embedder).await?;
        #[cfg(not(feature = "remote"))]
        let own = serde_json::json!({ "model": embedder.model(), "probes": [] });
        Ok(serde_json::to_string(&own).unwrap_or_default())
    }

    /// What makes its vectors.
    pub fn vectors(&self) -> &dyn Vectors {
        self.parts.vectors.as_ref()
    }

    /// The store.
    pub fn store(&self) -> &dyn Store {
        self.parts.store.as_ref()
    }

    /// Takes the right to write: within this process callers queue, and of processes one has it.
    ///
    /// # Errors
    /// `Locked` with the process that has it, unless the caller `waits`.
    #[cfg_attr(not(feature = "project"), expect(unused_variables, reason = "no other process writes"))]
    pub async fn write(&self, doing: &str, waits: bool) -> Result<WriteGuard<'_>, StoreError> {
        let within = self.writing.lock().await;
        Ok(WriteGuard {
            _within: within,
            #[cfg(feature = "project")]
            lock: WriterLock::taken(self.parts.lock.clone(), doing, waits).await?,
        })
    }

    /// Cuts a document, embeds it and puts it in the place of what its source said before.
    ///
    /// # Errors
    /// `StoreError::Full`, `Saturated` or `Sql`; the old text stays then.
    pub async fn put(&self, document: &Document<'_>, now: DateTime<Utc>) -> Result<Indexed, LibraryError> {
        let (text, redacted) = self.parts.preparing.cleaned(document.text);
        let indexed = self.keep(&Document { text: &text, ..*document }, &self.content_hash(document.text), now).await?;
        Ok(Indexed { redacted, ..indexed })
    }

    pub(super) async fn keep(
        &self,
        document: &Document<'_>,
        content_hash: &str,
        now: DateTime<Utc>,
    ) -> Result<Indexed, LibraryError> {
        let Cutting { method, settings } = document.cutting.unwrap_or(self.parts.cutting);
        let method = method.unwrap_or_else(|| Method::of(document.source));
        let chunks = self.parts.preparing.cut(document.source, method, document.text, &settings);
        let mut indexed = Indexed {
            chunks: chunks.iter().filter(|chunk| chunk.role != Role::Section).count(),
            tokens: chunks.iter().map(|chunk| chunk.tokens).sum(),
            redacted: 0,
            unchanged: false,
        };
        let embedded = self.embed(chunks).await?;
        let parser = self.parser(document);
        let new = NewSource {
            source: document.source,
            source_type: document.source_type,
            collection: document.collection,
            tags: document.tags,
            dated: document.dated,
            volatility: document.volatility,
            origin: document.origin,
            content_hash,
            parser: &parser,
            text: document.text,
            indexed_at: now,
            chunks: &embedded,
            drops_answers: true,
        };
        indexed.unchanged = self.parts.store.replace(new).await? == Replaced::Unchanged;
        Ok(indexed)
    }

    /// The vectors of chunks that are searched.
    async fn embed(&self, chunks: Vec<Chunk>) -> Result<Vec<(Chunk, Option<Vec<f32>>)>, LibraryError> {
        let searched = chunks.iter().filter(|chunk| chunk.role != Role::Section);
        let texts: Vec<String> = searched.map(Chunk::searched).collect();
        let mut vectors = self.parts.vectors.documents(self.store(), &texts).await?.into_iter();
        let with_vector = |chunk: Chunk| {
            let vector = if chunk.role == Role::Section { None } else { vectors.next() };
            (chunk, vector)
        };
        Ok(chunks.into_iter().map(with_vector).collect())
    }

    /// What a text is recognised by.
    pub(super) fn content_hash(&self, text: &str) -> String {
        format!("{}{}", self.parts.preparing.cleaned_how(), hash(text))
    }

    /// The parser and what it is told: a source that was cut by another is cut again.
    pub(super) fn parser(&self, document: &Document<'_>) -> String {
        let cutting = document.cutting.unwrap_or(self.parts.cutting);
        let method = cutting.method.unwrap_or_else(|| Method::of(document.source));
        format!(
            "{PARSER_VERSION}/{}/{}",
            Cutting { method: Some(method), ..cutting }.name(),
            self.parts.preparing.cut_how()
        )
    }
}

fn foreign(known: &str) -> LibraryError {
    LibraryError::Foreign(format!(
        "this index was made with {known}, which is not known here: index again with --full-rebuild"
    ))
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
