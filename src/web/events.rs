//! `GET /events`: what changed in the live state, gathered over a moment, for open pages.
//!
//! An event names what changed and carries no content; the page looks again. Where nothing changed for a while a `beat`
//! says so: a page that hears neither turns grey, since what it shows may be out of date. That is an event and no comment,
//! which a page's script would not see. Streams end with the key or session that opened them, and on the shutdown token, for
//! a graceful stop waits for them.

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
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::web::admitted::Pass;
use crate::web::connections::ConnectionLine;
use crate::web::gathered::{Heard, everything};
use crate::web::problem::Problem;
use crate::web::state::WebState;

/// What a browser waits before it comes back.
const RETRY_AFTER: Duration = Duration::from_secs(5);

struct EventStream {
    changes: Receiver<Heard>,
    shutdown: CancellationToken,
    /// What let it in: it ends with it.
    pass: Pass,
    state: WebState,
    /// Whether it has said anything: it says at once that it is there.
    began: bool,
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
        changes: state.gathering.listen(&state.live),
        shutdown: state.shutdown.clone(),
        began: false,
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
        heard = stream.hear() => heard,
    };
    let heard = heard.filter(|_| stream.pass.holds(&stream.state, Utc::now()));
    let event = match heard {
        Some(Heard::Nothing) => Event::default().event("beat").data("nothing changed").retry(RETRY_AFTER),
        Some(Heard::Change(what)) => Event::default().event("change").data(what).retry(RETRY_AFTER),
        None => {
            stream.over = true;
            Event::default().event("bye").data("it is over")
        }
    };
    Some((Ok(event), stream))
}

impl EventStream {
    /// What is to be said next; none when the live state is gone.
    async fn hear(&mut self) -> Option<Heard> {
        if !self.began {
            self.began = true;
            return Some(Heard::Nothing);
        }
        match self.changes.recv().await {
            Ok(heard) => Some(heard),
            Err(RecvError::Lagged(_)) => Some(everything()),
            Err(RecvError::Closed) => None,
        }
    }
}
