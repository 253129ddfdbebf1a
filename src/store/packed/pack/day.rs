//! How long a day's calls took, by stage and variant: a few histograms in some 300 bytes.
//!
//! A histogram is the steps that calls fell on, which mostly lie side by side, and how many fell on each, which is
//! near to how many fell on the one before.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use crate::domain::answer::Variant;
use crate::domain::latency::code::LatencyCode;
use crate::domain::latency::steps::Steps;
use crate::domain::observation::Stage;
use crate::store::packed::pack::bits::{BitReader, BitWriter, damaged};
use crate::store::packed::pack::words;
use crate::store::values::past::PastBeat;

/// How a day is laid out; a later layout has another number.
const LAYOUT: u64 = 2;
/// The first layout: the first step among the gaps, and counts by themselves, which took twice as much.
const LAYOUT_OF_COUNTS: u64 = 1;
/// Series of one day at most that are read: five stages, two variants, fresh or reused.
const SERIES_MAX: usize = 64;
/// Steps of one histogram at most that are read: the whole scale.
const STEPS_MAX: usize = 4_000;

/// Which calls are counted together. Fresh connections and reused ones can be 40 ms apart, and a fresh variant
/// pierces caches: each is a population of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series {
    pub stage: Stage,
    /// Which text of a canary; plain for all other stages.
    pub variant: Variant,
    /// Whether the calls opened their own connection.
    pub fresh_connection: bool,
}

/// The histograms of a stretch of time.
pub(crate) type Histograms = BTreeMap<Series, Steps>;

/// Counts beats of the schedule in.
pub(in crate::store) fn count(histograms: &mut Histograms, beats: &[PastBeat]) {
    // Gathered first, so that a step that many calls fell on is looked up once.
    let mut gathered: Vec<(Series, bool, Vec<LatencyCode>)> = Vec::new();
    let mut gather = |series: Series, is_censored: bool, elapsed: Duration| {
        let known = gathered.iter().position(|(one, censored, _)| *one == series && *censored == is_censored);
        let place = known.unwrap_or_else(|| {
            gathered.push((series, is_censored, Vec::with_capacity(beats.len())));
            gathered.len() - 1
        });
        gathered[place].2.push(LatencyCode::of(elapsed));
    };
    for beat in beats.iter().filter(|beat| beat.is_scheduled()) {
        let stages = [
            (Stage::Connect, beat.stages.connect),
            (Stage::Handshake, beat.stages.handshake),
            (Stage::Tools, beat.stages.tools),
            (Stage::Health, beat.stages.health),
        ];
        for (stage, elapsed) in stages {
            let Some(elapsed) = elapsed else { continue };
            let fresh_connection = stage == Stage::Connect || (stage == Stage::Tools && beat.shape.fresh_connection);
            gather(Series { stage, variant: Variant::Plain, fresh_connection }, false, elapsed);
        }
        for ask in beat.asks.iter().filter(|ask| ask.is_timed()) {
            let (variant, fresh_connection) = (ask.shape.variant, ask.shape.fresh_connection);
            gather(Series { stage: Stage::Search, variant, fresh_connection }, ask.is_censored(), ask.elapsed);
        }
    }
    for (series, is_censored, mut codes) in gathered {
        codes.sort_unstable();
        let counted = histograms.entry(series).or_default();
        for alike in codes.chunk_by(|one, other| one == other) {
            counted.record_many(alike[0], is_censored, u32::try_from(alike.len()).unwrap_or(u32::MAX));
        }
    }
}

/// Adds what another stretch counted.
pub(in crate::store) fn merge(into: &mut Histograms, from: &Histograms) {
    for (series, steps) in from {
        into.entry(*series).or_default().merge(steps);
    }
}

/// Writes histograms.
///
/// # Errors
/// None in practice: nothing is written but memory.
pub(in crate::store) fn encode(histograms: &Histograms) -> io::Result<Vec<u8>> {
    let mut written = BitWriter::new();
    written.gamma(LAYOUT)?;
    written.gamma(histograms.len() as u64)?;
    for (series, counted) in histograms {
        words::write(&mut written, series.stage.slug())?;
        words::write(&mut written, series.variant.slug())?;
        written.bit(series.fresh_connection)?;
        for censored in [false, true] {
            let steps = counted.of(censored);
            written.gamma(steps.len() as u64)?;
            let Some((first, _)) = steps.first() else { continue };
            written.signed(i64::from(first.0))?;
            let gaps = steps.windows(2).map(|pair| i64::from(pair[1].0.0) - i64::from(pair[0].0.0) - 1);
            written.column(&gaps.collect::<Vec<_>>())?;
            let mut before = 0;
            let rises =
                steps.iter().map(|(_, count)| i64::from(*count) - std::mem::replace(&mut before, i64::from(*count)));
            written.column(&rises.collect::<Vec<_>>())?;
        }
    }
    written.bytes()
}

