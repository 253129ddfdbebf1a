//! Why people were told: files as they stood are kept once each, and an answer takes as many questions of the database
//! whatever is in it.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

use std::process::Command;
use std::sync::Arc;

use chrono::{SecondsFormat, TimeDelta};
use serin::daemon::janitor::{JanitorPlan, turn};
use serin::domain::fleet::{Fleet, Provenance, Retention};
use serin::domain::fleet_files::FileWord;
use serin::domain::fleet_files::{FleetFile, FleetFileKind, FleetFiles};
use serin::domain::incident::ResolveCause;
use serin::domain::monitor::Monitor;
use serin::domain::shard::Shards;
use serin::store::Store;

use crate::common::monitors::address;
use crate::{Place, at, incident, outgoing, record};

const YAML: &str = "version: 1\nreceivers: { oncall: { webhook: { url: \"${env:ONCALL_URL}\" } } }\n\
     routes:\n  - { to: [oncall] }\nmonitors:\n  - { id: docs, url: \"http://127.0.0.1:9/mcp\" }\n";

fn fleet(hash: &str) -> Fleet {
    let provenance = Provenance { file: "monitors.yaml".to_owned(), hash: hash.to_owned(), ..Provenance::default() };
    Fleet { provenance, ..Fleet::default() }
}

/// A fleet of two files, of which the second says `more`.
fn files(more: &str) -> FleetFiles {
    let included =
        FleetFile { name: "more.yaml".to_owned(), text: more.to_owned(), kind: FleetFileKind::Yaml, of: vec![0] };
    let mut files = FleetFiles::single("monitors.yaml", "version: 1\ninclude: [more.yaml]\n");
    files.files.push(included);
    files
}

async fn forget(store: &Store, days: i64) {
    let mut plan = JanitorPlan::default();
    while turn(store, &mut plan, (&Shards::ALL, Retention::default()), at(0) + TimeDelta::days(days)).await.unwrap() {}
}

#[tokio::test]
async fn a_list_that_changes_all_day_is_kept_once_an_hour() {
    let place = Place::new();
    let store = place.open().await;
    let files = |minute: i64| {
        let list = FleetFile {
            name: "discovered/prod.yaml".to_owned(),
            text: format!("monitors: [] # {minute}"),
            kind: FleetFileKind::Discovered,
            of: vec![0],
        };
        let mut files = FleetFiles::single("monitors.yaml", YAML);
        files.files.push(list);
        files
    };
    for minute in (0..150).step_by(10) {
        store
            .config_loaded(&fleet(&format!("h{minute}")), (&files(minute), FileWord::Change), at(minute * 60))
            .await
            .unwrap();
    }
    let counts = [
        ("SELECT COUNT(*) FROM config_texts", 4, "the file, and the list at minute 0, 60 and 120"),
        ("SELECT COUNT(*) FROM config_files", 30, "each version names both"),
        (
            "SELECT COUNT(*) FROM config_files f LEFT JOIN config_texts t ON t.hash = f.hash WHERE t.hash IS NULL",
            0,
            "and finds their texts",
        ),
    ];
    for (sql, count, sentence) in counts {
        assert_eq!(place.number(sql).await, count, "{sentence}");
    }
    store.close().await;
}

#[tokio::test]
async fn each_text_is_kept_once_and_as_long_as_anything_that_it_judged() {
    let place = Place::new();
    let store = place.open().await;
    const DAY: i64 = 86_400;
    for (day, hash, more) in
        [(0, "one", "# first"), (1, "two", "# second"), (2, "one", "# first"), (30, "two", "# second")]
    {
        store.config_loaded(&fleet(hash), (&files(more), FileWord::Change), at(day * DAY)).await.unwrap();
    }
    let counts = [
        ("SELECT COUNT(*) FROM config_texts", 3, "the first file is in both versions, and kept once"),
        ("SELECT COUNT(*) FROM config_files", 4, "two files of two versions"),
        ("SELECT COUNT(*) FROM config_loads", 4, "each time one came into force"),
        ("SELECT COUNT(*) FROM config_versions WHERE source <> ''", 0, "and no text beside these"),
    ];
    for (sql, count, sentence) in counts {
        assert_eq!(place.number(sql).await, count, "{sentence}");
    }
    forget(&store, 420).await;
    assert_eq!(place.number("SELECT COUNT(*) FROM config_loads").await, 2, "what was in force 400 days ago, and now");
    assert_eq!(place.number("SELECT COUNT(*) FROM config_texts").await, 3, "both are still asked for");
    forget(&store, 2_000).await;
    assert_eq!(place.number("SELECT COUNT(*) FROM config_files").await, 2, "what is in force stays for ever");
    assert_eq!(place.number("SELECT COUNT(*) FROM config_texts").await, 2, "with its texts, and no others");
    store.close().await;
}

