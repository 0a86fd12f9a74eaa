//! One peer's side of all claims: what comes in, what waits for the disk, what goes out.

use super::io::{Config, Effect, Input, Reason, Ticket};
use super::message::{Message, Part, Run};
use super::parting::Parting;
use super::place::{Lead, Place};
use super::proof::{Fault, How, Mint, Root};
use super::record::Record;
use super::{Claim, FORCE_JUMP, Token};
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::signed::Signed;
use crate::time::Instant;
use crate::view::View;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Slots looked at in one call; the rest follows at once in the next.
const MAX_AT_ONCE: usize = 4_096;
/// Slots founded together; the next when these are on disk. All at once would need 40 MB more for a moment.
const FOUNDED_AT_ONCE: usize = 1_024;

/// One peer's side of who may fetch.
#[derive(Debug)]
pub struct State<K> {
    pub(super) config: Config,
    pub(super) keys: K,
    pub(super) me: PeerKey,
    rng: ChaCha8Rng,
    pub(super) view: Option<Arc<View>>,
    /// Whether this peer is of the primary component by its view, and since when.
    pub(super) primary: (bool, Instant),
    /// No lease before: another component may have had some.
    pub(super) back_at: Instant,
    /// In boxes: there are thousands, found in order, and a tree keeps room for as many more.
    pub(super) places: BTreeMap<Slot, Box<Place>>,
    /// Who is said to hold what, by whoever says it of itself.
    pub(super) hints: BTreeMap<Slot, Token>,
    agenda: BTreeSet<(Instant, Slot)>,
    pub(super) dirty: BTreeSet<Slot>,
    pub(super) writing: BTreeMap<Ticket, Vec<Slot>>,
    pub(super) next_ticket: u64,
    pub(super) outbox: BTreeMap<PeerKey, Vec<Part>>,
    /// When each round of proposals was sent, for as long as it could count.
    rounds: BTreeMap<u64, Instant>,
    pub(super) next_round: u64,
    pub(super) renewals: BTreeMap<PeerKey, BTreeMap<u64, (Instant, Vec<Run>)>>,
    pub(super) wanted: BTreeSet<Slot>,
    pub(super) renew_at: Option<Instant>,
    pub(super) news: BTreeSet<Slot>,
    pub(super) gossip_at: Option<Instant>,
    pub(super) announce_at: Instant,
    /// Contracts: to whom slots held here are to go, and which stay here.
    pub(super) lent: BTreeMap<Slot, PeerKey>,
    pub(super) stays: BTreeSet<Slot>,
    /// Whom nothing of a slot is granted to, and until when: at most one for each slot.
    pub(super) revoked: BTreeMap<Slot, (PeerKey, Instant)>,
    /// What a peer that leaves has not begun to hand over.
    pub(super) leaving: Option<Parting>,
    pub(super) forced: u64,
    /// How often what is known of who holds what has changed.
    pub(super) revision: u64,
    /// Held by an earlier process of this peer, and not told yet.
    resumed: Vec<Slot>,
    /// What is still to be founded, the last first, and the number of the founding.
    unfounded: (Vec<Slot>, u64),
}

impl<K: Keys> State<K> {
    /// A peer that knows what it wrote down. A `founder` without records claims every slot; nobody else may be one. One that was
    /// stopped meanwhile goes on.
    ///
    /// As a member it grants no successor for a lease: it does not know when it last acknowledged.
    pub fn new(
        config: Config,
        keys: K,
        mut rng: ChaCha8Rng,
        now: Instant,
        founder: bool,
        stored: impl IntoIterator<Item = (Slot, Record)>,
    ) -> State<K> {
        let me = keys.own();
        let mut places = BTreeMap::new();
        for (slot, record) in stored {
            // What was acknowledged last is what was promised last: a promise ends every lease before it.
            let lease = record.promised.map(|last| (last.minter, now + config.kept()));
            let synced = (record.promised, record.token());
            places.insert(slot, Box::new(Place { record, synced, lease, ..Place::default() }));
        }
        let founded = |place: &Place| {
            place.is_own(&me) && place.record.known().is_some_and(|mint| mint.how == How::Founded)
        };
        let founds = founder && places.values().all(|place| founded(place));
        let unfounded = |slot: &&Slot| founds && !places.contains_key(slot);
        let unfounded: Vec<Slot> = config.slots.iter().rev().filter(unfounded).copied().collect();
        let (next_round, number) = (rng.next_u64() >> 1, rng.next_u64());
        let mut state = State {
            announce_at: now + config.announce_every,
            // Without a view nobody is: there is no lease until it comes.
            primary: (false, now - config.lease),
            back_at: now,
            config,
            keys,
            me,
            rng,
            view: None,
            places,
            hints: BTreeMap::new(),
            agenda: BTreeSet::new(),
            dirty: BTreeSet::new(),
            writing: BTreeMap::new(),
            next_ticket: 0,
            outbox: BTreeMap::new(),
            rounds: BTreeMap::new(),
            next_round,
            renewals: BTreeMap::new(),
            wanted: BTreeSet::new(),
            renew_at: None,
            news: BTreeSet::new(),
            gossip_at: None,
            lent: BTreeMap::new(),
            stays: BTreeSet::new(),
            revoked: BTreeMap::new(),
            leaving: None,
            forced: 0,
            revision: 0,
            resumed: Vec::new(),
            unfounded: (unfounded, number),
        };
        let slots: Vec<Slot> = state.places.keys().copied().collect();
        for slot in slots {
            state.resume(now, slot);
        }
        state.found(now);
        state
    }

