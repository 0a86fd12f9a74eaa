//! What the view wants of each slot: who should keep it, who should hold it, who takes over when the holder is gone.
//!
//! Nothing here is needed for safety: with any view at any time, what is asked for is granted or refused by the members.

use super::Token;
use super::io::Effect;
use super::message::Part;
use super::place::{Place, Wish};
use super::state::State;
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::placement::MAX_OWNERS;
use crate::time::Instant;
use crate::view::{Status, View};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Peers asked who holds a slot of which nothing is known.
const MAX_ASKED: usize = 16;

impl<K: Keys> State<K> {
    /// Another view: what it wants otherwise is looked at.
    pub(super) fn see(&mut self, now: Instant, view: Arc<View>) {
        if self.view.as_ref().is_some_and(|before| view.plans_as(before)) {
            self.view = Some(view);
            return;
        }
        for slot in self.config.slots.clone() {
            let should = view.should_hold(slot, self.config.replicas);
            if let Some(place) = self.places.get_mut(&slot).filter(|place| !place.copying.is_empty()) {
                // Copies for who is no member are not made any more, and asked for anew when it comes back.
                place.copying.retain(|peer| view.member(peer).is_some());
                place.whole.retain(|peer| view.member(peer).is_some());
            }
            let place = self.places.get(&slot);
            let look = match place {
                None => should == Some(self.me),
                Some(place) if place.attempt.is_some() || place.record.given.is_some() => true,
                Some(place) if place.lead.is_some() => {
                    let owners = view.owners(slot, self.config.replicas);
                    let set = place.record.known().map_or(&[][..], |mint| &mint.claim.set);
                    let lives = |peer: &PeerKey| *peer == self.me || view.is_live(peer);
                    let from = place.lead.as_ref().and_then(|lead| lead.from.as_deref());
                    should != Some(self.me)
                        || from.is_some_and(|(from, _)| !lives(from))
                        || !place.majority_lives(lives)
                        || set.len() != owners.as_slice().len()
                        || !set.iter().all(|peer| owners.contains(peer))
                }
                Some(place) => {
                    should == Some(self.me) || !place.holder().is_some_and(|holder| view.is_live(&holder))
                }
            };
            if look {
                self.plan(slot, now);
            } else if let Some(place) = self.places.get_mut(&slot) {
                (place.orphan_since, place.wish) = (None, None);
                place.copying.clear();
                place.whole.clear();
            }
        }
        let (primary, since) = self.primary;
        if primary != view.primary() {
            // In a shorter time nobody can have taken anything by force.
            if !primary && now >= since + self.config.lease && view.members().nth(1).is_some() {
                self.back_at = now + self.config.kept();
            }
            self.primary = (!primary, now);
        }
        self.view = Some(view);
    }

    /// Looks at a slot: goes on with what is under way, or begins what the view wants.
    pub(super) fn consider(&mut self, now: Instant, slot: Slot, out: &mut Vec<Effect>) {
        if self.places.get(&slot).is_some_and(|place| place.unsaved) {
            self.changed(slot);
        }
        if self.lost_majority(now, slot, out) {
            return;
        }
        let Some(place) = self.places.get(&slot) else { return };
        let own = place.is_own(&self.me);
        if place.attempt.is_some() {
            self.pursue(now, slot);
        } else if own && place.lead.is_some() {
            let lead = place.lead.as_ref();
            let contested = lead.is_some_and(|lead| lead.contested.is_some());
            if contested || place.record.promised > place.record.token() {
                // Somebody was promised a higher ballot: the own claim needs a higher token to be acknowledged by all.
                self.attempt(now, slot, out);
                let at = now + self.pause(slot);
                self.plan(slot, at);
            } else if lead.is_some_and(|lead| lead.established) {
                self.spread(now, slot);
                self.steer(now, slot, out);
            } else {
                self.propose(now, slot);
                // After a restart of a peer that is alone in its set nobody's answer would do it.
                self.establish(now, slot, out);
                let at = now + self.pause(slot);
                self.plan(slot, at);
            }
        } else if place.record.given.is_some() {
            self.give_on(now, slot, out);
        } else {
            self.orphaned(now, slot, out);
        }
    }

