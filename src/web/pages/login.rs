//! `/login` and `/logout`: the token, a key, or a name and its password, once, for a cookie that lasts a shift; and
//! `/login/oidc`, where a provider says who somebody is.

use std::net::IpAddr;

use askama::Template;
use axum::Extension;
use axum::extract::{Form, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{AppendHeaders, Html, IntoResponse, Redirect, Response};
use axum::{RequestExt as _, http};
use chrono::Utc;
use serde::Deserialize;

use crate::web::admitted::Visit;
use crate::web::audit;
use crate::web::claims::NothingOpened;
use crate::web::guard::{self, SESSION_COOKIE};
use crate::web::oidc::{self, CameBack, Refused};
use crate::web::pages::frame::{Frame, show};
use crate::web::passwords::Busy;
use crate::web::sessions::{AuthResult, OpenedWith};
use crate::web::state::WebState;

/// What somebody shows: a name and a password, else a token or a key.
#[derive(Debug, Deserialize)]
pub(crate) struct SignIn {
    #[serde(default)]
    token: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    next: String,
}

/// Where to go once signed in, and why the form is there.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct NextPage {
    #[serde(default)]
    next: String,
    #[serde(default)]
    said: String,
}

/// What a provider sends a browser back with.
#[derive(Debug, Deserialize)]
pub(crate) struct Callback {
    #[serde(default)]
    state: String,
    code: Option<String>,
    #[serde(default)]
    error: String,
}

#[derive(Debug, Template)]
#[template(path = "login.html")]
struct LoginPage {
    frame: Frame,
    next: String,
    wrong: Option<String>,
    by_token: bool,
    by_name: bool,
    /// The host of the provider.
    by_provider: Option<String>,
}

/// Asks for the next page from a page of ours, so that the strict cookie comes along.
#[derive(Debug, Template)]
#[template(path = "signed_in.html")]
struct SignedInPage<'n> {
    next: &'n str,
}

pub(crate) async fn page(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Query(asked): Query<NextPage>,
) -> Response {
    if visit.admitted {
        return Redirect::to(local(&asked.next)).into_response();
    }
    let over = "Your session is over, and what you asked for was not done. Sign in and ask again.";
    form(&state, visit, StatusCode::OK, &asked.next, (asked.said == "over").then(|| over.to_owned()))
}

pub(crate) async fn sign_in(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    request: Request,
) -> Response {
    let from = guard::source(request.extensions());
    let Ok(Form(asked)) = request.extract::<Form<SignIn>, _>().await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    if !state.has_to_sign_in() {
        return Redirect::to("/").into_response();
    }
    let shown = if asked.name.is_empty() {
        by_token(&state, asked.token.trim(), from)
    } else {
        by_name(&state, asked.name.trim(), asked.password, from).await
    };
    match shown {
        Ok(with) => opened(&state, with, from, Redirect::to(local(&asked.next))).await,
        Err((status, said)) => {
            let mut answer = form(&state, visit, status, &asked.next, Some(said.to_owned()));
            if status == StatusCode::TOO_MANY_REQUESTS {
                answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
            }
            answer
        }
    }
}

