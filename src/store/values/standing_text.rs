//! What one machine publishes of a monitor, as JSON: words are slugs, moments and lengths microseconds. Of what a newer
//! Serin adds an older one reads nothing: a signal, an incident, or what holds beats back, that it does not know, is left out
//! alone.

use std::borrow::Cow;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::domain::flapping::Flapping;
use crate::domain::monitor::MonitorId;
use crate::domain::monitor_state::CanaryScore;
use crate::domain::observation::BeatKind;
use crate::domain::outcome::Verdict;
use crate::domain::protocol::Era;
use crate::domain::rate_limit::{Cap, Hold};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::signal::{HeldBy, Level, Phase, Signal};
use crate::live::glance::CanariesGlance;
use crate::live::monitor_view::{Look, OpenIncident, RollUp, SignalView};
use crate::live::published::SlimStanding;
use crate::store::values::column::{micros, word};
use crate::store::values::error::StoreError;

#[derive(Debug, Serialize, Deserialize)]
struct StandingText<'a> {
    roll_up: Cow<'a, str>,
    since: i64,
    signals: Vec<serde_json::Value>,
    /// Down, and in doubt.
    #[serde(default)]
    as_parent: (bool, bool),
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen_at: Option<i64>,
    #[serde(default)]
    was_well: bool,
    has_worked: bool,
    first_seen: i64,
    /// Right, not right, finding, found.
    #[serde(default)]
    canaries: [usize; 4],
    /// Right, asked, not asked, and since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    score: Option<(usize, usize, usize, Option<i64>)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    look: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    coverage: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p95_ms: Option<(f64, u32)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    original: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hold: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trouble: Option<Cow<'a, str>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct LookText<'a> {
    kind: Cow<'a, str>,
    at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rechecked_at: Option<i64>,
    elapsed: i64,
    verdict: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<Cow<'a, str>>,
    #[serde(default)]
    findings: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    era: Option<Cow<'a, str>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SignalText<'a> {
    signal: Cow<'a, str>,
    phase: Cow<'a, str>,
    level: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    figure: Cow<'a, str>,
    since: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held_by: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    incident: Option<IncidentText<'a>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct IncidentText<'a> {
    id: Cow<'a, str>,
    reason: Cow<'a, str>,
    severity: Cow<'a, str>,
    summary: Cow<'a, str>,
    opened_at: i64,
    since: i64,
    /// Openings, how long it has to be calm, and whether people were told of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flapping: Option<(u32, i64, bool)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quiet: Option<Cow<'a, str>>,
    #[serde(default)]
    is_taken: bool,
    #[serde(default)]
    sequence: u32,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HoldText {
    Quiet(i64, Option<i64>),
    Spent(CapText, i64),
    Spaced(CapText, i64),
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CapText {
    Requests(u64),
    Bytes(u64),
}

/// As it stands in its column.
pub(in crate::store) fn written(published: &SlimStanding) -> String {
    let CanariesGlance { right, not_right, finding, found } = published.canaries;
    let text = StandingText {
        roll_up: published.roll_up.word().into(),
        since: published.since.timestamp_micros(),
        signals: published.signals.iter().filter_map(|view| serde_json::to_value(signal_text(view)).ok()).collect(),
        as_parent: published.as_parent,
        seen_at: published.seen_at.map(|at| at.timestamp_micros()),
        was_well: published.was_well,
        has_worked: published.has_worked,
        first_seen: published.first_seen.timestamp_micros(),
        canaries: [right, not_right, finding, found],
        score: published.score.map(|it| (it.right, it.asked, it.not_asked, it.since.map(|at| at.timestamp_micros()))),
        look: published.look.as_ref().and_then(|look| serde_json::to_value(look_text(look)).ok()),
        coverage: published.coverage,
        p95_ms: published.p95_ms,
        tools: published.tools.as_ref().and_then(|tools| serde_json::to_value(tools::written(tools)).ok()),
        original: published.as_original.as_ref().and_then(|it| serde_json::to_value(original::written(it)).ok()),
        hold: published.hold.map(hold_text).and_then(|hold| serde_json::to_value(hold).ok()),
        trouble: published.trouble.as_deref().map(Cow::from),
    };
    // Nothing in it can fail: every key is a string, and JSON has a form for each figure.
    serde_json::to_string(&text).unwrap_or_default()
}

fn look_text(look: &Look) -> LookText<'_> {
    LookText {
        kind: look.kind.slug().into(),
        at: look.started_at.timestamp_micros(),
        rechecked_at: look.rechecked_at.map(|at| at.timestamp_micros()),
        elapsed: micros(look.elapsed),
        verdict: look.verdict.slug().into(),
        reason: look.reason.map(|reason| reason.slug().into()),
        summary: look.summary.as_deref().map(Cow::from),
        findings: look.findings,
        era: look.era.map(|era| era.slug().into()),
    }
}

fn signal_text(view: &SignalView) -> SignalText<'_> {
    SignalText {
        signal: view.signal.slug().into(),
        phase: view.phase.slug().into(),
        level: view.level.slug().into(),
        figure: view.figure.as_str().into(),
        since: view.since.timestamp_micros(),
        held_by: view.held_by.map(|by| by.slug().into()),
        incident: view.incident.as_ref().map(incident_text),
    }
}

fn incident_text(open: &OpenIncident) -> IncidentText<'_> {
    IncidentText {
        id: open.id.as_str().into(),
        reason: open.reason.slug().into(),
        severity: open.severity.slug().into(),
        summary: open.summary.as_str().into(),
        opened_at: open.opened_at.timestamp_micros(),
        since: open.since.timestamp_micros(),
        flapping: open.flapping.map(|it| (it.openings, micros(it.calm), it.told)),
        quiet: open.quiet.as_deref().map(Cow::from),
        is_taken: open.is_taken,
        sequence: open.sequence,
    }
}

