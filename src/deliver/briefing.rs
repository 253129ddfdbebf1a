//! What a message says, in the order in which somebody woken at night reads it: mails and the services of others show
//! the same parts, each in its own way.

use chrono::DateTime;
use reqwest::Url;

use crate::deliver::message::{Message, MessageIncident};
use crate::deliver::plain;
use crate::domain::reason::FailureReason;
use crate::domain::wording::span;

/// Pieces of evidence that a chat shows; the incident's page has the rest.
const EVIDENCE_MAX: usize = 8;
/// Incidents of a group that a chat lists.
const MEMBERS_MAX: usize = 20;
/// Characters of a piece's name in a chat.
const KEY_CHARS_MAX: usize = 60;
/// Characters of a piece's value in a chat: a few lines of a phone.
const VALUE_CHARS_MAX: usize = 240;
/// Characters of a fact and of a command.
const FACT_CHARS_MAX: usize = 300;
/// Characters of a title; services cut theirs further.
const TITLE_CHARS_MAX: usize = 400;

/// What a service shows of a message: every text is one plain, bounded line.
#[derive(Debug)]
pub(crate) struct Briefing {
    /// Such as `[page] docs: 3 searches came back empty`.
    pub(crate) title: String,
    /// Name and value; a value without a name explains the one above it.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// What was seen, name and value.
    pub(crate) evidence: Vec<(String, String)>,
    /// Pieces of evidence that are left out here.
    pub(crate) evidence_left_out: usize,
    /// Name and address; http and https only.
    pub(crate) links: Vec<(&'static str, String)>,
    /// The command that repeats the probe.
    pub(crate) command: Option<String>,
    /// How it looks; the title says the same in words.
    pub(crate) tone: Tone,
}

/// How loud a message looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Somebody is woken.
    Page,
    /// It waits for working hours.
    Ticket,
    /// For the record.
    Notice,
    /// It is over.
    Over,
}

impl Briefing {
    /// What is shown of a message.
    pub(crate) fn of(message: &Message) -> Self {
        let fact = |text: &str| plain::line(text, FACT_CHARS_MAX);
        let mut known = vec![("What", format!("{}, severity {}", happened(message), message.severity))];
        known.extend(facts(message));
        let most = if message.group.is_some() { MEMBERS_MAX } else { EVIDENCE_MAX };
        let pieces = message.evidence.0.iter().take(most);
        let evidence: Vec<_> =
            pieces.map(|(key, value)| (plain::line(key, KEY_CHARS_MAX), plain::line(value, VALUE_CHARS_MAX))).collect();
        let page = message.incident.as_ref().and_then(|incident| incident.url.as_deref());
        let take = message.acknowledge_url.as_deref();
        let all = message.group.as_ref().and_then(|group| group.url.as_deref());
        let links = [
            ("Incident", page),
            ("Incidents", all),
            ("Runbook", Some(message.runbook_url.as_str())),
            ("Acknowledge", take),
        ];
        Self {
            title: plain::line(&format!("[{}] {}", tag(message), message.summary), TITLE_CHARS_MAX),
            facts: known.into_iter().map(|(name, value)| (name, fact(&value))).collect(),
            evidence_left_out: message
                .group
                .as_ref()
                .map_or(message.evidence.0.len(), |group| group.incidents as usize)
                .saturating_sub(evidence.len()),
            evidence,
            links: links.into_iter().filter_map(|(name, url)| Some((name, link(url?)?))).collect(),
            command: message.reproduce.as_deref().map(fact),
            tone: Tone::of(message),
        }
    }

    /// The facts as lines, such as `Since: 2026-11-21 09:14:03 UTC`.
    pub(crate) fn fact_lines(&self) -> Vec<String> {
        let line = |(name, value): &(&str, String)| {
            if name.is_empty() { value.clone() } else { format!("{name}: {value}") }
        };
        self.facts.iter().map(line).collect()
    }

    /// The evidence as lines, the last of which says how much is left out.
    pub(crate) fn evidence_lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.evidence.iter().map(|(key, value)| format!("{key}: {value}")).collect();
        if self.evidence_left_out > 0 {
            lines.push(format!("and {} more", self.evidence_left_out));
        }
        lines
    }
}

impl Tone {
    fn of(message: &Message) -> Self {
        match (message.event.as_str(), message.severity.as_str()) {
            ("incident.resolved" | "serin.trouble_over" | "drill.over", _) => Self::Over,
            (_, "page") => Self::Page,
            (_, "ticket") => Self::Ticket,
            _ => Self::Notice,
        }
    }
}

