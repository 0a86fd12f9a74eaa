//! A machine that does nothing but know who is there.

use super::Variant;
use crate::dice::Dice;
use crate::disk::{Disk, DiskFull, Ticket};
use crate::node::{Ctx, Node, NodeId};
use anthill_protocol::member::{Address, MemberRecord, Transport};
use anthill_protocol::peer::testing::Keyring;
use anthill_protocol::peer::{Keys, PeerKey};
use anthill_protocol::placement::Key;
use anthill_protocol::time::Instant;
use anthill_protocol::view::{
    Change, Config, Description, Effect, Incarnation, Input, Message, Start, State, Status, Stored,
    Ticket as Write, View,
};
use anthill_protocol::wire::{decode, encode};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

/// Under which name the number of the machine's key is on the disk.
const KEY: &[u8] = b"key";
/// How often machines that might know somebody are tried.
const LOOKING: Duration = Duration::from_secs(5);

/// With what a process is started.
pub struct Boot {
    /// What is wrong with it.
    pub variant: Variant,
    /// The machine.
    pub id: NodeId,
    /// Machines that there were when it came for the first time: one of them is asked who is there.
    pub others: u32,
    /// Machines that there have been until now: who finds nobody asks all of these.
    pub ever: u32,
    /// It founds the swarm.
    pub founds: bool,
}

/// What others can see.
pub enum Event {
    /// It holds a member for down.
    Down(PeerKey),
    /// A member is in its view, by this record.
    Sees(PeerKey, Incarnation),
    /// A member is in its view no more.
    Gone(PeerKey),
    /// It is in the primary component, or not any more.
    Primary(bool),
    /// It has found that another speaks with its key.
    Twin,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Down(peer) => write!(f, "holds {peer} for down"),
            Event::Sees(peer, i) => write!(f, "sees {peer} at {}.{}", i.generation, i.sequence),
            Event::Gone(peer) => write!(f, "knows that {peer} is gone"),
            Event::Primary(is) => write!(f, "primary: {is}"),
            Event::Twin => write!(f, "has a twin"),
        }
    }
}

/// One process.
pub struct Member {
    variant: Variant,
    number: u64,
    state: State<Keyring>,
    others: u32,
    ever: u32,
    me: NodeId,
    dice: Dice,
    /// With whom a stream is open, and where.
    open: BTreeMap<PeerKey, NodeId>,
    writes: BTreeMap<Ticket, Write>,
    key_written: bool,
    look_at: Instant,
    /// Which machine was tried last.
    tried: u32,
    view: Arc<View>,
    stopped: bool,
    left: bool,
}

fn address(of: NodeId) -> Address {
    let [_, a, b, c] = of.0.to_be_bytes();
    Address::Direct { ip: IpAddr::V4(Ipv4Addr::new(10, a, b, c)), port: 4_000, transport: Transport::Tcp }
}

fn node_at(record: &MemberRecord) -> Option<NodeId> {
    match record.addresses.first()? {
        Address::Direct { ip: IpAddr::V4(v4), .. } => {
            let [_, a, b, c] = v4.octets();
            Some(NodeId(u32::from_be_bytes([0, a, b, c])))
        }
        _ => None,
    }
}

impl Member {
    /// Its name.
    pub fn key(&self) -> PeerKey {
        Keyring::numbered(self.number).own()
    }

    /// Its view.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whether it takes part, that is, has neither left nor found a twin.
    pub fn takes_part(&self) -> bool {
        self.state.takes_part()
    }

    /// What it last said of itself.
    pub fn incarnation(&self) -> Incarnation {
        Incarnation::of(self.state.own())
    }

    /// The settled view.
    pub fn electors(&self) -> Option<&[PeerKey]> {
        Some(&self.state.electors()?.members)
    }

    /// What it was ready to settle on.
    pub fn attempts(&self) -> impl Iterator<Item = &[PeerKey]> {
        self.state.attempts().map(|attempt| attempt.members.as_slice())
    }

