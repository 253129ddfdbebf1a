//! A probe of a server that lets in by OAuth: it has a token before it starts, and gets another once if that one is refused.
//!
//! To everything beneath, a token that was got is the monitor's bearer.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use crate::domain::answer::Ask;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::{Auth, Monitor, OAuth};
use crate::domain::observation::{Footprint, Observation, Stage, Step};
use crate::domain::secret::Secret;
use crate::domain::server_profile::ServerProfile;
use crate::net::connect::Connector;
use crate::probe::access::attempt::Attempt;
use crate::probe::access::token_cache::{CachedToken, TokenCache};
use crate::probe::assignment::Assignment;
use crate::probe::wire::clock::StepClock;
use crate::untrusted_text::Scrub;

/// The part of the beat's budget that getting a token may take.
const SHARE: u32 = 2;

/// What a probe starts with.
pub(crate) enum Admission {
    /// A token, as the bearer of the assignment's monitor; whether it was there from an earlier beat.
    Token { assignment: Assignment, secret: Secret, kept: bool, steps: Vec<Step>, cost: Footprint },
    /// None, and the fault that says why.
    Refused { fault: Fault, steps: Vec<Step>, cost: Footprint, trace: u128 },
}

/// Gets a token, from an earlier beat or anew.
pub(crate) async fn admit(
    connector: &Connector,
    token_cache: &TokenCache,
    assignment: &Assignment,
    oauth: &OAuth,
    scrub: &Scrub,
) -> Admission {
    let (monitor, now) = (&*assignment.monitor, assignment.started_at);
    match token_cache.of(monitor) {
        Some(CachedToken::Held(token)) if token.renew_at > now => {
            let (steps, cost) = (Vec::new(), Footprint::default());
            let assignment = with(assignment, &token.secret);
            return Admission::Token { assignment, secret: token.secret, kept: true, steps, cost };
        }
        Some(CachedToken::Refused { fault, again_at, .. }) if again_at > now => {
            return waiting(scrub, &fault, again_at);
        }
        _ => {}
    }
    let until = Instant::now() + monitor.probe_budget / SHARE;
    let Some(mut attempt) = Attempt::new(connector, monitor, oauth, scrub, now, until) else {
        let fault = scrub.fault(FaultKind::AuthRejected, "OAuth: the monitor has no address");
        return Admission::Refused { fault, steps: Vec::new(), cost: Footprint::default(), trace: 0 };
    };
    let outcome = Box::pin(attempt.token()).await;
    let (steps, cost) = (std::mem::take(&mut attempt.steps), attempt.footprint);
    token_cache.keep(monitor, &outcome, now);
    match outcome {
        Ok(token) => {
            let assignment = with(assignment, &token.secret);
            Admission::Token { assignment, secret: token.secret, kept: false, steps, cost }
        }
        Err(fault) => Admission::Refused { fault, steps, cost, trace: attempt.trace },
    }
}

fn waiting(scrub: &Scrub, fault: &Fault, again_at: DateTime<Utc>) -> Admission {
    let detail = format!("{}; asked again at {} UTC", fault.detail, again_at.format("%H:%M:%S"));
    let fault = scrub.fault(fault.kind, &detail);
    Admission::Refused { fault, steps: Vec::new(), cost: Footprint::default(), trace: 0 }
}

/// The same assignment, the token in the place of how it is got.
fn with(assignment: &Assignment, token: &Secret) -> Assignment {
    let mut monitor = Monitor::clone(&assignment.monitor);
    monitor.auth = Auth { bearer: Some(token.clone()), oauth: None, ..monitor.auth };
    Assignment { monitor: Arc::new(monitor), ..assignment.clone() }
}

/// A probe that did not get past its own credentials.
pub(crate) fn outside(
    assignment: &Assignment,
    fault: Fault,
    steps: Vec<Step>,
    (cost, trace): (Footprint, u128),
    asks: Vec<Ask>,
) -> (Observation, ServerProfile) {
    let Assignment { monitor, kind, scheduled_at, started_at, profile, .. } = assignment;
    let mut seen = Observation::blank(monitor.id.clone(), *kind, *scheduled_at, *started_at);
    seen.elapsed = steps.iter().map(|step| step.elapsed).sum();
    seen.steps = steps;
    seen.steps.push(StepClock::start(Stage::Handshake, "oauth").stop(Some(fault)));
    seen.footprint = cost;
    seen.trace = trace;
    seen.asks = asks;
    (seen, profile.clone())
}
