//! What the parts were last told of each slot, and what is under way there.

use anthill_crawler::time::Instant;
use anthill_protocol::claim::Token;
use anthill_protocol::key::Slot;
use anthill_protocol::peer::{FewPeers, PeerKey};
use anthill_protocol::replica::Position;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Permits are given until those that keep a slot have what was synced so long ago: what they lack is waited for without any.
const NEAR: Duration = Duration::from_secs(1);
/// Who is behind for so long will not catch up while there is always more.
const BEHIND: Duration = Duration::from_secs(20);

/// What part this peer has in a slot, as copies were told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Member,
    Learner,
    Released,
}

/// One slot.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// What copies were last told.
    pub part: Option<(Part, Token)>,
    /// Held by this token.
    pub held: Option<Token>,
    /// The content is whole and its hosts are being read.
    pub loading: bool,
    /// How often that was asked for, and how many of these readings are not done.
    pub loads: u32,
    pub unread: u32,
    /// How far claims were told that the copy is.
    pub position: Option<Position>,
    /// Who is to have a copy, and does not count as a keeper yet.
    pub learners: FewPeers,
    /// Permits whose pages are not written yet.
    pub flights: u32,
    /// Handing over: by this token.
    pub drain: Option<Drain>,
    /// Number of the last change written, and of the last that is synced.
    pub numbered: u64,
    pub synced: u64,
    /// Durable by the present token up to here.
    pub durable: u64,
    /// The route last told to links and windows.
    pub route: Option<(PeerKey, Token)>,
    /// The lease last told to stewards.
    pub leased: Option<(Token, Instant)>,
}

impl State {
    /// Whether nothing goes on here, and nothing was told that would have to be told otherwise: a route is told anew to who wants one.
    fn is_idle(&self) -> bool {
        let has_part = self.part.is_some_and(|(part, _)| part != Part::Released) || self.held.is_some();
        let changes = self.numbered > 0 || self.synced > 0;
        let works = self.loading || self.unread > 0 || self.flights > 0 || self.drain.is_some();
        let told = self.leased.is_some() || !self.learners.is_empty();
        !(has_part || changes || works || told)
    }
}

/// A slot that is being handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Drain {
    /// When that was wished.
    pub since: Instant,
    /// The last change that was synced when it was looked at, and when that was: who has it soon is not far behind.
    pub seen: (u64, Instant),
    /// No permits are given any more.
    pub stopped: bool,
    /// No window of it is open any more.
    pub windows: bool,
    /// Claims were told that it is drained.
    pub told: bool,
}

impl Drain {
    /// It was wished just now, and changes up to this one are synced.
    pub fn new(now: Instant, synced: u64) -> Drain {
        Drain { since: now, seen: (synced, now), stopped: false, windows: false, told: false }
    }

    /// Whether permits are to stop: if those that keep the slot, which are past what was seen last or not, are not far behind. If they are, it is
    /// looked at again when they have what is synced now.
    pub fn is_time(&mut self, now: Instant, is_past: bool, synced: u64) -> bool {
        let is_near = is_past && now.since(self.seen.1) <= NEAR;
        if is_past && !is_near {
            self.seen = (synced, now);
        }
        is_near || now.since(self.since) > BEHIND
    }
}

/// All slots that something is known of.
#[derive(Debug, Default)]
pub(super) struct Slots {
    map: BTreeMap<Slot, Box<State>>,
    /// Whose routes are wanted.
    pub interest: BTreeSet<Slot>,
    /// Whose leases stewards want.
    pub offices: BTreeSet<Slot>,
    /// Held, and not served yet: nobody knows what waits there.
    pub unserved: BTreeSet<Slot>,
    /// Those being handed over.
    pub draining: BTreeSet<Slot>,
    /// When those are looked at, once something has happened; and after which of them the next look begins.
    pub drains_at: Option<Instant>,
    pub drains_after: Option<Slot>,
}

impl Slots {
    /// As a disk has it: slots whose links wait here, and the last change of each copy.
    pub fn new(interest: BTreeSet<Slot>, heads: impl Iterator<Item = (Slot, u64)>) -> Slots {
        let mut slots = Slots { interest, ..Slots::default() };
        heads.for_each(|(slot, head)| slots.synced(slot, head));
        slots
    }

    pub fn of(&mut self, slot: Slot) -> &mut State {
        self.map.entry(slot).or_default()
    }

    pub fn get(&self, slot: Slot) -> Option<&State> {
        self.map.get(&slot).map(Box::as_ref)
    }

