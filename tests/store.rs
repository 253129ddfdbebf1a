//! The store over a real file: what is promised survives, what is in order stays in order, and our trouble has a name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serin::domain::answer::{Turn, Variant};
use serin::domain::fleet::{Fleet, Provenance};
use serin::domain::incident::{Course, Incident, IncidentReach, ResolveCause, ToldAs, Worst};
use serin::domain::monitor::{Canary, CanaryKind, Monitor, MonitorId};
use serin::domain::observation::{BeatKind, Footprint, ToolsSeen};
use serin::domain::outcome::{Evidence, Verdict};
use serin::domain::paging::delivery::{AttemptEnd, FALLBACK_AFTER};
use serin::domain::paging::notification::{Event, MonitorCard, Notification};
use serin::domain::protocol::{Era, Transport};
use serin::domain::rate_limit::Spent;
use serin::domain::reason::{FailureReason, Severity};
use serin::domain::rules::RulePlace;
use serin::domain::secret::{Address, Secret};
use serin::domain::server_profile::{Caution, KeptSession, ServerProfile};
use serin::domain::signal::{Phase, Signal, SignalState};
use serin::domain::tools::{Listing, ToolSeen};
use serin::store::OpenError;
use serin::store::Store;
use serin::store::StoreError;
use serin::store::read::pages::IncidentFilter;
use serin::store::values::change_set::StageTimes;
use serin::store::values::change_set::{
    Addressee, AskRow, BeatRow, BeatSeen, ChangeSet, MarksRow, Outgoing, ServerProfileRow, SignalRow, TimelineRow,
    ToolsRow, TranscriptRow,
};
use serin::store::write::outbox::{Attempted, Claim, Claiming, LEASE, NextAttempt};
use serin::store::write::probe_memory::recall;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Row};

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

