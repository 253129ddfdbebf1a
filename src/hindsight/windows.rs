//! Windows of maintenance as a replay knows them: those that are on or near, and until when that is all of them.

use chrono::{DateTime, Utc};

use crate::domain::maintenance::MaintenanceWindow;
use crate::domain::paging::quiet::{AHEAD, QuietBook};

/// The windows of maintenance that are on or near.
#[derive(Debug)]
pub(super) struct Windows {
    pub book: QuietBook,
    /// What begins later is not in the book.
    pub known_until: DateTime<Utc>,
}

impl Windows {
    pub(super) fn at(windows: &[MaintenanceWindow], at: DateTime<Utc>) -> Self {
        Self { book: QuietBook::of_windows(windows, at), known_until: at + AHEAD }
    }
}
