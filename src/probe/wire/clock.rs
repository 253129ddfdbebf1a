//! One step being timed: it starts, phases are marked on it, it ends as a [`Step`].

use tokio::time::Instant;

use crate::domain::fault::Fault;
use crate::domain::observation::{Phases, Stage, Step};
use crate::net::connect::Times;

/// Notes kept of one step.
const NOTES_MAX: usize = 8;

#[derive(Debug)]
pub(crate) struct StepClock {
    stage: Stage,
    label: String,
    started: Instant,
    /// When each phase was done.
    pub phases: Phases,
    /// Whether the step opened a connection.
    pub fresh_connection: bool,
    notes: Vec<String>,
}

impl StepClock {
    pub(crate) fn start(stage: Stage, label: &str) -> Self {
        Self {
            stage,
            label: label.to_owned(),
            started: Instant::now(),
            phases: Phases::default(),
            fresh_connection: false,
            notes: Vec::new(),
        }
    }

    /// A second clock of the same step, for what is waited for at the same time.
    pub(crate) fn twin(&self) -> Self {
        Self { started: self.started, ..Self::start(self.stage, &self.label) }
    }

    /// Takes over what the second clock saw of the answer.
    pub(crate) fn join(&mut self, twin: Self) {
        self.phases.answer = twin.phases.answer.or(self.phases.answer);
        self.phases.end = twin.phases.end.or(self.phases.end);
        twin.notes.into_iter().for_each(|note| self.note(note));
    }

    pub(crate) fn elapsed(&self) -> std::time::Duration {
        self.started.elapsed()
    }

    /// Keeps an oddity that is legal, once.
    pub(crate) fn note(&mut self, text: String) {
        if self.notes.len() < NOTES_MAX && !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// The first byte of an answer came. A step with several requests keeps the last one's.
    pub(crate) fn headers(&mut self) {
        self.phases.headers = Some(self.elapsed());
    }

    pub(crate) fn answer(&mut self) {
        self.phases.answer = Some(self.elapsed());
    }

    pub(crate) fn end(&mut self) {
        self.phases.end = Some(self.elapsed());
    }

    /// Phases of a connection that began `offset` after the step did.
    pub(crate) fn connected(&mut self, offset: std::time::Duration, times: Times) {
        self.fresh_connection = true;
        self.phases.name = times.name.map(|time| offset + time);
        self.phases.connect = times.connect.map(|time| offset + time);
        self.phases.tls = times.tls.map(|time| offset + time);
    }

    /// The step as it went. With an answer its duration is the time to the answer: a stream that stays open behind it
    /// costs the caller nothing.
    pub(crate) fn stop(self, fault: Option<Fault>) -> Step {
        let elapsed = match (&fault, self.phases.answer) {
            (None, Some(answer)) => answer,
            _ => self.elapsed(),
        };
        Step {
            stage: self.stage,
            label: self.label,
            elapsed,
            phases: self.phases,
            fresh_connection: self.fresh_connection,
            fault,
            notes: self.notes,
        }
    }
}
