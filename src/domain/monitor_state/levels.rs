//! What a beat says of each signal: its level, its figure, and with what cause an incident would open.

use std::borrow::Cow;

use chrono::SecondsFormat;

use crate::domain::context;
use crate::domain::contract::{self};
use crate::domain::incident::Incident;
use crate::domain::monitor::{Canary, Monitor};
use crate::domain::monitor_state::cause::{Cause, cause, named_by_health};
use crate::domain::monitor_state::hearing::CanaryScore;
use crate::domain::monitor_state::intake::Fresh;
use crate::domain::monitor_state::state::{Beat, MonitorState};
use crate::domain::monitor_state::thresholds::rule_of;
use crate::domain::observation::{Stage, ToolsSeen};
use crate::domain::outcome::{Evidence, Finding};
use crate::domain::pinned::Relation;
use crate::domain::quality::changes::self_reported;
use crate::domain::quality::corpus::SOURCES_KNOWN;
use crate::domain::quality::corpus::whole_count;
use crate::domain::quality::diagnosis::{Diagnosis, Known, diagnose};
use crate::domain::quality::extent::{Horizon, Roll, clock};
use crate::domain::quality::index_sight::{CACHED_ANSWERS, Unseen};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::rules::ContextRule;
use crate::domain::signal::{Level, Phase, Reading, Signal};
use crate::domain::sources::{NewestSource, SourcesLeft, SourcesSeen};
use crate::domain::wording::{counted, span};

impl MonitorState {
    /// What this beat says of a signal, and with what cause it would open.
    pub(super) fn level(&self, signal: Signal, beat: Beat<'_>, fresh: Fresh) -> (Reading, Option<Cause>) {
        match signal {
            Signal::Availability => self.by_finding(signal, beat, !throttled(beat)),
            Signal::Access => {
                // A 429 before any search comes before anybody looks at credentials.
                let reached = beat.outcome.finding(Signal::Availability).is_none();
                self.access_level(beat, reached && !throttled(beat))
            }
            Signal::Health => {
                let asked = !beat.seen.health.is_empty() && !beat.seen_unreachable();
                self.by_finding(signal, beat, asked)
            }
            Signal::Freshness => self.freshness_level(beat),
            Signal::Errors => self.errors_level(beat, fresh),
            Signal::Latency => self.latency_level(beat, fresh),
            Signal::Contract => self.contract_level(beat),
            Signal::Quality => self.quality_level(beat, fresh),
        }
    }

