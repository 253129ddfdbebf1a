//! The way in: a listener, its connections, and the routes behind it.
//!
//! Connections are kept by hand, so that a crash can drop them in the middle of an answer, as a
//! crash does, and a stop can let them finish.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use subtle::ConstantTimeEq as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tower_http::timeout::RequestBodyTimeoutLayer;

use crate::serve::arguments::BODY_BYTES_MAX;
use crate::serve::health;
#[cfg(feature = "sessions")]
use crate::serve::legacy::{self, Sessions};
#[cfg(feature = "strict")]
use crate::serve::messages;
#[cfg(feature = "metrics")]
use crate::serve::metrics;
use crate::serve::plain;
use crate::serve::state::ServerState;

/// The longest body of a plain search: a question of 2,000 characters, escaped, with its filters.
const SEARCH_BYTES_MAX: usize = 64 * 1024;
/// Connections at a time: a monitor keeps one, a fleet of them some dozens.
const CONNECTIONS_MAX: usize = 256;
/// How long a caller may take to send its headers.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
/// How long a caller may pause within a body: with a limit on its length, the end of every body.
const BODY_PAUSE_MAX: Duration = Duration::from_secs(5);
/// How long a graceful stop waits for answers under way.
const GRACE: Duration = Duration::from_secs(3);
/// After an accept error, such as too many open files, so as not to spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A listener at work.
#[derive(Debug)]
pub struct Listener {
    closing: CancellationToken,
    task: JoinHandle<()>,
    mcp: CancellationToken,
}

impl Listener {
    /// Starts to answer by a router, which ends its streams by `mcp`.
    pub fn open(listener: TcpListener, router: Router, mcp: CancellationToken) -> Self {
        let closing = CancellationToken::new();
        let task = tokio::spawn(accept(listener, router, closing.clone()));
        Self { closing, task, mcp }
    }

    /// Stops listening and lets answers under way end, for a grace.
    pub async fn close(self) {
        self.closing.cancel();
        let mut task = self.task;
        if tokio::time::timeout(GRACE, &mut task).await.is_err() {
            task.abort();
        }
        self.mcp.cancel();
    }

    /// Drops listener and connections, whatever is under way.
    pub async fn abort(self) {
        self.task.abort();
        // The listener is gone once the task is; an abort is its only way to end, so its error is no news.
        let _aborted = self.task.await;
        self.mcp.cancel();
    }
}

/// Accepts until told to stop, then waits for its connections.
async fn accept(listener: TcpListener, router: Router, closing: CancellationToken) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = closing.cancelled() => break,
            Some(_ended) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _peer)) => {
                    if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
                        let serving = connection(stream, router.clone(), closing.clone());
                        connections.spawn(async move {
                            serving.await;
                            drop(permit);
                        });
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn connection(stream: TcpStream, router: Router, closing: CancellationToken) {
    // Nagle costs a caller that keeps its connection 40 ms an answer.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY was refused");
    }
    let service = TowerToHyperService::new(router);
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = closing.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// What a router is made of.
#[derive(Debug)]
pub struct Endpoint<H> {
    /// Whose answers they are.
    pub state: Arc<ServerState>,
    /// Its MCP side.
    pub handler: H,
    /// The sessions that clients of older versions keep.
    #[cfg(feature = "sessions")]
    pub sessions: Arc<Sessions>,
    /// Ends the streams of MCP.
    pub mcp: CancellationToken,
    /// Whether it is not on loopback: any Host is taken then.
    pub public: bool,
}

/// All that a server answers.
pub fn router<H: ServerHandler + Clone>(endpoint: Endpoint<H>) -> Router {
    let Endpoint { state, handler, mcp, public, .. } = endpoint;
    let config = transport(mcp, public);
    #[cfg(feature = "sessions")]
    let sessions = legacy::router(handler.clone(), endpoint.sessions, config.clone());
    #[cfg(not(feature = "sessions"))]
    let sessions = Router::new();
    let service =
        StreamableHttpService::new(move || Ok(handler.clone()), Arc::new(NeverSessionManager::default()), config);
    let mcp = Router::new().nest_service("/mcp", service);
    #[cfg(feature = "strict")]
    let mcp = mcp.route_layer(middleware::from_fn(messages::read));
    let search = Router::new()
        .route("/search", post(plain::search))
        .route("/sources", get(plain::sources))
        .layer(DefaultBodyLimit::max(SEARCH_BYTES_MAX))
        .layer(middleware::from_fn_with_state(public, plain::only_ours))
        .with_state(Arc::clone(&state));
    let router = Router::new()
        .merge(mcp)
        .merge(sessions)
        .merge(search)
        .layer(middleware::from_fn_with_state(Arc::clone(&state), authorise))
        .route("/live", get(health::live))
        .route("/ready", get(health::ready))
        .route("/health", get(health::health))
        .route("/openapi.json", get(plain::openapi));
    #[cfg(feature = "metrics")]
    let router = router.route("/metrics", get(metrics::metrics));
    router.layer(RequestBodyTimeoutLayer::new(BODY_PAUSE_MAX)).with_state(state)
}

/// How MCP travels, at both mounts.
fn transport(mcp: CancellationToken, public: bool) -> StreamableHttpServerConfig {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None)
        .with_max_request_body_bytes(BODY_BYTES_MAX)
        .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"])
        .with_cancellation_token(mcp);
    if public { config.disable_allowed_hosts() } else { config }
}

/// Asks callers of either mount for the token, where there is one.
async fn authorise(State(state): State<Arc<ServerState>>, request: Request, next: Next) -> Response {
    #[cfg(feature = "tenants")]
    if let Some(tenants) = &state.tenants {
        return crate::tenants::door::pass(tenants, state.bearer.as_deref(), (brought, challenge), request, next).await;
    }
    let is_it = |token: &String| bool::from(token.as_bytes().ct_eq(brought(request.headers()).as_bytes()));
    if state.bearer.as_ref().is_none_or(is_it) { next.run(request).await } else { challenge(request.headers()) }
}

/// The token that a request brings; empty where it brings none.
fn brought(headers: &HeaderMap) -> &str {
    let brought = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    brought.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default()
}

/// The refusal of a request without the token.
pub fn challenge(headers: &HeaderMap) -> Response {
    let is_bare = brought(headers).is_empty();
    let challenge = if is_bare { "Bearer realm=\"mcp\"" } else { "Bearer realm=\"mcp\", error=\"invalid_token\"" };
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)], "a bearer token is needed\n").into_response()
}
