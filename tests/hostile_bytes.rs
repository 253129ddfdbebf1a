//! Arbitrary bytes as answers, headers and event streams: never a panic, never past the deadline or the byte bounds.
//!
//! The decoders are fed thousands of values; the probe as a whole meets a raw socket.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::{Index, select};
use proptest::test_runner::TestCaseError;
use serde_json::Value;
use serde_json::value::RawValue;
use serin::domain::answer::HITS_MAX;
use serin::domain::fault::FaultKind;
use serin::domain::monitor::Monitor;
use serin::domain::observation::Observation;
use serin::probe::assignment::Assignment;
use serin::probe::decode::answer;
use serin::probe::decode::health;
use serin::probe::decode::rpc;
use serin::probe::decode::sources;
use serin::probe::decode::sse::{Decoder, EVENTS_MAX, Overflow, SseEvent};
use serin::probe::decode::timestamp;
use serin::probe::prober::Prober;
use serin::probe::wire::reply::ANSWER_BYTES_MAX;
use serin::tool_lists::known::KnownLists;
use serin::tool_lists::schema;
use serin::tool_lists::tools;
use serin::untrusted_text::{DETAIL_CHARS_MAX, EXCERPT_CHARS_MAX, NAME_CHARS_MAX};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[expect(dead_code, reason = "other tests need more of it")]
mod common;

use common::monitors::{address, assignment, canary};

/// Short, so that a server that hangs costs little; what is asserted is a bound, however slow the machine.
const TIMEOUT: Duration = Duration::from_millis(60);
const BUDGET: Duration = Duration::from_millis(240);

/// What comes on top of the budget: two closings and two looks whether the server survived, two seconds each at most,
/// and as much again for a machine under load.
const CLOSING: Duration = Duration::from_secs(16);

/// Bytes of one exchange beyond its body: a head of 64 kB, and what the socket's buffers brought before we hung up.
const BESIDE_THE_BODY: u64 = 1024 * 1024;

/// A monitor that asks for everything a probe can ask for.
fn monitor(port: u16) -> Monitor {
    let mut monitor = Monitor::undeclared("m", address(&format!("http://127.0.0.1:{port}/mcp")));
    monitor.health = vec![address(&format!("http://127.0.0.1:{port}/health"))];
    monitor.canaries = vec![canary("c")];
    (monitor.timeout, monitor.probe_budget) = (TIMEOUT, BUDGET);
    monitor
}

async fn probe(monitor: Monitor) -> Observation {
    let assignment = Assignment { source_pages: 20, ..assignment(monitor, Utc::now()) };
    Prober::new(1).run(&assignment).await.0
}

/// What a server does with one request.
#[derive(Debug, Clone)]
enum Act {
    /// What a good server of the modern era says.
    Well,
    /// A head or the start of one, then bytes.
    Say(&'static str, Vec<u8>, Ending),
}

/// What it does after the bytes.
#[derive(Debug, Clone, Copy)]
enum Ending {
    Keep,
    Close,
    Hold,
    /// The bytes again and again, until the other side closes.
    Again,
}

fn act() -> impl Strategy<Value = Act> {
    let heads = select(vec![
        "",
        "HTTP/1.1 ",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nMcp-Session-Id: ",
        "HTTP/1.1 200 OK\r\nContent-Type: ",
        "HTTP/1.1 200 OK\r\nContent-Length: ",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 18446744073709551615\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ",
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 1\nretry: 1\ndata:\n\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: endpoint\ndata: ",
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: ",
        "HTTP/1.1 404 Not Found\r\n\r\n",
        "HTTP/1.1 429 Too Many Requests\r\nRetry-After: ",
        "HTTP/1.1 503 Service Unavailable\r\n\r\n",
    ]);
    let bytes = prop_oneof![
        vec(any::<u8>(), 0..400),
        // Bytes that mean something to HTTP, to event streams and to JSON.
        vec(select(b"\r\n\n: {}[]\",0123456789abcdefdataideventretry\0\x1b\xff".to_vec()), 0..400),
    ];
    let endings = select(vec![Ending::Keep, Ending::Close, Ending::Close, Ending::Hold, Ending::Again]);
    let said = (heads, bytes, endings).prop_map(|(head, bytes, ending)| Act::Say(head, bytes, ending));
    prop_oneof![2 => Just(Act::Well), 3 => said]
}

/// Serves the acts in turn, over however many connections; ends with its runtime.
async fn serve(acts: Vec<Act>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let turn = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let acts = Arc::new(acts);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acts, turn) = (Arc::clone(&acts), Arc::clone(&turn));
            tokio::spawn(async move {
                let next = move || acts[turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % acts.len()].clone();
                answer_all(stream, next).await;
            });
        }
    });
    port
}

