//! How many requests a monitor sends its server: each may cost somebody money.

use crate::domain::monitor::{Canary, Monitor};
use crate::domain::pinned::{Pinned, Relation};
use crate::domain::search::Fresh;

/// One beat of so many asks a question twice, or once more in another way, where that is compared.
pub const TWICE_EVERY: u32 = 5;

/// One beat of so many asks two questions that look alike.
pub const PAIR_EVERY: u32 = 10;

impl Monitor {
    /// The most requests this monitor sends on a day without trouble; suspect beats, re-checks and
    /// canaries asked outside the round come on top.
    ///
    /// A beat of the older era, which is the dearer one: opening (2), tools/list (1), one a canary
    /// asked, one a health address, closing the session (1). Where the age of sources is judged, or their number is in the
    /// lock, they are listed once an hour; further pages of that list come on top. Where relations are looked at, one beat of
    /// [`TWICE_EVERY`] asks a canary a second time; where questions look alike, one of [`PAIR_EVERY`] asks two of them. Sentences
    /// out of answers are asked back in one of [`TWICE_EVERY`] at most.
    pub fn calls_per_day(&self) -> u64 {
        const DAY_MS: u128 = 24 * 3600 * 1000;
        const SOURCE_LISTINGS: u64 = 24;
        let beats = DAY_MS.div_ceil(self.every.as_millis().max(1));
        let listings = if self.lists_sources() { SOURCE_LISTINGS } else { 0 };
        let beats = u64::try_from(beats).unwrap_or(u64::MAX);
        let twice = if self.asks_twice() { beats / u64::from(TWICE_EVERY) } else { 0 };
        let pairs = if self.asks_pairs() { beats / u64::from(PAIR_EVERY) * 2 } else { 0 };
        let harvested = if self.search.harvest { beats / u64::from(TWICE_EVERY) } else { 0 };
        beats.saturating_mul(self.calls_per_beat()).saturating_add(listings + twice + pairs + harvested)
    }

    /// Whether a question is asked twice in a beat now and then: the lock says that it brings one list.
    pub fn asks_twice(&self) -> bool {
        self.rules.quality.checks.relations.severity.is_some() && !self.canaries.is_empty() && self.brings_one_list()
    }

    /// Whether questions that look alike are asked beside the round.
    pub fn asks_pairs(&self) -> bool {
        self.rules.quality.checks.pairs.severity.is_some() && !self.near_misses.is_empty()
    }

    /// The relations that beats look at, one a beat: of those that are pinned; none where one question brings several
    /// lists, of which no two can be compared.
    pub fn relations_asked(&self) -> Vec<Relation> {
        let pinned = self.pinned.as_deref().filter(|_| self.asks_twice());
        let is_pinned = |relation: &Relation| pinned.is_some_and(|pinned| pinned.relations.contains(relation));
        Relation::LOOKED_AT.into_iter().filter(is_pinned).collect()
    }

    /// Whether the lock says that the index brought one list for one question in every run.
    pub fn brings_one_list(&self) -> bool {
        let is_one = |pinned: &Pinned| pinned.reached_index && pinned.relations.contains(&Relation::SameTwice);
        self.pinned.as_deref().is_some_and(is_one)
    }

    /// Whether a nonce may take questions past caches: the lock says that it changes nothing, of the search as it is now,
    /// and the file leaves the way to us. An argument that the tool takes for it stands before that.
    pub fn may_send_nonces(&self) -> bool {
        let holds = |pinned: &Pinned| {
            let is_pinned = |canary: &Canary| {
                let pin = pinned.canaries.get(&canary.id);
                pin.is_some_and(|pin| pin.definition_hash == canary.definition_hash)
            };
            pinned.relations.contains(&Relation::Nonce) && self.canaries.iter().any(is_pinned)
        };
        self.search.fresh == Fresh::Found && self.pinned.as_deref().is_some_and(holds)
    }

    /// The most requests of one look that asks every canary once.
    pub fn calls_of_all(&self) -> u64 {
        self.calls_per_beat() - u64::from(self.per_beat()) + self.canaries.len() as u64
    }

    /// The most requests of one beat without trouble.
    pub fn calls_per_beat(&self) -> u64 {
        const OPENING_LISTING_CLOSING: u64 = 4;
        OPENING_LISTING_CLOSING + u64::from(self.per_beat()) + self.health.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::near_miss::NearMiss;
    use crate::domain::reason::Severity;
    use crate::domain::rules::{FreshnessRule, ShrinksRule};
    use crate::domain::secret::{Address, Secret};

    #[test]
    fn sources_are_counted_where_their_age_is_judged() {
        let mut monitor = Monitor::undeclared("m", Address { shown: String::new(), resolved: Secret::new("") });
        assert_eq!(monitor.calls_per_day(), 1_440 * 4, "nobody asks for sources");
        let older_than = Duration::from_secs(3_600);
        monitor.rules.freshness =
            Some(FreshnessRule { older_than, shrinks: ShrinksRule::STANDARD, severity: Severity::Ticket, line: 1 });
        assert_eq!(monitor.calls_per_day(), 1_440 * 4 + 24);
    }

    #[test]
    fn near_misses_are_counted_where_they_are_asked() {
        let mut monitor = Monitor::undeclared("m", Address { shown: String::new(), resolved: Secret::new("") });
        monitor.near_misses = vec![NearMiss { canary: "a".to_owned(), other: "b".to_owned() }];
        assert_eq!(monitor.calls_per_day(), 1_440 * 4 + 288, "both, in one beat of ten");
        monitor.rules.quality.checks.pairs.severity = None;
        assert_eq!(monitor.calls_per_day(), 1_440 * 4, "switched off");
    }
}
