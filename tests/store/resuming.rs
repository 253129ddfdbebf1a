//! What a restart resumes, and what is kept once however often it comes.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use serin::domain::flapping::{CALM_MIN, Flapping};
use serin::domain::fleet::{Fleet, Provenance};
use serin::domain::fleet_files::FileWord;
use serin::domain::fleet_files::FleetFiles;
use serin::domain::incident::{Course, Incident, IncidentReach, ResolveCause, ToldAs, Worst};
use serin::domain::monitor::{Canary, Monitor, MonitorId};
use serin::domain::observation::{Footprint, ToolsSeen};
use serin::domain::outcome::Evidence;
use serin::domain::protocol::{Era, Transport};
use serin::domain::rate_limit::Spent;
use serin::domain::reason::{FailureReason, Severity};
use serin::domain::server_profile::{Caution, KeptSession, ServerProfile};
use serin::domain::signal::{HeldBy, Phase, Signal, SignalState};
use serin::domain::tools::{Listing, ToolSeen};
use serin::domain::unclaimed::Unclaimed;
use serin::store::StoreError;
use serin::store::read::pages::IncidentFilter;
use serin::store::values::change_set::{
    ChangeSet, MarksRow, ServerProfileRow, SignalRow, TimelineRow, ToolsRow, TranscriptRow,
};
use serin::store::values::whose::Whose;
use serin::store::write::probe_memory::recall;

use crate::common::monitors;
use crate::{Place, at, beat, claimed, incident, outgoing, record};

