//! Finding out which era a server speaks, and opening the conversation in it (MCP.md, "Finding the era").
//!
//! `initialize` goes first wherever the era is open: one `server/discover` brings old releases in the field down, and
//! those answer `initialize` with a version that says so. Who answers it is up, and legacy unless a valid answer to
//! `server/discover` says modern.

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::Monitor;
use crate::domain::observation::{ServerIdentity, Stage, Step};
use crate::domain::protocol::{Era, Transport, legacy_version};
use crate::domain::server_profile::{Caution, RecentAction, RiskyAction, ServerProfile};
use crate::probe::session::afterwards::is_gone;
use crate::probe::session::caller::Caller;
use crate::probe::session::discover::{DISCOVER, Discovery, discover};
use crate::probe::session::initialize::initialize;
use crate::probe::session::kept_session::go_on;
use crate::probe::session::known_era::{KnownEra, relook_is_due};
use crate::probe::session::message::Call;
use crate::probe::session::opened::Opened;
use crate::probe::session::refusal::{excuse, is_bare, is_refusal, merge};
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::reply::BrokenReply;

/// Opens the conversation; each request is a step. What is learnt of the server goes into `profile`.
pub(crate) async fn open(
    caller: &mut Caller<'_>,
    monitor: &Monitor,
    profile: &mut ServerProfile,
    steps: &mut Vec<Step>,
) -> Option<Opened> {
    let known = KnownEra::of(monitor, profile, caller.now());
    let opened = if known.era == Some(Era::Modern) {
        open_modern(caller, monitor, &known, profile, steps).await
    } else if let Some(opened) = go_on(caller, &known, profile, steps) {
        return Some(opened);
    } else {
        open_legacy(caller, monitor, &known, profile, steps).await
    }?;
    let (era, transport) = (Some(opened.era), Some(caller.transport()));
    // What is known already is no news, which would be written with every beat.
    let news =
        (profile.era, profile.transport) != (era, transport) || relook_is_due(&monitor.id, profile, caller.now());
    if news && !profile.era_in_doubt {
        profile.found(opened.era, caller.transport(), caller.now());
    }
    Some(opened)
}

/// Goes on with a program that was kept from an earlier beat: its conversation is open, so it is only asked whether it
/// is still there.
pub(crate) async fn resume(caller: &mut Caller<'_>, before: &Opened, steps: &mut Vec<Step>) -> Option<Opened> {
    if before.era == Era::Modern {
        return match discover(caller, caller.deadline(), steps).await {
            Discovery::Modern(server) => Some(Opened { era: Era::Modern, server }),
            Discovery::Faulty(_) | Discovery::Other(_) => None,
        };
    }
    let mut clock = StepClock::start(Stage::Handshake, "ping");
    let call = Call { method: "ping", ..Call::default() };
    let fault = match caller.ask(Era::Legacy, &call, &mut clock).await {
        Ok(_) => None,
        // One that refuses the question in the protocol's words is there.
        Err(BrokenReply { error: Some(error), .. }) => {
            clock.note(caller.scrub.line(&format!("ping is refused: {}", error.message)));
            None
        }
        Err(broken) => Some(broken.fault),
    };
    let well = fault.is_none();
    steps.push(clock.stop(fault));
    well.then(|| before.clone())
}

/// The modern era, where the file says so or it was found before. One bad answer does not end it: the beat goes on in
/// the older era if that is spoken, and only a second one in a row makes it the monitor's.
async fn open_modern(
    caller: &mut Caller<'_>,
    monitor: &Monitor,
    known: &KnownEra,
    profile: &mut ServerProfile,
    steps: &mut Vec<Step>,
) -> Option<Opened> {
    let first = steps.len();
    let until = known.until(caller);
    let broken = match discover(caller, until, steps).await {
        Discovery::Modern(server) => {
            profile.era_in_doubt = false;
            return Some(Opened { era: Era::Modern, server });
        }
        Discovery::Faulty(broken) | Discovery::Other(broken) => broken,
    };
    if known.fixed_era.is_some() || !is_refusal(&broken) || !start_anew(caller, monitor, steps).await {
        return None;
    }
    let until = known.until(caller);
    match initialize(caller, known.fixed_transport, until, steps).await {
        Ok(server) => {
            excuse(&mut steps[first], "it answers initialize instead");
            answered(profile, &server);
            // One that may die of it is not asked a second time.
            profile.era_in_doubt = !profile.era_in_doubt && !profile.may_be_fragile();
            Some(Opened { era: Era::Legacy, server })
        }
        Err(_) => {
            merge(caller.scrub, steps, first, None);
            None
        }
    }
}

