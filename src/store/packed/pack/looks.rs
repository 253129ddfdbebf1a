//! The beats of an hour that looked at the list of sources, one mostly: what it showed, and what followed for its age.

use std::io;

use chrono::{DateTime, Utc};

use crate::domain::outcome::Judged;
use crate::domain::reason::FailureReason;
use crate::domain::signal::{Level, Signal};
use crate::store::packed::pack::bits::{BitReader, BitWriter, damaged, read_number};
use crate::store::packed::pack::words;
use crate::store::values::change_set::SourcesLook;
use crate::store::values::past::PastBeat;

/// Bits of a signal's level.
const LEVEL_BITS: u32 = 2;
/// Seconds of the unit that the age of a source is kept in.
const MINUTE: i64 = 60;

/// Writes the level of a signal, and why where it is elevated.
pub(in crate::store::packed::pack) fn write_judged(written: &mut BitWriter, judged: Judged) -> io::Result<()> {
    written.low(LEVEL_BITS, judged.level as u64)?;
    match judged.level {
        Level::Elevated => words::write(written, judged.reason.map_or("", |reason| reason.slug())),
        Level::Calm | Level::Unknown => Ok(()),
    }
}

/// Reads them back.
pub(in crate::store::packed::pack) fn read_judged(read: &mut BitReader<'_>) -> io::Result<Judged> {
    let level = read_number(read, LEVEL_BITS, &Level::ALL)?;
    let reason = if level == Level::Elevated { words::read_or_none(read, FailureReason::from_slug)? } else { None };
    Ok(Judged { level, reason })
}

pub(in crate::store::packed::pack) fn write_looks(
    written: &mut BitWriter,
    hour: DateTime<Utc>,
    beats: &[PastBeat],
) -> io::Result<()> {
    let looks = || beats.iter().enumerate().filter_map(|(place, beat)| Some((place, beat, beat.sources?)));
    written.gamma(looks().count() as u64)?;
    let mut before = 0;
    for (place, beat, sources) in looks() {
        written.gamma((place - std::mem::replace(&mut before, place)) as u64)?;
        write_judged(written, beat.shape.judged[Signal::Freshness as usize])?;
        written.gamma(u64::from(sources.count))?;
        written.bit(sources.knows_newest)?;
        written.bit(sources.newest.is_some())?;
        if let Some(newest) = sources.newest {
            written.signed(hour.timestamp() / MINUTE - newest.timestamp().div_euclid(MINUTE))?;
        }
    }
    Ok(())
}

/// Reads them into beats.
pub(in crate::store::packed::pack) fn read_looks(
    read: &mut BitReader<'_>,
    hour: DateTime<Utc>,
    beats: &mut [PastBeat],
) -> io::Result<()> {
    let mut place = 0_usize;
    for _ in 0..read.count(beats.len())? {
        place = place.saturating_add(read.count(beats.len())?);
        let beat = beats.get_mut(place).ok_or_else(|| damaged("a beat that is not there"))?;
        beat.shape.judged[Signal::Freshness as usize] = read_judged(read)?;
        let count = u32::try_from(read.gamma()?).unwrap_or(u32::MAX);
        let (knows_newest, is_dated) = (read.bit()?, read.bit()?);
        let ago = if is_dated { Some(read.signed()?) } else { None };
        let newest = ago
            .and_then(|ago| DateTime::from_timestamp(hour.timestamp().saturating_sub(ago.saturating_mul(MINUTE)), 0));
        beat.sources = Some(SourcesLook { count, newest, knows_newest });
    }
    Ok(())
}
