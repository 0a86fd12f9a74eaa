//! The making threads: what a response holds becomes links, facts, and bytes ready to be written. All that costs
//! time and needs no order happens here, on as many cores as there are.

use crate::driver::ToDriver;
use crate::metrics::Metrics;
use crate::store::recent::RecentSet;
use crate::store::value::{StoredDocument, StoredPage, pack};
use crate::store::write::{Inlink, MadePage, link_fingerprint, url_fingerprint};
use anthill_agent::io::{FoundLink, Input, Made, PageFacts, Permit, Task};
use anthill_crawler::canon::{Canon, Ids, Rules};
use anthill_crawler::fetch;
use anthill_crawler::filter::{Filters, Verdict};
use anthill_crawler::map::{Map, Set};
use anthill_crawler::parse::{self, Extraction, Kind, Page};
use anthill_crawler::record::{CrawlId, EntryKind, UrlRecord, UrlState};
use anthill_crawler::robots::Robots;
use anthill_crawler::sitemap;
use anthill_protocol::key::{SiteId, UrlId};
use crossbeam_channel::{Receiver, Sender};
use foldhash::fast::FixedState;
use prometheus_client::metrics::histogram::Histogram;
use std::hash::BuildHasher;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use url::{Position, Url};

/// Anchor text kept of a link to another site, in characters.
const MAX_ANCHOR: usize = 100;
/// zstd's fastest level: pages shrink to a quarter at 500 MB/s; higher levels cost more than they save.
const LEVEL: i32 = 1;

/// A response, from the web or from an archive.
pub struct Received {
    /// HTTP status.
    pub status: u16,
    /// Headers in order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, decoded.
    pub body: Vec<u8>,
    /// Whether it was cut.
    pub truncated: bool,
    /// Who sent it.
    pub remote: Option<SocketAddr>,
}

impl Received {
    /// The first value of a header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers_named(name).next()
    }

    fn headers_named<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let named = self.headers.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name));
        named.filter_map(|(_, v)| std::str::from_utf8(v).ok())
    }
}

impl From<fetch::Response> for Received {
    fn from(response: fetch::Response) -> Received {
        let headers = response.headers.iter();
        Received {
            status: response.status,
            headers: headers.map(|(n, v)| (n.to_string(), v.as_bytes().to_vec())).collect(),
            body: response.body,
            truncated: response.truncated,
            remote: Some(response.remote),
        }
    }
}

/// A response to be made into something.
pub struct Job {
    /// What it answers.
    pub permit: Box<Permit>,
    /// The response.
    pub response: Received,
    /// When it ended, microseconds since the Unix epoch.
    pub at_us: u64,
    /// The URL's record before, if it was tried before.
    pub previous: Option<Box<UrlRecord>>,
}

/// What all making threads share.
pub struct Workshop {
    /// How URLs are made canonical.
    pub canon: Rules,
    /// What is not fetched.
    pub filters: Filters,
    /// Rules for single hosts and sites.
    pub extractions: Map<String, Arc<Extraction>>,
    /// Product token that robots directives may be addressed to.
    pub agent: String,
    /// URLs admitted lately.
    pub recent_urls: Arc<RecentSet>,
    /// Links recorded lately.
    pub recent_links: Arc<RecentSet>,
    /// Numbers.
    pub metrics: Arc<Metrics>,
    /// Seconds that making a page takes.
    pub parsing: Histogram,
}

/// One making thread.
pub struct MakeThread {
    /// What all share.
    pub workshop: Arc<Workshop>,
    /// Responses. Bounded by the permits outstanding.
    pub inbox: Receiver<Job>,
    /// Whom it tells.
    pub driver: Sender<ToDriver>,
}

/// What came of a response.
pub struct Product {
    /// In a word, with facts.
    pub made: Made,
    /// Links to be admitted.
    pub links: Vec<FoundLink>,
    /// The page, ready to be written.
    pub page: Option<Box<MadePage>>,
}

impl Product {
    fn nothing(why: impl Into<String>) -> Product {
        Product { made: Made::Nothing(why.into()), links: Vec::new(), page: None }
    }
}

impl MakeThread {
    /// Runs until nobody fetches any more.
    ///
    /// # Errors
    /// When zstd cannot be set up, which is a matter of memory.
    pub fn run(self) -> std::io::Result<()> {
        let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
        for job in &self.inbox {
            let Job { permit, response, at_us, previous } = job;
            let product = self.workshop.make(&permit, response, at_us, &mut compressor);
            let input = Input::Made { permit: permit.id, made: product.made, links: product.links, previous };
            if self.driver.send(ToDriver::Made(input, product.page)).is_err() {
                break;
            }
        }
        Ok(())
    }
}