#[tokio::test]
async fn a_restart_resumes_everything() {
    let place = Place::new();
    let store = place.open().await;
    let state = SignalState {
        phase: Phase::Open,
        since: at(5),
        streak: 2,
        covered: Duration::from_millis(90_500).into(),
        held_by: Some(HeldBy::ColdStart),
    };
    let signal = SignalRow {
        monitor: MonitorId::new("docs"),
        signal: Signal::Quality,
        subject: "canary:life".to_owned(),
        state,
        rule_hash: "r1".to_owned(),
        detector: Some(vec![1, 2, 3]),
    };
    let listing = Listing {
        hash: "t1".to_owned(),
        tools: vec![ToolSeen { name: "search".to_owned(), full_hash: "f".to_owned(), shape_hash: "s".to_owned() }],
        json: "[{\"name\":\"search\"}]".to_owned(),
        ..Listing::default()
    };
    let tools = ToolsRow {
        monitor: MonitorId::new("docs"),
        era: Some(Era::Legacy),
        tools: ToolsSeen { listing: Arc::new(listing), search_tool: Some("search".to_owned()), ..ToolsSeen::default() },
        from: at(1),
        accepted_by: "first-stable".to_owned(),
    };
    let marks = MarksRow {
        monitor: "docs".to_owned(),
        instance: Some("i-1".to_owned()),
        version: None,
        process_started_at: Some(at(-60)),
        restarted_at: None,
    };
    let open = incident("i1", "docs", 3);
    let mut whole = record("docs", 0);
    whole.signals = vec![signal.clone()];
    whole.incidents = vec![open.clone()];
    whole.tools = Some(tools.clone());
    whole.marks = Some(marks.clone());
    let profile = ServerProfileRow {
        monitor: MonitorId::new("docs"),
        address: "https://docs/mcp".to_owned(),
        profile: ServerProfile {
            era: Some(Era::Legacy),
            transport: Some(Transport::Sse),
            era_found_at: Some(at(0)),
            discover: Caution::Harmful,
            closing: Caution::Harmless,
            certificate_until: Some(at(86_400)),
            admits_strangers: true,
            answered: Some("2025-06-18"),
            kept: Some(Arc::new(KeptSession { id: "s-1".to_owned(), version: "2025-03-26", opened_at: at(7) })),
            ..ServerProfile::default()
        },
    };
    let cost = Footprint { requests: 7, bytes_in: 9, sessions_opened: 2, sessions_closed: 1, ..Footprint::default() };
    let day = |day: i64, beats| (MonitorId::new("docs"), Spent { day, beats, footprint: cost });
    let today = Spent::day_of(at(0));
    whole.profile = Some(ServerProfileRow { profile: ServerProfile::default(), ..profile.clone() });
    whole.spent = vec![day(today - 2, 1), day(today - 1, 2), day(today, 3)];
    store.commit(whole).await.expect("committed");
    let mut moved = tools.clone();
    moved.from = at(9);
    Arc::make_mut(&mut moved.tools.listing).hash = "t2".to_owned();
    let later = ChangeSet {
        tools: Some(moved.clone()),
        profile: Some(profile.clone()),
        spent: vec![day(today, 4)],
        ..ChangeSet::default()
    };
    store.commit(later).await.expect("committed");
    let replica = ToolsRow { monitor: MonitorId::new("replica"), ..moved.clone() };
    let of_replica = ChangeSet { tools: Some(replica.clone()), ..ChangeSet::default() };
    store.commit(of_replica).await.expect("committed");
    store.close().await;
    assert_eq!(store.commit(record("docs", 60)).await, Err(StoreError::Closed), "closed is closed");

    let store = place.open().await;
    assert_eq!(
        store.signal_states(Whose::Everybodys).await,
        Ok(vec![signal.clone()]),
        "a phase goes on where it stood"
    );
    assert_eq!(store.open_incidents().await, Ok(vec![open]), "an open incident is not forgotten");
    let baselines = store.tools_baselines(Whose::Everybodys).await.expect("baselines");
    let lists: Vec<_> = baselines.iter().map(|row| &row.tools.listing).collect();
    assert!(Arc::ptr_eq(lists[0], lists[1]), "a replica has the same list");
    assert_eq!(baselines, [moved, replica], "the latest baseline holds");
    assert_eq!(store.marks(Whose::Everybodys).await, Ok(vec![marks]), "a restart can still be told");
    assert_eq!(
        store.server_profiles(Whose::Everybodys).await,
        Ok(vec![profile.clone()]),
        "what was learnt last is known"
    );
    let beside = recall(&place.address(), &profile.address).await;
    assert_eq!(beside, Ok(Some(profile.profile)), "also to who looks at one server beside it");
    assert_eq!(recall(&place.address(), "another").await, Ok(None));
    let days: Vec<_> =
        store.spent(at(0), Whose::Everybodys).await.expect("footprints")[&MonitorId::new("docs")].clone();
    assert_eq!(days, [day(today - 1, 2).1, day(today, 4).1], "yesterday and today, as written last");
    let asks = store.recent_asks(at(-1), Whose::Everybodys).await.expect("asks");
    let seen: Vec<_> = asks.iter().map(|ask| (ask.canary.as_str(), ask.elapsed.as_millis(), ask.scheduled)).collect();
    assert_eq!(seen, [("life", 20, true), ("err", 30, true)], "windows can be rebuilt");
    let strips = store.recent_beats(at(-1), Whose::Everybodys).await.expect("strips");
    assert_eq!(strips[&MonitorId::new("docs")].len(), 1, "the strip is there again");
    let hours = store.coverage(at(-1), Whose::Everybodys).await.expect("coverage");
    let hour = hours[&MonitorId::new("docs")][0];
    assert_eq!((hour.due, hour.seen, hour.up), (1, 1, 1), "coverage is counted");

    let mut quiet = signal;
    (quiet.state, quiet.detector) = (SignalState::quiet(at(20)), None);
    store.commit(ChangeSet { signals: vec![quiet], ..ChangeSet::default() }).await.expect("committed");
    assert_eq!(
        store.signal_states(Whose::Everybodys).await,
        Ok(vec![]),
        "a quiet signal with nothing to remember has no row"
    );
    store.close().await;
}

