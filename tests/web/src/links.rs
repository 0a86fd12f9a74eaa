//! Which links a page has, and how they are written.

use crate::plan::{Kind, Place, Plan, Salt, Spot, Trap, article};
use std::fmt::Write;

/// Pages of news that a home page links to: the newest.
pub(crate) const SHOWN_NEWS: u64 = 30;

/// Other home pages that a home page links to: the next ones, so that hosts that may not be fetched break no chain.
const NEIGHBOURS: u32 = 4;

/// One link in so many ten-thousandths is added to a page as one that must not be followed.
const DECOY_SHARE: u16 = 1_500;

/// Decoys that exist on a host.
pub(crate) const DECOYS: u32 = 100;

/// A link of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Link {
    pub(crate) spot: Spot,
    pub(crate) nofollow: bool,
    pub(crate) dress: Dress,
}

/// How a link is written. All mean the same URL to who knows the standards and the customs of the web.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dress {
    Plain,
    Absolute,
    UpperCase,
    DefaultPort,
    Fragment,
    DotSegments,
    Encoded,
    EmptyQuery,
    Tracking,
    NoScheme,
    Spaces,
    Entities,
    FinalDot,
    Backslash,
    NoQuotes,
}

impl Dress {
    const MESSY: [Self; 14] = [
        Self::Absolute,
        Self::UpperCase,
        Self::DefaultPort,
        Self::Fragment,
        Self::DotSegments,
        Self::Encoded,
        Self::EmptyQuery,
        Self::Tracking,
        Self::NoScheme,
        Self::Spaces,
        Self::Entities,
        Self::FinalDot,
        Self::Backslash,
        Self::NoQuotes,
    ];
}

impl Plan {
    /// The links of the page at `spot`, in the order in which they are written; the home page first.
    pub(crate) fn links(&self, spot: Spot, tick: u64) -> Vec<Link> {
        let plain = |spot| Link { spot, nofollow: false, dress: Dress::Plain };
        let home = plain(article(spot.host, 0));
        match spot.place {
            Place::Article(0) => self.home_links(spot.host, tick),
            Place::Article(index) => match self.kind(spot.host, index) {
                Kind::NearDuplicate | Kind::ExactDuplicate | Kind::Canonical => {
                    self.links(article(spot.host, self.original(spot.host, index)), tick)
                }
                Kind::Nofollow => {
                    let decoy = self.draw(spot, Salt::Links).below(DECOYS);
                    vec![home, plain(Spot { host: spot.host, place: Place::Decoy(decoy) })]
                }
                Kind::Huge => vec![home],
                kind if kind.is_linking() => self.article_links(spot.host, index, home),
                _ => Vec::new(),
            },
            Place::Orphan(_) | Place::News(_) => {
                let index = self.draw(spot, Salt::Links).below(self.settings.pages_per_host);
                vec![home, plain(article(spot.host, index))]
            }
            _ => Vec::new(),
        }
    }

    fn home_links(&self, host: u32, tick: u64) -> Vec<Link> {
        let hosts = self.settings.host_count();
        let plain = |host, place| Link { spot: Spot { host, place }, nofollow: false, dress: Dress::Plain };
        let mut links = self.article_links(host, 0, plain(host, Place::Article(0)));
        links.extend((1..=NEIGHBOURS.min(hosts - 1)).map(|by| plain((host + by) % hosts, Place::Article(0))));
        if self.settings.news {
            let first = (tick + 1).saturating_sub(SHOWN_NEWS).max(1);
            links.extend((first..=tick).map(|tick| plain(host, Place::News(tick))));
        }
        if self.settings.traps {
            links.extend(Trap::ALL.map(|trap| plain(host, Place::Trap(trap))));
        }
        links
    }

