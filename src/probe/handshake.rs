//! Finding out which era a server speaks, and opening the conversation in it.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use http::HeaderValue;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::domain::fleet::{Monitor, MonitorId};
use crate::domain::learnt::{Caution, Learnt};
use crate::domain::observation::{Fault, FaultKind, ServerIdentity, Stage, Step};
use crate::domain::protocol::{Era, Transport};
use crate::probe::call::{Call, Caller, initialize_params, is_gone};
use crate::probe::clock::Clock;
use crate::probe::era::{Decision, Discovered, LEGACY, LEGACY_ALL, MODERN, UNSUPPORTED_VERSION, decide};
use crate::probe::evidence::{NAME_CHARS_MAX, escaped};
use crate::probe::reply::Broken;

/// A remembered era is looked at again after this many hours, and up to [`RELOOK_JITTER_HOURS`] more: about once a day,
/// and not all monitors at once.
const RELOOK_HOURS: i64 = 20;
const RELOOK_JITTER_HOURS: i64 = 8;

/// How long a program may be silent at `server/discover` before it counts as stalled by it (MCP.md, step 4).
const STALL_LIMIT: Duration = Duration::from_secs(8);

/// The label of the step that opens the event stream of HTTP+SSE.
const STREAM: &str = "event stream";

/// A conversation that is open.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub(crate) era: Era,
    pub(crate) server: ServerIdentity,
}

/// Opens the conversation; each request is a step. What is learnt of era and transport goes into `learnt`.
pub(crate) async fn open(
    caller: &mut Caller<'_>,
    monitor: &Monitor,
    learnt: &mut Learnt,
    steps: &mut Vec<Step>,
) -> Option<Opened> {
    let now = caller.now();
    let known = Known::of(monitor, learnt, now);
    let mut excused = None;
    if known.era == Some(Era::Legacy) {
        match initialize(caller, known.transport, steps).await {
            Ok(server) => {
                if learnt.era.is_none() {
                    learnt.found(Era::Legacy, caller.transport(), now);
                }
                return Some(Opened { era: Era::Legacy, server });
            }
            // An upgrade may have ended the era; anything else says nothing of it.
            Err(broken) if known.is_final() || !may_mean_another_era(&broken) => return None,
            // What discover hurt once is sent another only when the server itself says that it is no longer the same.
            Err(broken) if learnt.discover == Caution::Harmful && broken.error.is_none() => return None,
            Err(broken) => {
                look_again(caller, learnt, steps);
                excused = Some((steps.len().saturating_sub(1), broken.fault));
            }
        }
    }
    let found = match known.fixed_era {
        Some(Era::Legacy) => Found::Initialize,
        fixed => discover(caller, fixed.is_some(), steps).await,
    };
    let opened = match found {
        Found::Modern(server) => Some(Opened { era: Era::Modern, server }),
        Found::Initialize => match initialize(caller, known.fixed_transport, steps).await {
            Ok(server) => Some(Opened { era: Era::Legacy, server }),
            Err(broken) => {
                if broken.status.is_none() && is_gone(broken.fault.kind) {
                    suspect_discover(learnt, steps);
                }
                None
            }
        },
        Found::Nothing if known.era.is_none() && caller.transport() == Transport::Stdio => {
            open_afresh(caller, monitor, learnt, steps).await
        }
        Found::Nothing => {
            check_after_discover(caller, learnt, steps).await;
            None
        }
    };
    match &opened {
        Some(opened) => {
            let (era, transport) = (Some(opened.era), Some(caller.transport()));
            // What is known already is no news, which would be written with every beat.
            if (learnt.era, learnt.transport) != (era, transport) || relook_is_due(&monitor.id, learnt, now) {
                learnt.found(opened.era, caller.transport(), now);
            }
            if learnt.discover == Caution::Unchecked && known.fixed_era != Some(Era::Legacy) {
                learnt.discover = Caution::Harmless;
            }
        }
        None => {
            if steps.last().and_then(|step| step.fault.as_ref()).is_some_and(|fault| !is_passing(fault.kind)) {
                learnt.forget_era();
            }
            // Nothing else is spoken there, so what was met first is what is wrong.
            if let Some((step, fault)) = excused.and_then(|(nth, fault)| Some((steps.get_mut(nth)?, fault))) {
                step.fault = Some(fault);
            }
        }
    }
    opened
}

