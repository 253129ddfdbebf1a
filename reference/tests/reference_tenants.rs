//! Tenants: whatever door they come by and whatever they ask, they see their own collections and nothing else.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use serin_reference::index::corpus::Corpus;
use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::{
    options::LabOptions,
    server::{self, LabServer},
};
use serin_reference::project::{config::ProjectConfig, opened::Project, place::ProjectFolder, template::TEMPLATE};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const ACME: &str = "acme-token-0123456789";
const BOLT: &str = "bolt-token-0123456789";
const OPS: &str = "ops-token-01234567890";
const OPERATOR: &str = "operators-own";
const TENANTS: &str = r#"
tenants:
  acme: { token: "acme-token-0123456789", collections: [acme, shared] }
  bolt: { token: "bolt-token-0123456789", collections: [bolt, shared] }
  ops: { token: "ops-token-01234567890", collections: ["*"] }
"#;
/// Source, collection, kind, text.
const NOTES: &[(&str, &str, &str, &str)] = &[
    ("acme/kiln.md", "acme", "document", "The kiln of acme is fired with beech on Mondays."),
    ("acme/rule.md", "acme", "constraints", "The kiln of acme must never be fired in the rain. zundholz()"),
    ("bolt/kiln.md", "bolt", "document", "The kiln of bolt is fired with peat on Fridays."),
    ("bolt/rule.md", "bolt", "constraints", "The kiln of bolt must never be fired at night. zundholz()"),
    ("shared/kiln.md", "shared", "document", "Any kiln is fired slowly, whoever owns the kiln."),
    ("loose.md", "", "document", "A kiln that nobody owns is not fired."),
];

/// A way to ask.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Door {
    Modern,
    Stateless,
    Session,
    Plain,
}

const DOORS: &[Door] = &[Door::Modern, Door::Stateless, Door::Session, Door::Plain];

struct Server {
    running: LabServer,
    client: Client,
    _folder: TempDir,
}

async fn serve(faults: Vec<(Fault, Dose)>) -> Server {
    let _already = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    ProjectFolder::set_up(folder.path(), &format!("{TEMPLATE}{TENANTS}"), false).unwrap();
    std::fs::write(folder.path().join("plan.md"), "A file of the operator: the kiln is sold.").unwrap();
    let project = Some(Project::find(folder.path()).unwrap());
    let bearer = Some(OPERATOR.to_owned());
    let options = LabOptions { project, corpus: Corpus::Empty, bearer, faults, ..LabOptions::default() };
    let running = server::serve(options, CancellationToken::new()).await.unwrap();
    let server = Server { running, client: Client::builder().no_proxy().build().unwrap(), _folder: folder };
    for (source, collection, kind, text) in NOTES {
        let note = json!({"source": source, "collection": collection, "source_type": kind, "text": text});
        let told = server.call(Door::Stateless, OPERATOR, "index_document", note).await;
        assert_eq!(told["status"], "ok", "{told}");
    }
    server
}

impl Server {
    async fn rpc(&self, url: String, token: &str, headers: &[(&str, &str)], method: &str, params: Value) -> Response {
        let request = self.client.post(url).header("Accept", "application/json, text/event-stream").bearer_auth(token);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.json(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).send().await.unwrap()
    }

