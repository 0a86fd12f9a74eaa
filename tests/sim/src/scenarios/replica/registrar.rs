//! Who holds what, as one that knows everything a little late would have it: the fixture in place of claims.
//!
//! It keeps what claims promise and nothing more: tokens rise; a new claim is given after so many of each set that may matter have
//! promised that every majority is met; whoever lost its disk is not taken for who it was; a set that took another's place stands alone
//! only when its holder has something durable in it.

use super::words::{Told, Word, slots};
use crate::dice::{Dice, MILLION};
use crate::node::{Ctx, NodeId};
use anthill_protocol::claim::{Claim, Token};
use anthill_protocol::key::Slot;
use anthill_protocol::member::MemberRecord;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::replica::Position;
use anthill_protocol::time::Instant;
use anthill_protocol::view::{Seen, Status, View};
use anthill_protocol::wire::{decode, encode};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// How often peers are told everything again.
const ROUND: Duration = Duration::from_secs(1);
/// A peer that said nothing for so long is taken for gone.
const SILENCE: Duration = Duration::from_secs(8);
/// A peer that is silent for so long when faults have stopped does not come back.
const GONE: Duration = Duration::from_secs(20);
/// How long a change may take before it is tried another way.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long holders write when sets have become what they should be.
const WRITTEN: Duration = Duration::from_secs(70);
/// How many keep a slot.
pub(super) const REPLICAS: usize = 3;

/// A set, and the disks of its members when they came into it.
type Set = BTreeMap<PeerKey, u64>;

#[derive(Debug)]
struct Seat {
    claim: Claim,
    from: Option<(PeerKey, Position)>,
    /// The set, before it those that may still have what it lacks.
    sets: Vec<Set>,
    caught_up: bool,
    settled: bool,
    learners: BTreeSet<PeerKey>,
    whole: BTreeSet<PeerKey>,
    /// A change under way.
    next: Option<Next>,
    act_at: Instant,
    /// The highest counter that was ever tried.
    tried: u64,
}

#[derive(Debug)]
struct Next {
    token: Token,
    set: BTreeSet<PeerKey>,
    promised: BTreeMap<PeerKey, (u64, Option<Position>)>,
    until: Instant,
}

/// The fixture.
pub struct Registrar {
    dice: Dice,
    seen: BTreeMap<PeerKey, (NodeId, u64, Instant)>,
    seats: BTreeMap<Slot, Seat>,
    next: Instant,
    /// When sets are to be what placement says, from then on.
    settle_at: Instant,
}

/// The view of these members, all alive.
pub(super) fn view_of(members: impl IntoIterator<Item = PeerKey>) -> View {
    let seen = |peer| {
        let record = MemberRecord::first(peer, Vec::new(), true, 64, Instant::ZERO);
        (peer, Seen { record: Arc::new(record), status: Status::Alive })
    };
    View::of(members.into_iter().map(seen).collect(), true, true)
}

impl Registrar {
    pub(super) fn new(now: Instant, seed: u64, settle_after: Duration) -> Registrar {
        let dice = Dice::new(seed, "registrar");
        let settle_at = now + settle_after;
        Registrar { dice, seen: BTreeMap::new(), seats: BTreeMap::new(), next: now + ROUND, settle_at }
    }

