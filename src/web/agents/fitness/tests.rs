use std::collections::BTreeMap;

use chrono::TimeDelta;

use super::*;
use crate::domain::context::Spread;
use crate::domain::monitor::{CanaryKind, MonitorId};
use crate::domain::observation::Footprint;
use crate::domain::reason::FailureReason;
use crate::live::glance::{DeclaredGlance, FiguresGlance, IncidentGlance};
use crate::live::monitor_view::RollUp;

/// A monitor that stands as a row says.
#[derive(Debug)]
struct Stands {
    id: MonitorId,
    labels: BTreeMap<String, String>,
    tokens: Spread,
    seen_at: Option<DateTime<Utc>>,
    signals: Vec<(Signal, Phase, Option<Severity>)>,
    canaries: Vec<(CanaryKind, bool)>,
}

impl Standing for Stands {
    fn id(&self) -> &MonitorId {
        &self.id
    }

    fn roll_up(&self) -> RollUp {
        RollUp::Up
    }

    fn declared(&self) -> DeclaredGlance<'_> {
        DeclaredGlance { name: "docs", url: "", labels: &self.labels, stale_after: Duration::from_secs(190) }
    }

    fn signals(&self) -> [Option<SignalGlance<'_>>; Signal::ALL.len()] {
        let reason = FailureReason::EmptyResults;
        Signal::ALL.map(|signal| {
            let (_, phase, severity) = self.signals.iter().find(|(of, ..)| *of == signal)?;
            let incident =
                severity.map(|severity| IncidentGlance { id: "i", reason, severity, is_taken: false, is_quiet: false });
            Some(SignalGlance { signal, phase: *phase, incident })
        })
    }

    fn figures(&self) -> FiguresGlance<'_> {
        FiguresGlance {
            seen_at: self.seen_at,
            canaries: self.canaries.iter().copied().collect(),
            coverage: None,
            tools_tokens: None,
            answer_tokens: &self.tokens,
            spent_today: Footprint::default(),
            hold: None,
        }
    }

    fn p95_limit_ms(&self) -> f64 {
        0.0
    }

    fn since(&self) -> DateTime<Utc> {
        DateTime::default()
    }

    fn p95_ms(&self) -> Option<f64> {
        None
    }

    fn was_well(&self) -> bool {
        unreachable!("nobody asks")
    }

    fn has_worked(&self) -> bool {
        unreachable!("nobody asks")
    }

    fn first_seen(&self) -> DateTime<Utc> {
        unreachable!("nobody asks")
    }

    fn view(&self) -> MonitorView {
        unreachable!("a level is told without drawing anything")
    }
}

#[test]
fn a_server_is_as_fit_as_its_last_answers() {
    use CanaryKind::{Keyword, Mixed, Negative};
    use FitnessLevel::{Degraded, Fit, Unfit, Unknown};
    type Row<'r> = (i64, &'r [(Signal, Phase, Option<Severity>)], &'r [(CanaryKind, bool)], FitnessLevel, &'r str);
    let (page, ticket) = (Some(Severity::Page), Some(Severity::Ticket));
    let rows: [Row<'_>; 17] = [
        (60, &[], &[(Keyword, true), (Negative, true)], Fit, "asked lately, and all right"),
        (60, &[], &[(Keyword, true), (Mixed, false)], Degraded, "one answer was wrong, and nobody was told yet"),
        (60, &[], &[(Keyword, false), (Mixed, false)], Unfit, "no answer was right"),
        (60, &[], &[(Keyword, false), (Negative, true)], Unfit, "what is found of nothing is no find"),
        (60, &[], &[(Keyword, true), (Negative, false)], Degraded, "it finds what is not there as well"),
        (60, &[], &[(Negative, true)], Unknown, "nothing was asked for that is there"),
        (60, &[], &[], Unknown, "nothing was asked"),
        (600, &[], &[(Keyword, true)], Unknown, "right, ten minutes ago"),
        (600, &[], &[(Keyword, false)], Unfit, "wrong, ten minutes ago"),
        (600, &[(Signal::Latency, Phase::Open, ticket)], &[(Keyword, true)], Unknown, "old knowledge is none"),
        (60, &[(Signal::Latency, Phase::Open, ticket)], &[(Keyword, true)], Degraded, "slow, by a ticket"),
        (60, &[(Signal::Latency, Phase::Pending, None)], &[(Keyword, true)], Degraded, "slow, in doubt"),
        (60, &[(Signal::Quality, Phase::Open, page)], &[(Keyword, true)], Unfit, "a page is open"),
        (60, &[(Signal::Quality, Phase::Clearing, page)], &[(Keyword, true)], Unfit, "a page is not over yet"),
        (60, &[(Signal::Access, Phase::Open, ticket)], &[(Keyword, true)], Unfit, "nobody gets in"),
        (60, &[(Signal::Availability, Phase::Pending, None)], &[(Keyword, true)], Unfit, "it was down just now"),
        (60, &[(Signal::Contract, Phase::Open, ticket)], &[], Unknown, "changed, and judged by nobody"),
    ];
    let now = Utc::now();
    for (age, signals, canaries, expected, sentence) in rows {
        let stands = Stands {
            id: MonitorId::new("docs"),
            labels: BTreeMap::new(),
            tokens: Spread::default(),
            seen_at: Some(now - TimeDelta::seconds(age)),
            signals: signals.to_vec(),
            canaries: canaries.to_vec(),
        };
        assert_eq!(level(&stands, now), expected, "{sentence}");
        assert_eq!(level(&Stands { seen_at: None, signals: Vec::new(), canaries: Vec::new(), ..stands }, now), Unknown);
    }
}
