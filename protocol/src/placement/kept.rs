//! Owners that were asked for before: a swarm's views follow each other quickly, and most leave the placement as it was.

use super::{Few, MAX_OWNERS};
use crate::key::{SLOTS, Slot};
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most owners of a slot that are kept: their places in the list of members, 16 bits each, in one word.
const MOST: usize = 4;
const BITS: usize = 16;

/// The owners of each slot that was asked about, by how many were asked for: 128 kB for each number that ever was.
#[derive(Default)]
pub(super) struct Kept {
    by_count: [OnceLock<Box<[AtomicU64]>>; MOST + 1],
}

impl Kept {
    /// The `r` owners of a slot, found out at most once; of more than are kept, or among more members than places can name, each time.
    pub fn owners(
        &self,
        slot: Slot,
        r: usize,
        members: usize,
        find: impl FnOnce() -> Few<MAX_OWNERS>,
    ) -> Few<MAX_OWNERS> {
        let Some(slots) = self.by_count.get(r).filter(|_| members < usize::from(u16::MAX)) else {
            return find();
        };
        let slots = slots.get_or_init(|| (0..SLOTS).map(|_| AtomicU64::new(0)).collect());
        let word = &slots[usize::from(slot.number())];
        match word.load(Ordering::Relaxed) {
            0 => {
                let found = find();
                word.store(pack(&found), Ordering::Relaxed);
                found
            }
            kept => unpack(kept),
        }
    }
}

/// Places counted from one, so that nothing is found out yet where there is none.
fn pack(owners: &Few<MAX_OWNERS>) -> u64 {
    let places = owners.as_slice().iter().rev();
    places.fold(0, |word, &place| word << BITS | (u64::from(place) + 1))
}

fn unpack(mut word: u64) -> Few<MAX_OWNERS> {
    let mut owners = Few::new();
    while word != 0 {
        owners.push((word & u64::from(u16::MAX)) as u32 - 1);
        word >>= BITS;
    }
    owners
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}
