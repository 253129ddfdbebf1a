//! How a command reaches the Serin that runs: through its API, as everybody else does.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Map, Value, json};
use serin_outbound::tls::trusting_config;

use crate::config::check::checker::Unset;
use crate::config::check::process::LISTEN_DEFAULT;
use crate::config::read::source::{self, ConfigSource};
use crate::config::{self, ProcessSettings};
use crate::domain::secret::Secret;
use crate::domain::wording::counted;

/// Longer than the API lets any answer take.
const ANSWER_WITHIN: Duration = Duration::from_secs(90);
/// Bytes of a refusal in plain text that are passed on; what is longer is a page of somebody else's.
const REFUSAL_BYTES_MAX: usize = 500;

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
    /// Where the configuration cannot be read, or leaves its port open.
    pub(crate) fn find(args: &RemoteArgs) -> anyhow::Result<Self> {
        let mut token = args.token.as_deref().map(Secret::new);
        let base = match &args.url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => {
                let source = source::read(&args.config).map_err(|error| {
                    anyhow::anyhow!("{error}; name the file with --config, or the running Serin with --url")
                })?;
                let (listen, of_file) = whereabouts(&source, &|name| std::env::var(name).ok());
                token = token.or(of_file);
                format!("http://{}", reachable(listen)?)
            }
        };
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(trusting_config())
            .no_proxy()
            .timeout(ANSWER_WITHIN)
            .build()?;
        Ok(Self { base, token, client })
    }

    /// Asks for something under `/api/v1`.
    ///
    /// # Errors
    /// Where nobody answers, or somebody who is no Serin.
    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<ApiAnswer> {
        self.send(self.client.get(format!("{}/api/v1{path}", self.base))).await
    }

    /// Asks whether it is ready, which everybody may.
    ///
    /// # Errors
    /// Where nobody answers, or somebody who is no Serin.
    pub(crate) async fn ready(&self) -> anyhow::Result<ApiAnswer> {
        self.send(self.client.get(format!("{}/readyz", self.base))).await
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
        self.send(request).await?.message()
    }

    async fn send(&self, mut request: reqwest::RequestBuilder) -> anyhow::Result<ApiAnswer> {
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose());
        }
        let answer =
            request.send().await.with_context(|| format!("no Serin answers at {}; is it running?", self.base))?;
        let status = answer.status().as_u16();
        let kind = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        let is_text = kind.is_some_and(|kind| kind.starts_with("text/plain"));
        let text = answer.text().await.with_context(|| format!("{} broke its answer off", self.base))?;
        let body = match serde_json::from_str(&text) {
            Ok(body) => body,
            Err(_) if text.is_empty() => Value::Null,
            Err(_) => anyhow::bail!("{} {}", self.base, without_json(status, is_text, &text)),
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

    /// The MCP message it is; none where a notification was taken, which nothing answers.
    fn message(self) -> anyhow::Result<Option<Value>> {
        if self.body["jsonrpc"] == "2.0" {
            return Ok(Some(self.body));
        }
        anyhow::ensure!(self.body.is_null() && self.status < 300, "{}", self.error());
        Ok(None)
    }
}

/// What an answer that is no JSON says: a short refusal is passed on, anything else is somebody else's.
fn without_json(status: u16, is_text: bool, said: &str) -> String {
    let said = said.trim();
    let is_short = (1..=REFUSAL_BYTES_MAX).contains(&said.len()) && !said.contains(char::is_control);
    if status >= 400 && is_text && is_short {
        return format!("answers HTTP {status}: {said}");
    }
    format!("answers, but is no Serin of this version (HTTP {status})")
}

/// Where a file has the running Serin listen, and its token.
///
/// A file with faults ends no Serin that runs, so it keeps nobody from asking one: then what it says of this is read alone.
fn whereabouts(source: &ConfigSource, env: &dyn Fn(&str) -> Option<String>) -> (SocketAddr, Option<Secret>) {
    let faults = match config::load(source, env, Unset::Warn) {
        Ok(loaded) => return (loaded.settings.listen, loaded.settings.token),
        Err(faults) => counted(faults.count(), "fault", "faults"),
    };
    let (listen, token, whence) = match process_alone(source, env) {
        Some(settings) => (settings.listen, settings.token, "as far as the file can be read"),
        None => (LISTEN_DEFAULT, None, "the usual address, since its `serin:` cannot be read either"),
    };
    let path = source.path.display();
    anstream::eprintln!(
        "warning: {} has {faults}, which `serin check {path}` names; the Serin at {listen} is asked, {whence} (--url names another)",
        source.name
    );
    (listen, token)
}

