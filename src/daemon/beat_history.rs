//! What a monitor's beats came to over the last day: its strip, its hours, and how far time was covered.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::daemon::clock::Clock;
use crate::daemon::strip::Strip;
use crate::domain::outcome::Verdict;
use crate::live::monitor_view::{BeatMark, HourMark};

/// Hours that coverage and uptime look back over.
const DAY_HOURS: i64 = 24;
/// Hours that are kept: those of a day, and the three until yesterday is rolled up; 864 bytes a monitor.
pub(crate) const KEPT_HOURS: i64 = DAY_HOURS + 3;

/// How a beat counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BeatWeight {
    /// Whether it is one of the schedule's.
    pub scheduled: bool,
    /// Whether it fell into maintenance.
    pub apart: bool,
    /// Questions of the schedule that canaries were asked, and those whose answer was right.
    pub answers: (u32, u32),
    /// Until when the next one of the schedule was due, from this one on.
    pub every: Duration,
}

/// The beats of one monitor, counted.
#[derive(Debug)]
pub(crate) struct BeatHistory {
    /// Since when the monitor is known.
    pub first_seen: DateTime<Utc>,
    /// The last beats. Shared with what pages are drawn of, and changed in place: it is copied only when one asks.
    pub strip: Arc<Mutex<Strip>>,
    /// Start of the last beat that was remembered, for covered time.
    pub last_started: Option<Instant>,
    /// Scheduled beats by hour, the oldest first. Shared with pages, as the strip is.
    pub hours: Arc<Mutex<VecDeque<HourMark>>>,
    /// Stretches of the wall clock that never were, since it was set forward over them.
    skipped: VecDeque<(DateTime<Utc>, DateTime<Utc>)>,
    clock: Clock,
}

impl BeatHistory {
    /// No beat yet.
    pub(crate) fn new(first_seen: DateTime<Utc>) -> Self {
        Self {
            first_seen,
            strip: Arc::default(),
            last_started: None,
            hours: Arc::default(),
            skipped: VecDeque::new(),
            clock: Clock::default(),
        }
    }

    /// Time since the last remembered beat, as far as it counts as covered: one interval and a half at most.
    pub(crate) fn covered(&self, started: Instant, every: Duration) -> Duration {
        let most = every.mul_f64(1.5);
        self.last_started.map_or(Duration::ZERO, |last| started.duration_since(last).min(most))
    }

    /// Counts a beat in for strip and coverage; `lived` is the machine's age when it started.
    pub(crate) fn count(&mut self, mark: BeatMark, lived: Duration, weight: BeatWeight) {
        self.skipped.extend(self.clock.skipped(mark.at, lived));
        self.clock.read(mark.at, lived);
        self.strip.lock().push(mark);
        let BeatWeight { scheduled, apart, answers, every } = weight;
        if !scheduled {
            return;
        }
        let hour_us = 3_600_000_000;
        let hour = DateTime::from_timestamp_micros(mark.at.timestamp_micros().div_euclid(hour_us) * hour_us);
        let hour = hour.unwrap_or(mark.at);
        let mut hours = self.hours.lock();
        if hours.back().is_none_or(|last| last.hour != hour) {
            hours.push_back(HourMark { hour, due: 0, due_s: 0, seen: 0, up: 0, apart: 0, asked: 0, right: 0 });
        }
        if let Some(last) = hours.back_mut() {
            last.due += 1;
            last.due_s = last.due_s.saturating_add(u32::try_from(every.as_secs().max(1)).unwrap_or(u32::MAX));
            let (seen, up) = (mark.verdict != Verdict::Unknown, is_up(mark.verdict));
            last.seen += u32::from(seen);
            last.up += u32::from(up && !apart);
            last.apart += u32::from(seen && apart);
            last.asked += answers.0;
            last.right += answers.1;
        }
        let oldest = hour - chrono::Duration::hours(KEPT_HOURS);
        while hours.front().is_some_and(|first| first.hour <= oldest) {
            hours.pop_front();
        }
        drop(hours);
        while self.skipped.front().is_some_and(|(_, to)| *to <= oldest) {
            self.skipped.pop_front();
        }
    }