impl Workshop {
    /// Makes what can be made of a response.
    pub fn make(
        &self,
        permit: &Permit,
        response: Received,
        at_us: u64,
        compressor: &mut zstd::bulk::Compressor<'static>,
    ) -> Product {
        let Ok(url) = Url::parse(&permit.url) else { return Product::nothing("not a URL") };
        match response.status {
            304 => Product { made: Made::NotModified, links: Vec::new(), page: None },
            301 | 302 | 303 | 307 | 308 => self.redirect(&url, &response),
            200..=299 => match &permit.task {
                Task::Robots { .. } => self.robots(&url, response.body),
                Task::Entry(item) => {
                    let sitemap = item.entry.kind == EntryKind::Sitemap;
                    self.entry(item.id, &permit.url, &url, sitemap, response, at_us, compressor)
                }
            },
            status => Product::nothing(format!("status {status}")),
        }
    }

    fn redirect(&self, url: &Url, response: &Received) -> Product {
        let Some(location) = response.header("location") else {
            return Product { made: Made::Redirect(None), links: Vec::new(), page: None };
        };
        match self.canon.canonical(location, Some(url)) {
            Ok(target) => {
                let to = target.url().to_owned();
                let links = self.found(target, false).into_iter().collect();
                Product { made: Made::Redirect(Some(to)), links, page: None }
            }
            Err(_) => Product { made: Made::Redirect(None), links: Vec::new(), page: None },
        }
    }

    #[allow(clippy::too_many_arguments, reason = "one call, from make()")]
    fn entry(
        &self,
        id: UrlId,
        text_url: &str,
        url: &Url,
        is_sitemap: bool,
        response: Received,
        at_us: u64,
        compressor: &mut zstd::bulk::Compressor<'static>,
    ) -> Product {
        let content_type = response.header("content-type");
        let looks = sitemap::looks_like(&response.body, content_type);
        if is_sitemap || looks.is_some() {
            return self.sitemap(url, &response);
        }
        match parse::kind(content_type, &response.body) {
            Kind::Html | Kind::Text => self.page(id, text_url, url, response, at_us, compressor),
            Kind::Xml | Kind::Other => {
                Product::nothing(format!("content type {}", content_type.unwrap_or("unknown")))
            }
        }
    }

    /// Rules are the agent's to read; sitemaps they name come as links.
    fn robots(&self, url: &Url, file: Vec<u8>) -> Product {
        let robots = Robots::parse(&file, &self.agent);
        let named = robots.sitemaps().iter().filter_map(|s| self.canon.canonical(s, Some(url)).ok());
        let links = named.filter_map(|target| self.found(target, true)).collect();
        Product { made: Made::Robots(file), links, page: None }
    }

    fn sitemap(&self, url: &Url, response: &Received) -> Product {
        let sitemap = sitemap::parse(&response.body, url);
        let mut links = Vec::new();
        let mut seen = Set::default();
        let entries =
            sitemap.sitemaps.iter().map(|e| (e, true)).chain(sitemap.urls.iter().map(|e| (e, false)));
        for (entry, is_sitemap) in entries {
            if let Ok(target) = self.canon.canonical(&entry.url, Some(url))
                && let Some(link) = self.found(target, is_sitemap)
                && seen.insert(link.id)
            {
                links.push(link);
            }
        }
        Product { made: Made::Links, links, page: None }
    }

