//! Finding out which era a server speaks, and opening the conversation in it.

use chrono::TimeDelta;
use http::HeaderValue;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::fleet::MonitorId;
use crate::domain::learnt::{Caution, Learnt};
use crate::domain::observation::{Fault, FaultKind, ServerIdentity, Stage, Step};
use crate::domain::protocol::Era;
use crate::probe::call::{Call, Caller, is_gone};
use crate::probe::clock::Clock;
use crate::probe::era::{Decision, Discovered, LEGACY, LEGACY_ALL, MODERN, UNSUPPORTED_VERSION, decide};
use crate::probe::evidence::{NAME_CHARS_MAX, escaped};
use crate::probe::reply::Broken;
use crate::probe::sse::Decoder;
use crate::probe::wire::Piece;

/// A remembered era is looked at again after this many hours, and up to [`RELOOK_JITTER_HOURS`] more: about once a day,
/// and not all monitors at once.
const RELOOK_HOURS: i64 = 20;
const RELOOK_JITTER_HOURS: i64 = 8;

/// Bytes of a GET's stream within which the older transport names its endpoint.
const ENDPOINT_BYTES_MAX: usize = 8 * 1024;

/// A conversation that is open.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) era: Era,
    pub(crate) server: ServerIdentity,
}

/// Opens the conversation; each request is a step. What is learnt of the era goes into `learnt`.
pub(crate) async fn open(
    caller: &mut Caller<'_>,
    monitor: &MonitorId,
    learnt: &mut Learnt,
    steps: &mut Vec<Step>,
) -> Option<Opened> {
    let now = caller.now();
    let known = match learnt.discover {
        Caution::Harmful => Some(Era::Legacy),
        _ => learnt.era.filter(|_| !relook_is_due(monitor, learnt, now)),
    };
    if known == Some(Era::Legacy) {
        match initialize(caller, steps).await {
            Ok(server) => {
                if learnt.era.is_none() {
                    *learnt = Learnt { era: Some(Era::Legacy), era_found_at: Some(now), ..*learnt };
                }
                return Some(Opened { era: Era::Legacy, server });
            }
            // An upgrade may have ended the era; anything else says nothing of it.
            Err(broken) if !may_mean_another_era(&broken) => return None,
            Err(_) => {
                learnt.forget_era();
                learnt.discover = Caution::Unchecked;
                // The failure stays in the record as a note: the look at the era decides.
                if let Some(fault) = steps.last_mut().and_then(|step| step.fault.take().map(|fault| (step, fault))) {
                    fault.0.notes.push(format!("{}; looking for the era again", fault.1.detail));
                }
            }
        }
    }
    let opened = match discover(caller, steps).await {
        Found::Modern(server) => Some(Opened { era: Era::Modern, server }),
        Found::Initialize => match initialize(caller, steps).await {
            Ok(server) => Some(Opened { era: Era::Legacy, server }),
            Err(broken) => {
                if broken.status.is_none() && is_gone(broken.fault.kind) {
                    suspect_discover(learnt, steps);
                }
                None
            }
        },
        Found::Nothing => {
            let closed = steps.last().and_then(|step| step.fault.as_ref());
            if closed.is_some_and(|fault| matches!(fault.kind, FaultKind::ClosedEarly | FaultKind::Reset)) {
                let mut clock = Clock::start(Stage::Handshake, "still there?");
                let deadline = caller.deadline();
                if caller.wire.connect(&mut clock, deadline).await.is_err_and(|fault| is_gone(fault.kind)) {
                    suspect_discover(learnt, steps);
                }
            }
            None
        }
    };
    match &opened {
        Some(opened) => {
            *learnt = Learnt { era: Some(opened.era), era_found_at: Some(now), discover: Caution::Harmless, ..*learnt };
        }
        None if steps.last().and_then(|step| step.fault.as_ref()).is_some_and(|fault| !is_passing(fault.kind)) => {
            learnt.forget_era();
        }
        None => {}
    }
    opened
}

/// The server was there for `server/discover` and gone right after it.
fn suspect_discover(learnt: &mut Learnt, steps: &mut [Step]) {
    learnt.discover = Caution::Harmful;
    if let Some(last) = steps.last_mut() {
        last.notes.push("the server was gone after server/discover, which is not sent to it again".to_owned());
    }
}

enum Found {
    Modern(ServerIdentity),
    Initialize,
    Nothing,
}

