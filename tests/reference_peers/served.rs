//! `serin reference serve`, the real program, on ports of its own.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// A server that runs; it ends with this value.
#[derive(Debug)]
pub(crate) struct Served {
    /// Its door without sessions.
    pub(crate) mcp: String,
    /// Its door with sessions.
    pub(crate) legacy: String,
    /// Where faults are switched.
    pub(crate) admin: String,
    process: Child,
}

impl Served {
    /// Starts it with these arguments besides; it answers when this returns.
    pub(crate) fn with(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_serin"))
            .args(["reference", "serve", "--documentation", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .args(arguments)
            .env("RUST_LOG", "off")
            .stdout(Stdio::piped())
            .spawn()
            .expect("serin starts");
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut url = |name: &str| {
            let line = lines.by_ref().map(Result::unwrap).find(|line| line.starts_with(name));
            let line = line.unwrap_or_else(|| panic!("serin says where its {name} is"));
            line.split_whitespace().nth(1).unwrap().to_owned()
        };
        Self { mcp: url("mcp"), legacy: url("legacy"), admin: url("admin"), process }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.process.kill().expect("it can be ended");
        self.process.wait().expect("it ends");
    }
}
