//! A peer: the protocol's state machine with a store, claims as the fixture gives them, and writes of its own.

use super::store;
use super::words::{Told, Word, peer, slots};
use super::{Happened, Variant};
use crate::dice::{Dice, MILLION};
use crate::disk::{Disk, DiskFull, Ticket};
use crate::node::{Ctx, NodeId};
use anthill_protocol::claim::Token;
use anthill_protocol::key::Slot;
use anthill_protocol::peer::{PeerKey, testing::Keyring};
use anthill_protocol::replica::{self, Answer, Config, Effect, Input, ItemKey, Message, Part, ReadId, State};
use anthill_protocol::time::Instant;
use anthill_protocol::wire::{decode, encode};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Machines whose peers are known by name.
const MOST_MACHINES: u32 = 64;
const HELLO: Duration = Duration::from_secs(2);
const GENERATION: &[u8] = b"generation";

/// Small bounds, so that all of them are met.
pub(super) fn config() -> Config {
    Config {
        gather: Duration::from_millis(5),
        batch: 600,
        window: 6_000,
        window_all: 20_000,
        applying: 30_000,
        bytes_per_s: 20_000,
        sessions: 3,
        questions: 4,
        reads: 3,
        retry: (Duration::from_millis(300), Duration::from_secs(5)),
        patience: Duration::from_secs(8),
        compare_every: Duration::from_secs(15),
        keep: Duration::from_secs(20),
        confirm_every: Duration::from_secs(2),
        ..Config::default()
    }
}

enum Writing {
    Start,
    Fence(Slot, Token),
    Apply(replica::Ticket, Slot, u64),
    Own(Slot, u64, ItemKey, Box<store::Value>),
    Probe,
}

/// A peer.
pub struct Peer {
    variant: Variant,
    id: NodeId,
    registrar: NodeId,
    nodes: BTreeMap<PeerKey, NodeId>,
    state: Option<State<Keyring>>,
    dice: Dice,
    generation: u64,
    writing: BTreeMap<Ticket, Writing>,
    answers: VecDeque<(Instant, ReadId, Answer)>,
    synced: BTreeMap<Slot, u64>,
    told: BTreeMap<Slot, Told>,
    members: Vec<PeerKey>,
    up: BTreeSet<NodeId>,
    up_at: BTreeMap<NodeId, Instant>,
    /// What is said to the registrar again and again, because it may not have come.
    said: BTreeMap<(Slot, u8, PeerKey), Word>,
    ready: BTreeMap<Slot, Token>,
    hello_at: Instant,
    write_at: Instant,
    full: bool,
    writes: bool,
    begun: bool,
}

impl Peer {
    pub(super) fn boot(
        variant: Variant,
        (id, registrar): (NodeId, NodeId),
        disk: &Disk,
        now: Instant,
        seed: u64,
    ) -> Peer {
        let mut dice = Dice::new(seed, "replica peer");
        let kept = disk.get(GENERATION).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
        let nodes = (0..MOST_MACHINES).map(NodeId).filter(|node| *node != registrar);
        let write_at = now + dice.span(Duration::ZERO, Duration::from_secs(1));
        let generation = kept.unwrap_or_else(|| dice.number());
        Peer {
            variant,
            id,
            registrar,
            nodes: nodes.map(|node| (peer(node), node)).collect(),
            state: None,
            dice,
            generation,
            writing: BTreeMap::new(),
            answers: VecDeque::new(),
            synced: BTreeMap::new(),
            told: BTreeMap::new(),
            members: Vec::new(),
            up: BTreeSet::new(),
            up_at: BTreeMap::new(),
            said: BTreeMap::new(),
            ready: BTreeMap::new(),
            hello_at: now,
            write_at,
            full: false,
            writes: true,
            begun: false,
        }
    }

    /// The protocol's state, if the process has read its disk.
    pub fn state(&self) -> Option<&State<Keyring>> {
        self.state.as_ref()
    }

    /// Who it is.
    pub fn key(&self) -> PeerKey {
        peer(self.id)
    }

    pub(super) fn deadline(&self) -> Instant {
        let state = self.state.as_ref().and_then(|state| state.deadline()).map(|(at, _)| at);
        let answers = self.answers.front().map(|(at, ..)| *at);
        let up = self.up_at.values().min().copied();
        let all = [state, answers, up, Some(self.hello_at), Some(self.write_at)];
        all.into_iter().flatten().min().unwrap_or(self.hello_at)
    }