#[tokio::test]
async fn one_unresolved_incident_a_key_and_a_bad_record_fails_alone() {
    let place = Place::new();
    let store = place.open().await;
    let first = incident("i1", "docs", 0);
    store.commit(ChangeSet { incidents: vec![first.clone()], ..ChangeSet::default() }).await.expect("committed");

    let mut bad = record("docs", 60);
    bad.incidents = vec![incident("i2", "docs", 60)];
    let (before, refused, after) =
        tokio::join!(store.commit(record("a", 60)), store.commit(bad), store.commit(record("b", 60)));
    assert_eq!((before, after), (Ok(()), Ok(())), "the others of its batch are written");
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "a second open incident is refused: {refused:?}");
    let docs = store.beats(&MonitorId::new("docs"), 10, at(3600)).await.expect("beats");
    assert!(docs.is_empty(), "a refused record leaves nothing behind, not even its beat");
    assert_eq!(store.recent_asks(at(0), Whose::Everybodys).await.expect("asks").len(), 4, "the others' asks are whole");

    let ended = Incident { resolved_at: Some(at(70)), resolve_cause: Some(ResolveCause::Recovered), ..first };
    let next = incident("i3", "docs", 70);
    let record = ChangeSet { incidents: vec![next.clone(), ended.clone()], ..ChangeSet::default() };
    store.commit(record).await.expect("one ends and the next opens in one record");
    assert_eq!(store.open_incidents().await, Ok(vec![next.clone()]), "only the new one is open");
    assert_eq!(store.incidents(&IncidentFilter::default()).await, Ok(vec![next, ended]), "both are remembered");
    store.close().await;
}

#[tokio::test]
async fn what_an_incident_was_told_with_outlives_a_process() {
    let place = Place::new();
    let told =
        ToldAs { reason: FailureReason::EmptyResults, severity: Severity::Page, reach: Some(IncidentReach::Half) };
    let worst = Worst {
        reason: FailureReason::WrongResults,
        wrong: 3,
        asked: 5,
        summary: "docs: searches lost their source".to_owned(),
        evidence: vec![Evidence::new("canary.c", "\"a\"\n"), Evidence::new("asked", "5")],
    };
    let unclaimed = Some(Unclaimed { since: at(3), told_until: at(9) });
    let whole = Course {
        told: Some(told),
        updated_at: Some(at(50)),
        since: Some(at(7)),
        worst: Some(worst),
        unclaimed,
        flapping: Some(Flapping { openings: 4, calm: CALM_MIN, told: true }),
        calm_since: Some(at(60)),
        began_at: Some(at(5)),
    };
    let bare = Course { told: Some(ToldAs { reach: None, ..told }), ..Course::default() };
    for (id, course) in [("i1", whole), ("i2", bare), ("i3", Course::default())] {
        let open = Incident { course, ..incident(id, id, 0) };
        let store = place.open().await;
        let record = ChangeSet { incidents: vec![open.clone()], ..ChangeSet::default() };
        store.commit(record).await.expect("committed");
        store.close().await;
        let store = place.open().await;
        assert_eq!(store.incident(id).await, Ok(Some(open)), "as it was");
        store.close().await;
    }
}

#[tokio::test]
async fn an_acknowledgement_is_not_taken_back() {
    let place = Place::new();
    let store = place.open().await;
    let open = incident("i1", "docs", 0);
    let line = |kind: &str| TimelineRow {
        incident: "i1".to_owned(),
        at: at(0),
        kind: kind.to_owned(),
        actor: "serin".to_owned(),
        text: kind.to_owned(),
    };
    let opening = ChangeSet { incidents: vec![open.clone()], timeline: vec![line("opened")], ..ChangeSet::default() };
    store.commit(opening).await.expect("committed");
    assert_eq!(store.acknowledge("i1", "kim", at(10)).await, Ok(true), "taken");
    assert_eq!(store.acknowledge("i1", "lee", at(11)).await, Ok(false), "taken once");
    store.commit(ChangeSet { incidents: vec![open], ..ChangeSet::default() }).await.expect("committed");
    let stored = store.incident("i1").await.expect("read").expect("there");
    assert_eq!(stored.acknowledged, Some(("kim".to_owned(), at(10))), "a turn that had not heard of it keeps it");
    let kinds: Vec<_> = store.timeline("i1").await.expect("timeline").into_iter().map(|line| line.kind).collect();
    assert_eq!(kinds, ["opened", "acknowledged"], "the timeline is in order");
    store.close().await;
}

