//! Everything that can be reached from the public page without signing in, read to its end: nothing internal is in it, and
//! nothing leads inside.
//!
//! Every word of this fleet that is nobody else's holds one mark: ids, names, labels, addresses, queries, tools, what the
//! server says, who silenced it and why. The mark must be nowhere.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use chrono::{TimeDelta, Utc};
use serde_json::{Value, json};
use serin::domain::incident::{Course, Incident, ResolveCause};
use serin::domain::monitor::MonitorId;
use serin::domain::outcome::Evidence;
use serin::domain::reason::{FailureReason as R, Severity};
use serin::domain::rules::RulePlace;
use serin::store::Store;
use serin::store::values::change_set::{ChangeSet, TimelineRow};
use tokio::net::TcpListener;
use uuid::Uuid;

use crate::stage::{PUBLIC, Stage, TOKEN};

/// In whatever is internal.
const MARK: &str = "zqx";

/// Tells of itself only what is marked; `rude` does not even begin.
async fn server(rude: bool) -> SocketAddr {
    let answers = move |body: Json<Value>| async move { answer(&body, rude) };
    let ill =
        || async { (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"reason": "pool_saturated", "why": "zqx pool"}))) };
    let app = Router::new().route("/zqx-path/mcp", post(answers)).route("/zqx-path/health", get(ill));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

