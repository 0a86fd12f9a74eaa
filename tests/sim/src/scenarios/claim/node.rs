//! One peer: the claims of the protocol room, a plain membership, and somebody who wants to fetch.

use super::frame::{Frame, IDENTITY, Identity, MEMBERS, Stored, key_of, stored};
use super::happened::{Happened, Permit, short};
use super::members::{BEAT, Members};
use super::{Boot, Variant, config};
use crate::dice::Dice;
use crate::disk::{Disk, DiskFull, Ticket};
use crate::node::{Ctx, Node, NodeId};
use anthill_protocol::claim::{self, Effect, Input, Message, Record, Run, State};
use anthill_protocol::key::Slot;
use anthill_protocol::peer::{Keys, PeerKey, testing::Keyring};
use anthill_protocol::time::Instant;
use anthill_protocol::view::View;
use anthill_protocol::wire::{decode, encode};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// From a permit's being given to its use at most.
const DAWDLE: Duration = Duration::from_secs(8);
/// How long a copy takes at most.
const COPYING: Duration = Duration::from_secs(5);

/// One machine's process.
pub struct Peer {
    pub(super) variant: Variant,
    first: u32,
    pub(crate) me: PeerKey,
    identity: Identity,
    /// The identity is on disk.
    ready: bool,
    naming: Option<Ticket>,
    pub(crate) claims: State<Keyring>,
    pub(super) members: Members,
    /// Who was heard since its stream last broke.
    up: BTreeSet<PeerKey>,
    pub(crate) view: Option<Arc<View>>,
    writing: BTreeMap<Ticket, claim::Ticket>,
    permits: Vec<Permit>,
    pub(super) draining: Vec<Slot>,
    later: BTreeMap<Instant, Vec<Input>>,
    copies: BTreeMap<Instant, Vec<(Slot, PeerKey)>>,
    /// The renewals sent, and when each member's answer came, by which claim: for a planted bug.
    renewals: BTreeMap<u64, Vec<Run>>,
    pub(super) answered: BTreeMap<(Slot, PeerKey), (u64, Instant)>,
    /// Slots that stay here by contract, until then.
    pub(super) stays: BTreeMap<Slot, Instant>,
    pub(super) dice: Dice,
    beat_at: Instant,
    work_at: Instant,
    leaving: bool,
}

impl Peer {
    /// Permits of a slot that may be used at this time of the own clock.
    pub fn permits(&self, slot: Slot, now: Instant) -> impl Iterator<Item = &Permit> {
        self.permits.iter().filter(move |permit| permit.slot == slot && now < permit.not_after)
    }

