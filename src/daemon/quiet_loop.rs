//! What is quiet: the loop that reads silences and windows whenever one begins, ends or is made, and puts them in force.
//!
//! What it lets go is told by the scheduler, who has the incidents, and at once: the next beat may be an hour away.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio_util::sync::CancellationToken;

use crate::daemon::loop_context::LoopContext;
use crate::domain::fleet::Fleet;
use crate::domain::paging::quiet::QuietBook;
use crate::domain::paging::silence::Silence;
use crate::live::quiets::Quiets;
use crate::store::{Store, StoreError};

/// The longest it does not look: a clock may be set, and a silence may end with its incident.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Where silences end with incidents, which end at any moment.
const LOOK_OFTEN: Duration = Duration::from_secs(1);

/// Puts in force what is quiet now, before anything is told; the silences that it is by.
///
/// # Errors
/// Where the database does not answer.
pub(crate) async fn begin(
    quiets: &Quiets,
    store: &Store,
    fleet: &Fleet,
    now: DateTime<Utc>,
) -> Result<Vec<Silence>, StoreError> {
    let silences = store.silences(now).await?;
    quiets.put(QuietBook::new(&silences, fleet, now));
    Ok(silences)
}

/// Runs until shutdown, from the silences it begins with.
pub(crate) async fn run(context: LoopContext, mut silences: Vec<Silence>, shutdown: CancellationToken) {
    let mut fleets = context.fleet.clone();
    let mut was = (context.quiets.book(), Utc::now());
    loop {
        let now = Utc::now();
        match context.store.silences(now).await {
            Ok(found) => silences = found,
            Err(StoreError::Closed) => return,
            // Windows begin and end all the same.
            Err(error) => tracing::warn!(%error, "silences cannot be read; those known hold on"),
        }
        let fleet = fleets.borrow_and_update().clone();
        let book = QuietBook::new(&silences, &fleet, now);
        let edge = book.next_edge(now).and_then(|at| (at - now).to_std().ok());
        // A book says of itself what is on: at an edge it is the same book, and something else is on.
        if book != *was.0 || book.on(now) != was.0.on(was.1) {
            context.quiets.put(book);
        }
        was = (context.quiets.book(), now);
        let with_incidents = silences.iter().any(|silence| silence.until_incident.is_some());
        let pause = edge.unwrap_or(LOOK_EVERY).min(if with_incidents { LOOK_OFTEN } else { LOOK_EVERY });
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = context.quiets.asked() => {}
            Ok(()) = fleets.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}
