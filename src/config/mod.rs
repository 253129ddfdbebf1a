//! monitors.yaml, read into a tree that keeps its places, then checked by hand-written rules into domain values.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::domain::fleet::{Fleet, Secret};

/// A file that was found valid.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What the process itself needs.
    pub settings: Settings,
    /// What it declares.
    pub fleet: Fleet,
    /// Warnings, rendered.
    pub warnings: Vec<String>,
}

/// The part of `serin:` that is read once, at start.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Where the pages are served.
    pub listen: SocketAddr,
    /// The database file, relative to the file that names it.
    pub database: PathBuf,
    /// The token for the API and for signing in; demanded where `listen` is no loopback address.
    pub token: Option<Secret>,
}
