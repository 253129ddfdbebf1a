//! What of a list counts when it changes. What is new is watched at once. What is gone goes, but for two: a server that fails
//! stays until it is seen well, since lists drop exactly what died; and a list that loses many at once is believed by nobody
//! before a person says so.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::domain::discovery::target::Target;

/// Targets that are gone within this count together.
pub const WITHIN: Duration = Duration::from_secs(3600);
/// A list that loses more than this share of what it held, and more than [`LOST_MAX`], is held; so is one that is empty at once.
const SHARE_MAX: f64 = 0.2;
const LOST_MAX: usize = 5;

/// What is known of a list from reading to reading.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// What is watched, by id: what the list names, and what is gone from it and stays.
    pub targets: BTreeMap<String, Target>,
    /// Ids that went within the last hour, with when each did, unix seconds.
    lost: BTreeMap<String, i64>,
    /// What a person has to say something about; none: nothing is held.
    pub held: Option<Held>,
}

/// A list that lost many at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The ids that it names no longer, and that are watched all the same.
    pub missing: BTreeSet<String>,
    /// How many it had, of which these are missing.
    pub of: usize,
    /// Since when, unix seconds.
    pub since: i64,
}

impl Listing {
    /// What was watched when Serin ended.
    pub fn kept(targets: impl IntoIterator<Item = Target>) -> Self {
        Self { targets: targets.into_iter().map(|target| (target.id.clone(), target)).collect(), ..Self::default() }
    }

    /// Takes what a list names now. `may_go` says of a monitor that is gone since a time whether it was seen well after it: what
    /// died and what was taken off the list look the same until then.
    pub fn take(&mut self, listed: Vec<Target>, now: i64, gone_after: Duration, may_go: impl Fn(&str, i64) -> bool) {
        let listed: BTreeMap<String, Target> = listed.into_iter().map(|target| (target.id.clone(), target)).collect();
        let hour = i64::try_from(WITHIN.as_secs()).unwrap_or(i64::MAX);
        self.lost.retain(|id, at| now - *at < hour && !listed.contains_key(id));
        let missing: BTreeSet<String> = self.targets.keys().filter(|id| !listed.contains_key(*id)).cloned().collect();
        let fresh: BTreeSet<String> =
            missing.iter().filter(|id| self.targets[*id].gone_since.is_none()).cloned().collect();
        let lost = self.lost.keys().filter(|id| !fresh.contains(*id)).count() + fresh.len();
        let of = self.lost.keys().filter(|id| !self.targets.contains_key(*id)).count() + self.targets.len();
        #[expect(clippy::cast_precision_loss, reason = "a list has fewer members than a float has whole numbers")]
        let is_much = lost > LOST_MAX && lost as f64 > SHARE_MAX * of as f64;
        // Whatever serves lists answers with an empty one where it has lost its own.
        let is_all = listed.is_empty() && self.targets.len() > 1;
        let since = self.held.as_ref().map_or(now, |held| held.since);
        self.held = ((is_much || is_all) && !fresh.is_empty()).then(|| Held { missing: fresh.clone(), of, since });
        if self.held.is_none() {
            self.let_go(&fresh, now);
        }
        let over = i64::try_from(gone_after.as_secs()).unwrap_or(i64::MAX);
        self.targets
            .retain(|id, target| target.gone_since.is_none_or(|since| !may_go(id, since) && now - since < over));
        self.targets.extend(listed);
    }

    /// A person says that these are meant to be gone; how many of them are missing. What else is missing is held on.
    pub fn accept(&mut self, seen: &BTreeSet<String>, now: i64) -> usize {
        let Some(mut held) = self.held.take() else { return 0 };
        let (meant, others): (BTreeSet<_>, BTreeSet<_>) = held.missing.into_iter().partition(|id| seen.contains(id));
        self.let_go(&meant, now);
        // What was accepted is no part of the next loss.
        self.lost.clear();
        held.missing = others;
        self.held = (!held.missing.is_empty()).then_some(held);
        meant.len()
    }

