//! An address of the web as politeness counts it.

use crate::key::Slot;
use crate::placement::Key;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv6Addr};

/// An IPv4 address, or the /64 of an IPv6 one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum AddressKey {
    /// The address.
    V4([u8; 4]),
    /// Its first half.
    V6([u8; 8]),
}

impl AddressKey {
    /// The key of an address; an IPv4 address written as IPv6 is what it is.
    pub fn of(address: IpAddr) -> AddressKey {
        match address {
            IpAddr::V4(v4) => AddressKey::V4(v4.octets()),
            IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                Some(v4) => AddressKey::V4(v4.octets()),
                None => {
                    let [a, b, c, d, e, f, g, h, ..] = v6.octets();
                    AddressKey::V6([a, b, c, d, e, f, g, h])
                }
            },
        }
    }

    /// The slot whose holder is its steward.
    pub fn slot(self) -> Slot {
        let address = match self {
            AddressKey::V4(octets) => IpAddr::from(octets),
            AddressKey::V6(half) => {
                IpAddr::V6(Ipv6Addr::from_bits(u128::from(u64::from_be_bytes(half)) << 64))
            }
        };
        Key::of_address(address).slot()
    }
}

/// A network: an address and how many of its first bits count.
pub type Network = (IpAddr, u8);

/// Whether an address is of a network.
pub fn is_within(address: IpAddr, (network, bits): Network) -> bool {
    match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(n)) => {
            (a.to_bits() ^ n.to_bits()).checked_shr(32_u32.saturating_sub(bits.into())).unwrap_or(0) == 0
        }
        (IpAddr::V6(a), IpAddr::V6(n)) => {
            (a.to_bits() ^ n.to_bits()).checked_shr(128_u32.saturating_sub(bits.into())).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn addresses_that_politeness_counts_as_one_have_one_key_and_slot() {
        let key = |text| AddressKey::of(ip(text));
        assert_eq!(key("93.184.216.34"), key("::ffff:93.184.216.34"));
        assert_eq!(key("2606:2800:220:1::1"), key("2606:2800:220:1:ffff::9"));
        assert_ne!(key("2606:2800:220:1::1"), key("2606:2800:220:2::1"));
        for text in ["93.184.216.34", "2606:2800:220:1::1"] {
            assert_eq!(key(text).slot(), Key::of_address(ip(text)).slot());
        }
    }

    #[test]
    fn networks_are_told_by_their_bits() {
        assert!(
            is_within(ip("10.1.2.3"), (ip("10.1.0.0"), 16))
                && !is_within(ip("10.2.2.3"), (ip("10.1.0.0"), 16))
        );
        assert!(is_within(ip("10.1.2.3"), (ip("0.0.0.0"), 0)) && !is_within(ip("::1"), (ip("0.0.0.0"), 0)));
        assert!(
            is_within(ip("2606::1"), (ip("2606::"), 32)) && !is_within(ip("2607::1"), (ip("2606::"), 32))
        );
    }
}
