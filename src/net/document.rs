//! A document at an address that the file declares, fetched whole and bounded: a list of servers, say.

use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;

use serin_outbound::tls::trusting_config;

/// From the question to the last byte.
const WITHIN: Duration = Duration::from_secs(30);

/// Fetches documents. Follows no redirect, so that a credential goes where the file says and nowhere else.
#[derive(Debug, Clone)]
pub(crate) struct Documents(Client);

impl Documents {
    /// A client of its own. Reads the machine's certificates.
    ///
    /// # Errors
    /// Where no client can be built.
    pub(crate) fn new() -> Result<Self, reqwest::Error> {
        let client = Client::builder()
            .tls_backend_preconfigured(trusting_config())
            .redirect(Policy::none())
            .no_proxy()
            .retry(reqwest::retry::never())
            .timeout(WITHIN)
            .user_agent(concat!("serin/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self(client))
    }

    /// The bytes at an address, `bytes_max` at most.
    ///
    /// # Errors
    /// Why there are none, in one line that holds neither the address nor the credential.
    pub(crate) async fn fetch(&self, url: &str, bearer: Option<&str>, bytes_max: usize) -> Result<Vec<u8>, String> {
        let mut request = self.0.get(url).header("accept", "application/json");
        if let Some(bearer) = bearer {
            request = request.bearer_auth(bearer);
        }
        let mut answer = request.send().await.map_err(|error| said(&error))?;
        let status = answer.status();
        if status != reqwest::StatusCode::OK {
            return Err(format!("it answers HTTP {}", status.as_u16()));
        }
        let mut bytes = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(|error| said(&error))? {
            if bytes.len() + piece.len() > bytes_max {
                return Err(format!("it is larger than {} MiB", bytes_max / 1024 / 1024));
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }
}

/// The innermost reason, which is the one that helps.
fn said(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("it takes longer than {} s", WITHIN.as_secs());
    }
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let what = if error.is_connect() { "no connection" } else { "the answer broke off" };
    format!("{what}: {deepest}")
}
