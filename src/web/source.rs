//! Whom a request is from: the peer, or whom a proxy says that it speaks for, where the file trusts that proxy.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::HeaderMap;
use ipnet::IpNet;

/// Who is counted together: an IPv4 address, or the network of an IPv6 one, of which one machine has as many addresses
/// as it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::web) struct Peer(IpAddr);

impl Peer {
    pub(in crate::web) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = address.to_bits() >> 64 << 64;
                Self(IpAddr::V6(Ipv6Addr::from_bits(network)))
            }
            address @ IpAddr::V4(_) => Self(address),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The address that a request is from, for whoever asks later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::web) struct PeerAddress(pub(in crate::web) IpAddr);

/// Whether an address lies in one of these networks.
pub(in crate::web) fn is_among(networks: &[IpNet], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(&address.to_canonical()))
}

/// The address that a request is from.
///
/// Each proxy writes whom it was asked by behind what it was sent in `X-Forwarded-For`, so that the list is read from
/// its end and only as long as trusted proxies wrote it. What comes before that anybody may have made up.
pub(in crate::web) fn of(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let lines = headers.get_all("x-forwarded-for").iter().rev();
    let hops = lines.flat_map(|line| line.to_str().unwrap_or_default().rsplit(',')).map(hop);
    let mut source = peer;
    for hop in hops {
        match hop {
            Some(address) if is_among(trusted, source) => source = address,
            _ => break,
        }
    }
    source
}

/// One entry; some proxies add a port.
fn hop(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse().ok().map(|address: SocketAddr| address.ip()))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_request_is_from_the_last_who_is_no_trusted_proxy() {
        let rows: [(&str, &[&str], &str, &str); 12] = [
            ("10.0.0.1", &[], "10.0.0.1", "nobody is named"),
            ("192.0.2.1", &["192.0.2.7"], "192.0.2.1", "a peer that is not trusted has no say"),
            ("10.0.0.1", &["192.0.2.7"], "192.0.2.7", "a trusted one has"),
            ("::ffff:10.0.0.1", &["192.0.2.7"], "192.0.2.7", "also in the other family"),
            ("10.0.0.1", &["192.0.2.7, 10.0.0.2,10.0.0.3"], "192.0.2.7", "trusted ones among each other"),
            ("10.0.0.1", &["192.0.2.7", "10.0.0.2"], "192.0.2.7", "two lines are one list"),
            ("10.0.0.1", &["10.0.0.9, 192.0.2.8, 192.0.2.7"], "192.0.2.7", "what it was told counts no more"),
            ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3", "all of them are trusted"),
            ("10.0.0.1", &["192.0.2.7, unknown"], "10.0.0.1", "one that cannot be read ends it"),
            ("10.0.0.1", &["192.0.2.7, , 10.0.0.2"], "10.0.0.2", "an empty one too"),
            ("10.0.0.1", &["192.0.2.7:4711"], "192.0.2.7", "with a port"),
            ("10.0.0.1", &["[2001:db8::7]:4711, [fd00::1]"], "2001:db8::7", "in brackets"),
        ];
        let trusted = ["10.0.0.0/8", "fd00::/8"].map(|network| network.parse().unwrap());
        for (peer, lines, expected, sentence) in rows {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("x-forwarded-for", HeaderValue::from_static(line));
            }
            assert_eq!(of(peer.parse().unwrap(), &headers, &trusted).to_string(), expected, "{sentence}");
        }
    }
}
