//! The runbooks Serin brings, one for each reason: `src/runbooks/{slug}.md`.
//!
//! They are used where the file names none, so that no page is without one. Serin writes them and
//! no server does, yet they are rendered as carefully as anything else: raw HTML in them is shown,
//! not executed, and links lead to web addresses or places on Serin's own pages only.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, html as writer};

use crate::domain::reason::FailureReason;

/// The runbook of a reason as it was written.
pub(crate) fn markdown(reason: FailureReason) -> &'static str {
    reason.facts().runbook
}

/// The runbook of a reason as HTML, safe to put into a page as it is.
pub(crate) fn html(reason: FailureReason) -> String {
    rendered(reason.facts().runbook)
}

/// Markdown as HTML in which nothing is executed.
fn rendered(markdown: &str) -> String {
    let events = Parser::new_ext(markdown, Options::ENABLE_TABLES).map(|event| match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            Event::Start(Tag::Link { link_type, dest_url: safe(dest_url), title, id })
        }
        Event::Start(Tag::Image { link_type, title, id, .. }) => {
            Event::Start(Tag::Image { link_type, dest_url: CowStr::Borrowed("#"), title, id })
        }
        other => other,
    });
    let mut page = String::with_capacity(markdown.len() * 2);
    writer::push_html(&mut page, events);
    page
}

/// A link that can only lead to a page.
fn safe(url: CowStr<'_>) -> CowStr<'_> {
    let leads_to_a_page = url.starts_with("https://") || url.starts_with("http://") || url.starts_with('#');
    let leads_home = url.starts_with('/') && !url.starts_with("//");
    if leads_to_a_page || leads_home { url } else { CowStr::Borrowed("#") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_runbook_of_the_same_shape() {
        for reason in FailureReason::ALL {
            let (slug, text) = (reason.slug(), reason.facts().runbook);
            assert!(text.starts_with(&format!("# {slug}\n")), "{slug}: the title is the slug");
            let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
            assert_eq!(headings, ["## What it means", "## Check first", "## Mend", "## Confirm"], "{slug}");
            let lines = text.lines().count();
            assert!((15..=45).contains(&lines), "{slug}: {lines} lines are too few or too many to be read at night");
            let confirm = text.split("## Confirm").nth(1).unwrap_or_default();
            assert!(confirm.contains("serin "), "{slug}: it ends with a command that shows whether it worked");
        }
    }

    #[test]
    fn each_runbook_speaks_of_its_own_reason() {
        let mut openings = std::collections::BTreeMap::new();
        for reason in FailureReason::ALL {
            let opening = reason.facts().runbook.lines().find(|line| !line.is_empty() && !line.starts_with('#'));
            if let Some(other) = openings.insert(opening, reason) {
                panic!("{} and {} open with the same words", other.slug(), reason.slug());
            }
        }
    }

    #[test]
    fn nothing_in_a_rendered_runbook_is_executed() {
        let rows = [
            ("<script>alert(1)</script>", "<script", "a script is shown as text"),
            ("a <img src=x onerror=alert(1)> b", "<img", "so is markup inside a line"),
            ("[x](javascript:alert(1))", "javascript:", "a link leads to a page only"),
            ("[x](//evil.example)", "//evil", "not to another host in disguise"),
            ("![x](https://evil.example/pixel.png)", "evil", "pictures are not fetched"),
        ];
        for (markdown, absent, sentence) in rows {
            assert!(!rendered(markdown).contains(absent), "{sentence}: {}", rendered(markdown));
        }
        for reason in FailureReason::ALL {
            assert!(html(*reason).contains("<h2>Mend</h2>"), "{}", reason.slug());
        }
    }
}
