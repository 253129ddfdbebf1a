use super::*;
use crate::daemon::permits::Permits;
use crate::domain::monitor::MonitorId;
use crate::domain::secret::{Address, Secret};
use crate::live::monitor_view::MonitorView;
use crate::live::state::LiveChange;

const WEIGHT: BeatWeight =
    BeatWeight { scheduled: true, apart: false, answers: (0, 0), every: Duration::from_secs(60) };

/// A good beat that decided nothing, and the state it leads to: since `now`.
async fn quiet_beat(
    context: LoopContext,
    runtime: Arc<tokio::sync::Mutex<MonitorRuntime>>,
    now: DateTime<Utc>,
) -> bool {
    let mut runtime = runtime.lock().await;
    let seen = Observation::blank(runtime.monitor.id.clone(), BeatKind::Scheduled, now, now);
    let outcome = Outcome { verdict: Verdict::Good, ..classify(&runtime.monitor, &seen) };
    let next = Next {
        state: Arc::new(MonitorState::new(now)),
        profile: ServerProfile::default(),
        transcript_policy: TranscriptPolicy::default(),
        texts_today: DayBytes::default(),
        noted: None,
        started: Instant::now(),
    };
    let record = ChangeSet {
        beat: Some(beat_row(&seen, &outcome, &next.state, ("", &runtime.monitor))),
        ..ChangeSet::default()
    };
    let mark = BeatMark { at: now, verdict: Verdict::Good, reason: None, elapsed_ms: 1.0 };
    let counted = Counted { mark, lived: lived(), weight: WEIGHT };
    remembered(&context, &mut runtime, next, (Ok(Box::new(record)), Vec::new()), counted).await
}

fn shown(context: &LoopContext, id: &MonitorId) -> MonitorView {
    context.live.standing(id).unwrap().view()
}

#[tokio::test]
async fn a_quiet_beat_is_shown_while_it_waits_for_company_and_taken_back_where_it_is_not_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let context = LoopContext::idle(folder.path(), Fleet::default()).await;
    context.store.gather_for(Duration::from_secs(3_600));
    let mut changes = context.live.changes();
    let monitor = Arc::new(Monitor::undeclared("docs", Address { shown: String::new(), resolved: Secret::new("") }));
    let (id, since) = (monitor.id.clone(), Utc::now() - Duration::from_secs(600));
    let runtime = Arc::new(tokio::sync::Mutex::new(MonitorRuntime::new(monitor, since)));

    let first = tokio::spawn(quiet_beat(context.clone(), Arc::clone(&runtime), Utc::now()));
    assert!(matches!(changes.recv().await, Ok(LiveChange::Monitor(told)) if told == id));
    assert_eq!(shown(&context, &id).strip.last().map(|mark| mark.verdict), Some(Verdict::Good));
    assert!(shown(&context, &id).day.coverage.is_some(), "and counted");
    assert!(!first.is_finished(), "its commit is an hour away");
    context.store.hurry();
    assert!(first.await.unwrap(), "or as soon as somebody cannot wait");

    context.store.close().await;
    let before = Arc::clone(&runtime.lock().await.state);
    assert!(!quiet_beat(context.clone(), Arc::clone(&runtime), Utc::now()).await);
    let strip: Vec<Verdict> = shown(&context, &id).strip.iter().map(|mark| mark.verdict).collect();
    assert_eq!(strip, [Verdict::Good, Verdict::Unknown], "nobody knows how it went");
    let runtime = runtime.lock().await;
    assert!(Arc::ptr_eq(&runtime.state, &before), "and it is judged as if it had not been");
    let hour = *runtime.history.hours.lock().back().unwrap();
    assert_eq!((hour.due, hour.seen, hour.up), (2, 1, 1), "due, but not seen");
}

#[tokio::test]
async fn a_beat_that_waits_for_its_commit_takes_no_other_beats_place() {
    let folder = tempfile::tempdir().unwrap();
    let context = LoopContext::idle(folder.path(), Fleet::default()).await;
    let mut changes = context.live.changes();
    let permits = Permits::new(1);
    let permit = permits.start().unwrap();
    assert!(permits.start().is_none(), "it is the only one");
    let monitor = Arc::new(Monitor::undeclared("docs", Address { shown: String::new(), resolved: Secret::new("") }));
    let mut runtime = MonitorRuntime::new(monitor, Utc::now());
    let now = Utc::now();
    let mut beat = std::pin::pin!(beat(&context, &mut runtime, BeatKind::Scheduled, now, permit));
    tokio::select! {
        biased;
        _ = &mut beat => panic!("a first failure decides nothing, and its commit waits a moment"),
        _ = changes.recv() => {}
    }
    assert!(permits.start().is_some(), "its probe is over");
    beat.await;
}
