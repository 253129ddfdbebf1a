//! The ranges of time that pages and the API can be asked for, and how each is cut into slices.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

/// A bound on a P95 takes so many samples (RETRIEVAL §4).
pub(crate) const P95_SAMPLES_MIN: u32 = 59;
/// Points of the median's line that a chart of beats aims at.
const FINE_SLICES: u64 = 72;
/// Missed beats and re-asks leave a few samples out; a tenth more time makes up for them.
const SPARE: f64 = 1.1;
const HOUR_S: u64 = 3_600;
const DAY_S: u64 = 24 * HOUR_S;
/// A beat so often and less leaves three hours with a dozen points at most.
const RARE: Duration = Duration::from_mins(15);
/// Lengths of slices of beats, in seconds, that divide a day into whole parts.
const OF_BEATS: [u64; 11] = [10, 30, 60, 120, 300, 600, 900, 1_800, 2_400, 3_600, 7_200];
/// The same for slices made of whole hours.
const OF_HOURS: [u64; 7] = [HOUR_S, 2 * HOUR_S, 3 * HOUR_S, 4 * HOUR_S, 6 * HOUR_S, 12 * HOUR_S, DAY_S];
/// The same for slices made of whole days; more than a fortnight says nothing of three months.
const OF_DAYS: [u64; 4] = [DAY_S, 2 * DAY_S, 7 * DAY_S, 14 * DAY_S];

/// A range of time that ends now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Range {
    HalfHour,
    Hour,
    /// Three hours: what the monitor's page opens with, since incidents live there.
    ThreeHours,
    Day,
    Week,
    Month,
    Quarter,
}

/// What the slices of a range are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grain {
    Beats,
    Hours,
    Days,
}

/// A stretch of time, cut into slices. Slices begin at whole multiples of their length, so that a chart drawn again shows the
/// same figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    pub grain: Grain,
    /// The start of the first slice; at most one slice before the range's own start.
    pub from: DateTime<Utc>,
    pub to: DateTime<Utc>,
    /// Length of a slice of the median.
    pub fine: Duration,
    /// Length of a slice of P95, long enough for its samples where that can be.
    pub coarse: Duration,
}

impl Range {
    /// All of them, the shortest first.
    pub(crate) const ALL: [Self; 7] =
        [Self::HalfHour, Self::Hour, Self::ThreeHours, Self::Day, Self::Week, Self::Month, Self::Quarter];

    /// The word in addresses and on pages.
    pub(crate) const fn slug(self) -> &'static str {
        match self {
            Self::HalfHour => "30m",
            Self::Hour => "1h",
            Self::ThreeHours => "3h",
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Month => "30d",
            Self::Quarter => "90d",
        }
    }

    pub(crate) fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|range| range.slug() == slug)
    }

    pub(crate) const fn length(self) -> TimeDelta {
        match self {
            Self::HalfHour => TimeDelta::minutes(30),
            Self::Hour => TimeDelta::hours(1),
            Self::ThreeHours => TimeDelta::hours(3),
            Self::Day => TimeDelta::hours(24),
            Self::Week => TimeDelta::days(7),
            Self::Month => TimeDelta::days(30),
            Self::Quarter => TimeDelta::days(90),
        }
    }

    /// What its slices are made of.
    pub(crate) const fn grain(self) -> Grain {
        match self {
            Self::HalfHour | Self::Hour | Self::ThreeHours | Self::Day => Grain::Beats,
            Self::Week => Grain::Hours,
            Self::Month | Self::Quarter => Grain::Days,
        }
    }
}

/// Cuts a range, for a monitor with a beat `every` so often and so many samples per beat.
pub(crate) fn cut(range: Range, every: Duration, per_beat: u32, now: DateTime<Utc>) -> Cut {
    of_grain(range.grain(), (now - range.length(), now), every, per_beat)
}

/// Cuts any stretch of time, as [`cut`] cuts a range of its length.
pub(crate) fn cut_between(from: DateTime<Utc>, to: DateTime<Utc>, every: Duration, per_beat: u32) -> Cut {
    let grain = Range::ALL.into_iter().find(|range| range.length() >= to - from).map_or(Grain::Days, Range::grain);
    of_grain(grain, (from, to), every, per_beat)
}

fn of_grain(grain: Grain, (from, to): (DateTime<Utc>, DateTime<Utc>), every: Duration, per_beat: u32) -> Cut {
    let p95_takes = every.as_secs_f64() * f64::from(P95_SAMPLES_MIN) / f64::from(per_beat.max(1)) * SPARE;
    let lengths: &[u64] = match grain {
        Grain::Beats => &OF_BEATS,
        Grain::Hours => &OF_HOURS,
        Grain::Days => &OF_DAYS,
    };
    let pace = match grain {
        Grain::Beats => Duration::from_secs((to - from).num_seconds().unsigned_abs() / FINE_SLICES),
        Grain::Hours | Grain::Days => Duration::ZERO,
    };
    let fine = shortest(lengths, pace.max(every));
    let coarse = shortest(lengths, Duration::from_secs_f64(p95_takes).max(fine));
    Cut { grain, from: floor(from, coarse), to, fine, coarse }
}

