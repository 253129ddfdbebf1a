//! How a running server is told to crash, and the index file that goes with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

/// The way to tell a server to crash.
#[derive(Debug, Clone)]
pub struct Orders {
    pub(crate) sender: mpsc::Sender<Order>,
    pub(crate) database: Arc<Database>,
}

#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) down_for: Duration,
    pub(crate) done: oneshot::Sender<()>,
}

impl Orders {
    pub(crate) async fn crash(&self, down_for: Duration) {
        let (done, crashed) = oneshot::channel();
        if self.sender.send(Order { down_for, done }).await.is_ok() {
            // A server that stops instead of crashing is gone too.
            let _gone = crashed.await;
        }
    }

    /// Ends the process as a crash does: no goodbye to anybody. A temporary index goes first.
    pub(crate) fn abort(&self) -> ! {
        self.database.remove();
        std::process::abort()
    }
}

/// The index file, taken away with the server where it is a temporary one.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) path: PathBuf,
    is_temporary: bool,
}

impl Database {
    pub(crate) fn at(path: Option<PathBuf>) -> Self {
        let is_temporary = path.is_none();
        let name = || std::env::temp_dir().join(format!("serin-reference-{}.db", uuid::Uuid::now_v7()));
        Self { path: path.unwrap_or_else(name), is_temporary }
    }

    pub(crate) fn remove(&self) {
        if !self.is_temporary {
            return;
        }
        for ending in ["", "-wal", "-shm"] {
            let mut path = self.path.clone().into_os_string();
            path.push(ending);
            // SQLite takes its side files away itself when it can.
            let _absent = std::fs::remove_file(Path::new(&path));
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.remove();
    }
}
