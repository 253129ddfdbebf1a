//! A message for an incoming webhook of Slack, or of Mattermost.
//!
//! Slack shows the blocks, and their `text` where it only notifies. Mattermost shows no blocks at all (its issue 14973),
//! so that `text` says everything once more. What a server said stands in `plain_text`, in which Slack reads no markup;
//! in `text` its `<`, `>` and `&` are entities, and a mark of no width parts `@` from a name and `](` of a link.

use serde_json::{Value, json};

use crate::deliver::briefing::{Briefing, Tone};
use crate::deliver::message::Message;
use crate::deliver::services::escaped::{escaped, parted};

/// Characters of a header block.
const HEADER_MAX: usize = 150;
/// Characters of the facts, and of what was seen. A section may have 3000, and all of them together less than four times
/// as many: about 13,000 were refused once (slackapi/bolt-js issue 2509), a limit that no document names.
const SECTION_MAX: usize = 2400;
/// Characters of one line in a section of its own.
const LINE_MAX: usize = 600;
/// Characters of the text beside the blocks: Slack advises at most so many.
const TEXT_MAX: usize = 4000;

/// Bytes of a link: two of them fit into one section, whatever their addresses hold.
const LINK_MAX: usize = 1400;

/// The body of the POST.
pub(crate) fn body(message: &Message) -> Value {
    let briefing = Briefing::of(message);
    let title = format!("{} {}", mark(briefing.tone), briefing.title);
    let (facts, evidence) = (briefing.fact_lines().join("\n"), briefing.evidence_lines().join("\n"));
    let command = briefing.command.as_deref().map(|command| format!("Reproduce: {command}"));
    let mut blocks = vec![json!({ "type": "header", "text": plain(&title, HEADER_MAX) })];
    if escaped(&title, HEADER_MAX, escape).ends_with('…') {
        blocks.push(section(&plain(&briefing.title, LINE_MAX)));
    }
    blocks.push(section(&plain(&facts, SECTION_MAX)));
    if !evidence.is_empty() {
        blocks.push(section(&markdown("*What was seen*")));
        blocks.push(section(&plain(&evidence, SECTION_MAX)));
    }
    if let Some(command) = &command {
        blocks.push(section(&plain(command, LINE_MAX)));
    }
    let links = briefing.links.iter().map(|(name, url)| format!("<{}|{name}>", entities(url)));
    let links: Vec<String> = links.filter(|link| link.len() <= LINK_MAX).collect();
    if !links.is_empty() {
        blocks.push(section(&markdown(&links.join(" · "))));
    }
    let addresses = briefing.links.iter().map(|(name, url)| format!("{name}: {url}"));
    let seen = (!evidence.is_empty()).then(|| format!("What was seen\n{evidence}"));
    // What is cut, where anything is, is what was seen.
    let lines: Vec<String> = [title, facts].into_iter().chain(command).chain(addresses).chain(seen).collect();
    json!({ "text": escaped(&unlinked(&lines.join("\n")), TEXT_MAX, escape), "blocks": blocks })
}

fn section(text: &Value) -> Value {
    json!({ "type": "section", "text": text })
}

fn plain(text: &str, units_max: usize) -> Value {
    json!({ "type": "plain_text", "text": escaped(&unlinked(text), units_max, escape), "emoji": false })
}

/// Our own words and links only; `verbatim` keeps Slack from making more links and mentions of them.
fn markdown(text: &str) -> Value {
    json!({ "type": "mrkdwn", "text": text, "verbatim": true })
}

/// A colour before the words, for eyes that find it faster.
const fn mark(tone: Tone) -> &'static str {
    match tone {
        Tone::Page => "🔴",
        Tone::Ticket => "🟠",
        Tone::Notice => "🔵",
        Tone::Over => "🟢",
    }
}

/// Without the marks by which Markdown, which Mattermost reads, takes brackets for a link or a picture.
fn unlinked(text: &str) -> String {
    ["](", "][", "]:"]
        .iter()
        .fold(text.to_owned(), |text, mark| text.replace(mark, &format!("]\u{200B}{}", &mark[1..])))
}

fn entities(text: &str) -> String {
    escaped(text, usize::MAX, |c, into| match c {
        '&' => into.push_str("&amp;"),
        '<' => into.push_str("&lt;"),
        '>' => into.push_str("&gt;"),
        other => into.push(other),
    })
}

fn escape(c: char, into: &mut String) {
    match c {
        '&' => into.push_str("&amp;"),
        '<' => into.push_str("&lt;"),
        '>' => into.push_str("&gt;"),
        '@' => parted(c, into),
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
        assert_eq!(body["blocks"][0]["text"]["text"], "🔴 [page] docs: 3 searches came back empty");
        let all = texts(&body).join("\n");
        for part in [
            "What: an incident opened, severity page",
            "Monitor: Product documentation (docs)",
            "Since: 2026-11-21 09:14:03 UTC",
            "Reason: pool_saturated, seen at search",
            "Resolves: two good beats in a row",
            "canary: err-4417 → nothing",
            "<https://serin.example/incidents/i-1|Incident>",
            "<https://serin.example/runbooks/pool_saturated|Runbook>",
            "Reproduce: serin probe docs",
        ] {
            assert!(all.contains(part), "{part}: {all}");
            // Mattermost shows no blocks.
            let text = part.trim_matches(['<', '>']).split('|').next().unwrap();
            assert!(body["text"].as_str().unwrap().contains(text), "{text}");
        }
        assert!(texts(&super::body(&resolved()))[0].contains("🟢 [resolved]"));
    }

    #[test]
    fn hostile_text_stays_text_within_the_limits() {
        for body in [hostile(), hostile_group()].map(|message| body(&message)) {
            assert_eq!(serde_json::from_str::<Value>(&body.to_string()).unwrap(), body);
            for text in texts(&body) {
                for dead in HOSTILE.iter().chain(&["<!", "<@", "@channel", "@here", "@everyone", "]("]) {
                    assert!(!text.contains(dead), "{dead}: {text}");
                }
            }
            assert!(units(&body["text"]) <= 4000);
            let blocks = body["blocks"].as_array().unwrap();
            assert!(blocks.len() <= 50);
            for block in blocks {
                let most = if block["type"] == "header" { 150 } else { 3000 };
                assert!((1..=most).contains(&units(&block["text"]["text"])), "{block}");
            }
        }
    }
}
