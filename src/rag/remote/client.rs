//! One POST of JSON to a server that somebody set up for us, with a limit on each part of it.
//!
//! A failure (no answer, a 5xx, an answer that cannot be used) counts towards the breaker; a refusal
//! and a 429 do not, for a server that says so is alive. A 429 with a short `Retry-After` is waited
//! for once. Nothing else is asked twice: who called knows better whether it is still wanted.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use reqwest::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde::Serialize;
use url::Url;

use crate::net::tls::{self, Tls};
use crate::rag::remote::breaker::{Breaker, Leave, Outcome};
use crate::rag::remote::settings::{self, ApiKey, Settings, SettingsError};

/// A `Retry-After` that is waited for; a longer one is the caller's to decide.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(2);
/// Of what a refusing server says, as much is read and shown.
const SAID_CHARS_MAX: usize = 200;
/// Bytes of a refusal that are read for it.
const SAID_BYTES_MAX: usize = 2_048;
/// Idle connections kept to a server: a batch at a time, and a question beside it.
const IDLE_MAX: usize = 4;
/// TLS sessions remembered; there is one server.
const SESSIONS: usize = 8;

/// Why there is no answer. No message holds a key, nor more of the address than the host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// No connection, no answer in time, or a 5xx.
    #[error("{host} does not answer: {why}")]
    Unavailable {
        /// Host and port.
        host: String,
        /// What happened.
        why: String,
    },
    /// 429.
    #[error("{host} has had too many requests")]
    Limited {
        /// Host and port.
        host: String,
        /// After how long it wants to be asked again, if it says.
        retry_after: Option<Duration>,
    },
    /// 3xx and 4xx but 429.
    #[error("{host} refused with HTTP {status}: {said}")]
    Refused {
        /// Host and port.
        host: String,
        /// The status.
        status: u16,
        /// The beginning of what it said, one line.
        said: String,
    },
    /// Not what was asked for.
    #[error("the answer of {host} cannot be used: {why}")]
    Malformed {
        /// Host and port.
        host: String,
        /// What is wrong.
        why: String,
    },
    /// Not asked: the breaker is open.
    #[error("{host} failed too often just now")]
    Open {
        /// Host and port.
        host: String,
        /// When it is tried again; zero while a trial is on its way.
        retry_after: Duration,
    },
}

/// Asks one server.
#[derive(Debug)]
pub struct RemoteClient {
    client: reqwest::Client,
    base: Url,
    host: String,
    key: Option<ApiKey>,
    bearer: Option<HeaderValue>,
    answer_bytes_max: usize,
    breaker: Mutex<Breaker>,
}

impl RemoteClient {
    /// A client; nothing is opened before the first question.
    ///
    /// # Errors
    /// Where the settings name no server.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        let base = settings.address()?;
        let host = settings::shown(&base);
        let bearer = settings.key.as_ref().map(|key| key.bearer(&host)).transpose()?;
        if bearer.is_some() && base.scheme() == "http" && !settings::is_loopback(&base) {
            tracing::warn!(host, "a key is sent over plain http: whoever is on the way can read it; use https");
        }
        let failed = |why: String| SettingsError::Client { why };
        let tls = Tls::new(tls::roots(), SESSIONS, None, None).map_err(|error| failed(error.to_string()))?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(rustls::ClientConfig::clone(&tls.resuming))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .retry(reqwest::retry::never())
            .connect_timeout(settings.connect_max)
            .timeout(settings.total_max)
            .pool_max_idle_per_host(IDLE_MAX)
            .user_agent(concat!("serin/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| failed(causes(&error)))?;
        let breaker = Mutex::new(Breaker::new(settings.cool_down));
        Ok(Self { client, base, host, key: settings.key, bearer, answer_bytes_max: settings.answer_bytes_max, breaker })
    }

    /// Host and port, as messages show them.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Posts to `{base}/{path}` and has `read` make something of the answer's bytes; what it says of an answer that
    /// it cannot use becomes `Malformed`, and counts as a failure of the server.
    ///
    /// # Errors
    /// `RemoteError`.
    pub async fn post<T>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
        read: impl Fn(&[u8]) -> Result<T, String> + Send,
    ) -> Result<T, RemoteError> {
        let mut asking = self.ask()?;
        let mut outcome = self.once(path, body, &read).await;
        if let Err(RemoteError::Limited { retry_after: Some(wait), .. }) = outcome
            && wait <= RETRY_WAIT_MAX
        {
            tokio::time::sleep(wait).await;
            outcome = self.once(path, body, &read).await;
        }
        asking.outcome = match &outcome {
            Err(RemoteError::Unavailable { .. } | RemoteError::Malformed { .. }) => Outcome::Failed,
            _ => Outcome::Answered,
        };
        outcome
    }

