//! Beats and answers as the store keeps them.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serin::domain::answer::{CacheWord, Turn, Variant};
use serin::domain::monitor::MonitorId;
use serin::domain::outcome::{Judged, Verdict};
use serin::domain::protocol::Era;
use serin::domain::signal::{Level, Signal};
use serin::store::values::change_set::{AskRow, BeatRow, BeatSeen};

/// A good beat in the newer era.
pub(crate) fn beat(monitor: MonitorId, at: DateTime<Utc>) -> BeatRow {
    BeatRow {
        era: Some(Era::Modern),
        verdict: Verdict::Good,
        elapsed: Duration::from_millis(42),
        fresh_connection: true,
        judged: Signal::ALL.map(|signal| match signal {
            // The list of sources was not looked at.
            Signal::Freshness => Judged::UNKNOWN,
            _ => Judged { level: Level::Calm, reason: None },
        }),
        ..BeatRow::unmade(monitor, at, BeatSeen::Seen, "abc".to_owned())
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
        cache: CacheWord::Missed,
        self_reported: Vec::new(),
    }
}
