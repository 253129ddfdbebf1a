//! What is known of a server's era before the first request, by the file or from earlier probes.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::Instant;

use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::protocol::{Era, Transport};
use crate::domain::server_profile::{Caution, ServerProfile};
use crate::probe::session::caller::Caller;

/// A remembered era is looked at again after this many hours, and up to [`RELOOK_JITTER_HOURS`] more: about once a day,
/// and not all monitors at once.
const RELOOK_HOURS: i64 = 20;

const RELOOK_JITTER_HOURS: i64 = 8;

/// Ways a conversation may be opened in: `initialize`, `server/discover`, and the event stream of the older transport.
/// Each gets its part of the budget, so that one that hangs leaves time for the others.
const OPENINGS: u32 = 3;

/// What is known before the first request, by the file or from earlier probes.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownEra {
    pub(super) fixed_era: Option<Era>,
    pub(super) fixed_transport: Option<Transport>,
    pub(super) era: Option<Era>,
    pub(super) transport: Option<Transport>,
    pub(super) share: Duration,
}

impl KnownEra {
    pub(super) fn of(monitor: &Monitor, profile: &ServerProfile, now: DateTime<Utc>) -> Self {
        let reach = &monitor.reach;
        let stdio = reach.program.is_some().then_some(Transport::Stdio);
        let fixed_transport = reach.transport.or(stdio);
        // The older transport has no modern era.
        let fixed_era = if fixed_transport == Some(Transport::Sse) { Some(Era::Legacy) } else { reach.era };
        // Whoever speaks the modern era is probed in it: there is nothing newer to look for.
        let settled = |era: &Era| *era == Era::Modern || !relook_is_due(&monitor.id, profile, now);
        let era = fixed_era.or(match profile.discover {
            Caution::Harmful => Some(Era::Legacy),
            _ => profile.era.filter(settled),
        });
        let transport = fixed_transport.or(profile.transport.filter(|_| era.is_some()));
        Self { fixed_era, fixed_transport, era, transport, share: monitor.probe_budget / OPENINGS }
    }

    /// When an opening that starts now has to be done.
    pub(super) fn until(&self, caller: &Caller<'_>) -> Instant {
        caller.deadline().min(Instant::now() + self.share)
    }
}

pub(super) fn relook_is_due(monitor: &MonitorId, profile: &ServerProfile, now: DateTime<Utc>) -> bool {
    let jitter = monitor.as_str().bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let hours = RELOOK_HOURS + i64::from(jitter) % RELOOK_JITTER_HOURS;
    profile.era_found_at.is_none_or(|found_at| now - found_at > TimeDelta::hours(hours))
}
