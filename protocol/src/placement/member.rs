//! What placement knows of a peer.

use crate::member::{Address, MAX_TOKENS, MIN_TOKENS, MemberRecord};
use crate::peer::PeerKey;
use std::net::{IpAddr, Ipv6Addr};

/// A peer as placement sees it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Member {
    pub(super) peer: PeerKey,
    pub(super) tokens: u16,
    pub(super) dialable: bool,
    /// Ascending, each once.
    pub(super) networks: Box<[Network]>,
}

impl Member {
    /// A peer with this share of the work (kept within [`MIN_TOKENS`] and [`MAX_TOKENS`]) at these addresses.
    pub fn new(
        peer: PeerKey,
        tokens: u16,
        dialable: bool,
        addresses: impl IntoIterator<Item = IpAddr>,
    ) -> Member {
        let mut networks: Vec<Network> = addresses.into_iter().filter_map(Network::of).collect();
        networks.sort_unstable();
        networks.dedup();
        let tokens = tokens.clamp(MIN_TOKENS, MAX_TOKENS);
        Member { peer, tokens, dialable, networks: networks.into() }
    }

    /// Who it is.
    pub fn peer(&self) -> PeerKey {
        self.peer
    }

    /// Its share of the work.
    pub fn tokens(&self) -> u16 {
        self.tokens
    }

    /// Whether strangers can connect to it.
    pub fn dialable(&self) -> bool {
        self.dialable
    }

    /// A number for the first public network that it names; none on a private one.
    pub fn network(&self) -> Option<u64> {
        self.networks.first().map(|network| match *network {
            Network::V4([a, b, c]) => u64::from_be_bytes([4, 0, 0, 0, 0, a, b, c]),
            Network::V6([a, b, c, d, e, f]) => u64::from_be_bytes([6, 0, a, b, c, d, e, f]),
        })
    }

    /// Whether it names an address of a public network that the other names too.
    pub(super) fn near(&self, other: &Member) -> bool {
        self.networks.iter().any(|network| other.networks.contains(network))
    }
}

impl From<&MemberRecord> for Member {
    /// A peer as it describes itself.
    fn from(record: &MemberRecord) -> Member {
        let direct = |address: &Address| match address {
            Address::Direct { ip, .. } => Some(*ip),
            Address::Relayed { .. } => None,
        };
        let addresses = record.addresses.iter().filter_map(direct);
        Member::new(record.peer, record.tokens, record.dialable, addresses)
    }
}

/// A public network whose peers may well be one person's, or fail together: /24 of IPv4, /48 of IPv6.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Network {
    V4([u8; 3]),
    V6([u8; 6]),
}

impl Network {
    /// The network of a public address; none for one within somebody's own network, where nothing tells peers apart.
    pub(super) fn of(ip: IpAddr) -> Option<Network> {
        match ip {
            IpAddr::V4(v4) => {
                let [a, b, c, _] = v4.octets();
                let shared = a == 100 && b & 0xc0 == 64; // Carrier-grade NAT, RFC 6598.
                let own = v4.is_private() || v4.is_loopback() || v4.is_link_local() || shared;
                let none = a == 0 || a >= 224 || v4.is_documentation();
                (!own && !none).then_some(Network::V4([a, b, c]))
            }
            IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                Some(v4) => Network::of(IpAddr::V4(v4)),
                None => global(v6).then(|| {
                    let [a, b, c, d, e, f, ..] = v6.octets();
                    Network::V6([a, b, c, d, e, f])
                }),
            },
        }
    }
}

/// Global unicast (RFC 4291) that is not for documentation (RFC 3849).
fn global(v6: Ipv6Addr) -> bool {
    let segments = v6.segments();
    segments[0] & 0xe000 == 0x2000 && segments[..2] != [0x2001, 0xdb8]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(ip: &str) -> Option<Network> {
        Network::of(ip.parse().unwrap())
    }

    #[test]
    fn public_addresses_have_a_network_and_own_ones_none() {
        assert_eq!(network("93.184.216.34"), Some(Network::V4([93, 184, 216])));
        assert_eq!(network("::ffff:93.184.216.34"), network("93.184.216.1"));
        assert_ne!(network("93.184.216.34"), network("93.184.217.34"));
        assert_eq!(network("2606:2800:220:1::1"), network("2606:2800:220:ffff::9"));
        assert_ne!(network("2606:2800:220:1::1"), network("2606:2800:221:1::1"));
        assert_eq!(network("100.63.0.1"), Some(Network::V4([100, 63, 0])));
        for own in
            ["10.1.2.3", "127.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.1.1", "100.64.0.1", "100.127.9.9"]
        {
            assert_eq!(network(own), None, "{own}");
        }
        for none in ["0.1.2.3", "224.0.0.1", "255.255.255.255", "::1", "fe80::1", "fd00::1", "2001:db8::1"] {
            assert_eq!(network(none), None, "{none}");
        }
    }

    #[test]
    fn members_are_near_if_any_of_their_networks_is_one() {
        let at = |n: u8, ips: &[&str]| {
            Member::new(PeerKey([n; 32]), 64, true, ips.iter().map(|ip| ip.parse().unwrap()))
        };
        let a = at(1, &["93.184.216.1", "2606:2800:220::1"]);
        assert!(a.near(&at(2, &["198.41.0.4", "2606:2800:220:7::1"])));
        assert!(!a.near(&at(3, &["198.41.0.4"])));
        assert!(!at(4, &["10.0.0.1"]).near(&at(5, &["10.0.0.1"])));
    }
}
