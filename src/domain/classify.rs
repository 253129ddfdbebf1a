//! Where a failure reason is decided: one observation in, one outcome out.
//!
//! Precedence of cause (DESIGN §4): transport, protocol and access faults win. Otherwise a cause
//! that the server's own health names beats the symptom that we saw. No answer is never a matter
//! of quality, and a 429 is never a matter of availability.

use crate::domain::fleet::Monitor;
use crate::domain::observation::{Ask, Fault, FaultKind, HealthSeen, Observation, Stage};
use crate::domain::outcome::{AskVerdict, Evidence, Finding, Outcome, Verdict};
use crate::domain::quality::canary;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::signal::Signal;

/// Judges one observation of a monitor.
pub fn classify(monitor: &Monitor, seen: &Observation) -> Outcome {
    let asks: Vec<AskVerdict> = seen.asks.iter().map(|ask| judge_ask(monitor, ask)).collect();
    let access = access(seen);
    let availability = if access.is_some() { None } else { availability(seen) };
    let unreachable = access.is_some() || availability.is_some();
    let health = if unreachable { None } else { health(seen) };
    let named = health.as_ref().filter(|finding| finding.reason != FailureReason::Unhealthy).cloned();
    let unnamed = if named.is_some() { None } else { health };
    let findings: Vec<Finding> = [
        availability,
        access,
        named,
        errors(seen, &asks),
        contract(seen),
        quality(monitor, seen, &asks),
        freshness(monitor, seen),
        unnamed,
    ]
    .into_iter()
    .flatten()
    .collect();
    let unanswered = seen.fault_before_search().is_some_and(|(_, fault)| !is_contract(fault.kind));
    let verdict = match findings.first() {
        None => Verdict::Good,
        Some(_) if unreachable || unanswered => Verdict::Down,
        Some(_) => Verdict::Degraded,
    };
    Outcome { verdict, findings, asks }
}

/// The reason a fault stands for at a stage, and the signal it feeds there (DESIGN §5).
pub fn reason_of(stage: Stage, kind: FaultKind) -> (FailureReason, Signal) {
    let reason = meaning_of(stage, kind);
    let signal = match (reason, stage) {
        (FailureReason::AuthRequired | FailureReason::AuthRejected, _) => Signal::Access,
        (_, Stage::Health) => return (FailureReason::Unhealthy, Signal::Health),
        (FailureReason::ToolMissing | FailureReason::SchemaDrift, _) => Signal::Contract,
        (FailureReason::ResultMalformed, _) => Signal::Quality,
        (FailureReason::RateLimited, _) | (_, Stage::Search) => Signal::Errors,
        _ => Signal::Availability,
    };
    (reason, signal)
}

fn meaning_of(stage: Stage, kind: FaultKind) -> FailureReason {
    use FailureReason as R;
    match kind {
        FaultKind::NameNotResolved => R::DnsFailure,
        FaultKind::Refused => R::ConnectionRefused,
        FaultKind::ConnectTimeout => R::ConnectTimeout,
        FaultKind::Reset | FaultKind::Unreachable | FaultKind::ClosedEarly | FaultKind::BodyTruncated => {
            R::NetworkError
        }
        FaultKind::TlsUntrusted | FaultKind::TlsWrongName | FaultKind::TlsExpired | FaultKind::TlsFailed => {
            R::TlsFailure
        }
        FaultKind::Silent | FaultKind::SlowBody | FaultKind::StreamWithoutAnswer => R::Timeout,
        FaultKind::TooLarge => R::ResponseTooLarge,
        FaultKind::AuthRequired => R::AuthRequired,
        FaultKind::AuthRejected => R::AuthRejected,
        FaultKind::RateLimited { .. } => R::RateLimited,
        FaultKind::HttpStatus(_) => R::HttpError,
        FaultKind::Redirected(_) => R::Redirected,
        FaultKind::NotHttp | FaultKind::Html => R::NotMcp,
        FaultKind::WrongContentType if stage == Stage::Handshake => R::NotMcp,
        FaultKind::WrongVersion => R::VersionUnsupported,
        FaultKind::RpcError(_) if stage == Stage::Search => R::ToolError,
        FaultKind::ToolError => R::ToolError,
        FaultKind::SessionLost => R::SessionLost,
        FaultKind::ToolAbsent => R::ToolMissing,
        FaultKind::ArgumentsInvalid => R::SchemaDrift,
        FaultKind::AnswerUnreadable => R::ResultMalformed,
        FaultKind::WrongContentType
        | FaultKind::EmptyBody
        | FaultKind::NotJson
        | FaultKind::NotJsonRpc
        | FaultKind::WrongId
        | FaultKind::BadResult
        | FaultKind::RpcError(_)
        | FaultKind::StreamGarbage
        | FaultKind::CursorLoop => R::ProtocolError,
    }
}