/// Goes on with a program that was kept from an earlier beat: its conversation is open, so it is only asked whether it
/// is still there.
pub(crate) async fn resume(caller: &mut Caller<'_>, before: &Opened, steps: &mut Vec<Step>) -> Option<Opened> {
    if before.era == Era::Modern {
        return match discover(caller, true, steps).await {
            Found::Modern(server) => Some(Opened { era: Era::Modern, server }),
            Found::Initialize | Found::Nothing => None,
        };
    }
    let mut clock = Clock::start(Stage::Handshake, "ping");
    let call = Call { method: "ping", ..Call::default() };
    let fault = match caller.ask(Era::Legacy, &call, &mut clock).await {
        Ok(_) => None,
        Err(Broken { error: Some(error), .. }) => {
            clock.note(caller.scrub.line(&format!("ping is refused: {}", error.message)));
            None
        }
        Err(broken) => Some(broken.fault),
    };
    let well = fault.is_none();
    steps.push(clock.stop(fault));
    well.then(|| before.clone())
}

/// What is known before the first request, by the file or from earlier probes.
struct Known {
    fixed_era: Option<Era>,
    fixed_transport: Option<Transport>,
    era: Option<Era>,
    transport: Option<Transport>,
}

impl Known {
    fn of(monitor: &Monitor, learnt: &Learnt, now: DateTime<Utc>) -> Self {
        let reach = &monitor.reach;
        let stdio = reach.program.is_some().then_some(Transport::Stdio);
        let fixed_transport = reach.transport.or(stdio);
        // The older transport has no modern era.
        let fixed_era = if fixed_transport == Some(Transport::Sse) { Some(Era::Legacy) } else { reach.era };
        let remembered = !relook_is_due(&monitor.id, learnt, now);
        let era = fixed_era.or(match learnt.discover {
            Caution::Harmful => Some(Era::Legacy),
            _ => learnt.era.filter(|_| remembered),
        });
        let transport = fixed_transport.or(learnt.transport.filter(|_| remembered));
        Self { fixed_era, fixed_transport, era, transport }
    }

    /// Whether nothing else is left to try where `initialize` fails.
    fn is_final(&self) -> bool {
        self.fixed_era.is_some() && (self.fixed_transport.is_some() || self.transport.is_none())
    }
}

/// Era and transport are open again; the failure stays in the record as a note, since the look decides.
fn look_again(caller: &mut Caller<'_>, learnt: &mut Learnt, steps: &mut [Step]) {
    learnt.forget_era();
    learnt.discover = Caution::Unchecked;
    caller.close_stream();
    if let Some(last) = steps.last_mut() {
        excuse(last, "looking for the era again");
    }
}

/// A program that ended or fell silent at `server/discover` is started again and asked in the older era (MCP.md, step 4).
async fn open_afresh(
    caller: &mut Caller<'_>,
    monitor: &Monitor,
    learnt: &mut Learnt,
    steps: &mut Vec<Step>,
) -> Option<Opened> {
    let hurt = steps.last().and_then(|step| step.fault.as_ref()).map(|fault| fault.kind);
    if !matches!(hurt, Some(FaultKind::ProgramEnded | FaultKind::Silent | FaultKind::StreamGarbage)) {
        return None;
    }
    let program = monitor.reach.program.as_ref()?;
    if let Some(last) = steps.last_mut() {
        excuse(last, "started again for the older era");
    }
    caller.stop_program().await;
    let mut clock = Clock::start(Stage::Connect, &monitor.url.shown);
    let started = caller.start_program(program, &mut clock);
    let failed = started.is_err();
    steps.push(clock.stop(started.err()));
    if failed {
        return None;
    }
    let server = initialize(caller, Some(Transport::Stdio), steps).await.ok()?;
    learnt.discover = Caution::Harmful;
    if let Some(last) = steps.last_mut() {
        last.notes.push("the program did not survive server/discover, which is not sent to it again".to_owned());
    }
    Some(Opened { era: Era::Legacy, server })
}

