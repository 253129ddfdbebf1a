//! What a machine decided before it handed a part of the fleet over, and what the database lost of it: it is added, and
//! nothing newer gives way to it.

use std::sync::Arc;

use serin::domain::incident::{Incident, ResolveCause};
use serin::domain::monitor::MonitorId;
use serin::domain::observation::ToolsSeen;
use serin::domain::protocol::Era;
use serin::domain::signal::{Phase, Signal, SignalState};
use serin::domain::tools::Listing;
use serin::store::read::pages::IncidentFilter;
use serin::store::values::change_set::{ChangeSet, SignalRow, ToolsRow};
use serin::store::values::whose::Whose;

use crate::{Place, at, incident};

fn phase(phase: Phase, seconds: i64) -> ChangeSet {
    let state = SignalState { phase, ..SignalState::quiet(at(seconds)) };
    let signal = SignalRow {
        monitor: MonitorId::new("docs"),
        signal: Signal::Quality,
        subject: String::new(),
        state,
        rule_hash: "r1".to_owned(),
        detector: None,
    };
    ChangeSet { signals: vec![signal], ..ChangeSet::default() }
}

#[tokio::test]
async fn of_two_states_the_newer_one_stays() {
    let (new, old) = ((Phase::Open, 50), (Phase::Pending, 40));
    // What the next machine wrote, what is added to it, and what stays.
    let rows = [
        (Some(new), old, Some(new.0), "an older state is over"),
        (Some(new), (Phase::Clearing, 60), Some(Phase::Clearing), "a newer one is what the next machine reads"),
        (Some(new), (Phase::Quiet, 40), Some(new.0), "what was quiet before is loud"),
        (Some(new), (Phase::Quiet, 60), None, "what is quiet since is quiet"),
        (None, old, Some(old.0), "one that is lost is there again"),
    ];
    for (there, added, expected, sentence) in rows {
        let place = Place::new();
        let store = place.open().await;
        if let Some((now, since)) = there {
            store.commit(phase(now, since)).await.expect("committed");
        }
        store.commit(ChangeSet { handed_over: true, ..phase(added.0, added.1) }).await.expect("added");
        let states = store.signal_states(Whose::Everybodys).await.expect("states");
        assert_eq!(states.first().map(|row| row.state.phase), expected, "{sentence}");
        store.close().await;
    }
}

#[tokio::test]
async fn the_next_machines_word_of_an_incident_counts_and_an_end_is_an_end() {
    let said = |summary: &str| Incident { summary: summary.to_owned(), ..incident("i1", "docs", 3) };
    let ended =
        |one: Incident| Incident { resolved_at: Some(at(90)), resolve_cause: Some(ResolveCause::Recovered), ..one };
    let rows = [
        (Some(said("now")), said("before"), ("now", false), "the next machine went on from it"),
        (Some(said("now")), ended(said("before")), ("before", true), "somebody was told of the end"),
        (Some(ended(said("now"))), said("before"), ("now", true), "what is over does not open again"),
        (None, said("before"), ("before", false), "one that is lost is there again"),
    ];
    for (there, added, expected, sentence) in rows {
        let place = Place::new();
        let store = place.open().await;
        let of = |one: Incident| ChangeSet { incidents: vec![one], ..ChangeSet::default() };
        if let Some(there) = there {
            store.commit(of(there)).await.expect("committed");
        }
        store.commit(ChangeSet { handed_over: true, ..of(added) }).await.expect("added");
        let found = store.incident("i1").await.expect("read").expect("it is there");
        assert_eq!((found.summary.as_str(), found.resolved_at.is_some()), expected, "{sentence}");
        let all = store.incidents(&IncidentFilter::default()).await.expect("read");
        assert_eq!(all.len(), 1, "{sentence}: it is one");
        store.close().await;
    }
}

#[tokio::test]
async fn of_two_accepted_lists_the_newer_one_stays() {
    let accepted = |hash: &str, from: i64| {
        let listing = Listing { hash: hash.to_owned(), json: "[]".to_owned(), ..Listing::default() };
        let tools = ToolsRow {
            monitor: MonitorId::new("docs"),
            era: Some(Era::Legacy),
            tools: ToolsSeen { listing: Arc::new(listing), ..ToolsSeen::default() },
            from: at(from),
            accepted_by: "ada".to_owned(),
        };
        ChangeSet { tools: Some(tools), ..ChangeSet::default() }
    };
    for (from, expected) in [(40, "next"), (60, "before")] {
        let place = Place::new();
        let store = place.open().await;
        store.commit(accepted("next", 50)).await.expect("committed");
        store.commit(ChangeSet { handed_over: true, ..accepted("before", from) }).await.expect("added");
        let baselines = store.tools_baselines(Whose::Everybodys).await.expect("baselines");
        let hashes: Vec<&str> = baselines.iter().map(|row| row.tools.listing.hash.as_str()).collect();
        assert_eq!(hashes, [expected], "accepted at {from}, beside one of 50");
        store.close().await;
    }
}
