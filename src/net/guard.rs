//! Which addresses may be reached when the address came from outside the declared monitors.
//!
//! The check is on the *resolved* address, not on the name: a public name may point anywhere.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// Lets an address pass unless it lies in a network that is not the public internet.
///
/// `allow` opens such networks again; an IPv4 network in it also opens the mapped form `::ffff:a.b.c.d`.
///
/// # Errors
/// The [`Refusal`], with the kind of network the address lies in.
pub fn allowed(ip: IpAddr, allow: &[IpNet]) -> Result<(), Refusal> {
    let plain = ip.to_canonical();
    if allow.iter().any(|network| network.contains(&ip) || network.contains(&plain)) {
        return Ok(());
    }
    let why = match plain {
        IpAddr::V4(v4) => closed_v4(v4),
        IpAddr::V6(v6) => closed_v6(v6),
    };
    match why {
        Some(why) => Err(Refusal { ip, why }),
        None => Ok(()),
    }
}

/// An address that is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The address.
    pub ip: IpAddr,
    /// What it is, such as `loopback`.
    pub why: &'static str,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is a {} address; `allow_private` can open its network", self.ip, self.why)
    }
}

impl std::error::Error for Refusal {}

/// IANA's special-purpose registry for IPv4 (RFC 6890 and its successors), as (network, bits, what it is).
const CLOSED_V4: &[([u8; 4], u32, &str)] = &[
    ([0, 0, 0, 0], 8, "unspecified"),
    ([10, 0, 0, 0], 8, "private"),
    ([100, 64, 0, 0], 10, "carrier-grade NAT"),
    ([127, 0, 0, 0], 8, "loopback"),
    ([169, 254, 0, 0], 16, "link-local"),
    ([172, 16, 0, 0], 12, "private"),
    ([192, 0, 0, 0], 24, "protocol-assignment"),
    ([192, 0, 2, 0], 24, "documentation"),
    ([192, 88, 99, 0], 24, "6to4 relay"),
    ([192, 168, 0, 0], 16, "private"),
    ([198, 18, 0, 0], 15, "benchmarking"),
    ([198, 51, 100, 0], 24, "documentation"),
    ([203, 0, 113, 0], 24, "documentation"),
    ([224, 0, 0, 0], 4, "multicast"),
    ([240, 0, 0, 0], 4, "reserved"),
];

/// The same for IPv6. Networks that carry an IPv4 address inside are closed whole: their translator decides where
/// the packet ends.
const CLOSED_V6: &[([u16; 8], u32, &str)] = &[
    ([0, 0, 0, 0, 0, 0, 0, 0], 128, "unspecified"),
    ([0, 0, 0, 0, 0, 0, 0, 1], 128, "loopback"),
    ([0, 0, 0, 0, 0, 0, 0, 0], 96, "IPv4-compatible"),
    ([0, 0, 0, 0, 0xffff, 0, 0, 0], 96, "IPv4-translated"),
    ([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, "NAT64"),
    ([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, "local NAT64"),
    ([0x100, 0, 0, 0, 0, 0, 0, 0], 64, "discard"),
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "protocol-assignment"),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, "documentation"),
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "6to4"),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "documentation"),
    ([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16, "segment-routing"),
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, "unique-local"),
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, "link-local"),
    ([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, "site-local"),
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, "multicast"),
];

fn closed_v4(ip: Ipv4Addr) -> Option<&'static str> {
    let inside = |network: [u8; 4], bits: u32| (ip.to_bits() ^ u32::from_be_bytes(network)) >> (32 - bits) == 0;
    CLOSED_V4.iter().find(|(network, bits, _)| inside(*network, *bits)).map(|(_, _, why)| *why)
}

fn closed_v6(ip: Ipv6Addr) -> Option<&'static str> {
    let inside = |network: [u16; 8], bits: u32| (ip.to_bits() ^ Ipv6Addr::from(network).to_bits()) >> (128 - bits) == 0;
    CLOSED_V6.iter().find(|(network, bits, _)| inside(*network, *bits)).map(|(_, _, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::allowed;

    fn check(sentence: &str, ip: &str, allow: &[&str], expected: Option<&str>) {
        let allow: Vec<_> = allow.iter().map(|network| network.parse().unwrap()).collect();
        let seen = allowed(ip.parse().unwrap(), &allow).err().map(|refusal| refusal.why);
        assert_eq!(seen, expected, "{sentence}: {ip}");
    }

    #[test]
    fn only_the_public_internet_is_reached_unless_a_network_is_opened() {
        check("a public address passes", "93.184.216.34", &[], None);
        check("a public v6 address passes", "2606:4700::1111", &[], None);
        check("the machine itself is closed", "127.0.0.1", &[], Some("loopback"));
        check("all of 127/8 is the machine itself", "127.9.9.9", &[], Some("loopback"));
        check("a private network is closed", "10.20.3.4", &[], Some("private"));
        check("the end of 172.16/12 is still private", "172.31.255.255", &[], Some("private"));
        check("just behind 172.16/12 is public", "172.32.0.0", &[], None);
        check("192.168 is private", "192.168.1.1", &[], Some("private"));
        check("the cloud's metadata address is link-local", "169.254.169.254", &[], Some("link-local"));
        check("carrier-grade NAT is closed", "100.64.0.1", &[], Some("carrier-grade NAT"));
        check("0.0.0.0 reaches the machine itself", "0.0.0.0", &[], Some("unspecified"));
        check("multicast is no receiver", "224.0.0.1", &[], Some("multicast"));
        check("broadcast is no receiver", "255.255.255.255", &[], Some("reserved"));
        check("documentation addresses belong to nobody", "203.0.113.9", &[], Some("documentation"));
        check("v6 loopback is closed", "::1", &[], Some("loopback"));
        check("v6 unspecified is closed", "::", &[], Some("unspecified"));
        check("a mapped loopback is the loopback", "::ffff:127.0.0.1", &[], Some("loopback"));
        check("a mapped private address is private", "::ffff:10.0.0.1", &[], Some("private"));
        check("a mapped public address is public", "::ffff:93.184.216.34", &[], None);
        check("the old compatible form is closed", "::7f00:1", &[], Some("IPv4-compatible"));
        check("NAT64 could lead into the private network", "64:ff9b::a00:1", &[], Some("NAT64"));
        check("6to4 carries an address inside", "2002:a00:1::1", &[], Some("6to4"));
        check("unique-local is v6's private", "fd00::1", &[], Some("unique-local"));
        check("v6 link-local is closed", "fe80::1", &[], Some("link-local"));
        check("v6 multicast is closed", "ff02::1", &[], Some("multicast"));
        check("an opened network passes", "10.20.3.4", &["10.20.0.0/16"], None);
        check("its neighbour does not", "10.21.3.4", &["10.20.0.0/16"], Some("private"));
        check("opening v4 opens the mapped form", "::ffff:10.20.3.4", &["10.20.0.0/16"], None);
        check("opening v4 does not open NAT64", "64:ff9b::a14:304", &["10.20.0.0/16"], Some("NAT64"));
    }
}
