//! The store over a real file: what is promised survives, what is in order stays in order, and our trouble has a name.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serin::domain::incident::Incident;
use serin::domain::monitor::MonitorId;
use serin::domain::outcome::Evidence;
use serin::domain::paging::notification::Notification;
use serin::store::Store;
use serin::store::values::change_set::{AskRow, BeatRow, ChangeSet, Outgoing, StageTimes};
use serin::store::values::claims::{Claim, Claiming};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Row};

use crate::common::{beats, paging};

#[expect(dead_code, reason = "other tests need more of it")]
#[path = "../common/mod.rs"]
mod common;
mod resuming;
mod outbox;
mod together;
mod dialect;
mod holds;
mod file;
mod texts;
mod why;

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
        started_at: at(seconds) + TimeDelta::milliseconds(3),
        stages: StageTimes { tools: Some(Duration::from_millis(7)), ..StageTimes::default() },
        ..beats::beat(MonitorId::new(monitor), at(seconds))
    }
}

fn ask(canary: &str, elapsed_ms: u64) -> AskRow {
    AskRow {
        sources: vec!["auth/tokens.md".to_owned(), "errors/4417.md".to_owned()],
        scores: vec![Some(0.9), None],
        lengths: vec![400, 380],
        bytes: 2048,
        tokens: Some(512),
        ..beats::ask(canary, Duration::from_millis(elapsed_ms))
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
    let evidence = vec![Evidence::new("address", "127.0.0.1:9\n\"</script>")];
    Incident { evidence, ..paging::incident(id, MonitorId::new(monitor), at(seconds)) }
}

fn outgoing(id: &str, of: Option<&Incident>, sequence: u32, to: &[(&str, Option<&str>)]) -> Outgoing {
    Outgoing {
        notification: Notification { sequence, incident: of.cloned(), ..paging::notification(id, at(0)) },
        payload: format!("{{\"id\":\"{id}\",\"text\":\"é \\u0000\"}}"),
        to: paging::addressees(to),
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
    Claiming { limit: 100, per_receiver: 100, per_unproven: 100, ..Claiming::default() }
}

/// `notification>receiver` of what can be claimed, sorted.
async fn claimed(store: &Store, now: DateTime<Utc>) -> (Vec<String>, Vec<Claim>) {
    let claims = store.claim(now, wide()).await.expect("claims are answered");
    let mut names: Vec<String> = claims.iter().map(|c| format!("{}>{}", c.notification, c.receiver)).collect();
    names.sort();
    (names, claims)
}
