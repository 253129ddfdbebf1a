//! Who is let in, and who asks by MCP: its transports answer in tasks of their own, so what the door saw travels with the
//! request.

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::middleware::Next;
use axum::response::Response;
use http::request::Parts;
use rmcp::RoleServer;
use rmcp::service::RequestContext;

use crate::tenants::asker::Asker;
use crate::tenants::roll::Roll;

/// How headers are read for a token, and how a request without the right one is refused.
pub type Reading = (fn(&HeaderMap) -> &str, fn(&HeaderMap) -> Response);

/// Lets a request pass as whoever its token names, or refuses it.
pub async fn pass(
    tenants: &Roll,
    operator: Option<&str>,
    (brought, refusal): Reading,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(asker) = tenants.known(brought(request.headers()), operator) else { return refusal(request.headers()) };
    request.extensions_mut().insert(asker.clone());
    asker.answered(next.run(request)).await
}

/// Whom the door let in with a call; where nobody is told, nothing is theirs.
pub fn asker(context: &RequestContext<RoleServer>) -> Asker {
    let let_in = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Asker>().cloned());
    let_in.unwrap_or_else(Asker::nobody)
}
