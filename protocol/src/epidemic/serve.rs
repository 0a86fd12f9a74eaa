//! Answers to who asks, within a budget: nobody makes a peer send or check more than its share.

use super::Book;
use super::message::{MAX_ENTRIES, Message, that_fit};
use crate::peer::PeerKey;
use crate::time::Instant;
use std::collections::BTreeMap;
use std::time::Duration;

/// Peers whose spending is remembered. Those who spent nothing lately need not be.
const MAX_REMEMBERED: usize = 4_096;

/// A bound on what each peer, and all together, may make this one do: a token bucket each.
#[derive(Debug)]
pub(crate) struct Budget {
    each: Rate,
    all: Rate,
    spent: BTreeMap<PeerKey, Level>,
    together: Level,
}

/// What may be spent: at once, and per second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    /// At once, after a pause.
    pub burst: u64,
    /// In the long run.
    pub per_s: u64,
}

/// What was spent and not yet earned back, as of a time.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    spent: u64,
    at: Instant,
}

impl Level {
    /// The level now. Only the time that earned something whole is over; the rest counts later.
    fn now(self, rate: Rate, now: Instant) -> Level {
        let earned = now.since(self.at).as_micros().saturating_mul(u128::from(rate.per_s)) / 1_000_000;
        match u64::try_from(earned) {
            Ok(earned) if earned < self.spent => {
                let took = earned.saturating_mul(1_000_000).div_ceil(rate.per_s.max(1));
                Level { spent: self.spent - earned, at: self.at + Duration::from_micros(took) }
            }
            _ => Level { spent: 0, at: now },
        }
    }
}

impl Budget {
    pub(crate) fn new(each: Rate, all: Rate) -> Budget {
        Budget { each, all, spent: BTreeMap::new(), together: Level::default() }
    }

    /// Whether something may still be done for this peer.
    pub(crate) fn is_open(&mut self, now: Instant, peer: &PeerKey) -> bool {
        self.together = self.together.now(self.all, now);
        if self.together.spent >= self.all.burst {
            return false;
        }
        match self.spent.get(peer) {
            Some(level) => level.now(self.each, now).spent < self.each.burst,
            None => {
                if self.spent.len() >= MAX_REMEMBERED {
                    let rate = self.each;
                    self.spent.retain(|_, level| level.now(rate, now).spent > 0);
                }
                self.spent.len() < MAX_REMEMBERED
            }
        }
    }

    /// Notes what was done.
    pub(crate) fn spend(&mut self, now: Instant, peer: PeerKey, cost: usize) {
        let level = self.spent.entry(peer).or_insert(Level { spent: 0, at: now });
        *level = level.now(self.each, now);
        level.spent = level.spent.saturating_add(cost as u64);
        self.together = self.together.now(self.all, now);
        self.together.spent = self.together.spent.saturating_add(cost as u64);
    }
}

/// The answer to a question, if the message is one.
pub(super) fn answer<B: Book>(book: &mut B, question: &Message<B::Item>) -> Option<Message<B::Item>> {
    match question {
        Message::Root { session, root } => {
            let session = *session;
            Some(match book.index_mut().root() == *root {
                true => Message::Same { session },
                false => Message::Buckets { session, buckets: book.index_mut().buckets() },
            })
        }
        Message::List { session, request, buckets, after } => {
            let all = buckets.iter().flat_map(|&bucket| book.index().entries(bucket, *after));
            let mut entries: Vec<_> = all.take(MAX_ENTRIES + 1).collect();
            let done = entries.len() <= MAX_ENTRIES;
            entries.truncate(MAX_ENTRIES);
            Some(Message::Keys { session: *session, request: *request, entries, done })
        }
        Message::Want { session, request, keys } => {
            let found: Vec<Option<B::Item>> = keys.iter().map(|key| book.item(key)).collect();
            let fit = that_fit(found.iter().flatten());
            // What is not there any more is served by leaving it out.
            let mut items = Vec::new();
            let mut served = 0;
            for one in found {
                if one.is_some() && items.len() == fit {
                    break;
                }
                items.extend(one);
                served += 1;
            }
            Some(Message::Items { session: *session, request: *request, served, items })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::{Keys, testing::Keyring};

    #[test]
    fn a_peer_is_served_within_its_share_and_all_within_theirs() {
        let rate = |burst, per_s| Rate { burst, per_s };
        let mut budget = Budget::new(rate(10, 2), rate(15, 100));
        let [a, b, c] = [1, 2, 3].map(|n| Keyring::numbered(n).own());
        let start = Instant::from_unix_s(1_000);
        assert!(budget.is_open(start, &a));
        budget.spend(start, a, 12);
        assert!(!budget.is_open(start, &a));
        assert!(!budget.is_open(start + Duration::from_secs(1), &a));
        assert!(budget.is_open(start + Duration::from_millis(1_500), &a));
        let later = start + Duration::from_secs(60);
        budget.spend(later, a, 9);
        budget.spend(later, b, 9);
        assert!(!budget.is_open(later, &c), "together");
        assert!(budget.is_open(later + Duration::from_secs(1), &c));
    }

    #[test]
    fn earning_is_not_lost_when_it_is_asked_often() {
        let rate = Rate { burst: 10, per_s: 1 };
        let mut budget = Budget::new(rate, Rate { burst: 1_000, per_s: 1_000 });
        let peer = Keyring::numbered(1).own();
        let mut now = Instant::from_unix_s(1_000);
        budget.spend(now, peer, 12);
        for _ in 0..29 {
            now = now + Duration::from_millis(100);
            budget.spend(now, peer, 0);
            assert!(!budget.is_open(now, &peer));
        }
        assert!(budget.is_open(now + Duration::from_millis(100), &peer));
    }

    #[test]
    fn a_flood_of_names_does_not_grow_the_memory() {
        let rate = Rate { burst: 10, per_s: 1 };
        let mut budget = Budget::new(rate, Rate { burst: u64::MAX, per_s: 1 });
        let start = Instant::from_unix_s(1_000);
        for number in 0..2 * MAX_REMEMBERED as u64 {
            let peer = Keyring::numbered(number).own();
            if budget.is_open(start, &peer) {
                budget.spend(start, peer, 1);
            }
        }
        assert_eq!(budget.spent.len(), MAX_REMEMBERED);
        let later = start + Duration::from_secs(5);
        assert!(budget.is_open(later, &Keyring::numbered(1 << 40).own()));
        assert_eq!(budget.spent.len(), 0);
    }
}
