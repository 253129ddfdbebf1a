//! `POST /search` and `GET /sources`: the same for callers that speak no MCP, with its description in OpenAPI.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use rmcp::handler::server::common::schema_for_type;
use rmcp::model::JsonObject;
use rmcp::schemars::Schema;
use rmcp::schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Value, json};

use crate::serve::answer::{Envelope, SearchData, SourcesData};
use crate::serve::arguments::{ListArguments, SearchArguments};
use crate::serve::report::HealthReport;
use crate::serve::state::ServerState;
use crate::serve::work::answered;

/// Seconds after which a caller may ask again where the server is busy or lacks a part.
const RETRY_AFTER_SECONDS: u32 = 5;

/// `POST /search`.
pub async fn search(State(state): State<Arc<ServerState>>, headers: HeaderMap, body: Bytes) -> Response {
    let searching = async {
        match serde_json::from_slice::<JsonObject>(&body) {
            Ok(mut arguments) => {
                if asks_afresh(&headers) {
                    arguments.insert("cache".to_owned(), json!("bypass"));
                }
                state.search(arguments).await
            }
            Err(error) => {
                let why = format!("the body is no JSON object: {error}. See /openapi.json.");
                Envelope::error("INVALID_ARGUMENT", why)
            }
        }
    };
    reply(answered("POST /search", searching).await)
}

/// Whether a request says, as to any cache, that it will have nothing remembered.
fn asks_afresh(headers: &HeaderMap) -> bool {
    let said = headers.get(header::CACHE_CONTROL).and_then(|value| value.to_str().ok()).unwrap_or_default();
    said.split(',').any(|word| matches!(word.trim(), "no-cache" | "no-store"))
}

/// `GET /sources`.
pub async fn sources(State(state): State<Arc<ServerState>>, Query(asked): Query<BTreeMap<String, String>>) -> Response {
    let value = |name: &str, text: String| match text.parse::<i64>() {
        Ok(number) if name == "limit" => number.into(),
        _ => Value::from(text),
    };
    let arguments = asked.into_iter().map(|(name, text)| (name.clone(), value(&name, text))).collect();
    reply(answered("GET /sources", state.sources(arguments)).await)
}

fn reply<T: Serialize>(envelope: Envelope<T>) -> Response {
    let status = status(envelope.error_code.as_deref());
    let mut response = (status, Json(envelope)).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER_SECONDS.into());
    }
    response
}

/// The HTTP status of a code of the envelope.
fn status(code: Option<&str>) -> StatusCode {
    match code {
        None => StatusCode::OK,
        Some("INVALID_ARGUMENT") => StatusCode::BAD_REQUEST,
        Some("INDEX_MISSING" | "SOURCE_UNKNOWN") => StatusCode::NOT_FOUND,
        Some("INDEX_SCHEMA_MISMATCH" | "INDEX_LOCK_ACTIVE") => StatusCode::CONFLICT,
        Some("POOL_SATURATED" | "EMBEDDING_UNAVAILABLE" | "COLLECTION_UNAVAILABLE") => StatusCode::SERVICE_UNAVAILABLE,
        Some(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Refuses what a web page sends from elsewhere, and Hosts that are not ours: a page that a user
/// visits must not search a server on their machine. A server that others may reach takes any Host.
pub async fn only_ours(State(public): State<bool>, headers: HeaderMap, request: Request, next: Next) -> Response {
    let local = |authority: &str| {
        let host = authority.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
        matches!(host.map_or(authority, |(host, _)| host), "localhost" | "127.0.0.1" | "[::1]")
    };
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let is_from_here = text(header::ORIGIN).is_none_or(|origin| origin.strip_prefix("http://").is_some_and(local));
    let is_for_us = public || text(header::HOST).is_some_and(local);
    if is_from_here && is_for_us {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, "this Host or Origin is not served\n").into_response()
}

fn answer(description: &str, schema: &Schema) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

/// What an operation takes, with what it is and how it answers in the envelope.
fn operation(id: &str, summary: &str, mut takes: Value, envelope: &Schema) -> Value {
    takes["operationId"] = json!(id);
    takes["summary"] = json!(summary);
    takes["security"] = json!([{}, { "bearer": [] }]);
    takes["responses"] = json!({
        "200": answer("All went well.", envelope),
        "400": answer("An argument does not fit; the message names it.", envelope),
        "401": { "description": "A bearer token is needed." },
        "403": { "description": "This Host or Origin is not served." },
        "404": answer("Nothing is indexed yet, or no source has the name or collection.", envelope),
        "409": answer("The index is of another embedder or version.", envelope),
        "413": { "description": "The body is too long." },
        "500": answer("The call broke off.", envelope),
        "503": answer("A part is busy or away; ask again after Retry-After.", envelope),
    });
    takes
}

/// `GET /openapi.json`.
pub async fn openapi() -> Json<Value> {
    Json(document())
}

/// The description, its schemas taken from the very types.
pub fn document() -> Value {
    let mut schemas = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .into_generator();
    let arguments = schemas.subschema_for::<SearchArguments>();
    let found = schemas.subschema_for::<Envelope<SearchData>>();
    let listed = schemas.subschema_for::<Envelope<SourcesData>>();
    let report = schemas.subschema_for::<HealthReport>();
    let asked = json!({
        "parameters": [{ "name": "Cache-Control", "in": "header", "schema": { "type": "string" },
            "description": "`no-cache` is the argument `cache: bypass`." }],
        "requestBody": { "required": true, "content": { "application/json": { "schema": arguments } } },
    });
    let listing = schema_for_type::<ListArguments>();
    let parameter = |(name, schema): (&String, &Value)| json!({ "in": "query", "name": name, "schema": schema });
    let paged: Value = listing["properties"].as_object().into_iter().flatten().map(parameter).collect();
    let paged = json!({ "parameters": paged });
    let health = |summary: &str| {
        json!({ "get": { "summary": summary, "responses": {
            "200": answer("It is well.", &report), "503": answer("It is not; `reason` says why.", &report),
        } } })
    };
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Serin reference server", "version": env!("CARGO_PKG_VERSION"),
            "description": "Search over an index: the same as the MCP tools search_documents and list_sources." },
        "paths": {
            "/search": { "post": operation("search", "Search; an empty list means that nothing fits", asked, &found) },
            "/sources": { "get": operation("sources", "List what is indexed, page by page", paged, &listed) },
            "/live": health("Whether the process answers"),
            "/ready": health("Whether a search would be answered now"),
            "/health": health("Whether the index is what it should be"),
            "/metrics": { "get": { "summary": "Counters and histograms in the text format of Prometheus",
                "responses": { "200": { "description": "Metrics", "content": { "application/openmetrics-text": {} } } } } },
            "/openapi.json": { "get": { "summary": "This description",
                "responses": { "200": { "description": "OpenAPI 3.1", "content": { "application/json": {} } } } } },
        },
        "components": {
            "schemas": schemas.definitions(),
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        },
    })
}
