//! A message for PagerDuty's Events API v2.
//!
//! One incident of ours is one alert there: whatever is told of it bears the incident's id as `dedup_key`, so that a
//! second word never opens a second alert, and the end closes the first. PagerDuty reads no markup in any of the fields.

use serde_json::{Map, Value, json};

use crate::deliver::briefing::Briefing;
use crate::deliver::message::Message;
use crate::deliver::plain;
use crate::deliver::services::escaped::escaped;
use crate::domain::paging::drill::DRILL;
use crate::domain::secret::Secret;

/// Characters of a summary.
const SUMMARY_MAX: usize = 1024;
/// Characters of a `dedup_key`.
const KEY_MAX: usize = 255;

/// The body of the POST. An acknowledgement and an end hold no more than the API takes of them.
pub(crate) fn body(message: &Message, routing_key: &Secret) -> Value {
    let action = action(message);
    let mut body = json!({
        "routing_key": routing_key.expose(),
        "event_action": action,
        "dedup_key": cut(&dedup_key(message), KEY_MAX),
    });
    if action == "trigger" {
        let briefing = Briefing::of(message);
        let links = briefing.links.iter().map(|(name, href)| json!({ "href": href, "text": name }));
        body["links"] = links.collect();
        body["client"] = json!("Serin");
        if let Some((_, page)) = briefing.links.iter().find(|(name, _)| *name == "Incident") {
            body["client_url"] = json!(page);
        }
        body["payload"] = payload(message, &briefing);
    }
    body
}

/// What a message means to an alert there: that it is on, that somebody took it, or that it is over.
pub(crate) fn action(message: &Message) -> &'static str {
    match message.event.as_str() {
        "incident.acknowledged" => "acknowledge",
        "incident.resolved" | "serin.trouble_over" | "drill.over" => "resolve",
        _ => "trigger",
    }
}

/// The incident's id, else the message's. Serin's own trouble has neither in common with its end, but the kind of it, and the
/// machine where it has several; a drill has its own id.
pub(crate) fn dedup_key(message: &Message) -> String {
    let named = |wanted: &str| message.evidence.0.iter().find(|(key, _)| key == wanted).map(|(_, value)| value);
    match (&message.incident, message.event.as_str()) {
        (Some(incident), _) => incident.id.clone(),
        (None, "serin.trouble" | "serin.trouble_over") => {
            let machine = named("machine").map(|machine| format!("/{machine}")).unwrap_or_default();
            named("trouble").map_or_else(|| message.id.clone(), |kind| format!("serin.trouble/{kind}{machine}"))
        }
        (None, "drill" | "drill.over") => named(DRILL).map_or_else(|| message.id.clone(), |id| format!("drill/{id}")),
        (None, _) => message.id.clone(),
    }
}

fn payload(message: &Message, briefing: &Briefing) -> Value {
    let mut details = Map::new();
    for (name, value) in &briefing.facts {
        details.insert(if name.is_empty() { "Meaning" } else { *name }.to_owned(), json!(value));
    }
    let seen: Map<String, Value> = briefing.evidence.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    details.insert("What was seen".to_owned(), json!(seen));
    if briefing.evidence_left_out > 0 {
        details.insert("And more".to_owned(), json!(format!("{} pieces of evidence", briefing.evidence_left_out)));
    }
    if let Some(command) = &briefing.command {
        details.insert("Reproduce".to_owned(), json!(command));
    }
    let severity = match message.severity.as_str() {
        "page" => "critical",
        "ticket" => "warning",
        _ => "info",
    };
    let mut payload = json!({
        "summary": cut(&briefing.title, SUMMARY_MAX),
        "source": cut(message.monitor.as_ref().map_or("serin", |monitor| &monitor.id), KEY_MAX),
        "severity": severity,
        "timestamp": message.at,
        "custom_details": details,
    });
    if let Some(reason) = &message.failure_reason {
        payload["class"] = json!(cut(reason, KEY_MAX));
    }
    payload
}

