//! `serin mcp`: the tools of the running Serin's `/mcp` for agents that start a program and speak to its standard input.
//!
//! A bridge and nothing more: each line goes to the running Serin as it is, with the headers that MCP over HTTP wants, and
//! what comes back is one line. So there is one set of tools, one set of rules about tokens, and both eras.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::process::ExitCode;

use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::cli::remote::{Remote, RemoteArgs};

/// Bytes of a line; a request of an agent is a few hundred.
const LINE_BYTES_MAX: u64 = 64 * 1024;
/// Where a request that describes itself says the version it is in.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Speaks MCP over standard input and output for an agent: is a server fit to be believed, what is wrong, what to do.
#[derive(Debug, clap::Args)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Carries lines until standard input ends.
///
/// # Errors
/// Where the configuration has faults, or standard output is closed.
pub(crate) async fn run(args: McpArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::find(&args.remote)?;
    let mut agreed = None;
    loop {
        let mut line = Vec::new();
        let read = || io::stdin().lock().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        if block_in_place(read)? == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        if let Some(answer) = carried(&remote, &line, &mut agreed).await {
            let mut out = io::stdout().lock();
            writeln!(out, "{answer}")?;
            out.flush()?;
        }
    }
}

/// The answer to one line; none to a notification. `agreed` is the version that `initialize` settled on.
async fn carried(remote: &Remote, line: &[u8], agreed: &mut Option<String>) -> Option<String> {
    let message: Value = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(error) => return Some(refusal(&Value::Null, -32700, &format!("this line is no JSON: {error}"))),
    };
    let (id, method) = (&message["id"], message["method"].as_str().unwrap_or_default());
    let described = message["params"]["_meta"][VERSION].as_str();
    let mut headers = Vec::from_iter(described.or(agreed.as_deref()).map(|version| ("mcp-protocol-version", version)));
    if described.is_some() {
        headers.push(("mcp-method", method));
        headers.extend(message["params"]["name"].as_str().map(|name| ("mcp-name", name)));
    }
    let answered = match remote.mcp(line.to_vec(), &headers).await {
        Ok(answered) => answered.filter(|_| !id.is_null())?,
        Err(error) if id.is_null() => {
            tracing::debug!("{error:#}");
            return None;
        }
        Err(error) => return Some(refusal(id, -32603, &format!("{error:#}"))),
    };
    if method == "initialize" {
        *agreed = answered["result"]["protocolVersion"].as_str().map(str::to_owned);
    }
    Some(answered.to_string())
}

fn refusal(id: &Value, code: i32, why: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } }).to_string()
}
