//! What systemd is told of a run, where it asked for that: begun, alive, stopping (sd_notify(3)).
//!
//! Alive is a process whose loops all turn. One that waits for a full disk, or whose database is away, is alive: to be
//! started again would help it to nothing, and it tells of its trouble itself.

use sd_notify::NotifyState;
use tokio_util::sync::CancellationToken;

use crate::app::Running;

/// Tells that it has begun, and goes on telling that it lives, as often as the unit's `WatchdogSec=` asks, until shutdown.
pub(crate) fn begun(running: &Running, shutdown: CancellationToken) {
    tell(&[NotifyState::Ready, NotifyState::Status(&format!("pages at http://{}", running.address))]);
    let live = std::sync::Arc::clone(&running.live);
    // Twice within what it allows, so that one that comes late kills nobody.
    let every = sd_notify::watchdog_enabled().map(|within| within / 2).filter(|every| !every.is_zero());
    tokio::spawn(async move {
        let Some(every) = every else {
            shutdown.cancelled().await;
            return tell(&[NotifyState::Stopping]);
        };
        while !shutdown.is_cancelled() {
            match live.metrics().silent_loops().first() {
                None => tell(&[NotifyState::Watchdog]),
                Some(name) => tracing::error!("systemd is not told that Serin lives: the {name} loop takes no turns"),
            }
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = tokio::time::sleep(every) => {}
            }
        }
        tell(&[NotifyState::Stopping]);
    });
}

/// Without systemd there is nobody to tell, which is no fault.
fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "systemd could not be told");
    }
}
