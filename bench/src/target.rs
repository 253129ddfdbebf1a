//! Canned MCP servers: valid answers at no cost to speak of, one of each era, one behind TLS, one that hangs, and one whose
//! list of tools is long and another each time.

use std::io::Read;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rustls::{HandshakeKind, ServerConfig};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use serin::app;

/// Addresses every target answers at, so that a fleet of 50,000 does not run out of ports: 28,000 towards one address,
/// and each is used again after a minute only.
pub(crate) const ADDRESSES: u64 = 32;
/// The first of them, at which the others listen too.
const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Tools of the server whose list is long: one more than this is refused by some.
const LONG_TOOLS: usize = 999;
/// Bytes of each of them: together as much as a probe reads of one answer.
const LONG_TOOL_BYTES: usize = 4_000;

/// The address of a monitor's target.
pub(crate) fn address(monitor: u64) -> Ipv4Addr {
    Ipv4Addr::from_bits(FIRST_ADDRESS.to_bits() + u32::try_from(monitor % ADDRESSES).unwrap_or_default())
}

/// Handshakes of the server behind TLS.
#[derive(Debug, Default)]
struct Handshakes {
    full: AtomicU64,
    resumed: AtomicU64,
}

/// Serves until standard input closes; prints the ports of modern, legacy, hanging, the one with the long list and the modern
/// one behind TLS, and the certificate that the last one has, in Base64. `GET /handshakes` on the modern one tells how many there were, full and
/// resumed.
///
/// # Errors
/// Where no port is free.
pub(crate) async fn run() -> anyhow::Result<()> {
    app::raised_file_limit();
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let (modern, legacy, hanging, long, tls) =
        (bind().await?, bind().await?, bind().await?, bind().await?, bind().await?);
    let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port());
    let (acceptor, certificate) = acceptor()?;
    let ports = [port(&modern)?, port(&legacy)?, port(&hanging)?, port(&long)?, port(&tls)?];
    let ports = ports.map(|port| port.to_string()).join(" ");
    let handshakes = Arc::new(Handshakes::default());
    let counted = Arc::clone(&handshakes);
    let app = Router::new().route("/mcp", post(|body: Bytes| async move { answer(&body, false) }));
    let tell = move || async move {
        axum::Json([counted.full.load(Ordering::Relaxed), counted.resumed.load(Ordering::Relaxed)])
    };
    let modern_app = app.clone().route("/handshakes", get(tell));
    let legacy_app = Router::new()
        .route("/mcp", post(|body: Bytes| async move { answer(&body, true) }).delete(|| async { StatusCode::OK }));
    for other in others(&modern).await? {
        tokio::spawn(axum::serve(other, app.clone()).into_future());
    }
    for other in others(&legacy).await? {
        tokio::spawn(axum::serve(other, legacy_app.clone()).into_future());
    }
    for other in others(&hanging).await? {
        tokio::spawn(hang(other));
    }
    tokio::spawn(axum::serve(modern, modern_app).into_future());
    tokio::spawn(axum::serve(legacy, legacy_app).into_future());
    tokio::spawn(hang(hanging));
    let lists = Arc::new(AtomicU64::new(0));
    let long_app = Router::new().route("/mcp", post(|body: Bytes| async move { answer_at_length(&body, &lists) }));
    tokio::spawn(axum::serve(long, long_app).into_future());
    // A client remembers a handful of sessions a name: a fleet behind a single one would shake hands anew most times.
    for other in others(&tls).await? {
        tokio::spawn(serve_tls(other, acceptor.clone(), app.clone(), Arc::clone(&handshakes)));
    }
    tokio::spawn(serve_tls(tls, acceptor, app, handshakes));
    anstream::println!("{ports} {certificate}");
    // The bench holds the other end; its end is ours.
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    Ok(())
}

/// A certificate for loopback, made for this run, and what a client has to trust.
fn acceptor() -> anyhow::Result<(TlsAcceptor, String)> {
    let key = rcgen::KeyPair::generate()?;
    let certificate =
        rcgen::CertificateParams::new((0..ADDRESSES).map(|nth| address(nth).to_string()).collect::<Vec<_>>())?
            .self_signed(&key)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            key.serialize_der().try_into().map_err(anyhow::Error::msg)?,
        )?;
    // Tickets instead of a memory of sessions, as most servers in the field do it.
    config.ticketer = rustls::crypto::ring::Ticketer::new()?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((TlsAcceptor::from(Arc::new(config)), STANDARD.encode(certificate.der())))
}