/// The legacy era, and the look whether the server speaks the modern one, where that is not known.
async fn open_legacy(
    caller: &mut Caller<'_>,
    monitor: &Monitor,
    known: &KnownEra,
    profile: &mut ServerProfile,
    steps: &mut Vec<Step>,
) -> Option<Opened> {
    let first = steps.len();
    let until = known.until(caller);
    let broken = match initialize(caller, known.transport, until, steps).await {
        Ok(server) => {
            answered(profile, &server);
            let legacy = Opened { era: Era::Legacy, server };
            let open = known.era.is_none() && !profile.may_be_fragile() && caller.transport() != Transport::Sse;
            return Some(if open {
                look_beside(caller, monitor, known, legacy, profile, steps).await?
            } else {
                legacy
            });
        }
        Err(broken) => broken,
    };
    // It did answer, and what follows is not taken: nothing is to be found out about the era.
    if let Some(version) = caller.version() {
        profile.answered = Some(version);
        return None;
    }
    // What is known to be of the older era is in trouble when it says 500, and not another by that.
    let troubled = known.era.is_some() && broken.status.is_some_and(|status| status >= 500);
    if !is_refusal(&broken) || troubled {
        return None;
    }
    if known.transport == Some(Transport::Sse) && known.fixed_transport.is_none() {
        caller.close_stream();
        let met = steps.len() - 1;
        excuse(&mut steps[met], "looking for the transport again");
        let anew = KnownEra { transport: None, era: None, ..*known };
        let opened = Box::pin(open_legacy(caller, monitor, &anew, profile, steps)).await;
        if opened.is_none() {
            // Nothing else is spoken there, so what was met first is what is wrong.
            steps[met].fault = Some(broken.fault);
            steps[met + 1..].iter_mut().for_each(|step| excuse(step, "nor in another way"));
        }
        return opened;
    }
    // What may die of it is asked only when it says itself, in the protocol's words, that it is another by now.
    let fragile = profile.discover == Caution::Harmful || profile.may_be_fragile();
    let may_discover = known.fixed_era.is_none() && (!fragile || broken.error.is_some());
    if may_discover && start_anew(caller, monitor, steps).await {
        let until = known.until(caller);
        match discover(caller, until, steps).await {
            Discovery::Modern(server) => {
                excuse(&mut steps[first], "it speaks the newer era");
                profile.discover = Caution::Harmless;
                return Some(Opened { era: Era::Modern, server });
            }
            // Its own words are nearer to the cause than the refusal of an era that it does not speak.
            Discovery::Faulty(_) => {
                let claim = steps.len() - 1;
                merge(caller.scrub, steps, first, Some(claim));
                return None;
            }
            Discovery::Other(_) => {}
        }
    }
    let older = known.fixed_transport.is_none() && is_bare(&broken);
    let opened = if older { open_older(caller, known, first, profile, steps).await } else { None };
    if opened.is_none() {
        merge(caller.scrub, steps, first, None);
    }
    opened
}

/// HTTP+SSE, where a POST is not taken (MCP.md, step 3).
async fn open_older(
    caller: &mut Caller<'_>,
    known: &KnownEra,
    first: usize,
    profile: &mut ServerProfile,
    steps: &mut Vec<Step>,
) -> Option<Opened> {
    let tried = steps.len();
    let until = known.until(caller);
    let outcome = initialize(caller, Some(Transport::Sse), until, steps).await;
    let is_older = match &outcome {
        Ok(_) => true,
        Err(broken) => caller.transport() == Transport::Sse || broken.fault.kind == FaultKind::ForeignEndpoint,
    };
    if is_older {
        steps[first..tried].iter_mut().for_each(|step| excuse(step, "it speaks HTTP+SSE instead"));
    }
    let server = outcome.ok()?;
    answered(profile, &server);
    Some(Opened { era: Era::Legacy, server })
}

