//! Percentiles of a monitor's calls over any range, and its latest beats.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::monitor::MonitorId;
use crate::store::packed::roll::Stretch;
use crate::store::packed::slices;
use crate::store::packed::slices::{LatencySlice, SlicePart, sliced};
use crate::store::read::readers::Readers;
use crate::store::values::column::micros;
use crate::store::values::error::StoreError;
use crate::store::values::past::PastBeat;

/// Beats that one page may ask for.
const BEATS_MAX: u32 = 1000;
/// How far the latest beats of a slow rhythm are looked for.
const BEATS_WITHIN: TimeDelta = TimeDelta::days(2);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// One beat of a monitor's recent past.
#[derive(Debug, Clone, PartialEq)]
pub struct BeatLine {
    pub at: DateTime<Utc>,
    pub kind: String,
    pub verdict: String,
    /// `seen`, `missed`, `internal`, `uplink`.
    pub seen: String,
    /// The leading cause's word.
    pub reason: Option<String>,
    /// Duration of the whole probe in milliseconds.
    pub elapsed_ms: f64,
}

/// Percentiles of one stretch of time, cut in three ways; what holds no call is left out of each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LatencyCut {
    /// Short slices, the oldest first.
    pub fine: Vec<LatencySlice>,
    /// Longer ones, for P95.
    pub coarse: Vec<LatencySlice>,
    /// Windows as long as the coarse slices, one at each end of a fine one: nothing in them came after their moment.
    pub trailing: Vec<LatencySlice>,
}

impl Readers {
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
        self.latency_cut(monitor, from, to, [slice; 2]).await.map(|cut| cut.coarse)
    }

    /// As [`Readers::latency`], cut into slices of two lengths, the finer first, and into windows of the coarser that trail
    /// behind each end of a finer one; out of the beats themselves and read once.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn latency_cut(
        &self,
        monitor: &MonitorId,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        [fine, coarse]: [Duration; 2],
    ) -> Result<LatencyCut, StoreError> {
        // The first windows reach back beyond the first slice.
        let beats = self.unnamed(monitor, from - coarse, to).await?;
        let parts: Vec<SlicePart> = beats.iter().filter(|beat| beat.is_scheduled()).map(SlicePart::of_beat).collect();
        let within = &parts[parts.partition_point(|part| part.at() < from)..];
        Ok(LatencyCut {
            fine: sliced(within, from, fine).slices,
            coarse: sliced(within, from, coarse).slices,
            trailing: slices::trailing(&parts, (from, to), fine, coarse),
        })
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

/// Percentiles of hours or days that were read already, as [`Readers::latency`] gives them; slices are made of whole
/// ones of them, and those before `from` are left out.
pub(crate) fn of_stretches(
    stretches: &[(DateTime<Utc>, Stretch)],
    from: DateTime<Utc>,
    slice: Duration,
) -> Vec<LatencySlice> {
    let within = stretches.iter().filter(|(at, _)| *at >= from);
    slices::of_histograms(within.map(|(at, stretch)| (*at, &stretch.histograms)), from, slice).slices
}

/// The same, cut as [`Readers::latency_cut`] cuts beats.
pub(crate) fn cut_stretches(
    stretches: &[(DateTime<Utc>, Stretch)],
    (from, to): (DateTime<Utc>, DateTime<Utc>),
    [fine, coarse]: [Duration; 2],
) -> LatencyCut {
    let mut all: Vec<_> = stretches.iter().map(|(at, stretch)| (*at, &stretch.histograms)).collect();
    all.sort_by_key(|(at, _)| *at);
    LatencyCut {
        fine: of_stretches(stretches, from, fine),
        coarse: of_stretches(stretches, from, coarse),
        trailing: slices::trailing_of_histograms(all.into_iter(), (from, to), fine, coarse),
    }
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
