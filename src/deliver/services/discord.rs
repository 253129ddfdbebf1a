//! A message for a webhook of Discord: one embed, and its title once more as the text that a phone shows.
//!
//! `allowed_mentions` allows none. Of what a server said every mark that Discord's Markdown acts on has a backslash
//! before it, and `@` is parted from what follows.

use serde_json::{Value, json};

use crate::deliver::briefing::{Briefing, Tone};
use crate::deliver::message::Message;
use crate::deliver::services::escaped::{escaped, parted};

/// Characters of a title.
const TITLE_MAX: usize = 256;
/// Characters of the description: it may have 4096, and the whole embed 6000.
const DESCRIPTION_MAX: usize = 3400;
/// Characters of a field's value.
const FIELD_MAX: usize = 1024;

/// The body of the POST.
pub(crate) fn body(message: &Message) -> Value {
    let briefing = Briefing::of(message);
    let mut lines = briefing.fact_lines();
    lines.extend(briefing.command.iter().map(|command| format!("Reproduce: {command}")));
    let evidence = briefing.evidence_lines();
    if !evidence.is_empty() {
        lines.extend([String::new(), "What was seen".to_owned()]);
        lines.extend(evidence);
    }
    let mut fields = Vec::new();
    for (name, url) in &briefing.links {
        // An address is whole or not there: cut, it leads elsewhere.
        if url.encode_utf16().count() <= FIELD_MAX {
            fields.push(json!({ "name": name, "value": url }));
        }
    }
    let title = escaped(&briefing.title, TITLE_MAX, escape);
    json!({
        "content": title,
        "allowed_mentions": { "parse": [] },
        "embeds": [{
            "title": title,
            "description": escaped(&lines.join("\n"), DESCRIPTION_MAX, escape),
            "color": color(briefing.tone),
            "timestamp": message.at,
            "fields": fields,
        }],
    })
}

/// Red, orange, blue and green; the title says the same in words.
const fn color(tone: Tone) -> u32 {
    match tone {
        Tone::Page => 0x00D1_242F,
        Tone::Ticket => 0x00E3_6209,
        Tone::Notice => 0x0009_69DA,
        Tone::Over => 0x001A_7F37,
    }
}

fn escape(c: char, into: &mut String) {
    match c {
        '@' => parted(c, into),
        // The mark of a cut and our own brackets are no exception: a backslash is not shown before either.
        '\\' | '*' | '_' | '~' | '`' | '|' | '<' | '>' | '[' | ']' | '(' | ')' | '#' | '-' | '+' => {
            into.extend(['\\', c])
        }
        other => into.push(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::services::samples::{HOSTILE, hostile, hostile_group, opened, resolved, texts, units};

    #[test]
    fn a_message_says_what_someone_woken_at_night_needs() {
        let body = body(&opened());
        let embed = &body["embeds"][0];
        let shown = |text: &Value| text.as_str().unwrap().replace(['\\', '\u{200B}'], "");
        assert_eq!(shown(&embed["title"]), "[page] docs: 3 searches came back empty");
        let description = shown(&embed["description"]);
        for part in [
            "What: an incident opened, severity page",
            "Monitor: Product documentation (docs)",
            "Since: 2026-11-21 09:14:03 UTC",
            "Reason: pool_saturated, seen at search",
            "Resolves: two good beats in a row",
            "Reproduce: serin probe docs",
            "canary: err-4417 → nothing",
        ] {
            assert!(description.contains(part), "{part}: {description}");
        }
        assert_eq!(embed["fields"][0]["value"], "https://serin.example/incidents/i-1");
        assert_eq!(embed["fields"][1]["value"], "https://serin.example/runbooks/pool_saturated");
        assert_eq!(body["allowed_mentions"], json!({ "parse": [] }));
        assert_ne!(super::body(&resolved())["embeds"][0]["color"], embed["color"]);
    }

    #[test]
    fn hostile_text_stays_text_within_the_limits() {
        for body in [hostile(), hostile_group()].map(|message| body(&message)) {
            assert_eq!(serde_json::from_str::<Value>(&body.to_string()).unwrap(), body);
            let embed = &body["embeds"][0];
            for text in [&body["content"], &embed["title"], &embed["description"]] {
                let text = text.as_str().unwrap();
                for dead in HOSTILE.iter().chain(&["@everyone", "@here", "](", " <@", " *b*", " ||s", " `c"]) {
                    assert!(!text.contains(dead), "{dead}: {text}");
                }
            }
            assert!((1..=256).contains(&units(&embed["title"])) && (1..=4096).contains(&units(&embed["description"])));
            let fields = embed["fields"].as_array().unwrap();
            assert!(fields.iter().all(|field| (1..=1024).contains(&units(&field["value"]))));
            let of_fields: usize = fields.iter().flat_map(texts).map(|text| text.encode_utf16().count()).sum();
            assert!(units(&embed["title"]) + units(&embed["description"]) + of_fields <= 6000);
            assert!(units(&body["content"]) <= 2000 && fields.len() <= 25);
        }
    }
}