fn is_contract(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::ToolAbsent | FaultKind::ArgumentsInvalid)
}

fn judge_ask(monitor: &Monitor, ask: &Ask) -> AskVerdict {
    match &ask.result {
        None => AskVerdict::NotAsked,
        Some(Err(fault)) => match reason_of(Stage::Search, fault.kind) {
            (reason, Signal::Quality) => AskVerdict::Wrong { reason, rank: None, seen: fault.detail.clone() },
            (reason, _) => AskVerdict::Failed { reason },
        },
        Some(Ok(answer)) => match monitor.canaries.iter().find(|canary| canary.id == ask.canary) {
            Some(declared) => canary::judge(declared, answer),
            None => AskVerdict::NotAsked,
        },
    }
}

fn from_fault(signal: Signal, reason: FailureReason, stage: Stage, fault: &Fault) -> Finding {
    Finding {
        signal,
        reason,
        severity: None,
        stage,
        summary: format!("{} at {}: {}", reason.slug(), stage.slug(), fault.detail),
        evidence: vec![
            Evidence::new("fault", format!("{:?}", fault.kind)),
            Evidence::new("detail", fault.detail.clone()),
        ],
    }
}

fn availability(seen: &Observation) -> Option<Finding> {
    let (stage, fault) = seen.fault_before_search()?;
    let (reason, signal) = reason_of(stage, fault.kind);
    (signal == Signal::Availability).then(|| {
        let mut finding = from_fault(signal, reason, stage, fault);
        // What the server's health says stays visible beside the cause that wins.
        let word = seen.health.iter().find_map(|health| health.reason.clone());
        finding.evidence.extend(word.map(|word| Evidence::new("health_says", word)));
        finding
    })
}

fn access(seen: &Observation) -> Option<Finding> {
    seen.steps.iter().filter(|step| step.stage != Stage::Health).find_map(|step| {
        let fault = step.fault.as_ref()?;
        let (reason, signal) = reason_of(step.stage, fault.kind);
        (signal == Signal::Access).then(|| from_fault(signal, reason, step.stage, fault))
    })
}

/// Failed search calls of this beat, and a 429 wherever it came; the window decides later.
fn errors(seen: &Observation, asks: &[AskVerdict]) -> Option<Finding> {
    let throttled = seen.fault_before_search().and_then(|(stage, fault)| {
        let (reason, signal) = reason_of(stage, fault.kind);
        (signal == Signal::Errors).then(|| from_fault(signal, reason, stage, fault))
    });
    throttled.or_else(|| {
        let fault = seen.asks.iter().zip(asks).find_map(|(ask, verdict)| match (verdict, &ask.result) {
            (AskVerdict::Failed { .. }, Some(Err(fault))) => Some(fault),
            _ => None,
        })?;
        let (reason, signal) = reason_of(Stage::Search, fault.kind);
        // A refused credential in the middle of a beat is told once, as access.
        (signal == Signal::Errors).then(|| from_fault(signal, reason, Stage::Search, fault))
    })
}

