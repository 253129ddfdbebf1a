//! `GET /events`: what changed on the board, gathered over a moment, for open pages.
//!
//! An event names what changed and carries no content; the page looks again. Streams end on the
//! shutdown token, for a graceful stop waits for them.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::store::board::Change;
use crate::web::connections::Line;
use crate::web::problem::Problem;
use crate::web::state::WebState;

/// Changes are gathered for so long: a large fleet changes hundreds of times a second.
const GATHER_FOR: Duration = Duration::from_millis(500);
/// Names in one event; beyond it, the page is told to look at everything.
const NAMES_MAX: usize = 200;
/// An idle stream says that it lives, before a proxy takes it for dead.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);
/// What a browser waits before it comes back.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// What changed within one moment.
#[derive(Debug, Default, Serialize)]
struct Gathered {
    all: bool,
    fleet: bool,
    monitors: BTreeSet<String>,
    incidents: BTreeSet<String>,
}

struct Stream {
    changes: Receiver<Change>,
    shutdown: CancellationToken,
    over: bool,
    _permit: OwnedSemaphorePermit,
}

/// `GET /events`.
pub async fn stream(State(state): State<WebState>, line: Option<Extension<Arc<Line>>>) -> Response {
    let permit = Arc::clone(&state.streams).try_acquire_owned().ok();
    let Some(permit) = permit.filter(|_| line.is_none_or(|line| line.becomes_stream())) else {
        let mut answer = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open").into_response();
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("30"));
        return answer;
    };
    let stream = Stream {
        changes: state.board.changes(),
        shutdown: state.shutdown.clone(),
        over: state.shutdown.is_cancelled(),
        _permit: permit,
    };
    let events = stream::unfold(stream, next_event);
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_EVERY)).into_response()
}

async fn next_event(mut stream: Stream) -> Option<(Result<Event, Infallible>, Stream)> {
    if stream.over {
        return None;
    }
    let shutdown = stream.shutdown.clone();
    let gathered = tokio::select! {
        () = shutdown.cancelled() => None,
        gathered = gather(&mut stream.changes) => gathered,
    };
    let event = match gathered.and_then(|gathered| Event::default().event("change").json_data(gathered).ok()) {
        Some(event) => event.retry(RETRY_AFTER),
        None => {
            stream.over = true;
            Event::default().event("bye").data("the server stops")
        }
    };
    Some((Ok(event), stream))
}

/// Waits for a change and for what follows it closely; none when the board is gone.
async fn gather(changes: &mut Receiver<Change>) -> Option<Gathered> {
    let mut gathered = Gathered::default();
    if !gathered.take(changes.recv().await) {
        return None;
    }
    let deadline = tokio::time::Instant::now() + GATHER_FOR;
    while let Ok(change) = tokio::time::timeout_at(deadline, changes.recv()).await {
        if !gathered.take(change) {
            break;
        }
    }
    if gathered.monitors.len() + gathered.incidents.len() > NAMES_MAX {
        gathered = Gathered { all: true, ..Gathered::default() };
    }
    Some(gathered)
}

impl Gathered {
    /// Takes a change in; false where there will be no more.
    fn take(&mut self, change: Result<Change, RecvError>) -> bool {
        match change {
            Ok(Change::Monitor(id)) => drop(self.monitors.insert(id.to_string())),
            Ok(Change::Incident(id)) => drop(self.incidents.insert(id)),
            Ok(Change::Fleet) => self.fleet = true,
            Err(RecvError::Lagged(_)) => self.all = true,
            Err(RecvError::Closed) => return false,
        }
        true
    }
}
