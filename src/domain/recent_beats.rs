//! Beats of a rule that counts how many of the latest were bad, instead of how many were bad in a row: faults that come and
//! go never make a row.
//!
//! They are counted only on the way to an incident. One that opened has forgotten them, so that what is over does not open
//! again by beats from before its end.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::incident::{IncidentTurn, Thresholds, advance, step};
use crate::domain::signal::{HeldBy, Level, Phase, SignalState};

/// The most beats that a rule may look back on: at a beat a minute an hour, and a few bytes each in memory.
pub const BEATS_MAX: u32 = 60;

/// The latest beats that said something, the oldest first; empty where none of them was bad.
///
/// Each is the covered time since the one before in milliseconds, times two, and one more where it was bad.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecentBeats(Vec<u32>);

impl RecentBeats {
    /// As many bad beats as there were in a row, with all covered time before the last of them: what a rule that counted
    /// rows leaves to one that does not.
    pub(crate) fn of_row(bad: u32, covered: Duration) -> Self {
        let mut recent = Self::default();
        for beat in 1..=bad.min(BEATS_MAX) {
            recent.0.push(written(true, if beat > 1 && beat == bad.min(BEATS_MAX) { covered } else { Duration::ZERO }));
        }
        recent
    }

    /// Takes a beat in, and lets go of those that are not among the last `of` any more, and of good ones that no bad one
    /// is before.
    pub(crate) fn take(&mut self, bad: bool, covered: Duration, of: u32) {
        self.0.push(written(bad, covered));
        let aged = self.0.len().saturating_sub(of.clamp(1, BEATS_MAX) as usize);
        self.0.drain(..aged);
        let well = self.0.iter().position(|beat| is_bad(*beat)).unwrap_or(self.0.len());
        self.0.drain(..well);
    }

    /// How many of them were bad.
    pub fn bad(&self) -> u32 {
        self.0.iter().filter(|beat| is_bad(**beat)).count() as u32
    }

    /// How many were bad in a row, counted from the latest.
    pub(crate) fn row(&self) -> u32 {
        self.0.iter().rev().take_while(|beat| is_bad(**beat)).count() as u32
    }

    /// Covered time from the first bad one to the latest.
    pub fn covered(&self) -> Duration {
        self.0.iter().skip(1).map(|beat| Duration::from_millis(u64::from(beat >> 1))).sum()
    }

    /// Whether none of the latest beats was bad.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As it is stored: four bytes a beat, the lowest first.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|beat| beat.to_le_bytes()).collect()
    }

    /// Reads stored beats back; none where the bytes are none of ours.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (beats, rest) = bytes.as_chunks();
        let beats: Vec<u32> = beats.iter().map(|beat| u32::from_le_bytes(*beat)).collect();
        (rest.is_empty() && beats.len() <= BEATS_MAX as usize && beats.first().is_none_or(|beat| is_bad(*beat)))
            .then_some(Self(beats))
    }
}

fn written(bad: bool, covered: Duration) -> u32 {
    u32::try_from(covered.as_millis()).unwrap_or(u32::MAX).min(u32::MAX >> 1) << 1 | u32::from(bad)
}

const fn is_bad(beat: u32) -> bool {
    beat & 1 == 1
}

