//! A server for tests: real HTTP on loopback, one scripted reply after the other, and a record of what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, Uri, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;

use crate::remote::settings::{ApiKey, RemoteSettings};

/// The key that the server is asked with.
pub(crate) const KEY: &str = "sk-planted-secret";
/// A header of its own that a server may want the key in: Chroma's.
pub(crate) const OWN: HeaderName = HeaderName::from_static("x-chroma-token");

/// What it does next.
pub(crate) enum Reply {
    /// 200 and this.
    Json(Value),
    /// 200 and what is made of the request's body.
    Made(fn(&Value) -> Value),
    /// A status, headers, a body.
    Plain(u16, &'static [(&'static str, &'static str)], &'static str),
    /// 200 and so many bytes without a declared length.
    Long(usize),
    /// Nothing, ever.
    Hang,
}

/// A request it got.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) bearer: String,
    pub(crate) own_key: String,
    pub(crate) body: Value,
}

pub(crate) struct Scripted {
    base: String,
    stage: Arc<Script>,
}

#[derive(Default)]
struct Script {
    replies: Mutex<VecDeque<Reply>>,
    asked: Mutex<Vec<Asked>>,
    came: tokio::sync::Notify,
}

impl Scripted {
    pub(crate) async fn play(replies: Vec<Reply>) -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        let stage = Arc::new(Script { replies: Mutex::new(replies.into()), ..Script::default() });
        let app = axum::Router::new().fallback(reply).with_state(Arc::clone(&stage));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { base, stage }
    }

    /// With a key, generous times, and a breaker that stays open.
    pub(crate) fn settings(&self) -> RemoteSettings {
        RemoteSettings {
            total_max: Duration::from_secs(60),
            cool_down: Duration::from_hours(1),
            ..RemoteSettings::new(&self.base, Some(ApiKey::new(KEY)))
        }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.stage.asked.lock().unwrap().clone()
    }

    /// Returns once a request has come that nobody waited for yet.
    pub(crate) async fn came(&self) {
        self.stage.came.notified().await;
    }
}

async fn reply(State(stage): State<Arc<Script>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    // A question without a body has none.
    let body: Value = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() };
    let said = |name| headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
    let (bearer, own_key) = (said(header::AUTHORIZATION), said(OWN));
    stage.asked.lock().unwrap().push(Asked { path: uri.path().to_owned(), bearer, own_key, body: body.clone() });
    stage.came.notify_one();
    let next = stage.replies.lock().unwrap().pop_front();
    match next {
        Some(Reply::Json(value)) => axum::Json(value).into_response(),
        Some(Reply::Made(make)) => axum::Json(make(&body)).into_response(),
        Some(Reply::Plain(status, headers, text)) => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(*name, *value);
            }
            response.body(text.into()).unwrap()
        }
        Some(Reply::Long(bytes)) => {
            let chunks = (0..bytes.div_ceil(1024)).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1024]));
            axum::body::Body::from_stream(futures_util::stream::iter(chunks)).into_response()
        }
        Some(Reply::Hang) => std::future::pending().await,
        None => panic!("the script is over"),
    }
}