fn answer(body: &Value, rude: bool) -> Response {
    let refused = |said: &str| {
        Json(json!({"jsonrpc": "2.0", "id": body["id"], "error": {"code": -32601, "message": said}})).into_response()
    };
    let result = match body["method"].as_str().unwrap_or_default() {
        _ if body["id"].is_null() => return StatusCode::ACCEPTED.into_response(),
        "initialize" if rude => return refused("zqx refusal"),
        "initialize" => json!({ "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "instructions": "zqx instructions", "serverInfo": {"name": "zqx-server", "version": "zqx-1"} }),
        "tools/list" => json!({"tools": [{ "name": "zqx_tool", "description": "zqx description",
            "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}, "top_k": {"type": "integer"}}} }]}),
        "tools/call" => json!({"content": [{"type": "text", "text": json!({
            "results": [{"text": "zqx text", "source": "zqx-source.md", "score": 0.5}], "total_results": 1 }).to_string()}]}),
        _ => return refused("zqx unknown"),
    };
    Json(json!({"jsonrpc": "2.0", "id": body["id"], "result": result})).into_response()
}

fn monitors(sly: SocketAddr, rude: SocketAddr) -> String {
    let now = Utc::now();
    let (from, to) = (now + TimeDelta::hours(20), now + TimeDelta::hours(25));
    let monitor = |id: &str, address: SocketAddr| {
        format!(
            "  - id: zqx-{id}
    name: zqx name of {id}
    url: http://{address}/zqx-path/mcp
    labels: {{ zqx-label: zqx-{id} }}
    health: [{{ url: \"http://{address}/zqx-path/health\" }}]
    search: {{ tool: zqx_tool }}
    canaries: [{{ id: zqx-canary, query: zqx question, expect: [zqx-right.md] }}]
"
        )
    };
    format!(
        "{}{}{}status:
  title: Search at Example
  home: https://www.example.org
  show:
    - {{ name: Handbook, group: Documents, description: What everybody asks, match: {{ monitor: zqx-sly }} }}
    - {{ name: Archive, group: Documents, match: {{ labels: {{ zqx-label: zqx-rude }} }} }}
    - {{ name: Both, match: {{ monitor: [zqx-sly, zqx-rude] }} }}
maintenance:
  - {{ name: zqx-window, match: {{ monitor: zqx-sly }}, from: {}, to: {} }}
",
        monitor("sly", sly),
        monitor("rude", rude),
        monitor("unseen", rude),
        from.to_rfc3339(),
        to.to_rfc3339(),
    )
}

/// One incident of every signal, some of them over.
async fn remember(store: &Store) {
    let reasons = [
        R::ConnectionRefused,
        R::AuthRejected,
        R::TenantLeak,
        R::ElevatedErrorRate,
        R::LatencyElevated,
        R::ToolMissing,
        R::EmbeddingMismatch,
        R::SourceStale,
        R::PoolSaturated,
        R::SchemaDrift,
    ];
    for (nth, reason) in (0_i64..).zip(reasons) {
        let at = Utc::now() - TimeDelta::hours(30 * (nth + 1));
        let id = Uuid::now_v7().to_string();
        let mut incident = Incident {
            id: id.clone(),
            monitor: MonitorId::new(if nth % 2 == 0 { "zqx-sly" } else { "zqx-rude" }),
            signal: reason.facts().signal,
            subject: "zqx-subject".to_owned(),
            severity: Severity::Page,
            reason,
            stage: "zqx-stage".to_owned(),
            summary: "zqx summary".to_owned(),
            evidence: vec![Evidence::new("zqx", "zqx evidence")],
            rule: RulePlace { file: "zqx.yaml".to_owned(), line: 7, commit: Some("zqx".to_owned()) },
            opened_at: at,
            resolved_at: None,
            resolve_cause: None,
            acknowledged: Some(("zqx-person".to_owned(), at)),
            sequence: 1,
            course: Course::default(),
        };
        let line = |kind: &str| TimelineRow {
            incident: id.clone(),
            at,
            kind: kind.to_owned(),
            actor: "zqx-person".to_owned(),
            text: "zqx line".to_owned(),
        };
        let opened =
            ChangeSet { incidents: vec![incident.clone()], timeline: vec![line("opened")], ..ChangeSet::default() };
        store.commit(opened).await.unwrap();
        (incident.resolved_at, incident.resolve_cause) =
            (Some(at + TimeDelta::hours(2)), Some(ResolveCause::Recovered));
        store.commit(ChangeSet { incidents: vec![incident], ..ChangeSet::default() }).await.unwrap();
    }
}

/// Somebody without a token.
fn stranger() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

/// Whatever a text refers to here: what stands in quotes or brackets and is a path, be it below the public address.
fn links(text: &str) -> BTreeSet<String> {
    let here = |part: &str| {
        let path = part.strip_prefix(PUBLIC).unwrap_or(part);
        let is_path = path.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter));
        (path.starts_with('/') && path.len() > 1 && is_path).then(|| path.to_owned())
    };
    text.split(['"', '(', ')', '\n']).filter_map(here).collect()
}

/// Reads everything from these addresses on: each answer with its headers, by its path.
async fn crawled(stage: &Stage, from: Vec<String>) -> BTreeMap<String, String> {
    let (client, mut waiting, mut read) = (stranger(), from, BTreeMap::new());
    while let Some(path) = waiting.pop() {
        if read.contains_key(&path) {
            continue;
        }
        let answer = client.get(format!("{}{path}", stage.pages)).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{path} is referred to, and everybody may read it");
        let headers = format!("{:?}", answer.headers());
        let text = answer.text().await.unwrap();
        waiting.extend(links(&text));
        read.insert(path, format!("{headers}\n{text}"));
    }
    read
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_internal_can_be_reached_from_the_public_page() {
    let (sly, rude) = (server(false).await, server(true).await);
    let mut stage = Stage::under("  token: \"${env:SERIN_JOURNEY_TOKEN}\"\n", &monitors(sly, rude)).await;
    stage.until("one does not answer", "zqx-rude", |body| body["state"] == "down").await;
    stage.signal("TERM");
    stage.ended().await;
    let store = Store::open(&stage.database()).await.unwrap();
    remember(&store).await;
    store.close().await;
    stage.again().await;
    let open = |body: &Value| {
        let signals = body["signals"].as_array().into_iter().flatten();
        signals.filter(|signal| signal["incident"].is_string()).count() >= 1
    };
    stage.until("the other answers wrongly, and says that it is ill", "zqx-sly", open).await;
    let silence = json!({ "actor": "zqx-author", "comment": "zqx comment", "match": { "monitor": ["zqx-rude"] },
        "until": (Utc::now() + TimeDelta::hours(2)).to_rfc3339() });
    let made = stage.client.post(format!("{}/api/v1/silences", stage.pages)).json(&silence).send().await.unwrap();
    assert_eq!(made.status(), StatusCode::CREATED, "{}", made.text().await.unwrap());

    let (code, badges) = stage.runs(&["badge", "zqx-sly", "--config", "monitors.yaml"]).await;
    assert_eq!(code, Some(0), "{badges}");
    let (code, of_component) = stage.runs(&["badge", "Both", "--config", "monitors.yaml"]).await;
    assert_eq!(code, Some(0), "{of_component}");
    let drawn: Vec<String> =
        links(&format!("{badges}{of_component}")).into_iter().filter(|link| link.starts_with("/badge/")).collect();
    assert!(drawn.len() >= 2, "{badges}{of_component}");
    let from =
        ["/status", "/status/feed.atom", "/api/v2/summary.json", "/api/v2/status.json", "/api/v2/components.json"];
    let from = from.into_iter().chain(["/api/v2/incidents.json", "/api/v2/incidents/unresolved.json"]);
    let read = crawled(&stage, from.map(str::to_owned).chain(drawn).collect()).await;

    let reasons = R::ALL.iter().map(|reason| reason.slug()).filter(|slug| slug.contains('_'));
    let inside = [MARK, "monitors.yaml", "inbox", "sre@example.org", TOKEN, "serin.db", "127.0.0.1", "severity"];
    let inside: Vec<&str> = inside.into_iter().chain(reasons).collect();
    for (path, text) in &read {
        let is_public = ["/status", "/api/v2/", "/badge/", "/assets/"].iter().any(|room| path.starts_with(room));
        assert!(is_public, "{path} is no public address");
        for word in &inside {
            assert!(!text.to_lowercase().contains(&word.to_lowercase()), "{path} says {word}:\n{text}");
        }
    }
    let page = &read["/status"];
    for said in ["Archive: down", "Handbook: partly failing", "Handbook: answers may be wrong", "Maintenance"] {
        assert!(page.contains(said), "it is told all the same: {said}\n{page}");
    }
    everything_else_is_closed(&stage).await;
}

/// Each address of the API and each page asks who is there, as if there were no public side.
async fn everything_else_is_closed(stage: &Stage) {
    let document = stage.json("/api/v1/openapi.json").await;
    let of_api = document["paths"].as_object().unwrap().keys().filter(|path| !path.starts_with("/api/v2/"));
    let of_api = of_api.map(|path| path.replace(['{', '}'], ""));
    let pages =
        ["/", "/monitors/zqx-sly", "/incidents", "/silences", "/deliveries", "/receivers", "/metrics", "/events"];
    let near = ["/status/", "/status/x", "/badge", "/badge/a/b.svg", "/api/v2", "/api/v2/", "/api/v2/x.json", "/mcp"];
    let client = stranger();
    for path in of_api.chain(pages.into_iter().chain(near).map(str::to_owned)) {
        let answer = client.get(format!("{}{path}", stage.pages)).send().await.unwrap();
        let asked = matches!(answer.status().as_u16(), 401 | 303);
        assert!(asked, "{path} is answered {}", answer.status());
    }
    let wrong = client.get(format!("{}/badge/AAAAAAAAAAAAAAAAAAAAAA.svg", stage.pages)).send().await.unwrap();
    assert_eq!(wrong.status(), StatusCode::NOT_FOUND);
    let mut headers = HeaderMap::new();
    headers.insert("host", "evil.example.net".parse().unwrap());
    let other = client.get(format!("{}/status", stage.pages)).headers(headers).send().await.unwrap();
    assert_eq!(other.status(), StatusCode::MISDIRECTED_REQUEST, "by names of ours only");
}