#[tokio::test]
async fn the_same_record_twice_is_the_same_record() {
    let place = Place::new();
    let store = place.open().await;
    let one = incident("i1", "docs", 0);
    let mut whole = record("docs", 0);
    whole.incidents = vec![one.clone()];
    whole.outbox = vec![outgoing("n1", Some(&one), 1, &[("oncall", None)])];
    store.commit(whole.clone()).await.expect("committed");
    whole.outbox[0].payload = "other bytes".to_owned();
    store.commit(whole).await.expect("committed again, as after an answer that was lost");
    let (names, claims) = claimed(&store, at(0)).await;
    assert_eq!(names, ["n1>oncall"], "one promise");
    assert!(claims[0].payload.contains("n1"), "and the bytes that were frozen first");
    assert_eq!(store.beats(&MonitorId::new("docs"), 10, at(3600)).await.expect("beats").len(), 1, "one beat");
    store.close().await;
}

#[tokio::test]
async fn lists_that_repeat_are_kept_once() {
    let place = Place::new();
    let store = place.open().await;
    let records = (0..50).map(|n| store.commit(record("docs", n * 60)));
    for outcome in futures_util::future::join_all(records).await {
        outcome.expect("committed");
    }
    store.close().await;
    let store = place.open().await;
    store.commit(record("docs", 60 * 60)).await.expect("committed");
    let rows = [
        ("SELECT COUNT(*) FROM beats", 51, "every beat has a row"),
        ("SELECT COUNT(*) FROM asks", 102, "every ask has a row"),
        ("SELECT COUNT(*) FROM sources", 2, "a source has one row, over restarts too"),
        ("SELECT COUNT(*) FROM ranked_lists", 1, "and so has a list"),
        ("SELECT COUNT(*) FROM config_versions", 1, "and a file"),
        ("SELECT COUNT(*) FROM asks JOIN ranked_lists ON id = list", 102, "every ask finds its list"),
    ];
    for (sql, expected, sentence) in rows {
        assert_eq!(place.number(sql).await, expected, "{sentence}");
    }
    let slices =
        store.latency(&MonitorId::new("docs"), at(0), at(7200), Duration::from_secs(3600)).await.expect("percentiles");
    let figures: Vec<_> = slices.iter().map(|s| (s.n, s.p50_ms.round(), s.p95_ms.round(), s.censored)).collect();
    assert_eq!(figures, [(100, 20.0, 30.0, 0), (2, 20.0, 30.0, 0)], "percentiles by the hour");
    store.close().await;
}

fn fleet(hash: &str, monitors: &[(&str, &[&str])]) -> Fleet {
    let canary = |id: &&str| Canary { expect: Vec::new(), definition_hash: "c".to_owned(), ..monitors::canary(id) };
    let monitor = |(id, canaries): &(&str, &[&str])| {
        let mut monitor = Monitor::undeclared(id, monitors::address("http://x"));
        monitor.canaries = canaries.iter().map(canary).collect();
        monitor.definition_hash = "m".to_owned();
        Arc::new(monitor)
    };
    Fleet {
        provenance: Provenance { file: "monitors.yaml".to_owned(), hash: hash.to_owned(), ..Provenance::default() },
        monitors: monitors.iter().map(monitor).collect(),
        ..Fleet::default()
    }
}

