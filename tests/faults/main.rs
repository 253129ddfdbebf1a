//! Every fault a probe tells apart, met on a real socket.

mod codings;
mod control;
mod eras;
mod fault_server;
mod harm;
mod older;
mod programs;
mod traces;
mod transcripts;
#[expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]
mod way;
mod table;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use fault_server::{Act, FaultServer, Script, Seen, json, result, status, stream};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use serin::domain::answer::Turn;
use serin::domain::classify::classify;
use serin::domain::fault::FaultKind;
use serin::domain::monitor::{Canary, CanaryKind, Monitor, ProbeIdentity};
use serin::domain::observation::{BeatKind, Observation, Stage};
use serin::domain::protocol::Era;
use serin::domain::secret::{Address, Secret};
use serin::domain::server_profile::{Caution, ServerProfile};
use serin::probe::assignment::{Assignment, Further};
use serin::probe::prober::Prober;
use serin::tool_lists::known::KnownLists;
use table::acceptor;

/// Long enough for loopback under load, short enough for rows that wait for it.
const TIMEOUT: Duration = Duration::from_secs(2);
const BUDGET: Duration = Duration::from_secs(12);

const TOOLS: &str = r#"{"tools":[{"name":"search_documents","inputSchema":{"type":"object","required":["query"],"properties":{"query":{"type":"string"}}}},{"name":"list_sources"}]}"#;
const MODERN_TOOLS: &str = r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"search_documents","inputSchema":{"properties":{"query":{"type":"string","x-mcp-header":"Question"}}}}]}"#;
const DISCOVERED: &str = r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1"}}}"#;
const FOUND: &str =
    r#"{"content":[],"structuredContent":{"results":[{"text":"one","source":"a.md","score":0.9}],"total_results":1}}"#;

