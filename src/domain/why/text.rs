//! The whole answer as a terminal shows it, a line each.

use chrono::{DateTime, Utc};

use crate::domain::signal::{Level, Phase};
use crate::domain::why::answer::{HoldThen, IncidentThen, Listener, LookThen, Record, SignalThen, ToldThen, Why};
use crate::domain::why::sentence::{moment, not_yet, telling};
use crate::domain::wording::counted;

impl Why {
    /// The answer, the sentence first.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.sentence(), String::new()];
        lines.push(format!("{} at {}: {}", self.monitor, moment(self.at), self.basis()));
        lines.extend(self.judged_by());
        for one in &self.signals {
            lines.push(String::new());
            lines.extend(signal(one));
        }
        for one in &self.incidents {
            lines.push(String::new());
            lines.extend(incident(one, self.until, self.is_now));
        }
        if !self.notes.is_empty() {
            lines.push(String::new());
            lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        }
        lines
    }

    /// What the readings are from.
    pub fn basis(&self) -> String {
        match &self.record {
            Record::Weighed(weighed) => {
                let beats = usize::try_from(weighed.beats).unwrap_or(usize::MAX);
                format!(
                    "weighed again from {} since {}, the last of {}",
                    counted(beats, "beat", "beats"),
                    moment(weighed.from),
                    moment(weighed.last)
                )
            }
            Record::Gone(since) => {
                format!("beats of then are gone, they are kept from {} on; from the record", moment(*since))
            }
            Record::Unseen => "no beat of the week before is kept; from the record".to_owned(),
        }
    }

    /// By which file.
    pub fn judged_by(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        let commit = file.commit.as_ref().map(|commit| format!("@{commit}")).unwrap_or_default();
        Some(format!("judged by {}{commit}, in force since {}", file.name, moment(file.since)))
    }
}

/// Such as `open since …` or `pending: 2 of 3 beats`.
pub fn stand(one: &SignalThen) -> String {
    let standing = &one.standing;
    match (standing.phase, standing.level) {
        (Phase::Quiet, Level::Calm) => "calm".to_owned(),
        (Phase::Quiet, Level::Elevated) => "elevated".to_owned(),
        (Phase::Quiet, Level::Unknown) => "unknown: not seen, or too few samples".to_owned(),
        (Phase::Pending, _) => {
            let why = not_yet(one).unwrap_or_default();
            format!("pending since {}, {why}", moment(standing.since))
        }
        (Phase::Open, _) => format!("open since {}", moment(standing.since)),
        (Phase::Clearing, _) => {
            let far = standing.clearing.map(|(good, of)| format!(", {good} of {of} good beats")).unwrap_or_default();
            format!("open, and calm since {}{far}", moment(standing.since))
        }
    }
}

/// The figure with what stands behind it; empty where there is none.
pub fn figure(one: &SignalThen) -> String {
    let standing = &one.standing;
    let reason = standing.reason.filter(|reason| !standing.figure.starts_with(reason.slug()));
    let reason = reason.map(|reason| format!("{reason}: ")).unwrap_or_default();
    match (standing.figure.is_empty(), standing.samples) {
        (true, _) => reason.trim_end_matches(": ").to_owned(),
        (false, 0 | 1) => format!("{reason}{}", standing.figure),
        (false, samples) => format!("{reason}{} ({})", standing.figure, counted(samples, "sample", "samples")),
    }
}

/// Such as `oncall (monitors.yaml:12), else mail`.
pub fn listener(one: &Listener) -> String {
    let fallback = one.fallback.as_ref().map(|name| format!(", else {name}")).unwrap_or_default();
    format!("{} ({}{fallback})", one.receiver, one.route.written())
}

/// What one beat made of a signal.
pub fn look(one: &LookThen) -> String {
    let figure = if one.figure.is_empty() { String::new() } else { format!(", {}", one.figure) };
    format!("{} {}{figure}, {}", one.at.format("%H:%M:%S"), one.level.slug(), one.phase.slug())
}

/// Such as `silenced by kim: reindexing, from … until …`.
pub fn hold(one: &HoldThen) -> String {
    let over = one.over_at().map(|over| format!(" until {}", moment(over))).unwrap_or_default();
    format!("{}, from {}{over}", one.said, moment(one.hold.since))
}

/// Such as `oncall incident.opened … sent by monitors.yaml:12`.
pub fn delivery(one: &ToldThen) -> String {
    let of = one.fallback_of.as_ref().map(|name| format!(" in place of {name}")).unwrap_or_default();
    let route = one.route.as_ref().map(|place| format!(", by {}", place.written())).unwrap_or_default();
    let answer = if one.answer.is_empty() { String::new() } else { format!(" ({})", one.answer) };
    format!("{}{of} {}, {}, {}{answer}{route}", one.receiver, one.event, moment(one.at), one.state)
}

fn signal(one: &SignalThen) -> Vec<String> {
    let figure = figure(one);
    let figure = if figure.is_empty() { figure } else { format!("  {figure}") };
    let mut lines = vec![format!("{:<13}{}{figure}", one.signal.slug(), stand(one))];
    if !one.opens.is_empty() {
        let severity = one.standing.severity.slug();
        lines.push(format!("  opens      {} ({severity}, {})", one.opens, one.rule.written()));
    }
    if one.standing.phase == Phase::Quiet && one.standing.level != Level::Elevated {
        return lines;
    }
    lines.push(format!("  closes     {}", one.closes));
    let listeners: Vec<String> = one.listeners.iter().map(listener).collect();
    let listeners = if listeners.is_empty() { "nobody: no route fits".to_owned() } else { listeners.join(", ") };
    lines.push(format!("  notifies   {listeners}"));
    lines.extend(one.quiet.iter().map(|said| format!("  but quiet  {said}")));
    lines.extend(one.looks.iter().map(|one| format!("  beat       {}", look(one))));
    lines
}

fn incident(one: &IncidentThen, until: DateTime<Utc>, is_now: bool) -> Vec<String> {
    let incident = &one.incident;
    let end = incident.resolved_at.map(|end| {
        let cause = incident.resolve_cause.as_ref().map(|cause| format!(" ({})", cause.slug())).unwrap_or_default();
        format!(", ended {}{cause}", moment(end))
    });
    let mut lines = vec![
        format!(
            "incident {}: {} {} ({}), opened {}{}",
            incident.id,
            incident.severity.slug(),
            incident.signal.slug(),
            incident.reason,
            moment(incident.opened_at),
            end.unwrap_or_default()
        ),
        format!("  outcome    {}", telling(one, until, is_now)),
        format!("  rule       {}", incident.rule.written()),
    ];
    if !one.opens.is_empty() {
        lines.push(format!("  opens      {}", one.opens));
    }
    lines.extend(one.holds.iter().map(|one| format!("  held       {}", hold(one))));
    lines.extend(one.tellings.iter().map(|one| format!("  notified   {}", delivery(one))));
    lines
}
