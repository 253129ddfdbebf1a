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
    let mut opening = Opening { caller, monitor, known, profile, steps };
    let opened = if known.era == Some(Era::Modern) {
        opening.modern().await
    } else if let Some(opened) = go_on(opening.caller, &known, opening.profile, opening.steps) {
        return Some(opened);
    } else {
        opening.legacy().await
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

/// One opening: who speaks, what was known, and what is learnt.
struct Opening<'o, 'a> {
    caller: &'o mut Caller<'a>,
    monitor: &'o Monitor,
    known: KnownEra,
    profile: &'o mut ServerProfile,
    steps: &'o mut Vec<Step>,
}

impl Opening<'_, '_> {
    async fn initialize(&mut self, transport: Option<Transport>) -> Result<ServerIdentity, BrokenReply> {
        let until = self.known.until(self.caller);
        let server = initialize(self.caller, transport, until, self.steps).await?;
        self.profile.answered = legacy_version(&server.protocol);
        Ok(server)
    }

    async fn discover(&mut self) -> Discovery {
        let until = self.known.until(self.caller);
        discover(self.caller, until, self.steps).await
    }

    /// Several openings failed from the step `first` on: one fault is told, that of `main` where one is named.
    fn failed(&mut self, first: usize, main: Option<usize>) {
        merge(self.caller.scrub, self.steps, first, main);
    }

    /// The modern era, where the file says so or it was found before. One bad answer does not end it: the beat goes on in
    /// the older era if that is spoken, and only a second one in a row makes it the monitor's.
    async fn modern(&mut self) -> Option<Opened> {
        let first = self.steps.len();
        let broken = match self.discover().await {
            Discovery::Modern(server) => {
                self.profile.era_in_doubt = false;
                return Some(Opened { era: Era::Modern, server });
            }
            Discovery::Faulty(broken) | Discovery::Other(broken) => broken,
        };
        if self.known.fixed_era.is_some() || !is_refusal(&broken) || !self.start_anew().await {
            return None;
        }
        let Ok(server) = self.initialize(self.known.fixed_transport).await else {
            self.failed(first, None);
            return None;
        };
        excuse(&mut self.steps[first], "it answers initialize instead");
        // One that may die of it is not asked a second time.
        self.profile.era_in_doubt = !self.profile.era_in_doubt && !self.profile.may_be_fragile();
        Some(Opened { era: Era::Legacy, server })
    }

    /// The legacy era, and the look whether the server speaks the modern one, where that is not known.
    async fn legacy(&mut self) -> Option<Opened> {
        let first = self.steps.len();
        match self.initialize(self.known.transport).await {
            Ok(server) => {
                let legacy = Opened { era: Era::Legacy, server };
                let is_open = self.known.era.is_none()
                    && !self.profile.may_be_fragile()
                    && self.caller.transport() != Transport::Sse;
                if is_open { self.look_beside(legacy).await } else { Some(legacy) }
            }
            Err(broken) => self.otherwise(first, broken).await,
        }
    }

    /// What else may be spoken where `initialize`, the step `first`, was not taken.
    async fn otherwise(&mut self, first: usize, broken: BrokenReply) -> Option<Opened> {
        // It did answer, and what follows is not taken: nothing is to be found out about the era.
        if let Some(version) = self.caller.version() {
            self.profile.answered = Some(version);
            return None;
        }
        // What is known to be of the older era is in trouble when it says 500, and not another by that.
        let troubled = self.known.era.is_some() && broken.status.is_some_and(|status| status >= 500);
        if !is_refusal(&broken) || troubled {
            return None;
        }
        if self.known.transport == Some(Transport::Sse) && self.known.fixed_transport.is_none() {
            return self.another_transport(broken).await;
        }
        // What may die of it is asked only when it says itself, in the protocol's words, that it is another by now.
        let fragile = self.profile.discover == Caution::Harmful || self.profile.may_be_fragile();
        let may_discover = self.known.fixed_era.is_none() && (!fragile || broken.error.is_some());
        if may_discover && self.start_anew().await {
            match self.discover().await {
                Discovery::Modern(server) => {
                    excuse(&mut self.steps[first], "it speaks the newer era");
                    self.profile.discover = Caution::Harmless;
                    return Some(Opened { era: Era::Modern, server });
                }
                // Its own words are nearer to the cause than the refusal of an era that it does not speak.
                Discovery::Faulty(_) => {
                    self.failed(first, Some(self.steps.len() - 1));
                    return None;
                }
                Discovery::Other(_) => {}
            }
        }
        let older = self.known.fixed_transport.is_none() && is_bare(&broken);
        let opened = if older { self.older(first).await } else { None };
        if opened.is_none() {
            self.failed(first, None);
        }
        opened
    }

    /// The event stream that earlier probes found is not there: nothing is taken as known any more.
    async fn another_transport(&mut self, broken: BrokenReply) -> Option<Opened> {
        self.caller.close_stream();
        let met = self.steps.len() - 1;
        excuse(&mut self.steps[met], "looking for the transport again");
        self.known = KnownEra { transport: None, era: None, ..self.known };
        let opened = Box::pin(self.legacy()).await;
        if opened.is_none() {
            // Nothing else is spoken there, so what was met first is what is wrong.
            self.steps[met].fault = Some(broken.fault);
            self.steps[met + 1..].iter_mut().for_each(|step| excuse(step, "nor in another way"));
        }
        opened
    }

    /// HTTP+SSE, where a POST is not taken (MCP.md, step 3).
    async fn older(&mut self, first: usize) -> Option<Opened> {
        let tried = self.steps.len();
        let outcome = self.initialize(Some(Transport::Sse)).await;
        let is_older = match &outcome {
            Ok(_) => true,
            Err(broken) => self.caller.transport() == Transport::Sse || broken.fault.kind == FaultKind::ForeignEndpoint,
        };
        if is_older {
            self.steps[first..tried].iter_mut().for_each(|step| excuse(step, "it speaks HTTP+SSE instead"));
        }
        Some(Opened { era: Era::Legacy, server: outcome.ok()? })
    }

    /// Whether a server that answered `initialize` speaks the modern era too. None where the look brought it down.
    async fn look_beside(&mut self, legacy: Opened) -> Option<Opened> {
        // After `initialize` a program refuses it, and some do not survive it: a second one is asked.
        let own = self.caller.take_program();
        let monitor = self.monitor;
        if let (Some(_), Some(program)) = (&own, &monitor.reach.program) {
            let mut clock = StepClock::start(Stage::Connect, &monitor.url.shown);
            let started = self.caller.start_program(program, &mut clock).await;
            clock.note("a second process, to look for the newer era".to_owned());
            self.steps.push(clock.stop(None));
            if started.is_err() {
                self.caller.put_program(own?);
                return Some(legacy);
            }
        } else {
            self.profile.recent_action = Some(RecentAction { what: RiskyAction::Discover, at: self.caller.now() });
        }
        let broken = match self.discover().await {
            Discovery::Modern(server) => {
                self.profile.discover = Caution::Harmless;
                self.caller.leave_legacy();
                if let Some(own) = own {
                    own.stop().await;
                }
                return Some(Opened { era: Era::Modern, server });
            }
            Discovery::Other(broken) | Discovery::Faulty(broken) => broken,
        };
        if let Some(own) = own {
            self.caller.stop_program().await;
            self.caller.put_program(own);
            if matches!(broken.fault.kind, FaultKind::ProgramEnded | FaultKind::Silent | FaultKind::StreamGarbage) {
                self.profile.discover = Caution::Harmful;
            }
        } else if is_gone(broken.fault.kind) && !is_there(self.caller).await {
            self.profile.discover = Caution::Harmful;
            self.steps.last_mut()?.notes.push(GONE_AFTER_DISCOVER.to_owned());
            return None;
        }
        excuse(self.steps.last_mut()?, "no server of the newer era");
        Some(legacy)
    }

    /// A program takes one opening in its life, so that another one needs another process; an address takes many.
    async fn start_anew(&mut self) -> bool {
        let Some(program) = &self.monitor.reach.program else { return true };
        self.caller.stop_program().await;
        let mut clock = StepClock::start(Stage::Connect, &self.monitor.url.shown);
        let fault = self.caller.start_program(program, &mut clock).await.err();
        clock.note("started again for the other era".to_owned());
        let well = fault.is_none();
        self.steps.push(clock.stop(fault));
        well
    }
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

async fn is_there(caller: &mut Caller<'_>) -> bool {
    let mut clock = StepClock::start(Stage::Handshake, "still there?");
    let deadline = caller.deadline();
    !caller.wire.connect(&mut clock, deadline).await.is_err_and(|fault| is_gone(fault.kind))
}
