//! `GET /api/v1/openapi.json`: what the API answers, its schemas taken from the very types that are answered.

pub(crate) mod access;
pub(crate) mod operation;
pub(crate) mod told;

use axum::Json;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::domain::signal::Signal;
use crate::web::openapi::access::of_access;
use crate::web::openapi::operation::{Operation, number, one_of, schema, text};
use crate::web::openapi::told::{of_deliveries, of_public, of_receivers, of_replays, of_why};
use crate::web::problem::ProblemBody;
use crate::web::{canary_ranks, history, incidents, monitors, silences, status, tools, transcripts};

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
            "description": "How watched servers stand, what is wrong with them, and what a person may ask for: to look \
                again, to accept tools, to take an incident. Times are RFC 3339 in UTC, refusals RFC 9457." },
        "security": [{}, { "bearer": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas.definitions(),
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        },
    })
}

const NO_MONITOR: (u16, &str) = (404, "There is no monitor with this id.");
const NO_INCIDENT: (u16, &str) = (404, "There is no incident with this id.");
/// What any address may answer before it looks at what it was asked.
const EVERYWHERE: &[(u16, &str)] = &[
    (400, "The address or the body cannot be read."),
    (401, "The token is missing or wrong."),
    (421, "This host name is not served here."),
    (429, "Too many tokens were wrong; `Retry-After` says for how many seconds to wait."),
    (503, "Not now: the database is away, too much is asked for, or Serin starts and says so in another form."),
];
/// What stands before everything that acts.
const OF_ACTIONS: &[(u16, &str)] = &[(403, "It was sent by a page of another site, or with a key that may only look.")];
/// What stands before everything that takes a body.
const OF_BODIES: &[(u16, &str)] =
    &[(413, "The body is larger than 16 KiB."), (415, "The body is not said to be JSON.")];

fn operations(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let status = Operation::get("/api/v1/status", "status", "How Serin itself is", schema::<status::Status>(schemas));
    let mut all = vec![status];
    all.extend(of_monitors(schemas));
    all.extend(asked_of_monitors(schemas));
    all.extend(of_incidents(schemas));
    all.extend(of_why(schemas));
    all.extend(of_silences(schemas));
    all.extend(of_access(schemas));
    all.extend(of_receivers(schemas));
    all.push(of_deliveries(schemas));
    all.extend(of_replays(schemas));
    all.extend(of_public(schemas));
    all
}

