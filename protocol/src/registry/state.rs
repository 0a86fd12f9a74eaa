//! One peer's side: what is known of crawls, what this peer says of them, and when.

use super::book::{Book, Invalid, Item, Name, Refusal, Told, Totals};
use super::io::{Config, Effect, Fault, Input, Reason, Refused, Report, Ticket};
use super::message::Message;
use super::over::{self, Group, Over};
use super::record::{Agreed, Begun, Counts, CrawlKey, Ended, Quiet, Register, Spec, Why};
use crate::epidemic;
use crate::peer::{Keys, PeerKey};
use crate::signed::Signed;
use crate::time::Instant;
use crate::view::Incarnation;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use std::collections::{BTreeMap, BTreeSet};

/// Crawls that are begun and not on disk yet.
const MAX_BEGINNING: usize = 64;
/// Words of a register for each sequence of its peer's record. A process says one in two seconds, and begins 64 sequences behind all
/// that the one before could use: four years.
const WORDS: u64 = 1 << 20;
/// Tags asked for lately.
const MAX_WANTED: usize = 1_024;

/// The registry of one peer.
#[derive(Debug)]
pub struct State<K> {
    config: Config,
    keys: K,
    rng: ChaCha8Rng,
    spread: epidemic::State<Book, K>,
    live: BTreeSet<PeerKey>,
    away: u32,
    up: BTreeSet<PeerKey>,
    /// On their way to the disk: who asked, and what.
    beginning: BTreeMap<Ticket, (u64, CrawlKey, Item)>,
    tickets: u64,
    report_at: Instant,
    wanted: BTreeMap<u64, Instant>,
}

/// What gossip asks for.
type Spread = epidemic::Effect<Item, Name, epidemic::Refused<Invalid, Refusal>>;

impl<K: Keys + Clone> State<K> {
    /// A peer that knows what it wrote down.
    pub fn new(
        config: Config,
        keys: K,
        mut rng: ChaCha8Rng,
        now: Instant,
        stored: impl IntoIterator<Item = Item>,
    ) -> State<K> {
        use rand_chacha::rand_core::SeedableRng;
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        // Registers are taken only of crawls that are known.
        let (crawls, registers): (Vec<Item>, Vec<Item>) =
            stored.into_iter().partition(|item| matches!(item, Item::Crawl(_)));
        let stored = crawls.into_iter().chain(registers);
        let own = ChaCha8Rng::from_seed(seed);
        let spread = epidemic::State::new(config.spread.clone(), keys.clone(), own, now, (), stored);
        State {
            live: [keys.own()].into(),
            away: 0,
            up: BTreeSet::new(),
            beginning: BTreeMap::new(),
            tickets: 0,
            report_at: now,
            wanted: BTreeMap::new(),
            config,
            keys,
            rng,
            spread,
        }
    }

    /// What this peer knows.
    pub fn book(&self) -> &Book {
        self.spread.book()
    }

    /// The digest of what is known: equal at peers that know the same.
    pub fn root(&mut self) -> epidemic::Digest {
        self.spread.root()
    }

    /// Whether a crawl is over, as far as is known.
    pub fn over(&self, crawl: &CrawlKey) -> Option<Over> {
        over::over(self.book(), crawl, &self.live)
    }

    /// Sums over all peers.
    pub fn totals(&self, crawl: &CrawlKey) -> Totals {
        self.book().totals(crawl, |peer| self.live.contains(peer))
    }

    /// Pages of a crawl that this peer may have fetched, by how it stands here now; none if there is no limit.
    pub fn allowance(&self, crawl: &CrawlKey, own: &Counts) -> Option<u64> {
        let max = self.book().crawl(crawl)?.begun.body().spec.max_pages?;
        let me = self.keys.own();
        let fetched = self.fetched(crawl, own.fetched);
        let among = over::hungry(self.book(), crawl, &self.live, (me, own.waiting > 0));
        Some(over::share(max, fetched, own.fetched, &among, &me))
    }

    /// Pages fetched in all, of which `own` by this peer since it has its disk.
    fn fetched(&self, crawl: &CrawlKey, own: u64) -> u64 {
        let me = self.keys.own();
        let said = self.book().latest(crawl).get(&me).map_or(0, |register| register.counts.fetched);
        self.totals(crawl).counts.fetched.saturating_sub(said).saturating_add(own)
    }

    /// Whether two others know all that was said here, or the only other.
    pub fn is_told(&self) -> bool {
        self.spread.is_told()
    }

