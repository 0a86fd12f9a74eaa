//! What is placed here and held elsewhere: it comes back when its contract is over, and when nothing is done with it.
//!
//! Whose contract it is does not matter: a contractor may have given it on. What lies with a peer that does nothing is as well off at home.

use super::io::Effect;
use super::manager::{SOONER, soonest};
use super::state::Common;
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::time::Instant;
use std::collections::{BTreeMap, BTreeSet};

/// A slot that is placed here, and held by another peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Astray {
    /// Who holds it.
    pub at: PeerKey,
    /// How often something of it was tried there, as far as came to this peer's copy.
    pub tried: u64,
}

/// All that are astray: at most all slots that there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Strayed {
    /// As they were last.
    seen: BTreeMap<Slot, Astray>,
    /// When something last changed of what each has: who has much does it one after the other.
    worked: BTreeMap<PeerKey, Instant>,
    /// What went by a contract of this peer's, wherever it is now.
    lent: BTreeSet<Slot>,
    /// What is to come back from whom, and until when.
    over: BTreeMap<Slot, (PeerKey, Instant)>,
}

impl Strayed {
    /// It goes by a contract.
    pub fn lend(&mut self, slot: Slot) {
        self.lent.insert(slot);
    }

    /// A contract is over.
    pub fn expect(&mut self, slot: Slot, from: PeerKey, by: Instant) {
        self.over.insert(slot, (from, by));
    }

    /// A peer has broken a contract: it has some time yet to give back what it has.
    pub fn warn(&mut self, peer: PeerKey, now: Instant) {
        self.worked.insert(peer, now);
    }

    /// It is held here.
    pub fn came(&mut self, slot: Slot) {
        self.over.remove(&slot);
        self.lent.remove(&slot);
    }

    /// Looks what is late, or neglected: it is taken back. Again and again, until it is here or elsewhere.
    /// What a contract of this peer's is about is judged by that first, unless its contractor says that nothing waits there.
    pub fn look(&mut self, contracted: &BTreeSet<Slot>, common: &mut Common) {
        let (now, stall, astray) = (common.now, common.config.stall, &common.report.strayed);
        let mut lots: BTreeMap<PeerKey, usize> = BTreeMap::new();
        astray.values().for_each(|one| *lots.entry(one.at).or_default() += 1);
        self.lent.retain(|slot| astray.contains_key(slot) || contracted.contains(slot));
        let neglected = |slot: &Slot, peer: &PeerKey| match common.standing.trusts(peer, now) {
            // Who broke a contract by doing nothing may have had more from another contractor.
            false => stall / SOONER,
            // If it was given on, who did that would have it back by then.
            true if self.lent.contains(slot) && !contracted.contains(slot) => {
                soonest(lots.get(peer).copied().unwrap_or(0), stall) + stall / SOONER
            }
            true => stall * 2,
        };
        self.over.retain(|slot, (from, by)| now < *by || astray.get(slot).is_some_and(|one| one.at == *from));
        for (slot, one) in astray {
            if self.seen.get(slot) != Some(one) {
                self.worked.insert(one.at, now);
            }
        }
        self.seen.clone_from(astray);
        self.worked.retain(|peer, _| astray.values().any(|one| one.at == *peer));
        for (slot, one) in astray {
            let late = self.over.get(slot).is_some_and(|(_, by)| now >= *by);
            let idle = self.worked.get(&one.at).is_some_and(|at| now >= *at + neglected(slot, &one.at));
            if late || idle {
                common.out.push(Effect::Revoke(*slot));
            }
        }
    }
}
