//! `/legacy/mcp`: sessions, as servers kept them before 2026-07-28 took them out of the protocol.
//!
//! `initialize` opens one and names it in `Mcp-Session-Id`, every later request carries that name,
//! `DELETE` ends it, and one that nobody uses is forgotten. Only versions that have sessions are
//! spoken here, so that a client of both eras meets what it would meet at an older server. They live
//! in memory and go with the listener.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use futures_util::Stream;
use rmcp::ServerHandler;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ProtocolVersion, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionTransport,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Mutex;

use crate::serve::messages::{self, refusal};

/// Where it is mounted.
pub const PATH: &str = "/legacy/mcp";
/// Sessions at a time: as many as connections. Fifty clients that open one a minute and never end
/// one keep so many within `IDLE_MAX`.
pub const SESSIONS_MAX: usize = 256;
/// How long a session may be silent: a monitor that asks once a minute keeps its own.
pub const IDLE_MAX: Duration = Duration::from_mins(5);
/// How long the first message may take to reach a session that was opened for it.
const INITIALIZE_WITHIN: Duration = Duration::from_secs(10);
/// How long an answer is kept for a caller whose stream broke. Short, because every answer is kept.
const ANSWERS_KEPT: Duration = Duration::from_secs(10);
/// When to try again where no session is free, in seconds.
const RETRY_AFTER: &str = "60";
/// What names a session.
const SESSION_ID: &str = "mcp-session-id";
/// What names a version of the protocol.
const VERSION: &str = "mcp-protocol-version";

/// The mount: tools behind sessions.
pub fn router<H, S>(handler: H, sessions: Arc<Sessions>, config: StreamableHttpServerConfig) -> Router<S>
where
    H: ServerHandler + Clone,
    S: Clone + Send + Sync + 'static,
{
    let config = config.with_legacy_session_mode(true);
    let service = StreamableHttpService::new(move || Ok(handler.clone()), Arc::clone(&sessions), config);
    Router::new()
        .nest_service(PATH, service)
        .route_layer(middleware::from_fn(messages::read))
        // Comes first: whose session is gone is told that, whatever was said.
        .route_layer(middleware::from_fn_with_state(sessions, attend))
}

/// The session that a request belongs to, where it speaks a version that has sessions.
pub fn session_of(headers: &HeaderMap) -> Option<SessionId> {
    let id = headers.get(SESSION_ID).and_then(|id| id.to_str().ok()).map(SessionId::from);
    id.filter(|_| too_new(headers).is_none())
}

/// Refuses what has no session.
async fn attend(State(sessions): State<Arc<Sessions>>, request: Request, next: Next) -> Response {
    if let Some(refused) = too_new(request.headers()) {
        return refused;
    }
    let Some(id) = session_of(request.headers()) else {
        if request.method() == Method::POST && sessions.are_full().await {
            return full();
        }
        return next.run(request).await;
    };
    if !sessions.knows(&id).await {
        return lost();
    }
    let response = next.run(request).await;
    // It may have ended between the look and the use; that is no fault inside.
    if response.status() == StatusCode::INTERNAL_SERVER_ERROR && !sessions.knows(&id).await {
        return lost();
    }
    response
}

/// The refusal of a version that has no sessions. None named is 2025-03-26, says the specification.
fn too_new(headers: &HeaderMap) -> Option<Response> {
    let version = headers.get(VERSION)?;
    let spoken = ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25);
    if spoken.iter().any(|known| version == known.as_str()) {
        return None;
    }
    let spoken: Vec<&str> = spoken.iter().map(ProtocolVersion::as_str).collect();
    let why = format!("this protocol version is not supported here; supported are {}", spoken.join(", "));
    Some(refusal(StatusCode::BAD_REQUEST, ErrorCode::INVALID_REQUEST, None, &why))
}

/// The refusal of a session that is not there.
pub fn lost() -> Response {
    let why = "session not found: it has ended or was forgotten, so send initialize again";
    refusal(StatusCode::NOT_FOUND, ErrorCode::INVALID_REQUEST, None, why)
}