fn hold_text(hold: Hold) -> HoldText {
    let cap = |cap| match cap {
        Cap::Requests(most) => CapText::Requests(most),
        Cap::Bytes(most) => CapText::Bytes(most),
    };
    match hold {
        Hold::Quiet { until, asked } => HoldText::Quiet(until.timestamp_micros(), asked.map(micros)),
        Hold::Spent { cap: of, until } => HoldText::Spent(cap(of), until.timestamp_micros()),
        Hold::Spaced { cap: of, every } => HoldText::Spaced(cap(of), micros(every)),
    }
}

/// Reads it back.
pub(in crate::store) fn read((monitor, node): (&str, &str), text: &str) -> Result<SlimStanding, StoreError> {
    let unreadable = |error| StoreError::Unreadable(format!("the standing of {monitor}: {error}"));
    let published: StandingText<'_> = serde_json::from_str(text).map_err(unreadable)?;
    let [right, not_right, finding, found] = published.canaries;
    Ok(SlimStanding {
        id: MonitorId::new(monitor),
        node: node.to_owned(),
        // One that we do not know is nothing that we know to be well.
        roll_up: RollUp::from_word(&published.roll_up).unwrap_or(RollUp::Unknown),
        since: moment(published.since)?,
        signals: published
            .signals
            .into_iter()
            .filter_map(|text| {
                let text = serde_json::from_value(text).map_err(unreadable);
                known(monitor, text.and_then(|text| signal(monitor, text)))
            })
            .collect(),
        as_original: published
            .original
            .and_then(|text| known(monitor, serde_json::from_value(text).map_err(unreadable).and_then(original::read))),
        as_parent: published.as_parent,
        seen_at: published.seen_at.map(moment).transpose()?,
        was_well: published.was_well,
        has_worked: published.has_worked,
        first_seen: moment(published.first_seen)?,
        canaries: CanariesGlance { right, not_right, finding, found },
        score: published.score.and_then(|text| known(monitor, score(text))),
        look: published
            .look
            .and_then(|text| known(monitor, serde_json::from_value(text).map_err(unreadable).and_then(look))),
        coverage: published.coverage,
        p95_ms: published.p95_ms,
        tools: published
            .tools
            .and_then(|text| known(monitor, serde_json::from_value(text).map_err(unreadable).and_then(tools::read))),
        hold: published
            .hold
            .and_then(|text| known(monitor, serde_json::from_value(text).map_err(unreadable).and_then(hold))),
        trouble: published.trouble.map(Cow::into_owned),
    })
}