    /// Who holds a slot or wants to, and cannot have a majority of those with a say, goes on by force after a while.
    fn lost_majority(&mut self, now: Instant, slot: Slot, out: &mut Vec<Effect>) -> bool {
        let Some(view) = self.view.clone() else { return false };
        let (me, lives) = (self.me, self.majority_lives(slot, &view));
        let Some(place) = self.places.get_mut(&slot) else { return false };
        let mine = place.is_own(&me) && place.lead.is_some();
        if !mine && place.attempt.is_none() {
            return false;
        }
        if lives {
            if mine {
                place.orphan_since = None;
            }
            return false;
        }
        let since = *place.orphan_since.get_or_insert(now);
        if self.may_force(now, slot, &view, 1) {
            let live = self.live_of_set(slot, &view);
            self.force(now, slot, live, out);
            return true;
        }
        let again = now + self.config.retry_most;
        self.plan(slot, (since + self.config.t_force).max(again));
        false
    }

    /// Goes on until every live member of the set has the claim: it is established, but the next loss could be one too many.
    fn spread(&mut self, now: Instant, slot: Slot) {
        let Some(view) = self.view.clone() else { return };
        let Some(place) = self.places.get(&slot) else { return };
        let Some((lead, mint)) = place.lead.as_ref().zip(place.record.known()) else { return };
        let set = &mint.claim.set;
        if set.iter().any(|peer| view.is_live(peer) && !lead.accepted.contains(peer)) {
            self.propose(now, slot);
            let at = now + self.pause(slot);
            self.plan(slot, at);
        }
    }

    /// Asks again for promises, unless the holder is back.
    fn pursue(&mut self, now: Instant, slot: Slot) {
        let Some(view) = self.view.clone() else { return };
        let me = self.me;
        let holder = self.places.get(&slot).and_then(|place| place.holder());
        let denied = holder.is_some_and(|holder| self.denied(slot, &holder, now).is_some());
        let Some(place) = self.places.get_mut(&slot) else { return };
        let back = holder.is_some_and(|holder| holder != me && view.is_live(&holder)) && !denied;
        if back || (self.leaving.is_some() && holder != Some(me)) {
            place.attempt = None;
            place.orphan_since = None;
            // It is to hear of what was promised.
            return self.plan(slot, now);
        }
        // A late acknowledgement, or the holder's word, may have made the claim known an established one since the last
        // promise came: the set before it has no say any more, and those who promised are enough.
        self.advance(now, slot);
        // Nothing is asked if that was the end of the attempt.
        self.ask_promises(slot);
        let at = now + self.pause(slot);
        self.plan(slot, at);
    }

    /// Who would take this peer's slot.
    pub(super) fn heir(&self, slot: Slot) -> Option<PeerKey> {
        let view = self.view.as_ref()?;
        let set = &self.places.get(&slot)?.record.known()?.claim.set;
        let fit = |peer: &PeerKey| *peer != self.me && set.contains(peer) && view.stays(peer);
        let owners = view.owners(slot, self.config.replicas);
        let first = view.should_hold(slot, self.config.replicas);
        first.into_iter().chain(owners.as_slice().iter().copied()).chain(set.iter().copied()).find(fit)
    }

