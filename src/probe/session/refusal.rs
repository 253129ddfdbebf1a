//! What a failed opening says: of the era, and which of several faults is told.

use crate::domain::fault::FaultKind;
use crate::domain::observation::Step;
use crate::probe::session::initialize::STREAM;
use crate::probe::wire::reply::BrokenReply;
use crate::untrusted_text::Scrub;

/// A step that failed and does not count as a failure.
pub(super) fn excuse(step: &mut Step, why: &str) {
    if let Some(fault) = step.fault.take() {
        step.notes.push(format!("{}; {why}", fault.detail));
    }
}

/// Where every opening failed one fault stands, and tells what the others met: that of `main`, the first that says more
/// than that this opening is not known there, or else the first.
pub(super) fn merge(scrub: &Scrub, steps: &mut [Step], first: usize, main: Option<usize>) {
    let failed: Vec<usize> = (first..steps.len()).filter(|nth| steps[*nth].fault.is_some()).collect();
    let notifier = |nth: &&usize| {
        let step = &steps[**nth];
        step.label != STREAM && step.fault.as_ref().is_some_and(|fault| !is_unspoken(fault.kind))
    };
    let main = main.or_else(|| failed.iter().find(notifier).or(failed.first()).copied());
    let Some(main) = main.filter(|_| failed.len() > 1) else {
        return;
    };
    let told = |nth: &usize| {
        let step = &steps[*nth];
        let detail = step.fault.as_ref().map_or("", |fault| fault.detail.as_str());
        format!("{}: {detail}", step.label)
    };
    let order = std::iter::once(&main).chain(failed.iter().filter(|nth| **nth != main));
    let detail = scrub.line(&order.map(told).collect::<Vec<_>>().join("; "));
    for nth in failed {
        let step = &mut steps[nth];
        match &mut step.fault {
            Some(fault) if nth == main => fault.detail.clone_from(&detail),
            _ => excuse(step, "see the other opening"),
        }
    }
}

/// What a server says of a method that it does not know.
const fn is_unspoken(kind: FaultKind) -> bool {
    use FaultKind::{HttpStatus, RpcError, WrongVersion};
    matches!(kind, HttpStatus(400 | 404..=406 | 415 | 422 | 501) | RpcError(-32602..=-32600) | WrongVersion)
}

/// Whether the server is there and does not take this opening. Credentials, load, redirects, gateways that find nobody,
/// silence and broken connections are none: they say nothing of the era, and what comes back to life might die of the
/// next request.
pub(super) fn is_refusal(broken: &BrokenReply) -> bool {
    use FaultKind::{BodyTruncated, ClosedEarly, Reset, Silent, SlowBody, SlowHead, StreamEnded, StreamWithoutAnswer};
    match broken.status {
        // Without HTTP only a refusal in the protocol's own words says anything.
        None => broken.error.is_some(),
        Some(300..=399 | 401 | 429 | 502..=504) => false,
        Some(_) => !matches!(
            broken.fault.kind,
            BodyTruncated | ClosedEarly | Reset | Silent | SlowHead | SlowBody | StreamEnded | StreamWithoutAnswer
        ),
    }
}

/// A refusal that an HTTP+SSE server answers a POST with.
pub(super) fn is_bare(broken: &BrokenReply) -> bool {
    broken.error.is_none() && matches!(broken.status, Some(400 | 404 | 405))
}
