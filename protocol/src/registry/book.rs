//! The crawls of the swarm and how far they are, as one peer knows them.

use super::record::{Begun, Counts, CrawlKey, Ended, Register};
use crate::epidemic::{self, Digest, Index, ItemKey, Outcome};
use crate::peer::{Keys, PeerKey};
use crate::signed::{Signable, Signed};
use crate::wire::{Versioned, encode};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Seconds that a crawl is remembered after it ended. Who was away for longer, and has it running, brings it back: then it has to be ended
/// again.
pub const REMEMBERED_S: u64 = 30 * 86_400;
/// Disks that one peer may have lost in the course of a crawl and be counted by: the last ones.
pub const MAX_GENERATIONS: usize = 8;

/// How much is kept. The same at all peers, except in tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Crawls. With the longest seeds that is 100 MB, with a few URLs each 2 MB. Ended ones make room, the oldest first.
    pub crawls: usize,
    /// Crawls of one starter, so that one operator does not take all.
    pub of_starter: usize,
    /// Registers of one crawl: as many as a swarm has members at most.
    pub registers_each: usize,
    /// Registers in sum: 60 MB.
    pub registers: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { crawls: 4_096, of_starter: 512, registers_each: 20_000, registers: 200_000 }
    }
}

/// A crawl as it travels.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Told {
    /// That it began.
    pub begun: Signed<Begun>,
    /// That it ended, if it did.
    pub ended: Option<Signed<Ended>>,
}

/// What travels and is stored: not yet checked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Item {
    /// A crawl.
    Crawl(Box<Told>),
    /// What a peer did for one.
    Register(Box<Signed<Register>>),
}

impl Versioned for Item {
    const VERSION: u8 = 1;
    /// Strings are larger in memory than on the wire.
    const LIMIT: usize = 0x10_0000;
}

impl epidemic::Item for Item {
    const MESSAGE_VERSION: u8 = 1;
}

/// What an item is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Name {
    /// A crawl.
    Crawl(CrawlKey),
    /// What a peer did for it, in this generation.
    Register(CrawlKey, PeerKey, u64),
}

/// An item whose signatures and bounds were checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifiedItem {
    name: Name,
    digest: Digest,
    item: Item,
}

/// Why an item is not what it claims to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Invalid {
    /// Not signed by who it names.
    #[error("the signature is not that of {0}; ask another peer for the record")]
    Forged(PeerKey),
    /// Too many or too long seeds.
    #[error(
        "the seeds are more than a crawl's record may have; give fewer, or let the crawl spread anywhere"
    )]
    Bounds,
    /// Said by who may not, of another crawl, or for a limit that it does not have.
    #[error("this end is not for who says so to say; its starter can end the crawl")]
    End,
}

/// Why a good item is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// It ended long ago.
    #[error("the crawl ended long ago; begin it again")]
    Dead,
    /// There is no room.
    #[error("there are as many crawls as there may be; end some")]
    Full,
    /// Of a crawl that is not known here.
    #[error("the crawl is not known here yet")]
    Unknown,
}

/// Registers summed up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// What waits is that of live peers only.
    pub counts: Counts,
    /// Peers that did something.
    pub peers: usize,
}

/// All that a peer knows of crawls.
#[derive(Debug)]
pub struct Book {
    limits: Limits,
    crawls: BTreeMap<CrawlKey, Told>,
    tags: BTreeSet<(u64, CrawlKey)>,
    registers: BTreeMap<(CrawlKey, PeerKey, u64), Signed<Register>>,
    index: Index<Name>,
}

fn digest_of(parts: &[&[u8]]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    parts.iter().for_each(|part| _ = hasher.update(part));
    epidemic::index::short(&hasher)
}

impl Item {
    fn parts(&self) -> (Name, Digest) {
        match self {
            Item::Crawl(told) => {
                let key = told.begun.body().key();
                let ended = told.ended.as_ref().map(|ended| encode(ended.body())).unwrap_or_default();
                (Name::Crawl(key), digest_of(&[&key.0, &ended]))
            }
            Item::Register(signed) => {
                let body = signed.body();
                (Name::Register(body.crawl, body.by, body.generation), digest_of(&[&encode(body)]))
            }
        }
    }

