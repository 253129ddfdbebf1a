//! The table of keys, held against `whole.yaml`, which writes every one of them: each is read, each is told by a plan where
//! it says something else, and what is stored of a definition stays what it was.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};
use serin::config::check::checker::Unset;
use serin::config::describe::plan::{ChangePlan, plan};
use serin::config::describe::schema;
use serin::config::read::source::ConfigSource;
use serin::config::{Loaded, load};

use crate::secrets;

/// The file as other programs read it, aliases resolved.
fn whole() -> Value {
    let mut whole: Value = serde_yaml::from_str(include_str!("whole.yaml")).expect("it is YAML");
    whole.as_object_mut().expect("a map").remove("x-anchors");
    whole
}

fn read(file: &Value) -> Result<Loaded, String> {
    let source = ConfigSource::new(Path::new("whole.yaml"), file.to_string().into_bytes(), None);
    let env = |name: &str| match name {
        "LONG_SECRET" => Some("correct horse battery staple".to_owned()),
        "CHAT_URL" | "OTHER_URL" => Some(format!("https://chat.example.org/hooks/{name}")),
        name => secrets(name),
    };
    load(&source, &env, Unset::Warn).map_err(|faults| faults.to_string())
}

/// A file that writes a runbook of each reason would be a long one: of these, one is enough.
fn is_any_reason(path: &str) -> bool {
    matches!(path, "runbooks" | "monitors.runbooks")
}

/// Keys with dots between them, `*` for names that the file chooses; what `defaults` holds is looked at as a monitor's.
fn keys(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    for one in schema["anyOf"].as_array().into_iter().flatten() {
        keys(one, path, found);
    }
    for (key, inside) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        found.insert(path.clone());
        let deeper = !path.starts_with("defaults.") && !is_any_reason(&path);
        keys(if deeper { inside } else { &Value::Null }, &path, found);
    }
    for (step, inside) in [("", &schema["items"]), (".*", &schema["additionalProperties"])] {
        if inside.is_object() {
            keys(inside, &format!("{path}{step}"), found);
        }
    }
}

/// Whether the file writes the key, in one item of a list or another.
fn writes(file: &Value, path: &[&str]) -> bool {
    let Some((key, rest)) = path.split_first() else { return true };
    match file {
        Value::Array(items) => items.iter().any(|item| writes(item, path)),
        Value::Object(map) if *key == "*" => map.values().any(|value| writes(value, rest)),
        Value::Object(map) => map.get(*key).is_some_and(|value| writes(value, rest)),
        _ => false,
    }
}

#[test]
fn the_file_writes_every_key() {
    let (mut known, whole) = (BTreeSet::new(), whole());
    keys(&schema::schema(), "", &mut known);
    assert!(known.len() > 140, "{} keys", known.len());
    let unwritten: Vec<&String> =
        known.iter().filter(|path| !writes(&whole, &path.split('.').collect::<Vec<_>>())).collect();
    // An era for every monitor would leave none to cross-check; what the file includes or names would be files of its own.
    let apart = ["defaults.era", "include", "monitors.canaries.file"];
    assert_eq!(unwritten, apart, "write them into tests/config/whole.yaml");
    read(&whole).unwrap_or_else(|faults| panic!("{faults}"));
}

/// A single value of the file.
struct Written {
    /// Its JSON pointer.
    pointer: String,
    /// The keys that lead to it, where an item of a list is named by its id, such as `monitors.docs.name`.
    path: String,
    /// The keys alone, such as `monitors.name`.
    key: String,
}

/// Every single value of the file.
fn values(at: &Value, pointer: &str, path: &str, key: &str, found: &mut Vec<Written>) {
    let behind = |before: &str, key: &str| if before.is_empty() { key.to_owned() } else { format!("{before}.{key}") };
    match at {
        Value::Object(map) => {
            for (name, value) in map {
                values(value, &format!("{pointer}/{name}"), &behind(path, name), &behind(key, name), found);
            }
        }
        Value::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                let id = item["id"].as_str().map(|id| behind(path, id));
                values(item, &format!("{pointer}/{nth}"), id.as_deref().unwrap_or(path), key, found);
            }
        }
        _ => found.push(Written { pointer: pointer.to_owned(), path: path.to_owned(), key: key.to_owned() }),
    }
}

/// What else might stand in a value's place; the checker says which of them may.
fn others(value: &Value) -> Vec<Value> {
    const WORDS: &[&str] = &[
        "page",
        "drop",
        "ticket",
        "auto",
        "warn",
        "notice",
        "get",
        "post",
        "tls",
        "starttls",
        "text",
        "json",
        "info",
        "debug",
        "http",
        "sse",
        "legacy",
        "modern",
        "keyword",
        "mixed",
        "latency",
        "health",
        "http_error",
        "mail",
        "turning",
        "oncall",
        "tests/config/other_users.yaml",
        "wiki",
        "10.21.0.0/16",
        "127.0.0.2",
        "127.0.0.1:9091",
        "2028-12-31",
        "2026-11-27T23:00:00+01:00",
        "2026-11-28T03:00:00+01:00",
        "30 2 * * 7",
        "30 9 * * 1",
        "Europe/Vienna",
        "${env:LONG_SECRET}",
        "${env:DOCS_TOKEN}",
        "${env:OTHER_URL}",
        "http://other.example.org:3128",
    ];
    match value {
        Value::Bool(flag) => vec![json!(!flag)],
        Value::Number(number) => match number.as_u64() {
            Some(count) => vec![json!(count + 1), json!(count - 1)],
            None => vec![json!(0.4)],
        },
        Value::String(text) => {
            let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let counted = text[..digits].parse::<u64>().map(|count| format!("{}{}", count + 1, &text[digits..]));
            let words = WORDS.iter().filter(|word| *word != text).map(|word| (*word).to_owned());
            let longer = [format!("{text}x"), format!("x{text}")];
            counted.into_iter().chain(longer.into_iter().chain(words)).map(Value::String).collect()
        }
        other => panic!("no single value: {other}"),
    }
}

