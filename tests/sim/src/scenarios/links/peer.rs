//! A peer with the real protocol: its disk, its store of links, and its mistakes, if some are planted.

use super::{Boot, Event, MACHINES, Variant, Word, config, key_of, slots};
use crate::dice::{Dice, MILLION};
use crate::disk::{Batch, Disk, DiskFull, Ticket};
use crate::node::{Ctx, NodeId};
use anthill_protocol::claim::Token;
use anthill_protocol::key::{SiteId, Slot, UrlId};
use anthill_protocol::links::message::{Answer, Answered};
use anthill_protocol::links::{Cursor, Effect, Flags, Input, Lately, Link, Message, State, Stored};
use anthill_protocol::peer::PeerKey;
use anthill_protocol::time::Instant;
use anthill_protocol::wire::{decode, encode};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Links that a page has at most.
const LINKS: u64 = 6;
/// Targets of a slot, so that some are found again.
const TARGETS: u64 = 200;
/// Links that the filter knows.
const KNOWN: usize = 50;

/// A slot that is held.
struct Store {
    token: Token,
    seq: u64,
    links: BTreeSet<u64>,
}

/// One peer.
pub struct Peer {
    variant: Variant,
    oracle: NodeId,
    me: NodeId,
    state: State,
    lately: Lately,
    dice: Dice,
    names: BTreeMap<PeerKey, NodeId>,
    /// For each slot, the next entry of its log, and the last that is written.
    next: BTreeMap<Slot, u64>,
    written: BTreeMap<Slot, u64>,
    tokens: BTreeMap<Slot, Token>,
    stores: BTreeMap<Slot, Store>,
    down: BTreeSet<NodeId>,
    /// Pages being written: entries and bytes by slot.
    pages: BTreeMap<Ticket, Vec<(Slot, u64, u64)>>,
    /// Links being admitted: the protocol's ticket, slot, token, fingerprints.
    admitting: BTreeMap<Ticket, (u64, Slot, Vec<u64>)>,
    reads: Vec<(Instant, Slot, u64, u64)>,
    find_at: Instant,
    hello_at: Option<Instant>,
    slow: bool,
    calm: bool,
}

fn log_key(slot: Slot, entry: u64) -> Vec<u8> {
    [b"l".as_slice(), &slot.number().to_be_bytes(), &entry.to_be_bytes()].concat()
}

fn cursor_key(slot: Slot) -> Vec<u8> {
    [b"c".as_slice(), &slot.number().to_be_bytes()].concat()
}

/// The entries of a slot's log, by number.
pub fn log_of(disk: &Disk, slot: Slot) -> Vec<(u64, Link)> {
    let prefix = [b"l".as_slice(), &slot.number().to_be_bytes()].concat();
    let entry = |key: &[u8]| Some(u64::from_be_bytes(key.get(3..)?.try_into().ok()?));
    disk.range(&prefix).filter_map(|(key, value)| Some((entry(key)?, decode(value).ok()?))).collect()
}

fn stored(disk: &Disk, slot: Slot) -> Stored {
    let cursor: Cursor = disk.get(&cursor_key(slot)).and_then(|bytes| decode(bytes).ok()).unwrap_or_default();
    let log = log_of(disk, slot);
    let cost = |least: u64| log.iter().filter(|(n, _)| *n > least).map(|(_, link)| link.cost() as u64).sum();
    let oldest = log.first().map_or(cursor.durable + 1, |(n, _)| *n);
    let last = log.last().map_or(cursor.durable, |(n, _)| *n);
    Stored { slot, oldest, last, bytes: cost(0), behind: cost(cursor.durable), cursor }
}

