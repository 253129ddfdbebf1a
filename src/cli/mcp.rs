//! `serin mcp`: the tools of the running Serin's `/mcp` for agents that start a program and speak to its standard input.
//!
//! A bridge and nothing more: each line goes to the running Serin as it is, with the headers that MCP over HTTP wants, and
//! what comes back is one line. So there is one set of tools, one set of rules about tokens, and both eras.

use std::io::{self, BufRead, Read as _, Write as _};
use std::process::ExitCode;

use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::cli::remote::{Remote, RemoteArgs};

/// Bytes of a line; a request of an agent is a few hundred.
const LINE_BYTES_MAX: usize = 64 * 1024;
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
/// Where the configuration does not say where the running Serin is, or standard output is closed.
pub(crate) async fn run(args: McpArgs) -> anyhow::Result<ExitCode> {
    let remote = Remote::find(&args.remote)?;
    let mut agreed = None;
    loop {
        let line = block_in_place(|| next_line(&mut io::stdin().lock()))?;
        if line.is_empty() {
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

/// A line with its end; empty behind the last. Of one that is too long only its beginning, so that what follows it is read.
fn next_line(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    input.by_ref().take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line)?;
    if is_cut(&line) {
        input.skip_until(b'\n')?;
    }
    Ok(line)
}

fn is_cut(line: &[u8]) -> bool {
    line.len() > LINE_BYTES_MAX && !line.ends_with(b"\n")
}

/// The answer to one line; none to a notification. `agreed` is the version that `initialize` settled on.
async fn carried(remote: &Remote, line: &[u8], agreed: &mut Option<String>) -> Option<String> {
    let message = match message_of(line) {
        Ok(message) => message,
        Err(refused) => return Some(refused),
    };
    let (id, method) = (&message["id"], message["method"].as_str().unwrap_or_default());
    let described = message["params"]["_meta"][VERSION].as_str();
    let mut headers = Vec::from_iter(described.or(agreed.as_deref()).map(|version| ("mcp-protocol-version", version)));
    if described.is_some() {
        headers.push(("mcp-method", method));
        headers.extend(message["params"]["name"].as_str().map(|name| ("mcp-name", name)));
    }
    let answered = match remote.mcp(line.to_vec(), &headers).await {
        Ok(Some(answered)) if !id.is_null() => answered,
        // What answers us has an id as well, and is answered by nothing.
        Ok(None) if !id.is_null() && !method.is_empty() => {
            return Some(refusal(id, -32603, "the running Serin answers nothing to this"));
        }
        Ok(_) => return None,
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

/// The message that a line is; else what refuses it, which cannot name the id.
fn message_of(line: &[u8]) -> Result<Value, String> {
    if is_cut(line) {
        let why = format!("this line is longer than {LINE_BYTES_MAX} bytes");
        return Err(refusal(&Value::Null, -32600, &why));
    }
    match serde_json::from_slice(line) {
        Ok(Value::Array(_)) => {
            Err(refusal(&Value::Null, -32600, "batches are not taken: send each message on a line of its own"))
        }
        Ok(message) => Ok(message),
        Err(error) => Err(refusal(&Value::Null, -32700, &format!("this line is no JSON: {error}"))),
    }
}

fn refusal(id: &Value, code: i32, why: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_message_is_refused_once() {
        let (fits, long) = ("x".repeat(LINE_BYTES_MAX), "x".repeat(LINE_BYTES_MAX * 3));
        let rows = [
            ("{\"id\":1}".to_owned(), None, "a message"),
            ("[{\"id\":1},{\"id\":2}]".to_owned(), Some(-32600), "a batch"),
            ("{".to_owned(), Some(-32700), "no JSON"),
            (fits, Some(-32700), "the longest that is looked at"),
            (long, Some(-32600), "a longer one"),
        ];
        for (line, expected, sentence) in rows {
            let text = format!("{line}\nnext\n");
            let mut input = text.as_bytes();
            let seen = message_of(&next_line(&mut input).unwrap()).err();
            let code = seen.map(|refused| serde_json::from_str::<Value>(&refused).unwrap()["error"]["code"].as_i64());
            assert_eq!(code, expected.map(Some), "{sentence}");
            assert_eq!(next_line(&mut input).unwrap(), b"next\n", "{sentence}: the line behind it is whole");
            assert!(next_line(&mut input).unwrap().is_empty(), "{sentence}: the end");
        }
    }
}
