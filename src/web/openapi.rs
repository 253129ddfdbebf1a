//! `GET /api/v1/openapi.json`: what the API answers, its schemas taken from the very types that are answered.

use axum::Json;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::web::problem::ProblemBody;
use crate::web::{history, incidents, monitors, status, tools, transcripts};

/// One address: what it is for, what it takes and gives.
struct Operation {
    path: &'static str,
    method: &'static str,
    id: &'static str,
    summary: &'static str,
    /// Names of the query, each with what it is for.
    query: &'static [(&'static str, &'static str)],
    takes: Option<Value>,
    /// Statuses with what they mean, and the body where there is one.
    gives: Vec<(u16, &'static str, Option<Value>)>,
    /// Refusals besides 401, which every address may give.
    refuses: &'static [(u16, &'static str)],
}

/// The document.
pub(crate) async fn show() -> Json<Value> {
    Json(document())
}

fn document() -> Value {
    let mut schemas = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .into_generator();
    let problem = schema::<ProblemBody<'static>>(&mut schemas);
    let mut paths = Map::new();
    for operation in operations(&mut schemas) {
        let methods = paths.entry(operation.path).or_insert_with(|| json!({}));
        methods[operation.method] = described(&operation, &problem);
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Serin", "version": env!("CARGO_PKG_VERSION"),
            "description": "How watched servers stand, what is wrong with them, and two things a person may ask for. Times are RFC 3339 in UTC, refusals RFC 9457." },
        "security": [{}, { "bearer": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas.definitions(),
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn schema<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    schemas.subschema_for::<T>().to_value()
}

const NO_MONITOR: (u16, &str) = (404, "There is no monitor with this id.");
const NO_INCIDENT: (u16, &str) = (404, "There is no incident with this id.");
/// What any address may answer before it looks at what it was asked.
const EVERYWHERE: &[(u16, &str)] =
    &[(400, "The address or the body cannot be read."), (401, "The token is missing or wrong.")];
const AWAY: (u16, &str) = (503, "The database does not answer.");

impl Operation {
    fn get(path: &'static str, id: &'static str, summary: &'static str, body: Value) -> Self {
        let gives = vec![(200, "As it stands.", Some(body))];
        Self { path, method: "get", id, summary, query: &[], takes: None, gives, refuses: &[] }
    }

    fn post(path: &'static str, id: &'static str, summary: &'static str, takes: Option<Value>) -> Self {
        let gives = vec![(202, "It is asked for.", None)];
        Self { path, method: "post", id, summary, query: &[], takes, gives, refuses: &[] }
    }
}

fn operations(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let status = Operation::get("/api/v1/status", "status", "How Serin itself is", schema::<status::Status>(schemas));
    let mut all = vec![status];
    all.extend(of_monitors(schemas));
    all.extend(asked_of_monitors(schemas));
    all.extend(of_incidents(schemas));
    all
}

fn of_monitors(schemas: &mut SchemaGenerator) -> [Operation; 4] {
    [
        Operation {
            query: &[
                ("state", "Only with this roll-up."),
                ("label", "Only with this label, `key:value`; several may be given."),
                ("q", "Only with this in id, name or address."),
                ("page", "The page, from 1."),
                ("after", "The `next` of the page before: only what follows it by id."),
            ],
            ..Operation::get(
                "/api/v1/monitors",
                "monitors",
                "The fleet, a page at a time",
                schema::<monitors::MonitorList>(schemas),
            )
        },
        Operation {
            refuses: &[NO_MONITOR],
            ..Operation::get("/api/v1/monitors/{id}", "monitor", "A monitor", schema::<monitors::MonitorBody>(schemas))
        },
        Operation {
            refuses: &[NO_MONITOR, AWAY],
            ..Operation::get(
                "/api/v1/monitors/{id}/tools",
                "tools",
                "The tools of its server, accepted and seen",
                schema::<tools::ToolsBody>(schemas),
            )
        },
        Operation {
            query: &[("range", "30m, 3h, 24h, 7d, 30d or 90d."), ("heat", "7d or 35d.")],
            refuses: &[NO_MONITOR, (422, "The range is none of these."), AWAY],
            ..Operation::get(
                "/api/v1/monitors/{id}/history",
                "history",
                "Uptime and durations over a range",
                schema::<history::HistoryBody>(schemas),
            )
        },
    ]
}

fn asked_of_monitors(schemas: &mut SchemaGenerator) -> [Operation; 2] {
    [
        Operation {
            query: &[("wait", "Seconds to wait for what it shows.")],
            gives: vec![
                (200, "What the look showed.", Some(schema::<monitors::Recheck>(schemas))),
                (202, "The look follows.", None),
            ],
            refuses: &[NO_MONITOR, (503, "Too much is asked for just now.")],
            ..Operation::post("/api/v1/monitors/{id}/recheck", "recheck", "Look at a monitor now", None)
        },
        Operation {
            refuses: &[
                NO_MONITOR,
                (409, "Nothing differs, or the tools have changed since."),
                (422, "Say who accepts."),
            ],
            ..Operation::post(
                "/api/v1/monitors/{id}/accept",
                "accept",
                "Accept the tools as they were seen",
                Some(schema::<tools::Acceptance>(schemas)),
            )
        },
    ]
}

fn of_incidents(schemas: &mut SchemaGenerator) -> [Operation; 5] {
    [
        Operation {
            query: &[
                ("monitor", "Only of this monitor."),
                ("signal", "Only of this signal."),
                ("state", "`open` or `ended`."),
                ("before", "The `next` of the page before."),
            ],
            refuses: &[AWAY],
            ..Operation::get(
                "/api/v1/incidents",
                "incidents",
                "Incidents, the latest first, a page at a time",
                schema::<incidents::IncidentList>(schemas),
            )
        },
        Operation {
            refuses: &[NO_INCIDENT, AWAY],
            ..Operation::get(
                "/api/v1/incidents/{id}",
                "incident",
                "An incident with its timeline and deliveries",
                schema::<incidents::IncidentBody>(schemas),
            )
        },
        Operation {
            refuses: &[NO_INCIDENT, (409, "It is over, or somebody has taken it."), (422, "Say who takes it."), AWAY],
            ..Operation::post(
                "/api/v1/incidents/{id}/acknowledge",
                "acknowledge",
                "Take an incident",
                Some(schema::<incidents::Acknowledgement>(schemas)),
            )
        },
        Operation {
            refuses: &[NO_INCIDENT, AWAY],
            ..Operation::get(
                "/api/v1/incidents/{id}/transcripts",
                "transcripts",
                "What was said over the wire",
                schema::<transcripts::Transcripts>(schemas),
            )
        },
        Operation {
            refuses: &[(404, "It is not kept, or no longer."), AWAY],
            ..Operation::get(
                "/api/v1/transcripts/{hash}",
                "transcript",
                "A transcript's text",
                schema::<transcripts::TranscriptText>(schemas),
            )
        },
    ]
}

fn described(operation: &Operation, problem: &Value) -> Value {
    let parameter = |place: &str, name: &str, about: &str| json!({ "name": name, "in": place, "required": place == "path", "description": about, "schema": { "type": "string" } });
    let names = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = names.map(|name| parameter("path", name, "Its id."));
    let in_query = operation.query.iter().map(|(name, about)| parameter("query", name, about));
    let mut answers = Map::new();
    for (status, about, body) in &operation.gives {
        let content = body.as_ref().map(|body| json!({ "application/json": { "schema": body } }));
        answers.insert(status.to_string(), json!({ "description": about, "content": content.unwrap_or(json!({})) }));
    }
    for (status, about) in operation.refuses.iter().chain(EVERYWHERE) {
        let content = json!({ "application/problem+json": { "schema": problem } });
        answers.insert(status.to_string(), json!({ "description": about, "content": content }));
    }
    if operation.takes.is_some() {
        let content = json!({ "application/problem+json": { "schema": problem } });
        answers
            .insert("415".to_owned(), json!({ "description": "The body is not said to be JSON.", "content": content }));
    }
    let mut whole = json!({
        "operationId": operation.id, "summary": operation.summary,
        "parameters": in_path.chain(in_query).collect::<Vec<_>>(), "responses": answers,
    });
    if let Some(body) = &operation.takes {
        whole["requestBody"] = json!({ "required": true, "content": { "application/json": { "schema": body } } });
    }
    whole
}
