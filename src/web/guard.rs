//! What is asked at the door of every request: for which host, from which page, by whom.
//!
//! The host list stops DNS rebinding, on loopback too: a name of the attacker's that points here is
//! not one of ours. The origin check stops another site's form from acting in a visitor's name. With
//! a token, users or a provider declared, everything but health, assets, runbooks and the sign-in form wants a session,
//! the token itself or a key; what a key's role does not allow is refused, and what is asked for is noted.

use std::net::{IpAddr, Ipv4Addr};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use chrono::Utc;

use crate::deliver::ack_link;
use crate::domain::api_key::Role;
use crate::web::admitted::{Admitted, NOBODY_SIGNS_IN, Pass, Right, TOKEN};
use crate::web::audit;
use crate::web::oidc;
use crate::web::problem::Problem;
use crate::web::public;
use crate::web::sessions::AuthResult;
use crate::web::source::PeerAddress;
use crate::web::state::{Settings, WebState};

/// The cookie that holds a session's id.
pub(crate) const SESSION_COOKIE: &str = "serin_session";

/// Asks everything, then hands the request on.
pub(crate) async fn check(State(state): State<WebState>, mut request: Request, next: Next) -> Response {
    let public_url = state.fleet_now().public_url.clone();
    let open_to_any_host = matches!(request.uri().path(), "/healthz" | "/readyz");
    let host = host_of(&request);
    if !open_to_any_host && !host.as_deref().is_some_and(|host| host_is_ours(host, &state.settings, &public_url)) {
        return refuse(&request, StatusCode::MISDIRECTED_REQUEST, "this host name is not served here");
    }
    // A client that was told to bring a token asks here who gives them out, and would read the sign-in form as JSON.
    if request.uri().path().starts_with("/.well-known/") {
        let why = "nobody gives out tokens here; send Serin's own as `Authorization: Bearer …`";
        return refuse(&request, StatusCode::NOT_FOUND, why);
    }
    let acts = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let sender = sender(request.headers(), host.as_deref().unwrap_or_default(), &public_url);
    // Before anything else is asked: another site's form learns nothing of who is signed in, and guesses no token.
    if acts && sender == RequestSource::Elsewhere {
        return not_from_here(&request);
    }
    let Admitted { visit, pass, who } = match admit(&state, &request, sender) {
        Ok(admitted) => admitted,
        Err(answer) => return *answer,
    };
    // Browsers name the origin of every action. Whoever does not is a tool, and a tool has no cookie.
    if acts && sender == RequestSource::Unnamed && visit.signed_in {
        return not_from_here(&request);
    }
    let wanted = wanted(request.method(), request.uri().path());
    let (from, action) = (source(request.extensions()), format!("{} {}", request.method(), request.uri().path()));
    if !visit.admitted && wanted > Some(Role::Read) {
        // What is open to all is asked, and nothing acts there.
        return refuse(&request, StatusCode::METHOD_NOT_ALLOWED, "there is nothing here to act on");
    }
    if wanted > visit.role && visit.admitted {
        if state.refusals.is_noted(&who, Utc::now()) {
            audit::note(&state, (&who, from), &action, StatusCode::FORBIDDEN).await;
        }
        let why = match wanted {
            Some(Role::Owner) => "this wants the token itself, or a user who is an owner; a key does not do",
            _ => "this key or user is let in to look, not to act; it takes one with the role act",
        };
        return refuse(&request, StatusCode::FORBIDDEN, why);
    }
    request.extensions_mut().insert(visit);
    request.extensions_mut().insert(pass);
    if !acts || wanted <= Some(Role::Read) {
        return next.run(request).await;
    }
    // Of a life of its own: whoever asked may be gone before it is done, and what came of it is noted all the same.
    let acting = tokio::spawn(async move {
        let Ok(asked) = audit::begin(&state, (&who, from), &action).await else {
            let why = "nothing is done that cannot be noted, and the database does not answer; try again in a moment";
            return refuse(&request, StatusCode::SERVICE_UNAVAILABLE, why);
        };
        let answer = tokio::spawn(next.run(request)).await.unwrap_or_else(|_| broken());
        audit::end(&state, asked, answer.status()).await;
        answer
    });
    acting.await.unwrap_or_else(|_| broken())
}

/// What one has to be allowed for a request; none: whoever comes. A message's link proves itself who may.
fn wanted(method: &Method, path: &str) -> Option<Role> {
    let is_below = |base: &str| path.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    match () {
        () if is_below("/api/v1/keys") || is_below("/api/v1/audit") => Some(Role::Owner),
        () if matches!(path, "/login" | "/logout" | oidc::BEGIN | oidc::CALLBACK) || is_link(path) => None,
        // The tools for agents only look.
        () if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) || is_below("/mcp") => Some(Role::Read),
        () => Some(Role::Act),
    }
}

