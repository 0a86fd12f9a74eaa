//! Planted bugs that are more than an effect left out.

use super::node::Peer;
use super::{Variant, config};
use anthill_protocol::claim::{Message, Part, Token};
use anthill_protocol::key::Slot;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::time::Instant;

impl Peer {
    /// The planted bug of the old set: answers of those left out, made up.
    pub(super) fn forged(&self, to: PeerKey, message: &Message) -> Option<(PeerKey, Message)> {
        let Message::Parts(parts) = message else { return None };
        if self.variant != Variant::ForgetsOldSet {
            return None;
        }
        let forged = parts.iter().filter_map(|part| match part {
            Part::Propose { mint, round } if !mint.body().claim.keeps(&to) => {
                let claim = &mint.body().claim;
                Some(Part::Accepted { slot: claim.slot, counter: claim.token.counter, round: *round })
            }
            _ => None,
        });
        let forged: Vec<Part> = forged.collect();
        (!forged.is_empty()).then_some((to, Message::Parts(forged)))
    }

    /// The lease by which permits are given.
    pub(super) fn lease(&self, slot: Slot, now: Instant) -> Option<(Token, Instant)> {
        let right = self.claims.lease(slot, now);
        if self.variant != Variant::CountsFromAnswer {
            return right;
        }
        let late = self.late_lease(slot).filter(|(_, until)| now < *until);
        right.into_iter().chain(late).max_by_key(|(_, until)| *until)
    }

    /// The planted bug of the answer: a lease that counts from when a majority's answers came.
    fn late_lease(&self, slot: Slot) -> Option<(Token, Instant)> {
        let (mint, _) = self.claims.claim(slot).filter(|_| self.claims.holds(slot))?;
        let (token, set) = (mint.claim.token, &mint.claim.set);
        let came = |peer: &PeerKey| {
            self.answered.get(&(slot, *peer)).filter(|(counter, _)| *counter == token.counter)
        };
        let mut times: Vec<Instant> = set.iter().filter_map(came).map(|(_, at)| *at).collect();
        times.sort_unstable_by(|a, b| b.cmp(a));
        // This peer needs no answer of its own.
        let at = times.get(mint.claim.majority().checked_sub(2)?)?;
        (!self.draining.contains(&slot)).then_some((token, *at + config().lease))
    }
}
