//! Exclusions and witnesses under one index of digests, by which two peers find out where they differ.

use super::record::{Exclusion, RuleKey};
use super::set::{ExclusionSet, Outcome, Refusal, Standing};
use super::signed::{Digest, StatementError, Verified};
use super::witness::{MAX_PER_PEER, NotTaken, Witness, WitnessKey, Witnesses};
use crate::peer::{Keys, PeerKey};
use crate::signed::Signed;
use crate::wire::Versioned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included};

/// Parts into which the index is divided for comparison. With the most that is kept a bucket has some 600 entries, less
/// than a message of keys.
pub const BUCKETS: usize = 256;

/// What travels and is stored: not yet checked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Item {
    /// A rule, or its take-back.
    Exclusion(Signed<Exclusion>),
    /// Who saw that a site names an issuer.
    Witness(Signed<Witness>),
}

impl Versioned for Item {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

/// An item whose signature and bounds were checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VerifiedItem {
    /// See [`Item::Exclusion`].
    Exclusion(Verified<Exclusion>),
    /// See [`Item::Witness`].
    Witness(Verified<Witness>),
}

/// What an item is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Name {
    /// A rule.
    Rule(RuleKey),
    /// A witness.
    Witness(WitnessKey),
}

/// 128 bits of BLAKE3 of a [`Name`]: under which items are compared and stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ItemKey(pub [u8; 16]);

impl Item {
    /// Checks bounds and signature.
    ///
    /// # Errors
    /// [`StatementError`] says what is wrong.
    pub fn verify(self, keys: &impl Keys) -> Result<VerifiedItem, StatementError> {
        match self {
            Item::Exclusion(one) => Verified::check(one, keys).map(VerifiedItem::Exclusion),
            Item::Witness(one) => Verified::check(one, keys).map(VerifiedItem::Witness),
        }
    }

    /// As [`Verified::from_own_disk`].
    ///
    /// # Errors
    /// [`StatementError`] if it is out of bounds.
    pub fn from_own_disk(self) -> Result<VerifiedItem, StatementError> {
        match self {
            Item::Exclusion(one) => Verified::from_own_disk(one).map(VerifiedItem::Exclusion),
            Item::Witness(one) => Verified::from_own_disk(one).map(VerifiedItem::Witness),
        }
    }
}

impl VerifiedItem {
    /// What it is about.
    pub fn name(&self) -> Name {
        match self {
            VerifiedItem::Exclusion(one) => Name::Rule(one.statement().key),
            VerifiedItem::Witness(one) => Name::Witness(one.statement().key()),
        }
    }

    /// Tells it from every other item of the same name.
    pub fn digest(&self) -> Digest {
        match self {
            VerifiedItem::Exclusion(one) => one.digest(),
            VerifiedItem::Witness(one) => one.digest(),
        }
    }

    /// As it travels.
    pub fn item(&self) -> Item {
        match self {
            VerifiedItem::Exclusion(one) => Item::Exclusion(one.signed().clone()),
            VerifiedItem::Witness(one) => Item::Witness(one.signed().clone()),
        }
    }
}

impl Name {
    /// The key of the item of this name.
    pub fn key(&self) -> ItemKey {
        let mut hasher = blake3::Hasher::new();
        match self {
            Name::Rule(key) => {
                hasher
                    .update(b"anthill exclusion key\0")
                    .update(&key.issuer.0)
                    .update(&key.number.to_le_bytes());
            }
            Name::Witness(key) => {
                hasher.update(b"anthill witness key\0").update(&key.by.0).update(&key.issuer.0);
                hasher.update(key.site.as_bytes());
            }
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        ItemKey(bytes)
    }
}

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

/// All that a peer knows about exclusions.
#[derive(Debug)]
pub struct Book {
    set: ExclusionSet,
    witnesses: Witnesses,
    /// What is shared: the same at all peers when they know the same.
    index: BTreeMap<ItemKey, (Digest, Name)>,
    /// `None` where something changed since it was computed.
    buckets: Vec<Option<Bucket>>,
}

impl Book {
    /// An empty book that shares at most so many exclusions and witnesses.
    pub fn new(max_exclusions: usize, max_witnesses: usize) -> Book {
        Book {
            set: ExclusionSet::new(max_exclusions),
            witnesses: Witnesses::new(MAX_PER_PEER, max_witnesses),
            index: BTreeMap::new(),
            buckets: vec![None; BUCKETS],
        }
    }

    /// The exclusions.
    pub fn exclusions(&self) -> &ExclusionSet {
        &self.set
    }

    /// The witnesses.
    pub fn witnesses(&self) -> &Witnesses {
        &self.witnesses
    }

    /// How many items are shared.
    pub fn shared(&self) -> usize {
        self.index.len()
    }

