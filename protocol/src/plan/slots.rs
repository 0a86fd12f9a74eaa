//! Sets of slots.

use crate::key::{SLOTS, Slot};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Words of 64 bits in a set.
pub const WORDS: usize = SLOTS as usize / 64;
/// Sets of more runs than this travel as bits: a run has 6 bytes at most, all bits 2 KiB.
const MAX_RUNS: usize = 341;

/// A set of slots: 2 KiB in memory, less on the wire where it has few runs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct SlotSet(Box<[u64; WORDS]>);

/// How a set travels.
#[derive(Serialize, Deserialize)]
enum Wire {
    /// First slot and how many more follow it; in rising order, not touching.
    Runs(Vec<(u16, u16)>),
    /// All bits, the lowest slot in the lowest bit of the first byte.
    Bits(Vec<u8>),
}

impl SlotSet {
    /// None.
    pub fn empty() -> SlotSet {
        SlotSet(Box::new([0; WORDS]))
    }

    /// All there are.
    pub fn all() -> SlotSet {
        SlotSet(Box::new([u64::MAX; WORDS]))
    }

    /// Adds a slot.
    pub fn insert(&mut self, slot: Slot) {
        let number = usize::from(slot.number());
        if let Some(word) = self.0.get_mut(number / 64) {
            *word |= 1 << (number % 64);
        }
    }

    /// Takes a slot out.
    pub fn remove(&mut self, slot: Slot) {
        let number = usize::from(slot.number());
        if let Some(word) = self.0.get_mut(number / 64) {
            *word &= !(1 << (number % 64));
        }
    }

    /// Whether a slot is in it.
    pub fn contains(&self, slot: Slot) -> bool {
        let number = usize::from(slot.number());
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The slots, in order.
    pub fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        self.0.iter().enumerate().flat_map(|(place, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Slot::new((place * 64) as u16 + bit as u16)
            })
        })
    }

    /// First and last slots of the runs, in order.
    pub fn runs(&self) -> Vec<(Slot, Slot)> {
        let mut runs: Vec<(Slot, Slot)> = Vec::new();
        for slot in self.iter() {
            match runs.last_mut().filter(|(_, last)| last.number() + 1 == slot.number()) {
                Some(run) => run.1 = slot,
                None => runs.push((slot, slot)),
            }
        }
        runs
    }

    /// All bits: slot n is bit n % 64 of word n / 64.
    pub fn words(&self) -> &[u64; WORDS] {
        &self.0
    }

    /// Adds those of another set.
    pub fn add(&mut self, other: &SlotSet) {
        self.0.iter_mut().zip(other.0.iter()).for_each(|(a, b)| *a |= b);
    }

    /// Takes out those of another set.
    pub fn subtract(&mut self, other: &SlotSet) {
        self.0.iter_mut().zip(other.0.iter()).for_each(|(a, b)| *a &= !b);
    }

    /// Those in both.
    pub fn and(&self, other: &SlotSet) -> SlotSet {
        let mut both = self.clone();
        both.0.iter_mut().zip(other.0.iter()).for_each(|(a, b)| *a &= b);
        both
    }
}

impl Default for SlotSet {
    fn default() -> SlotSet {
        SlotSet::empty()
    }
}

impl FromIterator<Slot> for SlotSet {
    fn from_iter<I: IntoIterator<Item = Slot>>(slots: I) -> SlotSet {
        let mut set = SlotSet::empty();
        slots.into_iter().for_each(|slot| set.insert(slot));
        set
    }
}

impl fmt::Debug for SlotSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.runs().iter().map(|(a, b)| a.number()..=b.number())).finish()
    }
}

impl From<SlotSet> for Wire {
    fn from(set: SlotSet) -> Wire {
        let runs = set.runs();
        match runs.len() <= MAX_RUNS {
            true => Wire::Runs(runs.iter().map(|(a, b)| (a.number(), b.number() - a.number())).collect()),
            false => Wire::Bits(set.0.iter().flat_map(|word| word.to_le_bytes()).collect()),
        }
    }
}

