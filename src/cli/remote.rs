//! How a command reaches the Serin that runs: through its API, as everybody else does.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;

use crate::config;
use crate::config::check::checker::Unset;
use crate::config::read::source;
use crate::domain::secret::Secret;

/// Longer than the API lets any answer take.
const ANSWER_WITHIN: Duration = Duration::from_secs(90);

/// Where the running Serin is, and how it lets us in.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoteArgs {
    /// The configuration: what it declares, and where the running Serin is.
    #[arg(long, default_value = "monitors.yaml", value_name = "FILE")]
    pub config: PathBuf,
    /// Where its pages are, if not where the configuration says, such as `https://serin.example.org`.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Its token; without it, the one of the configuration.
    #[arg(long, env = "SERIN_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
}

/// The API of another process, by the address and token of its file.
#[derive(Debug)]
pub(crate) struct Remote {
    base: String,
    token: Option<Secret>,
    client: reqwest::Client,
}

/// What it answered: the status, and the JSON of its body (null where there is none).
#[derive(Debug)]
pub(crate) struct ApiAnswer {
    pub status: u16,
    /// As JSON; null where it is none.
    pub body: Value,
}

impl Remote {
    /// Finds it.
    ///
    /// # Errors
    /// Where the configuration has faults, or does not say where it listens.
    pub(crate) fn find(args: &RemoteArgs) -> anyhow::Result<Self> {
        let mut token = args.token.as_deref().map(Secret::new);
        let base = match &args.url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => {
                let source = source::read(&args.config)?;
                let env = |name: &str| std::env::var(name).ok();
                let loaded = config::load(&source, &env, Unset::Warn).map_err(|faults| anyhow::anyhow!("{faults}"))?;
                token = token.or(loaded.settings.token);
                format!("http://{}", reachable(loaded.settings.listen)?)
            }
        };
        let client = reqwest::Client::builder().no_proxy().timeout(ANSWER_WITHIN).build()?;
        Ok(Self { base, token, client })
    }

    /// Asks for something under `/api/v1`.
    ///
    /// # Errors
    /// Where nobody answers, or somebody who is no Serin.
    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<ApiAnswer> {
        self.send(self.client.get(format!("{}/api/v1{path}", self.base))).await
    }

    /// Asks for something to be done.
    ///
    /// # Errors
    /// Where nobody answers, or somebody who is no Serin.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> anyhow::Result<ApiAnswer> {
        self.send(self.client.post(format!("{}/api/v1{path}", self.base)).json(body)).await
    }

    /// Carries an MCP message, and gives back what answers it; none where nothing does.
    ///
    /// # Errors
    /// Where nobody answers, or not by a message.
    pub(crate) async fn mcp(&self, message: Vec<u8>, headers: &[(&str, &str)]) -> anyhow::Result<Option<Value>> {
        let mut request = self.client.post(format!("{}/mcp", self.base)).body(message);
        request = request.header("content-type", "application/json");
        request = request.header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let ApiAnswer { status, body } = self.send(request).await?;
        match body {
            Value::Null => Ok(None),
            message if message["jsonrpc"] == "2.0" => Ok(Some(message)),
            body => anyhow::bail!("{}", ApiAnswer { status, body }.error()),
        }
    }

    async fn send(&self, mut request: reqwest::RequestBuilder) -> anyhow::Result<ApiAnswer> {
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose());
        }
        let answer =
            request.send().await.with_context(|| format!("no Serin answers at {}; is it running?", self.base))?;
        let status = answer.status().as_u16();
        let text = answer.text().await.with_context(|| format!("{} broke its answer off", self.base))?;
        let body = match serde_json::from_str(&text) {
            Ok(body) => body,
            Err(_) if text.is_empty() => Value::Null,
            Err(_) => anyhow::bail!("{} answers, but is no Serin of this version (HTTP {status})", self.base),
        };
        if status == 401 {
            anyhow::bail!("{} wants its token: give it by --token or SERIN_TOKEN", self.base);
        }
        Ok(ApiAnswer { status, body })
    }
}

impl ApiAnswer {
    /// What went wrong, as the API says it.
    pub(crate) fn error(&self) -> String {
        self.body["detail"].as_str().map_or_else(|| format!("HTTP {}", self.status), str::to_owned)
    }
}

/// Who acts, from the environment, such as `kim@laptop`.
pub(crate) fn somebody() -> String {
    let user =
        ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok()).filter(|user| !user.is_empty());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("HOSTNAME").ok());
    let host = host.map(|host| host.trim().to_owned()).filter(|host| !host.is_empty());
    format!("{}@{}", user.as_deref().unwrap_or("somebody"), host.as_deref().unwrap_or("somewhere"))
}

/// Where to connect to for an address that was bound.
fn reachable(listen: SocketAddr) -> anyhow::Result<SocketAddr> {
    anyhow::ensure!(listen.port() != 0, "the configuration leaves the port open (listen: …:0); give --url");
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    Ok(SocketAddr::new(ip, listen.port()))
}

#[cfg(test)]
mod tests {
    use super::reachable;

    #[test]
    fn an_address_that_was_bound_is_one_to_connect_to() {
        let rows = [
            ("127.0.0.1:8080", Some("127.0.0.1:8080"), "as it is"),
            ("0.0.0.0:8080", Some("127.0.0.1:8080"), "everywhere is here"),
            ("[::]:8080", Some("[::1]:8080"), "in both families"),
            ("127.0.0.1:0", None, "a port that was left open is unknown"),
        ];
        for (listen, expected, sentence) in rows {
            let seen = reachable(listen.parse().unwrap()).ok().map(|address| address.to_string());
            assert_eq!(seen.as_deref(), expected, "{sentence}");
        }
    }
}
