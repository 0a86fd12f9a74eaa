//! What one peer knows of the others.

use super::{FRESH, MAX_OUTLOOKS, Message, Outlook, Wanted, Worths};
use crate::peer::PeerKey;
use crate::time::Instant;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use std::collections::BTreeMap;
use std::time::Duration;

/// How many are told at once.
pub const FANOUT: usize = 3;
/// Peers of which something is known, at most; of more than that, those of which nothing is known yet are not heard.
pub const MAX_PEERS: usize = 1_024;

#[derive(Debug)]
struct Word {
    said: u64,
    /// By this peer's clock, as far as its age was told.
    at: Instant,
    wanted: Wanted,
    worths: Worths,
}

/// What one peer knows of the others.
#[derive(Debug)]
pub struct Table {
    own: PeerKey,
    rng: ChaCha8Rng,
    words: BTreeMap<PeerKey, Word>,
}

impl Table {
    /// Nothing is known.
    pub fn new(own: PeerKey, rng: ChaCha8Rng) -> Table {
        Table { own, rng, words: BTreeMap::new() }
    }

    /// Somebody says this.
    pub fn hear(&mut self, now: Instant, message: Message) {
        self.words.retain(|_, word| now.since(word.at) <= FRESH);
        for Outlook { peer, said, age_ms, wanted, worths } in message.0 {
            let age = Duration::from_millis(age_ms.into());
            let full = self.words.len() >= MAX_PEERS && !self.words.contains_key(&peer);
            let is_news = self.words.get(&peer).is_none_or(|known| known.said < said);
            if peer != self.own && age <= FRESH && is_news && !full {
                self.words.insert(peer, Word { said, at: now - age, wanted, worths });
            }
        }
    }

    /// What this peer has is told to some of these, with what was heard of some of the others.
    pub fn tell(
        &mut self,
        now: Instant,
        (wanted, worths): (Wanted, Worths),
        mut others: Vec<PeerKey>,
    ) -> Vec<(PeerKey, Message)> {
        let own = Outlook { peer: self.own, said: now.0, age_ms: 0, wanted, worths };
        let mut told = Vec::new();
        while told.len() < FANOUT && !others.is_empty() {
            let to = others.swap_remove(self.below(others.len()));
            let mut outlooks = vec![own.clone()];
            let mut known: Vec<PeerKey> = self.words.keys().filter(|peer| **peer != to).copied().collect();
            while outlooks.len() < MAX_OUTLOOKS && !known.is_empty() {
                let peer = known.swap_remove(self.below(known.len()));
                outlooks.extend(self.retold(peer, now));
            }
            told.push((to, Message(outlooks)));
        }
        told
    }

    /// What was heard of a peer, as it is passed on; nothing that is old.
    fn retold(&self, peer: PeerKey, now: Instant) -> Option<Outlook> {
        let word = self.words.get(&peer)?;
        let age = Some(now.since(word.at)).filter(|age| *age <= FRESH)?;
        let age_ms = u32::try_from(age.as_millis()).ok()?;
        Some(Outlook { peer, said: word.said, age_ms, wanted: word.wanted, worths: word.worths.clone() })
    }

    /// What counts of the others.
    pub fn others(&self, now: Instant) -> impl Iterator<Item = (&PeerKey, Wanted, &Worths)> {
        let fresh = self.words.iter().filter(move |(_, word)| now.since(word.at) <= FRESH);
        fresh.map(|(peer, word)| (peer, word.wanted, &word.worths))
    }

    /// A number below this one, which is not zero.
    fn below(&mut self, most: usize) -> usize {
        (self.rng.next_u64() % most as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;
    use std::collections::BTreeSet;

    fn key(n: usize) -> PeerKey {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&(n as u64).to_be_bytes());
        PeerKey(bytes)
    }

    fn table(n: usize) -> Table {
        Table::new(key(n), ChaCha8Rng::from_seed([n as u8; 32]))
    }

    fn at(ms: u64) -> Instant {
        Instant::from_unix_s(1_000) + Duration::from_millis(ms)
    }

    fn has(given: u64) -> (Wanted, Worths) {
        (Wanted { given, near: 1 }, Worths::default())
    }

    fn word(n: usize, said: u64, age_ms: u32, given: u64) -> Message {
        let (wanted, worths) = has(given);
        Message(vec![Outlook { peer: key(n), said, age_ms, wanted, worths }])
    }

    fn given(table: &Table, now: Instant) -> Vec<u64> {
        table.others(now).map(|(_, wanted, _)| wanted.given).collect()
    }

    #[test]
    fn the_newest_word_counts_while_it_is_fresh_however_it_came() {
        let mut table = table(0);
        table.hear(at(0), word(1, 10, 0, 5));
        table.hear(at(0), word(1, 9, 0, 4));
        table.hear(at(0), word(0, 99, 0, 4));
        assert_eq!(given(&table, at(0)), [5], "the older says nothing, nor do others of this peer");
        table.hear(at(1_000), word(1, 11, 2_000, 6));
        let old = FRESH.as_millis() as u64;
        assert_eq!(given(&table, at(old - 1_000)), [6]);
        assert_eq!(given(&table, at(old - 999)), [] as [u64; 0], "it was old when it came");
        table.hear(at(old), word(2, 1, old as u32 + 1, 7));
        assert_eq!(given(&table, at(old)), [] as [u64; 0]);
        table.hear(at(old), word(1, 1, 0, 8));
        assert_eq!(
            given(&table, at(old)),
            [8],
            "a clock that was put back is believed when what it said is over"
        );
    }

    /// Ten times as many as are told at once and half as many as fit into a message know of each other within seconds; of who
    /// falls silent nothing is known soon after.
    #[test]
    fn all_know_of_all_and_forget_who_is_silent() {
        let count = 60;
        let mut tables: Vec<Table> = (0..count).map(table).collect();
        for second in 0..40 {
            let now = at(1_000 * second);
            let speaks = |n: usize| n > 0 || second < 20;
            let told: Vec<_> = (0..count)
                .filter(|n| speaks(*n))
                .flat_map(|n| {
                    let others = (0..count).filter(|other| *other != n).map(key).collect();
                    tables[n].tell(now, has(n as u64), others)
                })
                .collect();
            for (to, message) in told {
                assert!(message.0.len() <= MAX_OUTLOOKS);
                let to = (0..count).find(|n| key(*n) == to).expect("one of them");
                tables[to].hear(now, message);
            }
            if second == 15 {
                let known: Vec<usize> = tables.iter().map(|table| table.others(now).count()).collect();
                assert!(known.iter().all(|known| *known >= count * 8 / 10), "{known:?}");
            }
        }
        let end = at(40_000);
        let dead = tables.iter().filter(|table| table.others(end).any(|(peer, ..)| *peer == key(0)));
        assert_eq!(dead.count(), 0);
    }

    #[test]
    fn some_are_told_none_twice_and_no_more_is_kept_than_there_is_room_for() {
        let mut table = table(0);
        for n in 1..MAX_PEERS + 10 {
            table.hear(at(0), word(n, 1, 0, 1));
        }
        assert_eq!(table.others(at(0)).count(), MAX_PEERS);
        let told = table.tell(at(0), has(1), (1..5).map(key).collect());
        assert_eq!(told.iter().map(|(to, _)| *to).collect::<BTreeSet<_>>().len(), FANOUT);
        assert_eq!(table.tell(at(0), has(1), vec![key(7)]).len(), 1);
        assert_eq!(table.tell(at(0), has(1), Vec::new()), []);
    }
}
