//! What a run with several machines has, and how it stands by the database's own word.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serin::domain::shard::Shard;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _};
use tokio::sync::{Mutex, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::machine::Machine;
use super::receiver::Receiver;
use super::servers::{CANARY, Servers, Unasked};
use crate::databases;
use crate::stage::{client, crypto};

pub(super) const MACHINES: usize = 3;
/// How often it is looked whose the shards are: a takeover is measured as finely as that.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Lines of each machine's log that a failure shows.
const LOG_LINES: usize = 12;

/// When each shard changed hands, by its number.
type Hands = Arc<parking_lot::Mutex<BTreeMap<i64, Vec<Instant>>>>;

/// Three machines, the servers they watch and whom they tell.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) servers: Servers,
    pub(super) receiver: Receiver,
    pub(super) machines: Vec<Arc<Mutex<Machine>>>,
    /// How many shards each has, by its id in the database.
    shares: watch::Receiver<BTreeMap<String, i64>>,
    hands: Hands,
    client: reqwest::Client,
    database: String,
    folder: std::sync::Mutex<Option<tempfile::TempDir>>,
    guard: Duration,
    _stop: DropGuard,
}

impl Scene {
    /// Starts it with so many monitors of this rhythm.
    pub(super) async fn start(server: &str, monitors: usize, every: Duration) -> Self {
        crypto();
        let (servers, base) = Servers::serve(monitors).await;
        let (receiver, hooks) = Receiver::serve().await;
        let database = databases::make(server, &databases::new_name(), "").await;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("monitors.yaml"), declared(&base, &hooks, monitors, every)).unwrap();
        let mut machines = Vec::new();
        for nth in 1..=MACHINES {
            machines.push(Arc::new(Mutex::new(Machine::start(folder.path(), nth, &database).await)));
        }
        let ((seen, shares), hands) = (watch::channel(BTreeMap::new()), Hands::default());
        let stop = CancellationToken::new();
        tokio::spawn(stop.clone().run_until_cancelled_owned(look(database.clone(), seen, Arc::clone(&hands))));
        let (folder, guard) = (std::sync::Mutex::new(Some(folder)), Duration::from_mins(3) + every * 10);
        let client = client();
        Self { servers, receiver, machines, shares, hands, client, database, folder, guard, _stop: stop.drop_guard() }
    }

    /// Waits; a run that stands still fails with what each machine logged last.
    pub(super) async fn soon<T>(&self, what: &str, waiting: impl Future<Output = T>) -> T {
        match tokio::time::timeout(self.guard, waiting).await {
            Ok(done) => done,
            Err(_) => self.fail(&format!("{what}: it did not happen")),
        }
    }

    /// Fails, and leaves the folder for whoever looks into it.
    pub(super) fn fail(&self, what: &str) -> ! {
        let folder = self.folder.lock().unwrap().take();
        let Some(folder) = folder.map(tempfile::TempDir::keep) else { panic!("{what}") };
        let logs = (1..=MACHINES).map(|nth| {
            let log = std::fs::read_to_string(folder.join(format!("log-{nth}"))).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            format!("--- log-{nth}\n{}", lines[lines.len().saturating_sub(LOG_LINES)..].join("\n"))
        });
        panic!("{what}\nits folder stays: {}\n{}", folder.display(), logs.collect::<Vec<_>>().join("\n"));
    }

    /// Waits until the fleet is shared evenly by all.
    pub(super) async fn until_shared(&self) {
        let even = |shares: &BTreeMap<String, i64>| {
            shares.len() == MACHINES && shares.values().sum::<i64>() == 256 && shares.values().all(|count| *count <= 86)
        };
        let mut shares = self.shares.clone();
        drop(self.soon("the fleet is shared evenly", shares.wait_for(even)).await.unwrap());
    }

    /// The id of a machine.
    pub(super) async fn id(&self, machine: &Machine) -> String {
        let known = async {
            loop {
                if let Some(started_at) = machine.started_at(&self.client).await {
                    let id = format!("SELECT id FROM nodes WHERE started_at = {started_at}");
                    if let Some(id) =
                        sqlx::query_scalar(AssertSqlSafe(id)).fetch_optional(&mut self.stranger().await).await.unwrap()
                    {
                        return id;
                    }
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        self.soon("a machine says who it is", known).await
    }

    /// Whether a machine has any shard.
    pub(super) fn has_some(&self, id: &str) -> bool {
        self.shares.borrow().contains_key(id)
    }

    /// Waits until a machine has shards, or has none any more.
    pub(super) async fn until(&self, id: &str, has_some: bool) {
        let mut shares = self.shares.clone();
        drop(shares.wait_for(|shares| shares.contains_key(id) == has_some).await.unwrap());
    }

    /// The longest that one machine after another had a monitor, and did not look at it, in a stretch of its server.
    pub(super) fn longest_in_one_hand(&self, monitor: &str, unasked: &Unasked) -> Duration {
        let hands = self.hands.lock();
        let changed = hands.get(&i64::from(Shard::of(monitor).number())).map(Vec::as_slice).unwrap_or_default();
        let within = changed.iter().copied().filter(|at| (unasked.from..unasked.until).contains(at));
        let ends: Vec<Instant> = std::iter::once(unasked.from).chain(within).chain([unasked.until]).collect();
        ends.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or_default()
    }

    /// A number that somebody else reads.
    pub(super) async fn number(&self, sql: &str) -> i64 {
        sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(&mut self.stranger().await).await.unwrap()
    }

    async fn stranger(&self) -> PgConnection {
        PgConnection::connect(&self.database).await.unwrap()
    }
}

/// Looks whose the shards are, past all links.
async fn look(database: String, seen: watch::Sender<BTreeMap<String, i64>>, hands: Hands) {
    let mut connection = PgConnection::connect(&database).await.unwrap();
    let mut epochs = BTreeMap::new();
    loop {
        let leases = "SELECT shard, epoch, node FROM leases WHERE role = 'decide'";
        let leases: Vec<(i64, i64, Option<String>)> = sqlx::query_as(leases).fetch_all(&mut connection).await.unwrap();
        let (now, mut counts) = (Instant::now(), BTreeMap::new());
        for (shard, epoch, node) in leases {
            if epochs.insert(shard, epoch) != Some(epoch) {
                hands.lock().entry(shard).or_default().push(now);
            }
            node.into_iter().for_each(|node| *counts.entry(node).or_default() += 1);
        }
        seen.send_replace(counts);
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn declared(base: &str, hooks: &str, monitors: usize, every: Duration) -> String {
    let (every, timeout) = (every.as_secs(), (every.as_secs() / 2).min(10));
    let list: String = (0..monitors)
        .map(|nth| format!("  - id: m{nth}\n    url: {base}/{nth}\n    canaries:\n      - {CANARY}\n"))
        .collect();
    format!(
        "version: 1
serin:
  listen: 127.0.0.1:0
  database: \"${{env:SERIN_JOURNEY_DATABASE}}\"
  internal: [own]
  allow_private: [127.0.0.0/8]
defaults:
  every: {every}s
  timeout: {timeout}s
  rules:
    availability: {{ after: 3, recover_after: 2, page_after: 3s }}
    access: {{ after: 3, recover_after: 2 }}
    quality: {{ within: 5, after: 3 }}
receivers:
  inbox: {{ webhook: {{ url: \"{hooks}/hook\", secret: \"${{env:SERIN_JOURNEY_SECRET}}\" }} }}
  own: {{ webhook: {{ url: \"{hooks}/own\", secret: \"${{env:SERIN_JOURNEY_SECRET}}\" }} }}
routes:
  - {{ to: [inbox] }}
monitors:
{list}"
    )
}
