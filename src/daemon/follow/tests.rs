use chrono::DateTime;

use super::*;
use crate::daemon::publish::publish;
use crate::daemon::resume::tests::open;
use crate::domain::fleet_files::FileWord;
use crate::domain::fleet_files::FleetFiles;
use crate::domain::incident::Incident;
use crate::domain::monitor_state::MonitorState;
use crate::domain::observation::BeatKind;
use crate::domain::outcome::Verdict;
use crate::domain::paging::tell::Telling;
use crate::domain::secret::{Address, Secret};
use crate::domain::shard::Shard;
use crate::domain::signal::{Phase, Signal, SignalState};
use crate::live::monitor_view::{BeatMark, RollUp};
use crate::live::standing::Standing;
use crate::store::values::change_set::{BeatRow, BeatSeen, ChangeSet};

/// Two machines that share a database, each watching one half of a fleet.
struct Machines {
    _folder: tempfile::TempDir,
    fleet: Fleet,
    both: [(LoopContext, Shards); 2],
}

fn fleet(ids: impl Iterator<Item = String>) -> Fleet {
    let address = || Address { shown: String::new(), resolved: Secret::new("") };
    let monitor = |id: String| Arc::new(Monitor::undeclared(&id, address()));
    Fleet { monitors: ids.map(monitor).collect(), ..Fleet::default() }
}

impl Machines {
    async fn new() -> Self {
        let fleet = fleet((0..40).map(|number| format!("m{number}")));
        let folder = tempfile::tempdir().unwrap();
        let one = LoopContext::idle(folder.path(), fleet.clone()).await;
        one.store.config_loaded(&fleet, (&FleetFiles::default(), FileWord::Start), now()).await.unwrap();
        let other = LoopContext { live: Arc::new(LiveState::default()), ..one.clone() };
        [&one, &other].iter().for_each(|context| context.live.publishes(true));
        let (low, high): (Vec<Shard>, Vec<Shard>) = Shards::ALL.iter().partition(|shard| shard.number() < 128);
        let both = [(one, Shards::from_iter(low)), (other, Shards::from_iter(high))];
        Self { _folder: folder, fleet, both }
    }

    /// The one that watches a monitor, and the one that follows it.
    fn of(&self, id: &MonitorId) -> (&LoopContext, &LoopContext) {
        let [(one, of_one), (other, _)] = &self.both;
        if of_one.hold_monitor(id) { (one, other) } else { (other, one) }
    }

    /// Each says how what it watches stands, and looks at what the other said.
    async fn exchange(&self, following: &mut [Following; 2]) {
        for (context, _) in &self.both {
            publish(context).await.unwrap();
        }
        for ((context, _), following) in self.both.iter().zip(following) {
            following.look(&context.store, &context.live).await.unwrap();
        }
    }

    fn following(&self) -> [Following; 2] {
        self.both.each_ref().map(|(_, watched)| Following::new(&self.fleet, *watched))
    }
}

/// As precisely as the database has it.
fn now() -> DateTime<Utc> {
    DateTime::from_timestamp_micros(Utc::now().timestamp_micros()).unwrap()
}

fn shown(context: &LoopContext) -> Vec<SlimStanding> {
    // Whoever watches it does not say so of itself.
    let slim = |one: &Arc<dyn Standing>| SlimStanding { node: String::new(), ..SlimStanding::of(&**one) };
    let mut all: Vec<_> = context.live.all().iter().map(slim).collect();
    all.sort_by(|one, other| one.id.cmp(&other.id));
    all
}

/// A monitor that was seen just now; down where there is an incident.
fn seen(monitor: &Arc<Monitor>, incident: Option<&str>) -> MonitorRuntime {
    let now = now();
    let mut runtime = MonitorRuntime::new(Arc::clone(monitor), now);
    let mut state = MonitorState::clone(&runtime.state);
    state.restore_worked();
    if let Some(id) = incident {
        state.restore_signal(Signal::Availability, SignalState { phase: Phase::Open, ..SignalState::quiet(now) });
        let incident = Incident { id: id.to_owned(), ..open(monitor.id.as_str(), now) };
        state.restore_incident(incident, Telling::default());
    }
    runtime.state = Arc::new(state);
    let verdict = if incident.is_some() { Verdict::Down } else { Verdict::Good };
    let mark = BeatMark { at: now, verdict, reason: None, elapsed_ms: 12.0 };
    runtime.history.strip.lock().push(mark);
    runtime
}