fn of_monitors(schemas: &mut SchemaGenerator) -> [Operation; 5] {
    [
        Operation {
            query: vec![
                ("state", "Only in this state: a roll-up, or `slow` or `wrong` (latency or quality is open).", text()),
                ("label", "Only with this label, `key:value`; several may be given.", text()),
                (
                    "q",
                    "Only what has all these words in id, name or address; `label:value`, `state:`, `reason:` and `signal:` narrow too.",
                    text(),
                ),
                ("page", "The page, from 1.", number(1)),
                ("after", "The `next` of the page before, empty to begin: by id; `page`, `pages` say nothing.", text()),
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
            refuses: &[NO_MONITOR],
            ..Operation::get(
                "/api/v1/monitors/{id}/tools",
                "tools",
                "The tools of its server, accepted and seen",
                schema::<tools::ToolsBody>(schemas),
            )
        },
        Operation {
            query: vec![("range", "30m, 1h, 3h, 24h, 7d, 30d or 90d.", text()), ("heat", "7d or 35d.", text())],
            refuses: &[NO_MONITOR, (422, "The range is none of these.")],
            ..Operation::get(
                "/api/v1/monitors/{id}/history",
                "history",
                "Uptime and durations over a range",
                schema::<history::HistoryBody>(schemas),
            )
        },
        Operation {
            query: vec![("range", "30m, 3h, 24h or 7d; what suits it without it.", text())],
            refuses: &[NO_MONITOR, (422, "The range is none of these.")],
            ..Operation::get(
                "/api/v1/monitors/{id}/canaries",
                "canaries",
                "Ranks of canaries and shares of right answers over a range",
                schema::<canary_ranks::RanksBody>(schemas),
            )
        },
    ]
}

fn asked_of_monitors(schemas: &mut SchemaGenerator) -> [Operation; 2] {
    [
        Operation {
            query: vec![("wait", "Seconds to wait for what it shows, 60 at most.", number(0))],
            gives: vec![
                (200, "What the look showed.", Some(schema::<monitors::Recheck>(schemas))),
                (202, "The look follows.", None),
            ],
            refuses: &[NO_MONITOR],
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

fn of_incidents(schemas: &mut SchemaGenerator) -> [Operation; 6] {
    [
        Operation {
            query: vec![
                ("monitor", "Only of this monitor.", text()),
                ("signal", "Only of this signal.", one_of(&Signal::ALL.map(Signal::slug))),
                ("state", "Only those still open, or over.", one_of(&["open", "ended"])),
                ("before", "The `next` of the page before, empty to begin.", text()),
            ],
            refuses: &[(422, "`before` cannot be read.")],
            ..Operation::get(
                "/api/v1/incidents",
                "incidents",
                "Incidents, the latest first, a page at a time",
                schema::<incidents::IncidentList>(schemas),
            )
        },
        Operation {
            refuses: &[NO_INCIDENT],
            ..Operation::get(
                "/api/v1/incidents/{id}",
                "incident",
                "An incident with its timeline and deliveries",
                schema::<incidents::IncidentBody>(schemas),
            )
        },
        Operation {
            refuses: &[NO_INCIDENT, (409, "It is over, or somebody has taken it."), (422, "Give your name.")],
            ..Operation::post(
                "/api/v1/incidents/{id}/acknowledge",
                "acknowledge",
                "Take an incident",
                Some(schema::<incidents::Acknowledgement>(schemas)),
            )
        },
        Operation {
            refuses: &[NO_INCIDENT, (409, "It is over, or nobody has it."), (422, "Say who gives it back.")],
            ..Operation::post(
                "/api/v1/incidents/{id}/give-back",
                "giveBack",
                "Give an incident back, so that nobody has it",
                Some(schema::<incidents::Acknowledgement>(schemas)),
            )
        },
        Operation {
            refuses: &[NO_INCIDENT],
            ..Operation::get(
                "/api/v1/incidents/{id}/transcripts",
                "transcripts",
                "What was sent and received",
                schema::<transcripts::Transcripts>(schemas),
            )
        },
        Operation {
            refuses: &[(404, "It is not kept, or no longer.")],
            ..Operation::get(
                "/api/v1/transcripts/{hash}",
                "transcript",
                "A transcript's text",
                schema::<transcripts::TranscriptText>(schemas),
            )
        },
    ]
}

fn of_silences(schemas: &mut SchemaGenerator) -> [Operation; 3] {
    let made = schema::<silences::SilenceBody>(schemas);
    [
        Operation::get(
            "/api/v1/silences",
            "silences",
            "Silences that hold and those that are over, and maintenance ahead",
            schema::<silences::SilenceList>(schemas),
        ),
        Operation {
            gives: vec![(201, "It holds.", Some(made))],
            refuses: &[
                (404, "There is no incident with this id."),
                (409, "The incident it is to end with is over, or too many silences hold."),
                (422, "It says nothing of who, why, what or until when, or names what there is not."),
            ],
            ..Operation::post(
                "/api/v1/silences",
                "silence",
                "Have nobody notified of what matches",
                Some(schema::<silences::SilenceWanted>(schemas)),
            )
        },
        Operation {
            gives: vec![(200, "It is over.", None)],
            refuses: &[
                (404, "There is no silence with this id."),
                (409, "It is over already."),
                (422, "Say who ends it."),
            ],
            ..Operation::post(
                "/api/v1/silences/{id}/end",
                "end_silence",
                "End a silence before its time",
                Some(schema::<silences::SilenceEnd>(schemas)),
            )
        },
    ]
}

fn described(operation: &Operation, problem: &Value) -> Value {
    let names = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = names.map(|name| parameter("path", name, "Its id.", &text()));
    let in_query = operation.query.iter().map(|(name, about, schema)| parameter("query", name, about, schema));
    let mut answers = Map::new();
    for (status, about, body) in &operation.gives {
        let content = body.as_ref().map(|body| json!({ "application/json": { "schema": body } }));
        answers.insert(status.to_string(), json!({ "description": about, "content": content.unwrap_or(json!({})) }));
    }
    let general =
        [(true, EVERYWHERE), (operation.method == "post", OF_ACTIONS), (operation.takes.is_some(), OF_BODIES)];
    let general = general.into_iter().filter(|(is_given, _)| *is_given).flat_map(|(_, refusals)| refusals);
    for (status, about) in general.chain(operation.refuses) {
        let content = json!({ "application/problem+json": { "schema": problem } });
        answers.insert(status.to_string(), json!({ "description": about, "content": content }));
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

fn parameter(place: &str, name: &str, about: &str, schema: &Value) -> Value {
    json!({ "name": name, "in": place, "required": place == "path", "description": about, "schema": schema })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_listed_where_it_is_answered() {
        let document = document();
        let rows = [
            ("/api/v1/status", "get", "200 400 401 421 429 503", "what any address may answer"),
            ("/api/v1/incidents", "get", "200 400 401 421 422 429 503", "a place that cannot be read"),
            ("/api/v1/monitors/{id}/recheck", "post", "200 202 400 401 403 404 421 429 503", "another site's form"),
            (
                "/api/v1/monitors/{id}/accept",
                "post",
                "202 400 401 403 404 409 413 415 421 422 429 503",
                "and a body too large, or of another kind",
            ),
        ];
        for (path, method, statuses, sentence) in rows {
            let listed = document["paths"][path][method]["responses"].as_object().unwrap();
            let mut listed: Vec<&str> = listed.keys().map(String::as_str).collect();
            listed.sort_unstable();
            assert_eq!(listed.join(" "), statuses, "{path}: {sentence}");
        }
    }

    #[test]
    fn a_parameter_says_what_it_may_be() {
        let document = document();
        let rows = [
            ("/api/v1/monitors", "get", "page", number(1), "a number"),
            ("/api/v1/monitors", "get", "q", text(), "any text"),
            ("/api/v1/monitors/{id}/recheck", "post", "wait", number(0), "seconds"),
            ("/api/v1/monitors/{id}/recheck", "post", "id", text(), "an id"),
            ("/api/v1/incidents", "get", "state", one_of(&["open", "ended"]), "one of two words"),
        ];
        for (path, method, name, schema, sentence) in rows {
            let all = document["paths"][path][method]["parameters"].as_array().unwrap();
            let found = all.iter().find(|one| one["name"] == name).unwrap();
            assert_eq!(found["schema"], schema, "{path}: {name} is {sentence}");
        }
    }
}
