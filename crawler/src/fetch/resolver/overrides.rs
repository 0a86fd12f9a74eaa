//! Which hosts are sent to an address given by hand? (`--resolve '*.test=127.0.0.1:8080'`)

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// Longest host name (RFC 1035 section 2.3.4).
const MAX_NAME: usize = 253;

/// Hosts by name: `a.test`, `a.test:99`, or with one `*` for any characters: `*.test`, `h1*.test`, `*`. Without a port
/// it matches every port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    name: Name,
    port: Option<u16>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Name {
    /// This host.
    Exact(String),
    /// Hosts that begin and end so, with at least one character between.
    Glob(String, String),
}

/// A pattern and the address its hosts are at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Override {
    /// The hosts.
    pub pattern: Pattern,
    /// Where requests to them are sent.
    pub target: SocketAddr,
}

/// What is wrong with an override.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OverrideError {
    /// No `=`.
    #[error("{0:?} has no \"=\": write it as PATTERN=IP:PORT, for example *.test=127.0.0.1:8080")]
    Form(String),
    /// The address is none.
    #[error("{0:?} is not an address with a port: write it as 127.0.0.1:8080 or [::1]:8080")]
    Target(String),
    /// The pattern is none.
    #[error(
        "{0:?} is not a pattern of hosts: write a host name, name:port, or one with a single * as in *.suffix"
    )]
    Pattern(String),
}

impl Pattern {
    /// Whether a host matches: its name as a canonical URL has it (IPv6 in brackets), and its port if the URL has
    /// one that is not its scheme's own.
    pub fn matches(&self, name: &str, port: Option<u16>) -> bool {
        if self.port.is_some() && self.port != port {
            return false;
        }
        match &self.name {
            Name::Exact(exact) => exact == name,
            Name::Glob(start, end) => {
                name.len() > start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
            }
        }
    }
}

impl FromStr for Pattern {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Pattern, OverrideError> {
        let wrong = || OverrideError::Pattern(text.to_owned());
        let (name, port) = split_port(text).ok_or_else(wrong)?;
        let name = match name.split_once('*') {
            Some((start, end)) => Name::Glob(part(start).ok_or_else(wrong)?, part(end).ok_or_else(wrong)?),
            None => Name::Exact(canonical(&name).ok_or_else(wrong)?),
        };
        Ok(Pattern { name, port })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Name::Exact(name) => f.write_str(name)?,
            Name::Glob(start, end) => write!(f, "{start}*{end}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl FromStr for Override {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Override, OverrideError> {
        let (pattern, target) = text.split_once('=').ok_or_else(|| OverrideError::Form(text.to_owned()))?;
        let target = target.trim();
        Ok(Override {
            pattern: pattern.trim().parse()?,
            target: target.parse().map_err(|_| OverrideError::Target(target.to_owned()))?,
        })
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.pattern, self.target)
    }
}

impl TryFrom<String> for Override {
    type Error = OverrideError;

    fn try_from(text: String) -> Result<Override, OverrideError> {
        text.parse()
    }
}

impl From<Override> for String {
    fn from(rule: Override) -> String {
        rule.to_string()
    }
}

/// What is before or behind a `*`: part of a name as a canonical URL has it. Names in other scripts are written in
/// punycode here, since part of one cannot be converted.
fn part(text: &str) -> Option<String> {
    // A final dot is the root's.
    let text = text.strip_suffix('.').unwrap_or(text);
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    (text.len() <= MAX_NAME && text.bytes().all(plain)).then(|| text.to_ascii_lowercase())
}

/// A host's name as a canonical URL has it, if it is a host.
fn canonical(name: &str) -> Option<String> {
    url::Host::parse(name).ok().map(|host| host.to_string()).filter(|name| !name.contains('*'))
}

/// Splits `name:port`, `[v6]:port` or a bare name; a bare IPv6 address gets its brackets. None if the port is no
/// number or a bracket is missing.
pub(super) fn split_port(host: &str) -> Option<(std::borrow::Cow<'_, str>, Option<u16>)> {
    let port = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    if host.starts_with('[') {
        let end = host.find(']')? + 1;
        let (name, rest) = host.split_at(end);
        let port = match rest.strip_prefix(':') {
            Some(text) => Some(port(text)?),
            None if rest.is_empty() => None,
            None => return None,
        };
        return Some((name.into(), port));
    }
    match host.split_once(':') {
        None => Some((host.into(), None)),
        Some((_, rest)) if rest.contains(':') => Some((format!("[{host}]").into(), None)),
        Some((name, text)) => Some((name.into(), Some(port(text)?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str, port: Option<u16>) -> bool {
        pattern.parse::<Pattern>().unwrap().matches(name, port)
    }

    #[test]
    fn a_star_stands_for_one_or_more_characters() {
        assert!(matches("h1*.test", "h12.test", None));
        assert!(!matches("h1*.test", "h1.test", None));
        assert!(!matches("h1*.test", "h22.test", None));
        assert!(matches("*.test", "a.test", None));
        assert!(matches("*.test", "b.a.test", Some(99)));
        assert!(!matches("*.test", "test", None));
        assert!(!matches("*.test", ".test", None));
        assert!(!matches("*.test", "atest", None));
        assert!(!matches("*.test", "a.test.org", None));
        assert!(matches("*", "anything.org", Some(1)));
    }

    #[test]
    fn a_name_matches_itself_on_every_port_or_on_the_port_given() {
        assert!(matches("A.Test", "a.test", None));
        assert!(matches("a.test", "a.test", Some(99)));
        assert!(matches("a.test:99", "a.test", Some(99)));
        assert!(!matches("a.test:99", "a.test", None));
        assert!(!matches("a.test", "b.a.test", None));
        assert!(matches("[::1]:99", "[::1]", Some(99)));
        assert!(matches("::1", "[::1]", None));
        assert!(matches("bücher.test", "xn--bcher-kva.test", None));
    }

    #[test]
    fn an_override_is_written_as_it_is_read() {
        for text in [
            "*.test=127.0.0.1:8080",
            "a.test:99=[::1]:80",
            "*=192.0.2.1:443",
            "h0*.test=127.0.0.2:81",
            "[::1]=127.0.0.1:1",
        ] {
            assert_eq!(text.parse::<Override>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_override_is_refused_with_its_part_named() {
        assert_eq!("*.test".parse::<Override>(), Err(OverrideError::Form("*.test".into())));
        for target in ["", "127.0.0.1", "localhost:80", "127.0.0.1:99999", "::1:80"] {
            let text = format!("*.test={target}");
            assert_eq!(text.parse::<Override>(), Err(OverrideError::Target(target.into())));
        }
        for pattern in ["", "*.*", "a*b*.test", "*/x", "a b", "a.test:", "a.test:x", "[::1", "a.test:99999"] {
            let text = format!("{pattern}=127.0.0.1:80");
            assert_eq!(text.parse::<Override>(), Err(OverrideError::Pattern(pattern.into())), "{pattern}");
        }
    }
}
