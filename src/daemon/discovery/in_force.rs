//! What of the lists is in force: the file has the last word on what is watched.

use std::collections::HashMap;
use std::sync::Arc;

use crate::domain::fleet::Fleet;

/// The fleet in force, and what of it lists bring.
#[derive(Debug)]
pub(super) struct InForce {
    pub fleet: Arc<Fleet>,
    /// By the source's id.
    pub lists: HashMap<String, Watched>,
}

/// What is watched because of one list.
#[derive(Debug, Default)]
pub(super) struct Watched {
    pub count: usize,
    /// Ids of those that are gone from it.
    pub gone: Vec<String>,
}

impl InForce {
    pub(super) fn of(fleet: &Arc<Fleet>) -> Self {
        let mut lists: HashMap<String, Watched> = HashMap::new();
        for (monitor, of) in fleet.monitors.iter().filter_map(|one| Some((one, one.discovered.as_ref()?))) {
            let watched = lists.entry(of.source.clone()).or_default();
            watched.count += 1;
            watched.gone.extend(of.gone_since.map(|_| monitor.id.to_string()));
        }
        Self { fleet: Arc::clone(fleet), lists }
    }
}
