//! Names and digests of what is shared, in buckets, by which two peers find out where they differ.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included};

/// Parts into which the index is divided for comparison. With 150,000 items a bucket has some 600 entries, less than a message
/// of keys.
pub const BUCKETS: usize = 256;

/// 128 bits of BLAKE3 over what is said.
pub type Digest = [u8; 16];

/// 128 bits of BLAKE3 of a name: under which items are compared and stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ItemKey(pub [u8; 16]);

/// The state of a part of the index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Bucket {
    /// BLAKE3 of its keys and digests in order; zero when it is empty.
    pub sum: Digest,
    /// How many items it has.
    pub count: u32,
}

/// One item of a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// What it is about.
    pub key: ItemKey,
    /// What it says.
    pub digest: Digest,
}

/// What is shared.
#[derive(Debug)]
pub struct Index<N> {
    map: BTreeMap<ItemKey, (Digest, N)>,
    /// `None` where something changed since it was computed.
    buckets: Vec<Option<Bucket>>,
}

impl<N> Default for Index<N> {
    fn default() -> Index<N> {
        Index { map: BTreeMap::new(), buckets: vec![None; BUCKETS] }
    }
}

impl<N> Index<N> {
    /// An index of these.
    pub fn of(all: impl Iterator<Item = (ItemKey, Digest, N)>) -> Index<N> {
        Index { map: all.map(|(key, digest, name)| (key, (digest, name))).collect(), ..Index::default() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// An item is there, with this digest.
    pub fn enter(&mut self, key: ItemKey, digest: Digest, name: N) {
        self.buckets[usize::from(key.0[0])] = None;
        self.map.insert(key, (digest, name));
    }

    /// An item is not there any more.
    pub fn strike(&mut self, key: &ItemKey) {
        self.buckets[usize::from(key.0[0])] = None;
        self.map.remove(key);
    }

    /// The digest of the item of this key.
    pub fn digest(&self, key: &ItemKey) -> Option<Digest> {
        self.map.get(key).map(|(digest, _)| *digest)
    }

    /// The name of the item of this key.
    pub fn name(&self, key: &ItemKey) -> Option<&N> {
        self.map.get(key).map(|(_, name)| name)
    }

    /// The digest of all.
    pub fn root(&mut self) -> Digest {
        root_of(&self.buckets())
    }

    /// The state of each bucket, [`BUCKETS`] of them.
    pub fn buckets(&mut self) -> Vec<Bucket> {
        (0..=u8::MAX).map(|number| self.bucket(number)).collect()
    }

    /// The state of one bucket.
    pub(crate) fn bucket(&mut self, number: u8) -> Bucket {
        if let Some(known) = self.buckets[usize::from(number)] {
            return known;
        }
        let mut hasher = blake3::Hasher::new();
        let mut count = 0;
        for entry in self.entries(number, None) {
            hasher.update(&entry.key.0).update(&entry.digest);
            count += 1;
        }
        let sum = if count == 0 { Digest::default() } else { short(&hasher) };
        *self.buckets[usize::from(number)].insert(Bucket { sum, count })
    }

    /// The entries of a bucket in order, those after a key if one is given.
    pub fn entries(&self, bucket: u8, after: Option<ItemKey>) -> impl Iterator<Item = Entry> {
        let [mut first, mut last] = [[0; 16], [0xff; 16]];
        (first[0], last[0]) = (bucket, bucket);
        // A key after the bucket's last leaves nothing, one before its first leaves all.
        let from = match after {
            Some(key) if key.0 >= first => Excluded(ItemKey(key.0.min(last))),
            _ => Included(ItemKey(first)),
        };
        self.map.range((from, Included(ItemKey(last)))).map(|(&key, &(digest, _))| Entry { key, digest })
    }
}

/// The digest of all that is in these buckets.
pub(crate) fn root_of(buckets: &[Bucket]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for bucket in buckets {
        hasher.update(&bucket.sum);
    }
    short(&hasher)
}

/// The first 128 bits.
pub(crate) fn short(hasher: &blake3::Hasher) -> Digest {
    let mut digest = Digest::default();
    digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    digest
}