    pub(super) fn feed(&mut self, ctx: &mut Ctx<'_, Happened>, input: Input) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let mut out = Vec::new();
            let asked = match &input {
                Input::Received(from, Message::Renew { runs, .. }) => Some((*from, runs.clone())),
                _ => None,
            };
            self.claims.handle(ctx.now(), input, &mut out);
            for effect in out {
                if let (Some((holder, runs)), Effect::Send(_, Message::Renewed { refused, .. })) =
                    (&asked, &effect)
                {
                    self.tell_renewed(ctx, *holder, runs, refused);
                }
                self.act(ctx, effect, &mut inputs);
            }
        }
    }

    fn act(&mut self, ctx: &mut Ctx<'_, Happened>, effect: Effect, inputs: &mut Vec<Input>) {
        match effect {
            Effect::Send(to, message) => {
                self.tell(ctx, &message);
                if let (Variant::CountsFromAnswer, Message::Renew { round, runs }) = (self.variant, &message)
                {
                    self.renewals.insert(*round, runs.clone());
                }
                inputs
                    .extend(self.forged(to, &message).map(|(from, message)| Input::Received(from, message)));
                if let Some(node) = self.members.known.get(&to).map(|info| info.node) {
                    self.send(ctx, node, &message);
                }
            }
            Effect::Gossip(message) => {
                let nodes: Vec<NodeId> = self.members.known.values().map(|info| info.node).collect();
                nodes.into_iter().for_each(|node| self.send(ctx, node, &message));
            }
            Effect::Persist(records, ticket) => {
                let batch =
                    records.iter().map(|(slot, record)| (key_of(*slot), Some(encode(record)))).collect();
                let mine = ctx.write(batch, true);
                if self.variant == Variant::AnswersBeforeSync {
                    inputs.push(Input::Persisted(ticket));
                } else {
                    self.writing.insert(mine, ticket);
                }
            }
            Effect::Held { claim, from } => {
                let (slot, set) = (claim.slot.number(), claim.set.len());
                let how = self
                    .claims
                    .claim(claim.slot)
                    .map(|(mint, _)| format!("{:.7}", format!("{:?}", mint.how)));
                let what = format!("holds {slot} by {} of {set} {how:?} from {from:?}", short(claim.token));
                ctx.log(Happened::Noted(what));
                if from.is_some() {
                    self.soon(ctx, Input::CaughtUp(claim.slot));
                }
            }
            Effect::Lost(slot) => {
                ctx.log(Happened::Noted(format!("lost {}", slot.number())));
                self.draining.retain(|draining| *draining != slot);
            }
            Effect::Copy { slot, to } => {
                // A copy becomes whole after a while, even if its peer has died since: then it is only not heard.
                let at = ctx.now() + self.dice.span(Duration::from_millis(50), COPYING);
                self.copies.entry(at).or_default().push((slot, to));
            }
            Effect::Drain(slot) => {
                ctx.log(Happened::Noted(format!("drains {}", slot.number())));
                self.draining.push(slot);
            }
            Effect::Resume(slot) => self.draining.retain(|draining| *draining != slot),
            Effect::Forced(slot) => ctx.log(Happened::Noted(format!("forces {}", slot.number()))),
            Effect::Misbehaved(peer, fault) => {
                ctx.log(Happened::Noted(format!("MISBEHAVED {peer}: {fault}")));
            }
        }
    }

    fn soon(&mut self, ctx: &Ctx<'_, Happened>, input: Input) {
        let at = ctx.now() + self.dice.span(Duration::from_millis(50), COPYING);
        self.later.entry(at).or_default().push(input);
    }

    fn send(&self, ctx: &mut Ctx<'_, Happened>, node: NodeId, message: &Message) {
        let kind = match message {
            Message::Parts(_) => "parts",
            Message::Renew { .. } => "renew",
            Message::Renewed { .. } => "renewed",
            Message::Hints(_) => "hints",
        };
        ctx.send(node, kind, encode(&Frame::Claims { from: self.me, bytes: message.encode() }));
    }

    fn beat(&mut self, ctx: &mut Ctx<'_, Happened>) {
        self.beat_at = ctx.now() + self.dice.span(BEAT / 2, BEAT + BEAT / 2);
        self.members.err(ctx.now(), &mut self.dice);
        let known: Vec<(u32, PeerKey)> =
            self.members.known.iter().map(|(p, info)| (info.node.0, *p)).collect();
        let mut nodes: Vec<u32> = (0..self.first).chain(known.iter().map(|(node, _)| *node)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let frame =
            encode(&Frame::Beat { from: self.me, settled: self.members.settled, known: known.clone() });
        let me = ctx.me();
        for node in nodes.into_iter().map(NodeId).filter(|node| *node != me) {
            ctx.datagram(node, "beat", frame.clone());
        }
        if let Some(view) = self.members.view(ctx.now()) {
            self.view = Some(Arc::clone(&view));
            if self.members.settled {
                ctx.persist(MEMBERS.to_vec(), encode(&Stored(known)), false);
            }
            self.feed(ctx, Input::View(view));
        }
    }

    /// Gives permits, uses them, and says when none is left.
    fn work(&mut self, ctx: &mut Ctx<'_, Happened>) {
        let now = ctx.now();
        self.work_at = now + self.dice.span(Duration::from_millis(50), Duration::from_millis(1_000));
        for permit in self.permits.iter().filter(|permit| permit.use_at <= now && now < permit.not_after) {
            ctx.log(Happened::Fetched(*permit));
        }
        self.permits.retain(|permit| now < permit.use_at && now < permit.not_after);
        if self.variant == Variant::Lending {
            self.lend(ctx);
        }
        if !self.leaving {
            let slots = config().slots;
            if let Some(&slot) = self.dice.pick(&slots) {
                self.feed(ctx, Input::Want(slot));
            }
            for slot in slots {
                let root = self.claims.claim(slot).map(|(mint, _)| mint.root);
                let Some(((token, not_after), root)) = self.lease(slot, now).zip(root) else { continue };
                if self.dice.chance(400_000) {
                    let use_at = now + self.dice.span(Duration::ZERO, DAWDLE);
                    let permit = Permit { slot, token, root, not_after, use_at };
                    self.permits.push(permit);
                    ctx.log(Happened::Permitted(permit));
                }
            }
        }
        let draining = std::mem::take(&mut self.draining);
        for slot in draining {
            let empty = self.permits.iter().all(|permit| permit.slot != slot);
            if empty || self.variant == Variant::DoesNotDrain {
                self.feed(ctx, Input::Drained(vec![slot]));
            } else {
                self.draining.push(slot);
            }
        }
    }
}

impl Node for Peer {
    type Boot = Boot;
    type Event = Happened;

