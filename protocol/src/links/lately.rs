//! Links that were made durable elsewhere lately, so that the same link found again is not sent again.
//!
//! Two generations of exact fingerprints: when the young one is full the old one is forgotten and the young one takes its
//! place (as in a clock with one hand, or the "active-active" pair of Bloom filters of Yoon 2010, *Aging Bloom Filter with
//! Two Active Buffers*), so what was seen within the last [`Lately::new`]`(n)` entries is known, and at most twice as many
//! are kept. A Bloom filter would be smaller, but each of its false positives would lose a link for good.
//!
//! *What can still be lost.* Two links with one fingerprint of 64 bits: with 2^20 entries known a new link is taken for another with a
//! probability of 2·2^20 / 2^64 = 2^-43, that is one link of nine million million. An attacker who wants to suppress a link must find a
//! second preimage of 64 bits, for a link of the same site.

use crate::key::Slot;
use crate::map::Set;
use std::collections::BTreeMap;

/// The bounded filter. It lives in memory: after a restart links are sent again, and received as known.
#[derive(Debug)]
pub struct Lately {
    each: usize,
    young: Set<u64>,
    old: Set<u64>,
    /// How often a slot's links were forgotten: mixed into fingerprints, so that those before never match. As many entries as
    /// there are slots at most.
    forgotten: BTreeMap<Slot, u64>,
}

impl Lately {
    /// A filter that knows at least the last `n` links and at most twice as many. Costs some 18 bytes for each.
    pub fn new(n: usize) -> Lately {
        Lately { each: n, young: Set::default(), old: Set::default(), forgotten: BTreeMap::new() }
    }

    /// Whether the link of this slot was entered lately.
    pub fn knows(&self, slot: Slot, fingerprint: u64) -> bool {
        let key = self.key(slot, fingerprint);
        self.young.contains(&key) || self.old.contains(&key)
    }

    /// Enters links of a slot that are durable there ([`super::Effect::Sent`]): never before.
    pub fn enter(&mut self, slot: Slot, fingerprints: &[u64]) {
        for &fingerprint in fingerprints {
            let key = self.key(slot, fingerprint);
            if self.young.len() >= self.each {
                self.old = std::mem::take(&mut self.young);
            }
            if self.each > 0 {
                self.young.insert(key);
            }
        }
    }

    /// Forgets the links of a slot: its holder may have lost what it had ([`super::Effect::Replay`]).
    pub fn forget(&mut self, slot: Slot) {
        *self.forgotten.entry(slot).or_default() += 1;
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// True if none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn key(&self, slot: Slot, fingerprint: u64) -> u64 {
        // An odd multiplier (of the golden ratio): another value for each time that the slot was forgotten.
        let times = self.forgotten.get(&slot).copied().unwrap_or(0);
        fingerprint ^ times.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slot(number: u16) -> Slot {
        Slot::new(number).expect("a slot")
    }

    #[test]
    fn the_last_ones_are_known_and_memory_is_bounded() {
        let mut lately = Lately::new(100);
        for n in 0..10_000_u64 {
            lately.enter(slot(1), &[n]);
            assert!(lately.len() <= 200);
            assert!((n.saturating_sub(99)..=n).all(|m| lately.knows(slot(1), m)), "{n}");
        }
        assert!(!lately.knows(slot(1), 5));
    }

    #[test]
    fn a_slot_is_forgotten_by_itself_and_can_be_entered_again() {
        let mut lately = Lately::new(100);
        lately.enter(slot(1), &[7]);
        lately.enter(slot(2), &[8]);
        lately.forget(slot(1));
        assert!(!lately.knows(slot(1), 7) && lately.knows(slot(2), 8));
        lately.enter(slot(1), &[7]);
        assert!(lately.knows(slot(1), 7));
    }

    #[test]
    fn a_filter_without_room_suppresses_nothing() {
        let mut lately = Lately::new(0);
        lately.enter(slot(1), &[7]);
        assert!(lately.is_empty() && !lately.knows(slot(1), 7));
    }

    proptest! {
        #[test]
        fn nothing_is_known_that_was_not_entered(entered: Vec<u64>, asked: u64, n in 0usize..50) {
            let mut lately = Lately::new(n);
            lately.enter(slot(3), &entered);
            prop_assert!(!lately.knows(slot(3), asked) || entered.contains(&asked));
        }
    }
}
