//! Exclusions and witnesses under one index of digests.

use super::record::{Exclusion, RuleKey};
use super::set::{ExclusionSet, Outcome, Refusal, Standing};
use super::signed::{Digest, StatementError, Verified};
use super::sync::{Limits, Standings};
use super::witness::{MAX_PER_PEER, NotTaken, Witness, WitnessKey, Witnesses};
use crate::epidemic::{self, Index};
use crate::peer::{Keys, PeerKey};
use crate::signed::Signed;
use crate::wire::Versioned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

pub use crate::epidemic::ItemKey;

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

impl epidemic::Item for Item {
    const MESSAGE_VERSION: u8 = 1;
}

impl Item {
    /// What it says that it is about.
    pub fn name(&self) -> Name {
        match self {
            Item::Exclusion(one) => Name::Rule(one.body().key),
            Item::Witness(one) => Name::Witness(one.body().key()),
        }
    }

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

/// All that a peer knows about exclusions.
#[derive(Debug)]
pub struct Book {
    set: ExclusionSet,
    witnesses: Witnesses,
    index: Index<Name>,
}

impl Book {
    /// An empty book that shares at most so many exclusions and witnesses.
    pub fn new(max_exclusions: usize, max_witnesses: usize) -> Book {
        Book {
            set: ExclusionSet::new(max_exclusions),
            witnesses: Witnesses::new(MAX_PER_PEER, max_witnesses),
            index: Index::default(),
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

    /// The shared item of this key.
    pub fn item(&self, key: &ItemKey) -> Option<Item> {
        match self.index.name(key)? {
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
        self.index.enter(name.key(), digest, name);
    }

    fn strike(&mut self, name: &Name) {
        self.index.strike(&name.key());
    }

    fn index_anew(&mut self) {
        let rules = self.set.shared().map(|one| (Name::Rule(one.statement().key), one.digest()));
        let witnesses = self.witnesses.iter().map(|one| (Name::Witness(one.statement().key()), one.digest()));
        self.index = Index::of(rules.chain(witnesses).map(|(name, digest)| (name.key(), digest, name)));
    }
}

impl epidemic::Book for Book {
    type Limits = Limits;
    type Standing = Standings;
    type Item = Item;
    type Verified = VerifiedItem;
    type Name = Name;
    type Invalid = StatementError;
    type Refusal = Refusal;

    fn empty(limits: &Limits, (standing, members): Standings) -> Book {
        let mut book = Book::new(limits.exclusions, limits.witnesses);
        book.set_standing(standing, members);
        book
    }

    fn set_standing(&mut self, (standing, members): Standings) -> Vec<Name> {
        Book::set_standing(self, standing, members)
    }

    fn verify(item: Item, keys: &impl Keys) -> Result<VerifiedItem, StatementError> {
        item.verify(keys)
    }

    fn from_own_disk(item: Item) -> Result<VerifiedItem, StatementError> {
        item.from_own_disk()
    }

    fn name_of(item: &Item) -> Name {
        item.name()
    }

    fn parts(item: &VerifiedItem) -> (Name, Digest, Item) {
        (item.name(), item.digest(), item.item())
    }

    fn key(name: &Name) -> ItemKey {
        name.key()
    }

    fn merge(&mut self, now_s: u64, item: VerifiedItem) -> (Outcome, Vec<Name>) {
        let (outcome, gone) = Book::merge(self, now_s, item);
        (outcome, gone.into_iter().collect())
    }

    /// What is refused may be taken when the standing is another, and then all is asked for again.
    fn is_for_good(_: &Refusal) -> bool {
        true
    }

    fn collect(&mut self, now_s: u64) -> Vec<Name> {
        Book::collect(self, now_s)
    }

    fn index(&self) -> &Index<Name> {
        &self.index
    }

    fn index_mut(&mut self) -> &mut Index<Name> {
        &mut self.index
    }

    fn item(&self, key: &ItemKey) -> Option<Item> {
        Book::item(self, key)
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
