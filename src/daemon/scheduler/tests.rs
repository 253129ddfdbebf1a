use super::*;
use crate::daemon::rows::beat_row;
use crate::daemon::watch::BeatResult;
use crate::domain::action::Asked;
use crate::domain::classify::classify;
use crate::domain::depends_on::Parent;
use crate::domain::observation::Observation;
use crate::domain::outcome::{Outcome, Verdict};
use crate::domain::schedule::Rhythm;
use crate::domain::secret::{Address, Secret};
use crate::live::published::{Followed, SlimStanding};
use crate::store::values::change_set::{BeatRow, ChangeSet};

/// That of the whole of a file.
fn lease() -> Lease {
    Leases::whole().of_monitor(&docs().id).unwrap()
}

fn docs() -> Arc<Monitor> {
    Arc::new(Monitor::undeclared("docs", Address { shown: String::new(), resolved: Secret::new("") }))
}

/// A scheduler over one monitor whose runtime is away, as while a beat is under way.
async fn busy(folder: &std::path::Path) -> (Scheduler, Box<MonitorRuntime>) {
    let fleet = Fleet { monitors: vec![docs()], ..Fleet::default() };
    let context = LoopContext::idle(folder, fleet).await;
    let mut scheduler = Scheduler::new(context, vec![MonitorRuntime::new(docs(), Utc::now())], 1);
    let runtime = scheduler.slots.get_mut(&docs().id).unwrap().runtime.take().unwrap();
    (scheduler, runtime)
}

fn suspects(scheduler: &Scheduler) -> usize {
    scheduler.dues.iter().filter(|due| due.kind == DueKind::Suspect).count()
}

#[test]
fn a_beat_that_starts_early_is_not_planned_once_more() {
    let wall = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
    let (id, every) = (MonitorId::new("docs"), Duration::from_secs(60));
    let rhythm = Rhythm::alone(&id, every);
    let (half, hour) = (Duration::from_secs(30), Duration::from_secs(3_600));
    let rows = [
        (5, 5, wall + Duration::from_millis(5), "late, as beats are"),
        (0, 0, wall, "on time"),
        (-20, 0, wall, "early by what the machine did between two looks at its clocks"),
        (40_000, 40_000, wall + Duration::from_secs(40), "late by both clocks: the very next one is not left out"),
        (-3_600_000, 0, wall - hour + half, "the clock was set back, and is followed"),
        (3_600_000, 0, wall + hour + half, "the clock was set forward, and is followed"),
    ];
    for (wall_ms, late_ms, expected, sentence) in rows {
        let now = wall + chrono::TimeDelta::milliseconds(wall_ms);
        assert_eq!(after(wall, now, Duration::from_millis(late_ms), every), expected, "{sentence}");
    }
    for set_by in (-7_200..7_200).filter(|seconds: &i64| seconds.abs() > 1) {
        let now = wall + chrono::TimeDelta::seconds(set_by);
        let next = rhythm.next_due(7, after(wall, now, Duration::ZERO, every));
        assert!(next - now >= chrono::TimeDelta::seconds(30), "set by {set_by} s: the beat under way has time to end");
    }
    let due = rhythm.next_due(7, wall);
    let early = due - Duration::from_millis(20);
    let from = after(due, early, Duration::ZERO, every);
    assert!(rhythm.next_due(7, from) > due, "the next one is another one");
}

#[tokio::test]
async fn a_suspect_beat_waits_for_the_one_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let (mut scheduler, _runtime) = busy(folder.path()).await;
    scheduler.start(&docs().id, BeatKind::Suspect, Utc::now());
    assert_eq!(suspects(&scheduler), 1, "it is put off, not dropped");
    scheduler.start(&docs().id, BeatKind::Scheduled, Utc::now());
    assert_eq!(suspects(&scheduler), 1, "a scheduled one is missed and never queued");
}

#[tokio::test]
async fn without_a_permit_nothing_is_lost_but_the_scheduled_beat() {
    let folder = tempfile::tempdir().unwrap();
    let (mut scheduler, runtime) = busy(folder.path()).await;
    scheduler.finish(BeatReturn {
        monitor: docs().id.clone(),
        lease: lease(),
        runtime: Some(runtime),
        after: BeatResult::default(),
    });
    let _permit = scheduler.permits.start().unwrap();
    scheduler.start(&docs().id, BeatKind::Suspect, Utc::now());
    assert!(scheduler.slots[&docs().id].runtime.is_some(), "the runtime stays where it was");
    assert_eq!(suspects(&scheduler), 1, "and the suspect beat is put off");
}

