//! Which links become entries of queues, and at which level.

use crate::crawls::Crawls;
use crate::io::{Admission, FoundLink};
use anthill_crawler::exclusion::{self, Exclusions};
use anthill_crawler::filter::Directories;
use anthill_crawler::frontier::State;
use anthill_crawler::record::{CrawlId, EntryKind, QueueEntry};
use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, SiteId, UrlId};

/// Level of seeds, sitemaps and redirect targets.
pub const LEVEL_FIRST: u8 = 0;
/// Level of links from other sites.
pub const LEVEL_FOREIGN: u8 = 1;
/// Level of links within a site, and of revisits.
pub const LEVEL_OWN: u8 = 2;
/// Level of what filters call doubtful.
pub const LEVEL_DOUBTFUL: u8 = 3;

/// Where links were found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// The crawl.
    pub crawl: CrawlId,
    /// Links from a seed.
    pub depth: u16,
    /// The page; none for robots.txt.
    pub id: Option<UrlId>,
    /// Its site.
    pub site: SiteId,
    /// Whether it is a sitemap or a robots.txt.
    pub sitemap: bool,
}

/// What admission looks at.
pub struct Door<'a> {
    /// The crawls.
    pub crawls: &'a mut Crawls,
    /// How many URLs hosts have.
    pub frontier: &'a State,
    /// How many directories have.
    pub directories: &'a mut Directories,
    /// What is forbidden.
    pub exclusions: &'a Exclusions,
    /// URLs per host, at most.
    pub per_host: u64,
    /// Whether sitemaps are used.
    pub sitemaps: bool,
    /// The time.
    pub now: Instant,
}

impl Door<'_> {
    /// Links of a page, sitemap or robots.txt.
    pub fn links(&mut self, source: &Source, links: Vec<FoundLink>) -> Vec<Admission> {
        if !self.crawls.open(source.crawl) {
            return Vec::new();
        }
        let mut full = None;
        let mut admitted = Vec::with_capacity(links.len());
        for link in links {
            if let Some(admission) = self.link(source, link, &mut full) {
                admitted.push(admission);
            }
        }
        admitted
    }

    fn link(
        &mut self,
        source: &Source,
        link: FoundLink,
        full: &mut Option<(HostId, bool)>,
    ) -> Option<Admission> {
        let own = link.host.site() == source.site;
        if link.nofollow || (link.sitemap && !self.sitemaps) {
            return None;
        }
        let depth = source.depth.saturating_add(u16::from(!link.sitemap));
        if !self.crawls.reaches(source.crawl, &link, depth) || self.forbidden(&link) {
            return None;
        }
        // Most links of a page lead to its own host: its budget is looked up once.
        let is_full = match *full {
            Some((host, is_full)) if host == link.host => is_full,
            _ => {
                let is_full = self.frontier.admitted(link.host).is_some_and(|count| count >= self.per_host);
                *full = Some((link.host, is_full));
                is_full
            }
        };
        if is_full
            || !self.directories.admit(link.host, &link.url)
            || !self.crawls.enters(source.crawl, link.host.site())
        {
            return None;
        }
        let level = match () {
            () if link.sitemap => LEVEL_FIRST,
            // A sitemap that speaks for another site may be right, and may be anything.
            () if link.doubtful || (source.sitemap && !own) => LEVEL_DOUBTFUL,
            () if own => LEVEL_OWN,
            () => LEVEL_FOREIGN,
        };
        let kind = if link.sitemap { EntryKind::Sitemap } else { EntryKind::Page };
        Some(self.admission(source.crawl, link, level, kind, depth, source.id))
    }

    /// The target of a redirect of this entry.
    pub fn redirect(&mut self, entry: &QueueEntry, id: UrlId, mut target: FoundLink) -> Option<Admission> {
        let sitemap = entry.kind == EntryKind::Sitemap;
        target.sitemap = sitemap;
        if !self.crawls.open(entry.crawl) {
            return None;
        }
        if entry.depth == 0 && !sitemap {
            self.crawls.extend(entry.crawl, &target);
        }
        if !self.crawls.reaches(entry.crawl, &target, entry.depth)
            || self.forbidden(&target)
            || !self.crawls.enters(entry.crawl, target.host.site())
        {
            return None;
        }
        let mut admission =
            self.admission(entry.crawl, target, LEVEL_FIRST, entry.kind, entry.depth, Some(id));
        admission.entry.hops = entry.hops.saturating_add(1);
        Some(admission)
    }

    /// A seed: wanted even if it was seen.
    pub fn seed(&mut self, crawl: CrawlId, seed: FoundLink) -> Option<Admission> {
        if self.forbidden(&seed) || !self.crawls.enters(crawl, seed.host.site()) {
            return None;
        }
        let kind = if seed.sitemap { EntryKind::Sitemap } else { EntryKind::Page };
        let mut admission = self.admission(crawl, seed, LEVEL_FIRST, kind, 0, None);
        admission.force = true;
        Some(admission)
    }

    /// Whether an exclusion forbids to crawl it.
    pub fn forbidden(&self, link: &FoundLink) -> bool {
        let scope = exclusion::Scope::Crawl;
        self.exclusions.forbids(scope, &link.site_name, &link.host_name, &link.url).is_some()
    }

    fn admission(
        &self,
        crawl: CrawlId,
        link: FoundLink,
        level: u8,
        kind: EntryKind,
        depth: u16,
        from: Option<UrlId>,
    ) -> Admission {
        Admission {
            id: link.id,
            host: link.host,
            host_name: link.host_name,
            site_name: link.site_name,
            level,
            force: false,
            entry: QueueEntry {
                url: link.url,
                crawl,
                kind,
                depth,
                hops: 0,
                attempt: 0,
                revisit: false,
                from,
                first_seen_s: self.now.unix_s(),
            },
        }
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
