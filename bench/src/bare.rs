//! The same calls with hyper and nothing else: what the wire alone costs on this machine.

use std::net::{IpAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::RootCertStore;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;

use crate::target::{ADDRESSES, address};
use crate::usage;
use serin::probe::decode::era::MODERN;
use serin_outbound::tls::Tls;

/// Connections at once where nothing paces them.
const AT_ONCE: usize = 32;

/// What is called, and how often.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Calls {
    /// Port of the target.
    #[arg(long)]
    pub(crate) port: u16,
    /// `modern`, `legacy`, or `tls`, which is modern behind TLS.
    #[arg(long)]
    pub(crate) era: String,
    /// The certificate to trust, DER in Base64; without one the target is asked without TLS.
    #[arg(long)]
    pub(crate) root: Option<String>,
    /// Turns a second; 0 is as fast as it goes.
    #[arg(long)]
    pub(crate) rate: u64,
    /// How long.
    #[arg(long)]
    pub(crate) seconds: u64,
}

/// Makes the calls and answers what they cost, on a thread and a runtime of its own: no thread wakes another.
///
/// # Errors
/// Where the target does not answer.
pub(crate) async fn run(calls: Calls) -> anyhow::Result<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::spawn_blocking(move || runtime.block_on(pace(calls))).await?
}

async fn pace(calls: Calls) -> anyhow::Result<Value> {
    let is_legacy = calls.era == "legacy";
    let port = calls.port;
    let bodies = Arc::new(bodies(is_legacy));
    let tls = calls.root.as_deref().map(resuming).transpose()?;
    let (began, before, waits_before) = (Instant::now(), usage::cpu(), usage::switches());
    let (mut turns, permits) = (0_u64, Arc::new(Semaphore::new(AT_ONCE)));
    let mut pace = (calls.rate > 0).then(|| tokio::time::interval(Duration::from_micros(1_000_000 / calls.rate)));
    let mut under_way = tokio::task::JoinSet::new();
    while began.elapsed() < Duration::from_secs(calls.seconds) {
        if let Some(pace) = &mut pace {
            pace.tick().await;
        }
        let permit = Arc::clone(&permits).acquire_owned().await?;
        let (bodies, tls) = (Arc::clone(&bodies), tls.clone());
        let at = SocketAddrV4::new(address(turns), port);
        under_way.spawn(async move {
            let end = turn(at, tls.as_ref(), &bodies).await;
            drop(permit);
            end
        });
        turns += 1;
        while let Some(end) = under_way.try_join_next() {
            end??;
        }
    }
    while let Some(end) = under_way.join_next().await {
        end??;
    }
    let cpu = usage::cpu() - before;
    let waits = usage::switches().saturating_sub(waits_before);
    Ok(json!({
        "switches_per_beat": waits as f64 / turns.max(1) as f64,
        "beats": turns,
        "cpu_per_10000": cpu.as_secs_f64() * 1e4 / turns.max(1) as f64,
        "beats_per_second": turns as f64 / began.elapsed().as_secs_f64(),
    }))
}

/// TLS that trusts this certificate (DER in Base64) and resumes sessions, as the probe's does.
fn resuming(root: &str) -> anyhow::Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    roots.add(STANDARD.decode(root)?.into())?;
    Ok(TlsConnector::from(Tls::new(roots, ADDRESSES as usize, None, None)?.resuming))
}

/// Posts the bodies one after the other on a fresh connection, over TLS where it is given, and closes it.
///
/// # Errors
/// Where the target does not answer, or not with JSON.
pub(crate) async fn turn(at: SocketAddrV4, tls: Option<&TlsConnector>, bodies: &[String]) -> anyhow::Result<()> {
    let stream = TcpStream::connect(at).await?;
    stream.set_nodelay(true)?;
    match tls {
        None => converse(stream, bodies).await,
        Some(tls) => converse(tls.connect(IpAddr::V4(*at.ip()).into(), stream).await?, bodies).await,
    }
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    bodies: &[String],
) -> anyhow::Result<()> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let driver = tokio::spawn(connection);
    for body in bodies {
        let request = Request::post("/mcp")
            .header("host", "127.0.0.1")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(Full::new(Bytes::from(body.clone())))?;
        let answer = sender.send_request(request).await?.into_body().collect().await?.to_bytes();
        if !answer.is_empty() {
            serde_json::from_slice::<Value>(&answer)?;
        }
    }
    drop(sender);
    driver.abort();
    Ok(())
}

/// What one turn posts: opening, tools/list, two calls.
pub(crate) fn bodies(is_legacy: bool) -> Vec<String> {
    let call = |id: u32, method: &str| {
        let mut params = if method == "tools/call" {
            json!({"name": "search_documents", "arguments": {"query": "token"}})
        } else {
            json!({})
        };
        if !is_legacy {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "bare", "version": "1"},
            });
        }
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let opening: &[&str] = if is_legacy { &["initialize", "notifications/initialized"] } else { &["server/discover"] };
    let methods = opening.iter().chain(&["tools/list", "tools/call", "tools/call"]);
    (1..).zip(methods).map(|(id, method)| call(id, method)).collect()
}
