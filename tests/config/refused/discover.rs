//! `discover:`: what may not stand there, and that what a list says refuses no file.

use std::fs;

use serin::config;
use serin::config::check::checker::Unset;
use serin::config::read::source;

use crate::{faults, lines, loaded};

fn with(source: &str) -> String {
    format!("version: 1\ndiscover:\n  from:\n    - {{ id: prod, {source} }}\n")
}

const HTTP: &str = "http_sd: { url: https://sd.example.org/ }";

#[test]
fn what_a_source_cannot_be_is_said_with_its_place_and_mend() {
    let rows = [
        ("every: 60s".to_owned(), "no list", "has no 'http_sd'"),
        (format!("{HTTP}, file_sd: [a.json]"), "two lists", "has two lists => make two sources of it"),
        ("file_sd: []".to_owned(), "no files", "'file_sd' names nothing"),
        (format!("{HTTP}, hosts: [\"127.0.0.1:22201\"]"), "a host with a port", "'127.0.0.1:22201' is no host"),
        (format!("{HTTP}, hosts: [\"bücher.example\"]"), "a name as no address has it", "other letters as `xn--…`"),
        (format!("{HTTP}, hosts: [\"bad host\"]"), "no host at all", "'bad host' is no host"),
        (format!("{HTTP}, hosts: [\"https://a.example.org\"]"), "a URL", "without port and path"),
        (format!("{HTTP}, relabel: [{{ regex: \"(\" }}]"), "no pattern", "is no pattern"),
        (format!("{HTTP}, relabel: [{{ action: replace }}]"), "no target", "has no 'target_label'"),
        (format!("{HTTP}, relabel: [{{ action: labelmap }}]"), "a word of Prometheus that is none here", "labelmap"),
        (
            format!("{HTTP}, monitor: {{ auth: {{ bearer: \"${{env:LONG_SECRET}}\" }} }}"),
            "a credential for any host",
            "goes to whatever server the list names => add `hosts`",
        ),
        (format!("{HTTP}, monitor: {{ url: https://a.example.org/ }}"), "one address for all", "is what the list says"),
        (format!("{HTTP}, monitor: {{ evry: 5s }}"), "a key that is none", "did you mean 'every'?"),
        (format!("{HTTP}, monitor: {{ every: 5 }}"), "a value that is none", "a duration needs its unit"),
        (format!("{HTTP}, monitor: {{ depends_on: [nobody] }}"), "a parent that is none", "no file declares"),
        (format!("{HTTP}, monitor: {{ id: docs }}"), "one id for all", "is what the list says"),
        ("registry: { search: rag }".to_owned(), "a registry nowhere", "'registry' has no 'url'"),
        (
            "registry: { url: https://registry.example.org/ }, hosts: [\"*\"], gone_after: 5s".to_owned(),
            "a time that is none",
            "gone_after",
        ),
        (
            "registry: { url: https://registry.example.org/ }".to_owned(),
            "all of a registry",
            "strangers' too => add `hosts`",
        ),
        (format!("{HTTP}, monitors: [{{ every: 30s }}]"), "a single one that is none", "a monitor has no 'id'"),
        (
            format!("{HTTP}, monitors: [{{ id: p-a, every: 30s }}]"),
            "an id that no server of it gets",
            "never lists a monitor 'p-a' => ids of its monitors begin with 'prod-'",
        ),
        (format!("{HTTP}, monitors: [{{ id: prod-a }}, {{ id: prod-a }}]"), "a single one twice", "declared twice"),
        (format!("{HTTP}, monitors: [{{ id: prod-a, evry: 5s }}]"), "a key that is none", "did you mean 'every'?"),
        (format!("{HTTP}, monitors: [{{ id: prod-a, every: 5 }}]"), "a value that is none", "needs its unit"),
        (format!("{HTTP}, monitors: [{{ id: prod-a, url: https://a }}]"), "an address", "is what the list says"),
        (
            format!("{HTTP}, monitors: [{{ id: prod-a, auth: {{ bearer: \"${{env:LONG_SECRET}}\" }} }}]"),
            "a credential for any host",
            "add `hosts`",
        ),
    ];
    for (source, sentence, expected) in rows {
        let text = with(&source);
        let said = lines(&faults(&text));
        assert!(said.iter().any(|line| line.contains(expected)), "{sentence}: {said:#?}");
        assert!(said.iter().all(|line| line.starts_with("4:")), "{sentence}: each at its place: {said:#?}");
    }
    let twice = "version: 1\ndiscover:\n  from:\n    - { id: a, file_sd: [a] }\n    - { id: a, file_sd: [b] }\n";
    assert!(lines(&faults(twice))[0].contains("is declared twice"));
    let alike =
        "version: 1\ndiscover:\n  from:\n    - { id: prod-eu, file_sd: [a] }\n    - { id: prod, file_sd: [b] }\n";
    assert!(
        lines(&faults(alike))[0].contains("'prod-eu' would give two servers one id"),
        "{:?}",
        lines(&faults(alike))
    );
    assert_eq!(loaded(&alike.replace("prod-eu", "prod_eu")).fleet.discovery.sources.len(), 2);
    let long = format!("version: 1\ndiscover:\n  from:\n    - {{ id: {}, file_sd: [a] }}\n", "x".repeat(41));
    assert!(lines(&faults(&long))[0].contains("at most 40 characters"), "{:?}", lines(&faults(&long)));
    let often = "version: 1\ndiscover:\n  from:\n    - { id: a, registry: { url: https://registry.example.org/ }, hosts: [a], every: 60s }\n";
    assert!(lines(&faults(often))[0].contains("between 5m"), "{:?}", lines(&faults(often)));
    let none = loaded(&with(HTTP)).fleet;
    assert!(none.monitors.is_empty() && none.discovery.sources.len() == 1, "a fleet may be discovered as a whole");
}

