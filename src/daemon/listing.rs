//! What is written down of the lists of tools that beats see.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::daemon::runtime::MonitorRuntime;
use crate::domain::observation::Observation;
use crate::domain::tools::{ChangeClass, Drift, ToolChange};
use crate::store::values::change_set::ListingRow;

/// A list that stays is written down as seen again after this long; beats do not write it each time.
const NOTED_EVERY: chrono::TimeDelta = chrono::TimeDelta::hours(1);

/// What a beat has to write down of the list it saw; none most of the time.
pub(crate) fn row(runtime: &MonitorRuntime, seen: &Observation, now: DateTime<Utc>) -> Option<ListingRow> {
    let tools = seen.tools.as_ref()?;
    let listed = runtime.listings.last.as_ref();
    let noted = runtime.listings.noted.as_ref().is_some_and(|(hash, counted, at)| {
        *hash == tools.hash && *counted == tools.tokens.is_some() && now - *at < NOTED_EVERY
    });
    if noted {
        return None;
    }
    let drift = tools.drift.as_deref().cloned().unwrap_or_else(|| {
        // Of a first list there is nothing to compare; what it tells models to do is worth a line all the same.
        let told = tools.instructions.iter().map(|one| {
            let what = format!("{} {}: “{}”", one.place, one.sign, one.excerpt);
            ToolChange::new(ChangeClass::Instruction, &one.tool, what)
        });
        Drift::new("", told.collect())
    });
    Some(ListingRow {
        monitor: runtime.monitor.id.clone(),
        era: seen.era,
        listing: Arc::clone(&tools.listing),
        at: now,
        drift,
        before: listed.filter(|listed| listed.tools.hash != tools.hash).map(|one| (one.tools.hash.clone(), one.at)),
    })
}
