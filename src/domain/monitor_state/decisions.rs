//! From a level to an incident: what holds its opening back, when it is told anew, when it ends.

use std::borrow::Cow;

use chrono::{DateTime, Utc};

use crate::domain::classify::{HEALTH_URL, LADDER, WITHIN_DAYS};
use crate::domain::incident::{Course, Incident, IncidentTurn, Need, ResolveCause, ToldAs, Worst, step};
use crate::domain::latency::warm_up::Trend;
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::cause::Cause;
use crate::domain::monitor_state::changes::is_about_change;
use crate::domain::monitor_state::state::{Beat, Decision, MonitorState, OpenSignal};
use crate::domain::monitor_state::telling::is_heard;
use crate::domain::monitor_state::thresholds::counted_of;
use crate::domain::outcome::Evidence;
use crate::domain::paging::explains::Condition;
use crate::domain::paging::tell::{Asked, tell};
use crate::domain::quality::extent::Extent;
use crate::domain::reason::FailureReason;
use crate::domain::recent_beats::step_of;
use crate::domain::signal::{HeldBy, Level, Phase, Reading, Signal, SignalState};
use crate::domain::unclaimed::Unclaimed;

/// Readings in a row that differ from what was told before an open incident is told anew.
pub(super) const UPDATE_AFTER: u32 = 2;

impl MonitorState {
    /// What holds an opening back just now; nothing ever holds a resolution.
    pub(super) fn held(&self, signal: Signal, beat: Beat<'_>) -> Option<HeldBy> {
        let now = beat.now;
        let open = |signal| self.signal(signal).phase.has_incident() && !self.lingers(signal, beat.monitor);
        // Canaries that are just going wrong will carry the cause in a moment; one page is better than
        // a page, its absorption and a successor. They get no longer than it would take them.
        let patience = beat.monitor.rules.health.after + self.after(beat.monitor).answers;
        let about_to_tell = self.canaries.values().any(|canary| canary.state.phase == Phase::Pending)
            && self.signal(Signal::Health).streak < patience;
        match signal {
            Signal::Errors | Signal::Latency | Signal::Quality if open(Signal::Availability) => {
                Some(HeldBy::Signal(Signal::Availability))
            }
            Signal::Latency if self.warms_up(now) => Some(HeldBy::ColdStart),
            Signal::Health if self.carries(Signal::Quality, beat) || about_to_tell => {
                Some(HeldBy::Signal(Signal::Quality))
            }
            Signal::Health if self.carries(Signal::Errors, beat) => Some(HeldBy::Signal(Signal::Errors)),
            _ => None,
        }
    }

    /// Whether slowness is that of a cold start: by what the server says or shows of one, up to a cap and unless slowness
    /// does not fall; or by its falling back alone.
    fn warms_up(&self, now: DateTime<Utc>) -> bool {
        match self.warm_up.trend() {
            Trend::FallsBack => true,
            Trend::Unsaid => self.warming.holds(now),
            Trend::Stays => false,
        }
    }

    /// Whether an open incident tells, or is about to tell, what the server's health says on this beat.
    ///
    /// An old ticket about something else must not keep the server's own alarm from anybody.
    pub(super) fn carries(&self, signal: Signal, beat: Beat<'_>) -> bool {
        let (Some(incident), Some(health)) = (self.incident(signal), beat.outcome.finding(Signal::Health)) else {
            return false;
        };
        if self.lingers(signal, beat.monitor) {
            return false;
        }
        let told = |said: &Evidence| said.key == HEALTH_URL && incident.evidence.contains(said);
        let named = health.reason != FailureReason::Unhealthy;
        // What is still elevated takes a named cause over within two readings.
        let takes_over = named && self.reading(signal).level == Level::Elevated;
        incident.reason == health.reason || takes_over || !named && health.evidence.iter().any(told)
    }

