//! Under which one name is a URL known, and which host and site is it of?
//!
//! Two spellings that any server must answer alike get one name: the WHATWG URL standard decides how a
//! reference is read, RFC 3986 section 6.2.2 how the result is spelled, and a list which parameters are not
//! part of the question.

pub(crate) mod percent;
mod tracking;

pub use tracking::DEFAULT as DEFAULT_TRACKING;
pub(crate) use tracking::looks_like_session;

use anthill_protocol::key::{HostId, SiteId, UrlId};
use std::fmt;
use tracking::Tracking;
use url::{Host, Position, Url};

/// The longest URL followed, in bytes: what the sitemap protocol, common browsers and servers agree to take. Longer
/// ones are nearly always traps, and every record and message can count on the bound.
pub const MAX_URL: usize = 2_048;

/// The longest reference looked at, in bytes without its fragment. Canonical form may be shorter than what was
/// written (dot segments, session parameters), but not by so much; `data:` URLs of megabytes are not read.
pub const MAX_REFERENCE: usize = 8 * MAX_URL;

/// The longest name and label that can be looked up (RFC 1035 section 2.3.4).
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// Why something is no URL that can be crawled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CanonError {
    /// Not a URL by the WHATWG standard, or relative without a base.
    #[error("not a URL: {0}; give one like http://example.org/path")]
    Invalid(url::ParseError),
    /// Neither `http` nor `https`.
    #[error("only http and https URLs are crawled")]
    Scheme,
    /// A host name with an empty or overlong label, or overlong itself: it cannot be looked up.
    #[error("the host name cannot be looked up: labels have 1 to 63 bytes, a name at most 253")]
    Host,
    /// Over [`MAX_URL`].
    #[error("the URL is longer than {MAX_URL} bytes; longer ones are not crawled")]
    TooLong,
}

/// A URL in canonical form, with its host and site.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Canon {
    url: String,
    /// Where in `url` the host begins, its name ends (without port), and the path begins.
    host_start: u16,
    name_end: u16,
    path_start: u16,
    /// Where in `url` the site begins; it ends with the name.
    site_start: u16,
}

/// The three ids of a URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ids {
    /// Of its site.
    pub site: SiteId,
    /// Of its host.
    pub host: HostId,
    /// Its own.
    pub url: UrlId,
}

impl Canon {
    /// The URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL, taken out.
    pub fn into_url(self) -> String {
        self.url
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &str {
        if self.is_https() { "https" } else { "http" }
    }

    /// Whether the scheme is `https`.
    pub fn is_https(&self) -> bool {
        self.url.as_bytes().get(4) == Some(&b's')
    }

    /// Host name in lower case (punycode) or IP literal (IPv6 in brackets), and `:port` when the port is not
    /// the scheme's default.
    pub fn host(&self) -> &str {
        &self.url[usize::from(self.host_start)..usize::from(self.path_start)]
    }

    /// The host without its port.
    pub fn host_name(&self) -> &str {
        &self.url[usize::from(self.host_start)..usize::from(self.name_end)]
    }

    /// The registrable domain (public suffix list with its private part), the IP literal, or the whole host name
    /// when that is a public suffix itself or a single label.
    pub fn site(&self) -> &str {
        &self.url[usize::from(self.site_start)..usize::from(self.name_end)]
    }

    /// Path and query: what robots.txt is asked about.
    pub fn path_and_query(&self) -> &str {
        &self.url[usize::from(self.path_start)..]
    }

    /// The path alone; begins with `/`.
    pub fn path(&self) -> &str {
        self.path_and_query().split('?').next().unwrap_or_default()
    }

    /// The query without its `?`, if there is one.
    pub fn query(&self) -> Option<&str> {
        self.path_and_query().split_once('?').map(|(_, query)| query)
    }

    /// All three ids, hashing the site once.
    pub fn ids(&self) -> Ids {
        let site = self.site_id();
        Ids { site, host: self.host_within(site), url: UrlId::of(site, &self.url) }
    }

    /// The id of its site.
    pub fn site_id(&self) -> SiteId {
        SiteId::of(self.site())
    }

    /// The id of its host.
    pub fn host_id(&self) -> HostId {
        self.host_within(self.site_id())
    }

    /// A host is a name and a port: `http://a.test/` and `https://a.test/` are two, told apart by the ports that their
    /// schemes stand for, since one may be down while the other answers.
    fn host_within(&self, site: SiteId) -> HostId {
        let has_port = usize::from(self.name_end) < usize::from(self.path_start);
        if self.is_https() && !has_port {
            HostId::of(site, &format!("{}:443", self.host()))
        } else {
            HostId::of(site, self.host())
        }
    }

    /// Its id.
    pub fn url_id(&self) -> UrlId {
        UrlId::of(self.site_id(), &self.url)
    }

    /// The same URL as the `url` crate holds it, to resolve references against or to ask for.
    ///
    /// # Panics
    /// Never: what is canonical was written by that crate.
    pub fn to_url(&self) -> Url {
        Url::parse(&self.url).expect("a canonical URL is a URL")
    }
}

impl fmt::Display for Canon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl fmt::Debug for Canon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canon")
            .field("url", &self.url)
            .field("host", &self.host())
            .field("site", &self.site())
            .finish()
    }
}

