//! `initialize`, the handshake of the legacy era, over whatever carries it.

use http::HeaderValue;
use serde_json::Value;
use tokio::time::Instant;

use crate::domain::fault::FaultKind;
use crate::domain::observation::{ServerIdentity, Stage, Step};
use crate::domain::protocol::{Era, LEGACY_VERSIONS, Transport};
use crate::probe::decode::era::LEGACY;
use crate::probe::session::caller::Caller;
use crate::probe::session::message::{Call, initialize_params};
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::reply::BrokenReply;
use crate::untrusted_text::{NAME_CHARS_MAX, escaped};

/// Bytes kept of a server's instructions, which clients put before every prompt: four thousand tokens. With a list of
/// tools they are written down in what `store::listing` has room for.
const INSTRUCTIONS_BYTES_MAX: usize = 16 * 1024;

/// The label of the step that opens the event stream of HTTP+SSE.
pub(crate) const STREAM: &str = "event stream";

/// Asks `initialize`, until `deadline` at the latest; over HTTP+SSE the stream is opened first.
pub(crate) async fn initialize(
    caller: &mut Caller<'_>,
    transport: Option<Transport>,
    deadline: Instant,
    steps: &mut Vec<Step>,
) -> Result<ServerIdentity, BrokenReply> {
    if transport == Some(Transport::Sse) && caller.transport() != Transport::Sse {
        let mut clock = StepClock::start(Stage::Handshake, STREAM);
        let opened = caller.open_stream(deadline, &mut clock).await;
        steps.push(clock.stop(opened.as_ref().err().map(|broken| broken.fault.clone())));
        opened?;
    }
    let mut clock = StepClock::start(Stage::Handshake, "initialize");
    let outcome = initialized(caller, deadline, &mut clock).await;
    steps.push(clock.stop(outcome.as_ref().err().map(|broken| broken.fault.clone())));
    outcome
}

/// `initialize` and what follows it; no step of its own.
pub(crate) async fn initialized(
    caller: &mut Caller<'_>,
    deadline: Instant,
    clock: &mut StepClock,
) -> Result<ServerIdentity, BrokenReply> {
    let params = initialize_params();
    let call = Call { method: "initialize", params: &params, ..Call::default() };
    let raw = caller.ask_until(deadline, Era::Legacy, &call, clock).await?;
    let result: Value = serde_json::from_str(raw.get()).unwrap_or_default();
    let bad =
        |kind, detail: &str| BrokenReply { fault: caller.scrub.fault(kind, detail), status: Some(200), error: None };
    let Some(version) = result.get("protocolVersion").and_then(Value::as_str) else {
        return Err(bad(FaultKind::BadResult, &format!("the result has no protocolVersion: {}", raw.get())));
    };
    if !LEGACY_VERSIONS.contains(&version) {
        return Err(bad(FaultKind::WrongVersion, &format!("asked for {LEGACY}, answered with {version}")));
    }
    let server = identity(&result, version);
    caller.session.protocol = HeaderValue::from_str(version).ok();
    caller.join_session();
    let call = Call { method: "notifications/initialized", ..Call::default() };
    caller.tell(Era::Legacy, &call, clock).await?;
    Ok(server)
}

/// What a server calls itself, in either era.
pub(crate) fn identity(result: &Value, protocol: &str) -> ServerIdentity {
    let meta = || result.get("_meta")?.get("io.modelcontextprotocol/serverInfo");
    let info = result.get("serverInfo").or_else(meta);
    let text = |key: &str| {
        let text = info.and_then(|info| info.get(key)?.as_str()).unwrap_or_default();
        escaped(text, NAME_CHARS_MAX)
    };
    let said = result.get("instructions").and_then(Value::as_str).unwrap_or_default();
    let end = said.floor_char_boundary(INSTRUCTIONS_BYTES_MAX);
    ServerIdentity {
        name: text("name"),
        version: text("version"),
        protocol: protocol.to_owned(),
        instructions: Some(said[..end].into()),
    }
}
