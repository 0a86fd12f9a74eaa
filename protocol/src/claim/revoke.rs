//! A slot that a contractor does not give back: those that keep it acknowledge its claim no more, and its lease ends.
//!
//! Only who should hold a slot may ask for that, and only as one of those that keep it. Nothing is less safe by it: acknowledgements are left
//! out that any member may leave out. What the contractor has made durable is there for the next holder as ever.

use super::Token;
use super::message::Part;
use super::state::State;
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};
use crate::time::Instant;

impl<K: Keys> State<K> {
    /// Takes note that a claim is not to be acknowledged any more; whether it is that which is known, and `by` may say so.
    fn note_revoked(&mut self, now: Instant, slot: Slot, by: PeerKey, token: Token) -> bool {
        let Some(place) = self.places.get(&slot) else { return false };
        let Some(mint) = place.record.known().filter(|mint| mint.claim.token == token) else { return false };
        let Some(view) = &self.view else { return false };
        // Others would have to take it by force: who is not of the set, and sets in which nothing can be done without the holder.
        let lives = |peer: &PeerKey| *peer == self.me || view.is_live(peer);
        let without = mint.is_quorum(place.record.established, |peer| *peer != token.minter && lives(peer));
        let keeps = without && mint.claim.keeps(&by) && ![by, self.me].contains(&token.minter);
        let revoked = keeps && view.should_hold(slot, self.config.replicas) == Some(by);
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

    /// Tells the others that keep a slot, its holder among them, that its claim is revoked: again and again, as long as it lasts.
    pub(super) fn tell_revoked(&mut self, slot: Slot, token: Token) {
        let known = self.places.get(&slot).and_then(|place| place.record.known());
        let others: Vec<PeerKey> = known.map_or_else(Vec::new, |mint| {
            mint.voters().into_iter().filter(|peer| *peer != self.me).collect()
        });
        for peer in others {
            self.say(peer, Part::Revoke { slot, token });
        }
    }

    /// Who should hold a slot says that its claim is revoked.
    pub(super) fn told_revoked(&mut self, now: Instant, from: PeerKey, slot: Slot, token: Token) {
        if !self.is_slot(slot) {
            return;
        }
        if token.minter == self.me {
            return self.obey(now, slot, from, token);
        }
        self.note_revoked(now, slot, from, token);
    }

    /// Who holds a slot that is wanted back hands it over in order, unless the view says otherwise.
    fn obey(&mut self, now: Instant, slot: Slot, to: PeerKey, token: Token) {
        let should = self.view.as_ref().and_then(|view| view.should_hold(slot, self.config.replicas));
        let place = self.places.get_mut(&slot).filter(|place| place.record.token() == Some(token));
        if let Some(place) = place.filter(|_| should == Some(to)) {
            place.give_to = Some(to);
            self.plan(slot, now);
        }
    }
}
