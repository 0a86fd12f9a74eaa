//! The agent: takes inputs to the parts that they concern, and turns what those ask for into effects.

use crate::admission::Door;
use crate::completion::{Desk, Fate};
use crate::crawls::{CrawlView, Crawls};
use crate::focus::{self, Focus};
use crate::gate::Judge;
use crate::importance::Abroad;
use crate::io::{
    Admission, Commit, CrawlSpec, Effect, Found, Gain, Input, Linked, Moved, Offer, Permit, Reason,
    StoredHost, Task,
};
use crate::ledger::{About, Ledger, Open};
use crate::rights::{Alone, Rights, Waiters};
use anthill_crawler::exclusion::Exclusions;
use anthill_crawler::filter::{Budgets, Directories};
use anthill_crawler::frontier::{
    self, Allowed, Dropped, Errand, HostView, PermitId, State, Waiting, Work, revisit,
};
use anthill_crawler::record::{CrawlId, QueueItem};
use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, SiteId, Slot};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// Admissions in one commit: a sitemap may list 50,000 URLs, and a write of 256 kB is large enough.
const ADMIT_CHUNK: usize = 1_024;
/// Scheduled entries that are moved into queues at once.
const PROMOTE_CHUNK: u32 = 1_024;

/// What the agent is held to.
#[derive(Clone, Debug)]
pub struct Config {
    /// Politeness and memory.
    pub frontier: frontier::Config,
    /// Bounds of revisits; none: nothing is visited twice.
    pub revisit: Option<revisit::Settings>,
    /// URLs per host and per directory.
    pub budgets: Budgets,
    /// Whether sitemaps that robots.txt names are used.
    pub sitemaps: bool,
    /// What crawls are about; none: about everything.
    pub focus: Option<focus::Settings>,
    /// Commits under way, at most, while permits are given.
    pub max_commits: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            frontier: frontier::Config::default(),
            revisit: Some(revisit::Settings::default()),
            budgets: Budgets::default(),
            sitemaps: true,
            focus: None,
            max_commits: 512,
        }
    }
}

/// How much there is of what.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Requests that have not ended.
    pub in_flight: usize,
    /// Requests that have not been done with, those included.
    pub permits: usize,
    /// Commits under way.
    pub commits: usize,
    /// Hosts in memory.
    pub hosts: usize,
    /// Those of them whose turn comes at a known time.
    pub waiting_hosts: usize,
    /// What fronts and rules in memory weigh, in entries.
    pub front_weight: usize,
}

/// One peer's mind. `R` says which hosts are its to ask.
pub struct Agent<R = Alone> {
    config: Config,
    pub(crate) rights: R,
    waiting: Waiters,
    pub(crate) frontier: State,
    pub(crate) crawls: Crawls,
    ledger: Ledger,
    /// How often slots had been opened when each permit was given that is out.
    given: BTreeMap<PermitId, u64>,
    directories: Directories,
    exclusions: Arc<Exclusions>,
    pub(crate) focus: Option<Focus>,
    /// What passes to pages of other peers.
    pub(crate) abroad: Abroad,
    rng: ChaCha8Rng,
    next_due: Option<Instant>,
    promoting: bool,
    pub(crate) paused: Option<String>,
    started: bool,
    pub(crate) now: Instant,
    asked: Vec<frontier::Effect>,
}

impl Agent {
    /// The agent of a peer that is alone, and knows nothing yet. Everything it leaves to chance follows from `seed`.
    pub fn new(config: Config, seed: [u8; 32]) -> Agent {
        let crawls = Crawls::default();
        Agent { crawls, ..Agent::with_rights(config, Alone, seed) }
    }
}

impl<R: Rights> Agent<R> {
    /// An agent that knows nothing yet, with these rights. Everything it leaves to chance follows from `seed`.
    pub fn with_rights(config: Config, rights: R, seed: [u8; 32]) -> Agent<R> {
        let mut rng = ChaCha8Rng::from_seed(seed);
        let mut frontier_rng = ChaCha8Rng::from_seed(seed);
        frontier_rng.set_stream(1);
        let mut of_frontier = config.frontier.clone();
        if config.focus.is_some() {
            of_frontier.preference.get_or_insert(focus::SHARE_OF_OTHERS);
        }
        Agent {
            frontier: State::new(of_frontier, frontier_rng),
            focus: config.focus.as_ref().map(Focus::new),
            abroad: Abroad::default(),
            crawls: Crawls::of_swarm(),
            ledger: Ledger::default(),
            given: BTreeMap::new(),
            directories: Directories::new(config.budgets.per_directory, rng.next_u64()),
            exclusions: Arc::default(),
            rng,
            next_due: None,
            promoting: false,
            paused: None,
            started: false,
            now: Instant::ZERO,
            asked: Vec::new(),
            waiting: Waiters::default(),
            rights,
            config,
        }
    }

