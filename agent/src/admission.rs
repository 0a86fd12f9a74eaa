//! Which links become entries of queues, and at which level.

use crate::crawls::Crawls;
use crate::focus::{Focus, LEVEL_LAST};
use crate::io::{Admission, FoundLink};
use crate::rights::Rights;
use anthill_crawler::exclusion::{self, Exclusions};
use anthill_crawler::filter::Directories;
use anthill_crawler::focus::predict::Context;
use anthill_crawler::frontier::State;
use anthill_crawler::record::{CrawlId, EntryKind, QueueEntry};
use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, SiteId, UrlId};

/// Level of seeds, sitemaps and redirect targets.
pub const LEVEL_FIRST: u8 = 0;
/// Level of links from other sites, where importance does not decide what comes first.
pub const LEVEL_FOREIGN: u8 = 1;
/// Level of other links, and of revisits.
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

/// A link whose target may be another peer's to admit: as found, with what admission needs besides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offer {
    /// The link.
    pub link: FoundLink,
    /// Its crawl.
    pub crawl: CrawlId,
    /// Links from a seed, this one counted.
    pub depth: u16,
    /// Redirects followed to come here.
    pub hops: u8,
    /// The page it was found on; none for seeds, and for what a robots.txt names.
    pub from: Option<UrlId>,
    /// How it was found.
    pub by: Found,
    /// The link's text, of one that another peer offers; empty where it was found here, since who made the page has it.
    pub anchor: String,
    /// What the page is that it was found on, of one that another peer offers; none where crawls have no topic.
    pub context: Option<Context>,
    /// What the text around it is about, in thousandths, likewise.
    pub around: Option<u16>,
}

