//! What the right crawl of a generated web fetches: worked out from the web's plan, without network and without
//! reading a single page, so that it shares no mistake with a crawler.

use crate::plan::{Kind, Place, SitemapFile, Spot};
use crate::render::directive;
use crate::robots;
use crate::settings::RobotsKind;
use crate::sitemap;
use crate::web::Web;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// How the crawl is done, where standards leave it open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Walk {
    /// Whether sitemaps named by robots.txt are read.
    pub sitemaps: bool,
    /// Largest number of URLs, so that a mistake in settings does not fill the memory.
    pub max_urls: usize,
}

impl Default for Walk {
    fn default() -> Self {
        Self { sitemaps: true, max_urls: 20_000_000 }
    }
}

/// What the right crawl comes to. URLs are canonical: `http://HOST/PATH`, as [`crate::LogEntry::url`] writes them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Expected {
    /// Every URL asked for at least once, but robots.txt and what is `optional`.
    pub fetched: BTreeSet<String>,
    /// Those of `fetched` that are pages in the end: status 200, HTML or plain text.
    pub pages: BTreeSet<String>,
    /// Those of `pages` that are not to be indexed.
    pub noindex: BTreeSet<String>,
    /// URLs that robots rules keep from being fetched.
    pub disallowed: BTreeSet<String>,
    /// Those of `fetched` that never succeed, with their status; 0 stands for no answer.
    pub failing: BTreeMap<String, u16>,
    /// Those of `fetched` that fail at first and are pages when asked again.
    pub retried: BTreeSet<String>,
    /// Those of `fetched` that redirect, with their target.
    pub redirects: BTreeMap<String, String>,
    /// Those of `fetched` whose bodies are too large to be read whole, or unfold to such.
    pub oversized: BTreeSet<String>,
    /// Those of `fetched` that are neither HTML nor text.
    pub binary: BTreeSet<String>,
    /// Those of `fetched` that are sitemaps.
    pub sitemaps: BTreeSet<String>,
    /// URLs that may be fetched or not: feeds.
    pub optional: BTreeSet<String>,
    /// First URLs of the traps: what is fetched there is counted apart.
    pub traps: BTreeSet<String>,
    /// Those of `pages` that equal another byte for byte, with the other.
    pub exact_duplicates: BTreeMap<String, String>,
    /// Those of `pages` that are nearly another, with the other.
    pub near_duplicates: BTreeMap<String, String>,
    /// Those of `pages` that name another as canonical, with the other.
    pub canonical: BTreeMap<String, String>,
    /// Whether the walk ended at [`Walk::max_urls`].
    pub cut: bool,
}

/// How a crawl departs from what is expected.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Difference {
    /// Expected, not fetched.
    pub missing: BTreeSet<String>,
    /// Fetched, not expected.
    pub unexpected: BTreeSet<String>,
    /// How many URLs of traps were fetched.
    pub in_traps: usize,
}

impl Difference {
    /// Whether there is none, however much of the traps was fetched.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty()
    }
}

impl Expected {
    /// Compares with the URLs that a crawl asked for; files of robots rules and what is optional do not matter.
    pub fn compare<'a>(&self, fetched: impl IntoIterator<Item = &'a str>) -> Difference {
        let fetched: BTreeSet<&str> = fetched.into_iter().collect();
        let mut difference = Difference::default();
        let missing = self.fetched.iter().filter(|url| !fetched.contains(url.as_str()));
        difference.missing.extend(missing.cloned());
        for url in fetched {
            let path = path(url);
            if Web::is_trap(path) {
                difference.in_traps += 1;
            } else if !path.starts_with("/robots")
                && !self.fetched.contains(url)
                && !self.optional.contains(url)
            {
                difference.unexpected.insert(url.to_owned());
            }
        }
        difference
    }
}

/// The path of a URL, with its query.
fn path(url: &str) -> &str {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    rest.find('/').map_or("/", |at| &rest[at..])
}

impl Web {
    /// What the right crawl from `seeds` comes to, at the present tick and with an agent `anthill` that reads
    /// sitemaps. Seeds that are not of this web are left out.
    pub fn expected<'a>(&self, seeds: impl IntoIterator<Item = &'a str>) -> Expected {
        self.expected_by(seeds, &Walk::default())
    }

    /// Like [`Web::expected`], for a crawl done in another way.
    pub fn expected_by<'a>(&self, seeds: impl IntoIterator<Item = &'a str>, walk: &Walk) -> Expected {
        let mut walker = Walker {
            web: self,
            tick: self.tick(),
            walk,
            queue: VecDeque::new(),
            seen: BTreeSet::new(),
            hosts: BTreeSet::new(),
            found: Expected::default(),
        };
        for seed in seeds {
            if let Some(spot) = self.spot(seed) {
                walker.find(spot);
            }
        }
        while let Some(spot) = walker.queue.pop_front() {
            walker.visit(spot);
        }
        walker.found
    }
}

struct Walker<'a> {
    web: &'a Web,
    tick: u64,
    walk: &'a Walk,
    queue: VecDeque<Spot>,
    seen: BTreeSet<Spot>,
    hosts: BTreeSet<u32>,
    found: Expected,
}

