//! A real SMTP server that keeps what it takes in the inbox, on loopback only.
//!
//! `mailin` is the protocol half; this is the socket half, with a limit on everything. STARTTLS and
//! AUTH are there because mail servers have them and tests want to see ours use them.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use mailin::{Action, AuthMechanism, Handler, Response, Session, SessionBuilder, response};
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::cli::demo::inbox::Inbox;

/// Bytes of one line; RFC 5321 asks for 1000.
const LINE_BYTES_MAX: u64 = 4096;
const MAIL_BYTES_MAX: usize = 1 << 20;
/// Recipients of one mail; RFC 5321 asks for 100.
const RECIPIENTS_MAX: usize = 100;
/// Connections at a time; more wait in the system's queue.
const CONNECTIONS_MAX: usize = 32;
/// A client that says nothing for so long is let go.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// What the sink offers and refuses, so that each case of a mail server can be met.
#[derive(Debug, Clone, Default)]
pub struct Manners {
    /// The certificate for STARTTLS; none: not offered.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// User and password it demands; none: anybody may send. Only asked for on an encrypted connection.
    pub login: Option<(String, String)>,
    /// Codes the next mails are answered with at their end, such as 451; 250 once it is empty.
    pub next_codes: VecDeque<u16>,
    /// Recipients that are answered with a code of their own, such as 550.
    pub recipient_codes: BTreeMap<String, u16>,
}

/// The server, bound and not yet running.
#[derive(Debug)]
pub struct SmtpSink {
    listener: TcpListener,
    manners: Arc<Mutex<Manners>>,
    inbox: Inbox,
}

impl SmtpSink {
    /// Binds a free port on loopback.
    ///
    /// # Errors
    /// Where none can be bound.
    pub async fn bind(inbox: Inbox, manners: Manners) -> io::Result<Self> {
        Self::bind_port(inbox, manners, 0).await
    }

    /// Binds this port on loopback; 0 is a free one.
    ///
    /// # Errors
    /// Where it cannot be bound.
    pub async fn bind_port(inbox: Inbox, manners: Manners, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        Ok(Self { listener, manners: Arc::new(Mutex::new(manners)), inbox })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Where the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Takes mails until the token is cancelled.
    pub async fn run(self, stop: CancellationToken) {
        let mut connections = JoinSet::new();
        loop {
            while connections.len() >= CONNECTIONS_MAX {
                connections.join_next().await;
            }
            tokio::select! {
                () = stop.cancelled() => break,
                _ = connections.join_next(), if !connections.is_empty() => {}
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, peer)) => {
                        let (manners, inbox) = (Arc::clone(&self.manners), self.inbox.clone());
                        connections.spawn(async move {
                            // A client that breaks off is no news for anybody but itself.
                            let _ended = serve(stream, peer.ip(), manners, inbox).await;
                        });
                    }
                    // Out of descriptors: one that is free comes with the next connection that ends.
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                },
            }
        }
        connections.shutdown().await;
    }
}

async fn serve(stream: TcpStream, peer: IpAddr, manners: Arc<Mutex<Manners>>, inbox: Inbox) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let tls = manners.lock().tls.clone();
    let asks_login = manners.lock().login.is_some();
    let mut builder = SessionBuilder::new("inbox.invalid");
    if tls.is_some() {
        builder.enable_start_tls();
    }
    if asks_login {
        builder.enable_auth(AuthMechanism::Plain);
        builder.enable_auth(AuthMechanism::Login);
    }
    let encrypted = Arc::new(Mutex::new(false));
    let taking = MailTaking::new(manners, inbox, Arc::clone(&encrypted));
    let mut session = builder.build(peer, taking);
    let mut stream = stream;
    write(&mut stream, &session.greeting()).await?;
    let Some(stream) = converse(stream, &mut session).await? else { return Ok(()) };
    let Some(config) = tls else { return Ok(()) };
    let stream = tokio::time::timeout(IDLE_MAX, TlsAcceptor::from(config).accept(stream)).await??;
    *encrypted.lock() = true;
    session.tls_active();
    converse(stream, &mut session).await.map(drop)
}

