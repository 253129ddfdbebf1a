//! The embedder that a server was set up with: one of those there are.

use crate::embed::hashing::HashingEmbedder;
#[cfg(feature = "local-models")]
use crate::embed::local::LocalEmbedder;
#[cfg(feature = "remote")]
use crate::embed::remote::RemoteEmbedder;
use crate::embed::{EmbedError, Embedder, Model, Purpose};

/// One of the embedders.
#[derive(Debug)]
pub enum Provider {
    /// Built in.
    Hashing(HashingEmbedder),
    /// An OpenAI-compatible server.
    #[cfg(feature = "remote")]
    Remote(Box<RemoteEmbedder>),
    /// Weights from a folder.
    #[cfg(feature = "local-models")]
    Local(LocalEmbedder),
}

impl Provider {
    /// The built-in one, which embeds at once and without awaiting; `None` where another is set up.
    pub fn built_in(&self) -> Option<HashingEmbedder> {
        match self {
            Self::Hashing(embedder) => Some(*embedder),
            #[cfg(feature = "remote")]
            _ => None,
        }
    }

    fn inner(&self) -> &dyn Embedder {
        match self {
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
