//! Values of settings that are more than a number or a text.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use thiserror::Error;

/// Longest host name (RFC 1035 section 2.3.4).
const MAX_HOST: usize = 253;

/// A value that could not be read.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ValueError {
    /// Not `PATTERN=IP:PORT`.
    #[error("`{0}` is no override: write PATTERN=IP:PORT, as in '*.test=127.0.0.1:8080'")]
    Override(String),
    /// Not an address or a network.
    #[error("`{0}` is no address and no network: write an IP address, or IP/BITS as in 203.0.113.0/24")]
    Network(String),
}

/// `--resolve PATTERN=IP:PORT`: requests for the hosts that match go to this address; URL and Host header stay.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Override {
    /// A host name in lower case, or `*.` and the end of one (`*.test` is every name under `test`), or `*`.
    pub pattern: String,
    /// Where to connect to.
    pub address: SocketAddr,
}

impl Override {
    /// Whether this host (a name without port, lower case) is meant.
    pub fn matches(&self, host: &str) -> bool {
        match self.pattern.strip_prefix('*') {
            Some(end) => host.len() > end.len() && host.ends_with(end),
            None => host == self.pattern,
        }
    }
}

impl FromStr for Override {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Override, ValueError> {
        let bad = || ValueError::Override(text.chars().take(MAX_HOST).collect());
        let (pattern, address) = text.split_once('=').ok_or_else(bad)?;
        let pattern = pattern.trim().trim_end_matches('.').to_ascii_lowercase();
        let address = address.trim().parse().map_err(|_| bad())?;
        let name = pattern.strip_prefix("*.").unwrap_or(&pattern);
        let plain =
            |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '*' | '/' | '@' | '?' | '#');
        if name != "*" && (name.is_empty() || name.len() > MAX_HOST || !name.chars().all(plain)) {
            return Err(bad());
        }
        if pattern == "*.*" {
            return Err(bad());
        }
        Ok(Override { pattern, address })
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.pattern, self.address)
    }
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
by_text!(Override);
by_text!(Network);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_names_hosts_and_an_address() {
        let all: Override = "*.Test=127.0.0.1:8080".parse().expect("valid");
        assert_eq!(all.to_string(), "*.test=127.0.0.1:8080");
        assert!(all.matches("a.test") && all.matches("a.b.test"));
        assert!(
            !all.matches("test") && !all.matches(".test") && !all.matches("a.tests") && !all.matches("atest")
        );
        let one: Override = "a.test=[::1]:99".parse().expect("valid");
        assert!(one.matches("a.test") && !one.matches("b.a.test"));
        let every: Override = "*=127.0.0.1:8080".parse().expect("valid");
        assert!(every.matches("x") && every.matches("a.test"));
    }

    #[test]
    fn what_is_no_override_is_refused() {
        for text in [
            "",
            "a.test",
            "a.test=",
            "=127.0.0.1:1",
            "a.test=127.0.0.1",
            "*.*=127.0.0.1:1",
            "a*b=127.0.0.1:1",
        ] {
            assert!(text.parse::<Override>().is_err(), "{text}");
        }
    }

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
