//! What an API answers when it cannot do what it was asked: problem details after RFC 9457.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::web::state::Away;

/// Bytes of somebody else's explanation that are read.
const DETAIL_BYTES_MAX: usize = 4 * 1024;
const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");

/// An answer that says what is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Problem {
    pub status: StatusCode,
    /// What is wrong, for people.
    pub detail: &'static str,
}

/// Its body. No type of its own: the status says what programs need, the detail what people do.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProblemBody<'d> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: &'d str,
}

impl Problem {
    /// Of an address with an id that no monitor has.
    pub(crate) const NO_MONITOR: Self = Self::new(StatusCode::NOT_FOUND, "there is no monitor with this id");

    pub(crate) const fn new(status: StatusCode, detail: &'static str) -> Self {
        Self { status, detail }
    }
}

impl From<Away> for Problem {
    fn from(_: Away) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "the database does not answer")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, body(self.status, self.detail)).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, MEDIA_TYPE);
        response
    }
}

/// Gives every refusal under `/api/` the one form: that of an address that is not there, or of a body that is no JSON.
pub(crate) async fn in_one_form(request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let response = next.run(request).await;
    let refused = response.status().is_client_error() || response.status().is_server_error();
    let kind = response.headers().get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let (is_text, is_json) = (kind.starts_with(b"text/plain"), kind.ends_with(b"json"));
    if !is_api || !refused || is_json {
        return response;
    }
    let (mut head, told) = response.into_parts();
    let told = if is_text { to_bytes(told, DETAIL_BYTES_MAX).await.unwrap_or_default() } else { Default::default() };
    let detail = match head.status {
        StatusCode::NOT_FOUND => "there is no such address; GET /api/v1/openapi.json lists those there are",
        status => std::str::from_utf8(&told)
            .ok()
            .filter(|told| !told.is_empty())
            .or(status.canonical_reason())
            .unwrap_or_default(),
    };
    let body = body(head.status, detail);
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_TYPE, MEDIA_TYPE);
    Response::from_parts(head, Body::from(body))
}

fn body(status: StatusCode, detail: &str) -> String {
    let title = status.canonical_reason().unwrap_or_default();
    let body = ProblemBody { r#type: "about:blank", title, status: status.as_u16(), detail };
    serde_json::to_string(&body).unwrap_or_default()
}
