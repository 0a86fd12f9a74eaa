//! Slots that are lent by contract: to whom they go, how long they stay, and how they come back.

use super::*;

/// A settled swarm of six in which a slot was lent: the slot, its owners, and a contractor that is none of them.
fn lent() -> (Swarm, Slot, Vec<PeerKey>, PeerKey) {
    let slots: Vec<Slot> = Slot::all().step_by(1_024).collect();
    let mut swarm = Swarm::of(&[6], slots.iter().copied());
    swarm.run(Duration::from_secs(60));
    swarm.assert_settled();
    let view = swarm.peers.values().next().and_then(|state| state.view.clone()).expect("a view");
    let slot = slots[3];
    let owners = view.owners(slot, 3).as_slice().to_vec();
    let to = swarm.groups[0].iter().copied().find(|peer| !owners.contains(peer)).expect("a stranger");
    swarm.feed(to, Input::Stay(slot, true));
    swarm.feed(owners[0], Input::Lend(slot, Some(to)));
    assert_eq!(swarm.peers[&owners[0]].ready().count(), 0, "it has no copy yet");
    let is_ready = |swarm: &Swarm| swarm.peers[&owners[0]].ready().eq([slot]);
    swarm.feed(owners[0], Input::Tick);
    while !is_ready(&swarm) {
        let (to, input) = swarm.inbox.pop_front().expect("it has a copy before it has the slot");
        swarm.feed(to, input);
    }
    swarm.run(Duration::from_secs(5));
    assert!(!is_ready(&swarm), "it has the slot");
    (swarm, slot, owners, to)
}

#[test]
fn what_is_lent_goes_to_the_contractor_stays_there_and_comes_back_when_the_contract_ends() {
    let (mut swarm, slot, owners, to) = lent();
    let set = |swarm: &Swarm| swarm.peers[&to].claim(slot).map(|(mint, _)| mint.claim.set.clone());
    let mut expected = vec![owners[0], owners[1], to];
    expected.sort_unstable();
    assert!(swarm.peers[&to].holds(slot) && !swarm.peers[&owners[0]].holds(slot));
    assert_eq!(set(&swarm), Some(expected.clone()), "the contractor and the first two owners");
    assert_eq!(swarm.peers[&to].lacking(), 0, "the last of the owners is to have none");
    swarm.feed(to, Input::Want(slot));
    swarm.run(Duration::from_secs(300));
    assert!(swarm.peers[&to].holds(slot));
    assert_eq!(set(&swarm), Some(expected), "nothing moves while it lasts");
    swarm.feed(to, Input::Stay(slot, false));
    swarm.run(Duration::from_secs(60));
    swarm.assert_settled();
}

#[test]
fn what_a_contractor_does_not_give_back_is_held_again_when_its_lease_is_over() {
    let (mut swarm, slot, owners, to) = lent();
    let keep = |swarm: &mut Swarm, seconds: u64| {
        for _ in 0..seconds {
            swarm.feed(to, Input::Want(slot));
            swarm.run(Duration::from_secs(1));
        }
    };
    keep(&mut swarm, 60);
    let leased = |swarm: &Swarm| swarm.peers[&to].lease(slot, swarm.now).is_some();
    assert!(swarm.peers[&to].holds(slot) && leased(&swarm));
    // Who should not hold it may say so as often as it likes.
    swarm.feed(owners[1], Input::Revoke(slot));
    keep(&mut swarm, 60);
    assert!(swarm.peers[&to].holds(slot) && leased(&swarm));
    swarm.deaf = Some(to);
    swarm.feed(owners[0], Input::Revoke(slot));
    keep(&mut swarm, 14);
    assert!(!swarm.peers[&owners[0]].holds(slot), "the lease that was granted holds");
    keep(&mut swarm, 6);
    assert!(swarm.peers[&owners[0]].holds(slot) && !swarm.peers[&to].holds(slot) && !leased(&swarm));
    keep(&mut swarm, 60);
    swarm.assert_settled();
}

#[test]
fn an_honest_holder_hands_over_what_is_revoked_at_once() {
    let (mut swarm, slot, owners, to) = lent();
    assert!(swarm.peers[&to].holds(slot));
    swarm.feed(owners[0], Input::Revoke(slot));
    swarm.run(Duration::from_secs(5));
    assert!(swarm.peers[&owners[0]].holds(slot) && !swarm.peers[&to].holds(slot));
}

#[test]
fn what_was_lent_and_is_withdrawn_stays_and_who_is_gone_gets_nothing() {
    let slots: Vec<Slot> = Slot::all().step_by(1_024).collect();
    let mut swarm = Swarm::of(&[6], slots.iter().copied());
    swarm.run(Duration::from_secs(60));
    let view = swarm.peers.values().next().and_then(|state| state.view.clone()).expect("a view");
    let owners = view.owners(slots[3], 3).as_slice().to_vec();
    let strangers = swarm.groups[0].iter().copied().filter(|peer| !owners.contains(peer));
    let strangers: Vec<PeerKey> = strangers.collect();
    swarm.feed(owners[0], Input::Lend(slots[3], Some(owners[1])));
    assert_eq!(swarm.peers[&owners[0]].ready().count(), 1, "who keeps a copy needs none");
    swarm.feed(owners[0], Input::Lend(slots[3], Some(strangers[0])));
    swarm.feed(owners[0], Input::Lend(slots[3], None));
    swarm.run(Duration::from_secs(60));
    swarm.assert_settled();
    swarm.peers.remove(&strangers[1]);
    swarm.groups[0].retain(|peer| *peer != strangers[1]);
    swarm.show();
    swarm.run(Duration::from_secs(60));
    swarm.feed(owners[0], Input::Lend(slots[3], Some(strangers[1])));
    swarm.run(Duration::from_secs(60));
    swarm.assert_settled();
}
