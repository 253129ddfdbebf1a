//! Which checks judge a monitor's answers, and against which lock.

use crate::domain::fleet::Provenance;
use crate::domain::monitor::Monitor;
use crate::domain::observation::ToolsSeen;
use crate::domain::quality::unarmed;
use crate::domain::wording::counted;

/// Digits of a hash that are shown.
const HASH_DIGITS: usize = 12;

#[derive(Debug)]
pub(crate) struct ArmedPart {
    /// None where no lock has an entry for it.
    pub lock: Option<LockLine>,
    pub armed: usize,
    pub checks: Vec<CheckLine>,
}

/// The lock's entry in force.
#[derive(Debug)]
pub(crate) struct LockLine {
    /// File, line and commit, such as `monitors.lock:12 @ 9f3c2ab`.
    pub place: String,
    pub hash: String,
    /// What it rests on, such as `20 runs, 11 of 12 canaries`.
    pub rests_on: String,
}

/// A check that not every monitor arms.
#[derive(Debug)]
pub(crate) struct CheckLine {
    /// Its key in the file.
    pub name: &'static str,
    /// Why it is not armed; none: it is.
    pub why: Option<String>,
}

/// Of a monitor as it is declared, with the tools seen last.
pub(crate) fn tell(monitor: &Monitor, listed: Option<&ToolsSeen>, provenance: &Provenance) -> ArmedPart {
    let checks = unarmed::checks_seen(monitor, listed).into_iter();
    let checks: Vec<CheckLine> = checks.map(|(name, why)| CheckLine { name, why }).collect();
    let armed = checks.iter().filter(|check| check.why.is_none()).count();
    ArmedPart { lock: lock(monitor, provenance), armed, checks }
}

fn lock(monitor: &Monitor, provenance: &Provenance) -> Option<LockLine> {
    let pinned = monitor.pinned.as_ref()?;
    let known = monitor.canaries.iter().filter(|canary| canary.pinned(pinned).is_some()).count();
    let through = if pinned.reached_index { "" } else { ", through a cache" };
    let commit = provenance.commit.as_ref().map(|commit| format!(" @ {commit}")).unwrap_or_default();
    Some(LockLine {
        place: format!("{}:{}{commit}", pinned.place.0, pinned.place.1),
        hash: pinned.hash.chars().take(HASH_DIGITS).collect(),
        rests_on: format!(
            "{}{through}, {known} of {}",
            counted(pinned.runs, "run", "runs"),
            counted(monitor.canaries.len(), "canary", "canaries")
        ),
    })
}