    /// The beat counted last was not remembered: nobody knows how it went.
    pub(crate) fn take_back(&mut self, BeatWeight { scheduled, apart, answers, .. }: BeatWeight) {
        let Some(verdict) = self.strip.lock().take_back() else { return };
        if let Some(hour) = self.hours.lock().back_mut().filter(|_| scheduled) {
            hour.seen -= u32::from(verdict != Verdict::Unknown);
            hour.up -= u32::from(is_up(verdict) && !apart);
            hour.apart -= u32::from(verdict != Verdict::Unknown && apart);
            hour.asked -= answers.0;
            hour.right -= answers.1;
        }
    }

    /// When a beat last showed us anything.
    pub(crate) fn seen_at(&self) -> Option<DateTime<Utc>> {
        self.strip.lock().seen_at()
    }

    /// Seen ÷ due time and up ÷ seen time outside maintenance over the last day, or since the monitor is known.
    pub(crate) fn coverage(&self, every: Duration, now: DateTime<Utc>) -> (Option<f64>, Option<f64>) {
        let hours = self.hours.lock();
        let day = hours.back().map_or(now, |last| last.hour) - chrono::Duration::hours(DAY_HOURS);
        let hours = || hours.iter().filter(|hour| hour.hour > day);
        let seen: u32 = hours().map(|hour| hour.seen).sum();
        let up: u32 = hours().map(|hour| hour.up).sum();
        let outside: u32 = hours().map(|hour| hour.seen.saturating_sub(hour.apart)).sum();
        if seen == 0 {
            return (None, None);
        }
        let oldest = hours().next().map_or(now, |hour| hour.hour).min(now - chrono::Duration::hours(DAY_HOURS));
        let from = self.first_seen.max(oldest);
        let skipped = self.skipped.iter().map(|(since, to)| (*to - from.max(*since)).to_std().unwrap_or_default());
        let stretch = (now - from).to_std().unwrap_or_default().saturating_sub(skipped.sum());
        let due = (stretch.as_secs_f64() / every.as_secs_f64()).max(f64::from(seen));
        (Some(f64::from(seen) / due), (outside > 0).then(|| f64::from(up) / f64::from(outside)))
    }
}

const fn is_up(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Good | Verdict::Degraded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_falls_into_maintenance_is_covered_and_no_part_of_uptime() {
        let start = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let every = Duration::from_secs(60);
        let mut history = BeatHistory::new(start);
        let mut count = |minute: i64, verdict, apart| {
            let at = start + chrono::TimeDelta::minutes(minute);
            let lived = Duration::from_secs(minute.unsigned_abs() * 60);
            let weight = BeatWeight { scheduled: true, apart, answers: (2, 1), every };
            history.count(BeatMark { at, verdict, reason: None, elapsed_ms: 1.0 }, lived, weight);
        };
        (0..6).for_each(|minute| count(minute, Verdict::Good, false));
        (6..8).for_each(|minute| count(minute, Verdict::Down, false));
        (8..10).for_each(|minute| count(minute, Verdict::Down, true));
        let now = start + chrono::TimeDelta::minutes(10);
        assert_eq!(history.coverage(every, now), (Some(1.0), Some(0.75)), "six of eight");
        history.take_back(BeatWeight { scheduled: true, apart: true, answers: (2, 1), every });
        let answers = history.hours.lock().back().map(|hour| (hour.asked, hour.right));
        assert_eq!(answers, Some((18, 9)), "nor are its answers");
        assert_eq!(history.coverage(every, now), (Some(0.9), Some(0.75)), "one that was not remembered is a gap");
    }
}
