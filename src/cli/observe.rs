//! One probe of a command's own, which ends when somebody presses Ctrl-C.

use std::path::Path;

use crate::config;
use crate::config::check::checker::Unset;
use crate::config::read::source;
use crate::domain::classify::classify;
use crate::domain::monitor::Monitor;
use crate::domain::observation::Observation;
use crate::domain::server_profile::ServerProfile;
use crate::probe::assignment::Assignment;
use crate::probe::prober::Prober;
use crate::store::write::probe_memory::{address_hash, recall};

/// The exit code of an interrupted program, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// What a Serin with this configuration learnt of a server, so that what hurt it once is not done again; nothing where
/// there is no such Serin.
pub(crate) async fn recalled(config: &Path, monitor: &Monitor) -> ServerProfile {
    let env = |name: &str| std::env::var(name).ok();
    let loaded = source::read(config).ok().and_then(|source| config::load(&source, &env, Unset::Warn).ok());
    let database = loaded.and_then(|loaded| loaded.settings.database);
    let Some(database) = database.filter(|database| database.file().is_none_or(Path::exists)) else {
        return ServerProfile::default();
    };
    match recall(&database, &address_hash(monitor)).await {
        Ok(profile) => profile.unwrap_or_default(),
        Err(error) => {
            anstream::eprintln!("what is known of this server could not be read ({error}); it is met as a stranger");
            ServerProfile::default()
        }
    }
}

/// One probe with its transcript; none where somebody interrupted it.
pub(crate) async fn observe(assignment: &Assignment) -> Option<Observation> {
    let prober = Prober::new(1).once();
    let (mut seen, _, transcript) = tokio::select! {
        recorded = prober.record(assignment) => recorded,
        // What the probe started ends with it.
        _ = tokio::signal::ctrl_c() => return None,
    };
    prober.release_all().await;
    let outcome = classify(&assignment.monitor, &seen);
    seen.transcript = transcript.map(|transcript| transcript.written(assignment, &seen, &outcome));
    Some(seen)
}
