//! Serin's own connection to the network, known by control addresses of the file.
//!
//! Only a beat that could not reach its server asks, and every beat does while the uplink is gone. One check serves the
//! whole fleet for a few seconds, however many beats fail at once; whoever comes while it runs waits for it.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::future::join_all;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::deliver::internal::InternalAlerts;
use crate::deliver::trouble::Trouble;
use crate::domain::fleet::{Control, MonitorId};
use crate::domain::observation::{Fault, FaultKind};
use crate::probe::Prober;
use crate::store::board::{Banner, Board};

/// How long a control address may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long one check holds for everybody.
const HOLDS_FOR: Duration = Duration::from_secs(5);
/// The kind of the banner.
const UPLINK: &str = "uplink";

/// What is known of the uplink.
#[derive(Debug, Default)]
pub struct Uplink {
    checked_at: Mutex<Option<Instant>>,
    gone: AtomicBool,
    /// Monitors whose server our own declared way did not lead to: a dead proxy, a certificate file that is gone.
    blocked: std::sync::Mutex<BTreeSet<MonitorId>>,
}

impl Uplink {
    /// Takes in whether our own way to a monitor's server was blocked; one alert while any is, and its all-clear.
    pub fn way(&self, alerts: &InternalAlerts, monitor: &MonitorId, blocked: Option<&str>, now: DateTime<Utc>) {
        let mut all = self.blocked.lock().unwrap_or_else(PoisonError::into_inner);
        match blocked {
            Some(why) => {
                all.insert(monitor.clone());
                alerts.raise(Trouble::WayBlocked, &format!("monitor '{monitor}': {why}"), now);
            }
            None => {
                if all.remove(monitor) && all.is_empty() {
                    alerts.clear(Trouble::WayBlocked, now);
                }
            }
        }
    }

    /// What the last check found.
    pub fn was_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Whether none of the control addresses answers; never where the file names none. Alert, banner and all-clear follow.
    pub async fn is_gone(
        &self,
        prober: &Prober,
        (alerts, board): (&InternalAlerts, &Board),
        control: &[Control],
        now: DateTime<Utc>,
    ) -> bool {
        let mut checked_at = self.checked_at.lock().await;
        if checked_at.is_some_and(|at| at.elapsed() < HOLDS_FOR) {
            return self.was_gone();
        }
        let answers = join_all(control.iter().map(|control| prober.answers(control, ANSWER_WITHIN))).await;
        *checked_at = Some(Instant::now());
        // Without a file nobody was asked.
        let asked =
            |answer: &Result<_, Fault>| !answer.as_ref().is_err_and(|fault| fault.kind == FaultKind::OutOfFiles);
        let gone = !control.is_empty() && answers.iter().all(|answer| asked(answer) && answer.is_err());
        let before = self.gone.swap(gone, Ordering::Relaxed);
        if gone {
            let failed = control.iter().zip(&answers).filter_map(|(control, answer)| {
                answer.as_ref().err().map(|fault| format!("{}: {}", control.address.shown, fault.detail))
            });
            let why = format!("no control address answers: {}", failed.collect::<Vec<_>>().join("; "));
            alerts.raise(Trouble::UplinkLost, &why, now);
        }
        match (before, gone) {
            (false, true) => {
                let text = "Serin's own network is gone: none of its control addresses answers. Servers that cannot be \
                            reached are not judged until it is back; pages show the last known state.";
                board.raise(Banner { kind: UPLINK, text: text.to_owned(), since: now });
            }
            (true, false) => {
                board.lower(UPLINK);
                alerts.clear(Trouble::UplinkLost, now);
            }
            _ => {}
        }
        gone
    }
}