async fn discover(caller: &mut Caller<'_>, steps: &mut Vec<Step>) -> Found {
    let mut clock = Clock::start(Stage::Handshake, "server/discover");
    let call = Call { method: "server/discover", ..Call::default() };
    let mut outcome = caller.ask(Era::Modern, &call, &mut clock).await;
    if outcome.as_ref().is_err_and(names_our_version) {
        clock.note(format!("{MODERN} was refused and named as supported in one breath; asked again"));
        outcome = caller.ask(Era::Modern, &call, &mut clock).await;
    }
    let parsed = outcome.as_ref().ok().and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let versions: Option<Vec<String>> = parsed.as_ref().and_then(|result| {
        let list = result.get("supportedVersions")?.as_array()?;
        Some(list.iter().filter_map(|version| version.as_str().map(str::to_owned)).collect())
    });
    let decision = decide(&match (&outcome, &versions) {
        (Ok(_), Some(versions)) => Discovered::Result(versions),
        // Some legacy servers answer any method with an empty result.
        (Ok(_), None) if parsed.as_ref().is_some_and(is_legacy_answer) => Discovered::Result(&[]),
        (Ok(_), None) => Discovered::Fault,
        (Err(Broken { error: Some(error), status, .. }), _) => {
            Discovered::Error { status: status.unwrap_or(200), code: error.code, supported: &error.supported }
        }
        (Err(Broken { status: Some(status), .. }), _) => Discovered::Status(*status),
        (Err(_), _) => Discovered::Fault,
    });
    let (found, fault) = match (decision, outcome) {
        (Decision::Initialize, outcome) => {
            let why = outcome.err().map_or("it names no modern version".to_owned(), |broken| broken.fault.detail);
            clock.note(caller.scrub.line(&format!("no modern server ({why})")));
            (Found::Initialize, None)
        }
        (_, Err(broken)) => (Found::Nothing, Some(broken.fault)),
        (Decision::Unknown, Ok(raw)) => {
            let detail = format!("the result has no supportedVersions: {}", raw.get());
            (Found::Nothing, Some(caller.scrub.fault(FaultKind::BadResult, &detail)))
        }
        (Decision::Is(_), Ok(raw)) => match modern_result(&raw, true, caller, &mut clock) {
            Err(fault) => (Found::Nothing, Some(fault)),
            Ok(()) if versions.is_some_and(|versions| !versions.iter().any(|version| version == MODERN)) => {
                let detail = format!("the server speaks later versions only, not {MODERN}");
                (Found::Nothing, Some(caller.scrub.fault(FaultKind::WrongVersion, &detail)))
            }
            Ok(()) => (Found::Modern(identity(parsed.as_ref(), MODERN)), None),
        },
    };
    steps.push(clock.stop(fault));
    found
}

/// Whether the server refused our version and says that it speaks it; clients then ask once more.
fn names_our_version(broken: &Broken) -> bool {
    let refused = broken.error.as_ref().filter(|error| error.code == UNSUPPORTED_VERSION);
    refused.is_some_and(|error| error.supported.iter().any(|version| version == MODERN))
}

/// Every modern result has a `resultType`.
fn is_legacy_answer(result: &Value) -> bool {
    result.is_object() && result.get("resultType").is_none()
}

async fn initialize(caller: &mut Caller<'_>, steps: &mut Vec<Step>) -> Result<ServerIdentity, Broken> {
    let mut clock = Clock::start(Stage::Handshake, "initialize");
    match initialized(caller, &mut clock).await {
        Ok(server) => {
            steps.push(clock.stop(None));
            Ok(server)
        }
        Err(mut broken) => {
            let bare = broken.error.is_none() && matches!(broken.status, Some(400 | 404 | 405));
            if bare && names_an_endpoint(caller, &mut clock).await {
                let detail = "an HTTP+SSE server of 2024-11-05; this version of Serin does not speak it yet";
                broken.fault = caller.scrub.fault(FaultKind::WrongVersion, detail);
            }
            steps.push(clock.stop(Some(broken.fault.clone())));
            Err(broken)
        }
    }
}

async fn initialized(caller: &mut Caller<'_>, clock: &mut Clock) -> Result<ServerIdentity, Broken> {
    let params = format!(
        r#""protocolVersion":"{LEGACY}","capabilities":{{}},"clientInfo":{{"name":"serin","version":"{}"}}"#,
        env!("CARGO_PKG_VERSION")
    );
    let call = Call { method: "initialize", params: &params, ..Call::default() };
    let raw = caller.ask(Era::Legacy, &call, clock).await?;
    let result: Value = serde_json::from_str(raw.get()).unwrap_or_default();
    let bad = |kind, detail: &str| Broken { fault: caller.scrub.fault(kind, detail), status: Some(200), error: None };
    let Some(version) = result.get("protocolVersion").and_then(Value::as_str) else {
        return Err(bad(FaultKind::BadResult, &format!("the result has no protocolVersion: {}", raw.get())));
    };
    if !LEGACY_ALL.contains(&version) {
        return Err(bad(FaultKind::WrongVersion, &format!("asked for {LEGACY}, answered with {version}")));
    }
    let server = identity(Some(&result), version);
    caller.protocol = HeaderValue::from_str(version).ok();
    caller.join_session();
    let call = Call { method: "notifications/initialized", ..Call::default() };
    caller.tell(Era::Legacy, &call, clock).await?;
    Ok(server)
}

