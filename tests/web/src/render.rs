//! The bytes of pages.

use crate::links::{DECOYS, Link};
use crate::plan::{Kind, Place, Plan, Salt, Spot, Trap, article};
use crate::prose::{Name, Prose};
use std::fmt::Write;

/// Sentences of a near-duplicate that are its own, in ten-thousandths, besides its first.
const OWN_SENTENCES: u16 = 150;

const STYLE: &str = "<style>body{font:17px/1.6 Georgia,serif;max-width:42em;margin:2em auto;padding:0 1em;color:#222;\
    background:#fdfcf8}h1,h2{font-weight:normal;border-bottom:1px solid #ccc}a{color:#0645ad;text-decoration:none}\
    nav,footer{font-size:.85em;color:#666}@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}\
    a{color:#8ab4f8}}</style>";

/// What of a page is other than usual.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Oddity<'a> {
    /// Label in the page's meta element; none leaves it out.
    pub(crate) charset: Option<&'a str>,
    /// Content of a robots meta element.
    pub(crate) robots: Option<&'a str>,
    /// URL of rel=canonical.
    pub(crate) canonical: Option<&'a str>,
    /// Whether links are relative to a base.
    pub(crate) based: bool,
    /// Whether the page is tag soup.
    pub(crate) broken: bool,
    /// Replace some sentences by those drawn for this place.
    pub(crate) near: Option<Spot>,
}

/// What pages are made from.
#[derive(Clone, Copy)]
pub(crate) struct Press<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) prose: &'a Prose,
}