impl Walker<'_> {
    fn find(&mut self, spot: Spot) {
        if self.seen.len() >= self.walk.max_urls {
            self.found.cut = true;
        } else if self.seen.insert(spot) {
            self.queue.push_back(spot);
        }
    }

    fn visit(&mut self, spot: Spot) {
        self.enter(spot.host);
        let url = self.web.url(spot);
        if !robots::allows(self.web.robots(spot.host), path(&url)) {
            self.found.disallowed.insert(url);
            return;
        }
        match spot.place {
            Place::Trap(_) if self.web.settings().traps => {
                self.found.traps.insert(url);
            }
            Place::Trap(_) => self.fail(url, 404),
            Place::Feed => {
                self.found.optional.insert(url);
            }
            Place::Robots | Place::RobotsMoved => {}
            Place::Sitemap(file) => self.sitemap(spot.host, file, url),
            Place::LoopStep(index, 1) => {
                self.redirect(url, Spot { place: Place::LoopStep(index, 2), ..spot })
            }
            Place::LoopStep(index, _) => self.redirect(url, Spot { place: Place::Article(index), ..spot }),
            Place::News(tick) if tick == 0 || tick > self.tick || !self.web.settings().news => {
                self.fail(url, 404)
            }
            Place::Orphan(_) | Place::News(_) | Place::Decoy(_) => self.page(spot, url),
            Place::Article(index) => self.article(spot, self.web.plan.kind(spot.host, index), url),
        }
    }

    /// A host's robots.txt is read before anything else of it, and with it the sitemap it names.
    fn enter(&mut self, host: u32) {
        if !self.hosts.insert(host) {
            return;
        }
        if let Some(file) = self.web.named_sitemap(host).filter(|_| self.walk.sitemaps) {
            self.find(Spot { host, place: Place::Sitemap(file) });
        }
        if self.web.settings().feeds && self.web.robots(host) != RobotsKind::Error {
            let url = self.web.url(Spot { host, place: Place::Feed });
            self.found.optional.insert(url);
        }
    }

    fn sitemap(&mut self, host: u32, file: SitemapFile, url: String) {
        self.found.fetched.insert(url.clone());
        self.found.sitemaps.insert(url);
        for part in sitemap::parts(file) {
            self.find(Spot { host, place: Place::Sitemap(*part) });
        }
        for spot in sitemap::places(self.web, host, file) {
            self.find(spot);
        }
    }

    fn article(&mut self, spot: Spot, kind: Kind, url: String) {
        let original = |web: &Web| web.url(web.original(spot));
        match kind {
            Kind::Plain
            | Kind::Slow
            | Kind::Broken
            | Kind::Charset
            | Kind::Based
            | Kind::Text
            | Kind::Private
            | Kind::OpenPrivate
            | Kind::Print => self.page(spot, url),
            Kind::ExactDuplicate => {
                self.found.exact_duplicates.insert(url.clone(), original(self.web));
                self.page(spot, url);
            }
            Kind::NearDuplicate => {
                self.found.near_duplicates.insert(url.clone(), original(self.web));
                self.page(spot, url);
            }
            Kind::Canonical => {
                self.found.canonical.insert(url.clone(), original(self.web));
                self.page(spot, url);
            }
            Kind::TooMany | Kind::Unavailable => {
                self.found.retried.insert(url.clone());
                self.page(spot, url);
            }
            Kind::Noindex => {
                self.found.noindex.insert(url.clone());
                self.page(spot, url);
            }
            Kind::Nofollow => {
                if directive(&self.web.plan, spot, kind).0 == Some("none") {
                    self.found.noindex.insert(url.clone());
                }
                self.found.fetched.insert(url.clone());
                self.found.pages.insert(url);
            }
            Kind::Redirect => self.redirect(url, self.web.target(spot).unwrap_or(spot)),
            Kind::RedirectLoop => {
                let Place::Article(index) = spot.place else { return };
                self.redirect(url, Spot { place: Place::LoopStep(index, 1), ..spot });
            }
            Kind::Missing => self.fail(url, 404),
            Kind::Gone => self.fail(url, 410),
            Kind::Error => self.fail(url, 500),
            Kind::Hanging => self.fail(url, 0),
            Kind::Huge | Kind::Bomb => {
                self.found.fetched.insert(url.clone());
                self.found.oversized.insert(url);
            }
            Kind::Binary => {
                self.found.fetched.insert(url.clone());
                self.found.binary.insert(url);
            }
        }
    }

    fn page(&mut self, spot: Spot, url: String) {
        self.found.fetched.insert(url.clone());
        self.found.pages.insert(url);
        for link in self.web.plan.links(spot, self.tick) {
            if !link.nofollow {
                self.find(link.spot);
            }
        }
    }

    fn redirect(&mut self, url: String, to: Spot) {
        self.found.fetched.insert(url.clone());
        self.found.redirects.insert(url, self.web.url(to));
        self.find(to);
    }

    fn fail(&mut self, url: String, status: u16) {
        self.found.fetched.insert(url.clone());
        self.found.failing.insert(url, status);
    }
}