    /// Gives back the memory of what was there for slots that others hold now: see [`anthill_protocol::pack`].
    pub fn repack(&mut self) {
        anthill_protocol::pack::repack(&mut self.map);
    }

    pub fn known(&self) -> impl Iterator<Item = Slot> {
        self.map.keys().copied()
    }

    /// Forgets those that are `gone`, with which this peer has nothing to do any more: as if it never had. Returns those of them whose
    /// routes were told.
    pub fn forget(&mut self, gone: impl Fn(Slot) -> bool) -> Vec<Slot> {
        let interest = &self.interest;
        let mut routed = Vec::new();
        self.map.retain(|slot, state| {
            let stays = !state.is_idle() || interest.contains(slot) || !gone(*slot);
            if !stays && state.route.is_some() {
                routed.push(*slot);
            }
            stays
        });
        routed
    }

    pub fn numbered(&mut self, changes: Vec<(Slot, u64)>) {
        for (slot, seq) in changes {
            let state = self.of(slot);
            state.numbered = state.numbered.max(seq);
        }
    }

    pub fn synced(&mut self, slot: Slot, seq: u64) {
        let state = self.of(slot);
        state.synced = state.synced.max(seq);
        state.numbered = state.numbered.max(seq);
    }

    /// A slot's copy was deleted: what comes to it next is its first change. Who waited for the last one of before would wait for ever.
    pub fn deleted(&mut self, slot: Slot) {
        let state = self.of(slot);
        (state.numbered, state.synced) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_stop_when_keepers_are_a_second_behind_at_most_or_after_twenty() {
        let at = |ms| Instant::from_unix_s(1_000) + Duration::from_millis(ms);
        assert!(Drain::new(at(0), 5).is_time(at(0), true, 5), "they have all");
        let mut drain = Drain::new(at(0), 5);
        assert!(!drain.is_time(at(900), false, 9));
        assert!(!drain.is_time(at(3_000), true, 20), "what they have is three seconds old");
        assert_eq!(drain.seen, (20, at(3_000)));
        assert!(!drain.is_time(at(3_900), false, 30));
        assert!(drain.is_time(at(4_000), true, 31));
        let mut behind = Drain::new(at(0), 5);
        assert!(!behind.is_time(at(20_000), false, 900));
        assert!(behind.is_time(at(20_001), false, 901));
    }

    #[test]
    fn what_is_deleted_is_numbered_from_the_beginning() {
        let slot = Slot::new(7).expect("a slot");
        let mut slots = Slots::new(BTreeSet::new(), [(slot, 52)].into_iter());
        slots.synced(slot, 28);
        assert_eq!((slots.of(slot).numbered, slots.of(slot).synced), (52, 52), "answers may come late");
        slots.deleted(slot);
        assert_eq!((slots.of(slot).numbered, slots.of(slot).synced), (0, 0));
        slots.synced(slot, 28);
        slots.numbered(vec![(slot, 29)]);
        assert_eq!((slots.of(slot).numbered, slots.of(slot).synced), (29, 28));
    }

    #[test]
    fn what_this_peer_has_no_part_in_is_forgotten_when_its_copy_is_gone() {
        let [released, kept, with_copy] = [1, 2, 3].map(|n| Slot::new(n).expect("a slot"));
        let token = Token { counter: 3, minter: PeerKey([1; 32]) };
        let mut slots = Slots::new(BTreeSet::new(), [(released, 5), (kept, 5), (with_copy, 5)].into_iter());
        for (slot, part) in [(released, Part::Released), (kept, Part::Member), (with_copy, Part::Released)] {
            slots.of(slot).part = Some((part, token));
        }
        let route = Some((PeerKey([2; 32]), token));
        [released, kept].into_iter().for_each(|slot| slots.of(slot).route = route);
        assert_eq!(slots.forget(|slot| slot != with_copy), []);
        assert_eq!(slots.known().count(), 3, "it was not deleted yet");
        slots.deleted(released);
        slots.deleted(with_copy);
        slots.interest.insert(released);
        assert_eq!(slots.forget(|slot| slot != with_copy), []);
        assert_eq!(slots.known().count(), 3, "somebody wants its route");
        slots.interest.clear();
        assert_eq!(slots.forget(|slot| slot != with_copy), [released], "its route was told");
        assert_eq!(slots.known().collect::<Vec<_>>(), [kept, with_copy]);
    }
}
