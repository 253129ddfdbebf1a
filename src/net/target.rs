//! Where a connection leads: the origin, the addresses of its name, and the way there as the file declares it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ipnet::IpNet;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use url::{Host, Url};

use crate::net::connect_failure::ConnectFailure;
use crate::net::files;
use crate::net::proxy::Proxy;
use serin_outbound::guard::{Refusal, allowed};
use serin_outbound::tls::Tls;

/// Addresses tried of one name: enough for both families of a small pool, and each failing one costs a share of the limit.
const ADDRESSES_MAX: usize = 6;

/// What to do where a listed address in private space is meant.
const GUARD_MEND: &str = "list its network under `allow_private` of the source if it is meant";

/// Where a connection leads, and by what way. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    place: Arc<Place>,
    anew: bool,
    proxy: Option<Arc<Proxy>>,
    tls: Option<Arc<Tls>>,
    guard: Option<Arc<[IpNet]>>,
}

#[derive(Debug)]
struct Place {
    host: Host<String>,
    port: u16,
    tls_name: Option<ServerName<'static>>,
    authority: String,
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
        let port = url.port_or_known_default()?;
        let usual = if tls_name.is_some() { 443 } else { 80 };
        let authority = if port == usual { host.to_string() } else { format!("{host}:{port}") };
        let place = Arc::new(Place { host, port, tls_name, authority });
        Some(Self { place, anew: false, proxy: None, tls: None, guard: None })
    }

    /// The same, through a proxy.
    #[must_use]
    pub(crate) fn through(self, proxy: Proxy) -> Self {
        Self { proxy: Some(Arc::new(proxy)), ..self }
    }

    /// The same, reached at a public address only, or in these networks: nobody wrote it down.
    #[must_use]
    pub(crate) fn guarded(self, allow: Vec<IpNet>) -> Self {
        Self { guard: Some(allow.into()), ..self }
    }

    /// The networks in private space that it may be in; none: it may be anywhere.
    pub(super) fn guard(&self) -> Option<Guard<'_>> {
        self.guard.as_deref().map(|allow| Guard { allow, mend: GUARD_MEND })
    }

    /// The same, with a TLS configuration of its own.
    #[must_use]
    pub(crate) fn with_tls(self, tls: Arc<Tls>) -> Self {
        Self { tls: Some(tls), ..self }
    }

    /// The name that its certificate is for; none where TLS is not spoken.
    pub(super) fn tls_name(&self) -> Option<&ServerName<'static>> {
        self.place.tls_name.as_ref()
    }

    pub(super) fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_deref()
    }

    /// When the certificate that we show ends, unix seconds.
    pub(crate) fn identity_until(&self) -> Option<i64> {
        self.tls.as_ref()?.identity_until
    }

    /// The TLS configuration in place of the usual one, where the file declares one.
    pub(super) fn config(&self, usual: &Arc<Tls>) -> Arc<ClientConfig> {
        let tls = self.tls.as_ref().unwrap_or(usual);
        Arc::clone(if self.anew { &tls.anew } else { &tls.resuming })
    }

    /// Addresses of whom we connect to: the server, or the proxy before it.
    pub(super) async fn first_hop(&self) -> io::Result<Vec<SocketAddr>> {
        match &self.proxy {
            None => self.addresses().await,
            Some(proxy) => {
                let (host, port) = proxy.place();
                resolved(host, port).await
            }
        }
    }

    /// Through the proxy, which was reached by `tcp`. A name that the proxy resolves is the proxy's to judge.
    pub(super) async fn tunnel(
        &self,
        proxy: &Proxy,
        tcp: TcpStream,
        guard: Option<Guard<'_>>,
    ) -> Result<TcpStream, (ConnectFailure, String)> {
        let mut host = self.place.host.to_string();
        if proxy.resolves_here() || !matches!(self.place.host, Host::Domain(_)) {
            let found = self.addresses().await.map_err(|error| (name_trouble(&error), error.to_string()))?;
            guarded(&found, guard)?;
            if proxy.resolves_here() {
                host = found.first().map_or(host, |address| address.ip().to_string());
            }
        }
        proxy.tunnel(tcp, &host, self.place.port).await
    }

    /// The same, with a full TLS handshake each time, so that the certificate shows.
    #[must_use]
    pub(crate) fn anew(self) -> Self {
        Self { anew: true, ..self }
    }

    /// `host:port`, as a `Host` header and a label show it; the scheme's own port is left out.
    pub(crate) fn authority(&self) -> &str {
        &self.place.authority
    }

    /// A literal needs no resolver and so no thread; a name takes the resolver's order, families alternating.
    ///
    /// # Errors
    /// What the resolver says.
    pub(crate) async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        resolved(&self.place.host, self.place.port).await
    }
}

/// Whether an address that somebody lists may be connected to, where it is written out: these networks in private space alone.
/// What a name leads to is known when it is connected to, and judged then.
///
/// # Errors
/// Why not, and the mend.
pub(crate) fn may_be_reached(url: &Url, allow: &[IpNet]) -> Result<(), String> {
    let ip = match url.host() {
        Some(Host::Ipv4(ip)) => IpAddr::V4(ip),
        Some(Host::Ipv6(ip)) => IpAddr::V6(ip),
        _ => return Ok(()),
    };
    allowed(ip, allow).map_err(|Refusal { ip, why }| format!("{ip} is a {why} address: {GUARD_MEND}"))
}

/// Which addresses may be reached that nobody wrote down.
#[derive(Debug, Clone, Copy)]
pub(super) struct Guard<'a> {
    /// Networks in private space.
    pub allow: &'a [IpNet],
    /// What to do where it is meant.
    pub mend: &'static str,
}

/// Whether all of the addresses may be reached; without a guard any may.
pub(super) fn guarded(addresses: &[SocketAddr], guard: Option<Guard<'_>>) -> Result<(), (ConnectFailure, String)> {
    let Some(Guard { allow, mend }) = guard else { return Ok(()) };
    let forbid = |refusal: Refusal| {
        (ConnectFailure::Guarded(refusal), format!("{} is a {} address: {mend}", refusal.ip, refusal.why))
    };
    addresses.iter().try_for_each(|address| allowed(address.ip(), allow).map_err(forbid))
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

/// A resolver needs files too, and says something else where it got none.
pub(super) fn name_trouble(error: &io::Error) -> ConnectFailure {
    if files::is_out(error) || !files::are_left(1) {
        ConnectFailure::OutOfFiles
    } else {
        ConnectFailure::NameNotResolved
    }
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
        let authority = |url: &str| Target::of(&url.parse().unwrap()).map(|target| target.authority().to_owned());
        assert_eq!(authority("https://a.example:443/mcp").as_deref(), Some("a.example"));
        assert_eq!(authority("http://a.example:8080/mcp").as_deref(), Some("a.example:8080"));
        assert_eq!(authority("http://[::1]:8080/").as_deref(), Some("[::1]:8080"));
        assert_eq!(authority("ftp://a.example/"), None);
    }
}
