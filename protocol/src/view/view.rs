//! Who is in the swarm, as this peer sees it, and what follows for who should hold what.

use crate::key::Slot;
use crate::member::MemberRecord;
use crate::peer::PeerKey;
use crate::placement::{Member, Owners, Placement};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a member does. A member that is gone is in no view.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Status {
    /// It answers.
    Alive,
    /// It did not answer lately: it is given nothing new, and keeps what it has.
    Suspect,
    /// It has not answered for so long that others take over what it holds. It still counts as keeping its copies.
    Down,
}

/// One member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// What it last said of itself, verified.
    pub record: Arc<MemberRecord>,
    /// How it does.
    pub status: Status,
}

/// The swarm as one peer sees it, this peer included. It never changes; a change gives another one.
#[derive(Debug)]
pub struct View {
    members: BTreeMap<PeerKey, Seen>,
    /// Of all members that do not leave, those that are down included: who should keep copies.
    all: Arc<Placement>,
    /// Of those of them that are not down, if any is.
    live: Option<Arc<Placement>>,
    settled: bool,
    primary: bool,
    in_doubt: bool,
}

impl View {
    /// The view of these members. `settled`: this peer knows as much as its neighbours, and may hold slots. `primary`:
    /// it sees more than half of the last settled view, and may take over by force.
    pub fn of(members: BTreeMap<PeerKey, Seen>, settled: bool, primary: bool) -> View {
        View::build(members, settled, primary, None)
    }

    /// The same for a view that differs little from this one, at less cost.
    pub fn updated(&self, members: BTreeMap<PeerKey, Seen>, settled: bool, primary: bool) -> View {
        View::build(members, settled, primary, Some(self))
    }

    fn build(members: BTreeMap<PeerKey, Seen>, settled: bool, primary: bool, before: Option<&View>) -> View {
        let placement = |before: Option<&Arc<Placement>>, down: bool| {
            let counted = members.values().filter(|seen| down || seen.status != Status::Down);
            let counted = counted.filter(|seen| !seen.record.leaving);
            let counted = counted.map(|seen| Member::from(&*seen.record));
            match before {
                Some(before) => before.updated_or_same(counted),
                None => Arc::new(Placement::of(counted)),
            }
        };
        let any_down = members.values().any(|seen| seen.status == Status::Down);
        let all = placement(before.map(|view| &view.all), true);
        let live =
            any_down.then(|| placement(before.map(|view| view.live.as_ref().unwrap_or(&view.all)), false));
        View { all, live, members, settled, primary, in_doubt: false }
    }

    /// The same view, of a peer that would not be in the primary component if all who do not answer lately were away.
    pub fn doubting(self, in_doubt: bool) -> View {
        View { in_doubt, ..self }
    }

    /// The members, in order of their names.
    pub fn members(&self) -> impl Iterator<Item = (&PeerKey, &Seen)> {
        self.members.iter()
    }

    /// One of them.
    pub fn member(&self, peer: &PeerKey) -> Option<&Seen> {
        self.members.get(peer)
    }

    /// How a peer does; none for strangers and those that are gone.
    pub fn status(&self, peer: &PeerKey) -> Option<Status> {
        self.members.get(peer).map(|seen| seen.status)
    }

    /// Whether a peer is a member and not down.
    pub fn is_live(&self, peer: &PeerKey) -> bool {
        matches!(self.status(peer), Some(Status::Alive | Status::Suspect))
    }

    /// Whether a peer is a member, not down, and not about to say goodbye.
    pub fn stays(&self, peer: &PeerKey) -> bool {
        self.is_live(peer) && self.members.get(peer).is_some_and(|seen| !seen.record.leaving)
    }

    /// Whether this peer may hold slots: it knows as much as its neighbours.
    pub fn settled(&self) -> bool {
        self.settled
    }

    /// Whether this peer is in the primary component: with more than half of the last settled view.
    pub fn primary(&self) -> bool {
        self.primary
    }

    /// Whether this peer may soon find that it is not in the primary component: it begins nothing that only one component may.
    pub fn in_doubt(&self) -> bool {
        self.in_doubt
    }

    /// Who should keep a slot: its owners among all members that do not leave, those that are down included.
    pub fn owners(&self, slot: Slot, r: usize) -> Owners {
        self.all.owners(slot, r)
    }

    /// Who should hold a slot that `r` peers keep: the first of its owners that is not down; where all are, the first of
    /// those that would be the owners without the ones that are down.
    pub fn should_hold(&self, slot: Slot, r: usize) -> Option<PeerKey> {
        let owners = self.all.owners(slot, r);
        let first = owners.as_slice().iter().find(|peer| self.is_live(peer)).copied();
        first.or_else(|| self.live().owners(slot, 1).first())
    }

