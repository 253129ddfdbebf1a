//! A message for a workflow of Microsoft Teams: an Adaptive Card 1.4.
//!
//! What a server said stands in text runs, in which no Markdown is read. A mention would need an entity beside the card,
//! and there is none; `<` and `@` are parted from what follows all the same.

use serde_json::{Value, json};

use crate::deliver::briefing::{Briefing, Tone};
use crate::deliver::message::Message;
use crate::deliver::services::escaped::{escaped, parted};

/// Characters of the title.
const TITLE_MAX: usize = 300;
/// Characters of a line.
const LINE_MAX: usize = 320;
/// UTF-16 units of the whole body: Teams takes 28 kB, and counts two bytes a unit where no charset is named.
const BODY_MAX: usize = 13_000;

/// The body of the POST.
pub(crate) fn body(message: &Message) -> Value {
    let briefing = Briefing::of(message);
    let mut facts = briefing.fact_lines();
    facts.extend(briefing.command.iter().map(|command| format!("Reproduce: {command}")));
    let mut evidence = briefing.evidence_lines();
    loop {
        let body = card(&briefing, &facts, &evidence);
        // The last lines of what was seen give way to what says where to look.
        if body.to_string().encode_utf16().count() <= BODY_MAX || evidence.pop().is_none() {
            return body;
        }
    }
}

fn card(briefing: &Briefing, facts: &[String], evidence: &[String]) -> Value {
    let mut items = vec![block(&briefing.title, TITLE_MAX, "bolder", "large")];
    items.extend(facts.iter().map(|line| block(line, LINE_MAX, "default", "default")));
    if !evidence.is_empty() {
        items.push(block("What was seen", LINE_MAX, "bolder", "default"));
        items.extend(evidence.iter().map(|line| block(line, LINE_MAX, "default", "default")));
    }
    let open = briefing.links.iter().map(|(name, url)| json!({ "type": "Action.OpenUrl", "title": name, "url": url }));
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "msteams": { "width": "Full" },
                "body": [{ "type": "Container", "style": style(briefing.tone), "bleed": true, "items": items }],
                "actions": open.collect::<Vec<_>>(),
            },
        }],
    })
}

fn block(text: &str, units_max: usize, weight: &str, size: &str) -> Value {
    let text = escaped(text, units_max, escape);
    json!({
        "type": "RichTextBlock",
        "spacing": "Small",
        "inlines": [{ "type": "TextRun", "text": text, "weight": weight, "size": size }],
    })
}

/// A colour that Teams has for it; the title says the same in words.
const fn style(tone: Tone) -> &'static str {
    match tone {
        Tone::Page => "attention",
        Tone::Ticket => "warning",
        Tone::Notice => "accent",
        Tone::Over => "good",
    }
}

fn escape(c: char, into: &mut String) {
    match c {
        '<' | '@' => parted(c, into),
        other => into.push(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::services::samples::{HOSTILE, hostile, hostile_group, opened, resolved, texts};

    #[test]
    fn a_message_says_what_someone_woken_at_night_needs() {
        let body = body(&opened());
        assert_eq!(body["attachments"][0]["content"]["version"], "1.4");
        let all = texts(&body).join("\n");
        for part in [
            "[page] docs: 3 searches came back empty",
            "What: an incident opened, severity page",
            "Monitor: Product documentation (docs)",
            "Since: 2026-11-21 09:14:03 UTC",
            "Reason: pool_saturated, seen at search",
            "Resolves: two good beats in a row",
            "canary: err-4417 → nothing",
            "Reproduce: serin probe docs",
            "https://serin.example/incidents/i-1",
            "https://serin.example/runbooks/pool_saturated",
        ] {
            assert!(all.contains(part), "{part}: {all}");
        }
        let style = |body: &Value| body["attachments"][0]["content"]["body"][0]["style"].clone();
        assert_eq!((style(&body), style(&super::body(&resolved()))), (json!("attention"), json!("good")));
    }

    #[test]
    fn hostile_text_stays_text_within_the_limits() {
        for body in [hostile(), hostile_group()].map(|message| body(&message)) {
            let whole = body.to_string();
            assert_eq!(serde_json::from_str::<Value>(&whole).unwrap(), body);
            assert!(whole.len() <= 28_000 && whole.encode_utf16().count() <= BODY_MAX, "{}", whole.len());
            for text in texts(&body) {
                for dead in HOSTILE.iter().chain(&["@everyone", "@here", "<@", "<!"]) {
                    assert!(!text.contains(dead), "{dead}: {text}");
                }
            }
            assert!(!whole.contains("\"TextBlock\""), "no block reads Markdown");
            assert!(!whole.contains("entities"), "nobody is mentioned");
        }
    }
}
