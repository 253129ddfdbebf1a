//! How often a healthy server's answers are wrong all the same, and how many in a row therefore are an incident.
//!
//! A run of wrong answers that ended by itself before it was confirmed is a blip; one that was confirmed is an incident and
//! is not counted. Counted like that nothing here learns damage: what was told is never taken for noise.
//!
//! **`after: auto`** is the smallest number of answers, from [`AFTER_LEAST`] to [`AFTER_MOST`], whose expected false pages
//! ([`false_pages`]) stay under a third of one in 100 monitor-years. The other two thirds are left to what the chain does
//! not know: blips that come in bursts. Where even [`AFTER_MOST`] is not enough, what is confirmed is a ticket.
//!
//! The chances are upper 95 % bounds ([`upper`]) over what was seen of this very server:
//! - that an answer in its turn is wrong: runs ÷ answers, and a day of right ones at the default rate before them
//!   ([`PRIOR_ANSWERS`]), so that one blip in the first hour is not one in a hundred;
//! - that the next one is wrong too: runs of two or more ÷ runs, after [`PRIOR_SECOND`] runs of a typical server that were
//!   gone at the second look;
//! - that it goes on: likewise over each later look, after [`PRIOR_FURTHER`] right ones, and never less than the first
//!   chance, since a new blip may begin where another ends.
//!
//! A server that never blipped has no blips to expect: it pages at [`AFTER_LEAST`], and no prior slows it. Its first blip
//! costs it a beat or two, and less with each week without another.

use crate::domain::quality::bound::{ONE_SIDED_95, upper};
use crate::domain::quality::streak::{AskRate, BlipOdds, false_pages};

/// Three minutes of wrong answers are an incident.
pub(crate) const AFTER_LEAST: u32 = 3;
/// Who waits longer than this for a page might as well read a ticket.
pub(crate) const AFTER_MOST: u32 = 8;
/// False pages a monitor-year: one in 100.
pub(crate) const FALSE_PAGES_MAX: f64 = 0.01;
/// The part of them that single canaries' runs may take.
const OF_RUNS: f64 = 1.0 / 3.0;

/// Right answers before the first that is seen: a day at two a minute.
const PRIOR_ANSWERS: f64 = 2_880.0;
/// Runs that were gone at the second look.
const PRIOR_SECOND: f64 = 20.0;
/// Looks after the second that were right.
const PRIOR_FURTHER: f64 = 200.0;
/// No chance is taken for greater: where answers hardly ever turn right the chain would page once and never end.
const CHANCE_MAX: f64 = 0.9;
/// What is remembered is halved at so many answers, three months at two a minute: a server that was mended is believed.
const ANSWERS_MAX: u32 = 1 << 18;

/// What was seen of a server's blips.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BlipRecord {
    /// Answers in turn of canaries that were not in doubt, those that began a blip included.
    pub answers: u32,
    /// Runs of wrong answers that ended before they were confirmed.
    pub runs: u32,
    /// Those of two or more.
    pub second: u32,
    /// Answers after the second wrong one of a run.
    pub looks: u32,
    /// Those that were wrong again.
    pub further: u32,
}

/// How many wrong answers of a canary in a row are an incident just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AfterInForce {
    /// From [`AFTER_LEAST`] to [`AFTER_MOST`], or what the file says.
    pub answers: u32,
    /// Whether they are sure enough to wake somebody.
    pub may_page: bool,
}

impl BlipRecord {
    /// Counts right answers in turn.
    pub(crate) fn right(&mut self, answers: u32) {
        self.answers = self.answers.saturating_add(answers);
        while self.answers >= ANSWERS_MAX {
            for count in [&mut self.answers, &mut self.runs, &mut self.second, &mut self.looks, &mut self.further] {
                *count /= 2;
            }
        }
    }

    /// Counts a run of so many wrong answers that a right one ended.
    pub(crate) fn ended(&mut self, wrong: u32) {
        if wrong == 0 {
            return;
        }
        self.runs += 1;
        self.second += u32::from(wrong >= 2);
        self.looks += wrong - 1;
        self.further += wrong.saturating_sub(2);
        self.right(1);
    }

