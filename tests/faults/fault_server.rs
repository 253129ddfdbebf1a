//! A server on a raw socket that answers exactly the bytes it is told to, right or wrong.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_rustls::TlsAcceptor;

/// What to do with one request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Send these bytes; keep the connection. `{id}` stands for the request's id, `{n}` for how many came so far.
    Say(String),
    /// Send these bytes, then close.
    SayAndClose(String),
    /// Send these bytes, then hold the connection open without another byte.
    SayAndHold(String),
    /// Send these bytes over and over, until the other side closes.
    SayForever(String),
    /// Send these bytes and keep the connection as the event stream that `Push` writes to.
    OpenStream(String),
    /// Write the second to the event stream, then answer with the first; an empty second closes the stream.
    Push(String, String),
    /// Send the body as this makes it, in as many writes, and `{length}` as the length of that; then hold the
    /// connection where the head says that it closes.
    Coded(String, fn(&str) -> Vec<Vec<u8>>),
    /// Close with a reset.
    Reset,
    /// Say nothing and be gone: the port is closed from now on.
    Die,
    /// Answer, and then be gone.
    SayAndDie(String),
    /// Answer the first such request with the first text, and every later one with the second.
    Turn(String, String),
}

/// Chooses the answer to a request by what it asks for: the JSON-RPC method (`modern METHOD` first, where it is asked in
/// the newer era), else `GET /path`, else `DELETE`; `*` is any.
pub(crate) type Script = HashMap<&'static str, Act>;

/// What arrived.
#[derive(Debug, Default, Clone)]
pub(crate) struct Seen {
    /// Each request's key, in order.
    pub(crate) asked: Vec<String>,
    /// Each request's head, in order.
    pub(crate) heads: Vec<String>,
    /// Each request's body, in order.
    pub(crate) bodies: Vec<String>,
    /// Connections accepted.
    pub(crate) connections: usize,
    /// Event streams that are open now.
    pub(crate) streams: usize,
    /// Where the latest of them takes what is pushed.
    push: Option<UnboundedSender<String>>,
}

/// A running server; it ends with its runtime.
#[derive(Debug)]
pub(crate) struct FaultServer {
    pub(crate) address: SocketAddr,
    /// Whether it leaves something without an answer.
    pub(crate) holds: bool,
    seen: Arc<Mutex<Seen>>,
}