#[tokio::test]
async fn every_machine_shows_the_whole_fleet_as_whoever_watches_it_does() {
    let machines = Machines::new().await;
    let mut following = machines.following();
    for (number, monitor) in machines.fleet.monitors.iter().enumerate() {
        let id = format!("i{number}");
        let mut runtime = seen(monitor, (number % 4 == 0).then_some(&*id));
        machines.of(&monitor.id).0.live.put(runtime.view(now()));
    }
    machines.exchange(&mut following).await;
    let [one, other] = machines.both.each_ref().map(|(context, _)| shown(context));
    assert_eq!(one.len(), 40);
    assert_eq!(
        one.iter()
            .filter(|it| it.roll_up == RollUp::Down && it.signals.iter().any(|signal| signal.incident.is_some()))
            .count(),
        10
    );
    assert_eq!(one, other);

    // One recovers, one goes down: only these are published, and the other machine's open pages are told.
    let [first, second] = [&machines.fleet.monitors[0], &machines.fleet.monitors[1]];
    for (monitor, incident) in [(first, None), (second, Some("new"))] {
        let (watching, follower) = machines.of(&monitor.id);
        let mut changes = follower.live.changes();
        watching.live.put(seen(monitor, incident).view(now()));
        publish(watching).await.unwrap();
        let behind = following.iter_mut().find(|one| one.declared.contains_key(&monitor.id)).unwrap();
        behind.look(&follower.store, &follower.live).await.unwrap();
        let heard: Vec<LiveChange> = std::iter::from_fn(|| changes.try_recv().ok()).collect();
        let incident = incident.unwrap_or("i0").to_owned();
        assert_eq!(heard, [LiveChange::Monitor(monitor.id.clone()), LiveChange::Incident(incident)]);
    }
    let [one, other] = machines.both.each_ref().map(|(context, _)| shown(context));
    assert_eq!(one, other);
    assert_eq!(one.iter().filter(|it| it.roll_up == RollUp::Down).count(), 10);
    for (context, _) in &machines.both {
        assert_eq!(context.live.holder("new").unwrap().id(), &second.id, "its page is found everywhere");
        assert!(context.live.holder("i0").is_none());
    }
}

#[tokio::test]
async fn who_follows_goes_by_the_file_and_reads_on_where_it_was() {
    let machines = Machines::new().await;
    let [(watching, shards), (follower, of_follower)] = &machines.both;
    let ours: Vec<&Arc<Monitor>> =
        machines.fleet.monitors.iter().filter(|monitor| shards.hold_monitor(&monitor.id)).collect();
    ours.iter().for_each(|monitor| watching.live.put(seen(monitor, None).view(now())));
    publish(watching).await.unwrap();

    // A file that has none of them yet, then the whole one, then one without the first.
    let mut following = Following::new(&Fleet::default(), *of_follower);
    let mut steps = vec![(Fleet::default(), 0, "what is not declared is not shown")];
    steps.push((machines.fleet.clone(), ours.len(), "what was published before the file had it is shown once it does"));
    let without = machines.fleet.monitors.iter().filter(|monitor| monitor.id != ours[0].id);
    let without = Fleet { monitors: without.cloned().collect(), ..Fleet::default() };
    steps.push((without, ours.len() - 1, "what left the file is gone, whatever is published of it"));
    for (fleet, expected, sentence) in steps {
        following.declare(&fleet, following.watched, &follower.live);
        following.look(&follower.store, &follower.live).await.unwrap();
        assert_eq!(follower.live.all().len(), expected, "{sentence}");
    }

    // What was read is not read again, what is watched elsewhere is not published here, and what leaves every file is gone.
    let (all, seen_now) = watching.store.standings_since(SeenVersions::default()).await.unwrap();
    assert_eq!(all.len(), ours.len());
    assert_eq!(watching.store.standings_since(seen_now.clone()).await.unwrap().0, []);
    publish(follower).await.unwrap();
    assert_eq!(watching.store.standings_since(seen_now).await.unwrap().0, [], "what is followed is nobody's news");
    watching.store.config_loaded(&Fleet::default(), (&FleetFiles::default(), FileWord::Change), now()).await.unwrap();
    watching.live.put(seen(ours[0], None).view(now()));
    publish(watching).await.unwrap();
    let (left, _) = watching.store.standings_since(SeenVersions::default()).await.unwrap();
    assert_eq!(left, [], "what is published late does not bring it back");
}

