//! What is said from the opening to the search, with servers that answer well and ones that do not.

use std::sync::Arc;
use std::time::Duration;

use serin::domain::answer::Turn;
use serin::domain::fault::FaultKind;
use serin::domain::monitor::ProbeIdentity;
use serin::domain::observation::Stage;
use serin::domain::protocol::Era;
use serin::domain::secret::Secret;
use serin::probe::prober::Prober;

use crate::common::monitors::address;
use crate::fault_server::{Act, FaultServer, Script, json, result, status, stream};
use crate::probing::{TIMEOUT, assignment, check, first_fault, monitor, monitor_of, probe};
use crate::scripts::{FOUND, legacy, modern, say, with};

#[tokio::test]
async fn servers_that_do_everything_right_have_no_fault() {
    let seen = check("a legacy server", legacy(), None).await;
    // The second one looked whether the server survived the closing of its session, as a first probe does.
    assert_eq!((seen.era, seen.footprint.connections), (Some(Era::Legacy), 2));
    assert_eq!((seen.footprint.sessions_opened, seen.footprint.sessions_closed), (1, 1));
    let answer = seen.asks[0].result.as_ref().unwrap().as_ref().unwrap();
    assert_eq!((answer.hits[0].source.as_str(), answer.total), ("a.md", Some(1)));
    let seen = check("a modern server", modern(), None).await;
    // `initialize` was refused first: nobody may die of our first look.
    assert_eq!((seen.era, seen.footprint.requests, seen.footprint.connections), (Some(Era::Modern), 4, 1));
    assert_eq!(seen.server.as_ref().map(|server| server.name.as_str()), Some("fake"));
    assert!(seen.asks[0].result.as_ref().unwrap().is_ok());
}

#[tokio::test]
async fn faults_of_the_legacy_handshake() {
    let at = |kind| Some((Stage::Handshake, kind));
    let initialize = |act| with(legacy(), "initialize", act);
    let refused = json(r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32602,"message":"no"}}"#);
    check("initialize refused", initialize(say(refused)), at(FaultKind::RpcError(-32602))).await;
    let opened = r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32600,"message":"x"}}"#;
    let leaky = say(status("400 Bad Request", "Content-Type: application/json\r\nMcp-Session-Id: s-9\r\n", opened));
    let seen = check("an error reply that opens a session", with(legacy(), "server/discover", leaky), None).await;
    assert_eq!((seen.footprint.sessions_opened, seen.footprint.sessions_closed), (2, 2));
    let lost = with(legacy(), "notifications/initialized", say(status("404 Not Found", "", "Session not found")));
    check("a session lost at once", lost, at(FaultKind::SessionLost)).await;
}

