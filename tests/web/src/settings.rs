//! What a generated web is like: its size, and how much of it is odd in which way.

use serde::{Deserialize, Serialize};

/// Most hosts of a web: their names are kept in memory.
pub const MAX_HOSTS: u32 = 1_000_000;
/// Most loopback addresses: 127.0.0.2 to 127.0.0.201.
pub const MAX_ADDRESSES: u8 = 200;
/// Most links drawn for one page: a page stays a page.
pub const MAX_LINKS: u32 = 1_000;
/// Largest text of an ordinary page, in bytes; bodies meant to be too large have a setting of their own.
pub const MAX_PAGE_BYTES: u32 = 1 << 20;

/// Why settings make no web.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SettingsError {
    /// A number is out of its range.
    #[error("{name} is {value}: set it to {range}")]
    Range {
        /// The setting.
        name: &'static str,
        /// What it was.
        value: u64,
        /// What it may be.
        range: &'static str,
    },
    /// The shares of kinds of pages add up to more than the whole.
    #[error("the shares add up to {0} ten-thousandths: lower some until they are at most 10000")]
    Shares(u32),
    /// A host name that is empty, given twice or not a plain lower-case name.
    #[error(
        "the host name {0:?} cannot be used: give each once, lower case, of letters, digits, '-' and '.'"
    )]
    Name(String),
}

/// A language that pages are written in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English.
    En,
    /// German.
    De,
    /// Spanish.
    Es,
    /// French.
    Fr,
    /// Italian.
    It,
    /// Portuguese.
    Pt,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::En, Self::De, Self::Es, Self::Fr, Self::It, Self::Pt];

    /// ISO 639-1.
    pub fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::De => "de",
            Self::Es => "es",
            Self::Fr => "fr",
            Self::It => "it",
            Self::Pt => "pt",
        }
    }
}

/// What a host answers to `/robots.txt`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RobotsKind {
    /// 404: everything is allowed.
    Missing,
    /// 403: likewise.
    Forbidden,
    /// An empty Disallow.
    Open,
    /// `/private/` is disallowed, `/private/open/` allowed.
    Prefix,
    /// The same with wildcards, and `/*/print$`.
    Wildcards,
    /// Others may nothing; the group of our agent disallows `/private/`.
    Groups,
    /// Like prefix, with a Crawl-delay.
    CrawlDelay,
    /// Like prefix, answered late.
    Slow,
    /// Like prefix, behind a redirect on the same host.
    Moved,
    /// Like prefix, behind a redirect to another host.
    MovedAway,
    /// Like prefix; beyond the first 500 KiB, which a parser must read, everything is disallowed.
    Huge,
    /// Like prefix, with a byte order mark, odd case and spacing, CR line ends and lines that mean nothing.
    Messy,
    /// 500: nothing may be fetched.
    Error,
    /// Everything is disallowed.
    Closed,
}

/// How a host's sitemap is written. Its orphans are named nowhere else.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SitemapKind {
    /// No sitemap.
    None,
    /// XML.
    Xml,
    /// XML in gzip.
    Gzip,
    /// A list of lines.
    Text,
    /// An index of two: XML, and XML in gzip.
    Index,
}

/// How many pages without pages below them are of which odd kind, in ten-thousandths; the rest are ordinary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "each is the share of the kind of page with its name")]
pub struct Shares {
    pub near_duplicate: u16,
    pub exact_duplicate: u16,
    pub canonical: u16,
    pub redirect: u16,
    pub redirect_loop: u16,
    pub missing: u16,
    pub gone: u16,
    pub error: u16,
    pub too_many: u16,
    pub unavailable: u16,
    pub slow: u16,
    pub hanging: u16,
    pub broken: u16,
    pub charset: u16,
    pub huge: u16,
    pub bomb: u16,
    pub noindex: u16,
    pub nofollow: u16,
    pub based: u16,
    pub text: u16,
    pub binary: u16,
    pub private: u16,
    pub open_private: u16,
    pub print: u16,
}

