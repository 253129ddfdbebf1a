//! What happened and what would have happened, side by side.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::hindsight::replaying::ToldIncident;

/// Moments that lie nearer to each other are the same: packs keep them to the hundredth of a second.
const SAME: TimeDelta = TimeDelta::milliseconds(500);

/// How an incident would have been another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// It would not have been.
    Gone,
    /// It is none that happened.
    New,
    /// People would have heard of it so much sooner.
    Sooner(Duration),
    /// People would have heard of it so much later.
    Later(Duration),
    /// Nobody heard of it, and somebody would have.
    NowTold,
    /// People heard of it, and nobody would have.
    NoLongerTold,
    /// It would have been more severe.
    Louder,
    /// It would have been less severe.
    Quieter,
    /// It would have been opened for another reason, or have ended with another one.
    OtherReason,
    /// It would have ended so much sooner.
    EndsSooner(Duration),
    /// It would have ended so much later, or would still be open.
    EndsLater(Option<Duration>),
}

/// An incident that is another one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    /// As it happened; none where it did not.
    pub(crate) then: Option<ToldIncident>,
    /// As it would have been; none where it would not.
    pub(crate) now: Option<ToldIncident>,
    /// In what; never empty.
    pub(crate) changes: Vec<Change>,
}

/// The stretch of time that is compared: incidents that were opened in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) from: DateTime<Utc>,
    pub(crate) until: DateTime<Utc>,
}

impl Difference {
    /// Whether it is another one's difference from what happened.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        let begun = |one: &Option<ToldIncident>| one.as_ref().map(|one| (one.incident.signal, one.incident.opened_at));
        self.changes == other.changes
            && begun(&self.then) == begun(&other.then)
            && begun(&self.now) == begun(&other.now)
    }

    /// When the incident was opened, or would have been.
    pub(crate) fn opened_at(&self) -> Option<DateTime<Utc>> {
        self.then.as_ref().or(self.now.as_ref()).map(|one| one.incident.opened_at)
    }
}

/// What differs, in the order of opening. An incident is the same one where its signal is and both were open at one moment.
pub(crate) fn differences(then: &[ToldIncident], now: &[ToldIncident], stretch: Stretch) -> Vec<Difference> {
    let mut left: Vec<Option<&ToldIncident>> = now.iter().map(Some).collect();
    let mut found: Vec<Difference> = Vec::new();
    for one in then {
        let place = left.iter().position(|other| other.is_some_and(|other| is_same(one, other, stretch)));
        let other = place.and_then(|place| left[place].take());
        let changes = other.map_or_else(|| vec![Change::Gone], |other| changes(one, other, stretch.until));
        found.push(Difference { then: Some(one.clone()), now: other.cloned(), changes });
    }
    let new = left.into_iter().flatten();
    found.extend(new.map(|one| Difference { then: None, now: Some(one.clone()), changes: vec![Change::New] }));
    let is_within = |at: DateTime<Utc>| at >= stretch.from && at < stretch.until;
    found.retain(|one| !one.changes.is_empty() && one.opened_at().is_some_and(is_within));
    found.sort_by_key(Difference::opened_at);
    found
}

fn is_same(one: &ToldIncident, other: &ToldIncident, stretch: Stretch) -> bool {
    let (one, other) = (&one.incident, &other.incident);
    let end = |at: Option<DateTime<Utc>>| at.unwrap_or(stretch.until) + SAME;
    one.signal == other.signal && one.opened_at <= end(other.resolved_at) && other.opened_at <= end(one.resolved_at)
}

fn changes(then: &ToldIncident, now: &ToldIncident, until: DateTime<Utc>) -> Vec<Change> {
    let mut found = Vec::new();
    let heard = match (then.told_at, now.told_at) {
        (Some(then), Some(now)) => Some((then, now)),
        (None, None) => Some((then.incident.opened_at, now.incident.opened_at)),
        (None, Some(_)) => {
            found.push(Change::NowTold);
            None
        }
        (Some(_), None) => {
            found.push(Change::NoLongerTold);
            None
        }
    };
    if let Some((then, now)) = heard {
        match apart(then, now) {
            Some((by, true)) => found.push(Change::Later(by)),
            Some((by, false)) => found.push(Change::Sooner(by)),
            None => {}
        }
    }
    let (then, now) = (&then.incident, &now.incident);
    if now.severity > then.severity {
        found.push(Change::Louder);
    }
    if now.severity < then.severity {
        found.push(Change::Quieter);
    }
    if now.reason != then.reason {
        found.push(Change::OtherReason);
    }
    match (then.resolved_at, now.resolved_at) {
        (Some(then), Some(now)) => match apart(then, now) {
            Some((by, true)) => found.push(Change::EndsLater(Some(by))),
            Some((by, false)) => found.push(Change::EndsSooner(by)),
            None => {}
        },
        (Some(_), None) => found.push(Change::EndsLater(None)),
        (None, Some(now)) => {
            found.push(Change::EndsSooner((until - now).to_std().unwrap_or_default()));
        }
        (None, None) => {}
    }
    found
}

