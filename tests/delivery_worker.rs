//! The delivery worker over a real database and real webhook receivers: nothing lost, nothing overtaken, nobody delayed.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use chrono::Utc;
use serin::daemon::delivery_worker::DeliveryWorker;
use serin::deliver::ack_link::AckLinks;
use serin::deliver::channel::ChannelSender;
use serin::domain::fleet::{Fleet, Provenance};
use serin::domain::incident::Incident;
use serin::domain::monitor::MonitorId;
use serin::domain::network::Network;
use serin::domain::paging::delivery::DeliveryState;
use serin::domain::paging::notification::Notification;
use serin::domain::receiver::{Channel, Receiver};
use serin::domain::secret::{Address, Secret};
use serin::store::Store;
use serin::store::read::ledger::DeliveryFilter;
use serin::store::values::change_set::{ChangeSet, Outgoing};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

#[expect(dead_code, reason = "other tests need more of it")]
mod common;

use common::paging;

/// One message as a receiver got it.
#[derive(Debug, Clone, PartialEq)]
struct Got {
    receiver: String,
    id: String,
    body: String,
    replayed: bool,
}

/// How a receiver behaves, answer by answer; 200 when the list has run out.
#[derive(Debug, Clone, Copy)]
enum Manner {
    Says(u16),
    /// Takes the message and never answers.
    Hangs,
    /// Takes each message from now on, and says yes two seconds later.
    Slowly,
}

/// How long a slow receiver takes for its yes.
const SLOWLY: Duration = Duration::from_secs(2);

#[derive(Clone)]
struct Hook {
    manners: Arc<Mutex<HashMap<String, VecDeque<Manner>>>>,
    got: mpsc::UnboundedSender<Got>,
}

impl Hook {
    /// How a receiver behaves this time.
    fn next_manner(&self, receiver: &str) -> Option<Manner> {
        let mut manners = self.manners.lock().expect("manners");
        let list = manners.get_mut(receiver)?;
        if matches!(list.front(), Some(Manner::Slowly)) { list.front().copied() } else { list.pop_front() }
    }
}

async fn receive(
    State(hook): State<Hook>,
    Path(receiver): Path<String>,
    headers: HeaderMap,
    body: String,
) -> StatusCode {
    let id = headers["webhook-id"].to_str().expect("an id").to_owned();
    let manner = hook.next_manner(&receiver);
    let replayed = headers.get("serin-replay").is_some_and(|value| value == "true");
    hook.got.send(Got { receiver, id, body, replayed }).expect("the test listens");
    match manner {
        None => StatusCode::OK,
        Some(Manner::Says(status)) => StatusCode::from_u16(status).expect("a status"),
        Some(Manner::Hangs) => std::future::pending().await,
        Some(Manner::Slowly) => {
            tokio::time::sleep(SLOWLY).await;
            StatusCode::OK
        }
    }
}

/// Receivers, a database and a delivery worker between them.
struct Post {
    folder: tempfile::TempDir,
    store: Store,
    address: SocketAddr,
    fleet: watch::Sender<Arc<Fleet>>,
    got: mpsc::UnboundedReceiver<Got>,
    stop: CancellationToken,
    worker: Option<JoinHandle<()>>,
}