/// A database with so many beats and incidents of `docs` within an hour.
async fn filled(beats: i64, incidents: i64) -> Place {
    let place = Place::new();
    let store = place.open().await;
    let files = FleetFiles::single("monitors.yaml", YAML);
    let declared = Fleet {
        monitors: vec![Arc::new(Monitor::undeclared("docs", address("http://127.0.0.1:9/mcp")))],
        ..fleet("abc")
    };
    store.config_loaded(&declared, (&files, FileWord::Change), at(-60)).await.unwrap();
    for nth in 0..beats {
        store.commit(record("docs", nth * 3_600 / beats)).await.unwrap();
    }
    for nth in 0..incidents {
        let mut open = incident(&format!("{nth:08}-incident"), "docs", nth * 3_600 / incidents);
        open.resolved_at = (nth + 1 < incidents).then(|| open.opened_at + TimeDelta::seconds(5));
        open.resolve_cause = open.resolved_at.map(|_| ResolveCause::Recovered);
        let told = outgoing(&format!("n{nth}"), Some(&open), 1, &[("oncall", None)]);
        let mut change = crate::saying(vec![told]);
        change.incidents = vec![open];
        store.commit(change).await.unwrap();
    }
    store.close().await;
    place
}

/// What `serin why` says of that database, and how many queries that took.
fn asked(place: &Place, arguments: &[&str]) -> (String, Vec<String>) {
    let output = Command::new(env!("CARGO_BIN_EXE_serin"))
        .arg("why")
        .args(arguments)
        .args(["--at", &(at(3_599)).to_rfc3339_opts(SecondsFormat::Secs, true)])
        .arg("--database")
        .arg(place.name())
        .env("RUST_LOG", "sqlx=trace")
        .current_dir(place.folder.path())
        .output()
        .expect("it runs");
    let log = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{log}");
    // How a connection is opened is no question, and how many there are is the pool's to know.
    let opens = |line: &str| ["PRAGMA", "SET idle_in", "pg_is_in_recovery"].iter().any(|word| line.contains(word));
    let queries = log.lines().filter(|line| line.contains("sqlx::query") && !opens(line));
    let asked = |line: &str| line.split("sqlx::query").nth(1).unwrap().split(" rows_").next().unwrap().to_owned();
    let mut queries: Vec<String> = queries.map(asked).collect();
    queries.sort();
    (said, queries)
}

#[tokio::test]
async fn an_answer_takes_as_many_queries_whatever_is_in_the_database() {
    let (few, many) = (filled(2, 1).await, filled(120, 500).await);
    for arguments in [&["docs"][..], &["00000000-incident"]] {
        let ((said, one), (_, all)) = (asked(&few, arguments), asked(&many, arguments));
        assert!(said.contains("oncall was to be notified at once"), "{said}");
        assert_eq!(one, all, "1 incident and 500 of {arguments:?}");
        assert!((10..90).contains(&one.len()), "counted at all, and bounded by the week that is read: {}", one.len());
    }
    let (said, _) = asked(&many, &["docs"]);
    assert!(said.contains("note: 480 more incidents were open then or in the hour before"), "{said}");
    assert!(said.contains("00000499-incident") && said.contains("monitors.yaml:4"), "{said}");
}