    /// Founds the next slots, if the last are on disk.
    fn found(&mut self, now: Instant) {
        let (slots, number) = &mut self.unfounded;
        if slots.is_empty() || !self.writing.is_empty() || !self.dirty.is_empty() {
            return;
        }
        let token = Token { counter: 1, minter: self.me };
        let root = Root::of(&token, *number);
        for slot in slots.split_off(slots.len().saturating_sub(FOUNDED_AT_ONCE)) {
            let claim = Claim { slot, token, holder: self.me, set: vec![self.me] };
            self.mint(now, Mint { claim, base: None, root, how: How::Founded });
            self.plan(slot, now);
        }
    }

    /// Takes up what an earlier process of this peer held.
    fn resume(&mut self, now: Instant, slot: Slot) {
        let me = self.me;
        let Some(place) = self.places.get_mut(&slot).filter(|place| place.holder() == Some(me)) else {
            return;
        };
        if place.lead.is_none() && place.record.given.is_none() {
            // What was established was told to all; who has not got it refuses the next renewal, and gets it then.
            let established = place.record.established;
            let set = place.record.known().filter(|_| established).map(|mint| mint.claim.set.clone());
            let accepted = set.unwrap_or_else(|| vec![me]);
            place.lead = Some(Box::new(Lead { established, accepted, ..Lead::default() }));
            self.resumed.push(slot);
        }
        place.given_at = place.record.given.is_some().then_some(now);
        self.plan(slot, now);
    }

    /// What an earlier process held is held on, if that had caught up by its claim; else who has more must be found out
    /// again, by a ballot.
    fn hold_again(&mut self, now: Instant, slot: Slot, out: &mut Vec<Effect>) {
        let Some(place) = self.places.get_mut(&slot) else { return };
        let Some((mint, lead)) = place.record.known().zip(place.lead.as_mut()) else { return };
        let (token, alone) = (mint.claim.token, mint.claim.set == [self.me]);
        if lead.established && (alone || place.position.is_some_and(|at| at.token == token)) {
            out.push(Effect::Held { claim: mint.claim.clone(), from: None });
        } else if !alone {
            lead.contested = Some(token);
            self.plan(slot, now);
        }
    }

