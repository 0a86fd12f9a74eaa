//! May this address be connected to? Answers for addresses, after resolution: names are of no interest here.
//!
//! A peer fetches what strangers' pages link to, from inside somebody's network. So what is not plainly the
//! public internet is refused: the special-purpose registries of IANA (RFC 6890 and its updates), addresses that
//! carry an IPv4 address inside them, and the metadata services of clouds.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A refused IPv4 block: network, prefix length, what it is.
type Block4 = (Ipv4Addr, u32, &'static str);
/// A refused IPv6 block: network, prefix length, what it is.
type Block6 = (Ipv6Addr, u32, &'static str);

/// IANA IPv4 special-purpose registry, less what it calls globally reachable.
const REFUSED_V4: &[Block4] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "\"this network\" (RFC 791)"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private (RFC 1918)"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "carrier-grade NAT (RFC 6598)"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    // Azure's platform service; its address looks public but is the host machine.
    (Ipv4Addr::new(168, 63, 129, 16), 32, "cloud metadata"),
    // 169.254.169.254 and its kin are the metadata services of most clouds.
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local or cloud metadata (RFC 3927)"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private (RFC 1918)"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "protocol assignments (RFC 6890)"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation (RFC 5737)"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "6to4 relay (RFC 7526)"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private (RFC 1918)"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarking (RFC 2544)"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation (RFC 5737)"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation (RFC 5737)"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved or broadcast"),
];

/// The only IPv6 block handed out as global unicast (RFC 4291, IANA); everything outside is refused, which takes
/// in the unspecified address, loopback, IPv4-mapped and -compatible addresses and fec0::/10.
const GLOBAL_UNICAST: Block6 = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3, "global unicast");

/// Names for blocks outside global unicast, and what is refused inside it.
const REFUSED_V6: &[Block6] = &[
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, "IPv4-mapped"),
    (Ipv6Addr::UNSPECIFIED, 96, "IPv4-compatible"),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, "IPv4 behind NAT64 (RFC 6052)"),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "IPv4 behind local NAT64 (RFC 8215)"),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "discard-only (RFC 6666)"),
    // Teredo (2001::/32), ORCHID, benchmarking: all of the protocol assignments.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "Teredo or protocol assignments (RFC 2928)"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "documentation (RFC 3849)"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "IPv4 in 6to4 (RFC 3056)"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "documentation (RFC 9637)"),
    (Ipv6Addr::new(0x5f00, 0, 0, 0, 0, 0, 0, 0), 16, "segment routing (RFC 9602)"),
    // fd00:ec2::254 and its kin are metadata services of clouds.
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "unique local or cloud metadata (RFC 4193)"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "site-local (RFC 3879)"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
];

/// Whether `addr` is a public unicast address, which a crawler may connect to.
pub fn public(addr: IpAddr) -> bool {
    refusal(addr).is_none()
}

/// Why `addr` may not be connected to, in a few words; none if it may.
pub fn refusal(addr: IpAddr) -> Option<&'static str> {
    match addr {
        IpAddr::V4(v4) => REFUSED_V4
            .iter()
            .find(|(net, bits, _)| {
                within(u128::from(v4.to_bits()) << 96, u128::from(net.to_bits()) << 96, *bits)
            })
            .map(|(_, _, what)| *what),
        IpAddr::V6(v6) => {
            let bits = v6.to_bits();
            let named = REFUSED_V6.iter().find(|(net, len, _)| within(bits, net.to_bits(), *len));
            match named {
                Some((_, _, what)) => Some(what),
                None if within(bits, GLOBAL_UNICAST.0.to_bits(), GLOBAL_UNICAST.1) => None,
                None => Some("not global unicast (RFC 4291)"),
            }
        }
    }
}

/// Whether the first `len` bits (1 to 128) of both are the same.
fn within(addr: u128, net: u128, len: u32) -> bool {
    (addr ^ net) >> (128 - len) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn public_addresses_are_allowed_up_to_the_edges_of_refused_blocks() {
        for text in [
            "1.0.0.0",
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "198.51.101.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2001:db7:ffff::1",
            "2001:db9::1",
            "2003::1",
            "2606:4700::1111",
            "2a00:1450::1",
            "3ffe:ffff::1",
        ] {
            assert_eq!(refusal(ip(text)), None, "{text}");
        }
    }

    #[test]
    fn special_addresses_are_refused_from_the_first_to_the_last_of_their_block() {
        for text in [
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.0",
            "127.0.0.1",
            "127.255.255.255",
            "168.63.129.16",
            "169.254.0.0",
            "169.254.169.254",
            "169.254.255.255",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.0",
            "192.0.0.192",
            "192.0.0.255",
            "192.0.2.0",
            "192.0.2.255",
            "192.88.99.1",
            "192.168.0.0",
            "192.168.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "198.51.100.0",
            "198.51.100.255",
            "203.0.113.0",
            "203.0.113.255",
            "224.0.0.0",
            "239.255.255.255",
            "240.0.0.0",
            "255.255.255.254",
            "255.255.255.255",
            "::",
            "::1",
            "::2",
            "::7f00:1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::ffff:0:7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b::808:808",
            "64:ff9b:1::1",
            "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
            "100::",
            "100::ffff:ffff:ffff:ffff",
            "2001::",
            "2001:0:7f00:1::1",
            "2001:0:808:808::f7f7:f7f7",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:1ff:ffff::1",
            "2001:db8::",
            "2001:db8:ffff::1",
            "2002::",
            "2002:7f00:1::1",
            "2002:808:808::1",
            "2002:ffff::1",
            "3fff::",
            "3fff:fff::1",
            "5f00::1",
            "4000::1",
            "1fff::1",
            "fc00::",
            "fd00:ec2::254",
            "fd20:ce::254",
            "fdff:ffff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "feff::1",
            "ff00::",
            "ff02::1",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ] {
            assert!(!public(ip(text)), "{text}");
        }
    }

    #[test]
    fn a_refusal_says_what_the_address_is() {
        assert_eq!(refusal(ip("127.0.0.1")), Some("loopback"));
        assert_eq!(refusal(ip("::ffff:8.8.8.8")), Some("IPv4-mapped"));
        assert_eq!(refusal(ip("::1")), Some("loopback"));
        assert_eq!(refusal(ip("8000::1")), Some("not global unicast (RFC 4291)"));
    }

    proptest! {
        #[test]
        fn what_std_calls_local_is_never_public(bits: u32) {
            let v4 = Ipv4Addr::from_bits(bits);
            if v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_multicast()
                || v4.is_broadcast() || v4.is_documentation() || v4.is_unspecified()
            {
                prop_assert!(!public(IpAddr::V4(v4)));
            }
        }

        #[test]
        fn ipv4_inside_ipv6_is_never_public(bits: u32) {
            let v4 = Ipv4Addr::from_bits(bits);
            prop_assert!(!public(IpAddr::V6(v4.to_ipv6_mapped())));
            prop_assert!(!public(IpAddr::V6(v4.to_ipv6_compatible())));
            let nat64 = Ipv6Addr::from_bits((0x64_ff9b_u128 << 96) | u128::from(bits));
            let six_to_four = Ipv6Addr::from_bits((0x2002_u128 << 112) | (u128::from(bits) << 80));
            prop_assert!(!public(IpAddr::V6(nat64)));
            prop_assert!(!public(IpAddr::V6(six_to_four)));
        }
    }
}
