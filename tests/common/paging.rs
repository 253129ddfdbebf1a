//! Incidents, and what is said of them to whom.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serin::domain::incident::{Course, Incident};
use serin::domain::monitor::MonitorId;
use serin::domain::paging::notification::{Event, MonitorCard, Notification};
use serin::domain::reason::{FailureReason, Severity};
use serin::domain::rules::RulePlace;
use serin::domain::signal::Signal;
use serin::store::values::change_set::Addressee;

/// An incident just opened: the server refuses connections.
pub(crate) fn incident(id: &str, monitor: MonitorId, opened_at: DateTime<Utc>) -> Incident {
    Incident {
        id: id.to_owned(),
        signal: Signal::Availability,
        subject: String::new(),
        severity: Severity::Page,
        reason: FailureReason::ConnectionRefused,
        stage: "connect".to_owned(),
        summary: format!("{monitor}: refused"),
        evidence: Vec::new(),
        rule: RulePlace { file: "monitors.yaml".to_owned(), line: 12, commit: Some("c0ffee".to_owned()) },
        opened_at,
        resolved_at: None,
        resolve_cause: None,
        acknowledged: None,
        sequence: 1,
        course: Course::default(),
        monitor,
    }
}

/// The first page of an outage of `docs`, which names no incident yet.
pub(crate) fn notification(id: &str, at: DateTime<Utc>) -> Notification {
    Notification {
        id: id.to_owned(),
        sequence: 1,
        event: Event::IncidentOpened,
        at,
        incident: None,
        monitor: MonitorCard {
            id: "docs".to_owned(),
            name: "Docs".to_owned(),
            url: "http://docs/mcp".to_owned(),
            labels: BTreeMap::new(),
        },
        reason: Some(FailureReason::ConnectionRefused),
        failed_stage: Some("connect".to_owned()),
        severity: Severity::Page,
        summary: "docs: refused".to_owned(),
        evidence: Vec::new(),
        resolves_when: None,
        runbook_url: "http://serin/runbooks/connection_refused".to_owned(),
        incident_url: None,
        rule: None,
        reproduce: "serin probe docs".to_owned(),
        group_key: None,
    }
}

/// Receivers, each with the one that stands in for it.
pub(crate) fn addressees(to: &[(&str, Option<&str>)]) -> Vec<Addressee> {
    let addressee = |(receiver, fallback): &(&str, Option<&str>)| Addressee {
        receiver: (*receiver).to_owned(),
        receiver_hash: "h".to_owned(),
        fallback: fallback.map(str::to_owned),
        gathering: None,
    };
    to.iter().map(addressee).collect()
}