#[tokio::test]
async fn faults_of_a_search() {
    let at = |kind| Some((Stage::Search, kind));
    let call = |act| with(legacy(), "tools/call search_documents", act);
    let is_error = result(r#"{"isError":true,"content":[{"type":"text","text":"pool\r\nexhausted </script>"}]}"#);
    let rows = [
        ("isError", say(is_error), FaultKind::ToolError),
        (
            "an envelope of error",
            say(result(r#"{"structuredContent":{"status":"error","error_code":"X"}}"#)),
            FaultKind::ToolError,
        ),
        (
            "a JSON-RPC error",
            say(json(r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32603,"message":"x"}}"#)),
            FaultKind::RpcError(-32603),
        ),
        ("a bare text", say(result(r#"{"content":[{"type":"text","text":"nothing"}]}"#)), FaultKind::AnswerUnreadable),
        ("silence", Act::SayAndHold(String::new()), FaultKind::Silent),
        (
            "429",
            say(status("429 Slow down", "Retry-After: 30\r\n", "")),
            FaultKind::RateLimited { retry_after_seconds: Some(30) },
        ),
        ("a session lost", say(status("404 Not Found", "", "")), FaultKind::SessionLost),
    ];
    for (sentence, act, kind) in rows {
        let seen = check(sentence, call(act), at(kind)).await;
        assert_eq!(seen.asks[0].turn, Turn::Scheduled, "{sentence}: it was asked");
        assert!(seen.asks[0].result.as_ref().is_some_and(Result::is_err), "{sentence}");
        assert_eq!(seen.footprint.sessions_closed, 1, "{sentence}");
    }
    let empty =
        check("an empty list is an answer", call(say(result(r#"{"structuredContent":{"results":[]}}"#))), None).await;
    assert!(empty.asks[0].result.as_ref().unwrap().as_ref().unwrap().hits.is_empty());
    let streamed = stream(&format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{{id}},\"result\":{FOUND}}}\n\n"));
    let seen = check("a stream left open after the answer", call(Act::SayAndHold(streamed)), None).await;
    let notes: Vec<&String> = seen.steps.iter().flat_map(|step| &step.notes).collect();
    assert!(notes.iter().any(|note| note.contains("stayed open")), "{notes:?}");
}

#[tokio::test]
async fn credentials_are_sent_judged_and_never_echoed() {
    let echo = status(
        "401 Unauthorized",
        "WWW-Authenticate: Bearer error=\"bad tok-123456\"\r\n",
        "you sent Bearer tok-123456",
    );
    let server = FaultServer::start(Script::from([("*", say(echo))]), None).await;
    let mut monitor = monitor(&format!("http://{}/mcp", server.address), 1);
    monitor.auth.bearer = Some(Secret::new("tok-123456"));
    let seen = probe(monitor).await;
    assert_eq!(first_fault(&seen), Some((Stage::Handshake, FaultKind::AuthRejected)));
    assert!(server.seen().heads[0].to_ascii_lowercase().contains("authorization: bearer tok-123456"));
    assert!(!format!("{seen:?}").contains("tok-123456"), "{seen:#?}");
}

#[tokio::test]
async fn every_request_says_who_probes_where_the_file_wants_it() {
    let server = FaultServer::start(legacy(), None).await;
    let mut monitor = monitor(&format!("http://{}/mcp", server.address), 1);
    let anonymous = probe(monitor.clone()).await;
    let before = server.seen().heads.len();
    assert!(
        !server.seen().heads.iter().any(|head| head.to_ascii_lowercase().contains("serin-probe:")),
        "off by default"
    );
    let secret = Secret::new("correct horse battery staple");
    monitor.identity = Some(Arc::new(ProbeIdentity { key: "ops-1".to_owned(), secret }));
    let named = probe(monitor).await;
    assert_eq!((first_fault(&anonymous), first_fault(&named)), (None, None));
    let heads = server.seen().heads;
    assert!(heads.len() > before);
    for head in &heads[before..] {
        let head = head.to_ascii_lowercase();
        assert!(head.contains("serin-probe: v1; key=ops-1; time=1795251600; monitor=m; signature="), "{head}");
    }
}

#[tokio::test]
async fn three_fixtures() {
    let server = FaultServer::start(legacy(), None).await;
    let url = format!("http://{}/mcp", server.address);
    let none = probe(monitor(&url, 0)).await;
    assert_eq!((first_fault(&none), none.asks.len()), (None, 0), "without canaries: handshake and tools");
    assert!(none.tools.is_some() && !server.seen().asked.iter().any(|asked| asked.starts_with("tools/call")));
    let one = probe(monitor(&url, 1)).await;
    assert!(one.asks[0].result.as_ref().unwrap().is_ok(), "with one canary: a search");
    let echo =
        FaultServer::start(with(legacy(), "tools/list", say(result(r#"{"tools":[{"name":"echo"}]}"#))), None).await;
    let bare = probe(monitor(&format!("http://{}/mcp", echo.address), 0)).await;
    assert_eq!(first_fault(&bare), None, "a server without a search tool is well as long as nobody asks for one");
    assert_eq!(bare.tools.unwrap().search_tool, None);
}

#[tokio::test]
async fn a_list_that_two_servers_show_is_kept_once() {
    let (one, other) = (FaultServer::start(legacy(), None).await, FaultServer::start(legacy(), None).await);
    let prober = Prober::new(8).once();
    let list = async |server: &FaultServer| {
        let (seen, _) = prober.run(&assignment(monitor(&format!("http://{}/mcp", server.address), 1))).await;
        seen.tools.unwrap().listing
    };
    // A list whose tokens are counted is another one than the same before, and the vocabulary takes its time to be read.
    let until_counted = async { while list(&one).await.tokens.is_none() {} };
    tokio::time::timeout(Duration::from_mins(2), until_counted).await.expect("its tokens are counted");
    assert!(std::sync::Arc::ptr_eq(&list(&one).await, &list(&other).await), "one list of two servers");
}

#[tokio::test]
async fn a_same_origin_redirect_is_followed_once_and_said() {
    let redirect = say(status("307 Temporary Redirect", "Location: /moved\r\n", ""));
    let mut script = Script::from([("server/discover", redirect)]);
    for (key, act) in modern() {
        let moved: &'static str = match key {
            "server/discover" => "moved server/discover",
            "tools/list" => "moved tools/list",
            _ => "moved tools/call",
        };
        script.insert(moved, act);
    }
    let seen = check("a redirect on the same origin", script, None).await;
    assert!(seen.steps[2].notes.iter().any(|note| note.contains("/moved")), "{:?}", seen.steps[2].notes);
    let circle = Script::from([("*", say(status("308 Permanent Redirect", "Location: /mcp\r\n", "")))]);
    check("a redirect in a circle", circle, Some((Stage::Handshake, FaultKind::Redirected(308)))).await;
}

#[tokio::test]
async fn health_is_asked_whatever_the_search_did() {
    let broken = with(legacy(), "tools/call search_documents", say(result(r#"{"isError":true,"content":[]}"#)));
    let reason = json(r#"{"status":"error","reason":"pool_saturated"}"#).replace("200 OK", "503 Service Unavailable");
    let server = FaultServer::start(with(broken, "GET /ready", say(reason)), None).await;
    let elsewhere = FaultServer::start(legacy(), None).await;
    let mut monitor = monitor(&format!("http://{}/mcp", server.address), 1);
    monitor.auth.bearer = Some(Secret::new("tok-123456"));
    monitor.health = vec![
        address(&format!("http://{}/ready", server.address)),
        address(&format!("http://{}/health", elsewhere.address)),
        address("http://127.0.0.1:1/live"),
    ];
    let seen = probe(monitor).await;
    let health: Vec<_> =
        seen.health.iter().map(|health| (health.ok, health.status, health.reason.as_deref())).collect();
    assert_eq!(health, [(false, Some(503), Some("pool_saturated")), (true, Some(200), None), (false, None, None)]);
    assert_eq!((seen.health[1].cache_warm, seen.health[1].instance.as_deref()), (Some(true), Some("i-1")));
    assert_eq!(seen.health[2].fault.as_ref().map(|fault| fault.kind), Some(FaultKind::Refused));
    assert!(!elsewhere.seen().heads[0].contains("tok-123456"), "credentials stay on their own origin");
}

#[tokio::test]
async fn canaries_that_no_longer_fit_are_not_asked() {
    let slow = with(legacy(), "tools/call search_documents", Act::SayAndHold(String::new()));
    let server = FaultServer::start(slow, None).await;
    let mut monitor = monitor_of(&server, 6);
    monitor.probe_budget = TIMEOUT * 3;
    let seen = probe(monitor).await;
    assert_eq!(seen.asks.len(), 6);
    assert_eq!(seen.asks[0].turn, Turn::Scheduled);
    assert!(seen.asks[5].turn == Turn::NotAsked && seen.asks[5].result.is_none(), "the last one no longer fits");
    assert_eq!(
        (seen.footprint.sessions_opened, seen.footprint.sessions_closed),
        (1, 1),
        "and still the session is closed"
    );
}

#[tokio::test]
async fn a_server_that_closes_each_connection_is_well() {
    let closing: Script = legacy()
        .into_iter()
        .map(|(key, act)| match act {
            Act::Say(text) => (key, Act::SayAndClose(text)),
            other => (key, other),
        })
        .collect();
    let seen = check("a server that closes after each answer", closing, None).await;
    assert!(seen.footprint.connections > 1 && seen.asks[0].fresh_connection);
}
