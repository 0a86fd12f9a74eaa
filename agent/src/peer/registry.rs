//! Crawls of the swarm: who learns of one joins it, and says how it stands here.

use super::io::{Change, Effect};
use super::land::Turns;
use super::unsent::Unsent;
use super::{Message, Owner, Peer};
use crate::io::{self as crawl, CrawlSpec, FoundLink};
use anthill_crawler::canon;
use anthill_crawler::record::{self, CrawlId};
use anthill_crawler::time::Instant;
use anthill_protocol::key::Slot;
use anthill_protocol::links::{self, Link};
use anthill_protocol::peer::{Keys, PeerKey};
use anthill_protocol::registry::over::served;
use anthill_protocol::registry::record::{MAX_SEED, MAX_SEED_BYTES};
use anthill_protocol::registry::{
    Counts, CrawlKey, Input, Item, Name, Quiet, Report, Scope, Spec, State, Why, book::Told,
};
use anthill_protocol::view::Incarnation;
use std::cell::{Cell, LazyCell};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long links of an unknown crawl wait for it; then they are for their sender to send again. Less than a sender waits.
const PATIENCE: Duration = Duration::from_secs(5);

/// The registry, and what this peer must know to say how crawls stand.
pub(super) struct Census<K> {
    pub registry: State<K>,
    pub unsent: Unsent,
    /// Part of every epoch of this process: what was said before a restart is no word of it.
    process: u64,
    started: bool,
    /// Seeds that have no room in their crawl's record.
    seeds: BTreeMap<CrawlKey, Vec<FoundLink>>,
    beginning: BTreeMap<u64, Vec<FoundLink>>,
    /// Links of crawls that are not known, by ticket: within what the protocol of links takes in at once.
    waiting: BTreeMap<u64, Waiting>,
    /// The sum of all slots by the tokens that this peer knows, if it knows one of each, and the revision of claims that it is of.
    known: Option<(u64, Option<u64>)>,
    /// The sum of the slots that this peer serves, and when it was made: see [`super::land::Land::turns`].
    served: Cell<Option<(Turns, u64)>>,
}

struct Waiting {
    slot: Slot,
    from: PeerKey,
    links: Vec<Link>,
    until: Instant,
}

impl<K: Keys + Clone> Census<K> {
    pub fn new(registry: State<K>, unsent: Unsent, process: u64) -> Census<K> {
        Census {
            registry,
            unsent,
            process,
            started: false,
            seeds: BTreeMap::new(),
            beginning: BTreeMap::new(),
            waiting: BTreeMap::new(),
            known: None,
            served: Cell::new(None),
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        let waiting = self.waiting.values().map(|one| one.until);
        self.registry.deadline().map(|(at, _)| at).into_iter().chain(waiting).min()
    }
}

/// The number under which the crawl knows it.
pub fn id(key: &CrawlKey) -> CrawlId {
    CrawlId(key.tag())
}

fn found(seed: &str, rules: &canon::Rules) -> Option<FoundLink> {
    let canon = rules.canonical(seed, None).ok().filter(|canon| canon.url() == seed)?;
    Some(FoundLink {
        id: canon.url_id(),
        host: canon.host_id(),
        url: canon.url().to_owned(),
        host_name: canon.host().to_owned(),
        site_name: canon.site().to_owned(),
        doubtful: false,
        nofollow: false,
        sitemap: false,
        clues: None,
    })
}

/// What all are told of a crawl, and the seeds that have no room there.
fn told(spec: CrawlSpec) -> (Spec, Vec<FoundLink>) {
    let mut room = MAX_SEED_BYTES;
    let fits = |seed: &FoundLink| {
        let cost = seed.url.len() + 2;
        let fits = seed.url.len() <= MAX_SEED && cost <= room;
        room -= if fits { cost } else { 0 };
        fits
    };
    let (seeds, more): (Vec<_>, Vec<_>) = spec.seeds.into_iter().partition(fits);
    let told = Spec {
        seeds: seeds.into_iter().map(|seed| seed.url).collect(),
        more_seeds: more.len() as u64,
        scope: match spec.scope {
            record::Scope::Site => Scope::Site,
            record::Scope::Host => Scope::Host,
            record::Scope::Prefix => Scope::Prefix,
            record::Scope::Any => Scope::Any,
        },
        max_depth: spec.max_depth,
        max_pages: spec.max_pages,
        max_sites: spec.max_sites,
        max_time_s: spec.max_time.map(|time| time.as_secs()),
    };
    (told, more)
}

fn spec(told: &Spec, rules: &canon::Rules) -> CrawlSpec {
    CrawlSpec {
        seeds: told.seeds.iter().filter_map(|seed| found(seed, rules)).collect(),
        scope: match told.scope {
            Scope::Site => record::Scope::Site,
            Scope::Host => record::Scope::Host,
            Scope::Prefix => record::Scope::Prefix,
            Scope::Any => record::Scope::Any,
        },
        max_depth: told.max_depth,
        max_pages: told.max_pages,
        max_sites: told.max_sites,
        max_time: told.max_time_s.map(Duration::from_secs),
    }
}

fn why(why: Why) -> &'static str {
    match why {
        Why::Asked => "ended by its starter",
        Why::Pages => "page limit",
        Why::Time => "time limit",
    }
}

