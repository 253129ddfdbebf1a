//! `serin.retention`: how long what is remembered is kept.

use std::ops::RangeInclusive;
use std::time::Duration;

use chrono::TimeDelta;

use crate::config::check::checker::Checker;
use crate::config::read::node::Node;
use crate::domain::fleet::Retention;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Beats are kept until their day is over and summed up, at least; five years are 500 MB a monitor.
const BEATS: RangeInclusive<Duration> = two_days()..=years(5);
/// A quarter's report needs its days; ten years of them are 4 MB a monitor.
const DAYS: RangeInclusive<Duration> = two_days()..=years(10);
/// A post-mortem needs its transcripts for a day, at least.
const TRANSCRIPTS: RangeInclusive<Duration> = DAY..=years(5);

const fn two_days() -> Duration {
    Duration::from_secs(2 * 24 * 3600)
}

const fn years(count: u64) -> Duration {
    Duration::from_secs(count * 366 * 24 * 3600)
}

/// Reads `retention:`; what it does not say stays at its default.
pub(in crate::config) fn retention(checker: &mut Checker<'_>, node: &Node<'_>) -> Retention {
    let defaults = Retention::default();
    let Some(fields) = checker.fields("retention", node, "serin.retention") else { return defaults };
    let mut kept = |key: &str, range, default| {
        let entry = fields.get(key);
        let kept = entry.and_then(|entry| checker.duration(&format!("'{key}'"), &entry.value, range));
        kept.and_then(|kept| TimeDelta::from_std(kept).ok()).unwrap_or(default)
    };
    Retention {
        beats: kept("beats", BEATS, defaults.beats),
        days: kept("days", DAYS, defaults.days),
        transcripts: kept("transcripts", TRANSCRIPTS, defaults.transcripts),
        incidents: kept("incidents", DAYS, defaults.incidents),
    }
}
