//! Answers to somebody who must not have them: to a caller without credentials, and of sources that are somebody else's.

use crate::domain::answer::Answer;
use crate::domain::monitor::{Canary, Monitor};
use crate::domain::observation::{Observation, Stage, Stranger};
use crate::domain::outcome::{Evidence, Finding};
use crate::domain::quality::canary::{EVIDENCE_CANARIES_MAX, key};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::signal::Signal;
use crate::domain::source_pattern::SourcePattern;
use crate::domain::wording::counted;

/// What this beat leaked. A server that lets anybody in leaks more than one that mixes up whom it let in.
pub(crate) fn finding(monitor: &Monitor, seen: &Observation) -> Option<Finding> {
    of_stranger(seen).or_else(|| of_tenant(monitor, seen))
}

/// A stranger was let in where the file says that none is.
fn of_stranger(seen: &Observation) -> Option<Finding> {
    let Some(Stranger::Admitted(got)) = &seen.stranger else { return None };
    Some(Finding {
        signal: Signal::Access,
        reason: FailureReason::AclLeak,
        severity: None,
        stage: Stage::Handshake,
        summary: "the server answers a caller without credentials".to_owned(),
        evidence: vec![Evidence::new("a_stranger_got", got.clone())],
    })
}

/// A canary got a source that its file forbids. It is as loud as can be, whatever a refusal is worth to somebody.
fn of_tenant(monitor: &Monitor, seen: &Observation) -> Option<Finding> {
    let mut leaks: Vec<Leak<'_>> = Vec::new();
    for canary in monitor.canaries.iter().filter(|canary| !canary.forbid.is_empty()) {
        leaks.extend(answers(&canary.id, seen).find_map(|answer| leaked(canary, answer)));
    }
    let first = leaks.first()?;
    let others = match leaks.len() - 1 {
        0 => String::new(),
        more => format!(", and {} more likewise", counted(more, "canary", "canaries")),
    };
    let named = leaks.iter().take(EVIDENCE_CANARIES_MAX);
    Some(Finding {
        signal: Signal::Access,
        reason: FailureReason::TenantLeak,
        severity: Some(Severity::Page),
        stage: Stage::Search,
        summary: format!("canary {} {}{others}", first.canary, first.said()),
        evidence: named.map(|leak| Evidence::new(&key(leak.canary), leak.said())).collect(),
    })
}

/// What a canary was answered on this beat; a call that failed is no answer.
pub(crate) fn answers<'s>(canary: &'s str, seen: &'s Observation) -> impl Iterator<Item = &'s Answer> {
    let asked = seen.asks.iter().filter(move |ask| ask.canary == canary);
    asked.filter_map(|ask| ask.result.as_ref()?.as_ref().ok())
}

/// A forbidden source in a canary's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leak<'a> {
    canary: &'a str,
    /// As the server named it, made harmless by whoever read the answer.
    source: &'a str,
    pattern: &'a SourcePattern,
}

impl Leak<'_> {
    fn said(&self) -> String {
        format!("got {}, which {} forbids", self.source, self.pattern.as_str())
    }
}

/// The first forbidden source among all results, at whatever rank and score: one that is shown is one too many.
pub(crate) fn leaked<'a>(canary: &'a Canary, answer: &'a Answer) -> Option<Leak<'a>> {
    answer.hits.iter().find_map(|hit| {
        let pattern = canary.forbid.iter().find(|pattern| pattern.matches(&hit.source))?;
        Some(Leak { canary: &canary.id, source: &hit.source, pattern })
    })
}