/// How far two moments are apart to the second, and whether the second is the later one; none where they are the same.
fn apart(then: DateTime<Utc>, now: DateTime<Utc>) -> Option<(Duration, bool)> {
    let by = now - then;
    let seconds = (by.abs() + SAME).num_seconds().unsigned_abs();
    (by.abs() >= SAME).then(|| (Duration::from_secs(seconds), by > TimeDelta::zero()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::incident::Course;
    use crate::domain::monitor::MonitorId;
    use crate::domain::reason::{FailureReason, Severity};
    use crate::domain::rules::RulePlace;
    use crate::domain::signal::Signal;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + minute * 60, 0).unwrap()
    }

    /// From a minute to a minute, told at one.
    fn incident(opened: i64, resolved: Option<i64>, told: Option<i64>) -> ToldIncident {
        let incident = crate::domain::incident::Incident {
            id: String::new(),
            monitor: MonitorId::new("docs"),
            signal: Signal::Availability,
            subject: String::new(),
            severity: Severity::Page,
            reason: FailureReason::Timeout,
            stage: String::new(),
            summary: String::new(),
            evidence: Vec::new(),
            rule: RulePlace { file: String::new(), line: 1, commit: None },
            opened_at: at(opened),
            resolved_at: resolved.map(at),
            resolve_cause: None,
            acknowledged: None,
            sequence: 1,
            course: Course::default(),
        };
        ToldIncident { incident, told_at: told.map(at), in_maintenance: false }
    }

    fn as_ticket(mut one: ToldIncident) -> ToldIncident {
        one.incident.severity = Severity::Ticket;
        one
    }

    fn refused(mut one: ToldIncident) -> ToldIncident {
        one.incident.reason = FailureReason::ConnectionRefused;
        one
    }

    fn slow(mut one: ToldIncident) -> ToldIncident {
        one.incident.signal = Signal::Latency;
        one
    }

    #[test]
    fn what_would_have_been_otherwise_is_told_incident_by_incident() {
        use Change as C;
        let usual = || incident(10, Some(30), Some(10));
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        type Row = (Vec<ToldIncident>, Vec<ToldIncident>, Vec<Vec<Change>>, &'static str);
        let rows: Vec<Row> = vec![
            (vec![usual()], vec![usual()], vec![], "the same"),
            (vec![], vec![], vec![], "nothing at all"),
            (vec![usual()], vec![], vec![vec![C::Gone]], "it would not have been"),
            (vec![], vec![usual()], vec![vec![C::New]], "it was not"),
            (
                vec![usual()],
                vec![slow(usual())],
                vec![vec![C::Gone], vec![C::New]],
                "another signal is another incident",
            ),
            (
                vec![usual()],
                vec![incident(40, Some(50), Some(40))],
                vec![vec![C::Gone], vec![C::New]],
                "and so is another time",
            ),
            (
                vec![usual()],
                vec![incident(6, Some(30), Some(6))],
                vec![vec![C::Sooner(minutes(4))]],
                "four minutes sooner",
            ),
            (
                vec![usual()],
                vec![incident(12, Some(30), Some(15))],
                vec![vec![C::Later(minutes(5))]],
                "by when people hear of it",
            ),
            (
                vec![incident(10, Some(30), None)],
                vec![incident(12, Some(30), None)],
                vec![vec![C::Later(minutes(2))]],
                "or when it opens",
            ),
            (vec![usual()], vec![incident(10, Some(30), None)], vec![vec![C::NoLongerTold]], "nobody hears of it"),
            (vec![incident(10, Some(30), None)], vec![usual()], vec![vec![C::NowTold]], "somebody does"),
            (vec![usual()], vec![as_ticket(usual())], vec![vec![C::Quieter]], "a ticket"),
            (vec![as_ticket(usual())], vec![usual()], vec![vec![C::Louder]], "a page"),
            (vec![usual()], vec![refused(usual())], vec![vec![C::OtherReason]], "for another reason"),
            (
                vec![usual()],
                vec![incident(10, Some(25), Some(10))],
                vec![vec![C::EndsSooner(minutes(5))]],
                "over sooner",
            ),
            (vec![usual()], vec![incident(10, None, Some(10))], vec![vec![C::EndsLater(None)]], "still open"),
            (
                vec![incident(10, None, Some(10))],
                vec![usual()],
                vec![vec![C::EndsSooner(minutes(70))]],
                "open until now",
            ),
            (
                vec![usual()],
                vec![incident(10, Some(14), Some(10)), incident(20, Some(30), Some(20))],
                vec![vec![C::EndsSooner(minutes(16))], vec![C::New]],
                "one that comes twice",
            ),
            (
                vec![usual()],
                vec![as_ticket(refused(incident(6, Some(30), Some(6))))],
                vec![vec![C::Sooner(minutes(4)), C::Quieter, C::OtherReason]],
                "all at once",
            ),
            (vec![incident(-5, Some(5), Some(-5))], vec![], vec![], "what was opened before is not compared"),
        ];
        let stretch = Stretch { from: at(0), until: at(100) };
        for (then, now, expected, sentence) in rows {
            let found = differences(&then, &now, stretch);
            let found: Vec<Vec<Change>> = found.into_iter().map(|one| one.changes).collect();
            assert_eq!(found, expected, "{sentence}");
        }
    }

    #[test]
    fn what_packs_round_is_no_difference() {
        let mut rounded = incident(10, Some(30), Some(10));
        rounded.incident.opened_at += TimeDelta::milliseconds(9);
        rounded.told_at = Some(rounded.incident.opened_at);
        let stretch = Stretch { from: at(0), until: at(100) };
        assert_eq!(differences(&[incident(10, Some(30), Some(10))], &[rounded], stretch), []);
    }
}
