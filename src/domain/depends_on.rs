//! What a monitor cannot work without: `depends_on`.

use crate::domain::secret::Address;

/// Something without which a monitor's server cannot work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parent {
    /// Another monitor, by its id.
    Monitor(String),
    /// An address that answers while it is well; asked only while the monitor itself is not.
    Address(Box<Address>),
}

impl Parent {
    /// As people know it, and as a hold names it: an id, or an address as it may be shown.
    pub fn name(&self) -> &str {
        match self {
            Self::Monitor(id) => id,
            Self::Address(address) => &address.shown,
        }
    }
}
