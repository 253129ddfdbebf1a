//! The way in, with what is broken at it: callers are refused, and sessions lost.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use tokio_util::sync::CancellationToken;

use crate::lab::kinds::Fault;
use crate::lab::switches::Faults;
use crate::lab::tools::DriftingTools;
use crate::serve::legacy::{self, Sessions};
use crate::serve::listener::{self, Endpoint};
use crate::serve::state::ServerState;
use crate::serve::tools::McpHandler;

/// What nobody is ever asked a token for.
const OPEN: &[&str] = &["/live", "/ready", "/health", "/metrics", "/openapi.json"];

/// All that a server answers, with the laboratory before it.
pub fn router(state: &Arc<ServerState>, faults: &Faults, mcp: CancellationToken, public: bool) -> Router {
    let sessions = Arc::<Sessions>::default();
    let handler = DriftingTools::new(McpHandler(Arc::clone(state)), faults.clone());
    let refusing = (faults.clone(), Arc::clone(&sessions));
    listener::router(Endpoint { state: Arc::clone(state), handler, sessions, mcp, public })
        .layer(middleware::from_fn_with_state(refusing, refuse))
}

async fn refuse(State((faults, sessions)): State<(Faults, Arc<Sessions>)>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if faults.dose(Fault::AuthRequired).is_some() && !OPEN.contains(&path) {
        return listener::challenge(request.headers());
    }
    if path == legacy::PATH
        && let Some(id) = legacy::session_of(request.headers())
        && sessions.knows(&id).await
        && faults.activated(Fault::SessionLost).is_some()
    {
        sessions.forget(&id).await;
        return legacy::lost();
    }
    next.run(request).await
}