impl Peer {
    pub fn new(boot: &Boot, disk: &Disk, now: Instant, seed: u64) -> Peer {
        let stored: Vec<Stored> = slots().map(|slot| stored(disk, slot)).collect();
        let own = if boot.variant == Variant::OneSession { u64::from(boot.id.0) } else { seed };
        let last = |one: &Stored| one.last.max(one.cursor.durable);
        Peer {
            variant: boot.variant,
            oracle: boot.oracle,
            me: boot.id,
            next: stored.iter().map(|one| (one.slot, last(one) + 1)).collect(),
            written: stored.iter().map(|one| (one.slot, last(one))).collect(),
            state: State::new(config(), key_of(boot.id), ChaCha8Rng::seed_from_u64(own), now, stored),
            lately: Lately::new(KNOWN),
            dice: Dice::new(seed, "links peer"),
            names: (0..MACHINES).map(NodeId).map(|node| (key_of(node), node)).collect(),
            tokens: BTreeMap::new(),
            stores: BTreeMap::new(),
            down: BTreeSet::new(),
            pages: BTreeMap::new(),
            admitting: BTreeMap::new(),
            reads: Vec::new(),
            find_at: now,
            hello_at: Some(now),
            slow: false,
            calm: false,
        }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn deadline(&self) -> Option<Instant> {
        let state = self.state.deadline().map(|(at, _)| at);
        let find = (!self.calm && !self.slow).then_some(self.find_at);
        let read = self.reads.iter().map(|(at, ..)| *at).min();
        [state, find, read, self.hello_at].into_iter().flatten().min()
    }

    pub fn label(&self) -> &'static str {
        match () {
            () if self.slow => "slow",
            () if !self.admitting.is_empty() => "admitting",
            () if !self.reads.is_empty() => "reading",
            () if self.state.behind() > 0 => "behind",
            () => "idle",
        }
    }

    pub fn tick(&mut self, ctx: &mut Ctx<'_, Event>) {
        let now = ctx.now();
        if self.hello_at.is_some_and(|at| at <= now) {
            self.hello_at = None;
            Word::Hello.send(ctx, self.oracle);
        }
        if self.find_at <= now && !self.calm && !self.slow {
            self.find_at = now + Duration::from_micros(self.dice.around(400_000).max(1));
            self.find(ctx);
        }
        let (due, later) = std::mem::take(&mut self.reads).into_iter().partition(|(at, ..)| *at <= now);
        self.reads = later;
        for (_, slot, after, limit) in due {
            self.read(ctx, slot, after, limit);
        }
        self.tell(ctx, Input::Tick);
    }

    /// A page is fetched: it and its links are one write.
    fn find(&mut self, ctx: &mut Ctx<'_, Event>) {
        let all: Vec<Slot> = slots().collect();
        let mut batch: Batch = Vec::new();
        let mut found: BTreeMap<Slot, (u64, u64)> = BTreeMap::new();
        for _ in 0..self.dice.between(1, LINKS) {
            let Some(&slot) = self.dice.pick(&all) else { return };
            let link = self.link(slot);
            let fingerprint = link.fingerprint();
            if self.lately.knows(slot, fingerprint) {
                ctx.log(Event::Suppressed(slot, fingerprint));
                continue;
            }
            let next = self.next.entry(slot).or_insert(1);
            let entry = *next;
            *next += 1;
            let bytes = found.entry(slot).or_default();
            *bytes = (entry, bytes.1 + link.cost() as u64);
            batch.push((log_key(slot, entry), Some(encode(&link))));
        }
        let ticket = ctx.write(batch, self.dice.chance(MILLION / 5));
        let found = found.into_iter().map(|(slot, (entry, bytes))| (slot, entry, bytes));
        self.pages.insert(ticket, found.collect());
    }

    fn link(&mut self, slot: Slot) -> Link {
        let site = SiteId::of(&format!("{}.test", self.me));
        let source = UrlId::of(site, &format!("http://{}.test/{}", self.me, self.dice.below(100)));
        let url = format!("http://s{}.test/{}", slot.number(), self.dice.below(TARGETS));
        let anchor = "x".repeat(self.dice.index(100));
        Link {
            source,
            url,
            anchor: anchor[..anchor.len() / 50].into(),
            crawl: 1,
            depth: 3,
            flags: Flags::default(),
        }
    }

