//! What `<meta>`, `<link>` and `<base>` say of a page.

use super::directives::Directives;
use super::emitter::Attributes;
use super::limits::{MAX_FEEDS, MAX_HREFLANG};
use super::page::{Defect, Defects};
use super::tags::Attribute;
use super::text::one_line;

/// Media types of feeds.
const FEEDS: [&str; 5] = [
    "application/rss+xml",
    "application/atom+xml",
    "application/rdf+xml",
    "application/feed+json",
    "application/json+feed",
];
/// Characters of a description or of keywords: several times what any search engine shows.
const MAX_DESCRIPTION: usize = 2_000;

/// What a page says of itself; URLs as they stand.
#[derive(Debug, Default)]
pub(super) struct Head {
    /// For which robot the directives are.
    pub(super) agent: String,
    pub(super) base: Option<String>,
    pub(super) description: Option<String>,
    pub(super) og_description: Option<String>,
    pub(super) keywords: Option<String>,
    pub(super) canonical: Option<String>,
    pub(super) hreflang: Vec<(String, String)>,
    pub(super) feeds: Vec<String>,
    pub(super) robots: Directives,
    pub(super) refresh: Option<String>,
    pub(super) html_lang: Option<String>,
    pub(super) content_language: Option<String>,
}

impl Head {
    /// `<html>`.
    pub(super) fn html(&mut self, attributes: &Attributes) {
        if self.html_lang.is_none() {
            let lang = attributes.text(Attribute::Lang).filter(|l| !l.trim().is_empty());
            self.html_lang = lang.or_else(|| attributes.text(Attribute::XmlLang)).and_then(primary_subtag);
        }
    }

    /// `<base>`: the first that has an `href`.
    pub(super) fn base(&mut self, attributes: &Attributes) {
        if self.base.is_none() {
            self.base = attributes.text(Attribute::Href).map(str::to_owned);
        }
    }

    /// `<meta>`.
    pub(super) fn meta(&mut self, attributes: &Attributes) {
        let Some(content) = attributes.text(Attribute::Content) else { return };
        if let Some(pragma) = attributes.text(Attribute::HttpEquiv) {
            if pragma.eq_ignore_ascii_case("refresh") && self.refresh.is_none() {
                self.refresh = refresh_target(content).map(str::to_owned);
            } else if pragma.eq_ignore_ascii_case("content-language") && self.content_language.is_none() {
                self.content_language = primary_subtag(content);
            }
        }
        let Some(name) = attributes.text(Attribute::Name).or_else(|| attributes.text(Attribute::Property))
        else {
            return;
        };
        let name = name.trim();
        if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(&self.agent) {
            self.robots.apply_meta(content);
            return;
        }
        let field = match name {
            n if n.eq_ignore_ascii_case("description") => &mut self.description,
            n if n.eq_ignore_ascii_case("og:description") => &mut self.og_description,
            n if n.eq_ignore_ascii_case("keywords") => &mut self.keywords,
            _ => return,
        };
        if field.is_none() {
            *field = Some(one_line(content.as_bytes(), MAX_DESCRIPTION)).filter(|t| !t.is_empty());
        }
    }

    /// `<link>`.
    pub(super) fn link(&mut self, attributes: &Attributes, defects: &mut Defects) {
        let (Some(rel), Some(href)) = (attributes.text(Attribute::Rel), attributes.text(Attribute::Href))
        else {
            return;
        };
        let is = |token: &str| rel.split_ascii_whitespace().any(|t| t.eq_ignore_ascii_case(token));
        if is("canonical") && self.canonical.is_none() && !href.trim().is_empty() {
            self.canonical = Some(href.to_owned());
        }
        if !is("alternate") || is("stylesheet") {
            return;
        }
        let media =
            attributes.text(Attribute::Type).and_then(|t| t.split(';').next()).unwrap_or_default().trim();
        if let Some(lang) = attributes.text(Attribute::Hreflang).map(str::trim).filter(|l| !l.is_empty()) {
            if self.hreflang.len() < MAX_HREFLANG {
                self.hreflang.push((one_line(lang.as_bytes(), 64).to_ascii_lowercase(), href.to_owned()));
            } else {
                defects.add(Defect::AlternatesCut);
            }
        } else if FEEDS.iter().any(|f| media.eq_ignore_ascii_case(f)) {
            if self.feeds.len() < MAX_FEEDS {
                self.feeds.push(href.to_owned());
            } else {
                defects.add(Defect::AlternatesCut);
            }
        }
    }
}

/// The language of a tag like `pt-BR` or of a list of them, in lower case (BCP 47, section 2.1).
pub(super) fn primary_subtag(tag: &str) -> Option<String> {
    let subtag = tag.trim().split(['-', '_', ',', ' ', ';']).next()?;
    let sound = (2..=8).contains(&subtag.len()) && subtag.bytes().all(|b| b.is_ascii_alphabetic());
    sound.then(|| subtag.to_ascii_lowercase())
}

/// The URL of a refresh (HTML Standard, "shared declarative refresh steps").
fn refresh_target(content: &str) -> Option<&str> {
    let is_space = |c: char| c.is_ascii_whitespace();
    let rest = content.trim_start_matches(is_space);
    let after_time = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if after_time.len() == rest.len() {
        return None;
    }
    let rest = after_time.trim_start_matches(is_space);
    let separated = rest.strip_prefix([';', ',']);
    if separated.is_none() && rest.len() == after_time.len() {
        return None;
    }
    let target = separated.unwrap_or(rest).trim_start_matches(is_space);
    let target = after_url_equals(target).unwrap_or(target);
    let target = match target.chars().next()? {
        quote @ ('"' | '\'') => target[1..].split(quote).next().unwrap_or_default(),
        _ => target,
    };
    Some(target.trim()).filter(|t| !t.is_empty())
}

fn after_url_equals(target: &str) -> Option<&str> {
    let rest = target.get(..3).filter(|u| u.eq_ignore_ascii_case("url")).map(|_| &target[3..])?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace()).strip_prefix('=')?;
    Some(rest.trim_start_matches(|c: char| c.is_ascii_whitespace()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_target_of_a_refresh_is_found_in_every_spelling() {
        for content in [
            "0; url=next.html",
            "5;URL='next.html'",
            "0,url=\"next.html\" x",
            " 1.5 ; Url = next.html ",
            "3;next.html",
            "0 next.html",
            "0 url=next.html",
            "0;'next.html'",
        ] {
            assert_eq!(refresh_target(content), Some("next.html"), "{content}");
        }
        for content in ["", "5", "x;url=a", "5url=a", "5;", "5;url=", "5;url=''", ".;x=y"] {
            let wanted = (content == ".;x=y").then_some("x=y");
            assert_eq!(refresh_target(content), wanted, "{content}");
        }
    }

    #[test]
    fn a_declared_language_is_its_primary_subtag() {
        assert_eq!(primary_subtag(" pt-BR"), Some("pt".into()));
        assert_eq!(primary_subtag("EN, fr"), Some("en".into()));
        assert_eq!(primary_subtag("zh_Hans"), Some("zh".into()));
        assert_eq!(primary_subtag("x"), None);
        assert_eq!(primary_subtag("{{lang}}"), None);
    }

    proptest! {
        #[test]
        fn any_refresh_and_language_is_read_without_panic(s in "[0-9.;, url='\"é=]{0,20}", t in "\\PC{0,20}") {
            refresh_target(&s);
            refresh_target(&t);
            primary_subtag(&t);
        }
    }
}
