//! Forgets what is over: at start, and once a day. In small steps, each a short transaction, so that no beat waits for it.
//! It shows no pulse: a loop that turns once a day would look as if it stood still.

use std::time::Duration;

use chrono::Utc;
use tokio_util::sync::CancellationToken;

use crate::daemon::hands::Hands;

/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_secs(24 * 3600);
/// Between two steps: beats go first.
const STEP_EVERY: Duration = Duration::from_millis(200);

/// Runs until shutdown.
pub async fn run(hands: Hands, shutdown: CancellationToken) {
    while !shutdown.is_cancelled() {
        let now = Utc::now();
        let pause = match hands.store.forget_transcripts(now).await {
            Ok(0) => LOOK_EVERY,
            Ok(_) => STEP_EVERY,
            // Where the store does not answer, the beats say so; a day later there is a little more to forget.
            Err(error) => {
                tracing::debug!(%error, "what is over could not be forgotten");
                LOOK_EVERY
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}
