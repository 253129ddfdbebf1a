//! One question of JSON to a server that somebody set up for us, with a limit on each part of it.
//!
//! A failure (no answer, a 5xx, an answer that cannot be used) counts towards the breaker; a refusal
//! and a 429 do not, for a server that says so is alive. A 429 with a short `Retry-After` is waited
//! for once. Nothing else is asked twice: who called knows better whether it is still wanted.

use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use reqwest::header::RETRY_AFTER;
use reqwest::{Method, Response, StatusCode};
use serde::Serialize;
use url::Url;

use crate::remote::breaker::{Breaker, Leave, Outcome};
use crate::remote::plain::{causes, line};
use crate::remote::settings::{self, ApiKey, RemoteSettings, SettingsError};
use crate::remote::trouble::RemoteError;
use serin_outbound::retry_after::wish;
use serin_outbound::tls::{self, Tls};

/// A `Retry-After` that is waited for; a longer one is the caller's to decide.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(2);
/// Bytes of a refusal that are read for it.
const SAID_BYTES_MAX: usize = 2_048;
/// Idle connections kept to a server: a batch at a time, and a question beside it.
const IDLE_MAX: usize = 4;
/// TLS sessions remembered; there is one server.
const SESSIONS: usize = 8;

/// Asks one server.
#[derive(Debug)]
pub struct RemoteClient {
    client: reqwest::Client,
    base: Url,
    host: String,
    key: Option<ApiKey>,
    answer_bytes_max: usize,
    breaker: Mutex<Breaker>,
}

impl RemoteClient {
    /// A client; nothing is opened before the first question.
    ///
    /// # Errors
    /// Where the settings name no server.
    pub fn new(settings: RemoteSettings) -> Result<Self, SettingsError> {
        let base = settings.address()?;
        let host = settings::shown(&base);
        let RemoteSettings { key, key_header, .. } = settings;
        let headers = key.as_ref().map(|key| key.headers(&host, key_header)).transpose()?;
        if key.is_some() && base.scheme() == "http" && !settings::is_loopback(&base) {
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
            .default_headers(headers.unwrap_or_default())
            .build()
            .map_err(|error| failed(causes(&error)))?;
        let breaker = Mutex::new(Breaker::new(settings.cool_down));
        Ok(Self { client, base, host, key, answer_bytes_max: settings.answer_bytes_max, breaker })
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
        self.send(Method::POST, path, Some(body), read).await
    }

    /// The same by another method, and with a body where there is one.
    ///
    /// # Errors
    /// `RemoteError`.
    pub async fn send<T>(
        &self,
        method: Method,
        path: &str,
        body: Option<&(impl Serialize + Sync)>,
        read: impl Fn(&[u8]) -> Result<T, String> + Send,
    ) -> Result<T, RemoteError> {
        let mut asking = self.ask()?;
        let mut outcome = self.once(method.clone(), path, body, &read).await;
        if let Err(RemoteError::Limited { retry_after: Some(wait), .. }) = outcome
            && wait <= RETRY_WAIT_MAX
        {
            tokio::time::sleep(wait).await;
            outcome = self.once(method, path, body, &read).await;
        }
        asking.outcome = match &outcome {
            Err(RemoteError::Unavailable { .. } | RemoteError::Malformed { .. }) => Outcome::Failed,
            _ => Outcome::Answered,
        };
        outcome
    }

    fn ask(&self) -> Result<Asking<'_>, RemoteError> {
        let mut breaker = self.breaker.lock();
        match breaker.ask(Instant::now()) {
            Ok(leave) => Ok(Asking { breaker: &self.breaker, leave, outcome: Outcome::Abandoned }),
            Err(refused) => Err(RemoteError::Open { host: self.host.clone(), retry_after: refused.retry_after }),
        }
    }

