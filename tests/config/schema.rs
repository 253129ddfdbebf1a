//! The JSON Schema: what is committed is what the program prints, it and the checker know the same keys, and it
//! judges whole files as the checker does.

use std::path::Path;

use serde_json::{Value, json};
use serin::config::check::checker::Unset;
use serin::config::describe::schema;
use serin::config::load;

use crate::{FULL, faults, lines, secrets, source, with_monitor, with_sections};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// YAML as other programs read it.
fn json_of(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn the_committed_schema_is_what_the_program_prints() {
    for (file, argument) in [("monitors.schema.json", None), ("included.schema.json", Some("--included"))] {
        let printed = std::process::Command::new(env!("CARGO_BIN_EXE_serin")).arg("schema").args(argument).output();
        let printed = String::from_utf8(printed.expect("serin runs").stdout).expect("it is text");
        let committed = std::fs::read_to_string(root().join("docs").join(file)).unwrap_or_default();
        assert!(committed == printed, "write it anew: serin schema {} > docs/{file}", argument.unwrap_or_default());
    }
}

/// Every map of the schema with its keys, and a document that holds an unknown key there and nothing else.
fn maps(schema: &Value, way: &mut Vec<String>, found: &mut Vec<(Vec<String>, Vec<String>)>) {
    let alternatives = schema["anyOf"].as_array().cloned().unwrap_or_default();
    alternatives.iter().for_each(|one| maps(one, way, found));
    if let Some(properties) = schema["properties"].as_object() {
        found.push((way.clone(), properties.keys().cloned().collect()));
        for (key, inside) in properties {
            way.push(key.clone());
            maps(inside, way, found);
            way.pop();
        }
    }
    for (step, inside) in [("[]", &schema["items"]), ("*", &schema["additionalProperties"])] {
        if inside.is_object() {
            way.push(step.to_owned());
            maps(inside, way, found);
            way.pop();
        }
    }
}

fn document(way: &[String], inside: Value) -> Value {
    let Some((step, rest)) = way.split_first() else { return inside };
    let inside = document(rest, inside);
    match step.as_str() {
        "[]" => json!([inside]),
        "*" => json!({ "name": inside }),
        key => json!({ key: inside }),
    }
}

#[test]
fn the_schema_and_the_checker_know_the_same_keys() {
    let mut found = Vec::new();
    maps(&schema::schema(), &mut Vec::new(), &mut found);
    assert!(found.len() > 40, "the schema has all sections: {}", found.len());
    for (way, keys) in found.iter().filter(|(way, _)| way.last().is_none_or(|key| key != "runbooks")) {
        // Nothing is like it, so that the checker lists what it knows.
        let mut file = document(way, json!({ "qqqqqqqqqqqqqqq": 1 }));
        if let Some(monitor) = file.get_mut("monitors").and_then(|monitors| monitors.get_mut(0)) {
            monitor["id"] = json!("a");
            monitor["url"] = json!("http://a/");
        }
        let text = file.to_string();
        let said = lines(&faults(&text));
        let known = said.iter().find_map(|line| line.split_once("no key 'qqqqqqqqqqqqqqq' => known here: "));
        let (_, known) = known.unwrap_or_else(|| panic!("the checker refuses an unknown key in {way:?}: {said:#?}"));
        let mut known: Vec<&str> = known.split(", ").collect();
        known.sort_unstable();
        assert_eq!(known, keys.iter().map(String::as_str).collect::<Vec<_>>(), "in {way:?}");
    }
}

#[test]
fn every_key_is_described() {
    fn look(schema: &Value, way: &str, bare: &mut Vec<String>) {
        for (key, inside) in schema["properties"].as_object().into_iter().flatten() {
            let way = format!("{way}.{key}");
            if inside["description"].as_str().is_none() {
                bare.push(way.trim_start_matches('.').to_owned());
            }
            look(inside, &way, bare);
        }
        for one in schema["anyOf"].as_array().into_iter().flatten() {
            look(one, way, bare);
        }
        for inside in
            [&schema["items"], &schema["additionalProperties"]].into_iter().filter(|inside| inside.is_object())
        {
            look(inside, way, bare);
        }
    }
    let mut bare = Vec::new();
    look(&schema::schema(), "", &mut bare);
    assert!(bare.is_empty(), "say in src/config/check/keys.rs what these are for: {bare:#?}");
}

#[test]
fn whole_files_are_judged_alike() {
    let whole = jsonschema::validator_for(&schema::schema()).expect("it is a schema");
    let included = jsonschema::validator_for(&schema::included_schema()).expect("it is a schema");
    let mut examples = vec![root().join("monitors.yaml")];
    for folder in ["examples", "examples/enterprise", "examples/servers"] {
        for entry in std::fs::read_dir(root().join(folder)).expect("examples") {
            let path = entry.expect("an entry").path();
            examples.extend(path.extension().is_some_and(|end| end == "yaml").then_some(path));
        }
    }
    assert!(examples.len() >= 10, "{examples:?}");
    for path in examples {
        let text = std::fs::read_to_string(&path).expect("it can be read");
        let errors: Vec<String> = whole.iter_errors(&json_of(&text)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{} validates: {errors:#?}", path.display());
    }
    let check = |sentence: &str, text: &str, valid: bool| {
        let checked = load(&source(text), &secrets, Unset::Refuse);
        assert_eq!(checked.is_ok(), valid, "the checker: {sentence}\n{text}");
        let errors: Vec<String> = whole.iter_errors(&json_of(text)).map(|error| error.to_string()).collect();
        assert_eq!(errors.is_empty(), valid, "the schema: {sentence}\n{text}\n{errors:#?}");
    };
    check("the design's file", FULL, true);
    check(
        "a program",
        &with_monitor("").replace(
            "url: https://docs.example.org/mcp",
            "command: serve\n    args: [a]\n    env: { A: b }\n    keep: true",
        ),
        true,
    );
    check(
        "numbers and durations from outside",
        &with_monitor(
            "every: \"${env:X:-60s}\"\nsearch: { per_beat: 1 }\ncanaries: [{ id: a, query: 4417, expect: [b] }]",
        ),
        true,
    );
    check("an anchor", "version: 1\nx-a: &a { every: 60s }\nmonitors: [{ <<: *a, id: a, url: \"http://a/\" }]\n", true);
    check(
        "control addresses in both forms",
        &with_sections("serin: { control: [\"https://a/\", { url: \"http://b/\", status: 204, contains: well }] }\n"),
        true,
    );
    check(
        "one signal or several",
        &with_sections(
            "receivers: { a: { webhook: { url: \"https://h/\" } } }\nroutes: [{ match: { signal: access }, to: [a] }, { match: { signal: [errors, latency] }, to: [a] }]\n",
        ),
        true,
    );
    let wrong = [
        ("a misspelled key", with_monitor("evry: 60s")),
        ("a duration without a unit", with_monitor("every: 60")),
        ("an unknown severity", with_monitor("rules: { access: { severity: loud } }")),
        (
            "a number out of its range",
            with_monitor("search: { per_beat: 9 }\ncanaries: [{ id: a, query: b, expect: [c] }]"),
        ),
        ("no id", with_monitor("").replace("id: docs", "name: docs")),
        ("neither url nor command", with_monitor("").replace("url: https://docs.example.org/mcp", "name: x")),
        ("a secret in the file", with_monitor("auth: { bearer: abc }")),
        ("a map where a list belongs", with_monitor("health: { url: \"https://h/\" }")),
        ("an unknown failure reason", with_sections("runbooks: { tiemout: \"https://r/\" }\n")),
        ("a certificate without its key", with_monitor("client_certificate: { certificate: a.pem }")),
        ("another version", with_monitor("").replace("version: 1", "version: 2")),
        ("a control address without one", with_sections("serin: { control: [{ status: 204 }] }\n")),
        ("no monitors", "version: 1\n".to_owned()),
    ];
    for (sentence, text) in wrong {
        check(sentence, &text, false);
    }
    assert!(included.is_valid(&json_of("monitors: [{ id: a, url: \"http://a/\" }]\n")), "an included file");
    assert!(!included.is_valid(&json_of("serin: { database: a.db }\n")), "and what it may not hold");
}
