//! Who hears of what: the first route that matches.

use std::collections::BTreeMap;

use crate::domain::reason::{FailureReason, Severity};
use crate::domain::signal::Signal;

/// One line of `routes:`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Route {
    /// What it wants to hear of; every given part has to fit.
    pub matches: Match,
    /// Names of receivers.
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
pub struct Subject<'a> {
    /// How loud.
    pub severity: Severity,
    /// Of which signal.
    pub signal: Option<Signal>,
    /// Why.
    pub reason: Option<FailureReason>,
    /// The monitor's labels.
    pub labels: &'a BTreeMap<String, String>,
    /// The monitor's id.
    pub monitor: &'a str,
}

/// The first route that fits.
pub fn first_match<'a>(routes: &'a [Route], subject: Subject<'_>) -> Option<&'a Route> {
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
