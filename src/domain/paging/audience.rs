//! Who would be told of what, before anything happens: a monitor's possible findings, each with its addressees.
//!
//! Reasons that no route names are told alike wherever signal and severity are the same, so they are one line here.

use crate::domain::monitor::Monitor;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::route::{Route, Subject, hearers};
use crate::domain::signal::Signal;

/// Something that can be found of a monitor, as far as routes tell it from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Topic {
    /// The signal; none for the notice of a restart.
    pub signal: Option<Signal>,
    /// The reason, where some route names it; none: every other reason of the signal.
    pub reason: Option<FailureReason>,
    /// The class of a contract change, or empty.
    pub class: &'static str,
}

/// Whom a finding would reach.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Hearing {
    pub topic: Topic,
    pub severity: Severity,
    /// The receivers, each with who hears of it where it cannot be reached; empty: nobody.
    pub to: Vec<(String, Option<String>)>,
}

/// Whom each finding of a monitor would reach. `apart` are the reasons to tell apart, see [`named`].
pub(crate) fn audience(monitor: &Monitor, routes: &[Route], apart: &[FailureReason]) -> Vec<Hearing> {
    let mut found = Vec::new();
    for (topic, severity) in topics(monitor) {
        let apart = topic.reason.filter(|reason| apart.contains(reason));
        let one = hearing(monitor, routes, Topic { reason: apart, ..topic }, topic.reason, severity);
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// Everything that can be found of a monitor, each with its own reason, and how loud it is.
pub(crate) fn topics(monitor: &Monitor) -> Vec<(Topic, Severity)> {
    let signals = Signal::ALL.into_iter().filter(|signal| judged(monitor, *signal));
    let of_signal = |signal: Signal| {
        let topic =
            move |(reason, class, severity)| (Topic { signal: Some(signal), reason: Some(reason), class }, severity);
        loudness(monitor, signal).into_iter().map(topic)
    };
    let restart = (Topic { signal: None, reason: None, class: "" }, Severity::Notice);
    signals.flat_map(of_signal).chain([restart]).collect()
}

/// What somebody would say of a monitor's topic to its routes.
pub(crate) fn subject(monitor: &Monitor, topic: Topic, severity: Severity) -> Subject<'_> {
    let (signal, reason) = (topic.signal, topic.reason);
    Subject { severity, signal, reason, labels: &monitor.labels, monitor: monitor.id.as_str() }
}

/// The reasons that some route names.
pub(crate) fn named(routes: &[Route]) -> Vec<FailureReason> {
    let mut reasons: Vec<FailureReason> =
        routes.iter().flat_map(|route| route.matches.reason.iter().copied()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons
}

fn hearing(
    monitor: &Monitor,
    routes: &[Route],
    topic: Topic,
    reason: Option<FailureReason>,
    severity: Severity,
) -> Hearing {
    let told = hearers(routes, subject(monitor, Topic { reason, ..topic }, severity));
    let to = told.iter().map(|one| (one.receiver.to_owned(), one.fallback.map(str::to_owned))).collect();
    Hearing { topic, severity, to }
}

/// Whether anything is declared that the signal could judge.
pub(crate) fn judged(monitor: &Monitor, signal: Signal) -> bool {
    match signal {
        Signal::Availability | Signal::Access | Signal::Contract | Signal::Latency => true,
        Signal::Errors | Signal::Quality => !monitor.canaries.is_empty(),
        Signal::Freshness => monitor.lists_sources(),
        Signal::Health => !monitor.health.is_empty(),
    }
}

/// What a signal can find, and how loud each is.
fn loudness(monitor: &Monitor, signal: Signal) -> Vec<(FailureReason, &'static str, Severity)> {
    let rules = &monitor.rules;
    let found = |reason: &&FailureReason| reason.facts().signal == signal;
    let severity = match signal {
        Signal::Availability => rules.availability.severity,
        Signal::Access => rules.access.severity,
        Signal::Errors => rules.errors.severity,
        Signal::Latency => rules.latency.severity,
        Signal::Quality => rules.quality.severity,
        Signal::Health => rules.health.severity,
        Signal::Freshness => rules.freshness.as_ref().map_or(Severity::Ticket, |rule| rule.severity),
        Signal::Contract => rules.contract.breaking,
    };
    let mut all: Vec<_> = FailureReason::ALL
        .iter()
        .filter(found)
        .filter(|reason| reason.facts().layer != crate::domain::reason::Layer::Ours)
        .filter(|reason| **reason != FailureReason::ContextCost || rules.context.is_some())
        .filter(|reason| **reason != FailureReason::TenantLeak || monitor.forbids_sources())
        .map(|reason| match reason {
            // Expiry is told in time, whatever a refusal is worth.
            FailureReason::CertificateExpiring | FailureReason::CredentialExpiring => {
                (*reason, "expiring", Severity::Ticket)
            }
            FailureReason::AclLeak | FailureReason::TenantLeak => (*reason, "leak", Severity::Page),
            FailureReason::RateLimited => (*reason, "rate limit", severity.min(Severity::Ticket)),
            FailureReason::ContextCost => {
                (*reason, "context", rules.context.as_ref().map_or(severity, |rule| rule.severity))
            }
            FailureReason::ToolMissing | FailureReason::SchemaDrift => (*reason, "breaking", severity),
            _ => (*reason, "", severity),
        })
        .collect();
    if signal == Signal::Contract {
        all.push((FailureReason::SchemaDrift, "compatible", rules.contract.compatible));
        all.push((FailureReason::SchemaDrift, "wording", rules.contract.wording));
    }
    if matches!(signal, Signal::Errors | Signal::Quality) {
        // A cause that the server names takes the place of the symptom.
        let causes = FailureReason::ALL.iter().filter(|reason| reason.is_cause());
        all.extend(causes.map(|reason| (*reason, "", severity)));
    }
    if signal == Signal::Health {
        // What is wrong with answers may be told by the server as well; what is for the record only is that then, too.
        let told = FailureReason::ALL.iter().filter(|reason| reason.may_be_named_by_server() && !reason.is_cause());
        let loud = |reason: &FailureReason| match reason.facts().severity {
            Severity::Notice => (*reason, "for the record", Severity::Notice),
            Severity::Page | Severity::Ticket => (*reason, "", severity),
        };
        all.extend(told.filter(|reason| reason.facts().signal != signal).map(loud));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::monitor::{Canary, CanaryKind};
    use crate::domain::route::Match;
    use crate::domain::secret::{Address, Secret};
    use crate::domain::source_pattern::SourcePattern;

    fn monitor() -> Monitor {
        Monitor::undeclared("a", Address { shown: String::new(), resolved: Secret::new("http://a/") })
    }

    #[test]
    fn a_leak_between_tenants_is_told_of_where_some_canary_looks_for_it_and_as_a_page() {
        let matches = Match { reason: vec![FailureReason::TenantLeak], ..Match::default() };
        let routes = [Route { matches, to: vec!["security".to_owned()], line: 1, ..Route::default() }];
        let told = |monitor: &Monitor| {
            let found = audience(monitor, &routes, &named(&routes)).into_iter();
            found.filter(|one| one.topic.reason.is_some()).map(|one| (one.severity, one.to)).collect::<Vec<_>>()
        };
        let mut monitor = monitor();
        monitor.rules.access.severity = Severity::Ticket;
        assert_eq!(told(&monitor), [], "nobody looks for it");
        monitor.canaries = vec![Canary {
            id: "a".to_owned(),
            query: String::new(),
            kind: CanaryKind::Mixed,
            expect: Vec::new(),
            within: 5,
            max_score: None,
            text: None,
            forbid: vec![SourcePattern::new("b/**").unwrap()],
            also: Vec::new(),
            line: 1,
            definition_hash: String::new(),
        }];
        assert_eq!(told(&monitor), [(Severity::Page, vec![("security".to_owned(), None)])]);
    }

    #[test]
    fn what_no_route_tells_apart_is_one_line() {
        let route = |to: &str, matches: Match| Route { matches, to: vec![to.to_owned()], line: 1, ..Route::default() };
        let named_reason = Match { reason: vec![FailureReason::Timeout], ..Match::default() };
        let routes = [
            route("net", named_reason),
            route("oncall", Match { severity: vec![Severity::Page], ..Match::default() }),
            route("rest", Match::default()),
        ];
        let apart = named(&routes);
        let found = audience(&monitor(), &routes, &apart);
        let line = |one: &Hearing| {
            let topic = one.topic.signal.map_or("restart", Signal::slug);
            let reason = one.topic.reason.map_or("", FailureReason::slug);
            let to: Vec<&str> = one.to.iter().map(|(name, _)| &**name).collect();
            format!("{topic} {reason} {} {}: {}", one.topic.class, one.severity.slug(), to.join(","))
        };
        assert_eq!(
            found.iter().map(line).collect::<Vec<_>>(),
            [
                "availability   page: oncall",
                "availability timeout  page: net",
                "access   page: oncall",
                "access  leak page: oncall",
                "access  expiring ticket: rest",
                "latency   ticket: rest",
                "contract  breaking page: oncall",
                "contract  compatible notice: rest",
                "contract  wording ticket: rest",
                "restart   notice: rest",
            ]
        );
    }
}
