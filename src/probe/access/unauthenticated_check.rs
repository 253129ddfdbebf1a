//! Is a stranger refused? Where the file says that the server has to, it is asked once an hour without any credential.
//!
//! One request, which opens nothing that is not closed: tools/list where the server is modern, `initialize` where it is not.

use std::sync::Arc;

use tokio::time::Instant;

use crate::domain::monitor::{Auth, Monitor};
use crate::domain::observation::{BeatKind, Observation, Stage, Stranger};
use crate::domain::protocol::Era;
use crate::domain::server_profile::ServerProfile;
use crate::probe::assignment::Assignment;
use crate::probe::decode::era::LEGACY;
use crate::probe::session::caller::{Caller, Destination, ProbeContext};
use crate::probe::session::declared::{Declared, Way};
use crate::probe::session::message::Call;
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::egress::{ClientIdentity, trusting};
use crate::untrusted_text::{Scrub, readable};

const HOUR_SECONDS: i64 = 3600;

/// Whether this beat asks: once an hour at the monitor's own time, on each beat while strangers are let in, and when a
/// person looks.
pub(crate) fn is_due(assignment: &Assignment) -> bool {
    let monitor = &assignment.monitor;
    let slot = monitor.id.as_str().bytes().fold(0_i64, |sum, byte| (sum * 31 + i64::from(byte)) % HOUR_SECONDS);
    let since = (assignment.scheduled_at.timestamp() - slot).rem_euclid(HOUR_SECONDS);
    let every = i64::try_from(monitor.every.as_secs()).unwrap_or(HOUR_SECONDS).max(1);
    monitor.auth.refuses_strangers
        && (assignment.profile.admits_strangers
            || assignment.kind == BeatKind::Recheck
            || assignment.kind == BeatKind::Scheduled && since < every)
}

/// Asks as a stranger; what came of it is in `seen`, and in `profile` whether to ask again soon.
pub(crate) async fn ask(
    means: ProbeContext<'_>,
    (way, until): (&Way, Instant),
    assignment: &Assignment,
    scrub: &Arc<Scrub>,
    profile: &mut ServerProfile,
    seen: &mut Observation,
) {
    let nobody = Monitor { auth: Auth::default(), ..Monitor::clone(&assignment.monitor) };
    // Credentials in the address are credentials.
    let mut url = way.url.clone();
    let _no_host = url.set_username("").and_then(|()| url.set_password(None));
    let declared = Declared::at(Some(url), &nobody, Arc::clone(scrub));
    let Ok(way) = declared.way() else { return };
    let target = trusting(means.connector, way.target.clone(), &nobody, scrub, ClientIdentity::Nothing);
    let Ok(target) = target else { return };
    let destination = Destination { way, target, until };
    let mut caller = Caller::new(means, destination, &declared, &nobody, assignment.started_at);
    let mut clock = StepClock::start(Stage::Handshake, "as a stranger");
    let params = format!(
        r#""protocolVersion":"{LEGACY}","capabilities":{{}},"clientInfo":{{"name":"serin","version":"{}"}}"#,
        env!("CARGO_PKG_VERSION")
    );
    let (era, call) = match profile.era.unwrap_or(Era::Modern) {
        Era::Modern => (Era::Modern, Call { method: "tools/list", ..Call::default() }),
        Era::Legacy => (Era::Legacy, Call { method: "initialize", params: &params, ..Call::default() }),
    };
    let outcome = caller.ask(era, &call, &mut clock).await;
    let stranger = match &outcome {
        Ok(raw) => Some(Stranger::Admitted(scrub.line(&format!(
            "{} answered {}",
            call.method,
            readable(raw.get().as_bytes())
        )))),
        Err(broken) => match broken.status {
            Some(401 | 403) => Some(Stranger::Refused),
            _ => None,
        },
    };
    match (&outcome, &stranger) {
        (Err(broken), _) => clock.note(scrub.line(&format!("a stranger got: {}", broken.fault.detail))),
        (Ok(_), _) => clock.note("a stranger was let in".to_owned()),
    }
    if let Some(stranger) = &stranger {
        profile.admits_strangers = matches!(stranger, Stranger::Admitted(_));
    }
    caller.close(profile, &mut clock).await;
    caller.wire.hang_up();
    seen.footprint = seen.footprint.plus(caller.wire.footprint);
    seen.stranger = stranger;
    seen.steps.push(clock.stop(None));
}
