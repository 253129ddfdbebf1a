//! What waits for what, so that people get one message instead of forty: under which key, and until when.
//!
//! Only the telling of it waits, in the queue, where it is kept like any other promise; who is told is decided as ever.
//! Programs get one message an incident.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::grouping::Grouping;
use crate::domain::reason::Severity;
use crate::domain::route::{Route, Subject, fitting};

/// The key of what many monitors have in common that went down together.
pub const COMMON_CAUSE: &str = "common cause";
/// The key of what had to wait, since its receiver wants no more messages than so many.
pub const TOO_MANY: &str = "too many";
/// What the keys begin with of what is told at set times.
pub const DIGEST: &str = "digest";

/// Those that go down at about the same time wait half a minute for each other, and what follows goes every two minutes.
pub const COMMON_PACE: Pace =
    Pace::Rhythm { wait: Duration::from_secs(30), interval: Duration::from_secs(120), is_loud_sooner: false };

/// Where a promise waits for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gathering {
    /// What has the same key goes into one message.
    pub key: String,
    /// How long it waits.
    pub pace: Pace,
}

/// How long something waits for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// From message to message.
    Rhythm {
        /// How long the first waits for others.
        wait: Duration,
        /// How long what follows waits behind the last message.
        interval: Duration,
        /// Whether a new page waits for `wait` only, whenever the last message was.
        is_loud_sooner: bool,
    },
    /// Until a moment, UTC.
    Until(DateTime<Utc>),
}

/// What is known of the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gathered {
    /// When what waits already is due, UTC; none where nothing waits.
    pub due: Option<DateTime<Utc>>,
    /// When the last message went out, UTC.
    pub told_at: Option<DateTime<Utc>>,
}

impl Pace {
    /// As a route says it.
    pub const fn of(grouping: &Grouping) -> Self {
        Self::Rhythm { wait: grouping.wait, interval: grouping.interval, is_loud_sooner: true }
    }

    /// When a promise is due that is made now. `is_loud`: it wakes somebody.
    pub fn due(self, is_loud: bool, gathered: Gathered, now: DateTime<Utc>) -> DateTime<Utc> {
        let after = |from: DateTime<Utc>, span| from + TimeDelta::from_std(span).unwrap_or_default();
        let alone = match self {
            Self::Until(at) => at.max(now),
            Self::Rhythm { wait, interval, is_loud_sooner } => {
                // By a clock that was set back since, the last message is none.
                let told = gathered.told_at.filter(|told| *told <= now && !(is_loud && is_loud_sooner));
                told.map_or(after(now, wait), |told| after(told, interval).max(after(now, wait)))
            }
        };
        gathered.due.map_or(alone, |due| due.min(alone).max(now))
    }
}

/// What decides with what a receiver's promise waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// The routes in force.
    pub routes: &'a [Route],
    /// What is told.
    pub subject: Subject<'a>,
    /// The key under which the receiver was told of the incident before, where it sticks.
    pub told_in: Option<&'a str>,
    /// Whether nobody was told of it yet: it opens, or is about no incident.
    pub is_first: bool,
}

impl Wanted<'_> {
    /// With what a person's promise waits; none: it goes at once, alone. `is_common`: whether it opens as one of many.
    pub(crate) fn gathering(
        self,
        receiver: &str,
        is_common: impl FnOnce() -> bool,
        now: DateTime<Utc>,
    ) -> Option<Gathering> {
        let under = |key: &str, pace| Some(Gathering { key: key.to_owned(), pace });
        let naming = || fitting(self.routes, self.subject).filter(|route| route.reached().any(|name| name == receiver));
        let group = naming().find_map(|route| Some((route.group.as_ref()?, &*route.to)));
        match self.told_in {
            Some(COMMON_CAUSE) => return under(COMMON_CAUSE, COMMON_PACE),
            // It goes on in digests as long as it is a notice.
            Some(key) if key.starts_with(DIGEST) => {}
            Some(key) => return under(key, Pace::of(group.map_or(&Grouping::default(), |(group, _)| group))),
            None => {}
        }
        if is_common() {
            return under(COMMON_CAUSE, COMMON_PACE);
        }
        if self.subject.severity == Severity::Notice && (self.is_first || self.told_in.is_some()) {
            let next = |route: &Route| {
                let times = route.digest.as_ref()?;
                // Digests at other times are other messages.
                Some((format!("{DIGEST} {}", times.written()), times.next_after(now, 1).into_iter().next()?))
            };
            if let Some((key, at)) = naming().find_map(next) {
                return under(&key, Pace::Until(at));
            }
        }
        group.map(|(group, route)| Gathering { key: group.key(self.subject.labels, route), pace: Pace::of(group) })
    }
}