impl Post {
    async fn new(receivers: &[&str], manners: &[(&str, &[Manner])]) -> Self {
        let _already = rustls::crypto::ring::default_provider().install_default();
        let (tell, got) = mpsc::unbounded_channel();
        let manners = manners.iter().map(|(name, list)| ((*name).to_owned(), list.iter().copied().collect())).collect();
        let hook = Hook { manners: Arc::new(Mutex::new(manners)), got: tell };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let router = axum::Router::new().route("/{receiver}", axum::routing::post(receive)).with_state(hook);
        tokio::spawn(async move { axum::serve(listener, router).await });
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("serin.db")).await.expect("the store opens");
        let (fleet, _) = watch::channel(Arc::new(fleet(address, receivers)));
        let mut post = Self { folder, store, address, fleet, got, stop: CancellationToken::new(), worker: None };
        post.start();
        post
    }

    fn start(&mut self) {
        self.stop = CancellationToken::new();
        let sender = Arc::new(ChannelSender::new().expect("a sender"));
        let links = Arc::new(AckLinks::new([0; 32]));
        let worker = DeliveryWorker {
            store: self.store.clone(),
            sender,
            fleet: self.fleet.subscribe(),
            leases: tokio::sync::watch::channel(std::sync::Arc::new(serin::domain::lease::Leases::whole())).1,
            links,
        };
        self.worker = Some(tokio::spawn(worker.run(self.stop.clone())));
    }

    async fn say(&self, outbox: Vec<Outgoing>) {
        self.store.commit(ChangeSet { outbox, ..ChangeSet::default() }).await.expect("committed");
    }

    /// The next messages, as `receiver id`.
    async fn next(&mut self, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..count {
            let got = soon("a message", self.got.recv()).await.expect("the server runs");
            names.push(format!("{} {}", got.receiver, got.id));
        }
        names
    }

    /// Stops the delivery worker as a shutdown does, and the store behind it.
    async fn end(mut self) -> Vec<String> {
        self.stop.cancel();
        soon("the courier's end", self.worker.take().expect("it ran")).await.expect("it ends well");
        let ledger = self.store.deliveries(&DeliveryFilter::default()).await.expect("the ledger");
        self.store.close().await;
        let mut lines: Vec<_> = ledger
            .iter()
            .map(|line| format!("{} {} {} after {}", line.receiver, line.notification, line.state, line.attempts))
            .collect();
        lines.sort();
        lines
    }
}

/// A test that hangs is a failure with a name; nothing is asserted about how long anything takes.
async fn soon<T>(what: &str, waiting: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap_or_else(|_| panic!("{what} did not happen"))
}

fn fleet(address: SocketAddr, receivers: &[&str]) -> Fleet {
    let receiver = |name: &&str| {
        let url =
            Address { shown: "http://hook".to_owned(), resolved: Secret::new(&format!("http://{address}/{name}")) };
        Arc::new(Receiver {
            name: (*name).to_owned(),
            channel: Channel::Webhook { url, secrets: Vec::new(), form: Box::default() },
            at_most: None,
            line: 1,
            definition_hash: String::new(),
        })
    };
    Fleet {
        receivers: receivers.iter().map(receiver).collect(),
        allow_private: vec![Network("127.0.0.0/8".to_owned())],
        ..Fleet::default()
    }
}

/// A page of incident `incident`, promised now.
fn page(id: &str, incident: &str, sequence: u32, to: &[(&str, Option<&str>)]) -> Outgoing {
    let now = Utc::now();
    let incident = Incident { sequence, ..paging::incident(incident, MonitorId::new("docs"), now) };
    let rule = Some(incident.rule.clone());
    let notification = Notification { sequence, incident: Some(incident), rule, ..paging::notification(id, now) };
    let payload = serin::deliver::message::freeze(&notification);
    Outgoing { notification, payload, to: paging::addressees(to) }
}

#[tokio::test]
async fn a_failed_one_is_repeated_as_it_was_and_nothing_overtakes_it() {
    let mut post = Post::new(&["oncall"], &[("oncall", &[Manner::Says(503)])]).await;
    let to = [("oncall", None)];
    post.say(vec![page("n1", "i1", 1, &to), page("n2", "i1", 2, &to)]).await;
    let first = soon("the first try", post.got.recv()).await.expect("it runs");
    let again = soon("the second try", post.got.recv()).await.expect("it runs");
    assert_eq!(first, again, "the same id and the same bytes, before anything else of the incident");
    assert_eq!(post.next(1).await, ["oncall n2"], "then its successor");
    assert_eq!(post.end().await, ["oncall n1 sent after 2", "oncall n2 sent after 1"], "and the ledger tells it");
}

#[tokio::test]
async fn a_receiver_that_never_answers_delays_nobody() {
    let hangs = [Manner::Hangs; 8];
    let mut post = Post::new(&["slow", "quick"], &[("slow", &hangs)]).await;
    let flood = (0..30).map(|n| page(&format!("s{n}"), &format!("i{n}"), 1, &[("slow", None)])).collect();
    post.say(flood).await;
    post.next(1).await;
    post.say(vec![page("q1", "q", 1, &[("quick", None)])]).await;
    let mut slow = 1;
    while post.next(1).await != ["quick q1"] {
        slow += 1;
    }
    assert!(slow <= 2, "who never took anything has one try at a time, and the next when that is given up: {slow}");
    post.worker.take().expect("it runs").abort();
}

