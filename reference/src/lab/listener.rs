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
use crate::serve::door::{self, Entrance};
use crate::serve::legacy::{self, Sessions};
use crate::serve::life::Life;
use crate::serve::tools::Desk;

/// What nobody is ever asked a token for.
const OPEN: &[&str] = &["/live", "/ready", "/health", "/metrics", "/openapi.json"];

/// All that a server answers, with the laboratory before it.
pub fn router(life: &Arc<Life>, faults: &Faults, mcp: CancellationToken, public: bool) -> Router {
    let sessions = Arc::<Sessions>::default();
    let handler = DriftingTools::new(Desk(Arc::clone(life)), faults.clone());
    let state = (faults.clone(), Arc::clone(&sessions));
    door::router(Entrance { life: Arc::clone(life), handler, sessions, mcp, public })
        .layer(middleware::from_fn_with_state(state, refuse))
}

async fn refuse(State((faults, sessions)): State<(Faults, Arc<Sessions>)>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if faults.dose(Fault::AuthRequired).is_some() && !OPEN.contains(&path) {
        return door::challenge(request.headers());
    }
    if path == legacy::PATH
        && let Some(id) = legacy::session_of(request.headers())
        && sessions.knows(&id).await
        && faults.strikes(Fault::SessionLost).is_some()
    {
        sessions.forget(&id).await;
        return legacy::lost();
    }
    next.run(request).await
}