    /// Something happened.
    pub fn handle(&mut self, now: Instant, input: Input, out: &mut Vec<Effect>) {
        let before = out.len();
        // Copies say first how far they are.
        if !matches!(input, Input::Position(..)) {
            std::mem::take(&mut self.resumed).into_iter().for_each(|slot| self.hold_again(now, slot, out));
        }
        match input {
            Input::Tick => self.tick(now, out),
            Input::Received(peer, message) => self.received(now, peer, message, out),
            Input::PeerUp(peer) => self.peer_up(now, peer),
            Input::PeerDown(peer) => drop(self.renewals.remove(&peer)),
            Input::View(view) => self.see(now, view),
            Input::Want(slot) => self.want(now, slot),
            Input::Position(slot, position) => self.known(slot, |place| place.position = Some(position)),
            Input::CaughtUp(slot) => {
                self.known(slot, |place| place.lead.iter_mut().for_each(|lead| lead.from = None));
            }
            Input::Later(slot, token) => self.later(now, slot, token),
            Input::Whole(slot, peer) => {
                self.known(slot, |place| {
                    // Who is not wanted any more may delete it.
                    if place.copying.contains(&peer) {
                        place.whole.insert(peer);
                    }
                });
                self.plan(slot, now);
            }
            Input::Drained(slots) => slots.into_iter().for_each(|slot| self.drained(now, slot, out)),
            Input::Give(slot, peer) => {
                self.known(slot, |place| place.give_to = Some(peer));
                self.plan(slot, now);
            }
            Input::Lend(slot, to) => {
                match to {
                    Some(to) => self.lent.insert(slot, to),
                    None => self.lent.remove(&slot),
                };
                self.plan(slot, now);
            }
            Input::Stay(slot, stays) => {
                match stays {
                    true => self.stays.insert(slot),
                    false => self.stays.remove(&slot),
                };
                self.plan(slot, now);
            }
            Input::Revoke(slot) => self.revoke(now, slot),
            Input::Leave(first) => {
                let held = self.places.iter().filter(|(_, place)| place.lead.is_some());
                let held = held.map(|(slot, _)| *slot);
                self.leaving = Some(Parting::new(now, held, |slot| first.contains(&slot)));
                let slots: Vec<Slot> = self.places.keys().copied().collect();
                slots.into_iter().for_each(|slot| self.plan(slot, now));
            }
            Input::Persisted(ticket) => self.persisted(now, ticket, out),
            Input::NotPersisted(ticket) => self.not_persisted(now, ticket),
        }
        self.found(now);
        self.give_away(now, out.get(before..).unwrap_or_default());
        self.flush(now, out);
    }

    /// Goes on with handing over everything, by what went just now.
    fn give_away(&mut self, now: Instant, out: &[Effect]) {
        let Some(parting) = &mut self.leaving else { return };
        for effect in out {
            if let Effect::Lost(slot) = effect {
                parting.gone(*slot);
            }
        }
        parting.next(now).into_iter().for_each(|slot| self.plan(slot, now));
    }

    /// Whether slots are left to be founded, or to be taken up again after a restart.
    pub fn is_starting(&self) -> bool {
        !self.unfounded.0.is_empty() || !self.resumed.is_empty()
    }

    /// When [`Input::Tick`] is wanted, and why.
    pub fn deadline(&self) -> Option<(Instant, Reason)> {
        let slots = self.agenda.first().map(|(at, _)| (*at, Reason::Slots));
        let renew = self.renew_at.map(|at| (at, Reason::Renew));
        let gossip = self.gossip_at.map_or(self.announce_at, |at| at.min(self.announce_at));
        let part = self.leaving.as_ref().and_then(Parting::deadline).map(|at| (at, Reason::Slots));
        [slots, renew, part, Some((gossip, Reason::Gossip))].into_iter().flatten().min()
    }

    /// A token is in use that is later than the claim known here. A holder needs a higher one to be acknowledged by all;
    /// anybody else asks whose it is.
    fn later(&mut self, now: Instant, slot: Slot, token: Token) {
        let me = self.me;
        let known = self.places.get(&slot).and_then(|place| place.record.token());
        if !self.is_slot(slot) || known >= Some(token) {
            return;
        }
        let place = self.places.entry(slot).or_default();
        if place.asked_at.is_none_or(|at| now >= at + self.config.retry) {
            place.asked_at = Some(now);
            self.say(token.minter, Part::Ask(slot));
        }
        let within = known.is_some_and(|known| token.counter < known.counter + FORCE_JUMP / 2);
        let own = self.places.get_mut(&slot).filter(|place| within && place.is_own(&me));
        if let Some(lead) = own.and_then(|place| place.lead.as_mut()).filter(|lead| lead.established) {
            lead.contested = lead.contested.max(Some(token));
            self.plan(slot, now);
        }
    }

    fn known(&mut self, slot: Slot, change: impl FnOnce(&mut Place)) {
        if self.is_slot(slot) {
            change(self.places.entry(slot).or_default());
        }
    }

    pub(super) fn is_slot(&self, slot: Slot) -> bool {
        self.config.slots.binary_search(&slot).is_ok()
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Effect>) {
        for _ in 0..MAX_AT_ONCE {
            let Some(&(at, slot)) = self.agenda.first().filter(|(at, _)| *at <= now) else { break };
            self.agenda.remove(&(at, slot));
            if let Some(place) = self.places.get_mut(&slot) {
                place.due = None;
            }
            self.consider(now, slot, out);
        }
        if self.renew_at.is_some_and(|at| at <= now) {
            self.renew(now, out);
        }
        self.gossip(now, out);
    }

