//! The steward's side: the addresses of the slots that this peer holds.

use super::address::AddressKey;
use super::front::{Asked, Front, Limits, Turn};
use super::io::{Config, Effect, stretched};
use super::message::{Ask, Grant, Moved, Release};
use super::outgoing::Outgoing;
use crate::claim::Token;
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::time::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A lease that is wanted is asked for this often.
const NEED: Duration = Duration::from_secs(20);
/// How long after the last window of another peer a restart need not expect any.
const UNSHARED: Duration = Duration::from_secs(600);

/// The steward's side.
#[derive(Debug)]
pub(super) struct Office {
    config: Config,
    own: PeerKey,
    fronts: BTreeMap<AddressKey, Front>,
    /// The same by slot.
    by_slot: BTreeSet<(Slot, AddressKey)>,
    timers: BTreeSet<(Instant, AddressKey)>,
    leases: BTreeMap<Slot, Lease>,
    /// Slots that are handed over, with the token that is given up, and whether that was answered.
    draining: BTreeMap<Slot, (Token, bool)>,
    needed: BTreeMap<Slot, Instant>,
    /// Wishes in line, by peer and in sum.
    asks: BTreeMap<PeerKey, usize>,
    all: usize,
    /// Windows granted by an earlier process have ended by then.
    quarantine: Instant,
    /// Whether that was noticed.
    is_over: bool,
    shared: Shared,
    next_ticket: u64,
}

/// A slot that is held.
#[derive(Debug)]
struct Lease {
    token: Token,
    since: Instant,
    until: Instant,
}

/// Whether the disk says that other peers may have windows from here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shared {
    No,
    Writing(u64),
    /// The last time one was granted.
    Yes(Instant),
}

