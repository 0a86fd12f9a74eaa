//! A member's part: taking the holder's changes in order, acknowledging what is on disk, comparing when there is a gap.

use super::copy::{Role, Then};
use super::io::{Answer, Effect, Read};
use super::item::{Item, Position, Root};
use super::message::{Part, Why};
use super::serve::Reading;
use super::session::Purpose;
use super::state::{State, Timer};
use crate::claim::{Claim, Token};
use crate::key::Slot;
use crate::peer::{Keys, PeerKey};

/// Changes as a holder sends them; see [`Part::Append`].
pub(super) struct Append {
    pub log: u64,
    pub after: u64,
    pub upto: u64,
    pub lifts: bool,
    pub items: Vec<Item>,
}

impl<K: Keys> State<K> {
    pub(super) fn follow(&mut self, claim: Claim, learner: bool) {
        let (slot, own) = (claim.slot, self.keys.own());
        let copy = self.copy(slot);
        if !copy.knows(claim.token) || claim.holder == own || !claim.is_well_formed() {
            return;
        }
        let token = claim.token;
        if let Role::Member { claim, learner: before } = &mut copy.role
            && claim.token == token
        {
            *before = learner;
            return;
        }
        self.leave_role(slot);
        self.copy(slot).role = Role::Member { claim, learner };
        self.report(slot);
    }

    /// Ends what belongs to the part we had in a slot until now.
    pub(super) fn leave_role(&mut self, slot: Slot) {
        self.end_session(slot);
        let Some(copy) = self.copies.get_mut(&slot) else { return };
        if let Role::Holder(held) = std::mem::replace(&mut copy.role, Role::None) {
            for (peer, mut follower) in held.followers {
                self.grounded(peer, &mut follower);
            }
        }
    }

    /// Tells the holder where to go on, if it is not known to be overtaken.
    pub(super) fn report(&mut self, slot: Slot) {
        let Some(copy) = self.copies.get(&slot) else { return };
        let Role::Member { claim, .. } = &copy.role else { return };
        if copy.fence > Some(claim.token) {
            return;
        }
        let (holder, counter, position) = (claim.holder, claim.token.counter, copy.at());
        if self.full {
            return self.refuse(holder, slot, 0, Why::Full);
        }
        self.send(holder, Part::Behind { slot, counter, position });
    }

    /// Whether a peer may act as the slot's holder by this token; if not, it is told why.
    fn is_holder(&mut self, peer: PeerKey, slot: Slot, token: Token) -> bool {
        let Some(copy) = self.copies.get(&slot) else {
            self.out.push(Effect::Later(slot, token));
            self.refuse(peer, slot, 0, Why::NotReady);
            return false;
        };
        match copy.fence {
            Some(known) if known > token => {
                self.send(peer, Part::Stale { slot, token: known });
                false
            }
            _ if self.member_of(slot).is_some_and(|claim| claim.token == token) => true,
            // It may be ahead of what we were told.
            _ => {
                if copy.claim().is_none_or(|claim| claim.token < token) {
                    self.out.push(Effect::Later(slot, token));
                }
                self.refuse(peer, slot, 0, Why::NotReady);
                false
            }
        }
    }

    pub(super) fn asked_where(&mut self, peer: PeerKey, slot: Slot, token: Token) {
        if self.is_holder(peer, slot, token) {
            self.report(slot);
        }
    }

    pub(super) fn appended(&mut self, peer: PeerKey, slot: Slot, token: Token, append: Append) {
        if !self.is_holder(peer, slot, token) {
            return;
        }
        let bytes: u64 = append.items.iter().map(|one| one.size() as u64).sum();
        if self.full {
            return self.refuse(peer, slot, 0, Why::Full);
        }
        if self.applying + bytes > self.config.applying {
            return self.refuse(peer, slot, 0, Why::Busy);
        }
        let copy = self.copy(slot);
        let Append { log, after, upto, lifts, mut items } = append;
        let nothing = Position { token, seq: 0, log };
        let blank = copy.is_blank() && lifts && after == 0;
        let at = copy.received.filter(|at| at.log == log && after <= at.seq);
        let Some(at) = at.or(blank.then_some(nothing)) else {
            // Something is here of which nobody knows what it is worth.
            if lifts && after == 0 && upto == 0 {
                return self.wish(slot, peer, Purpose::Reconcile { token });
            }
            // Everything that was on its way behind the gap would be answered the same: once is enough.
            let gap = Box::new((token, copy.received));
            if copy.gap.as_ref() != Some(&gap) {
                copy.gap = Some(gap);
                self.report(slot);
            }
            return;
        };
        copy.gap = None;
        if upto <= at.seq {
            items.clear();
        }
        let lifted = lifts || at.token == token;
        let position = Position { token: if lifted { token } else { at.token }, seq: upto.max(at.seq), log };
        let then = Then::Ack { to: peer, counter: token.counter, upto, lifted };
        self.write(slot, items, Some(position), then);
    }

    /// What the holder sent is on disk. Who has promised a higher token since keeps it, and does not say so.
    pub(super) fn acknowledge(&mut self, slot: Slot, to: PeerKey, counter: u64, upto: u64, lifted: bool) {
        let token = Token { counter, minter: to };
        if self.is_holder(to, slot, token) {
            self.send(to, Part::Acked { slot, counter, upto, lifted });
        }
    }

    pub(super) fn told_to_fetch(&mut self, peer: PeerKey, slot: Slot, token: Token) {
        if self.is_holder(peer, slot, token) {
            self.wish(slot, peer, Purpose::Reconcile { token });
        }
    }

    /// The holder's content, to be compared with ours if we have come as far.
    pub(super) fn told_root(&mut self, peer: PeerKey, slot: Slot, token: Token, seq: u64, root: Root) {
        if !self.is_holder(peer, slot, token) {
            return;
        }
        let there = self.copies.get(&slot).and_then(|copy| copy.position);
        let reading = Reading::OwnRoot { slot, peer, token, root };
        if there.is_some_and(|at| at.token == token && at.seq >= seq) && !self.is_reading(&reading) {
            self.ask_store(Read::Digest(slot), reading);
        }
    }

    pub(super) fn own_root_read(
        &mut self,
        slot: Slot,
        peer: PeerKey,
        token: Token,
        root: Root,
        answer: Answer,
    ) {
        let Answer::Digest { seq, documents, buckets } = answer else { return };
        let own = buckets.root();
        let Some(copy) = self.copies.get_mut(&slot) else { return };
        copy.digest = Some((seq, documents, own));
        if own != root && self.member_of(slot).is_some_and(|claim| claim.token == token) {
            self.wish(slot, peer, Purpose::Repair { token });
        }
    }

    /// A comparison with the holder did not come to its end: said once more where we are, it asks for another.
    pub(super) fn report_later(&mut self, slot: Slot) {
        let after = self.backoff(2);
        self.at(after, Timer::Report(slot));
    }
}
