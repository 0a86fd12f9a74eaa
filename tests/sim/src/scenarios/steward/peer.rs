//! A peer with the real protocol, that sends whenever it may, and its mistakes, if some are planted.

use super::{Boot, LEASE, MACHINES, PLACES, Sent, Variant, Word, key_of};
use crate::dice::{Dice, MILLION};
use crate::disk::{Disk, DiskFull, Ticket};
use crate::node::{Ctx, NodeId};
use anthill_protocol::claim::Token;
use anthill_protocol::key::Slot;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::steward::{Config, Effect, Input, Message, State, Window};
use anthill_protocol::time::Instant;
use anthill_protocol::wire::decode;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// From one renewal to the next.
const RENEWAL: Duration = Duration::from_secs(2);
const SHARED: &[u8] = b"shared";

fn config() -> Config {
    let ms = Duration::from_millis;
    Config {
        window: ms(4_000),
        least_window: ms(1_000),
        refresh: ms(3_000),
        forget: ms(10_000),
        retry: (ms(200), ms(2_000)),
        batch: ms(200),
        ..Config::default()
    }
}

/// One peer.
pub struct Peer {
    variant: Variant,
    claims: NodeId,
    state: State,
    dice: Dice,
    names: BTreeMap<PeerKey, NodeId>,
    tokens: BTreeMap<Slot, Token>,
    held: BTreeMap<Slot, Token>,
    /// Renewals that were asked for.
    renewing: BTreeMap<u64, Instant>,
    number: u64,
    renew_at: Instant,
    hello_at: Option<Instant>,
    /// Started on an empty disk, and has not said so yet.
    fresh: bool,
    down: BTreeSet<NodeId>,
    writing: BTreeMap<Ticket, u64>,
    /// Wishes, by what is planted.
    asked: BTreeMap<u64, Instant>,
    wants: [bool; PLACES.len()],
    flip_at: Instant,
    /// Nothing is sent before: the own delay.
    next: [Instant; PLACES.len()],
    calm: bool,
    /// When it was called last.
    now: Instant,
}

impl Peer {
    pub fn new(boot: &Boot, disk: &Disk, now: Instant, seed: u64) -> Peer {
        let shared = disk.get(SHARED) == Some(&[1]) && boot.variant != Variant::ForgetsWindows;
        Peer {
            variant: boot.variant,
            claims: boot.claims,
            state: State::new(config(), key_of(boot.id), ChaCha8Rng::seed_from_u64(seed), now, shared),
            dice: Dice::new(seed, "steward peer"),
            names: (0..MACHINES).map(NodeId).map(|node| (key_of(node), node)).collect(),
            tokens: BTreeMap::new(),
            held: BTreeMap::new(),
            renewing: BTreeMap::new(),
            number: 0,
            renew_at: now,
            hello_at: Some(now),
            fresh: disk.is_empty(),
            down: BTreeSet::new(),
            writing: BTreeMap::new(),
            asked: BTreeMap::new(),
            wants: [false; PLACES.len()],
            flip_at: now,
            next: PLACES.map(|(_, delay)| now + Duration::from_millis(delay * 102 / 100)),
            calm: false,
            now,
        }
    }

    /// When it may next send to a place, if it wants and may.
    fn sends_at(&self, place: usize, now: Instant) -> Option<Instant> {
        match self.state.window(PLACES[place].0, now) {
            Window::Open { until, .. } if self.wants[place] => {
                let at = self.next[place].max(now);
                (at < until).then_some(at)
            }
            _ => None,
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        let state = self.state.deadline().map(|(at, _)| at);
        let sends =
            (0..PLACES.len()).filter_map(|place| self.sends_at(place, self.next[place].max(self.now)));
        [state, self.hello_at, Some(self.renew_at), Some(self.flip_at)]
            .into_iter()
            .flatten()
            .chain(sends)
            .min()
    }

    pub fn label(&self) -> &'static str {
        match () {
            () if !self.writing.is_empty() => "writing",
            () if !self.held.is_empty() => "steward",
            () => "peer",
        }
    }

    pub fn tick(&mut self, ctx: &mut Ctx<'_, Sent>) {
        let now = ctx.now();
        if self.hello_at.is_some_and(|at| at <= now) {
            self.hello_at = None;
            Word::Hello { fresh: std::mem::take(&mut self.fresh) }.send(ctx, self.claims);
        }
        if self.renew_at <= now {
            self.renew_at = now + RENEWAL;
            self.renew(ctx);
        }
        if self.flip_at <= now {
            self.flip_at = now + Duration::from_micros(self.dice.around(3_000_000).max(1));
            let drawn = self.dice.index(PLACES.len());
            // In the end all are wanted soon: by chance alone one would once in a hundred thousand runs be wanted too late.
            let place = self.wants.iter().position(|wanted| self.calm && !wanted).unwrap_or(drawn);
            self.set_want(ctx, place, self.calm || !self.wants[place]);
        }
        self.tell(ctx, Input::Tick);
        for (place, (_, delay)) in PLACES.into_iter().enumerate() {
            if self.sends_at(place, now) == Some(now) {
                self.next[place] = now + Duration::from_millis(delay);
                ctx.log(Sent(place));
                if !self.calm && self.dice.chance(MILLION / 5) {
                    self.set_want(ctx, place, false);
                }
            }
        }
    }

