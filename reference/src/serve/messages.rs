//! What is no message is refused by its name.
//!
//! JSON-RPC 2.0, section 5.1: what is not JSON is -32700, what is no message -32600, and parameters that
//! do not fit their method are -32602. The transport underneath answers 415 to the first two, which is
//! about another header, and says of the third that the method is not there.

use std::error::Error as _;

use axum::Json;
use axum::body::{self, Body};
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http_body_util::LengthLimitError;
use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorCode, InitializeRequestParams, JsonRpcMessage,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::serve::arguments::BODY_BYTES_MAX;

/// Methods that are there in both eras: if one is not recognised, its parameters are why.
const METHODS: [&str; 2] = ["tools/list", "tools/call"];
/// Methods that left with 2026-07-28: a request that describes itself asks for what is not there.
const OLDER_METHODS: [&str; 2] = ["initialize", "ping"];
/// What a request has in its `_meta` that describes itself.
const SELF_DESCRIBED: &str = "io.modelcontextprotocol/protocolVersion";

/// Lets messages pass, and answers what is none. Nobody further in acts on the latter either.
pub async fn read(request: Request, next: Next) -> Response {
    // Another verb or type is refused further in, by its own status.
    if request.method() != Method::POST || !is_json(request.headers()) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let bytes = match body::to_bytes(body, BODY_BYTES_MAX).await {
        Ok(bytes) => bytes,
        Err(error) if error.source().is_some_and(|source| source.is::<LengthLimitError>()) => {
            let why = format!("the body is longer than {BODY_BYTES_MAX} bytes: send less at once");
            return refusal(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::INVALID_REQUEST, None, &why);
        }
        // Whoever sent it has gone.
        Err(_gone) => {
            return refusal(StatusCode::BAD_REQUEST, ErrorCode::PARSE_ERROR, None, "the body broke off");
        }
    };
    let judged = judge(&bytes);
    let response = next.run(Request::from_parts(parts, Body::from(bytes))).await;
    // Who may not speak here at all is told that, whatever was said.
    let stands = matches!(response.status(), StatusCode::FORBIDDEN | StatusCode::NOT_ACCEPTABLE);
    match judged {
        Err(fault) if !stands => {
            // The caller of a method that is there is answered as by that method; the others spoke to nobody.
            let is_answer = fault.code == ErrorCode::INVALID_PARAMS;
            let status = if is_answer { StatusCode::OK } else { StatusCode::BAD_REQUEST };
            refusal(status, fault.code, fault.id.as_ref(), &fault.why)
        }
        _ => response,
    }
}

/// An error that no method gave. Without an id where none could be read, as the transport wants it.
pub fn refusal(status: StatusCode, code: ErrorCode, id: Option<&Value>, why: &str) -> Response {
    let mut body = json!({"jsonrpc": "2.0", "error": {"code": code.0, "message": why}});
    if let Some(id) = id {
        body["id"] = id.clone();
    }
    (status, Json(body)).into_response()
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// Why a body is no message.
#[derive(Debug, PartialEq)]
struct NoMessage {
    code: ErrorCode,
    id: Option<Value>,
    why: String,
}

fn judge(bytes: &[u8]) -> Result<(), NoMessage> {
    let fault = |code, id: Option<&Value>, why: String| Err(NoMessage { code, id: id.cloned(), why });
    let invalid = |id, why: &str| fault(ErrorCode::INVALID_REQUEST, id, why.to_owned());
    let message: Map<String, Value> = match serde_json::from_slice(bytes) {
        Ok(Value::Object(message)) => message,
        Ok(Value::Array(_)) => {
            return invalid(None, "one message a request: batches left the protocol with 2025-06-18");
        }
        Ok(_) => return invalid(None, "a message is an object"),
        Err(error) => return fault(ErrorCode::PARSE_ERROR, None, format!("the body is not JSON: {error}")),
    };
    let id = message.get("id");
    if id.is_some_and(|id| !id.is_string() && !id.is_i64()) {
        return invalid(None, "'id' is a string or a whole number");
    }
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid(id, "'jsonrpc' is \"2.0\"");
    }
    let method = match message.get("method") {
        Some(Value::String(method)) => method.as_str(),
        None if message.contains_key("result") || message.contains_key("error") => "",
        _ => return invalid(id, "'method' names what is asked for"),
    };
    let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
    if id.is_some() && !params.is_object() {
        return fault(ErrorCode::INVALID_PARAMS, id, "'params' is an object".to_owned());
    }
    match serde_json::from_slice::<ClientJsonRpcMessage>(bytes) {
        Ok(JsonRpcMessage::Request(request)) if is_there(method, &params) => match request.request {
            ClientRequest::CustomRequest(_) => fault(ErrorCode::INVALID_PARAMS, id, misfit(method, params)),
            _ => Ok(()),
        },
        Ok(_) => Ok(()),
        Err(_) => invalid(id, "this is neither a request, nor a notification, nor a response"),
    }
}

