//! What people ask for, handed to whoever watches the monitor, or reads the list. It was written down before they were answered: what nobody came
//! to before Serin ended is done after the next start. Whoever is asked twice does it once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::daemon::loop_context::LoopContext;
use crate::domain::action::Action;
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
    let asked = context.store.action_asked();
    let mut handed: HashMap<String, Instant> = HashMap::new();
    while !shutdown.is_cancelled() {
        context.live.metrics().turn(NAME, Utc::now());
        let mut again = LOOK_AGAIN;
        if let Ok(waiting) = context.store.waiting_actions().await {
            again = LOOK_EVERY;
            let now = Instant::now();
            handed.retain(|id, at| now - *at < HAND_AGAIN && waiting.iter().any(|action| action.id == *id));
            for action in waiting {
                if handed.contains_key(&action.id) {
                    continue;
                }
                handed.insert(action.id.clone(), now);
                match action.asked.is_of_list() {
                    true => listings.ask(action),
                    false if owner.send(action).await.is_err() => return,
                    false => {}
                }
            }
        }
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = asked.notified() => {}
            () = tokio::time::sleep(again) => {}
        }
    }
}