    /// Whether who should hold and keep what, and who may, follows from this view as from another: they differ at most in what members say
    /// of themselves that does not matter to placement.
    pub fn plans_as(&self, other: &View) -> bool {
        let how = |view: &View| (view.settled, view.primary, view.in_doubt);
        let statuses = |(peer, seen): (&PeerKey, &Seen)| (*peer, seen.record.generation, seen.status);
        how(self) == how(other)
            && self.all.digest() == other.all.digest()
            && self.members.iter().map(statuses).eq(other.members.iter().map(statuses))
    }

    /// The placement of all members.
    pub fn placement(&self) -> &Placement {
        &self.all
    }

    /// The placement of the members that are not down.
    pub fn live(&self) -> &Placement {
        self.live.as_ref().unwrap_or(&self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::{Address, Transport};
    use crate::peer::{Keys, testing::Keyring};
    use crate::time::Instant;

    fn view(statuses: &[Status]) -> View {
        let seen = |(n, &status): (u64, &Status)| {
            let peer = Keyring::numbered(n).own();
            let record = Arc::new(MemberRecord::first(peer, Vec::new(), false, 64, Instant::ZERO));
            (peer, Seen { record, status })
        };
        View::of((0..).zip(statuses).map(seen).collect(), true, true)
    }

    #[test]
    fn the_first_owner_that_is_not_down_should_hold() {
        let all = view(&[Status::Alive; 6]);
        for slot in Slot::all().step_by(97) {
            let owners = all.owners(slot, 3);
            assert_eq!(all.should_hold(slot, 3), owners.first());
            let mut members: BTreeMap<_, _> = all.members().map(|(p, s)| (*p, s.clone())).collect();
            for (dead, peer) in owners.as_slice().iter().enumerate() {
                members.get_mut(peer).expect("an owner").status = Status::Down;
                let after = all.updated(members.clone(), true, true);
                assert_eq!(after.owners(slot, 3), owners, "copies stay where they are");
                match owners.as_slice().get(dead + 1) {
                    Some(next) => assert_eq!(after.should_hold(slot, 3), Some(*next)),
                    None => {
                        assert_eq!(after.should_hold(slot, 3), all.owners(slot, 4).as_slice().last().copied())
                    }
                }
            }
        }
    }

    #[test]
    fn what_members_say_besides_changes_no_plan_and_all_else_does() {
        let before = view(&[Status::Alive; 3]);
        let at_home = Address::Direct { ip: [10, 0, 0, 1].into(), port: 1, transport: Transport::Tcp };
        let seen = || before.members().map(|(peer, seen)| (*peer, seen.clone()));
        let of = |members: Vec<(PeerKey, Seen)>| before.updated(members.into_iter().collect(), true, true);
        let with = |change: &dyn Fn(&mut MemberRecord)| {
            let mut members: Vec<_> = seen().collect();
            let mut record = (*members[1].1.record).clone();
            change(&mut record);
            members[1].1.record = Arc::new(record);
            of(members)
        };
        let same = with(&|record| (record.sequence, record.addresses) = (9, vec![at_home]));
        assert!(same.plans_as(&before) && Arc::ptr_eq(&same.all, &before.all));
        assert!(!with(&|record| record.leaving = true).plans_as(&before));
        assert!(!with(&|record| record.generation += 1).plans_as(&before));
        assert!(!with(&|record| record.tokens += 1).plans_as(&before));
        assert!(!with(&|record| record.dialable = !record.dialable).plans_as(&before));
        assert!(!of(seen().skip(1).collect()).plans_as(&before));
        for status in [Status::Suspect, Status::Down] {
            let one = |(n, (peer, seen)): (usize, (PeerKey, Seen))| match n {
                2 => (peer, Seen { status, ..seen }),
                _ => (peer, seen),
            };
            assert!(!of(seen().enumerate().map(one).collect()).plans_as(&before));
        }
        for (settled, primary) in [(false, true), (true, false)] {
            assert!(!before.updated(seen().collect(), settled, primary).plans_as(&before));
        }
        assert!(!before.updated(seen().collect(), true, true).doubting(true).plans_as(&before));
    }

    #[test]
    fn a_suspect_keeps_what_it_has_and_nobody_holds_in_an_empty_view() {
        let suspect = view(&[Status::Suspect]);
        let slot = Slot::new(7).expect("a slot");
        assert_eq!(suspect.should_hold(slot, 3), suspect.members().next().map(|(peer, _)| *peer));
        assert_eq!(view(&[Status::Down]).should_hold(slot, 3), None);
        assert_eq!(view(&[]).should_hold(slot, 3), None);
    }
}