    /// A beat that found something is elevated; one that could have and did not is calm.
    pub(super) fn by_finding(&self, signal: Signal, beat: Beat<'_>, looked: bool) -> (Reading, Option<Cause>) {
        let (severity, line) = rule_of(beat.monitor, signal);
        match beat.outcome.finding(signal) {
            Some(finding) => {
                let figure: Cow<'static, str> = match self.signal(signal).phase {
                    Phase::Quiet | Phase::Pending => {
                        format!("{}, {}", finding.reason.slug(), self.bad_beats_said(signal, beat.monitor)).into()
                    }
                    Phase::Open | Phase::Clearing => finding.reason.slug().into(),
                };
                (reading(Level::Elevated, figure, 1), Some(cause(finding, severity, line)))
            }
            None if looked => (reading(Level::Calm, "well", 1), None),
            // Asked once an hour: between two looks the last one is what there is to show.
            None if signal == Signal::Freshness && self.reading(signal).samples > 0 => {
                (Reading { level: Level::Unknown, ..self.reading(signal).clone() }, None)
            }
            None => (reading(Level::Unknown, "not seen", 0), None),
        }
    }

    /// What was seen of the sources may be too little to judge by: that is unknown, and its figure says how far one got.
    fn freshness_level(&self, beat: Beat<'_>) -> (Reading, Option<Cause>) {
        if let Some(shrunk) = self.shrunk(beat) {
            return shrunk;
        }
        let looked = beat.monitor.rules.freshness.as_ref().zip(beat.seen.sources.as_ref());
        let judged =
            looked.and_then(|(rule, sources)| Some((sources, sources.newest(rule.older_than, beat.seen.started_at)?)));
        match judged {
            // Looked at whole within the hour: that look stands.
            Some((SourcesSeen { left: Some(SourcesLeft::Spared), .. }, NewestSource::Unproven))
                if self.reading(Signal::Freshness).samples > 0 =>
            {
                self.by_finding(Signal::Freshness, beat, false)
            }
            Some((sources, NewestSource::Unproven)) => (reading(Level::Unknown, sources.not_judged(), 1), None),
            judged => self.by_finding(Signal::Freshness, beat, judged.is_some() || self.counts_alone(beat)),
        }
    }

    /// Whether the number of sources is all that is judged of them, and was just seen.
    fn counts_alone(&self, beat: Beat<'_>) -> bool {
        let (monitor, seen) = (beat.monitor, beat.seen.sources.as_ref());
        monitor.rules.freshness.is_none() && monitor.lists_sources() && seen.and_then(whole_count).is_some()
    }

    /// Sources that are missing; not judged again before the whole list is seen again. None where nothing is missing.
    fn shrunk(&self, beat: Beat<'_>) -> Option<(Reading, Option<Cause>)> {
        let shrinks = beat.monitor.shrinks()?;
        let missing = self.sources.missing(&shrinks, beat.monitor.pinned_sources())?;
        if beat.seen.sources.as_ref().and_then(whole_count).is_none() {
            return Some((reading(Level::Unknown, missing.said(), 1), None));
        }
        let cause = Cause {
            reason: FailureReason::CorpusTruncated,
            severity: shrinks.severity?,
            stage: Stage::Search,
            line: rule_of(beat.monitor, Signal::Freshness).1,
            summary: missing.said(),
            evidence: missing.evidence(),
            health: Vec::new(),
            counted: None,
        };
        Some((reading(Level::Elevated, missing.said(), 1), Some(cause)))
    }

    pub(super) fn errors_level(&self, beat: Beat<'_>, fresh: Fresh) -> (Reading, Option<Cause>) {
        let rule = &beat.monitor.rules.errors;
        let mut reading = self.errors.reading(rule, self.signal(Signal::Errors).phase.has_incident());
        let evidence = self.errors.evidence();
        if !fresh.calls {
            reading.level = Level::Unknown;
        }
        let throttled = evidence.first().is_some_and(|first| first.key == FailureReason::RateLimited.slug());
        let (reason, severity) = if throttled {
            (FailureReason::RateLimited, rule.severity.min(Severity::Ticket))
        } else {
            (FailureReason::ElevatedErrorRate, rule.severity)
        };
        let main = evidence.first().map_or_else(String::new, |first| format!(", mostly {}", first.key));
        let summary = format!("{}{main}", reading.figure);
        let stage = Stage::Search;
        let mut cause =
            Cause { reason, severity, stage, line: rule.line, summary, evidence, health: Vec::new(), counted: None };
        if let Some(finding) = beat.outcome.finding(Signal::Errors) {
            cause.evidence.push(Evidence::new("latest", finding.summary.clone()));
        }
        let cause = (reading.level == Level::Elevated).then(|| named_by_health(cause, beat));
        (reading, cause)
    }

    pub(super) fn latency_level(&self, beat: Beat<'_>, fresh: Fresh) -> (Reading, Option<Cause>) {
        let rule = &beat.monitor.rules.latency;
        let mut reading = self.latency.reading(rule);
        if !fresh.samples {
            reading.level = Level::Unknown;
        }
        let cause = (reading.level == Level::Elevated).then(|| Cause {
            reason: FailureReason::LatencyElevated,
            severity: rule.severity,
            stage: Stage::Search,
            line: rule.line,
            summary: format!("{} over {}, for {}", reading.figure, span(rule.window), span(rule.sustained)),
            evidence: vec![
                Evidence::new("p95", reading.figure.to_string()),
                Evidence::new("samples", reading.samples.to_string()),
                Evidence::new("window_seconds", rule.window.as_secs().to_string()),
            ],
            health: Vec::new(),
            counted: None,
        });
        (reading, cause)
    }

    pub(super) fn contract_level(&self, beat: Beat<'_>) -> (Reading, Option<Cause>) {
        let rule = &beat.monitor.rules.contract;
        let Some(tools) = &beat.seen.tools else {
            return (reading(Level::Unknown, "not seen", 0), None);
        };
        let broken = beat.outcome.finding(Signal::Contract);
        let context = beat.monitor.rules.context.as_ref();
        let heavy = context.and_then(|rule| self.context(beat, rule, tools));
        let drifted = contract::judge(self.tools.baseline.as_ref(), tools, broken, rule);
        // What the eras say against each other is told only where nothing else is wrong with the tools.
        let eras = beat.seen.cross_check.as_ref().and_then(contract::eras);
        let drifted = drifted.or(eras.filter(|_| heavy.is_none()));
        match (drifted, heavy) {
            (Some(mut finding), heavy) => {
                finding.evidence.extend(heavy.into_iter().flat_map(|heavy| heavy.evidence));
                let figure = finding.summary.clone();
                (reading(Level::Elevated, figure, 1), Some(cause(&finding, rule.breaking, rule.line)))
            }
            (None, Some(heavy)) => {
                let (severity, line) = context.map_or((rule.breaking, rule.line), |rule| (rule.severity, rule.line));
                (reading(Level::Elevated, heavy.summary.clone(), 1), Some(cause(&heavy, severity, line)))
            }
            (None, None) if self.weighs_in_the_dark(beat, tools) => {
                (reading(Level::Unknown, "not everything is counted yet", 0), None)
            }
            (None, None) => match beat.seen.cross_check.as_ref().and_then(contract::eras) {
                // What the eras say against each other is told only where nothing else is wrong with the tools.
                Some(finding) => {
                    let figure = finding.summary.clone();
                    (reading(Level::Elevated, figure, 1), Some(cause(&finding, rule.breaking, rule.line)))
                }
                None => (reading(Level::Calm, as_accepted(tools), 1), None),
            },
        }
    }

    pub(super) fn context(&self, beat: Beat<'_>, rule: &ContextRule, tools: &ToolsSeen) -> Option<Finding> {
        let canaries = beat.monitor.canaries.iter();
        let weighed = canaries.filter_map(|canary| Some((canary, self.canaries.get(&canary.id)?.tokens?)));
        context::judge(rule, tools.tokens, weighed)
    }

    /// Whether an incident about context is open and not every figure is known: what is not counted is not light.
    pub(super) fn weighs_in_the_dark(&self, beat: Beat<'_>, tools: &ToolsSeen) -> bool {
        let about_it = |incident: &Incident| incident.reason == FailureReason::ContextCost;
        let Some(rule) = beat.monitor.rules.context.as_ref() else { return false };
        let counted = |canary: &Canary| self.canaries.get(&canary.id).is_some_and(|known| known.tokens.is_some());
        self.incident(Signal::Contract).is_some_and(about_it)
            && (rule.tools_tokens.is_some() && tools.tokens.is_none()
                || rule.answer_tokens.is_some() && !beat.monitor.canaries.iter().all(counted))
    }

    pub(super) fn quality_level(&self, beat: Beat<'_>, fresh: Fresh) -> (Reading, Option<Cause>) {
        let rule = &beat.monitor.rules.quality;
        let horizon = self.horizon(beat.now);
        let is_inconsistent = self.changes.broken_relation() == Some(Relation::SameTwice);
        let (shrinks, pinned) = (beat.monitor.shrinks(), beat.monitor.pinned_sources());
        let corpus_holds = shrinks.is_some_and(|shrinks| self.sources.holds(&shrinks, pinned));
        let known = Known {
            unlisted: if corpus_holds { &self.unlisted } else { &[] },
            missing: shrinks.and_then(|shrinks| self.sources.missing(&shrinks, pinned)),
            pinned: beat.monitor.pinned.as_deref(),
            is_inconsistent,
            is_steady: !is_inconsistent && beat.monitor.asks_twice(),
            lists: rule.checks.lists,
        };
        let diagnosis = horizon.and_then(|horizon| diagnose(&beat.monitor.canaries, known, &self.canaries, horizon));
        let level = match &diagnosis {
            _ if !fresh.answers => Level::Unknown,
            // Confirmed once, and just now right: neither well nor worth a page.
            Some(found) if found.extent.wrong == 0 => Level::Unknown,
            Some(_) => Level::Elevated,
            None => Level::Calm,
        };
        let (figure, heard) = self.quality_figure(beat.monitor, horizon);
        let samples = u32::try_from(heard).unwrap_or(u32::MAX);
        if let Some(cause) = self.eroded(beat).filter(|_| diagnosis.is_none()) {
            let level = if fresh.answers { Level::Elevated } else { Level::Unknown };
            return (reading(level, format!("{figure}, fewer than before"), samples), fresh.answers.then_some(cause));
        }
        if let Some(unseen) = self.index_sight.blind(beat.now).filter(|_| diagnosis.is_none()) {
            return (
                reading(Level::Elevated, format!("{figure}, by caches alone"), samples),
                Some(blind(unseen, beat)),
            );
        }
        if let Some(change) = self.change(beat).filter(|_| diagnosis.is_none()) {
            let level = if fresh.answers { Level::Elevated } else { Level::Unknown };
            let figure = format!("{figure}, {}", change.reason.slug());
            return (reading(level, figure, samples), Some(change).filter(|_| fresh.answers));
        }
        let cause = diagnosis.filter(|_| fresh.answers).map(|found| {
            let Diagnosis { reason, extent, is_slide, summary, was, mut evidence } = found;
            let answers = beat.seen.asks.iter().filter_map(|ask| ask.result.as_ref()?.as_ref().ok());
            let words = self_reported(answers).join(", ");
            evidence.extend((!words.is_empty()).then(|| Evidence::new("self_reported", words)));
            evidence.push(Evidence::new("after", self.after_said(beat.monitor)));
            let sources = self.sources.latest().filter(|_| reason == FailureReason::CanaryStale);
            evidence.extend(sources.map(|count| Evidence::new(SOURCES_KNOWN, count.to_string())));
            let loudest = match reason {
                FailureReason::CanaryStale => Severity::Notice,
                _ if is_slide => Severity::Ticket,
                _ if self.after(beat.monitor).may_page => Severity::Page,
                _ => Severity::Ticket,
            };
            let (severity, line, counted) = (rule.severity.min(loudest), rule.line, Some((extent, was)));
            let (stage, health) = (Stage::Search, Vec::new());
            named_by_health(Cause { reason, severity, stage, line, summary, evidence, health, counted }, beat)
        });
        (reading(level, figure, samples), cause)
    }

    /// Such as `24 of 24 canaries right, at least 86 %`, and while something is in doubt only what was heard of it; and how many that are.
    pub(super) fn quality_figure(&self, monitor: &Monitor, horizon: Option<Horizon>) -> (String, usize) {
        let Some(horizon) = horizon else {
            let score = self.canary_score(&monitor.canaries);
            let CanaryScore { right, asked, .. } = score;
            let bound = if asked > 0 { format!(", {}", score.at_least_said()) } else { String::new() };
            return (format!("{right} of {} right{bound}", counted(asked, "canary", "canaries")), asked);
        };
        let extent = Roll::call(&monitor.canaries, &self.canaries, horizon).extent(horizon, 0);
        (extent.figure(horizon.now), extent.asked)
    }
}

