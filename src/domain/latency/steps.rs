//! A few calls by the step of the scale they fell on: what an hour or a day keeps of its calls.
//!
//! An hour has some sixty calls on as many steps, where a histogram has a counter for each of 3,300: hours and days
//! are kept so, and become a histogram where they are merged and asked for a percentile.

use crate::domain::latency::code::LatencyCode;

/// The calls of a stretch of time; each step once, the shortest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Steps {
    finished: Vec<(LatencyCode, u32)>,
    censored: Vec<(LatencyCode, u32)>,
}

impl Steps {
    /// Takes many calls in that fell on one step; those that ran into their timeout are counted apart.
    pub fn record_many(&mut self, code: LatencyCode, is_censored: bool, count: u32) {
        let counted = if is_censored { &mut self.censored } else { &mut self.finished };
        match counted.binary_search_by_key(&code, |(code, _)| *code) {
            Ok(place) => counted[place].1 = counted[place].1.saturating_add(count),
            Err(place) => counted.insert(place, (code, count)),
        }
    }

    /// Counts one call; a censored one was cut by its timeout, so it took longer than its code says.
    pub fn record(&mut self, code: LatencyCode, is_censored: bool) {
        self.record_many(code, is_censored, 1);
    }

    /// Takes all calls of another in.
    pub fn merge(&mut self, other: &Self) {
        other.each().for_each(|(code, is_censored, count)| self.record_many(code, is_censored, count));
    }

    /// The steps of the finished calls or of the censored ones, the shortest first, and how many fell on each.
    pub fn of(&self, censored: bool) -> &[(LatencyCode, u32)] {
        if censored { &self.censored } else { &self.finished }
    }

    /// All steps: whether the calls ran into their timeout, and how many there were.
    pub fn each(&self) -> impl Iterator<Item = (LatencyCode, bool, u32)> {
        let of = |censored| self.of(censored).iter().map(move |(code, count)| (*code, censored, *count));
        of(false).chain(of(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_sorted_and_each_is_there_once_however_calls_came() {
        let (mut one, mut other) = (Steps::default(), Steps::default());
        for code in [7, 3, 9, 3] {
            one.record(LatencyCode(code), false);
        }
        other.record_many(LatencyCode(3), false, u32::MAX);
        other.record(LatencyCode(1), true);
        one.merge(&other);
        assert_eq!(
            one.of(false),
            [(LatencyCode(3), u32::MAX), (LatencyCode(7), 1), (LatencyCode(9), 1)],
            "a full counter stays full"
        );
        assert_eq!(one.of(true), [(LatencyCode(1), 1)]);
        assert_eq!(one.each().count(), 4);
    }
}
