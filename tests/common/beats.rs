//! Beats and answers as the store keeps them.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serin::domain::answer::{Turn, Variant};
use serin::domain::monitor::MonitorId;
use serin::domain::observation::BeatKind;
use serin::domain::outcome::Verdict;
use serin::domain::protocol::Era;
use serin::store::values::change_set::{AskRow, BeatRow, BeatSeen, StageTimes};

/// A good beat in the newer era.
pub(crate) fn beat(monitor: MonitorId, at: DateTime<Utc>) -> BeatRow {
    BeatRow {
        monitor,
        scheduled_at: at,
        started_at: at,
        kind: BeatKind::Scheduled,
        era: Some(Era::Modern),
        transport: None,
        seen: BeatSeen::Seen,
        verdict: Verdict::Good,
        reason: None,
        stage: None,
        elapsed: Duration::from_millis(42),
        stages: StageTimes::default(),
        fresh_connection: true,
        config_hash: "abc".to_owned(),
    }
}

/// A right answer with one source.
pub(crate) fn ask(canary: &str, elapsed: Duration) -> AskRow {
    AskRow {
        canary: canary.to_owned(),
        variant: Variant::Plain,
        turn: Turn::Scheduled,
        elapsed,
        fresh_connection: false,
        verdict: "right",
        reason: None,
        rank: Some(1),
        sources: vec!["auth/tokens.md".to_owned()],
        scores: vec![Some(0.8)],
        lengths: vec![400],
        bytes: 2_000,
        tokens: None,
    }
}
