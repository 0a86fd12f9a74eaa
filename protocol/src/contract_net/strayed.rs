//! What is placed here and held elsewhere: it comes back when its contract is over, and when nothing is done with it.
//!
//! Whose contract it is does not matter: a contractor may have given it on. What lies with a peer that does nothing is as well off at home.

use super::io::Effect;
use super::manager::SOONER;
use super::state::Common;
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::time::Instant;
use std::collections::BTreeMap;

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
    /// What is to come back from whom, and until when.
    over: BTreeMap<Slot, (PeerKey, Instant)>,
}

impl Strayed {
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
    }

    /// Looks what is late, or neglected: it is taken back. Again and again, until it is here or elsewhere.
    pub fn look(&mut self, common: &mut Common) {
        let (now, stall, astray) = (common.now, common.config.stall, &common.report.strayed);
        // Who broke a contract by doing nothing may have had more from another contractor.
        let neglected = |peer| if common.standing.trusts(peer, now) { stall * 2 } else { stall / SOONER };
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
            let idle = self.worked.get(&one.at).is_some_and(|at| now >= *at + neglected(&one.at));
            if late || idle {
                common.out.push(Effect::Revoke(*slot));
            }
        }
    }
}