/// Puts the headers on every answer that keep a browser from being talked into anything.
pub(crate) async fn armour(request: Request, next: Next) -> Response {
    const HEADERS: [(&str, &str); 7] = [
        (
            "content-security-policy",
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        ),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        // Not `no-referrer`, under which a browser says `Origin: null` even of our own forms (Fetch, "append a request
        // `Origin` header"). Nobody else gets to know an address of ours.
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ];
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        // Where an answer may stand in pages of others, whoever gives it says so.
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    // What a page shows is for the one who signed in, and old as soon as it is drawn.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The address a request is from; unspecified where the server was not told.
pub(crate) fn source(request_parts: &axum::http::Extensions) -> IpAddr {
    request_parts.get::<PeerAddress>().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |PeerAddress(address)| *address)
}

pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

fn admit(state: &WebState, request: &Request, sender: RequestSource) -> Result<Admitted, Box<Response>> {
    if !state.has_to_sign_in() {
        return Ok(Admitted::by(Right::owner(NOBODY_SIGNS_IN), Pass::Open));
    }
    let now = Utc::now();
    if let Some(id) = cookie(request.headers(), SESSION_COOKIE)
        && let Some(right) = state.sessions.opened_with(id, now).and_then(|with| with.right(state, now))
    {
        return Ok(Admitted::by(right, Pass::Session(id.to_owned())));
    }
    if let Some(shown) = bearer(request.headers()) {
        if let Some(key) = state.keys.of_secret(shown, now) {
            return Ok(Admitted::by(Right::of_key(&key), Pass::Key(key.id)));
        }
        let token = state.settings.token.as_ref();
        return match state.sessions.authenticate(shown, token, source(request.extensions()), now) {
            AuthResult::Right => Ok(Admitted::by(Right::owner(TOKEN), Pass::Always)),
            AuthResult::Wrong => {
                Err(Box::new(refuse(request, StatusCode::UNAUTHORIZED, "this token is not the right one")))
            }
            AuthResult::TooOften => Err(Box::new(refuse(
                request,
                StatusCode::TOO_MANY_REQUESTS,
                "this token is wrong, as many from your address were; wait a minute",
            ))),
        };
    }
    if is_public(request.uri().path()) {
        return Ok(Admitted::nobody());
    }
    Err(Box::new(ask_to_sign_in(request, sender)))
}

/// Shown to everybody: what says nothing about the fleet, and what the file says that everybody may see. Runbooks are part
/// of this program's text.
fn is_public(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/login" | oidc::BEGIN | oidc::CALLBACK | "/runbooks")
        || path.starts_with("/assets/")
        || path.starts_with("/runbooks/")
        || is_link(path)
        || public::routes::is_public(path)
}

/// The page behind a message's link, which proves itself that its bearer was told.
fn is_link(path: &str) -> bool {
    path.strip_prefix(ack_link::PATH).is_some_and(|rest| rest.starts_with('/'))
}

fn ask_to_sign_in(request: &Request, sender: RequestSource) -> Response {
    let path = request.uri().path();
    // A session ends while its pages stay open. What was clicked there is not done later by itself: somebody else may
    // sit there by then.
    if *request.method() == Method::POST && sender == RequestSource::Ours && !speaks_json(path) {
        let page = path.rsplit_once('/').map_or("/", |(page, _)| if page.is_empty() { "/" } else { page });
        return Redirect::to(&format!("/login?next={}&said=over", encoded(page))).into_response();
    }
    if speaks_json(path) || *request.method() != Method::GET {
        return refuse(request, StatusCode::UNAUTHORIZED, "sign in, or send the token as `Authorization: Bearer …`");
    }
    // A strict cookie does not come along when a link in a mail is followed. Asking the browser to
    // come again from here brings it, so the night shift need not sign in once more.
    if request.headers().get("sec-fetch-site").is_some_and(|site| site == "cross-site") {
        return Html(include_str!("../../templates/bounce.html")).into_response();
    }
    let asked = request.uri().path_and_query().map_or("/", |path| path.as_str());
    Redirect::to(&format!("/login?next={}", encoded(asked))).into_response()
}

fn encoded(place: &str) -> String {
    url::form_urlencoded::byte_serialize(place.as_bytes()).collect()
}

