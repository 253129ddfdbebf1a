//! Messages that the tests of every service, and of mail, render.

use serde_json::Value;

use crate::deliver::group_message;
use crate::deliver::message::{Message, MessageEvidence, MessageIncident, MessageMonitor, MessageRule};

/// What no service may be handed as it stands.
pub(in crate::deliver) const HOSTILE: [&str; 5] = ["\r", "\u{202e}", "\0", "<at>", "<script>"];

/// An incident that opened.
pub(in crate::deliver) fn opened() -> Message {
    Message {
        version: 1,
        id: "n-1".into(),
        sequence: 1,
        event: "incident.opened".into(),
        at: "2026-11-21T09:14:03Z".into(),
        incident: Some(MessageIncident {
            id: "i-1".into(),
            signal: "quality".into(),
            severity: "page".into(),
            opened_at: "2026-11-21T09:14:03Z".into(),
            resolved_at: None,
            duration_seconds: None,
            group_key: None,
            url: Some("https://serin.example/incidents/i-1".into()),
            subject: String::new(),
            resolve_cause: None,
            absorbed_into: None,
            acknowledged_by: None,
            since: None,
        }),
        monitor: Some(MessageMonitor {
            id: "docs".into(),
            name: "Product documentation".into(),
            url: "https://docs.example/mcp".into(),
            labels: [("team".to_owned(), "docs".to_owned())].into(),
        }),
        failure_reason: Some("pool_saturated".into()),
        failed_stage: Some("search".into()),
        summary: "docs: 3 searches came back empty".into(),
        evidence: MessageEvidence(vec![("canary".into(), "err-4417 → nothing".into())]),
        runbook_url: "https://serin.example/runbooks/pool_saturated".into(),
        rule: Some(MessageRule { file: "monitors.yaml".into(), line: 24, commit: Some("c0ffee".into()) }),
        reproduce: Some("serin probe docs".into()),
        severity: "page".into(),
        resolves_when: Some("two good beats in a row".into()),
        acknowledge_url: Some("https://serin.example/take/i-1/oncall/1800000000/mark".into()),
        group: None,
    }
}

/// The same one, ended.
pub(in crate::deliver) fn resolved() -> Message {
    let mut message = opened();
    message.event = "incident.resolved".into();
    message.id = "n-2".into();
    message.sequence = 2;
    message.summary = "docs: recovered".into();
    message.resolves_when = None;
    let incident = message.incident.as_mut().unwrap();
    incident.resolved_at = Some("2026-11-21T09:20:03Z".into());
    incident.duration_seconds = Some(360);
    incident.resolve_cause = Some("recovered".into());
    message
}

/// What a hostile server might have put into it, as if nothing had bounded it before.
pub(in crate::deliver) fn hostile() -> Message {
    let text = format!(
        "\"quotes\" \\ </script><script>alert(1)</script>\r\nBcc: x@y\u{202e}\0 @everyone @here @channel <!channel> <!here> \
         <@U1> <@&1> <#C1> <at>all</at> [free](https://evil.example) ![x](https://evil.example/x.png) *b* _i_ ~s~ `c` > q | # h \
         ||s|| {}",
        "😀&<*é".repeat(20_000),
    );
    let mut message = opened();
    message.summary = text.clone();
    message.failed_stage = Some(text.clone());
    message.failure_reason = Some(text.clone());
    message.resolves_when = Some(text.clone());
    message.reproduce = Some(text.clone());
    message.runbook_url = format!("https://runbooks.example/{}?a&b=<|>", "x&".repeat(490));
    message.evidence = MessageEvidence((0..32).map(|n| (format!("k{n} {text}"), text.clone())).collect());
    let monitor = message.monitor.as_mut().unwrap();
    monitor.name = text.clone();
    monitor.labels = [(text.clone(), text.clone())].into();
    let incident = message.incident.as_mut().unwrap();
    incident.subject = text.clone();
    incident.acknowledged_by = Some(text);
    message
}

/// Several such incidents as one message.
pub(in crate::deliver) fn hostile_group() -> Message {
    let other = |nth: usize| {
        let mut message = hostile();
        message.incident.as_mut().unwrap().id = format!("i-{nth}");
        message
    };
    let members: Vec<Message> = (0..40).map(other).collect();
    group_message::of("b-1", &hostile().summary, &members, Some("https://serin.example"))
}

/// Every string of a body, but for keys.
pub(in crate::deliver) fn texts(body: &Value) -> Vec<String> {
    match body {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(map) => map.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// UTF-16 units of a string.
pub(in crate::deliver) fn units(text: &Value) -> usize {
    text.as_str().map_or(0, |text| text.encode_utf16().count())
}