    /// The session that a tenant opens.
    async fn session(&self, token: &str) -> Result<String, StatusCode> {
        let opens = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "t", "version": "0"}});
        let opened = self.rpc(self.running.legacy_url(), token, &[], "initialize", opens).await;
        let status = opened.status();
        opened.headers().get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned()).ok_or(status)
    }

    async fn in_session(&self, session: &str, token: &str, tool: &str, arguments: Value) -> Value {
        let headers = [("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")];
        let params = json!({"name": tool, "arguments": arguments});
        told(self.rpc(self.running.legacy_url(), token, &headers, "tools/call", params).await).await
    }

    /// What a tool answers; a refusal at the door as its status.
    async fn call(&self, door: Door, token: &str, tool: &str, arguments: Value) -> Value {
        let mut params = json!({"name": tool, "arguments": arguments});
        match door {
            Door::Modern => {
                params["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
                let headers =
                    [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
                told(self.rpc(self.running.mcp_url(), token, &headers, "tools/call", params).await).await
            }
            Door::Stateless => {
                let headers = [("MCP-Protocol-Version", "2025-11-25")];
                told(self.rpc(self.running.mcp_url(), token, &headers, "tools/call", params).await).await
            }
            Door::Session => match self.session(token).await {
                Ok(session) => self.in_session(&session, token, tool, params["arguments"].take()).await,
                Err(status) => json!(status.as_u16()),
            },
            Door::Plain if tool == "list_sources" => {
                told(self.client.get(self.running.url("sources")).bearer_auth(token).send().await.unwrap()).await
            }
            Door::Plain => {
                let request = self.client.post(self.running.url("search")).bearer_auth(token);
                told(request.json(&params["arguments"]).send().await.unwrap()).await
            }
        }
    }

    async fn ask(&self, token: &str, arguments: Value) -> Value {
        self.call(Door::Stateless, token, "search_documents", arguments).await
    }
}

/// The envelope, by plain HTTP, as a result of MCP, or as one in an event.
async fn told(answer: Response) -> Value {
    if answer.status() == StatusCode::UNAUTHORIZED {
        assert!(answer.headers().contains_key("www-authenticate"), "a challenge");
        return json!(401);
    }
    let text = answer.text().await.unwrap();
    let mut events = text.lines().filter_map(|line| line.strip_prefix("data:")).filter(|data| data.contains("result"));
    let body: Value = serde_json::from_str(events.next_back().unwrap_or(&text)).unwrap_or_else(|_| panic!("{text}"));
    if body["status"].is_string() { body } else { body["result"]["structuredContent"].clone() }
}

/// Collections named anywhere in an answer, by what their notes are called and say.
fn seen(answer: &Value) -> String {
    let text = answer.to_string();
    let marks = [("acme", ["acme/", "beech", "the rain"]), ("bolt", ["bolt/", "peat", "at night"])];
    let more = [("shared", ["shared/", "slowly", "whoever"]), ("loose", ["loose.md", "nobody owns", "not fired"])];
    let all = marks.iter().chain(&more).filter(|(_, marks)| marks.iter().any(|mark| text.contains(mark)));
    all.map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn every_door_and_tool_shows_a_tenant_its_own() {
    let server = serve(Vec::new()).await;
    let asks = |more: Value| {
        let mut asked = json!({"query": "when is the kiln fired", "top_k": 20});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        asked
    };
    let everything = "acme bolt shared loose";
    for door in DOORS {
        for (token, own) in [(ACME, "acme shared"), (BOLT, "bolt shared"), (OPS, everything), (OPERATOR, everything)] {
            let check = async |tool: &str, arguments: Value, expected: &str| {
                let answer = server.call(*door, token, tool, arguments.clone()).await;
                assert_eq!(seen(&answer), expected, "{door:?} {tool} {arguments} by {token}: {answer}");
            };
            check("search_documents", asks(json!({})), own).await;
            check("search_documents", asks(json!({})), own).await;
            check("search_documents", asks(json!({"expand": true, "cache": "bypass"})), own).await;
            check("list_sources", json!({}), own).await;
            if *door == Door::Plain {
                continue;
            }
            let codes = if own == everything { "acme bolt" } else { own.split(' ').next().unwrap() };
            check("query_impact", json!({"symbol": "zundholz"}), codes).await;
            check("check_constraints", json!({"change": "fire the kiln", "min_score": 0}), codes).await;
        }
        for unknown in ["", "wrong", &ACME[..20], "acme-token-01234567890"] {
            for tool in ["search_documents", "list_sources"] {
                let answer = server.call(*door, unknown, tool, asks(json!({}))).await;
                assert_eq!(answer, 401, "{door:?} {tool} by {unknown:?}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_anothers_is_as_if_it_were_not() {
    let server = serve(Vec::new()).await;
    for door in DOORS {
        let said = async |narrowing: Value| {
            let mut asked = json!({"query": "when is the kiln fired"});
            asked.as_object_mut().unwrap().extend(narrowing.as_object().unwrap().clone());
            let answer = server.call(*door, ACME, "search_documents", asked).await;
            (
                answer["error_code"].clone(),
                seen(&answer),
                answer["error_message"].as_str().unwrap_or_default().to_owned(),
            )
        };
        let (code, seen_own, _) = said(json!({"collection": "acme"})).await;
        assert_eq!((code, seen_own.as_str()), (Value::Null, "acme"), "{door:?}: its own");
        for (is, is_not) in [
            (json!({"collection": "bolt"}), json!({"collection": "none"})),
            (json!({"source": "bolt/kiln.md"}), json!({"source": "none/kiln.md"})),
        ] {
            let ((code, _, there), (same, _, absent)) = (said(is.clone()).await, said(is_not).await);
            assert_eq!((code.as_str(), &code), (Some("SOURCE_UNKNOWN"), &same), "{door:?} {is}");
            let nearest = |why: &str| why.split_once("nearest names").unwrap().1.to_owned();
            for why in [&there, &absent] {
                assert!(!nearest(why).contains("bolt") && !nearest(why).contains("loose"), "{door:?} {is}: {why}");
            }
        }
    }
    let listed = server.call(Door::Plain, ACME, "list_sources", json!({})).await;
    assert_eq!((&listed["data"]["total"], &listed["data"]["total_chunks"]), (&json!(3), &json!(3)), "{listed}");
}

#[tokio::test]
async fn a_tenant_writes_into_its_own() {
    let server = serve(Vec::new()).await;
    for door in [Door::Modern, Door::Stateless, Door::Session] {
        for (says, note, part) in [
            ("its own", json!({"source": "acme/new.md", "collection": "acme", "text": "A new kiln."}), None),
            ("its own again", json!({"source": "acme/new.md", "collection": "shared", "text": "A newer one."}), None),
            ("another's", json!({"source": "x.md", "collection": "bolt", "text": "A kiln."}), Some("is not yours")),
            ("none", json!({"source": "x.md", "text": "A kiln."}), Some("acme, shared")),
            (
                "another's name",
                json!({"source": "bolt/kiln.md", "collection": "acme", "text": "Gone."}),
                Some("another name"),
            ),
            (
                "a file of the operator",
                json!({"file": "plan.md", "source": "plan.md", "collection": "acme"}),
                Some("reads no files"),
            ),
        ] {
            let answer = server.call(door, ACME, "index_document", note).await;
            let why = answer["error_message"].as_str();
            assert_eq!(why.is_some(), part.is_some(), "{door:?} {says}: {answer}");
            assert!(why.unwrap_or_default().contains(part.unwrap_or_default()), "{door:?} {says}: {answer}");
        }
    }
    let kept = server.ask(BOLT, json!({"query": "kiln fired with peat", "source": "bolt/kiln.md"})).await;
    assert!(kept.to_string().contains("peat"), "nobody overwrote it: {kept}");
    let file = json!({"file": "plan.md", "collection": "bolt"});
    let read = server.call(Door::Stateless, OPERATOR, "index_document", file).await;
    assert_eq!(read["status"], "ok", "the operator may: {read}");
}

#[tokio::test]
async fn memory_is_each_tenants_own() {
    let server = serve(Vec::new()).await;
    let ask = async |token: &str, conversation: &str| {
        let arguments = json!({"query": "any kiln is fired slowly", "source": "shared/", "conversation": conversation});
        server.ask(token, arguments).await
    };
    let hits = |answer: &Value| answer["data"]["results"].as_array().unwrap().len();
    for (says, token, was_cached) in
        [("nobody asked", ACME, false), ("itself", ACME, true), ("another", BOLT, false), ("all's", OPS, false)]
    {
        let answer = ask(token, "").await;
        let cached = answer["data"]["cache"]["kind"] != json!("none") && !answer["data"]["cache"]["kind"].is_null();
        assert_eq!((cached, hits(&answer)), (was_cached, 1), "{says}: {answer}");
    }
    assert_eq!(hits(&ask(ACME, "c").await), 1);
    assert_eq!(hits(&ask(ACME, "c").await), 0, "it was shown that");
    for token in [BOLT, OPS, OPERATOR] {
        assert_eq!(hits(&ask(token, "c").await), 1, "another's conversation of the same name hides nothing");
    }
}

#[tokio::test]
async fn a_session_is_no_pass() {
    let server = serve(Vec::new()).await;
    let session = server.session(ACME).await.unwrap();
    let listed = async |token: &str| seen(&server.in_session(&session, token, "list_sources", json!({})).await);
    assert_eq!(listed(ACME).await, "acme shared");
    assert_eq!(listed(BOLT).await, "bolt shared", "each request is its own token's");
    assert_eq!(server.in_session(&session, "wrong", "list_sources", json!({})).await, 401);
}

#[tokio::test]
async fn the_leak_leaks_and_is_mended() {
    let server = serve(vec![(Fault::TenantLeak, Dose::of(Fault::TenantLeak))]).await;
    let asked = json!({"query": "when is the kiln fired", "top_k": 20});
    for door in DOORS {
        let leaked = server.call(*door, ACME, "search_documents", asked.clone()).await;
        assert_eq!(seen(&leaked), "acme bolt shared loose", "{door:?}");
        assert_eq!(seen(&server.call(*door, ACME, "list_sources", json!({})).await), "acme shared", "only searches");
    }
    server.running.faults().off(Fault::TenantLeak);
    assert_eq!(seen(&server.ask(ACME, asked).await), "acme shared", "nothing of it was remembered");
}

#[tokio::test]
async fn who_has_no_token_learns_no_name() {
    let server = serve(Vec::new()).await;
    for path in ["live", "ready", "health", "metrics", "openapi.json"] {
        let told = server.client.get(server.running.url(path)).send().await.unwrap().text().await.unwrap();
        for name in ["acme", "bolt", "kiln.md", "loose.md", "beech"] {
            assert!(!told.contains(name), "/{path} tells {name}: {told}");
        }
    }
}

#[test]
fn tokens_are_read_when_somebody_serves() {
    let check = |says: &str, tenants: &str, part: &str| {
        let config = ProjectConfig::parse(&format!("{TEMPLATE}\ntenants: {tenants}\n"));
        let why = config.and_then(|config| config.tenants()).unwrap_err();
        assert!(why.contains(part), "{says}: {why}");
    };
    check(
        "not set",
        r#"{acme: {token: "${env:SERIN_NO_SUCH}", collections: [a]}}"#,
        "acme`: the variable SERIN_NO_SUCH",
    );
    check("short", "{acme: {token: short, collections: [a]}}", "at least 16");
    check("a key too many", "{acme: {token: short, collection: [a]}}", "collection");
    check("none", "{acme: {token: 0123456789abcdef, collections: []}}", "collections");
    let none = ProjectConfig::parse(&format!("{TEMPLATE}\ntenants: {{}}\n")).unwrap();
    assert!(none.tenants().unwrap().is_none() && !none.has_tenants());
}
