//! Sets of slots: of which part of an index's documents is asked.

/// Slots there are. A document's is named by the first 14 bits of its key, whatever a slot is to who makes the keys.
pub const SLOTS: usize = 1 << BITS;
const BITS: u32 = 14;

/// A set of slots; slots from [`SLOTS`] on are in none.
#[derive(Clone, PartialEq, Eq)]
pub struct Slots(Box<[u64; SLOTS / 64]>);

impl Slots {
    /// None of them.
    pub fn none() -> Self {
        Self(Box::new([0; SLOTS / 64]))
    }

    /// All of them.
    pub fn all() -> Self {
        Self(Box::new([u64::MAX; SLOTS / 64]))
    }

    /// The set with these bits: slot n is bit n % 64 of word n / 64.
    pub fn from_words(words: &[u64; SLOTS / 64]) -> Self {
        Self(Box::new(*words))
    }

    /// The slot of a key.
    pub fn of(key: &[u8; 16]) -> u16 {
        u16::from_be_bytes([key[0], key[1]]) >> (16 - BITS)
    }

    /// The slot of a key whose first eight bytes are this number.
    #[inline]
    pub(crate) fn of_high(high: u64) -> u16 {
        (high >> (64 - BITS)) as u16
    }

    /// Adds a slot.
    pub fn insert(&mut self, slot: u16) {
        if let Some(word) = self.0.get_mut(usize::from(slot) / 64) {
            *word |= 1 << (slot % 64);
        }
    }

    /// Whether a slot is in it.
    #[inline]
    pub fn contains(&self, slot: u16) -> bool {
        self.0.get(usize::from(slot) / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }
}

impl FromIterator<u16> for Slots {
    fn from_iter<I: IntoIterator<Item = u16>>(slots: I) -> Self {
        let mut set = Self::none();
        slots.into_iter().for_each(|slot| set.insert(slot));
        set
    }
}

impl std::fmt::Debug for Slots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} slots", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in() {
        let set: Slots = [3, 64, 16_383, 16_384, u16::MAX].into_iter().collect();
        assert_eq!(set.len(), 3);
        assert!(set.contains(3) && set.contains(64) && set.contains(16_383));
        assert!(!set.contains(4) && !set.contains(16_384) && !set.contains(u16::MAX));
        assert!(Slots::none().is_empty() && Slots::all().len() == SLOTS);
    }

    #[test]
    fn a_slot_is_the_first_bits_of_the_key() {
        let mut key = [0; 16];
        key[..3].copy_from_slice(&[0b1000_0000, 0b0000_0111, 0xff]);
        assert_eq!(Slots::of(&key), 0b10_0000_0000_0001);
        let high = u64::from_be_bytes(key[..8].try_into().unwrap());
        assert_eq!(Slots::of_high(high), Slots::of(&key));
        assert_eq!(usize::from(Slots::of(&[0xff; 16])), SLOTS - 1);
    }
}