impl<K: Keys + Clone> Peer<K> {
    pub(super) fn tell_registry(&mut self, input: Input) {
        let mut out = Vec::new();
        self.census.registry.handle(self.now, input, &mut out);
        for effect in out {
            self.registry_asks(effect);
        }
    }

    fn registry_asks(&mut self, effect: anthill_protocol::registry::Effect) {
        use anthill_protocol::registry::Effect as Asked;
        match effect {
            Asked::Send(to, message) => self.outbox.push(Effect::Send(to, Message::Registry(message))),
            Asked::Broadcast(message) => self.outbox.push(Effect::Broadcast(Message::Registry(message))),
            Asked::Promise(inner, item) => {
                if let (Item::Crawl(told), Some((_, more))) = (&item, self.census.beginning.pop_last()) {
                    self.census.seeds.insert(told.begun.body().key(), more);
                }
                let ticket = self.ticket(Owner::Crawl(inner));
                self.outbox.push(Effect::Persist(ticket, vec![change(item)]));
            }
            Asked::Persist(item) => {
                // Who goes says it to two and then no more.
                let soon = match &item {
                    Item::Crawl(_) => true,
                    Item::Register(register) => !self.seen.stays(&register.body().by),
                };
                self.unwritten.put(change(item), soon, self.now);
            }
            Asked::Forget(name) => self.unwritten.put(Change::Crawl(name.key(), None), false, self.now),
            Asked::Changed(names) => {
                let crawls = |name: &Name| matches!(name, Name::Crawl(_)).then(|| name.crawl());
                let crawls: Vec<CrawlKey> = names.iter().filter_map(crawls).collect();
                self.learn(crawls);
            }
            Asked::Report => self.report(),
            Asked::Answer(request, answer) => {
                self.census.beginning.remove(&request);
                if let Ok(key) = answer {
                    self.census.seeds.remove(&key);
                }
                self.outbox.push(Effect::Begun(request, answer.map(|key| id(&key))));
            }
            Asked::Misbehaved(peer, fault) => self.misbehaved(peer, &fault),
        }
    }

    pub(super) fn begin_crawl(&mut self, request: u64, asked: CrawlSpec) {
        let (spec, more) = told(asked);
        self.census.beginning = [(request, more)].into();
        self.tell_registry(Input::Begin(request, spec));
    }

    pub(super) fn end_crawl(&mut self, crawl: CrawlId) {
        if let Some(key) = self.census.registry.book().tagged(crawl.0) {
            self.tell_registry(Input::End(key, Why::Asked));
        }
    }

