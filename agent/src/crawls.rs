//! What people asked for: how far each crawl may go, and how far it came.

use crate::io::{CrawlSpec, FoundLink, Untried};
use crate::reach::Reach;
use anthill_crawler::canon;
use anthill_crawler::frontier::{Dropped, Judgement};
use anthill_crawler::map::Set;
use anthill_crawler::record::{CrawlId, CrawlRecord, EntryKind, QueueEntry, QueueItem, Scope};
use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, SiteId, Slot};
use std::collections::{BTreeMap, BTreeSet};

/// A crawl's record is written along with every commit of it as long as its seeds are short; for each this many bytes
/// of seeds it waits for one commit more, so that writing it costs a bounded part of every commit.
const BYTES_PER_COMMIT: usize = 512;

/// Sites counted of a crawl that has no limit of them: 8 MB.
const SITES_COUNTED: usize = 1_000_000;

/// One crawl.
#[derive(Debug)]
struct Crawl {
    record: CrawlRecord,
    reach: Reach,
    /// Sites it has URLs of.
    sites: Set<SiteId>,
    /// Permits given for its entries that are not done with, and those of them that may become pages.
    flights: u64,
    pages_in_flight: u64,
    /// Hosts whose next entry waits for one of those to come back.
    parked: BTreeSet<HostId>,
    /// Commits of it that are under way: what they offer may be new, and what they bring cannot be found yet.
    commits: u32,
    /// Commits since the record changed.
    unwritten: Option<usize>,
    /// Bytes of seeds, roughly what writing the record costs.
    weight: usize,
    /// What was never tried, by slot: as far as it came since the process started.
    untried: BTreeMap<Slot, u64>,
    /// The rest of it, which was there before.
    unplaced: u64,
    /// Rises with whatever is begun for it.
    activity: u64,
    /// Pages that this peer may have fetched of those that the swarm may.
    allowance: Option<u64>,
}

impl Crawl {
    fn new(record: CrawlRecord) -> Crawl {
        let weight = record.seeds.iter().map(String::len).sum();
        Crawl {
            reach: Reach::new(record.scope),
            sites: Set::default(),
            flights: 0,
            pages_in_flight: 0,
            parked: BTreeSet::new(),
            commits: 0,
            unwritten: None,
            weight,
            untried: BTreeMap::new(),
            unplaced: record.untried,
            activity: 0,
            allowance: None,
            record,
        }
    }

    fn touch(&mut self) {
        self.unwritten.get_or_insert(0);
    }

    /// Pages that may still be asked for.
    fn pages_left(&self) -> u64 {
        let [max, allowance] = [self.record.max_pages, self.allowance].map(|max| max.unwrap_or(u64::MAX));
        let max = max.min(allowance);
        max.saturating_sub(self.record.fetched).saturating_sub(self.pages_in_flight)
    }

    fn over(&self) -> bool {
        self.record.ended.is_some()
    }

    fn enter(&mut self, site: SiteId) -> bool {
        let Some(max) = self.record.max_sites else {
            if self.sites.len() < SITES_COUNTED {
                self.sites.insert(site);
            }
            return true;
        };
        if self.sites.contains(&site) {
            return true;
        }
        if self.sites.len() as u64 >= max {
            return false;
        }
        self.sites.insert(site)
    }
}

/// A crawl as people see it.
#[derive(Clone, Copy, Debug)]
pub struct CrawlView<'a> {
    /// Its record, with the present counts.
    pub record: &'a CrawlRecord,
    /// Sites it has URLs of; without a limit, as far as met since the start, and at most [`SITES_COUNTED`].
    pub sites: u64,
    /// Requests for its entries that are not done with.
    pub in_flight: u64,
    /// Writes of it under way.
    pub commits: u32,
    /// Rises with whatever is begun for it, since the process started.
    pub activity: u64,
    /// Whether nothing that was never tried is left of it, or it was ended and nothing is in flight.
    pub done: bool,
}

/// What a response was, for the counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tally {
    /// A page.
    Fetched,
    /// No page for good.
    Failed,
    /// Not asked for.
    Excluded,
}

