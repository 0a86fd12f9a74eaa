//! What is on this page?
//!
//! [`parse`] is one pass of a spec-conforming tokenizer over the decoded body; it never fails and never
//! panics, costs time linear in the body whatever it holds, and what it keeps is bounded ([`limits`]). No tree is
//! built, except to apply extraction rules for a site ([`Extraction`]), and then within limits of its own.

mod body;
mod charset;
mod directives;
mod dom;
mod emitter;
mod extract;
mod foreign;
mod kind;
pub mod limits;
mod meta;
mod page;
mod pass;
mod reader;
mod tags;
#[cfg(test)]
mod tests;
mod text;

pub use directives::{Directives, parse_date};
pub use dom::TooComplex;
pub use extract::{Extraction, ExtractionError, ExtractionSettings, SelectError, select};
pub use kind::{Kind, kind};
pub use page::{Defect, Heading, Input, Link, Page};

use crate::{fingerprint, lang};
use dom::Guard;
use emitter::Collector;
use encoding_rs::Encoding;
use html5gum::Tokenizer;
use limits::{MAX_TEXT, MAX_TITLE};
use page::Defects;
use pass::Pass;
use reader::Bytes;
use std::sync::Arc;
use text::one_line;
use url::Url;

/// How to parse.
#[derive(Clone, Debug)]
pub struct Options {
    /// The extraction rules for the page's site, if somebody wrote some.
    pub extraction: Option<Arc<Extraction>>,
    /// Whether to tell the language of the text: a third of the cost of parsing.
    pub language: bool,
    /// Whether to tell what text is around links.
    pub around: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { extraction: None, language: true, around: false }
    }
}

/// Parses a page. Total: whatever the bytes are, there is a [`Page`], with what was wrong in its `defects`.
pub fn parse(input: &Input<'_>, options: &Options) -> Page {
    let mut defects = Defects::default();
    let kind = kind(input.content_type, input.body);
    let mut page = match kind {
        Kind::Html | Kind::Xml => {
            let xml = kind == Kind::Xml || input.content_type.is_some_and(is_xml);
            let (text, encoding) =
                charset::decode(input.body, input.content_type, tld(input.url), xml, &mut defects);
            parse_html(&text, encoding, input, options, defects)
        }
        Kind::Text => {
            let (text, encoding) =
                charset::decode(input.body, input.content_type, tld(input.url), false, &mut defects);
            parse_text(&text, encoding, defects)
        }
        Kind::Other => {
            defects.add(Defect::NotText);
            Page { charset: "", defects: defects.list(), ..Page::default() }
        }
    };
    page.kind = kind;
    for value in input.robots_headers {
        page.robots.apply_header(value, input.agent);
    }
    page.text_chars = page.text.chars().count().try_into().unwrap_or(u32::MAX);
    page.fingerprint = fingerprint::fingerprint(&page.text);
    if options.language {
        let detection = lang::detect(&page.text);
        page.lang = detection.lang;
        page.langs = detection.langs;
        page.passages = detection.passages;
    }
    page
}

fn is_xml(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.ends_with("+xml") || essence.ends_with("/xml")
}

/// The top-level domain, which says something of the encodings in use there.
fn tld(url: &Url) -> Option<&str> {
    url.domain()?.trim_end_matches('.').rsplit('.').next()
}

/// Runs the tokenizer over the characters of a page.
fn read(text: &str, agent: &str) -> Pass {
    let mut pass = Pass::new(text.len(), agent);
    match Tokenizer::new_with_emitter(Bytes::new(text), Collector::new(&mut pass)).finish() {
        Ok(()) => pass.finish(),
    }
    pass
}

