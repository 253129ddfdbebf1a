//! The last probe, explained stage by stage.

use chrono::{DateTime, Utc};

use crate::domain::observation::Observation;
use crate::domain::outcome::{Evidence, Outcome, Verdict};
use crate::domain::wording::counted;
use crate::web::draw::glyph::{self, Glyph};
use crate::web::draw::waterfall::{self, WaterfallBar};
use crate::web::format::{self, Timestamp};

/// Tools named on a page; the rest is counted.
const TOOLS_SHOWN_MAX: usize = 100;

/// A probe, ready to be drawn.
#[derive(Debug)]
pub(crate) struct ProbeStory {
    pub glyph: Glyph,
    pub verdict: &'static str,
    pub kind: &'static str,
    pub at: Timestamp,
    pub elapsed: String,
    /// How late it started; empty where that is nothing to speak of.
    pub late: String,
    /// What the server calls itself.
    pub server: String,
    /// The era and version spoken.
    pub protocol: String,
    pub steps: Vec<StepLine>,
    /// What was wrong, the leading cause first.
    pub findings: Vec<FindingLine>,
    /// What the health addresses said.
    pub health: Vec<HealthLine>,
    /// The sources, where they were listed.
    pub sources: Option<String>,
    pub cost: String,
    /// The tools, where they were listed.
    pub tools: Option<ToolsLine>,
}