    /// How often this server blips, in words that stay the same from beat to beat.
    pub(crate) fn said(&self) -> String {
        let percent = f64::from(self.runs) / f64::from(self.answers.max(1)) * 100.0;
        match percent {
            _ if self.runs == 0 => "this server never blipped".to_owned(),
            percent if percent < 0.1 => "this server blips in less than 0.1 % of answers".to_owned(),
            percent => format!("this server blips in {percent:.1} % of answers"),
        }
    }

    /// Upper bounds of the chances of a blip and of its going on.
    fn odds(&self) -> BlipOdds {
        let bound = |hits: u32, n: u32, prior: f64| upper(f64::from(hits), f64::from(n) + prior, ONE_SIDED_95);
        let first = bound(self.runs, self.answers, PRIOR_ANSWERS).min(CHANCE_MAX);
        let second = bound(self.second, self.runs, PRIOR_SECOND).min(CHANCE_MAX);
        let further = bound(self.further, self.looks, PRIOR_FURTHER).clamp(first, CHANCE_MAX);
        BlipOdds { first, second: second.max(first), further }
    }

    /// How many wrong answers in a row are an incident at this rate of asking.
    pub(crate) fn after(&self, rate: AskRate) -> AfterInForce {
        if self.runs == 0 {
            return AfterInForce { answers: AFTER_LEAST, may_page: true };
        }
        let odds = self.odds();
        let is_enough = |after: &u32| false_pages(rate, odds, *after) < FALSE_PAGES_MAX * OF_RUNS;
        let enough = (AFTER_LEAST..=AFTER_MOST).find(is_enough);
        AfterInForce { answers: enough.unwrap_or(AFTER_MOST), may_page: enough.is_some() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: AskRate = AskRate { beats: 525_600.0, per_beat: 2.0, canaries: 8.0 };
    const WEEK: u32 = 20_160;

    #[test]
    fn a_server_that_blips_more_is_waited_for_longer() {
        // Runs of one, two, three and four wrong answers, among so many right ones.
        let rows = [
            (WEEK, [0, 0, 0, 0], 3, true, "one that never blipped"),
            (0, [0, 0, 0, 0], 3, true, "one that nobody knows yet"),
            (60, [1, 0, 0, 0], 5, true, "one that blips in its first hour"),
            (WEEK, [1, 0, 0, 0], 5, true, "one blip in a week"),
            (13 * WEEK, [1, 0, 0, 0], 4, true, "one in three months"),
            (WEEK, [180, 2, 0, 0], 5, true, "each answer by itself, 0.9 % of them"),
            (WEEK, [150, 150, 2, 0], 6, true, "half of them two beats long"),
            (WEEK, [950, 48, 2, 0], 7, true, "5 %"),
            (WEEK, [1_800, 180, 18, 2], 8, true, "10 %"),
            (WEEK, [2_800, 420, 63, 9], 8, false, "15 %: too many for a page"),
            (WEEK, [100, 100, 100, 100], 8, false, "they go on and on"),
        ];
        for (right, runs, answers, may_page, sentence) in rows {
            let mut record = BlipRecord::default();
            record.right(right);
            for (wrong, times) in (1..).zip(runs) {
                (0..times).for_each(|_| record.ended(wrong));
            }
            assert_eq!(
                record.after(USUAL),
                AfterInForce { answers, may_page },
                "{sentence}: {record:?} {:?}",
                record.odds()
            );
        }
    }

    #[test]
    fn nobody_who_never_blipped_waits_whatever_is_asked() {
        for per_beat in 1..=8 {
            let rate = AskRate { per_beat: f64::from(per_beat), ..USUAL };
            assert_eq!(BlipRecord::default().after(rate), AfterInForce { answers: AFTER_LEAST, may_page: true });
        }
    }

    #[test]
    fn what_is_long_past_is_forgotten() {
        let mut record = BlipRecord::default();
        record.ended(2);
        record.right(ANSWERS_MAX);
        assert_eq!((record.runs, record.after(USUAL).answers), (0, AFTER_LEAST), "{record:?}");
        assert!(record.answers < ANSWERS_MAX, "{record:?}");
        record.right(u32::MAX);
        assert!(record.answers < ANSWERS_MAX, "counts are bounded: {record:?}");
        record.ended(0);
        assert_eq!(record.runs, 0, "no run is none");
    }
}
