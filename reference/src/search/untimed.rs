//! What stands in the place of `stages` without the feature `metrics`: the same names, and no clock.

use std::future::Future;

/// A part of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Waiting for a connection of the pool.
    Connect,
    /// Embedding the question.
    Embed,
    /// The keyword retriever.
    Keyword,
    /// The vector retriever.
    Vector,
    /// Choosing hits and assembling the context.
    Context,
    /// Looking for a remembered answer.
    Recall,
    /// Reading question and passages together.
    Rerank,
}

/// Times nothing.
#[derive(Debug, Clone, Default)]
pub struct Stages(());

/// A stage under way.
#[derive(Debug)]
pub struct Timed;

impl Drop for Timed {
    fn drop(&mut self) {}
}

impl Stages {
    /// Times nothing.
    pub fn time(&self, _stage: Stage) -> Timed {
        Timed
    }

    /// The search itself.
    pub async fn whole<T>(&self, search: impl Future<Output = T>) -> T {
        search.await
    }
}
