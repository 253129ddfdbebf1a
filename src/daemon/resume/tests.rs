use super::*;
use crate::daemon::loop_context::LoopContext;
use crate::daemon::rows::changed_signals;
use crate::domain::incident::Course;
use crate::domain::monitor_state::MonitorState;
use crate::domain::reason::Severity;
use crate::domain::rules::RulePlace;
use crate::domain::shard::{Shard, Shards};
use crate::store::values::change_set::ChangeSet;

#[tokio::test]
async fn what_canaries_have_shown_is_remembered() {
    let now = Utc::now();
    let address = Address { shown: String::new(), resolved: Secret::new("") };
    let monitor = Arc::new(Monitor::undeclared("docs", address));
    let fleet = Fleet { monitors: vec![Arc::clone(&monitor)], ..Fleet::default() };
    let folder = tempfile::tempdir().unwrap();
    let context = LoopContext::idle(folder.path(), fleet.clone()).await;
    let before = MonitorRuntime::new(Arc::clone(&monitor), now);
    let mut record = TrackRecord::default();
    record.right(5_000);
    record.blips.ended(2);
    let mut next = MonitorState::clone(&before.state);
    next.restore_track_record(record.clone(), &monitor);
    let signals = changed_signals(&before, &next);
    context.store.commit(Box::new(ChangeSet { signals, ..ChangeSet::default() })).await.unwrap();
    let resumed = started(&context.store, (&fleet, &FleetFiles::default()), &Leases::whole(), now).await.unwrap();
    assert_eq!(*resumed[0].state.track_record(), record);
    assert_eq!(resumed[0].state.signal(Signal::Quality).phase, Phase::Quiet, "and no signal stands otherwise for it");
    let mut little = record.clone();
    little.right(1);
    next.restore_track_record(little, &monitor);
    assert_eq!(changed_signals(&resumed[0], &next), [], "a right answer more is not worth a row");
}

#[tokio::test]
async fn a_canary_that_leaked_is_remembered_beside_what_it_answers_until_it_leaks_no_more() {
    let now = Utc::now();
    let address = Address { shown: String::new(), resolved: Secret::new("") };
    let monitor = Arc::new(Monitor::undeclared("docs", address));
    let fleet = Fleet { monitors: vec![Arc::clone(&monitor)], ..Fleet::default() };
    let folder = tempfile::tempdir().unwrap();
    let context = LoopContext::idle(folder.path(), fleet.clone()).await;
    let mut before = MonitorRuntime::new(monitor, now);
    let pending = SignalState { phase: Phase::Pending, streak: 1, ..SignalState::quiet(now) };
    let leak = Some(Box::new(SignalState { phase: Phase::Open, ..SignalState::quiet(now) }));
    let rows = [
        ("both", pending.clone(), leak.clone()),
        ("the leak alone", SignalState::quiet(now), leak),
        ("neither", SignalState::quiet(now), None),
        ("an answer alone", pending, None),
    ];
    for (sentence, state, leak) in rows {
        let mut next = MonitorState::clone(&before.state);
        next.canaries.insert("a", CanaryState { state, leak, ..CanaryState::new("h", now) });
        let signals = changed_signals(&before, &next);
        context.store.commit(Box::new(ChangeSet { signals, ..ChangeSet::default() })).await.unwrap();
        let resumed = started(&context.store, (&fleet, &FleetFiles::default()), &Leases::whole(), now).await.unwrap();
        let of = |state: &MonitorState| {
            let canary = state.canaries.get("a");
            canary.map(|canary| (canary.state.phase, canary.leak.as_ref().map(|leak| leak.phase)))
        };
        let expected = of(&next).filter(|known| *known != (Phase::Quiet, None));
        assert_eq!(of(&resumed[0].state), expected, "{sentence}");
        before.state = Arc::new(next);
    }
}

#[tokio::test]
async fn machines_resume_their_own_shards_and_nothing_is_left_between_them() {
    let now = Utc::now();
    let address = || Address { shown: String::new(), resolved: Secret::new("") };
    let monitors = (0..40).map(|number| Arc::new(Monitor::undeclared(&format!("m{number}"), address())));
    let fleet = Fleet { monitors: monitors.collect(), ..Fleet::default() };
    let folder = tempfile::tempdir().unwrap();
    let context = LoopContext::idle(folder.path(), fleet.clone()).await;
    let pending = |monitor: &Arc<Monitor>| SignalRow {
        monitor: monitor.id.clone(),
        signal: Signal::Latency,
        subject: String::new(),
        state: SignalState { phase: Phase::Pending, ..SignalState::quiet(now) },
        rule_hash: String::new(),
        detector: None,
    };
    let signals = fleet.monitors.iter().map(pending).collect();
    let incidents = ["m7", "left-the-file"].map(|monitor| open(monitor, now)).to_vec();
    context.store.commit(Box::new(ChangeSet { signals, incidents, ..ChangeSet::default() })).await.unwrap();
    let resumed = async |shards: &Shards| {
        let resumed = started(&context.store, (&fleet, &FleetFiles::default()), &Leases::whole().among(shards), now)
            .await
            .unwrap();
        let shown = |runtime: &MonitorRuntime| {
            let incident = runtime.state.incident(Signal::Availability).map(|incident| incident.id.clone());
            (runtime.monitor.id.clone(), runtime.state.signal(Signal::Latency).phase, incident)
        };
        let mut resumed: Vec<_> = resumed.iter().map(shown).collect();
        resumed.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        resumed
    };
    let (low, high): (Vec<Shard>, Vec<Shard>) = Shards::ALL.iter().partition(|shard| shard.number() < 128);
    let all = resumed(&Shards::ALL).await;
    assert_eq!(all.iter().filter(|(_, phase, _)| *phase == Phase::Pending).count(), 40);
    assert_eq!(all.iter().filter(|(.., incident)| incident.is_some()).count(), 2, "one of them has left the file");
    let mut both = Vec::new();
    for half in [Shards::from_iter(low), Shards::from_iter(high)] {
        let some = resumed(&half).await;
        assert!(some.iter().all(|(id, ..)| half.hold_monitor(id)) && some.len() > 10, "{some:?}");
        both.extend(some);
    }
    both.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    assert_eq!(both, all);
}

/// An open incident of a monitor that refuses connections.
pub(in crate::daemon) fn open(monitor: &str, opened_at: DateTime<Utc>) -> Incident {
    Incident {
        id: format!("i-{monitor}"),
        monitor: MonitorId::new(monitor),
        signal: Signal::Availability,
        subject: String::new(),
        severity: Severity::Page,
        reason: FailureReason::ConnectionRefused,
        stage: "connect".to_owned(),
        summary: "refused".to_owned(),
        evidence: Vec::new(),
        rule: RulePlace { file: "monitors.yaml".to_owned(), line: 1, commit: None },
        opened_at,
        resolved_at: None,
        resolve_cause: None,
        acknowledged: None,
        sequence: 1,
        course: Course::default(),
    }
}
