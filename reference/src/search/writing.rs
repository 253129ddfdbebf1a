//! The step of a search in which a language model words the question anew.

use crate::search::question::RetrievalError;
use crate::search::retrieval::{Retrieval, Search, Unanswered};
use crate::search::written::Written;
use crate::store::contract::Connection;

impl Retrieval {
    /// The question with what was written for it, and a connection to search on.
    pub(super) async fn word_anew(
        &self,
        mut held: Box<dyn Connection>,
        search: Search<'_>,
        questions: &[String],
        unanswered: Unanswered,
    ) -> Result<(Box<dyn Connection>, Unanswered), RetrievalError> {
        let Search { question, tuning, .. } = search;
        let mut written = Written::default();
        if let Some(writer) = self.writer.as_ref().filter(|_| !question.passes_memory) {
            // A slow writer must not keep a connection that other searches wait for.
            drop(held);
            written = writer.write(&question.text, questions).await;
            held = self.library.store().connect(tuning.patience).await?;
        }
        Ok((held, Unanswered { written, ..unanswered }))
    }
}
