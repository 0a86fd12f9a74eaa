//! Links: which of them are offered to the agent, and what they say of their targets.

use super::Workshop;
use crate::store::write::{Inlink, inlink_hash, link_fingerprint, url_fingerprint};
use anthill_agent::io::FoundLink;
use anthill_crawler::canon::{Canon, Ids};
use anthill_crawler::filter::Verdict;
use anthill_crawler::focus::predict::Context;
use anthill_crawler::focus::reader::Reader;
use anthill_crawler::map::Set;
use anthill_crawler::parse::Page;
use anthill_protocol::key::{SiteId, UrlId};
use foldhash::fast::FixedState;
use std::hash::BuildHasher;
use url::{Position, Url};

/// Anchor text kept of a link to another site, in characters.
const MAX_ANCHOR: usize = 100;

/// What links of a page are good for.
#[derive(Default)]
pub struct Links {
    /// To be admitted: each target once, none admitted lately.
    pub found: Vec<FoundLink>,
    /// From here to other sites.
    pub inlinks: Vec<Inlink>,
    /// Other pages that it links to, each once.
    pub targets: Vec<UrlId>,
}

impl Workshop {
    /// What the links of a page are good for, which are taken out of it; `own` is its id. `topic` is how relevant it is, and who reads what
    /// links say.
    pub fn links(
        &self,
        page: &mut Page,
        url: &Url,
        own: UrlId,
        mut topic: Option<(u16, &mut Reader)>,
    ) -> Links {
        let mut links = Links::default();
        let from = own.site();
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
                    links.inlinks.push(inlink);
                }
            }
            if !targets.insert(ids.url) {
                continue;
            }
            // What was admitted lately passed the filters.
            let is_recent = self.recent_urls.contains(url_fingerprint(&ids.url));
            let found = if is_recent { None } else { self.found_as(target, ids, false) };
            if ids.url != own && (is_recent || found.is_some()) {
                links.targets.push(ids.url);
            }
            if let Some(mut found_link) = found {
                let clues = topic.as_mut().map(|(from, reader)| {
                    let page = Context { relevance: *from, ..Context::default() };
                    let around = reader.around(&link.around);
                    reader.clues(page, &link.anchor, around, &found_link.url)
                });
                found_link.clues = clues.map(Box::new);
                links.found.push(found_link);
            }
        }
        links
    }

    /// A canonical URL as the agent wants it, unless filters drop it.
    pub(super) fn found(&self, target: Canon, sitemap: bool) -> Option<FoundLink> {
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
            clues: None,
        })
    }
}

fn inlink(target: UrlId, from: SiteId, anchor: &str) -> Inlink {
    let anchor: String = anchor.chars().take(MAX_ANCHOR).collect();
    let anchor_hash = inlink_hash(&anchor);
    Inlink { target, from, anchor, anchor_hash }
}