    fn check(&self) -> Result<(), Invalid> {
        let Item::Crawl(told) = self else { return Ok(()) };
        let begun = told.begun.body();
        if !begun.spec.is_within_bounds() {
            return Err(Invalid::Bounds);
        }
        let Some(ended) = told.ended.as_ref().map(Signed::body) else { return Ok(()) };
        match ended.crawl == begun.key() && ended.may_be_said_of(begun) {
            true => Ok(()),
            false => Err(Invalid::End),
        }
    }

    fn verified(self) -> VerifiedItem {
        let (name, digest) = self.parts();
        VerifiedItem { name, digest, item: self }
    }
}

fn signed<T: Signable>(one: &Signed<T>, keys: &impl Keys) -> Result<(), Invalid> {
    one.verify(keys).map(|_| ()).map_err(|_| Invalid::Forged(one.body().signer()))
}

impl Book {
    /// A crawl, if it is known.
    pub fn crawl(&self, key: &CrawlKey) -> Option<&Told> {
        self.crawls.get(key)
    }

    /// All crawls.
    pub fn crawls(&self) -> impl Iterator<Item = (&CrawlKey, &Told)> {
        self.crawls.iter()
    }

    /// The crawl that links name by this tag.
    pub fn tagged(&self, tag: u64) -> Option<CrawlKey> {
        let ends = (tag, CrawlKey([0; 16]))..=(tag, CrawlKey([0xff; 16]));
        self.tags.range(ends).next().map(|(_, key)| *key)
    }

    /// What a peer said last, in this generation.
    pub fn register(&self, crawl: &CrawlKey, by: &PeerKey, generation: u64) -> Option<&Register> {
        self.registers.get(&(*crawl, *by, generation)).map(Signed::body)
    }

    /// All that was said about a crawl, ordered by peer and generation.
    pub fn registers(&self, crawl: &CrawlKey) -> impl DoubleEndedIterator<Item = &Register> {
        self.range(crawl).map(|(_, signed)| signed.body())
    }

    /// What each peer said in its last generation.
    pub fn latest(&self, crawl: &CrawlKey) -> BTreeMap<PeerKey, &Register> {
        self.registers(crawl).map(|register| (register.by, register)).collect()
    }

    /// Sums over all peers.
    pub fn totals(&self, crawl: &CrawlKey, live: impl Fn(&PeerKey) -> bool) -> Totals {
        let mut totals = Totals::default();
        for Register { counts, .. } in self.registers(crawl) {
            let sum = &mut totals.counts;
            sum.admitted = sum.admitted.saturating_add(counts.admitted);
            sum.fetched = sum.fetched.saturating_add(counts.fetched);
            sum.failed = sum.failed.saturating_add(counts.failed);
            sum.excluded = sum.excluded.saturating_add(counts.excluded);
        }
        for (by, register) in self.latest(crawl) {
            totals.peers += usize::from(register.counts != Counts::default());
            if live(&by) {
                totals.counts.waiting = totals.counts.waiting.saturating_add(register.counts.waiting);
            }
        }
        totals
    }

    /// Whether there is room for one more of this starter.
    pub fn has_room(&self, starter: &PeerKey) -> bool {
        let running = self.crawls.values().filter(|told| told.ended.is_none());
        let own = self.crawls.values().filter(|told| told.begun.body().starter == *starter);
        running.count() < self.limits.crawls && own.count() < self.limits.of_starter
    }

    fn range(&self, crawl: &CrawlKey) -> impl DoubleEndedIterator<Item = (&RegisterKey, &Signed<Register>)> {
        let from = (*crawl, PeerKey([0; 32]), 0);
        self.registers.range(from..=(*crawl, PeerKey([0xff; 32]), u64::MAX))
    }

    fn merge_crawl(&mut self, now_s: u64, told: Told) -> (Outcome<Refusal>, Vec<Name>) {
        let key = told.begun.body().key();
        let Some(known) = self.crawls.get_mut(&key) else {
            if is_dead(&told, now_s) {
                return (Outcome::Refused(Refusal::Dead), Vec::new());
            }
            self.enter(Item::Crawl(Box::new(told.clone())));
            self.tags.insert((key.tag(), key));
            self.crawls.insert(key, told);
            let gone = self.make_room(&key);
            return match self.crawls.contains_key(&key) {
                true => (Outcome::New, gone),
                false => (Outcome::Refused(Refusal::Full), Vec::new()),
            };
        };
        let of = |told: &Told| told.ended.as_ref().map(|ended| *ended.body());
        let outcome = match (of(known), of(&told)) {
            (ours, theirs) if ours == theirs => Outcome::Same,
            (_, None) => Outcome::Older,
            (Some(ours), Some(theirs)) if ours < theirs => Outcome::Older,
            _ => Outcome::Newer,
        };
        if outcome == Outcome::Newer {
            *known = told.clone();
            self.enter(Item::Crawl(Box::new(told)));
        }
        (outcome, Vec::new())
    }

