//! Must this part of the web be left alone, and who says so?

mod pattern;

pub use pattern::{Pattern, PatternError, Target};

use crate::map::Map;
use serde::{Deserialize, Serialize};

/// How many exclusions a peer holds. Lists of unwanted sites that people keep have some ten thousand entries; at
/// about 300 bytes each this is 30 MB.
pub const MAX_EXCLUSIONS: usize = 100_000;

/// How many patterns of URLs one site may have. Each is held against every URL of the site; whoever needs more can
/// exclude hosts, or the site.
pub const MAX_URL_PATTERNS: usize = 1_000;

/// The longest reason and issuer kept, in bytes: a sentence or two.
pub const MAX_TEXT: usize = 1_000;

/// What must not be done. What must not be crawled must not be indexed either, and what must not be indexed must not
/// be shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Not fetched, not kept, not shown.
    #[default]
    Crawl,
    /// Not kept and not shown.
    Index,
    /// Not shown.
    Show,
}

impl Scope {
    /// Whether an exclusion of this scope forbids `other`.
    pub fn implies(self, other: Scope) -> bool {
        self <= other
    }
}

/// A rule that part of the web must not be crawled, indexed or shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Exclusion {
    /// Which part.
    pub pattern: Pattern,
    /// What must not be done.
    pub scope: Scope,
    /// Why, for people.
    #[serde(default)]
    pub reason: String,
    /// Who says so: a peer's id, or empty for this peer's operator.
    #[serde(default)]
    pub issuer: String,
    /// The issuer's sequence number: of two that are otherwise the same, the higher holds.
    #[serde(default)]
    pub seq: u64,
    /// When it was made, Unix seconds.
    #[serde(default)]
    pub created_s: u64,
}

/// Why an exclusion is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExclusionError {
    /// At [`MAX_EXCLUSIONS`].
    #[error("there are {MAX_EXCLUSIONS} exclusions already; take some back (anthill include PATTERN)")]
    Full,
    /// At [`MAX_URL_PATTERNS`].
    #[error("the site has {MAX_URL_PATTERNS} URL patterns already; exclude the host or the site instead")]
    SiteFull,
    /// Reason or issuer over [`MAX_TEXT`].
    #[error("reason and issuer have at most {MAX_TEXT} bytes each; give a shorter one")]
    TextTooLong,
}

/// The exclusions in force.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<Exclusion>", into = "Vec<Exclusion>")]
pub struct Exclusions {
    sites: Map<String, OfSite>,
    count: usize,
}

/// The exclusions within one site; never empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct OfSite {
    whole: Vec<Exclusion>,
    hosts: Map<String, Vec<Exclusion>>,
    urls: Vec<Exclusion>,
}

impl Exclusions {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds an exclusion. One of the same pattern, scope and issuer is replaced, unless its sequence number is higher.
    /// Says whether anything changed.
    ///
    /// # Errors
    /// When a bound is reached; then nothing changes.
    pub fn insert(&mut self, exclusion: Exclusion) -> Result<bool, ExclusionError> {
        if exclusion.reason.len() > MAX_TEXT || exclusion.issuer.len() > MAX_TEXT {
            return Err(ExclusionError::TextTooLong);
        }
        if let Some(list) =
            self.sites.get_mut(exclusion.pattern.site()).and_then(|of| of.list_mut(&exclusion.pattern))
            && let Some(old) = list.iter_mut().find(|old| old.is_same_rule(&exclusion))
        {
            let changes = exclusion.seq >= old.seq && *old != exclusion;
            if changes {
                *old = exclusion;
            }
            return Ok(changes);
        }
        if self.count >= MAX_EXCLUSIONS {
            return Err(ExclusionError::Full);
        }
        let site = exclusion.pattern.site();
        if matches!(exclusion.pattern.target(), Target::Urls { .. })
            && self.sites.get(site).is_some_and(|of| of.urls.len() >= MAX_URL_PATTERNS)
        {
            return Err(ExclusionError::SiteFull);
        }
        let of = self.sites.entry(site.to_owned()).or_default();
        match exclusion.pattern.target() {
            Target::Site(_) => of.whole.push(exclusion),
            Target::Host(host) => of.hosts.entry(host.to_owned()).or_default().push(exclusion),
            Target::Urls { .. } => of.urls.push(exclusion),
        }
        self.count += 1;
        Ok(true)
    }