impl Press<'_> {
    /// A page of HTML: the text of `spot` in this version.
    pub(crate) fn page(&self, spot: Spot, version: u64, links: &[Link], odd: &Oddity<'_>) -> String {
        let mut out = String::with_capacity(self.plan.settings.page_bytes as usize + 2_048);
        self.head(spot, odd, &mut out);
        self.body(spot, version, links, odd, &mut out);
        out
    }

    fn head(&self, spot: Spot, odd: &Oddity<'_>, out: &mut String) {
        let words = self.prose.words();
        out.push_str("<!DOCTYPE html>\n<html lang=\"");
        out.push_str(self.prose.language().code());
        out.push_str("\">\n<head>\n");
        // Writing to a string cannot fail.
        if let Some(charset) = odd.charset {
            let _ = writeln!(out, "<meta charset=\"{charset}\">");
        }
        out.push_str("<title>");
        self.plan.title(spot, out);
        if spot.place == Place::Article(0) {
            let _ = write!(out, " – {}", words.title);
        }
        out.push_str("</title>\n");
        if let Some(robots) = odd.robots {
            let _ = writeln!(out, "<meta name=\"robots\" content=\"{robots}\">");
        }
        if let Some(canonical) = odd.canonical {
            let _ = writeln!(out, "<link rel=\"canonical\" href=\"{canonical}\">");
        }
        if odd.based {
            out.push_str("<base href=\"/library/shelf/\">\n");
        }
        if spot.place == Place::Article(0) && self.plan.settings.feeds {
            out.push_str("<link rel=\"alternate\" type=\"application/rss+xml\" href=\"/feed.xml\">\n");
        }
        if self.plan.settings.pretty {
            out.push_str("<meta name=\"viewport\" content=\"width=device-width\">");
            out.push_str(STYLE);
        }
        out.push_str("</head>\n");
    }

    fn body(&self, spot: Spot, version: u64, links: &[Link], odd: &Oddity<'_>, out: &mut String) {
        let words = self.prose.words();
        let mut links = links.iter().copied();
        let end = out.len() + self.plan.settings.page_bytes as usize;
        out.push_str("<body>\n<nav>");
        if let Some(home) = links.next() {
            self.link(spot.host, home, words.title, odd, out);
        }
        out.push_str("</nav>\n<main>\n<h1>");
        self.plan.title(spot, out);
        out.push_str("</h1>\n");
        let mut draw = self.plan.draw(spot, Salt::Text);
        let mut own = odd.near.map(|near| self.plan.draw(near, Salt::Text));
        let mut name = String::new();
        for paragraph in 0.. {
            out.push_str("<p>");
            if paragraph == 0 {
                let subject = Name::draw(&mut self.plan.draw(spot, Salt::Title));
                self.prose.lead(subject, &mut draw, out);
            }
            // What changes is the second paragraph, so that another version is near but not equal.
            let mut changed = self.plan.draw(spot, Salt::Change);
            for _ in 0..version.min(64) {
                changed.next();
            }
            for number in 0..4 + draw.below(4) {
                let mut sentence = self.prose.sentence(&mut draw);
                if paragraph == 1 && version > 0 {
                    sentence = self.prose.sentence(&mut changed);
                }
                if let Some(own) = own.as_mut()
                    && (own.chance(OWN_SENTENCES) || paragraph + number as usize == 0)
                {
                    sentence = self.prose.sentence(own);
                }
                out.push_str(sentence);
            }
            if odd.broken {
                self.soup(spot.host, paragraph, links.next(), odd, out);
            } else if let Some(link) = links.next() {
                self.see(link, spot.host, odd, &mut name, out);
            }
            if !odd.broken {
                out.push_str("</p>\n");
            }
            if out.len() >= end {
                break;
            }
            if paragraph % 3 == 2 {
                let _ = writeln!(out, "<h2>{}</h2>", words.sections[(paragraph / 3) % words.sections.len()]);
            }
        }
        let _ = write!(out, "<h2>{}</h2>\n<ul>\n", words.see);
        for link in links {
            out.push_str("<li>");
            name.clear();
            self.anchor(link.spot, &mut name);
            self.link(spot.host, link, &name, odd, out);
            out.push('\n');
        }
        if odd.broken {
            // The end of the file cuts a tag off: it is no tag.
            out.push_str("</ul></td></main><a href=\"/decoy/9");
            return;
        }
        let _ =
            write!(out, "</ul>\n</main>\n<footer>{}, {version}</footer>\n</body>\n</html>\n", words.title);
    }

    fn see(&self, link: Link, host: u32, odd: &Oddity<'_>, name: &mut String, out: &mut String) {
        name.clear();
        self.anchor(link.spot, name);
        out.push_str(self.prose.words().see);
        out.push(' ');
        self.link(host, link, name, odd, out);
        out.push('.');
    }

    fn link(&self, host: u32, link: Link, anchor: &str, odd: &Oddity<'_>, out: &mut String) {
        out.push_str("<a");
        if link.nofollow {
            out.push_str(" rel=\"nofollow\"");
        }
        self.plan.href(host, link, odd.based, out);
        out.push('>');
        out.push_str(anchor);
        out.push_str("</a>");
    }

    fn anchor(&self, spot: Spot, out: &mut String) {
        match spot.place {
            Place::Article(0) => out.push_str(self.prose.words().title),
            // Writing to a string cannot fail.
            Place::News(tick) => drop(write!(out, "No. {tick}")),
            Place::Trap(trap) => out.push_str(trap.prefix().trim_matches('/')),
            _ => self.plan.title(spot, out),
        }
    }

    /// A piece of tag soup around a real link; the links to decoys in it are none.
    fn soup(&self, host: u32, paragraph: usize, link: Option<Link>, odd: &Oddity<'_>, out: &mut String) {
        let decoy = paragraph as u32 % DECOYS;
        let mut real = String::new();
        if let Some(link) = link {
            self.plan.href(host, link, odd.based, &mut real);
        }
        // Writing to a string cannot fail.
        let _ = match paragraph % 9 {
            0 => write!(out, "<b><i>x</b></i><a{real}>one</a><!-- <a href=\"/decoy/{decoy}\">no</a> -->"),
            1 => write!(out, "<script>var s='<a href=\"/decoy/{decoy}\">no</a>';</script><a{real}>two</a>"),
            2 => write!(out, "<noscript><a{real}>three</a></noscript></div></td>"),
            3 => write!(out, "<textarea><a href=\"/decoy/{decoy}\">no</a></textarea><a{real}>four<b></a>"),
            4 => write!(out, "<template><a href=\"/decoy/{decoy}\">no</a></template><a{real}>five</a>"),
            5 => write!(out, "<a title=\"a > b\"{real} href=\"/decoy/{decoy}\">six</a>"),
            6 => write!(out, "<table><a{real}>seven</a><tr><td>a &ampb &unknown; &#0; &#x110000;"),
            7 => write!(out, "<style>a:after{{content:'<a href=\"/decoy/{decoy}\">'}}</style><a{real}>eight"),
            _ => write!(out, "< a href=\"/decoy/{decoy}\"><a name=x>nine</a><a{real}>ten</a 3 <p/>"),
        };
    }

    /// A page of a trap: links that lead on and on.
    pub(crate) fn trap(&self, trap: Trap, path: &str, query: Option<&str>) -> String {
        let link = |href: &str, text: &str| format!("<li><a href=\"{href}\">{text}</a>\n");
        let links = match trap {
            Trap::Calendar => {
                let mut parts =
                    path[trap.prefix().len()..].split('/').map(|part| part.parse::<u32>().unwrap_or(1));
                let (year, month) = (parts.next().unwrap_or(1), parts.next().unwrap_or(1).clamp(1, 12));
                let (year, month) = (year.min(1_000_000), month - 1);
                let at = |months: u32| format!("/calendar/{}/{:02}", months / 12, months % 12 + 1);
                let months = year * 12 + month;
                link(&at(months.saturating_sub(1)), "earlier") + &link(&at(months + 1), "later")
            }
            Trap::Spiral => link("deeper/", "deeper") + &link("deeper/still/", "deeper still"),
            Trap::Facets => {
                let query = query.map(|query| format!("{query}&amp;")).unwrap_or_default();
                let next = query.matches('=').count();
                let href = |name: &str| format!("/facets/?{query}{name}{next}=1");
                link(&href("colour"), "colour") + &link(&href("size"), "size") + &link(&href("sort"), "sort")
            }
            Trap::Hops => String::new(),
        };
        let mut draw = self.plan.draw(article(0, path.len() as u32), Salt::Detail);
        let text = self.prose.sentence(&mut draw);
        format!("<!DOCTYPE html>\n<title>{path}</title>\n<p>{text}</p>\n<ul>\n{links}</ul>\n")
    }

    /// A page of plain text; the URL in it is no link.
    pub(crate) fn text(&self, spot: Spot) -> String {
        let mut out = String::new();
        self.plan.title(spot, &mut out);
        let name = &self.plan.names[spot.host as usize];
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\n\nhttp://{name}/decoy/1");
        let mut draw = self.plan.draw(spot, Salt::Text);
        while out.len() < self.plan.settings.page_bytes as usize {
            out.push_str(self.prose.sentence(&mut draw));
            out.push('\n');
        }
        out
    }
}