    /// When it wants to be called, and why.
    pub fn deadline(&self) -> Option<(Instant, Reason)> {
        let spread = self.spread.deadline().map(|(at, reason)| (at, Reason::Spread(reason)));
        let any = self.book().crawls().next().is_some();
        spread.into_iter().chain(any.then_some((self.report_at, Reason::Report))).min()
    }

    /// Something happened.
    pub fn handle(&mut self, now: Instant, input: Input, out: &mut Vec<Effect>) {
        match input {
            Input::Tick => {
                self.spread(now, epidemic::Input::Tick, out);
                if self.report_at <= now {
                    self.report_at = now + self.config.report_every;
                    out.push(Effect::Report);
                }
            }
            Input::Received(peer, message) => self.received(now, peer, message, out),
            Input::PeerUp(peer) => {
                self.up.insert(peer);
                self.spread(now, epidemic::Input::PeerUp(peer), out);
            }
            Input::PeerDown(peer) => {
                self.up.remove(&peer);
                self.spread(now, epidemic::Input::PeerDown(peer), out);
            }
            Input::Members { live, away } => (self.live, self.away) = (live, away),
            Input::Begin(request, spec) => self.begin(now, request, spec, out),
            Input::End(crawl, why) => self.end(now, crawl, why, out),
            Input::Hurry => self.spread(now, epidemic::Input::Hurry, out),
            Input::Want(tag, from) => self.want(now, tag, from, out),
            Input::Reports { incarnation, knows, reports } => {
                for report in reports {
                    self.report(now, incarnation, knows, report, out);
                }
            }
            Input::Persisted(ticket) => {
                if let Some((request, key, item)) = self.beginning.remove(&ticket) {
                    self.spread(now, epidemic::Input::Local(item), out);
                    let known = self.book().crawl(&key).is_some();
                    out.push(Effect::Answer(
                        request,
                        if known { Ok(key) } else { Err(Refusal::Full.into()) },
                    ));
                }
            }
            Input::NotPersisted(ticket) => {
                if let Some((request, ..)) = self.beginning.remove(&ticket) {
                    out.push(Effect::Answer(request, Err(Refused::Disk)));
                }
            }
        }
    }

    fn spread(&mut self, now: Instant, input: epidemic::Input<Item, ()>, out: &mut Vec<Effect>) {
        let mut asked = Vec::new();
        self.spread.handle(now, input, &mut asked);
        self.pass_on(asked, out);
    }

    fn pass_on(&mut self, asked: Vec<Spread>, out: &mut Vec<Effect>) {
        out.extend(asked.into_iter().filter_map(|effect| {
            Some(match effect {
                Spread::Send(to, message) => Effect::Send(to, Message::Spread(message)),
                Spread::Broadcast(message) => Effect::Broadcast(Message::Spread(message)),
                Spread::Changed(names) => {
                    let tags = |name: &Name| matches!(name, Name::Crawl(_)).then(|| name.crawl().tag());
                    names.iter().filter_map(tags).for_each(|tag| _ = self.wanted.remove(&tag));
                    Effect::Changed(names)
                }
                Spread::Persist(item) => Effect::Persist(item),
                Spread::Forget(name) => Effect::Forget(name),
                Spread::Misbehaved(peer, fault) => Effect::Misbehaved(peer, fault),
                // What is said here was checked before, or loses to what is known: then that counts.
                Spread::Refused(..) => return None,
            })
        }));
    }

    fn received(&mut self, now: Instant, peer: PeerKey, message: Message, out: &mut Vec<Effect>) {
        if !message.is_within_bounds() {
            out.push(Effect::Misbehaved(peer, Fault::Bounds));
            return;
        }
        match message {
            Message::Spread(message) => self.spread(now, epidemic::Input::Received(peer, message), out),
            Message::Ask(tags) => {
                let book = self.spread.book();
                let keys: Vec<_> = tags
                    .iter()
                    .filter_map(|tag| book.tagged(*tag))
                    .map(|key| Name::Crawl(key).key())
                    .collect();
                let mut asked = Vec::new();
                self.spread.tell(now, peer, &keys, &mut asked);
                self.pass_on(asked, out);
            }
        }
    }

