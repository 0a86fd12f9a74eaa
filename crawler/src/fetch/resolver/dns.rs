//! Asking the DNS: the system's name servers and its hosts file.

use super::{Answer, Family, Lookup, ResolveError};
use crate::fetch::{Instant, SendFuture};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;

/// Responses kept by the DNS client itself (name servers' own records among them), besides our answers.
const CLIENT_CACHE: u64 = 4_096;
/// Queries under way to one name server, at most: our own bound on lookups, doubled for two families.
const MAX_QUERIES: usize = 2 * super::MAX_LOOKUPS;
/// Addresses of one name that are looked at.
const MAX_ADDRESSES: usize = 32;

/// The DNS as the system is set up.
pub(super) struct Dns {
    resolver: Option<TokioResolver>,
}

impl Dns {
    /// Reads the system's settings. If they cannot be read, only the hosts file answers, and a warning says so.
    pub(super) fn system(family: Family) -> Dns {
        let builder = TokioResolver::builder_tokio().unwrap_or_else(|error| {
            tracing::warn!(%error, "the system's DNS settings cannot be read: only names of the hosts file are found");
            TokioResolver::builder_with_config(ResolverConfig::default(), TokioRuntimeProvider::default())
        });
        let mut builder = builder;
        let options = builder.options_mut();
        options.cache_size = CLIENT_CACHE;
        options.max_active_requests = MAX_QUERIES;
        options.ip_strategy = match family {
            Family::V4 => LookupIpStrategy::Ipv4thenIpv6,
            Family::V6 => LookupIpStrategy::Ipv6thenIpv4,
        };
        let resolver = builder
            .build()
            .inspect_err(
                |error| tracing::warn!(%error, "no DNS client: only overrides and addresses are found"),
            )
            .ok();
        Dns { resolver }
    }
}

impl Lookup for Dns {
    fn lookup<'a>(&'a self, name: &'a str) -> SendFuture<'a, Result<Answer, ResolveError>> {
        Box::pin(async move {
            let resolver = self.resolver.as_ref().ok_or(ResolveError::Unavailable)?;
            // The dot keeps the search list out: names come from URLs, which are complete.
            let mut full = String::with_capacity(name.len() + 1);
            full.push_str(name);
            full.push('.');
            match resolver.lookup_ip(full).await {
                Ok(found) => Ok(Answer {
                    addresses: found.iter().take(MAX_ADDRESSES).collect(),
                    ttl: Instant::from_std(found.valid_until()).saturating_duration_since(Instant::now()),
                }),
                Err(error) if error.is_nx_domain() || error.is_no_records_found() => {
                    Err(ResolveError::NoSuchName)
                }
                Err(error) => {
                    tracing::debug!(name, %error, "lookup failed");
                    Err(ResolveError::Unavailable)
                }
            }
        })
    }
}
