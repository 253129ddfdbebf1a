//! The public message, contract version 1 (DESIGN §7), and how it is frozen and read back.
//!
//! These types are the contract: they change only by adding keys at the end, whatever the domain
//! does. A message is written once, when the decision is made; webhooks carry the bytes as they
//! are, and mails are rendered from what is read back, so every channel says the same.

use std::collections::BTreeMap;
use std::fmt;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::deliver::plain;
use crate::domain::incident::{Incident, ResolveCause};
use crate::domain::outcome;
use crate::domain::paging::notification::Notification;

/// The version every message carries; a key that changes its meaning raises it.
pub const VERSION: u32 = 1;

/// Characters of a summary: it is a mail's subject and a phone's lock screen.
const SUMMARY_CHARS_MAX: usize = 300;
/// Characters of one piece of evidence; a page holds the rest.
const VALUE_CHARS_MAX: usize = 600;
/// Characters of a short name: ids, labels, stages, keys of evidence.
const NAME_CHARS_MAX: usize = 200;
/// Characters of an address.
const URL_CHARS_MAX: usize = 1000;
/// Pieces of evidence in one message; with the limits above a message stays below 64 kB.
const EVIDENCE_MAX: usize = 32;

/// The exact bytes of a notification, the same for every receiver and attempt.
///
/// Everything that may stem from a server is bounded and stripped of control characters once more.
pub fn freeze(notification: &Notification) -> String {
    Message::of(notification).frozen()
}

/// One message, as a receiver reads it. Keys stand in this order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// [`VERSION`], which a key that changes its meaning raises.
    pub version: u32,
    /// Equal to `webhook-id`; constant over attempts and receivers.
    pub id: String,
    /// Its place among the messages of its incident, from 1.
    pub sequence: u32,
    /// What happened: `incident.opened` and so on, `serin.trouble` and `serin.trouble_over` for Serin's own.
    pub event: String,
    /// When it happened, RFC 3339 in UTC, whole seconds.
    pub at: String,
    /// The incident as it stood then; null where there is none.
    pub incident: Option<MessageIncident>,
    /// Whom it is about; null where it is about Serin itself, or a drill.
    pub monitor: Option<MessageMonitor>,
    /// The cause, from the closed list.
    pub failure_reason: Option<String>,
    /// Where it showed: `connect`, `handshake`, `tools`, `search`, `health`.
    pub failed_stage: Option<String>,
    /// One line that starts with the monitor's id.
    pub summary: String,
    /// What was seen, key by key.
    pub evidence: MessageEvidence,
    /// The team's own runbook, or else the page of Serin's.
    pub runbook_url: String,
    /// The rule that led here; null where none did.
    pub rule: Option<MessageRule>,
    /// The command that repeats the probe.
    pub reproduce: Option<String>,
    /// How loud: `page`, `ticket`, `notice`.
    pub severity: String,
    /// What would resolve it, as a sentence.
    pub resolves_when: Option<String>,
    /// A page whose button takes the incident, without an account; each receiver has its own. Left out where there is nothing to
    /// take, or `serin.public_url` is not declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledge_url: Option<String>,
    /// What several incidents in one message have in common; only people get such messages, so left out of every webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<MessageGroup>,
}

/// Several incidents in one message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageGroup {
    /// Under which key they waited for each other, such as `team=docs`.
    pub key: String,
    /// How many it holds, listed or not.
    pub incidents: u32,
    /// The page of incidents; none where `serin.public_url` is not declared.
    pub url: Option<String>,
}

/// The incident as it stood at the decision, keys in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageIncident {
    /// Its id, the same in every message of it.
    pub id: String,
    /// The signal that was elevated.
    pub signal: String,
    /// Whether it wakes somebody, waits for working hours, or is only noted.
    pub severity: String,
    /// When its signal had been elevated long enough, UTC.
    pub opened_at: String,
    /// When it ended; null while it is open.
    pub resolved_at: Option<String>,
    /// From opening to end; null while it is open.
    pub duration_seconds: Option<i64>,
    /// What its route puts together with others, such as `team=docs`; null where it groups nothing.
    pub group_key: Option<String>,
    /// Its page under `serin.public_url`; none where that is not declared.
    pub url: Option<String>,
    /// Which part of the signal; empty where it has no parts.
    pub subject: String,
    /// Why it ended: `recovered`, `absorbed`, `rule_changed`, `monitor_removed`, `accepted`.
    pub resolve_cause: Option<String>,
    /// The incident that carries the cause on, where this one was absorbed.
    pub absorbed_into: Option<String>,
    /// The name given with the acknowledgement; none while nobody took it.
    pub acknowledged_by: Option<String>,
    /// The first failed beat that led to it, UTC; it was confirmed at `opened_at`. None in messages of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// Which monitor it is about, with the labels that routes matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageMonitor {
    /// Its id, as it stands in addresses.
    pub id: String,
    /// `name` of the file, else the id.
    pub name: String,
    /// The address as it may be shown: userinfo and query masked.
    pub url: String,
    /// Labels of the file, as routes and filters match them.
    pub labels: BTreeMap<String, String>,
}

