//! Is a server fit to be asked now? The judgement that an agent needs before it believes what a search returned.

use std::time::Duration;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::monitor_state::CanaryScore;
use crate::domain::reason::Severity;
use crate::domain::signal::{Phase, Signal};
use crate::live::glance::{CanariesGlance, SignalGlance};
use crate::live::monitor_view::{CanaryView, MonitorView};
use crate::live::standing::Standing;

/// Characters of what may be a stranger's words.
const DETAIL_CHARS_MAX: usize = 200;
/// Canaries named in one reason.
const CANARIES_NAMED_MAX: usize = 3;

/// In one word, the worst for whoever wants to rely on it first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FitnessLevel {
    /// Do not use it: it cannot be asked, or its answers are wrong.
    Unfit,
    /// Nobody can say: not looked at lately, or no canary judges its results.
    Unknown,
    /// Use it with care: something is wrong or in doubt.
    Degraded,
    /// Asked lately, and it answered rightly.
    Fit,
}

/// A server's fitness, with its reasons.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Fitness {
    /// The id that the monitor declares.
    pub server: String,
    pub fit: FitnessLevel,
    /// What speaks against it, the worst first; empty where it is fit.
    pub why: Vec<Why>,
    /// Since when it stands so.
    pub since: DateTime<Utc>,
    /// Seconds since its answer was last seen; none where that never was.
    pub looked_seconds_ago: Option<u64>,
    /// Canaries that got the right answer, of those that were asked.
    pub canaries_right: String,
}

/// One thing that speaks against a server. Only `detail` may hold words of the server's own.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Why {
    /// In words of ours.
    pub what: &'static str,
    pub since: DateTime<Utc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<&'static str>,
    /// What was seen, at most [`DETAIL_CHARS_MAX`] characters: it may quote the server, and is never an instruction.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What speaks against a server, or against saying anything of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ground {
    /// This signal's incident is open, or not over yet.
    Incident(Signal),
    /// This signal is over its limit, not yet for long enough.
    Doubt(Signal),
    /// Canaries were wrong or unanswered when last asked.
    Canaries,
    NotLooked,
    NoCanary,
}

impl Fitness {
    /// Of a monitor as it stands at this moment, and as its pages show it: of one that another machine watches these know
    /// less.
    pub(crate) fn of(standing: &dyn Standing, view: &MonitorView, now: DateTime<Utc>) -> Self {
        let grounds = grounds(standing, now);
        let fit = worst(&grounds);
        let seen_at = standing.figures().seen_at;
        let why: Vec<Why> = grounds.iter().map(|(_, ground)| why(*ground, view, seen_at)).collect();
        let deciding = grounds.iter().zip(&why).filter(|((level, _), _)| *level == fit);
        let CanaryScore { right, asked, not_asked, .. } = view.canary_score;
        let others = if not_asked > 0 { format!(", {not_asked} not asked") } else { String::new() };
        Self {
            server: view.id.to_string(),
            fit,
            since: deciding.map(|(_, why)| why.since).min().unwrap_or(view.since),
            why,
            looked_seconds_ago: looked(standing, now).map(|looked| looked.as_secs()),
            canaries_right: format!("{right} of {asked}{others}"),
        }
    }
}

/// In one word, of a monitor that nobody draws.
pub(crate) fn level(standing: &dyn Standing, now: DateTime<Utc>) -> FitnessLevel {
    worst(&grounds(standing, now))
}

fn worst(grounds: &[(FitnessLevel, Ground)]) -> FitnessLevel {
    grounds.first().map_or(FitnessLevel::Fit, |(fit, _)| *fit)
}

fn looked(standing: &dyn Standing, now: DateTime<Utc>) -> Option<Duration> {
    standing.figures().seen_at.map(|at| (now - at).to_std().unwrap_or_default())
}

/// The worst first.
fn grounds(standing: &dyn Standing, now: DateTime<Utc>) -> Vec<(FitnessLevel, Ground)> {
    let mut found = Vec::new();
    for SignalGlance { signal, phase, incident } in standing.signals().into_iter().flatten() {
        let cannot_be_asked = matches!(signal, Signal::Availability | Signal::Access);
        let fit = |unfit: bool| if unfit { FitnessLevel::Unfit } else { FitnessLevel::Degraded };
        match incident {
            Some(incident) => {
                let unfit = cannot_be_asked || incident.severity == Severity::Page;
                found.push((fit(unfit), Ground::Incident(signal)));
            }
            None if phase == Phase::Pending => found.push((fit(cannot_be_asked), Ground::Doubt(signal))),
            None => {}
        }
    }
    let figures = standing.figures();
    let CanariesGlance { not_right, finding, found: right, .. } = figures.canaries;
    // One wrong answer opens nothing yet, and an agent should not present the next one as fact.
    if not_right > 0 {
        let fit = if finding > 0 && right == 0 { FitnessLevel::Unfit } else { FitnessLevel::Degraded };
        found.push((fit, Ground::Canaries));
    }
    if looked(standing, now).is_none_or(|looked| looked > standing.declared().stale_after) {
        found.push((FitnessLevel::Unknown, Ground::NotLooked));
    } else if finding == 0 {
        found.push((FitnessLevel::Unknown, Ground::NoCanary));
    }
    found.sort_by_key(|(fit, _)| *fit);
    found
}

fn why(ground: Ground, view: &MonitorView, seen_at: Option<DateTime<Utc>>) -> Why {
    let of = |signal: Signal| view.signals.iter().find(|view| view.signal == signal);
    let (mut since, mut failure_reason, mut detail) = (None, None, String::new());
    let what = match ground {
        Ground::Incident(signal) => {
            let incident = of(signal).and_then(|view| view.incident.as_ref());
            since = incident.map(|incident| incident.since);
            failure_reason = incident.map(|incident| incident.reason.slug());
            detail = incident.map_or_else(String::new, |incident| incident.summary.clone());
            incident.map_or("an incident is open", |incident| incident.reason.facts().meaning)
        }
        Ground::Doubt(signal) => {
            since = of(signal).map(|view| view.since);
            detail = of(signal).map_or_else(String::new, |view| format!("{}: {}", signal.slug(), view.figure));
            "over its limit, not yet for long enough to tell anybody"
        }
        Ground::Canaries => {
            let not_right = |canary: &&CanaryView| canary.verdict.as_deref().is_some_and(|verdict| verdict != "right");
            let not_right = || view.canaries.iter().filter(not_right);
            since = not_right().filter_map(|canary| canary.answered_at).min();
            let named = not_right().take(CANARIES_NAMED_MAX).map(|canary| format!("{}: {}", canary.id, canary.got));
            detail = named.collect::<Vec<_>>().join("; ");
            "canaries were not answered rightly when last asked"
        }
        Ground::NotLooked => {
            since = seen_at;
            "it was not looked at lately"
        }
        Ground::NoCanary => "it answers, and no canary has said yet whether it finds what is there",
    };
    Why { what, since: since.unwrap_or(view.since), failure_reason, detail: self::detail(&detail) }
}

/// What may be a stranger's words, cut short; the probe took out what could do harm on a page.
pub(crate) fn detail(said: &str) -> String {
    let kept: String = said.chars().take(DETAIL_CHARS_MAX).collect();
    if kept.len() < said.len() { kept + "…" } else { kept }
}

#[cfg(test)]
mod tests;
