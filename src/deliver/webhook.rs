//! One POST to a webhook: signed, guarded, without redirects, and how its answer is understood.

use std::error::Error as StdError;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use ipnet::IpNet;
use parking_lot::Mutex;

use reqwest::header::RETRY_AFTER;
use reqwest::{Client, Response, StatusCode, Url};
use rustls::ClientConfig;

use crate::deliver::write_permit::{Withheld, WritePermit};
use crate::deliver::{plain, signature};
use crate::domain::fleet::{Heartbeat, Network};
use crate::domain::paging::delivery::{ATTEMPT_MAX, AttemptEnd};
use crate::domain::receiver::WebhookForm;
use crate::domain::secret::{Address, Secret};
use serin_outbound::guard::{self, Refusal};
use serin_outbound::names::Guarded;
use serin_outbound::retry_after::wish;

/// Bytes of an answer that are kept: enough for a receiver's own error message.
const ANSWER_BYTES_MAX: usize = 2048;
/// Idle connections kept for a receiver: messages come singly, and its load balancer drops idle ones anyway.
const IDLE_PER_HOST_MAX: usize = 2;

#[derive(Debug)]
pub(crate) struct WebhookClient {
    tls: ClientConfig,
    /// The client for the allowed networks in force: a reload that changes them also drops the open connections.
    client: Mutex<Option<(Vec<Network>, Client)>>,
}

impl WebhookClient {
    /// Nothing is opened before the first message.
    pub(crate) fn new(tls: ClientConfig) -> Self {
        Self { tls, client: Mutex::new(None) }
    }

    /// One POST of exactly its body.
    pub(crate) async fn send(&self, allow: &[Network], address: &Address, post: Post<'_>) -> AttemptEnd {
        let sending = self.exchange(allow, address, post);
        match tokio::time::timeout(ATTEMPT_MAX, sending).await {
            Ok(Ok(answer)) => answer.judged(post.at),
            Ok(Err(end)) => end,
            Err(_) => failed(format!("no answer within {} s", ATTEMPT_MAX.as_secs())),
        }
    }

    /// One sign of life: a request without a body, of which only the status counts.
    pub(crate) async fn ping(&self, allow: &[Network], heartbeat: &Heartbeat, now: DateTime<Utc>) -> AttemptEnd {
        let exchange = async {
            let allowed = networks(allow);
            let url = guarded_url(&heartbeat.url, &allowed)?;
            let client = self.client(allow, allowed).map_err(|error| failed(reason_of(&error)))?;
            let request = if heartbeat.post { client.post(url) } else { client.get(url) };
            let response = request.send().await.map_err(|error| ending(&error))?;
            Ok::<_, AttemptEnd>(WebhookAnswer::read(response, &heartbeat.url, &[]).await)
        };
        match tokio::time::timeout(ATTEMPT_MAX, exchange).await {
            Ok(Ok(answer)) => answer.judged(now),
            Ok(Err(end)) => end,
            Err(_) => failed(format!("no answer within {} s", ATTEMPT_MAX.as_secs())),
        }
    }

    async fn exchange(
        &self,
        allow: &[Network],
        address: &Address,
        Post { id, body, at, proof, to, permit, form }: Post<'_>,
    ) -> Result<WebhookAnswer, AttemptEnd> {
        let allowed = networks(allow);
        let mut url = guarded_url(address, &allowed)?;
        match to {
            PostTo::Address => {}
            PostTo::Root => url.set_path("/"),
            PostTo::Below(path) => url.set_path(&format!("{}/{path}", url.path().trim_end_matches('/'))),
        }
        let client = self.client(allow, allowed).map_err(|error| failed(reason_of(&error)))?;
        let mut request = client.post(url).header("content-type", "application/json");
        if let Proof::Standard(secrets) = proof {
            request = request.header("webhook-id", id).header("webhook-timestamp", at.timestamp());
            if !secrets.is_empty() {
                let keys = secrets.iter().map(Secret::expose);
                let signed = signature::header(keys, id, at.timestamp(), body.as_bytes());
                request = request.header("webhook-signature", signed.map_err(|bad| refused(bad.to_string()))?);
            }
        }
        for (name, value) in form.iter().flat_map(|form| &form.headers) {
            request = request.header(name, value.expose());
        }
        if let Proof::Bearer(token) = proof {
            request = request.bearer_auth(token.expose());
        }
        permit.ask().map_err(|late| failed(late.to_string()))?;
        let body = reqwest::Body::wrap(permit.body(Bytes::copy_from_slice(body.as_bytes())));
        let response = request.body(body).send().await.map_err(|error| ending(&error))?;
        let hidden = proof.secrets().iter().chain(form.iter().flat_map(|form| form.secrets())).cloned();
        Ok(WebhookAnswer::read(response, address, &hidden.collect::<Vec<_>>()).await)
    }

