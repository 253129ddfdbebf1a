//! `server/discover`, the handshake of the modern era and the question whether a server speaks it; and what that era
//! demands of every result.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::observation::{ServerIdentity, Stage, Step};
use crate::domain::protocol::Era;
use crate::probe::decode::era::{Discovered, MODERN, UNSUPPORTED_VERSION, is_modern};
use crate::probe::session::caller::Caller;
use crate::probe::session::initialize::identity;
use crate::probe::session::message::Call;
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::reply::BrokenReply;

/// The method, and the label of its step.
pub(crate) const DISCOVER: &str = "server/discover";

/// What an answer to `server/discover` came to.
pub(crate) enum Discovery {
    /// The server speaks the modern era.
    Modern(ServerIdentity),
    /// It says so, and yet cannot be spoken to.
    Faulty(BrokenReply),
    Other(BrokenReply),
}

/// Asks it, until `deadline` at the latest. What is not [`Discovery::Modern`] leaves a step with a fault.
pub(crate) async fn discover(caller: &mut Caller<'_>, deadline: Instant, steps: &mut Vec<Step>) -> Discovery {
    let mut clock = StepClock::start(Stage::Handshake, DISCOVER);
    let call = Call { method: DISCOVER, ..Call::default() };
    let mut outcome = caller.ask_until(deadline, Era::Modern, &call, &mut clock).await;
    if outcome.as_ref().is_err_and(names_our_version) {
        clock.note(format!("{MODERN} was refused and named as supported in one breath; asked again"));
        outcome = caller.ask_until(deadline, Era::Modern, &call, &mut clock).await;
    }
    let found = match outcome {
        Ok(raw) => read(&raw, caller, &mut clock),
        Err(broken) => {
            let answer = match &broken.error {
                Some(error) => Discovered::Error { code: error.code, supported: &error.supported },
                None => Discovered::Other,
            };
            if is_modern(&answer) { Discovery::Faulty(broken) } else { Discovery::Other(broken) }
        }
    };
    let fault = match &found {
        Discovery::Modern(_) => None,
        Discovery::Faulty(broken) | Discovery::Other(broken) => Some(broken.fault.clone()),
    };
    steps.push(clock.stop(fault));
    found
}

fn read(raw: &RawValue, caller: &Caller<'_>, clock: &mut StepClock) -> Discovery {
    let result: Value = serde_json::from_str(raw.get()).unwrap_or_default();
    let list = result.get("supportedVersions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let versions: Vec<String> = list.iter().filter_map(|version| version.as_str().map(str::to_owned)).collect();
    let broken =
        |kind, detail: &str| BrokenReply { fault: caller.scrub.fault(kind, detail), status: Some(200), error: None };
    if !is_modern(&Discovered::Result(&versions)) {
        let detail = if versions.is_empty() {
            format!("the result has no supportedVersions: {}", raw.get())
        } else {
            format!("the server lists legacy versions only: {}", versions.join(", "))
        };
        return Discovery::Other(broken(FaultKind::WrongVersion, &detail));
    }
    match modern_result(raw, caller) {
        Ok(CacheMarks::There) => {}
        Ok(CacheMarks::Lacking) => clock.note(LACKS_MARKS.to_owned()),
        Err(fault) => return Discovery::Faulty(BrokenReply { fault, status: Some(200), error: None }),
    }
    if !versions.iter().any(|version| version == MODERN) {
        let detail = format!("the server speaks later versions only, not {MODERN}");
        return Discovery::Faulty(broken(FaultKind::WrongVersion, &detail));
    }
    Discovery::Modern(identity(&result, MODERN))
}

/// Whether the server refused our version and says that it speaks it; clients then ask once more.
fn names_our_version(broken: &BrokenReply) -> bool {
    let refused = broken.error.as_ref().filter(|error| error.code == UNSUPPORTED_VERSION);
    refused.is_some_and(|error| error.supported.iter().any(|version| version == MODERN))
}

/// Whether a result says for how long and for whom it may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheMarks {
    There,
    Lacking,
}

/// Noted where a result lacks them that has to have them.
pub(crate) const LACKS_MARKS: &str = "the result lacks `ttlMs` or `cacheScope`, which 2026-07-28 demands";

/// What the modern era demands of every result, and whether it has what it demands of some.
pub(crate) fn modern_result(raw: &RawValue, caller: &Caller<'_>) -> Result<CacheMarks, Fault> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct DiscoverMarks<'r> {
        #[serde(borrow)]
        result_type: Option<Cow<'r, str>>,
        ttl_ms: Option<f64>,
        #[serde(borrow)]
        cache_scope: Option<Cow<'r, str>>,
    }
    let bad = |detail: &str| caller.scrub.fault(FaultKind::BadResult, detail);
    let marks: DiscoverMarks<'_> =
        serde_json::from_str(raw.get()).map_err(|error| bad(&format!("no modern result: {error}")))?;
    match marks.result_type.as_deref() {
        Some("complete") => {}
        Some("input_required") => return Err(bad("the server asks for input (`input_required`), which nobody gives")),
        Some(other) => return Err(bad(&format!("`resultType` is {other}"))),
        None => return Err(bad("the result has no `resultType`, which 2026-07-28 demands")),
    }
    let there = marks.ttl_ms.is_some_and(|ttl| ttl >= 0.0) && marks.cache_scope.is_some();
    Ok(if there { CacheMarks::There } else { CacheMarks::Lacking })
}