async fn answer_all(mut stream: TcpStream, next: impl Fn() -> Act) {
    let mut buffer = vec![0; 16 * 1024];
    // The prober writes each of its small requests in one piece.
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        let request = String::from_utf8_lossy(&buffer[..read]).into_owned();
        let (head, bytes, ending) = match next() {
            Act::Well => ("", well(&request), Ending::Keep),
            Act::Say(head, bytes, ending) => (head, bytes, ending),
        };
        if stream.write_all(head.as_bytes()).await.is_err() || stream.write_all(&bytes).await.is_err() {
            return;
        }
        match ending {
            Ending::Keep => {}
            Ending::Close => return,
            Ending::Hold => {
                let _ = stream.read(&mut buffer).await;
                return;
            }
            Ending::Again if bytes.is_empty() => return,
            Ending::Again => {
                let many = bytes.repeat(1 + 64 * 1024 / bytes.len());
                while stream.write_all(&many).await.is_ok() {
                    tokio::task::yield_now().await;
                }
                return;
            }
        }
    }
}

fn well(request: &str) -> Vec<u8> {
    let message: Value =
        request.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok()).unwrap_or_default();
    let result = match message["method"].as_str() {
        Some("server/discover") => {
            r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"]}"#
        }
        Some("tools/list") => {
            r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"search"},{"name":"list_sources"}]}"#
        }
        _ => {
            r#"{"resultType":"complete","content":[],"structuredContent":{"results":[{"text":"one","source":"a.md"}],"sources":[]}}"#
        }
    };
    let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, message["id"]);
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into()
}

/// What holds of every observation, whatever the server did.
fn assert_bounded(seen: &Observation) -> Result<(), TestCaseError> {
    prop_assert!(seen.elapsed <= BUDGET + CLOSING, "took {:?}: {seen:#?}", seen.elapsed);
    let most = u64::from(seen.footprint.requests) * (ANSWER_BYTES_MAX as u64 + BESIDE_THE_BODY);
    prop_assert!(seen.footprint.bytes_in <= most, "read {} bytes: {seen:#?}", seen.footprint.bytes_in);
    for step in &seen.steps {
        let details = step.fault.iter().map(|fault| &fault.detail).chain(&step.notes);
        for line in details {
            prop_assert!(line.chars().count() <= DETAIL_CHARS_MAX + 1, "{line}");
            prop_assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }
    Ok(())
}

fn in_a_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_server_makes_a_probe_panic_or_pass_its_bounds(acts in vec(act(), 1..8)) {
        let seen = in_a_runtime(async { probe(monitor(serve(acts).await)).await });
        assert_bounded(&seen)?;
    }
}

/// Streams that never end by themselves: each is left at its bound or at the deadline.
#[test]
fn endless_answers_are_left_in_time() {
    let table: [(&str, &str, &[u8], &[FaultKind]); 7] = [
        (
            "a body",
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
            b"[0,",
            &[FaultKind::TooLarge, FaultKind::SlowBody],
        ),
        ("an error's body", "HTTP/1.1 503 No\r\n\r\n", b"no ", &[FaultKind::HttpStatus(503)]),
        ("a head", "HTTP/1.1 200 OK\r\n", b"A: b\r\n", &[FaultKind::TooLarge, FaultKind::NotHttp, FaultKind::SlowHead]),
        ("interim answers", "", b"HTTP/1.1 100 Continue\r\n\r\n", &[FaultKind::TooLarge, FaultKind::SlowHead]),
        (
            "one event",
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
            b"data: x\n",
            &[FaultKind::TooLarge, FaultKind::StreamWithoutAnswer],
        ),
        (
            "keep-alives",
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
            b": x\n\n",
            &[FaultKind::TooLarge, FaultKind::StreamWithoutAnswer],
        ),
        (
            "places to come back to",
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
            b"id: 1\nretry: 0\ndata:\n\n",
            &[FaultKind::TooLarge, FaultKind::StreamWithoutAnswer],
        ),
    ];
    for (sentence, head, again, expected) in table {
        let acts = vec![Act::Say(head, again.to_vec(), Ending::Again)];
        let seen = in_a_runtime(async { probe(monitor(serve(acts).await)).await });
        assert_bounded(&seen).expect(sentence);
        let fault = seen.steps.iter().find_map(|step| step.fault.as_ref()).expect(sentence);
        assert!(expected.contains(&fault.kind), "{sentence}: {fault:?}");
    }
}

