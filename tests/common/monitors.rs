//! Monitors, their canaries, and what a probe is told to do.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serin::domain::answer::Variant;
use serin::domain::monitor::{Canary, CanaryKind, Monitor};
use serin::domain::observation::BeatKind;
use serin::domain::schedule::PlannedAsk;
use serin::domain::secret::{Address, Secret};
use serin::domain::server_profile::ServerProfile;
use serin::probe::assignment::{Assignment, Further};
use serin::tool_lists::known::KnownLists;

/// An address that holds no secret.
pub(crate) fn address(url: &str) -> Address {
    Address { shown: url.to_owned(), resolved: Secret::new(url) }
}

/// A canary whose right answer is `a.md`.
pub(crate) fn canary(id: &str) -> Canary {
    Canary {
        id: id.to_owned(),
        query: "one".to_owned(),
        kind: CanaryKind::Mixed,
        expect: vec!["a.md".to_owned()],
        within: 5,
        max_score: None,
        text: None,
        forbid: Vec::new(),
        also: Vec::new(),
        line: 1,
        definition_hash: String::new(),
    }
}

/// A scheduled beat of a server that nothing is known of, which asks every canary and nothing else.
pub(crate) fn assignment(monitor: impl Into<Arc<Monitor>>, now: DateTime<Utc>) -> Assignment {
    let monitor = monitor.into();
    Assignment {
        asks: PlannedAsk::every(&monitor, Variant::Fresh),
        monitor,
        kind: BeatKind::Scheduled,
        scheduled_at: now,
        started_at: now,
        further: Further::NONE,
        source_pages: 0,
        source_names: false,
        profile: ServerProfile::default(),
        lists: KnownLists::default(),
    }
}
