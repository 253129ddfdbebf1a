//! A message in a body that the file declares, for whatever takes JSON and is none of the services beside this.
//!
//! The file's words are sent as they stand. What a message puts into their places is text and nothing else: one line or
//! several, without controls, and with a mark of no width behind `@` and `<`, with which services begin a mention. An
//! address stays one that can be followed.

use serde_json::{Map, Value};

use crate::deliver::briefing::{self, Briefing};
use crate::deliver::message::{Message, MessageIncident};
use crate::deliver::plain;
use crate::deliver::services::escaped::{escaped, parted};
use crate::deliver::services::pagerduty::{action, dedup_key};
use crate::domain::body_template::{BodyTemplate, MessageField, PLACE_CHARS_MAX, TextPiece};

/// UTF-16 units of one text, with all that is put into it.
const TEXT_MAX: usize = 4_000;
/// Characters of a line that is put in.
const LINE_MAX: usize = 600;

/// The body of the POST.
pub(crate) fn body(message: &Message, template: &BodyTemplate) -> Value {
    Filling { message, briefing: Briefing::of(message) }.value(template)
}

struct Filling<'a> {
    message: &'a Message,
    briefing: Briefing,
}

/// What stands in a place.
enum Filler {
    /// Words that may stem from a server.
    Words(String),
    /// An address, as addresses are written.
    Link(Option<String>),
}

impl Filling<'_> {
    fn value(&self, template: &BodyTemplate) -> Value {
        match template {
            BodyTemplate::Text(pieces) => Value::String(self.text(pieces)),
            BodyTemplate::Secret(secret) => Value::String(secret.expose().to_owned()),
            // Its reader has read it as JSON.
            BodyTemplate::Plain(json) => serde_json::from_str(json).unwrap_or_default(),
            BodyTemplate::List(items) => items.iter().map(|item| self.value(item)).collect(),
            BodyTemplate::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| (key.clone(), self.value(value)));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    fn text(&self, pieces: &[TextPiece]) -> String {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                TextPiece::Literal(literal) => text.push_str(literal),
                TextPiece::Place { field, chars_max } => {
                    let chars_max = chars_max.unwrap_or(PLACE_CHARS_MAX);
                    match self.filler(field) {
                        // Nor does a server's text make a link with words of its own.
                        Filler::Words(words) => {
                            text.push_str(&escaped(&words.replace("](", "]\u{200B}("), chars_max, dead));
                        }
                        // Half an address leads nowhere.
                        Filler::Link(link) => {
                            text.extend(link.filter(|link| link.encode_utf16().count() <= chars_max));
                        }
                    }
                }
            }
        }
        escaped(&text, TEXT_MAX, |c, into| into.push(c))
    }

    fn filler(&self, field: &MessageField) -> Filler {
        let message = self.message;
        let incident = message.incident.as_ref();
        let name = match field {
            MessageField::Label(label) => {
                let value = message.monitor.as_ref().and_then(|monitor| monitor.labels.get(label));
                return Filler::Words(line(value.map_or("", String::as_str)));
            }
            MessageField::Named("runbook_url") => return link(Some(&message.runbook_url)),
            MessageField::Named("acknowledge_url") => return link(message.acknowledge_url.as_ref()),
            MessageField::Named("incident.url") => return link(incident.and_then(|incident| incident.url.as_ref())),
            MessageField::Named("monitor.url") => {
                return link(message.monitor.as_ref().map(|monitor| &monitor.url));
            }
            MessageField::Named(name) => *name,
        };
        Filler::Words(match name {
            "facts" => self.briefing.fact_lines().join("\n"),
            "evidence" => self.briefing.evidence_lines().join("\n"),
            "details" => self.details(),
            name => line(&self.word(name)),
        })
    }

    /// What fits on one line; empty where the message says nothing of it.
    fn word(&self, name: &str) -> String {
        let message = self.message;
        let incident = |of: fn(&MessageIncident) -> Option<String>| message.incident.as_ref().and_then(of);
        let found = match name {
            "id" => Some(message.id.clone()),
            "event" => Some(message.event.clone()),
            "sequence" => Some(message.sequence.to_string()),
            "at" => Some(message.at.clone()),
            "dedup_key" => Some(dedup_key(message)),
            "severity" => Some(message.severity.clone()),
            "action" => Some(action(message).to_owned()),
            "status" => Some(if action(message) == "resolve" { "resolved" } else { "firing" }.to_owned()),
            "title" => Some(self.briefing.title.clone()),
            "tag" => Some(briefing::tag(message).to_owned()),
            "summary" => Some(message.summary.clone()),
            "failure_reason" => message.failure_reason.clone(),
            "failed_stage" => message.failed_stage.clone(),
            "resolves_when" => message.resolves_when.clone(),
            "reproduce" => message.reproduce.clone(),
            "monitor.id" => message.monitor.as_ref().map(|monitor| monitor.id.clone()),
            "monitor.name" => message.monitor.as_ref().map(|monitor| monitor.name.clone()),
            "incident.id" => incident(|incident| Some(incident.id.clone())),
            "incident.signal" => incident(|incident| Some(incident.signal.clone())),
            "incident.subject" => incident(|incident| Some(incident.subject.clone())),
            "incident.severity" => incident(|incident| Some(incident.severity.clone())),
            "incident.opened_at" => incident(|incident| Some(incident.opened_at.clone())),
            "incident.resolved_at" => incident(|incident| incident.resolved_at.clone()),
            "incident.resolve_cause" => incident(|incident| incident.resolve_cause.clone()),
            "incident.acknowledged_by" => incident(|incident| incident.acknowledged_by.clone()),
            _ => None,
        };
        found.unwrap_or_default()
    }

    /// All that a chat shows, but for the title and the links.
    fn details(&self) -> String {
        let mut lines = self.briefing.fact_lines();
        lines.extend(self.briefing.evidence_lines());
        lines.extend(self.briefing.command.iter().map(|command| format!("Reproduce: {command}")));
        lines.join("\n")
    }
}

