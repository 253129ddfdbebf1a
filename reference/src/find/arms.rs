//! Both arms of a search, and what faults do to them.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::lab::kinds::{Dose, Fault};
use crate::lab::strikes::Strikes;
use crate::lab::switches::Faults;
use crate::store::contract::Connection;
use crate::store::filter::Filter;
use crate::store::records::{Place, StoreError, StoredSource};
use crate::text::terms;

/// How much deeper an arm looks where a fault hides what it finds: as if the rest were all there is.
const DEEPER: usize = 10;

/// The keyword arm: chunks, the best first.
///
/// # Errors
/// The store's.
pub async fn keyword(
    connection: &mut dyn Connection,
    question: &str,
    filter: &Filter,
    depth: usize,
    strikes: &Strikes,
    faults: &Faults,
) -> Result<Vec<Place>, StoreError> {
    if faults.strikes(Fault::KeywordArmOff).is_some() {
        return Ok(Vec::new());
    }
    let deep = if strikes.is_none() { depth } else { depth * DEEPER };
    let found = connection.worded(&terms::of(question), filter, deep).await?;
    let seen = found.into_iter().filter(|place| !strikes.hides(&place.source, place.ordinal));
    Ok(seen.take(depth).collect())
}

/// The vector arm: chunks, the nearest first.
///
/// # Errors
/// The store's.
pub async fn vector(
    connection: &mut dyn Connection,
    vector: &[f32],
    filter: &Filter,
    depth: usize,
    strikes: &Strikes,
    faults: &Faults,
) -> Result<Vec<Place>, StoreError> {
    if faults.strikes(Fault::VectorArmOff).is_some() {
        return Ok(Vec::new());
    }
    let near = connection.near(vector, filter, depth, strikes).await?;
    Ok(near.into_iter().map(|near| near.place).collect())
}

/// How long the vector arm waits before it scans.
pub async fn wait(faults: &Faults, started: Instant) {
    let mut wait_ms = faults.strikes(Fault::LatencyStep).map_or(0.0, |dose| dose.amount);
    if let Some(dose) = faults.strikes(Fault::LatencyDecay) {
        wait_ms += dose.amount * fading(started.elapsed(), dose.tau_ms);
    }
    pause(wait_ms).await;
}

/// Waits so many milliseconds.
pub async fn pause(wait_ms: f64) {
    if wait_ms >= 1.0 {
        tokio::time::sleep(Duration::from_secs_f64(wait_ms / 1_000.0)).await;
    }
}

/// What is struck in this search.
///
/// # Errors
/// The store's.
pub async fn strikes(connection: &mut dyn Connection, faults: &Faults) -> Result<Strikes, StoreError> {
    let truncated = faults.dose(Fault::CorpusTruncated);
    let newest = truncated.filter(|dose| dose.mode == "newest");
    Ok(Strikes {
        unreachable: faults.dose_since(Fault::VectorsUnreachable).map(|(dose, since)| healed(dose, since)),
        zeroed: faults.dose(Fault::VectorsZeroed),
        missing: truncated.filter(|dose| dose.mode == "share"),
        missing_sources: match newest {
            Some(dose) => newest_sources(connection.sources().await?, dose.share),
            None => HashSet::new(),
        },
    })
}

fn healed(dose: Dose, since: Duration) -> Dose {
    if dose.mode == "healing" { dose.share(dose.share * fading(since, dose.tau_ms)) } else { dose }
}

/// The newest share of the sources: by the day they are of, then by when they were indexed, then by name.
fn newest_sources(mut sources: Vec<StoredSource>, share: f64) -> HashSet<String> {
    sources.sort_by(|left, right| {
        (right.dated, right.indexed_at, &right.source).cmp(&(left.dated, left.indexed_at, &left.source))
    });
    let many = (sources.len() as f64 * share).round() as usize;
    sources.into_iter().take(many).map(|source| source.source).collect()
}

/// What is left of a disturbance after a while: 1 at its beginning, a third after `tau_ms`.
pub fn fading(since: Duration, tau_ms: f64) -> f64 {
    (-(since.as_secs_f64() * 1_000.0) / tau_ms).exp()
}
