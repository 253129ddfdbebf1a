//! Values of a Kubernetes Secret: what stands under `data` and `stringData` is secret, whatever its name.
//!
//! `https://kubernetes.io/docs/concepts/configuration/secret/`

use std::ops::Range;

use crate::text::secrets::forms;

/// What a manifest of a Secret holds.
pub(crate) const KIND_KEYWORDS: &[&str] = &["kind: secret", "\"kind\": \"secret\"", "\"kind\":\"secret\""];
/// What its values stand under.
pub(crate) const DATA_KEYWORDS: &[&str] = &["data:", "data\":"];

/// How far a manifest reaches before its kind and behind it, in bytes.
const MANIFEST_BYTES_MAX: usize = 16_384;
/// What ends a manifest: YAML's separator, Markdown's fence.
const SEPARATORS: &[&str] = &["\n---", "\n```", "\n~~~"];
/// Values of one manifest at most; Kubernetes allows 1 MiB in all.
const VALUES_MAX: usize = 100;

/// The stretches of a text that are manifests of Secrets, in order, from the places of their kinds.
pub(crate) fn stretches(text: &str, kinds: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for kind in kinds {
        let is_whole = !text[kind.end..].starts_with(|c: char| c.is_ascii_alphanumeric());
        let last_end = all.last().map_or(0, |last| last.end);
        if !is_whole || kind.start < last_end {
            continue;
        }
        let from = text.ceil_char_boundary(kind.start.saturating_sub(MANIFEST_BYTES_MAX)).max(last_end);
        let to = text.floor_char_boundary((kind.end + MANIFEST_BYTES_MAX).min(text.len()));
        let start = SEPARATORS.iter().filter_map(|separator| text[from..kind.start].rfind(separator)).max();
        let end = SEPARATORS.iter().filter_map(|separator| text[kind.end..to].find(separator)).min();
        all.push(start.map_or(from, |at| from + at)..end.map_or(to, |at| kind.end + at));
    }
    all
}

/// The values under `data:` at `at`, within the manifest that ends at `manifest_end`.
pub(crate) fn values(text: &str, at: usize, manifest_end: usize) -> Vec<Range<usize>> {
    let word = text[..at].bytes().rev().take_while(u8::is_ascii_alphabetic).count();
    if !["", "string"].contains(&&text[at - word..at]) {
        return Vec::new();
    }
    let is_json = text.as_bytes().get(at + DATA_LENGTH) == Some(&b'"');
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let Some(colon) = text[at..manifest_end].find(':') else { return Vec::new() };
    let begin = at + colon + 1;
    let mut found = if is_json { of_json(text, begin, manifest_end) } else { of_yaml(text, line, begin, manifest_end) };
    found.retain(|value| {
        let value = &text[value.clone()];
        value.len() >= VALUE_LEAST && !forms::is_placeholder(value)
    });
    found.truncate(VALUES_MAX);
    found
}

/// Letters of the keyword before its sign.
const DATA_LENGTH: usize = "data".len();
/// Characters of a value at least: three bytes in base64.
const VALUE_LEAST: usize = 4;

fn of_json(text: &str, begin: usize, end: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let object = &text[begin..end];
    if !object.trim_start().starts_with('{') {
        return found;
    }
    let object = &object[..object.find('}').unwrap_or(object.len())];
    // Strings by turns: name, value.
    let mut quotes = object.match_indices('"').map(|(at, _)| begin + at);
    while let (Some(_), Some(_), Some(open), Some(close)) = (quotes.next(), quotes.next(), quotes.next(), quotes.next())
    {
        found.push(open + 1..close);
    }
    found
}

fn of_yaml(text: &str, line: usize, begin: usize, end: usize) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let own = indent(&text[line..]);
    let Some(newline) = text[begin..end].find('\n') else { return found };
    let mut at = begin + newline + 1;
    // The indentation of a name whose value is a block below it.
    let mut block: Option<usize> = None;
    while at < end {
        let length = text[at..end].find('\n').unwrap_or(end - at);
        let row = &text[at..at + length];
        let depth = indent(row);
        let is_empty = row.trim().is_empty();
        if !is_empty && depth <= own {
            break;
        }
        let trimmed = at + depth..at + row.trim_end().len();
        match block.filter(|name| depth > *name) {
            _ if is_empty => {}
            Some(_) => found.push(trimmed),
            None => {
                let value = row.split_once(':').map_or("", |(_, value)| value.trim());
                block = matches!(value.as_bytes().first(), Some(b'|' | b'>')).then_some(depth);
                let quotes = ['"', '\''];
                let inner = value.trim_matches(quotes);
                let start = at + row.len() - row.split_once(':').map_or("", |(_, value)| value).trim_start().len();
                if block.is_none() && !inner.is_empty() && !value.starts_with(['#', '{']) {
                    let start = start + usize::from(value.starts_with(quotes));
                    found.push(start..start + inner.len());
                }
            }
        }
        at += length + 1;
    }
    found
}
