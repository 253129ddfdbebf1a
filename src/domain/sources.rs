//! What a server's list of sources shows, as far as it was read, and what that proves of the newest of them.
//!
//! What was read proves what is in it, and nothing about the rest: one young source proves that the newest is young, but
//! that none is takes the whole list, or the server's own word. What is not proven is unknown: it opens and closes nothing.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::monitor::{Caps, Monitor};
use crate::domain::rules::ShrinksRule;
use crate::domain::schedule::SOURCES_EVERY;
use crate::domain::signal::{Phase, SignalState};
use crate::domain::wording::counted;

/// Pages of the list that a probe reads at most, the first one included: an hour's look is no crawl.
pub const SOURCE_PAGES_MAX: usize = 20;
/// Beats within which the second look comes that opens an incident about the sources' age.
const SECOND_LOOK_BEATS: u32 = 3;

impl Monitor {
    /// Whether its sources are listed: their age is judged, or the lock says how many there are.
    pub fn lists_sources(&self) -> bool {
        self.rules.freshness.is_some() || self.pinned_sources().is_some()
    }

    /// How many sources there were when it was pinned.
    pub fn pinned_sources(&self) -> Option<u32> {
        self.pinned.as_ref().and_then(|pinned| pinned.sources)
    }

    /// When sources are missing; where the file says nothing of it, what holds by itself once there is a number to compare
    /// with. None: nobody counts them.
    pub fn shrinks(&self) -> Option<ShrinksRule> {
        let rule = self.rules.freshness.as_ref().map(|rule| rule.shrinks);
        rule.or_else(|| self.pinned_sources().map(|_| ShrinksRule::STANDARD))
    }
}

/// How many pages of the source-listing tool a beat may ask for; 0: it is not due. `state` is that of the freshness signal,
/// `spare` what the day's calls have room for.
///
/// While an incident waits or is open, each beat asks for the first page, so that its second look and its end come soon.
/// Further pages are asked for by that second look, and else once in an hour.
pub(crate) fn source_pages(
    monitor: &Monitor,
    state: &SignalState,
    asked_at: Option<DateTime<Utc>>,
    spare: impl FnOnce() -> usize,
    now: DateTime<Utc>,
) -> usize {
    let is_within = |at: DateTime<Utc>, length: Duration| (now - at).to_std().is_ok_and(|age| age < length);
    let waits = state.phase != Phase::Quiet;
    if !monitor.lists_sources() || !waits && asked_at.is_some_and(|at| is_within(at, SOURCES_EVERY)) {
        return 0;
    }
    let is_second_look = state.phase == Phase::Pending && is_within(state.since, monitor.every * SECOND_LOOK_BEATS);
    let hour = |at: DateTime<Utc>| at.timestamp().div_euclid(SOURCES_EVERY.as_secs().cast_signed());
    match asked_at {
        Some(at) if hour(at) == hour(now) && !is_second_look => 1,
        _ if monitor.caps == Caps::default() => SOURCE_PAGES_MAX,
        _ => spare().saturating_add(1).min(SOURCE_PAGES_MAX),
    }
}

/// What the source-listing tool answered, over all pages that were read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourcesSeen {
    /// How many sources were read.
    pub count: u32,
    /// How many there are, where the server says so.
    pub total: Option<u32>,
    /// The latest moment any of those read was indexed, or any at all where the server says that.
    pub last_indexed_at: Option<DateTime<Utc>>,
    /// Whether the server itself says when the newest of all was indexed.
    pub newest_said: bool,
    /// Why there may be others that were not read; none: these are all.
    pub left: Option<SourcesLeft>,
}

/// Why a list of sources was not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourcesLeft {
    /// What is judged shows without the others.
    NotNeeded,
    /// Further pages were read within the hour, or the day's calls leave no room for them.
    Spared,
    /// There are more, and the tool takes no cursor or gave none that can be sent back.
    NotOffered,
    /// More pages, sources or bytes than a probe reads.
    TooMany,
    /// The beat had no time left for them.
    NoTime,
    /// A page behind the first one was not answered, or not in a form that can be read.
    Failed,
    /// A cursor came again, or a page without anything new on it.
    Repeated,
}

impl SourcesLeft {
    /// Why, as it is said behind a comma.
    const fn said(self) -> &'static str {
        match self {
            Self::NotNeeded => "the others are not needed",
            Self::Spared => "the server is spared further pages for now",
            Self::NotOffered => "the tool offers no further page",
            Self::TooMany => "there are more than a probe reads",
            Self::NoTime => "no time was left for further pages",
            Self::Failed => "a further page failed",
            Self::Repeated => "its pages lead in a circle",
        }
    }
}

/// What is proven of the newest source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewestSource {
    /// It is as young as it has to be.
    Young,
    /// It is older than it may be, and this old.
    Old(Duration),
    /// All that was seen is too old, and younger ones may be where nobody looked.
    Unproven,
}

impl SourcesSeen {
    /// Whether `last_indexed_at` is that of the newest source there is.
    pub const fn knows_newest(&self) -> bool {
        self.left.is_none() || self.newest_said
    }

    /// What is proven of the newest source's age; none where no date was seen. One of the future is a clock that differs.
    pub fn newest(&self, older_than: Duration, now: DateTime<Utc>) -> Option<NewestSource> {
        let age = (now - self.last_indexed_at?).to_std().unwrap_or_default();
        Some(match () {
            () if age <= older_than => NewestSource::Young,
            () if self.knows_newest() => NewestSource::Old(age),
            () => NewestSource::Unproven,
        })
    }

