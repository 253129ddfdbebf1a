//! An address as a person would copy it: with the environment put in, and without what may be secret.
//!
//! The authority is shown resolved. Of a path, what stands in the file is shown as it stands, for the file lies in git; what
//! comes from outside may be a secret, and is shown only where it is a plain word of a whole address that came from there.

use crate::config::read::reference::{ReferencePart, is_reference, parts, redacted};

/// Stands for a reference while a text is taken apart; no address holds it.
const HOLE: char = '\u{1}';
/// Longer words of a path that came from outside may be keys.
const PLAIN_WORD_CHARS_MAX: usize = 12;
const HIDDEN: &str = "***";

/// `written` is what stands in the file, `value` the same resolved.
pub(in crate::config) fn shown_address(written: &str, value: &str) -> String {
    if !is_reference(written) {
        return redacted(value);
    }
    let Ok(parts) = parts(written) else { return redacted(written) };
    let template: String = parts
        .iter()
        .map(|part| match part {
            ReferencePart::Text(text) => (*text).to_owned(),
            ReferencePart::Env { .. } | ReferencePart::File { .. } => HOLE.to_string(),
        })
        .collect();
    let Some((scheme, rest)) = value.split_once("://") else { return redacted(written) };
    let path_start = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(path_start);
    let host = authority.rsplit_once('@').map_or_else(|| authority.to_owned(), |(_, host)| format!("{HIDDEN}@{host}"));
    let (path, query) = path.split_once('?').map_or((path, ""), |(path, _)| (path, "?***"));
    // Where scheme and host came from outside, so may have a part of the path.
    let is_from_outside = !template.contains("://");
    let literal = template.split_once("://").map_or(&*template, |(_, rest)| rest);
    let literal = literal.split(['?', '#']).next().unwrap_or_default();
    let stands_in_file = |word: &str| literal.split('/').skip(1).any(|known| known == word);
    let word = |word: &str| {
        let may_show = word.is_empty() || stands_in_file(word) || is_from_outside && is_plain(word);
        if may_show { word.to_owned() } else { HIDDEN.to_owned() }
    };
    let path: Vec<String> = path.split('/').map(word).collect();
    format!("{scheme}://{host}{}{query}", path.join("/"))
}

/// Such as `mcp`, `sse` or `v1`.
fn is_plain(word: &str) -> bool {
    let letters = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let version =
        word.strip_prefix('v').is_some_and(|n| !n.is_empty() && n.len() < 3 && n.bytes().all(|b| b.is_ascii_digit()));
    word.len() <= PLAIN_WORD_CHARS_MAX && letters || version
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_secret_stays_hidden_and_the_rest_can_be_copied() {
        let rows = [
            ("https://h/mcp", "https://h/mcp", "https://h/mcp", "nothing came from outside"),
            ("https://h/mcp?key=1", "https://h/mcp?key=1", "https://h/mcp?***", "a query is hidden"),
            (
                "http://127.0.0.1:${env:PORT:-9001}/mcp",
                "http://127.0.0.1:22100/mcp",
                "http://127.0.0.1:22100/mcp",
                "a port from the environment",
            ),
            ("https://${env:HOST}/mcp", "https://h.example/mcp", "https://h.example/mcp", "a host"),
            ("${env:URL}", "https://h.example/api/v1/mcp", "https://h.example/api/v1/mcp", "a whole address"),
            ("${env:URL}", "https://h.example", "https://h.example", "one without a path"),
            (
                "${env:URL}",
                "https://h.example/s/NmQ4YzRl0aXo/mcp",
                "https://h.example/s/***/mcp",
                "with a key in its path",
            ),
            (
                "${env:URL}",
                "https://u:p@h.example/mcp?k=v",
                "https://***@h.example/mcp?***",
                "with a login and a query",
            ),
            (
                "${env:BASE}/Search",
                "https://h.example/mcp/Search",
                "https://h.example/mcp/Search",
                "with a tail in the file",
            ),
            ("https://h/${env:KEY}/mcp", "https://h/hunter/mcp", "https://h/***/mcp", "a word that was put in"),
            ("https://h/a-${file:/run/x}/mcp", "https://h/a-b/mcp", "https://h/***/mcp", "a part of a word"),
            ("https://${env:LOGIN}@h/mcp", "https://u:p@h/mcp", "https://***@h/mcp", "a login"),
            ("https://h/mcp?key=${env:KEY}", "https://h/mcp?key=1", "https://h/mcp?***", "a value of the query"),
        ];
        for (written, value, expected, sentence) in rows {
            assert_eq!(shown_address(written, value), expected, "{sentence}");
        }
    }
}