/// A generated web. Everything it answers follows from this, the URL, the tick, and how often a page that fails at
/// first was asked for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebSettings {
    /// Another seed, another web.
    pub seed: u64,
    /// How many hosts; ignored when `names` is not empty.
    pub hosts: u32,
    /// Names of the hosts, if they are to be other than `h017.test`.
    pub names: Vec<String>,
    /// Loopback addresses the hosts are spread over: one is 127.0.0.1, more are 127.0.0.2 and on.
    pub addresses: u8,
    /// Pages of each host, its home page included.
    pub pages_per_host: u32,
    /// Links of each page, about.
    pub links_per_page: u32,
    /// How many of them go to other hosts, in ten-thousandths.
    pub away: u16,
    /// How many are not written in canonical form, in ten-thousandths.
    pub messy: u16,
    /// Bytes of a page, about.
    pub page_bytes: u32,
    /// Languages of the hosts, in turn.
    pub languages: Vec<Language>,
    /// Whether pages are styled for people.
    pub pretty: bool,
    /// Kinds of robots.txt of the hosts, in turn; none means 404.
    pub robots: Vec<RobotsKind>,
    /// Kinds of sitemaps of the hosts, in turn; none means none.
    pub sitemaps: Vec<SitemapKind>,
    /// Pages that only the sitemap names, on each host that has one.
    pub orphans: u32,
    /// Whether hosts have feeds.
    pub feeds: bool,
    /// Whether pages have links that must not be followed: `rel=nofollow`, in comments, in scripts.
    pub decoys: bool,
    /// Whether home pages lead into traps without end.
    pub traps: bool,
    /// Odd kinds of pages.
    pub shares: Shares,
    /// Ticks between changes of a page, one drawn for each page; 0 is never.
    pub change_every: Vec<u32>,
    /// Whether each tick adds a page of news to each host, linked from its home page.
    pub news: bool,
    /// Seconds of the Crawl-delay of hosts that have one.
    pub crawl_delay_s: f32,
    /// Seconds of Retry-After.
    pub retry_after_s: u32,
    /// How often a page that fails at first does so.
    pub failures: u32,
    /// How late slow answers are, in milliseconds.
    pub slow_ms: u64,
    /// Bytes of huge bodies.
    pub huge_bytes: u64,
    /// Bytes that a bomb unfolds to.
    pub bomb_bytes: u64,
}

impl Default for WebSettings {
    fn default() -> Self {
        Self {
            seed: 1,
            hosts: 4,
            names: Vec::new(),
            addresses: 1,
            pages_per_host: 50,
            links_per_page: 20,
            away: 1_000,
            messy: 0,
            page_bytes: 8_000,
            languages: Language::ALL.to_vec(),
            pretty: false,
            robots: vec![RobotsKind::Open],
            sitemaps: Vec::new(),
            orphans: 0,
            feeds: false,
            decoys: false,
            traps: false,
            shares: Shares::default(),
            change_every: Vec::new(),
            news: false,
            crawl_delay_s: 1.0,
            retry_after_s: 1,
            failures: 1,
            slow_ms: 300,
            huge_bytes: 32 << 20,
            bomb_bytes: 64 << 20,
        }
    }
}

impl WebSettings {
    /// The same for a swarm to crawl: 30 sites of one host each, about 450 pages, so that every peer gets some.
    pub fn swarm_demo() -> Self {
        let sites = [
            "alder", "bistro", "candle", "drummer", "ember", "fathom", "garnet", "harbour", "indigo",
            "juniper", "kettle", "lantern", "meadow", "nutmeg", "orchard", "pebble", "quarry", "raven",
            "saffron", "thistle", "umbra", "velvet", "willow", "xenon", "yarrow", "zephyr", "anchor",
            "bramble", "copper", "dapple",
        ];
        Self {
            names: sites.map(|site| format!("www.{site}.test")).to_vec(),
            pages_per_host: 15,
            ..Self::demo()
        }
    }

    /// A small encyclopedia of an imagined world, for people to look at: 8 hosts of 3 sites, about 300 pages.
    pub fn demo() -> Self {
        let names = [
            "en.formica.test",
            "de.formica.test",
            "es.formica.test",
            "fr.formica.test",
            "it.formica.test",
            "pt.formica.test",
            "www.velmora.test",
            "museum.tarnish.test",
        ];
        let shares = Shares {
            near_duplicate: 300,
            exact_duplicate: 200,
            redirect: 300,
            missing: 200,
            noindex: 200,
            private: 300,
            ..Shares::default()
        };
        Self {
            seed: 2,
            names: names.map(str::to_owned).to_vec(),
            pages_per_host: 38,
            links_per_page: 14,
            away: 1_500,
            page_bytes: 5_000,
            languages: [&Language::ALL[..], &[Language::En, Language::En]].concat(),
            pretty: true,
            robots: vec![RobotsKind::Prefix, RobotsKind::Open, RobotsKind::Missing],
            sitemaps: vec![SitemapKind::Xml, SitemapKind::None],
            orphans: 2,
            feeds: true,
            shares,
            change_every: vec![0, 60, 600, 3_600],
            news: true,
            ..Self::default()
        }
    }

    /// About `pages` light pages of 8 kB, nothing odd: so that the server is not what is measured.
    pub fn bench(pages: u32) -> Self {
        let hosts = pages.div_ceil(100).clamp(1, 1_000);
        Self { seed: 3, hosts, pages_per_host: pages.div_ceil(hosts).max(1), ..Self::default() }
    }

