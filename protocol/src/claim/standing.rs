//! What a peer says about its claims when it is asked: who may fetch, who holds, what moves.

use super::Token;
use super::place::Place;
use super::proof::Mint;
use super::state::State;
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::time::Instant;
use crate::view::View;

impl<K: Keys> State<K> {
    /// The claim by which permits may be given, and until when they may be used; nothing if this peer may not fetch now.
    ///
    /// The time is the own clock's, which counts suspends: a process that stood still finds its lease over by itself. Who is
    /// not of the primary component, or may soon find that out, has no lease, nor, when it comes back after [`Config::lease`] and
    /// more, for as long again: another component may have taken over by force.
    pub fn lease(&self, slot: Slot, now: Instant) -> Option<(Token, Instant)> {
        let place = self.places.get(&slot)?;
        let (token, until) = place.permits(&self.me, &self.config)?;
        let in_doubt = self.view.as_ref().is_none_or(|view| view.in_doubt());
        (self.primary.0 && !in_doubt && self.back_at <= now && now < until).then_some((token, until))
    }

    /// Who holds a slot, as far as this peer knows.
    pub fn route(&self, slot: Slot) -> Option<(PeerKey, Token)> {
        let known = self.places.get(&slot).and_then(|place| place.record.token());
        let token = known.max(self.hints.get(&slot).copied())?;
        Some((token.minter, token))
    }

    /// The claim known of a slot, and whether it is known to be established.
    pub fn claim(&self, slot: Slot) -> Option<(&Mint, bool)> {
        let place = self.places.get(&slot)?;
        Some((place.record.known()?, place.record.established))
    }

    /// Slots that something is known of.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.places.keys().copied()
    }

    /// Gives back the memory of slots that others hold now: see [`crate::pack`].
    pub fn repack(&mut self) {
        crate::pack::repack(&mut self.places);
    }

    /// Grows when what [`State::claim`] or [`State::route`] say of any slot may have changed.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether this peer is the holder by the last claim it knows, with or without a live lease.
    pub fn holds(&self, slot: Slot) -> bool {
        self.places.get(&slot).is_some_and(|place| place.is_held_by(&self.me))
    }

    /// Whether a set or a holding is being changed by this peer.
    pub fn is_moving(&self, slot: Slot) -> bool {
        self.places.get(&slot).is_some_and(|place| {
            let lead = place.lead.as_ref();
            place.attempt.is_some()
                || (place.record.given.is_some() && place.holder() == Some(self.me))
                || lead.is_some_and(|lead| !lead.established || lead.drain.is_some())
        })
    }

    /// To whom a slot held here is about to go, once it is drained.
    pub fn drains_to(&self, slot: Slot) -> Option<PeerKey> {
        self.places.get(&slot)?.lead.as_ref()?.drain
    }

    /// To whom this peer gave a slot, from when it let go of it until a later claim is known.
    pub fn given_to(&self, slot: Slot) -> Option<PeerKey> {
        let given = self.places.get(&slot)?.record.given.as_ref()?;
        Some(given.body().to)
    }

    /// To whom a slot held here is to go by a contract.
    pub fn lent_to(&self, slot: Slot) -> Option<PeerKey> {
        self.lent.get(&slot).copied()
    }

    /// What is to go by contracts of what is held here: of which the contractor has a whole copy.
    pub fn ready(&self) -> impl Iterator<Item = Slot> {
        let ready = |(slot, to): &(&Slot, &PeerKey)| {
            self.places.get(slot).is_some_and(|place| {
                place.whole.contains(to) || place.record.known().is_some_and(|mint| mint.claim.keeps(to))
            })
        };
        self.lent.iter().filter(ready).map(|(slot, _)| *slot)
    }

    /// Copies of slots held here that are lacking: how many members of the recorded sets are less there than there should be of a slot's keepers. Looks at
    /// every slot.
    pub fn lacking(&self) -> u64 {
        let Some(view) = &self.view else { return 0 };
        let keepers = view.members().filter(|(_, seen)| !seen.record.leaving).count();
        let wanted = keepers.min(self.config.replicas);
        let lacks = |place: &Place| {
            let set = place.record.known().map_or(&[][..], |mint| &mint.claim.set);
            let there = set.iter().filter(|peer| **peer == self.me || view.is_live(peer)).count();
            wanted.saturating_sub(there) as u64
        };
        self.places.values().filter(|place| place.is_held_by(&self.me)).map(|place| lacks(place)).sum()
    }

    /// What this peer is doing about a slot, for logs and failed simulations.
    pub fn describe(&self, slot: Slot) -> String {
        format!("{:?}", self.places.get(&slot))
    }

    /// True when, after [`Input::Leave`](super::Input::Leave), nothing is left that somebody who stays could take: who keeps no
    /// copy yet is given one first, and of a slot whose holder is gone the last copy does not go before somebody holds it.
    /// `stuck`: the slot for which it was not true the last time, which is looked at first, of many that are done.
    pub fn left(&self, stuck: &mut Option<Slot>) -> bool {
        let stays = |view: &View| view.members().any(|(peer, _)| *peer != self.me && view.stays(peer));
        let others = self.view.as_ref().filter(|view| stays(view));
        let is_last = |slot: &Slot, view: &View| {
            let known = self.places.get(slot).and_then(|place| place.record.known());
            known.map(|mint| &mint.claim).is_some_and(|claim| {
                claim.keeps(&self.me) && claim.set.iter().all(|peer| *peer == self.me || !view.stays(peer))
            })
        };
        let bound = |slot: &Slot| others.is_some_and(|view| self.holds(*slot) || is_last(slot, view));
        let keeps = |slot: &Slot| self.is_moving(*slot) || bound(slot);
        if self.leaving.is_none() || !self.writing.is_empty() {
            return false;
        }
        *stuck = stuck.filter(keeps).or_else(|| self.places.keys().copied().find(keeps));
        stuck.is_none()
    }

    /// How often this peer took over by force.
    pub fn forced(&self) -> u64 {
        self.forced
    }
}
