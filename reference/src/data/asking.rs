//! Asks a running server by its public tools: MCP by HTTP, one question after another.
//!
//! One at a time, so that faults which strike a share of the calls strike the same ones tomorrow.
//! Whatever the server says is read within limits and trusted in nothing.

use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use serin_outbound::tls::trusting_config;

use crate::data::judging::{Given, GivenAnswer};
use crate::data::question::JudgedQuestion;

/// Hits asked for: enough that ten different sources are among them.
const TOP_K: usize = 20;
/// Hits read of an answer, whatever was sent.
const HITS_MAX: usize = 100;
/// Letters of a source's name that are kept.
const SOURCE_CHARS_MAX: usize = 1_000;
/// Letters of a failure that are kept.
const FAILURE_CHARS_MAX: usize = 300;
/// How long a call may take; a slower answer is none.
const CALL_LIMIT: Duration = Duration::from_secs(30);
/// Bytes of an answer: twenty chunks and their context are a hundredth of it.
const ANSWER_BYTES_MAX: usize = 4 << 20;
/// The version of MCP that is spoken; its servers answer a call without a session.
const PROTOCOL: &str = "2025-11-25";

/// A server that is asked.
#[derive(Clone)]
pub struct Asker {
    client: Client,
    url: String,
    bearer: Option<String>,
}

impl std::fmt::Debug for Asker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Asker").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Why a call brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No answer came, or it broke off.
    #[error("the server does not answer: {0}")]
    Transport(#[from] reqwest::Error),
    /// HTTP says no.
    #[error("the server answers {0}; is the URL that of its MCP endpoint, and is a token needed?")]
    Status(reqwest::StatusCode),
    /// More than `ANSWER_BYTES_MAX`.
    #[error("the answer is longer than {ANSWER_BYTES_MAX} bytes")]
    TooLarge,
    /// Not what a tool call is answered with.
    #[error("the answer is not understood: {0}")]
    Malformed(&'static str),
    /// The tool, or the protocol, reports an error.
    #[error("the tool reports an error: {0}")]
    Tool(String),
}

impl Asker {
    /// Will ask the MCP endpoint at `url`, with a bearer token where one is given. A TLS provider must
    /// have been installed.
    ///
    /// # Errors
    /// `AskError::Transport` where no client can be made.
    pub fn new(url: &str, bearer: Option<String>) -> Result<Self, AskError> {
        let client = Client::builder()
            .tls_backend_preconfigured(trusting_config())
            .no_proxy()
            .redirect(Policy::none())
            .timeout(CALL_LIMIT)
            .build()?;
        Ok(Self { client, url: url.to_owned(), bearer })
    }

    /// Asks every question, in order. A call that fails is an answer without hits that says why.
    pub async fn ask(&self, questions: &[JudgedQuestion]) -> Vec<GivenAnswer> {
        let mut answers = Vec::with_capacity(questions.len());
        for question in questions {
            let (hits, failure) = match self.search(&question.query).await {
                Ok(hits) => (Some(hits), None),
                Err(error) => (None, Some(error.to_string().chars().take(FAILURE_CHARS_MAX).collect())),
            };
            answers.push(GivenAnswer { id: question.id.clone(), hits, failure });
        }
        answers
    }

    /// Asks `search_documents`.
    ///
    /// # Errors
    /// `AskError`.
    pub async fn search(&self, query: &str) -> Result<Vec<Given>, AskError> {
        let envelope = self.call("search_documents", json!({"query": query, "top_k": TOP_K})).await?;
        let hits = envelope["data"]["results"].as_array().ok_or(AskError::Malformed("data.results is no list"))?;
        hits.iter().take(HITS_MAX).map(given).collect()
    }

    /// Puts a document in by `index_document`; gives its number of chunks.
    ///
    /// # Errors
    /// `AskError`.
    pub async fn index(&self, source: &str, text: &str) -> Result<u64, AskError> {
        let envelope = self.call("index_document", json!({"source": source, "text": text})).await?;
        envelope["data"]["chunk_count"].as_u64().ok_or(AskError::Malformed("data.chunk_count is no number"))
    }

    /// Calls a tool; gives the envelope it answers with.
    async fn call(&self, tool: &str, arguments: Value) -> Result<Value, AskError> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        let mut request = self
            .client
            .post(&self.url)
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", PROTOCOL)
            .json(&body);
        if let Some(token) = &self.bearer {
            request = request.bearer_auth(token);
        }
        let mut answer = request.send().await?;
        if !answer.status().is_success() {
            return Err(AskError::Status(answer.status()));
        }
        let mut bytes = Vec::new();
        while let Some(part) = answer.chunk().await? {
            if bytes.len() + part.len() > ANSWER_BYTES_MAX {
                return Err(AskError::TooLarge);
            }
            bytes.extend_from_slice(&part);
        }
        envelope(&bytes)
    }
}

