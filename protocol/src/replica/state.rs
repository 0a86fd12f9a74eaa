//! One peer's side: what comes in goes to the part of the machine it is for; what goes out is gathered.

use super::copy::{Copy, Follower, Following, Role};
use super::io::{Config, Debt, Effect, Fault, Input, Manifest, Read, ReadId, Reason, Ticket};
use super::item::{Position, Record};
use super::link::{Link, Rate};
use super::message::{FULL_MESSAGE, MAX_PARTS, Message, Part, Why};
use super::serve::{Question, Reading};
use super::session::Purpose;
use crate::claim::{Claim, Token};
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::time::Instant;
use crate::view::View;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// What is to happen at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Timer {
    Flush(PeerKey),
    Follower(Slot, PeerKey),
    CatchUp(Slot),
    Session(Slot, u64),
    Serve,
    Compare,
    Release(Slot),
    Report(Slot),
}

impl Timer {
    fn reason(self) -> Reason {
        match self {
            Timer::Flush(_) => Reason::Gather,
            Timer::Follower(..) | Timer::CatchUp(_) | Timer::Report(_) => Reason::Retry,
            Timer::Session(..) => Reason::Patience,
            Timer::Serve => Reason::Rate,
            Timer::Compare => Reason::Compare,
            Timer::Release(_) => Reason::Release,
        }
    }
}

/// One peer's copies.
#[derive(Debug)]
pub struct State<K> {
    pub(super) config: Config,
    pub(super) keys: K,
    pub(super) rng: ChaCha8Rng,
    pub(super) now: Instant,
    pub(super) out: Vec<Effect>,
    pub(super) copies: BTreeMap<Slot, Box<Copy>>,
    pub(super) links: BTreeMap<PeerKey, Link>,
    pub(super) timers: BTreeSet<(Instant, Timer)>,
    pub(super) view: Option<Arc<View>>,
    pub(super) full: bool,
    /// Bytes that are to be written.
    pub(super) applying: u64,
    pub(super) last_ticket: u64,
    /// Writes under way.
    pub(super) tickets: BTreeMap<Ticket, Slot>,
    pub(super) last_read: u64,
    pub(super) reads: BTreeMap<ReadId, Reading>,
    /// Bytes of changes sent to anybody and not acknowledged.
    pub(super) flight: u64,
    /// Slots whose changes wait for room in a window.
    pub(super) waiting: BTreeSet<(PeerKey, Slot)>,
    pub(super) rate: Rate,
    /// Questions of others.
    pub(super) questions: VecDeque<Question>,
    pub(super) serving: usize,
    /// When questions are looked at again.
    pub(super) serve_at: Option<Instant>,
    /// Sessions to be opened, the most urgent first.
    pub(super) wishes: BTreeMap<(Purpose, Slot), PeerKey>,
    pub(super) sessions: usize,
    /// The slot compared last.
    pub(super) compared: Option<Slot>,
    /// How many copies were whole when they were counted, if none can have become so since, or ceased to be.
    pub(super) kept: Cell<Option<usize>>,
}

impl<K: Keys> State<K> {
    /// A peer with what its disk has: of each copy the record, and the last change of the slot.
    pub fn new(
        config: Config,
        keys: K,
        rng: ChaCha8Rng,
        now: Instant,
        stored: impl IntoIterator<Item = (Record, u64)>,
    ) -> State<K> {
        let copies = stored
            .into_iter()
            .map(|(record, seq)| (record.slot, Box::new(Copy::stored(record, seq))))
            .collect();
        let rate = Rate::new(config.bytes_per_s, now);
        let mut state = State {
            config,
            keys,
            rng,
            now,
            out: Vec::new(),
            copies,
            links: BTreeMap::new(),
            timers: BTreeSet::new(),
            view: None,
            full: false,
            applying: 0,
            last_ticket: 0,
            tickets: BTreeMap::new(),
            last_read: 0,
            reads: BTreeMap::new(),
            flight: 0,
            waiting: BTreeSet::new(),
            rate,
            questions: VecDeque::new(),
            serving: 0,
            serve_at: None,
            wishes: BTreeMap::new(),
            sessions: 0,
            compared: None,
            kept: Cell::new(None),
        };
        let first = state.jitter(state.config.compare_every);
        state.at(first, Timer::Compare);
        state
    }

