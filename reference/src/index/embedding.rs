//! Vectors of documents and questions: made once, kept by the digest of model and text, and shared
//! by all callers.
//!
//! What is made at once is faster than any look into a database, so it is not kept beside the index;
//! vectors of others are, since each costs money or time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use chrono::Utc;

use crate::embed::cache_key::cache_key;
use crate::embed::provider::Provider;
use crate::embed::{EmbedError, Embedder, Purpose};
use crate::index::later::{self, PENDING};
use crate::index::progress;
use crate::index::vectors::{EmbeddingError, Vectors, one};
use crate::store::contract::{Connection, Patience, Store};

/// Bytes of a text that are embedded: past this a chunk has no business being a chunk.
const TEXT_BYTES_MAX: usize = 32_768;

/// The embedder of an index, and what it has already made.
#[derive(Debug)]
pub struct KeptVectors {
    provider: Provider,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl KeptVectors {
    /// An embedding by a provider.
    pub fn new(provider: Provider) -> Self {
        Self { provider, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }
}

#[async_trait]
impl Vectors for KeptVectors {
    fn embedder(&self) -> &Provider {
        &self.provider
    }

    fn counts(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }

    async fn documents(&self, store: &dyn Store, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        if let Some(made) = self.provider.at_once(texts) {
            return Ok(made);
        }
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
        if !missing.is_empty() && later::goes_without() {
            store.set_fact(PENDING, Some("")).await?;
            return Ok(vec![Vec::new(); texts.len()]);
        }
        let mut missing: Vec<([u8; 32], &String)> = missing.into_iter().collect();
        missing.sort_unstable();
        for batch in missing.chunks(self.provider.batch_max().max(1)) {
            let asked: Vec<String> = batch.iter().map(|(_, text)| (*text).clone()).collect();
            let made = self.provider.embed(&asked, Purpose::Document).await?;
            let made: Vec<([u8; 32], Vec<f32>)> = batch.iter().map(|(key, _)| *key).zip(made).collect();
            // A run that is broken off has not paid for these in vain.
            store.connect(Patience::Writer).await?.keep_embedded(&made, Utc::now()).await?;
            known.extend(made);
            progress::at(keys.iter().filter(|key| known.contains_key(*key)).count(), keys.len());
        }
        let width = self.provider.model().dimensions;
        Ok(keys.iter().map(|key| known.get(key).cloned().unwrap_or_else(|| vec![0.0; width])).collect())
    }

    async fn searched_with(
        &self,
        connection: &mut dyn Connection,
        text: &str,
        purpose: Purpose,
    ) -> Result<Vec<f32>, EmbeddingError> {
        let text = [bounded(text).to_owned()];
        if let Some(made) = self.provider.at_once(&text) {
            return Ok(one(made));
        }
        let [text] = text;
        let key = cache_key(&self.provider, purpose, &text);
        if let Some(known) = connection.embedded(&[key]).await?.remove(&key) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(known);
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let vector = one(self.provider.embed(&[text], purpose).await?);
        connection.keep_embedded(&[(key, vector.clone())], Utc::now()).await?;
        Ok(vector)
    }

    async fn ask(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        Ok(one(self.provider.embed(&[text.to_owned()], Purpose::Query).await?))
    }

    fn question_model(&self, _text: &str) -> String {
        self.provider.model().name.to_string()
    }
}

fn bounded(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
