//! The hours of a day as a heat map shows them: five figures an hour, a day in some 65 bytes.
//!
//! Percentiles are the steps of the scale on which they fell, so they come back as they were.

use std::io;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::latency::code::LatencyCode;
use crate::store::packed::pack::bits::{BitReader, BitWriter, damaged};
use crate::store::packed::slices::{LatencySlice, Sliced};

/// How hours are laid out; a later layout has another number.
const LAYOUT: u64 = 1;
const HOURS: i64 = 24;

/// Writes the hours of a day that begins at `day`.
///
/// # Errors
/// None in practice: nothing is written but memory.
pub(in crate::store) fn encode(day: DateTime<Utc>, hours: &Sliced) -> io::Result<Vec<u8>> {
    let mut written = BitWriter::new();
    written.gamma(LAYOUT)?;
    written.bit(hours.of_searches)?;
    for hour in 0..HOURS {
        written.bit(hours.slices.iter().any(|slice| slice.at == day + TimeDelta::hours(hour)))?;
    }
    let mut column =
        |figure: fn(&LatencySlice) -> i64| written.around_median(&hours.slices.iter().map(figure).collect::<Vec<_>>());
    column(|slice| i64::from(slice.n))?;
    column(|slice| i64::from(slice.censored))?;
    column(|slice| step(slice.p50_ms))?;
    // Where calls that ran into their timeout are among them, a later percentile may be a shorter wait.
    column(|slice| step(slice.p95_ms) - step(slice.p50_ms))?;
    column(|slice| step(slice.max_ms) - step(slice.p95_ms))?;
    written.bytes()
}

/// Reads the hours of a day back.
///
/// # Errors
/// Where the bytes are none, or those of a later version.
pub(in crate::store) fn decode(day: DateTime<Utc>, bytes: &[u8]) -> io::Result<Sliced> {
    let mut read = BitReader::new(bytes);
    if read.gamma()? != LAYOUT {
        return Err(damaged("hours of a newer Serin"));
    }
    let of_searches = read.bit()?;
    let mut starts = Vec::new();
    for hour in 0..HOURS {
        if read.bit()? {
            starts.push(day + TimeDelta::hours(hour));
        }
    }
    let mut column = || read.around_median(starts.len());
    let (counts, censored, p50, p95, slowest) = (column()?, column()?, column()?, column()?, column()?);
    let mut slices = Vec::with_capacity(starts.len());
    for (place, at) in starts.into_iter().enumerate() {
        let count = |number: i64| u32::try_from(number).map_err(|_| damaged("a count beyond all counts"));
        let p95 = p50[place].saturating_add(p95[place]);
        slices.push(LatencySlice {
            at,
            n: count(counts[place])?,
            censored: count(censored[place])?,
            p50_ms: ms(p50[place])?,
            p95_ms: ms(p95)?,
            max_ms: ms(p95.saturating_add(slowest[place]))?,
        });
    }
    Ok(Sliced { of_searches, slices })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a duration's microseconds, made of a step"
)]
fn step(ms: f64) -> i64 {
    i64::from(LatencyCode::of(Duration::from_micros((ms * 1000.0).round() as u64)).0)
}

fn ms(step: i64) -> io::Result<f64> {
    let code = u16::try_from(step).map_err(|_| damaged("a step beyond the scale"))?;
    Ok(LatencyCode(code).duration().as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn day() -> DateTime<Utc> {
        DateTime::from_timestamp(1_763_683_200, 0).unwrap()
    }

    fn slice(hour: i64, n: u32, steps: [u16; 3]) -> LatencySlice {
        let [p50_ms, p95_ms, max_ms] = steps.map(|step| ms(i64::from(step)).unwrap());
        LatencySlice { at: day() + TimeDelta::hours(hour), n, p50_ms, p95_ms, max_ms, censored: n / 50 }
    }

    #[test]
    fn a_usual_day_comes_back_and_is_small() {
        let slices: Vec<_> = (0..24_u16)
            .map(|hour| {
                slice(i64::from(hour), 120, [1200 + hour * 7 % 11, 1290 + hour * 5 % 23, 1400 + hour * 29 % 97])
            })
            .collect();
        let hours = Sliced { of_searches: true, slices };
        let bytes = encode(day(), &hours).unwrap();
        assert_eq!(decode(day(), &bytes).unwrap(), hours);
        assert!(bytes.len() <= 72, "a day takes {} bytes", bytes.len());
    }

    proptest! {
        #[test]
        fn any_hours_come_back(
            of_searches: bool,
            figures in proptest::collection::btree_map(0..24_i64, (1..=u32::MAX, [0..3_328_u16, 0..3_328, 0..3_328]), 0..24),
        ) {
            let slices = figures.into_iter().map(|(hour, (n, steps))| slice(hour, n, steps)).collect();
            let hours = Sliced { of_searches, slices };
            prop_assert_eq!(decode(day(), &encode(day(), &hours).unwrap()).unwrap(), hours);
        }

        #[test]
        fn damaged_bytes_end_in_an_error_or_in_hours(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            drop(decode(day(), &bytes));
        }
    }
}