    fn read(&mut self, ctx: &mut Ctx<'_, Event>, slot: Slot, after: u64, limit: u64) {
        let written = self.written.get(&slot).copied().unwrap_or(0);
        let (mut links, mut bytes, mut upto) = (Vec::new(), 0, after);
        for (entry, link) in log_of(ctx.disk(), slot) {
            if entry <= after || entry > written {
                continue;
            }
            bytes += link.cost() as u64;
            if bytes > limit && !links.is_empty() {
                break;
            }
            upto = entry;
            links.push((entry, link));
        }
        self.tell(ctx, Input::LogRead { slot, after, links, upto });
    }

    pub fn message(&mut self, ctx: &mut Ctx<'_, Event>, from: NodeId, bytes: &[u8]) {
        if from == self.oracle {
            if let Ok(word) = decode(bytes) {
                self.word(ctx, word);
            }
            return;
        }
        if self.down.remove(&from) {
            self.tell(ctx, Input::PeerUp(key_of(from)));
        }
        if let Ok(mut message) = Message::decode(bytes) {
            self.mistake(&mut message);
            self.tell(ctx, Input::Received(key_of(from), message));
        }
    }

    /// Takes `Received` for `Durable`, if that is planted.
    fn mistake(&self, message: &mut Message) {
        if let (Variant::MovesOnReceived, Message::Answers { answers, .. }) = (self.variant, message) {
            for Answered { answer, .. } in answers {
                if *answer == Answer::Received {
                    *answer = Answer::Durable;
                }
            }
        }
    }

    fn word(&mut self, ctx: &mut Ctx<'_, Event>, word: Word) {
        match word {
            Word::Held { slot, token, links } => {
                self.stores.insert(slot, Store { token, seq: 0, links: links.into_iter().collect() });
                self.tell(ctx, Input::Held(slot, token));
            }
            Word::Lost { slot, to } => self.lost(ctx, slot, to),
            Word::Route { slot, holder, token } => {
                // That it was lost may have been said while nobody was to hear it; claims find out.
                if NodeId(holder) != self.me {
                    self.lost(ctx, slot, token);
                }
                if self.tokens.get(&slot).is_none_or(|known| *known < token) {
                    self.tokens.insert(slot, token);
                    self.tell(ctx, Input::Route(slot, Some((key_of(NodeId(holder)), token))));
                }
            }
            Word::Forced { slot, token } => self.tell(ctx, Input::Forced(slot, token)),
            Word::Acknowledged { slot, token, seq } => self.tell(ctx, Input::Durable { slot, token, seq }),
            Word::Calm => self.calm = true,
            Word::Hello | Word::Replicate { .. } => {}
        }
    }

    /// Another holds a slot by this token. What is said late may be of a holding before this one.
    fn lost(&mut self, ctx: &mut Ctx<'_, Event>, slot: Slot, to: Token) {
        if self.stores.get(&slot).is_some_and(|store| store.token < to) {
            self.stores.remove(&slot);
            self.tell(ctx, Input::Lost(slot));
        }
    }

    pub fn completed(&mut self, ctx: &mut Ctx<'_, Event>, ticket: Ticket, result: Result<(), DiskFull>) {
        if let Some(found) = self.pages.remove(&ticket) {
            for (slot, upto, bytes) in found.into_iter().filter(|_| result.is_ok()) {
                self.written.insert(slot, upto);
                self.tell(ctx, Input::Logged { slot, upto, bytes });
            }
        } else if let Some((ticket, slot, links)) = self.admitting.remove(&ticket) {
            let admitted = self.stores.get_mut(&slot).filter(|_| result.is_ok());
            let Some(store) = admitted else { return self.tell(ctx, Input::NotAdmitted { ticket }) };
            let new: Vec<u64> = links.into_iter().filter(|link| store.links.insert(*link)).collect();
            let token = store.token;
            if !new.is_empty() {
                store.seq += 1;
                Word::Replicate { slot, token, seq: store.seq, links: new }.send(ctx, self.oracle);
            }
            let seq = store.seq;
            self.tell(ctx, Input::Admitted { ticket, seq, rejected: 0 });
        }
    }