/// After an answer that broke off: whether anybody is there still.
async fn check_after_discover(caller: &mut Caller<'_>, learnt: &mut Learnt, steps: &mut [Step]) {
    let closed = steps.last().and_then(|step| step.fault.as_ref());
    if closed.is_some_and(|fault| matches!(fault.kind, FaultKind::ClosedEarly | FaultKind::Reset)) {
        let mut clock = Clock::start(Stage::Handshake, "still there?");
        let deadline = caller.deadline();
        if caller.wire.connect(&mut clock, deadline).await.is_err_and(|fault| is_gone(fault.kind)) {
            suspect_discover(learnt, steps);
        }
    }
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

/// `modern_only`: the file says so, and a server that is not is a fault.
async fn discover(caller: &mut Caller<'_>, modern_only: bool, steps: &mut Vec<Step>) -> Found {
    let mut clock = Clock::start(Stage::Handshake, "server/discover");
    let call = Call { method: "server/discover", ..Call::default() };
    let mut deadline = caller.deadline();
    if caller.transport() == Transport::Stdio && !modern_only {
        deadline = deadline.min(Instant::now() + STALL_LIMIT);
    }
    let mut outcome = caller.ask_until(deadline, Era::Modern, &call, &mut clock).await;
    if outcome.as_ref().is_err_and(names_our_version) {
        clock.note(format!("{MODERN} was refused and named as supported in one breath; asked again"));
        outcome = caller.ask_until(deadline, Era::Modern, &call, &mut clock).await;
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
        (Decision::Initialize, outcome) if modern_only => {
            let detail = "the server lists legacy versions only, and the file says `era: modern`";
            let fault = outcome.err().map(|broken| broken.fault);
            (Found::Nothing, fault.or_else(|| Some(caller.scrub.fault(FaultKind::WrongVersion, detail))))
        }
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

/// Asks `initialize`, over the transport given; where none is, over HTTP and then, where that is not spoken, over
/// HTTP+SSE (MCP.md, step 3).
async fn initialize(
    caller: &mut Caller<'_>,
    transport: Option<Transport>,
    steps: &mut Vec<Step>,
) -> Result<ServerIdentity, Broken> {
    if transport == Some(Transport::Sse) {
        open_stream(caller, steps).await?;
    }
    let broken = match say_initialize(caller, steps).await {
        Err(broken) if transport.is_none() && broken.error.is_none() && is_bare(&broken) => broken,
        outcome => return outcome,
    };
    let refused = steps.len().saturating_sub(1);
    match open_stream(caller, steps).await {
        Ok(()) => {
            excuse(&mut steps[refused], "it speaks HTTP+SSE instead");
            say_initialize(caller, steps).await
        }
        Err(other) if other.fault.kind == FaultKind::ForeignEndpoint => {
            excuse(&mut steps[refused], "it speaks HTTP+SSE instead");
            Err(other)
        }
        Err(other) => {
            // What was asked first is what is wrong.
            steps.truncate(refused + 1);
            steps[refused].notes.push(caller.scrub.line(&format!("and no HTTP+SSE: {}", other.fault.detail)));
            Err(broken)
        }
    }
}

/// A step that failed and does not count as a failure.
fn excuse(step: &mut Step, why: &str) {
    if let Some(fault) = step.fault.take() {
        step.notes.push(format!("{}; {why}", fault.detail));
    }
}

fn is_bare(broken: &Broken) -> bool {
    matches!(broken.status, Some(400 | 404 | 405))
}

async fn say_initialize(caller: &mut Caller<'_>, steps: &mut Vec<Step>) -> Result<ServerIdentity, Broken> {
    let mut clock = Clock::start(Stage::Handshake, "initialize");
    let outcome = initialized(caller, &mut clock).await;
    steps.push(clock.stop(outcome.as_ref().err().map(|broken| broken.fault.clone())));
    outcome
}

async fn open_stream(caller: &mut Caller<'_>, steps: &mut Vec<Step>) -> Result<(), Broken> {
    let mut clock = Clock::start(Stage::Handshake, STREAM);
    let opened = caller.open_stream(&mut clock).await;
    steps.push(clock.stop(opened.as_ref().err().map(|broken| broken.fault.clone())));
    opened
}

/// `initialize` and what follows it; no step of its own.
pub(crate) async fn initialized(caller: &mut Caller<'_>, clock: &mut Clock) -> Result<ServerIdentity, Broken> {
    let params = initialize_params();
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
        Some(401 | 403 | 429) => false,
        // Without HTTP only a refusal in the protocol's own words says anything.
        None => broken.error.is_some(),
        Some(status) => status == 200 || (400..500).contains(&status),
    }
}

/// Faults that come and go without the server's era changing.
fn is_passing(kind: FaultKind) -> bool {
    use FaultKind::{
        AuthRejected, AuthRequired, BodyTruncated, ClosedEarly, ConnectTimeout, HttpStatus, NameNotResolved,
        ProgramEnded, ProgramNotStarted, RateLimited, Refused, Reset, Silent, SlowBody, Unreachable,
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
            | ProgramEnded
            | ProgramNotStarted
            | Refused
            | Reset
            | Silent
            | SlowBody
            | Unreachable
            | HttpStatus(500..)
    )
}

fn relook_is_due(monitor: &MonitorId, learnt: &Learnt, now: DateTime<Utc>) -> bool {
    let jitter = monitor.as_str().bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let hours = RELOOK_HOURS + i64::from(jitter) % RELOOK_JITTER_HOURS;
    learnt.era_found_at.is_none_or(|found_at| now - found_at > TimeDelta::hours(hours))
}
