//! Waiting URLs as they lie on disk: what one batch brings to a level of a host is a record or a few, not one a URL.
//!
//! Most links of a page lead to its own host, so a block holds tens of entries that share most of their URL and all
//! of their circumstances; each is written as what differs from the one before it. A number in a queue is that of its
//! block and its place therein. Which entries are done with is marked in a small record after the block; a block goes,
//! with its marks, when all are.

use anthill_crawler::focus::predict::Clues;
use anthill_crawler::record::{CrawlId, EntryKind, QueueEntry};
use anthill_protocol::key::UrlId;
use anthill_protocol::wire::{Versioned, WireError};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Entries of a block, at most: one bit each in [`Marks`].
pub const BLOCK: usize = 64;
/// Bytes of the URLs of a block after which it ends: reading a few entries must not cost megabytes.
const BLOCK_BYTES: usize = 32 << 10;
/// Bits of a number in a queue that tell the place within the block.
const PLACE_BITS: u32 = BLOCK.trailing_zeros();

/// The block that an entry with this number is in.
pub const fn block_of(seq: u64) -> u64 {
    seq >> PLACE_BITS
}

/// The number of the entry at a place of a block.
pub const fn seq_of(block: u64, place: usize) -> u64 {
    block << PLACE_BITS | place as u64
}

/// The bit that marks the entry with this number in its block.
pub const fn mark_of(seq: u64) -> u64 {
    1 << (seq & (BLOCK as u64 - 1))
}

/// All of an entry but its URL and its clues.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct About {
    crawl: CrawlId,
    kind: EntryKind,
    depth: u16,
    hops: u8,
    attempt: u8,
    revisit: bool,
    from: Option<UrlId>,
    first_seen_s: u64,
}

impl About {
    fn of(entry: &QueueEntry) -> About {
        let &QueueEntry { crawl, kind, depth, hops, attempt, revisit, from, first_seen_s, .. } = entry;
        About { crawl, kind, depth, hops, attempt, revisit, from, first_seen_s }
    }

    fn entry(self, url: String, clues: Option<Box<Clues>>) -> QueueEntry {
        let About { crawl, kind, depth, hops, attempt, revisit, from, first_seen_s } = self;
        QueueEntry { url, crawl, kind, depth, hops, attempt, revisit, from, first_seen_s, clues }
    }
}

/// An entry, as it differs from the one before it.
#[derive(Serialize, Deserialize)]
struct Packed<'a> {
    /// Bytes that its URL begins with as the one before.
    shared: u16,
    /// The rest of its URL.
    tail: Cow<'a, str>,
    /// The rest of it, if that differs.
    about: Option<About>,
    /// What its link says of it.
    clues: Option<Cow<'a, Clues>>,
}

/// Entries that came to a level of a host at once, in order.
#[derive(Serialize, Deserialize)]
pub struct Block<'a> {
    entries: Vec<Packed<'a>>,
}

impl Versioned for Block<'_> {
    const VERSION: u8 = 4;
    const LIMIT: usize = 0x10_0000;
}

impl<'a> Block<'a> {
    /// Packs entries, as many from the first on as fit; there is room for one always. Returns how many.
    pub fn pack(entries: impl Iterator<Item = &'a QueueEntry>) -> (Block<'a>, usize) {
        let mut packed: Vec<Packed<'a>> = Vec::with_capacity(entries.size_hint().0.min(BLOCK));
        let (mut last, mut last_about, mut bytes) = ("", None, 0);
        for entry in entries.take(BLOCK) {
            bytes += entry.url.len();
            if bytes > BLOCK_BYTES && !packed.is_empty() {
                break;
            }
            let shared = shared_prefix(last, &entry.url);
            let about = Some(About::of(entry));
            let told = if about == last_about { None } else { about };
            packed.push(Packed {
                shared: shared as u16,
                tail: Cow::Borrowed(&entry.url[shared..]),
                about: told,
                clues: entry.clues.as_deref().map(Cow::Borrowed),
            });
            (last, last_about) = (&entry.url, about);
        }
        let count = packed.len();
        (Block { entries: packed }, count)
    }

    /// How many entries it has.
    pub fn count(&self) -> u8 {
        u8::try_from(self.entries.len()).unwrap_or(u8::MAX)
    }

    /// The entries.
    ///
    /// # Errors
    /// An entry refers to one before it that is not there.
    pub fn unpack(&self) -> Result<Vec<QueueEntry>, WireError> {
        let mut entries: Vec<QueueEntry> = Vec::with_capacity(self.entries.len());
        let mut about = None;
        for packed in &self.entries {
            about = packed.about.or(about);
            let last = entries.last().map_or("", |entry| entry.url.as_str());
            let (Some(about), Some(head)) = (about, last.get(..usize::from(packed.shared))) else {
                return Err(WireError::Body("an entry refers to one that is not there".into()));
            };
            let clues = packed.clues.clone().map(|clues| Box::new(clues.into_owned()));
            entries.push(about.entry([head, &packed.tail].concat(), clues));
        }
        Ok(entries)
    }
}