    /// Something happened.
    pub fn handle(&mut self, now: Instant, input: Input, out: &mut Vec<Effect>) {
        self.now = now;
        if input.may_change_whole() {
            self.kept.set(None);
        }
        match input {
            Input::Tick => self.tick(),
            Input::Received(peer, message) => {
                for part in message.0 {
                    self.received(peer, part);
                }
            }
            Input::PeerUp(peer) => self.peer_up(peer),
            Input::PeerDown(peer) => self.peer_down(peer),
            Input::View(view) => self.see(view),
            Input::Holding(claim, from) => self.hold(claim, from),
            Input::Member(claim) => self.follow(claim, false),
            Input::Learn(claim) => self.follow(claim, true),
            Input::Released(claim) => self.release(claim),
            Input::Fence(slot, token) => {
                self.copy(slot).knows(token);
            }
            Input::Copy(slot, peers) => self.copy_to(slot, peers),
            Input::Wrote(slot, seq) => self.wrote(slot, seq),
            Input::Applied(ticket, seq) => self.applied(ticket, Some(seq)),
            Input::NotApplied(ticket) => self.applied(ticket, None),
            Input::Read(id, answer) => self.read(id, answer),
            Input::Full(full) => self.full = full,
        }
        self.open_sessions();
        out.append(&mut self.out);
    }

    /// When it wants to be called though nothing happens, and why.
    pub fn deadline(&self) -> Option<(Instant, Reason)> {
        self.timers.first().map(|(at, timer)| (*at, timer.reason()))
    }

    /// How far the copy of a slot is on disk: what a promise to a new holder tells, after [`Input::Fence`].
    pub fn position(&self, slot: Slot) -> Option<Position> {
        self.copies.get(&slot)?.at()
    }

    /// Whether all that this peer wrote to slots while it held them has been merged with the copies of later holders. What it holds
    /// now is no matter. Looks at every slot.
    pub fn is_merged(&self) -> bool {
        let merged = |copy: &Copy| match &copy.role {
            Role::Holder(_) => true,
            Role::Released(release) if release.is_offered() => true,
            _ => copy.held.is_none_or(|held| copy.position.is_some_and(|at| at.token > held)),
        };
        self.copies.values().all(|copy| merged(copy))
    }

    /// Whether the members of a slot held here that are `live` have all that is synced here.
    pub fn is_level(&self, slot: Slot, live: impl Fn(&PeerKey) -> bool) -> bool {
        self.copies.get(&slot).is_some_and(|copy| self.is_past(slot, copy.head, live))
    }

    /// Whether they have all up to such a change.
    pub fn is_past(&self, slot: Slot, upto: u64, live: impl Fn(&PeerKey) -> bool) -> bool {
        let Some(copy) = self.copies.get(&slot) else { return false };
        let Role::Holder(held) = &copy.role else { return false };
        let has_all = |f: &Follower| {
            f.state == Following::Streaming && f.lifted && (upto..=copy.head).contains(&f.acked)
        };
        let past = |peer: &PeerKey| held.followers.get(peer).is_some_and(|follower| has_all(follower));
        held.claim.set.iter().all(|peer| *peer == self.keys.own() || !live(peer) || past(peer))
    }

    /// What the copy of a slot is worth to a query.
    pub fn manifest(&self, slot: Slot) -> Option<Manifest> {
        let copy = self.copies.get(&slot)?;
        Some(Manifest {
            position: copy.at(),
            token: copy.claim().map(|claim| claim.token),
            whole: copy.is_whole(),
            documents: copy.digest.map_or(0, |(_, documents, _)| documents),
            root: copy.digest.map(|(_, _, root)| root),
        })
    }

    /// How many slots there are copies of here, whole or not.
    pub fn all(&self) -> usize {
        self.copies.len()
    }

