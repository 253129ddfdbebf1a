//! From a host name to a connection that stands, with the time of each phase and the reason where it does not come about.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use rustls::{CertificateError, HandshakeKind, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use crate::net::alarm::Alarm;
use crate::net::connect_failure::{ConnectFailure, alerted};
use crate::net::files;
use crate::net::stream::{Counted, Stream, Traffic};
use crate::net::target::{Guard, Target, guarded, name_trouble};
use crate::net::trust::{Files, TrustError, Trusts};
use serin_outbound::tls::{Tls, roots, valid_until};

/// Opens connections; holds the TLS configuration and its session cache.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    tls: Arc<Tls>,
    roots: Arc<RootCertStore>,
    names: usize,
    trusts: Arc<Trusts>,
}

impl Connector {
    /// A connector that trusts this machine's roots and remembers TLS sessions of `names` servers.
    pub(crate) fn new(names: usize) -> Self {
        Self::with_roots(roots(), names)
    }

    /// A connector that trusts these roots only.
    ///
    /// # Panics
    /// Never: only a certificate of our own could be refused, and there is none.
    pub(crate) fn with_roots(roots: RootCertStore, names: usize) -> Self {
        let roots = Arc::new(roots);
        let tls = Tls::new(Arc::clone(&roots), names, None, None).expect("without an identity nothing can be refused");
        Self { tls: Arc::new(tls), roots, names, trusts: Arc::default() }
    }

    /// The configuration of these files, over this connector's roots.
    ///
    /// # Errors
    /// Which file cannot be used, and why.
    pub(crate) fn trusting(&self, files: &Files) -> Result<Arc<Tls>, TrustError> {
        self.trusts.get(files, &self.roots, self.names)
    }

    /// Connects before `deadline`. `guard` of none reaches any address (it was declared by a person); of some, only
    /// public ones and those in the given networks.
    ///
    /// # Errors
    /// [`ConnectError`] with the phase that failed, and the times of those that did not.
    pub(crate) async fn connect(
        &self,
        target: &Target,
        (deadline, alarm): (Instant, &mut Alarm),
        guard: Option<&[IpNet]>,
    ) -> Result<Connection, ConnectError> {
        let started = Instant::now();
        let mut times = Times::default();
        let fail = |(trouble, detail), times| ConnectError { trouble, detail, times };
        let addresses = first_hop(target, (deadline, &mut *alarm)).await.map_err(|why| fail(why, times))?;
        times.name = Some(started.elapsed());
        let guard = match guard {
            Some(allow) => Some(Guard { allow, mend: "it is named by a server, and only public ones are reached so" }),
            None => target.guard(),
        };
        if target.proxy().is_none() {
            guarded(&addresses, guard).map_err(|why| fail(why, times))?;
        }
        let (tcp, notes) =
            reached(target, &addresses, guard, (deadline, &mut *alarm)).await.map_err(|why| fail(why, times))?;
        times.connect = Some(started.elapsed());
        // Small requests one after the other: waiting for more bytes would cost 40 ms each.
        let _ = tcp.set_nodelay(true);
        let traffic = Arc::new(Traffic::default());
        let counted = Counted::new(tcp, Arc::clone(&traffic));
        let mut connection = Connection { stream: None, times, traffic, notes, certificate_until: None };
        let Some(name) = target.tls_name() else {
            connection.stream = Some(Stream::Plain(counted));
            return Ok(connection);
        };
        let handshake = TlsConnector::from(target.config(&self.tls)).connect(name.clone(), counted);
        let tls = match alarm.within(deadline, Box::pin(handshake)).await {
            Ok(Ok(tls)) => tls,
            Ok(Err(error)) => return Err(fail(tls_trouble(&error), times)),
            Err(_) => return Err(fail((ConnectFailure::TlsFailed, "the TLS handshake stalled".into()), times)),
        };
        connection.times.tls = Some(started.elapsed());
        let session = tls.get_ref().1;
        // A resumed session carries the chain of the full one, which was looked at then.
        if session.handshake_kind() != Some(HandshakeKind::Resumed) {
            connection.certificate_until = session.peer_certificates().and_then(|chain| valid_until(chain.first()?));
        }
        connection.stream = Some(Stream::Tls(Box::new(tls)));
        Ok(connection)
    }
}

/// Where the first hop is, by name.
async fn first_hop(
    target: &Target,
    (deadline, alarm): (Instant, &mut Alarm),
) -> Result<Vec<SocketAddr>, (ConnectFailure, String)> {
    match alarm.within(deadline, target.first_hop()).await {
        Ok(Ok(addresses)) => Ok(addresses),
        Ok(Err(error)) => Err((name_trouble(&error), error.to_string())),
        Err(_) => Err((ConnectFailure::NameNotResolved, "the resolver did not answer in time".into())),
    }
}