    async fn once<T>(
        &self,
        method: Method,
        path: &str,
        body: Option<&(impl Serialize + Sync)>,
        read: impl Fn(&[u8]) -> Result<T, String>,
    ) -> Result<T, RemoteError> {
        let mut address = self.base.clone();
        address.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        let mut request = self.client.request(method, address);
        if let Some(body) = body {
            request = request.json(body);
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
        let mut breaker = self.breaker.lock();
        breaker.report(self.leave, self.outcome, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::scripted::{KEY, OWN, Reply, Scripted};
    use Reply::{Hang, Json, Long, Plain};
    use serde_json::json;

    const DOWN: fn() -> Reply = || Plain(500, &[], "no luck");
    const GOOD: fn() -> Reply = || Json(json!(7));

    fn number(bytes: &[u8]) -> Result<u64, String> {
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }

    async fn ask(client: &RemoteClient) -> Result<u64, RemoteError> {
        client.post("things", &json!({"a": 1}), number).await
    }

    /// What the last of the asked questions got, as text without the host, and how often the server was asked.
    async fn check(
        says: &str,
        change: impl FnOnce(&mut RemoteSettings),
        script: Vec<Reply>,
        asks: usize,
        end: &str,
        came: usize,
    ) {
        let server = Scripted::play(script).await;
        let mut settings = server.settings();
        change(&mut settings);
        let client = RemoteClient::new(settings).unwrap();
        let mut last = String::new();
        for _ in 0..asks {
            last = match ask(&client).await {
                Ok(number) => number.to_string(),
                Err(error) => error.to_string().replace(client.host(), "HOST"),
            };
        }
        assert_eq!(last, end, "{says}");
        assert_eq!(server.asked().len(), came, "{says}: how often the server was asked");
    }

    fn same(_: &mut RemoteSettings) {}
    fn at_once(settings: &mut RemoteSettings) {
        settings.cool_down = Duration::ZERO;
    }
    fn hasty(settings: &mut RemoteSettings) {
        settings.total_max = Duration::from_millis(100);
    }
    fn short(settings: &mut RemoteSettings) {
        settings.answer_bytes_max = 4_096;
    }

    #[tokio::test]
    async fn answers_and_refusals() {
        check("an answer", same, vec![GOOD()], 1, "7", 1).await;
        check(
            "an answer that is none",
            same,
            vec![Plain(200, &[], "maybe")],
            1,
            "the answer of HOST cannot be used: expected value at line 1 column 1",
            1,
        )
        .await;
        check(
            "a refusal says why, as one plain line",
            same,
            vec![Plain(401, &[], "bad\nkey \u{202e}\u{1b}[31m sk-planted-secret")],
            1,
            "HOST refused with HTTP 401: bad key [31m [key]",
            1,
        )
        .await;
        check(
            "a redirect is a refusal and not followed",
            same,
            vec![Plain(307, &[("location", "/elsewhere")], "")],
            1,
            "HOST refused with HTTP 307: it said nothing",
            1,
        )
        .await;
        check("trouble there", same, vec![DOWN()], 1, "HOST does not answer: HTTP 500: no luck", 1).await;
        check("an answer that never comes", hasty, vec![Hang], 1, "HOST does not answer: no whole answer in time", 1)
            .await;
        let long = "the answer of HOST cannot be used: it is longer than 4096 bytes; ask for less at once";
        check("an answer without end", short, vec![Long(1 << 30)], 1, long, 1).await;
    }

    #[tokio::test]
    async fn too_many_requests_are_no_failure() {
        const LIMITED: &str = "HOST has had too many requests";
        let limited = |after: &'static [(&'static str, &'static str)]| Plain(429, after, "");
        let now = || limited(&[("retry-after", "0")]);
        let past = || limited(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]);
        let later = || limited(&[("retry-after", "60")]);
        check("a short wish is fulfilled", same, vec![now(), GOOD()], 1, "7", 2).await;
        check("a date that is past is now", same, vec![past(), GOOD()], 1, "7", 2).await;
        check("only once", same, vec![now(), now()], 1, LIMITED, 2).await;
        check("a long wish is the caller's", same, vec![later()], 1, LIMITED, 1).await;
        check("no wish is not guessed", same, vec![limited(&[])], 1, LIMITED, 1).await;
        let four = || vec![later(), later(), later(), later()];
        check("the breaker stays closed", same, four(), 4, LIMITED, 4).await;
    }

    #[tokio::test]
    async fn a_server_that_fails_is_left_alone() {
        let three = |last: Vec<Reply>| [DOWN(), DOWN(), DOWN()].into_iter().chain(last).collect::<Vec<_>>();
        let open = "HOST failed too often just now";
        check("three failures open", same, three(vec![]), 4, open, 3).await;
        check("as do three that time out", hasty, vec![Hang, Hang, Hang], 4, open, 3).await;
        let bad = || Plain(200, &[], "{");
        check("as do three that cannot be used", same, vec![bad(), bad(), bad()], 4, open, 3).await;
        let no = || Plain(404, &[], "");
        let refused = "HOST refused with HTTP 404: it said nothing";
        check("refusals do not", same, vec![no(), no(), no(), no()], 4, refused, 4).await;
        check("a trial that succeeds closes", at_once, three(vec![GOOD(), GOOD()]), 5, "7", 5).await;
        check("after which two failures are borne", at_once, three(vec![GOOD(), DOWN(), DOWN(), GOOD()]), 7, "7", 7)
            .await;
        let still = "HOST does not answer: HTTP 500: no luck";
        check("a trial that fails opens again", at_once, three(vec![DOWN()]), 4, still, 4).await;
    }

    #[tokio::test]
    async fn one_trial_at_a_time_and_an_abandoned_one_is_nobodys() {
        let server = Scripted::play(vec![DOWN(), DOWN(), DOWN(), Hang, GOOD()]).await;
        let client = RemoteClient::new(RemoteSettings { cool_down: Duration::ZERO, ..server.settings() }).unwrap();
        for _ in 0..3 {
            assert!(ask(&client).await.is_err());
            server.came().await;
        }
        let mut trial = Box::pin(ask(&client));
        tokio::select! {
            ended = &mut trial => panic!("the trial hangs, and yet: {ended:?}"),
            () = server.came() => {}
        }
        let other = ask(&client).await;
        assert!(matches!(other, Err(RemoteError::Open { .. })), "the trial is on its way: {other:?}");
        drop(trial);
        assert_eq!(ask(&client).await, Ok(7), "the trial was given up, so the next one tries");
    }

    #[tokio::test]
    async fn the_key_goes_to_the_server_and_nowhere_else() {
        let server = Scripted::play(vec![GOOD()]).await;
        let settings = RemoteSettings { key_header: Some(OWN), ..server.settings() };
        assert!(!format!("{settings:?}").contains(KEY));
        let client = RemoteClient::new(settings).unwrap();
        assert!(!format!("{client:?}").contains(KEY));
        ask(&client).await.unwrap();
        let asked = server.asked();
        assert_eq!(asked[0].bearer, format!("Bearer {KEY}"));
        assert_eq!(asked[0].own_key, KEY);
        assert_eq!(asked[0].path, "/v1/things");
        assert_eq!(asked[0].body, json!({"a": 1}));
    }

    #[tokio::test]
    async fn nobody_there() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let client = RemoteClient::new(RemoteSettings::new(format!("http://{address}"), None)).unwrap();
        let error = ask(&client).await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("{address} does not answer: ")), "{error}");
    }
}
