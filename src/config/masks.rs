//! Which stretches of a file may hold a secret, and are never shown.

use std::ops::Range;

use crate::config::fault::Place;
use crate::config::reference::{Part, parts};

/// Userinfo and query of a URL, as stretches of its text.
pub fn secret_parts(url: &str) -> Vec<Range<usize>> {
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

/// Whether a URL has a password before its `@` of which any part is written out, and not only referred to.
pub(in crate::config) fn holds_password(url: &str) -> bool {
    // The query comes behind it, where there is one.
    let Some(login) =
        secret_parts(url).into_iter().next().and_then(|part| url[part.start..].split_at_checked(part.len()))
    else {
        return false;
    };
    let (login, after) = login;
    let Ok(parts) = parts(login) else { return false };
    let written: String =
        parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(*text) } else { None }).collect();
    after.starts_with('@') && written.split_once(':').is_some_and(|(_, password)| !password.is_empty())
}

/// A reference is shown as written, its default is not: in a file that was copied it may be the real one.
pub(in crate::config) fn secret_stretch(text: &str, place: Place) -> Option<Range<usize>> {
    let (start, end) = (place.start as usize, place.end as usize);
    match text.find(":-").filter(|_| text.starts_with("${")) {
        Some(default) => Some((start + default + 2).min(end)..end),
        None if text.starts_with("${") => None,
        None => Some(start..end),
    }
}