fn speaks_json(path: &str) -> bool {
    let below = ["/api/", "/mcp/", "/.well-known/"];
    below.into_iter().any(|begin| path.starts_with(begin)) || matches!(path, "/mcp" | "/metrics" | "/events")
}

fn not_from_here(request: &Request) -> Response {
    refuse(request, StatusCode::FORBIDDEN, "this action did not come from a page of this Serin")
}

fn broken() -> Response {
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}

fn refuse(request: &Request, status: StatusCode, why: &'static str) -> Response {
    let mut response = if speaks_json(request.uri().path()) {
        Problem::new(status, why).into_response()
    } else {
        (status, why).into_response()
    };
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"serin\""));
    }
    if status == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
    }
    response
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn host_of(request: &Request) -> Option<String> {
    let from_uri = request.uri().authority().map(|authority| authority.as_str().to_owned());
    from_uri.or_else(|| request.headers().get(header::HOST)?.to_str().ok().map(str::to_owned))
}

/// Whether a Host header names us.
///
/// An address literal cannot be rebound, so where every address is bound, any literal is ours.
fn host_is_ours(host: &str, settings: &Settings, public_url: &str) -> bool {
    let name = without_port(host);
    if url::Url::parse(public_url)
        .ok()
        .and_then(|url| url.host_str().map(str::to_owned))
        .is_some_and(|ours| ours.eq_ignore_ascii_case(name))
    {
        return true;
    }
    let bound = settings.listen.ip();
    let reachable_locally = bound.is_loopback() || bound.is_unspecified();
    if reachable_locally
        && (name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost"))
    {
        return true;
    }
    let literal = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    literal.is_ok_and(|ip| ip == bound || bound.is_unspecified() || (bound.is_loopback() && ip.is_loopback()))
}

fn without_port(host: &str) -> &str {
    if host.starts_with('[') {
        return host.find(']').map_or(host, |end| &host[..=end]);
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

/// Who sent an action, as far as headers tell that no page can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestSource {
    Ours,
    /// A page of somebody else, or one that hides whose it is.
    Elsewhere,
    /// Something that is no browser.
    Unnamed,
}

fn sender(headers: &HeaderMap, host: &str, public_url: &str) -> RequestSource {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if site.is_some_and(|site| site != b"same-origin" && site != b"none") {
        return RequestSource::Elsewhere;
    }
    let ours = match headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or_default()) {
        // Something between us and the browser may put `no-referrer` on our pages. A sandboxed frame says `null` as
        // well, but it is cross-site to every page, even to the one it stands in.
        Some("null") => site == Some(b"same-origin"),
        Some(origin) => {
            let bare = origin.split_once("://").map(|(_, host)| host);
            bare.is_some_and(|bare| bare.eq_ignore_ascii_case(host)) || same_origin(origin, public_url)
        }
        None if site.is_none() => return RequestSource::Unnamed,
        None => true,
    };
    if ours { RequestSource::Ours } else { RequestSource::Elsewhere }
}

fn same_origin(origin: &str, public_url: &str) -> bool {
    match (url::Url::parse(origin), url::Url::parse(public_url)) {
        (Ok(one), Ok(other)) => one.origin().is_tuple() && one.origin() == other.origin(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(listen: &str) -> Settings {
        Settings { listen: listen.parse().unwrap(), token: None, lock_entry: |_, _| None }
    }

    #[test]
    fn only_our_own_names_are_served() {
        let rows = [
            ("127.0.0.1:8080", "127.0.0.1:8080", true, "the address that was bound"),
            ("127.0.0.1:8080", "localhost:8080", true, "its usual name"),
            ("127.0.0.1:8080", "[::1]:8080", true, "its other family"),
            ("127.0.0.1:8080", "serin.example.org", true, "the public name, behind a proxy"),
            ("127.0.0.1:8080", "SERIN.example.org:443", true, "in any case and with a port"),
            ("127.0.0.1:8080", "evil.example.net:8080", false, "a name that was made to point here"),
            ("127.0.0.1:8080", "localhost.evil.example.net", false, "a name that begins like ours"),
            ("127.0.0.1:8080", "192.0.2.1:8080", false, "an address that is not bound"),
            ("127.0.0.1:8080", "", false, "no name at all"),
            ("0.0.0.0:8080", "192.0.2.1:8080", true, "any literal, where every address is bound"),
            ("192.0.2.1:8080", "localhost:8080", false, "a local name of an address that is not local"),
        ];
        for (listen, host, ours, sentence) in rows {
            assert_eq!(host_is_ours(host, &settings(listen), "https://serin.example.org"), ours, "{sentence}");
        }
    }
}