    fn ask(&self) -> Result<Asking<'_>, RemoteError> {
        let mut breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        match breaker.ask(Instant::now()) {
            Ok(leave) => Ok(Asking { breaker: &self.breaker, leave, outcome: Outcome::Abandoned }),
            Err(refused) => Err(RemoteError::Open { host: self.host.clone(), retry_after: refused.retry_after }),
        }
    }

    async fn once<T>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
        read: impl Fn(&[u8]) -> Result<T, String>,
    ) -> Result<T, RemoteError> {
        let mut address = self.base.clone();
        address.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        let mut request = self.client.post(address).json(body);
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, bearer.clone());
        }
        let response = request.send().await.map_err(|error| self.unavailable(causes(&error)))?;
        let status = response.status();
        if status.is_success() {
            let bytes = self.whole(response).await?;
            return read(&bytes).map_err(|why| self.malformed(why));
        }
        if status == StatusCode::TOO_MANY_REQUESTS {
            let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            let retry_after = header.and_then(|text| wish(text, SystemTime::now()));
            return Err(RemoteError::Limited { host: self.host.clone(), retry_after });
        }
        let said = self.said(response).await;
        if status.is_server_error() {
            return Err(self.unavailable(format!("HTTP {}: {said}", status.as_u16())));
        }
        Err(RemoteError::Refused { host: self.host.clone(), status: status.as_u16(), said })
    }

    /// The whole body, or an error where it is too long.
    async fn whole(&self, mut response: Response) -> Result<Vec<u8>, RemoteError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unavailable(causes(&error)))? {
            if bytes.len() + chunk.len() > self.answer_bytes_max {
                let limit = self.answer_bytes_max;
                return Err(self.malformed(format!("it is longer than {limit} bytes; ask for less at once")));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    /// The beginning of what a refusing server says, as one plain line without our key.
    async fn said(&self, mut response: Response) -> String {
        let mut bytes = Vec::new();
        while bytes.len() < SAID_BYTES_MAX
            && let Ok(Some(chunk)) = response.chunk().await
        {
            bytes.extend_from_slice(&chunk);
        }
        bytes.truncate(SAID_BYTES_MAX);
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some(key) = &self.key {
            text = key.masked(&text);
        }
        let line = line(&text);
        if line.is_empty() { "it said nothing".to_owned() } else { line }
    }

    fn unavailable(&self, why: String) -> RemoteError {
        RemoteError::Unavailable { host: self.host.clone(), why }
    }

    fn malformed(&self, why: String) -> RemoteError {
        RemoteError::Malformed { host: self.host.clone(), why: line(&why) }
    }
}

/// A request on its way. Reports when it ends, and also where nobody waits for it any more.
struct Asking<'a> {
    breaker: &'a Mutex<Breaker>,
    leave: Leave,
    outcome: Outcome,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        breaker.report(self.leave, self.outcome, Instant::now());
    }
}

/// `Retry-After` as a length of time: seconds, or an HTTP date (RFC 9110 §10.2.3); one that is past is zero.
fn wish(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(now).unwrap_or(Duration::ZERO))
}

/// The chain of causes as one line. The outermost text is left out: it holds the address.
fn causes(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return if error.is_connect() { "no connection in time" } else { "no whole answer in time" }.to_owned();
    }
    let mut causes = Vec::new();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        causes.push(cause.to_string());
        source = cause.source();
    }
    if causes.is_empty() { "the request failed".to_owned() } else { line(&causes.join(": ")) }
}

/// A stranger's text as one plain line of bounded length.
fn line(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() || is_invisible(c) { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SAID_CHARS_MAX).collect()
}

/// Marks that turn or hide the text around them: a terminal and a log would be misled.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}
