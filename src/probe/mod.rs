//! The only room that knows HTTP, TLS, SSE and JSON-RPC on the probing side; it turns what it meets into faults.
//!
//! What a server sends is hostile: every decoder here is bounded and gives evidence without control characters or our
//! own secrets, and no bytes make it panic. Pure decoders stand apart from sockets. Read `steps` for the whole probe,
//! then downward: `handshake`, `call`, `reply`, `wire`.

// Pure decoders.
pub mod answer;
pub mod era;
pub mod evidence;
pub mod health;
pub mod moment;
pub mod rpc;
pub mod schema;
pub mod sources;
pub mod sse;
pub mod tools;

// One HTTP exchange, from the socket up.
pub mod clock;
pub mod wire;

pub mod reply;

// A probe, from a request up.
pub mod call;
pub mod handshake;
pub mod look;

pub mod steps;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use rustls::RootCertStore;

use crate::domain::fleet::Monitor;
use crate::domain::observation::{BeatKind, Era, Observation, Turn};
use crate::net::connect::Connector;

/// What one beat is to do.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// Whom to look at.
    pub monitor: Arc<Monitor>,
    /// Why.
    pub kind: BeatKind,
    /// When it was due.
    pub scheduled_at: DateTime<Utc>,
    /// Now, as the loop that starts it read the clock.
    pub started_at: DateTime<Utc>,
    /// Canaries to ask, by index into the monitor's list, in order.
    pub asks: Vec<(usize, Turn)>,
    /// Whether to ask the source-listing tool too.
    pub ask_sources: bool,
    /// What earlier probes learnt.
    pub learnt: Learnt,
}

/// What a probe learns about a server and the next one uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Learnt {
    /// The era found; forgotten after a failure that could mean it changed.
    pub era: Option<Era>,
    /// When it was found.
    pub era_found_at: Option<DateTime<Utc>>,
    /// Whether `server/discover` brings the server down, as it does two old releases in the field.
    pub discover: Caution,
    /// Whether closing a session brings the server down.
    pub closing: Caution,
}

impl Learnt {
    /// The era is open again; what hurts the server stays known.
    pub(crate) fn forget_era(&mut self) {
        self.era = None;
        self.era_found_at = None;
    }
}

/// Whether a thing we do was seen to hurt a server (MCP.md, "Do no harm").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Caution {
    /// Not looked at yet.
    #[default]
    Unchecked,
    /// The server still answered after it.
    Harmless,
    /// The server no longer answered after it: never done again.
    Harmful,
}

/// Probes servers. Cheap to share; holds the TLS session cache.
#[derive(Debug)]
pub struct Prober {
    connector: Connector,
}

impl Prober {
    /// A prober that trusts this machine's roots and whose TLS session cache is sized for so many names.
    pub fn new(names: usize) -> Self {
        Self { connector: Connector::new(names) }
    }

    /// A prober that trusts these roots only.
    pub fn with_roots(roots: RootCertStore, names: usize) -> Self {
        Self { connector: Connector::with_roots(roots, names) }
    }

    /// Runs one probe to its end; never fails, never panics, never outlasts the monitor's budget by more than the closing of its session.
    pub async fn run(&self, assignment: &Assignment) -> (Observation, Learnt) {
        Box::pin(steps::run(&self.connector, assignment)).await
    }
}
