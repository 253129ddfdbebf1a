//! What a writer adds to what is searched for.

use crate::embed::Purpose;
use crate::search::query_vectors::{Embedding, QueryVectors};
use crate::search::question::RetrievalError;
use crate::store::contract::Connection;

/// What there is to search for beside what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// Other wordings, two at most.
    pub questions: Vec<String>,
    /// A passage that could answer: to be embedded, and never to be shown.
    pub passage: Option<String>,
    /// Whether something that was wanted is missing.
    pub is_partial: bool,
}

/// The scope of an answer that had to do without a part of what should have been written.
pub const SCOPE: &str = "rewriting";

impl Embedding<'_> {
    /// Adds what was written, and names what is missing of it. A text of the writer's that cannot be
    /// embedded is left out, for it must never fail a search.
    pub async fn join(
        self,
        connection: &mut dyn Connection,
        mut query_vectors: QueryVectors,
        written: Written,
    ) -> (QueryVectors, Vec<&'static str>) {
        let mut is_whole = !written.is_partial;
        let left_out = |error: &RetrievalError| tracing::warn!(%error, "what was written cannot be embedded");
        for text in written.questions {
            match self.question(connection, &text).await {
                Ok((vector, _)) => query_vectors.questions.push((text, vector)),
                Err(error) => {
                    left_out(&error);
                    is_whole = false;
                }
            }
        }
        if let Some(passage) = written.passage {
            match self.library.vectors().searched_with(connection, &passage, Purpose::Document).await {
                Ok(vector) => query_vectors.passage = Some(vector.into()),
                Err(error) => {
                    left_out(&error.into());
                    is_whole = false;
                }
            }
        }
        (query_vectors, if is_whole { Vec::new() } else { vec![SCOPE] })
    }
}