    /// Takes an item. Gives what became of it, and what was forgotten to make room.
    pub fn merge(&mut self, now_s: u64, item: VerifiedItem) -> (Outcome, Option<Name>) {
        let (name, digest) = (item.name(), item.digest());
        let (outcome, displaced) = match item {
            VerifiedItem::Exclusion(one) => {
                let (outcome, displaced) = self.set.merge(now_s, one);
                (outcome, displaced.map(Name::Rule))
            }
            VerifiedItem::Witness(one) => match self.witnesses.merge(now_s, one) {
                Ok((new, displaced)) => {
                    (if new { Outcome::New } else { Outcome::Newer }, displaced.map(Name::Witness))
                }
                Err(why) => (outcome(why), None),
            },
        };
        if matches!(outcome, Outcome::New | Outcome::Newer) && self.is_shared(&name) {
            self.enter(name, digest);
        }
        if let Some(displaced) = &displaced {
            self.strike(displaced);
        }
        (outcome, displaced.filter(|name| !self.holds(name)))
    }

    /// Forgets what nobody needs to remember any more. Gives the names.
    pub fn collect(&mut self, now_s: u64) -> Vec<Name> {
        let gone: Vec<Name> = self.witnesses.collect(now_s).into_iter().map(Name::Witness).collect();
        gone.iter().for_each(|name| self.strike(name));
        let dead = self.set.collect(now_s);
        if !dead.is_empty() {
            self.index_anew();
        }
        gone.into_iter().chain(dead.into_iter().map(Name::Rule)).collect()
    }

    /// Says whose exclusions are kept first, and who the members of the swarm are, whose witnesses count. Gives the names of what was
    /// forgotten.
    pub fn set_standing(&mut self, standing: Standing, members: BTreeSet<PeerKey>) -> Vec<Name> {
        let rules = self.set.set_standing(standing).into_iter().map(Name::Rule);
        let gone = rules.chain(self.witnesses.set_members(members).into_iter().map(Name::Witness)).collect();
        self.index_anew();
        gone
    }

    /// The digest of all that is shared.
    pub fn root(&mut self) -> Digest {
        root_of(&self.buckets())
    }

    /// The state of each bucket, [`BUCKETS`] of them.
    pub fn buckets(&mut self) -> Vec<Bucket> {
        (0..=u8::MAX).map(|number| self.bucket(number)).collect()
    }

    fn bucket(&mut self, number: u8) -> Bucket {
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
        self.index.range((from, Included(ItemKey(last)))).map(|(&key, &(digest, _))| Entry { key, digest })
    }

    /// What the shared item of this key says.
    pub fn digest(&self, key: &ItemKey) -> Option<Digest> {
        self.index.get(key).map(|(digest, _)| *digest)
    }

    /// The shared item of this key.
    pub fn item(&self, key: &ItemKey) -> Option<Item> {
        match &self.index.get(key)?.1 {
            Name::Rule(rule) => self.set.get(rule).map(|one| Item::Exclusion(one.signed().clone())),
            Name::Witness(key) => self.witnesses.get(key).map(|one| Item::Witness(one.signed().clone())),
        }
    }

    fn is_shared(&self, name: &Name) -> bool {
        match name {
            Name::Rule(key) => self.set.is_shared(key),
            Name::Witness(key) => self.witnesses.get(key).is_some(),
        }
    }

    fn holds(&self, name: &Name) -> bool {
        match name {
            Name::Rule(key) => self.set.get(key).is_some(),
            Name::Witness(key) => self.witnesses.get(key).is_some(),
        }
    }

    fn enter(&mut self, name: Name, digest: Digest) {
        let key = name.key();
        self.buckets[usize::from(key.0[0])] = None;
        self.index.insert(key, (digest, name));
    }

    fn strike(&mut self, name: &Name) {
        let key = name.key();
        self.buckets[usize::from(key.0[0])] = None;
        self.index.remove(&key);
    }

    fn index_anew(&mut self) {
        let rules = self.set.shared().map(|one| (Name::Rule(one.statement().key), one.digest()));
        let witnesses = self.witnesses.iter().map(|one| (Name::Witness(one.statement().key()), one.digest()));
        self.index = rules.chain(witnesses).map(|(name, digest)| (name.key(), (digest, name))).collect();
        self.buckets.fill(None);
    }
}

fn outcome(why: NotTaken) -> Outcome {
    match why {
        NotTaken::Same => Outcome::Same,
        NotTaken::Older => Outcome::Older,
        NotTaken::Dead => Outcome::Refused(Refusal::Dead),
        NotTaken::Future => Outcome::Refused(Refusal::Future),
        NotTaken::Stranger => Outcome::Refused(Refusal::Stranger),
        NotTaken::Full => Outcome::Refused(Refusal::Full),
    }
}

/// The digest of all that is in these buckets.
pub(super) fn root_of(buckets: &[Bucket]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for bucket in buckets {
        hasher.update(&bucket.sum);
    }
    short(&hasher)
}

fn short(hasher: &blake3::Hasher) -> Digest {
    let mut digest = Digest::default();
    digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    digest
}
