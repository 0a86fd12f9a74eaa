//! The best documents found so far.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use tantivy::DocAddress;

/// A document that may be a hit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranked {
    pub score: f32,
    pub key: [u8; 16],
    pub address: DocAddress,
}

impl Ranked {
    /// Best first.
    fn order(&self, other: &Self) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then(self.key.cmp(&other.key))
            .then(self.address.cmp(&other.address))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.order(other) == Ordering::Equal
    }
}
impl Eq for Ranked {}
impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Ranked {
    /// The worst is the greatest: it is at the top of a heap.
    fn cmp(&self, other: &Self) -> Ordering {
        self.order(other)
    }
}

/// The best `k` documents, at most.
pub(crate) struct Best {
    k: usize,
    heap: BinaryHeap<Ranked>,
}

impl Best {
    pub(crate) fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::new() }
    }

    /// The score below which a document cannot be among them; none while there is room. An equal score may do, by key.
    pub(crate) fn least(&self) -> Option<f32> {
        if self.heap.len() < self.k {
            None
        } else {
            Some(self.heap.peek().map_or(f32::INFINITY, |w| w.score))
        }
    }

    /// How many more will be taken in, whatever they score.
    pub(crate) fn room(&self) -> usize {
        self.k - self.heap.len()
    }

    /// Whether a document that scores no more than this is not among them for sure.
    pub(crate) fn beyond(&self, most: f32) -> bool {
        self.least().is_some_and(|least| most < least)
    }

    /// Takes a document in if it is among the best.
    pub(crate) fn offer(&mut self, ranked: Ranked) {
        if self.heap.len() < self.k {
            self.heap.push(ranked);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && ranked < *worst
        {
            *worst = ranked;
        }
    }

    /// Best first.
    pub(crate) fn into_sorted(self) -> Vec<Ranked> {
        self.heap.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_are_the_first_of_all_in_order(all in proptest::collection::vec((0u8..5, any::<u8>()), 0..60), k in 0usize..20) {
            let ranked = |(n, (score, key)): (u32, &(u8, u8))| Ranked {
                score: f32::from(*score),
                key: [*key; 16],
                address: DocAddress::new(0, n),
            };
            let mut all: Vec<Ranked> = (0..).zip(&all).map(ranked).collect();
            let mut best = Best::new(k);
            for one in &all {
                let beyond = best.beyond(one.score);
                let before = best.heap.clone().into_sorted_vec();
                best.offer(*one);
                if beyond {
                    prop_assert_eq!(best.heap.clone().into_sorted_vec(), before);
                }
            }
            all.sort();
            all.truncate(k);
            prop_assert_eq!(best.into_sorted(), all);
        }
    }
}