    /// Takes back all exclusions of a pattern, or those of one issuer. Gives what was taken back.
    pub fn remove(&mut self, pattern: &Pattern, issuer: Option<&str>) -> Vec<Exclusion> {
        let Some(of) = self.sites.get_mut(pattern.site()) else { return Vec::new() };
        let goes =
            |one: &mut Exclusion| one.pattern == *pattern && issuer.is_none_or(|issuer| one.issuer == issuer);
        let gone: Vec<_> =
            of.list_mut(pattern).map(|list| list.extract_if(.., goes).collect()).unwrap_or_default();
        of.hosts.retain(|_, list| !list.is_empty());
        if of.whole.is_empty() && of.hosts.is_empty() && of.urls.is_empty() {
            self.sites.remove(pattern.site());
        }
        self.count -= gone.len();
        gone
    }

    /// All of them, in the order of their patterns.
    pub fn list(&self) -> Vec<&Exclusion> {
        let mut all: Vec<_> = self.iter().collect();
        all.sort_by_key(|one| (&one.pattern, one.scope, &one.issuer));
        all
    }

    /// All of them, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = &Exclusion> {
        self.sites.values().flat_map(|of| of.whole.iter().chain(of.hosts.values().flatten()).chain(&of.urls))
    }

    /// The exclusion that forbids doing this with a canonical URL, if there is one; `site` and `host` are the URL's.
    pub fn forbids(&self, scope: Scope, site: &str, host: &str, url: &str) -> Option<&Exclusion> {
        if self.count == 0 {
            return None;
        }
        let of = self.sites.get(site)?;
        let wide = of.whole.iter().chain(of.hosts.get(host).into_iter().flatten());
        wide.into_iter().find(|one| one.scope.implies(scope)).or_else(|| {
            let url = if of.urls.is_empty() { return None } else { pattern::comparable(url) };
            of.urls.iter().find(|one| one.scope.implies(scope) && one.pattern.matches_url(&url))
        })
    }
}

impl OfSite {
    /// The list a pattern belongs to, if it is there.
    fn list_mut(&mut self, pattern: &Pattern) -> Option<&mut Vec<Exclusion>> {
        match pattern.target() {
            Target::Site(_) => Some(&mut self.whole),
            Target::Host(host) => self.hosts.get_mut(host),
            Target::Urls { .. } => Some(&mut self.urls),
        }
    }
}

impl Exclusion {
    fn is_same_rule(&self, other: &Exclusion) -> bool {
        self.pattern == other.pattern && self.scope == other.scope && self.issuer == other.issuer
    }
}

impl TryFrom<Vec<Exclusion>> for Exclusions {
    type Error = ExclusionError;
    fn try_from(list: Vec<Exclusion>) -> Result<Exclusions, ExclusionError> {
        let mut exclusions = Exclusions::default();
        for one in list {
            exclusions.insert(one)?;
        }
        Ok(exclusions)
    }
}