/// A connection to the target, through its proxy where it has one, and what is worth a note about it.
async fn reached(
    target: &Target,
    addresses: &[SocketAddr],
    guard: Option<Guard<'_>>,
    (deadline, alarm): (Instant, &mut Alarm),
) -> Result<(TcpStream, Vec<String>), (ConnectFailure, String)> {
    let stood = first_that_answers(addresses, (deadline, &mut *alarm)).await;
    let Some(proxy) = target.proxy() else { return stood };
    let (tcp, mut notes) = stood.map_err(|(trouble, detail)| match trouble {
        ConnectFailure::OutOfFiles => (trouble, detail),
        _ => (ConnectFailure::ProxyFailed, format!("the proxy {proxy} cannot be reached: {detail}")),
    })?;
    notes.push(format!("through the proxy {proxy}"));
    match alarm.within(deadline, target.tunnel(proxy, tcp, guard)).await {
        Ok(tunnel) => tunnel.map(|tcp| (tcp, notes)),
        Err(_) => Err((ConnectFailure::ProxyFailed, format!("the proxy {proxy} did not answer in time"))),
    }
}

/// A connection that stands.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Option<Stream>,
    /// When each phase was done.
    pub times: Times,
    /// What passed over it, so far.
    pub traffic: Arc<Traffic>,
    /// Addresses that failed before one answered.
    pub notes: Vec<String>,
    /// When the server's certificate ends, unix seconds; only after a full handshake.
    pub certificate_until: Option<i64>,
}

impl Connection {
    /// The bytes; none when they were taken before.
    pub(crate) fn take_stream(&mut self) -> Option<Stream> {
        self.stream.take()
    }
}

/// When each phase was done, from the start of connecting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Times {
    /// The name was resolved.
    pub name: Option<Duration>,
    pub connect: Option<Duration>,
    pub tls: Option<Duration>,
}

/// Why no connection came about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub(crate) struct ConnectError {
    pub trouble: ConnectFailure,
    /// The evidence: every address tried, by family.
    pub detail: String,
    pub times: Times,
}

/// Tries the addresses in order. Each gets an equal share of the time that is left, so the last one is always reached.
async fn first_that_answers(
    addresses: &[SocketAddr],
    (deadline, alarm): (Instant, &mut Alarm),
) -> Result<(TcpStream, Vec<String>), (ConnectFailure, String)> {
    let mut notes = Vec::new();
    let mut worst = ConnectFailure::TimedOut;
    for (nth, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(addresses.len() - nth).unwrap_or(1);
        let family = if address.is_ipv6() { "IPv6" } else { "IPv4" };
        let (trouble, said) = match alarm.within(Instant::now() + share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok((stream, notes)),
            Ok(Err(error)) => (tcp_trouble(&error), error.to_string()),
            Err(_) => (ConnectFailure::TimedOut, format!("no answer within {} ms", share.as_millis())),
        };
        // No other address can be tried either, and none was.
        if trouble == ConnectFailure::OutOfFiles {
            return Err((trouble, said));
        }
        // A refusal is the clearest word: somebody is there and says no.
        if nth == 0 || trouble == ConnectFailure::Refused {
            worst = trouble;
        }
        notes.push(format!("{family} {address}: {said}"));
    }
    Err((worst, notes.join("; ")))
}

fn tcp_trouble(error: &io::Error) -> ConnectFailure {
    match error.kind() {
        _ if files::is_out(error) => ConnectFailure::OutOfFiles,
        io::ErrorKind::ConnectionRefused => ConnectFailure::Refused,
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => ConnectFailure::Reset,
        io::ErrorKind::TimedOut => ConnectFailure::TimedOut,
        _ => ConnectFailure::Unreachable,
    }
}

fn tls_trouble(error: &io::Error) -> (ConnectFailure, String) {
    use rustls::Error;
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    let trouble = match inner {
        Some(Error::InvalidCertificate(bad)) => match bad {
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => ConnectFailure::TlsExpired,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                ConnectFailure::TlsWrongName
            }
            _ => ConnectFailure::TlsUntrusted,
        },
        Some(Error::AlertReceived(alert)) => return (alerted(*alert), error.to_string()),
        Some(Error::InvalidMessage(_)) => {
            return (ConnectFailure::TlsFailed, format!("the port answered something that is not TLS ({error})"));
        }
        Some(_) => ConnectFailure::TlsFailed,
        None if error.kind() == io::ErrorKind::ConnectionReset => ConnectFailure::Reset,
        None => ConnectFailure::TlsFailed,
    };
    (trouble, error.to_string())
}
