//! Sitemaps and feeds of generated hosts.

use crate::answer::Answer;
use crate::plan::{Place, SitemapFile, Spot, article};
use crate::web::Web;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::StatusCode;
use std::fmt::Write as _;
use std::io::Write as _;

const XML: &str = "application/xml";
const SCHEMA: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";

/// Articles that a sitemap or feed names besides the orphans: enough to see that they are not fetched twice.
const NAMED: u32 = 10;

/// The files that a file names in turn.
pub(crate) fn parts(file: SitemapFile) -> &'static [SitemapFile] {
    match file {
        SitemapFile::Index => &[SitemapFile::First, SitemapFile::Second],
        _ => &[],
    }
}

/// The places that a file names.
pub(crate) fn places(web: &Web, host: u32, file: SitemapFile) -> Vec<Spot> {
    let pages = web.settings().pages_per_host.min(NAMED);
    let orphans = 0..web.settings().orphans;
    let half = web.settings().orphans / 2;
    let orphan = |index| Spot { host, place: Place::Orphan(index) };
    // Only ordinary pages: what else a sitemap may name is not what it tests.
    let articles =
        (0..pages).filter(|index| *index < web.plan.inner().max(1)).map(|index| article(host, index));
    match file {
        SitemapFile::Index => Vec::new(),
        SitemapFile::First => articles.chain((0..half).map(orphan)).collect(),
        SitemapFile::Second => (half..web.settings().orphans).map(orphan).collect(),
        _ => articles.chain(orphans.map(orphan)).collect(),
    }
}

/// The answer to a request for a file; 404 where the host has none like it.
pub(crate) fn answer(web: &Web, host: u32, file: SitemapFile) -> Answer {
    if !file.of(web.plan.sitemap(host)) {
        return Answer::plain(StatusCode::NOT_FOUND, "there is no such sitemap\n");
    }
    let urls = places(web, host, file).into_iter().map(|spot| web.url(spot));
    match file {
        SitemapFile::Text => {
            let text = urls.fold(String::new(), |text, url| text + &url + "\n");
            Answer::new(StatusCode::OK, "text/plain", text)
        }
        SitemapFile::Index => {
            let files = parts(file).iter().map(|part| web.url(Spot { host, place: Place::Sitemap(*part) }));
            Answer::new(StatusCode::OK, XML, document("sitemapindex", "sitemap", files))
        }
        SitemapFile::Xml | SitemapFile::First => {
            Answer::new(StatusCode::OK, XML, document("urlset", "url", urls))
        }
        SitemapFile::Gzip | SitemapFile::Second => {
            let packed = gzip(document("urlset", "url", urls).as_bytes());
            Answer::new(StatusCode::OK, "application/gzip", packed)
        }
    }
}

fn document(root: &str, element: &str, urls: impl Iterator<Item = String>) -> String {
    let mut text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root} xmlns=\"{SCHEMA}\">\n");
    for url in urls {
        // Writing to a string cannot fail. Paths hold nothing that XML would have to escape.
        let _ = writeln!(text, "<{element}><loc>{url}</loc><lastmod>2024-01-01</lastmod></{element}>");
    }
    let _ = writeln!(text, "</{root}>");
    text
}

/// A feed of pages that are linked elsewhere too: RSS on even hosts, Atom on odd ones.
pub(crate) fn feed(web: &Web, host: u32) -> String {
    let rss = host.is_multiple_of(2);
    let mut text = String::from(if rss {
        "<?xml version=\"1.0\"?>\n<rss version=\"2.0\"><channel><title>New pages</title>\n"
    } else {
        "<?xml version=\"1.0\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>New pages</title>\n"
    });
    for spot in places(web, host, SitemapFile::First)
        .into_iter()
        .filter(|spot| matches!(spot.place, Place::Article(_)))
    {
        let url = web.url(spot);
        let mut title = String::new();
        web.plan.title(spot, &mut title);
        // Writing to a string cannot fail.
        let _ = if rss {
            writeln!(text, "<item><title>{title}</title><link>{url}</link></item>")
        } else {
            writeln!(text, "<entry><title>{title}</title><link href=\"{url}\"/></entry>")
        };
    }
    text.push_str(if rss { "</channel></rss>\n" } else { "</feed>\n" });
    text
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to a vector cannot fail.
    match packed.write_all(bytes) {
        Ok(()) => packed.finish().unwrap_or_default(),
        Err(_) => Vec::new(),
    }
}