    fn boot(boot: Boot, disk: &Disk, now: Instant, seed: u64) -> Peer {
        let named = disk.get(IDENTITY).and_then(|bytes| decode::<Identity>(bytes).ok());
        let identity = named.unwrap_or(Identity { number: seed, founder: boot.founder });
        let keys = Keyring::numbered(identity.number);
        let me = keys.own();
        let record = |slot: Slot| Some((slot, stored(disk, slot)?));
        let records: Vec<(Slot, Record)> = config().slots.into_iter().filter_map(record).collect();
        let known = disk.get(MEMBERS).and_then(|bytes| decode::<Stored>(bytes).ok()).map(|stored| stored.0);
        let started = if boot.variant == Variant::ForgetsLease { now - config().kept() } else { now };
        let rng = ChaCha8Rng::seed_from_u64(seed);
        Peer {
            variant: boot.variant,
            first: boot.first,
            me,
            identity,
            ready: named.is_some(),
            naming: None,
            claims: State::new(config(), keys, rng, started, identity.founder, records),
            members: Members::new(me, known.unwrap_or_default(), identity.founder, now),
            up: BTreeSet::new(),
            view: None,
            writing: BTreeMap::new(),
            permits: Vec::new(),
            draining: Vec::new(),
            later: BTreeMap::new(),
            copies: BTreeMap::new(),
            renewals: BTreeMap::new(),
            answered: BTreeMap::new(),
            stays: BTreeMap::new(),
            dice: Dice::new(seed, "peer"),
            beat_at: now,
            work_at: now,
            leaving: false,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        if !self.ready {
            return Some(self.beat_at);
        }
        let claims = self.claims.deadline().map(|(at, _)| at);
        let later = self.later.first_key_value().map(|(at, _)| *at);
        let copies = self.copies.first_key_value().map(|(at, _)| *at);
        [Some(self.beat_at), Some(self.work_at), claims, later, copies].into_iter().flatten().min()
    }

    fn label(&self) -> &'static str {
        let slots = config().slots;
        match () {
            () if !self.ready => "naming",
            () if self.leaving => "leaving",
            () if slots.iter().any(|slot| self.claims.is_moving(*slot)) => "moving",
            () if slots.iter().any(|slot| self.claims.holds(*slot)) => "holding",
            () => "keeping",
        }
    }

    fn tick(&mut self, ctx: &mut Ctx<'_, Happened>) {
        let now = ctx.now();
        if !self.ready {
            self.beat_at = now + BEAT;
            if self.naming.is_none() {
                self.naming = Some(ctx.persist(IDENTITY.to_vec(), encode(&self.identity), true));
            }
            return;
        }
        if self.beat_at <= now {
            self.beat(ctx);
        }
        while let Some(entry) = self.later.first_entry().filter(|entry| *entry.key() <= now) {
            for input in entry.remove() {
                self.feed(ctx, input);
            }
        }
        while let Some(entry) = self.copies.first_entry().filter(|entry| *entry.key() <= now) {
            for (slot, peer) in entry.remove() {
                self.feed(ctx, Input::Whole(slot, peer));
            }
        }
        if self.work_at <= now {
            self.work(ctx);
        }
        if self.claims.deadline().is_some_and(|(at, _)| at <= now) {
            self.feed(ctx, Input::Tick);
        }
    }

    fn message(&mut self, ctx: &mut Ctx<'_, Happened>, from: NodeId, bytes: &[u8]) {
        let Some(frame) = decode::<Frame>(bytes).ok().filter(|_| self.ready) else { return };
        let now = ctx.now();
        match frame {
            Frame::Beat { from: peer, settled, known } => {
                let new = self.up.insert(peer);
                self.members.heard(peer, from, now);
                self.members.replaced(from, peer);
                self.members.settled |= settled;
                if new {
                    self.feed(ctx, Input::PeerUp(peer));
                }
                for (node, peer) in known {
                    let taken = self.members.known.values().any(|info| info.node.0 == node);
                    if !self.members.known.contains_key(&peer) && !taken {
                        self.members.heard(peer, NodeId(node), now);
                    }
                }
            }
            Frame::Claims { from: peer, bytes } => {
                let Ok(message) = Message::decode(&bytes) else { return };
                if let Message::Renewed { round, refused } = &message {
                    let runs = self.renewals.remove(round).unwrap_or_default();
                    let slots = runs.iter().flat_map(|run| run.slots().map(|slot| (slot, run.counter)));
                    let slots = slots.filter(|(slot, _)| refused.binary_search(slot).is_err());
                    self.answered.extend(slots.map(|(slot, counter)| ((slot, peer), (counter, now))));
                }
                self.feed(ctx, Input::Received(peer, message));
            }
        }
    }

    fn completed(&mut self, ctx: &mut Ctx<'_, Happened>, ticket: Ticket, result: Result<(), DiskFull>) {
        if self.naming == Some(ticket) {
            (self.naming, self.ready) = (None, result.is_ok());
            return;
        }
        let Some(ticket) = self.writing.remove(&ticket) else { return };
        let input = match result {
            Ok(()) => Input::Persisted(ticket),
            Err(DiskFull) => Input::NotPersisted(ticket),
        };
        self.feed(ctx, input);
    }

    fn broken(&mut self, ctx: &mut Ctx<'_, Happened>, with: NodeId) {
        let peer = self.members.known.iter().find(|(_, info)| info.node == with).map(|(peer, _)| *peer);
        if let Some(peer) = peer.filter(|_| self.ready) {
            self.up.remove(&peer);
            self.feed(ctx, Input::PeerDown(peer));
        }
    }

    fn leave(&mut self, ctx: &mut Ctx<'_, Happened>) {
        self.leaving = true;
        if self.ready {
            self.feed(ctx, Input::Leave(BTreeSet::new()));
        }
    }

    fn left(&self) -> bool {
        !self.ready || self.claims.left(&mut None)
    }
}