    /// Whether others may have settled on something that it does not know, and nobody of these does.
    pub fn misses_what_none_knows<'a>(&self, these: impl Iterator<Item = &'a Member> + Clone) -> bool {
        let missing = self.state.missing();
        missing.into_iter().any(|digest| !these.clone().any(|one| one.state.knows_of(digest)))
    }

    /// Whether it acts as a part of the primary component, as who grants leases does.
    pub fn primary(&self) -> bool {
        if self.variant != Variant::HalfIsPrimary {
            return self.view.primary() && !self.view.in_doubt();
        }
        let live = |of: &[PeerKey]| of.iter().filter(|peer| self.view.is_live(peer)).count();
        self.view.settled() && self.electors().is_some_and(|of| 2 * live(of) >= of.len())
    }

    fn tell(&mut self, ctx: &mut Ctx<'_, Event>, input: Input) {
        let mut out = Vec::new();
        self.state.handle(ctx.now(), input, &mut out);
        for effect in out {
            match effect {
                Effect::Send(peer, message) => self.send(ctx, peer, &message),
                Effect::Persist(ticket, changes) => {
                    let batch = changes.into_iter().map(|change| match change {
                        Change::Put(stored) => (stored.key().bytes(), Some(encode(&*stored))),
                        Change::Forget(key) => (key.bytes(), None),
                    });
                    let mut batch: Vec<_> = batch.collect();
                    if self.variant == Variant::ReservesOnce && self.view.members().count() > 1 {
                        batch.retain(|(key, _)| key != b"o");
                    }
                    if !self.key_written {
                        batch.push((KEY.to_vec(), Some(self.number.to_le_bytes().to_vec())));
                    }
                    let written = ctx.write(batch, true);
                    self.writes.insert(written, ticket);
                }
                Effect::Changed => self.changed(ctx),
                Effect::Twin(_) => {
                    self.stopped = true;
                    ctx.log(Event::Twin);
                }
                Effect::Left => self.left = true,
                Effect::Refused(error) => panic!("{error}"),
                // Nobody lies here: whoever is accused is so by a mistake of ours.
                Effect::Misbehaved(peer, fault) => panic!("{peer} is said to have sent {fault}"),
            }
        }
    }

    fn send(&mut self, ctx: &mut Ctx<'_, Event>, peer: PeerKey, message: &Message) {
        let known = || node_at(&self.state.view().member(&peer)?.record);
        let Some(to) = self.open.get(&peer).copied().or_else(known) else { return };
        if to != self.me {
            ctx.send(to, message.kind(), [self.key().0.as_slice(), &message.encode()].concat());
        }
    }

    fn changed(&mut self, ctx: &mut Ctx<'_, Event>) {
        let (before, view) = (std::mem::replace(&mut self.view, self.state.view()), self.state.view());
        for (peer, seen) in view.members() {
            let was = before.member(peer);
            let incarnation = Incarnation::of(&seen.record);
            if was.is_none_or(|was| Incarnation::of(&was.record) != incarnation) {
                ctx.log(Event::Sees(*peer, incarnation));
            }
            if seen.status == Status::Down && was.is_none_or(|was| was.status != Status::Down) {
                ctx.log(Event::Down(*peer));
            }
        }
        for (peer, _) in before.members().filter(|(peer, _)| view.member(peer).is_none()) {
            ctx.log(Event::Gone(*peer));
        }
        if before.primary() != view.primary() {
            ctx.log(Event::Primary(view.primary()));
        }
    }

    /// Machines are tried at which somebody may be, as the DHT would: often as long as nobody else is there.
    fn look(&mut self, ctx: &mut Ctx<'_, Event>) {
        let view = self.state.view();
        let live = view.members().filter(|(peer, _)| view.is_live(peer)).count();
        let knows = live > 1 && self.state.electors().is_some();
        self.look_at = ctx.now() + if knows { LOOKING * 3 } else { LOOKING };
        let others = if knows { self.others } else { self.ever };
        for _ in 0..others.min(if knows { 1 } else { 3 }) {
            let draw = u32::try_from(self.dice.below(u64::from(others))).unwrap_or(0);
            // Of many that are gone, whoever is there is found some time.
            self.tried = if knows { draw } else { (self.tried + 1) % others };
            let to = NodeId(self.tried);
            if to != self.me {
                ctx.send(to, "hello", self.key().0.to_vec());
            }
        }
    }
}