/// File, line and commit of the rule that opened it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRule {
    /// Path of the file, as people open it.
    pub file: String,
    /// Line of the rule in that file, from 1.
    pub line: u32,
    /// The commit; null outside git.
    pub commit: Option<String>,
}

/// What was seen: a JSON object that keeps its order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageEvidence(pub Vec<(String, String)>);

impl Message {
    /// The message of a notification, bounded and plain.
    pub fn of(notification: &Notification) -> Self {
        let card = &notification.monitor;
        Self {
            version: VERSION,
            id: name(&notification.id),
            sequence: notification.sequence,
            event: notification.event.slug().to_owned(),
            at: timestamp(notification.at),
            incident: notification.incident.as_ref().map(|incident| MessageIncident::of(incident, notification)),
            monitor: (!card.id.is_empty()).then(|| MessageMonitor {
                id: name(&card.id),
                name: name(&card.name),
                url: url(&card.url),
                labels: card.labels.iter().map(|(key, value)| (name(key), name(value))).collect(),
            }),
            failure_reason: notification.reason.map(|reason| reason.slug().to_owned()),
            failed_stage: notification.failed_stage.as_deref().map(name).filter(|stage| !stage.is_empty()),
            summary: plain::line(&notification.summary, SUMMARY_CHARS_MAX),
            evidence: MessageEvidence::of(&notification.evidence),
            runbook_url: url(&notification.runbook_url),
            rule: notification.rule.as_ref().map(|rule| MessageRule {
                file: name(&rule.file),
                line: rule.line,
                commit: rule.commit.as_deref().map(name),
            }),
            reproduce: Some(plain::line(&notification.reproduce, VALUE_CHARS_MAX)).filter(|line| !line.is_empty()),
            severity: notification.severity.slug().to_owned(),
            resolves_when: notification.resolves_when.as_deref().map(|text| plain::line(text, VALUE_CHARS_MAX)),
            acknowledge_url: None,
            group: None,
        }
    }