/// Line by line until the client parts; gives the stream back where it is to be encrypted.
async fn converse<S>(stream: S, session: &mut Session<MailTaking>) -> io::Result<Option<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut stream).take(LINE_BYTES_MAX);
        let read = tokio::time::timeout(IDLE_MAX, bounded.read_until(b'\n', &mut line)).await??;
        if read == 0 || !line.ends_with(b"\n") {
            return Ok(None);
        }
        let answer = session.process(&line);
        if answer.action == Action::NoReply {
            continue;
        }
        write(stream.get_mut(), &answer).await?;
        let ended = line == b".\r\n" && answer.is_error;
        match answer.action {
            Action::Close => return Ok(None),
            // The protocol half stays inside the mail after an error at its end; parting is legal and clear.
            Action::Reply if ended => return Ok(None),
            // What a client sent behind STARTTLS in clear text is dropped with the buffer (RFC 3207).
            Action::UpgradeTls => return Ok(Some(stream.into_inner())),
            Action::Reply | Action::NoReply => {}
        }
    }
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), answer: &Response) -> io::Result<()> {
    let mut bytes = Vec::new();
    answer.write_to(&mut bytes)?;
    stream.write_all(&bytes).await?;
    stream.flush().await
}

/// One connection's mail while it comes in.
struct MailTaking {
    manners: Arc<Mutex<Manners>>,
    inbox: Inbox,
    encrypted: Arc<Mutex<bool>>,
    login: Option<String>,
    from: String,
    to: Vec<String>,
    bytes: Vec<u8>,
    too_large: bool,
}

impl MailTaking {
    fn new(manners: Arc<Mutex<Manners>>, inbox: Inbox, encrypted: Arc<Mutex<bool>>) -> Self {
        let (from, to, bytes) = (String::new(), Vec::new(), Vec::new());
        Self { manners, inbox, encrypted, login: None, from, to, bytes, too_large: false }
    }

    fn admitted(&mut self, user: &str, password: &str) -> Response {
        let fits = self.manners.lock().login.as_ref().is_some_and(|(u, p)| u == user && p == password);
        if !fits {
            return response::INVALID_CREDENTIALS;
        }
        self.login = Some(user.to_owned());
        response::AUTH_OK
    }
}

impl Handler for MailTaking {
    fn mail(&mut self, _ip: IpAddr, _domain: &str, from: &str) -> Response {
        self.from = from.to_owned();
        self.to.clear();
        response::OK
    }

    fn rcpt(&mut self, to: &str) -> Response {
        if self.to.len() >= RECIPIENTS_MAX {
            return Response::custom(452, "Too many recipients".to_owned());
        }
        if let Some(code) = self.manners.lock().recipient_codes.get(to) {
            return Response::custom(*code, "Not this one".to_owned());
        }
        self.to.push(to.to_owned());
        response::OK
    }

    fn data_start(&mut self, _domain: &str, _from: &str, _is8bit: bool, _to: &[String]) -> Response {
        self.bytes.clear();
        self.too_large = false;
        response::OK
    }

    fn data(&mut self, line: &[u8]) -> io::Result<()> {
        self.too_large |= self.bytes.len() + line.len() > MAIL_BYTES_MAX;
        if !self.too_large {
            self.bytes.extend_from_slice(line);
        }
        Ok(())
    }

    fn data_end(&mut self) -> Response {
        if self.too_large {
            return response::NO_STORAGE;
        }
        if let Some(code) = self.manners.lock().next_codes.pop_front()
            && code != 250
        {
            return Response::custom(code, "Told to".to_owned());
        }
        let encrypted = *self.encrypted.lock();
        let (from, to) = (std::mem::take(&mut self.from), std::mem::take(&mut self.to));
        self.inbox.keep_mail(from, to, &self.bytes, encrypted, self.login.clone());
        response::OK
    }

    fn auth_plain(&mut self, _authorization: &str, user: &str, password: &str) -> Response {
        self.admitted(user, password)
    }

    fn auth_login(&mut self, user: &str, password: &str) -> Response {
        self.admitted(user, password)
    }
}