/// Whether a server that answered `initialize` speaks the modern era too. None where the look brought it down.
async fn look_beside(
    caller: &mut Caller<'_>,
    monitor: &Monitor,
    known: &KnownEra,
    legacy: Opened,
    profile: &mut ServerProfile,
    steps: &mut Vec<Step>,
) -> Option<Opened> {
    // After `initialize` a program refuses it, and some do not survive it: a second one is asked.
    let own = caller.take_program();
    if let (Some(_), Some(program)) = (&own, &monitor.reach.program) {
        let mut clock = StepClock::start(Stage::Connect, &monitor.url.shown);
        let started = caller.start_program(program, &mut clock);
        clock.note("a second process, to look for the newer era".to_owned());
        steps.push(clock.stop(None));
        if started.is_err() {
            caller.put_program(own?);
            return Some(legacy);
        }
    } else {
        profile.recent_action = Some(RecentAction { what: RiskyAction::Discover, at: caller.now() });
    }
    let until = known.until(caller);
    let outcome = discover(caller, until, steps).await;
    if let Discovery::Modern(server) = outcome {
        profile.discover = Caution::Harmless;
        caller.leave_legacy();
        if let Some(own) = own {
            own.stop().await;
        }
        return Some(Opened { era: Era::Modern, server });
    }
    let broken = match outcome {
        Discovery::Other(broken) | Discovery::Faulty(broken) => broken,
        Discovery::Modern(_) => return None,
    };
    if let Some(own) = own {
        caller.stop_program().await;
        caller.put_program(own);
        if matches!(broken.fault.kind, FaultKind::ProgramEnded | FaultKind::Silent | FaultKind::StreamGarbage) {
            profile.discover = Caution::Harmful;
        }
    } else if is_gone(broken.fault.kind) && !is_there(caller).await {
        profile.discover = Caution::Harmful;
        steps.last_mut()?.notes.push(GONE_AFTER_DISCOVER.to_owned());
        return None;
    }
    excuse(steps.last_mut()?, "no server of the newer era");
    Some(legacy)
}

const GONE_AFTER_DISCOVER: &str = "the server was gone after server/discover, which is not sent to it again";

/// What came after a first `server/discover` says whether the server bore it.
pub(crate) fn weigh_discover(steps: &mut [Step], profile: &mut ServerProfile) {
    let Some(asked) = steps.iter().position(|step| step.label == DISCOVER && step.fault.is_none()) else { return };
    if profile.discover != Caution::Unchecked || profile.era != Some(Era::Legacy) {
        return;
    }
    let Some(next) = steps[asked + 1..].iter_mut().find(|step| step.stage != Stage::Health) else { return };
    let hurt = |fault: &Fault| is_gone(fault.kind) || matches!(fault.kind, FaultKind::HttpStatus(500..));
    profile.discover = match &next.fault {
        None => Caution::Harmless,
        Some(fault) if hurt(fault) => Caution::Harmful,
        Some(_) => return,
    };
    if profile.discover == Caution::Harmful {
        next.notes.push(GONE_AFTER_DISCOVER.to_owned());
    }
}

/// A program takes one opening in its life, so that another one needs another process; an address takes many.
async fn start_anew(caller: &mut Caller<'_>, monitor: &Monitor, steps: &mut Vec<Step>) -> bool {
    let Some(program) = &monitor.reach.program else { return true };
    caller.stop_program().await;
    let mut clock = StepClock::start(Stage::Connect, &monitor.url.shown);
    let fault = caller.start_program(program, &mut clock).err();
    clock.note("started again for the other era".to_owned());
    let well = fault.is_none();
    steps.push(clock.stop(fault));
    well
}

async fn is_there(caller: &mut Caller<'_>) -> bool {
    let mut clock = StepClock::start(Stage::Handshake, "still there?");
    let deadline = caller.deadline();
    !caller.wire.connect(&mut clock, deadline).await.is_err_and(|fault| is_gone(fault.kind))
}

fn answered(profile: &mut ServerProfile, server: &ServerIdentity) {
    profile.answered = legacy_version(&server.protocol);
}
