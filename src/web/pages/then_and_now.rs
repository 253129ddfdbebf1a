//! The lists of the canaries that an incident is about: as they were before it, and as they came while it lasted.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::incident::Incident;
use crate::domain::signal::Signal;
use crate::store::read::asked::{AskedLine, AskedPast};
use crate::web::pages::moved::{MovedPart, TwoLists};
use crate::web::state::{Away, WebState};

/// Canaries whose lists are shown; the monitor's board has more.
const CANARIES_SHOWN: usize = 6;
/// How long before its first wrong answer a right one is looked for.
const LOOK_BACK: TimeDelta = TimeDelta::hours(24);
/// How much of a long incident is looked at, from its end back.
const LOOKED_AT: TimeDelta = TimeDelta::hours(24);

/// Of an incident of quality; of any other, or where its monitor is not declared any more, there are none.
///
/// # Errors
/// Where the database does not answer in time.
pub(crate) async fn of_incident(
    state: &WebState,
    incident: &Incident,
    now: DateTime<Utc>,
) -> Result<Vec<MovedPart>, Away> {
    let fleet = state.fleet_now();
    let declared = fleet.monitor(&incident.monitor).filter(|_| incident.signal == Signal::Quality);
    let Some(monitor) = declared else { return Ok(Vec::new()) };
    let since = incident.since();
    let end = incident.resolved_at.unwrap_or(now);
    let (before, during) = tokio::join!(
        state.ask(state.store.asked(&monitor.id, since - LOOK_BACK, since)),
        state.ask(state.store.asked(&monitor.id, since.max(end - LOOKED_AT), end)),
    );
    let (before, during) = (last(before?, "right"), last(during?, "wrong"));
    let wrong = monitor
        .canaries
        .iter()
        .filter_map(|canary| TwoLists::of(monitor, canary, before.get(&*canary.id), during.get(&*canary.id)?));
    let pairs: Vec<TwoLists<'_>> = wrong.take(CANARIES_SHOWN).collect();
    let numbers: Vec<i64> = pairs.iter().flat_map(TwoLists::numbers).collect();
    if pairs.is_empty() {
        return Ok(Vec::new());
    }
    let lists = state.ask(state.store.lists(&numbers)).await?;
    Ok(pairs.iter().enumerate().map(|(nth, pair)| pair.drawn(&lists, nth == 0)).collect())
}

/// Each canary's last answer that came to this.
fn last(past: AskedPast, verdict: &str) -> HashMap<Arc<str>, AskedLine> {
    let such = past.asks.into_iter().filter(|ask| ask.shape.verdict == verdict);
    such.map(|ask| (Arc::clone(&ask.canary), ask)).collect()
}
