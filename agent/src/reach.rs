//! How far the links of a crawl may lead.

use crate::io::FoundLink;
use anthill_crawler::map::Set;
use anthill_crawler::record::Scope;
use anthill_protocol::key::{HostId, SiteId};
use std::collections::BTreeSet;

/// How far links may lead.
#[derive(Debug)]
pub enum Reach {
    /// Anywhere.
    Any,
    /// To these sites.
    Sites(Set<SiteId>),
    /// To these hosts.
    Hosts(Set<HostId>),
    /// To what begins so, and is on one of these hosts.
    Prefixes(BTreeSet<String>, Set<HostId>),
}

impl Reach {
    /// That of a crawl without seeds.
    pub fn new(scope: Scope) -> Reach {
        match scope {
            Scope::Any => Reach::Any,
            Scope::Site => Reach::Sites(Set::default()),
            Scope::Host => Reach::Hosts(Set::default()),
            Scope::Prefix => Reach::Prefixes(BTreeSet::new(), Set::default()),
        }
    }

    /// A seed is added.
    pub fn extend(&mut self, host: HostId, url: &str) {
        match self {
            Reach::Any => {}
            Reach::Sites(sites) => {
                sites.insert(host.site());
            }
            Reach::Hosts(hosts) => {
                hosts.insert(host);
            }
            Reach::Prefixes(prefixes, hosts) => {
                let path = url.split(['?', '#']).next().unwrap_or(url);
                let end = path.rfind('/').map_or(path.len(), |slash| slash + 1);
                prefixes.insert(path.get(..end).unwrap_or(path).to_owned());
                hosts.insert(host);
            }
        }
    }

    /// Whether a link leads no further.
    pub fn holds(&self, link: &FoundLink) -> bool {
        match self {
            Reach::Any => true,
            Reach::Sites(sites) => sites.contains(&link.host.site()),
            Reach::Hosts(hosts) => hosts.contains(&link.host),
            // A sitemap lies where its host likes it; what it lists is held to the prefix.
            Reach::Prefixes(_, hosts) if link.sitemap => hosts.contains(&link.host),
            Reach::Prefixes(prefixes, hosts) => {
                hosts.contains(&link.host)
                    && link
                        .url
                        .match_indices('/')
                        .any(|(at, _)| link.url.get(..=at).is_some_and(|prefix| prefixes.contains(prefix)))
            }
        }
    }
}