    /// Takes note of what happened, and asks for what follows from it.
    pub fn handle(&mut self, now: Instant, input: Input, outbox: &mut Vec<Effect>) {
        let now = now.max(self.now);
        self.now = now;
        match input {
            Input::Start { hosts, earlier, crawls, entered, next_due } => {
                self.frontier.start(now, earlier);
                let mut sites: BTreeMap<CrawlId, Vec<SiteId>> = BTreeMap::new();
                for (crawl, site) in entered {
                    sites.entry(crawl).or_default().push(site);
                }
                for record in crawls {
                    let entered = sites.remove(&record.id).unwrap_or_default();
                    self.crawls.restore(record, entered.into_iter());
                }
                self.stored(hosts, outbox);
                self.next_due = next_due;
                self.started = true;
            }
            Input::Gained(hosts, untried) => {
                self.frontier.took_over(now);
                untried.into_iter().for_each(|found| self.crawls.found(found));
                self.stored(hosts, outbox);
            }
            Input::Lost(slots) => {
                self.waiting.forget(&slots);
                self.crawls.lost(&slots);
                self.frontier.forget(&slots, self.now, &mut self.asked);
                self.pass_on(outbox);
            }
            Input::Merged(gained, untried) => {
                untried.into_iter().for_each(|found| self.crawls.found(found));
                self.gained(gained, false, outbox);
            }
            Input::Offered(ticket, offers) => {
                let linked = offers.iter().filter_map(linked).collect();
                let admit = self.door().offered(offers);
                let rest = self.admit_in_chunks(admit, outbox);
                let commit = Commit { admit: rest, linked, ..Commit::default() };
                self.commit_for(Some(ticket), commit, None, [None, None], outbox);
            }
            Input::Granted(rights) => {
                for host in rights.iter().flat_map(|right| self.waiting.granted(right)) {
                    self.frontier.unpark(host, self.now);
                }
            }
            Input::Tick => {}
            Input::Others(others, worths) => {
                self.frontier.hear(others, self.now);
                if let Some(focus) = &mut self.focus {
                    focus.hear(worths);
                }
            }
            Input::Crawl(id, spec) => self.begin(id, spec, outbox),
            Input::Join(id, spec) => {
                self.learn(id, &spec);
                let crawls = self.crawls.write_now(id).into_iter().collect();
                self.commit(Commit { crawls, ..Commit::default() }, None, [None, None], outbox);
            }
            Input::Allow(id, pages) => {
                for host in self.crawls.allow(id, pages) {
                    self.frontier.unpark(host, self.now);
                }
            }
            Input::EndCrawl(id, why) => self.end_crawl(id, &why, outbox),
            Input::Resolved { host, result, ttl } => {
                self.tell(frontier::Input::Resolved { host, result, ttl }, outbox);
            }
            Input::HostLoaded { host, record } => {
                self.tell(frontier::Input::HostLoaded { host, record }, outbox);
            }
            Input::FrontLoaded { host, level, items, more, robots } => {
                self.tell(frontier::Input::FrontLoaded { host, level, items, more, robots }, outbox);
            }
            Input::FirstByte(permit, at) => self.tell(frontier::Input::FirstByte(permit, at), outbox),
            Input::Ended { permit, at, end, remote } => {
                self.tell(frontier::Input::Ended { permit, at, end, remote }, outbox);
            }
            Input::Made { permit, made, links, targets, previous } => {
                self.made(permit, made, (links, targets), previous, outbox);
            }
            Input::Committed { commits, gained, admitted, gone, next_due, promoted } => {
                let openings = self.ledger.openings();
                for (id, slot, count) in admitted {
                    self.crawls.admitted(id, count);
                    // What was written after its slot was lost is the next holder's to fetch; if that is this peer again, it was
                    // counted as it was opened.
                    if self.rights.holds(slot) && self.rights.opened(slot) <= openings {
                        self.crawls.found((id, slot, count));
                    }
                }
                for (id, slot, count) in gone {
                    (0..count).for_each(|_| self.crawls.tried(id, slot));
                }
                for _ in 0..commits {
                    let Some(open) = self.ledger.pop() else { break };
                    for host in open.about.into_iter().flatten() {
                        self.frontier.release(host, &mut self.asked);
                    }
                    open.of.into_iter().for_each(|id| self.crawls.committed(id));
                    outbox.extend(open.offered.map(Effect::Taken));
                }
                self.pass_on(outbox);
                self.promoting &= !promoted;
                self.next_due = next_due;
                self.gained(gained, !promoted, outbox);
            }
            Input::Exclusions(exclusions) => self.exclusions = exclusions,
            Input::Pause(why) => self.paused = Some(why),
            Input::Resume => self.paused = None,
        }
        self.pump(outbox);
    }

