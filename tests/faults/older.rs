//! HTTP+SSE of 2024-11-05: found, spoken, remembered, and every fault it has of its own.

use serin::domain::classify::reason_of;
use serin::domain::fault::FaultKind;
use serin::domain::monitor::Monitor;
use serin::domain::observation::{Observation, Stage};
use serin::domain::protocol::{Era, Transport};
use serin::domain::reason::FailureReason;
use serin::domain::server_profile::{Caution, ServerProfile};
use serin::probe::assignment::Assignment;
use serin::probe::prober::Prober;

use crate::common::monitors::canary;
use crate::fault_server::{Act, FaultServer, Script, json, status, stream};
use crate::probing::{self, assignment, first_fault, impatient, now, within_budget};
use crate::scripts::with;

const TOOLS: &str = r#"{"tools":[{"name":"search","inputSchema":{"properties":{"query":{"type":"string"}}}}]}"#;
const FOUND: &str = r#"{"structuredContent":{"results":[{"text":"one","source":"a.md","score":0.9}]}}"#;
const OPENED: &str = r#"{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"old","version":"1"}}"#;

fn taken() -> String {
    status("202 Accepted", "Content-Type: text/plain\r\n", "Accepted")
}

fn event(result: &str) -> String {
    format!("event: message\ndata: {{\"jsonrpc\":\"2.0\",\"id\":{{id}},\"result\":{result}}}\n\n")
}

/// A server that does everything right.
pub(crate) fn older() -> Script {
    let answer = |result: &str| Act::Push(taken(), event(result));
    Script::from([
        ("GET /mcp", Act::OpenStream(stream("event: endpoint\ndata: /messages?session=s-1\n\n"))),
        ("POST /messages initialize", answer(OPENED)),
        ("POST /messages notifications/initialized", Act::Say(taken())),
        ("POST /messages tools/list", answer(TOOLS)),
        ("POST /messages tools/call search", answer(FOUND)),
    ])
}

fn monitor(server: &FaultServer) -> Monitor {
    let url = format!("http://{}/mcp", server.address);
    let mut monitor = probing::monitor(&url, 0);
    monitor.canaries = vec![canary("c")];
    monitor.search.per_beat = 1;
    monitor
}

async fn probe(monitor: Monitor, profile: ServerProfile) -> (Observation, ServerProfile) {
    let assignment = Assignment { profile, ..assignment(monitor) };
    Prober::new(8).run(&assignment).await
}

fn known() -> ServerProfile {
    ServerProfile {
        era: Some(Era::Legacy),
        transport: Some(Transport::Sse),
        era_found_at: Some(now()),
        discover: Caution::Harmless,
        closing: Caution::Harmless,
        ..ServerProfile::default()
    }
}

