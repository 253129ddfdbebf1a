//! What is searched for: the questions, each with its vector.

use std::sync::Arc;
use std::time::Duration;

/// What is searched for.
#[derive(Debug, Default)]
pub struct QueryVectors {
    /// By both retrievers; the first is what was asked.
    pub questions: Vec<String>,
    /// The questions' vectors, in their order, as far as they are embedded.
    pub vectors: Vec<Arc<[f32]>>,
    /// By the vector retriever alone.
    pub passage: Option<Arc<[f32]>>,
}

/// A question's vector, and for how long it has been remembered; `None` where it was made for this.
pub type Embedded = (Arc<[f32]>, Option<Duration>);
