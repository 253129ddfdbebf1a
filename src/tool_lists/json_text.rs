//! Texts as JSON strings.

use std::fmt::Write as _;

use serde_json::Value;

/// A JSON string. Most need no escape, and a formatter writes them piece by piece.
pub(crate) fn write_text(text: &str, out: &mut String) {
    if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        let _ = write!(out, "{}", Value::from(text));
        return;
    }
    out.push('"');
    out.push_str(text);
    out.push('"');
}
