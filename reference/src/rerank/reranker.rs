//! What every reranker promises.

use std::fmt::Debug;

#[cfg(feature = "remote")]
use crate::remote::trouble::ServerError;

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
    /// The server that judges.
    #[cfg(feature = "remote")]
    #[error(transparent)]
    Server(#[from] ServerError),
    /// More than is ever judged at once.
    #[error("{count} passages are too many to rerank: over-fetch at most {max}")]
    TooMany {
        /// How many there were.
        count: usize,
        /// The limit.
        max: usize,
    },
    /// The model in this process failed.
    #[error("the local reranker failed ({why}): see that its folder is whole, then start again")]
    Local {
        /// What happened.
        why: String,
    },
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