async fn serve_tls(listener: TcpListener, acceptor: TlsAcceptor, app: Router, handshakes: Arc<Handshakes>) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let (acceptor, app, handshakes) = (acceptor.clone(), app.clone(), Arc::clone(&handshakes));
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let is_resumed = stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed);
            let counter = if is_resumed { &handshakes.resumed } else { &handshakes.full };
            counter.fetch_add(1, Ordering::Relaxed);
            let service = TowerToHyperService::new(app);
            // The other side closes when it has asked what it wanted.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// Listeners on the same port at the other addresses.
async fn others(first: &TcpListener) -> anyhow::Result<Vec<TcpListener>> {
    let port = first.local_addr()?.port();
    let mut listeners = Vec::new();
    for other in 1..ADDRESSES {
        listeners.push(TcpListener::bind((address(other), port)).await?);
    }
    Ok(listeners)
}

/// Takes connections and never says a word, until the other side has had enough.
async fn hang(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        tokio::spawn(async move { tokio::io::copy(&mut stream, &mut tokio::io::sink()).await });
    }
}

fn answer(body: &[u8], is_legacy: bool) -> Response {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let method = request["method"].as_str().unwrap_or_default();
    let mut result = match (method, is_legacy) {
        ("initialize", true) => json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "bench", "version": "1"}
        }),
        ("notifications/initialized", true) => return StatusCode::ACCEPTED.into_response(),
        ("server/discover", false) => json!({
            "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "bench", "version": "1"}, "ttlMs": 0, "cacheScope": "private"
        }),
        ("tools/list", _) => tools(is_legacy),
        ("tools/call", _) => found(),
        _ => {
            let error =
                json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no such method"}});
            return (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, "application/json")], error.to_string())
                .into_response();
        }
    };
    if !is_legacy {
        result["resultType"] = json!("complete");
    }
    let message = json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string();
    let mut response = ([(header::CONTENT_TYPE, "application/json")], message).into_response();
    if method == "initialize" {
        response.headers_mut().insert("mcp-session-id", header::HeaderValue::from_static("bench"));
    }
    response
}

/// The modern answers, but for a list of tools that is long, and other in each tool each time.
fn answer_at_length(body: &[u8], lists: &AtomicU64) -> Response {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    if request["method"] != "tools/list" {
        return answer(body, false);
    }
    let nth = lists.fetch_add(1, Ordering::Relaxed);
    let tool = |number: usize| {
        let name = if number == 0 { "search_documents".to_owned() } else { format!("tool_{number}") };
        let start = format!(
            r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{"query":{{"type":"string"}}}}}},"description":"List {nth}."#
        );
        let text = " Searches the documents for what is asked, the best first.".repeat(LONG_TOOL_BYTES / 50);
        format!(r#"{start}{}"}}"#, &text[..LONG_TOOL_BYTES.saturating_sub(start.len() + 2)])
    };
    let tools: Vec<String> = (0..LONG_TOOLS).map(tool).collect();
    let message = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{}]}}}}"#,
        request["id"],
        tools.join(",")
    );
    ([(header::CONTENT_TYPE, "application/json")], message).into_response()
}

fn tools(is_legacy: bool) -> Value {
    let tool = |name: &str| {
        json!({"name": name, "description": "Searches the documents for what is asked, the best first.", "inputSchema": {
            "type": "object", "required": ["query"],
            "properties": {"query": {"type": "string"}, "top_k": {"type": "integer"}}
        }})
    };
    let tools = [tool("search_documents"), tool("index_document"), tool("list_everything")];
    if is_legacy { json!({"tools": tools}) } else { json!({"tools": tools, "ttlMs": 0, "cacheScope": "private"}) }
}

/// Five results of some 300 characters each, as a small server answers.
fn found() -> Value {
    let text = "A token that nobody uses lives for thirty days and is then taken back without a word. ".repeat(4);
    let hit = |rank: usize| json!({"rank": rank, "source": format!("docs/{rank}.md"), "score": 0.9, "content": format!("{rank} {text}")});
    let data = json!({"status": "ok", "data": {"results": (1..=5).map(hit).collect::<Vec<_>>(), "total_results": 5}});
    json!({"content": [{"type": "text", "text": data.to_string()}], "structuredContent": data, "isError": false})
}