#[tokio::test]
async fn of_a_thousand_incidents_at_once_a_quick_receiver_hears_all_whatever_a_slow_one_does() {
    const INCIDENTS: usize = 1_000;
    let mut post = Post::new(&["slow", "quick"], &[("slow", &[Manner::Slowly])]).await;
    let both = [("slow", None), ("quick", None)];
    let said = |event: &str, sequence: u32| {
        (0..INCIDENTS).map(|nth| page(&format!("{event}{nth}"), &format!("i{nth}"), sequence, &both)).collect()
    };
    post.say(said("opened", 1)).await;
    post.say(said("resolved", 2)).await;
    let (mut quick, mut slow) = (Vec::new(), Vec::new());
    while quick.len() < 2 * INCIDENTS {
        let got = soon("a message", post.got.recv()).await.expect("the server runs");
        if got.receiver == "quick" { quick.push(got.id) } else { slow.push(got.id) }
    }
    let place = |list: &[String], id: &str| list.iter().position(|one| one == id);
    for nth in 0..INCIDENTS {
        let [opened, resolved] = ["opened", "resolved"].map(|event| place(&quick, &format!("{event}{nth}")));
        assert!(opened.is_some() && opened < resolved, "{nth}: its opening, then its end: {opened:?} {resolved:?}");
    }
    assert!(slow.len() < 2 * INCIDENTS, "nobody waited for the slow one, which has heard {} only", slow.len());
    // What was brought and what waits is all there is, at any moment that the ledger is asked.
    post.stop.cancel();
    soon("the courier's end", post.worker.take().expect("it ran")).await.expect("it ends well");
    while let Ok(got) = post.got.try_recv() {
        assert_eq!(got.receiver, "slow", "the quick one has heard all of it, once");
        slow.push(got.id);
    }
    let heard: std::collections::HashSet<&String> = slow.iter().collect();
    assert_eq!(heard.len(), slow.len(), "the slow one heard nothing twice");
    let backlog = post.store.backlog(Utc::now()).await.expect("the outbox");
    assert_eq!(backlog.pending, (2 * INCIDENTS - slow.len()) as u64, "what waits is what it has not heard");
    assert_eq!(backlog.dead, 0);
    let of_slow =
        |state| DeliveryFilter { receiver: Some("slow".to_owned()), state: Some(state), ..DeliveryFilter::default() };
    let mut sent = std::collections::HashSet::new();
    let mut filter = of_slow(DeliveryState::Sent);
    loop {
        let lines = post.store.deliveries(&filter).await.expect("the ledger");
        let Some(last) = lines.last() else { break };
        filter.after = Some(last.id.clone());
        sent.extend(lines.into_iter().map(|line| line.notification));
    }
    assert_eq!(sent, slow.iter().cloned().collect(), "and the ledger has as brought what it heard");
    post.store.close().await;
}

#[tokio::test]
async fn a_refusal_wakes_the_fallback_at_once_and_it_hears_all_that_follows() {
    let mut post = Post::new(&["oncall", "mail"], &[("oncall", &[Manner::Says(410)])]).await;
    let to = [("oncall", Some("mail"))];
    post.say(vec![page("n1", "i1", 1, &to)]).await;
    assert_eq!(post.next(2).await, ["oncall n1", "mail n1"], "refused, so the fallback hears of it");
    post.say(vec![page("n2", "i1", 2, &to)]).await;
    let mut rest = post.next(3).await;
    assert_eq!(rest.pop().as_deref(), Some("oncall n2"), "the refused one blocks only its own receiver");
    assert_eq!(rest, ["mail n2", "oncall n1"], "the fallback hears the rest without waiting");
    post.end().await;
}

#[tokio::test]
async fn a_receiver_that_left_the_file_is_stood_in_for() {
    let mut post = Post::new(&["mail"], &[]).await;
    post.say(vec![page("n1", "i1", 1, &[("gone", Some("mail"))])]).await;
    assert_eq!(post.next(1).await, ["mail n1"], "its fallback gets the message");
    let mut fleet = fleet(post.address, &["mail", "admin"]);
    fleet.internal = vec!["admin".to_owned()];
    post.fleet.send_replace(Arc::new(fleet));
    post.say(vec![page("n2", "i2", 1, &[("gone", None)])]).await;
    assert_eq!(post.next(1).await, ["admin n2"], "without one, those who hear of our own trouble do");
    let lines = post.end().await;
    assert!(lines.contains(&"gone n1 dead after 1".to_owned()), "the attempt is noted: {lines:?}");
}

