//! Vectors of documents and questions: made once, kept by the digest of model and text, and shared
//! by all callers.
//!
//! The built-in embedder is faster than any look into a database, so its vectors of documents are
//! not kept beside the index; those of others are, since each costs money or time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::Utc;

use crate::embed::cache_key::cache_key;
use crate::embed::hashing::HashingEmbedder;
use crate::embed::provider::Provider;
use crate::embed::{EmbedError, Embedder, Purpose};
use crate::lab::kinds::Fault;
use crate::lab::switches::Faults;
use crate::store::contract::{Connection, Patience, Store};
use crate::store::records::StoreError;
use crate::text::draw::{fnv, mix};

/// Bytes of a text that are embedded: past this a chunk has no business being a chunk.
const TEXT_BYTES_MAX: usize = 32_768;

/// The embedder of an index, and what it has already made.
#[derive(Debug)]
pub struct Embedding {
    provider: Provider,
    hits: AtomicU64,
    misses: AtomicU64,
    faults: Faults,
}

/// Why there is no vector.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddingError {
    /// The embedder does not make one.
    #[error(transparent)]
    Embedder(#[from] EmbedError),
    /// What is remembered cannot be read or kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A vector, and whether it had to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// The numbers.
    pub vector: Vec<f32>,
    /// Whether it was remembered.
    pub remembered: bool,
}

impl Embedding {
    /// An embedding by a provider.
    pub fn new(provider: Provider, faults: Faults) -> Self {
        Self { provider, hits: AtomicU64::new(0), misses: AtomicU64::new(0), faults }
    }

    /// The provider.
    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    /// Vectors found in the store, and vectors that had to be made.
    pub fn counts(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }

    /// The vectors of documents, in their order. A text without a word has no direction: zeros.
    ///
    /// # Errors
    /// `EmbeddingError`; nothing is made up.
    pub async fn documents(&self, store: &dyn Store, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        if let Some(built_in) = self.provider.built_in() {
            return Ok(texts.iter().map(|text| built_in.embed(text)).collect());
        }
        self.answers()?;
        let texts: Vec<String> = texts.iter().map(|text| bounded(text).to_owned()).collect();
        let keys: Vec<[u8; 32]> = texts.iter().map(|text| cache_key(&self.provider, Purpose::Document, text)).collect();
        let mut known = store.connect(Patience::Writer).await?.embedded(&keys).await?;
        let missing: HashMap<[u8; 32], &String> = keys
            .iter()
            .zip(&texts)
            .filter(|(key, text)| !known.contains_key(*key) && !text.trim().is_empty())
            .map(|(key, text)| (*key, text))
            .collect();
        self.hits.fetch_add((texts.len() - missing.len()) as u64, Ordering::Relaxed);
        self.misses.fetch_add(missing.len() as u64, Ordering::Relaxed);
        let mut missing: Vec<([u8; 32], &String)> = missing.into_iter().collect();
        missing.sort_unstable();
        for batch in missing.chunks(self.provider.batch_max().max(1)) {
            let asked: Vec<String> = batch.iter().map(|(_, text)| (*text).clone()).collect();
            let made = self.provider.embed(&asked, Purpose::Document).await?;
            let made: Vec<([u8; 32], Vec<f32>)> = batch.iter().map(|(key, _)| *key).zip(made).collect();
            // A run that is broken off has not paid for these in vain.
            store.connect(Patience::Writer).await?.keep_embedded(&made, Utc::now()).await?;
            known.extend(made);
        }
        let width = self.provider.model().dimensions;
        Ok(keys.iter().map(|key| known.get(key).cloned().unwrap_or_else(|| vec![0.0; width])).collect())
    }

    /// The vector of a question.
    ///
    /// # Errors
    /// `EmbeddingError`; nothing is made up.
    pub async fn question(&self, connection: &mut dyn Connection, text: &str) -> Result<Made, EmbeddingError> {
        self.searched_with(connection, text, Purpose::Query).await
    }

    /// The vector of a passage that is searched with in a question's place, made as a document's is.
    ///
    /// # Errors
    /// `EmbeddingError`; nothing is made up.
    pub async fn passage(&self, connection: &mut dyn Connection, text: &str) -> Result<Made, EmbeddingError> {
        self.searched_with(connection, text, Purpose::Document).await
    }

    async fn searched_with(
        &self,
        connection: &mut dyn Connection,
        text: &str,
        purpose: Purpose,
    ) -> Result<Made, EmbeddingError> {
        self.answers()?;
        let is_other = self.is_other(text);
        if let Some(built_in) = self.provider.built_in() {
            let model = if is_other { HashingEmbedder::OTHER } else { built_in };
            return Ok(Made { vector: model.embed(text), remembered: false });
        }
        let text = bounded(text).to_owned();
        let key = cache_key(&self.provider, purpose, &text);
        let known = connection.embedded(&[key]).await?.remove(&key);
        let remembered = known.is_some();
        let count = if remembered { &self.hits } else { &self.misses };
        count.fetch_add(1, Ordering::Relaxed);
        let vector = match known {
            Some(vector) => vector,
            None => {
                let vector = one(self.provider.embed(&[text], purpose).await?);
                connection.keep_embedded(&[(key, vector.clone())], Utc::now()).await?;
                vector
            }
        };
        Ok(Made { vector: if is_other { other(&vector) } else { vector }, remembered })
    }

    /// The name of the model that a question is embedded with now.
    pub fn question_model(&self, text: &str) -> String {
        let name = self.provider.model().name.to_string();
        if self.is_other(text) { format!("{name}, another") } else { name }
    }

    /// Has the embedder make a vector now: a remembered one would show nothing of the provider.
    ///
    /// # Errors
    /// `EmbedError`.
    pub async fn ask(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.answers()?;
        Ok(one(self.provider.embed(&[text.to_owned()], Purpose::Query).await?))
    }

    /// Whether questions meet a provider that is down.
    fn answers(&self) -> Result<(), EmbedError> {
        match self.faults.strikes(Fault::EmbedderDown) {
            Some(dose) if dose.mode == "error" => {
                Err(EmbedError::Unavailable { host: "(fault)".to_owned(), why: "switched off on request".to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Whether a question is embedded with another model than the index was. Which ones are is settled by
    /// their words: whoever remembers vectors or answers by the model's name asks more than once.
    fn is_other(&self, text: &str) -> bool {
        let falls_back = self.faults.dose(Fault::EmbedderDown).filter(|dose| dose.mode == "fallback");
        let others = [falls_back, self.faults.dose(Fault::WrongQueryModel)];
        others.into_iter().flatten().any(|dose| dose.strikes(fnv(text.bytes())))
    }
}

fn one(vectors: Vec<Vec<f32>>) -> Vec<f32> {
    vectors.into_iter().next().unwrap_or_default()
}

fn bounded(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// What another model of the same width would say: the same length, in directions that mean nothing
/// here. Numbers change places and signs by a fixed draw.
fn other(vector: &[f32]) -> Vec<f32> {
    let mut places: Vec<usize> = (0..vector.len()).collect();
    places.sort_by_key(|place| mix(0x0DD5_EED5 ^ *place as u64));
    let sign = |place: usize| if mix(place as u64) >> 63 == 0 { 1.0 } else { -1.0 };
    places.into_iter().enumerate().map(|(to, from)| vector[from] * sign(to)).collect()
}