    /// The claims as they are.
    pub(super) fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.seats.values().map(|seat| &seat.claim)
    }

    /// All that is known of a slot.
    pub(super) fn text(&self, slot: Slot) -> String {
        format!("{:?}", self.seats.get(&slot))
    }

    pub(super) fn deadline(&self) -> Instant {
        self.next
    }

    fn live(&self, now: Instant) -> Vec<PeerKey> {
        let there = self.seen.iter().filter(|(_, (.., at))| now.since(*at) < SILENCE);
        there.map(|(peer, _)| *peer).collect()
    }

    fn generation(&self, peer: &PeerKey) -> u64 {
        self.seen.get(peer).map_or(0, |(_, generation, _)| *generation)
    }

    /// The disk of each peer. When faults have stopped, who is silent is gone with its disk.
    fn generations(&self, now: Instant) -> BTreeMap<PeerKey, u64> {
        let gone = |at: &Instant| now > self.settle_at + GONE && now.since(*at) > GONE;
        let disk = |(peer, (_, generation, at)): (&PeerKey, &(NodeId, u64, Instant))| {
            (*peer, if gone(at) { 0 } else { *generation })
        };
        self.seen.iter().map(disk).collect()
    }

    pub(super) fn tick<E>(&mut self, ctx: &mut Ctx<'_, E>) {
        let now = ctx.now();
        if now < self.next {
            return;
        }
        self.next = now + ROUND;
        let live = self.live(now);
        for slot in slots() {
            self.act(now, slot, &live);
        }
        self.tell(ctx, &live);
    }

    fn tell<E>(&mut self, ctx: &mut Ctx<'_, E>, live: &[PeerKey]) {
        let now = ctx.now();
        let generations = self.generations(now);
        let writes = now < self.settle_at + WRITTEN;
        for (peer, (node, disk, _)) in &self.seen {
            // Who lost its disk is not who held.
            let holds = |seat: &&Seat| seat.claim.holder != *peer || seat.is_sound(peer, &generations);
            let told = self.seats.values().filter(holds).map(Seat::told).collect();
            say(ctx, *node, &Word::Members(live.to_vec(), writes));
            say(ctx, *node, &Word::Claims(told, *disk));
        }
        for (slot, seat) in &self.seats {
            let Some(next) = &seat.next else { continue };
            let asked = seat.sets.iter().flat_map(BTreeMap::keys).chain(&next.set);
            for peer in asked.collect::<BTreeSet<_>>() {
                if let Some((node, ..)) = self.seen.get(peer).filter(|_| !next.promised.contains_key(peer)) {
                    say(ctx, *node, &Word::Prepare { slot: *slot, token: next.token });
                }
            }
        }
    }

    /// Begins a change, or goes on with one.
    fn act(&mut self, now: Instant, slot: Slot, live: &[PeerKey]) {
        let settling = now >= self.settle_at;
        if live.is_empty() {
            return;
        }
        if !self.seats.contains_key(&slot) {
            let Some(&holder) = self.dice.pick(live) else { return };
            let token = Token { counter: 1, minter: holder };
            let claim = Claim { slot, token, holder, set: vec![holder] };
            let sets = vec![Set::from([(holder, self.generation(&holder))])];
            self.seats.insert(slot, Seat::new(claim, None, sets, now));
        }
        let view = view_of(live.iter().copied());
        let owners = view.owners(slot, REPLICAS);
        let mut target: BTreeSet<PeerKey> = owners.as_slice().iter().copied().collect();
        if !settling && self.dice.chance(MILLION / 3) {
            let size = self.dice.between(2, 4) as usize;
            let mut some = live.to_vec();
            self.dice.shuffle(&mut some);
            target = some.into_iter().take(size).collect();
        }
        let wait = self.dice.span(Duration::from_secs(2), Duration::from_secs(15));
        let takes = self.dice.chance(MILLION / 2);
        let other = self.dice.pick(live).copied();
        let generations = self.generations(now);
        let Some(seat) = self.seats.get_mut(&slot) else { return };
        let holder_there =
            live.contains(&seat.claim.holder) && seat.is_sound(&seat.claim.holder, &generations);
        if let Some(next) = &seat.next {
            if now >= next.until {
                seat.next = None;
                seat.act_at = now;
            } else {
                return seat.decide(now, &generations);
            }
        }
        if now < seat.act_at {
            return;
        }
        let sound: BTreeSet<PeerKey> =
            seat.claim.set.iter().copied().filter(|p| seat.is_sound(p, &generations)).collect();
        let live_sound = sound.iter().copied().find(|peer| live.contains(peer));
        // The holder is gone, or its disk; or it does not get anywhere: one of the set takes over.
        // So it is when some have promised a higher token that nobody came to hold by.
        let stuck = !seat.caught_up && now >= seat.act_at + PATIENCE || seat.tried > seat.claim.token.counter;
        if !holder_there || stuck {
            let heir = other.filter(|peer| sound.contains(peer) && !settling).or(live_sound);
            let lost = sound.is_empty();
            if let Some(heir) = heir.or(if lost { other } else { None }) {
                let set = if lost { [heir].into() } else { seat.claim.set.iter().copied().collect() };
                seat.prepare(now, heir, set);
            }
            return;
        }
        if !seat.caught_up {
            return;
        }
        let set: BTreeSet<PeerKey> = seat.claim.set.iter().copied().collect();
        let changed = target != set || sound.len() < set.len();
        if changed && seat.learners.is_empty() {
            seat.learners = target.iter().copied().filter(|p| !sound.contains(p)).collect();
        }
        seat.learners.retain(|peer| live.contains(peer));
        if settling {
            seat.learners.retain(|peer| target.contains(peer) && !sound.contains(peer));
        }
        let ready = seat.learners.iter().all(|peer| seat.whole.contains(peer));
        // A set that has lost its majority never settles: it gets another as it is.
        let there = sound.iter().filter(|peer| live.contains(peer)).count();
        if changed && ready && (seat.settled || there < seat.claim.majority()) {
            let mut set: BTreeSet<PeerKey> = seat.learners.iter().copied().collect();
            set.extend(target.iter().copied().filter(|peer| sound.contains(peer)));
            set.insert(seat.claim.holder);
            let holder = seat.claim.holder;
            // Who holds and should not is given a place until another holds.
            let heir = if target.contains(&holder) {
                holder
            } else {
                other.filter(|p| sound.contains(p) && target.contains(p)).unwrap_or(holder)
            };
            if heir != holder || settling {
                set.retain(|peer| target.contains(peer) || *peer == heir);
            }
            // Nobody would leave a slot to one alone who could lose its disk next.
            if set.len() > 1 || settling {
                seat.prepare(now, heir, set);
            }
        } else if !settling && !changed && takes && seat.settled {
            let heir = other.filter(|peer| sound.contains(peer)).unwrap_or(seat.claim.holder);
            seat.prepare(now, heir, set);
        } else if settling && !set.is_subset(&target) && target.is_subset(&sound) {
            let heir = target.iter().copied().find(|peer| live.contains(peer)).unwrap_or(seat.claim.holder);
            seat.prepare(now, heir, target);
        }
        if seat.next.is_none() && !settling {
            seat.act_at = now + wait.min(Duration::from_secs(5));
        }
    }

    pub(super) fn message<E>(&mut self, ctx: &mut Ctx<'_, E>, from: NodeId, bytes: &[u8]) {
        let Ok(word) = decode::<Word>(bytes) else { return };
        let (now, key) = (ctx.now(), super::words::peer(from));
        match word {
            Word::Here { generation } => {
                self.seen.insert(key, (from, generation, now));
            }
            Word::Promised { slot, token, generation, position } => {
                let live = self.live(now);
                let Some(seat) = self.seats.get_mut(&slot) else { return };
                if let Some(next) = seat.next.as_mut().filter(|next| next.token == token) {
                    next.promised.insert(key, (generation, position));
                    self.act(now, slot, &live);
                }
            }
            Word::CaughtUp { slot, token } => {
                if let Some(seat) = self.seats.get_mut(&slot).filter(|seat| seat.claim.token == token) {
                    seat.caught_up = true;
                }
            }
            Word::Durable { slot, token } => {
                if let Some(seat) = self.seats.get_mut(&slot).filter(|seat| seat.claim.token == token) {
                    seat.settled = true;
                    let last = seat.sets.pop();
                    seat.sets = last.into_iter().collect();
                }
            }
            Word::Whole { slot, token, peer } => {
                if let Some(seat) = self.seats.get_mut(&slot).filter(|seat| seat.claim.token == token) {
                    seat.whole.insert(peer);
                }
            }
            _ => {}
        }
    }
}

