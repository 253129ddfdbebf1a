//! What every embedder promises.

use std::borrow::Cow;
use std::fmt::{self, Debug};

use serde::{Deserialize, Serialize};

#[cfg(feature = "remote")]
use crate::remote::trouble::ServerError;

/// Makes vectors.
#[async_trait::async_trait]
pub trait Embedder: Debug + Send + Sync {
    /// Whose vectors these are.
    fn model(&self) -> &Model;

    /// One vector for each text, in the order of the texts, each `model().dimensions` finite numbers wide and of
    /// length one where `model().normalised`. More than `batch_max` texts are allowed; they are asked for in turn.
    ///
    /// # Errors
    /// `EmbedError`, and then for all of the texts.
    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// Texts that are best given at once: what fits into one request, or one pass over the weights.
    fn batch_max(&self) -> usize;

    /// What is put before a text of this purpose, as E5 and bge models want; it belongs to a cache's key.
    fn prefix(&self, _purpose: Purpose) -> &str {
        ""
    }
}

/// What a text is embedded for; some models want to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To be found.
    Document,
    /// To find with.
    Query,
}

/// Whose vectors they are. Vectors of two models mean nothing to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Model {
    /// Its name, as its provider calls it.
    pub name: Cow<'static, str>,
    /// Which version of it: a digest of the weights, a date; empty where nobody says.
    pub revision: Cow<'static, str>,
    /// Numbers in a vector.
    pub dimensions: usize,
    /// Whether every vector has length one, so that the dot product is the cosine.
    pub normalised: bool,
}

/// Why there are no vectors. No message holds a key or a text that was to be embedded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The server that embeds.
    #[cfg(feature = "remote")]
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A text that no model takes.
    #[error("a text of {bytes} bytes is too long to be embedded: cut it into chunks of at most {max} bytes")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// A text that says nothing.
    #[error("text {at} of {of} is blank and has no meaning to embed: leave it out")]
    Blank {
        /// Its place, from 1.
        at: usize,
        /// How many there were.
        of: usize,
    },
    /// The model in this process failed.
    #[error("the local model failed ({why}): see that its folder is whole, then start again")]
    Local {
        /// What happened.
        why: String,
    },
}

impl fmt::Display for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dimensions == 0 {
            return formatter.write_str("no embedder");
        }
        let revision = if self.revision.is_empty() { "of no stated revision" } else { &self.revision };
        let length = if self.normalised { "length one" } else { "free length" };
        write!(formatter, "{} ({revision}, {} dimensions, {length})", self.name, self.dimensions)
    }
}
