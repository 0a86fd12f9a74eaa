//! A small web that is a function of nothing: hosts, two to a site, some to an address, and pages whose links follow from their names.

use anthill_agent::io::FoundLink;
use anthill_crawler::canon::Rules;
use anthill_protocol::key::Slot;
use anthill_protocol::steward::AddressKey;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

/// Hosts.
pub const HOSTS: u32 = 12;
/// Addresses that they are spread over.
const ADDRESSES: u32 = 4;
/// Pages of a host.
pub const PAGES: u32 = 12;
/// Links of a page to anywhere, besides the one to the next page of its host.
const LINKS: u32 = 4;

fn name(host: u32) -> String {
    format!("h{host}.s{}.test", host / 2)
}

fn url(host: u32, page: u32) -> String {
    format!("http://{}/{page}", name(host))
}

fn parse(url: &str) -> Option<(u32, u32)> {
    let (name, page) = url.strip_prefix("http://h")?.split_once('/')?;
    let host: u32 = name.split_once('.')?.0.parse().ok()?;
    Some((host, page.parse().ok()?)).filter(|(host, page)| *host < HOSTS && *page < PAGES)
}

/// The address of a host.
pub fn address(name: &str) -> Option<IpAddr> {
    let host: u32 = name.strip_prefix('h')?.split_once('.')?.0.parse().ok()?;
    Some(IpAddr::V4(Ipv4Addr::new(10, 9, 9, (host % ADDRESSES) as u8)))
}

/// The robots.txt of a host, if it has one: one host wants to be asked seldom, so that there are pauses in which nothing is under way
/// and not all is done.
pub fn robots(url: &str) -> Option<Vec<u8>> {
    let slow = format!("http://{}/robots.txt", name(HOSTS - 2));
    (url == slow).then(|| b"User-agent: *\nCrawl-delay: 6\n".to_vec())
}

/// What a page links to; none if there is no such page.
pub fn links(of: &str) -> Option<Vec<FoundLink>> {
    let (host, page) = parse(of)?;
    let lot = |n: u32| {
        let hash = blake3::hash(format!("{of} {n}").as_bytes());
        u32::from_le_bytes([hash.as_bytes()[0], hash.as_bytes()[1], hash.as_bytes()[2], 0])
    };
    let random = (0..LINKS).map(|n| (lot(2 * n) % HOSTS, lot(2 * n + 1) % PAGES));
    let next = [(host, (page + 1) % PAGES), ((host + 1) % HOSTS, 0)];
    let mut seen = BTreeSet::new();
    let targets = next.into_iter().chain(random).filter(|target| seen.insert(*target));
    Some(targets.map(|(host, page)| found(&url(host, page))).collect())
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
    }
}

/// The host that is excluded while the swarm crawls: no other page is found by its pages alone.
pub fn excluded() -> String {
    name(HOSTS - 1)
}

/// The seed.
pub fn seed() -> FoundLink {
    found(&url(0, 0))
}

/// Every page: each can be reached.
pub fn all() -> impl Iterator<Item = FoundLink> {
    (0..HOSTS).flat_map(|host| (0..PAGES).map(move |page| found(&url(host, page))))
}

/// Every page that is to be fetched, when a host is `excluded` or when not.
pub fn wanted(excluded: bool) -> impl Iterator<Item = FoundLink> {
    all().filter(move |page| !excluded || page.host_name != self::excluded())
}

/// The slots that hosts and addresses lie in.
pub fn slots() -> Vec<Slot> {
    let hosts = (0..HOSTS).map(|host| found(&url(host, 0)).host.slot());
    let addresses = (0..HOSTS).filter_map(|host| address(&name(host)));
    let slots: BTreeSet<Slot> = hosts.chain(addresses.map(|a| AddressKey::of(a).slot())).collect();
    slots.into_iter().collect()
}