    /// The holder's part: the set becomes the owners, and the slot goes to who should hold it.
    fn steer(&mut self, now: Instant, slot: Slot, out: &mut Vec<Effect>) {
        let Some(view) = self.view.clone() else { return };
        let Some(lead) = self.places.get(&slot).and_then(|place| place.lead.as_ref()) else { return };
        if lead.from.as_ref().is_some_and(|from| !view.is_live(&from.0)) {
            // What it has alone was never durable. The others are asked again how far they are.
            self.attempt(now, slot, out);
            let at = now + self.pause(slot);
            return self.plan(slot, at);
        }
        if let Some(to) = lead.drain {
            if !view.stays(&to) {
                self.undrain(slot, out);
                self.plan(slot, now);
            }
            return;
        }
        if self.leaving.as_ref().is_some_and(|parting| parting.waits(slot)) {
            return;
        }
        if self.leaving.is_some()
            && let Some(to) = self.heir(slot)
        {
            return self.drain(now, slot, to, out);
        }
        let Some(wish) = self.wish(slot, &view, out) else {
            self.places.entry(slot).or_default().wish = None;
            return;
        };
        let by_hand =
            self.places.get(&slot).is_some_and(|p| p.give_to.is_some()) || self.lent.contains_key(&slot);
        let place = self.places.entry(slot).or_default();
        let since = match place.wish.as_deref() {
            Some((known, since)) if *known == wish => *since,
            _ => now,
        };
        place.wish = Some(Box::new((wish.clone(), since)));
        let due = since + self.config.debounce;
        if now < due && !by_hand && self.leaving.is_none() {
            return self.plan(slot, due);
        }
        match wish {
            Wish::Holder(to) => self.drain(now, slot, to, out),
            Wish::Set(set) => {
                if !self.change(now, slot, set) {
                    self.attempt(now, slot, out);
                }
                let at = now + self.pause(slot);
                self.plan(slot, at);
            }
        }
    }

    /// What should be otherwise with a slot that this peer holds.
    fn wish(&mut self, slot: Slot, view: &View, out: &mut Vec<Effect>) -> Option<Wish> {
        let me = self.me;
        let placed = self.placed(slot, view);
        let place = self.places.get_mut(&slot)?;
        let set = place.record.known()?.claim.set.clone();
        let keeps = |peer: &PeerKey| set.binary_search(peer).is_ok();
        if let Some(to) = place.give_to {
            if keeps(&to) && view.stays(&to) && to != me {
                return Some(Wish::Holder(to));
            }
            place.give_to = None;
        }
        if !view.settled() {
            return None;
        }
        let (should, desired) = placed?;
        let missing: Vec<PeerKey> =
            desired.iter().copied().filter(|peer| !keeps(peer) && *peer != me).collect();
        place.copying.retain(|peer| missing.contains(peer));
        place.whole.retain(|peer| missing.contains(peer));
        let mut copying = Vec::new();
        for &to in missing.iter().filter(|peer| view.is_live(peer)) {
            if !place.whole.contains(&to) && place.copying.insert(to) {
                out.push(Effect::Copy { slot, to });
                copying.push(to);
            }
        }
        let mut target: BTreeSet<PeerKey> = set.iter().copied().collect();
        // Who is down had a whole copy perhaps, but cannot acknowledge: a set of such is never established.
        let joins = |peer: &PeerKey| place.whole.contains(peer) && view.is_live(peer);
        target.extend(missing.iter().copied().filter(joins));
        if missing.iter().all(|peer| target.contains(peer)) {
            target.retain(|peer| desired.contains(peer) || *peer == me);
        }
        // No room for all: the first of those that are not wanted go.
        while target.len() > MAX_OWNERS {
            let surplus = target.iter().find(|peer| !desired.contains(*peer) && **peer != me).copied();
            surplus
                .or_else(|| target.iter().find(|peer| **peer != me).copied())
                .map(|peer| target.remove(&peer));
        }
        // They hear of the claim from its holder before they are asked how far their copies are.
        for to in copying {
            let known = self.places.get(&slot).and_then(|place| place.shown(&me)).cloned();
            known.into_iter().for_each(|mint| self.say(to, Part::Moved(mint)));
        }
        let target: Vec<PeerKey> = target.into_iter().collect();
        if target != set {
            return Some(Wish::Set(target));
        }
        let moves = should != me && keeps(&should) && view.status(&should) == Some(Status::Alive);
        moves.then_some(Wish::Holder(should))
    }

