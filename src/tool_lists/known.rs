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