    fn gained(&mut self, gained: Vec<Gain>, admitted: bool, outbox: &mut Vec<Effect>) {
        for Gain { host, host_name: name, site_name: site, level, count } in gained {
            self.tell(frontier::Input::Gained { host, name, site, level, count, admitted }, outbox);
        }
    }

    fn stored(&mut self, hosts: Vec<StoredHost>, outbox: &mut Vec<Effect>) {
        for StoredHost { id, record, first_level } in hosts {
            self.tell(frontier::Input::Stored { host: id, record, first_level }, outbox);
        }
    }

    /// Whether a crawl is known here.
    pub fn knows(&self, crawl: CrawlId) -> bool {
        self.crawls.knows(crawl)
    }

    /// What this peer may ask of whom.
    pub fn rights(&mut self) -> &mut R {
        &mut self.rights
    }

    /// The same, to look at.
    pub fn rights_ref(&self) -> &R {
        &self.rights
    }

    /// When to call again though nothing happened, and why.
    pub fn deadline(&self) -> Option<(Instant, Reason)> {
        let open = self.open();
        let turn = self.frontier.deadline().filter(|_| open).map(|(at, for_address)| {
            (at, if for_address { Reason::AddressDelay } else { Reason::HostDelay })
        });
        let due = self.next_due.filter(|_| open && !self.promoting).map(|at| (at, Reason::Due));
        let crawl = self.crawls.deadline().map(|at| (at, Reason::CrawlTime));
        [turn, due, crawl].into_iter().flatten().min_by_key(|&(at, _)| at)
    }

    /// Whether nothing that was never tried is queued, in flight or unwritten. Entries to be tried again later and
    /// revisits do not count, nor what is left of a crawl that was ended.
    pub fn idle(&self) -> bool {
        self.started && self.ledger.is_empty() && self.crawls.idle()
    }

