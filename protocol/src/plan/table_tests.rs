use super::*;
use crate::member::MemberRecord;
use crate::peer::{Keys, testing::Keyring};
use crate::placement::{Member, Placement};
use crate::time::Instant;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

fn peer(number: u64) -> PeerKey {
    Keyring::numbered(number).own()
}

fn slot(number: u16) -> Slot {
    Slot::new(number).expect("a slot")
}

fn manifest(counter: u64, seq: u64, whole: bool) -> Manifest {
    Manifest { token: Token { counter, minter: peer(0) }, seq, documents: seq as u32, whole }
}

#[test]
fn the_holder_answers_first_then_owners_then_the_rest() {
    let record = |n| MemberRecord::first(peer(n), Vec::new(), true, 64, Instant::ZERO);
    let members = (1..=6).map(|n| Member::from(&record(n)));
    let owners = Placement::of(members).owners(slot(77), 3);
    let [a, b, c] = owners.as_slice() else { panic!("three owners") };
    let other = (1..=6).map(peer).find(|peer| !owners.contains(peer)).expect("another");
    let mut set = vec![other, *c, *a, *b];
    set.sort();
    let token = Token { counter: 1, minter: *c };
    let claim = Claim { slot: slot(77), token, holder: *c, set };
    assert_eq!(order_of(&claim, &owners), [*c, *a, *b, other]);
    let small = Claim { holder: other, set: vec![other], ..claim };
    assert_eq!(order_of(&small, &owners), [other], "only who keeps it");
}

#[test]
fn who_says_that_it_holds_by_a_later_claim_is_asked_first() {
    let record = |n| MemberRecord::first(peer(n), Vec::new(), true, 64, Instant::ZERO);
    let owners = Placement::of((1..=6).map(|n| Member::from(&record(n)))).owners(slot(77), 3);
    let [a, b, c] = owners.as_slice() else { panic!("three owners") };
    let token = |counter, minter: &PeerKey| Token { counter, minter: *minter };
    let claim = Claim { slot: slot(77), token: token(5, a), holder: *a, set: vec![*a] };
    assert_eq!(keepers_of(None, None, &owners), (vec![*a, *b, *c], None));
    assert_eq!(keepers_of(Some(&claim), None, &owners), (vec![*a], Some(claim.token)));
    for earlier in [token(5, a), token(4, b)] {
        assert_eq!(keepers_of(Some(&claim), Some((*b, earlier)), &owners), (vec![*a], Some(claim.token)));
    }
    let later = token(6, b);
    for known in [None, Some(&claim)] {
        assert_eq!(keepers_of(known, Some((*b, later)), &owners), (vec![*b, *a, *c], Some(later)));
    }
}

#[test]
fn only_whole_copies_answer_and_old_words_change_nothing() {
    let mut table = Table::new();
    let nobody = BTreeSet::new();
    table.set_keepers(slot(1), &[peer(1), peer(2), peer(3)]);
    assert_eq!(table.first(slot(1), &nobody), None);
    table.learn(peer(2), [(slot(1), manifest(1, 5, true)), (slot(9), manifest(1, 5, true))]);
    table.learn(peer(7), [(slot(1), manifest(9, 9, true))]);
    assert_eq!(table.first(slot(1), &nobody), Some(peer(2)));
    assert_eq!(table.newest(slot(1)), Some(manifest(1, 5, true)), "strangers do not count");
    table.learn(peer(1), [(slot(1), manifest(2, 1, false))]);
    assert_eq!(table.first(slot(1), &nobody), Some(peer(2)));
    assert_eq!(table.newest(slot(1)), Some(manifest(2, 1, false)));
    table.learn(peer(1), [(slot(1), manifest(2, 1, true))]);
    table.learn(peer(1), [(slot(1), manifest(1, 900, true))]);
    assert!(table.answers(&peer(1), slot(1), &nobody));
    assert_eq!(table.manifest(slot(1), &peer(1)), Some(manifest(2, 1, true)));
    table.set_keepers(slot(1), &[peer(3), peer(2)]);
    assert_eq!(table.first(slot(1), &nobody), Some(peer(2)), "manifests of those who stay are kept");
}

