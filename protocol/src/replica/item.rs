//! What a slot consists of, as this room sees it: items that can be merged, their digests, and how far a copy is.

use crate::claim::Token;
use crate::key::{SLOTS, Slot};
use crate::wire::{Versioned, hash};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use std::fmt;

/// The longest key in bytes: kind, two ids of 16, and some.
pub const MAX_KEY: usize = 64;
/// The largest value in bytes: with its key and what is around it, one item fits into a message of 1 MiB.
pub const MAX_VALUE: usize = (1 << 20) - 4_096;
/// Parts of a slot that are compared: a slot of a million items has 4,000 in each.
pub const BUCKETS: usize = 256;

/// The name of an item: its slot (two bytes, big-endian), then what the store chooses. Items travel in order of their
/// keys, so what crawling needs first has the smaller keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "ByteBuf", into = "ByteBuf")]
pub struct ItemKey(Vec<u8>);

/// Bytes that are no key: too few, too many, or of no slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("an item's key has 2 to {MAX_KEY} bytes and starts with the number of its slot")]
pub struct NoKey;

impl ItemKey {
    /// The key of `rest` in a slot.
    ///
    /// # Errors
    /// [`NoKey`] if `rest` is longer than [`MAX_KEY`] less 2.
    pub fn new(slot: Slot, rest: &[u8]) -> Result<ItemKey, NoKey> {
        let mut bytes = slot.number().to_be_bytes().to_vec();
        bytes.extend_from_slice(rest);
        ItemKey::try_from(bytes)
    }

    /// The bytes: in order of keys.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The slot it is of.
    pub fn slot(&self) -> Slot {
        slot_of(&self.0).expect("looked at when it was made")
    }

    /// The bucket it is counted in: spread evenly, whatever the keys are.
    pub fn bucket(&self) -> u8 {
        blake3::hash(&self.0).as_bytes()[0]
    }
}

fn slot_of(bytes: &[u8]) -> Option<Slot> {
    let number: [u8; 2] = bytes.get(..2)?.try_into().ok()?;
    Slot::new(u16::from_be_bytes(number)).filter(|slot| u32::from(slot.number()) < SLOTS)
}

impl TryFrom<Vec<u8>> for ItemKey {
    type Error = NoKey;
    fn try_from(bytes: Vec<u8>) -> Result<ItemKey, NoKey> {
        match bytes.len() <= MAX_KEY && slot_of(&bytes).is_some() {
            true => Ok(ItemKey(bytes)),
            false => Err(NoKey),
        }
    }
}

impl TryFrom<ByteBuf> for ItemKey {
    type Error = NoKey;
    fn try_from(bytes: ByteBuf) -> Result<ItemKey, NoKey> {
        ItemKey::try_from(bytes.into_vec())
    }
}

impl From<ItemKey> for ByteBuf {
    fn from(key: ItemKey) -> ByteBuf {
        ByteBuf::from(key.0)
    }
}

impl fmt::Debug for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ItemKey(")?;
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))?;
        write!(f, ")")
    }
}

/// 8 bytes of a hash of a value as it is after merging: equal values have equal digests, and values with equal digests
/// are taken for equal. By chance two of a million differing values of one key collide once in 10^7 slots (2^-64 each).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Digest(pub [u8; 8]);

impl Digest {
    /// The digest of a value.
    pub fn of(value: &[u8]) -> Digest {
        Digest::from(blake3::hash(value))
    }

    /// The digest of a value that is to be encoded: that of its bytes.
    pub fn of_encoded<T: Versioned>(value: &T) -> Digest {
        Digest::from(hash(value))
    }
}

impl From<blake3::Hash> for Digest {
    fn from(hash: blake3::Hash) -> Digest {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&hash.as_bytes()[..8]);
        Digest(bytes)
    }
}

/// A key and its value. Values of one key can be merged by the store: in whatever order, however often, with one result
/// (commutative, associative, idempotent), which is never less than what went into it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Item {
    /// Its name.
    pub key: ItemKey,
    /// Of the value.
    pub digest: Digest,
    /// At most [`MAX_VALUE`] bytes, of whatever kind the key says.
    #[serde(with = "serde_bytes")]
    pub value: Vec<u8>,
}

impl Item {
    /// An upper bound of its bytes in a message.
    pub fn size(&self) -> usize {
        self.key.0.len() + self.value.len() + 16
    }
}

/// An item without its value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Its name.
    pub key: ItemKey,
    /// Of its value.
    pub digest: Digest,
}

/// Some of the buckets: one bit for each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Bits(pub [u64; 4]);

impl Bits {
    /// Whether a bucket is one of them.
    pub fn has(&self, bucket: u8) -> bool {
        self.0[usize::from(bucket >> 6)] >> (bucket & 63) & 1 == 1
    }