#[tokio::test]
async fn while_a_server_has_quiet_only_a_person_gets_through() {
    let folder = tempfile::tempdir().unwrap();
    let (mut scheduler, mut runtime) = busy(folder.path()).await;
    let until = Utc::now() + Duration::from_secs(3_600);
    runtime.spending.quiet.until = Some(until);
    scheduler.finish(BeatReturn {
        monitor: docs().id.clone(),
        lease: lease(),
        runtime: Some(runtime),
        after: BeatResult::default(),
    });
    scheduler.start(&docs().id, BeatKind::Scheduled, Utc::now());
    assert!(scheduler.slots[&docs().id].runtime.is_some(), "no beat sets out");
    scheduler.start(&docs().id, BeatKind::Suspect, Utc::now());
    assert!(scheduler.slots[&docs().id].runtime.is_some(), "nor a suspect one");
    let put_off = scheduler.dues.iter().find(|due| due.kind == DueKind::Suspect).unwrap();
    assert_eq!(put_off.wall, until, "which waits for the end of the quiet");
    scheduler.start(&docs().id, BeatKind::Recheck, Utc::now());
    assert!(scheduler.slots[&docs().id].runtime.is_none(), "a person may look");
}

#[tokio::test]
async fn however_often_somebody_asks_one_more_look_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (mut scheduler, _runtime) = busy(folder.path()).await;
    for _ in 0..50 {
        scheduler.act(wanted_look());
    }
    assert_eq!(scheduler.slots[&docs().id].changes.len(), 1);
}

#[tokio::test]
async fn the_last_word_on_a_removed_monitor_counts() {
    let (edit, remove) = (|| PendingChange::Edit(docs()), || PendingChange::Remove);
    let rows = [
        (vec![], false, "removed"),
        (vec![edit()], true, "removed and declared again"),
        (vec![edit(), remove()], false, "removed, declared and removed again"),
        (vec![edit(), remove(), edit()], true, "and declared after all"),
    ];
    for (changes, is_declared, sentence) in rows {
        let folder = tempfile::tempdir().unwrap();
        let (mut scheduler, _runtime) = busy(folder.path()).await;
        let monitors = is_declared.then(docs).into_iter().collect();
        scheduler.fleet = Arc::new(Fleet { monitors, ..Fleet::default() });
        scheduler.slots.get_mut(&docs().id).unwrap().changes = changes;
        scheduler.finish(BeatReturn {
            monitor: docs().id.clone(),
            lease: lease(),
            runtime: None,
            after: BeatResult::default(),
        });
        assert!(!scheduler.slots.contains_key(&docs().id), "{sentence}: its former life is over");
        assert_eq!(scheduler.coming.contains(&docs().id), is_declared, "{sentence}");
        if is_declared {
            let arrived = scheduler.arrivals.recv().await.expect("it is looked up");
            scheduler.arrive(arrived);
        }
        assert_eq!(scheduler.slots.contains_key(&docs().id), is_declared, "{sentence}");
    }
}

#[tokio::test]
async fn who_is_removed_while_it_is_looked_up_ends_what_it_had_open() {
    let folder = tempfile::tempdir().unwrap();
    let (mut scheduler, _runtime) = busy(folder.path()).await;
    let id = docs().id.clone();
    scheduler.slots.remove(&id);
    scheduler.look_up(vec![docs()]);
    let arrived = scheduler.arrivals.recv().await.expect("it is looked up");
    scheduler.fleet = Arc::default();
    scheduler.arrive(arrived);
    assert!(scheduler.slots[&id].runtime.is_none(), "it is being removed");
    let back = scheduler.returns.recv().await.expect("it comes back");
    assert!(back.runtime.is_none(), "as one that is gone");
    scheduler.finish(back);
    assert!(!scheduler.slots.contains_key(&id) && !scheduler.coming.contains(&id));
}

#[tokio::test]
async fn what_another_machine_saw_go_down_and_come_back_wakes_those_here_that_depend_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let child = Monitor { depends_on: vec![Parent::Monitor("base".to_owned())], ..Monitor::clone(&docs()) };
    let (mut scheduler, _runtime) = busy(folder.path()).await;
    scheduler.children = without_beat::children(&Fleet { monitors: vec![Arc::new(child)], ..Fleet::default() });
    let base = Arc::new(Monitor { id: MonitorId::new("base"), ..Monitor::clone(&docs()) });
    let says = async |is_down: bool, scheduler: &mut Scheduler| {
        let as_parent = (is_down, false);
        let published = SlimStanding { as_parent, ..SlimStanding::unknown(base.id.clone(), Utc::now()) };
        let live = Arc::clone(&scheduler.context.live);
        live.put(Followed { monitor: Arc::clone(&base), published });
        live.turned_elsewhere().await;
        scheduler.look_elsewhere();
        let waiting = std::mem::take(&mut scheduler.slots.get_mut(&docs().id).unwrap().changes);
        (suspects(scheduler), matches!(waiting[..], [PendingChange::Tell]))
    };
    scheduler
        .context
        .live
        .put(Followed { monitor: Arc::clone(&base), published: SlimStanding::unknown(base.id.clone(), Utc::now()) });
    assert_eq!(says(true, &mut scheduler).await, (0, true), "it is down: what is open may be held by it");
    assert_eq!(says(false, &mut scheduler).await, (2, true), "it is back: they are looked at, and told of");
}

