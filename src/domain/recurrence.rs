//! Moments that come again and again by the clock of a zone, as windows of maintenance and drills have them.
//!
//! A start in the gap of a clock change runs at the first instant after it, and one that the clock shows twice runs once.
//! Zones are compiled in, so that no machine knows older rules than another.

use chrono::{DateTime, TimeDelta, Utc};
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, Zoned};

/// Further than any clock is ever changed: no start is missed in the hours around it.
const CHANGE_MAX: jiff::SignedDuration = jiff::SignedDuration::from_hours(3);
/// Starts looked at for one that counts: of each minute in the hours around a change, with room to spare.
const STARTS_MAX: usize = 1_000;

/// A cron expression, and the zone whose clock counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Recurrence {
    cron: Box<Cron>,
    zone: TimeZone,
}

/// Reads a cron expression: five fields, a minute first.
///
/// # Errors
/// What is wrong with it, in a sentence.
pub fn parsed(text: &str) -> Result<Cron, String> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(text).map_err(|error| error.to_string())
}

/// A moment in UTC, such as `2026-11-29 02:00 UTC`.
pub(crate) fn shown_in_utc(at: DateTime<Utc>) -> String {
    shown_in(&TimeZone::UTC, at)
}

impl Recurrence {
    /// What comes by this expression where this zone's clock shows it.
    pub fn new(cron: Cron, zone: TimeZone) -> Self {
        Self { cron: Box::new(cron), zone }
    }

    /// Expression and zone as one text, as the parser has them. Two that differ may still come at the same moments.
    pub fn written(&self) -> String {
        format!("{} {}", self.cron.as_str(), self.zone.iana_name().unwrap_or_default())
    }

    /// Whether two starts are less than an hour apart, of which a clock change is no part.
    pub fn is_more_than_hourly(&self) -> bool {
        // Minutes are the same in every hour that fits, so that the first such hour shows whether there are several.
        let unchanged = Self { cron: self.cron.clone(), zone: TimeZone::UTC };
        let first = unchanged.next_after(DateTime::UNIX_EPOCH, 3);
        first.windows(2).any(|two| two[1] - two[0] < TimeDelta::hours(1))
    }

    /// A moment by the clock that counts, such as `2026-11-29 02:00 CET`.
    pub fn shown(&self, at: DateTime<Utc>) -> String {
        shown_in(&self.zone, at)
    }

    /// The latest start that is not after a moment.
    pub fn last(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let mut clock = as_shown(&self.zone, now, CHANGE_MAX)?;
        for _ in 0..STARTS_MAX {
            clock = self.cron.find_previous_occurrence(&clock, false).ok()?;
            let at = instant(&self.zone, clock.datetime())?;
            if at <= now {
                return Some(at);
            }
        }
        None
    }

    /// The next so many starts after a moment, each instant once.
    pub fn next_after(&self, now: DateTime<Utc>, count: usize) -> Vec<DateTime<Utc>> {
        let mut found: Vec<DateTime<Utc>> = Vec::new();
        let Some(mut clock) = as_shown(&self.zone, now, -CHANGE_MAX) else { return found };
        for _ in 0..STARTS_MAX {
            if found.len() >= count {
                break;
            }
            let Ok(next) = self.cron.find_next_occurrence(&clock, false) else { break };
            clock = next;
            let Some(at) = instant(&self.zone, clock.datetime()) else { break };
            if at > now && found.last() != Some(&at) {
                found.push(at);
            }
        }
        found
    }
}

fn shown_in(zone: &TimeZone, at: DateTime<Utc>) -> String {
    let at = Timestamp::from_microsecond(at.timestamp_micros()).unwrap_or_default();
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M %Z").to_string()
}

/// What the clock of a zone shows at a moment, moved by so much, as if it were never changed.
fn as_shown(zone: &TimeZone, now: DateTime<Utc>, by: jiff::SignedDuration) -> Option<Zoned> {
    let at = Timestamp::from_microsecond(now.timestamp_micros()).ok()?;
    let shown = zone.to_datetime(at).checked_add(by).ok()?;
    shown.to_zoned(TimeZone::UTC).ok()
}