/// The server's own word. A named cause of the closed list beats any text outside it.
fn health(seen: &Observation) -> Option<Finding> {
    let failing: Vec<&HealthSeen> = seen.health.iter().filter(|health| !health.ok).collect();
    let named = failing.iter().find_map(|health| {
        let reason = FailureReason::from_slug(health.reason.as_deref()?)?;
        reason.may_be_named_by_server().then_some((*health, reason))
    });
    let (health, reason) = named.or_else(|| failing.first().map(|health| (*health, FailureReason::Unhealthy)))?;
    let mut evidence = vec![Evidence::new(HEALTH_URL, health.address.clone())];
    evidence.extend(health.status.map(|status| Evidence::new("http_status", status.to_string())));
    evidence.extend(health.reason.clone().map(|word| Evidence::new("health_says", word)));
    evidence.extend(health.fault.as_ref().map(|fault| Evidence::new("fault", fault.detail.clone())));
    let summary = match (&health.fault, &health.reason) {
        (Some(fault), _) => format!("its health address does not answer: {}", fault.detail),
        (None, Some(word)) => format!("its health address says {word}"),
        (None, None) => format!("its health address answers {}", health.status.unwrap_or_default()),
    };
    Some(Finding { signal: Signal::Health, reason, severity: None, stage: Stage::Health, summary, evidence })
}

/// A search tool that is gone, or a declared call that no longer fits it; drift is `contract`'s matter.
fn contract(seen: &Observation) -> Option<Finding> {
    let fault = seen.steps.iter().filter_map(|step| step.fault.as_ref()).find(|fault| is_contract(fault.kind));
    if let Some(fault) = fault {
        let (reason, signal) = reason_of(Stage::Tools, fault.kind);
        let mut finding = from_fault(signal, reason, Stage::Tools, fault);
        finding.severity = Some(Severity::Page);
        return Some(finding);
    }
    let invalid = seen.tools.as_ref()?.invalid_call.as_ref()?;
    Some(Finding {
        signal: Signal::Contract,
        reason: FailureReason::SchemaDrift,
        severity: Some(Severity::Page),
        stage: Stage::Tools,
        summary: format!("a declared search no longer fits the tool: {invalid}"),
        evidence: vec![Evidence::new("invalid_call", invalid.clone())],
    })
}

fn quality(monitor: &Monitor, seen: &Observation, asks: &[AskVerdict]) -> Option<Finding> {
    let wrong: Vec<_> = seen
        .asks
        .iter()
        .zip(asks)
        .filter_map(|(ask, verdict)| match verdict {
            AskVerdict::Wrong { reason, seen, .. } => Some((ask, *reason, seen)),
            _ => None,
        })
        .collect();
    let (_, reason, _) = wrong.first()?;
    let evidence = wrong
        .iter()
        .take(EVIDENCE_CANARIES_MAX)
        .map(|(ask, reason, seen)| {
            Evidence::new(&format!("canary.{}", ask.canary), format!("{}: {seen}", reason.slug()))
        })
        .collect();
    Some(Finding {
        signal: Signal::Quality,
        reason: *reason,
        severity: None,
        stage: Stage::Search,
        summary: format!("{} of {} canaries asked were wrong", wrong.len(), asks.len().min(monitor.canaries.len())),
        evidence,
    })
}

/// Canaries that a finding names; the monitor's page shows them all.
pub const EVIDENCE_CANARIES_MAX: usize = 8;

/// The evidence key under which a finding names the health address it heard of.
pub const HEALTH_URL: &str = "health_url";

fn freshness(monitor: &Monitor, seen: &Observation) -> Option<Finding> {
    let rule = monitor.rules.freshness.as_ref()?;
    let indexed_at = seen.sources.as_ref()?.last_indexed_at?;
    let age = (seen.started_at - indexed_at).to_std().ok()?;
    (age > rule.older_than).then(|| Finding {
        signal: Signal::Freshness,
        reason: FailureReason::SourceStale,
        severity: None,
        stage: Stage::Search,
        summary: format!(
            "the newest source was indexed {} h ago, {} h are allowed",
            age.as_secs() / 3600,
            rule.older_than.as_secs() / 3600
        ),
        evidence: vec![Evidence::new("last_indexed_at", indexed_at.to_rfc3339())],
    })
}