/// All crawls.
#[derive(Debug, Default)]
pub struct Crawls {
    map: BTreeMap<CrawlId, Crawl>,
    times: BTreeSet<(Instant, CrawlId)>,
    /// Sites entered and not written down yet.
    entered: Vec<(CrawlId, SiteId)>,
    /// What slots here have of crawls that are not known yet: a slot may come before word of its crawls. A number for each
    /// slot and crawl.
    early: BTreeMap<(CrawlId, Slot), u64>,
    /// Whether word of a crawl may come later than entries of it, as in a swarm.
    may_come: bool,
    /// Hosts whose next entry waits for that word: at most all hosts in memory.
    unknown: BTreeMap<CrawlId, BTreeSet<HostId>>,
}

impl Crawls {
    /// Those of a swarm, of which entries may be here before word of them.
    pub fn of_swarm() -> Crawls {
        Crawls { may_come: true, ..Crawls::default() }
    }

    /// A crawl as it was written down, with the sites that it had entered besides those of its seeds.
    pub fn restore(&mut self, record: CrawlRecord, entered: impl Iterator<Item = SiteId>) {
        let rules = canon::Rules::default();
        let mut crawl = Crawl::new(record);
        // First, because a seed that was added later may have found no room.
        crawl.sites.extend(entered);
        for seed in crawl.record.seeds.clone() {
            if let Ok(canon) = rules.canonical(&seed, None) {
                crawl.reach.extend(canon.host_id(), &seed);
                crawl.enter(canon.site_id());
            }
        }
        self.insert(crawl);
    }

    /// A crawl begins.
    pub fn begin(&mut self, id: CrawlId, spec: &CrawlSpec, now: Instant) {
        let record = CrawlRecord {
            id,
            seeds: spec.seeds.iter().map(|seed| seed.url.clone()).collect(),
            scope: spec.scope,
            max_depth: spec.max_depth,
            max_pages: spec.max_pages,
            max_sites: spec.max_sites,
            until: spec.max_time.map(|time| now + time),
            started: now,
            ..CrawlRecord::default()
        };
        let mut crawl = Crawl::new(record);
        for seed in &spec.seeds {
            crawl.reach.extend(seed.host, &seed.url);
            crawl.enter(seed.host.site());
        }
        crawl.touch();
        self.insert(crawl);
    }

    fn insert(&mut self, crawl: Crawl) {
        let id = crawl.record.id;
        if let (Some(until), None) = (crawl.record.until, &crawl.record.ended) {
            self.times.insert((until, id));
        }
        self.map.insert(id, crawl);
        let early = self.early.keys().filter(|(crawl, _)| *crawl == id);
        for (id, slot) in early.copied().collect::<Vec<_>>() {
            let count = self.early.remove(&(id, slot)).unwrap_or_default();
            self.found((id, slot, count));
        }
    }

    /// The hosts that waited for word of a crawl.
    pub fn waited_for(&mut self, id: CrawlId) -> BTreeSet<HostId> {
        self.unknown.remove(&id).unwrap_or_default()
    }

    /// Ends a crawl; returns the hosts that waited for it.
    pub fn end(&mut self, id: CrawlId, why: &str) -> Vec<HostId> {
        let Some(crawl) = self.map.get_mut(&id) else { return Vec::new() };
        if let Some(until) = crawl.record.until {
            self.times.remove(&(until, id));
        }
        if crawl.over() {
            return Vec::new();
        }
        crawl.record.ended = Some(why.to_owned());
        crawl.touch();
        std::mem::take(&mut crawl.parked).into_iter().collect()
    }

    /// The first crawl whose time is over.
    pub fn timed_out(&self, now: Instant) -> Option<CrawlId> {
        self.times.first().filter(|(until, _)| *until <= now).map(|&(_, id)| id)
    }

    /// When the next crawl's time is over.
    pub fn deadline(&self) -> Option<Instant> {
        self.times.first().map(|&(until, _)| until)
    }

    /// What its crawl makes of an entry whose turn it is.
    pub fn judge(&mut self, item: &QueueItem) -> Judgement {
        let id = item.entry.crawl;
        if self.may_come && !self.map.contains_key(&id) {
            self.unknown.entry(id).or_default().insert(item.key.host);
            return Judgement::Park;
        }
        let Some(crawl) = self.map.get_mut(&id).filter(|crawl| !crawl.over()) else {
            return Judgement::Drop(Dropped::CrawlOver);
        };
        if counts_as_page(&item.entry) && crawl.pages_left() == 0 {
            crawl.parked.insert(item.key.host);
            return Judgement::Park;
        }
        Judgement::Go
    }