    /// The crawl has started: it knows what its disk has. What is not there is begun, or joined.
    pub(super) fn crawl_started(&mut self) {
        self.census.started = true;
        self.learn(self.census.registry.book().crawls().map(|(key, _)| *key).collect());
    }

    /// Crawls are new, or have ended.
    fn learn(&mut self, crawls: Vec<CrawlKey>) {
        if !self.census.started {
            return;
        }
        for key in crawls {
            let book = self.census.registry.book();
            let Some(Told { begun, ended }) =
                book.crawl(&key).filter(|_| book.tagged(key.tag()) == Some(key))
            else {
                continue;
            };
            let (begun, ended) = (begun.body().clone(), ended.as_ref().map(|ended| ended.body().why));
            if !self.crawl.knows(id(&key)) {
                let mut spec = spec(&begun.spec, &self.config.canon);
                let starts = begun.starter == self.own && ended.is_none();
                if starts {
                    spec.seeds.extend(self.census.seeds.remove(&key).into_iter().flatten());
                    self.tell_crawl(crawl::Input::Crawl(id(&key), spec));
                } else {
                    self.tell_crawl(crawl::Input::Join(id(&key), spec));
                }
            }
            if let Some(ended) = ended {
                self.tell_crawl(crawl::Input::EndCrawl(id(&key), why(ended).into()));
            }
        }
        let crawl = &self.crawl;
        let known = |one: &Waiting| one.links.iter().all(|link| crawl.knows(CrawlId(link.crawl)));
        let waiting = std::mem::take(&mut self.census.waiting);
        let (ready, waiting) = waiting.into_iter().partition(|(_, one)| known(one));
        self.census.waiting = waiting;
        let ready: BTreeMap<u64, Waiting> = ready;
        for (ticket, Waiting { slot, from, links, .. }) in ready {
            self.admit(ticket, slot, from, links);
        }
    }

    /// Links came of a crawl that is not known here: it is asked for, and they wait.
    pub(super) fn await_crawl(&mut self, ticket: u64, slot: Slot, from: PeerKey, links: Vec<Link>) {
        let tags: BTreeSet<u64> = links.iter().map(|link| link.crawl).collect();
        let until = self.now + PATIENCE;
        self.census.waiting.insert(ticket, Waiting { slot, from, links, until });
        let unknown: Vec<u64> = tags.into_iter().filter(|tag| !self.crawl.knows(CrawlId(*tag))).collect();
        unknown.into_iter().for_each(|tag| self.tell_registry(Input::Want(tag, from)));
    }

    /// What waited too long goes back.
    pub(super) fn census_tick(&mut self) {
        if self.census.registry.deadline().is_some_and(|(at, _)| at <= self.now) {
            self.tell_registry(Input::Tick);
        }
        let late = self.census.waiting.iter().filter(|(_, one)| one.until <= self.now);
        let late: Vec<u64> = late.map(|(ticket, _)| *ticket).collect();
        late.iter().for_each(|ticket| _ = self.census.waiting.remove(ticket));
        late.into_iter().for_each(|ticket| self.tell_links(links::Input::NotAdmitted { ticket }));
    }

    /// Links were logged, with commits of crawls that are not answered yet.
    pub(super) fn logged(&mut self, slot: Slot, upto: u64) {
        let writing = self.crawl.crawls().filter(|view| view.commits > 0);
        let crawls: Vec<CrawlId> = writing.map(|view| view.record.id).collect();
        self.census.unsent.logged(slot, upto, &crawls);
    }

    /// Who is live, for the registry.
    pub(super) fn tell_members(&mut self) {
        let (live, away): (Vec<PeerKey>, Vec<PeerKey>) =
            self.seen.members().map(|(peer, _)| *peer).partition(|peer| self.seen.is_live(peer));
        let live = live.into_iter().chain([self.own]).collect();
        let away = away.iter().filter(|peer| **peer != self.own).count();
        self.tell_registry(Input::Members { live, away: u32::try_from(away).unwrap_or(u32::MAX) });
    }

