//! How what a monitor depends on stands: other monitors as the loops last saw them, addresses by asking them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::domain::depends_on::Parent;
use crate::domain::fault::FaultKind;
use crate::domain::fleet::Control;
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::paging::parent::ParentStand;
use crate::domain::secret::Address;
use crate::live::state::LiveState;
use crate::probe::prober::Prober;

/// How long an address may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long one answer holds for every monitor that depends on the address.
const HOLDS_FOR: Duration = Duration::from_secs(5);

/// What addresses said last, one look for all that depend on them.
#[derive(Debug, Default)]
pub struct ParentAddresses {
    looks: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Option<AddressLook>>>>>,
}

#[derive(Debug, Clone, Copy)]
struct AddressLook {
    at: Instant,
    answers: bool,
}

impl ParentAddresses {
    /// How each parent of a monitor stands. `is_well`: nothing of it is open and nothing failed, so that no address is asked.
    /// All of them are asked at once.
    pub(crate) async fn stands(
        &self,
        (prober, live): (&Prober, &LiveState),
        monitor: &Monitor,
        is_well: bool,
        now: DateTime<Utc>,
    ) -> Vec<ParentStand> {
        let asked = monitor.depends_on.iter().map(async |parent| match parent {
            Parent::Monitor(id) => {
                // As the loops have it, or as another machine published it a moment ago: to look for it in the fleet on every
                // beat would read the whole of it.
                live.standing(&MonitorId::new(id))?.as_parent(now)
            }
            Parent::Address(_) if is_well => None,
            Parent::Address(address) => Some(ParentStand::answered(address, self.answers(prober, address).await, now)),
        });
        futures_util::future::join_all(asked).await.into_iter().flatten().collect()
    }

    /// Whether an address answers, and not with an error of its server; whoever comes while it is asked waits for the same
    /// answer. Where we could not ask, it is taken for well: our own trouble must hold nobody back.
    async fn answers(&self, prober: &Prober, address: &Address) -> bool {
        let look = Arc::clone(self.looks.lock().entry(address.resolved.expose().to_owned()).or_default());
        let mut look = look.lock().await;
        if let Some(known) = look.filter(|known| known.at.elapsed() < HOLDS_FOR) {
            return known.answers;
        }
        let asked = Control { address: address.clone(), status: None, contains: None };
        let answers = match prober.answers(&asked, ANSWER_WITHIN).await {
            Ok(status) => status < 500,
            Err(fault) => is_ours(&fault.kind),
        };
        *look = Some(AddressLook { at: Instant::now(), answers });
        answers
    }
}

/// Whether it is our side, or what the file says, that kept us from asking: that must hold no page back.
fn is_ours(kind: &FaultKind) -> bool {
    use FaultKind as F;
    matches!(kind, F::OutOfFiles | F::WayBlocked | F::Guarded | F::NameNotResolved)
}
