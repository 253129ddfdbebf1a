//! `GET /events`: what changed in the live state, gathered over a moment, for open pages.
//!
//! An event names what changed and carries no content; the page looks again. Where nothing changed for a while a `beat`
//! says so: a page that hears neither turns grey, since what it shows may be out of date. Streams end with the key or session
//! that opened them, and on the shutdown token, for a graceful stop waits for them.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use chrono::Utc;
use futures_util::stream;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::live::state::LiveChange;
use crate::web::admitted::Pass;
use crate::web::connections::ConnectionLine;
use crate::web::problem::Problem;
use crate::web::state::WebState;

/// Changes are gathered for so long: a large fleet changes hundreds of times a second.
const GATHER_FOR: Duration = Duration::from_millis(500);
/// Names in one event; beyond it, the page is told to look at everything.
const NAMES_MAX: usize = 200;
/// An idle stream says that it lives: a page that hears nothing for three times as long turns grey (`assets/app.js`). An
/// event and no comment, which a page's script would not see; no proxy takes the stream for dead meanwhile either.
const BEAT_EVERY: Duration = Duration::from_secs(5);
/// What a browser waits before it comes back.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// What changed within one moment.
#[derive(Debug, Default, Serialize)]
struct GatheredUpdates {
    all: bool,
    fleet: bool,
    monitors: BTreeSet<String>,
    incidents: BTreeSet<String>,
}

struct EventStream {
    changes: Receiver<LiveChange>,
    shutdown: CancellationToken,
    /// What let it in: it ends with it.
    pass: Pass,
    state: WebState,
    /// When a beat is due, where nothing changes until then; the first at once.
    beat_at: Instant,
    over: bool,
    _permit: OwnedSemaphorePermit,
}

pub(crate) async fn stream(
    State(state): State<WebState>,
    Extension(pass): Extension<Pass>,
    line: Option<Extension<Arc<ConnectionLine>>>,
) -> Response {
    let permit = Arc::clone(&state.streams).try_acquire_owned().ok();
    let Some(permit) = permit.filter(|_| line.is_none_or(|line| line.becomes_stream())) else {
        let mut answer = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open").into_response();
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("30"));
        return answer;
    };
    let stream = EventStream {
        changes: state.live.changes(),
        shutdown: state.shutdown.clone(),
        beat_at: Instant::now(),
        over: state.shutdown.is_cancelled(),
        _permit: permit,
        pass,
        state,
    };
    let events = stream::unfold(stream, next_event);
    Sse::new(events).into_response()
}

async fn next_event(mut stream: EventStream) -> Option<(Result<Event, Infallible>, EventStream)> {
    if stream.over {
        return None;
    }
    let shutdown = stream.shutdown.clone();
    let heard = tokio::select! {
        () = shutdown.cancelled() => None,
        heard = gather(&mut stream.changes, stream.beat_at) => heard,
    };
    let heard = heard.filter(|_| stream.pass.holds(&stream.state, Utc::now()));
    let event = match heard {
        Some(LiveUpdate::Nothing) => Some(Event::default().event("beat").data("nothing changed")),
        Some(LiveUpdate::Changes(gathered)) => Event::default().event("change").json_data(gathered).ok(),
        None => None,
    };
    let event = match event {
        Some(event) => event.retry(RETRY_AFTER),
        None => {
            stream.over = true;
            Event::default().event("bye").data("it is over")
        }
    };
    stream.beat_at = Instant::now() + BEAT_EVERY;
    Some((Ok(event), stream))
}

/// What a stream has to say next.
enum LiveUpdate {
    Changes(GatheredUpdates),
    /// It is time for a beat.
    Nothing,
}

/// Waits for a change and for what follows it closely, or until a beat is due; none when the live state is gone.
async fn gather(changes: &mut Receiver<LiveChange>, beat_at: Instant) -> Option<LiveUpdate> {
    let mut gathered = GatheredUpdates::default();
    let Ok(first) = timeout_at(beat_at, changes.recv()).await else { return Some(LiveUpdate::Nothing) };
    if !gathered.take(first) {
        return None;
    }
    let deadline = Instant::now() + GATHER_FOR;
    while let Ok(change) = timeout_at(deadline, changes.recv()).await {
        if !gathered.take(change) {
            break;
        }
    }
    if gathered.monitors.len() + gathered.incidents.len() > NAMES_MAX {
        gathered = GatheredUpdates { all: true, ..GatheredUpdates::default() };
    }
    Some(LiveUpdate::Changes(gathered))
}

impl GatheredUpdates {
    /// Takes a change in; false where there will be no more.
    fn take(&mut self, change: Result<LiveChange, RecvError>) -> bool {
        match change {
            Ok(LiveChange::Monitor(id)) => drop(self.monitors.insert(id.to_string())),
            Ok(LiveChange::Incident(id)) => drop(self.incidents.insert(id)),
            Ok(LiveChange::Fleet) => self.fleet = true,
            Err(RecvError::Lagged(_)) => self.all = true,
            Err(RecvError::Closed) => return false,
        }
        true
    }
}