/// What a tool says, out of the JSON-RPC answer around it.
fn envelope(bytes: &[u8]) -> Result<Value, AskError> {
    let answer: Value = serde_json::from_slice(bytes).map_err(|_| AskError::Malformed("it is no JSON"))?;
    if let Some(message) = answer["error"]["message"].as_str() {
        return Err(AskError::Tool(message.chars().take(FAILURE_CHARS_MAX).collect()));
    }
    let result = &answer["result"];
    let envelope = match (&result["structuredContent"], result["content"][0]["text"].as_str()) {
        (Value::Object(_), _) => result["structuredContent"].clone(),
        (_, Some(text)) => serde_json::from_str(text).map_err(|_| AskError::Malformed("its text is no JSON"))?,
        _ => return Err(AskError::Malformed("it has no result")),
    };
    if result["isError"] == true || envelope["status"] == "error" {
        let said = envelope["error_message"].as_str().unwrap_or("no message");
        return Err(AskError::Tool(said.chars().take(FAILURE_CHARS_MAX).collect()));
    }
    Ok(envelope)
}

fn given(hit: &Value) -> Result<Given, AskError> {
    let number = |name: &str| hit[name].as_f64().filter(|number| number.is_finite());
    let source = hit["source"].as_str().ok_or(AskError::Malformed("a hit has no source"))?;
    let score = number("score").ok_or(AskError::Malformed("a hit has no score"))?;
    Ok(Given {
        source: source.chars().take(SOURCE_CHARS_MAX).collect(),
        // Servers that know one score order by it.
        final_score: number("final_score").unwrap_or(score),
        score,
    })
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::StatusCode;
    use axum::routing::post;

    use super::*;

    /// Asks a server that answers every call so.
    async fn check(says: &str, status: StatusCode, body: String, expected: Result<usize, &str>) {
        let _already = rustls::crypto::ring::default_provider().install_default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let router = Router::new().route("/mcp", post(move || async move { (status, body) }));
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        let got = Asker::new(&url, None).unwrap().search("?").await;
        server.abort();
        match (got, expected) {
            (Ok(hits), Ok(count)) => assert_eq!(hits.len(), count, "{says}"),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{says}: {error}"),
            (got, _) => panic!("{says}: {got:?}"),
        }
    }

    fn result(result: Value) -> String {
        json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string()
    }

    #[tokio::test]
    async fn answers_are_read_and_what_is_none_is_named() {
        let ok = StatusCode::OK;
        let hit = json!({"source": "a.md", "score": 0.5, "final_score": 0.03});
        let found = json!({"status": "ok", "data": {"results": [hit]}});
        check("structured", ok, result(json!({"structuredContent": found})), Ok(1)).await;
        let text = json!({"content": [{"type": "text", "text": found.to_string()}]});
        check("only text", ok, result(text), Ok(1)).await;
        let many = json!({"data": {"results": vec![hit.clone(); 5_000]}});
        check("too many hits are cut", ok, result(json!({"structuredContent": many})), Ok(HITS_MAX)).await;
        let failed = json!({"isError": true, "structuredContent": {"status": "error", "error_message": "no rows"}});
        check("a tool's error", ok, result(failed), Err("no rows")).await;
        check("the protocol's error", ok, json!({"error": {"message": "no tool"}}).to_string(), Err("no tool")).await;
        check("another page", ok, "<html>".to_owned(), Err("no JSON")).await;
        check("a list elsewhere", ok, result(json!({"structuredContent": {"hits": []}})), Err("is no list")).await;
        let nameless = json!({"data": {"results": [{"score": 1}]}});
        check("a hit of nowhere", ok, result(json!({"structuredContent": nameless})), Err("no source")).await;
        check("a closed door", StatusCode::UNAUTHORIZED, String::new(), Err("401")).await;
        check("a flood", ok, " ".repeat(ANSWER_BYTES_MAX + 1), Err("longer than")).await;
    }
}
