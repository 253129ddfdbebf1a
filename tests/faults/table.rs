//! Every row of the table of faults that a probe tells apart: what the server does, where it shows, as which fault, for
//! which reason and signal, and a part of the evidence. HTTP+SSE has its rows in `older`, programs theirs in `programs`.

use std::time::Duration;

use serin::domain::classify::classify;
use serin::domain::fault::FaultKind as F;
use serin::domain::observation::{Observation, Stage};
use serin::domain::reason::FailureReason as R;
use serin::domain::signal::Signal;
use serin::probe::prober::Prober;

use crate::fault_server::{Act, FaultServer, Script, json, result, status, stream};
use crate::probing::{TIMEOUT, assignment, check, common, first_fault, impatient, monitor, probe};
use crate::scripts::{DISCOVERED, TOOLS, legacy, modern, say, with};
use crate::tls::{self, acceptor, authority};

/// What the server does, where it shows, as what, for which reason, and a part of the evidence.
type Row = (&'static str, Script, Stage, F, R, &'static str);

const TEXT: &str = "Content-Type: text/plain\r\n";
const JSON: &str = "Content-Type: application/json\r\n";

/// The signal that a reason feeds before any search.
fn signal_of(stage: Stage, reason: R) -> Signal {
    match (reason, stage) {
        (R::AuthRequired | R::AuthRejected, _) => Signal::Access,
        (R::ToolMissing, _) => Signal::Contract,
        (R::RateLimited, _) | (_, Stage::Search) => Signal::Errors,
        _ => Signal::Availability,
    }
}

async fn hold(rows: Vec<Row>) {
    for (sentence, script, stage, kind, reason, evidence) in rows {
        let seen = check(sentence, script, Some((stage, kind))).await;
        let fault = seen.fault(stage).expect(sentence);
        assert!(fault.detail.contains(evidence), "{sentence}: {}", fault.detail);
        let outcome = classify(&monitor("http://unused.invalid/", 1), &seen);
        let finding = outcome.findings.first().expect(sentence);
        assert_eq!((finding.reason, finding.signal), (reason, signal_of(stage, reason)), "{sentence}");
        let said = |label: &str| fault.detail.contains(&format!("{label}: "));
        let both = said("initialize") && said("server/discover");
        assert_eq!(both, failed_twice(&seen), "{sentence}: where both openings fail both are told, {}", fault.detail);
    }
}

/// Whether neither opening was answered, where both were tried.
fn failed_twice(seen: &Observation) -> bool {
    let tried = |label: &str| seen.steps.iter().any(|step| step.label == label);
    seen.era.is_none() && tried("initialize") && tried("server/discover")
}

fn discover(act: Act) -> Script {
    Script::from([("server/discover", act)])
}

