//! A Chroma server of our own, from the bindings that PyPI's `chromadb` brings: it keeps its data in a temporary
//! folder, and is gone with the test.
//!
//! The bindings are a server with a command line, so nothing of the package's Python is needed, nor what it depends on.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serin_reference::store::chroma::options::ChromaOptions;

/// Runs the server as `chroma run` does.
const RUN: &str = "import sys, chromadb_rust_bindings as chroma; chroma.cli(['chroma', 'run', *sys.argv[1:]])";

pub(crate) struct Server {
    home: tempfile::TempDir,
    address: SocketAddr,
    child: Option<Child>,
}

impl Server {
    /// A new server without a collection.
    pub(crate) async fn new() -> Self {
        // Whoever was first has installed the same.
        let _first = rustls::crypto::ring::default_provider().install_default();
        // The server cannot say which port it has chosen, so one is chosen here.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let home = tempfile::Builder::new().prefix("serin-chroma").tempdir().unwrap();
        let mut server = Self { home, address, child: None };
        server.start().await;
        server
    }

    /// Starts it, again where it was stopped.
    pub(crate) async fn start(&mut self) {
        let child = Command::new("python3")
            .args(["-c", RUN, "--host", "127.0.0.1", "--port", &self.address.port().to_string(), "--path"])
            .arg(self.home.path())
            .env("PYTHONPATH", installed())
            .current_dir(self.home.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.child = Some(child);
        while reqwest::get(format!("{}/api/v2/heartbeat", self.url())).await.is_err() {
            let ended = self.child.as_mut().and_then(|child| child.try_wait().unwrap());
            assert!(ended.is_none(), "the server ended: {ended:?}; `tests/install.sh` installs another");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Kills it; what it has answered is on its disk.
    pub(crate) fn stop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// A collection of this server, which has all the time it needs, and is asked again at once after a failure.
    pub(crate) fn options(&self, collection: &str) -> ChromaOptions {
        let (cool_down, asked_within) = (Duration::ZERO, Duration::from_mins(1));
        ChromaOptions { cool_down, asked_within, ..ChromaOptions::new(self.url(), collection) }
    }

    /// The database's address.
    pub(crate) fn collections(&self) -> String {
        format!("{}/api/v2/tenants/default_tenant/databases/default_database/collections", self.url())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Where the package is: in `SERIN_TEST_CHROMA` where that is said, otherwise where `tests/install.sh` has put it.
fn installed() -> PathBuf {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/third_party/.venv/chroma");
    let folder = std::env::var_os("SERIN_TEST_CHROMA").map_or_else(usual, PathBuf::from);
    let bindings = folder.join("chromadb_rust_bindings");
    assert!(bindings.exists(), "there is no Chroma in {}; run tests/install.sh", folder.display());
    folder
}
