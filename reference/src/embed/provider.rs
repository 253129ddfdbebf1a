//! The embedder that a server was set up with: one of those there are, or none.

use std::borrow::Cow;

#[cfg(feature = "builtin")]
use crate::embed::hashing::HashingEmbedder;
#[cfg(feature = "local-models")]
use crate::embed::local::LocalEmbedder;
#[cfg(feature = "remote")]
use crate::embed::remote::RemoteEmbedder;
use crate::embed::{EmbedError, Embedder, Model, Purpose};

/// One of the embedders.
#[derive(Debug, Default)]
pub enum Provider {
    /// None: questions meet documents by their words alone, and vectors have no numbers.
    #[default]
    None,
    /// Built in, for the laboratory.
    #[cfg(feature = "builtin")]
    Hashing(HashingEmbedder),
    /// An OpenAI-compatible server.
    #[cfg(feature = "remote")]
    Remote(Box<RemoteEmbedder>),
    /// Weights from a folder.
    #[cfg(feature = "local-models")]
    Local(LocalEmbedder),
}

impl Provider {
    /// The built-in one; `None` where another is set up.
    #[cfg(feature = "builtin")]
    pub fn built_in(&self) -> Option<HashingEmbedder> {
        match self {
            Self::Hashing(embedder) => Some(*embedder),
            _ => None,
        }
    }

    /// Vectors of texts, where there is nothing to wait for or to pay.
    pub fn at_once(&self, texts: &[String]) -> Option<Vec<Vec<f32>>> {
        match self {
            Self::None => Some(vec![Vec::new(); texts.len()]),
            #[cfg(feature = "builtin")]
            Self::Hashing(embedder) => Some(texts.iter().map(|text| HashingEmbedder::embed(*embedder, text)).collect()),
            #[cfg(feature = "remote")]
            _ => None,
        }
    }

    fn inner(&self) -> &dyn Embedder {
        match self {
            Self::None => &NoEmbedder,
            #[cfg(feature = "builtin")]
            Self::Hashing(embedder) => embedder,
            #[cfg(feature = "remote")]
            Self::Remote(embedder) => embedder.as_ref(),
            #[cfg(feature = "local-models")]
            Self::Local(embedder) => embedder,
        }
    }
}

#[async_trait::async_trait]
impl Embedder for Provider {
    fn model(&self) -> &Model {
        self.inner().model()
    }

    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.inner().embed(texts, purpose).await
    }

    fn batch_max(&self) -> usize {
        self.inner().batch_max()
    }

    fn prefix(&self, purpose: Purpose) -> &str {
        self.inner().prefix(purpose)
    }
}

/// Stands where no embedder is set up.
#[derive(Debug)]
struct NoEmbedder;

static NO_MODEL: Model =
    Model { name: Cow::Borrowed("none"), revision: Cow::Borrowed(""), dimensions: 0, normalised: true };

#[async_trait::async_trait]
impl Embedder for NoEmbedder {
    fn model(&self) -> &Model {
        &NO_MODEL
    }

    async fn embed(&self, texts: &[String], _purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(vec![Vec::new(); texts.len()])
    }

    fn batch_max(&self) -> usize {
        usize::MAX
    }
}
