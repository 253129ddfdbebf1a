//! Serin's own connection to the network, known by control addresses of the file.
//!
//! Only a beat that could not reach its server asks, and every beat does while the uplink is gone. One check serves the
//! whole fleet for a few seconds, however many beats fail at once; whoever comes while it runs waits for it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::deliver::internal::InternalAlerts;
use crate::deliver::internal_alert::InternalAlert;
use crate::domain::fault::FaultKind;
use crate::domain::fleet::Control;
use crate::domain::monitor::MonitorId;
use crate::live::banner::Banner;
use crate::live::state::LiveState;
use crate::probe::prober::Prober;

/// How long a control address may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long one check holds for everybody.
const HOLDS_FOR: Duration = Duration::from_secs(5);
/// The kind of the banner.
const UPLINK: &str = "uplink";

/// Whether our own way out holds, as the probes of all monitors show it.
#[derive(Debug, Default)]
pub struct Uplink {
    checked_at: Mutex<Option<Instant>>,
    gone: AtomicBool,
    /// Monitors whose server our own declared way did not lead to: a dead proxy, a certificate file that is gone.
    blocked: parking_lot::Mutex<BTreeSet<MonitorId>>,
}

impl Uplink {
    /// Takes in whether our own way to a monitor's server was blocked; one alert while any is, and its all-clear.
    pub fn note_egress(&self, alerts: &InternalAlerts, monitor: &MonitorId, blocked: Option<&str>, now: DateTime<Utc>) {
        let mut all = self.blocked.lock();
        match blocked {
            Some(why) => {
                all.insert(monitor.clone());
                alerts.raise(InternalAlert::WayBlocked, &format!("monitor '{monitor}': {why}"), now);
            }
            None => {
                if all.remove(monitor) && all.is_empty() {
                    alerts.clear(InternalAlert::WayBlocked, now);
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
        (alerts, live): (&InternalAlerts, &LiveState),
        control: &[Control],
        now: DateTime<Utc>,
    ) -> bool {
        let mut checked_at = self.checked_at.lock().await;
        if checked_at.is_some_and(|at| at.elapsed() < HOLDS_FOR) {
            return self.was_gone();
        }
        let asked = control.iter().map(|control| async move {
            let answered = prober.answers(control, ANSWER_WITHIN).await;
            answered.map(drop).map_err(|fault| (control, fault))
        });
        let failed = any(asked).await.err().unwrap_or_default();
        *checked_at = Some(Instant::now());
        // Without a file nobody was asked.
        let gone = !failed.is_empty() && failed.iter().all(|(_, fault)| fault.kind != FaultKind::OutOfFiles);
        let before = self.gone.swap(gone, Ordering::Relaxed);
        if gone {
            let failed = failed.iter().map(|(control, fault)| format!("{}: {}", control.address.shown, fault.detail));
            let why = format!("no control address answers: {}", failed.collect::<Vec<_>>().join("; "));
            alerts.raise(InternalAlert::UplinkLost, &why, now);
        }
        match (before, gone) {
            (false, true) => {
                let text = "Serin's own network is gone: none of its control addresses answers. Servers that cannot be \
                            reached are not judged until it is back; pages show the last known state.";
                live.raise(Banner { kind: UPLINK, text: text.to_owned(), since: now });
            }
            (true, false) => {
                live.lower(UPLINK);
                alerts.clear(InternalAlert::UplinkLost, now);
            }
            _ => {}
        }
        gone
    }
}

/// The first that succeeds is enough, and one that hangs keeps nobody; else what all of them failed with.
async fn any<E>(asked: impl Iterator<Item = impl Future<Output = Result<(), E>>>) -> Result<(), Vec<E>> {
    let mut asked: FuturesUnordered<_> = asked.collect();
    let mut failed = Vec::with_capacity(asked.len());
    while let Some(answered) = asked.next().await {
        match answered {
            Ok(()) => return Ok(()),
            Err(error) => failed.push(error),
        }
    }
    Err(failed)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use futures_util::future::{BoxFuture, pending, ready};

    use super::any;

    #[test]
    fn one_that_answers_is_enough_though_another_hangs() {
        type Asked = BoxFuture<'static, Result<(), &'static str>>;
        let hangs = || -> Asked { pending().boxed() };
        let says = |answer| -> Asked { ready(answer).boxed() };
        type Answer = Option<Result<(), Vec<&'static str>>>;
        let rows: [(Vec<Asked>, Answer, &str); 5] = [
            (vec![hangs(), says(Ok(()))], Some(Ok(())), "one hangs, the other answers"),
            (vec![says(Err("a")), says(Ok(()))], Some(Ok(())), "one fails, the other answers"),
            (vec![says(Err("a")), says(Err("b"))], Some(Err(vec!["a", "b"])), "both fail"),
            (vec![says(Err("a")), hangs()], None, "as long as one may still answer, nothing is known"),
            (vec![], Some(Err(vec![])), "nobody is asked"),
        ];
        for (asked, expected, sentence) in rows {
            assert_eq!(any(asked.into_iter()).now_or_never(), expected, "{sentence}");
        }
    }
}
