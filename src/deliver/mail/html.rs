//! The same mail for readers that show HTML: what the text says, on one narrow column.
//!
//! It loads nothing and runs nothing: no picture, no style sheet, no script, so that reading it tells nobody. Colours are
//! left to the reader, who knows whether it is night; only the badge has its own, and they hold on both. All text is
//! escaped by the template.

use askama::Template;

use crate::deliver::briefing::{self, Briefing, Tone};
use crate::deliver::message::Message;
use crate::deliver::plain;

/// Characters of one value: those of a message's evidence.
const VALUE_CHARS_MAX: usize = 600;
/// Bytes of all evidence as it is written: some readers cut a mail at 102 kB, and hide its links with what is cut.
const EVIDENCE_BYTES_MAX: usize = 48_000;

#[derive(Debug, Template)]
#[template(path = "mail.html")]
struct MailPage<'a> {
    tag: &'a str,
    colour: &'static str,
    summary: String,
    facts: Vec<(&'static str, String)>,
    evidence: Vec<(String, String)>,
    left_out: usize,
    links: Vec<(&'static str, String)>,
    command: Option<String>,
    rule: String,
    parting: &'a str,
}

/// The page of a message, which ends with the words of the text's end.
pub(super) fn page(message: &Message, rule: &str, parting: &str) -> String {
    let Briefing { links, command, tone, .. } = Briefing::of(message);
    let line = |text: &str| plain::line(text, VALUE_CHARS_MAX);
    let mut room = EVIDENCE_BYTES_MAX;
    let pieces = message.evidence.0.iter().map(|(key, value)| (line(key), line(value)));
    let evidence: Vec<_> = pieces.map_while(|piece| fits(piece, &mut room)).collect();
    let page = MailPage {
        tag: briefing::tag(message),
        colour: colour(tone),
        summary: line(&message.summary),
        facts: briefing::facts(message).into_iter().map(|(name, value)| (name, line(&value))).collect(),
        left_out: message.evidence.0.len() - evidence.len(),
        evidence,
        links,
        command,
        rule: line(rule),
        parting,
    };
    // Writing into a text does not fail.
    page.render().unwrap_or_default()
}

/// A piece, if there is room left for it as it is written.
fn fits(piece: (String, String), room: &mut usize) -> Option<(String, String)> {
    const ESCAPED_BYTES_MAX: usize = 5; // `&#38;`
    let bytes = |text: &str| -> usize {
        text.bytes().map(|byte| if b"&<>\"'".contains(&byte) { ESCAPED_BYTES_MAX } else { 1 }).sum()
    };
    *room = room.checked_sub(bytes(&piece.0) + bytes(&piece.1))?;
    Some(piece)
}

/// A ground on which white stands out by 4.5:1 and more, and which stands out on black and on white.
const fn colour(tone: Tone) -> &'static str {
    match tone {
        Tone::Page => "#b3261e",
        Tone::Ticket => "#8a5300",
        Tone::Notice => "#1f5fa8",
        Tone::Over => "#1e6b3a",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::services::samples::{HOSTILE, hostile, hostile_group, opened, resolved};

    /// What a tag begins with, without its name's end.
    fn tags(page: &str) -> Vec<String> {
        let name = |rest: &str| rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '!').collect();
        page.split('<').skip(1).map(|rest| name(rest.trim_start_matches('/'))).collect()
    }

    #[test]
    fn a_page_says_what_the_text_says() {
        let page = page(&opened(), "monitors.yaml:24", "Serin.");
        for part in [
            ">page</span>",
            "<h1 style=\"margin:8px 0 16px;font-size:20px;line-height:1.3\">docs: 3 searches came back empty</h1>",
            "2026-11-21 09:14:03 UTC",
            "pool_saturated, seen at search",
            "connection pool is exhausted",
            "two good beats in a row",
            "err-4417 → nothing",
            "href=\"https://serin.example/incidents/i-1\"",
            "href=\"https://serin.example/runbooks/pool_saturated\"",
            "serin probe docs",
            "monitors.yaml:24",
            "Serin.",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(super::page(&resolved(), "", "").contains("#1e6b3a\">resolved</span>"), "a colour comes with its word");
    }

    #[test]
    fn hostile_text_is_text_and_nothing_is_fetched() {
        let ours = ["!doctype", "html", "head", "meta", "title", "body", "div", "p", "span", "h1", "h2", "a", "code"];
        for message in [hostile(), hostile_group()] {
            let page = page(&message, "<b>monitors.yaml</b>:1", "<i>Serin</i>");
            for tag in tags(&page) {
                assert!(ours.contains(&tag.as_str()), "no tag is anybody else's: <{tag}");
            }
            for dead in
                HOSTILE.iter().chain(&["src=", "url(", "http-equiv", "onerror=\"", "javascript:", "<link", "<style"])
            {
                assert!(!page.contains(dead), "{dead}: {page}");
            }
            let hrefs: Vec<&str> = page.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
            assert!(!hrefs.is_empty() && hrefs.iter().all(|href| href.starts_with("https://")), "{hrefs:?}");
            assert!(page.len() < 102_000, "readers show it whole: {}", page.len());
        }
        let mut odd = opened();
        odd.runbook_url = "javascript:alert(1)".into();
        assert!(!super::page(&odd, "", "").contains("javascript"), "an address that is none leads nowhere");
    }
}