fn cut(text: &str, units_max: usize) -> String {
    escaped(&plain::line(text, units_max), units_max, |c, into| into.push(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::message::MessageEvidence;
    use crate::deliver::services::samples::{hostile, opened, resolved, units};

    fn of(message: &Message) -> Value {
        body(message, &Secret::new("0123456789abcdef0123456789abcdef"))
    }

    /// Serin's own trouble, or its end.
    fn own(event: &str, id: &str) -> Message {
        let evidence = MessageEvidence(vec![("trouble".into(), "database".into())]);
        Message { event: event.into(), id: id.into(), incident: None, monitor: None, evidence, ..opened() }
    }

    #[test]
    fn one_incident_is_one_alert() {
        let mut of_machine = own("serin.trouble", "n-8");
        of_machine.evidence.0.push(("machine".into(), "one:80".into()));
        let event = |event: &str| Message { event: event.into(), ..opened() };
        let drill = |event: &str, id: &str| {
            let evidence = MessageEvidence(vec![("drill".into(), "d-1".into())]);
            Message { event: event.into(), id: id.into(), incident: None, monitor: None, evidence, ..opened() }
        };
        let rows = [
            (opened(), "trigger", "i-1", "an opening rings"),
            (event("incident.updated"), "trigger", "i-1", "a change is the same alert"),
            (event("incident.reminder"), "trigger", "i-1", "a reminder too"),
            (event("incident.escalated"), "trigger", "i-1", "so is an escalation"),
            (event("incident.acknowledged"), "acknowledge", "i-1", "who took it here took it there"),
            (resolved(), "resolve", "i-1", "the end closes it"),
            (
                Message { incident: None, ..event("drill") },
                "trigger",
                "n-1",
                "without an incident the message has a key",
            ),
            (drill("drill", "n-2"), "trigger", "drill/d-1", "a drill is known by its own id"),
            (drill("drill.over", "n-3"), "resolve", "drill/d-1", "so that its end closes it"),
            (own("serin.trouble", "n-8"), "trigger", "serin.trouble/database", "own trouble has one by its kind"),
            (own("serin.trouble_over", "n-9"), "resolve", "serin.trouble/database", "which its end finds again"),
            (of_machine, "trigger", "serin.trouble/database/one:80", "of several machines each has its own"),
        ];
        for (message, action, key, sentence) in rows {
            let body = of(&message);
            assert_eq!((&body["event_action"], &body["dedup_key"]), (&json!(action), &json!(key)), "{sentence}");
            assert_eq!(body["payload"].is_object(), action == "trigger", "{sentence}");
        }
    }

    #[test]
    fn an_alert_says_what_someone_woken_at_night_needs() {
        let body = of(&opened());
        let payload = &body["payload"];
        assert_eq!(payload["summary"], "[page] docs: 3 searches came back empty");
        assert_eq!((&payload["source"], &payload["class"]), (&json!("docs"), &json!("pool_saturated")));
        assert_eq!(payload["timestamp"], "2026-11-21T09:14:03Z");
        let details = &payload["custom_details"];
        assert_eq!(details["Since"], "2026-11-21 09:14:03 UTC");
        assert_eq!(details["Resolves"], "two good beats in a row");
        assert_eq!(details["What was seen"]["canary"], "err-4417 → nothing");
        assert_eq!(details["Reproduce"], "serin probe docs");
        assert_eq!(body["client_url"], "https://serin.example/incidents/i-1");
        assert_eq!(body["links"][1]["href"], "https://serin.example/runbooks/pool_saturated");
        for (severity, theirs) in [("page", "critical"), ("ticket", "warning"), ("notice", "info")] {
            let message = Message { severity: severity.into(), ..opened() };
            assert_eq!(of(&message)["payload"]["severity"], theirs);
        }
    }

    #[test]
    fn hostile_text_stays_text_within_the_limits() {
        let body = of(&hostile());
        let text = body.to_string();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), body);
        assert!(text.len() < 64 * 1024 && !text.contains("\\r") && !text.contains('\u{202e}'));
        assert!((1..=1024).contains(&units(&body["payload"]["summary"])));
        assert!(units(&body["dedup_key"]) <= 255 && units(&body["payload"]["class"]) <= 255);
    }
}
