//! What of a list counts when it changes. What is new is watched at once. What is gone goes, but for two: a server that fails
//! stays until it is seen well, since lists drop exactly what died; and a list that loses many at once is believed by nobody
//! before a person says so. What never worked did not die: it goes, and counts for nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::domain::discovery::target::Target;

/// Targets that are gone within this count together.
pub const WITHIN: Duration = Duration::from_secs(3600);
/// A list that loses more than this share of what it held, and more than [`LOST_MAX`], is held; so is one that is empty at once.
const SHARE_MAX: f64 = 0.2;
const LOST_MAX: usize = 5;

/// As many as one Serin watches.
pub const TARGETS_MAX: usize = 50_000;

/// How a monitor stands, as far as a list asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Its server never worked, or nobody watches it.
    Never,
    /// It worked, and fails, or nobody knows yet.
    Failing,
    /// A beat has seen it well since a moment.
    Well,
}

/// What a list names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Named {
    /// What can be watched, each id once.
    pub targets: Vec<Target>,
    /// Ids of what it names and what cannot be watched as it is named now: it is not gone.
    pub unclear: BTreeSet<String>,
}

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
        let targets: BTreeMap<String, Target> = targets.into_iter().map(|target| (target.id.clone(), target)).collect();
        let missing = || targets.iter().filter_map(|(id, target)| Some((id.clone(), target.held_since?)));
        let since = missing().map(|(_, since)| since).min();
        let held = since.map(|since| Held { missing: missing().map(|(id, _)| id).collect(), of: targets.len(), since });
        Self { targets, held, ..Self::default() }
    }

    /// Takes what a list names now; how many of them are more than it may bring. `seen` says how a monitor stands that is gone
    /// since a time: what died and what was taken off the list look the same until it was seen well after it.
    pub fn take(&mut self, named: Named, now: i64, gone_after: Duration, seen: impl Fn(&str, i64) -> Seen) -> usize {
        let Named { targets, unclear } = named;
        let listed: BTreeMap<String, Target> = targets.into_iter().map(|target| (target.id.clone(), target)).collect();
        let is_named = |id: &String| listed.contains_key(id) || unclear.contains(id);
        let hour = i64::try_from(WITHIN.as_secs()).unwrap_or(i64::MAX);
        self.lost.retain(|id, at| now - *at < hour && !is_named(id));
        self.targets.retain(|id, _| is_named(id) || seen(id, now) != Seen::Never);
        let fresh = self.targets.iter().filter(|(id, target)| target.gone_since.is_none() && !is_named(id));
        let fresh: BTreeSet<String> = fresh.map(|(id, _)| id.clone()).collect();
        let lost = self.lost.keys().filter(|id| !fresh.contains(*id)).count() + fresh.len();
        let worked = self.targets.keys().filter(|id| !is_named(id) || seen(id, now) != Seen::Never).count();
        let of = self.lost.keys().filter(|id| !self.targets.contains_key(*id)).count() + worked;
        #[expect(clippy::cast_precision_loss, reason = "a list has fewer members than a float has whole numbers")]
        let is_much = lost > LOST_MAX && lost as f64 > SHARE_MAX * of as f64;
        // Whatever serves lists answers with an empty one where it has lost its own.
        let is_all = listed.is_empty() && unclear.is_empty() && self.targets.len() > 1;
        let is_held = (is_much || is_all) && !fresh.is_empty();
        for (id, target) in &mut self.targets {
            target.held_since = (is_held && fresh.contains(id)).then_some(target.held_since.unwrap_or(now));
        }
        let since = self.targets.values().filter_map(|target| target.held_since).min().unwrap_or(now);
        self.held = is_held.then(|| Held { missing: fresh.clone(), of, since });
        if !is_held {
            self.let_go(&fresh, now);
        }
        let over = i64::try_from(gone_after.as_secs()).unwrap_or(i64::MAX);
        self.targets.retain(|id, target| {
            target
                .gone_since
                .is_none_or(|since| is_named(id) || (seen(id, since) == Seen::Failing && now - since < over))
        });
        for id in &unclear {
            self.targets.entry(id.clone()).and_modify(|target| target.gone_since = None);
        }
        let mut surplus = 0;
        for (id, target) in listed {
            // What is known stays known, whatever else is named.
            if self.targets.contains_key(&id) || self.targets.len() < TARGETS_MAX {
                self.targets.insert(id, target);
            } else {
                surplus += 1;
            }
        }
        surplus
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
                target.held_since = None;
            }
            self.lost.insert(id.clone(), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn named(ids: std::ops::Range<usize>) -> Named {
        Named { targets: targets(ids), ..Named::default() }
    }

    fn targets(ids: std::ops::Range<usize>) -> Vec<Target> {
        let one = |id: usize| Target {
            id: format!("s-{id}"),
            name: None,
            url: format!("https://s{id}.example.org/mcp"),
            labels: BTreeMap::new(),
            gone_since: None,
            held_since: None,
        };
        ids.map(one).collect()
    }

    fn well(_: &str, _: i64) -> Seen {
        Seen::Well
    }

    #[test]
    fn what_goes_goes_and_what_is_new_comes() {
        let mut listing = Listing::default();
        listing.take(named(0..10), 0, DAY, well);
        listing.take(named(2..12), 60, DAY, well);
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
            listing.take(named(before.clone()), 0, DAY, well);
            let new = targets(after).into_iter().chain(targets(100..101));
            listing.take(Named { targets: new.collect(), ..Named::default() }, 60, DAY, well);
            assert_eq!(listing.held.is_some(), is_held, "{sentence}");
            assert!(listing.targets.contains_key("s-100"), "{sentence}: a new one is watched");
            assert_eq!(listing.targets.contains_key("s-0"), is_held, "{sentence}");
        }
    }

    #[test]
    fn an_empty_list_is_held_however_short_it_was() {
        for (count, is_held) in [(1, false), (2, true), (5, true)] {
            let mut listing = Listing::default();
            listing.take(named(0..count), 0, DAY, well);
            listing.take(Named::default(), 60, DAY, well);
            assert_eq!((listing.held.is_some(), !listing.targets.is_empty()), (is_held, is_held), "{count}");
        }
    }

    #[test]
    fn what_is_lost_in_small_steps_counts_together_for_an_hour() {
        let mut listing = Listing::default();
        listing.take(named(0..20), 0, DAY, well);
        listing.take(named(3..20), 600, DAY, well);
        assert_eq!(listing.held, None);
        listing.take(named(6..20), 1_200, DAY, well);
        let held = listing.held.clone().expect("three and three of twenty are more than a fifth");
        assert_eq!((held.missing.len(), held.of, held.since), (3, 20, 1_200));
        listing.take(named(6..20), 1_800, DAY, well);
        assert_eq!(listing.held.as_ref().map(|held| held.since), Some(1_200), "it is held since it was first seen");
        let mut again = Listing::kept(listing.targets.values().cloned());
        again.take(named(2..20), 2_400, DAY, well);
        assert_eq!(again.held.as_ref().map(|held| held.since), None, "a start believes what the list says now");
        listing.take(named(3..20), 2_400, DAY, well);
        assert_eq!(listing.held, None, "who is back is back");
        let mut many = Listing::default();
        many.take(named(0..20), 0, DAY, well);
        many.take(named(10..20), 60, DAY, well);
        let mut after = Listing::kept(many.targets.values().cloned());
        assert_eq!(
            after.held.as_ref().map(|held| (held.missing.len(), held.since)),
            Some((10, 60)),
            "before it is read"
        );
        after.take(named(11..20), 3_600, DAY, well);
        let held = after.held.expect("also after a start");
        assert_eq!((held.missing.len(), held.since), (11, 60), "it is held since it was first seen");
        let mut later = Listing::default();
        later.take(named(0..20), 0, DAY, well);
        later.take(named(3..20), 600, DAY, well);
        later.take(named(6..20), 600 + 3_600, DAY, well);
        assert_eq!(later.held, None, "an hour later it is another loss");
    }

    #[test]
    fn a_person_lets_them_go() {
        let mut listing = Listing::default();
        listing.take(named(0..10), 0, DAY, well);
        listing.take(named(9..10), 60, DAY, well);
        let seen: BTreeSet<String> = (0..4).map(|n| format!("s-{n}")).collect();
        assert_eq!(listing.accept(&seen, 80), 4, "what was seen");
        let others = listing.held.clone().expect("nobody saw those");
        assert_eq!((others.missing.len(), others.since), (5, 60));
        assert_eq!(listing.targets["s-8"].gone_since, None);
        assert_eq!(listing.accept(&others.missing, 90), 5);
        listing.take(named(9..10), 120, DAY, well);
        assert_eq!(listing.targets.len(), 1);
        assert_eq!(listing.held, None);
        assert_eq!(listing.accept(&seen, 150), 0, "nothing is held any more");
    }

    #[test]
    fn what_fails_stays_until_it_recovers_or_its_time_is_over() {
        let mut listing = Listing::default();
        listing.take(named(0..2), 0, DAY, well);
        let fails = |id: &str, _: i64| if id == "s-0" { Seen::Failing } else { Seen::Well };
        listing.take(named(1..2), 60, DAY, fails);
        assert_eq!(listing.targets["s-0"].gone_since, Some(60), "it is watched on");
        listing.take(named(1..2), 120, DAY, fails);
        assert_eq!(listing.targets["s-0"].gone_since, Some(60), "gone since it went");
        let mut back = listing.clone();
        back.take(named(0..2), 180, DAY, fails);
        assert_eq!(back.targets["s-0"].gone_since, None, "it is on the list again");
        let mut well_again = listing.clone();
        well_again.take(named(1..2), 180, DAY, well);
        assert!(!well_again.targets.contains_key("s-0"), "it recovered");
        listing.take(named(1..2), 60 + 24 * 3600, DAY, fails);
        assert!(!listing.targets.contains_key("s-0"), "its time is over");
    }

    #[test]
    fn what_never_worked_goes_and_counts_for_nothing() {
        let mut listing = Listing::default();
        listing.take(named(0..40), 0, DAY, well);
        let number = |id: &str| id.trim_start_matches("s-").parse::<usize>().unwrap();
        // Ten have worked; thirty stand beside them, so that eight of ten would be no fifth.
        let seen = |id: &str, _: i64| if number(id) < 10 { Seen::Failing } else { Seen::Never };
        listing.take(named(8..40), 60, DAY, seen);
        let held = listing.held.clone().expect("eight of ten that have worked are many");
        assert_eq!((held.missing.len(), held.of), (8, 10));
        listing.take(named(0..10), 120, DAY, seen);
        assert_eq!((listing.targets.len(), listing.held.as_ref()), (10, None), "those go without a word");
        let mut untried = Listing::default();
        untried.take(named(0..30), 0, DAY, well);
        untried.take(Named::default(), 60, DAY, |_, _| Seen::Never);
        assert_eq!((untried.targets.len(), untried.held.as_ref()), (0, None), "be they all");
    }

    #[test]
    fn what_is_named_and_cannot_be_taken_is_not_gone() {
        let mut listing = Listing::default();
        listing.take(named(0..3), 0, DAY, well);
        let unclear = || BTreeSet::from(["s-0".to_owned(), "s-9".to_owned()]);
        listing.take(Named { targets: targets(1..3), unclear: unclear() }, 60, DAY, well);
        let ids: Vec<&str> = listing.targets.keys().map(String::as_str).collect();
        assert_eq!(ids, ["s-0", "s-1", "s-2"], "what was known of it counts on, and nothing is made of what was not");
        assert_eq!(listing.targets["s-0"].gone_since, None);
    }

    #[test]
    fn a_list_brings_no_more_than_there_is_room_for_and_what_is_known_comes_first() {
        let mut listing = Listing::default();
        assert_eq!(listing.take(named(TARGETS_MAX - 1..TARGETS_MAX), 0, DAY, well), 0);
        assert_eq!(listing.take(named(0..TARGETS_MAX + 2), 60, DAY, well), 2);
        assert_eq!(listing.targets.len(), TARGETS_MAX);
        assert!(listing.targets.contains_key(&format!("s-{}", TARGETS_MAX - 1)));
    }
}
