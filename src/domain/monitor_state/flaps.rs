//! Incidents that open again and again: which one stays open although its signal is calm, for how long, and what is told
//! of that.
//!
//! While such a signal is calm for longer than would have ended any other incident, it *lingers*: it is open for people, and
//! says nothing of what else is seen, so that it keeps nothing else from opening or from being told.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::flapping::{Bout, CALM_MIN, Flapping};
use crate::domain::incident::{Incident, Need, ResolveCause, Thresholds};
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::state::{Beat, Decision, MonitorState};
use crate::domain::monitor_state::telling::is_heard;
use crate::domain::monitor_state::thresholds::thresholds;
use crate::domain::paging::tell::{Asked, tell};
use crate::domain::reason::Severity;
use crate::domain::signal::{Phase, Signal};
use crate::domain::unclaimed::Unclaimed;

/// What flaps and is bad for so long without a break is no longer what comes and goes.
const LASTS_AFTER: Duration = CALM_MIN;

impl MonitorState {
    /// What keeps the open incident of a signal open although it is calm.
    pub fn flapping(&self, signal: Signal) -> Option<Flapping> {
        self.incident(signal)?.course.flapping
    }

    /// How far the calm of an incident that flaps is, such as `calm for 4m of 15m`; none where it is not calm.
    pub fn calming(&self, signal: Signal) -> Option<String> {
        let state = self.signal(signal);
        let flapping = self.flapping(signal).filter(|_| state.phase == Phase::Clearing)?;
        Some(flapping.far(state.covered.length()))
    }

    /// How long a signal takes to open and to close, as its incidents went so far.
    pub(super) fn limits(&self, signal: Signal, monitor: &Monitor) -> Thresholds {
        let usual = thresholds(monitor, signal);
        let calm = self.flapping(signal).map_or(Duration::ZERO, |flapping| flapping.calm);
        Thresholds { close: Need { covered: usual.close.covered.max(calm), ..usual.close }, ..usual }
    }

    /// Whether an incident is open for no other reason than that it flaps.
    pub(super) fn lingers(&self, signal: Signal, monitor: &Monitor) -> bool {
        let state = self.signal(signal);
        state.phase == Phase::Clearing
            && self.flapping(signal).is_some()
            && thresholds(monitor, signal).close.is_met(state.streak, state.covered.length())
    }

    /// Counts an opening; what keeps its incident open, where there were too many.
    pub(super) fn count_opening(&mut self, signal: Signal, severity: Severity, now: DateTime<Utc>) -> Option<Flapping> {
        counts(signal, severity).then(|| self.bouts.entry(signal).or_default().open(now)).flatten()
    }

    /// Counts an end. What a person or an edited file ended says nothing of how often it comes and goes by itself.
    pub(super) fn count_end(&mut self, signal: Signal, why: &ResolveCause, calm_since: DateTime<Utc>) {
        match (why, self.bouts.get_mut(&signal)) {
            (ResolveCause::Recovered, Some(bouts)) => bouts.calm(calm_since),
            (ResolveCause::Recovered, None) => {}
            _ => drop(self.bouts.remove(&signal)),
        }
    }

    /// An opening that nobody heard of, since something held it to its end, is none that people saw come and go.
    pub(super) fn count_untold(&mut self, signal: Signal) {
        if let Some(bouts) = self.bouts.get_mut(&signal) {
            bouts.forget_last();
        }
    }

    /// Counts an incident of the last run, after all that opened before it.
    pub fn restore_opening(&mut self, incident: &Incident) {
        let Incident { signal, opened_at, resolved_at, course, .. } = incident;
        if counts(*signal, incident.severity) {
            self.bouts.entry(*signal).or_default().keep(Bout { opened_at: *opened_at, calm_since: None });
        }
        if let Some((why, ended_at)) = incident.resolve_cause.as_ref().zip(*resolved_at) {
            self.count_end(*signal, why, course.calm_since.unwrap_or(ended_at));
        }
    }

    /// Tells that what flaps, and was told to be calm, is bad again and stays so: it comes and goes no more. Whoever took it
    /// when it did has not taken this.
    pub(super) fn tell_lasting(&mut self, signal: Signal, beat: Beat<'_>) -> Option<Decision> {
        let (phase, since) = (self.signal(signal).phase, self.signal(signal).since);
        let open = self.open.get_mut(&signal).filter(|_| phase == Phase::Open)?;
        open.incident.course.flapping.filter(|flapping| flapping.told)?;
        let lasts = (beat.now - since).to_std().is_ok_and(|age| age >= LASTS_AFTER);
        // Once a bout: what was told since it began told of it.
        let is_told = open.incident.course.updated_at.is_none_or(|at| at >= since);
        let is_taken = open.incident.acknowledged.as_ref().is_some_and(|(_, at)| *at >= since);
        let may_tell = tell(Asked::Changed { awaits_verdict: false }, &open.telling, beat.now).is_some();
        if !lasts || is_told || is_taken || !may_tell {
            return None;
        }
        open.incident.acknowledged = None;
        open.incident.course.unclaimed = Some(Unclaimed::since(beat.now));
        open.incident.course.updated_at = Some(beat.now);
        open.incident.sequence += 1;
        Some(Decision::Updated(open.incident.clone()))
    }

    /// Tells once that an incident stays open although it is calm, in the place of its end.
    pub(super) fn tell_flapping(&mut self, signal: Signal, beat: Beat<'_>) -> Option<Decision> {
        let open = self.open.get(&signal).filter(|_| self.lingers(signal, beat.monitor))?;
        let flapping = open.incident.course.flapping.filter(|flapping| !flapping.told)?;
        let may_tell = tell(Asked::Changed { awaits_verdict: false }, &open.telling, beat.now).is_some();
        // For the record, where no route leads to anybody.
        let on_record = !open.telling.told && !is_heard(&open.incident, beat.monitor, beat.routes);
        if !may_tell && !on_record || !open.incident.course.lets_tell(false, beat.now) {
            return None;
        }
        let incident = &mut self.open.get_mut(&signal)?.incident;
        incident.course.flapping = Some(Flapping { told: true, ..flapping });
        incident.course.updated_at = Some(beat.now);
        incident.sequence += 1;
        Some(Decision::Flaps(incident.clone()))
    }
}

/// Whether openings are counted. Notices of changed tools are not: nobody is woken by them, and each says something else.
const fn counts(signal: Signal, severity: Severity) -> bool {
    !matches!((signal, severity), (Signal::Contract, Severity::Notice))
}