    /// Every oddity there is, on 28 hosts of 120 pages.
    pub fn everything(seed: u64) -> Self {
        use RobotsKind as R;
        let shares = Shares {
            near_duplicate: 400,
            exact_duplicate: 400,
            canonical: 200,
            redirect: 600,
            redirect_loop: 100,
            missing: 200,
            gone: 200,
            error: 60,
            too_many: 60,
            unavailable: 60,
            slow: 100,
            hanging: 30,
            broken: 400,
            charset: 500,
            huge: 40,
            bomb: 40,
            noindex: 300,
            nofollow: 300,
            based: 300,
            text: 150,
            binary: 150,
            private: 300,
            open_private: 200,
            print: 200,
        };
        Self {
            seed,
            hosts: 28,
            pages_per_host: 120,
            messy: 2_500,
            page_bytes: 4_000,
            robots: vec![
                R::Prefix,
                R::Missing,
                R::Wildcards,
                R::Groups,
                R::Error,
                R::Open,
                R::CrawlDelay,
                R::Moved,
                R::Closed,
                R::MovedAway,
                R::Huge,
                R::Messy,
                R::Slow,
                R::Forbidden,
            ],
            sitemaps: vec![
                SitemapKind::Xml,
                SitemapKind::None,
                SitemapKind::Index,
                SitemapKind::Text,
                SitemapKind::Gzip,
            ],
            orphans: 5,
            feeds: true,
            decoys: true,
            traps: true,
            shares,
            change_every: vec![0, 1, 5, 50],
            news: true,
            ..Self::default()
        }
    }

    /// Small pages on `hosts` hosts over `addresses` addresses, with what politeness must heed: Crawl-delay,
    /// Retry-After, disallowed paths, robots.txt that redirects or is slow.
    pub fn polite(hosts: u32, addresses: u8) -> Self {
        use RobotsKind as R;
        let shares = Shares {
            redirect: 500,
            missing: 200,
            too_many: 200,
            unavailable: 200,
            slow: 300,
            private: 800,
            open_private: 300,
            print: 300,
            ..Shares::default()
        };
        Self {
            seed: 4,
            hosts,
            addresses,
            pages_per_host: 20,
            links_per_page: 10,
            away: 2_000,
            page_bytes: 2_000,
            robots: vec![R::Prefix, R::Open, R::CrawlDelay, R::Missing, R::Wildcards, R::Moved, R::Slow],
            shares,
            ..Self::default()
        }
    }

    /// How many hosts there are.
    pub fn host_count(&self) -> u32 {
        if self.names.is_empty() { self.hosts } else { u32::try_from(self.names.len()).unwrap_or(u32::MAX) }
    }

    /// Whether a web can be made of them.
    ///
    /// # Errors
    /// The first setting that is wrong, and what it may be.
    pub fn check(&self) -> Result<(), SettingsError> {
        let range = |name, value: u64, low: u64, high: u64, range| {
            if (low..=high).contains(&value) {
                Ok(())
            } else {
                Err(SettingsError::Range { name, value, range })
            }
        };
        range("hosts", self.host_count().into(), 1, MAX_HOSTS.into(), "1 to 1000000")?;
        range("addresses", self.addresses.into(), 1, MAX_ADDRESSES.into(), "1 to 200")?;
        range("pages_per_host", self.pages_per_host.into(), 1, 1 << 31, "1 to 2147483648")?;
        range("links_per_page", self.links_per_page.into(), 0, MAX_LINKS.into(), "0 to 1000")?;
        range("page_bytes", self.page_bytes.into(), 0, MAX_PAGE_BYTES.into(), "0 to 1048576")?;
        range("languages", self.languages.len() as u64, 1, 64, "1 to 64 languages")?;
        range("away", self.away.into(), 0, 10_000, "0 to 10000 ten-thousandths")?;
        range("messy", self.messy.into(), 0, 10_000, "0 to 10000 ten-thousandths")?;
        range("orphans", self.orphans.into(), 0, 20_000, "0 to 20000: a sitemap holds 50000")?;
        range("bomb_bytes", self.bomb_bytes, 0, 1 << 30, "0 to 1073741824: it is packed in memory once")?;
        let sum = self.shares.table().iter().map(|(_, share)| u32::from(*share)).sum();
        if sum > 10_000 {
            return Err(SettingsError::Shares(sum));
        }
        let mut names: Vec<&String> = self.names.iter().collect();
        names.sort();
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
        let bad = |name: &str| {
            name.is_empty() || name.starts_with('.') || name.ends_with('.') || !name.bytes().all(plain)
        };
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        match twice.or_else(|| names.iter().copied().find(|name| bad(name))) {
            Some(name) => Err(SettingsError::Name(name.clone())),
            None => Ok(()),
        }
    }
}