impl TryFrom<Wire> for SlotSet {
    type Error = &'static str;

    fn try_from(wire: Wire) -> Result<SlotSet, &'static str> {
        let mut set = SlotSet::empty();
        match wire {
            Wire::Runs(runs) => {
                let mut least = 0;
                for (first, more) in runs {
                    let end = u32::from(first) + u32::from(more) + 1;
                    if u32::from(first) < least || end > SLOTS {
                        return Err("runs of slots out of order or beyond the last");
                    }
                    (first..=first + more).filter_map(Slot::new).for_each(|slot| set.insert(slot));
                    least = end + 1;
                }
            }
            Wire::Bits(bytes) => {
                if bytes.len() != WORDS * 8 {
                    return Err("a set of slots with another number of bits");
                }
                for (word, eight) in set.0.iter_mut().zip(bytes.chunks_exact(8)) {
                    *word = eight.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
                }
            }
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Versioned, decode, encode};
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Sent(SlotSet);

    impl Versioned for Sent {
        const VERSION: u8 = 1;
        const LIMIT: usize = 0x1_0000;
    }

    fn set(numbers: impl IntoIterator<Item = u16>) -> SlotSet {
        numbers.into_iter().filter_map(Slot::new).collect()
    }

    #[test]
    fn few_runs_are_small_and_many_are_no_larger_than_all_bits() {
        let bytes = |set: &SlotSet| encode(&Sent(set.clone())).len();
        assert!(bytes(&SlotSet::all()) < 10 && bytes(&SlotSet::empty()) < 10);
        let worst = set((0..16_384).step_by(2));
        assert!(bytes(&worst) <= 2_060, "{}", bytes(&worst));
        let most_runs = set((8_000..8_000 + 2 * MAX_RUNS as u16).step_by(2));
        assert!(bytes(&most_runs) <= 2_060, "{}", bytes(&most_runs));
        for sent in [worst, most_runs, SlotSet::all(), SlotSet::empty()] {
            assert_eq!(decode::<Sent>(&encode(&Sent(sent.clone()))), Ok(Sent(sent)));
        }
    }

    #[test]
    fn runs_that_are_none_are_refused() {
        for runs in [
            vec![(5, 0), (5, 0)],
            vec![(5, 0), (6, 0)],
            vec![(16_384, 0)],
            vec![(16_000, 500)],
            vec![(9, 65_535)],
        ] {
            assert!(SlotSet::try_from(Wire::Runs(runs)).is_err());
        }
        assert!(SlotSet::try_from(Wire::Bits(vec![0; 2_047])).is_err());
    }

    proptest! {
        #[test]
        fn it_is_a_set(one in btree_set(0u16..16_384, 0..60), other in btree_set(0u16..16_384, 0..60)) {
            let (a, b) = (set(one.iter().copied()), set(other.iter().copied()));
            prop_assert_eq!(a.iter().map(Slot::number).collect::<Vec<_>>(), one.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(a.len(), one.len());
            prop_assert_eq!(a.and(&b), set(one.intersection(&other).copied()));
            let mut sum = a.clone();
            sum.add(&b);
            prop_assert_eq!(&sum, &set(one.union(&other).copied()));
            sum.subtract(&b);
            prop_assert_eq!(sum, set(one.difference(&other).copied()));
            prop_assert_eq!(decode::<Sent>(&encode(&Sent(a.clone()))), Ok(Sent(a)));
        }

        #[test]
        fn dense_sets_are_read_as_written(words in vec(any::<u64>(), WORDS)) {
            let words: [u64; WORDS] = words.try_into().expect("as many");
            let sent = Sent(SlotSet(Box::new(words)));
            prop_assert_eq!(decode::<Sent>(&encode(&sent)), Ok(sent));
        }
    }
}