/// An address that may be followed, as URLs are written: nothing in it ends it early.
pub(crate) fn link(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    Some(url.as_str().replace('|', "%7C").replace('<', "%3C").replace('>', "%3E"))
}

/// The word before a summary: how loud it is, or what became of it.
pub(crate) fn tag(message: &Message) -> &str {
    match message.event.as_str() {
        "incident.opened" | "incident.updated" => message.severity.as_str(),
        "incident.reminder" => "still open",
        "incident.escalated" => "escalated",
        "incident.acknowledged" => "acknowledged",
        "incident.resolved" => "resolved",
        "server.restarted" => "restarted",
        "contract.changed" => "contract",
        "drill" => "drill",
        "drill.over" => "drill, over",
        "serin.trouble" => "serin",
        "serin.trouble_over" => "serin, over",
        _ => "serin",
    }
}

/// The event in words.
fn happened(message: &Message) -> &str {
    match message.event.as_str() {
        _ if message.group.is_some() => "several incidents in one message",
        "incident.opened" => "an incident opened",
        "incident.updated" => "the incident changed",
        "incident.reminder" => "the incident is still open",
        "incident.escalated" => "the incident was escalated",
        "incident.acknowledged" => "the incident was acknowledged",
        "incident.resolved" => "the incident ended",
        "server.restarted" => "the server restarted",
        "contract.changed" => "the server's tools changed",
        "drill" => "a drill: nothing is wrong",
        "drill.over" => "the drill is over",
        "serin.trouble" => "Serin itself has a problem",
        "serin.trouble_over" => "Serin's own problem is over",
        other => other,
    }
}

/// Whom it is about, since when, why, and what would end it. A fact without a name explains the one above it.
pub(crate) fn facts(message: &Message) -> Vec<(&'static str, String)> {
    let mut facts: Vec<(&str, String)> = Vec::new();
    if let Some(monitor) = &message.monitor {
        facts.push(("Monitor", format!("{} ({})", monitor.name, monitor.id)));
        facts.push(("Address", monitor.url.clone()));
        if !monitor.labels.is_empty() {
            let labels: Vec<String> = monitor.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            facts.push(("Labels", labels.join(", ")));
        }
    }
    if let Some(incident) = &message.incident {
        facts.extend(incident_facts(incident));
    } else {
        facts.push(("At", clock(&message.at)));
    }
    if let Some(reason) = &message.failure_reason {
        let stage = message.failed_stage.as_deref().map(|stage| format!(", seen at {stage}")).unwrap_or_default();
        facts.push(("Reason", format!("{reason}{stage}")));
        if let Some(known) = FailureReason::from_slug(reason) {
            facts.push(("", known.facts().meaning.to_owned()));
        }
    }
    if let Some(when) = &message.resolves_when {
        facts.push(("Resolves", when.clone()));
    }
    facts
}

/// A moment of a message as people read it, such as `2026-11-21 09:14:03 UTC`; one that cannot be read stays as it is.
fn clock(moment: &str) -> String {
    let read = DateTime::parse_from_rfc3339(moment).map(|at| at.to_utc().format("%Y-%m-%d %H:%M:%S UTC").to_string());
    read.unwrap_or_else(|_| moment.to_owned())
}

fn incident_facts(incident: &MessageIncident) -> Vec<(&'static str, String)> {
    let part = if incident.subject.is_empty() { String::new() } else { format!(", {}", incident.subject) };
    let since = incident.since.as_ref().unwrap_or(&incident.opened_at);
    let mut facts =
        vec![("Signal", format!("{}{part} ({})", incident.signal, incident.severity)), ("Since", clock(since))];
    if let Some(end) = &incident.resolved_at {
        // From the first failed beat, as people count it; `duration_seconds` counts from the confirmation.
        let moment = |text: &str| DateTime::parse_from_rfc3339(text).ok();
        let length = moment(end).zip(moment(since)).and_then(|(end, since)| (end - since).to_std().ok());
        let length = length.map(|length| format!(", after {}", span(length))).unwrap_or_default();
        facts.push(("Ended", format!("{}{length}", clock(end))));
    }
    if let Some(cause) = &incident.resolve_cause {
        let into = incident.absorbed_into.as_deref().map(|id| format!(" by incident {id}")).unwrap_or_default();
        facts.push(("Ended as", format!("{}{into}", cause.replace('_', " "))));
    }
    if let Some(who) = &incident.acknowledged_by {
        facts.push(("Acknowledged by", who.clone()));
    }
    facts
}
