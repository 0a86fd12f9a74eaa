//! Changes of slots that others follow, as they were written: most are asked for within a second, and need not be looked up again.

use anthill_protocol::key::Slot;
use anthill_protocol::replica::{Item, ItemKey};
use std::collections::{BTreeMap, VecDeque};

/// Bytes kept at most. When there are more all are forgotten: whoever asks is told what the store has.
const MOST: usize = 8 << 20;

/// Items by the numbers of their changes, of each slot without gaps, up to its last.
#[derive(Debug, Default)]
pub(super) struct Changes {
    of: BTreeMap<Slot, VecDeque<(u64, Item)>>,
    bytes: usize,
}

impl Changes {
    /// Whether changes of a slot are kept.
    pub fn follows(&self, slot: Slot) -> bool {
        self.of.contains_key(&slot)
    }

    /// Keeps changes of a slot from now on.
    pub fn follow(&mut self, slot: Slot) {
        self.of.entry(slot).or_default();
    }

    /// Does not any longer.
    pub fn forget(&mut self, slot: Slot) {
        let gone = self.of.remove(&slot).unwrap_or_default();
        self.bytes -= gone.iter().map(|(_, item)| item.size()).sum::<usize>();
    }

    /// A slot that is followed changed: these items, in order, the last of them with this number.
    pub fn add(&mut self, slot: Slot, last: u64, items: Vec<Item>) {
        let first = (last + 1).saturating_sub(items.len() as u64);
        if self.of.get(&slot).and_then(VecDeque::back).is_some_and(|(number, _)| number + 1 != first) {
            self.forget(slot);
        }
        self.bytes += items.iter().map(Item::size).sum::<usize>();
        self.of.entry(slot).or_default().extend((first..).zip(items));
        if self.bytes > MOST {
            self.of.values_mut().for_each(|changes| *changes = VecDeque::new());
            self.bytes = 0;
        }
    }

    /// What changed of a slot after a number and up to another, in order of keys, of each key what it was last, in about so many bytes and
    /// so many items; and up to which number that is. Nothing if it is not known here.
    pub fn take(
        &mut self,
        slot: Slot,
        after: u64,
        upto: u64,
        (most_bytes, most_items): (usize, usize),
    ) -> Option<(Vec<Item>, u64)> {
        let changes = self.of.get_mut(&slot)?;
        changes.front().filter(|(first, _)| *first <= after + 1)?;
        let (mut found, mut bytes, mut last) = (BTreeMap::<ItemKey, Item>::new(), 0, after);
        while let Some((number, item)) = changes.front().filter(|(number, _)| *number <= upto) {
            let is_full = bytes + item.size() > most_bytes || found.len() == most_items;
            if *number > after && is_full && !found.is_empty() {
                break;
            }
            let Some((number, item)) = changes.pop_front() else { break };
            self.bytes -= item.size();
            if number > after {
                (last, bytes) = (number, bytes + item.size());
                found.insert(item.key.clone(), item);
            }
        }
        (last > after).then(|| (found.into_values().collect(), last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_protocol::replica::Digest;
    use proptest::prelude::*;

    const SLOT: u16 = 3;

    fn slot() -> Slot {
        Slot::new(SLOT).unwrap()
    }

    fn item(key: u8, value: u64) -> Item {
        let value = value.to_be_bytes().to_vec();
        Item { key: ItemKey::new(slot(), &[key]).unwrap(), digest: Digest::of(&value), value }
    }

    #[test]
    fn what_was_not_followed_or_not_by_number_is_not_known() {
        let mut changes = Changes::default();
        assert_eq!(changes.take(slot(), 0, 9, (100, 9)), None);
        changes.follow(slot());
        assert_eq!(changes.take(slot(), 0, 9, (100, 9)), None);
        changes.add(slot(), 6, vec![item(1, 5), item(2, 6)]);
        assert_eq!(changes.take(slot(), 3, 9, (100, 9)), None, "4 is not there");
        changes.add(slot(), 8, vec![item(1, 8)]);
        assert_eq!(changes.take(slot(), 4, 9, (100, 9)), None, "7 was not told");
        assert_eq!(changes.take(slot(), 7, 7, (100, 9)), None, "8 is not synced");
        assert_eq!(changes.take(slot(), 7, 9, (100, 9)), Some((vec![item(1, 8)], 8)));
        assert_eq!(changes.take(slot(), 7, 9, (100, 9)), None, "told once");
        assert_eq!(changes.bytes, 0);
    }

    #[test]
    fn what_is_too_much_is_forgotten_and_followed_on() {
        let mut changes = Changes::default();
        changes.follow(slot());
        let large = Item { value: vec![0; MOST], ..item(1, 1) };
        changes.add(slot(), 1, vec![large]);
        assert_eq!((changes.bytes, changes.take(slot(), 0, 9, (100, 9))), (0, None));
        assert!(changes.follows(slot()));
        changes.add(slot(), 2, vec![item(1, 2)]);
        assert_eq!(changes.take(slot(), 1, 9, (100, 9)), Some((vec![item(1, 2)], 2)));
    }

    proptest! {
        #[test]
        fn all_is_told_in_the_end_and_each_part_is_what_was_up_to_there(
            batches in prop::collection::vec(prop::collection::vec(0u8..5, 1..6), 1..8),
            most_items in 1usize..6,
            most_bytes in 1usize..200,
        ) {
            let mut changes = Changes::default();
            changes.follow(slot());
            let (mut number, mut log) = (0, Vec::new());
            for batch in batches {
                let items: Vec<Item> = batch.iter().zip(number + 1..).map(|(key, n)| item(*key, n)).collect();
                number += items.len() as u64;
                log.extend(items.clone());
                changes.add(slot(), number, items);
            }
            let mut after = 0;
            while let Some((items, upto)) = changes.take(slot(), after, number, (most_bytes, most_items)) {
                prop_assert!(items.len() <= most_items && upto > after);
                let of: BTreeMap<ItemKey, Item> =
                    log[after as usize..upto as usize].iter().map(|item| (item.key.clone(), item.clone())).collect();
                prop_assert_eq!(items, of.into_values().collect::<Vec<_>>());
                after = upto;
            }
            prop_assert_eq!((after, changes.bytes), (number, 0));
        }
    }
}
