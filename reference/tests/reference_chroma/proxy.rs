//! Stands between a store and Chroma, passes everything on, and stops at a moment that a test waits for.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

/// Where it stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stop {
    /// The end of the path, such as `upsert`.
    pub(crate) at: &'static str,
    /// Whether Chroma has done it by then, and only the answer is held back.
    pub(crate) is_done: bool,
}

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    passing: Arc<Passing>,
    stopped: mpsc::UnboundedReceiver<()>,
}

struct Passing {
    to: SocketAddr,
    client: reqwest::Client,
    stop: Mutex<Option<Stop>>,
    stopped: mpsc::UnboundedSender<()>,
    goes_on: watch::Sender<()>,
}

impl Proxy {
    pub(crate) async fn before(to: SocketAddr) -> Self {
        let (sender, stopped) = mpsc::unbounded_channel();
        let passing = Arc::new(Passing {
            to,
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            stop: Mutex::new(None),
            stopped: sender,
            goes_on: watch::Sender::new(()),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(pass).with_state(Arc::clone(&passing));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, passing, stopped }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops at the next such request, and at none after it.
    pub(crate) fn stop(&self, stop: Stop) {
        *self.passing.stop.lock() = Some(stop);
    }

    /// Waits until it has stopped.
    pub(crate) async fn stopped(&mut self) {
        self.stopped.recv().await.unwrap();
    }

    /// Lets go of what it has stopped.
    pub(crate) fn go_on(&self) {
        self.passing.goes_on.send_replace(());
    }
}

async fn pass(State(passing): State<Arc<Passing>>, method: Method, uri: Uri, body: Bytes) -> Response {
    let stop = {
        let mut stop = passing.stop.lock();
        if stop.is_some_and(|stop| uri.path().ends_with(stop.at)) { stop.take() } else { None }
    };
    let mut goes_on = passing.goes_on.subscribe();
    let mut hold = async || {
        passing.stopped.send(()).unwrap();
        goes_on.changed().await.unwrap();
    };
    if stop.is_some_and(|stop| !stop.is_done) {
        hold().await;
    }
    let address = format!("http://{}{}", passing.to, uri.path());
    let request = passing.client.request(method, address).header(header::CONTENT_TYPE, "application/json").body(body);
    let Ok(answer) = request.send().await else { return StatusCode::BAD_GATEWAY.into_response() };
    let (status, bytes) = (answer.status(), answer.bytes().await.unwrap());
    if stop.is_some_and(|stop| stop.is_done) {
        hold().await;
    }
    (status, bytes).into_response()
}
