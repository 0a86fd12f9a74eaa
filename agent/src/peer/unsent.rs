//! Of which crawls links wait to be durable with the holders of their targets.

use anthill_crawler::record::CrawlId;
use anthill_protocol::key::Slot;
use anthill_protocol::links::{Cursor, Stored};
use std::collections::BTreeMap;

/// Up to which entry of each slot's link log there may be links of a crawl that are not durable. At most one mark for each slot and
/// crawl that has anything under way.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    of: BTreeMap<CrawlId, BTreeMap<Slot, u64>>,
    /// Of any crawl: what an earlier process left, and what is sent again after a take-over by force.
    any: BTreeMap<Slot, u64>,
    last: BTreeMap<Slot, u64>,
}

impl Unsent {
    /// What the disk has when the process starts.
    pub fn new(stored: &[Stored]) -> Unsent {
        let last = stored.iter().map(|one| (one.slot, one.last)).collect();
        let behind = stored.iter().filter(|one| one.last > one.cursor.durable);
        Unsent { of: BTreeMap::new(), any: behind.map(|one| (one.slot, one.last)).collect(), last }
    }

    /// Links were logged, of some of these crawls.
    pub fn logged(&mut self, slot: Slot, upto: u64, crawls: &[CrawlId]) {
        self.last.insert(slot, upto);
        for crawl in crawls {
            self.of.entry(*crawl).or_default().insert(slot, upto);
        }
    }

    /// Cursors moved.
    pub fn durable(&mut self, cursors: &[(Slot, Cursor)]) {
        for (slot, Cursor { durable, .. }) in cursors {
            for marks in self.of.values_mut().chain([&mut self.any]) {
                if marks.get(slot).is_some_and(|upto| upto <= durable) {
                    marks.remove(slot);
                }
            }
        }
        self.of.retain(|_, marks| !marks.is_empty());
    }

    /// All links of a slot are sent again.
    pub fn again(&mut self, slot: Slot) {
        if let Some(last) = self.last.get(&slot) {
            self.any.insert(slot, *last);
        }
    }

    /// Whether all links of a crawl are durable.
    pub fn is_clear(&self, crawl: CrawlId) -> bool {
        self.any.is_empty() && !self.of.contains_key(&crawl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(n: u16) -> Slot {
        Slot::new(n).expect("a slot")
    }

    fn cursor(n: u16, durable: u64) -> (Slot, Cursor) {
        (slot(n), Cursor { durable, forced: None })
    }

    #[test]
    fn a_crawl_is_clear_when_all_that_was_logged_for_it_is_durable() {
        let [a, b] = [CrawlId(1), CrawlId(2)];
        let mut unsent = Unsent::default();
        unsent.logged(slot(1), 5, &[a]);
        unsent.logged(slot(2), 3, &[a, b]);
        unsent.durable(&[cursor(1, 5), cursor(2, 2)]);
        assert!(!unsent.is_clear(a) && !unsent.is_clear(b));
        unsent.durable(&[cursor(2, 3)]);
        assert!(unsent.is_clear(a) && unsent.is_clear(b));
        unsent.again(slot(1));
        assert!(!unsent.is_clear(a), "whose links they are is not known");
        unsent.durable(&[cursor(1, 5)]);
        assert!(unsent.is_clear(a));
    }

    #[test]
    fn what_an_earlier_process_left_is_of_any_crawl() {
        let stored = |n, last, durable| Stored {
            slot: slot(n),
            oldest: 1,
            last,
            bytes: 9,
            behind: 9,
            cursor: Cursor { durable, forced: None },
        };
        let mut unsent = Unsent::new(&[stored(1, 5, 5), stored(2, 5, 4)]);
        assert!(!unsent.is_clear(CrawlId(1)));
        unsent.durable(&[cursor(2, 5)]);
        assert!(unsent.is_clear(CrawlId(1)));
    }
}
