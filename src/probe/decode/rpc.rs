//! JSON-RPC 2.0 over bytes: is this the answer to our request, and what is wrong with it if not.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::domain::fault::FaultKind;
use crate::untrusted_text::readable;

/// What some bytes are, seen from a request with a given id.
#[derive(Debug)]
pub enum RpcMessage<'a> {
    /// The result for our request.
    Result {
        /// As it came.
        raw: &'a RawValue,
        /// The id was our number as a string: legal enough, and worth a note.
        id_as_string: bool,
    },
    /// The error for our request (or one without id, which cannot be anybody else's).
    Error(RpcError),
    /// A notification or a request of the server: not the answer, and no fault.
    Other,
}

/// The `error` of a JSON-RPC response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    /// `error.code`, such as -32601 for an unknown method.
    pub code: i64,
    /// Its message, as it came: not yet bounded.
    pub message: String,
    /// `data.supported`, where it is a list of versions.
    pub supported: Vec<String>,
}

/// Bytes that are no answer to our request, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// What it is counted as.
    pub kind: FaultKind,
    /// The evidence, not yet scrubbed.
    pub detail: String,
}

impl Misfit {
    fn new(kind: FaultKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }
}

#[derive(Deserialize)]
struct RpcEnvelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ErrorBody {
    code: i64,
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Option<serde_json::Value>,
}

/// Reads one body or one event's data.
///
/// # Errors
/// [`Misfit`] with `EmptyBody`, `NotJson`, `NotJsonRpc`, `WrongId` or `BadResult`: five faults, kept apart.
pub fn read(bytes: &[u8], id: u64) -> Result<RpcMessage<'_>, Misfit> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Misfit::new(FaultKind::EmptyBody, "the body is empty"));
    }
    let envelope = match serde_json::from_slice::<RpcEnvelope<'_>>(bytes) {
        // A struct can be read from an array, too; a batch is no answer to a single request.
        Ok(envelope) if bytes.trim_ascii_start().first() == Some(&b'{') => envelope,
        _ if serde_json::from_slice::<&RawValue>(bytes).is_ok() => {
            return Err(Misfit::new(FaultKind::NotJsonRpc, format!("JSON, but no message: {}", readable(bytes))));
        }
        _ => return Err(Misfit::new(FaultKind::NotJson, format!("not JSON: {}", readable(bytes)))),
    };
    if envelope.jsonrpc.as_deref() != Some("2.0") {
        return Err(Misfit::new(FaultKind::NotJsonRpc, format!("`jsonrpc` is not \"2.0\": {}", readable(bytes))));
    }
    if envelope.method.is_some() {
        return Ok(RpcMessage::Other);
    }
    let id_as_string = match (envelope.id.map(RawValue::get), envelope.error) {
        (None | Some("null"), Some(_)) => false,
        (None | Some("null"), None) => return Err(Misfit::new(FaultKind::WrongId, "the answer carries no id")),
        (Some(seen), _) => same_id(seen, id)?,
    };
    if let Some(error) = envelope.error.filter(|error| error.get() != "null") {
        return error_of(error).map(RpcMessage::Error);
    }
    match envelope.result {
        Some(raw) => Ok(RpcMessage::Result { raw, id_as_string }),
        None => Err(Misfit::new(FaultKind::BadResult, "the answer has neither result nor error")),
    }
}

/// Whether the id came back as a string.
fn same_id(seen: &str, id: u64) -> Result<bool, Misfit> {
    if seen.parse::<f64>().is_ok_and(|number| number == id as f64) {
        return Ok(false);
    }
    if seen.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).is_some_and(|text| text == id.to_string()) {
        return Ok(true);
    }
    Err(Misfit::new(FaultKind::WrongId, format!("asked with id {id}, answered with id {}", readable(seen.as_bytes()))))
}

fn error_of(raw: &RawValue) -> Result<RpcError, Misfit> {
    let Ok(body) = serde_json::from_str::<ErrorBody>(raw.get()) else {
        let seen = readable(raw.get().as_bytes());
        return Err(Misfit::new(FaultKind::NotJsonRpc, format!("`error` has no code: {seen}")));
    };
    let supported = body
        .data
        .as_ref()
        .and_then(|data| data.get("supported"))
        .and_then(serde_json::Value::as_array)
        .map(|list| list.iter().filter_map(|version| version.as_str().map(str::to_owned)).collect())
        .unwrap_or_default();
    Ok(RpcError { code: body.code, message: body.message, supported })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{RpcMessage, read};

    fn check(sentence: &str, bytes: &[u8], expected: &str) {
        let seen = match read(bytes, 7) {
            Ok(RpcMessage::Result { raw, id_as_string }) => format!("result {} {id_as_string}", raw.get()),
            Ok(RpcMessage::Error(error)) => format!("error {} {} {:?}", error.code, error.message, error.supported),
            Ok(RpcMessage::Other) => "other".to_owned(),
            Err(misfit) => format!("{:?}", misfit.kind),
        };
        assert_eq!(seen, expected, "{sentence}");
    }

    #[test]
    fn every_way_a_body_can_miss_is_told_apart() {
        check("the answer", br#"{"jsonrpc":"2.0","id":7,"result":{"a":1}}"#, r#"result {"a":1} false"#);
        check("an id as a string is ours", br#"{"jsonrpc":"2.0","id":"7","result":[]}"#, "result [] true");
        check("another id is not", br#"{"jsonrpc":"2.0","id":8,"result":{}}"#, "WrongId");
        check("no id at all is not", br#"{"jsonrpc":"2.0","result":{}}"#, "WrongId");
        check("an error", br#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}"#, "error -32601 no []");
        check(
            "an error that lists versions",
            br#"{"jsonrpc":"2.0","id":7,"error":{"code":-32022,"message":"v","data":{"supported":["2025-11-25",1]}}}"#,
            r#"error -32022 v ["2025-11-25"]"#,
        );
        check("an error without id is ours", br#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#, "error 1  []");
        check("an error of another id is not", br#"{"jsonrpc":"2.0","id":9,"error":{"code":1}}"#, "WrongId");
        check("a notification is no answer", br#"{"jsonrpc":"2.0","method":"notifications/message"}"#, "other");
        check("neither result nor error", br#"{"jsonrpc":"2.0","id":7}"#, "BadResult");
        check("nothing", b"", "EmptyBody");
        check("white space", b" \r\n", "EmptyBody");
        check("an empty object", b"{}", "NotJsonRpc");
        check("a batch", br#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#, "NotJsonRpc");
        check("five things in a list", br#"["2.0",7,null,{},null]"#, "NotJsonRpc");
        check("a string", br#""hello""#, "NotJsonRpc");
        check("an older JSON-RPC", br#"{"jsonrpc":"1.0","id":7,"result":{}}"#, "NotJsonRpc");
        check("an error without code", br#"{"jsonrpc":"2.0","id":7,"error":"oh"}"#, "NotJsonRpc");
        check("half of it", br#"{"jsonrpc":"2.0","id":7,"resu"#, "NotJson");
        check("text", b"hello", "NotJson");
        check("bytes that are no text", b"\xff\xfe\x00", "NotJson");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>()) {
            let _ = read(&bytes, 7);
        }
    }
}
