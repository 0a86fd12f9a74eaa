//! Where is this host, and may it be connected to?
//!
//! Overrides come first, then addresses written as such, then the DNS. The guard looks at what came out, never at
//! what was asked for: a name that resolves to a private address is refused like the address.

mod cache;
mod dns;
mod overrides;

pub use overrides::{Override, OverrideError, Pattern};

use super::{Instant, SendFuture};
use crate::guard;
use cache::{Cache, Known};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Lookups under way at once, at most: small name servers at home drop what is more.
const MAX_LOOKUPS: usize = 64;
/// So many lookups without an answer in a row, and the name servers count as out of reach: then each further lookup is
/// given [`OUTAGE_WAIT`] instead of the DNS client's own patience, so that thousands of hosts do not wait in line for
/// seconds each. The first answer ends it.
const OUTAGE: u32 = 16;
/// See [`OUTAGE`]; the hosts file answers in less, and so does a name server that is back.
const OUTAGE_WAIT: Duration = Duration::from_millis(250);
/// Names whose answers are kept, at most: some 15 MB.
const MAX_ANSWERS: usize = 0x1_0000;
/// Answers hold at least so long, whatever their TTL: a host asked every second must not cost a lookup each time.
const MIN_TTL: Duration = Duration::from_secs(60);
/// Answers hold at most so long: sites move.
const MAX_TTL: Duration = Duration::from_secs(3_600);
/// How long a name that does not exist is believed not to.
const NO_NAME_TTL: Duration = Duration::from_secs(600);
/// Addresses of one name that are kept, at most: where so many cannot be connected to, it is not the addresses.
const MAX_KEPT: usize = 4;
/// Longest name that the DNS can hold (RFC 1035 section 2.3.4, as text).
const MAX_NAME: usize = 253;

/// Which family of addresses is preferred where a host has both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Family {
    /// IPv4, which more machines can reach.
    #[default]
    V4,
    /// IPv6.
    V6,
}

/// How hosts are found.
#[derive(Clone, Debug, Default)]
pub struct ResolverConfig {
    /// Hosts whose address is given; the first that matches counts.
    pub overrides: Vec<Override>,
    /// Lifts the guard: private, loopback and other special addresses may be connected to.
    pub allow_private: bool,
    /// What to prefer.
    pub prefer: Family,
}

/// Where a host is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resolved {
    /// The address to connect to.
    pub address: IpAddr,
    /// The port to connect to in place of the URL's, if an override says so.
    pub port_override: Option<u16>,
    /// Given by an override, or not a public address: short delays are allowed there.
    pub local: bool,
    /// For how long this holds.
    pub ttl: Duration,
}

/// Why a host has no address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ResolveError {
    /// The name does not exist, or has no address.
    #[error("the name does not exist; check its spelling")]
    NoSuchName,
    /// The name servers did not answer.
    #[error("the name servers did not answer; check this machine's network and DNS settings")]
    Unavailable,
    /// Every address is one that must not be connected to.
    #[error(
        "the name has only private or special addresses; --resolve exempts one host, --allow-private all"
    )]
    Refused,
}

impl ResolveError {
    /// For how long this holds: when to ask again.
    pub fn ttl(self) -> Duration {
        match self {
            ResolveError::NoSuchName | ResolveError::Refused => NO_NAME_TTL,
            ResolveError::Unavailable => MIN_TTL,
        }
    }
}

/// What the DNS says of a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Its addresses, of one family or both.
    pub addresses: Vec<IpAddr>,
    /// For how long they hold.
    pub ttl: Duration,
}

/// Who is asked for the addresses of names: the DNS, or a stand-in in tests.
pub trait Lookup: Send + Sync {
    /// The addresses of a name (canonical, without a dot at its end). No address at all is [`ResolveError::NoSuchName`].
    ///
    /// # Errors
    /// The name does not exist, or nobody answers.
    fn lookup<'a>(&'a self, name: &'a str) -> SendFuture<'a, Result<Answer, ResolveError>>;
}

/// Finds addresses for hosts; one for the whole process.
pub struct Resolver {
    config: ResolverConfig,
    lookup: Box<dyn Lookup>,
    cache: Mutex<Cache>,
    lookups: Semaphore,
    /// Lookups in a row that nobody answered.
    unanswered: AtomicU32,
}

impl Resolver {
    /// A resolver over the system's DNS settings and hosts file. Where those cannot be read it starts all the same,
    /// finds less, and warns.
    pub fn new(config: ResolverConfig) -> Resolver {
        let dns = dns::Dns::system(config.prefer);
        Resolver::with_lookup(config, Box::new(dns))
    }

    /// A resolver that asks `lookup` instead of the DNS.
    pub fn with_lookup(config: ResolverConfig, lookup: Box<dyn Lookup>) -> Resolver {
        let cache = Mutex::new(Cache::new(MAX_ANSWERS));
        Resolver {
            config,
            lookup,
            cache,
            lookups: Semaphore::new(MAX_LOOKUPS),
            unanswered: AtomicU32::new(0),
        }
    }

