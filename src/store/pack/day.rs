//! How long a day's calls took, by stage and variant: a few histograms in some 300 bytes.

use std::collections::BTreeMap;
use std::io;

use crate::domain::latency::code::Code;
use crate::domain::latency::steps::Steps;
use crate::domain::observation::{Stage, Variant};
use crate::store::pack::bits::{Read, Written, damaged};
use crate::store::pack::words;
use crate::store::past::PastBeat;

/// How a day is laid out; a later layout has another number.
const LAYOUT: u64 = 1;
/// Series of one day at most that are read: five stages, two variants, fresh or reused.
const SERIES_MAX: usize = 64;
/// Steps of one histogram at most that are read: the whole scale.
const STEPS_MAX: usize = 4_000;

/// Which calls are counted together. Fresh connections and reused ones can be 40 ms apart, and a fresh variant
/// pierces caches: each is a population of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series {
    /// The stage.
    pub stage: Stage,
    /// Which text of a canary; plain for all other stages.
    pub variant: Variant,
    /// Whether the calls opened their own connection.
    pub fresh_connection: bool,
}

/// The histograms of a stretch of time.
pub type Histograms = BTreeMap<Series, Steps>;

/// Counts beats of the schedule in.
pub(in crate::store) fn count(histograms: &mut Histograms, beats: &[PastBeat]) {
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
            let series = Series { stage, variant: Variant::Plain, fresh_connection };
            histograms.entry(series).or_default().record(Code::of(elapsed), false);
        }
        for ask in beat.asks.iter().filter(|ask| ask.is_timed()) {
            let shape = ask.shape;
            let series =
                Series { stage: Stage::Search, variant: shape.variant, fresh_connection: shape.fresh_connection };
            histograms.entry(series).or_default().record(Code::of(ask.elapsed), ask.is_censored());
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
    let mut written = Written::new();
    written.gamma(LAYOUT)?;
    written.gamma(histograms.len() as u64)?;
    for (series, counted) in histograms {
        words::write(&mut written, series.stage.slug())?;
        words::write(&mut written, series.variant.slug())?;
        written.bit(series.fresh_connection)?;
        for censored in [false, true] {
            let steps = counted.of(censored);
            written.gamma(steps.len() as u64)?;
            let mut before = 0;
            let gaps =
                steps.iter().map(|(code, _)| i64::from(code.0) - std::mem::replace(&mut before, i64::from(code.0)));
            written.column(&gaps.collect::<Vec<_>>())?;
            written.column(&steps.iter().map(|(_, count)| i64::from(*count) - 1).collect::<Vec<_>>())?;
        }
    }
    written.bytes()
}

/// Reads histograms back.
///
/// # Errors
/// Where the bytes are no histograms, or those of a later version.
pub(in crate::store) fn decode(bytes: &[u8]) -> io::Result<Histograms> {
    let mut read = Read::new(bytes);
    if read.gamma()? != LAYOUT {
        return Err(damaged("histograms of a newer Serin"));
    }
    let mut histograms = Histograms::new();
    for _ in 0..read.count(SERIES_MAX)? {
        let stage = words::read(&mut read, Stage::from_slug)?;
        let variant = words::read(&mut read, Variant::from_slug)?;
        let series = Series { stage, variant, fresh_connection: read.bit()? };
        let counted = histograms.entry(series).or_default();
        for censored in [false, true] {
            let steps = read.count(STEPS_MAX)?;
            let gaps = read.column(steps)?;
            let mut code = 0_i64;
            for (gap, count) in gaps.into_iter().zip(read.column(steps)?) {
                code = code.saturating_add(gap);
                let step = u16::try_from(code).map_err(|_| damaged("a step beyond the scale"))?;
                let count = u32::try_from(count.saturating_add(1)).map_err(|_| damaged("a count beyond all counts"))?;
                counted.record_many(Code(step), censored, count);
            }
        }
    }
    Ok(histograms)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_day_of_calls_comes_back_and_is_small() {
        let mut histograms = Histograms::new();
        let series = |stage, fresh_connection| Series { stage, variant: Variant::Plain, fresh_connection };
        for call in 0..2880_u64 {
            let micros = 20_000 + (call * 7919) % 9_000;
            let search = histograms.entry(series(Stage::Search, false)).or_default();
            search.record(Code::of(Duration::from_micros(micros)), call % 500 == 0);
            let tools = histograms.entry(series(Stage::Tools, true)).or_default();
            tools.record(Code::of(Duration::from_micros(micros / 3)), false);
        }
        let bytes = encode(&histograms).unwrap();
        assert_eq!(decode(&bytes).unwrap(), histograms);
        assert!(bytes.len() < 250, "two populations of 2,880 calls take {} bytes", bytes.len());
    }

    proptest! {
        #[test]
        fn damaged_bytes_end_in_an_error_or_in_histograms(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(decode(&bytes));
        }
    }
}
