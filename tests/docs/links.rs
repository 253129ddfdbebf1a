//! Links lead somewhere: the file is there, and so is the heading.

use std::collections::HashMap;
use std::path::Path;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::{documentation, pages, root, text};

/// Where a page links to, and the anchors of its headings.
struct Outline {
    links: Vec<String>,
    anchors: Vec<String>,
}

fn outline(page: &str) -> Outline {
    let mut found = Outline { links: Vec::new(), anchors: Vec::new() };
    let mut heading: Option<String> = None;
    let mut seen: HashMap<String, usize> = HashMap::new();
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                found.links.push(dest_url.into_string());
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&words);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap_or_default());
                let before = seen.entry(anchor.clone()).or_default();
                found.anchors.push(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
                *before += 1;
            }
            _ => {}
        }
    }
    found
}

/// The anchor that GitHub gives a heading: lowercase, spaces as hyphens, no other punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// Why a link of a page leads nowhere; none where it leads somewhere, or out of the repository.
fn broken(page: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, wanted) = link.split_once('#').map_or((link, None), |(file, wanted)| (file, Some(wanted)));
    let folder = Path::new(page).parent().expect("a page lies in a folder");
    let target = if file.is_empty() { root().join(page) } else { root().join(folder).join(file) };
    if !target.exists() {
        return Some(format!("{page}: there is no {file}"));
    }
    let wanted = wanted?;
    let text = std::fs::read_to_string(&target).unwrap_or_default();
    let anchors = outline(&text).anchors;
    (!anchors.iter().any(|anchor| anchor == wanted)).then(|| format!("{page}: {link}: its headings are {anchors:?}"))
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut all = documentation();
    all.push("CONTRIBUTING.md".to_owned());
    all.extend(pages("src/runbooks"));
    all.extend(pages("examples/enterprise"));
    let mut links = 0;
    let mut wrong = Vec::new();
    for page in &all {
        for link in outline(&text(page)).links {
            links += 1;
            wrong.extend(broken(page, &link));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(links >= 50, "{links} links were found: are they read at all?");
}

#[test]
fn a_broken_link_is_seen() {
    let rows = [
        ("measured.md", false, "a page beside it"),
        ("measured.md#how-to-measure", false, "a heading of it"),
        ("#signals", false, "a heading of its own"),
        ("../README.md", false, "a page above it"),
        ("https://example.org/nothing", false, "elsewhere"),
        ("mesured.md", true, "no such page"),
        ("measured.md#how-to-mesure", true, "no such heading"),
        ("#no-such-heading", true, "none of its own"),
    ];
    for (link, expected, sentence) in rows {
        assert_eq!(broken("docs/paging-details.md", link).is_some(), expected, "{sentence}");
    }
    assert_eq!(anchor("`serin init`: Transcripts, what's 1st?"), "serin-init-transcripts-whats-1st");
}
