//! What is kept in memory of a monitor's last probe: what its pages show, in as few bytes as that takes.
//!
//! A fleet has fifty thousand of them, and hardly anybody looks. Answers and judgements of canaries are not among it: they
//! stand in the monitor's state and in the database.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::fault::Fault;
use crate::domain::monitor::MonitorId;
use crate::domain::observation::{
    BeatKind, Footprint, HealthSeen, Observation, Phases, ServerIdentity, Stage, Step, ToolsSeen,
};
use crate::domain::outcome::{Finding, Outcome, Verdict};
use crate::domain::protocol::{Era, Transport};
use crate::domain::sources::SourcesSeen;

/// The last probe of a monitor.
#[derive(Debug)]
pub(crate) struct KeptProbe {
    kind: BeatKind,
    verdict: Verdict,
    era: Option<Era>,
    transport: Option<Transport>,
    scheduled_at: DateTime<Utc>,
    started_at: DateTime<Utc>,
    /// When the last one began that somebody asked for.
    pub(crate) rechecked_at: Option<DateTime<Utc>>,
    elapsed: Duration,
    server: Option<Arc<ServerIdentity>>,
    steps: Box<[KeptStep]>,
    health: Box<[HealthSeen]>,
    /// Read once an hour: most probes have none.
    sources: Option<Box<SourcesSeen>>,
    footprint: Footprint,
    /// Whether it saw the tools; the list itself is kept as the one seen last.
    saw_tools: bool,
    findings: Box<[Finding]>,
}

/// A step; its times in microseconds, as the pages show tenths of a millisecond.
#[derive(Debug)]
struct KeptStep {
    stage: Stage,
    fresh_connection: bool,
    elapsed_us: u32,
    phases_us: [u32; 6],
    label: Box<str>,
    /// What most steps have nothing of.
    odd: Option<Box<(Option<Fault>, Vec<String>)>>,
}

/// Stands for a phase that was not reached.
const NOT_REACHED: u32 = u32::MAX;

impl KeptProbe {
    /// Keeps what pages show; `before` is the one kept until now, whose server mostly is the same.
    pub(crate) fn new(seen: Observation, outcome: Outcome, before: Option<&Self>) -> Self {
        let known = before.and_then(|before| before.server.as_ref());
        let server = seen.server.map(|server| match known {
            Some(known) if **known == server => Arc::clone(known),
            _ => Arc::new(server),
        });
        Self {
            kind: seen.kind,
            verdict: outcome.verdict,
            era: seen.era,
            transport: seen.transport,
            scheduled_at: seen.scheduled_at,
            started_at: seen.started_at,
            rechecked_at: match seen.kind {
                BeatKind::Recheck => Some(seen.started_at),
                _ => before.and_then(|before| before.rechecked_at),
            },
            elapsed: seen.elapsed,
            server,
            steps: seen.steps.into_iter().map(KeptStep::from).collect(),
            health: seen.health.into(),
            sources: seen.sources.map(Box::new),
            footprint: seen.footprint,
            saw_tools: seen.tools.is_some(),
            findings: outcome.findings.into(),
        }
    }

    /// The probe as pages show it; `tools` are those seen last.
    pub(crate) fn shown(&self, monitor: &MonitorId, tools: Option<&ToolsSeen>) -> (Observation, Outcome) {
        let seen = Observation {
            elapsed: self.elapsed,
            era: self.era,
            transport: self.transport,
            server: self.server.as_deref().cloned(),
            steps: self.steps.iter().map(Step::from).collect(),
            tools: tools.filter(|_| self.saw_tools).cloned(),
            health: self.health.to_vec(),
            sources: self.sources.as_deref().cloned(),
            footprint: self.footprint,
            ..Observation::blank(monitor.clone(), self.kind, self.scheduled_at, self.started_at)
        };
        (seen, Outcome { verdict: self.verdict, findings: self.findings.to_vec(), asks: Vec::new() })
    }
}

impl From<Step> for KeptStep {
    fn from(step: Step) -> Self {
        let Step { stage, label, elapsed, phases, fresh_connection, fault, notes } = step;
        let Phases { name, connect, tls, headers, answer, end } = phases;
        Self {
            stage,
            fresh_connection,
            elapsed_us: micros(elapsed),
            phases_us: [name, connect, tls, headers, answer, end].map(|at| at.map_or(NOT_REACHED, micros)),
            label: label.into(),
            odd: (fault.is_some() || !notes.is_empty()).then(|| Box::new((fault, notes))),
        }
    }
}

