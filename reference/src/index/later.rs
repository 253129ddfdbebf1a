//! Vectors that come later: words are searchable at once, where an embedder takes its time.
//!
//! A run of the indexer puts every document first, with the vectors that are known already. One that lacks some is put
//! without them, as cut in another way (`WORDS`), so that whoever cuts sources again gives it its vectors, in this run or,
//! where it is killed, in the next. Until then a fact says that vectors are missing.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use crate::chunk::{Chunk, ChunkSettings, Method};
use crate::index::preparing::Preparing;

/// The fact that some chunks wait for their vectors.
pub const PENDING: &str = "vectors_pending";
/// What stands behind the parser's name of a source that has its words alone.
const WORDS: &str = "words";

tokio::task_local! {
    /// Whether the document that is put now goes without its vectors.
    static WITHOUT: Cell<bool>;
}

/// Puts a document, without vectors where not all are known.
pub(super) async fn words_first<T>(put: impl Future<Output = T>) -> T {
    WITHOUT.scope(Cell::new(false), put).await
}

/// Whether the document that is put now may go without vectors; if so, it does.
pub(super) fn goes_without() -> bool {
    WITHOUT.try_with(|without| without.set(true)).is_ok()
}

/// A preparation that marks documents without vectors.
#[derive(Debug)]
pub struct Marking(pub Arc<dyn Preparing>);

impl Preparing for Marking {
    fn cleaned<'t>(&self, text: &'t str) -> (Cow<'t, str>, usize) {
        self.0.cleaned(text)
    }

    fn cleaned_how(&self) -> &'static str {
        self.0.cleaned_how()
    }

    fn cut(&self, source: &str, method: Method, text: &str, settings: &ChunkSettings) -> Vec<Chunk> {
        self.0.cut(source, method, text, settings)
    }

    fn cut_how(&self) -> String {
        let is_without = WITHOUT.try_with(Cell::get).unwrap_or(false);
        self.0.cut_how() + if is_without { WORDS } else { "" }
    }
}
