//! What a peer does with a claim of its own: it is proposed until majorities have it, and changed.

use super::io::Effect;
use super::message::Part;
use super::proof::{FORCE_JUMP, How, Mint, STRIDE};
use super::state::State;
use super::{Claim, Token};
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::time::Instant;

impl<K: Keys> State<K> {
    /// The own claim is on disk: it is proposed to all with a say.
    pub(super) fn minted(&mut self, now: Instant, slot: Slot, token: Token, out: &mut Vec<Effect>) {
        let me = self.me;
        let Some(place) = self.places.get_mut(&slot).filter(|place| place.record.token() == Some(token))
        else {
            return;
        };
        if let Some(lead) = &mut place.lead {
            lead.accept(me);
            lead.ack(me, now);
        }
        self.propose(now, slot);
        self.establish(now, slot, out);
    }

    /// Proposes the own claim to those that have not acknowledged it.
    pub(super) fn propose(&mut self, now: Instant, slot: Slot) {
        let round = self.round(now);
        let until = now + self.config.kept();
        let me = self.me;
        let Some(place) = self.places.get_mut(&slot) else { return };
        let Some((lead, mint)) = place.lead.as_mut().zip(place.record.mint.clone()) else { return };
        if !lead.accepted.contains(&me) {
            return;
        }
        if place.record.promised == Some(mint.body().claim.token) {
            lead.ack(me, now);
            place.lease = Some((me, until));
        }
        let missing: Vec<PeerKey> =
            mint.body().voters().into_iter().filter(|peer| !lead.accepted.contains(peer)).collect();
        for peer in missing {
            self.say(peer, Part::Propose { mint: mint.clone(), round });
        }
    }

    pub(super) fn accepted(
        &mut self,
        now: Instant,
        from: PeerKey,
        slot: Slot,
        counter: u64,
        round: u64,
        out: &mut Vec<Effect>,
    ) {
        let (token, sent) = (Token { counter, minter: self.me }, self.sent_at(round));
        let Some(place) = self.places.get_mut(&slot).filter(|place| place.record.token() == Some(token))
        else {
            return;
        };
        let Some(lead) = &mut place.lead else { return };
        lead.accept(from);
        if let Some(sent) = sent {
            lead.ack(from, sent);
        }
        if !lead.established {
            self.establish(now, slot, out);
        }
    }

    /// Holds, if majorities have the claim on disk.
    pub(super) fn establish(&mut self, now: Instant, slot: Slot, out: &mut Vec<Effect>) {
        let me = self.me;
        let Some(place) = self.places.get(&slot) else { return };
        let Some((lead, mint)) = place.lead.as_ref().zip(place.record.known()) else { return };
        if lead.established
            || !lead.accepted.contains(&me)
            || !place.has_quorum(|p| lead.accepted.contains(p))
        {
            return;
        }
        let (claim, from) = (mint.claim.clone(), lead.from.as_deref().copied());
        for peer in mint.voters() {
            self.say(peer, Part::Settled { slot, counter: claim.token.counter });
        }
        if let Some(place) = self.places.get_mut(&slot) {
            place.record.established = true;
            place.tries = 0;
            place.wish = None;
            place.orphan_since = None;
            if let Some(lead) = &mut place.lead {
                (lead.established, lead.before) = (true, None);
            }
            if place.wanted_until > now {
                self.wanted.insert(slot);
                self.renew_at.get_or_insert(now + self.config.renew_every);
            }
        }
        self.changed(slot);
        self.tell(slot);
        out.push(Effect::Held { claim, from });
        self.plan(slot, now);
    }

    /// A member refused a ballot or a claim.
    pub(super) fn refused(
        &mut self,
        now: Instant,
        slot: Slot,
        asked: Token,
        highest: Option<Token>,
        wait_ms: u32,
    ) {
        let wait = std::time::Duration::from_millis(u64::from(wait_ms)).min(self.config.kept());
        let within = highest.filter(|highest| highest.counter < asked.counter + FORCE_JUMP / 2);
        let Some(place) = self.places.get_mut(&slot) else { return };
        let ballot = place.attempt.as_ref().map(|attempt| attempt.ballot) == Some(asked);
        if !ballot && place.record.token() != Some(asked) {
            return;
        }
        let above = within.filter(|highest| *highest > asked);
        if let (Some(lead), Some(above)) = (&mut place.lead, above) {
            lead.contested = lead.contested.max(Some(above));
        }
        if let (true, Some(above)) = (ballot, above) {
            // The next ballot is above what is promised there.
            place.attempt = None;
            place.record.promised = place.record.promised.max(Some(above));
            self.changed(slot);
        }
        if let Some(place) = self.places.get_mut(&slot).filter(|place| place.record.given.is_some()) {
            place.given_at = None;
        }
        let at = if wait.is_zero() { now + self.pause(slot) } else { now + wait };
        let at = at + self.jitter(self.config.retry / 4);
        self.plan(slot, at);
    }

    /// Whether this peer may mint the next claim without asking: its own is established and nothing above it is promised.
    pub(super) fn may_succeed(&self, slot: Slot) -> Option<&Mint> {
        let place = self.places.get(&slot)?;
        let (lead, mint) = place.lead.as_ref().zip(place.record.known())?;
        let free = place.record.promised <= place.record.token() && lead.contested.is_none();
        let room = (mint.claim.token.counter + 1) % STRIDE != 0;
        (lead.established && place.record.given.is_none() && free && room).then_some(mint)
    }

    /// Mints the own claim anew with another set.
    pub(super) fn change(&mut self, now: Instant, slot: Slot, set: Vec<PeerKey>) -> bool {
        let Some(mint) = self.may_succeed(slot) else { return false };
        let before = mint.claim.token;
        let token = Token { counter: before.counter + 1, minter: self.me };
        let (base, root) = (Some(mint.claim.set.clone()), mint.root);
        let claim = Claim { slot, token, holder: self.me, set };
        self.mint(now, Mint { claim, base, root, how: How::Changed(before) });
        true
    }
}
