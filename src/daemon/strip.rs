//! The last beats of a monitor, in little memory: a large fleet's strips are much of what Serin holds.

use std::collections::VecDeque;

use chrono::{DateTime, Utc};

use crate::domain::outcome::Verdict;
use crate::domain::reason::FailureReason;
use crate::live::monitor_view::{BeatMark, STRIP_LEN};

/// By how many beats a strip grows that is not yet at its length.
const GROWTH: usize = 12;

/// The last beats, the oldest first, at most [`STRIP_LEN`].
#[derive(Debug, Default)]
pub(crate) struct Strip(VecDeque<KeptMark>);

/// A [`BeatMark`] in twelve bytes instead of twenty.
#[derive(Debug, Clone, Copy)]
struct KeptMark {
    /// Seconds since 1970, until 2106.
    seconds: u32,
    elapsed_ms: f32,
    millis: u16,
    verdict: Verdict,
    reason: Option<FailureReason>,
}

impl Strip {
    /// Adds the latest beat; where the strip is full, the oldest goes.
    pub(crate) fn push(&mut self, mark: BeatMark) {
        while self.0.len() >= STRIP_LEN {
            self.0.pop_front();
        }
        if self.0.len() == self.0.capacity() {
            self.0.reserve_exact(GROWTH);
        }
        self.0.push_back(KeptMark {
            seconds: u32::try_from(mark.at.timestamp()).unwrap_or_default(),
            millis: u16::try_from(mark.at.timestamp_subsec_millis().min(999)).unwrap_or_default(),
            verdict: mark.verdict,
            reason: mark.reason,
            elapsed_ms: mark.elapsed_ms,
        });
    }

    /// Nobody knows how the latest beat went after all; answers what was thought of it.
    pub(crate) fn take_back(&mut self) -> Option<Verdict> {
        let mark = self.0.back_mut()?;
        mark.reason = None;
        Some(std::mem::replace(&mut mark.verdict, Verdict::Unknown))
    }

    /// When a beat last showed us anything, to the millisecond.
    pub(crate) fn seen_at(&self) -> Option<DateTime<Utc>> {
        self.0.iter().rev().find(|mark| mark.verdict != Verdict::Unknown).map(|mark| mark.at())
    }

    /// The beats as pages show them, the oldest first.
    pub(crate) fn marks(&self) -> impl Iterator<Item = BeatMark> {
        self.0.iter().map(|mark| BeatMark {
            at: mark.at(),
            verdict: mark.verdict,
            reason: mark.reason,
            elapsed_ms: mark.elapsed_ms,
        })
    }
}

impl FromIterator<BeatMark> for Strip {
    fn from_iter<Marks: IntoIterator<Item = BeatMark>>(marks: Marks) -> Self {
        let mut strip = Self::default();
        marks.into_iter().for_each(|mark| strip.push(mark));
        strip
    }
}

impl KeptMark {
    fn at(&self) -> DateTime<Utc> {
        let nanos = u32::from(self.millis) * 1_000_000;
        DateTime::from_timestamp(self.seconds.into(), nanos).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strip_gives_back_the_last_beats_as_they_were() {
        let mark = |n: i64| BeatMark {
            at: DateTime::from_timestamp_millis(1_800_000_000_000 + n * 60_007).unwrap(),
            verdict: if n % 7 == 0 { Verdict::Down } else { Verdict::Good },
            reason: (n % 7 == 0).then_some(FailureReason::ToolError),
            elapsed_ms: 12.5,
        };
        let beats = STRIP_LEN as i64 + 5;
        let mut strip: Strip = (0..beats).map(mark).collect();
        assert_eq!(strip.marks().collect::<Vec<_>>(), (5..beats).map(mark).collect::<Vec<_>>());
        assert_eq!(strip.seen_at(), Some(mark(beats - 1).at));
        assert_eq!(strip.take_back(), Some(mark(beats - 1).verdict));
        assert_eq!(strip.seen_at(), Some(mark(beats - 2).at), "what was taken back showed nothing");
        assert_eq!(size_of::<KeptMark>(), 12);
    }
}
