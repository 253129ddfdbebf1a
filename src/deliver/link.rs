//! Whether an address of the file leads anywhere, as a person who was paged would find: a HEAD, and a GET where that is
//! refused, under the guard that holds for receivers and for what a probe learns from a server.

use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use reqwest::header::LOCATION;
use reqwest::{Client, Method, Response, StatusCode, Url};

use crate::deliver::trust;
use crate::deliver::webhook::{ending, guarded_url, networks};
use crate::domain::network::Network;
use crate::domain::paging::delivery::AttemptEnd;
use crate::domain::secret::{Address, Secret};

/// Limit on one address, with all that it leads on to.
const LINK_MAX: Duration = Duration::from_secs(10);
/// A page that moved moved once or twice; more is a circle.
const HOPS_MAX: usize = 5;

/// Follows links. Of an answer only its head is read, so that no page costs more than that.
#[derive(Debug)]
pub(crate) struct LinkFollower {
    allow: Vec<IpNet>,
    client: Client,
}

impl LinkFollower {
    /// A follower that reaches public addresses, and those of the networks given.
    ///
    /// # Errors
    /// Where no HTTP client can be built.
    pub(crate) fn new(allow: &[Network]) -> anyhow::Result<Self> {
        let allow = networks(allow);
        let client = Client::builder()
            .tls_backend_preconfigured(trust::client_config(&trust::machine_roots())?)
            // Each hop is guarded as the first one is, by us.
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .retry(reqwest::retry::never())
            .dns_resolver(Arc::new(serin_outbound::names::Guarded::new(&allow)))
            .pool_max_idle_per_host(0)
            .user_agent(concat!("serin/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { allow, client })
    }

    /// Where an address leads: none to a page, some says why not, in one plain line. A page behind a sign-in is one.
    pub(crate) async fn follow(&self, url: &str) -> Option<String> {
        match tokio::time::timeout(LINK_MAX, self.hops(url)).await {
            Ok(end) => end.err(),
            Err(_) => Some(format!("no answer within {} s", LINK_MAX.as_secs())),
        }
    }

    async fn hops(&self, url: &str) -> Result<(), String> {
        let mut next = self.guarded(url)?;
        for _ in 0..=HOPS_MAX {
            let mut answer = self.asked(Method::HEAD, &next).await?;
            if answer.status().is_client_error() || answer.status().is_server_error() {
                answer = self.asked(Method::GET, &next).await?;
            }
            match answer.status() {
                status if status.is_success() => return Ok(()),
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS => return Ok(()),
                status if status.is_redirection() => {
                    let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
                    let to = to.and_then(|to| next.join(to).ok()).ok_or_else(|| format!("HTTP {status} to nowhere"))?;
                    next = self.guarded(to.as_str())?;
                }
                status => return Err(format!("HTTP {status}")),
            }
        }
        Err(format!("more than {HOPS_MAX} redirects"))
    }

    async fn asked(&self, method: Method, url: &Url) -> Result<Response, String> {
        self.client.request(method, url.clone()).send().await.map_err(|error| why(ending(&error)))
    }

    fn guarded(&self, url: &str) -> Result<Url, String> {
        let address = Address { shown: "it".to_owned(), resolved: Secret::new(url) };
        guarded_url(&address, &self.allow).map_err(why)
    }
}

/// Why an end is none that leads anywhere.
fn why(end: AttemptEnd) -> String {
    match end {
        AttemptEnd::Accepted => String::new(),
        AttemptEnd::Failed { why, .. } | AttemptEnd::Refused { why } => why,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::Router;
    use axum::http::HeaderMap;
    use axum::response::Redirect;
    use axum::routing::{any, get, post};

    use super::*;

    #[tokio::test]
    async fn a_link_is_followed_as_a_reader_would() {
        let gets = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&gets);
        let refuses_head = move |method: Method| async move {
            counted.fetch_add(usize::from(method == Method::GET), Ordering::Relaxed);
            if method == Method::GET { StatusCode::OK } else { StatusCode::METHOD_NOT_ALLOWED }
        };
        let app = Router::new()
            .route("/there", get(|| async { "here" }))
            .route("/no-head", any(refuses_head))
            .route("/sign-in", get(|| async { StatusCode::FORBIDDEN }))
            .route("/moved", get(|| async { Redirect::permanent("/there") }))
            .route("/gone", get(|| async { Redirect::permanent("/nothing") }))
            .route("/circle", get(|| async { Redirect::permanent("/circle") }))
            .route("/inside", get(|| async { Redirect::permanent("http://10.1.2.3/") }))
            .route("/broken", get(|| async { StatusCode::BAD_GATEWAY }))
            .route("/posts", post(|_: HeaderMap| async { "" }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        let follower = LinkFollower::new(&[Network("127.0.0.0/8".to_owned())]).unwrap();
        let rows = [
            ("/there", None, "a page"),
            ("/no-head", None, "a page that refuses HEAD"),
            ("/sign-in", None, "a page behind a sign-in"),
            ("/moved", None, "a page that moved"),
            ("/gone", Some("HTTP 404"), "one that moved to nowhere"),
            ("/circle", Some("more than 5 redirects"), "a circle"),
            ("/inside", Some("list its network under serin.allow_private"), "no redirect leads past the guard"),
            ("/broken", Some("HTTP 502"), "a server that is broken"),
            ("/nothing", Some("HTTP 404"), "no page"),
        ];
        for (path, expected, sentence) in rows {
            let said = follower.follow(&format!("{base}{path}")).await;
            let fits = match (&said, expected) {
                (Some(said), Some(expected)) => said.contains(expected),
                (said, expected) => said.is_none() && expected.is_none(),
            };
            assert!(fits, "{sentence}: {said:?}");
        }
        assert_eq!(gets.load(Ordering::Relaxed), 1, "asked once by GET");
        let strict = LinkFollower::new(&[]).unwrap();
        let said = strict.follow(&format!("{base}/there")).await.unwrap();
        assert!(said.contains("loopback"), "the guard is the receivers': {said}");
    }
}
