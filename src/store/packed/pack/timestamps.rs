//! When beats were due and when they started, to the hundredth of a second.
//!
//! A rhythm is a grid with some jitter: a moment is written as how many of the usual gaps lie between it and the one
//! before, which is nearly always one, and as its distance from the grid. The gap from beat to beat would hold the
//! jitter of both.

use std::io;

use chrono::{DateTime, Utc};

use crate::store::packed::pack::bits::{BitReader, BitWriter, damaged, median};
use crate::store::values::past::PastBeat;

/// Milliseconds of the unit that moments are kept in.
const UNIT_MS: i64 = 10;
/// Units of a second: rhythms are declared in whole ones.
const SECOND: i64 = 1000 / UNIT_MS;

/// Writes the moments of beats that are sorted by their start.
pub(in crate::store::packed::pack) fn write_timestamps(
    written: &mut BitWriter,
    hour: DateTime<Utc>,
    beats: &[PastBeat],
) -> io::Result<()> {
    let since = |timestamp: DateTime<Utc>| units(timestamp) - units(hour);
    let scheduled: Vec<i64> = beats.iter().map(|beat| since(beat.scheduled_at)).collect();
    let (first, every) = (scheduled.first().copied().unwrap_or_default(), usual_gap(&scheduled));
    written.signed(first)?;
    written.signed(every)?;
    // The place on the grid that is nearest.
    let turns: Vec<i64> = scheduled.iter().map(|at| (at - first + every / 2).div_euclid(every)).collect();
    written.column(&turns.windows(2).map(|pair| pair[1] - pair[0] - 1).collect::<Vec<_>>())?;
    let off = scheduled.iter().zip(&turns).skip(1).map(|(at, turn)| at - first - turn * every);
    written.around_median(&off.collect::<Vec<_>>())?;
    let late = beats.iter().zip(&scheduled).map(|(beat, scheduled)| since(beat.started_at) - scheduled);
    written.around_median(&late.collect::<Vec<_>>())
}

/// Reads when each beat was due and when it started.
pub(in crate::store::packed::pack) fn read_timestamps(
    read: &mut BitReader<'_>,
    hour: DateTime<Utc>,
    count: usize,
) -> io::Result<Vec<(DateTime<Utc>, DateTime<Utc>)>> {
    let first = units(hour).saturating_add(read.signed()?);
    let every = read.signed()?;
    let steps = read.column(count.saturating_sub(1))?;
    let off = read.around_median(count.saturating_sub(1))?;
    let late = read.around_median(count)?;
    let (mut turn, mut moments) = (0_i64, Vec::with_capacity(count));
    for (place, late) in late.into_iter().enumerate() {
        let mut scheduled = first;
        if place > 0 {
            turn = turn.saturating_add(steps[place - 1]).saturating_add(1);
            scheduled = first.saturating_add(turn.saturating_mul(every)).saturating_add(off[place - 1]);
        }
        moments.push((timestamp(scheduled)?, timestamp(scheduled.saturating_add(late))?));
    }
    Ok(moments)
}

/// Reads the moments of the first layout: gaps and lateness, in milliseconds.
pub(in crate::store::packed::pack) fn read_gaps(
    read: &mut BitReader<'_>,
    hour: DateTime<Utc>,
    count: usize,
) -> io::Result<Vec<(DateTime<Utc>, DateTime<Utc>)>> {
    let mut scheduled = hour.timestamp_millis().saturating_add(read.signed()?);
    let gaps = read.around_median(count.saturating_sub(1))?;
    let late = read.around_median(count)?;
    let mut moments = Vec::with_capacity(count);
    for (place, late) in late.into_iter().enumerate() {
        if place > 0 {
            scheduled = scheduled.saturating_add(gaps[place - 1]);
        }
        moments.push((at_ms(scheduled)?, at_ms(scheduled.saturating_add(late))?));
    }
    Ok(moments)
}

/// The middle gap in whole seconds, at least one.
fn usual_gap(scheduled: &[i64]) -> i64 {
    let gap = median(&scheduled.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>());
    ((gap + SECOND / 2).div_euclid(SECOND) * SECOND).max(SECOND)
}

fn units(timestamp: DateTime<Utc>) -> i64 {
    timestamp.timestamp_millis().div_euclid(UNIT_MS)
}

fn timestamp(units: i64) -> io::Result<DateTime<Utc>> {
    at_ms(units.saturating_mul(UNIT_MS))
}

fn at_ms(millis: i64) -> io::Result<DateTime<Utc>> {
    DateTime::from_timestamp_millis(millis).ok_or_else(|| damaged("a moment beyond all time"))
}
