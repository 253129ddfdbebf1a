//! What is told by time while an incident is open and nobody has taken it: reminders, ever further apart, and escalations.
//!
//! Nothing is remembered but up to when it was told: what is due follows from the routes, from since when nobody has it,
//! and from the clock. So an edited file holds at once, and a crash repeats nothing that was committed.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::paging::notification::Event;
use crate::domain::route::{Route, Subject, fitting};
use crate::domain::unclaimed::Unclaimed;

/// Two reminders are at most so far apart, however often there was one.
const REMINDERS_APART_MAX: Duration = Duration::from_secs(24 * 3_600);

/// Something that is told because time went by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowUp {
    /// A reminder or an escalation.
    pub event: Event,
    /// Who is told, by name, each once.
    pub to: Vec<String>,
}

/// What is due by now: at most one reminder, then each escalation in the order of time.
pub(crate) fn due(routes: &[Route], subject: Subject<'_>, from: Unclaimed, now: DateTime<Utc>) -> Vec<FollowUp> {
    let mut reminded: Vec<String> = Vec::new();
    let mut escalated: Vec<(DateTime<Utc>, Vec<String>)> = Vec::new();
    for route in fitting(routes, subject) {
        if route.remind.and_then(|first| reminder_after(first, from)).is_some_and(|at| at <= now) {
            reminded.extend(route.to.iter().filter(|name| !reminded.contains(name)).cloned().collect::<Vec<_>>());
        }
        let steps = route.escalate.iter().map(|step| (later(from.since, step.after), step.to.clone()));
        escalated.extend(steps.filter(|(at, _)| *at > from.told_until && *at <= now));
    }
    escalated.sort();
    let reminder = (!reminded.is_empty()).then_some(FollowUp { event: Event::IncidentReminder, to: reminded });
    let escalations = escalated.into_iter().map(|(_, to)| FollowUp { event: Event::IncidentEscalated, to });
    reminder.into_iter().chain(escalations).collect()
}

/// The next moment at which something is due, UTC.
pub(crate) fn next(routes: &[Route], subject: Subject<'_>, from: Unclaimed) -> Option<DateTime<Utc>> {
    let of_route = |route: &Route| {
        let steps = route.escalate.iter().map(|step| later(from.since, step.after));
        let reminder = route.remind.and_then(|first| reminder_after(first, from));
        steps.filter(|at| *at > from.told_until).chain(reminder).min()
    };
    fitting(routes, subject).filter_map(of_route).min()
}

/// The first reminder after what was told: the gaps double until they are a day.
fn reminder_after(first: Duration, from: Unclaimed) -> Option<DateTime<Utc>> {
    let (mut at, mut gap) = (later(from.since, first), first);
    // A day apart at last, so this ends: incidents that are open for a year have been reminded of some 370 times.
    while at <= from.told_until {
        gap = (gap * 2).min(REMINDERS_APART_MAX.max(first));
        at = at.checked_add_signed(TimeDelta::from_std(gap).ok()?)?;
    }
    Some(at)
}

fn later(at: DateTime<Utc>, by: Duration) -> DateTime<Utc> {
    TimeDelta::from_std(by).ok().and_then(|by| at.checked_add_signed(by)).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::domain::reason::Severity;
    use crate::domain::route::{Escalation, Match};

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + minute * 60, 0).unwrap()
    }

    const MINUTE: Duration = Duration::from_secs(60);

    fn route(to: &str, remind: Option<u32>, escalate: &[(u32, &str)]) -> Route {
        let step = |(after, to): &(u32, &str)| Escalation { after: MINUTE * *after, to: vec![(*to).to_owned()] };
        Route {
            to: vec![to.to_owned()],
            remind: remind.map(|minutes| MINUTE * minutes),
            escalate: escalate.iter().map(step).collect(),
            goes_on: true,
            ..Route::default()
        }
    }

    /// What is told from minute 0 on, looked at whenever something is due: `minute event receivers`.
    fn told(routes: &[Route], until: i64) -> Vec<String> {
        let labels = BTreeMap::new();
        let subject =
            Subject { severity: Severity::Page, signal: None, reason: None, labels: &labels, monitor: "docs" };
        let mut from = Unclaimed::since(at(0));
        let mut said = Vec::new();
        while let Some(now) = next(routes, subject, from).filter(|now| *now <= at(until)) {
            assert_eq!(due(routes, subject, from, now - TimeDelta::seconds(1)), [], "nothing before its time");
            for one in due(routes, subject, from, now) {
                let event = one.event.slug().trim_start_matches("incident.");
                said.push(format!("{} {event} {}", (now - at(0)).num_minutes(), one.to.join("+")));
            }
            from.told_until = now;
        }
        said
    }

    #[test]
    fn reminders_come_ever_further_apart_and_escalations_in_their_order() {
        let reminders = ["30 reminder oncall", "90 reminder oncall", "210 reminder oncall"];
        assert_eq!(told(&[route("oncall", Some(30), &[])], 400), reminders);
        let days = told(&[route("oncall", Some(600), &[])], 6 * 1_440);
        let minutes: Vec<_> = days.iter().filter_map(|one| one.split(' ').next()).collect();
        assert_eq!(minutes, ["600", "1800", "3240", "4680", "6120", "7560"], "a day apart at most");
        let steps = [route("oncall", None, &[(30, "boss"), (15, "lead")])];
        assert_eq!(told(&steps, 400), ["15 escalated lead", "30 escalated boss"], "in the order of time");
        let both = [route("oncall", Some(15), &[(15, "lead")]), route("log", Some(15), &[])];
        assert_eq!(told(&both, 20), ["15 reminder oncall+log", "15 escalated lead"], "all routes that fit");
        assert_eq!(told(&[route("oncall", None, &[])], 9_999), [""; 0], "nothing where the file says nothing");
        let other =
            Route { matches: Match { monitor: vec!["wiki".to_owned()], ..Match::default() }, ..steps[0].clone() };
        assert_eq!(told(&[other], 400), [""; 0], "a route that does not fit");
        let last = Route { goes_on: false, ..route("oncall", None, &[]) };
        assert_eq!(told(&[last, route("log", Some(15), &[])], 400), [""; 0], "nor one behind the last");
    }

    #[test]
    fn what_came_while_nobody_looked_is_told_once() {
        let labels = BTreeMap::new();
        let subject =
            Subject { severity: Severity::Page, signal: None, reason: None, labels: &labels, monitor: "docs" };
        let routes = [route("oncall", Some(10), &[(15, "lead"), (30, "boss")])];
        let from = Unclaimed::since(at(0));
        let late: Vec<_> = due(&routes, subject, from, at(500)).into_iter().map(|one| one.to.join("+")).collect();
        assert_eq!(late, ["oncall", "lead", "boss"], "one reminder for all that were due");
        let mut back = Unclaimed { since: at(100), told_until: at(130) };
        back.follow_clock(at(40));
        assert_eq!(next(&routes, subject, back), Some(at(50)), "by a clock set back, from now on");
    }
}
