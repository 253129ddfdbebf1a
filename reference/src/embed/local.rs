//! Vectors from a BERT-class model in a folder, on this machine.
//!
//! One pass at a time: a pass uses every core, and its memory is bounded only if there is one. A caller
//! that gives up wastes at most the pass that is under way.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::bert::folder::FolderError;
use crate::bert::sentence::{BATCH_MAX, SentenceEncoder};
use crate::embed::inputs::{Prefixes, inputs};
use crate::embed::{EmbedError, Embedder, Model, Purpose};

/// Embeds with weights from a folder.
#[derive(Debug)]
pub struct LocalEmbedder {
    model: Model,
    prefixes: Prefixes,
    encoder: Arc<SentenceEncoder>,
    pass: Arc<Mutex<()>>,
}

impl LocalEmbedder {
    /// Reads a folder, which takes a second for a model of 100 MB; bge models want a `query` prefix, MiniLM none.
    ///
    /// # Errors
    /// Which file cannot be used, why, and the mend.
    pub fn open(folder: &Path, prefixes: Prefixes) -> Result<Self, FolderError> {
        let encoder = SentenceEncoder::open(folder)?;
        let model = Model {
            name: encoder.name().to_owned().into(),
            revision: encoder.revision().into(),
            dimensions: encoder.dimensions(),
            normalised: true,
        };
        Ok(Self { model, prefixes, encoder: Arc::new(encoder), pass: Arc::default() })
    }
}

#[async_trait::async_trait]
impl Embedder for LocalEmbedder {
    fn model(&self) -> &Model {
        &self.model
    }

    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let inputs = inputs(self.prefix(purpose), texts)?;
        let mut vectors = Vec::with_capacity(inputs.len());
        for batch in inputs.chunks(BATCH_MAX) {
            let pass = Arc::clone(&self.pass).lock_owned().await;
            let (encoder, batch) = (Arc::clone(&self.encoder), batch.to_vec());
            let encoding = tokio::task::spawn_blocking(move || {
                let _until_done = pass;
                encoder.encode(&batch)
            });
            let ended = encoding.await.map_err(|error| local(&error))?.map_err(|error| local(&error))?;
            if ended.iter().flatten().any(|number| !number.is_finite()) {
                return Err(EmbedError::Local { why: "a vector has a number that is none".to_owned() });
            }
            vectors.extend(ended);
        }
        Ok(vectors)
    }

    fn batch_max(&self) -> usize {
        BATCH_MAX
    }

    fn prefix(&self, purpose: Purpose) -> &str {
        self.prefixes.of(purpose)
    }
}

fn local(error: &dyn std::error::Error) -> EmbedError {
    EmbedError::Local { why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bert::tiny::{numbers, write};
    use crate::embed::fingerprint;

    fn open(seed: u64, query: &str) -> LocalEmbedder {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &numbers(seed), str::to_owned);
        let prefixes = Prefixes { document: String::new(), query: query.to_owned() };
        LocalEmbedder::open(folder.path(), prefixes).unwrap()
    }

    async fn one(embedder: &LocalEmbedder, text: &str, purpose: Purpose) -> Vec<f32> {
        embedder.embed(&[text.to_owned()], purpose).await.unwrap().remove(0)
    }

    #[tokio::test]
    async fn batches_keep_their_order_and_prefixes_their_purpose() {
        let embedder = open(3, "query ");
        assert_eq!((embedder.model().dimensions, embedder.model().normalised), (32, true));
        let texts: Vec<String> = (0..40).map(|number| format!("pump {number}")).collect();
        let vectors = embedder.embed(&texts, Purpose::Document).await.unwrap();
        assert_eq!(vectors.len(), 40);
        for (text, vector) in texts.iter().zip(&vectors) {
            let alone = one(&embedder, text, Purpose::Document).await;
            assert!(alone.iter().zip(vector).all(|(a, b)| (a - b).abs() < 1e-4), "{text}");
        }
        let asked = one(&embedder, "pump", Purpose::Query).await;
        assert_eq!(asked, one(&embedder, "query pump", Purpose::Document).await);
        let blank = embedder.embed(&[" ".to_owned()], Purpose::Document).await;
        assert_eq!(blank, Err(EmbedError::Blank { at: 1, of: 1 }));
    }

    #[tokio::test]
    async fn another_prefix_is_another_embedder() {
        let index = fingerprint(&open(3, "")).await.unwrap();
        let mut other = fingerprint(&open(3, "warm cold ")).await.unwrap();
        other.model = index.model.clone();
        assert!(index.fits(&other).unwrap_err().contains("makes other vectors"));
    }
}