impl Seat {
    fn new(claim: Claim, from: Option<(PeerKey, Position)>, sets: Vec<Set>, now: Instant) -> Seat {
        Seat {
            claim,
            from,
            sets,
            caught_up: false,
            settled: false,
            learners: BTreeSet::new(),
            whole: BTreeSet::new(),
            next: None,
            act_at: now,
            tried: 0,
        }
    }

    fn told(&self) -> Told {
        let learners = self.learners.iter().copied().collect();
        Told { claim: self.claim.clone(), from: self.from, learners, settled: self.settled }
    }

    /// Whether a member of the set has the disk with which it came into it.
    fn is_sound(&self, peer: &PeerKey, generations: &BTreeMap<PeerKey, u64>) -> bool {
        self.sets.last().is_some_and(|set| set.get(peer).is_some() && set.get(peer) == generations.get(peer))
    }

    fn prepare(&mut self, now: Instant, holder: PeerKey, set: BTreeSet<PeerKey>) {
        let before = self.next.as_ref().map_or(self.claim.token.counter, |next| next.token.counter);
        let token = Token { counter: before.max(self.highest()) + 1, minter: holder };
        self.tried = token.counter;
        self.next = Some(Next { token, set, promised: BTreeMap::new(), until: now + PATIENCE });
        self.act_at = now;
    }