/// How a page that is not in the encoding that some label says is labelled and encoded.
pub(crate) struct CharsetCase {
    /// Content-Type.
    pub(crate) header: &'static str,
    /// Label in the page.
    pub(crate) meta: Option<&'static str>,
    /// Encodes the page.
    pub(crate) encode: fn(&str) -> Vec<u8>,
}

/// The cases of [`Kind::Charset`].
pub(crate) const CHARSET_CASES: [CharsetCase; 7] = [
    CharsetCase { header: "text/html; charset=utf-8", meta: None, encode: windows_1252 },
    CharsetCase { header: "text/html; charset=iso-8859-1", meta: Some("utf-8"), encode: windows_1252 },
    CharsetCase { header: "text/html", meta: Some("windows-1252"), encode: windows_1252 },
    CharsetCase { header: "text/html; charset=iso-8859-1", meta: None, encode: utf_8_bom },
    CharsetCase { header: "text/html; charset=klingon", meta: Some("utf-8"), encode: utf_8 },
    CharsetCase { header: "text/html", meta: Some("utf-16"), encode: utf_16_bom },
    CharsetCase { header: "text/html", meta: None, encode: windows_1252 },
];

fn utf_8(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn utf_8_bom(text: &str) -> Vec<u8> {
    [b"\xef\xbb\xbf", text.as_bytes()].concat()
}

fn utf_16_bom(text: &str) -> Vec<u8> {
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

fn windows_1252(text: &str) -> Vec<u8> {
    encoding_rs::WINDOWS_1252.encode(text).0.into_owned()
}

/// How a page of these kinds says that it is not to be indexed, or its links not followed: (meta, header).
pub(crate) fn directive(plan: &Plan, spot: Spot, kind: Kind) -> (Option<&'static str>, Option<&'static str>) {
    let way = plan.draw(spot, Salt::Detail).below(4);
    match (kind, way) {
        (Kind::Noindex, 0) => (Some("noindex"), None),
        (Kind::Noindex, 1) => (Some("NOINDEX, follow"), None),
        (Kind::Noindex, 2) => (None, Some("noindex")),
        (Kind::Noindex, _) => (None, Some("anthill: noindex")),
        (Kind::Nofollow, 0) => (Some("nofollow"), None),
        (Kind::Nofollow, 1) => (Some("index,nofollow"), None),
        (Kind::Nofollow, 2) => (None, Some("nofollow")),
        (Kind::Nofollow, _) => (Some("none"), None),
        _ => (None, None),
    }
}
