//! What a machine that shares the fleet says of itself, and what it is told.

use chrono::{DateTime, Utc};

use crate::domain::lease::Leases;
use crate::live::nodes::NodesView;

/// What a machine says of itself.
#[derive(Debug, Clone)]
pub struct NodeNote {
    pub(in crate::store) name: String,
    /// Stands for the file that it has.
    pub(in crate::store) file: String,
    pub(in crate::store) started_at: DateTime<Utc>,
    /// What it believes to have.
    pub(in crate::store) held: Leases,
}

/// What it has from now on, and what is known of all.
#[derive(Debug, Clone)]
pub struct LeaseTurn {
    /// What it has from now on.
    pub leases: Leases,
    /// All machines.
    pub nodes: NodesView,
}