/// Why somebody is not let in.
type NotIn = (StatusCode, &'static str);

fn by_token(state: &WebState, shown: &str, from: IpAddr) -> Result<OpenedWith, NotIn> {
    let now = Utc::now();
    if let Some(key) = state.keys.of_secret(shown, now) {
        return Ok(OpenedWith::Key(key.id));
    }
    match state.sessions.authenticate(shown, state.settings.token.as_ref(), from, now) {
        AuthResult::Right => Ok(OpenedWith::Token),
        AuthResult::Wrong => Err((StatusCode::UNAUTHORIZED, "This is not the token.")),
        AuthResult::TooOften => Err((
            StatusCode::TOO_MANY_REQUESTS,
            "This is not the token, and too many wrong ones came from your address. Wait a minute.",
        )),
    }
}

async fn by_name(state: &WebState, name: &str, password: String, from: IpAddr) -> Result<OpenedWith, NotIn> {
    if !state.sessions.may_try(from, Utc::now()) {
        let said = "Too many wrong passwords came from your address, and this one was not looked at. Wait a minute.";
        return Err((StatusCode::TOO_MANY_REQUESTS, said));
    }
    let fleet = state.fleet_now();
    match state.passwords.user(&fleet.sign_in, name, password).await {
        Ok(Some(user)) => {
            state.sessions.was_right(from);
            Ok(OpenedWith::User(user))
        }
        Ok(None) => Err((StatusCode::UNAUTHORIZED, "This is no name here, or not its password.")),
        Err(Busy) => {
            state.sessions.was_right(from);
            Err((StatusCode::SERVICE_UNAVAILABLE, "Too many sign in just now. Try again in a moment."))
        }
    }
}

/// `GET /login/oidc`: on to the provider.
pub(crate) async fn begin(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Query(asked): Query<NextPage>,
    request: Request,
) -> Response {
    let (fleet, from) = (state.fleet_now(), guard::source(request.extensions()));
    let Some(provider) = &fleet.sign_in.provider else { return Redirect::to("/login").into_response() };
    match state.oidc.begin(provider, &fleet.public_url, (from, local(&asked.next))).await {
        Ok(sent) => {
            let cookie = provider_cookie(&state, &sent.cookie, oidc::BEGUN_MINUTES * 60);
            ([(header::SET_COOKIE, cookie)], Redirect::to(&sent.url)).into_response()
        }
        Err(refused) => not_by_provider(&state, visit, &asked.next, &refused),
    }
}

/// `GET /login/oidc/callback`: back from the provider.
pub(crate) async fn come_back(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Query(back): Query<Callback>,
    request: Request,
) -> Response {
    let (fleet, from) = (state.fleet_now(), guard::source(request.extensions()));
    let Some(provider) = &fleet.sign_in.provider else { return Redirect::to("/login").into_response() };
    // Anybody may write an address with an error in it, so that it is shown only as far as it is a word.
    let error = back.error.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect();
    let answer = (back.state.as_str(), back.code.ok_or(error));
    let browser = guard::cookie(request.headers(), oidc::COOKIE);
    match state.oidc.finish(provider, &fleet.public_url, answer, browser).await {
        Ok(CameBack { name, role, by, next }) => {
            let Ok(page) = (SignedInPage { next: local(&next) }).render() else {
                return StatusCode::INTERNAL_SERVER_ERROR.into_response();
            };
            let over = AppendHeaders([(header::SET_COOKIE, provider_cookie(&state, "", 0))]);
            opened(&state, OpenedWith::Provider { name, role, by }, from, (over, Html(page))).await
        }
        Err(refused) => not_by_provider(&state, visit, "", &refused),
    }
}

fn not_by_provider(state: &WebState, visit: Visit, next: &str, refused: &Refused) -> Response {
    tracing::warn!(%refused, "somebody is not signed in by the provider");
    let status = match refused {
        Refused::Away { .. } => StatusCode::SERVICE_UNAVAILABLE,
        Refused::NothingOpened(NothingOpened::NoRole { .. }) => StatusCode::FORBIDDEN,
        _ => StatusCode::UNAUTHORIZED,
    };
    form(state, visit, status, next, Some(refused.to_string()))
}

/// A new session, noted, and on to where its owner wanted to go.
async fn opened(state: &WebState, with: OpenedWith, from: IpAddr, on: impl IntoResponse) -> Response {
    let now = Utc::now();
    // The file may say something else by now.
    let Some(right) = with.right(state, now) else { return Redirect::to("/login").into_response() };
    let (id, seconds) = state.sessions.open(with, now);
    audit::note(state, (&right.who, from), "signed in", StatusCode::SEE_OTHER).await;
    (AppendHeaders([(header::SET_COOKIE, session_cookie(state, &id, seconds))]), on).into_response()
}

pub(crate) async fn sign_out(State(state): State<WebState>, headers: HeaderMap) -> Response {
    if let Some(id) = guard::cookie(&headers, SESSION_COOKIE) {
        state.sessions.close(id);
    }
    ([(header::SET_COOKIE, session_cookie(&state, "", 0))], Redirect::to("/login")).into_response()
}

fn session_cookie(state: &WebState, id: &str, seconds: i64) -> String {
    format!("{SESSION_COOKIE}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{}", secure(state))
}

/// Comes along when another site leads back, as a strict one would not.
fn provider_cookie(state: &WebState, value: &str, seconds: i64) -> String {
    let (name, path) = (oidc::COOKIE, oidc::BEGIN);
    format!("{name}={value}; Path={path}; HttpOnly; SameSite=Lax; Max-Age={seconds}{}", secure(state))
}

fn secure(state: &WebState) -> &'static str {
    if state.fleet_now().public_url.starts_with("https://") { "; Secure" } else { "" }
}

fn form(state: &WebState, visit: Visit, status: StatusCode, next: &str, wrong: Option<String>) -> Response {
    let fleet = state.fleet_now();
    let frame = Frame::new(state, visit, Utc::now(), "login", "Sign in");
    let host = |issuer: &str| url::Url::parse(issuer).ok()?.host_str().map(str::to_owned);
    let by_provider = fleet.sign_in.provider.as_ref();
    let by_provider = by_provider.map(|provider| host(&provider.issuer).unwrap_or_else(|| provider.issuer.clone()));
    let (by_token, by_name) = (state.settings.token.is_some(), fleet.sign_in.users.is_some());
    show(status, &LoginPage { frame, next: local(next).to_owned(), wrong, by_token, by_name, by_provider })
}

/// A place on our own pages; anything else becomes the fleet.
fn local(next: &str) -> &str {
    let own = next.starts_with('/') && !next.starts_with("//") && !next.contains(['\\', '\n', '\r', '\t']);
    let plain = next.parse::<http::Uri>().is_ok_and(|uri| uri.authority().is_none());
    if own && plain { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_in_leads_nowhere_else() {
        let rows = [
            ("/incidents?state=open", "/incidents?state=open", "a page of ours"),
            ("//evil.example.net", "/", "another host without a scheme"),
            ("/\\evil.example.net", "/", "what a browser reads as another host"),
            ("https://evil.example.net", "/", "another site"),
            ("", "/", "nothing"),
        ];
        for (next, goes, sentence) in rows {
            assert_eq!(local(next), goes, "{sentence}");
        }
    }
}