    /// The client for these networks, made anew when they changed.
    fn client(&self, allow: &[Network], allowed: Vec<IpNet>) -> reqwest::Result<Client> {
        let mut held = self.client.lock();
        if let Some((known, client)) = held.as_ref()
            && known == allow
        {
            return Ok(client.clone());
        }
        let client = Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .retry(reqwest::retry::never())
            .dns_resolver(Arc::new(Guarded::new(&allowed)))
            .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
            .user_agent(concat!("serin/", env!("CARGO_PKG_VERSION")))
            .build()?;
        *held = Some((allow.to_vec(), client.clone()));
        Ok(client)
    }
}

/// What is posted: a notification's id, its body, the time that is signed, and by what we are known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Post<'a> {
    pub(crate) id: &'a str,
    pub(crate) body: &'a str,
    pub(crate) at: DateTime<Utc>,
    pub(crate) proof: Proof<'a>,
    /// Where on the address's server.
    pub(crate) to: PostTo,
    /// Asked before anything is written.
    pub(crate) permit: &'a WritePermit,
    /// What the file says of the request.
    pub(crate) form: Option<&'a WebhookForm>,
}

/// Where on an address's server something is posted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PostTo {
    /// At the address itself.
    Address,
    /// At the root: the address's path names no place.
    Root,
    /// At this path below the address's own.
    Below(&'static str),
}

/// By what a receiver knows us. Its secrets are masked in what is kept of the answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Proof<'a> {
    /// The headers of Standard Webhooks, signed with each of these; unsigned where there are none.
    Standard(&'a [Secret]),
    /// An address that nobody else knows.
    Address,
    /// A key that stands in the body.
    Body(&'a Secret),
    /// A token in `authorization`.
    Bearer(&'a Secret),
}

impl<'a> Proof<'a> {
    fn secrets(self) -> &'a [Secret] {
        match self {
            Self::Standard(secrets) => secrets,
            Self::Address => &[],
            Self::Body(key) | Self::Bearer(key) => std::slice::from_ref(key),
        }
    }
}

/// What came back, as far as it is kept.
struct WebhookAnswer {
    status: StatusCode,
    retry_after: Option<String>,
    /// One plain line, free of the receiver's own secrets.
    said: String,
}

impl WebhookAnswer {
    /// Reads the first bytes of the body; a body that stalls or breaks takes nothing from the status.
    async fn read(mut response: Response, address: &Address, secrets: &[Secret]) -> Self {
        let status = response.status();
        let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
        // A failure's text helps whoever mends it; nobody needs that of a success, so it is not waited for.
        let bytes = if status.is_success() { Vec::new() } else { first_bytes(&mut response).await };
        let said = masked(&String::from_utf8_lossy(&bytes), address, secrets);
        Self { status, retry_after: header, said: plain::line(&said, ANSWER_BYTES_MAX) }
    }

    fn judged(self, now: DateTime<Utc>) -> AttemptEnd {
        let status = self.status;
        let mut why = format!("HTTP {status}");
        if status.is_redirection() {
            why.push_str("; redirects are not followed, put the final address into the file");
        }
        if !self.said.is_empty() {
            why.push_str("; it said: ");
            why.push_str(&self.said);
        }
        match status {
            _ if status.is_success() => AttemptEnd::Accepted,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
                AttemptEnd::Failed { why, retry_after: self.retry_after.and_then(|text| wish(&text, now.into())) }
            }
            _ if status.is_server_error() => {
                AttemptEnd::Failed { why, retry_after: self.retry_after.and_then(|text| wish(&text, now.into())) }
            }
            _ => AttemptEnd::Refused { why },
        }
    }
}