fn ended(claim: &Claim, now: DateTime<Utc>, end: AttemptEnd, next: NextAttempt, stand_ins: &[&str]) -> Attempted {
    Attempted {
        delivery: claim.delivery.clone(),
        lease: claim.lease.clone(),
        started_at: now,
        ended_at: now,
        end,
        next,
        stand_ins: stand_ins.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn failed() -> AttemptEnd {
    AttemptEnd::Failed { why: "503".to_owned(), retry_after: None }
}

async fn send(store: &Store, claim: &Claim, now: DateTime<Utc>) {
    store
        .attempted(ended(claim, now, AttemptEnd::Accepted, NextAttempt::Sent, &[]))
        .await
        .expect("the try is recorded");
}

/// A second connection, as a backup or a shell would have one.
async fn stranger(path: &Path) -> sqlx::SqliteConnection {
    SqliteConnectOptions::new().filename(path).connect().await.expect("sqlite opens")
}

async fn number(path: &Path, sql: &'static str) -> i64 {
    let mut connection = stranger(path).await;
    sqlx::query(sql).fetch_one(&mut connection).await.expect("it counts").try_get(0).expect("a number")
}

#[tokio::test]
async fn a_restart_resumes_everything() {
    let place = Place::new();
    let store = place.open().await;
    let state = SignalState {
        phase: Phase::Open,
        since: at(5),
        streak: 2,
        covered: Duration::from_millis(90_500),
        held_by: Some("cold_start".to_owned()),
    };
    let signal = SignalRow {
        monitor: MonitorId::new("docs"),
        signal: Signal::Quality,
        subject: "canary:life".to_owned(),
        state,
        rule_hash: "r1".to_owned(),
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
    assert_eq!(store.signal_states().await, Ok(vec![signal.clone()]), "a phase goes on where it stood");
    assert_eq!(store.open_incidents().await, Ok(vec![open]), "an open incident is not forgotten");
    let baselines = store.tools_baselines().await.expect("baselines");
    let lists: Vec<_> = baselines.iter().map(|row| &row.tools.listing).collect();
    assert!(Arc::ptr_eq(lists[0], lists[1]), "a replica has the same list");
    assert_eq!(baselines, [moved, replica], "the latest baseline holds");
    assert_eq!(store.marks().await, Ok(vec![marks]), "a restart can still be told");
    assert_eq!(store.server_profiles().await, Ok(vec![profile.clone()]), "what was learnt last is known");
    let beside = recall(&place.path(), &profile.address).await;
    assert_eq!(beside, Ok(Some(profile.profile)), "also to who looks at one server beside it");
    assert_eq!(recall(&place.path(), "another").await, Ok(None));
    let days: Vec<_> = store.spent(at(0)).await.expect("footprints")[&MonitorId::new("docs")].clone();
    assert_eq!(days, [day(today - 1, 2).1, day(today, 4).1], "yesterday and today, as written last");
    let asks = store.recent_asks(at(-1)).await.expect("asks");
    let seen: Vec<_> = asks.iter().map(|ask| (ask.canary.as_str(), ask.elapsed.as_millis(), ask.scheduled)).collect();
    assert_eq!(seen, [("life", 20, true), ("err", 30, true)], "windows can be rebuilt");
    let strips = store.recent_beats(at(-1)).await.expect("strips");
    assert_eq!(strips[&MonitorId::new("docs")].len(), 1, "the strip is there again");
    let hours = store.coverage(at(-1)).await.expect("coverage");
    let hour = hours[&MonitorId::new("docs")][0];
    assert_eq!((hour.due, hour.seen, hour.up), (1, 1, 1), "coverage is counted");

    let mut quiet = signal;
    quiet.state = SignalState::quiet(at(20));
    store.commit(ChangeSet { signals: vec![quiet], ..ChangeSet::default() }).await.expect("committed");
    assert_eq!(store.signal_states().await, Ok(vec![]), "a quiet signal with nothing to remember has no row");
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
    assert_eq!(store.recent_asks(at(0)).await.expect("asks").len(), 4, "the others' asks are whole");

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
    let whole = Course { told: Some(told), updated_at: Some(at(50)), since: Some(at(7)), worst: Some(worst) };
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
async fn order_is_strict_for_an_incident_and_a_receiver_and_only_there() {
    let place = Place::new();
    let store = place.open().await;
    let (one, two) = (incident("i1", "docs", 0), incident("i2", "wiki", 0));
    let out = vec![
        outgoing("n1", Some(&one), 1, &[("oncall", None), ("mail", None)]),
        outgoing("n2", Some(&one), 2, &[("oncall", None)]),
        outgoing("m1", Some(&two), 1, &[("oncall", None)]),
        outgoing("r1", None, 1, &[("oncall", None)]),
    ];
    store.commit(saying(out)).await.expect("committed");

    let (names, claims) = claimed(&store, at(0)).await;
    assert_eq!(
        names,
        ["m1>oncall", "n1>mail", "n1>oncall", "r1>oncall"],
        "the second of an incident waits for the first"
    );
    let first = claims.iter().find(|c| c.notification == "n1" && c.receiver == "oncall").expect("claimed");
    assert!(claimed(&store, at(1)).await.0.is_empty(), "what is lent out is not lent twice");

    store.attempted(ended(first, at(2), failed(), NextAttempt::Retry(at(7)), &[])).await.expect("recorded");
    let outlook = store.outlook(at(3), &wide()).await.expect("outlook");
    assert_eq!(outlook.claim_at, Some(at(7)), "the failed one is next, not its successor");
    assert!(claimed(&store, at(6)).await.0.is_empty(), "a failed first still blocks its successor");
    let (names, claims) = claimed(&store, at(7)).await;
    assert_eq!(names, ["n1>oncall"], "and is tried again first");
    assert_eq!(claims[0].payload, first.payload, "with identical bytes");

    store.attempted(ended(&claims[0], at(8), failed(), NextAttempt::Dead, &[])).await.expect("recorded");
    let (names, claims) = claimed(&store, at(9)).await;
    assert_eq!(names, ["n2>oncall"], "a dead one no longer blocks");
    send(&store, &claims[0], at(9)).await;

    let ledger = store.deliveries(Some("i1")).await.expect("ledger");
    let dead = ledger.iter().find(|line| line.state == "dead").expect("one is dead");
    assert_eq!((dead.attempts, dead.last.as_deref()), (2, Some("503")), "the ledger says why");
    assert_eq!(store.replay(&dead.id, "kim", at(20)).await, Ok(true), "a dead one can be replayed");
    assert_eq!(store.replay(&dead.id, "kim", at(20)).await, Ok(false), "a pending one need not be");
    let (names, claims) = claimed(&store, at(20)).await;
    assert_eq!(names, ["n1>oncall"], "the replayed one is due at once");
    assert_eq!((claims[0].tries, claims[0].promised_at), (0, at(20)), "with its patience renewed");
    store.close().await;
}

#[tokio::test]
async fn a_full_receiver_delays_nobody_else() {
    let place = Place::new();
    let store = place.open().await;
    let many: Vec<Outgoing> = (0..20).map(|n| outgoing(&format!("n{n:02}"), None, 1, &[("slow", None)])).collect();
    store.commit(saying(many)).await.expect("committed");
    store.commit(saying(vec![outgoing("x", None, 1, &[("quick", None)])])).await.expect("committed");

    let two = Claiming { limit: 10, per_receiver: 2, ..Claiming::default() };
    let mut got: Vec<_> = store.claim(at(0), two).await.expect("claims").into_iter().map(|c| c.receiver).collect();
    got.sort();
    assert_eq!(got, ["quick", "slow", "slow"], "a receiver gets no more than its share");
    let full =
        Claiming { limit: 10, per_receiver: 2, in_flight: [("slow".to_owned(), 2)].into(), ..Claiming::default() };
    assert!(store.claim(at(0), full.clone()).await.expect("claims").is_empty(), "a full one gets nothing");
    let outlook = store.outlook(at(1), &full).await.expect("outlook");
    assert_eq!(outlook.claim_at, Some(at(0) + LEASE), "and what it waits for does not keep the courier awake");
    store.close().await;
}

#[tokio::test]
async fn a_fallback_is_woken_once_and_hears_all_that_follows() {
    let place = Place::new();
    let store = place.open().await;
    let one = incident("i1", "docs", 0);
    let to = [("oncall", Some("mail"))];
    let first = vec![outgoing("n1", Some(&one), 1, &to), outgoing("n2", Some(&one), 2, &to)];
    store.commit(saying(first)).await.expect("committed");
    let (_, claims) = claimed(&store, at(0)).await;
    assert_eq!(
        store.outlook(at(0), &wide()).await.expect("outlook").fallback_at,
        Some(at(0) + FALLBACK_AFTER),
        "after 2 min"
    );
    assert_eq!(store.wake_fallbacks(at(119)).await, Ok(0), "not before");

    store
        .attempted(ended(&claims[0], at(1), failed(), NextAttempt::Retry(at(600)), &["mail"]))
        .await
        .expect("recorded");
    assert_eq!(store.wake_fallbacks(at(130)).await, Ok(0), "what was woken already is not woken again");
    let (names, claims) = claimed(&store, at(130)).await;
    assert_eq!(names, ["n1>mail"], "the fallback gets the first, in order");
    send(&store, &claims[0], at(131)).await;
    let (names, claims) = claimed(&store, at(132)).await;
    assert_eq!(names, ["n2>mail"], "and what waited behind it");
    send(&store, &claims[0], at(132)).await;

    store.commit(saying(vec![outgoing("n3", Some(&one), 3, &to)])).await.expect("committed");
    assert_eq!(claimed(&store, at(133)).await.0, ["n3>mail"], "and all that follows");
    let told: Vec<_> = store.told("i1").await.expect("told").into_iter().map(|a| (a.receiver, a.fallback)).collect();
    let expected = [("mail".to_owned(), None), ("oncall".to_owned(), Some("mail".to_owned()))];
    assert_eq!(told.len(), 2, "everybody who was promised anything: {told:?}");
    assert!(expected.iter().all(|one| told.contains(one)), "with their fallbacks: {told:?}");
    store.close().await;
}

#[tokio::test]
async fn an_overdue_page_wakes_its_fallback_by_itself() {
    let place = Place::new();
    let store = place.open().await;
    let one = incident("i1", "docs", 0);
    let out = vec![outgoing("n1", Some(&one), 1, &[("oncall", Some("mail")), ("mail", None)])];
    store.commit(saying(out)).await.expect("committed");
    assert_eq!(store.wake_fallbacks(at(120)).await, Ok(1), "two minutes are over");
    let ledger = store.deliveries(None).await.expect("ledger");
    assert_eq!(ledger.len(), 2, "a fallback that hears of it anyway is not told twice");
    assert_eq!(store.wake_fallbacks(at(500)).await, Ok(0), "once is enough");
    store.close().await;
}

#[tokio::test]
async fn what_a_clock_that_was_ahead_put_off_is_due_again() {
    let place = Place::new();
    let store = place.open().await;
    let promised =
        vec![outgoing("n1", None, 1, &[("oncall", Some("mail"))]), outgoing("n2", None, 1, &[("ops", None)])];
    store.commit(saying(promised)).await.expect("committed");
    for claim in claimed(&store, at(0)).await.1 {
        let next = NextAttempt::Retry(at(60));
        store.attempted(ended(&claim, at(30), failed(), next, &[])).await.expect("recorded");
    }
    assert_eq!(store.reckon_anew(at(40)).await, Ok(0), "what was reckoned by this clock waits");
    assert!(claimed(&store, at(40)).await.0.is_empty());
    // Back by three hours.
    let back = at(40 - 3 * 3600);
    assert!(claimed(&store, back).await.0.is_empty(), "by itself it would wait for hours");
    assert_eq!(store.reckon_anew(back).await, Ok(2), "both are due");
    let claims = claimed(&store, back).await.1;
    assert_eq!(claims.iter().map(|claim| claim.promised_at).collect::<Vec<_>>(), [back, back], "their age counts anew");
    let outlook = store.outlook(back, &wide()).await.expect("an outlook");
    let fallback_at = outlook.fallback_at.map(|at| (at - back).num_seconds());
    assert_eq!(fallback_at, Some(120), "and the fallback is woken in its time");
    store.close().await;
}

#[test]
fn a_death_between_claim_and_record_repeats_the_same_bytes() {
    let place = Place::new();
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let first = runtime();
    let before = first.block_on(async {
        let store = place.open().await;
        store.commit(saying(vec![outgoing("n1", None, 1, &[("oncall", None)])])).await.expect("committed");
        let lost = claimed(&store, at(0)).await.1;
        assert!(claimed(&store, at(1)).await.0.is_empty(), "a lease holds");
        let claims = claimed(&store, at(0) + LEASE).await.1;
        assert_eq!(claims[0].delivery, lost[0].delivery, "and runs out, should a try die alone");
        (claims[0].clone(), store)
    });
    // The runtime goes, and the writer with it in the middle of its life: nothing is closed in order.
    drop(first);
    let (before, _store) = before;
    runtime().block_on(async {
        let store = place.open().await;
        let after = claimed(&store, at(31)).await.1;
        let same = |claim: &Claim| (claim.delivery.clone(), claim.notification.clone(), claim.payload.clone());
        assert_eq!(same(&after[0]), same(&before), "the dead hold nothing: same id, same bytes, at once");
        store.attempted(ended(&before, at(32), failed(), NextAttempt::Dead, &[])).await.expect("recorded");
        assert_eq!(
            store.backlog(Utc::now()).await.expect("backlog").dead,
            0,
            "a no counts only for the holder of the lease"
        );
        send(&store, &after[0], at(33)).await;
        assert_eq!(store.backlog(Utc::now()).await.expect("backlog").pending, 0, "a yes ends it");
        store.close().await;
    });
}

#[tokio::test]
async fn a_second_serin_is_refused() {
    let place = Place::new();
    let store = place.open().await;
    let second = Store::open(&place.path()).await.expect_err("one database, one serin");
    assert!(matches!(second, OpenError::InUse { .. }), "{second}");
    assert!(second.to_string().contains("in use by another serin; stop that one"), "it names the mend: {second}");
    store.close().await;
    place.open().await.close().await;
}

#[tokio::test]
async fn a_locked_database_is_said_and_heals() {
    let place = Place::new();
    let store = place.open().await;
    let mut other = stranger(&place.path()).await;
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.expect("it locks");
    let (one, two) = tokio::join!(store.commit(record("a", 0)), store.commit(record("b", 0)));
    assert_eq!((one, two), (Err(StoreError::Locked), Err(StoreError::Locked)), "everybody of the batch hears of it");
    assert_eq!(store.beats(&MonitorId::new("a"), 1, at(3600)).await, Ok(vec![]), "reading goes on");
    sqlx::query("ROLLBACK").execute(&mut other).await.expect("it lets go");
    other.close().await.expect("it closes");
    assert_eq!(store.commit(record("a", 0)).await, Ok(()), "writing resumes by itself");
    store.close().await;
}

#[tokio::test]
async fn a_full_disk_is_said_and_heals() {
    let place = Place::new();
    let store = place.open().await;
    let pages = number(&place.path(), "PRAGMA page_count").await;
    store.limit_pages(u32::try_from(pages).expect("a small file")).await.expect("limited");
    let large = |n: i64| ChangeSet {
        beat: Some(beat("a", n)),
        asks: (0..20).map(|i| AskRow { canary: format!("{i}{}", "x".repeat(400)), ..ask("", 1) }).collect(),
        ..ChangeSet::default()
    };
    let mut refusal = Ok(());
    for n in 0..200 {
        refusal = store.commit(large(n)).await;
        if refusal.is_err() {
            break;
        }
    }
    assert_eq!(refusal, Err(StoreError::Full), "a full disk has its own name");
    let beats = number(&place.path(), "SELECT COUNT(*) FROM beats").await;
    let asks = number(&place.path(), "SELECT COUNT(*) FROM asks").await;
    assert_eq!(asks, beats * 20, "no record was written in part");
    store.limit_pages(0).await.expect("space again");
    assert_eq!(store.commit(large(1000)).await, Ok(()), "writing resumes by itself");
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
        assert_eq!(number(&place.path(), sql).await, expected, "{sentence}");
    }
    let slices =
        store.latency(&MonitorId::new("docs"), at(0), at(7200), Duration::from_secs(3600)).await.expect("percentiles");
    let figures: Vec<_> = slices.iter().map(|s| (s.n, s.p50_ms.round(), s.p95_ms.round(), s.censored)).collect();
    assert_eq!(figures, [(100, 20.0, 30.0, 0), (2, 20.0, 30.0, 0)], "percentiles by the hour");
    store.close().await;
}

fn fleet(hash: &str, monitors: &[(&str, &[&str])]) -> Fleet {
    let canary = |id: &&str| Canary {
        id: (*id).to_owned(),
        query: "q".to_owned(),
        kind: CanaryKind::Mixed,
        expect: Vec::new(),
        within: 5,
        max_score: None,
        line: 1,
        definition_hash: "c".to_owned(),
    };
    let monitor = |(id, canaries): &(&str, &[&str])| {
        let url = Address { shown: "http://x".to_owned(), resolved: Secret::new("http://x") };
        let mut monitor = Monitor::undeclared(id, url);
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
    store.config_loaded(&both, "version: 1", at(0)).await.expect("noted");
    store.config_loaded(&only_docs, "version: 1 # less", at(10)).await.expect("noted");
    let gone = [
        ("SELECT COUNT(*) FROM monitors WHERE removed_at IS NOT NULL", 1, "a monitor that left is marked, not erased"),
        ("SELECT COUNT(*) FROM canaries WHERE removed_at IS NOT NULL", 1, "and so is a canary"),
        ("SELECT COUNT(*) FROM config_versions", 2, "both files are remembered"),
    ];
    for (sql, expected, sentence) in gone {
        assert_eq!(number(&place.path(), sql).await, expected, "{sentence}");
    }
    let first_seen = store.config_loaded(&both, "version: 1", at(20)).await.expect("noted");
    let days: Vec<_> = ["docs", "wiki"].iter().map(|id| first_seen[&MonitorId::new(id)]).collect();
    assert_eq!(days, [at(0), at(0)], "who comes back keeps the first day");
    let back = [
        ("SELECT COUNT(*) FROM monitors WHERE removed_at IS NOT NULL", 0, "and is no longer marked"),
        ("SELECT COUNT(*) FROM config_versions", 2, "a file that returns is the same file"),
    ];
    for (sql, expected, sentence) in back {
        assert_eq!(number(&place.path(), sql).await, expected, "{sentence}");
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
    assert_eq!(number(&place.path(), texts).await, 3, "two equal failures are one text");
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
        let found = (number(&place.path(), left).await, number(&place.path(), texts).await);
        assert_eq!(found, (rows, texts_left), "{sentence}");
    }
    assert_eq!(store.transcript(&lines[2].hash).await.expect("read"), None);
    store.close().await;
}

/// The permissions of what lies in a folder, by name.
fn modes(folder: &Path) -> BTreeMap<String, u32> {
    use std::os::unix::fs::PermissionsExt as _;
    let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file"));
    let mode = |file: &std::fs::DirEntry| file.metadata().expect("it is there").permissions().mode() & 0o777;
    files.map(|file| (file.file_name().to_string_lossy().into_owned(), mode(&file))).collect()
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
}

#[tokio::test]
async fn nobody_else_reads_what_serin_writes() {
    let place = Place::new();
    let folder = place.folder.path();
    let store = place.open().await;
    store.commit(record("docs", 0)).await.expect("it commits");
    let backup = folder.join("backup.db");
    // What an older Serin left behind half-written is not written on as it was.
    std::fs::write(folder.join("backup.db.partial"), "").expect("a file");
    set_mode(&folder.join("backup.db.partial"), 0o644);
    serin::store::file::backup::write(&place.path(), &backup, false).await.expect("a backup");
    let output = folder.join("beats.csv");
    let mut export = std::process::Command::new(env!("CARGO_BIN_EXE_serin"));
    export.args(["export", "beats", "--database"]).arg(place.path()).arg("--output").arg(&output);
    assert!(export.status().expect("the binary starts").success());
    let ours = ["backup.db", "beats.csv", "serin.db", "serin.db-shm", "serin.db-wal", "serin.db.lock"];
    assert_eq!(modes(folder), ours.map(|name| (name.to_owned(), 0o600)).into());
    store.close().await;

    // A backup of an older Serin, or one that somebody copied: what is put back is as private as a new one.
    set_mode(&backup, 0o644);
    let fresh = tempfile::tempdir().expect("a folder");
    let put_back = fresh.path().join("serin.db");
    serin::store::file::restore::restore(&backup, &put_back, at(0)).await.expect("it is put back");
    assert!(modes(fresh.path()).values().all(|mode| *mode == 0o600), "{:?}", modes(fresh.path()));
}

#[tokio::test]
async fn a_database_that_others_were_let_read_stays_so() {
    let place = Place::new();
    place.open().await.close().await;
    set_mode(&place.path(), 0o640);
    let store = place.open().await;
    store.commit(record("docs", 0)).await.expect("it commits");
    let modes = modes(place.folder.path());
    assert_eq!(["serin.db", "serin.db-wal", "serin.db-shm"].map(|name| modes[name]), [0o640; 3]);
    serin::store::file::backup::write(&place.path(), &place.folder.path().join("backup.db"), false)
        .await
        .expect("a backup");
    assert_eq!(self::modes(place.folder.path())["backup.db"], 0o600, "a backup is its own file");
}
