//! Whether a monitor sees the index at all: right answers of a cache prove nothing of it (RETRIEVAL.md §1.5).

use std::time::Duration;

use chrono::{DateTime, Utc};

/// So long without an answer of the index, and the monitor is blind to it.
const BLIND_AFTER: Duration = Duration::from_secs(3600);

/// The evidence key under which an incident counts them.
pub(crate) const CACHED_ANSWERS: &str = "cached_answers";

/// Answers since the index gave one last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct IndexSight {
    unseen: Option<Unseen>,
}

/// Answers in a row that the index did not give, as far as that can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unseen {
    /// When the first of them came.
    pub(crate) since: DateTime<Utc>,
    /// How many there were.
    pub(crate) answers: u32,
}

impl IndexSight {
    /// Takes in an answer.
    pub(crate) fn see(&mut self, by_index: bool, now: DateTime<Utc>) {
        let before = self.unseen.unwrap_or(Unseen { since: now, answers: 0 });
        self.unseen = (!by_index).then(|| Unseen { answers: before.answers.saturating_add(1), ..before });
    }

    /// What is known, where that went on for too long.
    pub(crate) fn blind(&self, now: DateTime<Utc>) -> Option<Unseen> {
        self.unseen.filter(|unseen| (now - unseen.since).to_std().is_ok_and(|age| age >= BLIND_AFTER))
    }

    /// Goes on from an incident that told of it, and how many answers it had counted.
    pub(crate) fn restore(&mut self, opened_at: DateTime<Utc>, answers: u32) {
        self.unseen = Some(Unseen { since: opened_at - BLIND_AFTER, answers });
    }

    /// A clock that was set back.
    pub(crate) fn follow_clock(&mut self, now: DateTime<Utc>) {
        self.unseen = self.unseen.map(|unseen| Unseen { since: unseen.since.min(now), ..unseen });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_monitor_is_blind_after_an_hour_of_cached_answers() {
        // i: the index answered, c: a cache did, each with its minute.
        type Row<'r> = (&'r [(char, i64)], i64, Option<u32>, &'r str);
        let rows: [Row<'_>; 5] = [
            (&[], 600, None, "nothing was asked"),
            (&[('i', 0)], 600, None, "the index was seen, and nothing was asked since"),
            (&[('c', 0), ('c', 59)], 59, None, "not yet an hour"),
            (&[('c', 0), ('c', 30), ('c', 60)], 60, Some(3), "an hour"),
            (&[('c', 0), ('i', 30), ('c', 60)], 89, None, "one answer of the index is enough"),
        ];
        let at = |minute: i64| DateTime::from_timestamp(1_800_000_000 + minute * 60, 0).unwrap();
        for (answers, now, expected, sentence) in rows {
            let mut sight = IndexSight::default();
            answers.iter().for_each(|(who, minute)| sight.see(*who == 'i', at(*minute)));
            assert_eq!(sight.blind(at(now)).map(|unseen| unseen.answers), expected, "{sentence}");
        }
        let mut sight = IndexSight::default();
        sight.restore(at(0), 120);
        sight.see(false, at(1));
        assert!(sight.blind(at(1)).is_some(), "what was told is still so after a restart");
        sight.follow_clock(at(-10));
        assert!(sight.blind(at(-10)).is_none_or(|unseen| unseen.since <= at(-10)));
    }
}