impl Node for Member {
    type Boot = Boot;
    type Event = Event;

    fn boot(boot: Boot, disk: &Disk, now: Instant, seed: u64) -> Member {
        let kept = disk.get(KEY).and_then(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?)));
        let number = kept.unwrap_or(u64::from(boot.id.0));
        let keys = Keyring::numbered(number);
        let stored = disk.range(b"").filter(|(key, _)| *key != KEY);
        let mut stored: Vec<Stored> =
            stored.map(|(_, bytes)| decode(bytes).expect("what was written")).collect();
        let addresses = vec![address(boot.id)];
        let description = Description { addresses, dialable: true, tokens: 64, leaving: false };
        if boot.variant == Variant::OneGeneration && kept.is_none() {
            let record = MemberRecord::first(keys.own(), Vec::new(), false, 64, now);
            stored.push(Stored::Own { record, reserved: 0 });
        }
        let mut config = Config::of(Key::of_swarm("simulated"));
        if boot.variant == Variant::BelievesAnybody {
            (config.witnesses, config.least_for_witnesses) = (1, 1);
        }
        let rng = ChaCha8Rng::seed_from_u64(seed);
        let start = Start { description, expects_others: !boot.founds, stored };
        let state = State::new(config, keys, rng, now, start).expect("a description that is right");
        Member {
            variant: boot.variant,
            number,
            view: state.view(),
            state,
            others: boot.others,
            ever: boot.ever,
            me: boot.id,
            dice: Dice::new(seed, "member"),
            open: BTreeMap::new(),
            writes: BTreeMap::new(),
            key_written: kept.is_some(),
            look_at: now,
            tried: 0,
            stopped: false,
            left: false,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let state = self.state.deadline().map(|(at, _)| at)?;
        Some(state.min(self.look_at))
    }

    fn label(&self) -> &'static str {
        match (self.stopped || self.left, self.view.settled(), self.view.primary()) {
            (true, ..) => "stopped",
            (_, false, _) => "settling",
            (_, _, false) => "settled",
            (_, _, true) => "primary",
        }
    }

    fn tick(&mut self, ctx: &mut Ctx<'_, Event>) {
        if self.look_at <= ctx.now() {
            self.look(ctx);
        }
        self.tell(ctx, Input::Tick);
    }

    fn message(&mut self, ctx: &mut Ctx<'_, Event>, from: NodeId, bytes: &[u8]) {
        let Some((key, bytes)) = bytes.split_first_chunk::<32>() else { return };
        let peer = PeerKey(*key);
        if !self.state.takes_part() || peer == self.key() {
            return;
        }
        if self.open.insert(peer, from) != Some(from) {
            self.tell(ctx, Input::PeerUp(peer));
        }
        match Message::decode(bytes) {
            Ok(message) => self.tell(ctx, Input::Received(peer, message)),
            // The first word on a stream only opens it.
            Err(_) => assert!(bytes.is_empty(), "a message that is not understood"),
        }
    }

    fn completed(&mut self, ctx: &mut Ctx<'_, Event>, ticket: Ticket, result: Result<(), DiskFull>) {
        let Some(write) = self.writes.remove(&ticket) else { return };
        self.key_written |= result.is_ok();
        self.tell(ctx, if result.is_ok() { Input::Persisted(write) } else { Input::NotPersisted(write) });
    }

    fn broken(&mut self, ctx: &mut Ctx<'_, Event>, with: NodeId) {
        let broken: Vec<PeerKey> = self.open.iter().filter(|(_, at)| **at == with).map(|(p, _)| *p).collect();
        for peer in broken {
            self.open.remove(&peer);
            self.tell(ctx, Input::PeerDown(peer));
        }
    }

    fn leave(&mut self, ctx: &mut Ctx<'_, Event>) {
        self.tell(ctx, Input::Leave);
    }

    fn left(&self) -> bool {
        self.left || self.stopped
    }
}