/// Bytes that both begin with, in whole characters, as far as 16 bits can tell.
fn shared_prefix(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let whole = (0..=same.min(usize::from(u16::MAX))).rev().find(|&end| b.is_char_boundary(end));
    whole.unwrap_or_default()
}

/// Which entries of a block are done with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Marks {
    /// Entries of the block.
    pub count: u8,
    /// A bit for each that is done with.
    pub done: u64,
}

impl Marks {
    /// Whether all are.
    pub fn complete(self) -> bool {
        self.done.count_ones() >= u32::from(self.count)
    }
}

impl Versioned for Marks {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_crawler::focus::predict::Context;
    use anthill_protocol::wire::{decode, encode};
    use proptest::prelude::*;

    fn unpack(bytes: &[u8]) -> Result<Vec<QueueEntry>, WireError> {
        decode::<Block<'_>>(bytes)?.unpack()
    }

    fn entry(url: String, from: u8) -> QueueEntry {
        QueueEntry {
            url,
            crawl: CrawlId(1),
            kind: EntryKind::Page,
            depth: u16::from(from),
            hops: 0,
            attempt: 0,
            revisit: false,
            from: Some(UrlId::from_bytes([from; 16])),
            first_seen_s: 1_800_000_000,
            clues: (from == 2).then(|| {
                Box::new(Clues {
                    from: Context { relevance: 900, layers: [1, 2, 3, 4, 5, 112], since: 3, class: Some(1) },
                    anchor: 400,
                    around: 600,
                    words: vec![7, u32::MAX],
                })
            }),
        }
    }

    #[test]
    fn links_of_one_page_cost_little_more_than_what_their_paths_differ_by() {
        let urls = (0..64).map(|n| format!("https://www.example.org/archive/2026/page-{n:02}.html"));
        let entries: Vec<_> = urls.map(|url| entry(url, 1)).collect();
        let bytes = encode(&Block::pack(entries.iter()).0).len();
        assert!(bytes < 64 * 14, "{bytes}");
        assert_eq!(unpack(&encode(&Block::pack(entries.iter()).0)).unwrap(), entries);
    }

    #[test]
    fn a_block_ends_before_it_is_long_to_read_and_has_room_for_the_longest_url() {
        let long: Vec<_> = (0..9).map(|_| entry("x".repeat(BLOCK_BYTES / 4), 1)).collect();
        assert_eq!(Block::pack(long.iter()).1, 4);
        let longest = [entry("y".repeat(0x1_0000), 1), entry("z".into(), 1)];
        let (block, count) = Block::pack(longest.iter());
        assert_eq!(count, 1);
        assert_eq!(unpack(&encode(&block)).unwrap(), longest[..1]);
        let many: Vec<_> = (0..100).map(|n| entry(format!("http://a.test/{n}"), 1)).collect();
        assert_eq!(Block::pack(many.iter()).1, BLOCK);
    }

    #[test]
    fn an_entry_that_refers_to_none_is_damage() {
        let orphan =
            |shared, about| Block { entries: vec![Packed { shared, tail: "x".into(), about, clues: None }] };
        let about = Some(About::of(&entry(String::new(), 1)));
        assert!(unpack(&encode(&orphan(0, None))).is_err());
        assert!(unpack(&encode(&orphan(3, about))).is_err());
        assert!(unpack(&encode(&orphan(0, about))).is_ok());
    }

    #[test]
    fn a_number_tells_block_and_place() {
        let seq = seq_of(7, 63);
        assert_eq!((block_of(seq), mark_of(seq)), (7, 1 << 63));
        assert_eq!(block_of(seq + 1), 8);
        assert!(Marks { count: 64, done: u64::MAX }.complete() && !Marks { count: 2, done: 2 }.complete());
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(urls in prop::collection::vec(("(http://é?ü?.test/)?.{0,9}", 0u8..3), 1..BLOCK)) {
            let entries: Vec<_> = urls.into_iter().map(|(url, from)| entry(url, from)).collect();
            let (block, count) = Block::pack(entries.iter());
            prop_assert_eq!(count, entries.len());
            prop_assert_eq!(unpack(&encode(&block)).unwrap(), entries);
        }

        #[test]
        fn damaged_blocks_are_refused_without_panic(mut bytes: Vec<u8>) {
            bytes.insert(0, Block::VERSION);
            let _ = unpack(&bytes);
        }
    }
}