fn line(text: &str) -> String {
    plain::line(text, LINE_MAX)
}

/// An address; `@` begins a mention in one as well.
fn link(url: Option<&String>) -> Filler {
    Filler::Link(url.and_then(|url| briefing::link(url)).map(|url| url.replace('@', "%40")))
}

fn dead(c: char, into: &mut String) {
    // Mentions, markup, and what makes code of a server's text.
    if matches!(c, '@' | '<' | '`') { parted(c, into) } else { into.push(c) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config;
    use crate::config::check::checker::Unset;
    use crate::config::read::source::ConfigSource;
    use crate::deliver::services::samples::{HOSTILE, hostile, opened, resolved, texts};
    use crate::domain::receiver::Channel;
    use crate::domain::secret::Secret;

    fn text(written: &str) -> BodyTemplate {
        BodyTemplate::text(written).unwrap()
    }

    fn filled(message: &Message, written: &str) -> String {
        body(message, &text(written)).as_str().unwrap().to_owned()
    }

    #[test]
    fn a_body_has_the_shape_of_the_file() {
        let template = BodyTemplate::Map(vec![
            ("message".to_owned(), text("{tag}: {summary}")),
            ("key".to_owned(), BodyTemplate::Secret(Secret::new("{summary} is none here"))),
            ("retry".to_owned(), BodyTemplate::Plain("60".to_owned())),
            (
                "tags".to_owned(),
                BodyTemplate::List(vec![text("{monitor.labels.team}"), BodyTemplate::Plain("null".to_owned())]),
            ),
        ]);
        let expected = json!({
            "message": "page: docs: 3 searches came back empty",
            "key": "{summary} is none here",
            "retry": 60,
            "tags": ["docs", null],
        });
        assert_eq!(body(&opened(), &template), expected);
    }

    #[test]
    fn every_place_says_what_the_message_says() {
        let rows = [
            ("{id} {sequence} {event} {at}", "n-1 1 incident.opened 2026-11-21T09:14:03Z"),
            ("{severity} {action} {status} {dedup_key}", "page trigger firing i-1"),
            ("{title}", "[page] docs: 3 searches came back empty"),
            (
                "{failure_reason} at {failed_stage}; {resolves_when}",
                "pool_saturated at search; two good beats in a row",
            ),
            ("{monitor.id} {monitor.name} {monitor.url}", "docs Product documentation https://docs.example/mcp"),
            ("{monitor.labels.team}{monitor.labels.none}", "docs"),
            ("{incident.id} {incident.signal}{incident.subject} {incident.severity}", "i-1 quality page"),
            ("{incident.opened_at}{incident.resolved_at}", "2026-11-21T09:14:03Z"),
            (
                "{incident.url} {runbook_url}",
                "https://serin.example/incidents/i-1 https://serin.example/runbooks/pool_saturated",
            ),
            ("{reproduce}", "serin probe docs"),
            ("{evidence}", "canary: err-4417 → nothing"),
            ("{summary:10}", "docs: 3 s…"),
            ("{runbook_url:10}", ""),
        ];
        for (written, expected) in rows {
            assert_eq!(filled(&opened(), written), expected, "{written}");
        }
        assert_eq!(filled(&resolved(), "{action} {status} {incident.resolve_cause}"), "resolve resolved recovered");
        assert!(filled(&opened(), "{details}").contains("Since: 2026-11-21 09:14:03 UTC\n"));
        // A name in the list that nobody fills would be empty in every message.
        let whole = Message { incident: resolved().incident, ..opened() };
        let whole_incident = MessageIncident {
            acknowledged_by: Some("ada".into()),
            subject: "keyword".into(),
            ..whole.incident.clone().unwrap()
        };
        let whole = Message { incident: Some(whole_incident), ..whole };
        for name in MessageField::NAMES {
            assert_ne!(filled(&whole, &format!("{{{name}}}")), "", "{name}");
        }
    }

    #[test]
    fn hostile_text_stays_text_within_the_limits() {
        let all = MessageField::NAMES.map(|name| (name.to_owned(), text(&format!("{{{name}}} and so on"))));
        let mut entries = all.to_vec();
        entries.push(("everything".to_owned(), text(&MessageField::NAMES.map(|name| format!("{{{name}}}")).concat())));
        let body = body(&hostile(), &BodyTemplate::Map(entries));
        assert_eq!(serde_json::from_str::<Value>(&body.to_string()).unwrap(), body);
        for text in texts(&body) {
            assert!(text.encode_utf16().count() <= TEXT_MAX, "{text}");
            for dead in HOSTILE.iter().chain(&["<!", "<@", "<users", "@channel", "@here", "@everyone", "@**", "]("]) {
                assert!(!text.contains(dead), "{dead}: {text}");
            }
        }
    }

    /// A preset, and the texts of it that a service limits more than we do: where, and how many characters.
    type Preset = (&'static str, &'static str, &'static [(&'static str, usize)]);

    const PRESETS: [Preset; 5] = [
        ("google-chat", include_str!("../../../docs/presets/google-chat.yaml"), &[("/text", 4096)]),
        ("telegram", include_str!("../../../docs/presets/telegram.yaml"), &[("/text", 4096)]),
        ("zulip", include_str!("../../../docs/presets/zulip.yaml"), &[("/text", 10_000)]),
        (
            "opsgenie",
            include_str!("../../../docs/presets/opsgenie.yaml"),
            &[("/message", 130), ("/alias", 512), ("/tags/2", 50), ("/description", 15_000)],
        ),
        (
            "pushover",
            include_str!("../../../docs/presets/pushover.yaml"),
            &[("/title", 250), ("/message", 1024), ("/url", 512)],
        ),
    ];

    #[test]
    fn every_preset_is_accepted_and_keeps_its_services_limits() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/presets");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), PRESETS.len(), "each is in the list");
        for (name, preset, limits) in PRESETS {
            let rest = format!(
                "routes: [{{ to: [{name}] }}]\nmonitors: [{{ id: docs, url: \"https://docs.example.org/mcp\" }}]\n"
            );
            let file = format!("version: 1\n{preset}{rest}").into_bytes();
            let source = ConfigSource::new(std::path::Path::new("monitors.yaml"), file, None);
            let env = |name: &str| Some(format!("https://hooks.example.org/{name}"));
            let loaded = config::load(&source, &env, Unset::Refuse).unwrap_or_else(|faults| panic!("{faults}"));
            let Channel::Webhook { form, .. } = &loaded.fleet.receivers[0].channel else {
                panic!("{name} is a webhook")
            };
            for message in [opened(), resolved(), hostile()] {
                let body = body(&message, form.body.as_ref().unwrap());
                for (pointer, chars_max) in limits {
                    let text = body.pointer(pointer).and_then(Value::as_str).unwrap();
                    assert!(text.encode_utf16().count() <= *chars_max, "{name}: {pointer}: {text}");
                }
                let said = texts(&body).concat();
                assert!(said.contains("docs: 3 searches") || message != opened(), "{name} says what happened: {said}");
            }
        }
    }
}