/// Whether a GET of the address brings `event: endpoint`, as the HTTP+SSE transport does.
async fn names_an_endpoint(caller: &mut Caller<'_>, clock: &mut Clock) -> bool {
    let kept = clock.phases;
    let outcome = caller.look(clock).await;
    clock.phases = kept;
    let Ok((mut reply, deadline)) = outcome else {
        return false;
    };
    let mut decoder = Decoder::new(ENDPOINT_BYTES_MAX);
    let mut events = Vec::new();
    let mut found = false;
    while reply.status == 200 && !found {
        match caller.wire.piece(&mut reply.body, deadline).await {
            Piece::Bytes(bytes) if decoder.push(&bytes, &mut events).is_ok() && events.len() < 8 => {
                found = events.iter().any(|event| event.name == "endpoint");
            }
            _ => break,
        }
    }
    caller.wire.hang_up();
    found
}

/// What the modern era demands of every result.
pub(crate) fn modern_result(raw: &RawValue, cached: bool, caller: &Caller<'_>, clock: &mut Clock) -> Result<(), Fault> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Marks {
        result_type: Option<String>,
        ttl_ms: Option<f64>,
        cache_scope: Option<String>,
    }
    let bad = |detail: &str| caller.scrub.fault(FaultKind::BadResult, detail);
    let marks: Marks = serde_json::from_str(raw.get()).map_err(|error| bad(&format!("no modern result: {error}")))?;
    match marks.result_type.as_deref() {
        Some("complete") => {}
        Some("input_required") => return Err(bad("the server asks for input (`input_required`), which nobody gives")),
        Some(other) => return Err(bad(&format!("`resultType` is {other}"))),
        None => return Err(bad("the result has no `resultType`, which 2026-07-28 demands")),
    }
    if cached && !(marks.ttl_ms.is_some_and(|ttl| ttl >= 0.0) && marks.cache_scope.is_some()) {
        clock.note("the result lacks `ttlMs` or `cacheScope`, which 2026-07-28 demands".to_owned());
    }
    Ok(())
}

fn identity(result: Option<&Value>, protocol: &str) -> ServerIdentity {
    let info = result.and_then(|result| {
        result.get("serverInfo").or_else(|| result.get("_meta")?.get("io.modelcontextprotocol/serverInfo"))
    });
    let text = |key: &str| {
        let text = info.and_then(|info| info.get(key)?.as_str()).unwrap_or_default();
        escaped(text, NAME_CHARS_MAX)
    };
    ServerIdentity { name: text("name"), version: text("version"), protocol: protocol.to_owned() }
}

/// A refusal by the protocol may mean that the era ended; refused connections, credentials and load do not.
fn may_mean_another_era(broken: &Broken) -> bool {
    match broken.status {
        Some(401 | 403 | 429) | None => false,
        Some(status) => status == 200 || (400..500).contains(&status),
    }
}

/// Faults that come and go without the server's era changing.
fn is_passing(kind: FaultKind) -> bool {
    use FaultKind::{
        AuthRejected, AuthRequired, BodyTruncated, ClosedEarly, ConnectTimeout, HttpStatus, NameNotResolved,
        RateLimited, Refused, Reset, Silent, SlowBody, Unreachable,
    };
    matches!(
        kind,
        AuthRejected
            | AuthRequired
            | BodyTruncated
            | ClosedEarly
            | ConnectTimeout
            | NameNotResolved
            | RateLimited { .. }
            | Refused
            | Reset
            | Silent
            | SlowBody
            | Unreachable
            | HttpStatus(500..)
    )
}

fn relook_is_due(monitor: &MonitorId, learnt: &Learnt, now: chrono::DateTime<chrono::Utc>) -> bool {
    let jitter = monitor.as_str().bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let hours = RELOOK_HOURS + i64::from(jitter) % RELOOK_JITTER_HOURS;
    learnt.era_found_at.is_none_or(|found_at| now - found_at > TimeDelta::hours(hours))
}
