//! Which pages there are and where: hosts, kinds, addresses of pages and back.

use crate::mix::Draw;
use crate::prose::Name;
use crate::settings::{Shares, SitemapKind, WebSettings};
use std::collections::HashMap;
use std::fmt::Write;

/// What kind of page an article is. All but ordinary ones have no pages below them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Ordinary.
    Plain,
    /// Another page's text with a few sentences changed.
    NearDuplicate,
    /// Another page's body, byte for byte.
    ExactDuplicate,
    /// A near-duplicate that names the other page as canonical.
    Canonical,
    /// A redirect to another page of any kind.
    Redirect,
    /// A redirect that comes back after three hops.
    RedirectLoop,
    /// 404.
    Missing,
    /// 410.
    Gone,
    /// 500, always.
    Error,
    /// 429 with Retry-After at first.
    TooMany,
    /// 503 with Retry-After at first.
    Unavailable,
    /// A late answer.
    Slow,
    /// No answer.
    Hanging,
    /// Tag soup.
    Broken,
    /// An encoding that is not what some label says.
    Charset,
    /// A huge body.
    Huge,
    /// A body that unfolds to a huge one.
    Bomb,
    /// `noindex`, in the page or in a header.
    Noindex,
    /// `nofollow`, in the page or in a header.
    Nofollow,
    /// Links relative to a `<base>`.
    Based,
    /// Plain text.
    Text,
    /// Neither text nor HTML.
    Binary,
    /// Below `/private/`.
    Private,
    /// Below `/private/open/`.
    OpenPrivate,
    /// Ends in `/print`.
    Print,
}

impl Shares {
    /// Each kind with its share.
    pub fn table(&self) -> [(Kind, u16); 24] {
        [
            (Kind::NearDuplicate, self.near_duplicate),
            (Kind::ExactDuplicate, self.exact_duplicate),
            (Kind::Canonical, self.canonical),
            (Kind::Redirect, self.redirect),
            (Kind::RedirectLoop, self.redirect_loop),
            (Kind::Missing, self.missing),
            (Kind::Gone, self.gone),
            (Kind::Error, self.error),
            (Kind::TooMany, self.too_many),
            (Kind::Unavailable, self.unavailable),
            (Kind::Slow, self.slow),
            (Kind::Hanging, self.hanging),
            (Kind::Broken, self.broken),
            (Kind::Charset, self.charset),
            (Kind::Huge, self.huge),
            (Kind::Bomb, self.bomb),
            (Kind::Noindex, self.noindex),
            (Kind::Nofollow, self.nofollow),
            (Kind::Based, self.based),
            (Kind::Text, self.text),
            (Kind::Binary, self.binary),
            (Kind::Private, self.private),
            (Kind::OpenPrivate, self.open_private),
            (Kind::Print, self.print),
        ]
    }
}

/// A place on some host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Spot {
    pub(crate) host: u32,
    pub(crate) place: Place,
}

/// A place on a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Place {
    /// A page; 0 is the home page.
    Article(u32),
    /// A further hop of the redirect loop that begins at a page.
    LoopStep(u32, u8),
    /// Named by the sitemap alone.
    Orphan(u32),
    /// Nobody who reads pages rightly comes here.
    Decoy(u32),
    /// Exists from this tick on.
    News(u64),
    Trap(Trap),
    Feed,
    Robots,
    RobotsMoved,
    Sitemap(SitemapFile),
}

/// A part of a host without end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Trap {
    Calendar,
    Spiral,
    Facets,
    Hops,
}

impl Trap {
    pub(crate) const ALL: [Self; 4] = [Self::Calendar, Self::Spiral, Self::Facets, Self::Hops];

    /// What its paths begin with.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Calendar => "/calendar/",
            Self::Spiral => "/spiral/",
            Self::Facets => "/facets/",
            Self::Hops => "/hops/",
        }
    }
}

/// A file of a sitemap.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum SitemapFile {
    Xml,
    Gzip,
    Text,
    Index,
    First,
    Second,
}

impl SitemapFile {
    const ALL: [Self; 6] = [Self::Xml, Self::Gzip, Self::Text, Self::Index, Self::First, Self::Second];

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Xml => "/sitemap.xml",
            Self::Gzip => "/sitemap.xml.gz",
            Self::Text => "/sitemap.txt",
            Self::Index => "/sitemap-index.xml",
            Self::First => "/sitemap-1.xml",
            Self::Second => "/sitemap-2.xml.gz",
        }
    }

    /// The file that robots.txt names for a kind of sitemap.
    pub(crate) fn first(kind: SitemapKind) -> Option<Self> {
        match kind {
            SitemapKind::None => None,
            SitemapKind::Xml => Some(Self::Xml),
            SitemapKind::Gzip => Some(Self::Gzip),
            SitemapKind::Text => Some(Self::Text),
            SitemapKind::Index => Some(Self::Index),
        }
    }

    /// Whether a host with this kind of sitemap has the file.
    pub(crate) fn of(self, kind: SitemapKind) -> bool {
        match self {
            Self::First | Self::Second => kind == SitemapKind::Index,
            _ => Self::first(kind) == Some(self),
        }
    }
}