#[tokio::test]
async fn a_page_of_what_another_machine_watches_shows_what_it_decided_and_the_past_of_the_database() {
    let machines = Machines::new().await;
    let mut following = machines.following();
    let monitor = &machines.fleet.monitors[0];
    let (watching, follower) = machines.of(&monitor.id);
    let at = Utc::now() - Duration::from_secs(60);
    let beat = BeatRow {
        verdict: Verdict::Good,
        kind: BeatKind::Scheduled,
        ..BeatRow::unmade(monitor.id.clone(), at, BeatSeen::Seen, String::new())
    };
    watching.store.commit(ChangeSet { beat: Some(beat), ..ChangeSet::default() }).await.unwrap();
    watching.live.put(seen(monitor, Some("i1")).view(now()));
    machines.exchange(&mut following).await;
    let followed = follower.live.standing(&monitor.id).unwrap().followed().unwrap().clone();
    let views = StoredViews(follower.store.clone()).views(std::slice::from_ref(&followed)).await.unwrap();
    assert_eq!(views[0].strip.len(), 1, "its beats stand in the database");
    let open = views[0].signals.iter().find_map(|signal| signal.incident.as_ref()).unwrap();
    assert_eq!((open.id.as_str(), views[0].roll_up), ("i1", RollUp::Down), "and how it stands was published");
    follower.store.close().await;
    assert!(StoredViews(follower.store.clone()).views(std::slice::from_ref(&followed)).await.is_none());
    assert_eq!(followed.view().signals, views[0].signals, "which is known while the database is away");
    watching.live.put(seen(monitor, None).view(now()));
    assert!(publish(watching).await.is_err());
    assert_eq!(
        watching.live.take_unpublished(),
        [monitor.id.clone()].into(),
        "what could not be published is tried again"
    );
}

#[tokio::test]
async fn what_nobody_has_published_for_long_is_unknown_unless_it_fails() {
    let machines = Machines::new().await;
    let monitor = &machines.fleet.monitors[0];
    let long_ago = Utc::now() - Duration::from_secs(24 * 3600);
    for (incident, fresh, stale) in [(None, RollUp::Up, RollUp::Unknown), (Some("i1"), RollUp::Down, RollUp::Down)] {
        let mut published = SlimStanding::of(&seen(monitor, incident).view(now()));
        let stands = |published: &SlimStanding| {
            Followed { monitor: Arc::clone(monitor), published: published.clone() }.roll_up()
        };
        assert_eq!(stands(&published), fresh);
        published.seen_at = Some(long_ago);
        assert_eq!(stands(&published), stale);
    }
}

#[tokio::test]
async fn after_a_connection_that_broke_all_that_is_published_is_read_again() {
    let machines = Machines::new().await;
    let [mut following, _] = machines.following();
    let [(follower, of_one), (watching, of_other)] = &machines.both;
    let theirs = machines.fleet.monitors.iter().filter(|monitor| !of_one.hold_monitor(&monitor.id));
    let count = theirs.inspect(|monitor| watching.live.put(seen(monitor, None).view(now()))).count();
    assert!(count > 0 && of_other.hold_monitor(following.declared.keys().next().unwrap()));
    publish(watching).await.unwrap();
    for (breaks, expected) in [(0, count), (0, 0), (1, count), (0, 0)] {
        let live = LiveState::default();
        // As if the store had counted another one since.
        following.reconnects += breaks;
        following.look(&follower.store, &live).await.unwrap();
        assert_eq!(
            live.all().len(),
            expected,
            "what was read is not read twice, but for a server that may have lost it"
        );
    }
}
