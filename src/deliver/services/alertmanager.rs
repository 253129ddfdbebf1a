//! A message as an alert of Prometheus Alertmanager, for `POST /api/v2/alerts`.
//!
//! Alertmanager knows an alert by its labels and by nothing else: what changes while an incident lasts (severity, reason,
//! summary) is an annotation, or its end would miss the alert that its beginning made. What the file says of a monitor may
//! be edited meanwhile, so that the labels of the first message are remembered and sent again.
//!
//! An alert ends by itself at its `endsAt`, and so is posted again while its incident is open.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::deliver::briefing::Briefing;
use crate::deliver::message::{Message, timestamp};
use crate::deliver::plain;
use crate::deliver::services::escaped::escaped;

/// Where alerts are posted, below the address of the server.
pub(crate) const PATH: &str = "api/v2/alerts";
/// How long an alert fires that nobody posts again: longer than a Serin is away that is put back into service, and short
/// enough that what nobody watches any more does not fire for long.
pub(crate) const FIRES_FOR: TimeDelta = TimeDelta::minutes(5);
/// The same for Serin's own trouble, which is told again every four hours.
const TROUBLE_FIRES_FOR: TimeDelta = TimeDelta::minutes(4 * 60 + 10);
/// Characters of a label's value.
const LABEL_MAX: usize = 200;
/// Characters of an annotation; a description has several lines.
const ANNOTATION_MAX: usize = 4_000;

/// The label that every alert has.
const NAME: &str = "alertname";

/// Labels by name.
pub(crate) type Labels = BTreeMap<String, String>;

/// The labels by which Alertmanager knows what a message is about: those of the first message of its incident where they
/// are remembered.
pub(crate) fn labels(message: &Message, receiver: &str, remembered: Option<&str>) -> Labels {
    let known = remembered.and_then(|text| serde_json::from_str(text).ok());
    // What is remembered may be another service's, of which this receiver was one.
    known.filter(|labels: &Labels| labels.contains_key(NAME)).unwrap_or_else(|| first_labels(message, receiver))
}

/// Labels as they are remembered.
pub(crate) fn remember(labels: &Labels) -> String {
    json!(labels).to_string()
}

fn first_labels(message: &Message, receiver: &str) -> Labels {
    let mut labels = Labels::new();
    // The file's own come first, so that ours are never another's.
    if let Some(monitor) = &message.monitor {
        labels.extend(monitor.labels.iter().map(|(key, value)| (label_name(key), value.clone())));
        labels.insert("monitor".to_owned(), monitor.id.clone());
    }
    let name = match &message.incident {
        Some(incident) => {
            labels.insert("signal".to_owned(), incident.signal.clone());
            labels.insert("subject".to_owned(), incident.subject.clone());
            labels.insert("incident".to_owned(), incident.id.clone());
            incident.signal.clone()
        }
        None if message.event.starts_with("serin.trouble") => {
            // Of several machines each has its own.
            for name in ["trouble", "machine"] {
                let value = message.evidence.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
                labels.insert(name.to_owned(), value.unwrap_or_default());
            }
            "trouble".to_owned()
        }
        None => {
            labels.insert("message".to_owned(), message.id.clone());
            message.event.clone()
        }
    };
    labels.insert("receiver".to_owned(), receiver.to_owned());
    labels.insert(NAME.to_owned(), format!("Serin{}", capitals(&name)));
    labels.values_mut().for_each(|value| *value = keep(&plain::line(value, LABEL_MAX), LABEL_MAX));
    // An empty label is none.
    labels.retain(|_, value| !value.is_empty());
    labels
}

