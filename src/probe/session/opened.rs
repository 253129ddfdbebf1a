//! What an opening comes to.

use crate::domain::observation::ServerIdentity;
use crate::domain::protocol::Era;

/// A conversation that is open.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub(crate) era: Era,
    pub(crate) server: ServerIdentity,
}