    /// Parses a page and makes it ready to be written.
    pub fn page(
        &self,
        id: UrlId,
        text_url: &str,
        url: &Url,
        response: Received,
        at_us: u64,
        compressor: &mut zstd::bulk::Compressor<'static>,
    ) -> Product {
        let begun = Instant::now();
        let robots_headers: Vec<String> = response.headers_named("x-robots-tag").map(str::to_owned).collect();
        let input = parse::Input {
            body: &response.body,
            url,
            content_type: response.header("content-type"),
            robots_headers: &robots_headers,
            agent: &self.agent,
        };
        let own = self.canon.canonical(text_url, None).ok();
        let site = own.as_ref().map(|c| c.site().to_owned()).unwrap_or_default();
        let host = own.as_ref().map(|c| c.host().to_owned()).unwrap_or_default();
        let extraction = self.extractions.get(&host).or_else(|| self.extractions.get(&site)).cloned();
        let options = parse::Options { extraction, ..parse::Options::default() };
        let mut page = parse::parse(&input, &options);
        let expired = page.robots.unavailable_after.is_some_and(|t| t <= (at_us / 1_000_000) as i64);
        let noindex = page.robots.noindex || expired;
        let outlinks = u32::try_from(page.links.len()).unwrap_or(u32::MAX);
        let (links, inlinks) = self.links(&mut page, url, id.site());
        let digest = blake3::hash(&response.body);
        let mut facts = PageFacts {
            digest: first(digest.as_bytes()),
            fingerprint: page.fingerprint,
            lang: page.lang.map(str::to_owned).or_else(|| page.declared_lang.clone()),
            etag: response.header("etag").map(str::to_owned),
            last_modified: response.header("last-modified").map(str::to_owned),
            outlinks,
            images: page.images,
            text_chars: page.text_chars,
            bytes: response.body.len() as u64,
            noindex,
        };
        bound_validators(&mut facts);
        let document = document(&mut page, text_url, host, site, &facts, at_us);
        let bytes = response.body.len() as u64;
        let stored = StoredPage {
            url: text_url.to_owned(),
            fetched_at_us: at_us,
            remote: response.remote,
            status: response.status,
            headers: response.headers,
            body: if page.robots.noarchive { Vec::new() } else { response.body },
            truncated: response.truncated,
            noarchive: page.robots.noarchive,
        };
        let packed = pack(&stored, compressor).and_then(|p| Ok((p, pack(&document, compressor)?)));
        let made = packed.map(|(page, packed)| {
            Box::new(MadePage {
                page,
                document: packed,
                inlinks,
                plain: Arc::new(document),
                body_bytes: bytes,
            })
        });
        self.parsing.observe(begun.elapsed().as_secs_f64());
        self.metrics.pages_parsed.inc();
        self.metrics.links_found.inc_by(u64::from(facts.outlinks));
        match made {
            Ok(made) => Product { made: Made::Page(Box::new(facts)), links, page: Some(made) },
            Err(error) => Product::nothing(format!("could not be compressed: {error}")),
        }
    }

    /// Links to be admitted (each target once, none admitted lately), and links from here to other sites. Takes the
    /// links out of the page.
    pub fn links(&self, page: &mut Page, url: &Url, from: SiteId) -> (Vec<FoundLink>, Vec<Inlink>) {
        let mut found = Vec::new();
        let mut inlinks = Vec::new();
        // By text first: four links in five of a page lead where another one did.
        let mut texts: Set<u64> = Set::default();
        let mut targets = Set::default();
        let hasher = FixedState::default();
        for link in std::mem::take(&mut page.links) {
            if page.robots.nofollow || !link.is_endorsed() {
                continue;
            }
            let first = texts.insert(hasher.hash_one(&link.url[..Position::AfterQuery]));
            if !first && link.url.host() == url.host() {
                continue;
            }
            let Ok(target) = self.canon.of_url(link.url) else { continue };
            let ids = target.ids();
            if ids.site != from {
                let inlink = inlink(ids.url, from, &link.anchor);
                if !self.recent_links.contains(link_fingerprint(&inlink)) {
                    inlinks.push(inlink);
                }
            }
            if !self.recent_urls.contains(url_fingerprint(&ids.url))
                && targets.insert(ids.url)
                && let Some(link) = self.found_as(target, ids, false)
            {
                found.push(link);
            }
        }
        (found, inlinks)
    }

    /// A canonical URL as the agent wants it, unless filters drop it.
    fn found(&self, target: Canon, sitemap: bool) -> Option<FoundLink> {
        let ids = target.ids();
        self.found_as(target, ids, sitemap)
    }

    fn found_as(&self, target: Canon, ids: Ids, sitemap: bool) -> Option<FoundLink> {
        let doubtful = match self.filters.check(&target) {
            Verdict::Pass => false,
            Verdict::Doubtful(_) => true,
            Verdict::Drop(_) if sitemap => false,
            Verdict::Drop(_) => return None,
        };
        Some(FoundLink {
            id: ids.url,
            host: ids.host,
            host_name: target.host().to_owned(),
            site_name: target.site().to_owned(),
            url: target.into_url(),
            doubtful,
            nofollow: false,
            sitemap,
        })
    }
}

/// The record of a page that no crawl of this peer's fetched: it came in an archive, or is measured.
pub fn first_record(canon: &Canon, facts: &PageFacts, status: u16, at_s: u64) -> UrlRecord {
    UrlRecord {
        url: canon.url().to_owned(),
        state: UrlState::Status(status),
        crawl: CrawlId(0),
        kind: EntryKind::Page,
        depth: 0,
        from: None,
        first_seen_s: at_s,
        last_try_s: at_s,
        last_success_s: at_s,
        last_change_s: at_s,
        tries: 1,
        failures: 0,
        changes: 0,
        visits: 1,
        next_s: None,
        digest: facts.digest,
        fingerprint: facts.fingerprint,
        etag: facts.etag.clone(),
        last_modified: facts.last_modified.clone(),
        redirect: None,
        lang: facts.lang.clone(),
        outlinks: facts.outlinks,
        images: facts.images,
        text_chars: facts.text_chars,
        bytes: facts.bytes,
        noindex: facts.noindex,
        peer: String::new(),
        took_ms: 0,
        tried: Vec::new(),
    }
}