/// What canonical form is made by.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    tracking: Tracking,
}

impl Rules {
    /// Rules that drop these parameters, in the notation of [`DEFAULT_TRACKING`], instead of those.
    pub fn with_tracking<S: AsRef<str>>(list: impl IntoIterator<Item = S>) -> Rules {
        Rules { tracking: Tracking::new(list) }
    }

    /// The canonical form of what a link (or a person) wrote. `base` is the URL of the page, or what its `<base>`
    /// says.
    ///
    /// Canonical form is its own canonical form.
    ///
    /// # Errors
    /// When it is no URL, not one of the web's, too long, or of a host that cannot be.
    pub fn canonical(&self, reference: &str, base: Option<&Url>) -> Result<Canon, CanonError> {
        // The fragment goes anyway; its `#` stays until parsed, because a space before it counts.
        let reference = memchr::memchr(b'#', reference.as_bytes()).map_or(reference, |at| &reference[..=at]);
        if reference.len() > MAX_REFERENCE {
            return Err(CanonError::TooLong);
        }
        if let Some(canon) = self.plain(reference.strip_suffix('#').unwrap_or(reference)) {
            return Ok(canon);
        }
        let url = match base {
            Some(base) => base.join(reference),
            None => Url::parse(reference),
        };
        self.of_url(url.map_err(CanonError::Invalid)?)
    }

