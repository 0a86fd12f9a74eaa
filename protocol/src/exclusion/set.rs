//! Of each rule the last word.
//!
//! For one time and one [`Standing`], the set is a function of the words that were ever merged: of each key the word with
//! the highest (sequence, digest), without those that are dead, cut to the first keys when there are too many. Since
//! what is cut depends on keys alone, and a key that was cut can only be followed by keys that come before it, merging is
//! commutative, associative and idempotent (property tests below).

use super::record::{Draft, Exclusion, MAX_PER_ISSUER, RuleKey};
use super::signed::Verified;
use crate::peer::PeerKey;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Exclusions a peer shares with all others: as many as the crawler holds in force; at about 300 bytes each, 30 MB.
pub const MAX_SHARED: usize = 100_000;
/// Issuers whose exclusions are kept also when they have no place among the shared ones: the own operator and those
/// followed. With [`MAX_PER_ISSUER`] this bounds memory.
pub const MAX_KEPT: usize = 16;

/// Whose words are kept when there is no room for all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// Who binds the whole swarm (moderators, proven owners of sites): first among the shared ones. Peers that agree about
    /// these share the same exclusions; see [`super::rules::Rules::binding_issuers`].
    pub binding: BTreeSet<PeerKey>,
    /// The own operator and whom this peer follows: kept here in any case. The first [`MAX_KEPT`] count.
    pub kept: BTreeSet<PeerKey>,
}

/// What became of a record.
pub type Outcome = crate::epidemic::Outcome<Refusal>;

/// Why a good record was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// Its time to be remembered is over.
    #[error("the record has ended; say it anew with a later end")]
    Dead,
    /// There is no room for it.
    #[error(
        "there are {MAX_SHARED} exclusions already and this issuer's come last; follow the issuer to keep them here"
    )]
    Full,
    /// A witness from the future.
    #[error("it was seen more than a day ahead of this clock; set the clocks of both peers")]
    Future,
    /// A witness by someone who is no member of the swarm.
    #[error("its witness is no member of the swarm; wait until that peer has joined")]
    Stranger,
}

/// The order in which keys find room: who binds all comes first.
type Place = (bool, RuleKey);

/// The exclusions a peer knows.
#[derive(Clone, Debug)]
pub struct ExclusionSet {
    limit: usize,
    standing: Standing,
    shared: BTreeMap<Place, Verified<Exclusion>>,
    /// Those of [`Standing::kept`] for which there is no room; nobody is told of them.
    apart: BTreeMap<RuleKey, Verified<Exclusion>>,
}

impl ExclusionSet {
    /// None yet; at most `limit` will be shared ([`MAX_SHARED`] except in tests; the same for all peers).
    pub fn new(limit: usize) -> ExclusionSet {
        ExclusionSet { limit, standing: Standing::default(), shared: BTreeMap::new(), apart: BTreeMap::new() }
    }

