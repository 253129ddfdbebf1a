//! How far a call has come, for whoever waits for it.
//!
//! It goes beside the arguments, with the task: between a tool and the embedder nobody else has to know of it.

use tokio::sync::watch;

tokio::task_local! {
    static TOLD: watch::Sender<Embedded>;
}

/// Texts of a document that have their vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Embedded {
    /// So many.
    pub done: usize,
    /// Of so many; 0 is not known yet.
    pub of: usize,
}

/// Does a call, telling how far it has come.
pub async fn told<T>(to: watch::Sender<Embedded>, call: impl Future<Output = T>) -> T {
    TOLD.scope(to, call).await
}

/// Says how far the call has come that this is a part of, where somebody wants to know.
pub(super) fn at(done: usize, of: usize) {
    let _nobody_asked = TOLD.try_with(|told| told.send_replace(Embedded { done, of }));
}
