//! What stands before a permit besides politeness: the crawl, exclusions, rights and the topic.

use crate::crawls::Crawls;
use crate::focus::Focus;
use crate::rights::{Right, Rights, Waiters};
use anthill_crawler::exclusion::{self, Exclusions};
use anthill_crawler::frontier::{Dropped, Gate, Judgement};
use anthill_crawler::record::QueueItem;
use anthill_crawler::time::Instant;
use anthill_protocol::key::HostId;
use std::net::IpAddr;
use std::time::Duration;

/// Crawls, exclusions and rights, as the frontier sees them.
pub(crate) struct Judge<'a, R> {
    pub crawls: &'a mut Crawls,
    pub exclusions: &'a Exclusions,
    pub focus: Option<&'a Focus>,
    pub rights: &'a mut R,
    pub waiting: &'a mut Waiters,
    pub now: Instant,
}

impl<R: Rights> Gate for Judge<'_, R> {
    fn holds(&mut self, host: HostId) -> bool {
        let holds = self.rights.holds(host.slot());
        if !holds {
            self.waiting.wait(Right::Slot(host.slot()), host);
        }
        holds
    }

    fn until(&mut self, host: HostId, address: IpAddr, delay: Duration) -> Option<Instant> {
        match self.rights.until(host.slot(), (address, delay), self.now) {
            Ok(until) => Some(until),
            Err(right) => {
                self.waiting.wait(right, host);
                None
            }
        }
    }

    fn judge(&mut self, item: &QueueItem, name: &str, site: &str) -> Judgement {
        let judgement = self.crawls.judge(item);
        if judgement != Judgement::Drop(Dropped::CrawlOver)
            && let Some(exclusion) =
                self.exclusions.forbids(exclusion::Scope::Crawl, site, name, &item.entry.url)
        {
            return Judgement::Drop(Dropped::Excluded(exclusion.pattern.to_string()));
        }
        judgement
    }

    fn level(&mut self, item: &QueueItem) -> Option<u8> {
        self.focus?.level_now(item)
    }

    fn given(&mut self, item: &QueueItem) {
        self.crawls.given(&item.entry);
    }
}
