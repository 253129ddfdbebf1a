//! From a host name to a connection that stands, with the time of each phase and the reason where it does not come about.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, HandshakeKind, RootCertStore};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use crate::net::connect_failure::{ConnectFailure, alerted};
use crate::net::files;
use crate::net::proxy::Proxy;
use crate::net::stream::{Counted, Stream, Traffic};
use crate::net::trust::{Files, TrustError, Trusts};
use serin_outbound::guard::{Refusal, allowed};
use serin_outbound::tls::{Tls, roots, valid_until};

/// Addresses tried of one name: enough for both families of a small pool, and each failing one costs a share of the limit.
const ADDRESSES_MAX: usize = 6;

/// Opens connections; holds the TLS configuration and its session cache.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    tls: Arc<Tls>,
    roots: RootCertStore,
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
        let tls = Tls::new(roots.clone(), names, None, None).expect("without an identity nothing can be refused");
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
        deadline: Instant,
        guard: Option<&[IpNet]>,
    ) -> Result<Connection, ConnectError> {
        let started = Instant::now();
        let mut times = Times::default();
        let fail = |(trouble, detail), times| ConnectError { trouble, detail, times };
        let addresses = first_hop(target, deadline).await.map_err(|why| fail(why, times))?;
        times.name = Some(started.elapsed());
        guarded(&addresses, guard).map_err(|why| fail(why, times))?;
        let (tcp, notes) = reached(target, &addresses, deadline).await.map_err(|why| fail(why, times))?;
        times.connect = Some(started.elapsed());
        // Small requests one after the other: waiting for more bytes would cost 40 ms each.
        let _ = tcp.set_nodelay(true);
        let traffic = Arc::new(Traffic::default());
        let counted = Counted::new(tcp, Arc::clone(&traffic));
        let mut connection = Connection { stream: None, times, traffic, notes, certificate_until: None };
        let Some(name) = &target.tls_name else {
            connection.stream = Some(Stream::Plain(counted));
            return Ok(connection);
        };
        let handshake = TlsConnector::from(target.config(&self.tls)).connect(name.clone(), counted);
        let tls = match timeout_at(deadline, Box::pin(handshake)).await {
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
async fn first_hop(target: &Target, deadline: Instant) -> Result<Vec<SocketAddr>, (ConnectFailure, String)> {
    match timeout_at(deadline, target.first_hop()).await {
        Ok(Ok(addresses)) => Ok(addresses),
        Ok(Err(error)) => Err((name_trouble(&error), error.to_string())),
        Err(_) => Err((ConnectFailure::NameNotResolved, "the resolver did not answer in time".into())),
    }
}

/// Whether all of the addresses may be reached; without a guard any may.
fn guarded(addresses: &[SocketAddr], guard: Option<&[IpNet]>) -> Result<(), (ConnectFailure, String)> {
    let Some(allow) = guard else { return Ok(()) };
    let forbid = |refusal: Refusal| (ConnectFailure::Guarded(refusal), refusal.to_string());
    addresses.iter().try_for_each(|address| allowed(address.ip(), allow).map_err(forbid))
}

/// A connection to the target, through its proxy where it has one, and what is worth a note about it.
async fn reached(
    target: &Target,
    addresses: &[SocketAddr],
    deadline: Instant,
) -> Result<(TcpStream, Vec<String>), (ConnectFailure, String)> {
    let stood = first_that_answers(addresses, deadline).await;
    let Some(proxy) = &target.proxy else { return stood };
    let (tcp, mut notes) = stood.map_err(|(trouble, detail)| match trouble {
        ConnectFailure::OutOfFiles => (trouble, detail),
        _ => (ConnectFailure::ProxyFailed, format!("the proxy {proxy} cannot be reached: {detail}")),
    })?;
    notes.push(format!("through the proxy {proxy}"));
    match timeout_at(deadline, target.tunnel(proxy, tcp)).await {
        Ok(tunnel) => tunnel.map(|tcp| (tcp, notes)),
        Err(_) => Err((ConnectFailure::ProxyFailed, format!("the proxy {proxy} did not answer in time"))),
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Target {
    host: Host<String>,
    port: u16,
    tls_name: Option<ServerName<'static>>,
    anew: bool,
    proxy: Option<Arc<Proxy>>,
    tls: Option<Arc<Tls>>,
}

impl Target {
    /// The origin of an `http` or `https` URL; none for any other.
    pub(crate) fn of(url: &Url) -> Option<Self> {
        let host = url.host()?.to_owned();
        let tls_name = match (url.scheme(), &host) {
            ("http", _) => None,
            ("https", Host::Domain(name)) => Some(ServerName::try_from(name.clone()).ok()?),
            ("https", Host::Ipv4(ip)) => Some(ServerName::from(IpAddr::V4(*ip))),
            ("https", Host::Ipv6(ip)) => Some(ServerName::from(IpAddr::V6(*ip))),
            _ => return None,
        };
        Some(Self { host, port: url.port_or_known_default()?, tls_name, anew: false, proxy: None, tls: None })
    }

    /// The same, through a proxy.
    #[must_use]
    pub(crate) fn through(self, proxy: Proxy) -> Self {
        Self { proxy: Some(Arc::new(proxy)), ..self }
    }

    /// The same, with a TLS configuration of its own.
    #[must_use]
    pub(crate) fn with_tls(self, tls: Arc<Tls>) -> Self {
        Self { tls: Some(tls), ..self }
    }

    /// When the certificate that we show ends, unix seconds.
    pub(crate) fn identity_until(&self) -> Option<i64> {
        self.tls.as_ref()?.identity_until
    }

    fn config(&self, usual: &Arc<Tls>) -> Arc<ClientConfig> {
        let tls = self.tls.as_ref().unwrap_or(usual);
        Arc::clone(if self.anew { &tls.anew } else { &tls.resuming })
    }

    /// Addresses of whom we connect to: the server, or the proxy before it.
    async fn first_hop(&self) -> io::Result<Vec<SocketAddr>> {
        match &self.proxy {
            None => self.addresses().await,
            Some(proxy) => {
                let (host, port) = proxy.place();
                resolved(host, port).await
            }
        }
    }

    async fn tunnel(&self, proxy: &Proxy, tcp: TcpStream) -> Result<TcpStream, (ConnectFailure, String)> {
        let mut host = self.host.to_string();
        if proxy.resolves_here() {
            let found = self.addresses().await.map_err(|error| (name_trouble(&error), error.to_string()))?;
            host = found.first().map_or(host, |address| address.ip().to_string());
        }
        proxy.tunnel(tcp, &host, self.port).await
    }

    /// The same, with a full TLS handshake each time, so that the certificate shows.
    #[must_use]
    pub(crate) fn anew(self) -> Self {
        Self { anew: true, ..self }
    }

    /// `host:port`, as a `Host` header and a label show it; the scheme's own port is left out.
    pub(crate) fn authority(&self) -> String {
        let usual = if self.tls_name.is_some() { 443 } else { 80 };
        if self.port == usual { self.host.to_string() } else { format!("{}:{}", self.host, self.port) }
    }

    /// A literal needs no resolver and so no thread; a name takes the resolver's order, families alternating.
    ///
    /// # Errors
    /// What the resolver says.
    pub(crate) async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        resolved(&self.host, self.port).await
    }
}

async fn resolved(host: &Host<String>, port: u16) -> io::Result<Vec<SocketAddr>> {
    let name = match host {
        Host::Ipv4(ip) => return Ok(vec![SocketAddr::new(IpAddr::V4(*ip), port)]),
        Host::Ipv6(ip) => return Ok(vec![SocketAddr::new(IpAddr::V6(*ip), port)]),
        Host::Domain(name) => name,
    };
    let found: Vec<SocketAddr> = lookup_host((name.as_str(), port)).await?.collect();
    if found.is_empty() {
        return Err(io::Error::other("the name has no address"));
    }
    Ok(alternating(found))
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

/// First v6, v4, v6, … in the resolver's order within each family, so that one dead family costs one attempt.
fn alternating(found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = found.first().is_some_and(SocketAddr::is_ipv6);
    let (leading, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|address| address.is_ipv6() == first_is_v6);
    let mut mixed = Vec::with_capacity(ADDRESSES_MAX);
    let (mut leading, mut others) = (leading.into_iter(), others.into_iter());
    loop {
        let (one, two) = (leading.next(), others.next());
        if one.is_none() && two.is_none() {
            break;
        }
        mixed.extend(one.into_iter().chain(two));
    }
    mixed.truncate(ADDRESSES_MAX);
    mixed
}

/// Tries the addresses in order. Each gets an equal share of the time that is left, so the last one is always reached.
async fn first_that_answers(
    addresses: &[SocketAddr],
    deadline: Instant,
) -> Result<(TcpStream, Vec<String>), (ConnectFailure, String)> {
    let mut notes = Vec::new();
    let mut worst = ConnectFailure::TimedOut;
    for (nth, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(addresses.len() - nth).unwrap_or(1);
        let family = if address.is_ipv6() { "IPv6" } else { "IPv4" };
        let (trouble, said) = match timeout_at(Instant::now() + share, TcpStream::connect(address)).await {
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

/// A resolver needs files too, and says something else where it got none.
fn name_trouble(error: &io::Error) -> ConnectFailure {
    if files::is_out(error) || !files::are_left(1) {
        ConnectFailure::OutOfFiles
    } else {
        ConnectFailure::NameNotResolved
    }
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

#[cfg(test)]
mod tests {
    use super::{Target, alternating};

    #[test]
    fn families_alternate_and_the_resolvers_order_is_kept_within_each() {
        let found = ["[::1]:80", "[::2]:80", "[::3]:80", "127.0.0.1:80"].map(|text| text.parse().unwrap()).to_vec();
        let mixed: Vec<String> = alternating(found).iter().map(ToString::to_string).collect();
        assert_eq!(mixed, ["[::1]:80", "127.0.0.1:80", "[::2]:80", "[::3]:80"]);
    }

    #[test]
    fn an_authority_leaves_the_usual_port_out() {
        let authority = |url: &str| Target::of(&url.parse().unwrap()).map(|target| target.authority());
        assert_eq!(authority("https://a.example:443/mcp").as_deref(), Some("a.example"));
        assert_eq!(authority("http://a.example:8080/mcp").as_deref(), Some("a.example:8080"));
        assert_eq!(authority("http://[::1]:8080/").as_deref(), Some("[::1]:8080"));
        assert_eq!(authority("ftp://a.example/"), None);
    }
}