/// Pages in one folder of a host.
const VOLUME: u32 = 40;

/// Salts: what a stream of numbers is for.
#[derive(Clone, Copy)]
pub(crate) enum Salt {
    Kind = 1,
    Title,
    Links,
    Text,
    Original,
    Detail,
    Change,
}

/// Where everything is.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) settings: WebSettings,
    pub(crate) names: Vec<String>,
    by_name: HashMap<String, u32>,
    shares: [(Kind, u16); 24],
    /// Pages below each page that has any.
    pub(crate) branching: u32,
}

impl Plan {
    /// `settings` have been checked.
    pub(crate) fn new(settings: WebSettings) -> Self {
        let names = names(&settings);
        let by_name = names.iter().zip(0..).map(|(name, host)| (name.clone(), host)).collect();
        let shares = settings.shares.table();
        let branching = settings.links_per_page.clamp(2, 10);
        Self { settings, names, by_name, shares, branching }
    }

    /// Which loopback address `host` is at.
    pub(crate) fn group(&self, host: u32) -> u32 {
        host % u32::from(self.settings.addresses)
    }

    pub(crate) fn host(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn draw(&self, spot: Spot, salt: Salt) -> Draw {
        let (class, index) = match spot.place {
            Place::Article(index) => (0, u64::from(index)),
            Place::LoopStep(index, _) => (1, index.into()),
            Place::Orphan(index) => (2, index.into()),
            Place::Decoy(index) => (3, index.into()),
            Place::News(tick) => (4, tick),
            Place::Trap(trap) => (5, trap as u64),
            Place::Feed | Place::Robots | Place::RobotsMoved | Place::Sitemap(_) => (6, 0),
        };
        Draw::new(self.settings.seed, &[u64::from(spot.host), class, index, salt as u64])
    }

    /// Pages of a host that have pages below them: those before this index.
    pub(crate) fn inner(&self) -> u32 {
        (self.settings.pages_per_host - 1).div_ceil(self.branching)
    }

    pub(crate) fn kind(&self, host: u32, index: u32) -> Kind {
        if index == 0 || index < self.inner() {
            return Kind::Plain;
        }
        let mut at = self.draw(article(host, index), Salt::Kind).below(10_000);
        for (kind, share) in self.shares {
            match at.checked_sub(share.into()) {
                Some(rest) => at = rest,
                None => return self.possible(kind),
            }
        }
        Kind::Plain
    }

    /// Duplicates need an ordinary page that is not the home page.
    fn possible(&self, kind: Kind) -> Kind {
        match kind {
            Kind::NearDuplicate | Kind::ExactDuplicate | Kind::Canonical if self.inner() < 2 => Kind::Plain,
            kind => kind,
        }
    }

    /// The page whose text the duplicate at `index` has.
    pub(crate) fn original(&self, host: u32, index: u32) -> u32 {
        1 + self.draw(article(host, index), Salt::Original).below(self.inner() - 1)
    }

    pub(crate) fn sitemap(&self, host: u32) -> SitemapKind {
        turn(&self.settings.sitemaps, host).unwrap_or(SitemapKind::None)
    }

    /// Writes the title of a place.
    pub(crate) fn title(&self, spot: Spot, out: &mut String) {
        let mut draw = self.draw(spot, Salt::Title);
        Name::draw(&mut draw).write(out);
        out.push(' ');
        Name::draw(&mut draw).write(out);
    }

    fn slug(&self, spot: Spot, out: &mut String) {
        let mut draw = self.draw(spot, Salt::Title);
        Name::draw(&mut draw).write_lower(out);
        out.push('-');
        Name::draw(&mut draw).write_lower(out);
    }

    /// Writes the path of a place: canonical, as everything here that is not said to be otherwise.
    pub(crate) fn path(&self, spot: Spot, out: &mut String) {
        // Writing to a string cannot fail.
        let _ = match spot.place {
            Place::Article(0) => write!(out, "/"),
            Place::Article(index) => self.article_path(spot, index, out),
            Place::LoopStep(index, step) => {
                self.path(article(spot.host, index), out);
                write!(out, "?step={step}")
            }
            Place::Orphan(index) => {
                out.push_str("/archive/");
                self.slug(spot, out);
                write!(out, "-{index}")
            }
            Place::Decoy(index) => write!(out, "/decoy/{index}"),
            Place::News(tick) => write!(out, "/news/{tick}"),
            Place::Trap(Trap::Calendar) => write!(out, "/calendar/2026/11"),
            Place::Trap(trap) => write!(out, "{}", trap.prefix()),
            Place::Feed => write!(out, "/feed.xml"),
            Place::Robots => write!(out, "/robots.txt"),
            Place::RobotsMoved => write!(out, "/robots-moved.txt"),
            Place::Sitemap(file) => write!(out, "{}", file.path()),
        };
    }

    fn article_path(&self, spot: Spot, index: u32, out: &mut String) -> std::fmt::Result {
        let kind = self.kind(spot.host, index);
        match kind {
            Kind::Private => out.push_str("/private/"),
            Kind::OpenPrivate => out.push_str("/private/open/"),
            _ => write!(out, "/volume-{}/", index / VOLUME + 1)?,
        }
        self.slug(spot, out);
        write!(out, "-{index}")?;
        if kind == Kind::Print { write!(out, "/print") } else { Ok(()) }
    }

    /// Writes the whole URL of a place.
    pub(crate) fn url(&self, spot: Spot, out: &mut String) {
        out.push_str("http://");
        out.push_str(&self.names[spot.host as usize]);
        self.path(spot, out);
    }

    /// The place at a path. A query that means nothing changes nothing, as on real servers.
    pub(crate) fn find(&self, host: u32, path: &str, query: Option<&str>) -> Option<Spot> {
        let spot = |place| Spot { host, place };
        if let Some(trap) = Trap::ALL.into_iter().find(|trap| path.starts_with(trap.prefix())) {
            return Some(spot(Place::Trap(trap)));
        }
        let place = match path {
            "/" => Place::Article(0),
            "/robots.txt" => Place::Robots,
            "/robots-moved.txt" => Place::RobotsMoved,
            "/feed.xml" if self.settings.feeds => Place::Feed,
            _ => match SitemapFile::ALL.into_iter().find(|file| file.path() == path) {
                Some(file) => Place::Sitemap(file),
                None => self.numbered(host, path, query)?,
            },
        };
        Some(spot(place))
    }

    fn numbered(&self, host: u32, path: &str, query: Option<&str>) -> Option<Place> {
        let stem = path.strip_suffix("/print").unwrap_or(path);
        let digits = stem.len() - stem.bytes().rev().take_while(u8::is_ascii_digit).count();
        let number: u64 = stem[digits..].parse().ok()?;
        let index = u32::try_from(number).unwrap_or(u32::MAX);
        let place = match path.split('/').nth(1)? {
            "news" => Place::News(number),
            "decoy" => Place::Decoy(index),
            "archive" if index < self.settings.orphans => Place::Orphan(index),
            "archive" => return None,
            _ if index < self.settings.pages_per_host => Place::Article(index),
            _ => return None,
        };
        let mut canonical = String::with_capacity(path.len());
        self.path(Spot { host, place }, &mut canonical);
        if canonical != path {
            return None;
        }
        match (place, query) {
            (Place::Article(index), Some("step=1")) if self.looping(host, index) => {
                Some(Place::LoopStep(index, 1))
            }
            (Place::Article(index), Some("step=2")) if self.looping(host, index) => {
                Some(Place::LoopStep(index, 2))
            }
            _ => Some(place),
        }
    }

    fn looping(&self, host: u32, index: u32) -> bool {
        self.kind(host, index) == Kind::RedirectLoop
    }
}

/// A page.
pub(crate) fn article(host: u32, index: u32) -> Spot {
    Spot { host, place: Place::Article(index) }
}

/// Whose turn it is for `host`.
pub(crate) fn turn<T: Copy>(items: &[T], host: u32) -> Option<T> {
    let length = u32::try_from(items.len()).unwrap_or(u32::MAX);
    (length > 0).then(|| items[(host % length) as usize])
}

/// Names that begin with the number of the address, so that one pattern covers all hosts of an address.
fn names(settings: &WebSettings) -> Vec<String> {
    if !settings.names.is_empty() {
        return settings.names.clone();
    }
    let addresses = u32::from(settings.addresses);
    let group_width = if addresses > 1 { width(addresses - 1) } else { 0 };
    let rest_width = width((settings.hosts - 1) / addresses);
    let name = |host: u32| {
        let rest = host / addresses;
        if group_width == 0 {
            format!("h{rest:0rest_width$}.test")
        } else {
            format!("h{:0group_width$}{rest:0rest_width$}.test", host % addresses)
        }
    };
    (0..settings.hosts).map(name).collect()
}

/// Digits of the largest number of a group.
pub(crate) fn width(largest: u32) -> usize {
    largest.checked_ilog10().unwrap_or(0) as usize + 1
}