    /// A permit was given for an entry.
    pub fn given(&mut self, entry: &QueueEntry) {
        if let Some(crawl) = self.map.get_mut(&entry.crawl) {
            crawl.flights += 1;
            crawl.activity += 1;
            crawl.pages_in_flight += u64::from(counts_as_page(entry));
        }
    }

    /// A permit is done with, and this came of it. Returns the hosts that may go on now.
    pub fn landed(&mut self, entry: &QueueEntry, tally: Option<Tally>) -> Vec<HostId> {
        let Some(crawl) = self.map.get_mut(&entry.crawl) else { return Vec::new() };
        crawl.flights = crawl.flights.saturating_sub(1);
        crawl.pages_in_flight = crawl.pages_in_flight.saturating_sub(u64::from(counts_as_page(entry)));
        self.count(entry, tally);
        self.freed(entry.crawl)
    }

    /// An entry became what the tally says.
    pub fn count(&mut self, entry: &QueueEntry, tally: Option<Tally>) {
        let (Some(crawl), Some(tally)) = (self.map.get_mut(&entry.crawl), tally) else { return };
        if !counts_as_page(entry) {
            return;
        }
        match tally {
            Tally::Fetched => crawl.record.fetched += 1,
            Tally::Failed => crawl.record.failed += 1,
            Tally::Excluded => crawl.record.excluded += 1,
        }
        crawl.touch();
    }

    fn freed(&mut self, id: CrawlId) -> Vec<HostId> {
        let Some(crawl) = self.map.get_mut(&id) else { return Vec::new() };
        if crawl.record.max_pages.is_some_and(|max| crawl.record.fetched >= max) {
            return self.end(id, "page limit");
        }
        let left = usize::try_from(crawl.pages_left()).unwrap_or(usize::MAX).min(crawl.parked.len());
        (0..left).filter_map(|_| crawl.parked.pop_first()).collect()
    }

    /// An entry is done with that had never been tried.
    pub fn tried(&mut self, id: CrawlId, slot: Slot) {
        let Some(crawl) = self.map.get_mut(&id) else {
            // What is excluded is done with before its crawl is known.
            self.early.entry((id, slot)).and_modify(|left| *left = left.saturating_sub(1));
            return;
        };
        let left = match crawl.untried.get_mut(&slot) {
            Some(left) if *left > 0 => left,
            _ => &mut crawl.unplaced,
        };
        // What was in flight when its slot was lost is counted no more.
        if *left > 0 {
            *left -= 1;
            crawl.record.untried = crawl.record.untried.saturating_sub(1);
        }
    }

    /// A commit of it is under way.
    pub fn committing(&mut self, id: CrawlId) {
        if let Some(crawl) = self.map.get_mut(&id) {
            crawl.commits += 1;
            crawl.activity += 1;
        }
    }

    /// One of those is on disk, and what was new is counted.
    pub fn committed(&mut self, id: CrawlId) {
        if let Some(crawl) = self.map.get_mut(&id) {
            crawl.commits = crawl.commits.saturating_sub(1);
        }
    }

    /// So many URLs were new.
    pub fn admitted(&mut self, id: CrawlId, count: u64) {
        if let Some(crawl) = self.map.get_mut(&id) {
            crawl.record.admitted += count;
        }
    }

    /// So many that were never tried are in a slot, whoever admitted them.
    pub fn found(&mut self, (id, slot, count): Untried) {
        let Some(crawl) = self.map.get_mut(&id) else {
            *self.early.entry((id, slot)).or_default() += count;
            return;
        };
        crawl.record.untried += count;
        *crawl.untried.entry(slot).or_default() += count;
        crawl.activity += 1;
    }

    /// Slots are another peer's, and what was never tried in them.
    pub fn lost(&mut self, slots: &BTreeSet<Slot>) {
        self.early.retain(|(_, slot), _| !slots.contains(slot));
        self.unknown.retain(|_, hosts| {
            hosts.retain(|host| !slots.contains(&host.slot()));
            !hosts.is_empty()
        });
        for crawl in self.map.values_mut() {
            let gone = slots.iter().filter_map(|slot| crawl.untried.remove(slot)).sum();
            crawl.record.untried = crawl.record.untried.saturating_sub(gone);
        }
    }

    /// This peer may have fetched so many pages of a crawl of the swarm; returns the hosts that may go on now.
    pub fn allow(&mut self, id: CrawlId, pages: u64) -> Vec<HostId> {
        let Some(crawl) = self.map.get_mut(&id) else { return Vec::new() };
        crawl.allowance = Some(pages);
        self.freed(id)
    }