/// The keys that a plan names, as the file has them.
fn named(plan: &ChangePlan) -> Vec<String> {
    let mut named = plan.rest.clone();
    let monitors =
        plan.changed.iter().flat_map(|(id, keys)| keys.iter().map(move |key| format!("monitors.{id}.{key}")));
    named.extend(monitors);
    named.extend(plan.renamed.iter().map(|renamed| format!("monitors.{}.name", renamed.id)));
    named.extend(plan.removed.iter().map(|one| format!("monitors.{}.id", one.id)));
    let receivers = &plan.receivers_changed;
    named.extend(receivers.iter().flat_map(|(id, keys)| keys.iter().map(move |key| format!("receivers.{id}.{key}"))));
    named.extend(plan.routes_changed.then(|| "routes".to_owned()));
    let login = named.iter().any(|key| key == "serin.smtp.username and password");
    named.extend(login.then(|| "serin.smtp.password".to_owned()));
    // What `defaults` says shows in the monitors that say nothing of their own.
    let inherited = plan.changed.iter().flat_map(|(_, keys)| keys);
    named.extend(inherited.map(|key| format!("defaults.{key}")));
    named
}

/// Whether one of the two is the other or begins it: a plan names `health` for `health.url`, and `webhook.secrets` for
/// `webhook.secret`.
fn covers(named: &str, path: &str) -> bool {
    named.starts_with(path) || path.strip_prefix(named).is_some_and(|rest| rest.starts_with('.'))
}

#[test]
fn a_plan_names_every_key_that_says_something_else() {
    let whole = whole();
    let before = read(&whole).unwrap_or_else(|faults| panic!("{faults}"));
    let (mut all, mut unnamed) = (Vec::new(), BTreeMap::new());
    values(&whole, "", "", "", &mut all);
    let mut told = BTreeSet::from(["version".to_owned()]);
    for Written { pointer, path, key } in all {
        // It is enough that one item of a list could say something else: others are tied to what stands beside them.
        if told.contains(&key) {
            continue;
        }
        let value = whole.pointer(&pointer).expect("it is there");
        let mut tried = Vec::new();
        let found = others(value).into_iter().any(|other| {
            let mut file = whole.clone();
            *file.pointer_mut(&pointer).expect("it is there") = other.clone();
            let Ok(after) = read(&file) else { return false };
            let named = named(&plan(&before, &after));
            let found = named.iter().any(|named| covers(named, &path));
            tried.push((other, named));
            found
        });
        if found {
            told.insert(key);
        } else {
            unnamed.insert(key, (path, value, tried));
        }
    }
    unnamed.retain(|key, _| !told.contains(key));
    assert!(unnamed.is_empty(), "told by no plan, or nothing else may stand there: {unnamed:#?}");
}

#[test]
fn hashes_stay_what_they_were() {
    let loaded = read(&whole()).unwrap_or_else(|faults| panic!("{faults}"));
    let monitors = loaded.fleet.monitors.iter().map(|one| (one.id.as_str(), &*one.definition_hash));
    let receivers = loaded.fleet.receivers.iter().map(|one| (&*one.name, &*one.definition_hash));
    // A release that takes them otherwise would forget, for each monitor, what it has learnt of it.
    let expected = [
        ("docs", "3e5d6a71080a95ab32e5147bbad7c98f7db7dd6a3512da32e8572407f9a95ca2"),
        ("wiki", "d7d8bb39cefed7f6dc28b235852ad19a53f4390841a5390d2ae249c9a185a86a"),
        ("local", "05d41b5e0c6e9d7fc8a14004bd2230fc43ec226774392f2245dd45b855a67e19"),
        ("mail", "328cf61e05b6e8c4292d8c19c4552390e3871b2f9d7f92c8991320f5a7737f71"),
        ("oncall", "cc76d006ff64b756189c6179ce330259e3010da81706f82ddf78a3dc211ec877"),
        ("turning", "e258ad4547eecc54b8111e09bf6238bee13fdd74bf541dd58e8556616f17f46d"),
    ];
    let found: Vec<_> = monitors
        .chain(receivers)
        .filter(|(id, _)| {
            !matches!(
                *id,
                "since"
                    | "cached"
                    | "checked"
                    | "twin"
                    | "twinx"
                    | "replica"
                    | "counted"
                    | "chat"
                    | "guild"
                    | "phone"
                    | "office"
                    | "pager"
                    | "filled"
                    | "bot"
                    | "prometheus"
            )
        })
        .collect();
    assert_eq!(found, expected, "they are stored");
}