    /// Who should hold a slot that this peer holds, and who should keep it: by the view, or by a contract; then the contractor takes the place of
    /// the last of the owners, so that whoever is the first is of the set when the contract ends.
    fn placed(&self, slot: Slot, view: &View) -> Option<(PeerKey, BTreeSet<PeerKey>)> {
        let replicas = self.config.replicas;
        let lent = self.lent.get(&slot).copied().filter(|to| view.stays(to));
        let contractor = if self.stays.contains(&slot) { lent.or(Some(self.me)) } else { lent };
        let owners = view.owners(slot, replicas);
        let place_taken = contractor.is_some_and(|contractor| !owners.contains(&contractor));
        let keep = if place_taken { replicas.saturating_sub(1) } else { replicas };
        let mut desired: BTreeSet<PeerKey> = owners.as_slice().iter().take(keep).copied().collect();
        let should = contractor.or_else(|| view.should_hold(slot, replicas))?;
        desired.insert(should);
        Some((should, desired))
    }

    fn drain(&mut self, now: Instant, slot: Slot, to: PeerKey, out: &mut Vec<Effect>) {
        if self.may_succeed(slot).is_none() {
            self.attempt(now, slot, out);
            let at = now + self.pause(slot);
            return self.plan(slot, at);
        }
        if let Some(lead) = self.places.get_mut(&slot).and_then(|place| place.lead.as_mut()) {
            lead.drain = Some(to);
            out.push(Effect::Drain(slot));
        }
    }

    pub(super) fn undrain(&mut self, slot: Slot, out: &mut Vec<Effect>) {
        if let Some(place) = self.places.get_mut(&slot) {
            place.wish = None;
            place.lead.iter_mut().for_each(|lead| lead.drain = None);
            out.push(Effect::Resume(slot));
        }
    }

    /// A slot that somebody else holds, or nobody: takes over if that is this peer's part.
    fn orphaned(&mut self, now: Instant, slot: Slot, out: &mut Vec<Effect>) {
        let Some(view) = self.view.clone() else { return };
        let me = self.me;
        let known = self.places.get(&slot).and_then(|place| place.record.token());
        let hint = self.hints.get(&slot).copied();
        let keeps = |place: &Place| place.record.known().is_some_and(|mint| mint.claim.keeps(&me));
        let keeps = self.places.get(&slot).is_some_and(|place| keeps(place));
        let denied = known.filter(|known| self.denied(slot, &known.minter, now).is_some());
        let live = |token: Option<Token>| {
            let lives = |token: Token| token.minter != me && view.is_live(&token.minter);
            token.is_some_and(|token| {
                lives(token) && denied.is_none_or(|denied| denied.minter != token.minter)
            })
        };
        if self.leaving.is_some() {
            return self.at_rest(slot);
        }
        let should = view.should_hold(slot, self.config.replicas) == Some(me);
        if let Some(denied) = denied.filter(|_| should) {
            self.tell_revoked(slot, denied);
        }
        if let Some(known) = known.filter(|_| live(known)) {
            if should {
                self.wait_for(now, slot, known.minter);
            }
            if keeps && self.tell_promised(slot, known) {
                let at = now + self.pause(slot);
                return self.plan(slot, at);
            }
            return self.at_rest(slot);
        }
        if let Some(hint) = hint.filter(|hint| live(Some(*hint)) && Some(*hint) > known) {
            // Somebody says it holds by a later claim: it should show it, or what it knows that is later still.
            self.say(hint.minter, Part::Ask(slot));
            if !keeps {
                if should {
                    self.plan(slot, now + self.config.announce_every);
                }
                return self.at_rest(slot);
            }
        }
        if known.is_some_and(|token| token.minter == me) {
            // A claim of this peer's own that it does not remember to have made: it is succeeded like another's.
            self.attempt(now, slot, out);
            let at = now + self.pause(slot);
            return self.plan(slot, at);
        }
        let place = self.places.entry(slot).or_default();
        let since = *place.orphan_since.get_or_insert(now);
        if keeps && view.settled() {
            let due = since + self.config.stagger * self.rank(slot, &view, should);
            if now < due {
                return self.plan(slot, due);
            }
            if let (Some(wait), Some(_)) =
                (self.places.get(&slot).and_then(|place| place.bound(&me, now)), denied)
            {
                // It lives, so that the time is known at which its lease ends.
                return self.plan(slot, now + wait);
            }
            // Those that are left overtake each other's ballots, so that none is seen to be in vain.
            let lives = self.majority_lives(slot, &view);
            if !lives && now >= due + self.config.t_force && self.may_force(now, slot, &view, 1) {
                let live = self.live_of_set(slot, &view);
                return self.force(now, slot, live, out);
            }
            self.attempt(now, slot, out);
        } else if should {
            // Again and again: the first question may have been too early, on the heels of a restart.
            let peers =
                view.members().map(|(peer, _)| *peer).filter(|peer| *peer != me && view.is_live(peer));
            peers.take(MAX_ASKED).for_each(|peer| self.say(peer, Part::Ask(slot)));
            let live = self.live_of_set(slot, &view);
            let patience = if known.is_some() && live.is_empty() { 1 } else { 2 };
            if self.may_force(now, slot, &view, patience) {
                return self.force(now, slot, live, out);
            }
        } else {
            return;
        }
        let at = now + self.pause(slot);
        self.plan(slot, at);
    }