/// How a link was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// Somebody asked for it: wanted even if it was seen.
    Seed,
    /// On a page of this site, or in a sitemap of it.
    Link {
        /// The site.
        site: SiteId,
        /// Whether it was a sitemap, or a robots.txt.
        sitemap: bool,
    },
    /// As the target of a redirect.
    Redirect,
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
    /// What crawls are about, if they are about something.
    pub focus: Option<&'a mut Focus>,
    /// URLs per host, at most.
    pub per_host: u64,
    /// Whether sitemaps are used.
    pub sitemaps: bool,
    /// The time.
    pub now: Instant,
    /// Whether this peer admits the URLs of a slot.
    pub rights: &'a dyn Rights,
    /// What other peers are to be offered, of what passed.
    pub offers: Vec<Offer>,
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
        if link.nofollow || (link.sitemap && !self.sitemaps) {
            return None;
        }
        let depth = source.depth.saturating_add(u16::from(!link.sitemap));
        let by = Found::Link { site: source.site, sitemap: source.sitemap };
        let (crawl, from, anchor) = (source.crawl, source.id, String::new());
        self.offer(Offer { link, crawl, depth, hops: 0, from, by, anchor, context: None, around: None }, full)
    }

    /// What another peer offers of a slot that is this peer's.
    pub fn offered(&mut self, offers: Vec<Offer>) -> Vec<Admission> {
        let mut full = None;
        let open = |door: &Self, offer: &Offer| door.crawls.open(offer.crawl);
        let admit = |offer| if open(self, &offer) { self.offer(offer, &mut full) } else { None };
        offers.into_iter().filter_map(admit).collect()
    }

    /// Admits a link, or sets it aside for the peer whose it is.
    fn offer(&mut self, offer: Offer, full: &mut Option<(HostId, bool)>) -> Option<Admission> {
        let reaches =
            || offer.by == Found::Seed || self.crawls.reaches(offer.crawl, &offer.link, offer.depth);
        if !reaches() || self.forbidden(&offer.link) {
            return None;
        }
        if !self.rights.holds(offer.link.host.slot()) {
            self.offers.push(offer);
            return None;
        }
        let within = !matches!(offer.by, Found::Link { .. }) || self.within_budget(&offer.link, full);
        if !within || !self.crawls.enters(offer.crawl, offer.link.host.site()) {
            return None;
        }
        Some(self.admission(offer))
    }

    fn within_budget(&mut self, link: &FoundLink, full: &mut Option<(HostId, bool)>) -> bool {
        // Most links of a page lead to its own host: its budget is looked up once.
        let is_full = match *full {
            Some((host, is_full)) if host == link.host => is_full,
            _ => {
                let is_full = self.frontier.admitted(link.host).is_some_and(|count| count >= self.per_host);
                *full = Some((link.host, is_full));
                is_full
            }
        };
        !is_full && self.directories.admit(link.host, &link.url)
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
        let (crawl, depth, hops) = (entry.crawl, entry.depth, entry.hops.saturating_add(1));
        let (by, anchor) = (Found::Redirect, String::new());
        let from = Some(id);
        self.offer(
            Offer { link: target, crawl, depth, hops, from, by, anchor, context: None, around: None },
            &mut None,
        )
    }

    /// A seed: wanted even if it was seen.
    pub fn seed(&mut self, crawl: CrawlId, seed: FoundLink) -> Option<Admission> {
        let (by, anchor) = (Found::Seed, String::new());
        let offer = Offer {
            link: seed,
            crawl,
            depth: 0,
            hops: 0,
            from: None,
            by,
            anchor,
            context: None,
            around: None,
        };
        self.offer(offer, &mut None)
    }

    /// Whether an exclusion forbids to crawl it.
    pub fn forbidden(&self, link: &FoundLink) -> bool {
        let scope = exclusion::Scope::Crawl;
        self.exclusions.forbids(scope, &link.site_name, &link.host_name, &link.url).is_some()
    }

    /// The level of an entry in a crawl about everything. Where importance decides what comes first, who links to a page counts there.
    fn level(&self, offer: &Offer) -> u8 {
        match offer.by {
            _ if offer.link.sitemap => LEVEL_FIRST,
            Found::Seed | Found::Redirect => LEVEL_FIRST,
            _ if offer.link.doubtful => LEVEL_DOUBTFUL,
            Found::Link { site, .. } if site == offer.link.host.site() => LEVEL_OWN,
            // A sitemap that speaks for another site may be right, and may be anything.
            Found::Link { sitemap: true, .. } => LEVEL_DOUBTFUL,
            Found::Link { .. } if self.frontier.chooses() => LEVEL_OWN,
            Found::Link { .. } => LEVEL_FOREIGN,
        }
    }

    /// The same in one with a topic: links go where what they say of their targets puts them.
    fn topic_level(&mut self, offer: &mut Offer) -> Option<u8> {
        let level = self.level(offer);
        let focus = self.focus.as_mut()?;
        if level == LEVEL_FIRST || level == LEVEL_DOUBTFUL {
            return Some(if level == LEVEL_FIRST { level } else { LEVEL_LAST });
        }
        let link = &mut offer.link;
        let clues = link.clues.get_or_insert_with(|| {
            Box::new(focus.clues(offer.context, &offer.anchor, offer.around, &link.url))
        });
        Some(focus.admit(&link.host, clues))
    }

    fn admission(&mut self, mut offer: Offer) -> Admission {
        let level = self.topic_level(&mut offer).unwrap_or_else(|| self.level(&offer));
        let Offer { link, crawl, depth, hops, from, by, .. } = offer;
        let kind = if link.sitemap { EntryKind::Sitemap } else { EntryKind::Page };
        Admission {
            id: link.id,
            host: link.host,
            host_name: link.host_name,
            site_name: link.site_name,
            level,
            force: by == Found::Seed,
            entry: QueueEntry {
                url: link.url,
                crawl,
                kind,
                depth,
                hops,
                attempt: 0,
                revisit: false,
                from,
                first_seen_s: self.now.unix_s(),
                clues: link.clues,
            },
        }
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
