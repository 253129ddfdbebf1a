//! One POST to a webhook: signed, guarded, without redirects, and how its answer is understood.

use std::error::Error as StdError;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use ipnet::IpNet;
use parking_lot::Mutex;

use reqwest::{Client, Response, Url};
use rustls::ClientConfig;
use serde_json::Value;

use crate::deliver::webhook::answer::WebhookAnswer;
use crate::deliver::write_permit::{Withheld, WritePermit};
use crate::deliver::{plain, signature};
use crate::domain::fleet::Heartbeat;
use crate::domain::network::Network;
use crate::domain::paging::delivery::{ATTEMPT_MAX, AttemptEnd};
use crate::domain::receiver::WebhookForm;
use crate::domain::secret::{Address, Secret};
use serin_outbound::guard::{self, Refusal};
use serin_outbound::names::Guarded;

mod answer;

/// The header of a webhook that is brought once more.
const REPLAY: &str = "serin-replay";
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
        let sending = async {
            let response = self.respond(allow, address, post).await?;
            Ok::<_, AttemptEnd>(WebhookAnswer::read(response, address, &post.hidden()).await)
        };
        match tokio::time::timeout(ATTEMPT_MAX, sending).await {
            Ok(Ok(answer)) => answer.judged(post.at),
            Ok(Err(end)) => end,
            Err(_) => failed(format!("no answer within {} s", ATTEMPT_MAX.as_secs())),
        }
    }

    /// One call of a method whose answer says in its body what came of it.
    ///
    /// # Errors
    /// How it ended where it was not answered by a success and JSON.
    pub(crate) async fn call(&self, allow: &[Network], address: &Address, post: Post<'_>) -> Result<Value, AttemptEnd> {
        let calling = async {
            let response = self.respond(allow, address, post).await?;
            if !response.status().is_success() {
                return Err(WebhookAnswer::read(response, address, &post.hidden()).await.judged(post.at));
            }
            answer::json(response).await.ok_or_else(|| failed("its answer is no JSON, or was not all there".to_owned()))
        };
        tokio::time::timeout(ATTEMPT_MAX, calling)
            .await
            .unwrap_or_else(|_| Err(failed(format!("no answer within {} s", ATTEMPT_MAX.as_secs()))))
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

    /// Sends it, and waits for the head of the answer.
    async fn respond(
        &self,
        allow: &[Network],
        address: &Address,
        Post { id, body, at, proof, to, permit, form, replayed }: Post<'_>,
    ) -> Result<Response, AttemptEnd> {
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
            if replayed {
                request = request.header(REPLAY, "true");
            }
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
        request.body(body).send().await.map_err(|error| ending(&error))
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
    /// Whether somebody had it brought once more.
    pub(crate) replayed: bool,
}

impl Post<'_> {
    /// What no record may show.
    fn hidden(&self) -> Vec<Secret> {
        let form = self.form.iter().flat_map(|form| form.secrets());
        self.proof.secrets().iter().chain(form).cloned().collect()
    }
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

/// The URL, with an address written into it checked here: a resolver never sees those.
pub(super) fn guarded_url(address: &Address, allow: &[IpNet]) -> Result<Url, AttemptEnd> {
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
pub(super) fn networks(allow: &[Network]) -> Vec<IpNet> {
    allow.iter().filter_map(|network| network.0.parse().ok()).collect()
}

/// A guarded name is refused, everything else on the way may work later.
pub(super) fn ending(error: &reqwest::Error) -> AttemptEnd {
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

fn failed(why: String) -> AttemptEnd {
    AttemptEnd::Failed { why, retry_after: None }
}

fn refused(why: String) -> AttemptEnd {
    AttemptEnd::Refused { why }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
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
}