/// What arrives of a body in time, bounded.
async fn first_bytes(response: &mut Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    let until = tokio::time::Instant::now() + BODY_MAX;
    while bytes.len() < ANSWER_BYTES_MAX
        && let Ok(Ok(Some(chunk))) = tokio::time::timeout_at(until, response.chunk()).await
    {
        bytes.extend_from_slice(&chunk);
    }
    bytes.truncate(ANSWER_BYTES_MAX);
    bytes
}

/// Limit on reading the text of a failure, so that a status in hand is not lost to a stalled body.
const BODY_MAX: Duration = Duration::from_secs(2);

/// The URL, with an address written into it checked here: a resolver never sees those.
fn guarded_url(address: &Address, allow: &[IpNet]) -> Result<Url, AttemptEnd> {
    let bad = || refused(format!("{} is no http or https address", address.shown));
    let url = Url::parse(address.resolved.expose()).map_err(|_| bad())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad());
    }
    let literal = match url.host() {
        Some(url::Host::Ipv4(four)) => Some(IpAddr::V4(four)),
        Some(url::Host::Ipv6(six)) => Some(IpAddr::V6(six)),
        Some(url::Host::Domain(_)) => None,
        None => return Err(bad()),
    };
    if let Some(ip) = literal {
        guard::allowed(ip, allow).map_err(|refusal| refused(refusal.to_string()))?;
    }
    Ok(url)
}

/// `config` has checked them; one that does not parse allows nothing.
fn networks(allow: &[Network]) -> Vec<IpNet> {
    allow.iter().filter_map(|network| network.0.parse().ok()).collect()
}

/// A guarded name is refused, everything else on the way may work later.
fn ending(error: &reqwest::Error) -> AttemptEnd {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(refusal) = cause.downcast_ref::<Refusal>() {
            return refused(refusal.to_string());
        }
        if let Some(late) = cause.downcast_ref::<Withheld>() {
            return failed(late.to_string());
        }
        source = cause.source();
    }
    failed(reason_of(error))
}

/// The chain of causes as one line. The outermost text is left out: it holds the address, and with it its secrets.
fn reason_of(error: &reqwest::Error) -> String {
    let mut causes: Vec<String> = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = plain::line(&cause.to_string(), 200);
        if !causes.iter().any(|known| known.contains(&text)) {
            causes.push(text);
        }
        source = cause.source();
    }
    match causes.as_slice() {
        [] => "the request failed".to_owned(),
        _ => causes.join(": "),
    }
}

/// A receiver may echo its own address or our secrets; the ledger shows neither.
fn masked(text: &str, address: &Address, secrets: &[Secret]) -> String {
    let mut parts: Vec<String> = secrets.iter().map(|secret| secret.expose().to_owned()).collect();
    parts.push(address.resolved.expose().to_owned());
    if let Ok(url) = Url::parse(address.resolved.expose()) {
        parts.extend(
            [url.path(), url.query().unwrap_or(""), url.username(), url.password().unwrap_or("")].map(str::to_owned),
        );
        parts.extend(url.path_segments().into_iter().flatten().map(str::to_owned));
        parts.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
    }
    // Shorter than this, a part is no secret, and masking it would garble the text.
    const SECRET_CHARS_MIN: usize = 6;
    parts.retain(|part| part.len() >= SECRET_CHARS_MIN);
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    parts.iter().fold(text.to_owned(), |text, part| text.replace(part.as_str(), "…"))
}

fn failed(why: String) -> AttemptEnd {
    AttemptEnd::Failed { why, retry_after: None }
}

