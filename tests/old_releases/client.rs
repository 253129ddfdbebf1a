//! A client of no monitor: what any user's program does, and nothing of Serin's in it.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};

/// Past this a server hangs. A guard and no claim: nothing waits for it to pass.
const GUARD: Duration = Duration::from_secs(60);

static HTTP: LazyLock<reqwest::Client> = LazyLock::new(|| {
    // Every test of this binary does so; the first one wins.
    let _installed_already = rustls::crypto::ring::default_provider().install_default();
    // Tests have runtimes of their own, and a connection lives no longer than its runtime.
    reqwest::Client::builder().timeout(GUARD).pool_max_idle_per_host(0).build().expect("a client")
});

/// The body of what an address answers.
pub(crate) async fn get(url: &str) -> String {
    HTTP.get(url).send().await.expect("it answers").text().await.expect("a text")
}

/// What one did, so that it can be told from what Serin did.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    pub(crate) opened: BTreeSet<String>,
    pub(crate) sent: Vec<&'static str>,
}

impl Raw {
    /// Opens a session that is left, and searches.
    pub(crate) async fn searches(&mut self, url: &str) -> Result<(), String> {
        let session = self.opens(url).await?;
        let call = json!({"name": "search_documents", "arguments": {"query": "ERR-4417"}});
        let (status, text) = self.posts(url, session.as_deref(), "tools/call", Some(2), &call).await?;
        let found = status == 200 && text.contains("errors/4417.md");
        if found { Ok(()) } else { Err(format!("a search is answered {status} {text}")) }
    }

    /// Initializes whole; the session's id where there is one.
    pub(crate) async fn opens(&mut self, url: &str) -> Result<Option<String>, String> {
        let client = json!({"name": "nobody", "version": "0"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let before = self.opened.clone();
        let (status, text) = self.posts(url, None, "initialize", Some(1), &params).await?;
        if status != 200 {
            return Err(format!("initialize is answered {status} {text}"));
        }
        let session = self.opened.difference(&before).next().cloned();
        self.posts(url, session.as_deref(), "notifications/initialized", None, &json!({})).await?;
        Ok(session)
    }

    /// Sends one message; the status and the body.
    pub(crate) async fn posts(
        &mut self,
        url: &str,
        session: Option<&str>,
        method: &'static str,
        id: Option<u64>,
        params: &Value,
    ) -> Result<(u16, String), String> {
        let mut body = json!({"jsonrpc": "2.0", "method": method, "params": params});
        if let Some(id) = id {
            body["id"] = id.into();
        }
        let request = HTTP.post(url).header("accept", "application/json, text/event-stream").json(&body);
        let request = session.iter().fold(request, |request, session| request.header("mcp-session-id", *session));
        let answer = request.send().await.map_err(|error| format!("{method}: {error}"))?;
        // A server that is dead reads no message, and so counts none.
        if answer.status() != 500 {
            self.sent.push(method);
        }
        let made = answer.headers().get("mcp-session-id").and_then(|value| value.to_str().ok().map(str::to_owned));
        self.opened.extend(made);
        let status = answer.status().as_u16();
        Ok((status, answer.text().await.map_err(|error| format!("{method}: {error}"))?))
    }

    /// Ends a session as a client should.
    pub(crate) async fn deletes(&self, url: &str, session: &str) -> u16 {
        let answer = HTTP.delete(url).header("mcp-session-id", session).send().await.expect("it answers");
        answer.status().as_u16()
    }
}
