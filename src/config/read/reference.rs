//! `${env:NAME}`, `${env:NAME:-default}` and `${file:/path}` inside a text that YAML has already read.
//!
//! Resolving after parsing means that a value can never become a key, a line break or an alias.
//! `$${` stands for `${` itself.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::fs::OFlags;

use crate::config::read::redaction::secret_parts;

/// A secrets file holds a password or a key, not more.
const SECRET_FILE_BYTES_MAX: u64 = 64 * 1024;

/// One stretch of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) enum ReferencePart<'a> {
    Text(&'a str),
    /// A variable, and what to take where it is not set.
    Env {
        name: &'a str,
        /// Taken where it is unset or empty.
        default: Option<&'a str>,
    },
    /// A file's content, without the line break at its end.
    File {
        path: &'a str,
    },
}

/// Whether a text refers to anything.
pub(in crate::config) fn is_reference(text: &str) -> bool {
    text.contains("${") && text.replace("$${", "").contains("${")
}

/// Takes a text apart. The error is the mend.
pub(in crate::config) fn parts(text: &str) -> Result<Vec<ReferencePart<'_>>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if at > 0 && rest.as_bytes()[at - 1] == b'$' {
            parts.push(ReferencePart::Text(&rest[..at - 1]));
            parts.push(ReferencePart::Text("${"));
            rest = &rest[at + 2..];
            continue;
        }
        parts.push(ReferencePart::Text(&rest[..at]));
        let end = rest[at..].find('}').ok_or("a reference ends with `}`")?;
        parts.push(reference(&rest[at + 2..at + end])?);
        rest = &rest[at + end + 1..];
    }
    parts.push(ReferencePart::Text(rest));
    parts.retain(|part| *part != ReferencePart::Text(""));
    Ok(parts)
}

fn reference(inside: &str) -> Result<ReferencePart<'_>, String> {
    if let Some(variable) = inside.strip_prefix("env:") {
        let (name, default) = match variable.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (variable, None),
        };
        let shaped = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        return if shaped {
            Ok(ReferencePart::Env { name, default })
        } else {
            Err("write `${env:NAME}`, NAME of letters, digits and `_`".to_owned())
        };
    }
    match inside.strip_prefix("file:") {
        Some(path) if path.starts_with('/') => Ok(ReferencePart::File { path }),
        Some(_) => Err("write the whole path, such as `${file:/run/secrets/x}`".to_owned()),
        None => {
            Err("write `${env:NAME}`, `${env:NAME:-default}` or `${file:/path}`; `$${` for the characters themselves"
                .to_owned())
        }
    }
}

/// A secrets file's text without the line break at its end; the error says why not, and nothing of the content.
pub(in crate::config) fn read_file(path: &str) -> Result<String, String> {
    let file = open_regular(path)?;
    let mut bytes = Vec::new();
    file.take(SECRET_FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|why| why.kind().to_string())?;
    if bytes.len() as u64 > SECRET_FILE_BYTES_MAX {
        return Err(format!("it is larger than {} KiB", SECRET_FILE_BYTES_MAX / 1024));
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// Opens a file that is one. A pipe would keep us waiting for whoever writes into it, and a device never ends.
fn open_regular(path: &str) -> Result<File, String> {
    const NO_FILE: &str = "it is no regular file";
    let said = |why: io::Error| why.kind().to_string();
    // Opening some devices does something already, such as rewinding a tape, so it is looked at first.
    if !std::fs::metadata(path).map_err(said)?.is_file() {
        return Err(NO_FILE.to_owned());
    }
    // It may have become another since. Without waiting, a pipe is opened at once and then told from a file.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(said)?;
    if file.metadata().map_err(said)?.is_file() { Ok(file) } else { Err(NO_FILE.to_owned()) }
}

/// A URL as it may be shown: `${…}` as written, userinfo and query redacted.
pub(in crate::config) fn redacted(url: &str) -> String {
    let mut shown = String::with_capacity(url.len());
    let mut from = 0;
    for part in secret_parts(url) {
        shown.push_str(&url[from..part.start]);
        shown.push_str("***");
        from = part.end;
    }
    shown.push_str(&url[from..]);
    shown
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
        parts.iter().filter_map(|part| if let ReferencePart::Text(text) = part { Some(*text) } else { None }).collect();
    after.starts_with('@') && written.split_once(':').is_some_and(|(_, password)| !password.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_taken_apart() {
        let env = |name, default| ReferencePart::Env { name, default };
        let rows: [(&str, Vec<ReferencePart<'_>>, &str); 7] = [
            ("plain", vec![ReferencePart::Text("plain")], "no reference"),
            ("", vec![], "nothing"),
            ("${env:A}", vec![env("A", None)], "a variable"),
            (
                "h:${env:P:-90}/x",
                vec![ReferencePart::Text("h:"), env("P", Some("90")), ReferencePart::Text("/x")],
                "a default in the middle",
            ),
            ("${env:A:-}", vec![env("A", Some(""))], "an empty default"),
            ("${file:/run/x}", vec![ReferencePart::File { path: "/run/x" }], "a file"),
            ("$${env:A}", vec![ReferencePart::Text("${"), ReferencePart::Text("env:A}")], "escaped"),
        ];
        for (text, expected, sentence) in rows {
            assert_eq!(parts(text), Ok(expected), "{sentence}");
        }
        for text in ["${env:A", "${env:}", "${env:A B}", "${file:x}", "${A}", "${}"] {
            assert!(parts(text).is_err(), "{text} is refused");
        }
    }

    #[test]
    fn userinfo_and_query_are_masked_and_references_stay() {
        let rows = [
            ("https://h/mcp", "https://h/mcp", "nothing to hide"),
            ("https://u:p@h/mcp?key=1#x", "https://***@h/mcp?***#x", "both"),
            ("https://a@b@h/", "https://***@h/", "the last @ counts"),
            (
                "http://127.0.0.1:${env:PORT:-9001}/mcp",
                "http://127.0.0.1:${env:PORT:-9001}/mcp",
                "a reference as written",
            ),
            ("${env:URL:-https://h/?k=v}", "${env:URL:-https://h/?***}", "inside a default"),
            ("${env:URL}", "${env:URL}", "only a reference"),
            ("https://h/x@y", "https://h/x@y", "an @ in the path is no userinfo"),
        ];
        for (url, expected, sentence) in rows {
            assert_eq!(redacted(url), expected, "{sentence}");
        }
    }
}
