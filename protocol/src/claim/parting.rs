//! The order in which a peer that leaves gives its slots away.
//!
//! Some at a time, those with content first: who is stopped before all are given has given away many, not begun with all. More each
//! time, since a slot goes through some six messages and syncs, which those that go together share.

use crate::key::Slot;
use crate::time::Instant;
use std::collections::BTreeSet;
use std::time::Duration;

/// Slots that are given away at once, at first. Peers built without optimisation do so many in a second, beside other work.
const FIRST: usize = 256;
/// At last.
const MOST: usize = 4_096;
/// Slots whose heirs do not answer keep the others waiting so long.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is left to be given away.
#[derive(Debug)]
pub(super) struct Parting {
    /// Those that wait, in order: without content last.
    waiting: BTreeSet<(bool, Slot)>,
    begun: BTreeSet<Slot>,
    at_once: usize,
    /// When the next are begun with, however many are left of those before.
    next_at: Instant,
}

impl Parting {
    /// All these go; of which `has_content` holds, first.
    pub fn new(
        now: Instant,
        slots: impl Iterator<Item = Slot>,
        has_content: impl Fn(Slot) -> bool,
    ) -> Parting {
        let waiting = slots.map(|slot| (!has_content(slot), slot)).collect();
        Parting { waiting, begun: BTreeSet::new(), at_once: FIRST / 2, next_at: now }
    }

    /// Whether the turn of a slot has not come.
    pub fn waits(&self, slot: Slot) -> bool {
        [false, true].iter().any(|empty| self.waiting.contains(&(*empty, slot)))
    }

    /// A slot is not held any more.
    pub fn gone(&mut self, slot: Slot) {
        self.begun.remove(&slot);
        [false, true].into_iter().for_each(|empty| {
            self.waiting.remove(&(empty, slot));
        });
    }

    /// Those whose turn it is now: when half of those before are gone, or have not moved for long.
    pub fn next(&mut self, now: Instant) -> Vec<Slot> {
        if self.waiting.is_empty() || self.begun.len() > self.at_once / 2 && now < self.next_at {
            return Vec::new();
        }
        if now >= self.next_at {
            self.begun.clear();
        }
        self.next_at = now + PATIENCE;
        self.at_once = (self.at_once * 2).min(MOST);
        let room = self.at_once - self.begun.len();
        let next: Vec<Slot> =
            std::iter::from_fn(|| self.waiting.pop_first()).take(room).map(|(_, slot)| slot).collect();
        self.begun.extend(&next);
        next
    }

    /// When [`Parting::next`] is to be asked at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(self.next_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Duration = Duration::from_millis(10);

    fn slots(from: u16, to: u16) -> Vec<Slot> {
        (from..to).filter_map(Slot::new).collect()
    }

    #[test]
    fn what_has_content_goes_first_and_the_rest_when_half_of_that_is_gone() {
        let now = Instant::ZERO;
        let mut parting = Parting::new(now, slots(0, 3_000).into_iter(), |slot| slot.number() >= 2_900);
        let first = parting.next(now);
        assert_eq!(first[..100], slots(2_900, 3_000));
        assert_eq!(first[100..], slots(0, 156));
        assert!(!parting.waits(first[0]) && !parting.waits(first[255]) && parting.waits(slots(156, 157)[0]));
        first[..127].iter().for_each(|slot| parting.gone(*slot));
        assert!(parting.next(now + LATER).is_empty());
        parting.gone(first[127]);
        assert_eq!(parting.next(now + LATER), slots(156, 156 + 384), "512 at once");
        assert!(parting.next(now + LATER).is_empty());
    }

    #[test]
    fn those_that_do_not_move_are_not_waited_for() {
        let now = Instant::ZERO;
        let mut parting = Parting::new(now, slots(0, 700).into_iter(), |_| false);
        assert_eq!(parting.next(now).len(), 256);
        assert_eq!(parting.deadline(), Some(now + PATIENCE));
        assert_eq!(parting.next(now + PATIENCE), slots(256, 700));
        assert_eq!(parting.deadline(), None);
        assert!(parting.next(now + PATIENCE * 2).is_empty());
    }
}