    fn begin(&mut self, now: Instant, request: u64, spec: Spec, out: &mut Vec<Effect>) {
        let me = self.keys.own();
        let refused = match () {
            () if !spec.is_within_bounds() => Some(Invalid::Bounds.into()),
            () if !self.book().has_room(&me) || self.beginning.len() >= MAX_BEGINNING => {
                Some(Refusal::Full.into())
            }
            () => None,
        };
        let begun = Begun { starter: me, nonce: self.rng.next_u64(), started_s: now.unix_s(), spec };
        let key = begun.key();
        let signed = Signed::sign(begun, &self.keys).map_err(|_| Refused::from(Invalid::Forged(me)));
        match (refused, signed) {
            (Some(why), _) | (None, Err(why)) => out.push(Effect::Answer(request, Err(why))),
            (None, Ok(begun)) => {
                self.tickets += 1;
                let ticket = Ticket(self.tickets);
                let item = Item::Crawl(Box::new(Told { begun, ended: None }));
                self.beginning.insert(ticket, (request, key, item.clone()));
                out.push(Effect::Promise(ticket, item));
            }
        }
    }

    fn end(&mut self, now: Instant, crawl: CrawlKey, why: Why, out: &mut Vec<Effect>) {
        let Some(told) = self.book().crawl(&crawl).filter(|told| told.ended.is_none()) else { return };
        let ended = Ended { at_s: now.unix_s(), by: self.keys.own(), crawl, why };
        if !ended.may_be_said_of(told.begun.body()) {
            return;
        }
        let begun = told.begun.clone();
        let Ok(ended) = Signed::sign(ended, &self.keys) else { return };
        let item = Item::Crawl(Box::new(Told { begun, ended: Some(ended) }));
        self.spread(now, epidemic::Input::Local(item), out);
    }

    /// Asks who sent links of an unknown crawl, and one more.
    fn want(&mut self, now: Instant, tag: u64, from: PeerKey, out: &mut Vec<Effect>) {
        self.wanted.retain(|_, until| *until > now);
        if self.wanted.contains_key(&tag) || self.wanted.len() >= MAX_WANTED {
            return;
        }
        self.wanted.insert(tag, now + self.config.ask_every);
        let others: Vec<PeerKey> = self.up.iter().filter(|peer| **peer != from).copied().collect();
        let other = self.rng.next_u64().checked_rem(others.len() as u64).map(|n| others[n as usize]);
        let asked = [Some(from).filter(|from| *from != self.keys.own()), other];
        out.extend(asked.into_iter().flatten().map(|peer| Effect::Send(peer, Message::Ask(vec![tag]))));
    }

    /// Says how a crawl stands here, if that is news.
    fn report(
        &mut self,
        now: Instant,
        incarnation: Incarnation,
        knows: Option<u64>,
        report: Report,
        out: &mut Vec<Effect>,
    ) {
        let Report { crawl, counts, mut quiet } = report;
        let generation = incarnation.generation;
        let Some(told) = self.book().crawl(&crawl) else { return };
        let max = told.begun.body().spec.max_pages;
        if told.ended.is_some() {
            // Whether one that ended is over as well interests nobody.
            quiet = None;
        } else if max.is_some_and(|max| self.fetched(&crawl, counts.fetched) >= max) {
            self.end(now, crawl, Why::Pages, out);
        }
        let me = self.keys.own();
        let said = self.book().register(&crawl, &me, generation).copied();
        if quiet.is_some()
            && said.map_or(Counts::default(), |said| said.counts) == counts
            && self.is_settled(&crawl)
        {
            return;
        }
        let agreed = quiet.and_then(|quiet| self.agreed(&crawl, (me, generation, quiet), knows));
        // What an earlier process said may not be on this disk, and come back from others at any time: it has to be less.
        let before = incarnation.sequence.saturating_mul(WORDS).max(said.map_or(0, |said| said.seq));
        let seq = before.saturating_add(1);
        let register = Register { crawl, by: me, generation, seq, counts, quiet, agreed };
        if said.is_some_and(|said| Register { seq, ..said } == register) {
            return;
        }
        if let Ok(signed) = Signed::sign(register, &self.keys) {
            self.spread(now, epidemic::Input::Local(Item::Register(Box::new(signed))), out);
        }
    }

    /// Whether a crawl is known to be over, and nobody who was away then is here now: nothing more is to be said about that.
    pub fn is_settled(&self, crawl: &CrawlKey) -> bool {
        self.over(crawl).is_some_and(|over| over.away <= self.away)
    }

    fn agreed(&self, crawl: &CrawlKey, own: (PeerKey, u64, Quiet), knows: Option<u64>) -> Option<Agreed> {
        let group = Group::of_live(self.book(), crawl, &self.live, own)?;
        let all = knows.is_some_and(|knows| knows == group.served());
        all.then(|| Agreed { digest: group.digest(), away: self.away })
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
