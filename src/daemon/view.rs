//! One monitor as pages show it, drawn anew after each beat.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::daemon::runtime::MonitorRuntime;
use crate::domain::monitor::{Canary, CanaryKind};
use crate::domain::observation::BeatKind;
use crate::domain::outcome::{AskVerdict, Verdict};
use crate::domain::quality::confirmation::CanaryState;
use crate::domain::signal::{Phase, Signal};
use crate::live::state::{
    CanaryView, CostView, DayView, DeclaredView, LatencyView, MonitorView, OpenIncident, RollUp, SignalView, ToolsView,
};

/// A monitor not seen for so many intervals is unknown, whatever it was.
const STALE_INTERVALS: u32 = 3;

impl MonitorRuntime {
    /// The monitor as pages show it.
    pub(crate) fn view(&mut self, now: DateTime<Utc>) -> MonitorView {
        let roll_up = self.roll_up(now);
        if roll_up != self.rolled_up.0 {
            self.rolled_up = (roll_up, now);
        }
        MonitorView {
            id: self.monitor.id.clone(),
            declared: self.declared(),
            roll_up,
            since: self.rolled_up.1,
            signals: self.signals(),
            strip: Arc::clone(&self.history.strip),
            latency: self.latency(),
            canaries: self.monitor.canaries.iter().map(|canary| self.canary(canary)).collect(),
            last: self.last.clone(),
            cost: CostView {
                spent: self.spending.days(),
                hold: self.spending.hold(&self.monitor, BeatKind::Scheduled, now),
            },
            profile: self.profile.clone(),
            tools: self.listings.last.as_ref().map(|listed| ToolsView {
                seen: listed.tools.clone(),
                seen_at: listed.at,
                era: listed.era,
                accepted: self.state.tools.baseline.clone(),
            }),
            answer_tokens: self.answer_tokens,
            day: self.day(now),
            trouble: self.trouble.clone(),
        }
    }

    fn declared(&self) -> DeclaredView {
        DeclaredView {
            name: self.monitor.name.clone(),
            url: self.monitor.url.shown.clone(),
            labels: self.monitor.labels.clone(),
            every: self.monitor.every,
            line: self.monitor.line,
            calls_per_day: self.monitor.calls_per_day(),
        }
    }

    fn latency(&self) -> LatencyView {
        let rule = &self.monitor.rules.latency;
        let p95 = self.state.latency.p95().filter(|(_, n)| *n >= rule.min_samples);
        LatencyView {
            p95_ms: p95.map(|(p95, n)| (p95.as_secs_f64() * 1e3, n)),
            samples: (self.state.latency.len(), rule.min_samples),
            limit_ms: rule.p95.as_secs_f64() * 1e3,
        }
    }

    fn day(&self, now: DateTime<Utc>) -> DayView {
        let (coverage, uptime) = self.history.coverage(self.monitor.every, now);
        DayView { coverage, uptime }
    }

    fn roll_up(&self, now: DateTime<Utc>) -> RollUp {
        let open = |signal: Signal| self.state.signal(signal).phase == Phase::Open;
        let clearing = |signal: Signal| self.state.signal(signal).phase == Phase::Clearing;
        let pending = |signal: Signal| self.state.signal(signal).phase == Phase::Pending;
        let seen = self.history.strip.iter().rev().find(|mark| mark.verdict != Verdict::Unknown);
        let stale = seen.is_none_or(|mark| {
            (now - mark.at).to_std().is_ok_and(|age| age > self.monitor.every * STALE_INTERVALS + self.monitor.timeout)
        });
        match () {
            () if open(Signal::Availability) => RollUp::Down,
            () if open(Signal::Access) => RollUp::NoAccess,
            () if Signal::ALL.into_iter().any(open) => RollUp::Degraded,
            () if Signal::ALL.into_iter().any(clearing) => RollUp::Recovering,
            () if stale => RollUp::Unknown,
            () if Signal::ALL.into_iter().any(pending) => RollUp::Waiting,
            () => RollUp::Up,
        }
    }

    fn signals(&self) -> Vec<SignalView> {
        let rules = &self.monitor.rules;
        let judged = |signal: &Signal| match signal {
            Signal::Availability | Signal::Access | Signal::Contract | Signal::Latency => true,
            Signal::Errors | Signal::Quality => !self.monitor.canaries.is_empty(),
            Signal::Freshness => rules.freshness.is_some(),
            Signal::Health => !self.monitor.health.is_empty(),
        };
        let view = |signal: Signal| {
            let (state, reading) = (self.state.signal(signal), self.state.reading(signal));
            SignalView {
                signal,
                phase: state.phase,
                level: reading.level,
                figure: self.figure(signal),
                since: state.since,
                held_by: state.held_by.clone(),
                incident: self.state.incident(signal).map(|incident| OpenIncident {
                    id: incident.id.clone(),
                    reason: incident.reason,
                    severity: incident.severity,
                    summary: incident.summary.clone(),
                    opened_at: incident.opened_at,
                }),
            }
        };
        Signal::ALL.into_iter().filter(judged).map(view).collect()
    }

    /// The reading in words, and how far the signal is where it is on its way to an incident or back.
    fn figure(&self, signal: Signal) -> String {
        let figure = &self.state.reading(signal).figure;
        match (self.state.clearing(signal, &self.monitor), self.state.pending(signal, &self.monitor)) {
            (Some((good, needed)), _) => format!("{figure}; {good} of {needed} good beats"),
            (None, Some(far)) => format!("{figure}; {far}"),
            (None, None) => figure.clone(),
        }
    }

    fn canary(&self, canary: &Canary) -> CanaryView {
        let expected = match canary.kind {
            CanaryKind::Negative => {
                canary.max_score.map_or_else(|| "nothing".to_owned(), |limit| format!("nothing scored above {limit}"))
            }
            _ => format!("{} within {}", canary.expect.join(" or "), canary.within),
        };
        let heard = self.state.canaries.get(&canary.id);
        let (got, rank) = heard.map_or((String::new(), None), |heard| got(heard));
        CanaryView {
            id: canary.id.clone(),
            kind: canary.kind,
            query: canary.query.clone(),
            expected,
            verdict: heard.and_then(|heard| heard.outcome()).map(|last| last.slug().to_owned()),
            heard: self.state.is_heard(&canary.id),
            got,
            rank,
            wrong_in_a_row: heard.map_or(0, |heard| heard.wrong_in_a_row),
            answered_at: heard.and_then(|heard| heard.answered_at),
            elapsed_ms: heard.filter(|heard| heard.outcome().is_some()).map(|heard| heard.elapsed.as_secs_f64() * 1e3),
        }
    }
}

fn got(heard: &CanaryState) -> (String, Option<u32>) {
    match &heard.outcome() {
        None | Some(AskVerdict::NotAsked) => (String::new(), None),
        Some(AskVerdict::Right { rank: Some(rank) }) => (format!("at rank {rank}"), Some(*rank)),
        Some(AskVerdict::Right { rank: None }) => ("nothing, as it should".to_owned(), None),
        Some(AskVerdict::Wrong { reason, rank, seen }) => (format!("{}: {seen}", reason.slug()), *rank),
        Some(AskVerdict::Failed { reason }) => (format!("no answer: {}", reason.slug()), None),
    }
}
