//! A signal in words: how it stands, what holds it back, and the rule it is judged by.

use chrono::{DateTime, Utc};

use crate::domain::fleet::{Fleet, Provenance};
use crate::domain::monitor::Monitor;
use crate::domain::rule_text;
use crate::domain::signal::{HeldBy, Phase, Signal};
use crate::live::monitor_view::{MonitorView, OpenIncident, SignalView};
use crate::web::draw::glyph::{self, Glyph};
use crate::web::format::Timestamp;

/// One signal, ready to be drawn.
#[derive(Debug, Clone)]
pub(crate) struct SignalLine {
    pub signal: &'static str,
    /// The phase's shape; the severity's while an incident is open.
    pub glyph: Glyph,
    /// The phase's word, also its class.
    pub phase: &'static str,
    pub figure: String,
    pub since: Timestamp,
    /// What holds it back, in words; empty where nothing does.
    pub held: String,
    /// The incident's cause and id, where one is open.
    pub incident: Option<IncidentLine>,
    pub opens: String,
    /// The rule's place, such as `monitors.yaml:24`; empty where the file has moved on.
    pub place: String,
}

#[derive(Debug, Clone)]
pub(crate) struct IncidentLine {
    pub href: String,
    pub reason: &'static str,
    pub severity: &'static str,
}

impl SignalLine {
    /// Whether it is more than quiet: such a one stands in plain sight.
    pub(crate) fn is_loud(&self) -> bool {
        self.phase != Phase::Quiet.slug() || !self.held.is_empty()
    }
}

pub(crate) fn lines(view: &MonitorView, fleet: &Fleet, now: DateTime<Utc>) -> Vec<SignalLine> {
    let monitor = fleet.monitor(&view.id);
    view.signals
        .iter()
        .map(|signal| line(signal, monitor.map(|monitor| &**monitor), Some(&fleet.provenance), now))
        .collect()
}

/// The signals that are not quiet, without their rules.
pub(crate) fn loud_lines(view: &MonitorView, now: DateTime<Utc>) -> Vec<SignalLine> {
    let loud = view.signals.iter().filter(|signal| signal.phase != Phase::Quiet || signal.held_by.is_some());
    loud.map(|signal| line(signal, None, None, now)).collect()
}

fn line(
    view: &SignalView,
    monitor: Option<&Monitor>,
    provenance: Option<&Provenance>,
    now: DateTime<Utc>,
) -> SignalLine {
    let said = monitor.and_then(|monitor| rule_text::rule_text(monitor, view.signal));
    let incident = view.incident.as_ref();
    let shape = match (view.phase, incident) {
        (Phase::Open, Some(incident)) => glyph::of_severity(incident.severity),
        (phase, _) => glyph::of_phase(phase),
    };
    SignalLine {
        signal: view.signal.slug(),
        glyph: shape,
        phase: view.phase.slug(),
        figure: view.figure.clone(),
        since: Timestamp::new(view.since, now),
        held: view.held_by.map(held).or(incident.and_then(quiet)).or(incident.and_then(flaps)).unwrap_or_default(),
        incident: incident.map(|incident| IncidentLine {
            href: format!("/incidents/{}", incident.id),
            reason: incident.reason.slug(),
            severity: incident.severity.slug(),
        }),
        place: said.as_ref().zip(provenance).map(|(said, from)| from.shown(said.line)).unwrap_or_default(),
        opens: said.map(|said| said.opens).unwrap_or_default(),
    }
}

/// Why an incident is told to nobody, in words.
fn quiet(incident: &OpenIncident) -> Option<String> {
    incident.quiet.as_ref().map(|by| format!("quiet: {by}"))
}

/// What keeps an incident open although it is calm, in words.
fn flaps(incident: &OpenIncident) -> Option<String> {
    incident.flapping.map(|flapping| format!("flapping: {}", flapping.said()))
}

/// Why an opening is held back, in words.
pub(crate) fn held(by: HeldBy) -> String {
    match by {
        HeldBy::ColdStart => "held back: the server restarted or is warming its cache (at most 30 min)".to_owned(),
        HeldBy::Signal(Signal::Availability) => "held back while the server cannot be reached".to_owned(),
        HeldBy::Signal(other) => format!("held back by {}", other.slug()),
    }
}