/// The body of a POST: alerts, each with the labels it is known by. What is over fires no more, whatever a message tells of
/// it: one that is late, or that somebody has sent again.
pub(crate) fn body<'a>(
    alerts: impl Iterator<Item = (&'a Message, Labels)>,
    over_at: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Value {
    alerts.map(|(message, labels)| alert(message, &labels, over_at, now)).collect()
}

fn alert(message: &Message, labels: &Labels, over_at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Value {
    let briefing = Briefing::of(message);
    let starts_at = message.incident.as_ref().map_or(&message.at, |incident| &incident.opened_at);
    let ends_at = match message.event.as_str() {
        "incident.resolved" => {
            let ended = message.incident.as_ref().and_then(|incident| incident.resolved_at.clone());
            ended.unwrap_or_else(|| message.at.clone())
        }
        "serin.trouble_over" => message.at.clone(),
        "serin.trouble" => timestamp(now + TROUBLE_FIRES_FOR),
        _ => timestamp(now + FIRES_FOR),
    };
    let mut alert = json!({
        "labels": labels,
        "annotations": annotations(message, &briefing),
        "startsAt": starts_at,
        "endsAt": over_at.map_or(ends_at, timestamp),
    });
    if let Some((_, url)) = briefing.links.first() {
        alert["generatorURL"] = json!(url);
    }
    alert
}

fn annotations(message: &Message, briefing: &Briefing) -> BTreeMap<&'static str, String> {
    let mut lines = briefing.fact_lines();
    lines.extend(briefing.evidence_lines());
    let link = |wanted: &str| briefing.links.iter().find(|(name, _)| *name == wanted).map(|(_, url)| url.clone());
    let taken_by = message.incident.as_ref().and_then(|incident| incident.acknowledged_by.clone());
    let line = |text: &String| plain::line(text, ANNOTATION_MAX);
    let found = [
        ("summary", Some(plain::line(&message.summary, ANNOTATION_MAX))),
        ("description", Some(lines.join("\n"))),
        ("severity", Some(line(&message.severity))),
        ("failure_reason", message.failure_reason.as_ref().map(line)),
        ("failed_stage", message.failed_stage.as_ref().map(line)),
        ("resolves_when", message.resolves_when.as_ref().map(line)),
        ("reproduce", briefing.command.clone()),
        ("acknowledged_by", taken_by.as_ref().map(line)),
        ("incident_url", link("Incident")),
        ("runbook_url", link("Runbook")),
    ];
    let found = found.into_iter().filter_map(|(name, text)| Some((name, keep(&text?, ANNOTATION_MAX))));
    found.filter(|(_, text)| !text.is_empty()).collect()
}

/// A name as labels may have it: letters, digits and `_`, no digit first.
fn label_name(key: &str) -> String {
    let name: String = key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(LABEL_MAX).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// `server.restarted` as `ServerRestarted`.
fn capitals(words: &str) -> String {
    let word = |word: &str| {
        let mut chars = word.chars();
        let first = chars.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(chars).collect::<String>()
    };
    words.split(['.', '_']).map(word).collect()
}

fn keep(text: &str, units_max: usize) -> String {
    escaped(text, units_max, |c, into| into.push(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::message::MessageEvidence;
    use crate::deliver::services::samples::{hostile, opened, resolved, texts, units};

    fn now() -> DateTime<Utc> {
        "2026-11-21T09:30:00Z".parse().unwrap()
    }

    fn of(message: &Message, remembered: Option<&str>) -> Value {
        body([(message, labels(message, "am", remembered))].into_iter(), None, now())[0].clone()
    }

    #[test]
    fn an_alert_says_what_someone_woken_at_night_needs() {
        let alert = of(&opened(), None);
        let expected = json!({
            "alertname": "SerinQuality",
            "incident": "i-1",
            "monitor": "docs",
            "receiver": "am",
            "signal": "quality",
            "team": "docs",
        });
        assert_eq!(alert["labels"], expected);
        assert_eq!(alert["annotations"]["summary"], "docs: 3 searches came back empty");
        assert_eq!(alert["annotations"]["severity"], "page");
        assert_eq!(alert["annotations"]["failure_reason"], "pool_saturated");
        assert_eq!(alert["annotations"]["runbook_url"], "https://serin.example/runbooks/pool_saturated");
        assert!(alert["annotations"]["description"].as_str().unwrap().contains("canary: err-4417 → nothing"));
        assert_eq!(
            (&alert["startsAt"], &alert["endsAt"]),
            (&json!("2026-11-21T09:14:03Z"), &json!("2026-11-21T09:35:00Z"))
        );
        assert_eq!(alert["generatorURL"], "https://serin.example/incidents/i-1");
    }

    #[test]
    fn whatever_changes_during_an_incident_it_is_one_alert_and_ends() {
        let first = labels(&opened(), "am", None);
        let remembered = remember(&first);
        let mut worse = opened();
        worse.event = "incident.updated".into();
        worse.severity = "ticket".into();
        worse.failure_reason = Some("http_error".into());
        worse.summary = "docs: another reason".into();
        assert_eq!(labels(&worse, "am", None), first, "severity, reason and summary are no labels");
        let mut edited = resolved();
        let monitor = edited.monitor.as_mut().unwrap();
        monitor.labels = [("team".to_owned(), "another".to_owned())].into();
        assert_eq!(labels(&edited, "am", Some(&remembered)), first, "nor does an edit of the file make another alert");
        let alert = of(&edited, Some(&remembered));
        assert_eq!(alert["endsAt"], "2026-11-21T09:20:03Z", "it ended when the incident did");
        assert_eq!(alert["startsAt"], of(&opened(), None)["startsAt"]);
        let mut next = opened();
        next.incident.as_mut().unwrap().id = "i-2".into();
        assert_ne!(labels(&next, "am", None), first, "the next incident is another alert");
    }

    #[test]
    fn what_is_over_fires_no_more_though_its_opening_is_sent_again() {
        let over = "2026-11-21T09:20:03Z".parse().unwrap();
        let alert = body([(&opened(), labels(&opened(), "am", None))].into_iter(), Some(over), now())[0].clone();
        assert_eq!(alert["endsAt"], of(&resolved(), None)["endsAt"]);
    }

    #[test]
    fn what_is_no_incident_ends_by_itself_or_by_its_end() {
        let own = |event: &str| {
            let evidence = MessageEvidence(vec![("trouble".into(), "disk_full".into())]);
            Message { event: event.into(), incident: None, monitor: None, evidence, ..opened() }
        };
        let (trouble, over) = (of(&own("serin.trouble"), None), of(&own("serin.trouble_over"), None));
        assert_eq!(trouble["labels"], json!({ "alertname": "SerinTrouble", "receiver": "am", "trouble": "disk_full" }));
        assert_eq!(trouble["labels"], over["labels"]);
        assert_eq!((&trouble["endsAt"], &over["endsAt"]), (&json!("2026-11-21T13:40:00Z"), &over["startsAt"]));
        let restart = of(&Message { event: "server.restarted".into(), incident: None, ..opened() }, None);
        assert_eq!(restart["labels"]["alertname"], "SerinServerRestarted");
        assert_eq!(restart["endsAt"], "2026-11-21T09:35:00Z");
    }

    #[test]
    fn hostile_text_stays_text_within_the_limits() {
        let mut message = hostile();
        let monitor = message.monitor.as_mut().unwrap();
        let hostile_value = monitor.name.clone();
        let odd = ["alertname", "app.kubernetes.io/name", "9lives", "monitor"];
        monitor.labels = odd.map(|key| (key.to_owned(), hostile_value.clone())).into();
        let alert = of(&message, None);
        let labels = alert["labels"].as_object().unwrap();
        assert_eq!(
            (&labels["alertname"], &labels["monitor"]),
            (&json!("SerinQuality"), &json!("docs")),
            "ours are ours"
        );
        for (name, value) in labels {
            let mut chars = name.chars();
            assert!(chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_'), "{name}");
            assert!(chars.all(|c| c.is_ascii_alphanumeric() || c == '_'), "{name}");
            assert!((1..=LABEL_MAX).contains(&units(value)), "{name}: {value}");
        }
        for text in texts(&alert) {
            assert!(
                text.encode_utf16().count() <= ANNOTATION_MAX && !text.contains(['\r', '\0', '\u{202e}']),
                "{text}"
            );
        }
    }
}
