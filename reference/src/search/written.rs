//! The step in which a language model words a question anew.

use std::sync::Arc;

use async_trait::async_trait;

use crate::embed::Purpose;
use crate::search::question::RetrievalError;
use crate::search::step::{Search, Step};
use crate::search::writer::{Writer, Written};

/// The scope of an answer that had to do without a part of what should have been written.
pub const SCOPE: &str = "rewriting";

/// Has a writer add to what is searched for, where there is one.
#[derive(Debug)]
pub struct Rewording(pub Option<Arc<Writer>>);

#[async_trait]
impl Step for Rewording {
    fn line(&self) -> Option<String> {
        Some(self.0.as_ref().map_or("", |writer| writer.line()).to_owned())
    }

    fn reads_wording(&self) -> bool {
        self.0.is_some()
    }

    async fn widen<'a>(&self, mut search: Search<'a>) -> Result<Search<'a>, RetrievalError> {
        let Search { question, tuning, embedding, .. } = search;
        let Some(writer) = self.0.as_ref().filter(|_| !question.passes_memory) else { return Ok(search) };
        // A slow writer must not keep a connection that other searches wait for.
        drop(search.connection);
        let written = writer.write(&question.text, &search.query_vectors.questions).await;
        search.connection = embedding.library.store().connect(tuning.patience).await?;
        search.embed(usize::MAX).await?;
        join(&mut search, written).await;
        Ok(search)
    }
}

/// Adds what was written, and says so where something is missing of it. A text of the writer's that cannot be
/// embedded is left out, for it must never fail a search.
async fn join(search: &mut Search<'_>, written: Written) {
    let mut is_whole = !written.is_partial;
    let left_out = |error: &RetrievalError| tracing::warn!(%error, "what was written cannot be embedded");
    let (embedding, connection) = (search.embedding, search.connection.as_mut());
    for text in written.questions {
        match embedding.question(connection, &text).await {
            Ok((vector, _)) => {
                search.query_vectors.questions.push(text);
                search.query_vectors.vectors.push(vector);
            }
            Err(error) => {
                left_out(&error);
                is_whole = false;
            }
        }
    }
    if let Some(passage) = written.passage {
        match embedding.library.vectors().searched_with(connection, &passage, Purpose::Document).await {
            Ok(vector) => search.query_vectors.passage = Some(vector.into()),
            Err(error) => {
                left_out(&error.into());
                is_whole = false;
            }
        }
    }
    if !is_whole {
        search.findings.degraded.push(SCOPE);
    }
}
