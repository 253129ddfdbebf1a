//! Going on in a session that an earlier probe left open, and what shows that the server knows it no longer.

use std::time::Duration;

use chrono::TimeDelta;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::observation::{ServerIdentity, Stage, Step};
use crate::domain::protocol::{Era, Transport};
use crate::domain::server_profile::ServerProfile;
use crate::probe::session::caller::Caller;
use crate::probe::session::known_era::KnownEra;
use crate::probe::session::opened::Opened;
use crate::probe::session::refusal::excuse;
use crate::probe::wire::clock::StepClock;

/// A kept session is made anew after so long: what it costs the server is then known by the day.
const SESSION_KEPT: TimeDelta = TimeDelta::hours(1);

/// The label of the step that goes on with a kept session.
const KEPT: &str = "kept session";

/// Goes on in the session that earlier probes left open, where there is one that can be used. Nothing is asked: servers
/// do not all know `ping`, and the list of tools says as well whether the session is there still.
pub(super) fn go_on(
    caller: &mut Caller<'_>,
    known: &KnownEra,
    profile: &mut ServerProfile,
    steps: &mut Vec<Step>,
) -> Option<Opened> {
    let kept = profile.kept.clone()?;
    let over_http = matches!(known.transport, None | Some(Transport::Http));
    if !over_http || caller.now() - kept.opened_at >= SESSION_KEPT || !caller.go_on(&kept) {
        profile.kept = None;
        return None;
    }
    let step = StepClock::start(Stage::Handshake, KEPT).stop(None);
    steps.push(Step { elapsed: Duration::ZERO, ..step });
    let server = ServerIdentity { protocol: kept.version.to_owned(), ..ServerIdentity::default() };
    Some(Opened { era: Era::Legacy, server })
}

/// After a failure in a kept session: whether the server knows it no longer, so that a new one is to be opened in the same
/// beat. Old releases say 400 of it, others 404.
pub(crate) fn is_forgotten(steps: &mut [Step], caller: &mut Caller<'_>, profile: &mut ServerProfile) -> bool {
    let went_on = steps.iter().any(|step| step.label == KEPT);
    let Some(last) = steps.last_mut().filter(|_| went_on) else { return false };
    let gone = |fault: &Fault| matches!(fault.kind, FaultKind::SessionLost | FaultKind::HttpStatus(400 | 404));
    if !last.fault.as_ref().is_some_and(gone) {
        return false;
    }
    excuse(last, "the server knows the kept session no longer; a new one is opened");
    profile.kept = None;
    caller.leave_legacy();
    true
}

/// Whether a kept session was gone when this probe wanted to go on with it.
pub(crate) fn lost_its_session(steps: &[Step]) -> bool {
    steps.iter().any(|step| step.label == KEPT) && steps.iter().any(|step| step.label == "initialize")
}
