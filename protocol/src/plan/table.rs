//! Who keeps which slot, and how whole: what claims and gossip told this peer. From it follows who answers for what.

use super::slots::SlotSet;
use crate::claim::{Claim, Token};
use crate::key::{SLOTS, Slot};
use crate::names::{Name, NamedToken, Names};
use crate::peer::PeerKey;
use crate::placement::{MAX_OWNERS, Owners};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

const DIGEST_CONTEXT: &str = "anthill plan 1 table";

/// What a peer says of its copy of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The holder's token under which the copy's last change was made.
    pub token: Token,
    /// That change: a copy with a greater (token, change) has seen more.
    pub seq: u64,
    /// Documents that can be found in it.
    pub documents: u32,
    /// Whether nothing before that change is missing.
    pub whole: bool,
}

impl Manifest {
    /// By which one copy has seen more than another.
    pub(super) fn age(&self) -> (Token, u64) {
        (self.token, self.seq)
    }

    /// Whether it is what a peer says after `known`.
    fn follows(&self, known: &Manifest) -> bool {
        known.age() <= self.age() || !self.whole
    }
}

/// By slot, what peers said of it.
type Aside = BTreeMap<Slot, Vec<(PeerKey, Manifest)>>;

fn take_aside(aside: &mut Aside, slot: Slot, peer: &PeerKey) -> Option<Manifest> {
    let said = aside.get_mut(&slot)?;
    let manifest = said.iter().position(|(other, _)| other == peer).map(|at| said.remove(at).1);
    if said.is_empty() {
        aside.remove(&slot);
    }
    manifest
}

fn set_aside(aside: &mut Aside, slot: Slot, peer: PeerKey, manifest: Manifest) {
    let said = aside.entry(slot).or_default();
    said.retain(|(other, _)| *other != peer);
    if said.len() >= MAX_OWNERS {
        said.remove(0);
    }
    said.push((peer, manifest));
}

/// The order in which the members of a claim's set answer: the holder, then owners, the first first, then the others by name.
fn order_of(claim: &Claim, owners: &Owners) -> Vec<PeerKey> {
    let owners = owners.as_slice().iter().filter(|owner| claim.keeps(owner));
    let mut order = Vec::with_capacity(claim.set.len());
    for peer in [&claim.holder].into_iter().chain(owners).chain(&claim.set) {
        if !order.contains(peer) {
            order.push(*peer);
        }
    }
    order
}

/// Who answers for a slot, and by which token they are taken to have all of it until they say otherwise: the set of the claim known,
/// or, when somebody says that it holds by a later one, that peer and the owners. A peer knows the claims of slots that it keeps, and of
/// others little more than who holds them. Without either, the owners, and nothing is assumed. Who is asked in vain declines.
pub fn keepers_of(
    claim: Option<&Claim>,
    route: Option<(PeerKey, Token)>,
    owners: &Owners,
) -> (Vec<PeerKey>, Option<Token>) {
    match (claim, route) {
        (Some(claim), route) if route.is_none_or(|(_, token)| token <= claim.token) => {
            (order_of(claim, owners), Some(claim.token))
        }
        (_, Some((holder, token))) => {
            let others = owners.as_slice().iter().filter(|owner| **owner != holder);
            ([&holder].into_iter().chain(others).copied().collect(), Some(token))
        }
        _ => (owners.as_slice().to_vec(), None),
    }
}

/// Who keeps what. At most [`MAX_OWNERS`] peers for each slot.
#[derive(Clone, Debug)]
pub struct Table {
    /// By slot.
    rows: Vec<Row>,
    /// What those said of slots who are not known to keep them, the last of each: they may come to be known to, or were taken for gone, and
    /// do not say it again soon. Of a slot at most [`MAX_OWNERS`]; for one more the oldest is forgotten.
    aside: Aside,
    names: Names,
    /// The sum of all rows' hashes.
    sum: u128,
}

#[derive(Clone, Debug, Default)]
struct Row {
    /// The first answers.
    keepers: Box<[Keeper]>,
    /// Of what decides who answers; 0 for a row without keepers.
    hash: u128,
}

