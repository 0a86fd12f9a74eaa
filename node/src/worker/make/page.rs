//! A page: parsed once, and packed so that it can be written.

use super::links::Links;
use super::{Product, Received, Tools, Workshop};
use crate::store::value::{StoredDocument, StoredPage, pack};
use crate::store::write::MadePage;
use anthill_agent::io::{Made, PageFacts};
use anthill_crawler::canon::Canon;
use anthill_crawler::focus::reader::text_of;
use anthill_crawler::parse::{self, Page};
use anthill_crawler::record::{CrawlId, EntryKind, UrlRecord, UrlState};
use anthill_protocol::key::UrlId;
use std::sync::Arc;
use std::time::Instant;
use url::Url;

impl Workshop {
    /// Parses a page; with its host and site. `options` say what is wanted; rules for the site are added.
    pub fn parse(
        &self,
        text_url: &str,
        url: &Url,
        response: &Received,
        options: parse::Options,
    ) -> (Page, String, String) {
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
        let options = parse::Options { extraction, ..options };
        (parse::parse(&input, &options), host, site)
    }

    /// Pages that a stored page links to, each once.
    pub fn targets(&self, id: UrlId, stored: StoredPage) -> Vec<UrlId> {
        let Ok(url) = Url::parse(&stored.url) else { return Vec::new() };
        let text_url = stored.url.clone();
        // Only its links count.
        let options = parse::Options { language: false, ..parse::Options::default() };
        let (mut page, ..) = self.parse(&text_url, &url, &Received::from(stored), options);
        self.links(&mut page, &url, id, None).targets
    }

    /// Makes a page ready to be written.
    pub fn page(
        &self,
        id: UrlId,
        text_url: &str,
        url: &Url,
        response: Received,
        at_us: u64,
        Tools { compressor, reader }: &mut Tools,
    ) -> Product {
        let begun = Instant::now();
        let around = self.focus.as_ref().is_some_and(|focus| focus.about.is_a_topic());
        let options = parse::Options { around, ..parse::Options::default() };
        let (mut page, host, site) = self.parse(text_url, url, &response, options);
        let expired = page.robots.unavailable_after.is_some_and(|t| t <= (at_us / 1_000_000) as i64);
        let noindex = page.robots.noindex || expired || self.languages.keep_out(&page);
        let outlinks = u32::try_from(page.links.len()).unwrap_or(u32::MAX);
        let mut judged = None;
        if let Some(reader) = reader {
            let text = text_of(page.title.as_deref().unwrap_or_default(), &page.text);
            let included = self.languages.include(&page);
            let (relevance, class) = if included { reader.page(&text) } else { (0, None) };
            self.assistant.iter().for_each(|assistant| assistant.show(&page, &text, relevance));
            judged = Some((relevance, class, reader.sketch(&text)));
        }
        let (relevance, class, sketch) = judged
            .map_or_else(Default::default, |(relevance, class, sketch)| (Some(relevance), class, sketch));
        let topic = relevance.zip(reader.as_mut());
        let Links { found, inlinks, targets } = self.links(&mut page, url, id, topic);
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
            relevance,
            class,
            sketch,
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
            Ok(made) => {
                Product { made: Made::Page(Box::new(facts)), links: found, targets, page: Some(made) }
            }
            Err(error) => Product::nothing(format!("could not be compressed: {error}")),
        }
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
        relevance: facts.relevance,
        class: facts.class,
        importance: 0,
        peer: String::new(),
        took_ms: 0,
        tried: Vec::new(),
    }
}

pub(super) fn first<const N: usize>(bytes: &[u8; 32]) -> [u8; N] {
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
