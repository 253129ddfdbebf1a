//! Percentiles of a monitor's calls over any range, and its latest beats.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::fleet::MonitorId;
use crate::domain::latency::code::Code;
use crate::domain::latency::histogram::Latencies;
use crate::domain::observation::{Stage, Variant};
use crate::store::column::micros;
use crate::store::pack::day::Histograms;
use crate::store::past::PastBeat;
use crate::store::roll::Stretch;
use crate::store::{Store, StoreError};

/// Beats that one page may ask for.
const BEATS_MAX: u32 = 1000;
/// How far the latest beats of a slow rhythm are looked for.
const BEATS_WITHIN: TimeDelta = TimeDelta::days(2);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Percentiles of search calls in one slice of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencySlice {
    /// The slice's start.
    pub at: DateTime<Utc>,
    /// Samples in it.
    pub n: u32,
    /// Median in milliseconds.
    pub p50_ms: f64,
    /// 95th percentile in milliseconds; none below 59 samples in the slice is the page's business, not ours.
    pub p95_ms: f64,
    /// The slowest in milliseconds.
    pub max_ms: f64,
    /// Calls that ran into the timeout.
    pub censored: u32,
}

/// One beat of a monitor's recent past.
#[derive(Debug, Clone, PartialEq)]
pub struct BeatLine {
    /// When it started.
    pub at: DateTime<Utc>,
    /// The kind's word.
    pub kind: String,
    /// The verdict's word.
    pub verdict: String,
    /// `seen`, `missed`, `internal`, `uplink`.
    pub seen: String,
    /// The leading cause's word.
    pub reason: Option<String>,
    /// Duration of the whole probe in milliseconds.
    pub elapsed_ms: f64,
}

impl Store {
    /// Percentiles of scheduled search calls (tools/list where a monitor has none), a value a slice; empty slices are left out.
    ///
    /// Of the plain variant: a fresh one pierces caches and is another population. A call that ran
    /// into its timeout counts as longer than every finished one; calls that failed otherwise have no
    /// duration worth the name. All figures are right to two digits. Slices of whole hours or days that begin
    /// with one are made of what those came to, which is quick for months.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn latency(
        &self,
        monitor: &MonitorId,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        slice: Duration,
    ) -> Result<Vec<LatencySlice>, StoreError> {
        if is_made_of(DAY, from, slice) {
            return Ok(of_stretches(&self.days(monitor, from, to).await?, from, slice));
        }
        if is_made_of(HOUR, from, slice) {
            return Ok(of_stretches(&self.hours(monitor, from, to).await?, from, slice));
        }
        self.latency_cut_twice(monitor, from, to, [slice; 2]).await.map(|[slices, _]| slices)
    }

    /// As [`Store::latency`], cut into slices of two lengths, out of the beats themselves and read once.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn latency_cut_twice(
        &self,
        monitor: &MonitorId,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        slices: [Duration; 2],
    ) -> Result<[Vec<LatencySlice>; 2], StoreError> {
        let beats = self.unnamed(monitor, from, to).await?;
        let parts: Vec<Part> = beats.iter().filter(|beat| beat.is_scheduled()).map(of_beat).collect();
        Ok(slices.map(|slice| sliced(&parts, from, slice)))
    }

    /// A monitor's latest beats, the newest first, at most `limit` (1,000 at most), and none older than two days.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn beats(
        &self,
        monitor: &MonitorId,
        limit: u32,
        now: DateTime<Utc>,
    ) -> Result<Vec<BeatLine>, StoreError> {
        let limit = limit.min(BEATS_MAX) as usize;
        let mut lines: Vec<BeatLine> = Vec::new();
        let mut until = now + TimeDelta::hours(1);
        // A usual monitor has enough in the last hours; only a slow one is looked for further back.
        for back in [TimeDelta::hours(3), BEATS_WITHIN] {
            let from = now - back;
            let beats = self.unnamed(monitor, from, until).await?;
            lines.extend(beats.iter().rev().map(line));
            if lines.len() >= limit {
                break;
            }
            until = from;
        }
        lines.truncate(limit);
        Ok(lines)
    }
}

/// Percentiles of hours or days that were read already, as [`Store::latency`] gives them; slices are made of whole
/// ones of them, and those before `from` are left out.
pub fn of_stretches(stretches: &[(DateTime<Utc>, Stretch)], from: DateTime<Utc>, slice: Duration) -> Vec<LatencySlice> {
    let within = stretches.iter().filter(|(at, _)| *at >= from);
    let parts: Vec<Part> = within.map(|(at, stretch)| judged(*at, &stretch.histograms)).collect();
    sliced(&parts, from, slice)
}