/// There are three for each slot, so that names are kept once.
#[derive(Clone, Debug)]
struct Keeper {
    peer: Name,
    said: Option<Said>,
}

const _: () = assert!(size_of::<Keeper>() <= 40);

/// A [`Manifest`].
#[derive(Clone, Debug)]
struct Said {
    token: NamedToken,
    seq: u64,
    documents: u32,
    whole: bool,
}

impl Said {
    fn of(manifest: Manifest, names: &mut Names) -> Said {
        let Manifest { token, seq, documents, whole } = manifest;
        Said { token: names.of_token(&token), seq, documents, whole }
    }

    fn manifest(&self) -> Manifest {
        let Said { seq, documents, whole, .. } = *self;
        Manifest { token: self.token.get(), seq, documents, whole }
    }
}

impl Keeper {
    fn is(&self, peer: &PeerKey) -> bool {
        *self.peer == *peer
    }

    fn manifest(&self) -> Option<Manifest> {
        self.said.as_ref().map(Said::manifest)
    }

    fn is_whole(&self) -> bool {
        self.said.as_ref().is_some_and(|said| said.whole)
    }
}

impl Table {
    /// A table that knows nothing.
    pub fn new() -> Table {
        let rows = vec![Row::default(); SLOTS as usize];
        Table { rows, aside: BTreeMap::new(), names: Names::default(), sum: 0 }
    }

    /// Who keeps a slot, in the order in which they answer ([`keepers_of`]); more than [`MAX_OWNERS`] are left out. What they said of it
    /// counts, whether or not they were known to keep it then.
    pub fn set_keepers(&mut self, slot: Slot, order: &[PeerKey]) {
        let Some(row) = self.rows.get_mut(usize::from(slot.number())) else { return };
        // Mostly nothing is new, and there are thousands of rows.
        if row.keepers.iter().map(|keeper| &*keeper.peer).eq(order) {
            return;
        }
        let before = std::mem::take(&mut row.keepers);
        let mut keepers: Vec<Keeper> = Vec::with_capacity(order.len().min(MAX_OWNERS));
        for peer in order.iter().take(MAX_OWNERS) {
            if keepers.iter().any(|keeper| keeper.is(peer)) {
                continue;
            }
            keepers.push(before.iter().find(|keeper| keeper.is(peer)).cloned().unwrap_or_else(|| {
                let known = take_aside(&mut self.aside, slot, peer);
                let said = known.map(|manifest| Said::of(manifest, &mut self.names));
                Keeper { peer: self.names.of(peer), said }
            }));
        }
        row.keepers = keepers.into();
        for gone in before.iter().filter(|gone| !row.keepers.iter().any(|keeper| keeper.is(&gone.peer))) {
            // That a copy is whole and empty is assumed of who is silent.
            if let Some(manifest) = gone.manifest().filter(|said| said.documents > 0 || !said.whole) {
                set_aside(&mut self.aside, slot, *gone.peer, manifest);
            }
        }
        self.sum = self.sum.wrapping_add(row.rehash(slot));
    }

    /// A peer says how whole its copies are. What it says of slots that it does not keep, as far as is known, counts from when it is known to.
    /// Older words than the one known change nothing, except that a copy is not whole any more.
    pub fn learn(&mut self, peer: PeerKey, manifests: impl IntoIterator<Item = (Slot, Manifest)>) {
        for (slot, manifest) in manifests {
            let Some(row) = self.rows.get_mut(usize::from(slot.number())) else { continue };
            let Some(keeper) = row.keepers.iter_mut().find(|keeper| keeper.is(&peer)) else {
                let known = take_aside(&mut self.aside, slot, &peer);
                let last = known.filter(|known| !manifest.follows(known)).unwrap_or(manifest);
                set_aside(&mut self.aside, slot, peer, last);
                continue;
            };
            if keeper.manifest().is_none_or(|known| manifest.follows(&known)) {
                let was_whole = keeper.is_whole();
                keeper.said = Some(Said::of(manifest, &mut self.names));
                if was_whole != manifest.whole {
                    self.sum = self.sum.wrapping_add(row.rehash(slot));
                }
            }
        }
    }

