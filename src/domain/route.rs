//! Who hears of what: the first route that matches, and those behind it where it says so.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::grouping::Grouping;
use crate::domain::incident::Incident;
use crate::domain::monitor::Monitor;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::recurrence::Recurrence;
use crate::domain::signal::Signal;

/// An entry of `routes:`; the first that fits decides, and where it goes on, the next that fits as well.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Route {
    /// What it wants to hear of; every given part has to fit.
    pub matches: Match,
    /// Names of the receivers that are told.
    pub to: Vec<String>,
    /// Name of the receiver that hears of it where one of `to` cannot be reached.
    pub fallback: Option<String>,
    /// Whether routes behind it are asked too.
    pub goes_on: bool,
    /// After how long those of `to` are reminded of what nobody took, the first time.
    pub remind: Option<Duration>,
    /// Who is told where nobody took it, by time.
    pub escalate: Vec<Escalation>,
    /// What of it goes to people in one message.
    pub group: Option<Grouping>,
    /// When its notices go to people.
    pub digest: Option<Recurrence>,
    /// The line of the file, from 1.
    pub line: u32,
}

impl Route {
    /// Whoever may hear of something by this route: at once, instead of another, or later.
    pub fn reached(&self) -> impl Iterator<Item = &str> {
        let later = self.escalate.iter().flat_map(|step| &step.to);
        self.to.iter().chain(&self.fallback).chain(later).map(String::as_str)
    }
}

/// An entry of `escalate:`: who is told where nobody took an incident for so long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Escalation {
    /// Time since people were told, or since it was given back.
    pub after: Duration,
    /// Names of the receivers that are told.
    pub to: Vec<String>,
}

/// The parts a route may ask for; an empty part fits everything, several values mean "one of".
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Match {
    /// One of these severities.
    pub severity: Vec<Severity>,
    /// One of these signals; a notification without an incident has none and fits no such route.
    pub signal: Vec<Signal>,
    /// One of these reasons.
    pub reason: Vec<FailureReason>,
    /// All of these labels.
    pub labels: BTreeMap<String, String>,
    /// One of these monitors, by id.
    pub monitor: Vec<String>,
}

impl Match {
    /// Whether anything that may be told of a monitor fits.
    pub fn may_fit(&self, monitor: &str, labels: &BTreeMap<String, String>) -> bool {
        (self.monitor.is_empty() || self.monitor.iter().any(|id| id == monitor))
            && self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}

/// What is to be routed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub severity: Severity,
    pub signal: Option<Signal>,
    pub reason: Option<FailureReason>,
    pub labels: &'a BTreeMap<String, String>,
    pub monitor: &'a str,
}

impl<'a> Subject<'a> {
    /// What is told of a monitor; `about`: the signal and the reason of its incident, where it is about one.
    pub(crate) fn of(monitor: &'a Monitor, severity: Severity, about: Option<&Incident>) -> Self {
        Self {
            severity,
            signal: about.map(|incident| incident.signal),
            reason: about.map(|incident| incident.reason),
            labels: &monitor.labels,
            monitor: monitor.id.as_str(),
        }
    }
}

/// A receiver that is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hearer<'a> {
    /// Its name.
    pub receiver: &'a str,
    /// Who hears of it where it cannot be reached.
    pub fallback: Option<&'a str>,
    /// The line of the first route that names it, from 1.
    pub line: u32,
}

/// Whom the routes tell, each once, in the order of the file: a route that does not go on is the last one asked. The file has
/// no two fallbacks for one receiver.
pub(crate) fn hearers<'a>(routes: impl IntoIterator<Item = &'a Route>, subject: Subject<'_>) -> Vec<Hearer<'a>> {
    let mut all: Vec<Hearer<'a>> = Vec::new();
    for route in fitting(routes, subject) {
        for receiver in &route.to {
            let fallback = route.fallback.as_deref();
            match all.iter_mut().find(|known| known.receiver == receiver) {
                Some(known) => known.fallback = known.fallback.or(fallback),
                None => all.push(Hearer { receiver, fallback, line: route.line }),
            }
        }
    }
    all
}

/// The routes that count for a subject, in the order of the file: up to the first that fits and does not go on.
pub(crate) fn fitting<'a>(
    routes: impl IntoIterator<Item = &'a Route>,
    subject: Subject<'_>,
) -> impl Iterator<Item = &'a Route> {
    let mut is_last = false;
    let fits = routes.into_iter().filter(move |route| fits(&route.matches, subject));
    fits.take_while(move |route| !std::mem::replace(&mut is_last, !route.goes_on))
}

/// Whether something may fit both.
pub(crate) fn overlap(one: &Match, other: &Match) -> bool {
    fn shared<T: PartialEq>(one: &[T], other: &[T]) -> bool {
        one.is_empty() || other.is_empty() || one.iter().any(|value| other.contains(value))
    }
    shared(&one.severity, &other.severity)
        && shared(&one.signal, &other.signal)
        && shared(&one.reason, &other.reason)
        && shared(&one.monitor, &other.monitor)
        && one.labels.iter().all(|(key, value)| other.labels.get(key).is_none_or(|theirs| theirs == value))
}