    /// Forgets what is too much after a crawl was added: of its starter, and of all.
    fn make_room(&mut self, added: &CrawlKey) -> Vec<Name> {
        let Some(starter) = self.crawls.get(added).map(|told| told.begun.body().starter) else {
            return Vec::new();
        };
        let is_own = |told: &Told| told.begun.body().starter == starter;
        let mut gone = Vec::new();
        if self.crawls.values().filter(|told| is_own(told)).count() > self.limits.of_starter {
            gone.extend(self.last(is_own));
        }
        if self.crawls.len() - gone.len() > self.limits.crawls {
            gone.extend(self.last(|_| true));
        }
        gone.into_iter().flat_map(|key| self.forget(&key)).collect()
    }

    /// The crawl that goes first when there are too many: one that ended, and longest ago; else the one that began last.
    fn last(&self, of: impl Fn(&Told) -> bool) -> Option<CrawlKey> {
        let place = |(key, told): (&CrawlKey, &Told)| {
            let ended = told.ended.as_ref().map(|ended| u64::MAX - ended.body().at_s);
            (ended.is_some(), ended.unwrap_or(told.begun.body().started_s), *key)
        };
        self.crawls.iter().filter(|(_, told)| of(told)).map(place).max().map(|(.., key)| key)
    }

    /// Forgets a crawl with all that was said about it.
    fn forget(&mut self, key: &CrawlKey) -> Vec<Name> {
        let names =
            self.range(key).map(|((crawl, by, generation), _)| Name::Register(*crawl, *by, *generation));
        let names: Vec<Name> = [Name::Crawl(*key)].into_iter().chain(names).collect();
        self.crawls.remove(key);
        self.tags.remove(&(key.tag(), *key));
        for name in &names {
            self.index.strike(&name.key());
            if let Name::Register(crawl, by, generation) = name {
                self.registers.remove(&(*crawl, *by, *generation));
            }
        }
        names
    }

    fn merge_register(&mut self, signed: Signed<Register>) -> (Outcome<Refusal>, Vec<Name>) {
        let body = *signed.body();
        if !self.crawls.contains_key(&body.crawl) {
            return (Outcome::Refused(Refusal::Unknown), Vec::new());
        }
        let key = (body.crawl, body.by, body.generation);
        let outcome = match self.registers.get(&key).map(|known| *known.body()) {
            None => Outcome::New,
            Some(known) if known == body => Outcome::Same,
            Some(known) if (known.seq, encode(&known)) > (body.seq, encode(&body)) => Outcome::Older,
            Some(_) => Outcome::Newer,
        };
        if !matches!(outcome, Outcome::New | Outcome::Newer) {
            return (outcome, Vec::new());
        }
        self.enter(Item::Register(Box::new(signed.clone())));
        self.registers.insert(key, signed);
        if outcome == Outcome::Newer {
            return (outcome, Vec::new());
        }
        let mut gone: BTreeSet<RegisterKey> = BTreeSet::new();
        let from = (body.crawl, body.by, 0);
        let own: Vec<RegisterKey> =
            self.registers.range(from..=(body.crawl, body.by, u64::MAX)).map(|(key, _)| *key).collect();
        gone.extend(own.iter().take(own.len().saturating_sub(MAX_GENERATIONS)));
        if self.range(&body.crawl).count() > self.limits.registers_each {
            gone.extend(self.range(&body.crawl).next_back().map(|(key, _)| *key));
        }
        if self.registers.len() > self.limits.registers {
            gone.extend(self.registers.last_key_value().map(|(key, _)| *key));
        }
        let refused = gone.contains(&key);
        for gone in &gone {
            self.registers.remove(gone);
            self.index.strike(&Name::Register(gone.0, gone.1, gone.2).key());
        }
        gone.remove(&key);
        let names = gone.into_iter().map(|(crawl, by, generation)| Name::Register(crawl, by, generation));
        (if refused { Outcome::Refused(Refusal::Full) } else { outcome }, names.collect())
    }