    fn peer_up(&mut self, now: Instant, peer: PeerKey) {
        let waits = |place: &Place| {
            place.attempt.is_some()
                || (place.record.given.is_some() && place.record.known().is_some_and(|m| m.concerns(&peer)))
                || place.lead.as_ref().is_some_and(|l| !l.established && !l.accepted.contains(&peer))
        };
        let slots: Vec<Slot> = self.places.iter().filter(|(_, p)| waits(p)).map(|(s, _)| *s).collect();
        for slot in slots {
            // Not at once: a stream that breaks and opens all the time must not make peers busy.
            let at = now + self.jitter(self.config.retry);
            self.plan(slot, at);
        }
    }

    fn received(&mut self, now: Instant, from: PeerKey, message: Message, out: &mut Vec<Effect>) {
        if !message.is_within_bounds() {
            out.push(Effect::Misbehaved(from, Fault::Bounds));
            return;
        }
        if from == self.me {
            return;
        }
        match message {
            Message::Parts(parts) => {
                for part in parts {
                    if let Err(fault) = self.part(now, from, part, out) {
                        out.push(Effect::Misbehaved(from, fault));
                        return;
                    }
                }
            }
            Message::Renew { round, runs } => self.renew_asked(now, from, round, &runs, out),
            Message::Renewed { round, refused } => self.renewed(now, from, round, &refused),
            Message::Hints(runs) => self.hinted(from, &runs),
        }
    }

    /// A lot between zero and `most`.
    pub(super) fn jitter(&mut self, most: Duration) -> Duration {
        let most = u64::try_from(most.as_micros()).unwrap_or(u64::MAX);
        let lot = (u128::from(self.rng.next_u64()) * u128::from(most)) >> 64;
        Duration::from_micros(u64::try_from(lot).unwrap_or(most))
    }

    /// How long to wait before the next try of a slot.
    pub(super) fn pause(&mut self, slot: Slot) -> Duration {
        let place = self.places.entry(slot).or_default();
        let pause = (self.config.retry * (1 << place.tries.min(6))).min(self.config.retry_most);
        place.tries += 1;
        pause / 2 + self.jitter(pause)
    }

    /// Looks at a slot at `at`, or sooner if that was planned.
    pub(super) fn plan(&mut self, slot: Slot, at: Instant) {
        let place = self.places.entry(slot).or_default();
        match place.due {
            Some(due) if due <= at => return,
            Some(due) => drop(self.agenda.remove(&(due, slot))),
            None => {}
        }
        place.due = Some(at);
        self.agenda.insert((at, slot));
    }

    /// Says something, with all else that is said to that peer in this call.
    pub(super) fn say(&mut self, to: PeerKey, mut part: Part) {
        if to == self.me || part.mint_mut().is_some_and(|mint| !self.complete(mint)) {
            return;
        }
        self.outbox.entry(to).or_default().push(part);
    }

    /// Signs an own claim that nobody was told yet, and keeps the signature. False if it cannot be told.
    fn complete(&mut self, mint: &mut Signed<Mint>) -> bool {
        if !mint.is_draft() {
            return true;
        }
        let signed = mint.complete(&self.keys).is_ok();
        let place = self.places.get_mut(&mint.body().claim.slot).filter(|_| signed);
        if let Some(known) = place.and_then(|place| place.record.mint.as_mut())
            && known.body() == mint.body()
        {
            *known = mint.clone();
        }
        signed
    }

    /// The round of what is proposed now.
    pub(super) fn round(&mut self, now: Instant) -> u64 {
        let oldest = now - self.config.lease;
        if self.rounds.last_key_value().is_none_or(|(_, at)| *at != now) {
            self.next_round += 1;
            self.rounds.insert(self.next_round, now);
            while self.rounds.first_key_value().is_some_and(|(_, at)| *at < oldest) {
                self.rounds.pop_first();
            }
        }
        self.rounds.last_key_value().map_or(0, |(round, _)| *round)
    }

    pub(super) fn sent_at(&self, round: u64) -> Option<Instant> {
        self.rounds.get(&round).copied()
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