/// An answer with a gush of bytes behind it: the answer counts, and the gush is not read to its end.
#[test]
fn what_follows_an_answer_is_not_read_to_its_end() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"]}}\n\n";
    let acts = vec![Act::Say(answer, b": more\n".to_vec(), Ending::Again)];
    let seen = in_a_runtime(async { probe(monitor(serve(acts).await)).await });
    let opening = seen.steps.iter().find(|step| step.label == "server/discover").expect("it was asked");
    assert_eq!(opening.fault, None);
    assert!(opening.notes.iter().any(|note| note.contains("more to say")), "{:?}", opening.notes);
}

/// Keys and words that some decoder looks for, so that arbitrary JSON reaches its branches.
fn key() -> impl Strategy<Value = String> {
    let known = select(vec![
        "jsonrpc",
        "id",
        "result",
        "error",
        "code",
        "message",
        "data",
        "supported",
        "method",
        "content",
        "text",
        "type",
        "structuredContent",
        "isError",
        "results",
        "hits",
        "documents",
        "items",
        "source",
        "score",
        "metadata",
        "total",
        "total_results",
        "degraded",
        "partial",
        "status",
        "success",
        "sources",
        "last_indexed",
        "indexed_at",
        "name",
        "description",
        "inputSchema",
        "properties",
        "required",
        "enum",
        "minimum",
        "maximum",
        "additionalProperties",
        "x-mcp-header",
        "query",
        "uptime_seconds",
        "started_at",
        "cache_warm",
        "reason",
        "checks",
        "version",
    ]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => any::<String>()]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        key().prop_map(Value::from),
        select(vec!["2.0", "error", "ok", "string", "object", "2026-11-21T09:00:00Z", "2026-13-99", "1e400"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::from),
            vec((key(), inner), 0..8).prop_map(|entries| entries.into_iter().collect()),
        ]
    })
}

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).expect("it is JSON")
}

fn is_line(text: &str, chars: usize) -> bool {
    text.chars().count() <= chars + 1 && !text.chars().any(char::is_control)
}

