//! What was refused to whom of late, so that the audit log is not filled by what a key may not do.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;

/// Refusals of one key that are noted within a minute; what is more is in the answers only.
const REFUSALS_MAX: u32 = 20;

/// How often each key was refused within the last minute, so that none fills the database with what it may not do.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<HashMap<String, (DateTime<Utc>, u32)>>);

impl Refusals {
    /// Whether one more refusal is noted.
    pub(crate) fn is_noted(&self, who: &str, now: DateTime<Utc>) -> bool {
        let mut known = self.0.lock();
        known.retain(|_, (since, _)| (now - *since).num_seconds().abs() < 60);
        let (_, count) = known.entry(who.to_owned()).or_insert((now, 0));
        *count += 1;
        *count <= REFUSALS_MAX
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn refusals_are_noted_and_do_not_flood() {
        let (refusals, now) = (Refusals::default(), DateTime::UNIX_EPOCH);
        for nth in 1..=REFUSALS_MAX + 5 {
            assert_eq!(refusals.is_noted("key a", now), nth <= REFUSALS_MAX, "the {nth}th");
        }
        assert!(refusals.is_noted("key b", now), "another key is not held up");
        assert!(refusals.is_noted("key a", now + TimeDelta::minutes(1)), "a minute later it is noted again");
    }
}