    pub(super) fn label(&self) -> &'static str {
        let Some(state) = &self.state else { return "starting" };
        let debt = state.debt();
        match (self.ready.is_empty(), debt.copies > 0, debt.items > 0) {
            (_, _, true) => "pulling",
            (false, true, _) => "copying",
            (false, false, _) => "holding",
            (true, ..) => "following",
        }
    }

    pub(super) fn tick(&mut self, ctx: &mut Ctx<'_, Happened>) {
        let now = ctx.now();
        if !self.begun {
            // What a killed process had written is read, so it has to be safe before anything is built on it.
            self.begun = true;
            let ticket = ctx.persist(GENERATION.to_vec(), self.generation.to_le_bytes().to_vec(), true);
            self.writing.insert(ticket, Writing::Start);
        }
        if self.hello_at <= now {
            self.hello_at = now + HELLO;
            self.hello(ctx);
        }
        if self.write_at <= now {
            self.write_at = now + self.dice.span(Duration::from_millis(50), Duration::from_secs(2));
            self.write_some(ctx);
        }
        let up: Vec<NodeId> = self.up_at.iter().filter(|(_, at)| **at <= now).map(|(n, _)| *n).collect();
        for node in up {
            self.meet(ctx, node);
        }
        while self.answers.front().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, id, answer)) = self.answers.pop_front() else { return };
            self.handle(ctx, Input::Read(id, answer));
        }
        self.handle(ctx, Input::Tick);
    }

    fn meet(&mut self, ctx: &mut Ctx<'_, Happened>, node: NodeId) {
        self.up_at.remove(&node);
        if self.up.insert(node) {
            self.handle(ctx, Input::PeerUp(peer(node)));
        }
    }

    fn hello(&mut self, ctx: &mut Ctx<'_, Happened>) {
        if self.state.is_none() {
            if self.writing.is_empty() {
                self.begun = false;
            }
            return;
        }
        self.say(ctx, &Word::Here { generation: self.generation });
        for word in self.said.values() {
            ctx.send(self.registrar, "claims", encode(word));
        }
        if self.full {
            let ticket = ctx.persist(b"probe".to_vec(), vec![0], false);
            self.writing.insert(ticket, Writing::Probe);
        }
    }

    fn say(&self, ctx: &mut Ctx<'_, Happened>, word: &Word) {
        ctx.send(self.registrar, "claims", encode(word));
    }

    /// Writes items to slots held here.
    fn write_some(&mut self, ctx: &mut Ctx<'_, Happened>) {
        let held: Vec<Slot> = self.ready.keys().copied().collect();
        if !self.writes {
            return;
        }
        for slot in held {
            if !self.dice.chance(MILLION / 2) {
                continue;
            }
            let (kind, name) = (self.dice.below(2) as u8, self.dice.below(25) as u8);
            let Ok(key) = ItemKey::new(slot, &[kind, name]) else { continue };
            let before = store::value(ctx.disk(), &key);
            let value = match (kind, before) {
                (0, Some(store::Value::Set(mut set))) => {
                    set.insert(self.dice.number());
                    store::Value::Set(set)
                }
                (0, _) => store::Value::Set([self.dice.number()].into()),
                (_, before) => {
                    let version = match before {
                        Some(store::Value::Versioned { version, .. }) => version + 1,
                        _ => 1,
                    };
                    let body = vec![name; self.dice.below(200) as usize];
                    store::Value::Versioned { version, by: self.id.0, body }
                }
            };
            let item = store::new_item(key.clone(), &value);
            let (batch, head) = store::merge(ctx.disk(), slot, vec![item], None);
            let ticket = ctx.write(batch, true);
            self.writing.insert(ticket, Writing::Own(slot, head, key, Box::new(value)));
        }
    }

    pub(super) fn message(&mut self, ctx: &mut Ctx<'_, Happened>, from: NodeId, bytes: &[u8]) {
        if self.state.is_none() {
            return;
        }
        if from == self.registrar {
            return self.word(ctx, bytes);
        }
        self.meet(ctx, from);
        if let Ok(message) = Message::decode(bytes) {
            self.handle(ctx, Input::Received(peer(from), message));
        }
    }

    fn word(&mut self, ctx: &mut Ctx<'_, Happened>, bytes: &[u8]) {
        match decode::<Word>(bytes) {
            Ok(Word::Members(members, writes)) if members != self.members || writes != self.writes => {
                (self.members, self.writes) = (members, writes);
                let view = super::registrar::view_of(self.members.iter().copied());
                self.handle(ctx, Input::View(Arc::new(view)));
                // Copies for who comes back are asked for anew, as claims do.
                let copies = self.told.values().filter(|told| told.claim.holder == self.key());
                let copies: Vec<_> = copies.map(|told| (told.claim.slot, told.learners.clone())).collect();
                for (slot, learners) in copies {
                    self.handle(ctx, Input::Copy(slot, learners));
                }
                let others = self.members.iter().filter_map(|peer| self.nodes.get(peer)).copied();
                for node in others.collect::<Vec<_>>() {
                    if node != self.id && !self.up.contains(&node) {
                        self.up_at.entry(node).or_insert(ctx.now());
                    }
                }
            }
            Ok(Word::Prepare { slot, token }) => {
                let key = [b"f", slot.number().to_be_bytes().as_slice()].concat();
                let before = ctx.disk().get(&key).and_then(|bytes| decode::<Fence>(bytes).ok());
                let fence = before.map_or(token, |Fence(before)| before.max(token));
                let ticket = ctx.persist(key, encode(&Fence(fence)), true);
                self.writing.insert(ticket, Writing::Fence(slot, token));
            }
            Ok(Word::Claims(all, disk)) if disk == self.generation => {
                for told in all {
                    self.claim(ctx, told);
                }
            }
            _ => {}
        }
    }

    fn claim(&mut self, ctx: &mut Ctx<'_, Happened>, told: Told) {
        let (slot, own) = (told.claim.slot, self.key());
        let before = self.told.insert(slot, told.clone());
        if before.as_ref() == Some(&told) {
            return;
        }
        let newer = before.as_ref().is_none_or(|before| before.claim.token != told.claim.token);
        if newer {
            self.ready.remove(&slot);
            self.said.retain(|(of, ..), _| *of != slot);
        }
        let claim = told.claim;
        if claim.holder == own {
            let from = told.from.filter(|_| self.variant != Variant::NoCatchUp);
            self.handle(ctx, Input::Holding(claim, from));
            if newer || before.is_some_and(|before| before.learners != told.learners) {
                self.handle(ctx, Input::Copy(slot, told.learners));
            }
        } else if claim.keeps(&own) {
            self.handle(ctx, Input::Member(claim));
        } else if told.learners.contains(&own) {
            self.handle(ctx, Input::Learn(claim));
        } else if told.settled {
            if self.variant == Variant::DeletesUnasked && store::has_copy(ctx.disk(), slot) {
                let items = store::items(ctx.disk(), slot);
                ctx.log(Happened::Deletes(slot, items));
                let batch = store::delete(ctx.disk(), slot);
                ctx.write(batch, true);
            }
            self.handle(ctx, Input::Released(claim));
        }
    }

    pub(super) fn completed(
        &mut self,
        ctx: &mut Ctx<'_, Happened>,
        ticket: Ticket,
        result: Result<(), DiskFull>,
    ) {
        let Some(writing) = self.writing.remove(&ticket) else { return };
        let full = result.is_err();
        if full != self.full && self.state.is_some() {
            self.full = full;
            self.handle(ctx, Input::Full(full));
        }
        match writing {
            Writing::Start if !full => self.begin(ctx),
            Writing::Fence(slot, token) if !full => {
                self.handle(ctx, Input::Fence(slot, token));
                let position = self.state.as_ref().and_then(|state| state.position(slot));
                let generation = self.generation;
                self.say(ctx, &Word::Promised { slot, token, generation, position });
            }
            Writing::Apply(ticket, slot, head) => {
                if full {
                    self.handle(ctx, Input::NotApplied(ticket));
                } else {
                    self.is_synced(slot, head);
                    self.handle(ctx, Input::Applied(ticket, head));
                }
            }
            Writing::Own(slot, seq, key, value) if !full => {
                self.is_synced(slot, seq);
                ctx.log(Happened::Wrote { slot, seq, key, value });
                self.handle(ctx, Input::Wrote(slot, seq));
            }
            _ => {}
        }
    }

    fn is_synced(&mut self, slot: Slot, seq: u64) {
        let synced = self.synced.entry(slot).or_default();
        *synced = seq.max(*synced);
    }

    fn begin(&mut self, ctx: &mut Ctx<'_, Happened>) {
        let now = ctx.now();
        let records = store::records(ctx.disk());
        for slot in slots() {
            self.synced.insert(slot, store::head(ctx.disk(), slot));
        }
        let rng = ChaCha8Rng::seed_from_u64(self.dice.number());
        self.state = Some(State::new(config(), Keyring::of(self.key()), rng, now, records));
        for slot in slots() {
            let key = [b"f", slot.number().to_be_bytes().as_slice()].concat();
            if let Some(Fence(token)) = ctx.disk().get(&key).and_then(|bytes| decode(bytes).ok()) {
                self.handle(ctx, Input::Fence(slot, token));
            }
        }
        self.hello_at = now;
    }

    pub(super) fn broken(&mut self, ctx: &mut Ctx<'_, Happened>, with: NodeId) {
        if with == self.registrar {
            return;
        }
        if self.up.remove(&with) {
            self.handle(ctx, Input::PeerDown(peer(with)));
        }
        let after = self.dice.span(Duration::from_millis(100), Duration::from_secs(3));
        self.up_at.insert(with, ctx.now() + after);
    }

    fn handle(&mut self, ctx: &mut Ctx<'_, Happened>, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let Some(state) = self.state.as_mut() else { return };
            let mut out = Vec::new();
            state.handle(ctx.now(), input, &mut out);
            for effect in out {
                self.perform(ctx, effect, &mut inputs);
            }
        }
    }

    fn perform(&mut self, ctx: &mut Ctx<'_, Happened>, effect: Effect, inputs: &mut VecDeque<Input>) {
        match effect {
            Effect::Send(to, message) => {
                let Some(node) = self.nodes.get(&to) else { return };
                ctx.send(*node, kind(&message), message.encode());
            }
            Effect::Apply { ticket, slot, items, record, .. } => {
                let (batch, head) = store::merge(ctx.disk(), slot, items, Some(record));
                let early = self.variant == Variant::AcknowledgesBeforeSync;
                let written = ctx.write(batch, !early);
                if early && !ctx.disk().is_full() {
                    self.is_synced(slot, head);
                    inputs.push_back(Input::Applied(ticket, head));
                } else {
                    self.writing.insert(written, Writing::Apply(ticket, slot, head));
                }
            }
            Effect::Delete { ticket, slot } => {
                let items = store::items(ctx.disk(), slot);
                ctx.log(Happened::Deletes(slot, items));
                let batch = store::delete(ctx.disk(), slot);
                let written = ctx.write(batch, true);
                self.synced.insert(slot, 0);
                self.writing.insert(written, Writing::Apply(ticket, slot, 0));
            }
            Effect::Read(id, what) => {
                let slot = slot_of(&what);
                let synced = self.synced.get(&slot).copied().unwrap_or(0);
                let answer = store::read(ctx.disk(), what, synced);
                let last = self.answers.back().map_or(ctx.now(), |(at, ..)| *at);
                let at = last.max(ctx.now() + self.dice.span(Duration::ZERO, Duration::from_millis(4)));
                self.answers.push_back((at, id, answer));
            }
            Effect::Durable { slot, token, seq } => {
                let Some(told) = self.told.get(&slot).filter(|told| told.claim.token == token) else {
                    return;
                };
                ctx.log(Happened::Durable { slot, seq, set: told.claim.set.clone(), token });
                self.tell(ctx, (slot, 1, self.key()), Word::Durable { slot, token });
            }
            Effect::CaughtUp(slot, token) => {
                ctx.log(Happened::CaughtUp(slot, token));
                self.ready.insert(slot, token);
                self.tell(ctx, (slot, 0, self.key()), Word::CaughtUp { slot, token });
            }
            Effect::Whole(slot, peer) => {
                let Some(token) = self.ready.get(&slot).copied() else { return };
                self.tell(ctx, (slot, 2, peer), Word::Whole { slot, token, peer });
            }
            Effect::Misbehaved(peer, fault) => ctx.log(Happened::Accuses(peer, fault)),
            Effect::MemberFull(..) | Effect::Later(..) => {}
        }
    }

    /// Tells the registrar, once now and with every hello.
    fn tell(&mut self, ctx: &mut Ctx<'_, Happened>, key: (Slot, u8, PeerKey), word: Word) {
        if self.said.insert(key, word.clone()).as_ref() != Some(&word) {
            self.say(ctx, &word);
        }
    }

    pub(super) fn has_state(&self) -> bool {
        self.state.is_some()
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Fence(Token);

impl anthill_protocol::wire::Versioned for Fence {
    const VERSION: u8 = 1;
    const LIMIT: usize = 64;
}

fn slot_of(read: &replica::Read) -> Slot {
    match read {
        replica::Read::Digest(slot)
        | replica::Read::Changes { slot, .. }
        | replica::Read::Keys { slot, .. }
        | replica::Read::Range { slot, .. }
        | replica::Read::Items { slot, .. } => *slot,
    }
}

/// The heaviest part names a message.
fn kind(message: &Message) -> &'static str {
    match message.0.iter().max_by_key(|part| part.size()) {
        Some(Part::Append { .. }) => "append",
        Some(Part::Acked { .. }) => "acked",
        Some(Part::Where { .. } | Part::Behind { .. } | Part::Fetch { .. }) => "where",
        Some(Part::Root { .. } | Part::Compare { .. } | Part::Same { .. } | Part::Buckets { .. }) => {
            "compare"
        }
        Some(Part::List { .. } | Part::Keys { .. }) => "list",
        Some(Part::Pull { .. } | Part::Chunk { .. } | Part::Want { .. } | Part::Items { .. }) => "pull",
        Some(Part::Offer { .. } | Part::Took { .. }) => "offer",
        Some(Part::Confirm { .. } | Part::Confirmed(_)) => "confirm",
        Some(Part::Stale { .. } | Part::Refused { .. }) | None => "refuse",
    }
}