fn refused(why: String) -> AttemptEnd {
    AttemptEnd::Refused { why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn an_answer_is_understood_by_its_status() {
        let now = at("2026-11-21T09:00:00Z");
        let seconds = |n| Some(Duration::from_secs(n));
        let rows = [
            (200, None, "accepted", None, "any 2xx is a yes"),
            (204, None, "accepted", None, "also without a body"),
            (301, None, "refused", None, "a redirect is not followed"),
            (308, None, "refused", None, "nor is a permanent one"),
            (400, None, "refused", None, "a 4xx will not get better by itself"),
            (404, None, "refused", None, "nor will a missing hook"),
            (410, None, "refused", None, "gone is gone"),
            (408, None, "failed", None, "a timeout may pass"),
            (425, None, "failed", None, "too early may pass"),
            (429, Some("90"), "failed", seconds(90), "the wish to wait is heard, in seconds"),
            (503, Some("Sat, 21 Nov 2026 09:02:00 GMT"), "failed", seconds(120), "or as a date"),
            (503, Some("Saturday, 21-Nov-26 09:02:00 GMT"), "failed", seconds(120), "in the old form"),
            (503, Some("Sat Nov 21 09:02:00 2026"), "failed", seconds(120), "or in C's"),
            (503, Some("Sat, 21 Nov 2026 08:00:00 GMT"), "failed", seconds(0), "a date gone by asks for no wait"),
            (500, Some("soon"), "failed", None, "nonsense is no wish"),
            (500, None, "failed", None, "a 5xx may pass"),
        ];
        for (status, header, expected, wait, sentence) in rows {
            let status = StatusCode::from_u16(status).unwrap();
            let answer = WebhookAnswer { status, retry_after: header.map(str::to_owned), said: String::new() };
            let (word, found) = match answer.judged(now) {
                AttemptEnd::Accepted => ("accepted", None),
                AttemptEnd::Failed { retry_after, .. } => ("failed", retry_after),
                AttemptEnd::Refused { .. } => ("refused", None),
            };
            assert_eq!((word, found), (expected, wait), "{sentence}");
        }
    }

    #[test]
    fn an_address_written_as_a_number_meets_the_guard_in_every_spelling() {
        let rows = [
            ("http://127.0.0.1/hook", "plain"),
            ("http://127.1/hook", "short"),
            ("http://2130706433/hook", "one number"),
            ("http://0x7f.0.0.1/hook", "hexadecimal"),
            ("http://0177.0.0.1/hook", "octal"),
            ("http://[::1]/hook", "v6"),
            ("http://[::ffff:127.0.0.1]/hook", "mapped"),
            ("http://169.254.169.254/latest/meta-data", "cloud metadata"),
            ("file:///etc/passwd", "another scheme"),
            ("no address", "nonsense"),
        ];
        for (url, sentence) in rows {
            let address = Address { shown: "shown".into(), resolved: Secret::new(url) };
            assert!(matches!(guarded_url(&address, &[]), Err(AttemptEnd::Refused { .. })), "{sentence}");
        }
        let public = Address { shown: String::new(), resolved: Secret::new("https://93.184.215.14/hook") };
        assert!(guarded_url(&public, &[]).is_ok(), "a public address passes");
    }

    #[tokio::test]
    async fn a_heartbeat_meets_the_guard() {
        let url = Address { shown: String::new(), resolved: Secret::new("http://127.0.0.1:9/alive/geheim") };
        let heartbeat = Heartbeat { url, every: Duration::from_secs(60), post: false };
        let roots = rustls::RootCertStore::empty();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let hooks = WebhookClient::new(tls.with_root_certificates(roots).with_no_client_auth());
        let end = hooks.ping(&[], &heartbeat, at("2026-11-21T09:00:00Z")).await;
        let AttemptEnd::Refused { why } = end else { panic!("a private network: {end:?}") };
        assert!(why.contains("serin.allow_private") && !why.contains("geheim"), "{why}");
    }

    #[test]
    fn an_echo_does_not_carry_secrets_into_the_ledger() {
        let address = Address {
            shown: String::new(),
            resolved: Secret::new("https://u:hunter22@h.example/T0/B0/tok3n?key=abcdef"),
        };
        let secrets = [Secret::new("whsec_c2VjcmV0")];
        let echo = "no hook at /T0/B0/tok3n with key=abcdef, hunter22 or whsec_c2VjcmV0";
        assert_eq!(masked(echo, &address, &secrets), "no hook at … with …, … or …");
    }
}