impl Office {
    pub(super) fn new(config: Config, own: PeerKey, now: Instant, shared: bool) -> Office {
        let quarantine = if shared { now + stretched(config.window) } else { Instant::ZERO };
        Office {
            config,
            own,
            fronts: BTreeMap::new(),
            by_slot: BTreeSet::new(),
            timers: BTreeSet::new(),
            leases: BTreeMap::new(),
            draining: BTreeMap::new(),
            needed: BTreeMap::new(),
            asks: BTreeMap::new(),
            all: 0,
            quarantine,
            is_over: !shared,
            shared: if shared { Shared::Yes(now) } else { Shared::No },
            next_ticket: 0,
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let turn = self.timers.first().map(|(at, _)| *at);
        // There may be thousands: they are gone through in quarantine only.
        let waits = !self.is_over && self.draining.values().any(|(_, answered)| !answered);
        turn.into_iter().chain(waits.then_some(self.quarantine)).min()
    }

    /// A lease was got or renewed.
    pub(super) fn lease(
        &mut self,
        now: Instant,
        slot: Slot,
        token: Token,
        until: Instant,
        send: &mut Outgoing,
    ) {
        let known = self.leases.entry(slot).or_insert(Lease { token, since: now, until });
        if known.token != token {
            // Another may have held in between.
            *known = Lease { token, since: now, until };
        }
        known.until = until;
        if self.draining.get(&slot).is_some_and(|(given_up, _)| *given_up != token) {
            self.draining.remove(&slot);
        }
        self.look_at(now, slot, send);
    }

    /// No more windows of this slot under this token.
    pub(super) fn drain(&mut self, now: Instant, slot: Slot, token: Token, send: &mut Outgoing) {
        self.draining.insert(slot, (token, false));
        self.look_at(now, slot, send);
        self.drained(now, slot, send);
    }

    /// The slot stays here: windows are granted again.
    pub(super) fn resume(&mut self, now: Instant, slot: Slot, send: &mut Outgoing) {
        self.draining.remove(&slot);
        self.look_at(now, slot, send);
    }

    /// Nothing is granted there any more; windows that are open are had until they end.
    pub(super) fn lost(&mut self, slot: Slot) {
        self.leases.remove(&slot);
        self.draining.remove(&slot);
    }

    /// Somebody else holds a slot: who waits is told so.
    pub(super) fn moved(
        &mut self,
        now: Instant,
        slot: Slot,
        holder: Option<(PeerKey, Token)>,
        send: &mut Outgoing,
    ) {
        if self.is_leased(now, slot) || holder.is_none_or(|(peer, _)| peer == self.own) {
            return;
        }
        let mut peers = BTreeSet::new();
        for address in self.of_slot(slot) {
            let left: Vec<PeerKey> =
                self.fronts.get_mut(&address).map(|front| front.dismiss().collect()).unwrap_or_default();
            left.iter().for_each(|peer| self.left(peer));
            peers.extend(left);
        }
        peers.into_iter().for_each(|peer| send.moved(peer, Moved { slot, holder }));
    }

    /// Wishes come. `holder` says who holds a slot, as far as is known.
    pub(super) fn ask(
        &mut self,
        now: Instant,
        from: PeerKey,
        asks: Vec<Ask>,
        holder: impl Fn(Slot) -> Option<(PeerKey, Token)>,
        send: &mut Outgoing,
    ) {
        let mut elsewhere = BTreeSet::new();
        for ask in asks {
            let slot = ask.address.slot();
            let other = holder(slot).filter(|(peer, _)| *peer != self.own);
            if !self.is_leased(now, slot) && other.is_some() {
                if elsewhere.insert(slot) {
                    send.moved(from, Moved { slot, holder: other });
                }
                continue;
            }
            self.need(now, slot, send);
            if from != self.own && self.shared == Shared::No {
                self.share(true, send);
            }
            if self.put_in_line(now, from, &ask) {
                self.look(now, ask.address, send);
            }
        }
    }

    /// Puts a wish in line; false if the line is full, then it is said again later.
    fn put_in_line(&mut self, now: Instant, from: PeerKey, ask: &Ask) -> bool {
        let own = self.asks.get(&from).copied().unwrap_or(0);
        let is_full = own >= self.config.asks_each || self.all >= self.config.asks_all;
        let known = self.fronts.contains_key(&ask.address);
        if is_full && !known {
            return false;
        }
        let delay = Duration::from_millis(ask.delay_ms.into()).min(self.config.max_delay);
        let asked = Asked { peer: from, id: ask.id, at: now, delay, wanted: ask.wanted };
        self.by_slot.insert((ask.address.slot(), ask.address));
        if self.fronts.entry(ask.address).or_default().ask(asked) {
            *self.asks.entry(from).or_default() += 1;
            self.all += 1;
        }
        true
    }

    pub(super) fn release(
        &mut self,
        now: Instant,
        from: PeerKey,
        releases: Vec<Release>,
        send: &mut Outgoing,
    ) {
        for Release { address, id } in releases {
            let Some(front) = self.fronts.get_mut(&address) else { continue };
            if front.release(now, from, id) {
                self.left(&from);
            }
            self.look(now, address, send);
        }
    }

    /// A peer is not there: it says again what it wants when it is. Its windows go on.
    pub(super) fn peer_down(&mut self, peer: PeerKey) {
        if self.asks.remove(&peer).is_some() {
            for front in self.fronts.values_mut() {
                self.all -= front.forget(|one| one.peer == peer).len();
            }
        }
    }

    pub(super) fn persisted(&mut self, now: Instant, ticket: u64, done: bool, send: &mut Outgoing) {
        if self.shared == Shared::Writing(ticket) {
            self.shared = if done { Shared::Yes(now) } else { Shared::No };
            self.look_at_all(now, send);
        }
    }

    pub(super) fn tick(&mut self, now: Instant, send: &mut Outgoing) {
        if !self.is_over && self.quarantine <= now {
            self.is_over = true;
            self.look_at_all(now, send);
        }
        while let Some(&(at, address)) = self.timers.first()
            && at <= now
        {
            self.timers.pop_first();
            if let Some(front) = self.fronts.get_mut(&address) {
                front.timer = None;
            }
            self.look(now, address, send);
        }
        if let Shared::Yes(last) = self.shared
            && self.asks.keys().all(|peer| *peer == self.own)
            && now.since(last) > UNSHARED
        {
            self.share(false, send);
            self.shared = Shared::No;
        }
    }

    fn share(&mut self, shared: bool, send: &mut Outgoing) {
        self.next_ticket += 1;
        self.shared = Shared::Writing(self.next_ticket);
        send.effects.push(Effect::Persist { shared, ticket: self.next_ticket });
    }

    fn is_leased(&self, now: Instant, slot: Slot) -> bool {
        self.leases.get(&slot).is_some_and(|lease| lease.until > now)
    }

    fn need(&mut self, now: Instant, slot: Slot, send: &mut Outgoing) {
        if self.needed.get(&slot).is_none_or(|last| now.since(*last) >= NEED) {
            self.needed.insert(slot, now);
            send.effects.push(Effect::NeedLease(slot));
        }
    }

    fn of_slot(&self, slot: Slot) -> Vec<AddressKey> {
        let (first, last) = (AddressKey::V4([0; 4]), AddressKey::V6([0xff; 8]));
        self.by_slot.range((slot, first)..=(slot, last)).map(|(_, address)| *address).collect()
    }

    fn left(&mut self, peer: &PeerKey) {
        self.all = self.all.saturating_sub(1);
        if let Some(count) = self.asks.get_mut(peer) {
            *count -= 1;
            if *count == 0 {
                self.asks.remove(peer);
            }
        }
    }

    fn look_at_all(&mut self, now: Instant, send: &mut Outgoing) {
        let slots: BTreeSet<Slot> = self.leases.keys().chain(self.draining.keys()).copied().collect();
        for slot in slots {
            self.look_at(now, slot, send);
            self.drained(now, slot, send);
        }
    }

    fn look_at(&mut self, now: Instant, slot: Slot, send: &mut Outgoing) {
        self.of_slot(slot).into_iter().for_each(|address| self.look(now, address, send));
    }

    /// Lets the turn at an address go on, if it can, and sets its timer. Whoever looks may be the first to see that the last window of
    /// a slot that is handed over has ended.
    fn look(&mut self, now: Instant, address: AddressKey, send: &mut Outgoing) {
        let slot = address.slot();
        let (config, forget) = (&self.config, self.config.forget);
        let Some(front) = self.fronts.get_mut(&address) else { return };
        let gone = front.forget(|one| now.since(one.at) >= forget);
        let lease =
            self.leases.get(&slot).filter(|lease| lease.until > now && !self.draining.contains_key(&slot));
        let own_only = (!matches!(self.shared, Shared::Yes(_))).then_some(self.own);
        let turn = lease.map_or(Turn::Nobody, |lease| {
            let base = lease.since.max(self.quarantine);
            front.turn(now, config, &Limits { base, lease: lease.until, own_only })
        });
        let mut at = match self.draining.contains_key(&slot) {
            true => front.open_until(now).or(front.done_at()),
            false => front.done_at(),
        };
        match turn {
            Turn::Nobody => {}
            Turn::At(starts) => at = Some(starts),
            Turn::Now { peer, id, waited, length } => {
                send.grant(peer, Grant { address, id, waited_us: micros(waited), length_us: micros(length) });
                if peer != self.own {
                    self.shared = Shared::Yes(now);
                }
                at = front.open_until(now);
            }
        }
        if front.waits() {
            at = Some(at.map_or(now + forget, |at| at.min(now + forget)));
        }
        let at = at.filter(|at| *at > now);
        if let Some(before) = front.timer {
            self.timers.remove(&(before, address));
        }
        front.timer = at;
        self.timers.extend(at.map(|at| (at, address)));
        if front.is_done(now) {
            if let Some(at) = front.timer {
                self.timers.remove(&(at, address));
            }
            self.fronts.remove(&address);
            self.by_slot.remove(&(slot, address));
        }
        if let Turn::Now { peer, .. } = turn {
            self.left(&peer);
        }
        gone.iter().for_each(|peer| self.left(peer));
        if self.fronts.get(&address).is_some_and(Front::waits) {
            self.need(now, slot, send);
        }
        self.drained(now, slot, send);
    }

    /// Says so when the last window of a slot that is handed over has ended.
    fn drained(&mut self, now: Instant, slot: Slot, send: &mut Outgoing) {
        if !self.draining.contains_key(&slot) {
            return;
        }
        let open =
            |address: &AddressKey| self.fronts.get(address).is_some_and(|f| f.open_until(now).is_some());
        let is_over = self.quarantine <= now && !self.of_slot(slot).iter().any(open);
        let draining = self.draining.get_mut(&slot).filter(|(_, answered)| is_over && !answered);
        if let Some((token, answered)) = draining {
            *answered = true;
            send.effects.push(Effect::Drained(slot, *token));
        }
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
