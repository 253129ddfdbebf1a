//! A host that fills a server by its own tools: MCP over stdio, as much as that takes.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout, Command};

/// Past this a test hangs. A guard and no claim: nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(300);

/// A tool and its arguments.
pub(crate) type Call = (&'static str, Value);

/// How a server is started.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
}

impl Program {
    /// Calls these tools, one after the other, in a process of its own.
    pub(crate) async fn told(&self, calls: Vec<Call>, inside: &Path) {
        let mut child = Command::new(&self.command)
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(inside)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start ({error}); run tests/install.sh", self.command));
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut talk = Talk { stdin: child.stdin.take().expect("it is piped"), lines, asked: 0 };
        let told = async {
            let who = json!({"name": "a-host", "version": "0"});
            talk.ask("initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who}))
                .await;
            talk.say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
            for (tool, arguments) in calls {
                talk.ask("tools/call", json!({"name": tool, "arguments": arguments})).await;
            }
            drop(talk);
            child.wait().await
        };
        let ended = tokio::time::timeout(PATIENCE, told).await;
        ended.unwrap_or_else(|_| panic!("{} {:?} hangs", self.command, self.args)).expect("its status");
    }
}

struct Talk {
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    asked: u64,
}

impl Talk {
    async fn say(&mut self, message: Value) {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await.expect("it listens");
    }

    /// Asks, and waits for the answer, which has to be a good one.
    async fn ask(&mut self, method: &str, params: Value) {
        self.asked += 1;
        self.say(json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params})).await;
        loop {
            let line = self.lines.next_line().await.expect("text").expect("it answers before it ends");
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            if message["id"] == self.asked && message.get("method").is_none() {
                let is_good = message.get("result").is_some() && message["result"]["isError"] != true;
                assert!(is_good, "{method} {params}: {message}");
                return;
            }
        }
    }
}
