//! Is a server fit to be asked now? The judgement that an agent needs before it believes what a search returned.

use std::time::Duration;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::reason::Severity;
use crate::domain::signal::{Phase, Signal};
use crate::live::state::{MonitorView, RollUp};

/// Beats that may be missing before what was seen is too old to say anything of now.
const BEATS_MISSING_MAX: u32 = 3;

/// In one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FitnessLevel {
    /// Do not use it: it cannot be asked, or its answers are wrong.
    Unfit,
    /// Use it with care: something is wrong or in doubt.
    Degraded,
    /// Nobody can say: not looked at lately, or no canary judges its results.
    Unknown,
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
    pub why: Vec<String>,
    /// Since when it stands so.
    pub since: DateTime<Utc>,
    /// Seconds since it was last asked; none where that never was.
    pub looked_seconds_ago: Option<u64>,
    /// Canaries that got the right answer, of those that were asked.
    pub canaries_right: String,
}

impl Fitness {
    /// Of a monitor as it stands at this moment.
    pub(crate) fn of(view: &MonitorView, now: DateTime<Utc>) -> Self {
        let looked = view.strip.last().map(|mark| (now - mark.at).to_std().unwrap_or_default());
        let asked = view.canaries.iter().filter(|canary| canary.verdict.is_some()).count();
        let right = view.canaries.iter().filter(|canary| canary.verdict.as_deref() == Some("right")).count();
        let (fit, why) = judged(view, looked, asked);
        Self {
            server: view.id.to_string(),
            fit,
            why,
            since: view.since,
            looked_seconds_ago: looked.map(|looked| looked.as_secs()),
            canaries_right: format!("{right} of {asked}"),
        }
    }
}

fn judged(view: &MonitorView, looked: Option<Duration>, asked: usize) -> (FitnessLevel, Vec<String>) {
    let mut why: Vec<(FitnessLevel, String)> = Vec::new();
    for signal in &view.signals {
        match &signal.incident {
            Some(incident) => {
                let unusable = matches!(signal.signal, Signal::Availability | Signal::Access);
                let fit = if unusable || incident.severity == Severity::Page {
                    FitnessLevel::Unfit
                } else {
                    FitnessLevel::Degraded
                };
                why.push((fit, format!("{}: {}", incident.reason.slug(), incident.summary)));
            }
            None if signal.phase == Phase::Pending => {
                why.push((FitnessLevel::Degraded, format!("{} in doubt: {}", signal.signal.slug(), signal.figure)));
            }
            None => {}
        }
    }
    let stale = view.declared.every * BEATS_MISSING_MAX;
    if looked.is_none_or(|looked| looked > stale) || view.roll_up == RollUp::Unknown {
        why.push((FitnessLevel::Unknown, "it was not looked at lately".to_owned()));
    } else if asked == 0 {
        why.push((FitnessLevel::Unknown, "it answers, and no canary says whether its results are right".to_owned()));
    }
    why.sort_by_key(|(fit, _)| *fit);
    let fit = why.first().map_or(FitnessLevel::Fit, |(fit, _)| *fit);
    (fit, why.into_iter().map(|(_, why)| why).collect())
}