/// All events, cut at one place.
fn decoded(bytes: &[u8], at: usize) -> (Result<(), Overflow>, Vec<SseEvent>, Option<Vec<u8>>) {
    let mut decoder = Decoder::new(64);
    let mut events = Vec::new();
    let outcome = decoder.push(&bytes[..at], &mut events).and_then(|()| decoder.push(&bytes[at..], &mut events));
    (outcome, events, decoder.last_id().map(<[u8]>::to_vec))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn an_event_stream_is_the_same_however_it_is_cut_and_stays_bounded(
        bytes in vec(prop_oneof![any::<u8>(), select(b"\r\n\n: dataidevent0".to_vec())], 0..300),
        at in any::<Index>(),
    ) {
        let cut = at.index(bytes.len() + 1);
        let (whole, parts) = (decoded(&bytes, bytes.len()), decoded(&bytes, cut));
        prop_assert!(whole.1.len() <= EVENTS_MAX && whole.1.iter().all(|event| event.data.len() <= 64));
        prop_assert_eq!(whole, parts);
    }

    #[test]
    fn a_message_is_read_or_told_why_not(bytes in vec(any::<u8>(), 0..300), value in json(), id in any::<u64>()) {
        for bytes in [bytes, value.to_string().into_bytes()] {
            if let Err(misfit) = rpc::read(&bytes, id) {
                prop_assert!(is_line(&misfit.detail, DETAIL_CHARS_MAX), "{}", misfit.detail);
            }
        }
    }

    #[test]
    fn an_answer_is_reduced_to_bounded_lines(value in json(), inner in json()) {
        let monitor = monitor(1);
        let wrapped = serde_json::json!({"structuredContent": inner, "content": [{"type": "text", "text": inner.to_string()}]});
        for value in [value, wrapped] {
            if let Ok(answer) = answer::read(&raw(&value), &monitor.search) {
                prop_assert!(answer.hits.len() <= HITS_MAX);
                for hit in &answer.hits {
                    prop_assert!(is_line(&hit.source, NAME_CHARS_MAX) && is_line(&hit.excerpt, EXCERPT_CHARS_MAX), "{hit:?}");
                    prop_assert!(hit.score.is_none_or(f64::is_finite), "{hit:?}");
                }
                prop_assert!(answer.self_reported.iter().all(|said| is_line(said, EXCERPT_CHARS_MAX)));
            }
            let _ = sources::read(&raw(&value));
        }
    }

    #[test]
    fn tools_are_reduced_whatever_they_are(list in vec(json(), 0..6)) {
        let monitor = monitor(1);
        let reduced = tools::reduce(&list, &monitor.search, &KnownLists::default());
        prop_assert_eq!(reduced.tools.len(), list.len());
        prop_assert!(serde_json::from_str::<Value>(&reduced.json).is_ok(), "{}", reduced.json);
        prop_assert!(reduced.tools.iter().all(|tool| is_line(&tool.name, NAME_CHARS_MAX)));
        let mut turned = list.clone();
        turned.reverse();
        prop_assert_eq!(reduced, tools::reduce(&turned, &monitor.search, &KnownLists::default()), "their order does not matter");
        for schema in &list {
            if let Some(why) = schema::misfit(schema, &monitor.search) {
                prop_assert!(is_line(&why, DETAIL_CHARS_MAX), "{why}");
            }
        }
    }

    #[test]
    fn a_moment_is_a_moment_or_none(value in json(), text in "[0-9TZ:. +-]{0,40}") {
        let _ = timestamp::timestamp(&value);
        let _ = timestamp::timestamp(&Value::from(text));
    }

    #[test]
    fn a_health_answer_is_judged_whatever_it_is(bytes in vec(any::<u8>(), 0..200), value in json(), status in any::<u16>()) {
        let now: DateTime<Utc> = "2026-11-21T09:00:00Z".parse().expect("a moment");
        for bytes in [bytes, value.to_string().into_bytes()] {
            let seen = health::read_health("http://h/", status, &bytes, now);
            prop_assert!(!seen.ok || (200..300).contains(&status));
            let said = [&seen.reason, &seen.instance, &seen.version];
            prop_assert!(said.into_iter().flatten().all(|text| is_line(text, NAME_CHARS_MAX)));
        }
    }
}

#[test]
fn a_secret_that_comes_back_in_another_form_is_hidden() {
    use serin::untrusted_text::Scrub;
    let rows = [
        ("plain", "tok/en+9?ü", "tok/en+9?ü"),
        ("base64", "tok/en+9?ü", "dG9rL2VuKzk/w7w="),
        ("base64 without its padding", "tok/en+9?ü", "dG9rL2VuKzk/w7w"),
        ("base64 for addresses", "tok/en+9?ü", "dG9rL2VuKzk_w7w="),
        ("base64 for addresses without its padding", "tok/en+9?ü", "dG9rL2VuKzk_w7w"),
        ("percent", "tok/en+9?ü", "tok%2Fen%2B9%3F%C3%BC"),
        ("percent in small letters", "tok/en+9?ü", "tok%2fen%2b9%3f%c3%bc"),
        ("percent as a form writes it", "tok en*9", "tok+en*9"),
        ("percent as an address writes a blank", "tok en*9", "tok%20en%2A9"),
        ("hexadecimal", "tok/en+9?ü", "746f6b2f656e2b393fc3bc"),
        ("hexadecimal in capitals", "tok/en+9?ü", "746F6B2F656E2B393FC3BC"),
    ];
    for (sentence, secret, echoed) in rows {
        let scrub = Scrub::new([secret.to_owned()]).and(["another-one".to_owned()]);
        for scrub in [scrub.clone(), scrub.and([])] {
            let line = scrub.line(&format!("denied for <{echoed}> today"));
            assert_eq!(line, "denied for <•••> today", "{sentence}");
        }
        assert_eq!(scrub.line(&format!("denied for {}…", &echoed[..8])), "denied for •••…", "{sentence}, and cut");
    }
}