#[tokio::test]
async fn faults_of_http() {
    let at = Stage::Handshake;
    let close = |text: &str| discover(Act::SayAndClose(text.to_owned()));
    let answer = |line: &str, headers: &str, body: &str| discover(say(status(line, headers, body)));
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"js";
    let large = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n";
    let endless = format!("HTTP/1.1 200 OK\r\n{{again}}X-Filler: {}\r\n", "a".repeat(80));
    let internal = r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32603,"message":"x"}}"#;
    #[rustfmt::skip]
    let rows: Vec<Row> = vec![
        ("accepted and then silent", discover(Act::SayAndHold(String::new())), at, F::Silent, R::Timeout, "no byte of an answer"),
        ("a head that begins and does not end", discover(Act::SayAndHold("HTTP/1.1 200 OK\r\nContent-".to_owned())), at, F::SlowHead, R::Timeout, "25 bytes of the answer's head"),
        ("an interim answer and no other", discover(Act::SayAndHold("HTTP/1.1 102 Processing\r\n\r\n".to_owned())), at, F::SlowHead, R::Timeout, "27 bytes of the answer's head"),
        ("not HTTP at all", close("SSH-2.0-OpenSSH_9.2\r\n"), at, F::NotHttp, R::NotMcp, "HTTP"),
        ("closed before headers", close(""), at, F::ClosedEarly, R::NetworkError, "connection closed"),
        ("closed inside the headers", close("HTTP/1.1 200 OK\r\nContent-"), at, F::ClosedEarly, R::NetworkError, "connection closed"),
        ("a body cut short", close(head), at, F::BodyTruncated, R::NetworkError, "broke off"),
        ("a body that does not end", discover(Act::SayAndHold(head.to_owned())), at, F::SlowBody, R::Timeout, "4 bytes of the body"),
        ("a body announced too large", discover(say(large.to_owned())), at, F::TooLarge, R::ResponseTooLarge, "4194304"),
        ("headers without end", discover(Act::SayForever(endless)), at, F::TooLarge, R::ResponseTooLarge, ""),
        ("401 with a challenge", answer("401 Unauthorized", "WWW-Authenticate: Bearer realm=\"x\"\r\n", ""), at, F::AuthRequired, R::AuthRequired, "Bearer realm"),
        ("401 bare", answer("401 Unauthorized", "", ""), at, F::AuthRequired, R::AuthRequired, "without a challenge"),
        ("403", answer("403 Forbidden", TEXT, "no"), at, F::HttpStatus(403), R::HttpError, "403 Forbidden: no"),
        ("403 with a challenge", answer("403 Forbidden", "WWW-Authenticate: Bearer error=\"insufficient_scope\"\r\n", ""), at, F::AuthRequired, R::AuthRequired, "insufficient_scope"),
        ("404", Script::new(), at, F::HttpStatus(404), R::HttpError, "404 Not Found"),
        ("429", answer("429 Too Many Requests", "Retry-After: 17\r\n", ""), at, F::RateLimited { retry_after_seconds: Some(17) }, R::RateLimited, "17"),
        ("429 until a moment, in the old form", answer("429 Too Many Requests", "Retry-After: Saturday, 21-Nov-26 08:59:00 GMT\r\n", ""), at, F::RateLimited { retry_after_seconds: Some(0) }, R::RateLimited, "21-Nov-26"),
        ("429 until a moment, as C writes it", answer("429 Too Many Requests", "Retry-After: Sat Nov 21 08:59:00 2026\r\n", ""), at, F::RateLimited { retry_after_seconds: Some(0) }, R::RateLimited, "Nov 21"),
        ("429 without a time", answer("429 Too Many Requests", "", ""), at, F::RateLimited { retry_after_seconds: None }, R::RateLimited, "429"),
        ("500", answer("500 Internal Server Error", TEXT, "oh\r\nno\u{7}"), at, F::HttpStatus(500), R::HttpError, "oh\\r\\nno"),
        ("503 with a JSON-RPC body", answer("503 Service Unavailable", JSON, internal), at, F::HttpStatus(503), R::HttpError, "-32603"),
        ("a redirect elsewhere", answer("302 Found", "Location: https://elsewhere.example/?t=1\r\n", ""), at, F::Redirected(302), R::Redirected, "https://elsewhere.example/"),
        ("a redirect to another origin, method kept", answer("307 Temporary Redirect", "Location: https://elsewhere.example/mcp\r\n", ""), at, F::Redirected(307), R::Redirected, "elsewhere.example"),
        ("200 with HTML", answer("200 OK", "Content-Type: text/html; charset=utf-8\r\n", "<html>hi</html>"), at, F::Html, R::NotMcp, "<html>hi"),
        ("200 with text", answer("200 OK", TEXT, "hello"), at, F::WrongContentType, R::NotMcp, "text/plain: hello"),
        ("200 without a content type", answer("200 OK", "", "hello"), at, F::WrongContentType, R::NotMcp, "without a content type"),
        ("an empty 200", answer("200 OK", "", ""), at, F::EmptyBody, R::ProtocolError, "200 with an empty body"),
        ("202 to a request", answer("202 Accepted", "", ""), at, F::EmptyBody, R::ProtocolError, "202 Accepted"),
        ("an empty object", discover(say(json("{}"))), at, F::NotJsonRpc, R::ProtocolError, "jsonrpc"),
        ("broken JSON", discover(say(json("{\"jsonrpc\""))), at, F::NotJson, R::ProtocolError, "not JSON"),
        ("an array", discover(say(json("[]"))), at, F::NotJsonRpc, R::ProtocolError, "JSON, but no message"),
    ];
    hold(rows).await;
}