impl FaultServer {
    /// Starts on a free port, with TLS where an acceptor is given.
    pub(crate) async fn start(script: Script, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let seen = Arc::new(Mutex::new(Seen::default()));
        let holds = script.values().any(|act| matches!(act, Act::SayAndHold(_)));
        let (script, shared) = (Arc::new(script), Arc::clone(&seen));
        let died = Arc::new(tokio::sync::Notify::new());
        tokio::spawn(async move {
            loop {
                let (stream, _) = tokio::select! {
                    () = died.notified() => return,
                    accepted = listener.accept() => accepted.expect("loopback accepts"),
                };
                let died = Arc::clone(&died);
                let (script, seen, tls) = (Arc::clone(&script), Arc::clone(&shared), tls.clone());
                seen.lock().expect("not poisoned").connections += 1;
                let _ = stream.set_nodelay(true);
                tokio::spawn(async move {
                    if script.get("*").is_some_and(|act| matches!(act, Act::Reset)) {
                        // Zero linger makes the close a reset.
                        let _ = stream.set_zero_linger();
                        return;
                    }
                    match tls {
                        None => serve(stream, &script, &seen, &died).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, &script, &seen, &died).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, holds, seen }
    }

    /// What arrived so far.
    pub(crate) fn seen(&self) -> Seen {
        self.seen.lock().expect("not poisoned").clone()
    }
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    script: &Script,
    seen: &Mutex<Seen>,
    died: &tokio::sync::Notify,
) {
    let mut pending = Vec::new();
    while let Some((head, body)) = next_request(&mut stream, &mut pending).await {
        let message: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
        let line = head.lines().next().unwrap_or_default().to_owned();
        let method = line.split(' ').next().unwrap_or_default().to_owned();
        let posted = line.split(['?', ' ']).nth(1) == Some("/messages");
        let key = match message["method"].as_str() {
            Some("tools/call") if posted => {
                format!("POST /messages tools/call {}", message["params"]["name"].as_str().unwrap_or_default())
            }
            Some(method) if posted => format!("POST /messages {method}"),
            Some(method) if line.contains("/moved") => format!("moved {method}"),
            Some("tools/call") => {
                let again = if message["params"]["arguments"]["cursor"].is_string() { " again" } else { "" };
                format!("tools/call {}{again}", message["params"]["name"].as_str().unwrap_or_default())
            }
            Some("tools/list") if message["params"]["cursor"].is_string() => "tools/list again".to_owned(),
            Some(method) => method.to_owned(),
            None if method == "DELETE" => method,
            None => line.rsplit_once(' ').map(|(start, _)| start.to_owned()).unwrap_or_default(),
        };
        let newer = head.to_ascii_lowercase().contains("\r\nmcp-method:");
        {
            let mut seen = seen.lock().expect("not poisoned");
            seen.asked.push(key.clone());
            seen.heads.push(head);
            seen.bodies.push(body);
        }
        let act = newer.then(|| script.get(format!("modern {key}").as_str())).flatten();
        let Some(act) = act.or_else(|| script.get(key.as_str())).or_else(|| script.get("*")) else {
            let _ = stream.write_all(with_length(&status("404 Not Found", "", "not scripted")).as_bytes()).await;
            continue;
        };
        let id = message["id"].to_string();
        let nth = seen.lock().expect("not poisoned").asked.len();
        let fill = |text: &str| with_length(&text.replace("{id}", &id).replace("{n}", &nth.to_string()));
        match act {
            Act::Say(text) => {
                if stream.write_all(fill(text).as_bytes()).await.is_err() {
                    return;
                }
            }
            Act::SayAndClose(text) => {
                let _ = stream.write_all(fill(text).as_bytes()).await;
                let _ = stream.shutdown().await;
                return;
            }
            Act::SayAndHold(text) => {
                let _ = stream.write_all(fill(text).as_bytes()).await;
                // Until the other side goes.
                while stream.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {}
                return;
            }
            Act::OpenStream(text) => {
                let (push, mut pushed) = unbounded_channel();
                {
                    let mut seen = seen.lock().expect("not poisoned");
                    (seen.push, seen.streams) = (Some(push), seen.streams + 1);
                }
                let _ = stream.write_all(fill(text).as_bytes()).await;
                loop {
                    let mut byte = [0; 64];
                    tokio::select! {
                        event = pushed.recv() => match event.filter(|event| !event.is_empty()) {
                            Some(event) => drop(stream.write_all(event.as_bytes()).await),
                            None => break,
                        },
                        read = stream.read(&mut byte) => if read.is_ok_and(|read| read > 0) {} else { break },
                    }
                }
                let _ = stream.shutdown().await;
                seen.lock().expect("not poisoned").streams -= 1;
                return;
            }
            Act::Push(reply, event) => {
                let push = seen.lock().expect("not poisoned").push.clone();
                if let Some(push) = push {
                    let _ = push.send(fill(event));
                }
                if stream.write_all(fill(reply).as_bytes()).await.is_err() {
                    return;
                }
            }
            Act::SayForever(text) => {
                let (head, repeated) = text.split_once("{again}").unwrap_or(("", text));
                let _ = stream.write_all(head.as_bytes()).await;
                while stream.write_all(repeated.as_bytes()).await.is_ok() {
                    tokio::task::yield_now().await;
                }
                return;
            }
            Act::Coded(text, code) => {
                let text = text.replace("{id}", &id);
                let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
                let pieces = code(body);
                let head = head.replace("{length}", &pieces.iter().map(Vec::len).sum::<usize>().to_string());
                let _ = stream.write_all(format!("{head}\r\n\r\n").as_bytes()).await;
                for piece in pieces {
                    let _ = stream.write_all(&piece).await;
                    let _ = stream.flush().await;
                    tokio::task::yield_now().await;
                }
                if head.contains("Connection: close") {
                    while stream.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {}
                    return;
                }
            }
            Act::Reset => return,
            Act::SayAndDie(text) => {
                died.notify_one();
                // Until the port is closed for certain.
                tokio::task::yield_now().await;
                let _ = stream.write_all(fill(text).as_bytes()).await;
                let _ = stream.shutdown().await;
                return;
            }
            Act::Turn(first, later) => {
                let before = seen.lock().expect("not poisoned").asked.iter().filter(|asked| **asked == key).count();
                let text = if before > 1 { later } else { first };
                if stream.write_all(fill(text).as_bytes()).await.is_err() {
                    return;
                }
            }
            Act::Die => {
                died.notify_one();
                // Until the port is closed for certain.
                tokio::task::yield_now().await;
                return;
            }
        }
    }
}

async fn next_request(stream: &mut (impl AsyncRead + Unpin), pending: &mut Vec<u8>) -> Option<(String, String)> {
    loop {
        if let Some(end) = pending.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&pending[..end]).into_owned();
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok()
                })
                .unwrap_or(0);
            if pending.len() >= end + 4 + length {
                let body = String::from_utf8_lossy(&pending[end + 4..end + 4 + length]).into_owned();
                pending.drain(..end + 4 + length);
                return Some((head, body));
            }
        }
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
        pending.extend_from_slice(&chunk[..read]);
    }
}

/// `{length}` stands for the length of what follows the head.
fn with_length(text: &str) -> String {
    let length = text.split_once("\r\n\r\n").map_or(0, |(_, body)| body.len());
    text.replace("{length}", &length.to_string())
}

/// A 200 with JSON.
pub(crate) fn json(body: &str) -> String {
    status("200 OK", "Content-Type: application/json\r\n", body)
}

/// A JSON-RPC result.
pub(crate) fn result(result: &str) -> String {
    json(&format!(r#"{{"jsonrpc":"2.0","id":{{id}},"result":{result}}}"#))
}

/// An answer with a status, further headers and a body.
pub(crate) fn status(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {{length}}\r\n\r\n{body}")
}

/// A stream of events that ends with the connection.
pub(crate) fn stream(events: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{events}")
}
