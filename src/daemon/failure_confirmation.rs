//! What is looked at once more when a beat failed, before anybody judges: is it our own network, and how far does one get?

use chrono::{DateTime, Utc};

use crate::daemon::connectivity::ConnectivityTask;
use crate::daemon::loop_context::LoopContext;
use crate::daemon::runtime::MonitorRuntime;
use crate::deliver::internal_alert::InternalAlert;
use crate::domain::classify::{LADDER, may_be_ours, our_own, uplink_gone};
use crate::domain::fault::FaultKind;
use crate::domain::fleet::Control;
use crate::domain::observation::{ConnectivityStep, Observation};
use crate::domain::outcome::{Evidence, Finding, Outcome};
use crate::domain::server_profile::RecentAction;
use crate::domain::signal::{Phase, Signal};

/// The evidence under which stands what Serin did just before.
const RECENT_ACTION: &str = "just_before";

/// A failure within so many beats of something we did may be of our making.
const BEATS_SUSPECTED: u32 = 2;

/// Takes an outcome back where our own uplink is gone; else, after a first failure, starts the connectivity diagnosis,
/// and adds what it showed as soon as that is known, and what we did just before.
pub(crate) async fn confirm_failure(
    context: &LoopContext,
    runtime: &mut MonitorRuntime,
    control: &[Control],
    (seen, mut outcome): (&mut Observation, Outcome),
    recent_action: Option<RecentAction>,
    now: DateTime<Utc>,
) -> Outcome {
    let ours = our_own(seen);
    match ours {
        Some(fault) if fault.kind == FaultKind::OutOfFiles => {
            context.alerts.raise_out_of_files(&format!("a probe of monitor '{}'", runtime.monitor.id), now);
            return outcome;
        }
        Some(fault) if fault.kind == FaultKind::StoodStill => {
            let what = format!("{} of monitor '{}'", fault.detail, runtime.monitor.id);
            context.alerts.raise(InternalAlert::StoodStill, &what, now);
            return outcome;
        }
        _ => {}
    }
    let why = ours.and(outcome.findings.first()).map(|finding| finding.summary.as_str());
    context.uplink.note_egress(&context.alerts, &runtime.monitor.id, why, now);
    let ours = may_be_ours(&runtime.monitor, seen);
    let found = came_down(runtime, seen).await;
    // While it is gone, each beat looks whether it is back.
    let gone = (ours && !control.is_empty() || context.uplink.was_gone())
        && context.uplink.is_gone(&context.prober, (&context.alerts, &context.live), control, now).await;
    if ours && gone {
        return uplink_gone(outcome);
    }
    let Some(finding) = outcome.findings.iter_mut().find(|finding| finding.signal == Signal::Availability) else {
        runtime.doubt.connectivity.clear();
        runtime.doubt.recent_action = None;
        return outcome;
    };
    let phase = runtime.state.signal(Signal::Availability).phase;
    if phase == Phase::Quiet {
        let suspected = runtime.monitor.every * BEATS_SUSPECTED + runtime.monitor.probe_budget;
        // Later than `now` where this very beat did it.
        runtime.doubt.recent_action =
            recent_action.filter(|recent_action| (now - recent_action.at).to_std().unwrap_or_default() <= suspected);
    }
    if let Some(tried) = found {
        seen.connectivity.clone_from(&tried);
        runtime.doubt.connectivity = tried;
    }
    // One that found no place is climbed with the next look; once people were told, nobody waits for it any more.
    if matches!(phase, Phase::Quiet | Phase::Pending)
        && runtime.doubt.connectivity.is_empty()
        && runtime.doubt.diagnosing.is_none()
    {
        let uplink_holds = ours && !control.is_empty();
        runtime.doubt.diagnosing =
            Some(ConnectivityTask::start(context, &runtime.monitor, &runtime.profile, uplink_holds, now));
    }
    if !runtime.doubt.connectivity.is_empty() {
        finding.evidence.push(Evidence::new(LADDER, said(&runtime.doubt.connectivity)));
    }
    if let Some(recent_action) = &runtime.doubt.recent_action {
        own_up(finding, recent_action);
    }
    outcome
}

/// What a diagnosis showed that has ended since the last beat; this one pays for it.
async fn came_down(runtime: &mut MonitorRuntime, seen: &mut Observation) -> Option<Vec<ConnectivityStep>> {
    let (tried, cost) = runtime.doubt.diagnosing.take_if(|diagnosing| diagnosing.is_over())?.end().await;
    seen.footprint = seen.footprint.plus(cost);
    (!tried.is_empty()).then_some(tried)
}

/// Whoever is woken has to know first that it may have been us.
fn own_up(finding: &mut Finding, recent_action: &RecentAction) {
    let did = format!("{} at {} UTC", recent_action.what.said(), recent_action.at.format("%H:%M:%S"));
    finding.summary = format!("{did}, and then: {}", finding.summary);
    finding.evidence.insert(0, Evidence::new(RECENT_ACTION, did));
}

/// One line, from the first step on.
fn said(connectivity: &[ConnectivityStep]) -> String {
    let step = |step: &ConnectivityStep| {
        let word = if step.holds { "ok" } else { "fails" };
        // The uplink was looked at for everybody: what that took is nobody's time here.
        let took = if step.elapsed.is_zero() { String::new() } else { format!(", {} ms", step.elapsed.as_millis()) };
        format!("{} {word} ({}{took})", step.name, step.said)
    };
    connectivity.iter().map(step).collect::<Vec<_>>().join(" → ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_ladder_reads_as_one_line() {
        let step = |name, holds, said: &str| ConnectivityStep {
            name,
            holds,
            said: said.to_owned(),
            elapsed: Duration::from_millis(3),
        };
        let connectivity = [step("name", true, "10.0.0.1"), step("tcp", false, "10.0.0.1:443 Connection refused")];
        assert_eq!(said(&connectivity), "name ok (10.0.0.1, 3 ms) → tcp fails (10.0.0.1:443 Connection refused, 3 ms)");
    }
}