#[test]
fn what_a_peer_said_counts_again_when_it_is_known_to_keep_the_slot() {
    let mut table = Table::new();
    table.set_keepers(slot(1), &[peer(1), peer(2)]);
    table.learn(peer(1), [(slot(1), manifest(1, 5, true))]);
    table.learn(peer(2), [(slot(1), manifest(1, 5, true))]);
    // Taken for gone by mistake, so it does not know that it should say anything again.
    table.set_keepers(slot(1), &[peer(2)]);
    assert_eq!(table.manifest(slot(1), &peer(1)), None);
    table.learn(peer(1), [(slot(1), manifest(1, 7, true))]);
    table.learn(peer(1), [(slot(1), manifest(1, 6, true))]);
    assert_eq!(table.newest(slot(1)), Some(manifest(1, 5, true)), "not while it is not known to keep it");
    table.set_keepers(slot(1), &[peer(1), peer(2), peer(3)]);
    assert_eq!(table.manifest(slot(1), &peer(1)), Some(manifest(1, 7, true)));
    assert_eq!(table.newest(slot(1)), Some(manifest(1, 7, true)));
    // What it says before it is known to have come.
    table.learn(peer(4), [(slot(1), manifest(1, 8, false))]);
    table.set_keepers(slot(1), &[peer(4), peer(1)]);
    assert_eq!(table.manifest(slot(1), &peer(4)), Some(manifest(1, 8, false)));
    assert_eq!(table.first(slot(1), &BTreeSet::new()), Some(peer(1)));
}

#[test]
fn of_those_not_known_to_keep_a_slot_only_the_last_words_are_kept() {
    let mut table = Table::new();
    let most = MAX_OWNERS as u64;
    for n in 0..3 * most {
        table.learn(peer(n), [(slot(1), manifest(1, n, true))]);
    }
    assert_eq!(table.aside[&slot(1)].len(), MAX_OWNERS);
    table.set_keepers(slot(1), &[peer(0), peer(3 * most - 1)]);
    assert_eq!(table.manifest(slot(1), &peer(0)), None);
    assert_eq!(table.manifest(slot(1), &peer(3 * most - 1)), Some(manifest(1, 3 * most - 1, true)));
}

#[test]
fn a_digest_changes_with_what_decides_and_with_nothing_else() {
    let mut table = Table::new();
    table.set_keepers(slot(1), &[peer(1), peer(2)]);
    let empty = table.digest();
    table.learn(peer(1), [(slot(1), manifest(1, 5, true))]);
    let whole = table.digest();
    assert_ne!(whole, empty);
    table.learn(peer(1), [(slot(1), manifest(1, 6, true))]);
    assert_eq!(table.digest(), whole, "more documents");
    table.set_keepers(slot(1), &[peer(2), peer(1)]);
    assert_ne!(table.digest(), whole);
}

proptest! {
    /// For one table and one set of peers that do not answer, each slot is answered for by exactly one peer, if a whole copy is left.
    #[test]
    fn shares_are_a_partition(
        rows in vec((0u16..64, vec((0u64..9, any::<bool>()), 0..6)), 0..40),
        excluded in btree_set(0u64..9, 0..5),
    ) {
        let mut table = Table::new();
        for (number, keepers) in &rows {
            let order: Vec<PeerKey> = keepers.iter().map(|(n, _)| peer(*n)).collect();
            table.set_keepers(slot(*number), &order);
            for (n, whole) in keepers {
                table.learn(peer(*n), [(slot(*number), manifest(1, 1, *whole))]);
            }
        }
        let excluded: BTreeSet<PeerKey> = excluded.into_iter().map(peer).collect();
        let mut sum = SlotSet::empty();
        let shares = table.shares(&excluded);
        prop_assert!(shares.is_sorted_by(|a, b| a.0 < b.0));
        for n in 0..9 {
            let share = table.share(&peer(n), &excluded);
            let listed = shares.iter().find(|(other, _)| *other == peer(n));
            prop_assert_eq!(listed.map_or(SlotSet::empty(), |(_, slots)| slots.clone()), share.clone());
            prop_assert!(share.is_empty() || !excluded.contains(&peer(n)));
            prop_assert!(sum.and(&share).is_empty());
            sum.add(&share);
        }
        for number in 0..64 {
            let left = table.candidates(slot(number)).any(|peer| !excluded.contains(&peer));
            prop_assert_eq!(sum.contains(slot(number)), left);
        }
    }
}
