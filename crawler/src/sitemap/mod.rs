//! Which URLs does a sitemap or a feed name?
//!
//! Sitemaps as sitemaps.org describes them (`urlset`, `sitemapindex`, plain text), RSS 0.9x, 1.0 and 2.0, and Atom
//! (RFC 4287), compressed by gzip or not. What is damaged is read as far as it goes.

mod decode;
mod xml;

use crate::canon::MAX_URL;
use std::fmt;
use url::Url;

/// How many URLs are taken of one file, and how many sitemaps of an index: what the protocol lets one have.
pub const MAX_URLS: usize = 50_000;

/// How much of a file is read once decompressed, in bytes: what the protocol lets one have (50 MB).
pub const MAX_BYTES: usize = 50 * 1024 * 1024;

/// The longest date kept, in bytes; RFC 822 dates, the longest in use, have about 35.
const MAX_DATE: usize = 64;

/// What kind of file it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A sitemap in XML.
    UrlSet,
    /// A sitemap of sitemaps.
    SitemapIndex,
    /// RSS 0.9x or 2.0.
    Rss,
    /// RSS 1.0.
    Rdf,
    /// Atom.
    Atom,
}

impl Kind {
    /// Whether it is a feed: it names what is new, not all there is.
    pub fn is_feed(self) -> bool {
        matches!(self, Kind::Rss | Kind::Rdf | Kind::Atom)
    }
}

/// A URL that a file names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Absolute, `http` or `https`, not yet canonical.
    pub url: String,
    /// When it changed last, as written: W3C date in sitemaps and Atom, RFC 822 date in RSS.
    pub lastmod: Option<String>,
}

/// What is wrong with a file; what could be read was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Defect {
    /// The gzip stream is broken or ends early.
    Compression,
    /// More than [`MAX_BYTES`]: the rest is not read.
    TooBig,
    /// Octets that are none in the encoding the file says it has.
    Encoding,
    /// The XML is not well-formed, or ends early.
    Xml,
    /// Neither a sitemap nor a feed.
    Unknown,
    /// An entry without a URL, or whose URL is none, too long, or not of the web.
    Url,
    /// More than [`MAX_URLS`]: the rest is not taken.
    TooMany,
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Defect::Compression => "the gzip stream is broken or ends early",
            Defect::TooBig => "over 50 MB: the rest was not read",
            Defect::Encoding => "not in the encoding it says it has",
            Defect::Xml => "the XML is not well-formed or ends early",
            Defect::Unknown => "neither a sitemap nor a feed",
            Defect::Url => "an entry without a URL that can be crawled",
            Defect::TooMany => "over 50,000 URLs: the rest was not taken",
        })
    }
}

/// What a sitemap or feed says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sitemap {
    /// Pages, in the file's order.
    pub urls: Vec<Entry>,
    /// Other sitemaps.
    pub sitemaps: Vec<Entry>,
    /// What is wrong, each kind once.
    pub defects: Vec<Defect>,
    /// Whether it is a feed.
    pub feed: bool,
}

/// Reads a sitemap or feed that was found at `url`, against which relative URLs are resolved.
pub fn parse(body: &[u8], url: &Url) -> Sitemap {
    let mut collector = Collector { base: url.clone(), sitemap: Sitemap::default() };
    let body = decode::inflated(body, &mut collector);
    let text = decode::text(&body, &mut collector);
    match text.trim_start().starts_with('<') {
        true => xml::read(&text, &mut collector),
        false => lines(&text, &mut collector),
    }
    collector.sitemap
}

/// Whether a response is a sitemap or feed by its root element; or, if there is none to be seen at its
/// beginning, by a content type that says so. Plain text is none: it may be a page.
pub fn looks_like(body: &[u8], content_type: Option<&str>) -> Option<Kind> {
    /// How far to look: past declarations, comments and stylesheets.
    const HEAD: usize = 4_096;
    let head = decode::head(body, HEAD);
    match xml::root(&head) {
        Some(root) => root,
        None => {
            let essence = content_type?.split(';').next().unwrap_or_default().trim();
            let is = |name: &str| essence.eq_ignore_ascii_case(name) && head.trim_start().starts_with('<');
            if is("application/rss+xml") {
                Some(Kind::Rss)
            } else if is("application/rdf+xml") {
                Some(Kind::Rdf)
            } else if is("application/atom+xml") {
                Some(Kind::Atom)
            } else {
                None
            }
        }
    }
}

/// Gathers what is found, within bounds.
struct Collector {
    base: Url,
    sitemap: Sitemap,
}

impl Collector {
    fn defect(&mut self, defect: Defect) {
        if !self.sitemap.defects.contains(&defect) {
            self.sitemap.defects.push(defect);
        }
    }

    /// Takes an entry; false when there is no room for more.
    fn entry(&mut self, reference: &str, lastmod: &str, is_sitemap: bool) -> bool {
        let reference = reference.trim();
        let parsed = (1..=MAX_URL).contains(&reference.len()).then(|| self.base.join(reference));
        let url = match parsed {
            Some(Ok(url)) if matches!(url.scheme(), "http" | "https") && url.as_str().len() <= MAX_URL => url,
            _ => {
                self.defect(Defect::Url);
                return true;
            }
        };
        let list = if is_sitemap { &mut self.sitemap.sitemaps } else { &mut self.sitemap.urls };
        if list.len() >= MAX_URLS {
            self.defect(Defect::TooMany);
            return false;
        }
        let lastmod = lastmod.trim();
        let lastmod = (1..=MAX_DATE).contains(&lastmod.len()).then(|| lastmod.to_owned());
        list.push(Entry { url: url.into(), lastmod });
        true
    }
}

/// A sitemap in plain text: one absolute URL a line. Text without any is something else.
fn lines(text: &str, collector: &mut Collector) {
    let is_url = |line: &str| {
        let begins =
            |prefix: &str| line.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix));
        begins("http://") || begins("https://")
    };
    let (mut others, mut start) = (false, 0);
    for end in memchr::memchr2_iter(b'\n', b'\r', text.as_bytes()).chain([text.len()]) {
        let line = text[start..end].trim();
        start = end + 1;
        if !is_url(line) {
            others |= !line.is_empty();
        } else if !collector.entry(line, "", false) {
            break;
        }
    }
    if collector.sitemap.urls.is_empty() && !collector.sitemap.defects.contains(&Defect::Url) {
        collector.defect(Defect::Unknown);
    } else if others {
        collector.defect(Defect::Url);
    }
}

#[cfg(test)]
mod tests;
