//! The making threads: what a response holds becomes links, facts, and bytes ready to be written. All that costs
//! time and needs no order happens here, on as many cores as there are.

mod links;
mod page;

pub use page::first_record;

use crate::assistant::Assistant;
use crate::driver::ToDriver;
use crate::languages::Languages;
use crate::metrics::Metrics;
use crate::store::Store;
use crate::store::recent::RecentSet;
use crate::store::value::StoredPage;
use crate::store::write::MadePage;
use anthill_agent::focus;
use anthill_agent::io::{FoundLink, Input, Made, Permit, Task};
use anthill_crawler::canon::Rules;
use anthill_crawler::fetch;
use anthill_crawler::filter::Filters;
use anthill_crawler::focus::cosine::Rarities;
use anthill_crawler::focus::predict::Context;
use anthill_crawler::focus::reader::NOTHING_SAID;
use anthill_crawler::focus::reader::Reader;
use anthill_crawler::map::{Map, Set};
use anthill_crawler::parse::{self, Extraction, Kind};
use anthill_crawler::record::{EntryKind, UrlRecord};
use anthill_crawler::robots::Robots;
use anthill_crawler::sitemap;
use anthill_protocol::key::UrlId;
use crossbeam_channel::{Receiver, Sender};
use prometheus_client::metrics::histogram::Histogram;
use std::net::SocketAddr;
use std::sync::Arc;
use url::Url;

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

impl From<StoredPage> for Received {
    fn from(page: StoredPage) -> Received {
        let StoredPage { status, headers, body, truncated, remote, .. } = page;
        Received { status, headers, body, truncated, remote }
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
    /// What crawls prefer, if they prefer anything.
    pub focus: Option<focus::Settings>,
    /// In how many pages words stand, where crawls are about some words.
    pub rarities: Arc<Rarities>,
    /// Languages that they prefer.
    pub languages: Languages,
    /// Who finds out how able this peer is, if anybody does.
    pub assistant: Option<Assistant>,
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

/// What pages are made with; each thread has its own.
pub struct Tools {
    pub(super) compressor: zstd::bulk::Compressor<'static>,
    pub(super) reader: Option<Reader>,
}

/// One making thread.
pub struct MakeThread {
    /// What all share.
    pub workshop: Arc<Workshop>,
    /// Responses. Bounded by the permits outstanding.
    pub inbox: Receiver<Job>,
    /// Where pages are that have not changed.
    pub store: Arc<Store>,
    /// Whom it tells.
    pub driver: Sender<ToDriver>,
}

/// What came of a response.
pub struct Product {
    /// In a word, with facts.
    pub made: Made,
    /// Links to be admitted.
    pub links: Vec<FoundLink>,
    /// Pages that it links to, each once.
    pub targets: Vec<UrlId>,
    /// The page, ready to be written.
    pub page: Option<Box<MadePage>>,
}

impl Product {
    fn nothing(why: impl Into<String>) -> Product {
        Product { made: Made::Nothing(why.into()), links: Vec::new(), targets: Vec::new(), page: None }
    }
}

impl MakeThread {
    /// Runs until nobody fetches any more.
    ///
    /// # Errors
    /// When zstd cannot be set up, which is a matter of memory.
    pub fn run(self) -> std::io::Result<()> {
        let mut tools = self.workshop.tools()?;
        for job in &self.inbox {
            let Job { permit, response, at_us, previous } = job;
            let Product { made, links, mut targets, page } =
                self.workshop.make(&permit, response, at_us, &mut tools);
            if let (Made::NotModified, Task::Entry(item)) = (&made, &permit.task) {
                targets = self.targets_as_before(item.id);
            }
            let input = Input::Made { permit: permit.id, made, links, targets, previous };
            if self.driver.send(ToDriver::Made(input, page)).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Where a page links to that has not changed: only pages are kept, so it is read again. One that cannot be read links nowhere.
    fn targets_as_before(&self, id: UrlId) -> Vec<UrlId> {
        match self.store.page(&id) {
            Ok(page) => page.map(|page| self.workshop.targets(id, page)).unwrap_or_default(),
            Err(error) => {
                tracing::warn!(?id, %error, "a page that has not changed cannot be read: its links do not count");
                Vec::new()
            }
        }
    }
}

impl Workshop {
    /// Tools for one thread.
    ///
    /// # Errors
    /// When zstd cannot be set up, which is a matter of memory.
    pub fn tools(&self) -> std::io::Result<Tools> {
        let compressor = zstd::bulk::Compressor::new(LEVEL)?;
        let reader = self.focus.as_ref().map(|focus| Reader::new(&focus.about, Arc::clone(&self.rarities)));
        Ok(Tools { compressor, reader })
    }

    /// Makes what can be made of a response.
    pub fn make(&self, permit: &Permit, response: Received, at_us: u64, tools: &mut Tools) -> Product {
        let Ok(url) = Url::parse(&permit.url) else { return Product::nothing("not a URL") };
        match response.status {
            304 => Product { made: Made::NotModified, links: Vec::new(), targets: Vec::new(), page: None },
            301 | 302 | 303 | 307 | 308 => self.redirect(&url, &response),
            200..=299 => match &permit.task {
                Task::Robots { .. } => self.robots(&url, response.body),
                Task::Entry(item) => {
                    let sitemap = item.entry.kind == EntryKind::Sitemap;
                    self.entry(item.id, &permit.url, &url, sitemap, response, at_us, tools)
                }
            },
            status => Product::nothing(format!("status {status}")),
        }
    }

    fn redirect(&self, url: &Url, response: &Received) -> Product {
        let Some(location) = response.header("location") else {
            return Product {
                made: Made::Redirect(None),
                links: Vec::new(),
                targets: Vec::new(),
                page: None,
            };
        };
        match self.canon.canonical(location, Some(url)) {
            Ok(target) => {
                let to = target.url().to_owned();
                let links = self.found(target, false).into_iter().collect();
                Product { made: Made::Redirect(Some(to)), links, targets: Vec::new(), page: None }
            }
            Err(_) => {
                Product { made: Made::Redirect(None), links: Vec::new(), targets: Vec::new(), page: None }
            }
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
        tools: &mut Tools,
    ) -> Product {
        let content_type = response.header("content-type");
        let looks = sitemap::looks_like(&response.body, content_type);
        if is_sitemap || looks.is_some() {
            return self.sitemap(url, &response, tools.reader.as_mut());
        }
        match parse::kind(content_type, &response.body) {
            Kind::Html | Kind::Text => self.page(id, text_url, url, response, at_us, tools),
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
        Product { made: Made::Robots(file), links, targets: Vec::new(), page: None }
    }

    fn sitemap(&self, url: &Url, response: &Received, mut reader: Option<&mut Reader>) -> Product {
        let sitemap = sitemap::parse(&response.body, url);
        let mut links = Vec::new();
        let mut seen = Set::default();
        let entries =
            sitemap.sitemaps.iter().map(|e| (e, true)).chain(sitemap.urls.iter().map(|e| (e, false)));
        for (entry, is_sitemap) in entries {
            if let Ok(target) = self.canon.canonical(&entry.url, Some(url))
                && let Some(mut link) = self.found(target, is_sitemap)
                && seen.insert(link.id)
            {
                // A list says nothing of what it names.
                let clues = reader
                    .as_mut()
                    .map(|reader| reader.clues(Context::default(), "", NOTHING_SAID, &link.url));
                link.clues = clues.map(Box::new);
                links.push(link);
            }
        }
        Product { made: Made::Links, links, targets: Vec::new(), page: None }
    }
}

#[cfg(test)]
mod tests;
