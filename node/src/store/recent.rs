//! A bounded memory of what was written lately, shared by all workers: saves the store most of its look-ups.

use std::sync::atomic::{AtomicU64, Ordering};

/// 64-bit fingerprints in a table with one place each: a new one displaces the old one in its place. It may forget, it
/// never claims what it was not told (but for a fingerprint collision, 2^-64 per pair).
pub struct RecentSet {
    places: Box<[AtomicU64]>,
}

impl RecentSet {
    /// A table of `2^bits` places, 8 bytes each.
    pub fn new(bits: u32) -> RecentSet {
        RecentSet { places: (0..1usize << bits).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Its memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.places)
    }

    fn place(&self, fingerprint: u64) -> &AtomicU64 {
        // The low bits choose the place; all bits are compared.
        &self.places[fingerprint as usize & (self.places.len() - 1)]
    }

    /// Whether it was told of this fingerprint lately.
    pub fn contains(&self, fingerprint: u64) -> bool {
        fingerprint != 0 && self.place(fingerprint).load(Ordering::Relaxed) == fingerprint
    }

    /// Has it forget everything.
    pub fn clear(&self) {
        self.places.iter().for_each(|place| place.store(0, Ordering::Relaxed));
    }

    /// Tells it.
    pub fn insert(&self, fingerprint: u64) {
        self.place(fingerprint).store(fingerprint, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_knows_what_it_was_told_until_displaced() {
        let set = RecentSet::new(4);
        assert!(!set.contains(7));
        set.insert(7);
        assert!(set.contains(7));
        set.insert(7 + 16);
        assert!(!set.contains(7) && set.contains(23));
        assert!(!set.contains(0));
        set.clear();
        assert!(!set.contains(23));
    }
}