    /// Says how all crawls stand here, and takes this peer's part of their limits.
    pub(super) fn report(&mut self) {
        if !self.view.may_speak() {
            return;
        }
        // For crawls that are quiet only.
        let sum = LazyCell::new(|| self.served_sum());
        let mut reports = Vec::new();
        let (mut late, mut allowed) = (Vec::new(), Vec::new());
        for view in self.crawl.crawls() {
            let (record, id) = (view.record, view.record.id);
            let Some(key) = self.census.registry.book().tagged(id.0) else { continue };
            let counts = Counts {
                admitted: record.admitted,
                fetched: record.fetched,
                failed: record.failed,
                excluded: record.excluded,
                waiting: record.untried,
            };
            let quiet = view.done && view.in_flight == 0 && record.ended.is_none();
            let quiet = quiet && self.census.unsent.is_clear(id);
            let epoch = || epoch(self.census.process, view.activity, *sum);
            let quiet = quiet.then(|| Quiet { epoch: epoch(), served: *sum });
            reports.push(Report { crawl: key, counts, quiet });
            late.extend(record.ended.as_deref().filter(|ended| *ended == why(Why::Time)).map(|_| key));
            let pages = self.census.registry.allowance(&key, &counts);
            allowed.extend(pages.map(|pages| (id, pages)));
        }
        let registry = &self.census.registry;
        let open = |report: &Report| report.quiet.is_some() && !registry.is_settled(&report.crawl);
        let knows = if reports.iter().any(open) { self.known() } else { None };
        let incarnation = Incarnation::of(self.view.own());
        self.tell_registry(Input::Reports { incarnation, knows, reports });
        late.into_iter().for_each(|key| self.tell_registry(Input::End(key, Why::Time)));
        allowed.into_iter().for_each(|(id, pages)| self.tell_crawl(crawl::Input::Allow(id, pages)));
    }

    /// The sum of the slots that this peer serves. A hash for each: made when they are others than last time.
    fn served_sum(&self) -> u64 {
        let land = self.crawl.rights_ref();
        let token = |slot: Slot| Some((slot, self.slots.get(slot)?.held?));
        let add = |sum: u64, (slot, token)| sum.wrapping_add(served(slot, token));
        let sum = || land.served().filter_map(token).fold(0, add);
        let known = self.census.served.get().filter(|(turns, _)| *turns == land.turns());
        debug_assert!(known.is_none_or(|(_, known)| known == sum()), "a slot is held by another token");
        let sum = known.map_or_else(sum, |(_, known)| known);
        self.census.served.set(Some((land.turns(), sum)));
        sum
    }

    /// The sum of all slots by the tokens that this peer knows, if what it wrote as their holder was merged. A hash for each slot: seldom
    /// made, as it is asked for each time that a crawl is quiet here.
    fn known(&mut self) -> Option<u64> {
        if !self.copies.is_merged() {
            return None;
        }
        let claims = &self.crawl.rights_ref().claims;
        let revision = claims.revision();
        if let Some((_, sum)) = self.census.known.filter(|(of, _)| *of == revision) {
            return sum;
        }
        let token = |slot: &Slot| Some(served(*slot, claims.route(*slot)?.1));
        let mut slots = self.config.claim.slots.iter();
        let sum = slots.try_fold(0u64, |sum, slot| Some(sum.wrapping_add(token(slot)?)));
        self.census.known = Some((revision, sum));
        sum
    }
}

fn change(item: Item) -> Change {
    use anthill_protocol::epidemic::Book;
    let key = anthill_protocol::registry::Book::name_of(&item).key();
    Change::Crawl(key, Some(Box::new(item)))
}

/// Another one after a restart, after anything was begun for the crawl, and after slots came or went.
fn epoch(process: u64, activity: u64, served: u64) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"anthill crawl epoch\0");
    [process, activity, served].iter().for_each(|part| _ = hasher.update(&part.to_le_bytes()));
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    u64::from_le_bytes(bytes)
}