impl From<&KeptStep> for Step {
    fn from(kept: &KeptStep) -> Self {
        let reached = |at: u32| (at != NOT_REACHED).then(|| Duration::from_micros(at.into()));
        let [name, connect, tls, headers, answer, end] = kept.phases_us.map(reached);
        let (fault, notes) = kept.odd.as_deref().cloned().unwrap_or_default();
        Self {
            stage: kept.stage,
            label: kept.label.to_string(),
            elapsed: Duration::from_micros(kept.elapsed_us.into()),
            phases: Phases { name, connect, tls, headers, answer, end },
            fresh_connection: kept.fresh_connection,
            fault,
            notes,
        }
    }
}

/// Whole microseconds, 71 minutes at most: a probe ends long before.
fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX).min(NOT_REACHED - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fault::FaultKind;
    use crate::domain::reason::FailureReason;
    use crate::domain::signal::Signal;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 250_000_000).unwrap()
    }

    fn step(stage: Stage, fault: Option<Fault>, notes: &[&str]) -> Step {
        Step {
            stage,
            label: stage.slug().to_owned(),
            elapsed: Duration::from_micros(8_123),
            phases: Phases { connect: Some(Duration::from_micros(77)), end: Some(Duration::ZERO), ..Phases::default() },
            fresh_connection: stage == Stage::Connect,
            fault,
            notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        }
    }

    #[test]
    fn a_page_shows_the_probe_as_it_was() {
        let id = MonitorId::new("docs");
        let refused = Fault { kind: FaultKind::Refused, detail: "nobody listens".to_owned() };
        let seen = Observation {
            elapsed: Duration::from_nanos(9_000_001),
            era: Some(Era::Legacy),
            transport: Some(Transport::Http),
            server: Some(ServerIdentity { name: "rag".to_owned(), ..ServerIdentity::default() }),
            steps: vec![step(Stage::Connect, None, &["redirected"]), step(Stage::Search, Some(refused), &[])],
            tools: Some(ToolsSeen { search_tool: Some("search".to_owned()), ..ToolsSeen::default() }),
            sources: Some(SourcesSeen { count: 7, total: Some(9), ..SourcesSeen::default() }),
            footprint: Footprint { requests: 5, ..Footprint::default() },
            ..Observation::blank(id.clone(), BeatKind::Suspect, at(0), at(1))
        };
        let finding = Finding {
            signal: Signal::Availability,
            reason: FailureReason::ConnectionRefused,
            severity: None,
            stage: Stage::Search,
            summary: "refused".to_owned(),
            evidence: Vec::new(),
        };
        let outcome = Outcome { verdict: Verdict::Down, findings: vec![finding], asks: Vec::new() };
        let kept = KeptProbe::new(seen.clone(), outcome.clone(), None);
        assert_eq!(kept.shown(&id, seen.tools.as_ref()), (seen.clone(), outcome.clone()));
        let blind = KeptProbe::new(Observation { tools: None, ..seen.clone() }, outcome.clone(), Some(&kept));
        assert_eq!(blind.shown(&id, seen.tools.as_ref()).0.tools, None, "tools of an earlier beat are not this one's");
        let (before, now) = (kept.server.as_ref().unwrap(), blind.server.as_ref().unwrap());
        assert!(Arc::ptr_eq(before, now), "the same server is kept once");
    }

    #[test]
    fn what_somebody_asked_for_is_known_until_somebody_asks_again() {
        use BeatKind::{Recheck, Scheduled, Suspect};
        let mut kept: Option<KeptProbe> = None;
        let known =
            [(Scheduled, None), (Recheck, Some(1)), (Scheduled, Some(1)), (Suspect, Some(1)), (Recheck, Some(4))];
        for (second, (kind, expected)) in known.into_iter().enumerate() {
            let second = i64::try_from(second).unwrap();
            let seen = Observation::blank(MonitorId::new("docs"), kind, at(second), at(second));
            let outcome = Outcome { verdict: Verdict::Good, findings: Vec::new(), asks: Vec::new() };
            kept = Some(KeptProbe::new(seen, outcome, kept.as_ref()));
            let rechecked_at = kept.as_ref().and_then(|kept| kept.rechecked_at);
            assert_eq!(rechecked_at, expected.map(at), "beat {second}, {kind:?}");
        }
    }

    #[test]
    fn a_step_without_oddities_is_small() {
        assert!(size_of::<KeptStep>() <= 64, "{} bytes", size_of::<KeptStep>());
        assert!(size_of::<KeptProbe>() <= 240, "{} bytes", size_of::<KeptProbe>());
    }
}
