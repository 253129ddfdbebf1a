//! Which addresses may be talked to when the address came from outside.
//!
//! A name is judged by what it *resolves to*, never by how it is written, and an IPv6 address that
//! only wraps an IPv4 one (mapped, compatible, NAT64, 6to4) is judged by what it wraps. Everything
//! that is not plainly public is refused unless the file allows its network.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use ipnet::IpNet;

/// Whether an address may be talked to: a public one, or one inside an allowed network.
///
/// # Errors
/// [`Refusal`] with the address and the kind of network it lies in.
pub fn allowed(ip: IpAddr, allow: &[IpNet]) -> Result<(), Refusal> {
    let inner = unwrapped(ip);
    if allow.iter().any(|net| net.contains(&ip) || net.contains(&inner)) {
        return Ok(());
    }
    match RESERVED.iter().find(|(net, _)| net.contains(&inner)) {
        Some((_, why)) => Err(Refusal { ip, why }),
        None => Ok(()),
    }
}

/// An address that is not talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub struct Refusal {
    /// The address, as it was resolved or written.
    pub ip: IpAddr,
    /// What kind of network it lies in, such as `loopback`.
    pub why: &'static str,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is a {} address; list its network under serin.allow_private if it is meant", self.ip, self.why)
    }
}

/// The IPv4 address inside an IPv6 one, where there is one; else the address itself.
fn unwrapped(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = ip else { return ip };
    let octets = six.octets();
    let four = |at: usize| IpAddr::V4(Ipv4Addr::new(octets[at], octets[at + 1], octets[at + 2], octets[at + 3]));
    match six.segments() {
        // ::ffff:a.b.c.d, mapped, and ::ffff:0:a.b.c.d, translated.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => four(12),
        // ::a.b.c.d, compatible; :: and ::1 are themselves.
        [0, 0, 0, 0, 0, 0, ..] if six != Ipv6Addr::UNSPECIFIED && six != Ipv6Addr::LOCALHOST => four(12),
        // 64:ff9b::a.b.c.d, NAT64.
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => four(12),
        // 2002:aabb:ccdd::, 6to4.
        [0x2002, ..] => four(2),
        _ => ip,
    }
}

/// Networks of the special-purpose registries that nothing public lives in.
static RESERVED: LazyLock<Vec<(IpNet, &'static str)>> =
    LazyLock::new(|| RESERVED_TEXT.iter().filter_map(|(net, kind)| Some((net.parse().ok()?, *kind))).collect());

/// IANA's special-purpose address registries, as of November 2026.
const RESERVED_TEXT: &[(&str, &str)] = &[
    ("0.0.0.0/8", "this-network"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "carrier-grade"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "protocol-assignment"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "6to4-relay"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("64:ff9b:1::/48", "local-NAT64"),
    ("100::/64", "discard"),
    ("2001::/23", "protocol-assignment"),
    ("2001:db8::/32", "documentation"),
    ("3fff::/20", "documentation"),
    ("5f00::/16", "segment-routing"),
    ("fc00::/7", "unique-local"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ip: &str, allow: &[&str], kind: Option<&str>, sentence: &str) {
        let allow: Vec<IpNet> = allow.iter().map(|net| net.parse().unwrap()).collect();
        let found = allowed(ip.parse().unwrap(), &allow).err().map(|refusal| refusal.why);
        assert_eq!(found, kind, "{ip}: {sentence}");
    }

    #[test]
    fn every_line_of_the_list_is_a_network() {
        assert_eq!(RESERVED.len(), RESERVED_TEXT.len());
    }

    #[test]
    fn only_public_and_allowed_addresses_pass() {
        let none: &[&str] = &[];
        check("93.184.215.14", none, None, "a public address passes");
        check("2606:2800:21f:cb07:6820:80da:af6b:8b2c", none, None, "a public v6 address passes");
        check("127.0.0.1", none, Some("loopback"), "loopback is refused");
        check("127.255.3.4", none, Some("loopback"), "all of loopback is refused");
        check("::1", none, Some("loopback"), "v6 loopback is refused");
        check("0.0.0.0", none, Some("this-network"), "0.0.0.0 reaches loopback on many systems");
        check("::", none, Some("unspecified"), "so does ::");
        check("10.20.1.7", none, Some("private"), "private is refused");
        check("172.31.255.255", none, Some("private"), "the last private address of 172.16/12");
        check("172.32.0.1", none, None, "the first public one behind it");
        check("192.168.1.1", none, Some("private"), "private is refused");
        check("169.254.169.254", none, Some("link-local"), "cloud metadata is refused");
        check("100.64.0.1", none, Some("carrier-grade"), "carrier-grade NAT is refused");
        check("100.128.0.1", none, None, "the first public one behind it");
        check("198.19.0.1", none, Some("benchmarking"), "benchmarking is refused");
        check("255.255.255.255", none, Some("reserved"), "broadcast is refused");
        check("224.0.0.251", none, Some("multicast"), "multicast is refused");
        check("fe80::1", none, Some("link-local"), "v6 link-local is refused");
        check("fd12:3456::1", none, Some("unique-local"), "unique-local is refused");
        check("ff02::1", none, Some("multicast"), "v6 multicast is refused");
        check("2001:db8::1", none, Some("documentation"), "documentation is refused");
    }

    #[test]
    fn a_wrapped_address_is_judged_by_what_it_wraps() {
        let none: &[&str] = &[];
        check("::ffff:127.0.0.1", none, Some("loopback"), "mapped loopback");
        check("::ffff:93.184.215.14", none, None, "mapped public");
        check("::ffff:0:10.0.0.1", none, Some("private"), "translated private");
        check("::127.0.0.1", none, Some("loopback"), "compatible loopback");
        check("64:ff9b::a9fe:a9fe", none, Some("link-local"), "NAT64 of cloud metadata");
        check("64:ff9b::5db8:d70e", none, None, "NAT64 of a public address");
        check("64:ff9b:1::1", none, Some("local-NAT64"), "a local NAT64 prefix may mean anything");
        check("2002:7f00:1::", none, Some("loopback"), "6to4 of loopback");
        check("2002:5db8:d70e::1", none, None, "6to4 of a public address");
        check("2001:0:4136:e378:8000:63bf:3fff:fdd2", none, Some("protocol-assignment"), "Teredo is refused");
    }

    #[test]
    fn the_file_may_allow_a_network() {
        let office = ["10.20.0.0/16", "fd00::/8"];
        check("10.20.3.4", &office, None, "inside the allowed network");
        check("10.21.3.4", &office, Some("private"), "its neighbour is still refused");
        check("::ffff:10.20.3.4", &office, None, "the wrapped form of an allowed address");
        check("fd00::7", &office, None, "an allowed v6 network");
        check("127.0.0.1", &office, Some("loopback"), "allowing one network allows no other");
    }
}