/// What can be read.
fn known<T>(monitor: &str, read: Result<T, StoreError>) -> Option<T> {
    read.inspect_err(|error| tracing::debug!(monitor, %error, "what another machine published is left out")).ok()
}

fn score((right, asked, not_asked, since): (usize, usize, usize, Option<i64>)) -> Result<CanaryScore, StoreError> {
    Ok(CanaryScore { right, asked, not_asked, since: since.map(moment).transpose()? })
}

fn look(text: LookText<'_>) -> Result<Look, StoreError> {
    Ok(Look {
        kind: word(&text.kind, "kind", BeatKind::from_slug)?,
        started_at: moment(text.at)?,
        rechecked_at: text.rechecked_at.map(moment).transpose()?,
        elapsed: length(text.elapsed),
        verdict: word(&text.verdict, "verdict", Verdict::from_slug)?,
        reason: text.reason.map(|reason| word(&reason, "reason", FailureReason::from_slug)).transpose()?,
        summary: text.summary.map(Cow::into_owned),
        findings: text.findings,
        era: text.era.and_then(|era| Era::from_slug(&era)),
    })
}

fn signal(monitor: &str, text: SignalText<'_>) -> Result<SignalView, StoreError> {
    let level = |slug: &str| Level::ALL.into_iter().find(|level| level.slug() == slug);
    Ok(SignalView {
        signal: word(&text.signal, "signal", Signal::from_slug)?,
        phase: word(&text.phase, "phase", Phase::from_slug)?,
        level: word(&text.level, "level", level)?,
        figure: text.figure.into_owned(),
        since: moment(text.since)?,
        held_by: text.held_by.and_then(|by| HeldBy::from_slug(&by)),
        incident: text.incident.and_then(|text| known(monitor, incident(text))),
    })
}

fn incident(text: IncidentText<'_>) -> Result<OpenIncident, StoreError> {
    let flapping = |(openings, calm, told)| Flapping { openings, calm: length(calm), told };
    Ok(OpenIncident {
        id: text.id.into_owned(),
        reason: word(&text.reason, "reason", FailureReason::from_slug)?,
        severity: word(&text.severity, "severity", Severity::from_slug)?,
        summary: text.summary.into_owned(),
        opened_at: moment(text.opened_at)?,
        since: moment(text.since)?,
        flapping: text.flapping.map(flapping),
        quiet: text.quiet.map(Cow::into_owned),
        is_taken: text.is_taken,
        sequence: text.sequence,
    })
}

fn hold(text: HoldText) -> Result<Hold, StoreError> {
    let cap = |cap| match cap {
        CapText::Requests(most) => Cap::Requests(most),
        CapText::Bytes(most) => Cap::Bytes(most),
    };
    Ok(match text {
        HoldText::Quiet(until, asked) => Hold::Quiet { until: moment(until)?, asked: asked.map(length) },
        HoldText::Spent(of, until) => Hold::Spent { cap: cap(of), until: moment(until)? },
        HoldText::Spaced(of, every) => Hold::Spaced { cap: cap(of), every: length(every) },
    })
}

fn moment(micros: i64) -> Result<DateTime<Utc>, StoreError> {
    DateTime::from_timestamp_micros(micros).ok_or_else(|| StoreError::Unreadable(format!("moment {micros}")))
}

const fn length(micros: i64) -> Duration {
    Duration::from_micros(micros.unsigned_abs())
}

mod original;
mod tools;

#[cfg(test)]
mod tests;
