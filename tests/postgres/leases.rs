//! Several machines on one server: each shard is one's, and whoever has an older lease is refused.

use std::sync::Arc;
use std::time::Duration;

use serin::domain::fleet::{Fleet, Provenance};
use serin::domain::fleet_files::{FileWord, FleetFiles};
use serin::domain::lease::{Lease, Leases};
use serin::domain::shard::{Shard, Shards};
use serin::store::values::change_set::ChangeSet;
use serin::store::{OpenError, Store, StoreError};

use crate::Place;
use crate::shared::{at, record};

/// Far beyond what anything takes.
const LONG: Duration = Duration::from_secs(60);

/// A machine, and what it has.
struct Machine {
    store: Store,
    name: &'static str,
    file: &'static str,
    held: Leases,
}

impl Machine {
    async fn on(place: &Place, name: &'static str) -> Self {
        Self { store: place.open().await, name, file: "f1", held: Leases::none() }
    }

    /// Says that it lives, and how many shards it has from now on.
    async fn turn(&mut self) -> usize {
        let turn = self.store.lease_turn((self.name, self.file, at(0)), &self.held).await.expect("a turn");
        self.held = turn.leases;
        self.held.iter().count()
    }

    /// A file comes into force by it; whether it did.
    async fn load(&mut self, file: &'static str, word: FileWord) -> bool {
        self.file = file;
        let provenance = Provenance { hash: file.to_owned(), declared: file.to_owned(), ..Provenance::default() };
        let fleet = Fleet { provenance, ..Fleet::default() };
        self.store
            .config_loaded(&fleet, (&FleetFiles::single("monitors.yaml", file), word), at(0))
            .await
            .expect("noted")
    }

    /// What it decides of a monitor, under what it has.
    fn decides(&self, monitor: &str, second: i64) -> ChangeSet {
        let lease = self.held.of(Shard::of(monitor));
        ChangeSet { lease, ..record(monitor, second) }
    }
}

