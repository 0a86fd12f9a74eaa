//! URLs that nobody fetches, but that are distributed as a crawler finds them: some hosts have most of them, and most
//! links of a page lead to its own host. Everything about a URL follows from its number.

use anthill_agent::io::Admission;
use anthill_crawler::record::{CrawlId, EntryKind, HostRecord, QueueEntry};
use anthill_protocol::key::{HostId, SiteId, UrlId};
use std::net::{IpAddr, Ipv4Addr};

/// Links of a page that are new: what one commit admits.
pub const PER_PAGE: u64 = 80;
/// One link of so many leads to another host.
const FOREIGN: u64 = 4;
/// Words that paths are made of.
const WORDS: [&str; 16] = [
    "archive", "ants", "report", "history", "of", "the", "garden", "market", "weather", "in", "review",
    "and", "city", "news", "people", "river",
];
/// The crawl that they belong to.
pub const CRAWL: CrawlId = CrawlId(1);
/// When they were found (Unix seconds).
const FOUND_S: u64 = 1_800_000_000;

struct Host {
    id: HostId,
    name: String,
    site: String,
}

/// The hosts, and how many URLs there are.
pub struct Urls {
    hosts: Vec<Host>,
}

/// SplitMix64 (Steele, Lea, Flood 2014): spreads numbers.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Urls {
    /// URLs of so many hosts.
    pub fn new(hosts: u32) -> Urls {
        let hosts = (0..hosts.max(1)).map(|n| {
            let site = format!("{}{}.test", WORDS[mix(n.into()) as usize % WORDS.len()], n);
            let name = format!("{}.{site}", if n % 3 == 0 { "blog" } else { "www" });
            Host { id: HostId::of(SiteId::of(&site), &name), name, site }
        });
        Urls { hosts: hosts.collect() }
    }

    /// A host by Zipf's law with exponent 1: the logarithm of its rank is even.
    fn draw(&self, random: u64) -> &Host {
        let even = (random >> 11) as f64 / (1u64 << 53) as f64;
        let rank = (self.hosts.len() as f64).powf(even) as usize - 1;
        &self.hosts[rank.min(self.hosts.len() - 1)]
    }

    fn page_host(&self, number: u64) -> &Host {
        self.draw(mix(mix(number / PER_PAGE)))
    }

    /// Admission of the URL of this number, found on a page of [`PER_PAGE`] links.
    pub fn admission(&self, number: u64) -> Admission {
        let own = self.page_host(number);
        let random = mix(number);
        let foreign = random.is_multiple_of(FOREIGN);
        let host = if foreign { self.draw(mix(random)) } else { own };
        let word = |shift: u32| WORDS[(random >> shift) as usize % WORDS.len()];
        let url = format!(
            "https://{}/{}/{}/{}-{}-{}-{number:x}.html",
            host.name,
            word(8),
            2000 + random % 26,
            word(16),
            word(24),
            word(32)
        );
        let mut from = *own.id.bytes();
        from[8..].copy_from_slice(&mix(number / PER_PAGE).to_be_bytes());
        Admission {
            id: UrlId::of(host.id.site(), &url),
            host: host.id,
            host_name: host.name.clone(),
            site_name: host.site.clone(),
            level: if foreign { 1 } else { 2 },
            force: false,
            entry: QueueEntry {
                url,
                crawl: CRAWL,
                kind: EntryKind::Page,
                depth: 3,
                hops: 0,
                attempt: 0,
                revisit: false,
                from: Some(UrlId::from_bytes(from)),
                first_seen_s: FOUND_S + number / 1_000,
                clues: None,
            },
        }
    }

    /// The record of the host whose page the URL of this number was found on.
    pub fn record(&self, number: u64) -> (HostId, HostRecord) {
        let host = self.page_host(number);
        let record = HostRecord {
            name: host.name.clone(),
            site: host.site.clone(),
            requests: 1 + number / PER_PAGE,
            fetched: number / PER_PAGE,
            admitted: PER_PAGE,
            address: Some(address(&host.id)),
            ..HostRecord::default()
        };
        (host.id, record)
    }
}

/// An address for a host: some thousands share one, as on large fronts. Of a block that is routed nowhere (RFC 2544).
pub fn address(host: &HostId) -> IpAddr {
    let [.., a, b] = *host.bytes();
    IpAddr::V4(Ipv4Addr::new(198, 18, a, b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn urls_are_all_different_and_as_long_as_real_ones() {
        let urls = Urls::new(1_000);
        let all: Vec<_> = (0..8_000).map(|n| urls.admission(n)).collect();
        let ids: BTreeSet<_> = all.iter().map(|a| a.id).collect();
        assert_eq!(ids.len(), all.len());
        let mean = all.iter().map(|a| a.entry.url.len()).sum::<usize>() / all.len();
        assert!((60..80).contains(&mean), "{mean}");
    }

    #[test]
    fn few_hosts_have_most_urls_and_most_links_stay_on_their_host() {
        let urls = Urls::new(1_000);
        let first = &urls.hosts[0].id;
        let all: Vec<_> = (0..80_000).map(|n| (urls.admission(n), urls.record(n).0)).collect();
        let of_first = all.iter().filter(|(a, _)| a.host == *first).count();
        assert!((4_000..16_000).contains(&of_first), "{of_first}");
        let own = all.iter().filter(|(a, page)| a.host == *page).count();
        assert!((56_000..66_000).contains(&own), "{own}");
    }
}
