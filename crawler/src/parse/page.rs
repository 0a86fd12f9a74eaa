//! What is known of a page once it is parsed.

use super::directives::Directives;
use super::kind::Kind;
use serde::{Deserialize, Serialize};
use std::fmt;
use url::Url;

/// What to parse.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The body, decompressed, as received.
    pub body: &'a [u8],
    /// Where it came from: what relative links refer to if the page names no other base.
    pub url: &'a Url,
    /// The `Content-Type` header, if there was one.
    pub content_type: Option<&'a str>,
    /// The values of all `X-Robots-Tag` headers.
    pub robots_headers: &'a [String],
    /// The product token that robots directives may be addressed to: `anthill`.
    pub agent: &'a str,
}

/// A page as parsed. Every list and string in it is bounded by a constant of [`super::limits`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Page {
    /// What the body was taken for.
    pub kind: Kind,
    /// The first `<title>` that says anything, white space squeezed; of plain text the first line that does.
    pub title: Option<String>,
    /// Readable text: a line per block, white space squeezed, without scripts, styles, form controls, SVG and
    /// (where there is other text of substance) navigation, page headers, footers and asides.
    pub text: String,
    /// `h1` to `h6`, in order.
    pub headings: Vec<Heading>,
    /// `<meta name=description>`, else `og:description`.
    pub description: Option<String>,
    /// `<meta name=keywords>`.
    pub keywords: Option<String>,
    /// `<link rel=canonical>`, absolute, http or https.
    pub canonical: Option<String>,
    /// `<link rel=alternate hreflang>`: language and absolute URL.
    pub hreflang: Vec<(String, String)>,
    /// `<link rel=alternate>` to RSS, Atom or JSON feeds, absolute.
    pub feeds: Vec<String>,
    /// Links of `<a href>` and `<area href>` to http and https, in order, repetitions kept.
    pub links: Vec<Link>,
    /// Images on the page.
    pub images: u32,
    /// What the page and its headers ask of robots.
    pub robots: Directives,
    /// Target of `<meta http-equiv=refresh>`, absolute, if it names one.
    pub refresh: Option<String>,
    /// Date as an extraction rule found it, verbatim.
    pub date: Option<String>,
    /// WHATWG name of the encoding it was decoded by.
    pub charset: &'static str,
    /// Language of the text by its content: ISO 639-1, else 639-3; none where that would be a guess.
    pub lang: Option<&'static str>,
    /// Languages of the text with their shares, the largest first; empty where there is no guess.
    pub langs: Vec<(&'static str, f32)>,
    /// Languages of which there is a paragraph of some length, where the text seemed to be of several.
    pub passages: Vec<&'static str>,
    /// Language the page declares: `<html lang>`, else `content-language`; its primary subtag, lower case.
    pub declared_lang: Option<String>,
    /// Near-duplicate fingerprint of the text (see [`crate::fingerprint`]); zero if it has no words.
    pub fingerprint: u64,
    /// Characters of the text.
    pub text_chars: u32,
    /// What was wrong with it, each kind once, in order of [`Defect`].
    pub defects: Vec<Defect>,
}

/// A heading.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Its text, squeezed.
    pub text: String,
}

/// A link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// Where to: absolute, http or https, with its fragment; not yet canonical.
    pub url: Url,
    /// The text inside, images by their alternative text, squeezed; may be empty.
    pub anchor: String,
    /// The same with some words before and after it; empty unless [`Options::around`](super::Options::around).
    pub around: String,
    /// Tokens of `rel`, lower case, separated by one space; may be empty.
    pub rel: String,
}

impl Link {
    /// Whether `rel` has this token (given in lower case).
    pub fn has_rel(&self, token: &str) -> bool {
        self.rel.split(' ').any(|t| t == token)
    }

    /// Whether the page vouches for it: not `nofollow`, `ugc` or `sponsored`.
    pub fn is_endorsed(&self) -> bool {
        !["nofollow", "ugc", "sponsored"].iter().any(|t| self.has_rel(t))
    }
}

/// What can be wrong with a page. Parsing goes on in spite of each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Defect {
    /// Neither HTML nor text: nothing was parsed.
    NotText,
    /// Bytes that the encoding does not have; they became U+FFFD.
    Undecodable,
    /// A character set was named that nobody knows; it was ignored.
    UnknownCharset,
    /// NUL characters.
    Nul,
    /// Text was cut at its limit.
    TextCut,
    /// Links after the limit were dropped.
    LinksCut,
    /// Headings after the limit were dropped.
    HeadingsCut,
    /// Alternates or feeds after the limit were dropped.
    AlternatesCut,
    /// An attribute was too long to be used.
    LongAttribute,
    /// A link that is no URL.
    BadLink,
    /// The page ends inside a tag, a script or a title.
    Truncated,
    /// A `<base>` that cannot be one.
    BadBase,
    /// Too large, too deep or too contorted for extraction rules: the plain parse stands.
    TooComplexForRules,
    /// The extraction rule for the main text matched nothing: the plain text stands.
    RuleUnmatched,
}

impl Defect {
    /// Its name in JSON and in `explain`.
    pub fn name(self) -> &'static str {
        match self {
            Defect::NotText => "not_text",
            Defect::Undecodable => "undecodable",
            Defect::UnknownCharset => "unknown_charset",
            Defect::Nul => "nul",
            Defect::TextCut => "text_cut",
            Defect::LinksCut => "links_cut",
            Defect::HeadingsCut => "headings_cut",
            Defect::AlternatesCut => "alternates_cut",
            Defect::LongAttribute => "long_attribute",
            Defect::BadLink => "bad_link",
            Defect::Truncated => "truncated",
            Defect::BadBase => "bad_base",
            Defect::TooComplexForRules => "too_complex_for_rules",
            Defect::RuleUnmatched => "rule_unmatched",
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Collects defects, each once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Defects(u32);

impl Defects {
    pub(super) fn add(&mut self, defect: Defect) {
        self.0 |= 1 << defect as u32;
    }

    pub(super) fn merge(&mut self, other: Defects) {
        self.0 |= other.0;
    }

    pub(super) fn list(self) -> Vec<Defect> {
        ALL_DEFECTS.iter().copied().filter(|d| self.0 & (1 << *d as u32) != 0).collect()
    }
}

const ALL_DEFECTS: [Defect; 14] = [
    Defect::NotText,
    Defect::Undecodable,
    Defect::UnknownCharset,
    Defect::Nul,
    Defect::TextCut,
    Defect::LinksCut,
    Defect::HeadingsCut,
    Defect::AlternatesCut,
    Defect::LongAttribute,
    Defect::BadLink,
    Defect::Truncated,
    Defect::BadBase,
    Defect::TooComplexForRules,
    Defect::RuleUnmatched,
];
