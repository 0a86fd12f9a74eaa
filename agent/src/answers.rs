//! What was made of a response, taken apart: the entry's fate, its links, its host, its crawl; or rules.

use crate::Agent;
use crate::admission::{Offer, Source};
use crate::completion::Fate;
use crate::crawls::Tally;
use crate::io::{Admission, Commit, Effect, End, FoundLink, Made, PermitId};
use crate::rights::Rights;
use anthill_crawler::frontier::queue::Ready;
use anthill_crawler::frontier::{Errand, RobotsMade, Target, Work};
use anthill_crawler::record::{EntryKind, QueueItem, UrlRecord};
use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, UrlId};

impl<R: Rights> Agent<R> {
    pub(crate) fn made(
        &mut self,
        permit: PermitId,
        mut made: Made,
        (mut links, targets): (Vec<FoundLink>, Vec<UrlId>),
        previous: Option<Box<UrlRecord>>,
        outbox: &mut Vec<Effect>,
    ) {
        let Some(flight) = self.frontier.finish(permit) else { return };
        let Some(end) = flight.end else { return };
        match flight.work {
            Work::Robots(errand) => self.robots_made(permit, flight.host, errand, end, made, links, outbox),
            Work::Entry { item, tries } => {
                let down = self.frontier.down(flight.host, self.now);
                let took = end.0.since(flight.given);
                if let (Some(focus), Made::Page(facts)) = (&mut self.focus, &mut made)
                    && let Some(relevance) = facts.relevance
                {
                    let page =
                        focus.learn(&item, (relevance, facts.class), std::mem::take(&mut facts.sketch));
                    let clues = links.iter_mut().filter_map(|link| link.clues.as_mut());
                    clues.for_each(|clues| clues.from = page);
                }
                let is_page = matches!(made, Made::Page(_) | Made::NotModified);
                let mut fate = self.desk().complete(&item, tries, (&end.1, took), made, previous, down);
                if fate.tally == Some(Tally::Fetched) {
                    self.frontier.count_fetched(flight.host);
                }
                if let Some((_, record)) = fate.commit.record.as_mut().filter(|_| is_page)
                    && fate.tally == Some(Tally::Fetched)
                {
                    self.visited(item.id, record, &targets);
                }
                if let Some(to) = links.first().filter(|_| fate.follow) {
                    self.redirected(item.id, to.id);
                }
                let mut freed = self.crawls.landed(&item.entry, fate.tally);
                (fate.commit.permit, fate.commit.asked) = (Some(permit), Some(flight.host));
                let (admit, offers) = self.admissions(&item, &fate, links);
                fate.commit.offers = offers;
                if !self.crawls.open(item.entry.crawl) && fate.put_back.is_none() {
                    fate.commit.schedule = None;
                    if let Some((_, record)) = fate.commit.record.as_mut() {
                        record.next_s = None;
                    }
                }
                fate.commit.admit = self.admit_in_chunks(admit, outbox);
                self.add_host(&mut fate.commit, flight.host);
                self.commit(fate.commit, Some(item.entry.crawl), [Some(flight.host), None], outbox);
                if let Some(untouched) = fate.put_back {
                    self.frontier.put_back(Ready { item, tries }, untouched, self.now);
                }
                freed.drain(..).for_each(|host| self.frontier.unpark(host, self.now));
            }
        }
    }

    /// What becomes of a page's links, or of its redirect: URLs to be admitted here, and what others are offered.
    fn admissions(
        &mut self,
        item: &QueueItem,
        fate: &Fate,
        links: Vec<FoundLink>,
    ) -> (Vec<Admission>, Vec<Offer>) {
        let mut door = self.door();
        let admit = if fate.follow {
            let target = links.into_iter().next();
            target.and_then(|target| door.redirect(&item.entry, item.id, target)).into_iter().collect()
        } else if fate.tally != Some(Tally::Fetched) || links.is_empty() {
            Vec::new()
        } else {
            let source = Source {
                crawl: item.entry.crawl,
                depth: item.entry.depth,
                id: Some(item.id),
                site: item.key.host.site(),
                sitemap: item.entry.kind == EntryKind::Sitemap,
            };
            door.links(&source, links)
        };
        (admit, door.offers)
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one answer")]
    fn robots_made(
        &mut self,
        permit: PermitId,
        asked: HostId,
        errand: Errand,
        end: (Instant, End),
        made: Made,
        links: Vec<FoundLink>,
        outbox: &mut Vec<Effect>,
    ) {
        let (of, sponsor) = (errand.of, errand.sponsor);
        let mut links = links.into_iter();
        let made = match made {
            Made::Robots(file) => RobotsMade::File(file),
            Made::Redirect(_) => match links.next() {
                // Rules that lie with a host that another peer asks, or nobody may ask, are not to be had. They exist:
                // RFC 9309, section 2.3.1.4, has them forbid everything.
                Some(to) if self.door().forbidden(&to) || !self.rights.holds(to.host.slot()) => {
                    RobotsMade::OutOfReach
                }
                Some(to) => RobotsMade::Redirect(Target {
                    host: to.host,
                    name: to.host_name,
                    site: to.site_name,
                    url: to.url,
                }),
                None => RobotsMade::Nothing,
            },
            _ => RobotsMade::Nothing,
        };
        let sitemaps = if matches!(made, RobotsMade::File(_)) { links.collect() } else { Vec::new() };
        let learned = self.frontier.robots_made(self.now, asked, errand, end, made);
        let source =
            Source { crawl: sponsor.crawl, depth: sponsor.depth, id: None, site: of.site(), sitemap: true };
        let mut door = self.door();
        let admit = door.links(&source, sitemaps);
        let mut commit =
            Commit { permit: Some(permit), asked: Some(asked), offers: door.offers, ..Commit::default() };
        commit.admit = self.admit_in_chunks(admit, outbox);
        commit.robots.extend(learned.map(|learned| (learned.of, learned.scheme, learned.record)));
        self.add_host(&mut commit, asked);
        if of != asked {
            self.add_host(&mut commit, of);
        }
        self.commit(commit, None, [Some(asked), Some(of).filter(|&of| of != asked)], outbox);
    }
}
