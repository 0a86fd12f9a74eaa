//! Values of settings that are more than a number or a text.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use thiserror::Error;

/// Longest host name (RFC 1035 section 2.3.4).
const MAX_HOST: usize = 253;

/// A value that could not be read.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ValueError {
    /// Not an address or a network.
    #[error("`{0}` is no address and no network: write an IP address, or IP/BITS as in 203.0.113.0/24")]
    Network(String),
}

/// A range of addresses, or one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    /// Any address of it.
    pub address: IpAddr,
    /// How many leading bits all its addresses share.
    pub bits: u8,
}

impl Network {
    /// Whether the address lies in it. IPv4 and IPv6 are apart.
    pub fn contains(&self, address: IpAddr) -> bool {
        let bits = u32::from(self.bits);
        match (self.address, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros() >= bits,
            (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros() >= bits,
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Network, ValueError> {
        let bad = || ValueError::Network(text.chars().take(MAX_HOST).collect());
        let (address, bits) = match text.trim().split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| bad())?)),
            None => (text.trim(), None),
        };
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits > most { Err(bad()) } else { Ok(Network { address, bits }) }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

macro_rules! by_text {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = ValueError;
            fn try_from(text: String) -> Result<$name, ValueError> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }
    };
}
by_text!(Network);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_its_addresses() {
        let net: Network = "203.0.113.0/24".parse().expect("valid");
        assert!(net.contains("203.0.113.7".parse().expect("address")));
        assert!(!net.contains("203.0.114.7".parse().expect("address")));
        assert!(!net.contains("::1".parse().expect("address")));
        let one: Network = "::1".parse().expect("valid");
        assert!(
            one.contains("::1".parse().expect("address")) && !one.contains("::2".parse().expect("address"))
        );
        let every: Network = "0.0.0.0/0".parse().expect("valid");
        assert!(every.contains("8.8.8.8".parse().expect("address")));
        for text in ["", "1.2.3.4/33", "::/129", "1.2.3/8", "a/8"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
