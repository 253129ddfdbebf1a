//! What a signal would open or update an incident with.

use crate::domain::incident::ToldAs;
use crate::domain::monitor_state::state::Beat;
use crate::domain::observation::Stage;
use crate::domain::outcome::{Evidence, Finding};
use crate::domain::quality::extent::Extent;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::signal::Signal;

/// What a signal would open or update an incident with.
pub(super) struct Cause {
    pub(super) reason: FailureReason,
    pub(super) severity: Severity,
    pub(super) stage: Stage,
    pub(super) line: u32,
    pub(super) summary: String,
    pub(super) evidence: Vec<Evidence>,
    /// What the server's health said beside it.
    pub(super) health: Vec<Evidence>,
    /// How far it reaches, and the summary for when it is over; where that is counted.
    pub(super) counted: Option<(Extent, String)>,
}

impl Cause {
    /// What is told of it, as far as a change is news.
    pub(super) fn told(&self) -> ToldAs {
        let reach = self.counted.as_ref().map(|(extent, _)| extent.reach());
        ToldAs { reason: self.reason, severity: self.severity, reach }
    }

    /// Whether headline and evidence count something, and so follow what is seen from beat to beat.
    pub(super) fn follows(&self) -> bool {
        let follows = [FailureReason::IndexUnseen, FailureReason::RetrievalRegression];
        self.counted.is_some() || follows.contains(&self.reason)
    }

    pub(super) fn is_expiry(&self) -> bool {
        matches!(self.reason, FailureReason::CertificateExpiring | FailureReason::CredentialExpiring)
    }

    /// Whether a canary saw what is forbidden to it.
    pub(super) fn is_leak(&self) -> bool {
        self.reason == FailureReason::TenantLeak
    }
}

pub(super) fn cause(finding: &Finding, severity: Severity, line: u32) -> Cause {
    Cause {
        reason: finding.reason,
        severity: finding.severity.unwrap_or(severity),
        stage: finding.stage,
        line,
        summary: finding.summary.clone(),
        evidence: finding.evidence.clone(),
        health: Vec::new(),
        counted: None,
    }
}

/// A cause that the server's health names beats the symptom that we saw, which goes into the evidence.
pub(super) fn named_by_health(mut cause: Cause, beat: Beat<'_>) -> Cause {
    let Some(health) = beat.outcome.finding(Signal::Health) else { return cause };
    if health.reason.is_cause() {
        cause.evidence.insert(0, Evidence::new("symptom", cause.reason.slug()));
        cause.reason = health.reason;
        cause.summary = format!("{}; {}", health.summary, cause.summary);
        if let Some((_, was)) = &mut cause.counted {
            *was = format!("{}; {was}", health.summary);
        }
    }
    cause.health.clone_from(&health.evidence);
    cause
}
