//! What becomes of the sessions that a probe opened (MCP.md, "Do no harm"): each is closed, but for those of releases
//! that a closed session brings down. There one is kept over beats instead, and shared by every probe.

use std::sync::Arc;

use chrono::{TimeDelta, Utc};
use tokio::time::Instant;

use crate::domain::fault::FaultKind;
use crate::domain::monitor::Monitor;
use crate::domain::observation::{Observation, Stage};
use crate::domain::protocol::Era;
use crate::domain::server_profile::{Caution, KeptSession, RecentAction, RiskyAction, ServerProfile};
use crate::probe::session::afterwards::Afterwards;
use crate::probe::session::caller::{Caller, Destination, ProbeContext};
use crate::probe::session::declared::Declared;
use crate::probe::session::sessions::CLOSE_LIMIT;
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::egress::{ClientIdentity, trusting};

/// A kept session in which the tools were not listed is given up when it is older: it may be the session alone that broke.
const DOUBTED_AFTER: TimeDelta = TimeDelta::minutes(5);

/// Characters of a session's id that is kept: what is longer is no id that releases in question give.
const ID_CHARS_MAX: usize = 256;

/// Keeps or closes sessions; what went wrong about it is a note on the last step.
///
/// The first time it is checked that the server survives it: some went down with the session.
pub(crate) async fn close(caller: &mut Caller<'_>, profile: &mut ServerProfile, seen: &mut Observation) {
    let mut clock = StepClock::start(Stage::Handshake, "closing");
    keep(caller, profile, seen);
    let well = seen.steps.iter().all(|step| step.fault.is_none());
    if caller.close(profile, &mut clock).await && profile.closing == Caution::Unchecked {
        profile.recent_action = Some(RecentAction { what: RiskyAction::Closing, at: caller.now() });
        if well {
            check_after_closing(caller, profile, seen.era.unwrap_or(Era::Legacy), &mut clock).await;
        }
    }
    let notes = clock.stop(None).notes;
    if let Some(last) = seen.steps.last_mut() {
        last.notes.extend(notes);
    }
}

/// Closes the sessions that no probe could, of a monitor that is not probed any more. Of a server that wants an OAuth token
/// they stay.
pub(crate) async fn close_left(
    means: ProbeContext<'_>,
    declared: &Declared,
    (monitor, profile): (&Monitor, &ServerProfile),
) {
    let Ok(way) = declared.way() else { return };
    let identity = ClientIdentity::Identity;
    let Ok(target) = trusting(means.connector, way.target.clone(), monitor, &declared.scrub, identity) else { return };
    let destination = Destination { way, target, until: Instant::now() + CLOSE_LIMIT };
    let mut caller = Caller::new(means, destination, declared, monitor, Utc::now());
    caller.close(profile, &mut StepClock::start(Stage::Handshake, "closing")).await;
    caller.wire.hang_up();
}

/// Keeps the session that this probe spoke in, where it is one that stays open and was well.
fn keep(caller: &Caller<'_>, profile: &mut ServerProfile, seen: &Observation) {
    let Some((session, version)) = caller.session.id.as_ref().zip(caller.version()) else { return };
    // One whose opening was not finished is not spoken in again: old releases die of that too.
    let well = seen.era == Some(Era::Legacy)
        && !seen.steps.iter().filter_map(|step| step.fault.as_ref()).any(|fault| fault.kind == FaultKind::SessionLost);
    let id = session.to_str().ok().filter(|id| id.len() <= ID_CHARS_MAX);
    let Some(id) = id.filter(|_| well && caller.spares(profile, session)) else {
        profile.kept = None;
        return;
    };
    let failed = seen.fault(Stage::Tools).is_some();
    let doubted = |kept: &KeptSession| failed && caller.now() - kept.opened_at >= DOUBTED_AFTER;
    if profile.kept.as_deref().is_some_and(doubted) {
        profile.kept = None;
    } else if profile.kept.as_ref().is_none_or(|kept| kept.id != id) {
        profile.kept = Some(Arc::new(KeptSession { id: id.to_owned(), version, opened_at: caller.now() }));
    }
}

async fn check_after_closing(caller: &mut Caller<'_>, profile: &mut ServerProfile, era: Era, clock: &mut StepClock) {
    match caller.still_answers(era, clock).await {
        Afterwards::Answers => profile.closing = Caution::Harmless,
        Afterwards::Unclear => {}
        Afterwards::Gone => {
            profile.closing = Caution::Harmful;
            clock.note(
                "the server was gone after its session was closed; its sessions stay open from now on".to_owned(),
            );
        }
    }
    // The look itself may have opened one.
    caller.close(profile, clock).await;
}