#[derive(Debug)]
pub(crate) struct StepLine {
    pub stage: &'static str,
    pub label: String,
    pub elapsed: String,
    pub bar: WaterfallBar,
    pub fault: Option<(String, String)>,
    /// Oddities that are legal.
    pub notes: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct FindingLine {
    pub signal: &'static str,
    pub reason: &'static str,
    pub stage: &'static str,
    pub summary: String,
    pub evidence: Vec<Evidence>,
}

#[derive(Debug)]
pub(crate) struct HealthLine {
    /// The address as it may be shown.
    pub address: String,
    pub ok: bool,
    /// Everything it said, in words.
    pub said: String,
}

#[derive(Debug)]
pub(crate) struct ToolsLine {
    /// Names, and whether it is the one that searches.
    pub names: Vec<(String, bool)>,
    pub more: usize,
    /// The beginning of the hash over all of them.
    pub hash: String,
    /// Why a declared call no longer fits.
    pub invalid_call: Option<String>,
}

pub(crate) fn tell(observation: &Observation, outcome: &Outcome, now: DateTime<Utc>) -> ProbeStory {
    let late = (observation.started_at - observation.scheduled_at).to_std().unwrap_or_default();
    let server = observation.server.as_ref();
    let era = observation.era.map(|era| era.slug()).unwrap_or("era not known");
    let said = server.map(|server| format!("{era}, {}", server.protocol));
    ProbeStory {
        glyph: glyph::of_verdict(outcome.verdict),
        verdict: outcome.verdict.slug(),
        kind: observation.kind.slug(),
        at: Timestamp::new(observation.started_at, now),
        elapsed: format::millis(observation.elapsed.as_secs_f64() * 1e3),
        late: if late.as_millis() >= 100 { format::millis(late.as_secs_f64() * 1e3) } else { String::new() },
        server: server.map(|server| format!("{} {}", server.name, server.version)).unwrap_or_default(),
        protocol: said.unwrap_or_else(|| era.to_owned()),
        steps: steps(observation),
        findings: findings(outcome),
        health: health(observation),
        sources: observation.sources.as_ref().map(|sources| {
            let of = if sources.knows_newest() { "last indexed" } else { "the newest of these indexed" };
            let indexed = sources.last_indexed_at.map(|at| format!(", {of} {}", format::ago(at, now)));
            format!("{}{}", sources.said(), indexed.unwrap_or_default())
        }),
        cost: cost(observation),
        tools: tools(observation),
    }
}

/// A verdict's shape by its stored word.
pub(crate) fn glyph_of(verdict: &str) -> Glyph {
    glyph::of_verdict(Verdict::from_slug(verdict).unwrap_or(Verdict::Unknown))
}

fn steps(observation: &Observation) -> Vec<StepLine> {
    let bars = waterfall::bars(observation);
    let line = |(step, bar): (&crate::domain::observation::Step, WaterfallBar)| StepLine {
        stage: step.stage.slug(),
        label: step.label.clone(),
        elapsed: format::millis(step.elapsed.as_secs_f64() * 1e3),
        bar,
        fault: step.fault.as_ref().map(|fault| (kind_in_words(&format!("{:?}", fault.kind)), fault.detail.clone())),
        notes: step.notes.clone(),
    };
    observation.steps.iter().zip(bars).map(line).collect()
}

/// `BodyTruncated` as `body truncated`, `HttpStatus(503)` as `http status 503`.
fn kind_in_words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 8);
    for c in name.chars() {
        match c {
            'A'..='Z' if words.is_empty() => words.push(c.to_ascii_lowercase()),
            'A'..='Z' => {
                words.push(' ');
                words.push(c.to_ascii_lowercase());
            }
            '(' | '{' => words.push(' '),
            ')' | '}' => {}
            '_' => words.push(' '),
            other => words.push(other),
        }
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn findings(outcome: &Outcome) -> Vec<FindingLine> {
    let line = |finding: &crate::domain::outcome::Finding| FindingLine {
        signal: finding.signal.slug(),
        reason: finding.reason.slug(),
        stage: finding.stage.slug(),
        summary: finding.summary.clone(),
        evidence: finding.evidence.clone(),
    };
    outcome.findings.iter().map(line).collect()
}

fn health(observation: &Observation) -> Vec<HealthLine> {
    let line = |seen: &crate::domain::observation::HealthSeen| {
        let mut said = Vec::new();
        said.extend(seen.status.map(|status| format!("HTTP {status}")));
        said.extend(seen.reason.as_ref().map(|reason| format!("reason {reason}")));
        said.extend(seen.cache_warm.map(|warm| format!("cache {}", if warm { "warm" } else { "cold" })));
        said.extend(seen.version.as_ref().map(|version| format!("version {version}")));
        said.extend(seen.process_started_at.map(|at| format!("started {}", format::absolute(at))));
        said.extend(seen.fault.as_ref().map(|fault| fault.detail.clone()));
        HealthLine { address: seen.address.clone(), ok: seen.ok, said: said.join(" · ") }
    };
    observation.health.iter().map(line).collect()
}

fn cost(observation: &Observation) -> String {
    let cost = &observation.footprint;
    format!(
        "{} on {}, {} out, {} in, {} of {} sessions closed",
        counted(cost.requests, "request", "requests"),
        counted(cost.connections, "connection", "connections"),
        format::bytes(cost.bytes_out),
        format::bytes(cost.bytes_in),
        cost.sessions_closed,
        cost.sessions_opened
    )
}

fn tools(observation: &Observation) -> Option<ToolsLine> {
    let seen = observation.tools.as_ref()?;
    let searches = |name: &str| seen.search_tool.as_deref() == Some(name);
    let names = seen.tools.iter().take(TOOLS_SHOWN_MAX).map(|tool| (tool.name.clone(), searches(&tool.name)));
    Some(ToolsLine {
        names: names.collect(),
        more: seen.tools.len().saturating_sub(TOOLS_SHOWN_MAX),
        hash: seen.hash.chars().take(12).collect(),
        invalid_call: seen.invalid_call.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fault::FaultKind;

    #[test]
    fn faults_are_named_in_words() {
        let rows = [
            (FaultKind::Refused, "refused"),
            (FaultKind::BodyTruncated, "body truncated"),
            (FaultKind::HttpStatus(503), "http status 503"),
            (FaultKind::RateLimited { retry_after_seconds: None }, "rate limited retry after seconds: none"),
        ];
        for (kind, said) in rows {
            assert_eq!(kind_in_words(&format!("{kind:?}")), said);
        }
    }
}