    fn enter(&mut self, item: Item) {
        let (name, digest) = item.parts();
        self.index.enter(name.key(), digest, name);
    }
}

/// Names a register.
type RegisterKey = (CrawlKey, PeerKey, u64);

fn is_dead(told: &Told, now_s: u64) -> bool {
    told.ended.as_ref().is_some_and(|ended| ended.body().at_s.saturating_add(REMEMBERED_S) <= now_s)
}

impl Name {
    /// The key of the item of this name. Crawls come before registers, so that who gets both gets them in the order in which they
    /// can be taken.
    pub fn key(&self) -> ItemKey {
        let digest = match self {
            Name::Crawl(key) => digest_of(&[b"anthill crawl\0", &key.0]),
            Name::Register(crawl, by, generation) => {
                digest_of(&[b"anthill register\0", &crawl.0, &by.0, &generation.to_le_bytes()])
            }
        };
        let mut key = digest;
        key[0] = match self {
            Name::Crawl(_) => key[0] & 0x3f,
            Name::Register(..) => 0x40 + key[0] % 0xc0,
        };
        ItemKey(key)
    }

    /// The crawl that it is about.
    pub fn crawl(&self) -> CrawlKey {
        match self {
            Name::Crawl(key) | Name::Register(key, ..) => *key,
        }
    }
}

impl epidemic::Book for Book {
    type Limits = Limits;
    type Standing = ();
    type Item = Item;
    type Verified = VerifiedItem;
    type Name = Name;
    type Invalid = Invalid;
    type Refusal = Refusal;

    fn empty(limits: &Limits, (): ()) -> Book {
        Book {
            limits: limits.clone(),
            crawls: BTreeMap::new(),
            tags: BTreeSet::new(),
            registers: BTreeMap::new(),
            index: Index::default(),
        }
    }

    fn set_standing(&mut self, (): ()) -> Vec<Name> {
        Vec::new()
    }

    fn verify(item: Item, keys: &impl Keys) -> Result<VerifiedItem, Invalid> {
        item.check()?;
        match &item {
            Item::Crawl(told) => {
                signed(&told.begun, keys)?;
                told.ended.as_ref().map_or(Ok(()), |ended| signed(ended, keys))?;
            }
            Item::Register(register) => signed(register.as_ref(), keys)?,
        }
        Ok(item.verified())
    }

    fn from_own_disk(item: Item) -> Result<VerifiedItem, Invalid> {
        item.check()?;
        Ok(item.verified())
    }

    fn name_of(item: &Item) -> Name {
        item.parts().0
    }

    fn parts(item: &VerifiedItem) -> (Name, Digest, Item) {
        (item.name, item.digest, item.item.clone())
    }

    fn key(name: &Name) -> ItemKey {
        name.key()
    }

    fn merge(&mut self, now_s: u64, item: VerifiedItem) -> (Outcome<Refusal>, Vec<Name>) {
        match item.item {
            Item::Crawl(told) => self.merge_crawl(now_s, *told),
            Item::Register(register) => self.merge_register(*register),
        }
    }

    fn is_for_good(why: &Refusal) -> bool {
        *why != Refusal::Unknown
    }

    fn collect(&mut self, now_s: u64) -> Vec<Name> {
        let dead: Vec<CrawlKey> =
            self.crawls.iter().filter(|(_, told)| is_dead(told, now_s)).map(|(key, _)| *key).collect();
        dead.iter().flat_map(|key| self.forget(key)).collect()
    }

    fn index(&self) -> &Index<Name> {
        &self.index
    }

    fn index_mut(&mut self) -> &mut Index<Name> {
        &mut self.index
    }

    fn item(&self, key: &ItemKey) -> Option<Item> {
        match self.index.name(key)? {
            Name::Crawl(key) => self.crawls.get(key).map(|told| Item::Crawl(Box::new(told.clone()))),
            Name::Register(crawl, by, generation) => {
                self.registers.get(&(*crawl, *by, *generation)).cloned().map(Box::new).map(Item::Register)
            }
        }
    }
}

#[cfg(test)]
#[path = "book_tests.rs"]
pub(super) mod tests;