impl From<Exclusions> for Vec<Exclusion> {
    fn from(exclusions: Exclusions) -> Vec<Exclusion> {
        exclusions.list().into_iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::Rules;

    fn exclusion(pattern: &str, scope: Scope) -> Exclusion {
        let pattern = Pattern::parse(pattern).unwrap();
        Exclusion { pattern, scope, reason: String::new(), issuer: String::new(), seq: 1, created_s: 0 }
    }

    fn forbidden(exclusions: &Exclusions, scope: Scope, url: &str) -> bool {
        let canon = Rules::default().canonical(url, None).unwrap();
        exclusions.forbids(scope, canon.site(), canon.host(), canon.url()).is_some()
    }

    #[test]
    fn a_scope_implies_the_narrower_ones() {
        for (scope, wanted) in [
            (Scope::Crawl, [true, true, true]),
            (Scope::Index, [false, true, true]),
            (Scope::Show, [false, false, true]),
        ] {
            for pattern in ["a.test", "host:a.test", "http://a.test/*"] {
                let mut exclusions = Exclusions::default();
                assert_eq!(exclusions.insert(exclusion(pattern, scope)), Ok(true));
                let got = [Scope::Crawl, Scope::Index, Scope::Show]
                    .map(|s| forbidden(&exclusions, s, "http://a.test/x"));
                assert_eq!(got, wanted, "{pattern} {scope:?}");
            }
        }
    }

    #[test]
    fn the_wider_scope_is_found_beside_a_narrower_one() {
        let mut exclusions = Exclusions::default();
        exclusions.insert(exclusion("a.test", Scope::Show)).unwrap();
        exclusions.insert(exclusion("http://a.test/x", Scope::Crawl)).unwrap();
        let url = "http://a.test/xy";
        let found = exclusions.forbids(Scope::Crawl, "a.test", "a.test", url).unwrap();
        assert_eq!(found.pattern.as_str(), "http://a.test/x");
        assert!(exclusions.forbids(Scope::Crawl, "a.test", "a.test", "http://a.test/y").is_none());
    }

    #[test]
    fn only_what_is_meant_is_forbidden() {
        let mut exclusions = Exclusions::default();
        for pattern in ["bad.test", "host:www.half.test", "http://some.test/private/*", "some.test/*.pdf$"] {
            exclusions.insert(exclusion(pattern, Scope::Crawl)).unwrap();
        }
        for url in [
            "http://x.bad.test/",
            "http://www.half.test/",
            "http://some.test/private/",
            "https://some.test/a.pdf",
        ] {
            assert!(forbidden(&exclusions, Scope::Crawl, url), "{url}");
        }
        for url in [
            "http://good.test/",
            "http://half.test/",
            "https://some.test/private/",
            "http://some.test/a.pdf?b",
        ] {
            assert!(!forbidden(&exclusions, Scope::Crawl, url), "{url}");
        }
    }

    #[test]
    fn what_is_taken_back_is_forgotten() {
        let mut exclusions = Exclusions::default();
        for pattern in ["a.test", "host:a.test", "http://a.test/x"] {
            exclusions.insert(exclusion(pattern, Scope::Crawl)).unwrap();
            exclusions.insert(exclusion(pattern, Scope::Show)).unwrap();
        }
        assert_eq!((exclusions.len(), exclusions.iter().count()), (6, 6));
        for pattern in ["a.test", "host:a.test", "http://a.test/x"] {
            let pattern = Pattern::parse(pattern).unwrap();
            assert_eq!(exclusions.remove(&pattern, Some("somebody")).len(), 0);
            assert_eq!(exclusions.remove(&pattern, None).len(), 2);
            assert_eq!(exclusions.remove(&pattern, None).len(), 0);
        }
        assert_eq!(exclusions, Exclusions::default());
    }

    #[test]
    fn a_later_word_of_the_same_issuer_replaces_an_earlier_one() {
        let mut exclusions = Exclusions::default();
        let with = |seq, reason: &str, issuer: &str| Exclusion {
            seq,
            reason: reason.into(),
            issuer: issuer.into(),
            ..exclusion("a.test", Scope::Crawl)
        };
        assert_eq!(exclusions.insert(with(2, "spam", "")), Ok(true));
        assert_eq!(exclusions.insert(with(2, "spam", "")), Ok(false));
        assert_eq!(exclusions.insert(with(1, "old", "")), Ok(false));
        assert_eq!(exclusions.insert(with(3, "new", "")), Ok(true));
        assert_eq!(exclusions.insert(with(1, "other", "p")), Ok(true));
        assert_eq!(exclusions.list().iter().map(|one| &*one.reason).collect::<Vec<_>>(), ["new", "other"]);
        assert_eq!(exclusions.len(), 2);
    }

    #[test]
    fn bounds_are_kept() {
        let mut exclusions = Exclusions::default();
        for number in 0..MAX_URL_PATTERNS {
            exclusions.insert(exclusion(&format!("http://a.test/{number}"), Scope::Crawl)).unwrap();
        }
        assert_eq!(
            exclusions.insert(exclusion("http://a.test/x", Scope::Crawl)),
            Err(ExclusionError::SiteFull)
        );
        assert_eq!(exclusions.insert(exclusion("http://a.test/5", Scope::Crawl)), Ok(false));
        assert_eq!(exclusions.insert(exclusion("http://b.test/x", Scope::Crawl)), Ok(true));
        let long = Exclusion { reason: "x".repeat(MAX_TEXT + 1), ..exclusion("c.test", Scope::Crawl) };
        assert_eq!(exclusions.insert(long), Err(ExclusionError::TextTooLong));
        exclusions.count = MAX_EXCLUSIONS;
        assert_eq!(exclusions.insert(exclusion("d.test", Scope::Crawl)), Err(ExclusionError::Full));
    }

    #[test]
    fn exclusions_survive_being_written_down() {
        let mut exclusions = Exclusions::default();
        for pattern in ["b.test", "host:a.test", "http://a.test/x*y$"] {
            exclusions.insert(exclusion(pattern, Scope::Index)).unwrap();
        }
        let json = serde_json::to_string(&exclusions).unwrap();
        assert!(json.starts_with(r#"[{"pattern":"b.test","scope":"index""#), "{json}");
        assert_eq!(serde_json::from_str::<Exclusions>(&json).unwrap(), exclusions);
        let bad = serde_json::from_str::<Exclusions>(r#"[{"pattern":"*","scope":"crawl"}]"#);
        assert!(bad.expect_err("a wildcard for a host").to_string().contains("give the site"));
    }
}