fn first<const N: usize>(bytes: &[u8; 32]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[..N]);
    out
}

/// Servers send validators of any length; ones this long are of no use and are not kept.
fn bound_validators(facts: &mut PageFacts) {
    const MAX_VALIDATOR: usize = 512;
    for validator in [&mut facts.etag, &mut facts.last_modified] {
        if validator.as_ref().is_some_and(|v| v.len() > MAX_VALIDATOR) {
            *validator = None;
        }
    }
}

fn inlink(target: UrlId, from: SiteId, anchor: &str) -> Inlink {
    let anchor: String = anchor.chars().take(MAX_ANCHOR).collect();
    let hash: [u8; 4] = first(blake3::hash(anchor.as_bytes()).as_bytes());
    Inlink { target, from, anchor, anchor_hash: u32::from_be_bytes(hash) }
}

fn document(
    page: &mut Page,
    url: &str,
    host: String,
    site: String,
    facts: &PageFacts,
    at_us: u64,
) -> StoredDocument {
    StoredDocument {
        url: url.to_owned(),
        host,
        site,
        title: page.title.take().unwrap_or_default(),
        headings: std::mem::take(&mut page.headings).into_iter().map(|h| h.text).collect(),
        description: page.description.take().unwrap_or_default(),
        text: std::mem::take(&mut page.text),
        lang: facts.lang.clone(),
        langs: page.langs.iter().map(|(l, s)| ((*l).to_owned(), *s)).collect(),
        keywords: page.keywords.take().unwrap_or_default(),
        canonical: page.canonical.take(),
        fetched_at_s: at_us / 1_000_000,
        fingerprint: facts.fingerprint,
        digest: {
            let mut eight = [0; 8];
            eight.copy_from_slice(&facts.digest[..8]);
            u64::from_be_bytes(eight)
        },
        noindex: facts.noindex,
        nosnippet: page.robots.nosnippet,
        date: page.date.take(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Step;
    use crate::store::value::unpack;
    use anthill_crawler::filter::FilterSettings;

    fn workshop() -> Workshop {
        let metrics = Arc::new(Metrics::new());
        Workshop {
            canon: Rules::default(),
            filters: Filters::new(FilterSettings { year: 2026, ..FilterSettings::default() }),
            extractions: Map::default(),
            agent: "anthill".into(),
            recent_urls: Arc::new(RecentSet::new(4)),
            recent_links: Arc::new(RecentSet::new(4)),
            parsing: metrics.step(Step::Parse),
            metrics,
        }
    }

    fn made(body: &str) -> Product {
        let workshop = workshop();
        let canon = workshop.canon.canonical("http://a.test/x/", None).unwrap();
        let received = Received {
            status: 200,
            headers: vec![("content-type".into(), b"text/html; charset=utf-8".to_vec())],
            body: body.as_bytes().to_vec(),
            truncated: false,
            remote: None,
        };
        let mut compressor = zstd::bulk::Compressor::new(LEVEL).unwrap();
        workshop.page(canon.url_id(), canon.url(), &canon.to_url(), received, 1_000_000, &mut compressor)
    }

    #[test]
    fn a_page_that_asks_not_to_be_archived_keeps_its_text_but_not_its_body() {
        let page =
            made("<meta name=robots content='noarchive, nosnippet'><title>t</title><p>words").page.unwrap();
        let stored: StoredPage = unpack(&page.page).unwrap();
        assert!(stored.noarchive && stored.body.is_empty());
        assert!(page.plain.nosnippet && page.plain.text.contains("words"));
        let page = made("<title>t</title><p>words").page.unwrap();
        assert!(!unpack::<StoredPage>(&page.page).unwrap().body.is_empty());
    }

    #[test]
    fn each_target_is_offered_once_and_links_that_are_not_vouched_for_are_not() {
        let links = made(
            "<a href=y rel=nofollow>1</a><a href=y>2</a><a href='y#f'>3</a><a href=//b.test/>4</a>\
             <a href=z rel=ugc>5</a><a href=w.png>6</a>",
        )
        .links;
        let urls: Vec<_> = links.iter().map(|l| l.url.as_str()).collect();
        assert_eq!(urls, ["http://a.test/x/y", "http://b.test/"]);
    }

    #[test]
    fn links_to_other_sites_count_for_their_targets_and_links_within_a_site_do_not() {
        let page = made("<a href=y>own</a><a href=//b.test/>theirs</a><a href=//c.test/ rel=nofollow>no</a>");
        let inlinks = page.page.unwrap().inlinks;
        assert_eq!(inlinks.iter().map(|l| l.anchor.as_str()).collect::<Vec<_>>(), ["theirs"]);
    }
}
