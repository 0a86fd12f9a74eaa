//! Items: what a slot consists of for who keeps a copy of it. An item is what one family of the store has under a key, with a version
//! and, for a URL, how it stands; so nothing is stored twice but names and digests.

use super::family::Family;
use super::value::Totals;
use anthill_crawler::record::{CrawlId, QueueEntry};
use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, Slot, UrlId};
use anthill_protocol::replica::{Digest, Item, ItemKey, MAX_VALUE};
use anthill_protocol::wire::{Versioned, encode_into};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

/// Bytes of an item's value for its state and what is around it: a URL of 8 KiB is the largest part.
const AROUND: usize = 16 << 10;
/// The same of most.
const AROUND_MOST: usize = 256;
/// Content that an item may carry; what is larger is not copied.
pub const MAX_CONTENT: usize = MAX_VALUE - AROUND;

/// What an item is of. Copies are made in this order: what crawling needs first has the smaller numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A host's politeness and counts.
    Host = 1,
    /// A host's robots.txt.
    Robots = 2,
    /// A URL: how it stands, and its record if it was tried.
    Url = 3,
    /// A link from another site.
    Inlink = 4,
    /// What the parser made of a page.
    Document = 5,
    /// A page as received.
    Page = 6,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] =
        [Kind::Host, Kind::Robots, Kind::Url, Kind::Inlink, Kind::Document, Kind::Page];

    /// The family that has its content.
    pub fn family(self) -> Family {
        match self {
            Kind::Host => Family::Hosts,
            Kind::Robots => Family::Robots,
            Kind::Url => Family::Urls,
            Kind::Inlink => Family::Inlinks,
            Kind::Document => Family::Documents,
            Kind::Page => Family::Pages,
        }
    }

    /// Bytes of its keys in that family.
    fn key_bytes(self) -> usize {
        match self {
            Kind::Host | Kind::Url | Kind::Document | Kind::Page => 16,
            Kind::Robots => 17,
            Kind::Inlink => 28,
        }
    }
}

/// The item of this kind under a family's key; the slot follows from that, as all keys begin with a site's.
pub fn item_key(kind: Kind, key: &[u8]) -> ItemKey {
    let slot = slot_of(key);
    ItemKey::new(slot, &[&[kind as u8], key].concat()).expect("keys of families are short")
}

/// The slot of a family's key.
pub fn slot_of(key: &[u8]) -> Slot {
    let first = [key.first().copied().unwrap_or(0), key.get(1).copied().unwrap_or(0)];
    Slot::new(u16::from_be_bytes(first) >> 2).expect("14 bits")
}

/// Keys of families from the first one of a slot up to the first one after it, if there is one.
pub fn range_of(slot: Slot) -> (Vec<u8>, Option<Vec<u8>>) {
    let from = (slot.number() << 2).to_be_bytes().to_vec();
    let next = (u32::from(slot.number()) + 1) << 2;
    (from, u16::try_from(next).ok().map(|next| next.to_be_bytes().to_vec()))
}

/// The kind and the family's key of an item; none for what is no item of this program, as another peer may send.
pub fn parts(item: &ItemKey) -> Option<(Kind, &[u8])> {
    let (kind, key) = item.bytes().get(2..)?.split_first()?;
    let kind = Kind::ALL.into_iter().find(|one| *one as u8 == *kind)?;
    (key.len() == kind.key_bytes() && slot_of(key) == item.slot()).then_some((kind, key))
}

/// How a URL stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum State {
    /// In its host's queue.
    Queued {
        /// The host.
        host: HostId,
        /// Its level there.
        level: u8,
        /// The entry.
        entry: QueueEntry,
    },
    /// To come back.
    Later {
        /// When.
        at: Instant,
        /// The host.
        host: HostId,
        /// The level then.
        level: u8,
        /// The entry.
        entry: QueueEntry,
    },
    /// Done with by this crawl.
    Done(CrawlId),
}

impl State {
    /// Whether it fits the URL that it is said of.
    pub fn is_of(&self, url: &UrlId) -> bool {
        match self {
            State::Queued { host, level, entry } | State::Later { host, level, entry, .. } => {
                host.site() == url.site()
                    && usize::from(*level) < anthill_crawler::record::LEVELS
                    && UrlId::of(url.site(), &entry.url) == *url
            }
            State::Done(_) => true,
        }
    }

