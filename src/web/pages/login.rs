//! `/login` and `/logout`: the token, once, for a cookie that lasts a shift.

use std::net::IpAddr;

use askama::Template;
use axum::Extension;
use axum::extract::{Form, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::{RequestExt as _, http};
use chrono::Utc;
use serde::Deserialize;

use crate::web::admitted::{self, Visit};
use crate::web::audit;
use crate::web::guard::{self, SESSION_COOKIE};
use crate::web::pages::frame::{Frame, show};
use crate::web::sessions::{AuthResult, OpenedWith, SESSION_HOURS};
use crate::web::state::WebState;

#[derive(Debug, Deserialize)]
pub(crate) struct SignIn {
    #[serde(default)]
    token: String,
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

#[derive(Debug, Template)]
#[template(path = "login.html")]
struct LoginPage {
    frame: Frame,
    next: String,
    wrong: Option<&'static str>,
    needed: bool,
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
    form(&state, visit, StatusCode::OK, &asked.next, (asked.said == "over").then_some(over))
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
    let Some(token) = &state.settings.token else { return Redirect::to("/").into_response() };
    let now = Utc::now();
    let shown = asked.token.trim();
    if let Some(key) = state.keys.of_secret(shown, now) {
        let who = key.called();
        return opened(&state, OpenedWith::Key(key.id), (&who, from), &asked.next).await;
    }
    match state.sessions.authenticate(shown, token, from, now) {
        AuthResult::Wrong => form(&state, visit, StatusCode::UNAUTHORIZED, &asked.next, Some("This is not the token.")),
        AuthResult::TooOften => {
            let said = "This is not the token, and too many wrong ones came from your address. Wait a minute.";
            let mut answer = form(&state, visit, StatusCode::TOO_MANY_REQUESTS, &asked.next, Some(said));
            answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
            answer
        }
        AuthResult::Right => opened(&state, OpenedWith::Token, (admitted::TOKEN, from), &asked.next).await,
    }
}

/// A new session, noted, and on to where its owner wanted to go.
async fn opened(state: &WebState, with: OpenedWith, who: (&str, IpAddr), next: &str) -> Response {
    let id = state.sessions.open(with, Utc::now());
    audit::note(state, who, "signed in", StatusCode::SEE_OTHER).await;
    let cookie = session_cookie(state, &id, SESSION_HOURS * 3_600);
    ([(header::SET_COOKIE, cookie)], Redirect::to(local(next))).into_response()
}

pub(crate) async fn sign_out(State(state): State<WebState>, headers: HeaderMap) -> Response {
    if let Some(id) = guard::cookie(&headers, SESSION_COOKIE) {
        state.sessions.close(id);
    }
    ([(header::SET_COOKIE, session_cookie(&state, "", 0))], Redirect::to("/login")).into_response()
}

fn session_cookie(state: &WebState, id: &str, seconds: i64) -> String {
    let secure = if state.fleet_now().public_url.starts_with("https://") { "; Secure" } else { "" };
    format!("{SESSION_COOKIE}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

fn form(state: &WebState, visit: Visit, status: StatusCode, next: &str, wrong: Option<&'static str>) -> Response {
    let frame = Frame::new(state, visit, Utc::now(), "login", "Sign in");
    show(status, &LoginPage { frame, next: local(next).to_owned(), wrong, needed: state.settings.token.is_some() })
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