#[tokio::test]
async fn what_changed_hands_while_it_was_read_is_read_again_together() {
    let folder = tempfile::tempdir().unwrap();
    let (mut scheduler, _runtime) = busy(folder.path()).await;
    let nowhere = || Address { shown: String::new(), resolved: Secret::new("") };
    let monitors = ["a", "b", "c"].map(|id| Arc::new(Monitor::undeclared(id, nowhere())));
    scheduler.fleet = Arc::new(Fleet { monitors: monitors.to_vec(), ..Fleet::default() });
    let read = monitors.map(|monitor| MonitorRuntime::new(monitor, Utc::now()));
    scheduler.leases =
        Arc::new(Leases::whole().iter().map(|lease| Lease { epoch: lease.epoch + 1, ..lease }).collect());
    scheduler.arrive(read.into_iter().collect());
    let arrived = scheduler.arrivals.recv().await.expect("they are looked up");
    assert_eq!(arrived.len(), 3, "hundreds of looks at once would keep the database from answering any");
    scheduler.arrive(arrived);
    assert!(["a", "b", "c"].iter().all(|id| scheduler.slots.contains_key(&MonitorId::new(id))));
}

#[tokio::test]
async fn who_moves_to_another_slot_is_neither_missed_nor_looked_at_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (mut scheduler, _runtime) = busy(folder.path()).await;
    let now = Utc::now();
    let planned = |scheduler: &Scheduler| scheduler.dues.iter().map(|due| due.wall).max().unwrap();
    let due = Due { at: Instant::now(), wall: now, monitor: docs().id.clone(), kind: DueKind::Scheduled, plan: 0 };
    let every = docs().every;
    for (moved, least, most) in [(true, every / 2, every * 3 / 2), (false, Duration::ZERO, every)] {
        while scheduler.dues.pop_until(Instant::now() + every * 4).is_some() {}
        scheduler.slots.get_mut(&docs().id).unwrap().moved = moved;
        scheduler.plan_next(&due);
        let gap = (planned(&scheduler) - now).to_std().unwrap();
        assert!(gap >= least && gap <= most + Duration::from_secs(3), "moved: {moved}, the next one is {gap:?} away");
        assert!(!scheduler.slots[&docs().id].moved, "once");
    }
}

#[tokio::test]
async fn a_monitor_that_comes_back_has_no_due_of_its_former_life() {
    let folder = tempfile::tempdir().unwrap();
    let (mut scheduler, _runtime) = busy(folder.path()).await;
    let id = docs().id.clone();
    let former: Vec<u64> = scheduler.dues.iter().map(|due| due.plan).collect();
    assert!(!former.is_empty(), "a beat is planned");
    let rhythm = scheduler.slots[&id].rhythm;
    scheduler.finish(BeatReturn { monitor: id.clone(), lease: lease(), runtime: None, after: BeatResult::default() });
    assert!(!scheduler.slots.contains_key(&id), "it was removed");
    scheduler.add(MonitorRuntime::new(docs(), Utc::now()), rhythm);
    let slot = &scheduler.slots[&id];
    assert!(!former.contains(&slot.plan) && !former.contains(&slot.suspects), "what was planned then is passed over");
}

#[tokio::test]
async fn while_somebody_waits_for_a_beat_no_beat_waits_for_company() {
    let folder = tempfile::tempdir().unwrap();
    let (mut scheduler, runtime) = busy(folder.path()).await;
    let (id, store) = (docs().id.clone(), scheduler.context.store.clone());
    store.gather_for(Duration::from_secs(3_600));
    scheduler.act(wanted_look());
    // The beat under way ends only now, after everything was hurried that waited then.
    assert_eq!(store.commit(ChangeSet { beat: Some(quiet(&id)), ..ChangeSet::default() }).await, Ok(()));
    scheduler.take_back(BeatReturn {
        monitor: id,
        lease: lease(),
        runtime: Some(runtime),
        after: BeatResult::default(),
    });
    assert!(scheduler.wanted.is_empty(), "once it is back, others wait for company again");
}

/// Somebody wants a look.
fn wanted_look() -> Action {
    let (id, actor) = ("a".to_owned(), String::new());
    Action { id, monitor: docs().id.clone(), actor, at: Utc::now(), asked: Asked::Recheck }
}

/// The row of a beat that decided nothing.
fn quiet(id: &MonitorId) -> BeatRow {
    let now = Utc::now();
    let seen = Observation::blank(id.clone(), BeatKind::Scheduled, now, now);
    let outcome = Outcome { verdict: Verdict::Good, ..classify(&docs(), &seen) };
    beat_row(&seen, &outcome, &crate::domain::monitor_state::MonitorState::new(now), ("", &docs()))
}
