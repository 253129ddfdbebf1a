//! `serin run` as a child: started, signalled, killed, and everything it writes to standard error kept.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::stage::{SECRET, bounded};

/// A Serin that is being started, runs, or has ended. It dies with its value.
pub(crate) struct Serin {
    child: Child,
    said: watch::Receiver<String>,
    log: watch::Receiver<String>,
}

impl Serin {
    /// The binary.
    pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_serin");

    /// Starts it on a file and waits for nothing.
    pub(crate) fn spawn(config: &Path) -> Self {
        Self::spawn_with(config, &[])
    }

    /// The same, with more arguments.
    pub(crate) fn spawn_with(config: &Path, arguments: &[&str]) -> Self {
        Self::spawn_in(config, arguments, &[])
    }

    /// The same, with more variables.
    pub(crate) fn spawn_in(config: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::spawn_by(Command::new(Self::PROGRAM), config, arguments, variables)
    }

    pub(crate) fn spawn_by(
        mut command: Command,
        config: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut child = command
            .args(["run", "--config"])
            .arg(config)
            .args(arguments)
            .env("SERIN_TEST_SECRET", SECRET)
            .env("NO_COLOR", "1")
            .env_remove("RUST_LOG")
            .env_remove("SERIN_LOG")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the binary starts");
        let said = follow(child.stdout.take().expect("a pipe"));
        let log = follow(child.stderr.take().expect("a pipe"));
        Self { child, said, log }
    }

    /// Starts it and waits until it says where its pages are.
    pub(crate) async fn start(config: &Path) -> (Self, SocketAddr) {
        Self::start_with(config, &[]).await
    }

    /// The same, with more arguments.
    pub(crate) async fn start_with(config: &Path, arguments: &[&str]) -> (Self, SocketAddr) {
        let mut serin = Self::spawn_with(config, arguments);
        let address = serin.listens().await;
        (serin, address)
    }

    /// The same, with so many open files as the most it may have.
    pub(crate) async fn start_with_files(config: &Path, files: u32) -> (Self, SocketAddr) {
        let mut command = Command::new("prlimit");
        command.args([&format!("--nofile={files}:{files}"), Self::PROGRAM]);
        Self::start_by(command, config).await
    }

    /// The same, by a command that becomes the binary.
    pub(crate) async fn start_by(command: Command, config: &Path) -> (Self, SocketAddr) {
        let mut serin = Self::spawn_by(command, config, &[], &[]);
        let address = serin.listens().await;
        (serin, address)
    }

    /// Waits until it says where its pages are.
    pub(crate) async fn listens(&mut self) -> SocketAddr {
        let Some(address) = self.started().await else {
            let status = self.ended().await;
            panic!("serin did not start ({status}):\n{}", self.log());
        };
        address
    }

    /// Waits until it says where its pages are, or has ended without having said so.
    pub(crate) async fn started(&self) -> Option<SocketAddr> {
        let mut said = self.said.clone();
        bounded("serin says where its pages are", async {
            loop {
                let found = said.borrow_and_update().split("pages at http://").nth(1).and_then(|rest| {
                    let (address, _) = rest.split_once('\n')?;
                    address.trim().parse().ok()
                });
                if found.is_some() || said.changed().await.is_err() {
                    return found;
                }
            }
        })
        .await
    }

    /// Everything it wrote to standard error so far.
    pub(crate) fn log(&self) -> String {
        self.log.borrow().clone()
    }

    /// Waits until its log holds a text.
    pub(crate) async fn logged(&self, text: &str) {
        let mut log = self.log.clone();
        let found = bounded(&format!("the log says '{text}'"), log.wait_for(|log| log.contains(text))).await.is_ok();
        assert!(found, "serin ended without logging '{text}':\n{}", self.log());
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// Sends it a signal by name, such as `TERM`.
    pub(crate) async fn signal(&self, name: &str) {
        run("kill", &["-s", name, &self.id().to_string()]).await;
    }

    /// SIGKILL: it gets no chance to write or say anything.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.expect("it can be killed");
    }

    /// SIGTERM, and waits until it ended well.
    pub(crate) async fn stop(mut self) {
        self.signal("TERM").await;
        let status = self.ended().await;
        assert!(status.success(), "it ends well when told to stop ({status}):\n{}", self.log());
    }

    /// Waits until it has ended and everything it wrote is read.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let status = bounded("serin ends", self.child.wait()).await.expect("its status");
        let mut log = self.log.clone();
        bounded("its log ends", async { while log.changed().await.is_ok() {} }).await;
        status
    }
}

/// Runs a command of the system that has to succeed.
pub(crate) async fn run(command: &str, arguments: &[&str]) {
    let status = Command::new(command).args(arguments).status().await.expect("the command is installed");
    assert!(status.success(), "{command} {arguments:?}: {status}");
}

/// Collects lines as they come, until the pipe closes.
fn follow(pipe: impl AsyncRead + Unpin + Send + 'static) -> watch::Receiver<String> {
    let (sender, receiver) = watch::channel(String::new());
    tokio::spawn(async move {
        let mut lines = BufReader::new(pipe).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            sender.send_modify(|text| {
                text.push_str(&line);
                text.push('\n');
            });
        }
    });
    receiver
}