/// Whether slices begin and end with a unit of time.
fn is_made_of(unit: Duration, from: DateTime<Utc>, slice: Duration) -> bool {
    slice >= unit && micros(slice) % micros(unit) == 0 && from.timestamp_micros() % micros(unit) == 0
}

fn line(beat: &PastBeat) -> BeatLine {
    BeatLine {
        at: beat.started_at,
        kind: beat.shape.kind.slug().to_owned(),
        verdict: beat.shape.verdict.slug().to_owned(),
        seen: beat.shape.seen.slug().to_owned(),
        reason: beat.shape.reason.map(|reason| reason.slug().to_owned()),
        elapsed_ms: beat.elapsed.as_secs_f64() * 1000.0,
    }
}

/// Calls that are counted in one slice: each step of the scale, whether it ran into its timeout, and how many.
type Calls = Vec<(Code, bool, u32)>;

/// What latency is judged by in a stretch of time: plain searches, or tools/list where there are none.
#[derive(Debug)]
struct Part {
    at: DateTime<Utc>,
    searches: Calls,
    tools: Calls,
}

fn judged(at: DateTime<Utc>, histograms: &Histograms) -> Part {
    let of = |stage: Stage| {
        let judged = histograms.iter().filter(|(series, _)| series.stage == stage && series.variant == Variant::Plain);
        judged.flat_map(|(_, steps)| steps.each()).collect()
    };
    Part { at, searches: of(Stage::Search), tools: of(Stage::Tools) }
}

fn of_beat(beat: &PastBeat) -> Part {
    let asks = beat.asks.iter().filter(|ask| ask.is_timed() && ask.shape.variant == Variant::Plain);
    Part {
        at: beat.started_at,
        searches: asks.map(|ask| (Code::of(ask.elapsed), ask.is_censored(), 1)).collect(),
        tools: beat.stages.tools.map(|elapsed| (Code::of(elapsed), false, 1)).into_iter().collect(),
    }
}

/// Merged parts of each slice, the oldest slice first.
fn sliced(parts: &[Part], from: DateTime<Utc>, slice: Duration) -> Vec<LatencySlice> {
    let width = micros(slice).max(1);
    // A monitor with searches is judged by them alone, in slices without one as well.
    let has_searches = parts.iter().any(|part| !part.searches.is_empty());
    let mut slices: BTreeMap<i64, Latencies> = BTreeMap::new();
    for part in parts {
        let place = (part.at.timestamp_micros() - from.timestamp_micros()).max(0) / width;
        for (code, is_censored, count) in if has_searches { &part.searches } else { &part.tools } {
            slices.entry(place).or_default().record_many(*code, *is_censored, *count);
        }
    }
    slices
        .into_iter()
        .map(|(place, counted)| summed_up(from + TimeDelta::microseconds(place * width), &counted))
        .collect()
}

fn summed_up(at: DateTime<Utc>, counted: &Latencies) -> LatencySlice {
    let ms = |percent| counted.percentile(percent).map_or(0.0, |percentile| percentile.duration.as_secs_f64() * 1000.0);
    LatencySlice {
        at,
        n: u32::try_from(counted.count()).unwrap_or(u32::MAX),
        p50_ms: ms(50),
        p95_ms: ms(95),
        max_ms: ms(100),
        censored: u32::try_from(counted.censored()).unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_right_to_two_digits_and_by_slice() {
        let from = DateTime::from_timestamp_micros(1_000_000_000).unwrap_or_default();
        let call = |second: i64, ms: u64, is_censored| Part {
            at: from + TimeDelta::seconds(second),
            searches: vec![(Code::of(Duration::from_millis(ms)), is_censored, 1)],
            tools: Vec::new(),
        };
        let mut calls: Vec<_> = (1..=100).map(|ms| call(1, ms, false)).collect();
        calls.push(call(130, 10_000, true));
        let slices = sliced(&calls, from, Duration::from_secs(60));
        let near = |given: f64, expected: f64| (given - expected).abs() <= expected * 0.005;
        assert_eq!(slices.len(), 2, "an empty slice is left out");
        let first = slices[0];
        assert!(
            near(first.p50_ms, 50.0) && near(first.p95_ms, 95.0) && near(first.max_ms, 100.0),
            "1 to 100 ms: {first:?}"
        );
        assert_eq!((first.n, first.censored), (100, 0));
        assert_eq!(
            (slices[1].at, slices[1].n, slices[1].censored),
            (from + TimeDelta::seconds(120), 1, 1),
            "a timeout is counted"
        );
    }
}
