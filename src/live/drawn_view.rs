//! What is read off a view; and one that is drawn already stands as it is drawn.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::domain::contract;
use crate::domain::monitor::MonitorId;
use crate::domain::observation::ToolsSeen;
use crate::domain::outcome::Verdict;
use crate::domain::signal::{Phase, Signal};
use crate::domain::tools::Drift;
use crate::live::glance::{DeclaredGlance, FiguresGlance, IncidentGlance, SignalGlance};
use crate::live::monitor_view::{
    BeatMark, CanaryView, DeclaredView, MonitorView, OpenIncident, RollUp, SignalView, ToolsView,
};
use crate::live::standing::Standing;

impl MonitorView {
    /// When it was last seen: by the last probe, or before one since a start, by the latest beat that showed anything.
    pub fn seen_at(&self) -> Option<DateTime<Utc>> {
        self.look.as_ref().map(|look| look.started_at).or_else(|| self.marked_at())
    }

    fn marked_at(&self) -> Option<DateTime<Utc>> {
        self.strip.iter().rev().find(|mark| mark.verdict != Verdict::Unknown).map(|mark| mark.at)
    }

    /// Signals that are over their limit and open nothing yet.
    pub fn waiting(&self) -> impl Iterator<Item = Signal> {
        self.signals.iter().filter(|view| view.phase == Phase::Pending).map(|view| view.signal)
    }

    /// The tools as the server listed them last; none where it never did.
    pub fn listed(&self) -> Option<&ToolsSeen> {
        let last = self.last.as_ref().and_then(|last| last.0.tools.as_ref());
        last.or_else(|| self.tools.as_ref().map(|tools| &tools.seen))
    }
}

impl ToolsView {
    /// How what is seen differs from what is accepted; none where it does not.
    pub fn drift(&self) -> Option<Arc<Drift>> {
        self.accepted.as_ref().and_then(|accepted| contract::drift(accepted, &self.seen))
    }
}

impl Standing for MonitorView {
    fn id(&self) -> &MonitorId {
        &self.id
    }

    fn roll_up(&self) -> RollUp {
        self.roll_up
    }

    fn declared(&self) -> DeclaredGlance<'_> {
        let DeclaredView { name, url, labels, stale_after, .. } = &self.declared;
        DeclaredGlance { name, url, labels, stale_after: *stale_after }
    }

    fn signals(&self) -> [Option<SignalGlance<'_>>; Signal::ALL.len()] {
        Signal::ALL.map(|signal| {
            let view = self.signals.iter().find(|view| view.signal == signal)?;
            Some(view.glance())
        })
    }

    fn figures(&self) -> FiguresGlance<'_> {
        let of = |canary: &CanaryView| Some((canary.kind, canary.verdict.as_deref()? == "right"));
        FiguresGlance {
            seen_at: self.marked_at(),
            canaries: self.canaries.iter().filter_map(of).collect(),
            coverage: self.day.coverage,
            tools_tokens: self.tools.as_ref().and_then(|tools| tools.seen.tokens),
            answer_tokens: &self.answer_tokens,
            spent_today: self.cost.spent[1].footprint,
            hold: self.cost.hold,
        }
    }

    fn p95_ms(&self) -> Option<f64> {
        self.latency.p95_ms.map(|(p95_ms, _)| p95_ms)
    }

    fn p95_limit_ms(&self) -> f64 {
        self.latency.limit_ms
    }

    fn since(&self) -> DateTime<Utc> {
        self.since
    }

    fn was_well(&self) -> bool {
        self.strip.iter().any(BeatMark::is_well)
    }

    fn has_worked(&self) -> bool {
        self.has_worked
    }

    fn first_seen(&self) -> DateTime<Utc> {
        self.day.first_seen
    }

    fn view(&self) -> MonitorView {
        self.clone()
    }
}

impl SignalView {
    /// What lists read of it.
    pub fn glance(&self) -> SignalGlance<'_> {
        SignalGlance { signal: self.signal, phase: self.phase, incident: self.incident.as_ref().map(incident) }
    }
}

fn incident(open: &OpenIncident) -> IncidentGlance<'_> {
    IncidentGlance {
        id: &open.id,
        reason: open.reason,
        severity: open.severity,
        is_taken: open.is_taken,
        is_quiet: open.quiet.is_some(),
    }
}