    /// Where `host` is: `name`, `name:port`, or an address in any spelling a URL may have (IPv6 in brackets or bare).
    ///
    /// # Errors
    /// It has no address that may be connected to.
    pub async fn resolve(&self, host: &str) -> Result<Resolved, ResolveError> {
        let (name, port) = overrides::split_port(host).ok_or(ResolveError::NoSuchName)?;
        // The same reading of `0x7f.1` and its kin as in URLs.
        let parsed = url::Host::parse(&name).map_err(|_| ResolveError::NoSuchName)?;
        if let Some(target) = self.target(&parsed.to_string(), port) {
            let (address, port) = (target.ip(), Some(target.port()));
            return Ok(Resolved { address, port_override: port, local: true, ttl: MAX_TTL });
        }
        match parsed {
            url::Host::Ipv4(v4) => self.choose(&[IpAddr::V4(v4)]).map(|known| resolved(&known, MAX_TTL)),
            url::Host::Ipv6(v6) => self.choose(&[IpAddr::V6(v6)]).map(|known| resolved(&known, MAX_TTL)),
            url::Host::Domain(name) => self.resolve_name(name.strip_suffix('.').unwrap_or(&name)).await,
        }
    }

    /// The address that an override gives to a host (its name as a canonical URL has it; its port if the URL has one
    /// that is not its scheme's own).
    pub fn target(&self, name: &str, port: Option<u16>) -> Option<SocketAddr> {
        self.config.overrides.iter().find(|o| o.pattern.matches(name, port)).map(|o| o.target)
    }

    /// An address of `host`, as [`Resolver::resolve`] gave it, cannot be connected to: it is the last of its addresses to
    /// be given again. Whether there is another that has not failed.
    pub fn unreachable(&self, host: &str, address: IpAddr) -> bool {
        let Some((name, port)) = overrides::split_port(host) else { return false };
        match url::Host::parse(&name) {
            Ok(url::Host::Domain(name)) if self.target(&name, port).is_none() => {
                let name = name.strip_suffix('.').unwrap_or(&name);
                self.cache().turn(name, address, Instant::now())
            }
            _ => false,
        }
    }

    /// Whether an address that no override gave may be connected to.
    pub fn permits(&self, address: IpAddr) -> bool {
        self.config.allow_private || guard::public(address)
    }

    async fn resolve_name(&self, name: &str) -> Result<Resolved, ResolveError> {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(ResolveError::NoSuchName);
        }
        if let Some((answered, ttl)) = self.cache().get(name, Instant::now()) {
            return answered.map(|known| resolved(&known, ttl));
        }
        // Never closed, so that it fails never; if it did, nobody would answer.
        let permit = self.lookups.acquire().await.map_err(|_| ResolveError::Unavailable)?;
        let answered = self.ask(name).await;
        drop(permit);
        let (answered, ttl) = match answered {
            Ok(answer) if answer.addresses.is_empty() => {
                (Err(ResolveError::NoSuchName), ResolveError::NoSuchName.ttl())
            }
            Ok(answer) => match self.choose(&answer.addresses) {
                Ok(known) => (Ok(known), answer.ttl.clamp(MIN_TTL, MAX_TTL)),
                Err(error) => (Err(error), error.ttl()),
            },
            Err(error) => (Err(error), error.ttl()),
        };
        self.cache().put(name, answered.clone(), Instant::now() + ttl);
        answered.map(|known| resolved(&known, ttl))
    }

    async fn ask(&self, name: &str) -> Result<Answer, ResolveError> {
        let answered = if self.unanswered.load(Ordering::Relaxed) < OUTAGE {
            self.lookup.lookup(name).await
        } else {
            let brief = tokio::time::timeout(OUTAGE_WAIT, self.lookup.lookup(name)).await;
            brief.unwrap_or(Err(ResolveError::Unavailable))
        };
        if answered == Err(ResolveError::Unavailable) {
            if self.unanswered.fetch_add(1, Ordering::Relaxed) + 1 == OUTAGE {
                tracing::warn!("no name server answers; hosts are looked up again later");
            }
        } else {
            self.unanswered.store(0, Ordering::Relaxed);
        }
        answered
    }

    /// The addresses that may be connected to, those of the preferred family first.
    fn choose(&self, addresses: &[IpAddr]) -> Result<Known, ResolveError> {
        let preferred = |address: &IpAddr| address.is_ipv4() == (self.config.prefer == Family::V4);
        let mut addresses: Vec<IpAddr> =
            addresses.iter().copied().filter(|address| self.permits(*address)).collect();
        addresses.sort_by_key(|address| !preferred(address));
        addresses.truncate(MAX_KEPT);
        if addresses.is_empty() { Err(ResolveError::Refused) } else { Ok(Known { addresses, failed: 0 }) }
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        // A cache is never wrong in the middle of a change.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is told of a name: the address whose turn it is.
fn resolved(known: &Known, ttl: Duration) -> Resolved {
    let address = known.addresses.first().copied().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    Resolved { address, port_override: None, local: !guard::public(address), ttl }
}

#[cfg(test)]
mod tests;