    /// How many there are, as far as anybody knows.
    pub fn known(&self) -> u32 {
        self.total.unwrap_or_default().max(self.count)
    }

    /// How far the list was read: `412 sources`, or `read 500 of 12,000 sources`.
    pub fn said(&self) -> String {
        let read = grouped(self.count);
        match self.total.filter(|total| *total > self.count) {
            _ if self.left.is_none() => counted(read, "source", "sources"),
            Some(total) => format!("read {read} of {} sources", grouped(total)),
            None => format!("read {} and not all", counted(read, "source", "sources")),
        }
    }

    /// The same where it was too little to judge by: `read 500 of 12,000 sources: not judged, a further page failed`.
    pub fn not_judged(&self) -> String {
        let why = self.left.map(|left| format!(", {}", left.said())).unwrap_or_default();
        format!("{}: not judged{why}", self.said())
    }
}

/// `12,000`.
fn grouped(n: u32) -> String {
    let digits = n.to_string();
    let is_border = |at: usize| at > 0 && (digits.len() - at).is_multiple_of(3);
    digits.chars().enumerate().flat_map(|(at, digit)| is_border(at).then_some(',').into_iter().chain([digit])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::reason::Severity;
    use crate::domain::rules::{FreshnessRule, ShrinksRule};
    use crate::domain::secret::{Address, Secret};

    const LIMIT: Duration = Duration::from_secs(3_600);

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    #[test]
    fn a_list_of_sources_is_read_whole_once_an_hour_and_for_the_second_look() {
        let mut monitor = Monitor::undeclared("m", Address { shown: String::new(), resolved: Secret::new("") });
        let pages = |monitor: &Monitor, phase: Phase, since: i64, asked: Option<i64>| {
            let state = SignalState { phase, ..SignalState::quiet(at(since)) };
            source_pages(monitor, &state, asked.map(at), || 4, at(7_000))
        };
        assert_eq!(pages(&monitor, Phase::Open, 0, None), 0, "no rule, no question");
        monitor.rules.freshness = Some(FreshnessRule {
            older_than: Duration::from_secs(60),
            shrinks: ShrinksRule::STANDARD,
            severity: Severity::Ticket,
            line: 1,
        });
        // The phase, since when, when it was asked last; the pages. Hours begin at 0 and 3,600.
        let rows = [
            ("never asked", Phase::Quiet, 0, None, 20),
            ("asked lately", Phase::Quiet, 0, Some(3_401), 0),
            ("an hour ago", Phase::Quiet, 0, Some(3_400), 20),
            ("the second look", Phase::Pending, 6_940, Some(6_940), 20),
            ("which did not come to anything", Phase::Pending, 6_820, Some(6_940), 1),
            ("an incident is open", Phase::Open, 0, Some(6_940), 1),
            ("and its hour is new", Phase::Open, 0, Some(3_599), 20),
        ];
        for (sentence, phase, since, asked, expected) in rows {
            assert_eq!(pages(&monitor, phase, since, asked), expected, "{sentence}");
        }
        monitor.caps.requests_per_day = Some(10_000);
        assert_eq!(pages(&monitor, Phase::Quiet, 0, None), 5, "as far as a cap leaves room");
    }

    #[test]
    fn what_was_not_read_is_never_judged() {
        let now = at(0);
        let old = NewestSource::Old(Duration::from_secs(3_601));
        // Seconds since the newest seen was indexed, whether the server says that of all, why some are left; what it proves.
        let rows = [
            ("a whole list, young", Some(3_600), false, None, Some(NewestSource::Young)),
            ("a whole list, old", Some(3_601), false, None, Some(old)),
            ("a clock that differs", Some(-60), false, None, Some(NewestSource::Young)),
            ("no date at all", None, false, None, None),
            ("no date so far", None, false, Some(SourcesLeft::Failed), None),
            ("a young one is proof", Some(60), false, Some(SourcesLeft::Repeated), Some(NewestSource::Young)),
            ("old ones are none", Some(3_601), false, Some(SourcesLeft::Failed), Some(NewestSource::Unproven)),
            ("unless the server says so", Some(3_601), true, Some(SourcesLeft::NotNeeded), Some(old)),
        ];
        for (sentence, age, newest_said, left, expected) in rows {
            let last_indexed_at = age.map(|age| now - chrono::TimeDelta::seconds(age));
            let seen = SourcesSeen { count: 1, last_indexed_at, newest_said, left, ..SourcesSeen::default() };
            assert_eq!(seen.newest(LIMIT, now), expected, "{sentence}");
        }
    }

    #[test]
    fn how_far_it_was_read_is_said() {
        let rows = [
            (1, None, None, "1 source"),
            (12_000, Some(12_000), None, "12,000 sources"),
            (500, Some(12_000), Some(SourcesLeft::TooMany), "read 500 of 12,000 sources"),
            (999, None, Some(SourcesLeft::Failed), "read 999 sources and not all"),
            (1_234_567, Some(4), Some(SourcesLeft::Failed), "read 1,234,567 sources and not all"),
        ];
        for (count, total, left, expected) in rows {
            let seen = SourcesSeen { count, total, left, ..SourcesSeen::default() };
            assert_eq!(seen.said(), expected);
        }
        let seen = SourcesSeen {
            count: 500,
            total: Some(12_000),
            left: Some(SourcesLeft::NotOffered),
            ..SourcesSeen::default()
        };
        let expected = "read 500 of 12,000 sources: not judged, the tool offers no further page";
        assert_eq!((seen.not_judged().as_str(), seen.known()), (expected, 12_000));
    }
}
