//! The share of failed search calls in a sliding window.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::outcome::Evidence;
use crate::domain::reason::FailureReason;
use crate::domain::rules::ErrorsRule;
use crate::domain::signal::{Level, Reading};

/// Calls kept at most, whatever the window.
const CALLS_MAX: usize = 4_800;
/// Room for runs of calls that a copy has beyond what it holds: the state is copied with each beat, which adds its own.
const ROOM: usize = 2;

/// One search call: answered, or failed for a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchCall {
    /// When its beat started, in UTC microseconds.
    pub at_us: i64,
    /// Why it failed; none where it was answered, rightly or wrongly.
    pub failed: Option<FailureReason>,
}

/// The calls of one monitor's window, the oldest first; those of one beat that came to the same are kept as one.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct ErrorsWindow {
    runs: VecDeque<CallRun>,
}

impl Clone for ErrorsWindow {
    fn clone(&self) -> Self {
        let mut runs = VecDeque::with_capacity(self.runs.len() + ROOM);
        runs.extend(&self.runs);
        Self { runs }
    }
}

/// So many calls of one beat that came to the same; as flat as can be, since every monitor of a fleet keeps a dozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CallRun {
    at_us: i64,
    times: u16,
    failed: Option<FailureReason>,
}

impl ErrorsWindow {
    /// Takes in a call. One that another signal tells of is no call of this one: one cause, one incident.
    pub fn push(&mut self, call: SearchCall) {
        if call.failed.is_some_and(is_elsewhere) {
            return;
        }
        if let Some(run) = self
            .runs
            .back_mut()
            .filter(|run| run.at_us == call.at_us && run.failed == call.failed && run.times < u16::MAX)
        {
            run.times += 1;
        } else {
            if self.runs.len() == self.runs.capacity() {
                self.runs.reserve_exact(ROOM);
            }
            self.runs.push_back(CallRun { at_us: call.at_us, times: 1, failed: call.failed });
        }
        if self.len() > CALLS_MAX {
            self.forget_oldest();
        }
    }

    /// How many calls it holds.
    fn len(&self) -> usize {
        self.runs.iter().map(|run| usize::from(run.times)).sum()
    }

    fn forget_oldest(&mut self) {
        match self.runs.front_mut() {
            Some(run) if run.times > 1 => run.times -= 1,
            _ => drop(self.runs.pop_front()),
        }
    }

    /// Forgets what is older than the window.
    pub fn trim(&mut self, window: Duration, now: DateTime<Utc>) {
        let oldest_us = now.timestamp_micros() - i64::try_from(window.as_micros()).unwrap_or(i64::MAX);
        while self.runs.front().is_some_and(|run| run.at_us < oldest_us) {
            self.runs.pop_front();
        }
    }

    /// What the window says. An open incident stays elevated until the share is under half the limit.
    pub fn reading(&self, rule: &ErrorsRule, open: bool) -> Reading {
        let all = self.len();
        if all == 0 {
            return Reading { level: Level::Unknown, figure: Cow::default(), samples: 0 };
        }
        let bad: usize = self.failed().map(|(_, times)| times).sum();
        let share = bad as f64 / all as f64;
        let elevated = if open {
            bad > 0 && share >= rule.share / 2.0
        } else {
            share > rule.share && bad >= rule.min_bad as usize
        };
        Reading {
            level: if elevated { Level::Elevated } else { Level::Calm },
            figure: format!(
                "{bad} of {all} calls failed, {:.1} % of {:.1} % allowed",
                share * 100.0,
                rule.share * 100.0
            )
            .into(),
            samples: u32::try_from(all).unwrap_or(u32::MAX),
        }
    }

    fn failed(&self) -> impl Iterator<Item = (FailureReason, usize)> {
        self.runs.iter().filter_map(|run| Some((run.failed?, usize::from(run.times))))
    }

    /// Each reason's count and share, the most frequent first.
    pub fn evidence(&self) -> Vec<Evidence> {
        let mut counts: BTreeMap<FailureReason, usize> = BTreeMap::new();
        for (reason, times) in self.failed() {
            *counts.entry(reason).or_default() += times;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let all = self.len().max(1);
        let line = |(reason, count): (FailureReason, usize)| {
            let share = count as f64 * 100.0 / all as f64;
            Evidence::new(reason.slug(), format!("{count} of {all} calls ({share:.0} %)"))
        };
        counts.into_iter().map(line).collect()
    }
}

/// Refused credentials are a matter of access, a tool that is gone or changed one of the contract.
const fn is_elsewhere(reason: FailureReason) -> bool {
    matches!(
        reason,
        FailureReason::AuthRequired
            | FailureReason::AuthRejected
            | FailureReason::ToolMissing
            | FailureReason::SchemaDrift
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::reason::Severity;

    #[test]
    fn a_share_and_a_least_count_decide() {
        let rule = ErrorsRule {
            share: 0.05,
            window: Duration::from_secs(1800),
            min_bad: 3,
            severity: Severity::Page,
            line: 1,
        };
        let rows = [
            (0, 0, false, Level::Unknown, "nothing was asked"),
            (2, 2, false, Level::Calm, "two failures are not three, whatever their share"),
            (3, 57, false, Level::Calm, "exactly the limit is not above it"),
            (4, 56, false, Level::Elevated, "above the limit, and three at least"),
            (3, 57, true, Level::Elevated, "an open one stays until half the limit"),
            (1, 59, true, Level::Calm, "under half the limit it ends"),
        ];
        for (bad, good, open, level, sentence) in rows {
            let mut window = ErrorsWindow::default();
            for _ in 0..bad {
                window.push(SearchCall { at_us: 0, failed: Some(FailureReason::ToolError) });
            }
            for _ in 0..good {
                window.push(SearchCall { at_us: 0, failed: None });
            }
            assert_eq!(window.reading(&rule, open).level, level, "{sentence}");
        }
    }

    #[test]
    fn calls_of_a_beat_take_one_place_and_are_forgotten_one_by_one() {
        let mut window = ErrorsWindow::default();
        let call = |at_us: i64, failed| SearchCall { at_us, failed };
        for beat in 0..4 {
            window.push(call(beat, None));
            window.push(call(beat, None));
            window.push(call(beat, Some(FailureReason::ToolError)));
        }
        assert_eq!((window.len(), window.runs.len()), (12, 8), "two that were answered are one run");
        window.forget_oldest();
        assert_eq!((window.len(), window.runs.len()), (11, 8));
        window.trim(Duration::ZERO, DateTime::from_timestamp_micros(2).unwrap());
        assert_eq!(window.len(), 6, "whole beats are older than the window");
        for _ in 0..CALLS_MAX {
            window.push(call(9, None));
        }
        assert_eq!(window.len(), CALLS_MAX, "a window has its bound");
        assert!(window.evidence().is_empty(), "and the oldest went");
    }
}