#[test]
fn what_a_list_says_is_watched_or_left_out_and_refuses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("monitors.yaml");
    let template =
        "monitor: { every: 45s, labels: { team: docs, env: prod }, auth: { bearer: \"${env:LONG_SECRET}\" } }";
    let single = "monitors: [{ id: prod-b, every: 30s, labels: { team: b } }, { id: prod-none, every: 30s }]";
    let source = format!("hosts: [\"*.example.org\"], allow_private: [10.20.0.0/16], {HTTP}, {template}, {single}");
    let own = "monitors:\n  - { id: own, url: https://own.example.org/mcp }\n  - { id: prod-mine, url: https://own.example.org/b }\n";
    fs::write(&path, format!("{}{own}", with(&source))).unwrap();
    fs::create_dir(folder.path().join("discovered")).unwrap();
    let rows = [
        (r#"{"id":"prod-a","url":"https://a.example.org/mcp","labels":{"env":"test"}}"#, None, "a server"),
        (r#"{"id":"prod-b","url":"https://b.example.org/mcp","gone_since":1700000000}"#, None, "one that is gone"),
        (r#"{"id":"prod-a","url":"https://c.example.org/mcp"}"#, Some("another of this id"), "twice"),
        (
            r#"{"id":"prod-mine","url":"https://d.example.org/mcp"}"#,
            Some("declares a monitor of this id"),
            "a written one",
        ),
        (r#"{"id":"prod-e","url":"https://evil.example.net/mcp"}"#, Some("none of `hosts`"), "another host"),
        (
            r#"{"id":"prod-f","url":"https://f.example.org/mcp","name":"${env:LONG_SECRET}"}"#,
            Some("refers to"),
            "a reference",
        ),
        (r#"{"id":"prod-g","url":"http://g.example.org/mcp"}"#, Some("left out"), "a credential over plain HTTP"),
        (r#"{"id":"Prod G","url":"https://g.example.org/mcp"}"#, Some("left out"), "an id that is none"),
        (r#"{"id":"prod-h","url":"https://h.example.org/mcp","command":"sh"}"#, Some("left out"), "a program"),
    ];
    let listed: String = rows.iter().map(|(entry, ..)| format!("\n- {entry}")).collect();
    fs::write(folder.path().join("discovered/prod.yaml"), format!("monitors:{listed}\n")).unwrap();
    let env = |name: &str| (name == "LONG_SECRET").then(|| "a-secret-of-some-length-000000000000".to_owned());
    let read = source::read(&path).unwrap();
    let loaded = config::load(&read, &env, Unset::Refuse).unwrap_or_else(|faults| panic!("{faults}"));
    let ids: Vec<&str> = loaded.fleet.monitors.iter().map(|monitor| monitor.id.as_str()).collect();
    assert_eq!(ids, ["own", "prod-mine", "prod-a", "prod-b"], "{:#?}", loaded.warnings);
    for (_, why, sentence) in rows.iter().filter(|(_, why, _)| why.is_some()) {
        let why = why.unwrap_or_default();
        assert!(loaded.warnings.iter().any(|warning| warning.contains(why)), "{sentence}: {:#?}", loaded.warnings);
    }
    let left_out = rows.iter().filter(|(_, why, _)| why.is_some()).count();
    assert_eq!(
        loaded.fleet.discovery.left_out["prod"].count, left_out,
        "and is known to be: {:#?}",
        loaded.fleet.discovery.left_out
    );
    assert_eq!(loaded.lists, ["prod"]);
    let listed = &loaded.fleet.monitors[2];
    let labels: Vec<_> = listed.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(labels, ["discovered=prod", "env=test", "team=docs"], "its own labels before the template's");
    let one = &loaded.fleet.monitors[3];
    assert_eq!((listed.every.as_secs(), one.every.as_secs()), (45, 30), "what is said of one is said of no other");
    let labels: Vec<_> = one.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(labels, ["discovered=prod", "env=prod", "team=b"], "before the list and the template");
    let unlisted = loaded.warnings.iter().filter(|warning| warning.contains("no list names a monitor 'prod-none'"));
    assert_eq!(unlisted.count(), 1, "{:#?}", loaded.warnings);
    let origin = listed.discovered.as_ref().unwrap();
    assert_eq!((origin.source.as_str(), origin.gone_since, origin.allow_private.len()), ("prod", None, 1));
    assert_eq!(loaded.fleet.monitors[3].discovered.as_ref().unwrap().gone_since, Some(1_700_000_000));
    let place = loaded.fleet.provenance.rule(listed.line);
    assert!(place.written().contains("discovered/prod.yaml"), "what it says stands there: {place:?}");
    let kept = folder.path().join("discovered/prod.yaml");
    for (text, why) in [
        ("monitors: [\n", "prod.yaml"),
        ("monitors: [{ id: prod-a, url: \"https://a.example.org/\u{fffe}\" }]\n", "prod.yaml"),
        ("monitors: []\nroutes: []\n", "and nothing else"),
        ("", "declares nothing"),
        ("# cannot be read: another's text\nmonitors: []\n", ""),
    ] {
        fs::write(&kept, text).unwrap();
        let loaded = config::load(&source::read(&path).unwrap(), &env, Unset::Refuse)
            .unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!(loaded.fleet.monitors.len(), 2, "what people wrote is in force: {text}");
        assert_eq!(loaded.lists.is_empty(), !why.is_empty(), "{text}");
        assert!(
            why.is_empty() || loaded.warnings.iter().any(|said| said.contains(why)),
            "{text}: {:#?}",
            loaded.warnings
        );
    }
    fs::remove_file(&kept).unwrap();
    fs::create_dir(&kept).unwrap();
    let loaded =
        config::load(&source::read(&path).unwrap(), &env, Unset::Refuse).unwrap_or_else(|faults| panic!("{faults}"));
    assert!(
        loaded.warnings.iter().any(|said| said.contains("cannot read") && said.contains("prod.yaml")),
        "{:#?}",
        loaded.warnings
    );
    assert!(loaded.lists.is_empty());
    // Where nobody names a folder, lists lie beside the database.
    fs::create_dir(folder.path().join("state")).unwrap();
    fs::write(&path, format!("{}serin: {{ database: state/serin.db }}\n{own}", with(&source))).unwrap();
    let loaded =
        config::load(&source::read(&path).unwrap(), &env, Unset::Refuse).unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(loaded.fleet.discovery.folder, "state/discovered");
}
