//! What is quiet just now, in memory: the loop that keeps it writes it, beats and pages read it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::domain::paging::quiet::QuietBook;

/// How long somebody who made a silence waits at most until beats know of it.
const KNOWN_WITHIN: Duration = Duration::from_secs(5);

/// The book in force, and how one asks for it to be read anew.
#[derive(Debug)]
pub struct Quiets {
    book: watch::Sender<Arc<QuietBook>>,
    asked: Notify,
}

impl Default for Quiets {
    fn default() -> Self {
        Self { book: watch::channel(Arc::default()).0, asked: Notify::new() }
    }
}

impl Quiets {
    /// The book in force.
    pub fn book(&self) -> Arc<QuietBook> {
        Arc::clone(&self.book.borrow())
    }

    /// Puts a book in force.
    pub fn put(&self, book: QuietBook) {
        self.book.send_replace(Arc::new(book));
    }

    /// Told of every book that is put in force.
    pub fn changes(&self) -> watch::Receiver<Arc<QuietBook>> {
        self.book.subscribe()
    }

    /// Silences were made or ended: the loop is to look now.
    pub fn look(&self) {
        self.asked.notify_one();
    }

    /// Waits until somebody asks for a look.
    pub async fn asked(&self) {
        self.asked.notified().await;
    }

    /// Has a silence that is on disk known to beats, or known to be over, before whoever asked is answered; false where
    /// that took too long, and is done by itself soon.
    pub async fn until_known(&self, silence: &str, holds: bool) -> bool {
        let mut changes = self.book.subscribe();
        self.look();
        let known = changes.wait_for(|book| book.has(silence) == holds);
        tokio::time::timeout(KNOWN_WITHIN, known).await.is_ok_and(|known| known.is_ok())
    }
}
