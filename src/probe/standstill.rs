//! Whether this process stood still while a probe was under way: stopped, swapped out, or its machine paused. What a server
//! did meanwhile nobody saw, and a limit that passed meanwhile is not the server's.
//!
//! While probes are under way, something looks up twice a second. Where nothing did for much longer, nothing ran. What was
//! waited for may have come meanwhile, and is read then: only what failed in the end is in doubt.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::observation::{Phases, Stage, Step};
use crate::net::lived::lived;

/// How often something looks up.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Whoever is late by less is on a machine that is busy.
const STILL_MIN: Duration = Duration::from_secs(3);

/// What all probes of a process share.
#[derive(Debug, Default)]
pub(super) struct Standstill(Mutex<Looks>);

#[derive(Debug, Default)]
struct Looks {
    under_way: usize,
    /// Who looks up.
    watcher: Option<JoinHandle<()>>,
    /// The last look, by the time since the machine started: it may have slept.
    last: Duration,
    /// The last stretch in which nobody looked up.
    still: Option<(Duration, Duration)>,
}

impl Looks {
    fn begin(&mut self, now: Duration) {
        // While no probe is under way nobody need look up.
        if self.under_way == 0 {
            self.last = now;
        }
        self.under_way += 1;
        self.look(now);
    }

    fn look(&mut self, now: Duration) {
        let before = std::mem::replace(&mut self.last, now);
        if now.saturating_sub(before) >= STILL_MIN {
            self.still = Some((before, now));
        }
    }

    /// How long nothing ran of the time since then, where that is long.
    fn stood_still(&mut self, since: Duration, now: Duration) -> Option<Duration> {
        self.look(now);
        let (from, to) = self.still?;
        Some(to.saturating_sub(from.max(since))).filter(|still| *still >= STILL_MIN)
    }
}

impl Standstill {
    /// A probe begins.
    pub(super) fn begin(self: &Arc<Self>) -> UnderWay {
        let began = lived();
        let mut looks = self.0.lock();
        looks.begin(began);
        // One that ended with its runtime has looked up for the last time.
        if looks.watcher.as_ref().is_none_or(JoinHandle::is_finished) {
            looks.watcher = Some(tokio::spawn(watch(Arc::clone(self))));
        }
        drop(looks);
        UnderWay { standstill: Arc::clone(self), began }
    }
}

/// Looks up while probes are under way; where none is, nobody need wake.
async fn watch(standstill: Arc<Standstill>) {
    loop {
        sleep(LOOK_EVERY).await;
        let mut looks = standstill.0.lock();
        if looks.under_way == 0 {
            looks.watcher = None;
            return;
        }
        looks.look(lived());
    }
}

/// A probe under way.
#[derive(Debug)]
pub(super) struct UnderWay {
    standstill: Arc<Standstill>,
    began: Duration,
}

impl UnderWay {
    /// The step that says so, where nothing ran for a good part of the probe.
    pub(super) fn stood_still(&self) -> Option<Step> {
        let still = self.standstill.0.lock().stood_still(self.began, lived())?;
        let detail = format!("Serin itself stood still for {} s in this probe", still.as_secs());
        Some(Step {
            stage: Stage::Connect,
            label: "this machine".to_owned(),
            elapsed: Duration::ZERO,
            phases: Phases::default(),
            fresh_connection: false,
            fault: Some(Fault { kind: FaultKind::StoodStill, detail }),
            notes: Vec::new(),
        })
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.standstill.0.lock().under_way -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_in_which_nobody_looked_up_is_a_standstill() {
        let at = |millis: u64| Duration::from_secs(500) + Duration::from_millis(millis);
        // When somebody looked up, when the probe began and ended, and how long nothing ran of that, in milliseconds.
        type Row = (&'static [u64], u64, u64, Option<u64>, &'static str);
        let rows: [Row; 7] = [
            (&[500, 1_000, 1_500], 0, 1_700, None, "somebody looked up all the time"),
            (&[500, 3_000, 5_400], 0, 5_500, None, "a busy machine is late now and then"),
            (&[500, 9_500, 10_000], 0, 10_100, Some(9_000), "nothing ran for nine seconds"),
            (&[500], 0, 9_500, Some(9_000), "the probe itself is the first that runs again"),
            (&[500, 9_500, 10_000], 9_600, 10_100, None, "a probe that began afterwards"),
            (&[500, 4_500, 20_000], 0, 20_100, Some(15_500), "of two, the last"),
            (&[500, 1_000], 900, 4_200, Some(3_200), "what is counted is what nobody saw"),
        ];
        for (looked, began, ended, still, sentence) in rows {
            let mut looks = Looks::default();
            looks.begin(at(0));
            for look in looked {
                looks.look(at(*look));
            }
            let found = looks.stood_still(at(began), at(ended));
            assert_eq!(found, still.map(Duration::from_millis), "{sentence}");
        }
    }

    #[test]
    fn while_no_probe_is_under_way_nobody_need_look_up() {
        let (start, hour) = (Duration::from_secs(500), Duration::from_secs(4_100));
        let mut looks = Looks::default();
        looks.begin(start);
        looks.under_way = 0;
        looks.begin(hour);
        assert_eq!(looks.stood_still(start, hour), None);
    }
}