/// No stream outlives its probe; the server hears of it a moment later.
async fn assert_closed(sentence: &str, server: &FaultServer, seen: &Observation) {
    assert_eq!(seen.footprint.sessions_opened, seen.footprint.sessions_closed, "{sentence}: {:?}", seen.footprint);
    while server.seen().streams > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_older_transport_is_found_and_remembered() {
    let server = FaultServer::start(older(), None).await;
    let (seen, profile) = probe(monitor(&server), ServerProfile::default()).await;
    assert_eq!(first_fault(&seen), None, "{seen:#?}");
    assert_eq!((seen.era, seen.transport), (Some(Era::Legacy), Some(Transport::Sse)));
    assert!(seen.asks[0].result.as_ref().is_some_and(|result| result.as_ref().unwrap().hits[0].source == "a.md"));
    assert_eq!((profile.era, profile.transport), (seen.era, seen.transport));
    assert_eq!(profile.closing, Caution::Harmless, "it still answered after its stream was closed");
    assert_closed("the first look", &server, &seen).await;
    let asked = server.seen().asked;
    assert_eq!(asked[..3], ["initialize", "server/discover", "GET /mcp"], "each is tried in its turn");

    let before = asked.len();
    let (seen, again) = probe(monitor(&server), profile.clone()).await;
    assert_eq!((first_fault(&seen), again), (None, profile), "{seen:#?}");
    let expected = [
        "GET /mcp",
        "POST /messages initialize",
        "POST /messages notifications/initialized",
        "POST /messages tools/list",
        "POST /messages tools/call search",
    ];
    assert_eq!(server.seen().asked[before..], expected, "the next beat goes straight there");
    assert_eq!((seen.footprint.connections, seen.footprint.requests), (2, 5), "the stream, and one for the calls");
    assert_closed("the second look", &server, &seen).await;
}

#[tokio::test]
async fn a_transport_that_the_file_fixes_is_not_looked_for() {
    let server = FaultServer::start(older(), None).await;
    let mut fixed = monitor(&server);
    fixed.reach.transport = Some(Transport::Sse);
    let (seen, _) = probe(fixed, ServerProfile::default()).await;
    assert_eq!(first_fault(&seen), None, "{seen:#?}");
    assert_eq!(server.seen().asked[0], "GET /mcp");
    let mut fixed = monitor(&server);
    fixed.reach.transport = Some(Transport::Http);
    let before = server.seen().asked.len();
    let (seen, _) = probe(fixed, ServerProfile::default()).await;
    assert_eq!(first_fault(&seen), Some((Stage::Handshake, FaultKind::HttpStatus(404))));
    assert!(!server.seen().asked[before..].contains(&"GET /mcp".to_owned()), "{:?}", server.seen().asked);
}

#[tokio::test]
async fn an_upgrade_to_the_newer_transport_is_no_failure() {
    let opened = |result: &str| Act::Say(json(&format!(r#"{{"jsonrpc":"2.0","id":{{id}},"result":{result}}}"#)));
    let newer = Script::from([
        ("GET /mcp", Act::Say(status("405 Method Not Allowed", "", ""))),
        ("initialize", opened(OPENED)),
        ("notifications/initialized", Act::Say(status("202 Accepted", "", ""))),
        ("tools/list", opened(TOOLS)),
        ("tools/call search", opened(FOUND)),
    ]);
    let server = FaultServer::start(newer, None).await;
    let (seen, profile) = probe(monitor(&server), known()).await;
    assert_eq!(first_fault(&seen), None, "{seen:#?}");
    assert_eq!((profile.era, profile.transport), (Some(Era::Legacy), Some(Transport::Http)));
}

/// What the server does, where it shows, as what, for which reason, and a part of the evidence.
type Row = (&'static str, &'static str, Act, Stage, FaultKind, FailureReason, &'static str);

#[tokio::test]
async fn faults_of_the_older_transport() {
    use FailureReason as R;
    use FaultKind as F;
    use Stage::{Handshake, Search, Tools};
    let (get, initialize) = ("GET /mcp", "POST /messages initialize");
    let (list, call) = ("POST /messages tools/list", "POST /messages tools/call search");
    let endpoint = |url: &str| Act::OpenStream(stream(&format!("event: endpoint\ndata: {url}\n\n")));
    let text = "Content-Type: text/plain\r\n";
    let rpc_error = "data: {\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{\"code\":-32603,\"message\":\"oh\"}}\n\n";
    let rows: Vec<Row> = vec![
        (
            "an endpoint of another host",
            get,
            endpoint("https://elsewhere.example/x"),
            Handshake,
            F::ForeignEndpoint,
            R::Redirected,
            "https://elsewhere.example",
        ),
        (
            "an endpoint of another port",
            get,
            endpoint("http://127.0.0.1:1/x"),
            Handshake,
            F::ForeignEndpoint,
            R::Redirected,
            "http://127.0.0.1:1",
        ),
        (
            "an endpoint that is no address",
            get,
            endpoint("http://"),
            Handshake,
            F::StreamGarbage,
            R::ProtocolError,
            "no address",
        ),
        (
            "no endpoint at all",
            get,
            Act::OpenStream(stream(": ping\n\n")),
            Handshake,
            F::StreamWithoutAnswer,
            R::Timeout,
            "never named",
        ),
        (
            "closed before the endpoint",
            get,
            Act::SayAndClose(stream("")),
            Handshake,
            F::StreamEnded,
            R::ProtocolError,
            "ended before",
        ),
        (
            "something that is no stream",
            get,
            Act::SayAndClose(stream("hello\nthere\n")),
            Handshake,
            F::StreamGarbage,
            R::ProtocolError,
            "no event",
        ),
        (
            "another content type",
            get,
            Act::Say(status("200 OK", text, "hello")),
            Handshake,
            F::WrongContentType,
            R::NotMcp,
            "text/plain",
        ),
        (
            "the stream refused with 401",
            get,
            Act::Say(status("401 Unauthorized", "WWW-Authenticate: Bearer realm=\"x\"\r\n", "")),
            Handshake,
            F::AuthRequired,
            R::AuthRequired,
            "Bearer realm",
        ),
        (
            "the stream refused with 503",
            get,
            Act::Say(status("503 Oh", text, "busy")),
            Handshake,
            F::HttpStatus(503),
            R::HttpError,
            "busy",
        ),
        (
            "a POST refused",
            initialize,
            Act::Say(status("500 Oh", text, "no")),
            Handshake,
            F::HttpStatus(500),
            R::HttpError,
            "no",
        ),
        (
            "a POST that is not taken",
            initialize,
            Act::SayAndHold(String::new()),
            Handshake,
            F::Silent,
            R::Timeout,
            "no byte",
        ),
        (
            "the session gone",
            list,
            Act::Say(status("404 Not Found", text, "Could not find session")),
            Tools,
            F::SessionLost,
            R::SessionLost,
            "Could not find session",
        ),
        (
            "the stream closed before the answer",
            list,
            Act::Push(taken(), String::new()),
            Tools,
            F::StreamEnded,
            R::ProtocolError,
            "ended without",
        ),
        ("no answer in time", list, Act::Say(taken()), Tools, F::StreamWithoutAnswer, R::Timeout, "stayed open"),
        (
            "an event that is no message",
            list,
            Act::Push(taken(), "data: hello\n\n".to_owned()),
            Tools,
            F::StreamGarbage,
            R::ProtocolError,
            "hello",
        ),
        (
            "another request's answer",
            call,
            Act::Push(taken(), "data: {\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n\n".to_owned()),
            Search,
            F::WrongId,
            R::ProtocolError,
            "99",
        ),
        (
            "a JSON-RPC error",
            call,
            Act::Push(taken(), rpc_error.to_owned()),
            Search,
            F::RpcError(-32603),
            R::ToolError,
            "oh",
        ),
        (
            "an event without end",
            call,
            Act::Push(taken(), format!("data: {}", "x".repeat(5 * 1024 * 1024))),
            Search,
            F::TooLarge,
            R::ResponseTooLarge,
            "too many bytes",
        ),
    ];
    for (sentence, key, act, stage, kind, reason, evidence) in rows {
        let server = FaultServer::start(with(older(), key, act), None).await;
        let monitor = monitor(&server);
        let monitor = if reason == R::Timeout { impatient(monitor) } else { monitor };
        let (seen, _) = probe(monitor.clone(), known()).await;
        let first = seen.steps.iter().find(|step| step.fault.is_some());
        let Some((step, fault)) = first.and_then(|step| Some((step, step.fault.as_ref()?))) else {
            panic!("{sentence}: no fault at all: {seen:#?}");
        };
        assert_eq!((step.stage, fault.kind), (stage, kind), "{sentence}: {seen:#?}");
        assert!(fault.detail.contains(evidence), "{sentence}: {}", fault.detail);
        assert_eq!(reason_of(stage, kind).0, reason, "{sentence}");
        within_budget(sentence, &monitor, &seen);
        assert_closed(sentence, &server, &seen).await;
    }
}

#[tokio::test]
async fn an_endpoint_elsewhere_is_never_asked() {
    let other = FaultServer::start(older(), None).await;
    let foreign = stream(&format!("event: endpoint\ndata: http://{}/messages\n\n", other.address));
    let server = FaultServer::start(with(older(), "GET /mcp", Act::OpenStream(foreign)), None).await;
    let (seen, _) = probe(monitor(&server), ServerProfile::default()).await;
    assert_eq!(first_fault(&seen), Some((Stage::Handshake, FaultKind::ForeignEndpoint)), "{seen:#?}");
    assert_eq!(other.seen().connections, 0);
    assert_closed("an endpoint elsewhere", &server, &seen).await;
}

#[tokio::test]
async fn a_server_that_dies_with_its_stream_is_recognised() {
    let dying = with(older(), "ping", Act::Die);
    let server = FaultServer::start(dying, None).await;
    let fresh = ServerProfile { closing: Caution::Unchecked, ..known() };
    let (seen, profile) = probe(monitor(&server), fresh).await;
    assert_eq!((first_fault(&seen), profile.closing), (None, Caution::Harmful), "{seen:#?}");
    let notes: Vec<&String> = seen.steps.iter().flat_map(|step| &step.notes).collect();
    assert!(notes.iter().any(|note| note.contains("was gone after its session was closed")), "{notes:?}");
    assert_closed("a stream cannot be left open", &server, &seen).await;
}

#[tokio::test]
async fn a_server_that_answers_the_post_last_is_well() {
    // The POST is held: what is pushed is all that comes.
    let late = with(older(), "POST /messages tools/list", Act::Push(String::new(), event(TOOLS)));
    let server = FaultServer::start(late, None).await;
    let (seen, _) = probe(monitor(&server), known()).await;
    assert_eq!(first_fault(&seen), None, "{seen:#?}");
    let notes: Vec<&String> = seen.steps.iter().flat_map(|step| &step.notes).collect();
    assert!(notes.iter().any(|note| note.contains("POST itself was not answered")), "{notes:?}");
    assert_closed("a late POST", &server, &seen).await;
}
