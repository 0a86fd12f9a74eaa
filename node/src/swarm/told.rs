//! What others were told of copies here: changes are news, and the rest becomes news again in parts.

use anthill_protocol::key::Slot;
use anthill_protocol::plan::Manifest;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How often a part of what was told is told again, and how many parts there are: what was lost with a connection is made up for within
/// five minutes, for some kilobytes a second where every slot has documents.
const AGAIN: (Duration, u16) = (Duration::from_secs(60), 5);

/// At most one manifest of each slot.
pub struct Told {
    manifests: BTreeMap<Slot, Manifest>,
    /// When a part is forgotten, and which.
    next: (Instant, u16),
}

impl Told {
    /// Nothing was told.
    pub fn new(now: Instant) -> Told {
        Told { manifests: BTreeMap::new(), next: (now + AGAIN.0, 0) }
    }

    /// Somebody was told nothing: all is news.
    pub fn forget(&mut self) {
        self.manifests.clear();
    }

    /// A part is news again, when it is time.
    pub fn forget_a_part(&mut self, now: Instant) {
        let (at, part) = self.next;
        if at <= now {
            self.manifests.retain(|slot, _| slot.number() % AGAIN.1 != part);
            self.next = (now + AGAIN.0, (part + 1) % AGAIN.1);
        }
    }

    /// Whether this is to be told, which it is then.
    pub fn is_news(&mut self, slot: Slot, manifest: Manifest) -> bool {
        self.manifests.insert(slot, manifest) != Some(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_protocol::claim::Token;

    fn manifest(documents: u32) -> Manifest {
        let token = Token { counter: 1, minter: anthill_protocol::peer::PeerKey([1; 32]) };
        Manifest { token, seq: 1, documents, whole: true }
    }

    #[test]
    fn a_change_is_news_once() {
        let (mut told, slot) = (Told::new(Instant::now()), Slot::all().next().expect("a slot"));
        let is_news: Vec<bool> =
            [1, 1, 2, 2, 1].map(|documents| told.is_news(slot, manifest(documents))).into();
        assert_eq!(is_news, [true, false, true, false, true]);
        told.forget();
        assert!(told.is_news(slot, manifest(1)));
    }

    #[test]
    fn within_five_minutes_each_slot_is_news_again_once_and_a_fifth_of_them_at_a_time() {
        let begun = Instant::now();
        let mut told = Told::new(begun);
        Slot::all().for_each(|slot| assert!(told.is_news(slot, manifest(1))));
        let mut again: BTreeMap<Slot, u32> = BTreeMap::new();
        // Asked every five seconds, as the planner does.
        for step in 0..60 {
            told.forget_a_part(begun + Duration::from_secs(5) * (step + 1));
            let news: Vec<Slot> = Slot::all().filter(|slot| told.is_news(*slot, manifest(1))).collect();
            assert!(news.len() <= Slot::all().count().div_ceil(5), "{} at once", news.len());
            news.into_iter().for_each(|slot| *again.entry(slot).or_default() += 1);
        }
        assert!(Slot::all().all(|slot| again.get(&slot) == Some(&1)));
    }
}
