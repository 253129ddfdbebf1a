//! What the tests of the store are made of, whichever database they run on.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serin::domain::incident::Incident;
use serin::domain::monitor::MonitorId;
use serin::domain::outcome::Evidence;
use serin::domain::paging::notification::Notification;
use serin::store::Store;
use serin::store::values::change_set::{AskRow, BeatRow, ChangeSet, Outgoing, StageTimes};
use serin::store::values::claims::{Claim, Claiming};

use crate::common::{beats, paging};

/// A fixed moment, so many seconds on.
pub(crate) fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_790_000_000 + seconds, 0).expect("a moment")
}

pub(crate) fn beat(monitor: &str, seconds: i64) -> BeatRow {
    BeatRow {
        started_at: at(seconds) + TimeDelta::milliseconds(3),
        stages: StageTimes { tools: Some(Duration::from_millis(7)), ..StageTimes::default() },
        ..beats::beat(MonitorId::new(monitor), at(seconds))
    }
}

pub(crate) fn ask(canary: &str, elapsed_ms: u64) -> AskRow {
    AskRow {
        sources: vec!["auth/tokens.md".to_owned(), "errors/4417.md".to_owned()],
        scores: vec![Some(0.9), None],
        lengths: vec![400, 380],
        bytes: 2048,
        tokens: Some(512),
        ..beats::ask(canary, Duration::from_millis(elapsed_ms))
    }
}

pub(crate) fn record(monitor: &str, seconds: i64) -> ChangeSet {
    ChangeSet {
        beat: Some(beat(monitor, seconds)),
        asks: vec![ask("life", 20), ask("err", 30)],
        ..ChangeSet::default()
    }
}

pub(crate) fn incident(id: &str, monitor: &str, seconds: i64) -> Incident {
    let evidence = vec![Evidence::new("address", "127.0.0.1:9\n\"</script>")];
    Incident { evidence, ..paging::incident(id, MonitorId::new(monitor), at(seconds)) }
}

pub(crate) fn outgoing(id: &str, of: Option<&Incident>, sequence: u32, to: &[(&str, Option<&str>)]) -> Outgoing {
    Outgoing {
        notification: Notification { sequence, incident: of.cloned(), ..paging::notification(id, at(0)) },
        payload: format!("{{\"id\":\"{id}\",\"text\":\"é \\u0000\"}}"),
        to: paging::addressees(to),
    }
}

pub(crate) fn saying(outbox: Vec<Outgoing>) -> ChangeSet {
    ChangeSet { outbox, ..ChangeSet::default() }
}

pub(crate) fn wide() -> Claiming {
    Claiming { limit: 100, per_receiver: 100, per_unproven: 100, ..Claiming::default() }
}

/// `notification>receiver` of what can be claimed, sorted.
pub(crate) async fn claimed(store: &Store, now: DateTime<Utc>) -> (Vec<String>, Vec<Claim>) {
    let claims = store.claim(now, wide()).await.expect("claims are answered");
    let mut names: Vec<String> = claims.iter().map(|c| format!("{}>{}", c.notification, c.receiver)).collect();
    names.sort();
    (names, claims)
}