/// The key of what somebody gets in the place of another: what is their own waits for its own time.
pub fn instead_of(key: &str, receiver: &str) -> String {
    if key.is_empty() { String::new() } else { format!("{key}, for {receiver}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    #[test]
    fn what_is_loud_waits_for_others_and_what_is_not_for_its_turn() {
        let of_route = Pace::of(&Grouping::default());
        let rows = [
            (of_route, true, None, None, 30, "the first waits for others"),
            (of_route, false, None, None, 30, "loud or not"),
            (of_route, true, Some(12), None, 12, "who comes later goes with it"),
            (of_route, true, Some(-3600), None, 0, "what should have gone long ago makes nothing older than it is"),
            (of_route, false, None, Some(-10), 290, "what is over soon after a message waits for its turn"),
            (of_route, true, None, Some(-10), 30, "a new page does not"),
            (of_route, true, Some(290), Some(-10), 30, "and takes along what waits"),
            (of_route, false, None, Some(-280), 30, "whose turn is near waits for others all the same"),
            (of_route, false, None, Some(-9000), 30, "long after a message it is the first again"),
            (of_route, false, None, Some(3600), 30, "a message from the future counts for nothing"),
            (COMMON_PACE, true, None, Some(-10), 110, "of one cause everything that follows is one message"),
            (Pace::Until(at(600)), true, None, None, 600, "a digest has its time"),
            (Pace::Until(at(-600)), false, None, None, 0, "which does not lie behind us"),
        ];
        for (pace, is_loud, due, told, expected, sentence) in rows {
            let gathered = Gathered { due: due.map(at), told_at: told.map(at) };
            assert_eq!(pace.due(is_loud, gathered, at(0)), at(expected), "{sentence}");
        }
    }

    #[test]
    fn a_person_is_told_together_with_what_the_route_or_the_moment_says() {
        let labels = std::collections::BTreeMap::from([("team".to_owned(), "docs".to_owned())]);
        let group = Some(Grouping { by: vec!["team".to_owned()], ..Grouping::default() });
        let times = crate::domain::recurrence::parsed("0 9 * * *").unwrap();
        let digest = Some(crate::domain::recurrence::Recurrence::new(times, jiff::tz::TimeZone::UTC));
        let to = vec!["chat".to_owned()];
        let route = Route { to, group, digest, line: 7, ..Route::default() };
        let plain = Route { group: None, digest: None, ..route.clone() };
        let other = Route { to: vec!["mail".to_owned()], goes_on: true, ..route.clone() };
        let (page, notice) = (Severity::Page, Severity::Notice);
        let rows = [
            (vec![&plain], page, None, true, false, "", "where nothing groups each goes alone"),
            (vec![&route], page, None, true, false, "team=docs", "a route groups"),
            (vec![&other, &plain], page, None, true, false, "", "for those it tells"),
            (vec![&plain], page, None, true, true, COMMON_CAUSE, "what many have in common needs no route"),
            (vec![&route], page, None, true, true, COMMON_CAUSE, "and comes first"),
            (vec![&plain], page, Some(COMMON_CAUSE), false, false, COMMON_CAUSE, "its end goes with the others' ends"),
            (vec![&plain], page, Some("team=x"), false, false, "team=x", "so does that of a group that is gone"),
            (vec![&route], page, Some("team=x"), false, false, "team=x", "or that others are put in now"),
            (vec![&route], notice, None, true, false, "digest 0 9 * * * UTC", "a notice waits for its digest"),
            (vec![&route], notice, None, false, false, "team=docs", "not the end of what was told at once"),
            (
                vec![&route],
                notice,
                Some("digest x"),
                false,
                false,
                "digest 0 9 * * * UTC",
                "what is told in digests ends in one",
            ),
            (vec![&route], page, Some("digest x"), false, false, "team=docs", "and leaves them where it gets loud"),
        ];
        for (routes, severity, told_in, is_first, is_common, expected, sentence) in rows {
            let routes: Vec<Route> = routes.into_iter().cloned().collect();
            let subject = Subject { severity, signal: None, reason: None, labels: &labels, monitor: "docs" };
            let wanted = Wanted { routes: &routes, subject, told_in, is_first };
            let found = wanted.gathering("chat", || is_common, at(0));
            assert_eq!(found.map_or(String::new(), |found| found.key), expected, "{sentence}");
        }
    }
}