    /// The message as it is stored and sent.
    pub fn frozen(&self) -> String {
        // Strings, numbers and string-keyed maps always serialise; an empty body would be refused by every receiver.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a frozen message back.
    ///
    /// # Errors
    /// Where the text is no message of this contract.
    pub fn parse(payload: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(payload)
    }
}

impl MessageIncident {
    fn of(incident: &Incident, notification: &Notification) -> Self {
        let absorbed_into = match &incident.resolve_cause {
            Some(ResolveCause::Absorbed { into }) => Some(name(into)),
            _ => None,
        };
        let duration = incident.resolved_at.map(|end| (end - incident.opened_at).num_seconds().max(0));
        Self {
            id: name(&incident.id),
            signal: incident.signal.slug().to_owned(),
            severity: incident.severity.slug().to_owned(),
            opened_at: timestamp(incident.opened_at),
            resolved_at: incident.resolved_at.map(timestamp),
            duration_seconds: duration,
            group_key: notification.group_key.as_deref().map(name),
            url: notification.incident_url.as_deref().map(url),
            subject: name(&incident.subject),
            resolve_cause: incident.resolve_cause.as_ref().map(|cause| cause.slug().to_owned()),
            absorbed_into,
            acknowledged_by: incident.acknowledged.as_ref().map(|(who, _)| name(who)),
            since: Some(timestamp(incident.since())),
        }
    }
}

impl MessageEvidence {
    /// Bounded and plain; values that share a key are joined, for a JSON object has each key once.
    pub fn of(pieces: &[outcome::Evidence]) -> Self {
        let mut kept: Vec<(String, String)> = Vec::new();
        for piece in pieces {
            let key = name(&piece.key);
            if let Some((_, value)) = kept.iter_mut().find(|(known, _)| *known == key) {
                *value = plain::line(&format!("{value}; {}", piece.value), VALUE_CHARS_MAX);
            } else if kept.len() < EVIDENCE_MAX {
                kept.push((key, plain::line(&piece.value, VALUE_CHARS_MAX)));
            }
        }
        Self(kept)
    }
}

impl Serialize for MessageEvidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for MessageEvidence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = MessageEvidence;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MessageEvidence, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(MessageEvidence(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// A moment as messages write it.
pub fn timestamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

fn name(text: &str) -> String {
    plain::line(text, NAME_CHARS_MAX)
}

fn url(text: &str) -> String {
    plain::line(text, URL_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::incident::Course;
    use crate::domain::monitor::MonitorId;
    use crate::domain::paging::notification::{Event, MonitorCard as Card};
    use crate::domain::reason::{FailureReason, Severity};
    use crate::domain::rules::RulePlace;
    use crate::domain::signal::Signal;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn resolved() -> Notification {
        let evidence = vec![outcome::Evidence::new("rank", "none of 5"), outcome::Evidence::new("canary", "err-4417")];
        Notification {
            id: "0199-n".into(),
            sequence: 2,
            event: Event::IncidentResolved,
            at: at("2026-11-21T09:20:03.250Z"),
            incident: Some(Incident {
                id: "0199-i".into(),
                monitor: MonitorId::new("docs"),
                signal: Signal::Quality,
                subject: "keyword".into(),
                severity: Severity::Page,
                reason: FailureReason::WrongResults,
                stage: "search".into(),
                summary: "docs: back".into(),
                evidence: evidence.clone(),
                rule: RulePlace { file: "monitors.yaml".into(), line: 24, commit: None },
                opened_at: at("2026-11-21T09:14:03Z"),
                resolved_at: Some(at("2026-11-21T09:20:03Z")),
                resolve_cause: Some(ResolveCause::Absorbed { into: "0199-j".into() }),
                acknowledged: Some(("ada".into(), at("2026-11-21T09:15:00Z"))),
                sequence: 2,
                course: Course { began_at: Some(at("2026-11-21T09:13:18Z")), ..Course::default() },
            }),
            monitor: Card {
                id: "docs".into(),
                name: "Product documentation".into(),
                url: "https://docs.example/mcp".into(),
                labels: [("team".to_owned(), "docs".to_owned())].into(),
            },
            reason: Some(FailureReason::WrongResults),
            failed_stage: Some("search".into()),
            severity: Severity::Page,
            summary: "docs: the expected source is back".into(),
            evidence,
            resolves_when: None,
            runbook_url: "https://serin.example/runbooks/wrong_results".into(),
            incident_url: Some("https://serin.example/incidents/0199-i".into()),
            rule: Some(RulePlace { file: "monitors.yaml".into(), line: 24, commit: Some("c0ffee".into()) }),
            reproduce: "serin probe docs".into(),
            group_key: None,
        }
    }

    #[test]
    fn the_bytes_are_the_contract() {
        let expected = concat!(
            r#"{"version":1,"id":"0199-n","sequence":2,"event":"incident.resolved","at":"2026-11-21T09:20:03Z","#,
            r#""incident":{"id":"0199-i","signal":"quality","severity":"page","opened_at":"2026-11-21T09:14:03Z","#,
            r#""resolved_at":"2026-11-21T09:20:03Z","duration_seconds":360,"group_key":null,"#,
            r#""url":"https://serin.example/incidents/0199-i","subject":"keyword","resolve_cause":"absorbed","#,
            r#""absorbed_into":"0199-j","acknowledged_by":"ada","since":"2026-11-21T09:13:18Z"},"#,
            r#""monitor":{"id":"docs","name":"Product documentation","url":"https://docs.example/mcp","labels":{"team":"docs"}},"#,
            r#""failure_reason":"wrong_results","failed_stage":"search","summary":"docs: the expected source is back","#,
            r#""evidence":{"rank":"none of 5","canary":"err-4417"},"#,
            r#""runbook_url":"https://serin.example/runbooks/wrong_results","#,
            r#""rule":{"file":"monitors.yaml","line":24,"commit":"c0ffee"},"reproduce":"serin probe docs","#,
            r#""severity":"page","resolves_when":null}"#,
        );
        assert_eq!(freeze(&resolved()), expected);
    }

    #[test]
    fn a_frozen_message_reads_back_as_it_was() {
        let message = Message::of(&resolved());
        assert_eq!(Message::parse(&message.frozen()).unwrap(), message);
        assert_eq!(freeze(&resolved()), freeze(&resolved()), "freezing twice gives the same bytes");
    }

    #[test]
    fn hostile_text_stays_text() {
        let mut notification = resolved();
        notification.summary = "docs: \"quoted\"\r\nBcc: x@y </script>\u{0}".into();
        notification.evidence = vec![
            outcome::Evidence::new("ans\nwer", "{\"a\":1}\r\n\u{1b}[2J</script>"),
            outcome::Evidence::new("long", "x".repeat(100_000)),
            outcome::Evidence::new("twice", "one"),
            outcome::Evidence::new("twice", "two"),
        ];
        notification.evidence.extend((0..500).map(|n| outcome::Evidence::new(&format!("k{n}"), "v".repeat(5000))));
        let frozen = freeze(&notification);
        assert!(frozen.len() < 64 * 1024, "a message is bounded whatever a server says");
        assert!(!frozen.chars().any(char::is_control));
        let message = Message::parse(&frozen).unwrap();
        assert_eq!(message.summary, "docs: \"quoted\" Bcc: x@y </script>");
        let value =
            |key: &str| message.evidence.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
        assert_eq!(value("ans wer"), Some("{\"a\":1} [2J</script>"));
        assert_eq!(value("twice"), Some("one; two"));
        assert_eq!(message.evidence.0.len(), EVIDENCE_MAX);
    }
}