    pub fn broken(&mut self, ctx: &mut Ctx<'_, Event>, with: NodeId) {
        if with == self.oracle {
            self.hello_at = Some(ctx.now() + Duration::from_millis(200));
        } else {
            self.down.insert(with);
            self.tell(ctx, Input::PeerDown(key_of(with)));
        }
    }

    fn tell(&mut self, ctx: &mut Ctx<'_, Event>, input: Input) {
        let mut effects = Vec::new();
        self.state.handle(ctx.now(), input, &mut effects);
        for effect in effects {
            self.carry_out(ctx, effect);
        }
    }

    fn carry_out(&mut self, ctx: &mut Ctx<'_, Event>, effect: Effect) {
        match effect {
            Effect::Send(to, message) => self.send(ctx, to, &message),
            Effect::ReadLog { slot, after, limit_bytes } => {
                let at = ctx.now() + Duration::from_micros(self.dice.around(20_000));
                self.reads.push((at, slot, after, limit_bytes));
            }
            Effect::Persist(records) => {
                for (slot, cursor) in &records {
                    ctx.log(Event::Cursor(*slot, cursor.durable));
                }
                self.persist(ctx, records);
            }
            Effect::Sent { slot, fingerprints } => {
                if self.variant != Variant::FiltersOnSend {
                    self.lately.enter(slot, &fingerprints);
                }
            }
            Effect::Replay(slot) => self.lately.forget(slot),
            Effect::Trim { slot, upto } => {
                let old: Vec<_> = log_of(ctx.disk(), slot).into_iter().filter(|(n, _)| *n <= upto).collect();
                ctx.write(old.iter().map(|(n, _)| (log_key(slot, *n), None)).collect(), false);
                ctx.log(Event::Trimmed(slot, old.iter().map(|(_, link)| link.fingerprint()).collect()));
            }
            Effect::Slow(slow) => self.slow = slow,
            Effect::Admit { ticket, slot, links, .. } => {
                let links = links.iter().map(Link::fingerprint).collect();
                let key = [b"a".as_slice(), &slot.number().to_be_bytes()].concat();
                let write = ctx.persist(key, ticket.to_be_bytes().to_vec(), false);
                self.admitting.insert(write, (ticket, slot, links));
            }
            Effect::Hint { .. } => {}
            Effect::Misbehaved(..) if self.variant == Variant::OneSession => {}
            Effect::Misbehaved(peer, fault) => panic!("{peer} is accused: {fault}"),
        }
    }

    fn persist(&self, ctx: &mut Ctx<'_, Event>, records: Vec<(Slot, Cursor)>) {
        let batch = records.into_iter().map(|(slot, cursor)| (cursor_key(slot), Some(encode(&cursor))));
        ctx.write(batch.collect(), false);
    }

    fn send(&mut self, ctx: &mut Ctx<'_, Event>, to: PeerKey, message: &Message) {
        let Some(&node) = self.names.get(&to) else { return };
        if let Message::Batch(batch) = message {
            match self.variant {
                Variant::FiltersOnSend => {
                    for part in &batch.parts {
                        let sent: Vec<u64> = part.links.iter().map(Link::fingerprint).collect();
                        self.lately.enter(part.slot, &sent);
                    }
                }
                Variant::WritesOnSend => {
                    let cursor = |upto| Cursor { durable: upto, forced: None };
                    let records: Vec<_> =
                        batch.parts.iter().map(|part| (part.slot, cursor(part.upto))).collect();
                    self.persist(ctx, records);
                }
                _ => {}
            }
        }
        ctx.send(node, message.kind(), message.encode());
    }
}
