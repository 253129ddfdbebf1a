//! Programs that are kept from beat to beat (`keep: true`), one a monitor.
//!
//! A beat takes its program out and puts it back, so that no two use it at once. One whose monitor was edited, or
//! that ended meanwhile, is started again; a removed monitor's is stopped; all are stopped with Serin, and where that
//! goes wrong, dropping them kills their process groups.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::domain::fleet::{Monitor, MonitorId};
use crate::probe::handshake::Opened;
use crate::probe::program::Process;

/// Programs kept at once: each is a process with three pipes. Beyond, they are started for each beat.
const KEPT_MAX: usize = 256;

/// A program with its open conversation.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) process: Box<Process>,
    /// The conversation as the handshake left it.
    pub(crate) opened: Opened,
    /// Ids given out so far, so that a late answer is never taken for another's.
    pub(crate) requests: u64,
    definition_hash: String,
}

impl Kept {
    pub(crate) fn new(process: Box<Process>, opened: Opened, requests: u64, monitor: &Monitor) -> Self {
        Self { process, opened, requests, definition_hash: monitor.definition_hash.clone() }
    }

    /// Whether it was started by this very declaration.
    pub(crate) fn fits(&self, monitor: &Monitor) -> bool {
        self.definition_hash == monitor.definition_hash
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct KeptPrograms {
    programs: Mutex<HashMap<MonitorId, Kept>>,
}

impl KeptPrograms {
    /// Takes a monitor's program out.
    pub(crate) fn take(&self, monitor: &MonitorId) -> Option<Kept> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner).remove(monitor)
    }

    /// Puts it back; whoever has no place comes out again.
    pub(crate) fn put(&self, monitor: &MonitorId, kept: Kept) -> Option<Kept> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if programs.len() >= KEPT_MAX && !programs.contains_key(monitor) {
            return Some(kept);
        }
        programs.insert(monitor.clone(), kept)
    }

    /// Takes all of them out.
    pub(crate) fn empty(&self) -> Vec<Kept> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        programs.drain().map(|(_, kept)| kept).collect()
    }
}
