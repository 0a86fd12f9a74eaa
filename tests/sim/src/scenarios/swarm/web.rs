//! Webs that follow from their sizes alone: hosts, two to a site, some to an address, and pages whose links follow from their names.

use anthill_agent::io::FoundLink;
use anthill_crawler::canon::Rules;
use anthill_protocol::claim::DEFAULT_REPLICAS;
use anthill_protocol::key::Slot;
use anthill_protocol::steward::AddressKey;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// How large it is, and how it is crawled.
#[derive(Clone, Copy, Debug)]
pub struct Web {
    /// Hosts.
    hosts: u32,
    /// Addresses that they are spread over.
    addresses: u32,
    /// Pages of a host.
    pages: u32,
    /// Links of a page to anywhere, besides the one to the next page of its host.
    links: u32,
    /// Between the end of a response and the next request of its host.
    pub host_delay: Duration,
    /// Between two requests to an address.
    pub ip_delay: Duration,
    /// What a host takes for an answer at most.
    pub answer: Duration,
    /// Requests of a peer at a time, at most.
    pub in_flight: usize,
    /// Peers that keep a slot.
    pub replicas: usize,
    /// The last host is to be left alone while the swarm crawls, the one before wants to be asked seldom, and some permits are used
    /// late.
    pub has_trouble: bool,
    /// Whether peers make contracts after seconds, and some are slow.
    pub unequal: bool,
    /// Whether peers make contracts as those of a node do that was told nothing of them.
    pub contracts: bool,
    /// Whether the crawl is about a topic: then peers make contracts by ability.
    pub topical: bool,
    /// A peer offers a link once, as a node's hands do that remember lately written ones; what is lost with a process or a slot would
    /// have to be offered again, so only where nothing goes wrong.
    pub offers_once: bool,
}

/// The web of stormy swarms.
pub const SMALL: Web = Web {
    hosts: 12,
    addresses: 4,
    pages: 12,
    links: 4,
    host_delay: Duration::from_millis(500),
    ip_delay: Duration::from_millis(100),
    answer: Duration::from_millis(400),
    in_flight: 8,
    replicas: DEFAULT_REPLICAS,
    has_trouble: true,
    unequal: false,
    contracts: false,
    topical: false,
    offers_once: false,
};

/// The same for peers of unequal speed.
pub const UNEQUAL: Web = Web { unequal: true, ..SMALL };

/// One with a topic.
pub const TOPICAL: Web = Web { topical: true, ..SMALL };

/// One of as many pages as a measured crawl has, without delays and copies.
pub const LARGE: Web = Web {
    hosts: 200,
    addresses: 50,
    pages: 25,
    links: 40,
    host_delay: Duration::ZERO,
    ip_delay: Duration::ZERO,
    answer: Duration::from_millis(200),
    in_flight: 256,
    replicas: 1,
    has_trouble: false,
    unequal: false,
    contracts: true,
    topical: false,
    offers_once: true,
};

fn name(host: u32) -> String {
    format!("h{host}.s{}.test", host / 2)
}

fn url(host: u32, page: u32) -> String {
    format!("http://{}/{page}", name(host))
}

/// The seed.
pub fn seed() -> FoundLink {
    found(&url(0, 0))
}

impl Web {
    fn parse(&self, url: &str) -> Option<(u32, u32)> {
        let (name, page) = url.strip_prefix("http://h")?.split_once('/')?;
        let host: u32 = name.split_once('.')?.0.parse().ok()?;
        Some((host, page.parse().ok()?)).filter(|(host, page)| *host < self.hosts && *page < self.pages)
    }

    /// The address of a host.
    pub fn address(&self, name: &str) -> Option<IpAddr> {
        let host: u32 = name.strip_prefix('h')?.split_once('.')?.0.parse().ok()?;
        Some(IpAddr::V4(Ipv4Addr::new(10, 9, 9, (host % self.addresses) as u8)))
    }

    /// The robots.txt of a host, if it has one: one host wants to be asked seldom, so that there are pauses in which nothing is under
    /// way and not all is done.
    pub fn robots(&self, url: &str) -> Option<Vec<u8>> {
        let slow = format!("http://{}/robots.txt", name(self.hosts - 2));
        (self.has_trouble && url == slow).then(|| b"User-agent: *\nCrawl-delay: 6\n".to_vec())
    }

    /// How relevant a page is to the topic, in thousandths, if there is one: most pages of every third host are on it.
    pub fn relevance(&self, of: &str) -> Option<u16> {
        let (host, page) = self.parse(of).filter(|_| self.topical)?;
        let is_on = host.is_multiple_of(3) && !page.is_multiple_of(5);
        Some(if is_on { 900 } else { 50 })
    }

    /// What a page links to; none if there is no such page.
    pub fn links(&self, of: &str) -> Option<Vec<FoundLink>> {
        let (host, page) = self.parse(of)?;
        let lot = |n: u32| {
            let hash = blake3::hash(format!("{of} {n}").as_bytes());
            u32::from_le_bytes([hash.as_bytes()[0], hash.as_bytes()[1], hash.as_bytes()[2], 0])
        };
        let random = (0..self.links).map(|n| (lot(2 * n) % self.hosts, lot(2 * n + 1) % self.pages));
        let next = [(host, (page + 1) % self.pages), ((host + 1) % self.hosts, 0)];
        let mut seen = BTreeSet::new();
        let targets = next.into_iter().chain(random).filter(|target| seen.insert(*target));
        Some(targets.map(|(host, page)| found(&url(host, page))).collect())
    }

    /// The host that is excluded while the swarm crawls: no other page is found by its pages alone.
    pub fn excluded(&self) -> String {
        name(self.hosts - 1)
    }

    /// Every page: each can be reached.
    pub fn all(&self) -> impl Iterator<Item = FoundLink> {
        let pages = self.pages;
        (0..self.hosts).flat_map(move |host| (0..pages).map(move |page| found(&url(host, page))))
    }

    /// Every page that is to be fetched, when a host is `excluded` or when not.
    pub fn wanted(&self, excluded: bool) -> impl Iterator<Item = FoundLink> {
        let left_alone = self.excluded();
        self.all().filter(move |page| !excluded || page.host_name != left_alone)
    }

    /// The slots that hosts and addresses lie in.
    pub fn slots(&self) -> Vec<Slot> {
        let hosts = (0..self.hosts).map(|host| found(&url(host, 0)).host.slot());
        let addresses = (0..self.hosts).filter_map(|host| self.address(&name(host)));
        let slots: BTreeSet<Slot> = hosts.chain(addresses.map(|a| AddressKey::of(a).slot())).collect();
        slots.into_iter().collect()
    }
}

/// A link as the parser would find it.
pub fn found(url: &str) -> FoundLink {
    let canon = Rules::default().canonical(url, None).expect("a URL of this web");
    FoundLink {
        id: canon.url_id(),
        host: canon.host_id(),
        url: canon.url().to_owned(),
        host_name: canon.host().to_owned(),
        site_name: canon.site().to_owned(),
        doubtful: false,
        nofollow: false,
        sitemap: false,
        clues: None,
    }
}