    /// Somebody else holds what this peer should. It hands it over, unless a later claim has overtaken its own, of one who is
    /// gone: then it knows that, and has to be asked.
    fn wait_for(&mut self, now: Instant, slot: Slot, holder: PeerKey) {
        let Some(place) = self.places.get_mut(&slot) else { return };
        let due = *place.waits_since.get_or_insert(now) + self.config.announce_every;
        if now < due {
            return self.plan(slot, due);
        }
        place.waits_since = Some(now);
        self.say(holder, Part::Ask(slot));
        self.plan(slot, now + self.config.announce_every);
    }

    /// Tells a holder that lives of the higher ballot that was promised here to somebody who took it for dead; false if none was. It needs a
    /// higher token to be acknowledged by all, and does not learn of that while nobody wants a lease: the copy here would not count, and
    /// take in nothing, until copies are compared some minutes later.
    fn tell_promised(&mut self, slot: Slot, known: Token) -> bool {
        let record = self.places.get(&slot).map(|place| &place.record);
        let is_above = record.is_some_and(|record| record.promised > Some(known));
        if is_above {
            self.refuse(known.minter, slot, known, None, Some(known));
        }
        is_above
    }

    fn at_rest(&mut self, slot: Slot) {
        if let Some(place) = self.places.get_mut(&slot) {
            (place.orphan_since, place.tries) = (None, 0);
        }
    }

    /// How many should try before this peer does.
    fn rank(&self, slot: Slot, view: &View, should: bool) -> u32 {
        let Some(mint) = self.places.get(&slot).and_then(|place| place.record.known()) else { return 0 };
        if should {
            return 0;
        }
        let first = view.should_hold(slot, self.config.replicas);
        let set = &mint.claim.set;
        let before =
            set.iter().filter(|peer| **peer < self.me && view.is_live(peer) && first != Some(**peer)).count();
        let first = first.is_some_and(|first| set.contains(&first));
        u32::try_from(before).unwrap_or(0) + u32::from(first)
    }

    /// Whether those with a say in a slot could give it to somebody.
    fn majority_lives(&self, slot: Slot, view: &View) -> bool {
        let lives = |peer: &PeerKey| *peer == self.me || view.is_live(peer);
        self.places.get(&slot).is_some_and(|place| place.majority_lives(lives))
    }

    fn live_of_set(&self, slot: Slot, view: &View) -> BTreeSet<PeerKey> {
        let known = self.places.get(&slot).and_then(|place| place.record.known());
        let set = known.map_or(&[][..], |mint| &mint.claim.set);
        set.iter().copied().filter(|peer| view.is_live(peer)).collect()
    }

    /// Whether the slot has been without a holder for `times` the patience, as a peer of the primary component sees it: of
    /// that for long enough that nobody who was of it before has a lease.
    fn may_force(&self, now: Instant, slot: Slot, view: &View, times: u32) -> bool {
        let since = self.places.get(&slot).and_then(|place| place.orphan_since);
        let (primary, begun) = self.primary;
        view.settled()
            && primary
            && now >= begun + self.config.kept()
            && since.is_some_and(|since| now >= since + self.config.t_force * times)
    }
}