fn parse_html(
    text: &str,
    encoding: &'static Encoding,
    input: &Input<'_>,
    options: &Options,
    defects: Defects,
) -> Page {
    let mut pass = read(text, input.agent);
    let guard = Guard::new(text, &pass);
    pass.defects.merge(defects);
    let base = base(&mut pass, input.url);
    let links = links(&mut pass, &base, options.around);
    let head = std::mem::take(&mut pass.head);
    let absolute = |href: String| web_url(&base, &href).map(String::from);
    let mut defects = pass.defects;
    let mut page = Page {
        headings: std::mem::take(&mut pass.headings),
        description: head.description.or(head.og_description),
        keywords: head.keywords,
        canonical: head.canonical.and_then(absolute),
        hreflang: head.hreflang.into_iter().filter_map(|(l, href)| Some((l, absolute(href)?))).collect(),
        feeds: head.feeds.into_iter().filter_map(absolute).collect(),
        links,
        images: pass.images,
        robots: head.robots,
        refresh: head.refresh.and_then(absolute),
        charset: encoding.name(),
        declared_lang: head.html_lang.or(head.content_language),
        ..Page::default()
    };
    (page.title, page.text) = pass.into_title_and_text();
    if let Some(rules) = &options.extraction {
        match guard.and_then(|guard| guard.build(text)) {
            Ok(dom) => rules.apply(&dom, &mut page, &mut defects),
            Err(_) => defects.add(Defect::TooComplexForRules),
        }
    }
    page.defects = defects.list();
    page
}

/// Plain text: its first line that says anything is the title; URLs in it are no links.
fn parse_text(text: &str, encoding: &'static Encoding, mut defects: Defects) -> Page {
    let title =
        text.lines().take(1_000).map(|l| one_line(l.as_bytes(), MAX_TITLE / 4)).find(|l| !l.is_empty());
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end < text.len() {
        defects.add(Defect::TextCut);
    }
    let mut squeezed = text::Text::with_capacity(end);
    for line in text[..end].lines() {
        squeezed.push(line.as_bytes());
        squeezed.separate(text::Gap::Line);
    }
    if squeezed.nul {
        defects.add(Defect::Nul);
    }
    Page {
        title,
        text: squeezed.into_string(&[]),
        charset: encoding.name(),
        defects: defects.list(),
        ..Page::default()
    }
}

/// What relative links refer to (HTML Standard, 4.2.3 "Set the frozen base URL").
fn base(pass: &mut Pass, url: &Url) -> Url {
    let Some(href) = &pass.head.base else { return url.clone() };
    match url.join(href) {
        Ok(base) if !matches!(base.scheme(), "data" | "javascript") => base,
        _ => {
            pass.defects.add(Defect::BadBase);
            url.clone()
        }
    }
}

/// The page's links to the web, resolved.
fn links(pass: &mut Pass, base: &Url, with_around: bool) -> Vec<Link> {
    let mut links = Vec::with_capacity(pass.link_count());
    let mut bad = false;
    for (href, rel, text) in pass.links() {
        if !may_be_web(href) {
            continue;
        }
        // What is left of an escaped quotation mark, as in `href="\"page.html\""`; the standard reads it as `/`.
        if href == "\\" {
            bad = true;
            continue;
        }
        match base.join(href) {
            Ok(url) if is_web(&url) => {
                let around = if with_around { pass.around(text) } else { String::new() };
                links.push(Link { url, anchor: pass.anchor(text), around, rel: tokens(rel) });
            }
            Ok(_) => {}
            Err(_) => bad = true,
        }
    }
    if bad {
        pass.defects.add(Defect::BadLink);
    }
    links
}

/// False for what plainly has another scheme: most are told without parsing a URL.
fn may_be_web(href: &str) -> bool {
    let Some(colon) = href.bytes().take(16).position(|b| !b.is_ascii_alphabetic()) else { return true };
    let scheme = &href[..colon];
    href.as_bytes()[colon] != b':'
        || colon == 0
        || scheme.eq_ignore_ascii_case("http")
        || scheme.eq_ignore_ascii_case("https")
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

fn web_url(base: &Url, href: &str) -> Option<Url> {
    base.join(href).ok().filter(is_web)
}

/// Tokens in lower case, separated by one space.
fn tokens(rel: &str) -> String {
    if rel.is_empty() {
        return String::new();
    }
    rel.split_ascii_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase()
}
