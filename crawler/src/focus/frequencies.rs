//! In how many pages words stand, here and at the other peers of a swarm: what makes a word of a page weigh (Salton and Buckley 1988).
//!
//! Tables of a fixed size by a hash of the word; what others counted comes by parts ([`anthill_protocol::frequency`]).

use anthill_protocol::frequency::{Message, PART, PARTS, PLACES};
use anthill_protocol::peer::PeerKey;
use std::collections::BTreeMap;

/// Peers whose tables are kept, at most; beyond them the one goes of which nothing was heard for longest.
pub const MAX_OTHERS: usize = 64;
/// When so many pages were counted all counts are halved: what words weigh follows what is crawled.
const FULL: u64 = 1 << 20;

struct Table {
    pages: u64,
    counts: Box<[u32]>,
    /// When it was heard of last, as a count.
    heard: u64,
}

impl Default for Table {
    fn default() -> Table {
        Table { pages: 0, counts: vec![0; PLACES].into(), heard: 0 }
    }
}

/// What was counted here, and what others say they counted.
#[derive(Default)]
pub struct Frequencies {
    own: Table,
    others: BTreeMap<PeerKey, Table>,
    heard: u64,
    /// The part that is told next, and whether anything was counted since the first was.
    next: u8,
    changed: bool,
}

/// Where a word has its place.
fn place(word: &str) -> usize {
    let hash = super::predict::word(word, false);
    (hash ^ (hash >> 13)) as usize % PLACES
}

impl Frequencies {
    /// A page has these words, each once.
    pub fn count<'a>(&mut self, words: impl Iterator<Item = &'a str>) {
        if self.own.pages >= FULL {
            self.own.pages /= 2;
            self.own.counts.iter_mut().for_each(|count| *count /= 2);
        }
        self.own.pages += 1;
        self.changed = true;
        let most = u32::try_from(self.own.pages).unwrap_or(u32::MAX);
        for word in words {
            let count = &mut self.own.counts[place(word)];
            // Two words of one place on one page count once.
            *count = count.saturating_add(1).min(most);
        }
    }

    /// Pages that were counted anywhere.
    pub fn pages(&self) -> u64 {
        self.tables().fold(0, |sum, table| sum.saturating_add(table.pages))
    }

    /// How many of them have that word.
    pub fn of(&self, word: &str) -> u64 {
        let place = place(word);
        self.tables().map(|table| u64::from(table.counts[place])).sum()
    }

    fn tables(&self) -> impl Iterator<Item = &Table> {
        self.others.values().chain([&self.own])
    }

    /// A part of what was counted here for others to hear, each in its turn; none if nothing new was.
    pub fn tell(&mut self) -> Option<Message> {
        if self.next == 0 && !std::mem::take(&mut self.changed) {
            return None;
        }
        let part = self.next;
        self.next = (self.next + 1) % PARTS;
        let from = usize::from(part) * PART;
        Some(Message { pages: self.own.pages, part, counts: self.own.counts[from..from + PART].to_vec() })
    }

    /// What another has counted.
    pub fn hear(&mut self, from: PeerKey, message: &Message) {
        if message.part >= PARTS || message.counts.len() != PART {
            return;
        }
        if self.others.len() >= MAX_OTHERS && !self.others.contains_key(&from) {
            let oldest = self.others.iter().min_by_key(|(_, table)| table.heard).map(|(peer, _)| *peer);
            oldest.map(|peer| self.others.remove(&peer));
        }
        self.heard += 1;
        let table = self.others.entry(from).or_default();
        (table.pages, table.heard) = (message.pages, self.heard);
        let at = usize::from(message.part) * PART;
        table.counts[at..at + PART].copy_from_slice(&message.counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(n: u8) -> PeerKey {
        PeerKey([n; 32])
    }

    fn all_parts(from: &mut Frequencies) -> Vec<Message> {
        std::iter::from_fn(|| from.tell()).take(usize::from(PARTS) * 3).collect()
    }

    #[test]
    fn what_others_counted_counts_and_is_told_once() {
        let (mut here, mut there) = (Frequencies::default(), Frequencies::default());
        assert!(there.tell().is_none(), "nothing was counted");
        here.count(["ant", "queen"].into_iter());
        there.count(["ant"].into_iter());
        there.count(["bread"].into_iter());
        let parts = all_parts(&mut there);
        assert_eq!(parts.len(), usize::from(PARTS), "a whole table, once");
        for part in parts.iter().chain(&parts) {
            here.hear(peer(1), part);
        }
        assert_eq!((here.pages(), here.of("ant"), here.of("queen"), here.of("bread")), (3, 2, 1, 1));
        there.count(["ant"].into_iter());
        all_parts(&mut there).iter().for_each(|part| here.hear(peer(1), part));
        assert_eq!((here.pages(), here.of("ant")), (4, 3));
    }

    #[test]
    fn tables_of_others_have_a_bound_and_the_oldest_goes() {
        let mut here = Frequencies::default();
        let part = |pages| Message { pages, part: 0, counts: vec![1; PART] };
        (0..=MAX_OTHERS as u8).for_each(|n| here.hear(peer(n), &part(1)));
        assert_eq!((here.pages(), here.others.contains_key(&peer(0))), (MAX_OTHERS as u64, false));
        here.hear(peer(1), &Message { part: PARTS, ..part(7) });
        here.hear(peer(1), &Message { counts: vec![1], ..part(7) });
        assert_eq!(here.pages(), MAX_OTHERS as u64, "what is no part is not heard");
    }

    #[test]
    fn what_was_counted_long_ago_counts_for_less() {
        let mut here = Frequencies::default();
        (0..FULL).for_each(|_| here.count(["ant"].into_iter()));
        assert_eq!((here.pages(), here.of("ant")), (FULL, FULL));
        here.count(std::iter::empty());
        assert_eq!((here.pages(), here.of("ant")), (FULL / 2 + 1, FULL / 2));
    }
}