    pub(super) fn decide(
        &mut self,
        signal: Signal,
        (reading, cause): (Reading, Option<Cause>),
        (coming, beat): (&[Condition], Beat<'_>),
        new_id: &mut dyn FnMut() -> String,
        decisions: &mut Vec<Decision>,
    ) {
        let held = self.held(signal, beat);
        let mut limits = self.limits(signal, beat.monitor);
        let calm_since = Some(self.signal(signal)).filter(|state| state.phase == Phase::Clearing);
        let calm_since = calm_since.map_or(beat.now, |state| state.since);
        let mut before = Cow::Borrowed(self.signal(signal));
        if cause.as_ref().is_some_and(Cause::is_expiry) {
            // A date is certain at first sight.
            limits.open = Need::readings(1);
        }
        let is_leak = cause.as_ref().is_some_and(Cause::is_leak);
        if is_leak {
            let (state, need) = self.before_leak(beat);
            (before, limits.open) = (Cow::Owned(state), need);
        }
        let began_at = if before.phase == Phase::Pending { before.since.min(beat.now) } else { beat.now };
        // A date is one look, and canaries that leak count their own.
        let counts = !is_leak && !cause.as_ref().is_some_and(Cause::is_expiry);
        let (state, turn) = match counted_of(beat.monitor, signal).filter(|_| counts) {
            None => step(&before, reading.level, beat.covered, limits, held, beat.now),
            Some(of) => {
                let mut recent = self.recent.get(&signal).cloned().unwrap_or_default();
                let seen = (reading.level, beat.covered);
                let stepped = step_of((&before, &mut recent), seen, (limits, of), held, beat.now);
                self.recent.remove(&signal);
                self.restore_recent_beats(signal, recent);
                stepped
            }
        };
        if state.phase.has_incident() {
            self.recent.remove(&signal);
        }
        self.signals[signal as usize] = state;
        self.readings[signal as usize] = reading;
        self.reasons[signal as usize] = cause.as_ref().map(|cause| cause.reason);
        match (turn, cause) {
            (Some(IncidentTurn::Opened), Some(cause)) => self.open(signal, cause, (beat, began_at), new_id, decisions),
            (Some(IncidentTurn::Resolved), _) => {
                let cause = if self.ends_by_lock(signal) { ResolveCause::Accepted } else { ResolveCause::Recovered };
                if let Some(open) = self.open.get_mut(&signal) {
                    open.incident.course.calm_since = Some(calm_since);
                }
                decisions.extend(self.resolve(signal, cause, beat.now).map(Decision::Resolved));
            }
            (None, Some(_)) if is_leak && !self.is_leak_confirmed() => {}
            (None, Some(cause)) => {
                let news = self.update(signal, cause, coming, beat);
                let is_told = matches!(news, Some(Decision::Updated(_)));
                // What only refreshes it is said with it.
                let lasting = if is_told { None } else { self.tell_lasting(signal, beat) };
                decisions.extend(lasting.or(news));
            }
            (None, None) => decisions.extend(self.tell_flapping(signal, beat)),
            (Some(IncidentTurn::Opened), None) => {}
        }
    }

    pub(super) fn open(
        &mut self,
        signal: Signal,
        cause: Cause,
        (beat, began_at): (Beat<'_>, DateTime<Utc>),
        new_id: &mut dyn FnMut() -> String,
        decisions: &mut Vec<Decision>,
    ) {
        let told = cause.told();
        let flapping = self.count_opening(signal, cause.severity, beat.now);
        let mut incident = Incident {
            id: new_id(),
            monitor: beat.monitor.id.clone(),
            signal,
            subject: String::new(),
            severity: cause.severity,
            reason: cause.reason,
            stage: cause.stage.slug().to_owned(),
            summary: format!("{}: {}", beat.monitor.id, cause.summary),
            evidence: [cause.evidence, cause.health].concat(),
            rule: beat.provenance.rule(cause.line),
            opened_at: beat.now,
            resolved_at: None,
            resolve_cause: None,
            acknowledged: None,
            sequence: 1,
            course: Course { told: Some(told), flapping, began_at: Some(began_at), ..Course::default() },
        };
        if let Some((extent, was)) = cause.counted {
            incident.course.since = Some(extent.since);
            note_worst(&mut incident, extent, was);
        }
        self.turned_at = self.turned_at.filter(|_| signal != Signal::Quality);
        self.open.insert(signal, OpenSignal::new(incident.clone()));
        // Whether it is told shows once everything this beat says is decided.
        decisions.push(Decision::Opened { incident, silent: true });
    }

    /// An open incident follows what is so. People are told of another cause, severity or reach once it was seen often
    /// enough in a row, and is so now; one that comes too soon after the last is seen again on the next beats, and told
    /// when its time has come if it is still so. The same holds for one that comes while something holds the incident.
    pub(super) fn update(
        &mut self,
        signal: Signal,
        cause: Cause,
        coming: &[Condition],
        beat: Beat<'_>,
    ) -> Option<Decision> {
        let awaits_verdict = self.waits_for_verdict(&Condition::of(self.incident(signal)?), coming, beat);
        let open = self.open.get_mut(&signal)?;
        let before = open.incident.clone();
        if let Some((extent, _)) = cause.counted.as_ref().filter(|(extent, _)| !extent.stands()) {
            // Wrong answers from before others turned right are claimed by nobody until they were asked for again.
            if extent.turned {
                retell(&mut open.incident, &cause, beat.monitor, false);
            }
            return open.refreshed(&before);
        }
        let told = *open.incident.course.told.get_or_insert(ToldAs { reach: cause.told().reach, ..told_of(&before) });
        let now = cause.told();
        let nearer = cause.is_expiry() && within(&before.evidence) > within(&cause.evidence);
        let differs = nearer || now.differs(&told);
        open.drift = if differs { open.drift + 1 } else { 0 };
        open.drifts_since = differs.then(|| open.drifts_since.unwrap_or(beat.now));
        // A leak that gets here was seen twice already, and canaries that are wrong often enough, each by itself.
        let is_out_of_date = |reason: FailureReason| reason == FailureReason::CanaryStale;
        let was_harmless = is_about_change(&before) || is_out_of_date(before.reason) && !is_out_of_date(cause.reason);
        let is_harm = cause.counted.is_some() && was_harmless;
        let sure = nearer || is_harm || cause.is_leak() || open.drift >= UPDATE_AFTER;
        let found = connectivity(&cause.evidence).filter(|_| connectivity(&before.evidence).is_none()).cloned();
        let news = differs && sure && before.course.lets_tell(now.severity > told.severity, beat.now);
        let may_tell = tell(Asked::Changed { awaits_verdict }, &open.telling, beat.now).is_some();
        // Where a route is there, and nobody heard of it yet, they will: as it is then.
        let waits = !open.telling.told && is_heard(&before, beat.monitor, beat.routes);
        let same = cause.reason == before.reason && cause.severity == before.severity;
        let tells = news && (may_tell || !open.telling.told);
        if tells || waits || cause.follows() && (same || sure || !differs) {
            take_over(&mut open.incident, cause, beat.monitor, tells || waits);
        }
        // For the record, where no route leads to anybody.
        let on_record = !open.telling.told && !is_heard(&open.incident, beat.monitor, beat.routes);
        if news && (may_tell || on_record) {
            (open.drift, open.drifts_since) = (0, None);
            if now.is_worse(&told) {
                // Whoever took less than this has not taken this, and what follows is counted from here.
                open.incident.acknowledged = None;
                open.incident.course.unclaimed = open.telling.told.then(|| Unclaimed::since(beat.now));
            }
            open.incident.course.told = Some(now);
            open.incident.course.updated_at = Some(beat.now);
            open.incident.sequence += 1;
            return Some(Decision::Updated(open.incident.clone()));
        }
        if let Some(found) = found.filter(|_| connectivity(&open.incident.evidence).is_none()) {
            open.incident.evidence.push(found);
            if may_tell || on_record {
                open.incident.sequence += 1;
                return Some(Decision::LookedCloser(open.incident.clone()));
            }
        }
        open.refreshed(&before)
    }

    pub(super) fn resolve(&mut self, signal: Signal, why: ResolveCause, now: DateTime<Utc>) -> Option<Incident> {
        self.signals[signal as usize] = SignalState::quiet(now);
        let OpenSignal { mut incident, telling, .. } = self.open.remove(&signal)?;
        if !telling.told && !telling.holds.is_empty() {
            self.count_untold(signal);
        }
        self.count_end(signal, &why, incident.course.calm_since.unwrap_or(now));
        for other in self.open.values_mut() {
            other.telling.cause_ended(&incident.id, now);
        }
        if let Some(worst) = incident.course.worst.clone() {
            // Its end is told, and its page says, what it was at its worst.
            (incident.reason, incident.summary, incident.evidence) = (worst.reason, worst.summary, worst.evidence);
        }
        incident.resolved_at = Some(now);
        incident.resolve_cause = Some(why);
        incident.sequence += 1;
        Some(incident)
    }
}

/// How far one gets, where that is known.
pub(super) fn connectivity(evidence: &[Evidence]) -> Option<&Evidence> {
    evidence.iter().find(|evidence| evidence.key == LADDER)
}

/// What an incident of an older version was told with, as far as that is known.
pub(super) fn told_of(incident: &Incident) -> ToldAs {
    ToldAs { reason: incident.reason, severity: incident.severity, reach: None }
}

/// Headline and evidence of a cause become the incident's. What health says is part of it once people are told so:
/// an old incident about something else must not keep the server's own alarm from anybody.
pub(super) fn retell(incident: &mut Incident, cause: &Cause, monitor: &Monitor, told: bool) {
    let health = cause.health.iter().filter(|said| told || incident.evidence.contains(said)).cloned();
    let health: Vec<Evidence> = health.collect();
    incident.summary = format!("{}: {}", monitor.id, cause.summary);
    incident.evidence.clone_from(&cause.evidence);
    incident.evidence.extend(health);
}

pub(super) fn take_over(incident: &mut Incident, cause: Cause, monitor: &Monitor, told: bool) {
    retell(incident, &cause, monitor, told);
    incident.reason = cause.reason;
    incident.severity = cause.severity;
    incident.stage = cause.stage.slug().to_owned();
    if let Some((extent, was)) = cause.counted {
        incident.course.since = Some(extent.since);
        note_worst(incident, extent, was);
    }
}

/// Remembers how it is now, where it never reached further.
pub(super) fn note_worst(incident: &mut Incident, extent: Extent, was: String) {
    if incident.course.worst.as_ref().is_none_or(|worst| extent.exceeds(worst.wrong, worst.asked)) {
        incident.course.worst = Some(Worst {
            reason: incident.reason,
            wrong: extent.wrong,
            asked: extent.asked,
            summary: format!("{}: {was}", incident.monitor),
            evidence: incident.evidence.clone(),
        });
    }
}

/// The threshold that an expiry has passed, in days; beyond all of them where it is no expiry.
pub(super) fn within(evidence: &[Evidence]) -> u32 {
    let days = evidence.iter().find(|evidence| evidence.key == WITHIN_DAYS);
    days.and_then(|evidence| evidence.value.parse().ok()).unwrap_or(u32::MAX)
}
