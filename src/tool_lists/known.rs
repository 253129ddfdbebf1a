//! The lists of tools that are remembered of a server.

use std::sync::Arc;

use crate::domain::tools::Listing;

/// The lists of tools that a probe holds what it sees against. Empty for a server nobody has looked at yet.
#[derive(Debug, Clone, Default)]
pub struct KnownLists {
    /// None until one was stable.
    pub accepted: Option<Arc<Listing>>,
    /// The one seen last, where that is another.
    pub latest: Option<Arc<Listing>>,
}

impl KnownLists {
    /// The server's instructions as they were known last; none where they never were.
    pub(crate) fn instructions(&self) -> Option<&str> {
        self.latest.iter().chain(&self.accepted).find_map(|listing| listing.server_instructions.as_deref())
    }
}