#[tokio::test]
async fn a_machine_with_an_older_file_gives_up_nothing_that_the_one_in_force_may_know() {
    let mut post = Post::new(&["mail"], &[]).await;
    let path = post.folder.path().join("serin.db");
    let mut aside = SqliteConnectOptions::new().filename(&path).connect().await.expect("another connection");
    let put = "INSERT INTO meta (key, value) VALUES ('file_in_force', 'newer')";
    sqlx::query(put).execute(&mut aside).await.expect("another machine's file comes into force");
    aside.close().await.expect("closed");
    post.say(vec![page("n1", "i1", 1, &[("new", Some("mail"))])]).await;
    let tried = async {
        while post.store.deliveries(&DeliveryFilter::default()).await.expect("the ledger")[0].attempts == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon("a try", tried).await;
    let newer = Provenance { declared: "newer".to_owned(), ..Provenance::default() };
    post.fleet.send_replace(Arc::new(Fleet { provenance: newer, ..fleet(post.address, &["mail", "new"]) }));
    assert_eq!(post.next(1).await, ["new n1"], "who knows it by the newer file hears of it");
    assert_eq!(post.end().await, ["new n1 sent after 2"], "and nobody stood in");
}

#[tokio::test]
async fn a_locked_database_loses_nothing() {
    let mut post = Post::new(&["oncall"], &[]).await;
    post.say(vec![page("n1", "i1", 1, &[("oncall", None)])]).await;
    assert_eq!(post.next(1).await, ["oncall n1"]);
    let path = post.folder.path().join("serin.db");
    post.say(vec![page("n2", "i1", 2, &[("oncall", None)])]).await;
    let mut other = SqliteConnectOptions::new().filename(&path).connect().await.expect("sqlite opens");
    // The lock may come before or after the send of n2 was recorded; either way it arrives.
    while sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.is_err() {}
    let refused =
        post.store.commit(ChangeSet { outbox: vec![page("n3", "i1", 3, &[("oncall", None)])], ..ChangeSet::default() });
    refused.await.expect_err("nothing can be promised");
    sqlx::query("ROLLBACK").execute(&mut other).await.expect("it lets go");
    other.close().await.expect("it closes");
    post.say(vec![page("n3", "i1", 3, &[("oncall", None)])]).await;
    assert_eq!(post.next(2).await, ["oncall n2", "oncall n3"], "what was promised comes, in order and once");
    post.end().await;
}

#[tokio::test]
async fn a_stop_lets_tries_end_and_a_start_goes_on() {
    let mut post = Post::new(&["oncall", "mail"], &[("mail", &[Manner::Says(500)])]).await;
    post.say(vec![page("n1", "i1", 1, &[("oncall", None), ("mail", None)])]).await;
    post.next(2).await;
    post.stop.cancel();
    soon("the courier's end", post.worker.take().expect("it ran")).await.expect("it ends well");
    let states: Vec<_> = post
        .store
        .deliveries(&DeliveryFilter::default())
        .await
        .expect("ledger")
        .into_iter()
        .map(|line| line.attempts)
        .collect();
    assert_eq!(states, [1, 1], "both tries were recorded before the courier ended");
    post.start();
    assert_eq!(post.next(1).await, ["mail n1"], "the failed one is tried again after the start, the sent one is not");
    post.end().await;
}

#[tokio::test]
async fn a_replay_is_known_by_its_header_and_has_the_same_bytes() {
    let mut post = Post::new(&["a"], &[]).await;
    post.say(vec![page("n1", "i1", 1, &[("a", None)])]).await;
    let first = soon("the first", post.got.recv()).await.expect("the server runs");
    let sent = async {
        loop {
            let ledger = post.store.deliveries(&DeliveryFilter::default()).await.expect("the ledger");
            if ledger[0].state == "sent" {
                return ledger[0].id.clone();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let id = soon("its receipt", sent).await;
    assert_eq!(post.store.replay(vec![id], "kim", Utc::now()).await, Ok(1));
    let again = soon("the replay", post.got.recv()).await.expect("the server runs");
    assert!(!first.replayed && again.replayed, "{first:?}, {again:?}");
    assert_eq!((&again.id, &again.body), (&first.id, &first.body));
    assert_eq!(post.end().await, ["a n1 sent after 2"]);
}