    /// What is plainly in canonical form already, as most links to other sites are and all that peers tell each other, without the work of parsing
    /// it: a name of lower-case letters, digits and hyphens whose last label begins with a letter, so that it is no address and nothing of
    /// it would be changed; no port; a path without dot segments. None for anything else, which may be canonical nonetheless.
    fn plain(&self, text: &str) -> Option<Canon> {
        let rest = text.strip_prefix("http")?;
        let rest = rest.strip_prefix('s').unwrap_or(rest).strip_prefix("://")?;
        let (name, _) = rest.split_once('/')?;
        let (name_end, host_start) = (text.len() - rest.len() + name.len(), text.len() - rest.len());
        let (path, query) = match text[name_end..].split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (&text[name_end..], None),
        };
        let is_plain = text.len() <= MAX_URL
            && is_plain_name(name)
            && self.path_is_canonical(path)
            && !path.split('/').any(|segment| matches!(segment, "." | ".."))
            // In a query the `url` crate escapes it (WHATWG, special-query percent-encode set).
            && query.is_none_or(|query| !query.contains('\'') && self.query_is_canonical(query));
        is_plain.then(|| Canon {
            url: text.to_owned(),
            host_start: small(host_start),
            name_end: small(name_end),
            path_start: small(name_end),
            site_start: small(name_end - psl::domain_str(name).unwrap_or(name).len()),
        })
    }

    /// The canonical form of a URL that was parsed already.
    ///
    /// # Errors
    /// As [`Rules::canonical`].
    pub fn of_url(&self, url: Url) -> Result<Canon, CanonError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(CanonError::Scheme);
        }
        let scheme = url.scheme().len();
        let host_text = url.host_str().unwrap_or_default();
        let named = matches!(url.host(), Some(Host::Domain(_)));
        let name = if named { host_text.strip_suffix('.').unwrap_or(host_text) } else { host_text };
        if named && !can_be_looked_up(name) || name.is_empty() {
            return Err(CanonError::Host);
        }
        let site = if named { psl::domain_str(name).unwrap_or(name).len() } else { name.len() };
        let port = url.port();
        let name = name.len();

        let as_it_is = name == host_text.len()
            && url[Position::BeforeUsername..Position::BeforeHost].is_empty()
            && self.path_is_canonical(url.path())
            && url.query().is_none_or(|query| self.query_is_canonical(query));
        let text = if as_it_is {
            let length = url[..Position::AfterQuery].len();
            let mut text = String::from(url);
            text.truncate(length);
            text
        } else {
            self.rebuild(&url, name)
        };
        if text.len() > MAX_URL {
            return Err(CanonError::TooLong);
        }
        let host_start = scheme + 3;
        let name_end = host_start + name;
        let port_length = port.map_or(0, |port| 1 + decimal_digits(port));
        Ok(Canon {
            url: text,
            host_start: small(host_start),
            name_end: small(name_end),
            path_start: small(name_end + port_length),
            site_start: small(name_end - site),
        })
    }

    fn path_is_canonical(&self, path: &str) -> bool {
        percent::URL.is_normal(path.as_bytes())
            && (memchr::memchr(b';', path.as_bytes()).is_none() || !self.path_has_session(path))
    }

    fn query_is_canonical(&self, query: &str) -> bool {
        !query.is_empty()
            && percent::URL.is_normal(query.as_bytes())
            && !query.split('&').any(|parameter| self.tracking.drops(parameter.as_bytes()))
    }

    fn path_has_session(&self, path: &str) -> bool {
        path.split('/').any(|segment| {
            let mut parts = segment.split(';');
            !matches!(parts.next(), Some("." | ".."))
                && parts.any(|part| self.tracking.drops(part.as_bytes()))
        })
    }

    /// Writes the URL anew, part by part; `name` is the length of its host's name without a final dot.
    fn rebuild(&self, url: &Url, name: usize) -> String {
        let mut out = String::with_capacity(url.as_str().len() + 16);
        out.push_str(url.scheme());
        out.push_str("://");
        out.push_str(&url.host_str().unwrap_or_default()[..name]);
        out.push_str(&url[Position::AfterHost..Position::BeforePath]);

        let mut normal = String::with_capacity(url.path().len() + 16);
        percent::URL.normalise(url.path().as_bytes(), &mut normal);
        self.push_path(&normal, &mut out);

        if let Some(query) = url.query() {
            normal.clear();
            percent::URL.normalise(query.as_bytes(), &mut normal);
            self.push_query(&normal, &mut out);
        }
        out
    }

    /// Appends the path without its session parameters (`/page;jsessionid=1F`).
    fn push_path(&self, path: &str, out: &mut String) {
        if !self.path_has_session(path) {
            return out.push_str(path);
        }
        for (number, segment) in path.split('/').enumerate() {
            if number > 0 {
                out.push('/');
            }
            let mut parts = segment.split(';');
            let first = parts.next().unwrap_or_default();
            if matches!(first, "." | "..") {
                // `..;jsessionid=1` names a segment; what would be left of it is a step up.
                out.push_str(segment);
                continue;
            }
            out.push_str(first);
            for part in parts.filter(|part| !self.tracking.drops(part.as_bytes())) {
                out.push(';');
                out.push_str(part);
            }
        }
    }

    /// Appends `?` and what is left of the query, if anything is.
    fn push_query(&self, query: &str, out: &mut String) {
        let mark = out.len();
        out.push('?');
        let start = out.len();
        let kept = query.split('&').filter(|parameter| !self.tracking.drops(parameter.as_bytes()));
        for (number, parameter) in kept.enumerate() {
            if number > 0 {
                out.push('&');
            }
            out.push_str(parameter);
        }
        if out.len() == start {
            out.truncate(mark);
        }
    }
}

/// Whether a host name, without its final dot, could be in the DNS as far as lengths go. Empty labels matter: without
/// their dots `1..` would become the address 0.0.0.1.
fn can_be_looked_up(name: &str) -> bool {
    name.len() <= MAX_NAME && name.split('.').all(|label| (1..=MAX_LABEL).contains(&label.len()))
}

/// Whether a name is a domain that is spelled in one way only: nothing in it is decoded, mapped or read as an address (WHATWG URL, 3.5).
fn is_plain_name(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    can_be_looked_up(name)
        && last.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|octet| matches!(octet, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.'))
        && !name.contains("xn--")
}

fn decimal_digits(port: u16) -> usize {
    match port {
        0..10 => 1,
        10..100 => 2,
        100..1_000 => 3,
        1_000..10_000 => 4,
        _ => 5,
    }
}

/// A place in a URL of at most [`MAX_URL`] bytes.
fn small(place: usize) -> u16 {
    u16::try_from(place).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
