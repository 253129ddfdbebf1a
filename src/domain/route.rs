//! Who hears of what: the first route that matches.

use std::collections::BTreeMap;

use crate::domain::reason::{FailureReason, Severity};
use crate::domain::signal::Signal;

/// An entry of `routes:`; the first that fits decides.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Route {
    /// What it wants to hear of; every given part has to fit.
    pub matches: Match,
    /// Names of the receivers that are told.
    pub to: Vec<String>,
    /// Name of the receiver that hears of it where one of `to` cannot be reached.
    pub fallback: Option<String>,
    /// The line of the file, from 1.
    pub line: u32,
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

/// What is to be routed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub severity: Severity,
    pub signal: Option<Signal>,
    pub reason: Option<FailureReason>,
    pub labels: &'a BTreeMap<String, String>,
    pub monitor: &'a str,
}

pub(crate) fn first_match<'a>(routes: &'a [Route], subject: Subject<'_>) -> Option<&'a Route> {
    routes.iter().find(|route| fits(&route.matches, subject))
}

fn fits(wanted: &Match, subject: Subject<'_>) -> bool {
    let one_of_signal = subject.signal.is_some_and(|signal| wanted.signal.contains(&signal));
    let one_of_reason = subject.reason.is_some_and(|reason| wanted.reason.contains(&reason));
    (wanted.severity.is_empty() || wanted.severity.contains(&subject.severity))
        && (wanted.signal.is_empty() || one_of_signal)
        && (wanted.reason.is_empty() || one_of_reason)
        && (wanted.monitor.is_empty() || wanted.monitor.iter().any(|id| id == subject.monitor))
        && wanted.labels.iter().all(|(key, value)| subject.labels.get(key) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(to: &str, matches: Match) -> Route {
        Route { matches, to: vec![to.to_owned()], fallback: None, line: 1 }
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
            assert_eq!(first_match(&routes, subject).map(|route| route.to[0].as_str()), to, "{sentence}");
        }
    }
}
