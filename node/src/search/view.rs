//! What this peer knows of who answers for what, with what follows from it kept until it changes.

use anthill_index::Slots;
use anthill_protocol::peer::PeerKey;
use anthill_protocol::plan::{SlotSet, Table};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The table of who keeps what, as one peer knows it. Read by each query, written by whoever hears of claims and manifests.
pub struct View {
    me: PeerKey,
    state: RwLock<State>,
    shares: Mutex<Option<Shares>>,
}

struct State {
    table: Table,
    mine: Arc<Mine>,
}

/// What follows for this peer from the table, while its digest stays.
pub(super) struct Mine {
    pub digest: [u8; 16],
    /// Slots of which its copies are whole.
    pub whole: SlotSet,
    /// Whether it answers for all slots while nobody hangs.
    alone: bool,
}

/// Who answers for what, when some do not.
pub(super) type ByPeer = Arc<Vec<(PeerKey, SlotSet)>>;

struct Shares {
    digest: [u8; 16],
    excluded: BTreeSet<PeerKey>,
    by_peer: ByPeer,
}

impl View {
    /// What peer `me` knows.
    pub fn new(me: PeerKey, table: Table) -> View {
        let mine = Arc::new(Mine::of(&me, &table));
        View { me, state: RwLock::new(State { table, mine }), shares: Mutex::new(None) }
    }

    /// Who knows this.
    pub fn me(&self) -> PeerKey {
        self.me
    }

    /// Changes the table.
    pub fn update<T>(&self, change: impl FnOnce(&mut Table) -> T) -> T {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let out = change(&mut state.table);
        if state.table.digest() != state.mine.digest {
            state.mine = Arc::new(Mine::of(&self.me, &state.table));
        }
        out
    }

    /// Looks at the table.
    pub fn read<T>(&self, look: impl FnOnce(&Table) -> T) -> T {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner).table)
    }

    /// Whether this peer answers for everything: then its own index is all there is to ask.
    pub fn is_alone(&self) -> bool {
        self.mine().alone
    }

    pub(super) fn mine(&self) -> Arc<Mine> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).mine.clone()
    }

    /// [`Table::shares`] of a table that is being looked at.
    pub(super) fn shares(&self, table: &Table, excluded: &BTreeSet<PeerKey>) -> ByPeer {
        let digest = table.digest();
        let mut kept = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(shares) if shares.digest == digest && shares.excluded == *excluded => shares.by_peer.clone(),
            _ => {
                let by_peer = Arc::new(table.shares(excluded));
                *kept = Some(Shares { digest, excluded: excluded.clone(), by_peer: by_peer.clone() });
                by_peer
            }
        }
    }
}

impl Mine {
    fn of(me: &PeerKey, table: &Table) -> Mine {
        let whole = table.whole(me);
        let alone = whole == SlotSet::all() && table.share(me, &BTreeSet::new()) == whole;
        Mine { digest: table.digest(), whole, alone }
    }
}

/// Slots as the index knows them.
pub(super) fn slots_of(set: &SlotSet) -> Arc<Slots> {
    Arc::new(Slots::from_words(set.words()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_protocol::claim::Token;
    use anthill_protocol::key::Slot;
    use anthill_protocol::plan::Manifest;

    fn peer(n: u8) -> PeerKey {
        PeerKey([n; 32])
    }

    #[test]
    fn what_follows_from_the_table_follows_its_changes() {
        let token = Token { counter: 1, minter: peer(1) };
        let manifest = |whole| Manifest { token, seq: 1, documents: 1, whole };
        let view = View::new(peer(1), Table::new());
        assert!(!view.is_alone() && view.mine().whole.is_empty());
        view.update(|table| {
            Slot::all().for_each(|slot| table.set_keepers(slot, &[peer(1), peer(2)]));
            table.learn(peer(1), Slot::all().map(|slot| (slot, manifest(true))));
        });
        assert!(view.is_alone());
        let one = Slot::new(77).unwrap();
        view.update(|table| {
            table.set_keepers(one, &[peer(2), peer(1)]);
            table.learn(peer(2), [(one, manifest(true))]);
        });
        assert!(!view.is_alone() && view.mine().whole == SlotSet::all());
        let shares = |excluded: &[PeerKey]| {
            let excluded = excluded.iter().copied().collect();
            let by_peer = view.read(|table| view.shares(table, &excluded));
            by_peer.iter().map(|(peer, slots)| (*peer, slots.len())).collect::<Vec<_>>()
        };
        assert_eq!(shares(&[]), [(peer(1), 16_383), (peer(2), 1)]);
        assert_eq!(shares(&[peer(2)]), [(peer(1), 16_384)]);
        assert_eq!(shares(&[]), [(peer(1), 16_383), (peer(2), 1)]);
        assert!(slots_of(&SlotSet::from_iter([one])).contains(77));
    }
}
