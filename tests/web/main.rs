//! The web from outside: real requests to a real router over a real database file.

#![expect(clippy::unwrap_used, reason = "a test stops where what it stands on is missing")]

use fixture::Running;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, header, redirect};

#[expect(dead_code, reason = "other tests need more of it")]
#[path = "../common/mod.rs"]
mod common;
#[path = "../pages/fixture/mod.rs"]
mod fixture;
#[path = "../pages/connections.rs"]
mod connections;
mod pages;
mod fleet;
mod board;
mod access;
mod roles;
mod forging;
mod users;
mod oidc;
mod real_provider;
mod actions;
mod lists;
mod public;
mod public_shape;
mod accessible;

/// Text such as a hostile server sends.
const HOSTILE: &str = "</script><img src=x onerror=\"alert(1)\">'\n\r\u{0}{{7*7}}";

fn client() -> Client {
    Client::builder().redirect(redirect::Policy::none()).no_proxy().build().unwrap()
}

fn ask(running: &Running, method: Method, path: &str) -> RequestBuilder {
    client().request(method, format!("{}{path}", running.url))
}

/// A form's body; the client is built without its own.
fn form(request: RequestBuilder, pairs: &[(&str, &str)]) -> RequestBuilder {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded").body(body)
}

/// The form of `/login`, filled in.
fn sign_in(running: &Running, token: &str) -> RequestBuilder {
    let request = ask(running, Method::POST, "/login").header("origin", &running.url);
    form(request, &[("token", token), ("next", "/incidents")])
}

async fn get(running: &Running, path: &str) -> (StatusCode, String) {
    let answer = ask(running, Method::GET, path).send().await.unwrap();
    (answer.status(), answer.text().await.unwrap())
}

fn set_cookie(answer: &Response) -> String {
    let line = answer.headers()[header::SET_COOKIE].to_str().unwrap();
    line.split(';').next().unwrap().to_owned()
}