    /// How many records there are, take-backs and expired ones included.
    pub fn len(&self) -> usize {
        self.shared.len() + self.apart.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All records that are shared with other peers: whom they bind is for [`super::rules`] to say.
    pub fn shared(&self) -> impl Iterator<Item = &Verified<Exclusion>> {
        self.shared.values()
    }

    /// All records.
    pub fn iter(&self) -> impl Iterator<Item = &Verified<Exclusion>> {
        self.shared().chain(self.apart.values())
    }

    /// The last word about a rule.
    pub fn get(&self, key: &RuleKey) -> Option<&Verified<Exclusion>> {
        self.shared.get(&self.place(*key)).or_else(|| self.apart.get(key))
    }

    pub(super) fn is_shared(&self, key: &RuleKey) -> bool {
        self.shared.contains_key(&self.place(*key))
    }

    /// What an issuer said last about each of its rules.
    pub fn of_issuer(&self, issuer: &PeerKey) -> impl Iterator<Item = &Verified<Exclusion>> {
        let ends = [0, u32::MAX].map(|number| RuleKey { issuer: *issuer, number });
        let [from, to] = ends.map(|key| self.place(key));
        self.shared
            .range(from..=to)
            .map(|(_, one)| one)
            .chain(self.apart.range(ends[0]..=ends[1]).map(|(_, one)| one))
    }

    /// The record with which an issuer says something new: its rule of the same pattern and scope is said anew, else a
    /// number is used that is free or whose rule was taken back. `None` when the issuer has [`MAX_PER_ISSUER`] rules: take some back.
    ///
    /// An issuer that lost its records should first get them back from the swarm, since it would use the same numbers again.
    pub fn draft(&self, issuer: PeerKey, draft: Draft, now_s: u64) -> Option<Exclusion> {
        let known: BTreeMap<u32, &Exclusion> =
            self.of_issuer(&issuer).map(|one| (one.statement().key.number, one.statement())).collect();
        let same = |old: &&&Exclusion| old.pattern == draft.pattern && old.scope == draft.scope;
        let number = match known.values().find(same) {
            Some(old) => old.key.number,
            None => (0..MAX_PER_ISSUER).find(|n| known.get(n).is_none_or(|old| !old.is_in_force(now_s)))?,
        };
        let key = RuleKey { issuer, number };
        Some(Exclusion::new(key, known.get(&number).copied(), draft, now_s))
    }

    /// Takes a record. Gives what became of it, and the key of the record that lost its place among the shared ones.
    pub fn merge(&mut self, now_s: u64, record: Verified<Exclusion>) -> (Outcome, Option<RuleKey>) {
        let key = record.statement().key;
        if record.statement().is_dead(now_s) {
            return (Outcome::Refused(Refusal::Dead), None);
        }
        let place = self.place(key);
        let known = match self.shared.get_mut(&place) {
            Some(known) => Some(known),
            None => self.apart.get_mut(&key),
        };
        if let Some(known) = known {
            // What is dead only waits to be forgotten: it counts no more than if it were not there.
            let rank = |one: &Verified<Exclusion>| {
                (!one.statement().is_dead(now_s), one.statement().sequence, one.digest())
            };
            return match rank(&record).cmp(&rank(known)) {
                Ordering::Less => (Outcome::Older, None),
                Ordering::Equal => (Outcome::Same, None),
                Ordering::Greater => {
                    *known = record;
                    (Outcome::Newer, None)
                }
            };
        }
        self.shared.insert(place, record);
        match self.overflow() {
            Some(gone) if gone == key && self.apart.contains_key(&key) => (Outcome::New, None),
            Some(gone) if gone == key => (Outcome::Refused(Refusal::Full), None),
            gone => (Outcome::New, gone),
        }
    }

    /// Removes the last shared record if there are too many; it stays apart if its issuer's are kept.
    fn overflow(&mut self) -> Option<RuleKey> {
        if self.shared.len() <= self.limit {
            return None;
        }
        let (_, last) = self.shared.pop_last()?;
        let key = last.statement().key;
        if self.standing.kept.contains(&key.issuer) {
            self.apart.insert(key, last);
        }
        Some(key)
    }

    /// Forgets what is dead. Gives the keys.
    pub fn collect(&mut self, now_s: u64) -> Vec<RuleKey> {
        let dead: Vec<_> = self
            .iter()
            .map(Verified::statement)
            .filter(|one| one.is_dead(now_s))
            .map(|one| one.key)
            .collect();
        if !dead.is_empty() {
            let lives = |one: &mut Verified<Exclusion>| !one.statement().is_dead(now_s);
            self.shared.retain(|_, one| lives(one));
            self.apart.retain(|_, one| lives(one));
            self.place_anew();
        }
        dead
    }

    /// Says whose words are kept first. Gives the keys of records that were forgotten.
    pub fn set_standing(&mut self, mut standing: Standing) -> Vec<RuleKey> {
        while standing.kept.len() > MAX_KEPT {
            standing.kept.pop_last();
        }
        if standing == self.standing {
            return Vec::new();
        }
        let before: Vec<_> = self.iter().map(|one| one.statement().key).collect();
        let old = std::mem::take(&mut self.shared);
        self.standing = standing;
        self.shared = old.into_values().map(|one| (self.place(one.statement().key), one)).collect();
        self.place_anew();
        before.into_iter().filter(|key| self.get(key).is_none()).collect()
    }

    /// The own standing.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Gives those apart the places that have become free, and takes places from those that come last.
    fn place_anew(&mut self) {
        for (key, one) in std::mem::take(&mut self.apart) {
            self.shared.insert(self.place(key), one);
        }
        while self.overflow().is_some() {}
    }

    fn place(&self, key: RuleKey) -> Place {
        (!self.standing.binding.contains(&key.issuer), key)
    }
}

#[cfg(test)]
#[path = "set_tests.rs"]
mod tests;
