//! What people ask for, handed to whoever watches the monitor, or reads the list. It was written down before they were
//! answered: what nobody came to before Serin ended is done after the next start. Whoever is asked twice does it once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::daemon::loop_context::LoopContext;
use crate::domain::action::Action;
use crate::domain::lease::Job;
use crate::live::listings::Listings;

/// It looks this often where nothing tells it to.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// And so soon again where the database did not answer.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// What is handed on and not done waits for the monitor's beat, or until its server is seen, or went with a monitor that was
/// removed and came back.
const HAND_AGAIN: Duration = Duration::from_secs(20);
/// The name under which the loop reports its turns.
const NAME: &str = "actions";

/// Hands on what waits, until shutdown.
pub(crate) async fn run(
    context: LoopContext,
    (owner, listings): (mpsc::Sender<Action>, Arc<Listings>),
    shutdown: CancellationToken,
) {
    let (asked, mut leases) = (context.store.action_asked(), context.leases.clone());
    let mut handed: HashMap<String, Instant> = HashMap::new();
    while !shutdown.is_cancelled() {
        context.live.metrics().turn(NAME, Utc::now());
        let mut again = LOOK_AGAIN;
        if let Ok(waiting) = context.store.waiting_actions().await {
            again = LOOK_EVERY;
            let now = Instant::now();
            handed.retain(|id, at| now - *at < HAND_AGAIN && waiting.iter().any(|action| action.id == *id));
            let held = Arc::clone(&leases.borrow_and_update());
            let (of_lists, of_monitors): (Vec<_>, Vec<_>) = waiting
                .into_iter()
                .filter(|action| !handed.contains_key(&action.id))
                .partition(|it| it.asked.is_of_list());
            let ours = of_monitors.into_iter().filter(|action| held.of_monitor(&action.monitor).is_some());
            for action in of_lists.into_iter().filter(|_| held.have_job(Job::Discovery)) {
                handed.insert(action.id.clone(), now);
                listings.hand(action);
            }
            for action in ours {
                handed.insert(action.id.clone(), now);
                if owner.send(action).await.is_err() {
                    return;
                }
            }
        }
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = asked.notified() => {}
            Ok(()) = leases.changed() => {}
            () = tokio::time::sleep(again) => {}
        }
    }
}
