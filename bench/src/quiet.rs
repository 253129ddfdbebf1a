//! What thousands of silences cost a decision on telling one incident.

use std::collections::BTreeMap;
use std::time::Instant;

use chrono::{DateTime, Utc};
use serin::domain::incident::{Course, Incident};
use serin::domain::monitor::{Monitor, MonitorId};
use serin::domain::monitor_state::{MonitorState, TellPolicy};
use serin::domain::paging::hold::HoldKind;
use serin::domain::paging::quiet::{Quiet, QuietBook};
use serin::domain::paging::tell::Telling;
use serin::domain::reason::{FailureReason, Severity};
use serin::domain::route::{Match, Route};
use serin::domain::rules::RulePlace;
use serin::domain::secret::{Address, Secret};
use serin::domain::signal::Signal;

use crate::report::row;

/// Decisions that are timed, of each kind of silences.
const TIMED: u32 = 2_000;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct QuietBench {
    /// Silences that hold.
    #[arg(long, default_value_t = 5_000)]
    silences: usize,
}

/// Measures and prints a table.
pub(crate) fn run(args: &QuietBench) {
    anstream::println!("| what | measured | goal |\n|---|---|---|");
    let label = |key: &str, nth: usize| BTreeMap::from([(key.to_owned(), format!("team-{nth}"))]);
    let kinds: [(&str, &dyn Fn(usize) -> Match); 3] = [
        ("of other monitors", &|nth| Match { monitor: vec![format!("m{nth}")], ..Match::default() }),
        ("of labels", &|nth| Match { labels: label("team", nth), ..Match::default() }),
        ("of a severity, which are all looked at", &|_| Match { severity: vec![Severity::Notice], ..Match::default() }),
    ];
    for (what, matches) in kinds {
        let nanos = decision(args.silences, matches);
        let said = format!("{:.1} µs", nanos / 1e3);
        row(&format!("a decision beside {} silences {what}", args.silences), &said, "≤ 50 µs");
    }
}

/// Nanoseconds that one decision takes.
fn decision(silences: usize, matches: &dyn Fn(usize) -> Match) -> f64 {
    let now = DateTime::UNIX_EPOCH;
    let quiet = |nth| Quiet {
        kind: HoldKind::Silence,
        by: format!("silence-{nth}"),
        matches: matches(nth),
        from: now,
        until: None,
    };
    let book = QuietBook::of((0..silences).map(quiet).collect());
    let address = Address { shown: String::new(), resolved: Secret::new("https://docs.example.org/mcp") };
    let mut monitor = Monitor::undeclared("docs", address);
    monitor.labels = BTreeMap::from([("team".to_owned(), "docs".to_owned()), ("env".to_owned(), "prod".to_owned())]);
    let routes = [Route { to: vec!["oncall".to_owned()], ..Route::default() }];
    let mut state = MonitorState::new(now);
    state.restore_incident(incident(&monitor.id, now), Telling::remembered(true, Vec::new()));
    let started = Instant::now();
    let mut told = 0;
    for _ in 0..TIMED {
        told += state.let_go(TellPolicy { monitor: &monitor, routes: &routes, quiets: &book, parents: &[] }, now).len();
    }
    assert_eq!(told, 0, "it was told before");
    started.elapsed().as_nanos() as f64 / f64::from(TIMED)
}

/// An incident of a monitor that was just opened.
pub(crate) fn incident(monitor: &MonitorId, now: DateTime<Utc>) -> Incident {
    Incident {
        id: "0199".to_owned(),
        monitor: monitor.clone(),
        signal: Signal::Availability,
        subject: String::new(),
        severity: Severity::Page,
        reason: FailureReason::Timeout,
        stage: "handshake".to_owned(),
        summary: "docs: timeout".to_owned(),
        evidence: Vec::new(),
        rule: RulePlace { file: "monitors.yaml".to_owned(), line: 1, commit: None },
        opened_at: now,
        resolved_at: None,
        resolve_cause: None,
        acknowledged: None,
        sequence: 1,
        course: Course::default(),
    }
}