    fn highest(&self) -> u64 {
        self.tried.max(self.claim.token.counter)
    }

    /// Gives the new claim if enough have promised: of every set that may matter so many that every majority is met.
    fn decide(&mut self, now: Instant, generations: &BTreeMap<PeerKey, u64>) {
        let Some(next) = &self.next else { return };
        let promised = |set: &Set| {
            set.iter().filter(|(peer, disk)| next.promised.get(peer).is_some_and(|(g, _)| g == *disk)).count()
        };
        let lost =
            |set: &Set| set.iter().all(|(peer, disk)| generations.get(peer).is_some_and(|g| g != disk));
        let enough = |set: &Set| promised(set) + set.len() / 2 >= set.len() && promised(set) > 0 || lost(set);
        let holder = next.token.minter;
        if !self.sets.iter().all(enough) || !next.promised.contains_key(&holder) {
            return;
        }
        let best = self.sets.iter().flat_map(|set| set.iter()).filter_map(|(peer, disk)| {
            let (generation, position) = next.promised.get(peer)?;
            Some((position.filter(|_| generation == disk)?, *peer))
        });
        let from = best.max().map(|(position, peer)| (peer, position));
        let mut set: Vec<PeerKey> = next.set.iter().copied().collect();
        if !set.contains(&holder) {
            set.push(holder);
            set.sort_unstable();
        }
        let disks = |peer: &PeerKey| {
            let old = self.sets.last().and_then(|set| set.get(peer));
            let learned = self.whole.contains(peer);
            match old {
                // Who lost its disk and was not made whole since stays who it was: lost.
                Some(disk) if !learned => *disk,
                _ => generations.get(peer).copied().unwrap_or(0),
            }
        };
        let new: Set = set.iter().map(|peer| (*peer, disks(peer))).collect();
        let claim = Claim { slot: self.claim.slot, token: next.token, holder, set };
        let mut sets = std::mem::take(&mut self.sets);
        if sets.last() != Some(&new) {
            sets.push(new);
        }
        let tried = self.highest().max(next.token.counter);
        *self = Seat::new(claim, from, sets, now);
        self.tried = tried;
    }
}

fn say<E>(ctx: &mut Ctx<'_, E>, to: NodeId, word: &Word) {
    ctx.send(to, "claims", encode(word));
}
