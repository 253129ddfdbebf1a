use super::*;
use crate::deliver::message::{MessageIncident, MessageMonitor};

/// Such as `opened docs page`: what happened, to which monitor's incident, and how loud it is.
fn message(nth: u32, said: &str) -> Message {
    let [event, monitor, severity] = said.split(' ').collect::<Vec<_>>()[..] else { panic!("three words: {said}") };
    Message {
        version: VERSION,
        id: format!("n{nth}"),
        sequence: nth,
        event: format!("incident.{event}"),
        at: format!("2026-11-21T09:14:{nth:02}Z"),
        incident: Some(MessageIncident {
            id: format!("i-{monitor}"),
            signal: "availability".into(),
            severity: severity.into(),
            opened_at: "2026-11-21T09:14:00Z".into(),
            resolved_at: None,
            duration_seconds: None,
            group_key: None,
            url: None,
            subject: String::new(),
            resolve_cause: None,
            absorbed_into: None,
            acknowledged_by: None,
            since: None,
        }),
        monitor: Some(MessageMonitor {
            id: monitor.into(),
            name: monitor.into(),
            url: String::new(),
            labels: Default::default(),
        }),
        failure_reason: Some("connection_refused".into()),
        failed_stage: Some("connect".into()),
        summary: format!("{monitor}: nobody listens"),
        evidence: MessageEvidence::default(),
        runbook_url: format!("https://runbooks.example/{}", if monitor == "wiki" { "wiki" } else { "any" }),
        rule: None,
        reproduce: None,
        severity: severity.into(),
        resolves_when: None,
        acknowledge_url: None,
        group: None,
    }
}

fn of(key: &str, said: &[&str]) -> Message {
    let messages: Vec<Message> = (1..).zip(said).map(|(nth, said)| message(nth, said)).collect();
    super::of("b-1", key, &messages, Some("https://serin.example"))
}

#[test]
fn a_summary_says_what_became_of_how_many() {
    let rows: [(&str, &[&str], &str, &str, &str); 8] = [
        (
            COMMON_CAUSE,
            &["opened docs page", "opened wiki page", "opened faq ticket"],
            "3 monitors went down together: docs, wiki, faq",
            "incident.opened",
            "page",
        ),
        (
            COMMON_CAUSE,
            &["resolved docs page", "resolved wiki page", "updated faq ticket"],
            "of 3 monitors that went down together: 1 told of again, 2 over: faq, docs, wiki",
            "incident.updated",
            "ticket",
        ),
        (
            "team=docs",
            &["opened docs ticket", "opened wiki page", "resolved docs ticket"],
            "team=docs: 1 opened, 1 over, on 2 monitors: wiki, docs",
            "incident.opened",
            "page",
        ),
        (
            "team=docs",
            &["resolved docs ticket", "resolved wiki page"],
            "team=docs: 2 over, on 2 monitors: wiki, docs",
            "incident.resolved",
            "page",
        ),
        (
            "team=docs",
            &["reminder docs page", "escalated wiki page"],
            "team=docs: 2 told of again, on 2 monitors: docs, wiki",
            "incident.escalated",
            "page",
        ),
        (
            DIGEST,
            &["opened docs notice", "opened docs notice"],
            "digest of 1 notice, on 1 monitor: docs",
            "incident.opened",
            "notice",
        ),
        (
            TOO_MANY,
            &[
                "updated a page",
                "updated b page",
                "updated c page",
                "updated d page",
                "acknowledged e page",
                "updated f page",
            ],
            "6 messages that had to wait, on 6 monitors: a, b, c, d and 2 more",
            "incident.updated",
            "page",
        ),
        (
            "route 7",
            &["acknowledged a page", "acknowledged b page"],
            "route 7: 2 told of again, on 2 monitors: a, b",
            "incident.acknowledged",
            "page",
        ),
    ];
    for (key, said, summary, event, severity) in rows {
        let message = of(key, said);
        assert_eq!((&*message.summary, &*message.event, &*message.severity), (summary, event, severity), "{said:?}");
    }
}

#[test]
fn what_belongs_to_no_incident_opens_nothing_and_ends_nothing() {
    let restarted = |nth| Message { event: "server.restarted".into(), incident: None, ..message(nth, "x docs notice") };
    let of = |messages: &[Message]| {
        let message = super::of("b-1", "team=docs", messages, None);
        (message.event, message.severity, message.summary)
    };
    let row = |event: &str, severity: &str, said: &str| (event.to_owned(), severity.to_owned(), said.to_owned());
    assert_eq!(
        of(&[restarted(1), message(2, "resolved docs page")]),
        row("incident.resolved", "page", "team=docs: 1 noted, 1 over, on 1 monitor: docs")
    );
    assert_eq!(
        of(&[restarted(1), message(2, "opened wiki ticket")]),
        row("incident.opened", "ticket", "team=docs: 1 opened, 1 noted, on 2 monitors: wiki, docs")
    );
    assert_eq!(
        of(&[restarted(1), restarted(2)]),
        row("server.restarted", "notice", "team=docs: 2 noted, on 1 monitor: docs")
    );
}

#[test]
fn each_incident_is_a_line_as_it_stands_last() {
    let message =
        of("team=docs", &["opened docs ticket", "opened wiki page", "resolved docs ticket", "acknowledged wiki page"]);
    let lines: Vec<(&str, &str)> = message.evidence.0.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(lines, [("wiki", "page, taken: nobody listens"), ("docs", "ticket, opened and over: nobody listens")]);
    assert_eq!(message.failure_reason.as_deref(), Some("connection_refused"), "what all share is said once");
    assert_eq!(message.runbook_url, "https://serin.example/runbooks", "two runbooks are looked up in the list");
    assert_eq!(of("team=docs", &["opened docs page", "opened faq page"]).runbook_url, "https://runbooks.example/any");
    assert_eq!(message.group.unwrap().url.as_deref(), Some("https://serin.example/incidents"));
}

#[test]
fn what_one_message_holds_is_bounded_and_the_rest_is_counted() {
    let said: Vec<String> = (0..450).map(|nth| format!("opened m{nth} page")).collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let message = of(COMMON_CAUSE, &said);
    assert_eq!(message.evidence.0.len(), LINES_MAX + 1);
    assert_eq!(message.evidence.0.last().unwrap(), &("and".to_owned(), "250 more".to_owned()));
    assert!(message.frozen().len() < 100_000);
}