/// A legacy server that does everything right, with a session.
fn legacy() -> Script {
    let opened = r#"{"jsonrpc":"2.0","id":{id},"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"fake","version":"1"}}}"#;
    Script::from([
        ("server/discover", Act::Say(status("400 Bad Request", "Content-Type: text/plain\r\n", "no session"))),
        ("initialize", Act::Say(status("200 OK", "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n", opened))),
        ("notifications/initialized", Act::Say(status("202 Accepted", "", ""))),
        ("tools/list", Act::Say(result(TOOLS))),
        ("tools/call search_documents", Act::Say(result(FOUND))),
        (
            "tools/call list_sources",
            Act::Say(result(r#"{"structuredContent":{"sources":[{"last_indexed":"2026-11-20"}]}}"#)),
        ),
        ("DELETE", Act::Say(status("204 No Content", "", "").replace("Content-Length: {length}\r\n", ""))),
        ("GET /health", Act::Say(json(r#"{"status":"ok","cache_warm":true,"instance_id":"i-1"}"#))),
    ])
}

/// A modern server that does everything right.
fn modern() -> Script {
    let found = FOUND.replacen('{', r#"{"resultType":"complete","#, 1);
    Script::from([
        ("server/discover", Act::Say(result(DISCOVERED))),
        ("tools/list", Act::Say(result(MODERN_TOOLS))),
        ("tools/call search_documents", Act::Say(result(&found))),
    ])
}

fn with(mut script: Script, key: &'static str, act: Act) -> Script {
    script.insert(key, act);
    script
}

fn say(text: String) -> Act {
    Act::Say(text)
}

fn address(url: &str) -> Address {
    Address { shown: url.to_owned(), resolved: Secret::new(url) }
}

fn monitor(url: &str, canaries: usize) -> Monitor {
    let canary = |nth: usize| Canary {
        id: format!("c{nth}"),
        query: "what is \"one\"?".to_owned(),
        kind: CanaryKind::Mixed,
        expect: vec!["a.md".to_owned()],
        within: 5,
        max_score: None,
        line: 1,
        definition_hash: String::new(),
    };
    let mut monitor = Monitor::undeclared("m", address(url));
    monitor.search.arguments = BTreeMap::from([("top_k".to_owned(), "5".to_owned())]);
    monitor.search.per_beat = 2;
    monitor.canaries = (0..canaries).map(canary).collect();
    (monitor.timeout, monitor.probe_budget) = (TIMEOUT, BUDGET);
    monitor
}

fn now() -> DateTime<Utc> {
    "2026-11-21T09:00:00Z".parse().expect("a moment")
}

fn assignment(monitor: Monitor) -> Assignment {
    let asks = (0..monitor.canaries.len()).map(|nth| (nth, Turn::Scheduled)).collect();
    Assignment {
        monitor: Arc::new(monitor),
        kind: BeatKind::Scheduled,
        scheduled_at: now(),
        started_at: now(),
        asks,
        further: Further::NONE,
        ask_sources: false,
        profile: ServerProfile::default(),
        lists: KnownLists::default(),
    }
}

/// What a probe saw, with its transcript, whatever came of it.
async fn probe(monitor: Monitor) -> Observation {
    recorded(&Prober::new(8), &assignment(monitor)).await
}

async fn recorded(prober: &Prober, assignment: &Assignment) -> Observation {
    let (mut seen, _, transcript) = prober.record(assignment).await;
    let outcome = classify(&assignment.monitor, &seen);
    seen.transcript = transcript.map(|transcript| transcript.written(assignment, &seen, &outcome));
    seen
}

fn first_fault(seen: &Observation) -> Option<(Stage, FaultKind)> {
    seen.steps.iter().find_map(|step| step.fault.as_ref().map(|fault| (step.stage, fault.kind)))
}

/// One row: what this server does is this fault, at this stage; the budget holds and no session stays open.
async fn check(sentence: &str, script: Script, expected: Option<(Stage, FaultKind)>) -> Observation {
    let server = FaultServer::start(script, None).await;
    let seen = probe(monitor(&format!("http://{}/mcp", server.address), 1)).await;
    assert_eq!(first_fault(&seen), expected, "{sentence}: {seen:#?}");
    common(sentence, &seen);
    let deletes = server.seen().asked.iter().filter(|asked| *asked == "DELETE").count();
    assert_eq!(deletes, seen.footprint.sessions_opened as usize, "{sentence}: every session is closed once");
    seen
}

fn common(sentence: &str, seen: &Observation) {
    assert!(seen.elapsed < BUDGET + Duration::from_secs(3), "{sentence}: the budget holds, {:?}", seen.elapsed);
    assert_eq!(seen.asks.len(), 1, "{sentence}: the canary is accounted for");
    for fault in seen.steps.iter().filter_map(|step| step.fault.as_ref()) {
        assert!(fault.detail.chars().count() <= 301, "{sentence}: evidence is bounded");
        assert!(!fault.detail.chars().any(char::is_control), "{sentence}: evidence is one line: {:?}", fault.detail);
    }
    if seen.fault_before_search().is_some() {
        assert!(seen.asks.iter().all(|ask| ask.turn == Turn::NotAsked && ask.result.is_none()), "{sentence}");
    }
}

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
async fn the_ladder_says_how_far_one_gets() {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(issuer.der().clone()).unwrap();
    let prober = Prober::with_roots(roots, 8);
    let plain = FaultServer::start(modern(), None).await;
    let failing = FaultServer::start(
        with(modern(), "tools/list", say(status("500 Internal Server Error", "", "no index"))),
        None,
    )
    .await;
    let other = FaultServer::start(modern(), Some(acceptor(&issuer, &["other.example"], false))).await;
    let good = FaultServer::start(modern(), Some(acceptor(&issuer, &["127.0.0.1"], false))).await;
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let rows = [
        ("a name that means nothing", "http://nowhere.invalid/mcp".to_owned(), "name!"),
        ("a port that is closed", format!("http://{closed}/mcp"), "name tcp!"),
        ("a certificate for another name", format!("https://{}/mcp", other.address), "name tcp tls!"),
        ("tools/list that fails", format!("http://{}/mcp", failing.address), "name tcp unauthenticated list!"),
        ("all is well again", format!("http://{}/mcp", plain.address), "name tcp unauthenticated list"),
        ("over TLS too", format!("https://{}/mcp", good.address), "name tcp tls unauthenticated list"),
    ];
    for (sentence, url, expected) in rows {
        let mut monitor = monitor(&url, 0);
        monitor.auth.bearer = Some(Secret::new("tok-123456"));
        let (tried, _) = prober.diagnose(&monitor, &ServerProfile::default(), now()).await;
        let seen: Vec<String> =
            tried.iter().map(|step| format!("{}{}", step.name, if step.holds { "" } else { "!" })).collect();
        assert_eq!(seen.join(" "), expected, "{sentence}: {tried:#?}");
    }
    let heads = plain.seen().heads;
    let bare = heads.iter().find(|head| head.starts_with("GET ")).expect("a rung without credentials");
    assert!(!bare.to_ascii_lowercase().contains("authorization"), "{bare}");
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
    assert!(std::sync::Arc::ptr_eq(&list(&one).await, &list(&other).await), "one list of two servers");
}

#[tokio::test]
async fn what_is_learnt_spares_the_next_probe() {
    let server = FaultServer::start(legacy(), None).await;
    let mut assignment = assignment(monitor(&format!("http://{}/mcp", server.address), 1));
    assignment.ask_sources = true;
    let prober = Prober::new(8);
    let (first, profile) = prober.run(&assignment).await;
    assert_eq!(first.sources.as_ref().map(|sources| sources.count), Some(1));
    assert_eq!((profile.era, profile.era_found_at.is_some()), (Some(Era::Legacy), true));
    let before = server.seen().asked.len();
    assignment.profile = profile.clone();
    let (seen, again) = prober.run(&assignment).await;
    assert_eq!(again, profile, "nothing new was learnt");
    assert_eq!((seen.footprint.connections, seen.footprint.requests), (1, 6), "one connection, no request too many");
    assert_eq!(server.seen().asked[before], "initialize", "discover is not asked again");
    assignment.profile.era_found_at = Some(now() - chrono::TimeDelta::hours(29));
    let before = server.seen().asked.len();
    prober.run(&assignment).await;
    let asked = server.seen().asked[before..].to_vec();
    assert_eq!(asked[0], "initialize", "after a day it is looked for again, in the same order: {asked:?}");
    assert!(asked.contains(&"server/discover".to_owned()), "{asked:?}");
    let upgraded = FaultServer::start(
        with(
            modern(),
            "initialize",
            say(status(
                "404 Not Found",
                "Content-Type: application/json\r\n",
                r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32601,"message":"no"}}"#,
            )),
        ),
        None,
    )
    .await;
    let mut assignment = self::assignment(monitor(&format!("http://{}/mcp", upgraded.address), 1));
    assignment.profile = profile;
    let (seen, profile) = prober.run(&assignment).await;
    assert_eq!((first_fault(&seen), profile.era), (None, Some(Era::Modern)), "an upgrade is no failure");
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
    let mut monitor = monitor(&format!("http://{}/mcp", server.address), 6);
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

#[tokio::test]
async fn what_hurts_a_server_is_never_done_to_it_again() {
    let prober = Prober::new(8);
    let mortal = FaultServer::start(with(legacy(), "server/discover", Act::Die), None).await;
    let (_, profile) = prober.run(&assignment(monitor(&format!("http://{}/mcp", mortal.address), 1))).await;
    assert_eq!(profile.discover, Caution::Harmful, "it was gone after discover");
    let restarted = FaultServer::start(legacy(), None).await;
    let mut again = assignment(monitor(&format!("http://{}/mcp", restarted.address), 1));
    again.profile = profile;
    let (seen, profile) = prober.run(&again).await;
    assert_eq!((first_fault(&seen), profile.era, profile.discover), (None, Some(Era::Legacy), Caution::Harmful));
    assert!(!restarted.seen().asked.iter().any(|asked| asked == "server/discover"), "{:?}", restarted.seen().asked);
    assert_eq!(profile.closing, Caution::Harmless, "it still answered after its session was closed");

    let mortal = FaultServer::start(with(legacy(), "DELETE", Act::Die), None).await;
    let (seen, profile) = prober.run(&assignment(monitor(&format!("http://{}/mcp", mortal.address), 1))).await;
    assert_eq!(profile.closing, Caution::Harmful, "it was gone after the DELETE: {seen:#?}");
    let restarted = FaultServer::start(legacy(), None).await;
    let mut again = assignment(monitor(&format!("http://{}/mcp", restarted.address), 1));
    again.profile = profile;
    let (seen, _) = prober.run(&again).await;
    assert!(!restarted.seen().asked.iter().any(|asked| asked == "DELETE"), "{:?}", restarted.seen().asked);
    assert_eq!((seen.footprint.sessions_opened, seen.footprint.sessions_closed), (1, 0), "which the footprint says");
}

#[tokio::test]
async fn whether_a_server_survived_is_told_from_what_it_answers() {
    let gone = || status("500 Internal Server Error", "", "");
    let (opened, none) = match &legacy()["initialize"] {
        Act::Say(text) => (text.clone(), status("404 Not Found", "", "")),
        _ => panic!("the script has changed"),
    };
    let deleted = || status("200 OK", "", "");
    let refused =
        |text: &str| say(status("400 Bad Request", "Content-Type: application/json\r\nConnection: close\r\n", text));
    let error = r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32601,"message":"no"}}"#;
    let dying = match refused(error) {
        Act::Say(text) => Act::SayAndDie(text),
        other => other,
    };
    // What happens, whether discover and the closing are harmful then, and what the server was sent.
    let rows = [
        ("a ping is answered with 404", with(legacy(), "ping", say(none)), (Caution::Harmless, Caution::Harmless)),
        (
            "its tasks broke down with the session: 500 to everything",
            with(with(legacy(), "ping", say(gone())), "initialize", Act::Turn(opened.clone(), gone())),
            (Caution::Harmless, Caution::Harmful),
        ),
        (
            "a confused server: 500 to a ping without a session, and well all the same",
            with(legacy(), "ping", say(gone())),
            (Caution::Harmless, Caution::Harmless),
        ),
        (
            "it says yes to the closing and is gone",
            with(legacy(), "DELETE", Act::SayAndDie(deleted())),
            (Caution::Harmless, Caution::Harmful),
        ),
        (
            "it answers discover and is dead for the next connection",
            with(legacy(), "server/discover", dying),
            (Caution::Harmful, Caution::Unchecked),
        ),
        (
            "it is slow after the closing, which proves nothing",
            with(
                with(legacy(), "ping", Act::SayAndHold(String::new())),
                "initialize",
                Act::Turn(opened.clone(), "HTTP/1.1 ".to_owned()),
            ),
            (Caution::Harmless, Caution::Unchecked),
        ),
    ];
    for (sentence, script, expected) in rows {
        let server = FaultServer::start(script, None).await;
        let (seen, profile) =
            Prober::new(8).run(&assignment(monitor(&format!("http://{}/mcp", server.address), 1))).await;
        assert_eq!((profile.discover, profile.closing), expected, "{sentence}: {seen:#?}");
        let told = seen.steps.iter().flat_map(|step| &step.notes).filter(|note| note.contains("the server was gone"));
        let harmful = expected.0 == Caution::Harmful || expected.1 == Caution::Harmful;
        assert_eq!(told.count(), usize::from(harmful), "{sentence}: it is told once");
    }
}

#[tokio::test]
async fn a_session_of_a_dropped_probe_is_closed_by_the_next() {
    let Act::Say(opened) = &legacy()["initialize"] else { panic!("the script has changed") };
    let fresh = with(legacy(), "initialize", say(opened.replace("s-1", "s-{n}")));
    let server = FaultServer::start(with(fresh, "tools/list", Act::SayAndHold(String::new())), None).await;
    let mut monitor = monitor(&format!("http://{}/mcp", server.address), 1);
    monitor.timeout = BUDGET;
    let prober = Prober::new(8);
    let mut assignment = assignment(monitor);
    let listed = async {
        while !server.seen().asked.iter().any(|asked| asked == "tools/list") {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = prober.run(&assignment) => panic!("it never answers"),
        () = listed => {}
    }
    assert!(!server.seen().asked.iter().any(|asked| asked == "DELETE"), "nothing could be closed");
    Arc::make_mut(&mut assignment.monitor).timeout = TIMEOUT;
    let (seen, _) = prober.run(&assignment).await;
    assert_eq!((seen.footprint.sessions_opened, seen.footprint.sessions_closed), (1, 2), "{:?}", seen.footprint);
    let Seen { asked, heads, .. } = server.seen();
    let closed: std::collections::BTreeSet<&str> = asked
        .iter()
        .zip(&heads)
        .filter(|(asked, _)| *asked == "DELETE")
        .filter_map(|(_, head)| head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")))
        .collect();
    assert_eq!(closed.len(), 2, "the one of its own, and the one that was left: {closed:?}");
    let (seen, _) = prober.run(&assignment).await;
    assert_eq!(seen.footprint.sessions_closed, 1, "nothing is owed any more: {:?}", seen.footprint);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]
    #[test]
    fn arbitrary_bytes_on_the_socket_never_panic(
        start in proptest::sample::select(vec![
            "",
            "HTTP/1.1 ",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ",
            "HTTP/1.1 307 OK\r\nLocation: ",
        ]),
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("loopback works");
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback works");
            let url = format!("http://{}/mcp", listener.local_addr().expect("loopback works"));
            tokio::spawn(async move {
                use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
                while let Ok((mut stream, _)) = listener.accept().await {
                    let _ = stream.read(&mut [0; 4096]).await;
                    let _ = stream.write_all(start.as_bytes()).await;
                    let _ = stream.write_all(&bytes).await;
                    let _ = stream.shutdown().await;
                }
            });
            let seen = probe(monitor(&url, 1)).await;
            assert!(first_fault(&seen).is_some(), "no bytes of chance are an MCP server");
            common("arbitrary bytes", &seen);
        });
    }
}