#[tokio::test]
async fn faults_of_the_message() {
    let at = Stage::Handshake;
    let mismatch = r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32020,"message":"x"}}"#;
    let other = "data: {\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n\n";
    let notice = "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunked = format!("{head}{:x}\r\n{notice}\r\n", notice.len());
    let streams = |act: fn(String) -> Act, events: &str| discover(act(stream(events)));
    #[rustfmt::skip]
    let rows: Vec<Row> = vec![
        ("a wrong id", discover(say(json(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#))), at, F::WrongId, R::ProtocolError, "id 99"),
        ("no result", discover(say(json(r#"{"jsonrpc":"2.0","id":{id}}"#))), at, F::BadResult, R::ProtocolError, "neither result nor error"),
        ("a modern result without resultType", discover(say(result(r#"{"supportedVersions":["2026-07-28"]}"#))), at, F::BadResult, R::ProtocolError, "resultType"),
        ("a result that asks for input", discover(say(result(&DISCOVERED.replace("complete", "input_required")))), at, F::BadResult, R::ProtocolError, "input_required"),
        ("later versions only", discover(say(result(&DISCOVERED.replace("2026-07-28", "2027-07-28")))), at, F::WrongVersion, R::VersionUnsupported, "2026-07-28"),
        ("a header mismatch", discover(say(status("400 Bad Request", JSON, mismatch))), at, F::RpcError(-32020), R::ProtocolError, "-32020"),
        ("a stream that never answers", streams(Act::SayAndHold, ""), at, F::StreamWithoutAnswer, R::Timeout, "stayed open without the answer; 0 events, 0 keep-alives"),
        ("a stream of keep-alives", streams(Act::SayAndHold, ": ping\n\n: ping\n\n"), at, F::StreamWithoutAnswer, R::Timeout, "2 keep-alives"),
        ("a stream that ends without the answer", streams(Act::SayAndClose, notice), at, F::StreamEnded, R::ProtocolError, "ended without the answer; 1 events"),
        ("a chunked stream that ends so", discover(Act::Say(format!("{chunked}0\r\n\r\n"))), at, F::StreamEnded, R::ProtocolError, "ended without the answer; 1 events"),
        ("a chunked stream that breaks off", discover(Act::SayAndClose(chunked.clone())), at, F::BodyTruncated, R::NetworkError, "broke off"),
        ("a stream of garbage", streams(Act::SayAndClose, "data: hello\n\n"), at, F::StreamGarbage, R::ProtocolError, "hello"),
        ("a stream that is none", streams(Act::SayAndClose, "hello\nworld\n\n"), at, F::StreamGarbage, R::ProtocolError, ""),
        ("a stream with another's answer", streams(Act::SayAndClose, other), at, F::WrongId, R::ProtocolError, "id 99"),
        ("a stream without end", discover(Act::SayForever(format!("{}{{again}}{notice}", stream("")))), at, F::TooLarge, R::ResponseTooLarge, "too many events"),
    ];
    hold(rows).await;
}

#[tokio::test]
async fn faults_of_a_session_and_of_the_tools() {
    let list = |act| with(legacy(), "tools/list", act);
    let call = |act| with(legacy(), "tools/call search_documents", act);
    let lost =
        r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#;
    let loops = result(&TOOLS.replacen('{', r#"{"nextCursor":"c","#, 1));
    let failed = json(r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32603,"message":"x"}}"#);
    let is_error = result(r#"{"isError":true,"content":[{"type":"text","text":"pool exhausted"}]}"#);
    #[rustfmt::skip]
    let rows: Vec<Row> = vec![
        ("a session lost as Python and rmcp say it", list(say(status("404 Not Found", TEXT, "Session not found"))), Stage::Tools, F::SessionLost, R::SessionLost, "404 Not Found: Session not found"),
        ("a session lost as TypeScript says it", list(say(status("400 Bad Request", JSON, lost))), Stage::Tools, F::SessionLost, R::SessionLost, "No valid session"),
        ("a session lost in the middle of the searches", call(say(status("404 Not Found", "", ""))), Stage::Search, F::SessionLost, R::SessionLost, "404"),
        ("a cursor loop", with(list(say(loops.clone())), "tools/list again", say(loops)), Stage::Tools, F::CursorLoop, R::ProtocolError, "cursor c came again"),
        ("the tool absent", list(say(result(r#"{"tools":[{"name":"echo"}]}"#))), Stage::Tools, F::ToolAbsent, R::ToolMissing, "echo"),
        ("a JSON-RPC error", call(say(failed)), Stage::Search, F::RpcError(-32603), R::ToolError, "-32603"),
        ("isError", call(say(is_error)), Stage::Search, F::ToolError, R::ToolError, "pool exhausted"),
        ("a modern list without resultType", with(modern(), "tools/list", say(result(TOOLS))), Stage::Tools, F::BadResult, R::ProtocolError, "resultType"),
    ];
    hold(rows).await;
    // Older servers only: discover has been answered, so that initialize is where these show.
    let initialize = |act| with(legacy(), "initialize", act);
    let version = result(r#"{"protocolVersion":"1999-01-01","capabilities":{}}"#);
    #[rustfmt::skip]
    let rows = [
        ("405", initialize(say(status("405 Method Not Allowed", "", ""))), F::HttpStatus(405), R::HttpError, "405 Method Not Allowed"),
        ("410", initialize(say(status("410 Gone", TEXT, "moved out"))), F::HttpStatus(410), R::HttpError, "410 Gone: moved out"),
        ("a wrong protocol version", initialize(say(version)), F::WrongVersion, R::VersionUnsupported, "1999-01-01"),
    ];
    for (sentence, script, kind, reason, evidence) in rows {
        let seen = check(sentence, script, Some((Stage::Handshake, kind))).await;
        let detail = &seen.fault(Stage::Handshake).expect(sentence).detail;
        assert!(detail.contains(evidence), "{sentence}: {detail}");
        assert_eq!(classify(&monitor("http://unused.invalid/", 1), &seen).reason(), Some(reason), "{sentence}");
    }
}

#[tokio::test]
async fn legal_oddities_are_notes() {
    let echoed = with(legacy(), "tools/list", say(result(TOOLS).replace("{id}", "\"{id}\"")));
    let streamed = stream(&format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{{id}},\"result\":{TOOLS}}}\n\n"));
    let rows = [
        ("an id echoed as a string", echoed, "came back as a string"),
        (
            "a stream not closed after the answer",
            with(legacy(), "tools/list", Act::SayAndHold(streamed)),
            "stayed open",
        ),
    ];
    for (sentence, script, expected) in rows {
        let seen = check(sentence, script, None).await;
        let notes: Vec<&String> = seen.steps.iter().flat_map(|step| &step.notes).collect();
        assert!(notes.iter().any(|note| note.contains(expected)), "{sentence}: {notes:?}");
    }
}

/// A URL where something is wrong before HTTP, and what keeps it so.
struct Place {
    url: String,
    _kept: Vec<tokio::net::TcpStream>,
    _listener: Option<tokio::net::TcpListener>,
}

async fn place(what: &str) -> Place {
    let free = || async { tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port") };
    let (mut kept, mut listener) = (Vec::new(), None);
    let url = match what {
        "no such name" => "http://no-such-host.invalid/mcp".to_owned(),
        // A broadcast address: no TCP goes there, on any machine.
        "unreachable" => "http://255.255.255.255/mcp".to_owned(),
        "refused" => format!("http://{}/mcp", free().await.local_addr().expect("an address")),
        "refused over IPv6" => {
            let six = tokio::net::TcpListener::bind("[::1]:0").await.expect("a free port").local_addr();
            format!("http://{}/mcp", six.expect("an address"))
        }
        "reset" => {
            let server = FaultServer::start(Script::from([("*", Act::Reset)]), None).await;
            format!("http://{}/mcp", server.address)
        }
        // A backlog that is full answers no further SYN.
        _ => {
            let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
            socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
            let full = socket.listen(1).expect("it listens");
            let address = full.local_addr().expect("an address");
            let patience = Duration::from_millis(100);
            while let Ok(Ok(stream)) = tokio::time::timeout(patience, tokio::net::TcpStream::connect(address)).await {
                kept.push(stream);
            }
            listener = Some(full);
            format!("http://{address}/mcp")
        }
    };
    Place { url, _kept: kept, _listener: listener }
}

#[tokio::test]
async fn faults_before_http() {
    let six = std::net::TcpListener::bind("[::1]:0").is_ok();
    let rows = [
        ("no such name", F::NameNotResolved, R::DnsFailure, ""),
        ("refused", F::Refused, R::ConnectionRefused, "IPv4"),
        ("refused over IPv6", F::Refused, R::ConnectionRefused, "IPv6"),
        ("a full backlog", F::ConnectTimeout, R::ConnectTimeout, "IPv4"),
        ("unreachable", F::Unreachable, R::NetworkError, "255.255.255.255"),
        ("reset", F::Reset, R::NetworkError, ""),
    ];
    for (sentence, kind, reason, evidence) in rows.into_iter().filter(|row| six || !row.0.ends_with("IPv6")) {
        let place = place(sentence).await;
        let monitor = monitor(&place.url, 1);
        let monitor = if kind == F::ConnectTimeout { impatient(monitor) } else { monitor };
        let seen = probe(monitor.clone()).await;
        // A reset may come with the connection or with the first request over it.
        let stage = if kind == F::Reset { first_fault(&seen).expect(sentence).0 } else { Stage::Connect };
        assert_eq!(first_fault(&seen), Some((stage, kind)), "{sentence}: {seen:#?}");
        let detail = &seen.fault(stage).expect(sentence).detail;
        assert!(detail.contains(evidence), "{sentence}: {detail}");
        let outcome = classify(&monitor, &seen);
        assert_eq!((outcome.reason(), outcome.findings[0].signal), (Some(reason), Signal::Availability), "{sentence}");
        common(sentence, &monitor, &seen);
    }
}

#[tokio::test]
async fn faults_of_tls() {
    let issuer = authority("ours");
    let trusting = Prober::with_roots(tls::trusting(&issuer), 8);
    let wary = Prober::with_roots(rustls::RootCertStore::empty(), 8);
    let (good, other) = (&["127.0.0.1"][..], &["other.example"][..]);
    let rows = [
        ("a good chain", &trusting, good, false, None),
        ("resumed, still good", &trusting, good, false, None),
        ("a chain that nobody trusts", &wary, good, false, Some(F::TlsUntrusted)),
        ("a certificate for another name", &trusting, other, false, Some(F::TlsWrongName)),
        ("a certificate that has expired", &trusting, good, true, Some(F::TlsExpired)),
    ];
    for (sentence, prober, names, expired, expected) in rows {
        let server = FaultServer::start(modern(), Some(acceptor(&issuer, names, expired))).await;
        let monitor = monitor(&format!("https://{}/mcp", server.address), 1);
        let seen = prober.run(&assignment(monitor.clone())).await.0;
        assert_eq!(first_fault(&seen), expected.map(|kind| (Stage::Connect, kind)), "{sentence}: {seen:#?}");
        assert_eq!(classify(&monitor, &seen).reason(), expected.map(|_| R::TlsFailure), "{sentence}");
        common(sentence, &monitor, &seen);
        if sentence == "a good chain" {
            assert!(seen.steps[0].notes.iter().any(|note| note.contains("more days")), "{:?}", seen.steps[0].notes);
        }
    }
    // The server speaks first, and not TLS.
    let plain = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = plain.local_addr().unwrap();
    tokio::spawn(async move {
        use tokio::io::AsyncWriteExt as _;
        while let Ok((mut stream, _)) = plain.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            let _ = stream.shutdown().await;
        }
    });
    let seen = trusting.run(&assignment(monitor(&format!("https://{address}/mcp"), 1))).await.0;
    assert_eq!(first_fault(&seen), Some((Stage::Connect, F::TlsFailed)), "plain HTTP on a TLS port");
    let stalled = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = stalled.local_addr().unwrap();
    let seen = trusting.run(&assignment(impatient(monitor(&format!("https://{address}/mcp"), 1)))).await.0;
    assert_eq!(first_fault(&seen), Some((Stage::Connect, F::TlsFailed)), "a handshake that stalls");
    assert!(seen.fault(Stage::Connect).unwrap().detail.contains("stalled"));
    assert!(seen.elapsed >= TIMEOUT, "it was waited for");
}

#[tokio::test]
async fn the_end_of_a_certificate_is_known_over_resumed_sessions_too() {
    let issuer = authority("ours");
    let prober = Prober::with_roots(tls::trusting(&issuer), 8);
    let server = FaultServer::start(modern(), Some(acceptor(&issuer, &["127.0.0.1"], false))).await;
    let mut assignment = assignment(monitor(&format!("https://{}/mcp", server.address), 0));
    let mut ends = Vec::new();
    for _ in 0..3 {
        let (seen, profile) = prober.run(&assignment).await;
        assert_eq!(first_fault(&seen), None, "{seen:#?}");
        ends.push(seen.certificate_until.expect("it is known"));
        assignment.profile = profile;
    }
    assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}");
}
