//! How a provider of OpenID Connect is asked: bounded in time and in bytes, without redirects and without a proxy.

use std::pin::Pin;
use std::sync::OnceLock;
use std::time::Duration;

use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use reqwest::Client;

use serin_outbound::tls::{Tls, roots};

/// One question; somebody waits before a page, and two or three follow each other.
const ANSWER_WITHIN: Duration = Duration::from_secs(4);
/// Bytes of an answer: keys and claims are a few kilobytes, somebody's groups some hundred.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// The client, made when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct ProviderHttp(OnceLock<Result<Client, String>>);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error("no answer")]
    Failed(#[from] reqwest::Error),
    #[error("no client can be made: {0}")]
    NoClient(String),
    #[error("its answer is longer than {} MiB", ANSWER_BYTES_MAX / 1024 / 1024)]
    TooLong,
    #[error("its answer cannot be passed on")]
    Unreadable(#[from] http::Error),
}

impl<'c> AsyncHttpClient<'c> for ProviderHttp {
    type Error = NoAnswer;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, NoAnswer>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}

impl ProviderHttp {
    /// Asks, and takes the answer whole.
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, NoAnswer> {
        let client = self.0.get_or_init(made).as_ref().map_err(|why| NoAnswer::NoClient(why.clone()))?;
        let request = request.try_into()?;
        let mut answer = client.execute(request).await.map_err(reqwest::Error::without_url)?;
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(reqwest::Error::without_url)? {
            if body.len() + piece.len() > ANSWER_BYTES_MAX {
                return Err(NoAnswer::TooLong);
            }
            body.extend_from_slice(&piece);
        }
        let mut passed_on = http::Response::builder().status(answer.status());
        if let Some(headers) = passed_on.headers_mut() {
            headers.clone_from(answer.headers());
        }
        Ok(passed_on.body(body)?)
    }
}

fn made() -> Result<Client, String> {
    let tls = Tls::new(roots(), 4, None, None).map_err(|error| error.to_string())?;
    Client::builder()
        .tls_backend_preconfigured(tls.resuming.as_ref().clone())
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .retry(reqwest::retry::never())
        .timeout(ANSWER_WITHIN)
        .user_agent(concat!("serin/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| error.to_string())
}
