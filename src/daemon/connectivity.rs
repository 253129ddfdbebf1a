//! Connectivity diagnosis beside the beats that confirm a first failure: with a server that hangs it lasts, and no page waits
//! for it. Whatever beat comes after its end takes in what it showed and what it cost.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::task::JoinHandle;

use crate::daemon::loop_context::LoopContext;
use crate::domain::monitor::Monitor;
use crate::domain::observation::{ConnectivityStep, Footprint};
use crate::domain::server_profile::ServerProfile;

/// A connectivity diagnosis under way. Dropped, it goes on to its end, which is near, so that it closes what it opened.
#[derive(Debug)]
pub(crate) struct ConnectivityTask(JoinHandle<(Vec<ConnectivityStep>, Footprint)>);

impl ConnectivityTask {
    /// Starts; `uplink_holds`: a control address has just answered, which is the first step.
    pub(crate) fn start(
        context: &LoopContext,
        monitor: &Arc<Monitor>,
        profile: &ServerProfile,
        uplink_holds: bool,
        now: DateTime<Utc>,
    ) -> Self {
        let (prober, monitor, profile) = (Arc::clone(&context.prober), Arc::clone(monitor), profile.clone());
        Self(tokio::spawn(async move {
            let (mut tried, cost) = prober.diagnose(&monitor, &profile, now).await;
            if uplink_holds && !tried.is_empty() {
                let said = "a control address answers".to_owned();
                tried.insert(0, ConnectivityStep { name: "uplink", holds: true, said, elapsed: Duration::ZERO });
            }
            (tried, cost)
        }))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.is_finished()
    }

    /// What it showed and what it cost, once it is over; nothing where it broke down.
    pub(crate) async fn end(self) -> (Vec<ConnectivityStep>, Footprint) {
        self.0.await.unwrap_or_default()
    }
}