/// Takes one reading into a signal's state, as `incident::step` does, by a rule that opens once so many of the last `of`
/// were elevated. What is open ends as by any other rule.
pub(crate) fn step_of(
    (state, recent): (&SignalState, &mut RecentBeats),
    (level, covered): (Level, Duration),
    (thresholds, of): (Thresholds, u32),
    held: Option<HeldBy>,
    now: DateTime<Utc>,
) -> (SignalState, Option<IncidentTurn>) {
    if state.phase.has_incident() || level == Level::Unknown {
        return step(state, level, covered, thresholds, None, now);
    }
    let is_bad = level == Level::Elevated;
    recent.take(is_bad, covered, of);
    let since = match (state.phase, recent.is_empty()) {
        (Phase::Pending, false) => state.since,
        (Phase::Pending, true) => return (SignalState::quiet(now), None),
        (_, true) => return (state.clone(), None),
        (_, false) => now,
    };
    let (streak, covered) = (recent.bad(), recent.covered().into());
    let waiting = SignalState { phase: Phase::Pending, since, streak, covered, held_by: held.filter(|_| is_bad) };
    if !is_bad {
        return (waiting, None);
    }
    let (next, turn) = advance(waiting, thresholds, now);
    if turn.is_some() {
        *recent = RecentBeats::default();
    }
    (next, turn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::incident::Need;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + minute * 60, 0).unwrap()
    }

    /// After which beats it opened and ended: `x` is bad, `.` is good, `?` says nothing; a beat a minute.
    fn turns(beats: &str, (m, of): (u32, u32), covered: Duration) -> Vec<(usize, IncidentTurn)> {
        let thresholds = Thresholds { open: Need { readings: m, covered }, close: Need::readings(2) };
        let (mut state, mut recent, mut found) = (SignalState::quiet(at(0)), RecentBeats::default(), Vec::new());
        for (beat, mark) in (1..).zip(beats.chars()) {
            let level = match mark {
                'x' => Level::Elevated,
                '.' => Level::Calm,
                _ => Level::Unknown,
            };
            let minute = Duration::from_secs(60);
            let kept = RecentBeats::from_bytes(&recent.to_bytes()).unwrap();
            assert_eq!(kept, recent, "what is stored comes back");
            recent = kept;
            let (next, turn) = step_of((&state, &mut recent), (level, minute), (thresholds, of), None, at(beat as i64));
            found.extend(turn.map(|turn| (beat, turn)));
            assert!(recent.is_empty() || next.phase == Phase::Pending, "beats are kept on the way to an incident only");
            assert_eq!(next.phase == Phase::Pending, !recent.is_empty());
            state = next;
        }
        found
    }

    #[test]
    fn so_many_of_the_last_beats_open_it() {
        use IncidentTurn::{Opened, Resolved};
        let rows = [
            ("xxx", 0, &[(3, Opened)][..], "in a row it opens as soon"),
            ("x.x.x", 0, &[(5, Opened)], "three of five open it"),
            ("x..x.x", 0, &[], "three of six do not"),
            ("x.x..x.x", 0, &[], "nor two now and two later"),
            ("x.x..xx", 0, &[(7, Opened)], "but three of the last five, wherever they stand"),
            ("x??x??x", 0, &[(7, Opened)], "what proves nothing counts for nothing"),
            ("x?.?x?.?x", 0, &[(9, Opened)], "and ages nothing"),
            ("xx.x..", 0, &[(4, Opened), (6, Resolved)], "it ends as ever"),
            ("xx.x..x.x.x", 0, &[(4, Opened), (6, Resolved), (11, Opened)], "and has to be opened anew after that"),
            ("xx.x..xx.", 0, &[(4, Opened), (6, Resolved)], "beats from before its end do not open it again"),
            ("xxx.x", 240, &[(5, Opened)], "it is bad for as long as the rule has it, counted from the first"),
            ("xxx..x", 300, &[], "which has to be among the last beats itself"),
        ];
        for (beats, seconds, expected, sentence) in rows {
            assert_eq!(turns(beats, (3, 5), Duration::from_secs(seconds)), expected, "{beats}: {sentence}");
        }
    }

    #[test]
    fn every_sequence_of_ten_beats_opens_where_the_last_of_them_say_so() {
        for number in 0..1_u32 << 10 {
            let beats: String = (0..10).map(|beat| if number >> beat & 1 == 1 { 'x' } else { '.' }).collect();
            let (mut open, mut begun, mut expected) = (false, 0, Vec::new());
            for end in 1..=10_usize {
                let last = &beats[begun.max(end.saturating_sub(4))..end];
                let count = |of: char| last.chars().filter(|beat| *beat == of).count();
                if !open && last.ends_with('x') && count('x') >= 3 {
                    (open, begun) = (true, end);
                    expected.push((end, IncidentTurn::Opened));
                } else if open && end >= begun + 2 && beats[..end].ends_with("..") {
                    (open, begun) = (false, end);
                    expected.push((end, IncidentTurn::Resolved));
                }
            }
            assert_eq!(turns(&beats, (3, 4), Duration::ZERO), expected, "{beats}");
        }
    }

    #[test]
    fn what_is_held_waits_and_opens_on_a_bad_beat() {
        let thresholds = Thresholds { open: Need::readings(2), close: Need::readings(2) };
        let (mut state, mut recent) = (SignalState::quiet(at(0)), RecentBeats::default());
        let held = Some(HeldBy::ColdStart);
        let rows = [
            (Level::Elevated, held, None),
            (Level::Elevated, held, None),
            (Level::Calm, None, None),
            (Level::Elevated, None, Some(IncidentTurn::Opened)),
        ];
        for (beat, (level, held, expected)) in (1..).zip(rows) {
            let (next, turn) = step_of((&state, &mut recent), (level, Duration::ZERO), (thresholds, 5), held, at(beat));
            assert_eq!(turn, expected, "beat {beat}");
            state = next;
        }
    }

    #[test]
    fn only_what_was_written_is_read() {
        let row = RecentBeats::of_row(3, Duration::from_secs(50));
        assert_eq!((row.bad(), row.row(), row.covered()), (3, 3, Duration::from_secs(50)));
        assert_eq!(RecentBeats::of_row(1, Duration::from_secs(50)).covered(), Duration::ZERO);
        for (bytes, sentence) in [
            (vec![1, 0, 0], "three bytes are no beat"),
            (vec![0, 0, 0, 0], "a good beat is none to begin with"),
            (vec![1; 4 * 61], "nor are more than there may be"),
        ] {
            assert_eq!(RecentBeats::from_bytes(&bytes), None, "{sentence}");
        }
    }
}
