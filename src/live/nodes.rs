//! The machines that share the fleet, as pages show them.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::RwLock;

/// A machine that shares the fleet, as the database has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeView {
    /// Another one with each start.
    pub id: String,
    /// Its machine, and the port that it listens at.
    pub name: String,
    /// Of Serin.
    pub version: String,
    /// Stands for the file that it has, lowercase hex.
    pub file: String,
    /// By its own clock, UTC.
    pub started_at: DateTime<Utc>,
    /// When it was last heard of, by the database's clock, UTC.
    pub seen_at: DateTime<Utc>,
    /// Whether others watch what was its.
    pub is_gone: bool,
    /// Parts of the fleet that it watches, of 256.
    pub shards: usize,
}

/// All of them, and what they have in common.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodesView {
    /// The id of this one; empty where it is alone with a file.
    pub own: String,
    /// By name, this one among them.
    pub nodes: Vec<NodeView>,
    /// Stands for the file in force; none before any was.
    pub file_in_force: Option<String>,
    /// Parts of the fleet that nobody watches.
    pub unwatched: usize,
    /// What is wrong with how the fleet is shared, as this machine has it, a line each.
    pub troubles: Vec<String>,
    /// How far the clock of this machine is ahead of the database's.
    pub clock_ahead: TimeDelta,
}

/// What was last known of them.
#[derive(Debug, Default)]
pub struct Nodes(RwLock<Arc<NodesView>>);

impl Nodes {
    /// As they were last known.
    pub fn now(&self) -> Arc<NodesView> {
        Arc::clone(&self.0.read())
    }

    /// Takes in what is known of them now.
    pub fn put(&self, view: NodesView) {
        *self.0.write() = Arc::new(view);
    }
}

impl NodesView {
    /// Whether others share the fleet just now.
    pub fn are_several(&self) -> bool {
        self.nodes.iter().filter(|node| !node.is_gone).count() > 1
    }
}