/// Reads histograms back.
///
/// # Errors
/// Where the bytes are no histograms, or those of a later version.
pub(in crate::store) fn decode(bytes: &[u8]) -> io::Result<Histograms> {
    let mut read = BitReader::new(bytes);
    let layout = read.gamma()?;
    if ![LAYOUT, LAYOUT_OF_COUNTS].contains(&layout) {
        return Err(damaged("histograms of a newer Serin"));
    }
    let mut histograms = Histograms::new();
    for _ in 0..read.count(SERIES_MAX)? {
        let stage = words::read(&mut read, Stage::from_slug)?;
        let variant = words::read(&mut read, Variant::from_slug)?;
        let series = Series { stage, variant, fresh_connection: read.bit()? };
        let counted = histograms.entry(series).or_default();
        for censored in [false, true] {
            let steps = if layout == LAYOUT { read_steps(&mut read)? } else { read_counts(&mut read)? };
            for (code, count) in steps {
                let code = u16::try_from(code).map_err(|_| damaged("a step beyond the scale"))?;
                let count = u32::try_from(count).map_err(|_| damaged("a count beyond all counts"))?;
                counted.record_many(LatencyCode(code), censored, count);
            }
        }
    }
    Ok(histograms)
}

fn read_steps(read: &mut BitReader<'_>) -> io::Result<Vec<(i64, i64)>> {
    let steps = read.count(STEPS_MAX)?;
    if steps == 0 {
        return Ok(Vec::new());
    }
    let mut step = (read.signed()?, 0_i64);
    let gaps = read.column(steps - 1)?;
    let rises = read.column(steps)?;
    // The first step has no gap before it.
    let gaps = std::iter::once(-1).chain(gaps);
    let summed = gaps.zip(rises).map(|(gap, rise)| {
        step = (step.0.saturating_add(gap).saturating_add(1), step.1.saturating_add(rise));
        step
    });
    Ok(summed.collect())
}

/// Steps and counts as in the first layout.
fn read_counts(read: &mut BitReader<'_>) -> io::Result<Vec<(i64, i64)>> {
    let steps = read.count(STEPS_MAX)?;
    let (gaps, counts) = (read.column(steps)?, read.column(steps)?);
    let mut code = 0_i64;
    let summed = gaps.into_iter().zip(counts).map(|(gap, count)| {
        code = code.saturating_add(gap);
        (code, count.saturating_add(1))
    });
    Ok(summed.collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_day_of_calls_comes_back_and_is_small() {
        let mut histograms = Histograms::new();
        let series = |stage, fresh_connection| Series { stage, variant: Variant::Plain, fresh_connection };
        for call in 0..2880_u64 {
            let micros = 20_000 + (call * 7919) % 9_000;
            let search = histograms.entry(series(Stage::Search, false)).or_default();
            search.record(LatencyCode::of(Duration::from_micros(micros)), call % 500 == 0);
            let tools = histograms.entry(series(Stage::Tools, true)).or_default();
            tools.record(LatencyCode::of(Duration::from_micros(micros / 3)), false);
        }
        let bytes = encode(&histograms).unwrap();
        assert_eq!(decode(&bytes).unwrap(), histograms);
        assert!(bytes.len() < 160, "two populations of 2,880 calls take {} bytes", bytes.len());
    }

    #[test]
    fn a_day_of_the_first_layout_is_still_read() {
        let mut histograms = Histograms::new();
        let series = Series { stage: Stage::Search, variant: Variant::Plain, fresh_connection: false };
        for call in 0..200_u64 {
            let micros = 20_000 + (call * 7919) % 9_000;
            histograms
                .entry(series)
                .or_default()
                .record(LatencyCode::of(Duration::from_micros(micros)), call % 50 == 0);
        }
        let bytes: Vec<u8> = (0..FIRST_LAYOUT.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&FIRST_LAYOUT[at..at + 2], 16).unwrap())
            .collect();
        assert_eq!(decode(&bytes).unwrap(), histograms);
    }

    /// Those histograms, as they were written before.
    const FIRST_LAYOUT: &str = "486c740ec3ffffe0020ee493264924993264924924c992492493264c92492499320960556231030a\
        3118aac40c2581188c620610c25aaaaac40d058118aa8044f87045004060";

    proptest! {
        #[test]
        fn damaged_bytes_end_in_an_error_or_in_histograms(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(decode(&bytes));
        }
    }
}
