//! The store over a real file: what is promised survives, what is in order stays in order, and our trouble has a name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serin::domain::answer::{Turn, Variant};
use serin::domain::incident::{Course, Incident};
use serin::domain::monitor::MonitorId;
use serin::domain::observation::BeatKind;
use serin::domain::outcome::{Evidence, Verdict};
use serin::domain::paging::notification::{Event, MonitorCard, Notification};
use serin::domain::protocol::Era;
use serin::domain::reason::{FailureReason, Severity};
use serin::domain::rules::RulePlace;
use serin::domain::signal::Signal;
use serin::store::Store;
use serin::store::values::change_set::{Addressee, AskRow, BeatRow, BeatSeen, ChangeSet, Outgoing, StageTimes};
use serin::store::write::outbox::{Claim, Claiming};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Row};

mod resuming;
mod outbox;
mod file;

/// A folder with a database that is gone with the test.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder can be made") }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("serin.db")
    }

    async fn open(&self) -> Store {
        Store::open(&self.path()).await.expect("the store opens")
    }
}

/// A fixed moment, so many seconds on.
fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_790_000_000 + seconds, 0).expect("a moment")
}

fn beat(monitor: &str, seconds: i64) -> BeatRow {
    BeatRow {
        monitor: MonitorId::new(monitor),
        scheduled_at: at(seconds),
        started_at: at(seconds) + TimeDelta::milliseconds(3),
        kind: BeatKind::Scheduled,
        era: Some(Era::Modern),
        transport: None,
        seen: BeatSeen::Seen,
        verdict: Verdict::Good,
        reason: None,
        stage: None,
        elapsed: Duration::from_millis(42),
        stages: StageTimes { tools: Some(Duration::from_millis(7)), ..StageTimes::default() },
        fresh_connection: true,
        config_hash: "abc".to_owned(),
    }
}

fn ask(canary: &str, elapsed_ms: u64) -> AskRow {
    AskRow {
        canary: canary.to_owned(),
        variant: Variant::Plain,
        turn: Turn::Scheduled,
        elapsed: Duration::from_millis(elapsed_ms),
        fresh_connection: false,
        verdict: "right",
        reason: None,
        rank: Some(1),
        sources: vec!["auth/tokens.md".to_owned(), "errors/4417.md".to_owned()],
        scores: vec![Some(0.9), None],
        lengths: vec![400, 380],
        bytes: 2048,
        tokens: Some(512),
    }
}

fn record(monitor: &str, seconds: i64) -> ChangeSet {
    ChangeSet {
        beat: Some(beat(monitor, seconds)),
        asks: vec![ask("life", 20), ask("err", 30)],
        ..ChangeSet::default()
    }
}

fn incident(id: &str, monitor: &str, seconds: i64) -> Incident {
    Incident {
        id: id.to_owned(),
        monitor: MonitorId::new(monitor),
        signal: Signal::Availability,
        subject: String::new(),
        severity: Severity::Page,
        reason: FailureReason::ConnectionRefused,
        stage: "connect".to_owned(),
        summary: format!("{monitor}: refused"),
        evidence: vec![Evidence::new("address", "127.0.0.1:9\n\"</script>")],
        rule: RulePlace { file: "monitors.yaml".to_owned(), line: 12, commit: Some("c0ffee".to_owned()) },
        opened_at: at(seconds),
        resolved_at: None,
        resolve_cause: None,
        acknowledged: None,
        sequence: 1,
        course: Course::default(),
    }
}

fn outgoing(id: &str, of: Option<&Incident>, sequence: u32, to: &[(&str, Option<&str>)]) -> Outgoing {
    let addressee = |(receiver, fallback): &(&str, Option<&str>)| Addressee {
        receiver: (*receiver).to_owned(),
        receiver_hash: "h".to_owned(),
        fallback: fallback.map(str::to_owned),
    };
    Outgoing {
        notification: Notification {
            id: id.to_owned(),
            sequence,
            event: Event::IncidentOpened,
            at: at(0),
            incident: of.cloned(),
            monitor: MonitorCard {
                id: "docs".to_owned(),
                name: "Docs".to_owned(),
                url: "http://docs/mcp".to_owned(),
                labels: BTreeMap::new(),
            },
            reason: Some(FailureReason::ConnectionRefused),
            failed_stage: Some("connect".to_owned()),
            severity: Severity::Page,
            summary: "docs: refused".to_owned(),
            evidence: Vec::new(),
            resolves_when: None,
            runbook_url: "http://serin/runbooks/connection_refused".to_owned(),
            incident_url: None,
            rule: None,
            reproduce: "serin probe docs".to_owned(),
        },
        payload: format!("{{\"id\":\"{id}\",\"text\":\"é \\u0000\"}}"),
        to: to.iter().map(addressee).collect(),
    }
}

fn saying(outbox: Vec<Outgoing>) -> ChangeSet {
    ChangeSet { outbox, ..ChangeSet::default() }
}

/// A second connection, as a backup or a shell would have one.
async fn stranger(path: &Path) -> sqlx::SqliteConnection {
    SqliteConnectOptions::new().filename(path).connect().await.expect("sqlite opens")
}

async fn number(path: &Path, sql: &'static str) -> i64 {
    let mut connection = stranger(path).await;
    sqlx::query(sql).fetch_one(&mut connection).await.expect("it counts").try_get(0).expect("a number")
}

fn wide() -> Claiming {
    Claiming { limit: 100, per_receiver: 100, ..Claiming::default() }
}

/// `notification>receiver` of what can be claimed, sorted.
async fn claimed(store: &Store, now: DateTime<Utc>) -> (Vec<String>, Vec<Claim>) {
    let claims = store.claim(now, wide()).await.expect("claims are answered");
    let mut names: Vec<String> = claims.iter().map(|c| format!("{}>{}", c.notification, c.receiver)).collect();
    names.sort();
    (names, claims)
}
