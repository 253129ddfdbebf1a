//! What is looked at once more when a beat failed, before anybody judges: is it our own network, and how far does one get?

use chrono::{DateTime, Utc};

use crate::daemon::connectivity::ConnectivityTask;
use crate::daemon::loop_context::LoopContext;
use crate::daemon::runtime::MonitorRuntime;
use crate::domain::classify::{LADDER, may_be_ours, our_own, uplink_gone};
use crate::domain::fault::FaultKind;
use crate::domain::fleet::Fleet;
use crate::domain::observation::{Observation, Rung};
use crate::domain::outcome::{Evidence, Finding, Outcome};
use crate::domain::server_profile::RecentAction;
use crate::domain::signal::{Phase, Signal};

/// The evidence under which stands what Serin did just before.
const RECENT_ACTION: &str = "just_before";

/// A failure within so many beats of something we did may be of our making.
const BEATS_SUSPECTED: u32 = 2;

/// Takes an outcome back where our own uplink is gone; else, after a first failure, sets out on the ladder, and adds what
/// it showed as soon as that is known, and what we did just before.
pub async fn confirm_failure(
    hands: &LoopContext,
    seat: &mut MonitorRuntime,
    fleet: &Fleet,
    seen: &mut Observation,
    mut outcome: Outcome,
    deed: Option<RecentAction>,
    now: DateTime<Utc>,
) -> Outcome {
    let ours = our_own(seen);
    if ours.is_some_and(|fault| fault.kind == FaultKind::OutOfFiles) {
        hands.alerts.raise_out_of_files(&format!("a probe of monitor '{}'", seat.monitor.id), now);
        return outcome;
    }
    let why = ours.and(outcome.findings.first()).map(|finding| finding.summary.as_str());
    hands.uplink.way(&hands.alerts, &seat.monitor.id, why, now);
    let ours = may_be_ours(&seat.monitor, seen);
    let found = came_down(seat, seen).await;
    let control = &fleet.control;
    // While it is gone, each beat looks whether it is back.
    let gone = (ours && !control.is_empty() || hands.uplink.was_gone())
        && hands.uplink.is_gone(&hands.prober, (&hands.alerts, &hands.board), control, now).await;
    if ours && gone {
        return uplink_gone(outcome);
    }
    let Some(finding) = outcome.findings.iter_mut().find(|finding| finding.signal == Signal::Availability) else {
        seat.ladder.clear();
        seat.deed = None;
        return outcome;
    };
    let phase = seat.standing.signal(Signal::Availability).phase;
    if phase == Phase::Quiet {
        let suspected = seat.monitor.every * BEATS_SUSPECTED + seat.monitor.probe_budget;
        // Later than `now` where this very beat did it.
        seat.deed = deed.filter(|deed| (now - deed.at).to_std().unwrap_or_default() <= suspected);
    }
    if let Some(rungs) = found {
        seen.ladder.clone_from(&rungs);
        seat.ladder = rungs;
    }
    // One that found no place is climbed with the next look; once people were told, nobody waits for it any more.
    if matches!(phase, Phase::Quiet | Phase::Pending) && seat.ladder.is_empty() && seat.climb.is_none() {
        let uplink_holds = ours && !control.is_empty();
        seat.climb = Some(ConnectivityTask::start(hands, &seat.monitor, &seat.learnt, uplink_holds, now));
    }
    if !seat.ladder.is_empty() {
        finding.evidence.push(Evidence::new(LADDER, said(&seat.ladder)));
    }
    if let Some(deed) = &seat.deed {
        own_up(finding, deed);
    }
    outcome
}

/// What a climb showed that has ended since the last beat; this one pays for it.
async fn came_down(seat: &mut MonitorRuntime, seen: &mut Observation) -> Option<Vec<Rung>> {
    let (rungs, cost) = seat.climb.take_if(|climb| climb.is_over())?.end().await;
    seen.footprint = seen.footprint.plus(cost);
    (!rungs.is_empty()).then_some(rungs)
}

/// Whoever is woken has to know first that it may have been us.
fn own_up(finding: &mut Finding, deed: &RecentAction) {
    let did = format!("{} at {} UTC", deed.what.said(), deed.at.format("%H:%M:%S"));
    finding.summary = format!("{did}, and then: {}", finding.summary);
    finding.evidence.insert(0, Evidence::new(RECENT_ACTION, did));
}

/// One line, from the lowest rung up.
fn said(ladder: &[Rung]) -> String {
    let rung = |rung: &Rung| {
        let word = if rung.holds { "ok" } else { "fails" };
        // The uplink was looked at for everybody: what that took is nobody's time here.
        let took = if rung.elapsed.is_zero() { String::new() } else { format!(", {} ms", rung.elapsed.as_millis()) };
        format!("{} {word} ({}{took})", rung.name, rung.said)
    };
    ladder.iter().map(rung).collect::<Vec<_>>().join(" → ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_ladder_reads_as_one_line() {
        let rung =
            |name, holds, said: &str| Rung { name, holds, said: said.to_owned(), elapsed: Duration::from_millis(3) };
        let ladder = [rung("name", true, "10.0.0.1"), rung("tcp", false, "10.0.0.1:443 Connection refused")];
        assert_eq!(said(&ladder), "name ok (10.0.0.1, 3 ms) → tcp fails (10.0.0.1:443 Connection refused, 3 ms)");
    }
}