    fn set_want(&mut self, ctx: &mut Ctx<'_, Sent>, place: usize, want: bool) {
        let (address, delay) = PLACES[place];
        self.wants[place] = want;
        let delay = if self.variant == Variant::NoGap { 0 } else { delay };
        let wanted = u16::try_from(self.dice.between(1, 9)).unwrap_or(1);
        let input = match want {
            true => Input::Want { address, delay: Duration::from_millis(delay), wanted },
            false => Input::Idle(address),
        };
        self.tell(ctx, input);
    }

    fn renew(&mut self, ctx: &mut Ctx<'_, Sent>) {
        for (&slot, &token) in &self.held {
            self.number += 1;
            self.renewing.insert(self.number, ctx.now());
            Word::Renew { slot, token, number: self.number }.send(ctx, self.claims);
        }
        while self.renewing.len() > 100 {
            self.renewing.pop_first();
        }
    }

    pub fn message(&mut self, ctx: &mut Ctx<'_, Sent>, from: NodeId, bytes: &[u8]) {
        if from == self.claims {
            if let Ok(word) = decode(bytes) {
                self.word(ctx, word);
            }
            return;
        }
        if self.down.remove(&from) {
            self.tell(ctx, Input::PeerUp(key_of(from)));
        }
        if let Ok(mut message) = Message::decode(bytes) {
            if let (Variant::CountsFromAnswer, Message::Grant(grants)) = (self.variant, &mut message) {
                for grant in grants {
                    let asked = self.asked.get(&grant.id).copied().unwrap_or(ctx.now());
                    grant.waited_us = crate::dice::micros(ctx.now().since(asked));
                }
            }
            self.tell(ctx, Input::Received(key_of(from), message));
        }
    }

    fn word(&mut self, ctx: &mut Ctx<'_, Sent>, word: Word) {
        match word {
            Word::Held { slot, token } => {
                self.held.insert(slot, token);
                self.renew(ctx);
            }
            Word::Renewed { slot, token, number } => {
                let Some(asked) = self.renewing.remove(&number) else { return };
                let more = if self.variant == Variant::OutlastsLease { LEASE } else { Duration::ZERO };
                let until = asked + LEASE + more;
                if until > ctx.now() {
                    self.tell(ctx, Input::Lease { slot, token, until });
                }
            }
            Word::Route { slot, holder, token } => {
                if self.tokens.get(&slot).is_none_or(|known| *known < token) {
                    self.tokens.insert(slot, token);
                    if self.held.get(&slot).is_some_and(|held| *held < token) {
                        self.held.remove(&slot);
                    }
                    self.tell(ctx, Input::Route(slot, Some((key_of(NodeId(holder)), token))));
                }
            }
            Word::Drain { slot, token } => {
                if self.held.get(&slot) == Some(&token) {
                    self.tell(ctx, Input::Drain(slot, token));
                }
            }
            Word::Calm => self.calm = true,
            Word::Hello { .. } | Word::Renew { .. } | Word::Drained { .. } => {}
        }
    }

    pub fn completed(&mut self, ctx: &mut Ctx<'_, Sent>, ticket: Ticket, result: Result<(), DiskFull>) {
        let Some(ticket) = self.writing.remove(&ticket) else { return };
        let input = if result.is_ok() { Input::Persisted(ticket) } else { Input::NotPersisted(ticket) };
        self.tell(ctx, input);
    }

    pub fn broken(&mut self, ctx: &mut Ctx<'_, Sent>, with: NodeId) {
        if with == self.claims {
            self.hello_at = Some(ctx.now() + Duration::from_millis(200));
        } else {
            self.down.insert(with);
            self.tell(ctx, Input::PeerDown(key_of(with)));
        }
    }

    fn tell(&mut self, ctx: &mut Ctx<'_, Sent>, input: Input) {
        let mut effects = Vec::new();
        self.now = ctx.now();
        self.state.handle(ctx.now(), input, &mut effects);
        for effect in effects {
            match effect {
                Effect::Send(to, message) => {
                    if let Message::Ask(asks) = &message {
                        self.asked.extend(asks.iter().map(|ask| (ask.id, ctx.now())));
                    }
                    if let Some(&node) = self.names.get(&to) {
                        ctx.send(node, message.kind(), message.encode());
                    }
                }
                Effect::Persist { shared, ticket } => {
                    let write = ctx.persist(SHARED.to_vec(), vec![u8::from(shared)], true);
                    self.writing.insert(write, ticket);
                }
                // Held anew meanwhile, it was given for another time.
                Effect::Drained(slot, token) if self.held.get(&slot) == Some(&token) => {
                    self.held.remove(&slot);
                    Word::Drained { slot, token }.send(ctx, self.claims);
                }
                Effect::Drained(..) | Effect::Opened(_) | Effect::NeedLease(_) | Effect::Hint { .. } => {}
                Effect::Misbehaved(peer, fault) => panic!("{peer} is accused: {fault}"),
            }
        }
    }
}