    /// Whether it is one of these, ended or not.
    pub fn knows(&self, id: CrawlId) -> bool {
        self.map.contains_key(&id)
    }

    /// Whether links may be admitted to it.
    pub fn open(&self, id: CrawlId) -> bool {
        self.map.get(&id).is_some_and(|crawl| !crawl.over())
    }

    /// Whether a link found so many steps from a seed is within its scope and depth.
    pub fn reaches(&self, id: CrawlId, link: &FoundLink, depth: u16) -> bool {
        let Some(crawl) = self.map.get(&id) else { return false };
        let near = match crawl.record.max_depth {
            // What a sitemap lists has no distance from a seed.
            Some(_) if link.sitemap => false,
            Some(max) => depth <= max,
            None => true,
        };
        near && crawl.reach.holds(link)
    }

    /// Whether a URL of this site may be admitted to it; from then on the site counts.
    pub fn enters(&mut self, id: CrawlId, site: SiteId) -> bool {
        let Some(crawl) = self.map.get_mut(&id) else { return false };
        let before = crawl.sites.len();
        let enters = crawl.enter(site);
        if crawl.record.max_sites.is_some() && crawl.sites.len() > before {
            self.entered.push((id, site));
        }
        enters
    }

    /// Sites that crawls with a limit of them have entered since this was asked last: to be written down.
    pub fn take_entered(&mut self) -> Vec<(CrawlId, SiteId)> {
        std::mem::take(&mut self.entered)
    }

    /// A seed redirects: what it leads to is a seed too, also for the scope, and stays so after a restart.
    pub fn extend(&mut self, id: CrawlId, target: &FoundLink) {
        let Some(crawl) = self.map.get_mut(&id) else { return };
        if crawl.record.scope == Scope::Any || crawl.reach.holds(target) {
            return;
        }
        crawl.reach.extend(target.host, &target.url);
        crawl.weight += target.url.len();
        crawl.record.seeds.push(target.url.clone());
        crawl.touch();
    }

    /// The record, if it is to be written along with a commit of this crawl now.
    pub fn write_out(&mut self, id: CrawlId) -> Option<CrawlRecord> {
        let crawl = self.map.get_mut(&id)?;
        let waited = crawl.unwritten?;
        let quiet = crawl.flights == 0 && crawl.record.untried == 0;
        if waited >= crawl.weight / BYTES_PER_COMMIT || quiet || crawl.over() {
            crawl.unwritten = None;
            return Some(crawl.record.clone());
        }
        crawl.unwritten = Some(waited + 1);
        None
    }

    /// The record, if it changed since it was written.
    pub fn write_now(&mut self, id: CrawlId) -> Option<CrawlRecord> {
        let crawl = self.map.get_mut(&id)?;
        crawl.unwritten.take().map(|_| crawl.record.clone())
    }

    /// What was never tried, of crawls that go on: by slot.
    pub fn untried(&self) -> BTreeMap<Slot, u64> {
        let mut untried: BTreeMap<Slot, u64> = BTreeMap::new();
        for crawl in self.map.values().filter(|crawl| !crawl.over()) {
            for (slot, count) in crawl.untried.iter().filter(|(_, count)| **count > 0) {
                *untried.entry(*slot).or_default() += count;
            }
        }
        untried
    }

    /// Whether nothing untried is left of any crawl.
    pub fn idle(&self) -> bool {
        self.map.values().all(done)
    }

    /// All of them.
    pub fn views(&self) -> impl Iterator<Item = CrawlView<'_>> {
        self.map.values().map(|crawl| CrawlView {
            record: &crawl.record,
            sites: crawl.sites.len() as u64,
            in_flight: crawl.flights,
            commits: crawl.commits,
            activity: crawl.activity,
            done: done(crawl),
        })
    }
}

fn done(crawl: &Crawl) -> bool {
    crawl.commits == 0 && if crawl.over() { crawl.flights == 0 } else { crawl.record.untried == 0 }
}

/// Whether an entry counts against the limit of pages: a page, for the first time.
fn counts_as_page(entry: &QueueEntry) -> bool {
    entry.kind == EntryKind::Page && !entry.revisit
}

#[cfg(test)]
#[path = "crawls_tests.rs"]
mod tests;