    /// All crawls.
    pub fn crawls(&self) -> impl Iterator<Item = CrawlView<'_>> {
        self.crawls.views()
    }

    /// A host that is in memory; others have nothing queued, or nothing is known of them.
    pub fn host_view(&self, host: HostId) -> Option<HostView> {
        let mut view = self.frontier.host_view(host, self.now)?;
        if let (Some(why), false) = (&self.paused, view.in_flight || view.waiting == Waiting::Nothing) {
            view.waiting = Waiting::Paused(why.clone());
        }
        Some(view)
    }

    /// How much there is of what.
    pub fn counts(&self) -> Counts {
        let (hosts, waiting_hosts) = self.frontier.hosts();
        Counts {
            in_flight: self.frontier.in_flight(),
            permits: self.frontier.flights(),
            commits: self.ledger.len(),
            hosts,
            waiting_hosts,
            front_weight: self.frontier.weight(),
        }
    }

    /// Pages that were never tried, by slot, of each at most what the delays of its hosts allow within so long: more than that nobody could
    /// fetch. Revisits do not count: they come at their time.
    pub fn waiting(&self, horizon: Duration) -> BTreeMap<Slot, Allowed> {
        let untried = self.crawls.untried();
        if untried.is_empty() {
            return BTreeMap::new();
        }
        let mut allowed = self.frontier.allowed_within(horizon, self.now);
        allowed.retain(|slot, allowed| {
            allowed.requests = untried.get(slot).map_or(0, |count| allowed.requests.min(*count));
            allowed.requests > 0
        });
        allowed
    }

    /// What it may do at most: requests at once, and in a thousand seconds, if anything was said of that.
    pub fn limits(&self) -> (usize, Option<NonZeroU32>) {
        (self.config.frontier.max_in_flight, self.config.frontier.max_speed)
    }

    /// Why no permits are given, if somebody said so.
    pub fn paused(&self) -> Option<&str> {
        self.paused.as_deref()
    }

    fn open(&self) -> bool {
        self.started && self.paused.is_none() && self.ledger.len() < self.config.max_commits
    }

    fn pump(&mut self, outbox: &mut Vec<Effect>) {
        while let Some(id) = self.crawls.timed_out(self.now) {
            self.end_crawl(id, "time limit", outbox);
        }
        if !self.open() {
            return;
        }
        if !self.promoting && self.next_due.is_some_and(|due| due <= self.now) {
            self.promoting = true;
            outbox.push(Effect::PromoteDue(self.now, PROMOTE_CHUNK));
        }
        let room = self.config.max_commits.saturating_sub(self.ledger.len());
        let mut gate = Judge {
            crawls: &mut self.crawls,
            exclusions: &self.exclusions,
            focus: self.focus.as_ref(),
            rights: &mut self.rights,
            waiting: &mut self.waiting,
            now: self.now,
        };
        self.frontier.pump(self.now, &mut gate, room, &mut self.asked);
        self.pass_on(outbox);
    }

    fn tell(&mut self, input: frontier::Input, outbox: &mut Vec<Effect>) {
        self.frontier.handle(self.now, input, &mut self.asked);
        if !self.asked.is_empty() {
            self.pass_on(outbox);
        }
    }

    /// What the frontier asked for becomes effects.
    fn pass_on(&mut self, outbox: &mut Vec<Effect>) {
        let mut asked = std::mem::take(&mut self.asked);
        for effect in asked.drain(..) {
            match effect {
                frontier::Effect::LoadHost(host) => outbox.push(Effect::LoadHost(host)),
                frontier::Effect::LoadFront { host, level, after, limit, robots } => {
                    outbox.push(Effect::LoadFront { host, level, after, limit, robots });
                }
                frontier::Effect::Resolve { host, name } => outbox.push(Effect::Resolve { host, name }),
                frontier::Effect::Grant(grant) => {
                    let permit = permit(grant);
                    self.given.insert(permit.id, self.rights.openings());
                    outbox.push(Effect::Fetch(permit));
                }
                frontier::Effect::Drop { item, tries, reason } => self.dropped(&item, tries, reason, outbox),
                frontier::Effect::Move(host, items) => self.moved(host, items, outbox),
                frontier::Effect::Changed(host) => {
                    let mut commit = Commit::default();
                    self.add_host(&mut commit, host);
                    self.commit(commit, None, [Some(host), None], outbox);
                }
            }
        }
        self.asked = asked;
    }

    fn moved(&mut self, host: HostId, items: Vec<(QueueItem, u8)>, outbox: &mut Vec<Effect>) {
        let crawl = items.first().map(|(item, _)| item.entry.crawl);
        let moved = items.into_iter().map(|(item, to)| Moved { item, to }).collect();
        self.commit(Commit { moved, ..Commit::default() }, crawl, [Some(host), None], outbox);
        // The frontier held it until now.
        self.frontier.release(host, &mut Vec::new());
    }

    fn dropped(&mut self, item: &QueueItem, tries: u8, reason: Dropped, outbox: &mut Vec<Effect>) {
        let Fate { commit, tally, .. } = self.desk().dropped(item, tries, reason);
        self.crawls.count(&item.entry, tally);
        self.commit(commit, Some(item.entry.crawl), [Some(item.key.host), None], outbox);
    }

    /// A crawl is known from now on.
    fn learn(&mut self, id: CrawlId, spec: &CrawlSpec) {
        self.crawls.begin(id, spec, self.now);
        for host in self.crawls.waited_for(id) {
            self.frontier.unpark(host, self.now);
        }
    }

    fn begin(&mut self, id: CrawlId, mut spec: CrawlSpec, outbox: &mut Vec<Effect>) {
        self.learn(id, &spec);
        let seeds = std::mem::take(&mut spec.seeds);
        let mut door = self.door();
        let admit: Vec<_> = seeds.into_iter().filter_map(|seed| door.seed(id, seed)).collect();
        let offers = door.offers;
        let rest = self.admit_in_chunks(admit, outbox);
        if !rest.is_empty() {
            self.commit(Commit { admit: rest, ..Commit::default() }, None, [None, None], outbox);
        }
        // The record comes last: a crawl that is on disk has all its seeds.
        let crawls = self.crawls.write_now(id).into_iter().collect();
        self.commit(Commit { crawls, offers, ..Commit::default() }, Some(id), [None, None], outbox);
    }

    fn end_crawl(&mut self, id: CrawlId, why: &str, outbox: &mut Vec<Effect>) {
        for host in self.crawls.end(id, why) {
            self.frontier.unpark(host, self.now);
        }
        if let Some(record) = self.crawls.write_now(id) {
            let commit = Commit { crawls: vec![record], ..Commit::default() };
            self.commit(commit, None, [None, None], outbox);
        }
    }

    pub(crate) fn add_host(&mut self, commit: &mut Commit, host: HostId) {
        commit.hosts.extend(self.frontier.record(host).map(|record| (host, record)));
    }

    /// Writes all but the last of them, which go with what they were found in.
    pub(crate) fn admit_in_chunks(
        &mut self,
        mut admit: Vec<Admission>,
        outbox: &mut Vec<Effect>,
    ) -> Vec<Admission> {
        while admit.len() > ADMIT_CHUNK {
            let rest = admit.split_off(ADMIT_CHUNK);
            let chunk = std::mem::replace(&mut admit, rest);
            self.commit(Commit { admit: chunk, ..Commit::default() }, None, [None, None], outbox);
        }
        admit
    }

    pub(crate) fn commit(
        &mut self,
        commit: Commit,
        crawl: Option<CrawlId>,
        about: About,
        outbox: &mut Vec<Effect>,
    ) {
        self.commit_for(None, commit, crawl, about, outbox);
    }

    fn commit_for(
        &mut self,
        offered: Option<u64>,
        mut commit: Commit,
        crawl: Option<CrawlId>,
        about: About,
        outbox: &mut Vec<Effect>,
    ) {
        let given = commit.permit.and_then(|permit| self.given.remove(&permit));
        if let Some((key, true, id)) = commit.done {
            let slot = key.host.slot();
            // What was in flight when its slot was lost was counted anew if the slot came back meanwhile, or is done with since.
            if given.is_none_or(|given| self.rights.opened(slot) <= given) {
                self.crawls.tried(id, slot);
            }
        }
        commit.entered = self.crawls.take_entered();
        commit.crawls.extend(crawl.and_then(|id| self.crawls.write_out(id)));
        about.into_iter().flatten().for_each(|host| self.frontier.hold(host));
        let admits = commit.admit.first().map(|a| a.entry.crawl);
        let offers_to = admits.or_else(|| commit.offers.first().map(|offer| offer.crawl));
        let of = commit.done.map(|(_, _, id)| id).or(crawl).or(offers_to);
        of.into_iter().for_each(|id| self.crawls.committing(id));
        let openings = self.rights.openings();
        self.ledger.push(Open { about, of, offered, openings });
        outbox.push(Effect::Commit(Box::new(commit)));
    }

    pub(crate) fn door(&mut self) -> Door<'_> {
        Door {
            crawls: &mut self.crawls,
            frontier: &self.frontier,
            directories: &mut self.directories,
            exclusions: &self.exclusions,
            focus: self.focus.as_mut(),
            per_host: self.config.budgets.per_host,
            sitemaps: self.config.sitemaps,
            now: self.now,
            rights: &self.rights,
            offers: Vec::new(),
        }
    }

    pub(crate) fn desk(&mut self) -> Desk<'_> {
        Desk {
            revisit: self.config.revisit.as_ref(),
            backoff: (self.config.frontier.backoff_base, self.config.frontier.backoff_max),
            rng: &mut self.rng,
            now: self.now,
        }
    }
}

/// What an offered link is worth to its target: those of its own site are nothing.
fn linked(offer: &Offer) -> Option<Linked> {
    let target = offer.link.id;
    match offer.by {
        Found::Link { site, sitemap: false } if site != target.site() => {
            Some(Linked { target, from: site, anchor: offer.anchor.clone() })
        }
        _ => None,
    }
}

fn permit(grant: frontier::Grant) -> Permit {
    let (url, task) = match grant.work {
        Work::Robots(errand) => {
            let Errand { of, scheme, hops, url, .. } = errand;
            (url, Task::Robots { of, scheme, hops })
        }
        Work::Entry { mut item, tries } => {
            // The hands look at the tries to know whether there is a record to compare with.
            item.entry.attempt = item.entry.attempt.saturating_add(tries);
            (item.entry.url.clone(), Task::Entry(item))
        }
    };
    Permit {
        id: grant.id,
        host: grant.host,
        url,
        task,
        address: grant.address,
        not_after: grant.not_after,
        report_first_byte: grant.report_first_byte,
    }
}
