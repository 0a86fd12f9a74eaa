//! Memory of thousands of slots, most of which went to other peers.

use std::collections::BTreeMap;

/// Values moved at once: so many are there twice for a moment.
const AT_ONCE: usize = 1_024;

/// Moves what these boxes have into new ones. An allocator gives a page back when nothing is left on it; where one of ten boxes is
/// left on each, moving those together frees most pages. New boxes are made before old ones are given up, which would be taken again.
pub fn repack<K: Ord, V: Clone>(map: &mut BTreeMap<K, Box<V>>) {
    let mut boxes = map.values_mut();
    loop {
        let some: Vec<&mut Box<V>> = boxes.by_ref().take(AT_ONCE).collect();
        if some.is_empty() {
            return;
        }
        let moved: Vec<Box<V>> = some.iter().map(|value| (*value).clone()).collect();
        some.into_iter().zip(moved).for_each(|(place, value)| *place = value);
    }
}

/// When it is time to move what is left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Thinning {
    /// How many there were at most since it was last time.
    most: usize,
}

impl Thinning {
    /// Fewer are not worth it.
    const FROM: usize = 1_024;

    /// There are so many now: whether a quarter of those that there were is gone.
    pub fn is_due(&mut self, count: usize) -> bool {
        self.most = self.most.max(count);
        let due = self.most >= Thinning::FROM && count <= self.most / 4 * 3;
        if due {
            self.most = count;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_moved_is_the_same_elsewhere() {
        let mut map: BTreeMap<usize, Box<usize>> = (0..3 * AT_ONCE + 7).map(|n| (n, Box::new(n))).collect();
        let places = |map: &BTreeMap<usize, Box<usize>>| -> Vec<*const usize> {
            map.values().map(|value| std::ptr::from_ref(value.as_ref())).collect()
        };
        let (before, old) = (map.clone(), places(&map));
        repack(&mut map);
        assert_eq!(map, before);
        assert!(old.iter().zip(places(&map)).all(|(old, new)| *old != new));
    }

    #[test]
    fn it_is_time_when_a_quarter_is_gone_again_and_again() {
        let mut thinning = Thinning::default();
        let due: Vec<usize> = (1..=16_384).rev().filter(|count| thinning.is_due(*count)).collect();
        assert_eq!(due, [12_288, 9_216, 6_912, 5_184, 3_888, 2_916, 2_187, 1_638, 1_227, 918]);
        assert!(!thinning.is_due(0), "few are not worth it");
    }
}