/// No answer came from the index for too long: what is broken there would show in none of them.
fn blind(unseen: Unseen, beat: Beat<'_>) -> Cause {
    let rule = &beat.monitor.rules.quality;
    let answers = counted(unseen.answers as usize, "answer", "answers");
    let since = unseen.since.to_rfc3339_opts(SecondsFormat::Secs, true);
    Cause {
        reason: FailureReason::IndexUnseen,
        severity: rule.severity.min(Severity::Ticket),
        stage: Stage::Search,
        line: rule.line,
        summary: format!(
            "no search reaches the index since {}: {answers}, all from a cache",
            clock(unseen.since, beat.now)
        ),
        evidence: vec![Evidence::new("since", since), Evidence::new(CACHED_ANSWERS, unseen.answers.to_string())],
        health: Vec::new(),
        counted: None,
    }
}

pub(super) fn throttled(beat: Beat<'_>) -> bool {
    beat.seen.fault_before_search().is_some() && beat.outcome.finding(Signal::Errors).is_some()
}

pub(super) fn as_accepted(tools: &ToolsSeen) -> String {
    format!("{}, as accepted", counted(tools.tools.len(), "tool", "tools"))
}

pub(super) fn reading(level: Level, figure: impl Into<Cow<'static, str>>, samples: u32) -> Reading {
    Reading { level, figure: figure.into(), samples }
}
