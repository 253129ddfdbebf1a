//! What every reranker promises.

use std::fmt::Debug;
use std::time::Duration;

#[cfg(feature = "remote")]
use crate::remote::trouble::RemoteError;

/// Scores passages.
#[async_trait::async_trait]
pub trait Reranker: Debug + Send + Sync {
    /// Its name, as answers give it.
    fn name(&self) -> &str;

    /// The part of a hit's final score that is this reranker's; the rest is the cosine. A model that was trained
    /// to read question and passage needs no help; one that counts words does.
    fn share(&self) -> f64 {
        1.0
    }

    // Laboratory: a reranker that is off leaves the fused scores, which no score of its own can say.
    /// Whether it takes part in a search, asked once for each; where not, the fused order stands.
    fn is_asked(&self) -> bool {
        true
    }

    /// How well each passage answers the question, 0 to 1, in the order of the passages. Scores of one call compare
    /// with each other; those of two calls need not.
    ///
    /// # Errors
    /// `RerankError`, and then for all of the passages.
    async fn scores(&self, question: &str, passages: &[Passage<'_>]) -> Result<Vec<f64>, RerankError>;

    /// The final scores of the passages: its own, and their cosines with the question, mixed by `share`.
    ///
    /// # Errors
    /// As `scores`.
    async fn final_scores(
        &self,
        question: &str,
        passages: &[Passage<'_>],
        cosines: &[f64],
    ) -> Result<Vec<f64>, RerankError> {
        let (share, scores) = (self.share(), self.scores(question, passages).await?);
        Ok(scores.iter().zip(cosines).map(|(score, cosine)| score * share + cosine * (1.0 - share)).collect())
    }
}

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage<'a> {
    /// Its headings, the outermost first; empty where it has none.
    pub section: &'a str,
    /// Its text.
    pub content: &'a str,
}

impl Passage<'_> {
    /// Both as one text, as models read them, cut where every model has cut it long ago.
    pub fn whole(&self) -> String {
        let mut text = if self.section.is_empty() {
            self.content.to_owned()
        } else {
            format!("{}\n{}", self.section, self.content)
        };
        text.truncate(readable(&text).len());
        text
    }
}

/// Why there are no scores. No message holds a key or a text that was to be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RerankError {
    /// No answer, or one that says the server is in trouble.
    #[error("the rerank server {host} does not answer ({why}): see that it runs and that its address is right")]
    Unavailable {
        /// The server.
        host: String,
        /// What happened.
        why: String,
    },
    /// Too many requests.
    #[error("the rerank server {host} has had too many requests: ask again later, or less often")]
    Limited {
        /// The server.
        host: String,
        /// After how long it wants to be asked again, if it says.
        retry_after: Option<Duration>,
    },
    /// It will not do this, now or later.
    #[error("the rerank server {host} refused with HTTP {status}: mend the key, the model or the address ({said})")]
    Refused {
        /// The server.
        host: String,
        /// 300 to 499.
        status: u16,
        /// The beginning of what it said, one line, without the key.
        said: String,
    },
    /// An answer that is none.
    #[error("the answer of the rerank server {host} cannot be used: {why}")]
    Malformed {
        /// The server.
        host: String,
        /// What is wrong, with the mend where there is one.
        why: String,
    },
    /// More than is ever judged at once.
    #[error("{count} passages are too many to rerank: over-fetch at most {max}")]
    TooMany {
        /// How many there were.
        count: usize,
        /// The limit.
        max: usize,
    },
    /// Not asked, since it failed too often just now.
    #[error("the rerank server {host} failed three times within a minute and is left alone for a while")]
    Open {
        /// The server.
        host: String,
        /// When it is tried again.
        retry_after: Duration,
    },
    /// The model in this process failed.
    #[error("the local reranker failed ({why}): see that its folder is whole, then start again")]
    Local {
        /// What happened.
        why: String,
    },
}

#[cfg(feature = "remote")]
impl From<RemoteError> for RerankError {
    fn from(error: RemoteError) -> Self {
        match error {
            RemoteError::Unavailable { host, why } => Self::Unavailable { host, why },
            RemoteError::Limited { host, retry_after } => Self::Limited { host, retry_after },
            RemoteError::Refused { host, status, said } => Self::Refused { host, status, said },
            RemoteError::Malformed { host, why } => Self::Malformed { host, why },
            RemoteError::Open { host, retry_after } => Self::Open { host, retry_after },
        }
    }
}

/// The beginning of a question or a passage, as much as any model reads of it.
pub fn readable(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

/// Bytes of a text that a model is given: 4,096 tokens or more, where most read 512.
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// Passages judged at once: retrieval over-fetches 100 at most.
pub const PASSAGES_MAX: usize = 100;

/// Refuses more passages than are ever judged at once.
///
/// # Errors
/// `TooMany`.
pub fn bounded(passages: &[Passage<'_>]) -> Result<(), RerankError> {
    let (count, max) = (passages.len(), PASSAGES_MAX);
    if count > max { Err(RerankError::TooMany { count, max }) } else { Ok(()) }
}
