//! Where a failure reason is decided: one observation in, one outcome out.
//!
//! Precedence of causes (DESIGN §4): transport, protocol and access faults win. Otherwise a cause
//! that the server's own health names beats the symptom that we saw. No answer is never a matter
//! of quality, and a 429 is never a matter of availability.

mod asked_back;
mod evidence_keys;
mod fault_said;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::answer::Ask;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::leak;
use crate::domain::monitor::{CanaryKind, Monitor};
use crate::domain::observation::{HealthSeen, Observation, Stage};
use crate::domain::outcome::{AskVerdict, Evidence, Finding, Outcome, Verdict};
use crate::domain::quality::canary;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::signal::Signal;
use crate::domain::sources::NewestSource;
use crate::domain::wording::{counted, span};

pub use asked_back::harvested;
pub use evidence_keys::{FAULT, HEALTH_URL, INVALID_CALL, LADDER};

/// Judges one observation of a monitor.
pub fn classify(monitor: &Monitor, seen: &Observation) -> Outcome {
    if let Some(ours) = our_own(seen) {
        return says_nothing(seen, ours);
    }
    let asks: Vec<AskVerdict> = seen.asks.iter().map(|ask| judge_ask(monitor, ask)).collect();
    let access = access(seen);
    let availability = if access.is_some() { None } else { availability(seen) };
    let unreachable = access.is_some() || availability.is_some();
    let health = if unreachable { None } else { health(seen) };
    let named = health.as_ref().filter(|finding| finding.reason.is_cause()).cloned();
    let unnamed = if named.is_some() { None } else { health };
    let leak = if access.is_none() { leak::finding(monitor, seen) } else { None };
    let expiring = if access.is_none() && leak.is_none() { expiring(seen) } else { None };
    let mut findings: Vec<Finding> = [
        availability,
        access,
        leak,
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
    let verdict = match findings.first() {
        None => Verdict::Good,
        // A 429 is an answer: it costs the server no uptime.
        Some(_) if unreachable => Verdict::Down,
        Some(_) => Verdict::Degraded,
    };
    findings.extend(expiring);
    name_the_trace(seen, &mut findings);
    Outcome { verdict, findings, asks }
}

/// Whoever runs the server finds our calls in its traces and logs by this id. What canaries got is followed from beat to
/// beat, and another id in each would be news without being any.
fn name_the_trace(seen: &Observation, findings: &mut [Finding]) {
    for finding in findings.iter_mut().filter(|finding| seen.trace != 0 && finding.signal != Signal::Quality) {
        finding.evidence.push(Evidence::new(TRACE_ID, format!("{:032x}", seen.trace)));
    }
}

/// The evidence key under which an incident names the trace that the probe's calls carried.
pub const TRACE_ID: &str = "trace_id";

/// Days before a certificate's end at which it is told, and told again.
const CERTIFICATE_DAYS: [i64; 3] = [7, 14, 30];
/// The same for a credential of ours: people who can issue a new one are a mail away, not a project.
const CREDENTIAL_DAYS: [i64; 1] = [3];

/// What ends soon: the certificate, or our own credential; the nearer end where both do.
fn expiring(seen: &Observation) -> Option<Finding> {
    let due = |until: Option<DateTime<Utc>>, days: &[i64]| {
        let left = until? - seen.started_at;
        let within = days.iter().copied().find(|days| left < TimeDelta::days(*days))?;
        Some((left, within))
    };
    let certificate = due(seen.certificate_until, &CERTIFICATE_DAYS);
    let credential = due(seen.credential_until, &CREDENTIAL_DAYS);
    let of_certificate = (certificate, FailureReason::CertificateExpiring, "the server's certificate");
    let of_credential = (credential, FailureReason::CredentialExpiring, "the credential that Serin shows");
    let (due, reason, what) = [of_certificate, of_credential]
        .into_iter()
        .filter(|(due, ..)| due.is_some())
        .min_by_key(|(due, ..)| due.map(|(left, _)| left))?;
    let (left, within) = due?;
    let said = match left.num_hours() {
        ..0 => "has ended".to_owned(),
        hours @ 0..72 => format!("ends in {}", counted(hours, "hour", "hours")),
        hours => format!("ends in {} days", hours / 24),
    };
    Some(Finding {
        signal: Signal::Access,
        reason,
        severity: Some(Severity::Ticket),
        stage: Stage::Connect,
        summary: format!("{what} {said}"),
        evidence: vec![
            Evidence::new(WITHIN_DAYS, within.to_string()),
            Evidence::new("ends_at", (seen.started_at + left).to_rfc3339()),
        ],
    })
}

/// The evidence key under which an expiry names the threshold it has passed; passing the next one is news.
pub const WITHIN_DAYS: &str = "within_days";

/// Whether an answer is wrong: the others say how far that reaches.
pub(crate) fn is_any_wrong(monitor: &Monitor, seen: &Observation) -> bool {
    classify(monitor, seen).asks.iter().any(|verdict| matches!(verdict, AskVerdict::Wrong { .. }))
}

/// Whether what a probe saw could be Serin's own lost uplink: nobody answered at all, and the server is another machine's.
pub fn may_be_ours(monitor: &Monitor, seen: &Observation) -> bool {
    use FaultKind as K;
    // Whoever refuses, or breaks off, was reached: a server on the next rack is down though the internet may be gone too.
    let unanswered =
        |kind| matches!(kind, K::NameNotResolved | K::ConnectTimeout | K::Reset | K::Unreachable | K::Silent);
    let Some(first) = seen.steps.iter().find_map(|step| step.fault.as_ref()) else { return false };
    // Whoever issues our token is mostly beyond the uplink, wherever the server is.
    first.kind == K::IssuerFailed || unanswered(first.kind) && !monitor.is_local()
}

/// What kept us from looking: a way that was blocked from the start, or at any step files that ran out, since every step may
/// need one, or a standstill of our own.
pub fn our_own(seen: &Observation) -> Option<&Fault> {
    let first = seen.steps.iter().find_map(|step| step.fault.as_ref());
    let blocked = first.filter(|fault| fault.kind == FaultKind::WayBlocked);
    let any = |fault: &&Fault| matches!(fault.kind, FaultKind::OutOfFiles | FaultKind::StoodStill);
    blocked.or_else(|| seen.faults().find(any))
}

/// A probe that did not get past our own door: it says nothing about the monitor.
fn says_nothing(seen: &Observation, fault: &Fault) -> Outcome {
    let finding = from_fault(Signal::Availability, FailureReason::MonitorInternal, Stage::Connect, fault);
    Outcome { verdict: Verdict::Unknown, findings: vec![finding], asks: vec![AskVerdict::NotAsked; seen.asks.len()] }
}

/// The same probe, once it is known that Serin's own uplink is gone: it says nothing about the monitor.
pub fn uplink_gone(outcome: Outcome) -> Outcome {
    let finding = Finding {
        signal: Signal::Availability,
        reason: FailureReason::MonitorUplink,
        severity: None,
        stage: Stage::Connect,
        summary: "Serin's own network is gone; nothing is said about this server".to_owned(),
        evidence: outcome.findings.iter().map(|finding| Evidence::new("seen", finding.summary.clone())).collect(),
    };
    let asks = outcome.asks.iter().map(|_| AskVerdict::NotAsked).collect();
    Outcome { verdict: Verdict::Unknown, findings: vec![finding], asks }
}

/// The reason a fault stands for at a stage, and the signal it feeds there (DESIGN §5).
pub fn reason_of(stage: Stage, kind: FaultKind) -> (FailureReason, Signal) {
    let reason = meaning_of(stage, kind);
    let signal = match (reason, stage) {
        (FailureReason::AuthRequired | FailureReason::AuthRejected, _) => Signal::Access,
        _ if kind == FaultKind::IssuerFailed => Signal::Access,
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
        FaultKind::WayBlocked | FaultKind::OutOfFiles | FaultKind::StoodStill => R::MonitorInternal,
        FaultKind::NameNotResolved => R::DnsFailure,
        // An ended program is a port that nobody listens on.
        FaultKind::Refused | FaultKind::ProgramNotStarted | FaultKind::ProgramEnded => R::ConnectionRefused,
        FaultKind::ConnectTimeout => R::ConnectTimeout,
        FaultKind::Reset
        | FaultKind::Unreachable
        | FaultKind::Guarded
        | FaultKind::ClosedEarly
        | FaultKind::BodyTruncated => R::NetworkError,
        FaultKind::TlsUntrusted | FaultKind::TlsWrongName | FaultKind::TlsExpired | FaultKind::TlsFailed => {
            R::TlsFailure
        }
        FaultKind::Silent | FaultKind::SlowHead | FaultKind::SlowBody | FaultKind::StreamWithoutAnswer => R::Timeout,
        FaultKind::TooLarge => R::ResponseTooLarge,
        FaultKind::AuthRequired => R::AuthRequired,
        FaultKind::AuthRejected => R::AuthRejected,
        FaultKind::IssuerFailed => R::ExternalApiFailure,
        FaultKind::RateLimited { .. } => R::RateLimited,
        FaultKind::HttpStatus(_) => R::HttpError,
        FaultKind::Redirected(_) | FaultKind::ForeignEndpoint => R::Redirected,
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
        | FaultKind::BadCoding
        | FaultKind::NotJson
        | FaultKind::NotJsonRpc
        | FaultKind::WrongId
        | FaultKind::BadResult
        | FaultKind::RpcError(_)
        | FaultKind::StreamEnded
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
            Some(declared) => canary::judge_asked(monitor, (declared, ask.variant), answer),
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
        summary: fault_said::said(reason, stage, fault),
        evidence: vec![
            Evidence::new(FAULT, format!("{:?}", fault.kind)),
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
    let severity = Some(reason.facts().severity).filter(|severity| *severity == Severity::Notice);
    Some(Finding { signal: Signal::Health, reason, severity, stage: Stage::Health, summary, evidence })
}

/// A search tool that is gone, or a declared call that does not fit it; drift is `contract`'s matter.
fn contract(seen: &Observation) -> Option<Finding> {
    let fault = seen.steps.iter().filter_map(|step| step.fault.as_ref()).find(|fault| is_contract(fault.kind));
    if let Some(fault) = fault {
        let (reason, signal) = reason_of(Stage::Tools, fault.kind);
        let mut finding = from_fault(signal, reason, Stage::Tools, fault);
        finding.severity = Some(Severity::Page);
        return Some(finding);
    }
    let tools = seen.tools.as_ref()?;
    let invalid = tools.invalid_call.as_ref()?;
    let said = tools.calls.said().unwrap_or_else(|| "a declared search does not fit the tool".to_owned());
    let calls = tools.calls.why.iter().map(|(canary, why)| Evidence::new(&format!("call.{canary}"), why.clone()));
    Some(Finding {
        signal: Signal::Contract,
        reason: FailureReason::SchemaDrift,
        severity: Some(Severity::Page),
        stage: Stage::Tools,
        summary: format!("{said} ({invalid})"),
        evidence: std::iter::once(Evidence::new(INVALID_CALL, invalid.clone())).chain(calls).collect(),
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
    // An index that is gone answers a question about nothing rightly, so that is no sign of health.
    let negatives = || monitor.canaries.iter().filter(|canary| canary.kind == CanaryKind::Negative);
    let is_negative = |ask: &Ask| negatives().any(|canary| canary.id == ask.canary);
    let lost = wrong.iter().any(|(ask, ..)| !is_negative(ask));
    let right = seen.asks.iter().zip(asks).filter(|(_, verdict)| matches!(verdict, AskVerdict::Right { .. }));
    let asked = wrong.len() + right.filter(|(ask, _)| !lost || !is_negative(ask)).count();
    let evidence = wrong
        .iter()
        .take(canary::EVIDENCE_CANARIES_MAX)
        .map(|(ask, reason, seen)| Evidence::new(&canary::key(&ask.canary), format!("{}: {seen}", reason.slug())))
        .collect();
    Some(Finding {
        signal: Signal::Quality,
        reason: *reason,
        severity: None,
        stage: Stage::Search,
        summary: format!(
            "{} of {} asked {} wrong",
            wrong.len(),
            counted(asked, "canary", "canaries"),
            if wrong.len() == 1 { "was" } else { "were" }
        ),
        evidence,
    })
}

fn freshness(monitor: &Monitor, seen: &Observation) -> Option<Finding> {
    let rule = monitor.rules.freshness.as_ref()?;
    let sources = seen.sources.as_ref()?;
    let Some(NewestSource::Old(age)) = sources.newest(rule.older_than, seen.started_at) else { return None };
    let indexed_at = sources.last_indexed_at?;
    let read_in_part = sources.left.map(|_| Evidence::new("sources", sources.said()));
    Some(Finding {
        signal: Signal::Freshness,
        reason: FailureReason::SourceStale,
        severity: None,
        stage: Stage::Search,
        summary: format!("the newest source was indexed {} ago, {} are allowed", span(age), span(rule.older_than)),
        evidence: [Evidence::new("last_indexed_at", indexed_at.to_rfc3339())].into_iter().chain(read_in_part).collect(),
    })
}

#[cfg(test)]
mod tests;
