//! Tokens that were got, by monitor, and how long to wait after none was. Kept in memory only: a restart asks anew.

use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::{Mutex, MutexGuard};

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::secret::Secret;
use crate::probe::access::oauth::AccessToken;

/// What one Serin is built for; one more than that pushes all of them out.
const TOKENS_MAX: usize = 50_000;
/// The wait after a first refusal, which doubles with each further one: what was refused will be refused again. An issuer
/// in trouble is waited for no longer than this, so that monitors are back soon after it is.
const WAIT_FIRST: Duration = Duration::from_secs(30);
const WAIT_DOUBLINGS_MAX: u32 = 5;

#[derive(Debug, Default)]
pub(crate) struct TokenCache {
    known: Mutex<HashMap<MonitorId, (String, CachedToken)>>,
}

/// How it stands with a monitor's token.
#[derive(Debug, Clone)]
pub(crate) enum CachedToken {
    Held(AccessToken),
    /// The last attempt brought none.
    Refused {
        fault: Fault,
        again_at: DateTime<Utc>,
        in_a_row: u32,
    },
}

impl TokenCache {
    /// What is known for this monitor as it is declared now.
    pub(crate) fn of(&self, monitor: &Monitor) -> Option<CachedToken> {
        let known = self.lock();
        known.get(&monitor.id).filter(|(hash, _)| *hash == monitor.definition_hash).map(|(_, grant)| grant.clone())
    }

    /// Keeps what an attempt brought. A fault of the monitored server or of our own way to it is nothing to wait for:
    /// the next beat looks again.
    pub(crate) fn keep(&self, monitor: &Monitor, outcome: &Result<AccessToken, Fault>, now: DateTime<Utc>) {
        let before = match self.of(monitor) {
            Some(CachedToken::Refused { in_a_row, .. }) => in_a_row,
            _ => 0,
        };
        let grant = match outcome {
            Ok(token) => CachedToken::Held(token.clone()),
            Err(fault) if fault.kind == FaultKind::AuthRejected => {
                refused(fault, WAIT_FIRST * 2_u32.pow(before.min(WAIT_DOUBLINGS_MAX)), before + 1, now)
            }
            Err(fault) if fault.kind == FaultKind::IssuerFailed => refused(fault, WAIT_FIRST, before, now),
            Err(_) => return,
        };
        let mut known = self.lock();
        if known.len() >= TOKENS_MAX {
            known.clear();
        }
        known.insert(monitor.id.clone(), (monitor.definition_hash.clone(), grant));
    }

    /// Forgets a token that the server no longer takes; false where it is another one by now.
    pub(crate) fn forget(&self, monitor: &Monitor, token: &Secret) -> bool {
        let mut known = self.lock();
        let same =
            |(_, grant): &(String, CachedToken)| matches!(grant, CachedToken::Held(held) if held.secret == *token);
        known.get(&monitor.id).is_some_and(same) && known.remove(&monitor.id).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<MonitorId, (String, CachedToken)>> {
        self.known.lock()
    }
}

fn refused(fault: &Fault, wait: Duration, in_a_row: u32, now: DateTime<Utc>) -> CachedToken {
    let again_at = now + TimeDelta::from_std(wait).unwrap_or_default();
    CachedToken::Refused { fault: fault.clone(), again_at, in_a_row }
}