    /// The crawl whose untried URL this is, if it is one.
    pub fn untried(&self) -> Option<CrawlId> {
        match self {
            State::Queued { entry, .. } => entry.untried().then_some(entry.crawl),
            _ => None,
        }
    }
}

/// What is kept of an item besides its content.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// Grows with each change.
    pub version: u64,
    /// Of the value.
    pub digest: Digest,
    /// Of a URL.
    pub state: Option<State>,
}

impl Versioned for Kept {
    const VERSION: u8 = 4;
    const LIMIT: usize = 0x1_0000;
}

/// An item's value as it travels. Of two the greater version counts, of two with one version the greater bytes: whatever the order
/// they come in, and however often.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Value {
    /// See [`Kept::version`].
    pub version: u64,
    /// Of a URL.
    pub state: Option<State>,
    /// The content; none of what is gone, and of a URL that was never tried.
    pub content: Option<ByteBuf>,
}

impl Versioned for Value {
    const VERSION: u8 = 4;
    const LIMIT: usize = 0x10_0000;
}

impl Value {
    /// It as an item.
    pub fn item(&self, key: &ItemKey) -> Item {
        let mut value =
            Vec::with_capacity(AROUND_MOST + self.content.as_ref().map_or(0, |content| content.len()));
        encode_into(self, &mut value);
        Item { key: key.clone(), digest: Digest::of(&value), value }
    }
}

/// Sums over a slot, and over all that are served here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Sums {
    /// See [`Totals::known`].
    pub known: i64,
    /// See [`Totals::queued`].
    pub queued: i64,
    /// See [`Totals::untried`].
    pub untried: i64,
    /// See [`Totals::fetched`].
    pub fetched: i64,
    /// See [`Totals::failed`].
    pub failed: i64,
    /// See [`Totals::excluded`].
    pub excluded: i64,
    /// See [`Totals::pages`].
    pub pages: i64,
    /// See [`Totals::page_bytes`].
    pub page_bytes: i64,
}

impl Sums {
    /// Adds these, or takes them away.
    pub fn add(&mut self, other: &Sums, sign: i64) {
        self.known += sign * other.known;
        self.queued += sign * other.queued;
        self.untried += sign * other.untried;
        self.fetched += sign * other.fetched;
        self.failed += sign * other.failed;
        self.excluded += sign * other.excluded;
        self.pages += sign * other.pages;
        self.page_bytes += sign * other.page_bytes;
    }

    /// Adds these to the totals, or takes them away.
    pub fn change(&self, totals: &mut Totals, sign: i64) {
        let change = |total: &mut u64, by: i64| *total = total.saturating_add_signed(sign * by);
        change(&mut totals.known, self.known);
        change(&mut totals.queued, self.queued);
        change(&mut totals.untried, self.untried);
        change(&mut totals.fetched, self.fetched);
        change(&mut totals.failed, self.failed);
        change(&mut totals.excluded, self.excluded);
        change(&mut totals.pages, self.pages);
        change(&mut totals.page_bytes, self.page_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_protocol::key::SiteId;
    use proptest::prelude::*;

    #[test]
    fn an_item_is_named_by_its_slot_its_kind_and_its_familys_key() {
        let site = SiteId::of("a.test");
        let url = UrlId::of(site, "http://a.test/");
        let key = item_key(Kind::Url, url.bytes());
        assert_eq!(key.slot(), url.slot());
        assert_eq!(parts(&key), Some((Kind::Url, url.bytes().as_slice())));
        assert!(item_key(Kind::Host, url.bytes()) < key, "hosts come first");
    }

    proptest! {
        #[test]
        fn keys_of_others_are_parts_or_none(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(key) = ItemKey::try_from(bytes) && let Some((kind, rest)) = parts(&key) {
                prop_assert_eq!(item_key(kind, rest), key);
            }
        }

        #[test]
        fn a_slots_range_has_its_keys_and_no_others(number in 0u16..16_384, key in prop::collection::vec(any::<u8>(), 8..20)) {
            let slot = Slot::new(number).expect("a slot");
            let (from, to) = range_of(slot);
            let within = key >= from && to.is_none_or(|to| key < to);
            prop_assert_eq!(within, slot_of(&key) == slot);
        }
    }
}
