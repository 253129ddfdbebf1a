//! What an index needs that outlives its program: sources cut again, left alone, or all begun anew.

use chrono::{DateTime, Utc};

use crate::index::document::{Cutting, Document};
use crate::index::library::{Library, LibraryError};
use crate::store::contract::Patience;
use crate::store::records::StoredSource;

impl Library {
    /// Cuts every source again that was cut by another parser or otherwise; gives how many those were, and tells of each
    /// how many were done before. It needs no files: the store keeps the texts.
    ///
    /// # Errors
    /// As `put`; sources before the one that failed are done.
    pub async fn recut(
        &self,
        now: DateTime<Utc>,
        tell: &mut (dyn FnMut(usize, usize, &str) + Send),
    ) -> Result<usize, LibraryError> {
        let mut sources = self.parts.store.connect(Patience::Writer).await?.sources().await?;
        sources.retain(|known| known.parser != self.parser(&as_it_was(known)));
        let mut done = 0;
        for (before, known) in sources.iter().enumerate() {
            tell(before, sources.len(), &known.source);
            let document = as_it_was(known);
            let text = self.parts.store.connect(Patience::Writer).await?.text(&known.source).await?;
            let Some(text) = text else { continue };
            self.keep(&Document { text: &text, ..document }, &known.content_hash, now).await?;
            done += 1;
        }
        Ok(done)
    }

    /// How sources are cut now, beside their methods and settings: another line asks for `recut`.
    pub fn cut_how(&self) -> String {
        self.parts.preparing.cut_how()
    }

    /// Whether a source is this very document, cut as it would be cut now.
    pub fn has(&self, known: &StoredSource, document: &Document<'_>) -> bool {
        let facts = (&known.source_type, &known.collection, &known.tags, known.dated, known.volatility);
        let wanted = (document.source_type, document.collection, document.tags, document.dated, document.volatility);
        (facts.0.as_str(), facts.1.as_str(), facts.2.as_slice(), facts.3, facts.4) == wanted
            && known.parser == self.parser(document)
            && known.content_hash == self.content_hash(document.text)
    }

    /// Takes everything away, so that another embedder or another store layout can begin anew.
    ///
    /// # Errors
    /// The store's.
    pub async fn rebuild(&self) -> Result<(), LibraryError> {
        self.parts.store.wipe(false).await?;
        self.sign().await
    }
}

/// A source as a document, without its text.
fn as_it_was(known: &StoredSource) -> Document<'_> {
    Document {
        collection: &known.collection,
        tags: &known.tags,
        dated: known.dated,
        volatility: known.volatility,
        origin: known.origin,
        cutting: Cutting::named(&known.parser),
        ..Document::plain(&known.source, &known.source_type, "")
    }
}
