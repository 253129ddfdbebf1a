//! `/api/v2/…` against the types that others published of Statuspage's API: what reads theirs reads ours.
//!
//! The types are those of two clients on npm, turned into a JSON Schema; `tests/install.sh` installs them.

use std::path::Path;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use serin::domain::fleet::Fleet;

use crate::fixture::{self, Running};
use crate::get;
use crate::public::{public, shown};

/// A client: the file of its types, and what it calls the answers of the addresses.
struct Client {
    types: &'static str,
    names: [(&'static str, &'static str); 5],
    /// Whether it has words for maintenance: for components under it, and for that which is on or ahead.
    knows_maintenance: bool,
}

const CLIENTS: [Client; 2] = [
    Client {
        types: "statuspage.io/dist/interfaces/Result.d.ts",
        names: [
            ("summary", "Summary"),
            ("status", "Status"),
            ("components", "Components"),
            ("incidents", "Incidents"),
            ("incidents/unresolved", "Incidents"),
        ],
        knows_maintenance: true,
    },
    // Its moments are dates, which the other one takes for any text.
    Client {
        types: "statuspage.js/build/src/types/index.d.ts",
        names: [
            ("summary", "Summary"),
            ("status", "PageStatus"),
            ("components", "PageComponents"),
            ("incidents", "AllIncidents"),
            ("incidents/unresolved", "UnresolvedIncidents"),
        ],
        knows_maintenance: false,
    },
];

/// The types of a client as definitions of a JSON Schema.
async fn definitions(types: &str) -> Value {
    let made = tokio::process::Command::new("node_modules/.bin/ts-json-schema-generator")
        .args(["--tsconfig", "tsconfig.json", "--type", "*", "--no-type-check", "--additional-properties", "--path"])
        .arg(Path::new("node_modules").join(types))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/statuspage"))
        .output()
        .await
        .unwrap_or_else(|error| panic!("the types cannot be read ({error}); run tests/install.sh"));
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut definitions = serde_json::from_slice::<Value>(&made.stdout).unwrap()["definitions"].take();
    // One of them writes `String` for `string`, which is an object to the letter.
    if let Some(url) = definitions.pointer_mut("/Page/properties/url") {
        *url = json!({ "type": "string" });
    }
    definitions
}

/// What in the answers of a Serin does not fit the types of a client.
async fn misfits(running: &Running, client: &Client, definitions: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for (address, name) in client.names {
        let answer: Value = serde_json::from_str(&get(running, &format!("/api/v2/{address}.json")).await.1).unwrap();
        assert!(definitions.get(name).is_some(), "{} has no {name}", client.types);
        let schema = json!({ "$ref": format!("#/definitions/{name}"), "definitions": definitions });
        let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
        all.extend(validator.iter_errors(&answer).map(|error| format!("{address}{}: {error}", error.instance_path())));
    }
    all
}

fn without_maintenance(now: DateTime<Utc>) -> Fleet {
    Fleet { maintenance: Vec::new(), ..shown(now) }
}

#[tokio::test]
#[ignore = "needs node and what tests/install.sh installs; run with --ignored"]
async fn answers_fit_the_types_that_others_wrote() {
    for client in &CLIENTS {
        let definitions = definitions(client.types).await;
        let fleet = if client.knows_maintenance { shown } else { without_maintenance };
        // With three incidents that go on, one that is over and, where the client knows it, maintenance.
        let (running, _) = public(fleet).await;
        let summary: Value = serde_json::from_str(&get(&running, "/api/v2/summary.json").await.1).unwrap();
        let maintenances = summary["scheduled_maintenances"].as_array().unwrap().len();
        assert_eq!(summary["incidents"].as_array().unwrap().len(), 3);
        assert_eq!(maintenances, if client.knows_maintenance { 2 } else { 0 });
        assert_eq!(misfits(&running, client, &definitions).await, [""; 0], "{}", client.types);
        // Nothing ever happened, and nothing was seen.
        let running = fixture::serve(None, without_maintenance(Utc::now())).await;
        assert_eq!(misfits(&running, client, &definitions).await, [""; 0], "{}: nothing to tell", client.types);
    }
}