/// The instant at which a zone's clock shows this for the first time; where it skips it, the first instant after the gap.
fn instant(zone: &TimeZone, shown: civil::DateTime) -> Option<DateTime<Utc>> {
    let at = match zone.to_ambiguous_timestamp(shown).offset() {
        AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
            offset.to_timestamp(shown).ok()?
        }
        AmbiguousOffset::Gap { before, .. } => {
            // By the offset before it, what is shown lies behind the change: the last change up to there is this one.
            let behind = before.to_timestamp(shown).ok()?.checked_add(jiff::SignedDuration::from_nanos(1)).ok()?;
            zone.preceding(behind).next()?.timestamp()
        }
    };
    DateTime::from_timestamp_micros(at.as_microsecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn starts_follow_the_clock_of_their_zone() {
        // Berlin: forward on 2027-03-28 at 01:00 UTC, back on 2026-10-25 at 01:00 UTC. Lord Howe changes by half an hour.
        let rows = [
            ("30 2 * * *", "UTC", "2026-11-25T00:00:00Z", "2026-11-25T02:30:00Z", "2026-11-26T02:30:00Z", "in UTC"),
            (
                "30 2 * * *",
                "Europe/Berlin",
                "2026-11-25T02:00:00Z",
                "2026-11-26T01:30:00Z",
                "2026-11-27T01:30:00Z",
                "by winter time, an hour ahead",
            ),
            (
                "30 2 * * *",
                "Europe/Berlin",
                "2027-03-27T12:00:00Z",
                "2027-03-28T01:00:00Z",
                "2027-03-29T00:30:00Z",
                "in the gap: the first instant after it",
            ),
            (
                "0 2,3 * * *",
                "Europe/Berlin",
                "2027-03-27T12:00:00Z",
                "2027-03-28T01:00:00Z",
                "2027-03-29T00:00:00Z",
                "two starts that become one instant are one",
            ),
            (
                "30 2 * * *",
                "Europe/Berlin",
                "2026-10-24T12:00:00Z",
                "2026-10-25T00:30:00Z",
                "2026-10-26T01:30:00Z",
                "what is shown twice starts once",
            ),
            (
                "30 2 * * *",
                "Europe/Berlin",
                "2026-10-25T00:45:00Z",
                "2026-10-26T01:30:00Z",
                "2026-10-27T01:30:00Z",
                "also between the first time and the second",
            ),
            (
                "15 2 * * *",
                "Australia/Lord_Howe",
                "2026-10-03T12:00:00Z",
                "2026-10-03T15:30:00Z",
                "2026-10-04T15:15:00Z",
                "a gap of half an hour",
            ),
            (
                "0 22 * * 5",
                "America/New_York",
                "2026-11-25T00:00:00Z",
                "2026-11-28T03:00:00Z",
                "2026-12-05T03:00:00Z",
                "5 is Friday",
            ),
            (
                "0 4 1 * *",
                "Asia/Tokyo",
                "2026-11-25T00:00:00Z",
                "2026-11-30T19:00:00Z",
                "2026-12-31T19:00:00Z",
                "on the first of the month, there",
            ),
        ];
        for (cron, zone, now, first, second, sentence) in rows {
            let starts = Recurrence::new(parsed(cron).unwrap(), TimeZone::get(zone).unwrap());
            let found = starts.next_after(at(now), 2);
            assert_eq!(found, [at(first), at(second)], "{cron} in {zone} {sentence}");
        }
    }

    #[test]
    fn five_fields_and_no_more() {
        for (text, good) in [
            ("30 2 * * 1-5", true),
            ("0 0 30 2 *", true),
            ("30 2 * *", false),
            ("0 30 2 * * *", false),
            ("x", false),
            ("99 * * * *", false),
        ] {
            assert_eq!(parsed(text).is_ok(), good, "{text}");
        }
        let never = Recurrence::new(parsed("0 0 30 2 *").unwrap(), TimeZone::UTC);
        assert!(never.next_after(at("2026-11-25T00:00:00Z"), 1).is_empty(), "no such day");
    }

    #[test]
    fn several_minutes_of_one_hour_are_more_than_hourly() {
        let rows = [
            ("0 10 * * mon", false),
            ("0 * * * *", false),
            ("30 1,2 * * *", false),
            ("59 23 * * *", false),
            ("0,30 10 * * mon", true),
            ("*/59 10 1 1 *", true),
            ("* * * * *", true),
        ];
        for (text, expected) in rows {
            let starts = Recurrence::new(parsed(text).unwrap(), TimeZone::get("Europe/Berlin").unwrap());
            assert_eq!(starts.is_more_than_hourly(), expected, "{text}");
        }
    }
}
