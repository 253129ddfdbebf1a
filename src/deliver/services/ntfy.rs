//! A message for a topic of ntfy, published as JSON to the root of its server: a header could not hold what is not ASCII.
//!
//! ntfy shows the text as it stands, unless it is asked for Markdown, which we do not.

use reqwest::Url;
use serde_json::{Value, json};

use crate::deliver::briefing::{Briefing, Tone};
use crate::deliver::message::Message;
use crate::deliver::services::escaped::escaped;
use crate::domain::secret::Address;

/// Characters of a title: what a phone's lock screen shows, with some to spare.
const TITLE_MAX: usize = 200;
/// UTF-16 units of the text, none of which has more than three bytes: beyond 4096 bytes it becomes a file.
const MESSAGE_MAX: usize = 1365;

/// The body of the POST to the root of the address's server.
pub(crate) fn body(message: &Message, topic: &str) -> Value {
    let briefing = Briefing::of(message);
    let mut lines = briefing.fact_lines();
    lines.extend(briefing.command.iter().map(|command| format!("Reproduce: {command}")));
    lines.extend(briefing.evidence_lines());
    let (priority, tag) = match briefing.tone {
        Tone::Page => (5, "red_circle"),
        Tone::Ticket => (3, "orange_circle"),
        Tone::Notice => (2, "blue_circle"),
        Tone::Over => (3, "green_circle"),
    };
    let keep = |text: &str, units_max| escaped(text, units_max, |c, into| into.push(c));
    let mut body = json!({
        "topic": topic,
        "title": keep(&briefing.title, TITLE_MAX),
        "message": keep(&lines.join("\n"), MESSAGE_MAX),
        "priority": priority,
        "tags": [tag],
    });
    if let Some((_, url)) = briefing.links.first() {
        body["click"] = json!(url);
    }
    let actions = briefing.links.iter().map(|(name, url)| json!({ "action": "view", "label": name, "url": url }));
    body["actions"] = actions.collect();
    body
}

/// The topic that an address names: the one part of its path.
pub(crate) fn topic(address: &Address) -> Option<String> {
    let url = Url::parse(address.resolved.expose()).ok()?;
    Some(url.path().trim_matches('/').to_owned()).filter(|topic| !topic.is_empty() && !topic.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::services::samples::{hostile, hostile_group, opened, resolved, units};
    use crate::domain::secret::Secret;

    #[test]
    fn a_message_says_what_someone_woken_at_night_needs() {
        let body = body(&opened(), "sre");
        assert_eq!((&body["topic"], &body["priority"]), (&json!("sre"), &json!(5)));
        assert_eq!(body["title"], "[page] docs: 3 searches came back empty");
        assert_eq!(body["click"], "https://serin.example/incidents/i-1");
        assert_eq!(body["actions"][1]["url"], "https://serin.example/runbooks/pool_saturated");
        let text = body["message"].as_str().unwrap();
        for part in [
            "Since: 2026-11-21 09:14:03 UTC",
            "Reason: pool_saturated",
            "canary: err-4417 → nothing",
            "serin probe docs",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(super::body(&resolved(), "sre")["tags"], json!(["green_circle"]));
    }

    #[test]
    fn hostile_text_stays_text_within_the_limits() {
        for body in [hostile(), hostile_group()].map(|message| body(&message, "sre")) {
            let whole = body.to_string();
            assert_eq!(serde_json::from_str::<Value>(&whole).unwrap(), body);
            assert!(whole.len() <= 16_384, "ntfy reads no more of a body: {}", whole.len());
            assert!(body["message"].as_str().unwrap().len() <= 4096 && units(&body["title"]) <= 200);
            assert!(!whole.contains('\u{202e}') && !whole.contains("\\r"));
            assert!(body.get("markdown").is_none(), "Markdown is not asked for");
        }
    }

    #[test]
    fn an_address_names_one_topic() {
        let rows = [
            ("https://ntfy.example/sre-pages", Some("sre-pages")),
            ("https://ntfy.example/sre/", Some("sre")),
            ("https://ntfy.example/", None),
            ("https://ntfy.example/a/b", None),
        ];
        for (url, expected) in rows {
            let address = Address { shown: String::new(), resolved: Secret::new(url) };
            assert_eq!(topic(&address).as_deref(), expected, "{url}");
        }
    }
}
