//! The primary dies and its standby takes over: with a synchronous one nothing that was decided is lost or doubled, and what an
//! asynchronous one lacks is written again as it was.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serin::domain::lease::Leases;
use serin::domain::paging::delivery::AttemptEnd;
use serin::domain::paging::silence::Silence;
use serin::domain::shard::Shard;
use serin::store::values::change_set::ChangeSet;
use serin::store::values::claims::{Attempted, Claim, NextAttempt, TriedDelivery};
use serin::store::{Store, StoreError};

use crate::cluster::{Cluster, Server, Standby};
use crate::shared::{at, beat, claimed, incident, outgoing, record, saying};

/// Far beyond what anything takes.
const LONG: Duration = Duration::from_secs(60);

/// A monitor's incident opens, with a page about it.
pub(crate) fn opening(id: &str, monitor: &str) -> ChangeSet {
    let one = incident(id, monitor, 0);
    let mut change = saying(vec![outgoing(&format!("n-{id}"), Some(&one), 1, &[("oncall", Some("mail"))])]);
    change.beat = Some(beat(monitor, 0));
    change.incidents = vec![one];
    change
}

/// Opens incidents one after another until it is told to stop, as monitors do: what could not be remembered is decided again,
/// and has another id then. Gives what was acknowledged.
pub(crate) async fn decide(
    store: Store,
    whose: usize,
    done: Arc<AtomicUsize>,
    stop: tokio_util::sync::CancellationToken,
) -> BTreeSet<String> {
    let mut acknowledged = BTreeSet::new();
    let mut tries = 0;
    while !stop.is_cancelled() {
        let id = format!("i-{whose}-{}-{tries}", acknowledged.len());
        match store.commit(opening(&id, &format!("m-{whose}-{}", acknowledged.len()))).await {
            Ok(()) => {
                acknowledged.insert(id);
                done.fetch_add(1, Ordering::Relaxed);
            }
            Err(StoreError::Unreachable(_) | StoreError::Locked | StoreError::Other(_)) => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    acknowledged
}

/// Waits until so many more were acknowledged.
pub(crate) async fn until_more(done: &AtomicUsize, more: usize) {
    let wanted = done.load(Ordering::Relaxed) + more;
    let reached = async {
        while done.load(Ordering::Relaxed) < wanted {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, reached).await.expect("decisions flow");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_synchronous_standby_no_decision_is_lost_or_doubled() {
    let mut cluster = Cluster::start(Standby::Synchronous).await;
    let store = Store::open(cluster.address()).await.expect("it opens");
    let (done, stop) = (Arc::new(AtomicUsize::new(0)), tokio_util::sync::CancellationToken::new());
    let deciding = (0..8).map(|whose| tokio::spawn(decide(store.clone(), whose, Arc::clone(&done), stop.clone())));
    let deciding: Vec<_> = deciding.collect();
    until_more(&done, 40).await;
    cluster.fail_over().await;
    until_more(&done, 40).await;
    stop.cancel();
    let mut acknowledged = BTreeSet::new();
    for task in deciding {
        acknowledged.extend(task.await.expect("it ends"));
    }
    let there = &cluster.standby;
    let all: Vec<String> = acknowledged.iter().cloned().collect();
    assert_eq!(
        there.read("SELECT id FROM incidents ORDER BY id").await,
        all,
        "each that was acknowledged, and no other"
    );
    let promised = "SELECT incident FROM deliveries WHERE receiver = 'oncall' ORDER BY incident";
    assert_eq!(there.read(promised).await, all, "and each is promised once");
    store.close().await;
}

/// A machine that shares the fleet.
struct Machine {
    store: Store,
    name: &'static str,
    held: Leases,
}

impl Machine {
    async fn on(cluster: &Cluster, name: &'static str) -> Self {
        Self { store: Store::open(cluster.address()).await.expect("it opens"), name, held: Leases::none() }
    }

    /// Says that it lives; how many shards it has from now on.
    async fn turn(&mut self) -> usize {
        let turn = self.store.lease_turn((self.name, "f1", at(0)), &self.held).await.expect("a turn");
        self.held = turn.leases;
        self.held.iter().count()
    }

    /// An incident of a monitor that it watches; of which shard.
    async fn opens(&self, id: &str) -> Shard {
        let mut names = (0..).map(|nth| format!("{id}-{nth}"));
        let monitor = names.find(|name| self.held.of(Shard::of(name)).is_some()).expect("one of many");
        let shard = Shard::of(&monitor);
        let change = ChangeSet { lease: self.held.of(shard), ..opening(id, &monitor) };
        self.store.commit(change).await.expect("it watches it");
        shard
    }

    async fn delivered(&self, claim: &Claim) {
        let tried = Attempted {
            is_again: false,
            deliveries: vec![TriedDelivery { id: claim.delivery.clone(), stand_ins: Vec::new() }],
            lease: claim.lease.clone(),
            started_at: at(11),
            ended_at: at(12),
            end: AttemptEnd::Accepted,
            external_ref: None,
            next: NextAttempt::Sent,
        };
        self.store.attempted(tried).await.expect("recorded");
    }
}

/// All that was decided, as a text a row.
async fn decided(server: &Server) -> Vec<String> {
    let mut all = Vec::new();
    for rows in [
        "SELECT 'incident ' || id || ' ' || monitor || ' ' || COALESCE(acknowledged_by, '-') FROM incidents",
        "SELECT 'said ' || id || ' ' || payload FROM notifications",
        "SELECT 'promised ' || id || ' ' || notification || ' ' || receiver || ' ' || state FROM deliveries",
        "SELECT 'tried ' || delivery || ' ' || number || ' ' || ended FROM attempts",
        "SELECT 'line ' || incident || ' ' || kind || ' ' || text FROM incident_events",
        "SELECT 'silence ' || id || ' ' || author FROM silences",
        "SELECT 'asked ' || action || ' ' || subject || ' ' || actor FROM actions",
        "SELECT 'lease ' || shard || ' ' || COALESCE(node, '-') FROM leases",
    ] {
        all.extend(server.read(&format!("{rows} ORDER BY 1")).await);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_asynchronous_standby_lacks_is_written_again_with_the_same_ids() {
    let mut cluster = Cluster::start(Standby::Asynchronous).await;
    let mut one = Machine::on(&cluster, "one").await;
    assert_eq!(one.turn().await, 256);
    one.opens("i0").await;
    cluster.leave_behind().await;
    // From here on the standby hears of nothing.
    let mut handed_over = Vec::new();
    for nth in 0..8 {
        handed_over.push(one.opens(&format!("h{nth}")).await);
    }
    let mut two = Machine::on(&cluster, "two").await;
    two.turn().await;
    assert_eq!((one.turn().await, two.turn().await), (128, 128), "half of it changes hands");
    handed_over.retain(|shard| two.held.of(*shard).is_some());
    assert!(!handed_over.is_empty(), "with what the first one had decided there");
    one.opens("i1").await;
    two.opens("i2").await;
    // What each decided is told by the other, and taken there.
    let (_, claims) = claimed(&two.store, at(10)).await;
    for claim in claims.iter().filter(|claim| claim.notification != "n-i0") {
        let teller = if claim.notification == "n-i1" { &two } else { &one };
        teller.delivered(claim).await;
    }
    assert_eq!(claims.len(), 11);
    assert_eq!(two.store.acknowledge("i1", "ada", at(13)).await, Ok(true));
    assert_eq!(two.store.acknowledge("i1", "bob", at(14)).await, Ok(false), "somebody has it");
    let silence = Silence {
        id: "s1".to_owned(),
        matches: serin::domain::route::Match::default(),
        author: "ada".to_owned(),
        comment: String::new(),
        from: at(14),
        until: Some(at(1_000)),
        until_incident: None,
        ended: None,
    };
    assert_eq!(one.store.make_silence(silence, at(14)).await, Ok(true));
    one.store.commit(record("calm", 600)).await.expect("a beat that decides nothing");
    let before = decided(&cluster.primary).await;
    let known = decided(&cluster.standby).await;
    assert!(known.len() < before.len() && !known.iter().any(|row| row.contains("i1")), "it is behind: {known:#?}");
    cluster.fail_over().await;
    // The one that told comes first: what it told of is not there yet.
    until_known(&two.store).await;
    until_known(&one.store).await;
    until_known(&two.store).await;
    assert_eq!(decided(&cluster.standby).await, before, "all of it as it was, and each once");
    let calm = "SELECT CAST(COUNT(*) AS TEXT) FROM beats WHERE monitor = 'calm'";
    assert_eq!(cluster.standby.read(calm).await, ["0"], "nobody was told anything by that one");
    for lease in handed_over.iter().filter_map(|shard| two.held.of(*shard)) {
        let (shard, taken_again) = (lease.shard.number(), lease.epoch + 1);
        let added_to = format!("SELECT CAST(epoch > {taken_again} AS TEXT) FROM leases WHERE shard = {shard}");
        assert_eq!(cluster.standby.read(&added_to).await, ["true"], "so that it is read once more");
    }
    let (again, _) = claimed(&one.store, at(60)).await;
    assert_eq!(again, ["n-i0>oncall"], "what was delivered is not delivered again");
    let before = two.held.clone();
    let shared = async { while (one.turn().await, two.turn().await) != (128, 128) {} };
    tokio::time::timeout(LONG, shared).await.expect("it is shared as before");
    assert!(two.held.without(&before).iter().next().is_some(), "what it took again it reads again");
    one.opens("i3").await;
    two.opens("i4").await;
    assert_eq!(two.store.give_back("i1", "ada", at(70)).await, Ok(true));
    until_known(&two.store).await;
    let taken = "SELECT COALESCE(acknowledged_by, '-') FROM incidents WHERE id = 'i1'";
    assert_eq!(cluster.standby.read(taken).await, ["-"], "what did nothing then is not done later");
    two.store.close().await;
    one.store.close().await;
}

/// Waits until a write reaches whichever takes any.
async fn until_known(store: &Store) {
    let known = async {
        while let Err(error) = store.touch(at(0)).await {
            assert!(matches!(error, StoreError::Unreachable(_)), "{error:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(LONG, known).await.expect("it is known by then");
}
