//! How a running server is told to crash.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::serve::database::Database;

/// The way to tell a server to crash.
#[derive(Debug, Clone)]
pub struct CrashControl {
    pub(super) sender: mpsc::Sender<Crash>,
    pub(super) database: Arc<Database>,
}

/// A crash that was asked for.
#[derive(Debug)]
pub(super) struct Crash {
    pub(super) down_for: Duration,
    pub(super) done: oneshot::Sender<()>,
}

impl CrashControl {
    pub(super) async fn crash(&self, down_for: Duration) {
        let (done, crashed) = oneshot::channel();
        if self.sender.send(Crash { down_for, done }).await.is_ok() {
            // A server that stops instead of crashing is gone too.
            let _gone = crashed.await;
        }
    }

    /// Ends the process as a crash does: no goodbye to anybody. A temporary index goes first.
    pub(super) fn abort(&self) -> ! {
        self.database.remove();
        std::process::abort()
    }
}
