//! Durations as steps of the latency scale.

use std::io;
use std::time::Duration;

use crate::domain::latency::code::LatencyCode;
use crate::store::packed::pack::bits::damaged;

pub(in crate::store::packed::pack) fn code(duration: Duration) -> i64 {
    i64::from(LatencyCode::of(duration).0)
}

/// The duration of a step.
///
/// # Errors
/// Where there is no such step.
pub(in crate::store::packed::pack) fn duration(code: i64) -> io::Result<Duration> {
    let code = u16::try_from(code).map_err(|_| damaged("a duration beyond the scale"))?;
    Ok(LatencyCode(code).duration())
}
