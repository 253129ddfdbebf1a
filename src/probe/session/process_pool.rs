//! Programs that are kept from beat to beat (`keep: true`), one a monitor.
//!
//! A beat takes its program out and puts it back, so that no two use it at once. One whose monitor was edited, or
//! that ended meanwhile, is started again; a removed monitor's is stopped; all are stopped with Serin, and where that
//! goes wrong, dropping them kills their process groups.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::domain::fault::FaultKind;
use crate::domain::monitor::{Monitor, MonitorId, Program};
use crate::domain::observation::{Observation, Stage, Step};
use crate::probe::session::caller::{Caller, Carrier};
use crate::probe::session::opened::Opened;
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::program::Process;

/// Programs kept at once: each is a process with three pipes. Beyond, they are started for each beat.
const POOL_MAX: usize = 256;

/// A program with its open conversation.
#[derive(Debug)]
pub(crate) struct PooledProcess {
    pub(crate) process: Box<Process>,
    /// The conversation as the handshake left it.
    pub(crate) opened: Opened,
    /// Ids given out so far, so that a late answer is never taken for another's.
    pub(crate) requests: u64,
    definition_hash: String,
}

impl PooledProcess {
    pub(crate) fn new(process: Box<Process>, opened: Opened, requests: u64, monitor: &Monitor) -> Self {
        Self { process, opened, requests, definition_hash: monitor.definition_hash.clone() }
    }

    /// Whether it was started by this very declaration.
    pub(crate) fn fits(&self, monitor: &Monitor) -> bool {
        self.definition_hash == monitor.definition_hash
    }
}

#[derive(Debug, Default)]
pub(crate) struct ProcessPool {
    programs: Mutex<HashMap<MonitorId, PooledProcess>>,
}

impl ProcessPool {
    /// Takes a monitor's program out.
    pub(crate) fn take(&self, monitor: &MonitorId) -> Option<PooledProcess> {
        self.programs.lock().remove(monitor)
    }

    /// Puts it back; whoever has no place comes out again.
    pub(crate) fn put(&self, monitor: &MonitorId, kept: PooledProcess) -> Option<PooledProcess> {
        let mut programs = self.programs.lock();
        if programs.len() >= POOL_MAX && !programs.contains_key(monitor) {
            return Some(kept);
        }
        programs.insert(monitor.clone(), kept)
    }

    /// Takes all of them out.
    pub(crate) fn empty(&self) -> Vec<PooledProcess> {
        let mut programs = self.programs.lock();
        programs.drain().map(|(_, kept)| kept).collect()
    }
}

/// Starts the program, or takes the kept one up; inside, the conversation that is open with it already. None where it
/// cannot be started.
pub(crate) async fn take_up(
    caller: &mut Caller<'_>,
    programs: &ProcessPool,
    monitor: &Monitor,
    program: &Program,
    seen: &mut Observation,
) -> Option<Option<Opened>> {
    let mut clock = StepClock::start(Stage::Connect, &monitor.url.shown);
    if let Some(mut kept) = programs.take(&monitor.id) {
        if !program.keep || !kept.fits(monitor) {
            kept.process.stop().await;
        } else if let Some(how) = kept.process.has_ended() {
            clock.note(format!("the kept program had ended ({how}); started again"));
            kept.process.note_errors(caller.scrub, &mut clock);
        } else {
            clock.note("the program was kept from the beat before".to_owned());
            let PooledProcess { process, opened, requests, .. } = kept;
            (caller.carrier, caller.requests) = (Carrier::Stdio(process), requests);
            seen.steps.push(clock.stop(None));
            return Some(Some(opened));
        }
    }
    let fault = caller.start_program(program, &mut clock).await.err();
    let well = fault.is_none();
    seen.steps.push(clock.stop(fault));
    well.then_some(None)
}

/// Starts a kept program again that turned out to have ended since the beat before; none where it is there, and wrong.
pub(crate) async fn start_again(
    caller: &mut Caller<'_>,
    monitor: &Monitor,
    program: &Program,
    seen: &mut Observation,
) -> Option<()> {
    let ended = |step: &&mut Step| step.fault.as_ref().is_some_and(|fault| fault.kind == FaultKind::ProgramEnded);
    let last = seen.steps.last_mut().filter(ended)?;
    if let Some(fault) = last.fault.take() {
        last.notes.push(format!("the kept program had ended: {}; started again", fault.detail));
    }
    caller.stop_program().await;
    let mut clock = StepClock::start(Stage::Connect, &monitor.url.shown);
    let fault = caller.start_program(program, &mut clock).await.err();
    let well = fault.is_none();
    seen.steps.push(clock.stop(fault));
    well.then_some(())
}

/// Puts a program that is to be kept back, if it answered so far; stops any other.
pub(crate) async fn leave(
    caller: &mut Caller<'_>,
    programs: &ProcessPool,
    monitor: &Monitor,
    opened: Option<Opened>,
    seen: &Observation,
) {
    let Some(process) = caller.take_program() else {
        return;
    };
    let keep = monitor.reach.program.as_ref().is_some_and(|program| program.keep);
    // One that was silent or talked nonsense is not trusted with the next beat.
    let well = seen.steps.iter().filter_map(|step| step.fault.as_ref()).all(|fault| is_of_the_tools(fault.kind));
    let over = match opened.filter(|_| keep && well) {
        Some(opened) => {
            let kept = PooledProcess::new(process, opened, caller.requests, monitor);
            programs.put(&monitor.id, kept).map(|kept| kept.process)
        }
        None => Some(process),
    };
    if let Some(process) = over {
        process.stop().await;
    }
}

/// What a program that speaks well may be told all the same.
fn is_of_the_tools(kind: FaultKind) -> bool {
    use FaultKind::{AnswerUnreadable, ArgumentsInvalid, CursorLoop, RpcError, ToolAbsent, ToolError};
    matches!(kind, AnswerUnreadable | ArgumentsInvalid | CursorLoop | RpcError(_) | ToolAbsent | ToolError)
}