    /// Who answers for a slot: the first keeper that is not excluded and whose copy is whole.
    pub fn first(&self, slot: Slot, excluded: &BTreeSet<PeerKey>) -> Option<PeerKey> {
        self.candidates(slot).find(|peer| !excluded.contains(peer))
    }

    /// Whether `peer` answers for a slot. For one table and one set of excluded peers this is true of one peer, or of none where no whole
    /// copy is left: so the slots are a partition.
    pub fn answers(&self, peer: &PeerKey, slot: Slot, excluded: &BTreeSet<PeerKey>) -> bool {
        self.first(slot, excluded) == Some(*peer)
    }

    /// The slots that `peer` answers for.
    pub fn share(&self, peer: &PeerKey, excluded: &BTreeSet<PeerKey>) -> SlotSet {
        Slot::all().filter(|slot| self.answers(peer, *slot, excluded)).collect()
    }

    /// Who answers for what when these do not: each peer that answers for any slot, in order of names.
    pub fn shares(&self, excluded: &BTreeSet<PeerKey>) -> Vec<(PeerKey, SlotSet)> {
        let mut shares: Vec<(PeerKey, SlotSet)> = Vec::new();
        for slot in Slot::all() {
            let Some(peer) = self.first(slot, excluded) else { continue };
            match shares.iter_mut().find(|(other, _)| *other == peer) {
                Some((_, slots)) => slots.insert(slot),
                None => shares.push((peer, SlotSet::from_iter([slot]))),
            }
        }
        shares.sort_unstable_by_key(|(peer, _)| *peer);
        shares
    }

    /// Slots of which a peer says that its copy is whole.
    pub fn whole(&self, peer: &PeerKey) -> SlotSet {
        Slot::all().filter(|slot| self.manifest(*slot, peer).is_some_and(|m| m.whole)).collect()
    }

    /// Documents in these slots, as far as manifests tell.
    pub fn documents(&self, slots: &SlotSet) -> u64 {
        slots.iter().filter_map(|slot| self.newest(slot)).map(|newest| u64::from(newest.documents)).sum()
    }

    /// Keepers of a slot whose copies are whole, in the order in which they answer.
    pub(super) fn candidates(&self, slot: Slot) -> impl Iterator<Item = PeerKey> + '_ {
        self.keepers(slot).iter().filter(|keeper| keeper.is_whole()).map(|keeper| *keeper.peer)
    }

    /// What a peer said of its copy of a slot.
    pub fn manifest(&self, slot: Slot, peer: &PeerKey) -> Option<Manifest> {
        self.keepers(slot).iter().find(|keeper| keeper.is(peer))?.manifest()
    }

    /// The copy of a slot that has seen most, as far as is known; whole or not.
    pub fn newest(&self, slot: Slot) -> Option<Manifest> {
        self.keepers(slot).iter().filter_map(Keeper::manifest).max_by_key(Manifest::age)
    }

    /// Names what decides who answers for what: tables with one digest partition the slots alike. Tells views apart that are honestly different;
    /// who wants to can make two tables of one digest, and gains nothing by it.
    pub fn digest(&self) -> [u8; 16] {
        self.sum.to_le_bytes()
    }

    fn keepers(&self, slot: Slot) -> &[Keeper] {
        self.rows.get(usize::from(slot.number())).map_or(&[], |row| &row.keepers)
    }
}

impl Row {
    /// Hashes a row that has changed; gives what the sum of all hashes changes by.
    fn rehash(&mut self, slot: Slot) -> u128 {
        let before = self.hash;
        let mut hasher = blake3::Hasher::new_derive_key(DIGEST_CONTEXT);
        hasher.update(&slot.number().to_le_bytes());
        for keeper in &self.keepers {
            hasher.update(&keeper.peer.0).update(&[u8::from(keeper.is_whole())]);
        }
        let mut bytes = [0; 16];
        hasher.finalize_xof().fill(&mut bytes);
        self.hash = if self.keepers.is_empty() { 0 } else { u128::from_le_bytes(bytes) };
        self.hash.wrapping_sub(before)
    }
}

impl Default for Table {
    fn default() -> Table {
        Table::new()
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