#[tokio::test]
async fn a_monitor_keeps_its_first_day_over_removal_and_return() {
    let place = Place::new();
    let store = place.open().await;
    let both = fleet("h1", &[("docs", &["a", "b"]), ("wiki", &[])]);
    let only_docs = fleet("h2", &[("docs", &["a"])]);
    store
        .config_loaded(&both, (&FleetFiles::single("monitors.yaml", "version: 1"), FileWord::Change), at(0))
        .await
        .expect("noted");
    store
        .config_loaded(
            &only_docs,
            (&FleetFiles::single("monitors.yaml", "version: 1 # less"), FileWord::Change),
            at(10),
        )
        .await
        .expect("noted");
    let gone = [
        ("SELECT COUNT(*) FROM monitors WHERE removed_at IS NOT NULL", 1, "a monitor that left is marked, not erased"),
        ("SELECT COUNT(*) FROM canaries WHERE removed_at IS NOT NULL", 1, "and so is a canary"),
        ("SELECT COUNT(*) FROM config_versions", 2, "both files are remembered"),
    ];
    for (sql, expected, sentence) in gone {
        assert_eq!(place.number(sql).await, expected, "{sentence}");
    }
    store
        .config_loaded(&both, (&FleetFiles::single("monitors.yaml", "version: 1"), FileWord::Change), at(20))
        .await
        .expect("noted");
    let first_seen = store.first_seens(Whose::Everybodys).await.expect("read");
    let days: Vec<_> = ["docs", "wiki"].iter().map(|id| first_seen[&MonitorId::new(id)]).collect();
    assert_eq!(days, [at(0), at(0)], "who comes back keeps the first day");
    let back = [
        ("SELECT COUNT(*) FROM monitors WHERE removed_at IS NOT NULL", 0, "and is no longer marked"),
        ("SELECT COUNT(*) FROM config_versions", 2, "a file that returns is the same file"),
    ];
    for (sql, expected, sentence) in back {
        assert_eq!(place.number(sql).await, expected, "{sentence}");
    }
    store.close().await;
}

fn transcript(seconds: i64, incident: &str, text: &str, leads_since: Option<i64>) -> ChangeSet {
    let row = TranscriptRow {
        monitor: MonitorId::new("docs"),
        started_at: at(seconds),
        incident: incident.to_owned(),
        reason: FailureReason::ConnectionRefused,
        text: text.into(),
        leads_since: leads_since.map(at),
    };
    ChangeSet { beat: Some(beat("docs", seconds)), transcripts: vec![row], ..ChangeSet::default() }
}

#[tokio::test]
async fn transcripts_are_kept_once_found_by_their_incident_and_forgotten() {
    let place = Place::new();
    let store = place.open().await;
    let day = 86_400;
    let kept = [
        transcript(0, "", "long before", None),
        transcript(day, "", "refused", None),
        transcript(day + 10, "i-1", "refused", Some(day - 600)),
        transcript(day + 20, "i-1", "refused otherwise", None),
    ];
    for record in kept {
        store.commit(record).await.expect("kept");
    }
    let texts = "SELECT COUNT(*) FROM blobs WHERE kind = 'transcript'";
    assert_eq!(place.number(texts).await, 3, "two equal failures are one text");
    let lines = store.transcripts("i-1").await.expect("lines");
    let times: Vec<_> = lines.iter().map(|line| line.started_at).collect();
    assert_eq!(
        times,
        [at(day), at(day + 10), at(day + 20)],
        "what led to it is its first; what was long before is not"
    );
    assert_eq!(lines[0].hash, lines[1].hash, "equal texts have one hash");
    assert_eq!(store.transcript(&lines[2].hash).await.expect("read").as_deref(), Some("refused otherwise"));
    assert_eq!(store.transcripts("").await.expect("lines"), [], "no incident is none");
    let last = store.last_transcript(&MonitorId::new("docs")).await.expect("read").expect("one");
    assert_eq!((last.started_at, last.bytes), (at(day + 20), 17));

    let left = "SELECT COUNT(*) FROM transcripts";
    for (seconds, rows, texts_left, sentence) in [
        (29 * day, 4, 3, "within the month nothing goes"),
        (30 * day + 5, 3, 2, "then the oldest, with its text"),
        (31 * day + 5, 2, 2, "a text that a later failure shares stays"),
        (40 * day, 0, 0, "at last everything"),
    ] {
        while store.forget_transcripts(at(seconds), TimeDelta::days(30)).await.expect("forgotten") > 0 {}
        let found = (place.number(left).await, place.number(texts).await);
        assert_eq!(found, (rows, texts_left), "{sentence}");
    }
    assert_eq!(store.transcript(&lines[2].hash).await.expect("read"), None);
    store.close().await;
}
