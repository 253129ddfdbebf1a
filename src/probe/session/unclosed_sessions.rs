//! Sessions that a probe could not close: it was dropped in the middle, or the server did not answer. The monitor's
//! next probe closes them, or whoever lets go of the monitor. They are not remembered over a restart of Serin.

use std::collections::HashMap;

use http::HeaderValue;
use parking_lot::Mutex;

use crate::domain::monitor::{Monitor, MonitorId};

/// Monitors with such sessions that are remembered: some thousand probes die together when Serin's own task breaks down.
const MONITORS_MAX: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct UnclosedSessions {
    sessions: Mutex<HashMap<MonitorId, (String, Vec<HeaderValue>)>>,
}

impl UnclosedSessions {
    /// Whether there are any of a monitor's.
    pub(crate) fn has(&self, monitor: &MonitorId) -> bool {
        self.sessions.lock().contains_key(monitor)
    }

    /// Takes them out for a probe that will close them. An edited monitor's are dropped: they may be another server's.
    pub(crate) fn take(&self, monitor: &Monitor) -> Vec<HeaderValue> {
        let mut unclosed_sessions = self.sessions.lock();
        // Nearly always there are none at all.
        if unclosed_sessions.is_empty() {
            return Vec::new();
        }
        let taken = unclosed_sessions.remove(&monitor.id).filter(|(hash, _)| *hash == monitor.definition_hash);
        taken.map(|(_, sessions)| sessions).unwrap_or_default()
    }

    /// Remembers what a probe leaves open.
    pub(crate) fn leave(&self, monitor: &MonitorId, definition_hash: &str, sessions: Vec<HeaderValue>) {
        let mut unclosed_sessions = self.sessions.lock();
        if unclosed_sessions.len() < MONITORS_MAX || unclosed_sessions.contains_key(monitor) {
            unclosed_sessions.insert(monitor.clone(), (definition_hash.to_owned(), sessions));
        }
    }
}