fn full() -> Response {
    let why = format!("all {SESSIONS_MAX} sessions are in use: try again, and end yours with DELETE");
    let mut response = refusal(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::INTERNAL_ERROR, None, &why);
    response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static(RETRY_AFTER));
    response
}

/// The sessions that are open, bounded in number and idle time.
#[derive(Debug)]
pub struct Sessions {
    local: LocalSessionManager,
    max: usize,
    /// Held from the count to the opening, so that two do not take the last place.
    opening: Mutex<()>,
}

/// Why a session cannot do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum SessionsError {
    /// There are as many as there may be.
    #[error("all sessions are in use")]
    Full,
    /// It is not there, or does not work.
    #[error(transparent)]
    Session(#[from] LocalSessionManagerError),
}

impl Default for Sessions {
    fn default() -> Self {
        Self::new(SESSIONS_MAX, IDLE_MAX)
    }
}

impl Sessions {
    /// At most so many, each ended after it was silent for so long.
    pub fn new(max: usize, idle: Duration) -> Self {
        let mut local = LocalSessionManager::default();
        local.session_config.keep_alive = Some(idle);
        local.session_config.init_timeout = Some(INITIALIZE_WITHIN);
        local.session_config.completed_cache_ttl = ANSWERS_KEPT;
        Self { local, max, opening: Mutex::default() }
    }

    /// Whether a session is open.
    pub async fn knows(&self, id: &SessionId) -> bool {
        self.local.sessions.read().await.contains_key(id)
    }

    /// Drops a session; what it was doing ends unanswered.
    pub async fn forget(&self, id: &SessionId) {
        if let Err(error) = self.local.close_session(id).await {
            tracing::debug!(%error, "a session was already ending");
        }
    }

    async fn are_full(&self) -> bool {
        self.local.sessions.read().await.len() >= self.max
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let _alone = self.opening.lock().await;
        if self.are_full().await {
            return Err(SessionsError::Full);
        }
        Ok(self.local.create_session().await?)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        Ok(self.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.knows(id).await)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        Ok(self.local.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.local.create_stream(id, message).await?)
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        Ok(self.local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.local.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.local.resume(id, last_event_id).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use http_body_util::BodyExt as _;

    /// Short enough to be waited for, and long enough for a busy machine to open a stream within.
    const SHORT: Duration = Duration::from_secs(1);
    const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",
        "capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;

    #[derive(Debug, Clone)]
    struct Silent;
    impl ServerHandler for Silent {}

    fn request(verb: Method, session: Option<&str>, body: &'static str) -> Request {
        let request = Request::builder().method(verb).header(header::HOST, "localhost");
        let request = request
            .header(header::ACCEPT, "application/json, text/event-stream")
            .header(header::CONTENT_TYPE, "application/json");
        let request = session.into_iter().fold(request, |request, id| request.header(SESSION_ID, id));
        request.body(Body::from(body)).unwrap()
    }

    #[tokio::test]
    async fn a_silent_session_ends_and_makes_room() {
        let sessions = Arc::new(Sessions::new(1, SHORT));
        let config = StreamableHttpServerConfig::default().with_sse_keep_alive(None);
        let service = StreamableHttpService::new(|| Ok(Silent), Arc::clone(&sessions), config);
        let opened = service.handle(request(Method::POST, None, INITIALIZE)).await;
        let id = opened.headers()[SESSION_ID].to_str().unwrap().to_owned();
        assert!(sessions.knows(&SessionId::from(id.as_str())).await && sessions.are_full().await);
        let refused = sessions.create_session().await.err();
        assert!(matches!(refused, Some(SessionsError::Full)), "the bound holds whoever asks: {refused:?}");
        // A stream of the session ends when the session does: that is the event to wait for.
        let stream = service.handle(request(Method::GET, Some(&id), "")).await;
        assert_eq!(stream.status(), StatusCode::OK);
        let _events = stream.into_body().collect().await;
        while sessions.are_full().await {
            tokio::task::yield_now().await;
        }
        let late = service.handle(request(Method::GET, Some(&id), "")).await;
        assert_eq!(late.status(), StatusCode::NOT_FOUND);
    }
}