    /// Gives back the memory of copies that are gone: see [`crate::pack`].
    pub fn repack(&mut self) {
        crate::pack::repack(&mut self.copies);
    }

    /// How many slots there are whole copies of here. Looks at every slot if that may have changed: they are thousands, in memory
    /// that a peer at rest does not touch otherwise.
    pub fn kept(&self) -> usize {
        let count = || self.copies.values().filter(|copy| copy.is_whole()).count();
        let kept = self.kept.get().unwrap_or_else(count);
        debug_assert_eq!(kept, count(), "a copy has become whole, or ceased to be, and nobody said so");
        self.kept.set(Some(kept));
        kept
    }

    /// What is known to be missing, here and at members of slots held here. Looks at every slot.
    pub fn debt(&self) -> Debt {
        let mut debt = Debt::default();
        let lives = |peer: &PeerKey| self.view.as_ref().is_none_or(|view| view.is_live(peer));
        for copy in self.copies.values() {
            if let Role::Holder(held) = &copy.role {
                for (peer, follower) in &held.followers {
                    debt.changes += copy.head.saturating_sub(follower.acked);
                    debt.copies += u64::from(!follower.lifted && held.claim.keeps(peer) && lives(peer));
                }
            }
            debt.items += copy.session.as_ref().map_or(0, |session| session.missing());
        }
        debt
    }

    fn tick(&mut self) {
        while let Some((at, timer)) = self.timers.first().copied().filter(|(at, _)| *at <= self.now) {
            self.timers.remove(&(at, timer));
            match timer {
                Timer::Flush(peer) => self.flush(peer),
                Timer::Follower(slot, peer) => self.look_at(slot, peer, at),
                Timer::CatchUp(slot) => self.catch_up(slot),
                Timer::Session(slot, id) => self.impatient(slot, id),
                Timer::Serve => self.serve(),
                Timer::Compare => self.compare(),
                Timer::Release(slot) => self.release_step(slot),
                Timer::Report(slot) => self.report(slot),
            }
        }
    }

    pub(super) fn at(&mut self, after: Duration, timer: Timer) -> Instant {
        let at = self.now + after;
        self.timers.insert((at, timer));
        at
    }

