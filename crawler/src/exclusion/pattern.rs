//! Which part of the web does an exclusion mean?

use crate::canon::{CanonError, MAX_URL, Rules, percent};
use crate::robots::glob;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A site, a host, or the URLs that match a pattern, as a person writes it:
///
/// - `example.org`: the site, with all its hosts;
/// - `host:www.example.org`, `host:example.org:8080`: one host, whatever the scheme;
/// - `http://example.org/private/*`, `https://example.org/*.pdf$`: URLs that begin so, with `*` for anything and a final
///   `$` for the end, as in robots.txt. Without a scheme (`example.org/private/`) it means both.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    /// In normal form.
    text: String,
    site: String,
    kind: Kind,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Site,
    Host(String),
    Url {
        /// With `://`; empty for both.
        scheme: &'static str,
        /// Host and path, normalised, without final `$`.
        pattern: String,
        anchored: bool,
    },
}

/// What a pattern means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target<'a> {
    /// All of a site.
    Site(&'a str),
    /// All of a host (`name` or `name:port`).
    Host(&'a str),
    /// Some URLs of one host of this site.
    Urls {
        /// The site.
        site: &'a str,
    },
}

/// Why a text is no pattern.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PatternError {
    /// Nothing there.
    #[error("empty; give a site (example.org), host:NAME, or a URL with * and final $")]
    Empty,
    /// Over [`MAX_URL`].
    #[error("longer than {MAX_URL} bytes; no URL that is crawled is so long")]
    TooLong,
    /// Neither `http` nor `https`.
    #[error("only http and https URLs are crawled: begin with http://, https://, or the host for both")]
    Scheme,
    /// A wildcard in the host.
    #[error(
        "a wildcard may stand in the path only; to exclude all hosts of a site give the site, as example.org"
    )]
    Wildcard,
    /// No host name.
    #[error("no host name: {0}")]
    Host(CanonError),
    /// More than a host name where one should be.
    #[error("write host:NAME with a name and perhaps a port, nothing else")]
    NotHost,
    /// A host that is not a site.
    #[error("{host} is a host of the site {site}: write host:{host}, or {site} for all of it")]
    NotSite {
        /// What was given.
        host: String,
        /// Its site.
        site: String,
    },
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// When the text is none; the error says what to write instead.
    pub fn parse(text: &str) -> Result<Pattern, PatternError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        if text.len() > MAX_URL {
            return Err(PatternError::TooLong);
        }
        if let Some(name) = strip_prefix(text, "host:") {
            let (host, site) = host_and_site("http://", name)?;
            return Ok(Pattern { text: format!("host:{host}"), site, kind: Kind::Host(host) });
        }
        let (scheme, rest) = if let Some(rest) = strip_prefix(text, "http://") {
            ("http://", rest)
        } else if let Some(rest) = strip_prefix(text, "https://") {
            ("https://", rest)
        } else if text.contains("://") && !text.starts_with('/') {
            return Err(PatternError::Scheme);
        } else {
            ("", text.strip_prefix("//").unwrap_or(text))
        };
        let Some(path) = rest.find(['/', '?']) else {
            return if scheme.is_empty() { site_pattern(rest) } else { url_pattern(scheme, rest, "/") };
        };
        url_pattern(scheme, &rest[..path], &rest[path..])
    }

    /// In normal form; reads back as the same pattern.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The site it lies within.
    pub fn site(&self) -> &str {
        &self.site
    }

    /// What it means.
    pub fn target(&self) -> Target<'_> {
        match &self.kind {
            Kind::Site => Target::Site(&self.site),
            Kind::Host(host) => Target::Host(host),
            Kind::Url { .. } => Target::Urls { site: &self.site },
        }
    }

    /// Whether it means this canonical URL of this host and site.
    pub fn matches(&self, site: &str, host: &str, url: &str) -> bool {
        self.site == site
            && match &self.kind {
                Kind::Site => true,
                Kind::Host(own) => own == host,
                Kind::Url { .. } => self.matches_url(&comparable(url)),
            }
    }

    /// Whether it is a pattern of URLs and means this one, given as [`comparable`] gives it.
    pub(super) fn matches_url(&self, url: &str) -> bool {
        let Kind::Url { scheme, pattern, anchored } = &self.kind else { return false };
        let rest = if scheme.is_empty() {
            url.split_once("://").map(|(_, rest)| rest)
        } else {
            url.strip_prefix(scheme)
        };
        rest.is_some_and(|rest| glob::matches(pattern.as_bytes(), *anchored, rest.as_bytes()))
    }
}

/// A canonical URL with `*` and `$` escaped, which are special in a pattern.
pub(super) fn comparable(url: &str) -> Cow<'_, str> {
    if percent::PATH.is_normal(url.as_bytes()) {
        return Cow::Borrowed(url);
    }
    // Brackets stand in a URL only around an IPv6 address, which is not escaped.
    let path = url.find("://").map_or(0, |at| at + 3);
    let path = url[path..].find('/').map_or(url.len(), |at| path + at);
    let mut out = url[..path].to_owned();
    percent::PATH.normalise(&url.as_bytes()[path..], &mut out);
    Cow::Owned(out)
}

fn site_pattern(name: &str) -> Result<Pattern, PatternError> {
    let (host, site) = host_and_site("http://", name)?;
    if host != site {
        return Err(PatternError::NotSite { host, site });
    }
    Ok(Pattern { text: site.clone(), site, kind: Kind::Site })
}