    /// Adds one.
    pub fn set(&mut self, bucket: u8) {
        self.0[usize::from(bucket >> 6)] |= 1 << (bucket & 63);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }
}

/// What a bucket contains: a sum over its items, and their number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Bucket {
    /// Sum of a hash of each entry, modulo 2^64: independent of order, changed in place when an item changes.
    pub sum: u64,
    /// How many items.
    pub count: u32,
}

/// The state of a slot's content, to be kept in step with it by the store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Buckets(pub Box<[Bucket; BUCKETS]>);

/// A digest of all [`Buckets`]: equal at copies with equal content.
pub type Root = [u8; 16];

impl Default for Buckets {
    fn default() -> Buckets {
        Buckets(Box::new([Bucket::default(); BUCKETS]))
    }
}

impl Buckets {
    /// An item's value changed: what its digest was, if it was there, and what it is, if it still is.
    pub fn change(&mut self, key: &ItemKey, before: Option<Digest>, after: Option<Digest>) {
        let bucket = &mut self.0[usize::from(key.bucket())];
        if let Some(digest) = before {
            bucket.sum = bucket.sum.wrapping_sub(summand(key, digest));
            bucket.count = bucket.count.saturating_sub(1);
        }
        if let Some(digest) = after {
            bucket.sum = bucket.sum.wrapping_add(summand(key, digest));
            bucket.count = bucket.count.saturating_add(1);
        }
    }

    /// The digest of them all.
    pub fn root(&self) -> Root {
        let mut hasher = blake3::Hasher::new_derive_key("anthill replica 1 root");
        for bucket in self.0.iter() {
            hasher.update(&bucket.sum.to_le_bytes());
            hasher.update(&bucket.count.to_le_bytes());
        }
        let mut root = [0; 16];
        root.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        root
    }
}

fn summand(key: &ItemKey, digest: Digest) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&key.0);
    hasher.update(&digest.0);
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}

/// How far a copy is: it has everything that was durable before `token`, and all that the holder of `token` had in its store
/// up to its change `seq`. Of two positions of one slot the greater has all that was ever durable by the lesser.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Position {
    /// By which the holder held.
    pub token: Token,
    /// The change of the holder's store.
    pub seq: u64,
    /// Which store's changes these are: drawn anew when a copy begins empty, so that the numbers of a store that was lost
    /// are not taken for those of its successor.
    pub log: u64,
}

/// What is written down of a copy, beside its items.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Of what.
    pub slot: Slot,
    /// The name of this store's own changes; see [`Position::log`].
    pub log: u64,
    /// How far this copy is, by what others held.
    pub position: Option<Position>,
    /// The last token by which this peer held and had caught up: by it, the copy is as far as its own store is.
    pub held: Option<Token>,
}

impl Versioned for Record {
    const VERSION: u8 = 1;
    const LIMIT: usize = 512;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(n: u16) -> ItemKey {
        ItemKey::new(Slot::new(3).expect("a slot"), &n.to_be_bytes()).expect("short")
    }

    #[test]
    fn a_key_names_its_slot_and_is_bounded() {
        assert_eq!(key(9).slot(), Slot::new(3).expect("a slot"));
        assert_eq!(ItemKey::try_from(vec![0]), Err(NoKey));
        assert_eq!(ItemKey::try_from(vec![0xff, 0xff]), Err(NoKey), "no slot has this number");
        assert_eq!(ItemKey::new(Slot::new(3).expect("a slot"), &[0; MAX_KEY - 1]), Err(NoKey));
        assert!(key(1) < key(2));
    }

    proptest! {
        #[test]
        fn buckets_say_what_is_there_however_it_came(
            changes in proptest::collection::vec((0u16..20, proptest::option::of(any::<u8>())), 0..60),
        ) {
            let mut now = std::collections::BTreeMap::new();
            let mut buckets = Buckets::default();
            for (number, value) in changes {
                let after = value.map(|v| Digest::of(&[v]));
                let before = match after {
                    Some(digest) => now.insert(number, digest),
                    None => now.remove(&number),
                };
                buckets.change(&key(number), before, after);
            }
            let mut anew = Buckets::default();
            for (number, digest) in now.iter().rev() {
                anew.change(&key(*number), None, Some(*digest));
            }
            prop_assert_eq!(anew.root(), buckets.root());
            prop_assert_eq!(anew, buckets);
        }

        #[test]
        fn bits_are_a_set(members: Vec<u8>) {
            let mut bits = Bits::default();
            members.iter().for_each(|&m| bits.set(m));
            for bucket in 0..=255 {
                prop_assert_eq!(bits.has(bucket), members.contains(&bucket));
            }
            prop_assert_eq!(bits.is_empty(), members.is_empty());
        }
    }
}
