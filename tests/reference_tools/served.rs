//! `serin reference serve`, the real program, on ports of its own, and who asks it.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use reqwest::Client;
use serde_json::{Value, json};

/// How long an answer may take at all, so that what never comes ends a test instead of hanging it.
const GIVEN_UP: Duration = Duration::from_secs(30);

/// A server that runs; it ends with this value, without any warning.
#[derive(Debug)]
pub(crate) struct Served {
    mcp: String,
    search: String,
    client: Client,
    _process: Ended,
}

/// A process that ends with this value, also where a test fails before its server answers.
#[derive(Debug)]
struct Ended(Child);

impl Served {
    /// One that knows nothing, in a folder that may be new or one it was in before.
    pub(crate) fn in_folder(folder: &Path, arguments: &[&str]) -> Self {
        let corpus = folder.join("empty");
        std::fs::create_dir_all(&corpus).unwrap();
        let database = folder.join("index.db");
        let own = [OsStr::new("--corpus"), corpus.as_os_str(), OsStr::new("--database"), database.as_os_str()];
        Self::with(own.into_iter().chain(arguments.iter().map(OsStr::new)))
    }

    /// One with these arguments besides; it answers when this returns.
    pub(crate) fn with(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        // Another test of this process may have been first.
        let _already = rustls::crypto::ring::default_provider().install_default();
        let process = Command::new(env!("CARGO_BIN_EXE_serin"))
            .args(["reference", "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .args(arguments)
            .env("RUST_LOG", "off")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut process = Ended(process);
        let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut url = |name: &str| {
            let line = lines.by_ref().find(|line| line.starts_with(name));
            let line = line.unwrap_or_else(|| panic!("it says where its {name} is"));
            line.split_whitespace().nth(1).unwrap().to_owned()
        };
        let (mcp, search) = (url("mcp"), url("search"));
        // The pipe is read to its end, or the next line would end the server.
        std::thread::spawn(move || lines.for_each(drop));
        Self { mcp, search, client: Client::builder().no_proxy().timeout(GIVEN_UP).build().unwrap(), _process: process }
    }

    /// What a tool says.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        let request = self.client.post(&self.mcp).header("Accept", "application/json, text/event-stream");
        let answer = request.header("MCP-Protocol-Version", "2025-11-25").json(&body).send().await.unwrap();
        let mut answer: Value = answer.json().await.unwrap();
        let envelope = answer["result"]["structuredContent"].take();
        assert_eq!(answer["result"]["isError"] == true, envelope["status"] == "error", "{envelope}");
        envelope
    }

    /// What `POST /search` says.
    pub(crate) async fn post(&self, arguments: &Value) -> Value {
        self.client.post(&self.search).json(arguments).send().await.unwrap().json().await.unwrap()
    }

    /// What a search finds, at either door.
    pub(crate) async fn search(&self, arguments: Value) -> Value {
        let by_mcp = self.call("search_documents", arguments.clone()).await;
        let plain = self.post(&arguments).await;
        for part in ["error_code", "partial"] {
            assert_eq!(by_mcp[part], plain[part], "{arguments}");
        }
        for part in ["results", "context", "tokens_used", "truncated", "total_results"] {
            assert_eq!(by_mcp["data"][part], plain["data"][part], "{part} of {arguments}");
        }
        by_mcp
    }

    /// Indexes a document, which must succeed; gives what was done.
    pub(crate) async fn index(&self, arguments: Value) -> Value {
        let mut envelope = self.call("index_document", arguments).await;
        assert_eq!(envelope["status"], "ok", "{envelope}");
        envelope["data"].take()
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

pub(crate) fn hits(envelope: &Value) -> &[Value] {
    envelope["data"]["results"].as_array().map_or(&[], Vec::as_slice)
}

/// Sources of the hits, each once, by name.
pub(crate) fn sources(envelope: &Value) -> Vec<&str> {
    let mut sources: Vec<&str> = hits(envelope).iter().map(|hit| hit["source"].as_str().unwrap()).collect();
    sources.sort_unstable();
    sources.dedup();
    sources
}

/// Where a hit begins and ends in its source, in characters.
pub(crate) fn place(hit: &Value) -> (usize, usize) {
    let number = |name: &str| usize::try_from(hit[name].as_u64().unwrap()).unwrap();
    (number("char_start"), number("char_end"))
}

/// Whether a hit is a verbatim stretch of a text, where it says it is.
pub(crate) fn is_verbatim(hit: &Value, text: &str) -> bool {
    let (start, end) = place(hit);
    let stretch: String = text.chars().skip(start).take(end - start).collect();
    hit["content"] == stretch
}