/// The range that a chart opens with where nobody asked for one: three hours, or a day where beats are rare; and less for
/// a monitor that is younger, so that it is not mostly empty.
pub(crate) fn fitting(every: Duration, first_seen: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Range {
    let usual = if every >= RARE { Range::Day } else { Range::ThreeHours };
    let holds = |range: &Range| first_seen.is_some_and(|first| first >= now - range.length());
    [Range::HalfHour, Range::Hour, Range::ThreeHours]
        .into_iter()
        .find(|range| every < RARE && holds(range))
        .unwrap_or(usual)
}

/// The last whole multiple of a length, counted from 1970, that is not after a moment.
pub(crate) fn floor(at: DateTime<Utc>, length: Duration) -> DateTime<Utc> {
    let length = i64::try_from(length.as_micros()).unwrap_or(i64::MAX).max(1);
    let micros = at.timestamp_micros();
    // Built anew: a clock's nanoseconds would stay behind, and a whole hour would begin after itself.
    DateTime::from_timestamp_micros(micros - micros.rem_euclid(length)).unwrap_or(at)
}

/// The start of the hour that holds a moment.
pub(crate) fn hour_of(at: DateTime<Utc>) -> DateTime<Utc> {
    floor(at, Duration::from_secs(HOUR_S))
}

/// The start of the day (UTC) that holds a moment.
pub(crate) fn day_of(at: DateTime<Utc>) -> DateTime<Utc> {
    floor(at, Duration::from_secs(DAY_S))
}

fn shortest(lengths: &[u64], least: Duration) -> Duration {
    let fits = lengths.iter().copied().map(Duration::from_secs).find(|length| *length >= least);
    fits.unwrap_or_else(|| Duration::from_secs(lengths.last().copied().unwrap_or(HOUR_S)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_into_slices_that_its_grain_can_answer() {
        let now = DateTime::from_timestamp(1_795_271_063, 123_456_789).unwrap();
        let rows = [
            (
                Range::ThreeHours,
                60,
                2,
                300,
                2_400,
                "three hours: some seventy points aimed at, P95 where 59 samples are",
            ),
            (Range::Day, 60, 2, 1_800, 2_400, "a day by half hours"),
            (Range::Day, 3_600, 1, 3_600, 7_200, "a slow monitor has no slice with enough; the longest is taken"),
            (Range::Week, 60, 2, 3_600, 3_600, "a week by hours"),
            (Range::Week, 600, 1, 3_600, 43_200, "P95 of a slower monitor by half days"),
            (Range::Month, 60, 2, 86_400, 86_400, "a month by days"),
            (Range::Quarter, 60, 2, 86_400, 86_400, "three months by days"),
            (Range::Quarter, 3_600, 1, 86_400, 604_800, "P95 of an hourly monitor by weeks"),
        ];
        for (range, every, per_beat, fine, coarse, sentence) in rows {
            let cut = cut(range, Duration::from_secs(every), per_beat, now);
            assert_eq!((cut.fine.as_secs(), cut.coarse.as_secs()), (fine, coarse), "{sentence}");
            assert!(cut.from <= now - range.length(), "{sentence}: it holds the whole range");
            let unit = match range.grain() {
                Grain::Beats => 1,
                Grain::Hours => 3_600,
                Grain::Days => 86_400,
            };
            assert_eq!(cut.from.timestamp_subsec_nanos(), 0, "{sentence}: to the nanosecond");
            assert_eq!((cut.from.timestamp() % unit, fine % unit.unsigned_abs()), (0, 0), "{sentence}: by whole units");
        }
    }

    #[test]
    fn a_chart_opens_with_what_there_is() {
        let now = DateTime::from_timestamp(1_795_271_063, 0).unwrap();
        let rows = [
            (60, Some(20), Range::HalfHour, "twenty minutes old"),
            (60, Some(31), Range::Hour, "half an hour and a bit"),
            (60, Some(61), Range::ThreeHours, "an hour and a bit"),
            (60, Some(60 * 24 * 9), Range::ThreeHours, "nine days old"),
            (60, None, Range::ThreeHours, "nobody knows since when"),
            (3_600, Some(20), Range::Day, "a beat an hour takes a day to say anything"),
        ];
        for (every, age_minutes, range, sentence) in rows {
            let first = age_minutes.map(|minutes| now - TimeDelta::minutes(minutes));
            assert_eq!(fitting(Duration::from_secs(every), first, now), range, "{sentence}");
        }
    }

    #[test]
    fn words_come_back() {
        for range in Range::ALL {
            assert_eq!(Range::from_slug(range.slug()), Some(range));
        }
        assert_eq!(Range::from_slug("1y"), None, "what is not offered is not guessed");
    }
}
