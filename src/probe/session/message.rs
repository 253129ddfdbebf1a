//! A message as it is written: its body in the form of each era, its trace, and text as header values.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use url::Url;

use crate::domain::protocol::Era;
use crate::probe::decode::era::{LEGACY, MODERN};

pub(crate) const METHOD: HeaderName = HeaderName::from_static("mcp-method");

pub(super) const NAME: HeaderName = HeaderName::from_static("mcp-name");

pub(crate) const PROTOCOL: HeaderName = HeaderName::from_static("mcp-protocol-version");

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub(crate) const TRACE: HeaderName = HeaderName::from_static("traceparent");

pub(crate) const AGENT: &str = concat!("serin/", env!("CARGO_PKG_VERSION"));

/// A message as it goes out: the trace in its `_meta` is that of the header of whatever request carries it.
#[derive(Debug)]
pub(super) struct OutgoingRequest {
    pub(super) id: u64,
    pub(super) body: Bytes,
    pub(super) trace: String,
}

#[derive(Debug, Default)]
pub(crate) struct Call<'c> {
    pub(crate) method: &'static str,
    /// The tool's name, for `tools/call`.
    pub(crate) name: Option<&'c str>,
    /// Members of `params`, without braces.
    pub(crate) params: &'c str,
    /// `Mcp-Param-*`, for the modern era.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

/// Text as a header value; the modern era's Base64 form where it is not plain ASCII.
pub(crate) fn header_value(text: &str) -> Option<HeaderValue> {
    let plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if plain {
        return HeaderValue::from_str(text).ok();
    }
    HeaderValue::from_str(&format!("=?base64?{}?=", STANDARD.encode(text))).ok()
}

/// A trace of its own; all zeros would be none.
pub(crate) fn new_trace() -> u128 {
    rand::random::<u128>().max(1)
}

/// The nth request of a trace, as W3C Trace Context writes it; `nth` counts from 1.
pub(crate) fn traceparent(trace: u128, nth: u64) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(TRACEPARENT_BYTES);
    let hex = |text: &mut String, bytes: &[u8]| {
        for byte in bytes {
            text.extend([byte >> 4, byte & 15].map(|digit| char::from(DIGITS[usize::from(digit)])));
        }
    };
    text.push_str("00-");
    hex(&mut text, &trace.to_be_bytes());
    text.push('-');
    hex(&mut text, &nth.to_be_bytes());
    text.push_str("-01");
    text
}

const TRACEPARENT_BYTES: usize = 55;

/// Bytes of a body beside its parameters, at most.
const ENVELOPE_BYTES: usize = 384;

pub(super) fn body_of(era: Era, call: &Call<'_>, id: Option<u64>, trace: &str) -> Bytes {
    let mut body = String::with_capacity(ENVELOPE_BYTES + call.params.len());
    body.push_str(r#"{"jsonrpc":"2.0","#);
    if let Some(id) = id {
        let _ = write!(body, r#""id":{id},"#);
    }
    let comma = if call.params.is_empty() { "" } else { "," };
    body.extend([r#""method":""#, call.method, r#"","params":{"#, call.params, comma]);
    body.extend([r#""_meta":{"traceparent":""#, trace, r#"""#]);
    if era == Era::Modern {
        body.extend([r#","io.modelcontextprotocol/protocolVersion":""#, MODERN, MODERN_META]);
    }
    body.push_str("}}}");
    Bytes::from(body)
}

/// What the modern era wants to know of a client, behind the version.
const MODERN_META: &str = concat!(
    r#"","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"serin","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""}"#
);

pub(crate) fn initialize_params() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(r#""protocolVersion":"{LEGACY}","capabilities":{{}},"clientInfo":{{"name":"serin","version":"{version}"}}"#)
}

/// The path and query of a URL, as HTTP/1.1 asks for them.
pub(crate) fn path_of(url: &Url) -> http::Uri {
    url[url::Position::BeforePath..url::Position::AfterQuery].parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Call, body_of, header_value, traceparent};
    use crate::domain::protocol::Era;

    #[test]
    fn a_message_is_written_in_the_form_of_its_era() {
        let trace = traceparent(0xabc, 26);
        assert_eq!(trace, "00-00000000000000000000000000000abc-000000000000001a-01");
        let call = Call { method: "tools/call", params: r#""name":"a""#, ..Call::default() };
        let rows = [
            (
                Era::Legacy,
                Some(7),
                call,
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","_meta":{"traceparent":"T"}}}"#
                    .to_owned(),
            ),
            (
                Era::Modern,
                None,
                Call { method: "ping", ..Call::default() },
                format!(
                    r#"{{"jsonrpc":"2.0","method":"ping","params":{{"_meta":{{"traceparent":"T","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"serin","version":"{}"}}}}}}}}"#,
                    env!("CARGO_PKG_VERSION")
                ),
            ),
        ];
        for (era, id, call, expected) in rows {
            assert_eq!(body_of(era, &call, id, "T"), expected, "{era:?}");
        }
    }

    #[test]
    fn names_that_are_no_plain_ascii_travel_as_base64() {
        let seen = |text: &str| header_value(text).unwrap().to_str().unwrap().to_owned();
        assert_eq!(seen("search docs"), "search docs");
        assert_eq!(seen("größe"), "=?base64?Z3LDtsOfZQ==?=");
        assert_eq!(seen(" x"), "=?base64?IHg=?=");
        assert_eq!(seen("=?base64?x?="), "=?base64?PT9iYXNlNjQ/eD89?=");
    }
}