    fn article_links(&self, host: u32, index: u32, home: Link) -> Vec<Link> {
        let settings = &self.settings;
        let mut draw = self.draw(article(host, index), Salt::Links);
        let first = u64::from(index) * u64::from(self.branching) + 1;
        let end = (first + u64::from(self.branching)).min(settings.pages_per_host.into());
        let mut links = Vec::with_capacity(settings.links_per_page as usize + 2);
        links.push(home);
        let dress = |draw: &mut crate::mix::Draw| {
            if settings.messy > 0 && draw.chance(settings.messy) {
                *draw.pick(&Dress::MESSY)
            } else {
                Dress::Plain
            }
        };
        for below in first..end {
            let spot = article(host, below as u32);
            links.push(Link { spot, nofollow: false, dress: dress(&mut draw) });
        }
        while links.len() < settings.links_per_page as usize {
            let host = if draw.chance(settings.away) { draw.below(settings.host_count()) } else { host };
            let spot = article(host, draw.below(settings.pages_per_host));
            links.push(Link { spot, nofollow: false, dress: dress(&mut draw) });
        }
        if settings.decoys && draw.chance(DECOY_SHARE) {
            let spot = Spot { host, place: Place::Decoy(draw.below(DECOYS)) };
            links.push(Link { spot, nofollow: true, dress: Dress::Plain });
        }
        links
    }

    /// Writes the attribute `href` of a link on a page of `host`; below `/library/shelf/` if `based`.
    pub(crate) fn href(&self, host: u32, link: Link, based: bool, out: &mut String) {
        let (name, mut path) = (&self.names[link.spot.host as usize], String::with_capacity(64));
        self.path(link.spot, &mut path);
        let away = link.spot.host != host;
        // Writing to a string cannot fail.
        let _ = match link.dress {
            Dress::Plain if based && !away => write!(out, " href=\"../..{path}\""),
            Dress::Plain if !away => write!(out, " href=\"{path}\""),
            Dress::Plain | Dress::Absolute => write!(out, " href=\"http://{name}{path}\""),
            Dress::UpperCase => write!(out, " HREF=\"HTTP://{}{path}\"", name.to_ascii_uppercase()),
            Dress::DefaultPort => write!(out, " href=\"http://{name}:80{path}\""),
            Dress::Fragment => write!(out, " href=\"http://{name}{path}#section-2\""),
            Dress::DotSegments => write!(out, " href=\"http://{name}/./other/../{}\"", &path[1..]),
            Dress::Encoded => write!(out, " href=\"http://{name}{}\"", encoded(&path)),
            Dress::EmptyQuery if !path.contains('?') => write!(out, " href=\"http://{name}{path}?\""),
            Dress::Tracking if !path.contains('?') => {
                write!(out, " href=\"http://{name}{path}?utm_source=feed&amp;utm_medium=web\"")
            }
            Dress::EmptyQuery | Dress::Tracking => write!(out, " href=\"http://{name}{path}\""),
            Dress::NoScheme => write!(out, " href=\"//{name}{path}\""),
            Dress::Spaces => write!(out, " href=\"\n\t http://{name}{path} \""),
            Dress::Entities => write!(out, " href=\"http:&#47;&#x2f;{name}{path}\""),
            Dress::FinalDot => write!(out, " href='http://{name}.{path}'"),
            Dress::Backslash => write!(out, " href=\"http:\\\\{name}\\{}\"", &path[1..]),
            Dress::NoQuotes => write!(out, " href=http://{name}{path}"),
        };
    }
}

/// With the first letter or digit of the path written as an escape that need not be.
fn encoded(path: &str) -> String {
    match path.bytes().position(|byte| byte.is_ascii_alphanumeric()) {
        Some(at) => format!("{}%{:02x}{}", &path[..at], path.as_bytes()[at], &path[at + 1..]),
        None => path.to_owned(),
    }
}

impl Kind {
    /// Whether pages of this kind have links of their own.
    fn is_linking(self) -> bool {
        match self {
            Self::Plain
            | Self::TooMany
            | Self::Unavailable
            | Self::Slow
            | Self::Broken
            | Self::Charset
            | Self::Noindex
            | Self::Based
            | Self::Private
            | Self::OpenPrivate
            | Self::Print => true,
            Self::NearDuplicate
            | Self::ExactDuplicate
            | Self::Canonical
            | Self::Redirect
            | Self::RedirectLoop
            | Self::Missing
            | Self::Gone
            | Self::Error
            | Self::Hanging
            | Self::Huge
            | Self::Bomb
            | Self::Nofollow
            | Self::Text
            | Self::Binary => false,
        }
    }
}
