//! Which stretches of a file may hold a secret, and are never shown.

use std::ops::Range;

use crate::config::read::diagnostic::TextSpan;

/// Userinfo and query of a URL, as stretches of its text.
pub(in crate::config) fn secret_parts(url: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let Some(authority) = url.find("://").map(|at| at + 3) else { return parts };
    let authority_end = url[authority..].find(['/', '?', '#']).map_or(url.len(), |at| authority + at);
    if let Some(at) = url[authority..authority_end].rfind('@') {
        parts.push(authority..authority + at);
    }
    if let Some(mark) = url[authority..].find('?').map(|at| authority + at + 1) {
        let end = url[mark..].find(['#', '}', '"', '\'']).map_or(url.len(), |at| mark + at);
        if mark < end {
            parts.push(mark..end);
        }
    }
    parts
}

/// A reference is shown as written, its default is not: in a file that was copied it may be the real one.
pub(in crate::config) fn secret_stretch(text: &str, place: TextSpan) -> Option<Range<usize>> {
    let (start, end) = (place.start as usize, place.end as usize);
    match text.find(":-").filter(|_| text.starts_with("${")) {
        Some(default) => Some((start + default + 2).min(end)..end),
        None if text.starts_with("${") => None,
        None => Some(start..end),
    }
}