#[tokio::test]
async fn shards_are_shared_and_come_back_when_a_machine_leaves() {
    let place = Place::new();
    let mut one = Machine::on(&place, "one").await;
    assert_eq!(one.turn().await, 256, "alone, it has all");
    let mut two = Machine::on(&place, "two").await;
    assert_eq!(two.turn().await, 0, "nothing is free");
    assert_eq!(one.turn().await, 128, "what is the other's share is given up");
    assert_eq!(two.turn().await, 128, "and taken");
    let mut three = Machine::on(&place, "three").await;
    three.turn().await;
    let shares = [one.turn().await, two.turn().await, three.turn().await];
    assert_eq!(shares, [86, 86, 84]);
    let all: Vec<Lease> = [&one, &two, &three].iter().flat_map(|it| it.held.iter().collect::<Vec<_>>()).collect();
    let shards: Shards = all.iter().map(|lease| lease.shard).collect();
    assert_eq!((all.len(), shards), (256, Shards::ALL), "each shard is one's");
    two.store.close().await;
    assert_eq!((one.turn().await, three.turn().await), (128, 128), "who leaves in order leaves at once");
    // One that is killed is missed a little later: its session is gone.
    drop(three);
    let missed = async {
        while one.turn().await < 256 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(LONG, missed).await.expect("it is missed");
}

#[tokio::test]
async fn whoever_has_an_older_lease_is_refused_and_the_others_of_its_commit_are_not() {
    let place = Place::new();
    let mut one = Machine::on(&place, "one").await;
    one.turn().await;
    one.store.commit(one.decides("docs", 0)).await.expect("it has the shard");
    let before = one.held.clone();
    let mut two = Machine::on(&place, "two").await;
    two.turn().await;
    one.turn().await;
    two.turn().await;
    let ids: Vec<String> = (0..64).map(|nth| format!("m{nth}")).collect();
    let is_ones = |id: &&String| one.held.of(Shard::of(id)).is_some();
    // Decided before it gave up half: as if it had stood still meanwhile.
    let decided = |id: &String| ChangeSet { lease: before.of(Shard::of(id)), ..record(id, 60) };
    let told = futures_util::future::join_all(ids.iter().map(|id| one.store.commit(decided(id)))).await;
    for (id, told) in ids.iter().zip(&told) {
        let expected = if is_ones(&id) { Ok(()) } else { Err(StoreError::LeaseLost) };
        assert_eq!(*told, expected, "{id}");
    }
    let kept = i64::try_from(ids.iter().filter(is_ones).count()).expect("few");
    assert_eq!(place.number("SELECT COUNT(*) FROM beats").await, 1 + kept);
    let lost = ids.iter().find(|id| !is_ones(id)).expect("some are lost");
    two.store.commit(two.decides(lost, 60)).await.expect("who has it decides");
    // Lost and had again: what was decided under the lease of before is refused all the same.
    two.store.close().await;
    one.turn().await;
    let again = ChangeSet { lease: before.of(Shard::of(lost)), ..record(lost, 120) };
    assert_eq!(one.store.commit(again).await, Err(StoreError::LeaseLost));
    one.store.commit(one.decides(lost, 180)).await.expect("under the new one it is not");
    let janitor = one.store.under(Arc::new(before));
    assert_eq!(janitor.sweep().await, Err(StoreError::LeaseLost), "nor does its janitor do anything");
    one.store.close().await;
}

#[tokio::test]
async fn shards_go_to_who_has_the_file_in_force() {
    let place = Place::new();
    let (mut one, mut two) = (Machine::on(&place, "one").await, Machine::on(&place, "two").await);
    assert!(one.load("f1", FileWord::Start).await);
    assert_eq!((one.turn().await, two.turn().await), (256, 0));
    assert_eq!((one.turn().await, two.turn().await), (128, 128));
    assert!(two.load("f2", FileWord::Change).await, "whoever sees a change puts it in force");
    two.turn().await;
    assert_eq!((one.turn().await, two.turn().await), (0, 256), "an older file watches nothing");
    assert!(!one.load("f1", FileWord::Start).await, "a start with an older file puts it not in force");
    assert_eq!((one.turn().await, two.turn().await), (0, 256));
    assert!(!one.load("f1", FileWord::Proven).await, "however long it works");
    assert!(!one.load("f3", FileWord::Start).await, "one that nobody ever had has to work first");
    assert_eq!((one.turn().await, two.turn().await), (0, 256));
    assert!(one.load("f3", FileWord::Proven).await, "then it is newer");
    one.turn().await;
    two.turn().await;
    assert_eq!((one.turn().await, two.turn().await), (256, 0));
    one.store.close().await;
    assert_eq!(two.turn().await, 256, "where nobody else lives, an older file is better than none");
    assert!(two.load("f2", FileWord::Start).await, "and is in force again with the next start");
    two.store.close().await;
}

#[tokio::test]
async fn nobody_moves_a_history_that_others_work_on() {
    let place = Place::new();
    let store = place.open().await;
    let moving = tokio::process::Command::new(env!("CARGO_BIN_EXE_serin"))
        .args(["migrate-store", &place.name(), &place.folder.path().join("serin.db").display().to_string()])
        .output();
    let output = moving.await.expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("another serin works on this database"), "{said}");
    let second = Store::open(&place.address()).await;
    assert!(!matches!(second, Err(OpenError::Database { .. })), "while another Serin may");
    store.close().await;
}

#[tokio::test]
async fn a_machine_that_stands_still_in_a_transaction_holds_nobody_up_for_long() {
    let place = Place::new();
    let mut one = Machine::on(&place, "one").await;
    one.turn().await;
    let node = one.store.node().to_owned();
    // Another session in its place has the rows, and neither commits nor ends: as a process that was stopped.
    let mut stopped = place.stranger().await;
    sqlx::raw_sql("SET idle_in_transaction_session_timeout = '10s'; BEGIN").execute(&mut stopped).await.expect("begun");
    let fence = "SELECT shard FROM leases WHERE node = $1 FOR SHARE";
    sqlx::query(fence).bind(&node).fetch_all(&mut stopped).await.expect("its rows");
    drop(one);
    let mut two = Machine::on(&place, "two").await;
    let taken = async {
        while two.turn().await < 256 {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), taken).await.expect("all is taken within 30 s");
    two.store.close().await;
}

#[tokio::test]
async fn a_schema_with_an_unknown_step_that_only_adds_is_worked_on() {
    let place = Place::new();
    place.open().await.close().await;
    place.write("ALTER TABLE nodes ADD COLUMN of_tomorrow TEXT").await;
    let step = |name: &str| {
        format!(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             VALUES (9000, '{name}', true, '\\x00', 0)"
        )
    };
    place.write(&step("expand of tomorrow")).await;
    let store = place.open().await;
    store.commit(record("docs", 0)).await.expect("as ever");
    store.close().await;
    place.write("UPDATE _sqlx_migrations SET description = 'other' WHERE version = 9000").await;
    let refused = Store::open(&place.address()).await.expect_err("it may have taken something away");
    assert!(matches!(refused, OpenError::Migrate { .. }), "{refused}");
}