    fn let_go(&mut self, ids: &BTreeSet<String>, now: i64) {
        for id in ids {
            if let Some(target) = self.targets.get_mut(id) {
                target.gone_since.get_or_insert(now);
            }
            self.lost.insert(id.clone(), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn targets(ids: std::ops::Range<usize>) -> Vec<Target> {
        let one = |id: usize| Target {
            id: format!("s-{id}"),
            name: None,
            url: format!("https://s{id}.example.org/mcp"),
            labels: BTreeMap::new(),
            gone_since: None,
        };
        ids.map(one).collect()
    }

    fn well(_: &str, _: i64) -> bool {
        true
    }

    #[test]
    fn what_goes_goes_and_what_is_new_comes() {
        let mut listing = Listing::default();
        listing.take(targets(0..10), 0, DAY, well);
        listing.take(targets(2..12), 60, DAY, well);
        let ids: Vec<&str> = listing.targets.keys().map(String::as_str).collect();
        assert_eq!(ids.len(), 10);
        assert!(!ids.contains(&"s-0") && ids.contains(&"s-11"));
        assert_eq!(listing.held, None);
    }

    #[test]
    fn a_list_that_loses_many_at_once_is_held_and_new_ones_are_watched_meanwhile() {
        let rows = [
            (0..30, 6..30, false, "a fifth of it is not more than a fifth"),
            (0..29, 6..29, true, "more than a fifth and more than five are"),
            (0..6, 5..6, false, "five are too few, be they nearly all"),
            (0..6, 6..6, true, "and six are not"),
            (0..1, 1..1, false, "one that goes goes"),
        ];
        for (before, after, is_held, sentence) in rows {
            let mut listing = Listing::default();
            listing.take(targets(before.clone()), 0, DAY, well);
            let new = targets(after).into_iter().chain(targets(100..101));
            listing.take(new.collect(), 60, DAY, well);
            assert_eq!(listing.held.is_some(), is_held, "{sentence}");
            assert!(listing.targets.contains_key("s-100"), "{sentence}: a new one is watched");
            assert_eq!(listing.targets.contains_key("s-0"), is_held, "{sentence}");
        }
    }

    #[test]
    fn an_empty_list_is_held_however_short_it_was() {
        for (count, is_held) in [(1, false), (2, true), (5, true)] {
            let mut listing = Listing::default();
            listing.take(targets(0..count), 0, DAY, well);
            listing.take(Vec::new(), 60, DAY, well);
            assert_eq!((listing.held.is_some(), !listing.targets.is_empty()), (is_held, is_held), "{count}");
        }
    }

    #[test]
    fn what_is_lost_in_small_steps_counts_together_for_an_hour() {
        let mut listing = Listing::default();
        listing.take(targets(0..20), 0, DAY, well);
        listing.take(targets(3..20), 600, DAY, well);
        assert_eq!(listing.held, None);
        listing.take(targets(6..20), 1_200, DAY, well);
        let held = listing.held.clone().expect("three and three of twenty are more than a fifth");
        assert_eq!((held.missing.len(), held.of, held.since), (3, 20, 1_200));
        listing.take(targets(6..20), 1_800, DAY, well);
        assert_eq!(listing.held.as_ref().map(|held| held.since), Some(1_200), "it is held since it was first seen");
        listing.take(targets(3..20), 2_400, DAY, well);
        assert_eq!(listing.held, None, "who is back is back");
        let mut later = Listing::default();
        later.take(targets(0..20), 0, DAY, well);
        later.take(targets(3..20), 600, DAY, well);
        later.take(targets(6..20), 600 + 3_600, DAY, well);
        assert_eq!(later.held, None, "an hour later it is another loss");
    }

    #[test]
    fn a_person_lets_them_go() {
        let mut listing = Listing::default();
        listing.take(targets(0..10), 0, DAY, well);
        listing.take(targets(9..10), 60, DAY, well);
        let seen: BTreeSet<String> = (0..4).map(|n| format!("s-{n}")).collect();
        assert_eq!(listing.accept(&seen, 80), 4, "what was seen");
        let others = listing.held.clone().expect("nobody saw those");
        assert_eq!((others.missing.len(), others.since), (5, 60));
        assert_eq!(listing.targets["s-8"].gone_since, None);
        assert_eq!(listing.accept(&others.missing, 90), 5);
        listing.take(targets(9..10), 120, DAY, well);
        assert_eq!(listing.targets.len(), 1);
        assert_eq!(listing.held, None);
        assert_eq!(listing.accept(&seen, 150), 0, "nothing is held any more");
    }

    #[test]
    fn what_fails_stays_until_it_recovers_or_its_time_is_over() {
        let mut listing = Listing::default();
        listing.take(targets(0..2), 0, DAY, well);
        let fails = |id: &str, _: i64| id != "s-0";
        listing.take(targets(1..2), 60, DAY, fails);
        assert_eq!(listing.targets["s-0"].gone_since, Some(60), "it is watched on");
        listing.take(targets(1..2), 120, DAY, fails);
        assert_eq!(listing.targets["s-0"].gone_since, Some(60), "gone since it went");
        let mut back = listing.clone();
        back.take(targets(0..2), 180, DAY, fails);
        assert_eq!(back.targets["s-0"].gone_since, None, "it is on the list again");
        let mut well_again = listing.clone();
        well_again.take(targets(1..2), 180, DAY, well);
        assert!(!well_again.targets.contains_key("s-0"), "it recovered");
        listing.take(targets(1..2), 60 + 24 * 3600, DAY, fails);
        assert!(!listing.targets.contains_key("s-0"), "its time is over");
    }
}
