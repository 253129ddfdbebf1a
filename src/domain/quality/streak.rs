//! How often wrong answers in a row page for nothing: exactly, by the chain that a canary walks.
//!
//! A canary that is quiet is asked in its turn, once a round. Its first wrong answer begins a run, in which each beat asks
//! it again: a right answer ends the run, `after` wrong ones confirm it, and two right ones in a row end that. With the
//! chance of each next answer fixed this is a Markov chain, and its pages a renewal process: so many a cycle, over the
//! mean length of a cycle (W. Feller, "An Introduction to Probability Theory and Its Applications", vol. 1, ch. XIII).

use std::time::Duration;

use crate::domain::monitor::Monitor;

/// A year of 365 days.
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// Of answers that are wrong by chance, where nobody measured it.
const USUAL_CHANCE: f64 = 0.01;

/// How often a healthy server's answers are wrong all the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BlipOdds {
    /// The chance that an answer in its turn is wrong, 0 to 1.
    pub first: f64,
    /// That the next one is wrong as well.
    pub second: f64,
    /// And each one after that.
    pub further: f64,
}

impl BlipOdds {
    /// Each answer by itself.
    pub(crate) const fn independent(chance: f64) -> Self {
        Self { first: chance, second: chance, further: chance }
    }
}

/// How often canaries are asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AskRate {
    /// Beats a year.
    pub beats: f64,
    /// Canaries asked a beat in their turn.
    pub per_beat: f64,
    /// Distinct canaries.
    pub canaries: f64,
}

impl AskRate {
    /// A monitor's, as its file declares it.
    pub(crate) fn of(monitor: &Monitor) -> Self {
        Self {
            beats: YEAR.as_secs_f64() / monitor.every.as_secs_f64(),
            per_beat: f64::from(monitor.per_beat()),
            canaries: monitor.canaries.len() as f64,
        }
    }
}

/// What a number of the file costs: pages a monitor-year that nothing is behind, on a server one in 100 of whose answers
/// is wrong by chance.
pub(crate) fn usual_cost(monitor: &Monitor, after: u32) -> f64 {
    false_pages(AskRate::of(monitor), BlipOdds::independent(USUAL_CHANCE), after)
}

/// Pages a monitor-year that nothing is behind, where `after` wrong answers of a canary in a row make one.
///
/// Each canary is counted by itself: blips that strike several at once page once, so this is an upper bound of them.
pub(crate) fn false_pages(rate: AskRate, odds: BlipOdds, after: u32) -> f64 {
    if rate.per_beat <= 0.0 || odds.first <= 0.0 {
        return 0.0;
    }
    // How often a cycle, from one quiet ask to the next, gets to so many wrong answers in a row.
    let reaches = |wrong: u32| match wrong {
        0 => 1.0,
        1 => odds.first,
        _ => odds.first * odds.second * odds.further.powi(wrong.cast_signed() - 2),
    };
    let pages = reaches(after);
    // Each wrong answer before the last one is followed by another ask a beat later.
    let in_doubt: f64 = (1..after).map(reaches).sum();
    let cycle = rate.canaries / rate.per_beat + in_doubt + pages * beats_open(odds);
    rate.canaries * rate.beats * pages / cycle
}

/// Beats from a confirmed canary to the second right answer in a row; without end where answers never turn right.
fn beats_open(odds: BlipOdds) -> f64 {
    (1.0 / (1.0 - odds.further) + 1.0) / (1.0 - odds.first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two asks a beat, a beat a minute, of eight canaries.
    const USUAL: AskRate = AskRate { beats: 525_600.0, per_beat: 2.0, canaries: 8.0 };

    #[test]
    fn one_wrong_answer_in_a_hundred_pages_so_often() {
        let rows = [(3, 1.05), (4, 0.0105), (5, 0.0001)];
        for (after, expected) in rows {
            let pages = false_pages(USUAL, BlipOdds::independent(0.01), after);
            assert!((pages / expected - 1.0).abs() < 0.06, "after {after}: {pages} a monitor-year, not {expected}");
        }
        assert!(false_pages(USUAL, BlipOdds::independent(0.0), 3) <= 0.0, "who is never wrong never pages");
    }

    /// The same chain walked beat by beat, by no formula: one canary, drawn by lot in each beat while it is quiet.
    fn walked(rate: AskRate, odds: BlipOdds, after: usize) -> f64 {
        let (open, clearing) = (after, after + 1);
        let mut at = vec![0.0; after + 2];
        at[0] = 1.0;
        let drawn = rate.per_beat / rate.canaries;
        let (mut pages, mut beats) = (0.0, 0.0);
        for beat in 0..200_000 {
            let mut next = vec![0.0; after + 2];
            for (state, mass) in at.iter().enumerate() {
                let (asked, wrong) = match state {
                    0 => (drawn, odds.first),
                    1 => (1.0, odds.second),
                    _ if state == clearing => (1.0, odds.first),
                    _ => (1.0, odds.further),
                };
                let on_wrong = if state >= open { open } else { state + 1 };
                let on_right = if state == open { clearing } else { 0 };
                next[state] += mass * (1.0 - asked);
                next[on_wrong] += mass * asked * wrong;
                next[on_right] += mass * asked * (1.0 - wrong);
                if state < open && on_wrong == open && beat >= 100_000 {
                    pages += mass * asked * wrong;
                }
            }
            beats += if beat >= 100_000 { 1.0 } else { 0.0 };
            at = next;
        }
        pages / beats * rate.beats * rate.canaries
    }

    #[test]
    fn the_formula_is_the_chain() {
        let odds = [
            BlipOdds::independent(0.01),
            BlipOdds::independent(0.3),
            BlipOdds { first: 0.009, second: 0.4, further: 0.02 },
            BlipOdds { first: 0.2, second: 0.9, further: 0.6 },
        ];
        for odds in odds {
            for after in 2..=6_u32 {
                let (said, walked) = (false_pages(USUAL, odds, after), walked(USUAL, odds, after as usize));
                assert!((said / walked - 1.0).abs() < 1e-6, "{odds:?} after {after}: {said}, walked {walked}");
            }
        }
    }
}
