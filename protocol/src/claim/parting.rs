//! The order in which a peer that leaves gives its slots away.
//!
//! Some at a time, those with content first and by themselves: who is stopped before all are given has given away many, not begun with
//! all. More each time, since a slot goes through some six messages and syncs, which those that go together share.

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
/// Those with content keep those without so long: what they hold is more than a claim.
const CONTENT: Duration = Duration::from_secs(3);

/// What is left to be given away.
#[derive(Debug)]
pub(super) struct Parting {
    /// Those that wait, in order: without content last.
    waiting: BTreeSet<(bool, Slot)>,
    begun: BTreeSet<Slot>,
    /// Those that are begun have content.
    has_content: bool,
    at_once: usize,
    /// When the last were begun with.
    begun_at: Instant,
}

impl Parting {
    /// All these go; of which `has_content` holds, first.
    pub fn new(
        now: Instant,
        slots: impl Iterator<Item = Slot>,
        has_content: impl Fn(Slot) -> bool,
    ) -> Parting {
        let waiting = slots.map(|slot| (!has_content(slot), slot)).collect();
        Parting { waiting, begun: BTreeSet::new(), has_content: true, at_once: FIRST / 2, begun_at: now }
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

    /// Of those that are begun, how many may be left, and for how long they may be more, before those are begun with that are next; none
    /// if nothing waits.
    fn before_next(&self) -> Option<(usize, Duration)> {
        let (is_empty, _) = self.waiting.first()?;
        Some(if *is_empty && self.has_content { (0, CONTENT) } else { (self.at_once / 2, PATIENCE) })
    }

    /// Those whose turn it is now: when half of those before are gone, all if they have content and these have none, or have not moved
    /// for long.
    pub fn next(&mut self, now: Instant) -> Vec<Slot> {
        let Some((few, patience)) = self.before_next() else { return Vec::new() };
        let is_late = now >= self.begun_at + patience;
        if self.begun.len() > few && !is_late {
            return Vec::new();
        }
        if is_late {
            self.begun.clear();
        }
        self.has_content = self.waiting.first().is_some_and(|(is_empty, _)| !is_empty);
        self.begun_at = now;
        self.at_once = (self.at_once * 2).min(MOST);
        let alike = self.waiting.iter().filter(|(is_empty, _)| *is_empty != self.has_content);
        let room = self.at_once - self.begun.len();
        let next: Vec<Slot> = alike.take(room).map(|(_, slot)| *slot).collect();
        next.iter().for_each(|slot| _ = self.waiting.remove(&(!self.has_content, *slot)));
        self.begun.extend(&next);
        next
    }

    /// When [`Parting::next`] is to be asked at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        self.before_next().map(|(_, patience)| self.begun_at + patience)
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
    fn what_has_content_goes_first_by_itself_and_the_rest_when_half_of_that_is_gone() {
        let now = Instant::ZERO;
        let mut parting = Parting::new(now, slots(0, 3_000).into_iter(), |slot| slot.number() >= 2_500);
        let content = parting.next(now);
        assert_eq!(content, slots(2_500, 2_756));
        assert!(!parting.waits(content[0]) && parting.waits(slots(2_756, 2_757)[0]));
        content[..127].iter().for_each(|slot| parting.gone(*slot));
        assert!(parting.next(now + LATER).is_empty());
        parting.gone(content[127]);
        assert_eq!(parting.next(now + LATER), slots(2_756, 3_000), "512 at once");
        slots(2_628, 2_999).iter().for_each(|slot| parting.gone(*slot));
        assert!(parting.next(now + LATER).is_empty(), "one with content is not gone");
        parting.gone(slots(2_999, 3_000)[0]);
        assert_eq!(parting.next(now + LATER), slots(0, 1_024));
        slots(0, 512).iter().for_each(|slot| parting.gone(*slot));
        assert_eq!(parting.next(now + LATER), slots(1_024, 2_500));
    }

    #[test]
    fn those_with_content_that_do_not_move_keep_the_others_for_a_while() {
        let now = Instant::ZERO;
        let mut parting = Parting::new(now, slots(0, 300).into_iter(), |slot| slot.number() < 1);
        assert_eq!(parting.next(now), slots(0, 1));
        assert_eq!(parting.deadline(), Some(now + CONTENT));
        assert!(parting.next(now + PATIENCE).is_empty());
        assert_eq!(parting.next(now + CONTENT), slots(1, 300));
    }

    #[test]
    fn those_that_do_not_move_are_not_waited_for() {
        let now = Instant::ZERO;
        let mut parting = Parting::new(now, slots(0, 700).into_iter(), |_| true);
        assert_eq!(parting.next(now).len(), 256);
        assert_eq!(parting.deadline(), Some(now + PATIENCE));
        assert_eq!(parting.next(now + PATIENCE), slots(256, 700));
        assert_eq!(parting.deadline(), None);
        assert!(parting.next(now + PATIENCE * 2).is_empty());
    }
}
