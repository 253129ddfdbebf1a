//! A receiver that keeps all it is told, and now and then refuses what it has kept, or does not say that it has it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use parking_lot::Mutex;
use serin::cli::demo::inbox::Hook;
use serin::deliver::message::Message;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::stage::read;

/// One message in so many is refused at first.
const REFUSED_OF: u64 = 9;
/// One in so many is taken, and the answer is lost.
const UNANSWERED_OF: u64 = 13;

/// What arrived. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Receiver(Arc<Kept>);

#[derive(Debug)]
struct Kept {
    told: Mutex<Told>,
    arrivals: watch::Sender<u64>,
    /// Messages about Serin's own trouble.
    own: AtomicU64,
}

#[derive(Debug, Default)]
struct Told {
    /// By id: the bytes, and how often they arrived.
    bodies: HashMap<String, (String, u64)>,
    /// Ids that arrived with other bytes once more.
    changed: Vec<String>,
    incidents: BTreeMap<String, Incident>,
}

/// What was told of one incident.
#[derive(Debug, Clone, Default)]
pub(super) struct Incident {
    pub(super) monitor: String,
    pub(super) signal: String,
    /// Ids by event.
    pub(super) ids: BTreeMap<String, Vec<String>>,
    /// What is said of it first.
    pub(super) summary: String,
}

impl Incident {
    pub(super) fn told(&self, event: &str) -> usize {
        self.ids.get(event).map_or(0, Vec::len)
    }
}

impl Receiver {
    /// Listens, as long as the test lasts; `/hook` is for incidents, `/own` for Serin's own trouble.
    pub(super) async fn serve() -> (Self, String) {
        let kept = Kept { told: Mutex::default(), arrivals: watch::Sender::new(0), own: AtomicU64::new(0) };
        let receiver = Self(Arc::new(kept));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().route("/hook", post(take)).route("/own", post(own)).with_state(receiver.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (receiver, base)
    }

    /// All incidents it was told of, by id.
    pub(super) fn incidents(&self) -> BTreeMap<String, Incident> {
        self.0.told.lock().incidents.clone()
    }

    /// Ids that arrived with other bytes once more.
    pub(super) fn changed(&self) -> Vec<String> {
        self.0.told.lock().changed.clone()
    }

    /// Messages, and attempts that repeated one.
    pub(super) fn counts(&self) -> (usize, u64) {
        let told = self.0.told.lock();
        (told.bodies.len(), told.bodies.values().map(|(_, times)| times - 1).sum())
    }

    pub(super) fn own(&self) -> u64 {
        self.0.own.load(Ordering::Relaxed)
    }

    /// Waits until so many incidents of a monitor were told by such a message.
    pub(super) async fn until(&self, monitor: &str, event: &str, count: usize) {
        let mut arrivals = self.0.arrivals.subscribe();
        loop {
            arrivals.borrow_and_update();
            if self.count(monitor, event) >= count {
                return;
            }
            arrivals.changed().await.unwrap();
        }
    }

    fn count(&self, monitor: &str, event: &str) -> usize {
        let told = self.0.told.lock();
        told.incidents.values().filter(|one| one.monitor == monitor && one.told(event) > 0).count()
    }
}

async fn own(State(receiver): State<Receiver>) {
    receiver.0.own.fetch_add(1, Ordering::Relaxed);
}

async fn take(State(receiver): State<Receiver>, headers: HeaderMap, body: String) -> StatusCode {
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    let (timestamp, signature) = (header("webhook-timestamp"), header("webhook-signature"));
    let hook = Hook { id: header("webhook-id"), timestamp, signature, verified: None, answered: 200, body };
    let message = read(&hook);
    let first = receiver.keep(hook, &message);
    receiver.0.arrivals.send_modify(|count| *count += 1);
    match first {
        Some(number) if number % REFUSED_OF == 0 => StatusCode::SERVICE_UNAVAILABLE,
        // Whoever brought it gives up, and this with it.
        Some(number) if number % UNANSWERED_OF == 0 => std::future::pending().await,
        _ => StatusCode::OK,
    }
}

impl Receiver {
    /// Keeps a message; the how manyth it is, where it arrives for the first time.
    fn keep(&self, hook: Hook, message: &Message) -> Option<u64> {
        let mut told = self.0.told.lock();
        if let Some((body, times)) = told.bodies.get_mut(&hook.id) {
            *times += 1;
            if *body != hook.body {
                told.changed.push(hook.id);
            }
            return None;
        }
        if let (Some(of), Some(monitor)) = (&message.incident, &message.monitor) {
            let incident = told.incidents.entry(of.id.clone()).or_default();
            (incident.monitor, incident.signal) = (monitor.id.clone(), of.signal.clone());
            if incident.summary.is_empty() {
                incident.summary = format!("{}: {}", message.at, message.summary);
            }
            incident.ids.entry(message.event.clone()).or_default().push(hook.id.clone());
        }
        told.bodies.insert(hook.id, (hook.body, 1));
        u64::try_from(told.bodies.len()).ok()
    }
}