/// Whether we have a method, in the era that a request is of.
fn is_there(method: &str, params: &Value) -> bool {
    let is_modern = params.get("_meta").is_some_and(|meta| meta.get(SELF_DESCRIBED).is_some());
    METHODS.contains(&method) || (OLDER_METHODS.contains(&method) && !is_modern)
}

/// What does not fit in the parameters of a method.
fn misfit(method: &str, params: Value) -> String {
    fn why<T: DeserializeOwned>(params: Value) -> Option<String> {
        serde_json::from_value::<T>(params).err().map(|error| error.to_string())
    }
    let why = match method {
        "initialize" => why::<InitializeRequestParams>(params),
        "tools/call" => why::<CallToolRequestParams>(params),
        _ => None,
    };
    format!("the parameters do not fit {method}: {}", why.as_deref().unwrap_or("see the specification"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, body: &str, expected: Result<(), (i32, Option<Value>)>) {
        let judged = judge(body.as_bytes()).map_err(|fault| (fault.code.0, fault.id));
        assert_eq!(judged, expected, "{says}");
    }

    #[test]
    fn what_is_no_message_is_named() {
        let (parse, request, params) = (-32_700, -32_600, -32_602);
        check("half an object", r#"{"jsonrpc""#, Err((parse, None)));
        check("a bomb of brackets", &"[".repeat(100_000), Err((parse, None)));
        check("nothing at all", "", Err((parse, None)));
        check("an empty object", "{}", Err((request, None)));
        check("a batch", r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Err((request, None)));
        check("a number", "7", Err((request, None)));
        check("another protocol", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, Err((request, Some(json!(1)))));
        check("an id that is null", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Err((request, None)));
        check("half an id", r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Err((request, None)));
        check(
            "a method that is a number",
            r#"{"jsonrpc":"2.0","id":"a","method":5}"#,
            Err((request, Some(json!("a")))),
        );
        check("nothing asked", r#"{"jsonrpc":"2.0","id":1}"#, Err((request, Some(json!(1)))));
        let listed = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}"#;
        check("parameters by place", listed, Err((params, Some(json!(1)))));
        let unnamed = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":5}}"#;
        check("a tool that is a number", unnamed, Err((params, Some(json!(2)))));
        let bare = r#"{"jsonrpc":"2.0","id":3,"method":"initialize"}"#;
        check("nobody introduces himself", bare, Err((params, Some(json!(3)))));
    }

    #[test]
    fn messages_pass() {
        check("a request", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Ok(()));
        check("one without parameters", r#"{"jsonrpc":"2.0","id":"x","method":"tools/list"}"#, Ok(()));
        check("a call", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_sources"}}"#, Ok(()));
        check("a notification", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, Ok(()));
        check("a method that others have", r#"{"jsonrpc":"2.0","id":1,"method":"no/such","params":{}}"#, Ok(()));
        check("a response", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Ok(()));
        let gone = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":
            {"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        check("a method that has left, to be told so", gone, Ok(()));
    }
}