    /// From half of a span to one and a half.
    pub(super) fn jitter(&mut self, span: Duration) -> Duration {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX).max(1);
        Duration::from_micros(micros / 2 + self.rng.next_u64() % micros)
    }

    /// The copy of a slot, an empty one if there is none.
    pub(super) fn copy(&mut self, slot: Slot) -> &mut Copy {
        let rng = &mut self.rng;
        self.copies.entry(slot).or_insert_with(|| Box::new(Copy::new(rng.next_u64())))
    }

    pub(super) fn misbehaved(&mut self, peer: PeerKey, fault: Fault) {
        self.out.push(Effect::Misbehaved(peer, fault));
    }

    pub(super) fn is_up(&self, peer: &PeerKey) -> bool {
        self.links.get(peer).is_some_and(|link| link.up)
    }

    /// Gathers a part for a peer. Parts for who is away are dropped: all is said again when it comes back.
    pub(super) fn send(&mut self, peer: PeerKey, part: Part) {
        let size = part.size();
        let link = self.links.entry(peer).or_default();
        if !link.up {
            return;
        }
        if !link.parts.is_empty() && (link.bytes + size > FULL_MESSAGE || link.parts.len() >= MAX_PARTS) {
            self.flush(peer);
        }
        let link = self.links.entry(peer).or_default();
        link.parts.push(part);
        link.bytes += size;
        if link.bytes >= FULL_MESSAGE {
            self.flush(peer);
        } else if link.flush_at.is_none() {
            let at = self.now + self.config.gather;
            link.flush_at = Some(at);
            self.timers.insert((at, Timer::Flush(peer)));
        }
    }

    fn flush(&mut self, peer: PeerKey) {
        let Some(link) = self.links.get_mut(&peer) else { return };
        link.bytes = 0;
        if let Some(at) = link.flush_at.take() {
            self.timers.remove(&(at, Timer::Flush(peer)));
        }
        let parts = std::mem::take(&mut link.parts);
        if !parts.is_empty() {
            self.out.push(Effect::Send(peer, Message(parts)));
        }
    }

    fn peer_up(&mut self, peer: PeerKey) {
        let link = self.links.entry(peer).or_default();
        if std::mem::replace(&mut link.up, true) {
            return;
        }
        let slots: Vec<Slot> = self.copies.keys().copied().collect();
        for slot in slots {
            self.ask(slot, peer);
        }
    }

    fn peer_down(&mut self, peer: PeerKey) {
        let Some(mut link) = self.links.remove(&peer) else { return };
        if let Some(at) = link.flush_at.take() {
            self.timers.remove(&(at, Timer::Flush(peer)));
        }
        self.flight -= link.flight;
        self.questions.retain(|question| question.peer != peer);
        self.waiting.retain(|(waiting, _)| *waiting != peer);
        let slots: Vec<Slot> = self.copies.keys().copied().collect();
        for slot in slots {
            self.lose(slot, peer);
        }
        self.pump_waiting(peer);
    }

    fn lose(&mut self, slot: Slot, peer: PeerKey) {
        let Some(copy) = self.copies.get_mut(&slot) else { return };
        if let Role::Holder(held) = &mut copy.role
            && let Some(follower) = held.followers.get_mut(&peer)
        {
            follower.flight.clear();
            follower.state = Following::Asked;
        }
        if copy.session.as_ref().is_some_and(|session| session.peer == peer) {
            self.end_session(slot);
        }
    }

    fn received(&mut self, peer: PeerKey, part: Part) {
        let slot = part.slot();
        match part {
            Part::Where { counter, .. } => self.asked_where(peer, slot, Token { counter, minter: peer }),
            Part::Append { counter, log, after, upto, lifts, items, .. } => {
                let token = Token { counter, minter: peer };
                self.appended(peer, slot, token, super::follow::Append { log, after, upto, lifts, items });
            }
            Part::Fetch { counter, .. } => self.told_to_fetch(peer, slot, Token { counter, minter: peer }),
            Part::Root { counter, seq, root, .. } => {
                self.told_root(peer, slot, Token { counter, minter: peer }, seq, root)
            }
            Part::Behind { counter, position, .. } => self.behind(peer, slot, counter, position),
            Part::Acked { counter, upto, lifted, .. } => self.acked(peer, slot, counter, upto, lifted),
            Part::Stale { token, .. } => self.told_stale(peer, slot, token),
            Part::Refused { session: 0, why, .. } => self.refused(peer, slot, why),
            Part::Confirm { goal, placement, .. } => self.asked_to_confirm(peer, slot, goal, placement),
            Part::Confirmed(signed) => self.confirmed(peer, &signed),
            Part::Compare { .. } | Part::List { .. } | Part::Pull { .. } | Part::Want { .. } => {
                self.asked(peer, part)
            }
            Part::Offer { session, items, .. } => self.offered(peer, slot, session, items),
            answer => self.answered(peer, slot, answer),
        }
    }

    pub(super) fn refuse(&mut self, peer: PeerKey, slot: Slot, session: u64, why: Why) {
        self.send(peer, Part::Refused { slot, session, why });
    }

    /// Asks the store.
    pub(super) fn ask_store(&mut self, read: Read, what: Reading) -> ReadId {
        self.last_read += 1;
        let id = ReadId(self.last_read);
        self.reads.insert(id, what);
        self.out.push(Effect::Read(id, read));
        id
    }

    /// The claim by which we are of a slot's set and not its holder.
    pub(super) fn member_of(&self, slot: Slot) -> Option<&Claim> {
        match self.copies.get(&slot).map(|copy| &copy.role) {
            Some(Role::Member { claim, .. }) => Some(claim),
            _ => None,
        }
    }

    /// The next back-off after so many tries in vain.
    pub(super) fn backoff(&mut self, tries: u32) -> Duration {
        let (least, most) = self.config.retry;
        let span = least.saturating_mul(1 << tries.min(10)).min(most);
        self.jitter(span)
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
