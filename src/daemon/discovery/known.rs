//! What is known of one source from turn to turn.

use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::config::describe::listed_file;
use crate::daemon::discovery::registry::Servers;
use crate::domain::discovery::listing::Listing;
use crate::domain::discovery::{LeftOut, Source};
use crate::live::listings::ListingView;

/// What is known of one source.
#[derive(Debug)]
pub(super) struct Known {
    pub source: Source,
    pub listing: Listing,
    pub view: ListingView,
    pub due: Instant,
    /// Whether somebody wanted it read when that had begun already.
    pub is_asked_again: bool,
    /// The task that reads it now.
    pub reading: Option<AbortHandle>,
    /// What a registry said before.
    pub servers: Servers,
    /// When it was last read well, or first tried.
    pub good_at: DateTime<Utc>,
    /// The text on disk.
    pub written: Arc<str>,
    /// The file in which it is kept.
    pub path: PathBuf,
    /// Whether anything of it is on disk.
    pub is_kept: bool,
    /// The text in the database; none: not known yet.
    pub stored: Option<Arc<str>>,
    /// What it names and what cannot be watched.
    pub refused: LeftOut,
}

impl Known {
    /// One that is declared anew: nothing is known but the text that was kept of it in its file.
    pub(super) fn kept(source: Source, path: PathBuf, text: String) -> Self {
        let targets = listed_file::read(&text);
        let text = if targets.is_some() { text } else { String::new() };
        Self {
            source,
            listing: Listing::kept(targets.unwrap_or_default()),
            view: ListingView::default(),
            due: Instant::now(),
            is_asked_again: false,
            reading: None,
            servers: Servers::default(),
            good_at: Utc::now(),
            is_kept: !text.is_empty(),
            written: text.into(),
            path,
            stored: None,
            refused: LeftOut::default(),
        }
    }

    /// It is the same list under another name: what it names no longer, and what nobody let go, goes along.
    pub(super) fn inherit(&mut self, before: &Self) {
        let (id, targets) = (&before.source.id, before.listing.targets.values());
        self.listing = Listing::kept(targets.filter_map(|target| target.under(id, &self.source.id)));
        self.write();
    }

    /// Writes down what is watched.
    pub(super) fn write(&mut self) {
        self.written = listed_file::written(&self.source.id, self.listing.targets.values()).into();
    }

    /// Whether a start would find what is known of it.
    pub(super) fn is_safe(&self) -> bool {
        self.written.is_empty() || (self.view.unkept.is_none() && self.stored.as_ref() == Some(&self.written))
    }

    /// Gives up what is being read: it is no longer what the file asks for.
    pub(super) fn stop_reading(&mut self) {
        if let Some(reading) = self.reading.take() {
            reading.abort();
        }
        self.servers = Servers::default();
    }
}