/// Whether every given part fits.
pub(crate) fn fits(wanted: &Match, subject: Subject<'_>) -> bool {
    let one_of_signal = subject.signal.is_some_and(|signal| wanted.signal.contains(&signal));
    let one_of_reason = subject.reason.is_some_and(|reason| wanted.reason.contains(&reason));
    (wanted.severity.is_empty() || wanted.severity.contains(&subject.severity))
        && (wanted.signal.is_empty() || one_of_signal)
        && (wanted.reason.is_empty() || one_of_reason)
        && wanted.may_fit(subject.monitor, subject.labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(to: &str, matches: Match) -> Route {
        Route { matches, to: vec![to.to_owned()], line: 1, ..Route::default() }
    }

    #[test]
    fn the_first_route_that_fits_is_taken() {
        let labels = BTreeMap::from([("team".to_owned(), "docs".to_owned())]);
        let label = |value: &str| BTreeMap::from([("team".to_owned(), value.to_owned())]);
        let routes = [
            route("reason", Match { reason: vec![FailureReason::PoolSaturated], ..Match::default() }),
            route("other team", Match { labels: label("search"), ..Match::default() }),
            route("docs at night", Match { severity: vec![Severity::Page], labels: label("docs"), ..Match::default() }),
            route("signals", Match { signal: vec![Signal::Latency, Signal::Quality], ..Match::default() }),
            route("one monitor", Match { monitor: vec!["docs".to_owned()], ..Match::default() }),
        ];
        let about = |severity, signal, reason, monitor| Subject { severity, signal, reason, labels: &labels, monitor };
        let (page, ticket) = (Severity::Page, Severity::Ticket);
        let (timeout, slow) = (Some(FailureReason::Timeout), Some(FailureReason::LatencyElevated));
        let rows = [
            (
                about(page, Some(Signal::Quality), Some(FailureReason::PoolSaturated), "docs"),
                Some("reason"),
                "by reason, before all others",
            ),
            (about(page, Some(Signal::Availability), timeout, "docs"), Some("docs at night"), "every part fits"),
            (about(ticket, Some(Signal::Latency), slow, "docs"), Some("signals"), "one of several signals"),
            (about(ticket, Some(Signal::Availability), timeout, "docs"), Some("one monitor"), "by monitor"),
            (
                about(Severity::Notice, None, None, "docs"),
                Some("one monitor"),
                "what has no signal fits no route for one",
            ),
            (about(ticket, Some(Signal::Availability), timeout, "wiki"), None, "nothing fits"),
        ];
        for (subject, to, sentence) in rows {
            let told = hearers(&routes, subject);
            assert_eq!(told.first().map(|one| one.receiver), to, "{sentence}");
            assert!(told.len() < 2, "{sentence}");
        }
    }

    #[test]
    fn a_route_that_goes_on_is_not_the_last() {
        let labels = BTreeMap::new();
        let about = |severity| Subject { severity, signal: None, reason: None, labels: &labels, monitor: "docs" };
        let page = Match { severity: vec![Severity::Page], ..Match::default() };
        let named = |to: &[&str], fallback: Option<&str>, goes_on, line| Route {
            to: to.iter().map(|name| (*name).to_owned()).collect(),
            fallback: fallback.map(str::to_owned),
            goes_on,
            line,
            ..Route::default()
        };
        let routes = [
            named(&["log"], None, true, 1),
            Route { matches: page, ..named(&["oncall", "log"], Some("mail"), true, 2) },
            named(&["mail", "oncall"], None, false, 3),
            named(&["never"], None, false, 4),
        ];
        let said = |severity| -> Vec<String> {
            let all = hearers(&routes, about(severity));
            all.iter().map(|one| format!("{} {:?} {}", one.receiver, one.fallback, one.line)).collect()
        };
        assert_eq!(said(Severity::Page), [r#"log Some("mail") 1"#, r#"oncall Some("mail") 2"#, "mail None 3"]);
        assert_eq!(said(Severity::Ticket), ["log None 1", "mail None 3", "oncall None 3"]);
    }

    #[test]
    fn what_may_fit_both_is_told_from_what_cannot() {
        let severity = |all: &[Severity]| Match { severity: all.to_vec(), ..Match::default() };
        let label = |key: &str, value: &str| Match {
            labels: BTreeMap::from([(key.to_owned(), value.to_owned())]),
            ..Match::default()
        };
        let rows = [
            (Match::default(), severity(&[Severity::Page]), true, "everything"),
            (severity(&[Severity::Page]), severity(&[Severity::Ticket]), false, "two severities"),
            (severity(&[Severity::Page, Severity::Ticket]), severity(&[Severity::Ticket]), true, "one of two"),
            (label("team", "docs"), label("team", "search"), false, "two teams"),
            (label("team", "docs"), label("env", "prod"), true, "a monitor may carry both"),
        ];
        for (one, other, expected, sentence) in rows {
            assert_eq!((overlap(&one, &other), overlap(&other, &one)), (expected, expected), "{sentence}");
        }
    }
}