/// What `serin:` says of address and token, whatever is wrong with the rest of the file, be it its syntax.
fn process_alone(source: &ConfigSource, env: &dyn Fn(&str) -> Option<String>) -> Option<ProcessSettings> {
    let text = String::from_utf8_lossy(&source.bytes);
    let is_inside = |line: &&str| line.is_empty() || line.starts_with([' ', '#']);
    let mut lines = text.lines().skip_while(|line| !line.starts_with("serin:"));
    let section: Vec<&str> = lines.next().into_iter().chain(lines.take_while(is_inside)).collect();
    let read: Value = if section.is_empty() { Value::Null } else { serde_yaml::from_str(&section.join("\n")).ok()? };
    let said =
        ["listen", "token"].into_iter().filter_map(|key| Some((key.to_owned(), read["serin"].get(key)?.clone())));
    let said: Map<String, Value> = said.collect();
    // JSON is YAML; a file is refused that declares no monitor.
    let alone = json!({ "version": 1, "serin": said, "monitors": [{ "id": "none", "url": "http://127.0.0.1/mcp" }] });
    let alone = ConfigSource::new(&source.path, alone.to_string().into_bytes(), None);
    config::load(&alone, env, Unset::Warn).ok().map(|loaded| loaded.settings)
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
    use std::path::Path;

    use super::*;

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

    #[test]
    fn a_file_with_faults_still_says_where_its_serin_is() {
        const TOKEN: &str = "a-token-of-some-length";
        let serin = "serin:\n  listen: 127.0.0.1:9000\n  token: ${env:T}\n\n  internal: [ops]\n";
        let (whole, usual) = (Some(("127.0.0.1:9000", Some(TOKEN))), Some(("127.0.0.1:8080", None)));
        let rows = [
            (format!("version: 1\n{serin}monitors:\n- {{ id: docs, ur: x }}\n"), whole, "a wrong key elsewhere"),
            (format!("version: 1\nmonitors: [\n{serin}receivers: {{}}\n"), whole, "a fault of syntax before it"),
            (format!("version: 1\n{serin}monitors:\n\t- id: docs\n"), whole, "and behind it"),
            (format!("version: 1\n{serin}  lisen: 1\n"), whole, "a wrong key beside them"),
            (
                "serin: { listen: 127.0.0.1:9000 }\nmonitors: 3\n".to_owned(),
                Some(("127.0.0.1:9000", None)),
                "a section in one line",
            ),
            ("serin:\n  database: x.db\nmonitors: 3\n".to_owned(), usual, "a section without them"),
            ("monitors: 3\n".to_owned(), usual, "no section"),
            ("serin:\n  listen: [\nmonitors: []\n".to_owned(), None, "a section that cannot be read"),
            ("serin:\n  listen: somewhere\nmonitors: []\n".to_owned(), None, "an address that is none"),
        ];
        let env = |name: &str| (name == "T").then(|| TOKEN.to_owned());
        for (text, expected, sentence) in rows {
            let source = ConfigSource::new(Path::new("monitors.yaml"), text.into_bytes(), None);
            assert!(config::load(&source, &env, Unset::Warn).is_err(), "{sentence}: it has a fault");
            let settings = process_alone(&source, &env);
            let seen = settings
                .map(|settings| (settings.listen.to_string(), settings.token.map(|token| token.expose().to_owned())));
            let seen = seen.as_ref().map(|(listen, token)| (listen.as_str(), token.as_deref()));
            assert_eq!(seen, expected, "{sentence}");
        }
    }

    #[test]
    fn what_is_no_json_is_a_refusal_or_somebody_else() {
        let rows = [
            (503, true, "starting: the database is being opened\n", "answers HTTP 503: starting: the", "a refusal"),
            (200, true, "hello", "is no Serin of this version (HTTP 200)", "no refusal"),
            (404, false, "<html>", "is no Serin of this version (HTTP 404)", "a page"),
            (502, true, "", "is no Serin of this version (HTTP 502)", "nothing"),
            (500, true, "a\u{1b}[31mb", "is no Serin of this version (HTTP 500)", "what a terminal would obey"),
        ];
        for (status, is_text, said, expected, sentence) in rows {
            let seen = without_json(status, is_text, said);
            assert!(seen.contains(expected), "{sentence}: {seen}");
        }
        let long = "x".repeat(REFUSAL_BYTES_MAX + 1);
        assert!(!without_json(500, true, &long).contains("xx"), "a long text is not passed on");
    }

    #[test]
    fn only_what_was_taken_is_answered_by_nothing() {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
        let rows = [
            (202, Value::Null, Ok(None), "a notification"),
            (200, message.clone(), Ok(Some(message)), "an answer"),
            (503, Value::Null, Err("HTTP 503"), "too late"),
            (503, json!({ "detail": "starting: soon" }), Err("starting: soon"), "a refusal of the API's"),
        ];
        for (status, body, expected, sentence) in rows {
            let seen = ApiAnswer { status, body }.message().map_err(|error| error.to_string());
            assert_eq!(seen, expected.map_err(str::to_owned), "{sentence}");
        }
    }
}
