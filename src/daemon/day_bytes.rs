//! So many bytes a day and no more: a bound on what one monitor keeps, whatever its server does.

use chrono::{DateTime, Utc};

use crate::domain::rate_limit::Spent;

/// What a monitor kept today (UTC). Memory only: after a restart its day begins anew.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DayBytes {
    day: u32,
    bytes: u32,
}

impl DayBytes {
    /// Whether so many more are within the day's most; they count as kept then.
    pub(crate) fn affords(&mut self, bytes: usize, most: usize, now: DateTime<Utc>) -> bool {
        let day = u32::try_from(Spent::day_of(now)).unwrap_or_default();
        if day != self.day {
            *self = Self { day, bytes: 0 };
        }
        let sum = self.bytes.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        let affords = usize::try_from(sum).is_ok_and(|sum| sum <= most);
        if affords {
            self.bytes = sum;
        }
        affords
    }
}