fn url_pattern(scheme: &'static str, host: &str, path: &str) -> Result<Pattern, PatternError> {
    let (host, site) = host_and_site(if scheme.is_empty() { "http://" } else { scheme }, host)?;
    let path = path.split('#').next().unwrap_or_default();
    let (path, anchored) = path.strip_suffix('$').map_or((path, false), |path| (path, true));
    let mut pattern = host;
    if !path.starts_with('/') {
        pattern.push('/');
    }
    percent::RULE.normalise(path.as_bytes(), &mut pattern);
    let text = format!("{scheme}{pattern}{}", if anchored { "$" } else { "" });
    if text.len() > MAX_URL {
        return Err(PatternError::TooLong);
    }
    Ok(Pattern { text, site, kind: Kind::Url { scheme, pattern, anchored } })
}

/// A host as canonical URLs of this scheme have it, and its site.
fn host_and_site(scheme: &str, name: &str) -> Result<(String, String), PatternError> {
    if name.contains('*') {
        return Err(PatternError::Wildcard);
    }
    if name.contains(['/', '\\', '?', '#', '@']) {
        return Err(PatternError::NotHost);
    }
    let canon = Rules::default().canonical(&format!("{scheme}{name}/"), None).map_err(PatternError::Host)?;
    Ok((canon.host().to_owned(), canon.site().to_owned()))
}

fn strip_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

impl FromStr for Pattern {
    type Err = PatternError;
    fn from_str(text: &str) -> Result<Pattern, PatternError> {
        Pattern::parse(text)
    }
}

impl TryFrom<String> for Pattern {
    type Error = PatternError;
    fn try_from(text: String) -> Result<Pattern, PatternError> {
        Pattern::parse(&text)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> String {
        pattern.text
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({})", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn means(pattern: &str, url: &str) -> bool {
        let canon = Rules::default().canonical(url, None).unwrap();
        Pattern::parse(pattern).unwrap().matches(canon.site(), canon.host(), canon.url())
    }

    #[test]
    fn patterns_mean_sites_hosts_and_urls() {
        for (pattern, yes, no) in [
            ("example.org", "https://a.b.example.org:81/x", "http://example.com/"),
            ("EXAMPLE.org.", "http://example.org/", "http://notexample.org/"),
            ("192.168.0.1", "http://192.168.0.1:8080/", "http://192.168.0.2/"),
            ("host:www.example.org", "https://www.example.org/x", "http://example.org/"),
            ("HOST:a.test:8080", "http://a.test:8080/", "http://a.test/"),
            ("host:[::1]", "http://[::1]/", "http://[::1]:8080/"),
            ("http://example.org/private/*", "http://example.org/private/x", "https://example.org/private/x"),
            ("http://example.org/private", "http://example.org/private.html", "http://example.org/public"),
            ("https://example.org", "https://example.org/any", "https://www.example.org/any"),
            ("https://example.org:443/a", "https://example.org/a", "http://example.org/a"),
            ("https://example.org:80/a", "https://example.org:80/a", "https://example.org/a"),
            ("example.org/a/", "https://example.org/a/b", "https://example.org/a"),
            ("//example.org/a/", "http://example.org/a/b", "http://www.example.org/a/b"),
            ("http://a.test/*.pdf$", "http://a.test/x/y.pdf", "http://a.test/x.pdf?y"),
            ("http://a.test/?q=*&page=", "http://a.test/?q=x&page=2", "http://a.test/?q=x"),
            ("http://a.test?q", "http://a.test/?q=1", "http://a.test/a?q"),
            ("http://a.test/%7eme/é", "http://a.test/~me/%C3%A9", "http://a.test/me"),
            ("http://a.test/x%2A", "http://a.test/x*y", "http://a.test/xy"),
            ("http://[::1]:81/a$", "http://[::1]:81/a", "http://[::1]:81/ab"),
        ] {
            assert!(means(pattern, yes), "{pattern} means {yes}");
            assert!(!means(pattern, no), "{pattern} does not mean {no}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_a_remedy() {
        for (text, wanted) in [
            (" ", "empty"),
            ("www.example.org", "host:www.example.org, or example.org for all"),
            ("example.org:8080", "write host:example.org:8080"),
            ("*.example.org", "give the site"),
            ("http://*.example.org/a", "give the site"),
            ("host:a/b", "a name and perhaps a port"),
            ("ftp://a.test/", "only http and https"),
            ("http://a b/", "no host name"),
            ("http://me@a.test/", "write host:NAME"),
        ] {
            let error = Pattern::parse(text).expect_err(text).to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
        assert_eq!(Pattern::parse(&"a".repeat(MAX_URL + 1)), Err(PatternError::TooLong));
        assert_eq!(
            Pattern::parse(&format!("a.test/{}", "é".repeat(MAX_URL / 3))),
            Err(PatternError::TooLong)
        );
    }

    proptest! {
        #[test]
        fn a_pattern_reads_back_as_itself(
            text in prop_oneof!["(host:|https?://|//)?(a\\.test|x\\.a\\.test|\\[::1\\])(:443|:81)?[/?*$a%é#]{0,6}", any::<String>()]
        ) {
            if let Ok(pattern) = Pattern::parse(&text) {
                let again = Pattern::parse(pattern.as_str());
                prop_assert_eq!(again.as_ref(), Ok(&pattern));
                let json = serde_json::to_string(&pattern).unwrap();
                prop_assert_eq!(serde_json::from_str::<Pattern>(&json).unwrap(), pattern);
            }
        }
    }
}
