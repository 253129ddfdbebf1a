//! How long a server was up, down, or not seen: seconds made of beats.
//!
//! A beat stands for the time until the next one of the schedule, but never for longer than one and a half of
//! the usual gap: what lies beyond was not seen by anybody and is counted as nothing. Uptime is up ÷ (up + down),
//! coverage is seen ÷ the whole time asked about, and the first is never shown without the second.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

/// A gap beyond this share of the usual one is not covered by the beat before it.
const GAP_SHARE_MAX: f64 = 1.5;

/// What a beat of the schedule says of the time after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The server could be asked.
    Up,
    /// It could not.
    Down,
    /// Nothing was seen: our own trouble, a beat held back, a beat missed.
    Unknown,
}

/// Time by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Covered {
    /// The server could be asked.
    pub up: Duration,
    /// It could not.
    pub down: Duration,
    /// A beat was due, and nothing was seen.
    pub unknown: Duration,
    /// Inside a declared maintenance, whatever was seen.
    pub maintenance: Duration,
}

impl Covered {
    /// The time of beats of one hour (or any stretch that begins at `from` and lasts `length`), sorted by
    /// their moments. What a beat stands for ends with the stretch.
    pub fn of(beats: &[(DateTime<Utc>, State)], from: DateTime<Utc>, length: TimeDelta) -> Self {
        let end = from + length;
        let longest = usual_gap(beats).map_or(length, |gap| gap.min(length));
        let mut covered = Self::default();
        for (place, (at, state)) in beats.iter().enumerate() {
            let next = beats.get(place + 1).map_or(end, |(next, _)| *next).min(end);
            let stands_for = (next - *at).min(longest).to_std().unwrap_or_default();
            *match state {
                State::Up => &mut covered.up,
                State::Down => &mut covered.down,
                State::Unknown => &mut covered.unknown,
            } += stands_for;
        }
        covered
    }

    /// Adds another stretch.
    pub fn add(&mut self, other: &Self) {
        self.up += other.up;
        self.down += other.down;
        self.unknown += other.unknown;
        self.maintenance += other.maintenance;
    }

    /// The share of seen time in which the server could be asked, 0 to 1; none where nothing was seen.
    pub fn uptime(&self) -> Option<f64> {
        let seen = self.up + self.down;
        (!seen.is_zero()).then(|| self.up.as_secs_f64() / seen.as_secs_f64())
    }

    /// The share of a whole time that was seen, 0 to 1.
    pub fn coverage(&self, whole: Duration) -> f64 {
        if whole.is_zero() { 0.0 } else { ((self.up + self.down).as_secs_f64() / whole.as_secs_f64()).min(1.0) }
    }
}

/// One and a half of the median gap between beats; none where there are fewer than two.
#[expect(clippy::cast_possible_truncation, reason = "microseconds of an hour")]
#[expect(clippy::cast_precision_loss, reason = "microseconds of an hour")]
fn usual_gap(beats: &[(DateTime<Utc>, State)]) -> Option<TimeDelta> {
    let mut gaps: Vec<TimeDelta> = beats.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let middle = gaps.len().checked_sub(1)? / 2;
    let (_, gap, _) = gaps.select_nth_unstable(middle);
    let micros = gap.num_microseconds().unwrap_or(i64::MAX) as f64;
    Some(TimeDelta::microseconds((micros * GAP_SHARE_MAX) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    #[test]
    fn beats_stand_for_the_time_after_them() {
        use State::{Down, Unknown, Up};
        let every_minute = |state| (0..60).map(|minute| (at(minute * 60), state)).collect::<Vec<_>>();
        let mut half = every_minute(Up);
        half[30..].iter_mut().for_each(|(_, state)| *state = Down);
        let mut blind = every_minute(Up);
        blind[10..20].iter_mut().for_each(|(_, state)| *state = Unknown);
        let gap: Vec<_> =
            every_minute(Up).into_iter().filter(|(moment, _)| *moment < at(600) || *moment >= at(3000)).collect();
        let rows: [(Vec<_>, [u64; 3], &str); 6] = [
            (Vec::new(), [0, 0, 0], "no beat covers nothing"),
            (every_minute(Up), [3600, 0, 0], "a whole hour of good beats is an hour up"),
            (half, [1800, 1800, 0], "half of it down"),
            (blind, [3000, 0, 600], "what we did not see is unknown, never up"),
            (gap, [1230, 0, 0], "a silence is covered by half a gap more than the usual one, and then by nothing"),
            (
                vec![(at(600), Up)],
                [3000, 0, 0],
                "a single beat of an hourly schedule stands for what is left of the hour",
            ),
        ];
        for (beats, [up, down, unknown], sentence) in rows {
            let covered = Covered::of(&beats, at(0), TimeDelta::hours(1));
            let seconds = [covered.up, covered.down, covered.unknown].map(|part| part.as_secs());
            assert_eq!(seconds, [up, down, unknown], "{sentence}");
        }
    }

    #[test]
    fn uptime_is_of_seen_time_and_comes_with_its_coverage() {
        let hour = |up: u64, down: u64| Covered {
            up: Duration::from_secs(up),
            down: Duration::from_secs(down),
            ..Covered::default()
        };
        let rows = [
            (hour(0, 0), None, 0.0, "nothing seen has no uptime"),
            (hour(1800, 0), Some(1.0), 0.5, "half an hour seen, all of it up"),
            (hour(900, 900), Some(0.5), 0.5, "half of what was seen"),
        ];
        for (covered, uptime, coverage, sentence) in rows {
            assert_eq!(
                (covered.uptime(), covered.coverage(Duration::from_secs(3600))),
                (uptime, coverage),
                "{sentence}"
            );
        }
    }
}
