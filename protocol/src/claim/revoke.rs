//! A slot that a contractor does not give back: those that keep it acknowledge its claim no more, and its lease ends.
//!
//! Only who should hold a slot may ask for that, and only where the holder is none of its owners. Nothing is less safe by it: acknowledgements
//! are left out that any member may leave out. What the contractor has made durable is there for the next holder as ever.

use super::Token;
use super::message::Part;
use super::state::State;
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::time::Instant;

impl<K: Keys> State<K> {
    /// Whether `by` should hold a slot that `holder` holds, without being an owner.
    fn may_revoke(&self, slot: Slot, by: &PeerKey, holder: &PeerKey) -> bool {
        let replicas = self.config.replicas;
        self.view.as_ref().is_some_and(|view| {
            view.should_hold(slot, replicas) == Some(*by) && !view.owners(slot, replicas).contains(holder)
        })
    }

    /// Takes note that a claim is not to be acknowledged any more; whether it is that which is known, and may be revoked.
    fn note_revoked(&mut self, now: Instant, slot: Slot, by: PeerKey, token: Token) -> bool {
        let known = self.places.get(&slot).and_then(|place| place.record.token());
        let revoked =
            known == Some(token) && token.minter != self.me && self.may_revoke(slot, &by, &token.minter);
        if revoked {
            self.revoked.insert(slot, (token.minter, now + self.config.revoked));
        }
        revoked
    }

    /// For how long nothing of a slot is granted to a peer.
    pub(super) fn denied(&self, slot: Slot, peer: &PeerKey, now: Instant) -> Option<std::time::Duration> {
        let (denied, until) = self.revoked.get(&slot)?;
        (denied == peer && now < *until).then(|| until.since(now))
    }

    /// The contractor does not give a slot back.
    pub(super) fn revoke(&mut self, now: Instant, slot: Slot) {
        let Some(token) = self.places.get(&slot).and_then(|place| place.record.token()) else { return };
        if self.note_revoked(now, slot, self.me, token) {
            self.tell_revoked(slot, token);
            self.plan(slot, now);
        }
    }

    /// Tells the others that keep a slot that its claim is revoked: again and again, as long as it lasts.
    pub(super) fn tell_revoked(&mut self, slot: Slot, token: Token) {
        let known = self.places.get(&slot).and_then(|place| place.record.known());
        let others: Vec<PeerKey> = known.map_or_else(Vec::new, |mint| {
            mint.voters().into_iter().filter(|peer| *peer != self.me && *peer != token.minter).collect()
        });
        for peer in others {
            self.say(peer, Part::Revoke { slot, token });
        }
    }

    /// Who should hold a slot says that its claim is revoked.
    pub(super) fn told_revoked(&mut self, now: Instant, from: PeerKey, slot: Slot, token: Token) {
        if self.is_slot(slot) {
            self.note_revoked(now, slot, from, token);
        }
    }
}
