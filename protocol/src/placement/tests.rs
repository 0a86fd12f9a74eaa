use super::*;
use crate::member::{DEFAULT_TOKENS, MAX_TOKENS, MIN_TOKENS};
use crate::peer::Keys;
use crate::peer::testing::Keyring;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn peer(number: u64) -> PeerKey {
    Keyring::numbered(number).own()
}

/// A peer that can be dialled, at no public address.
fn plain(number: u64) -> Member {
    Member::new(peer(number), DEFAULT_TOKENS, true, [])
}

fn relayed(number: u64) -> Member {
    Member::new(peer(number), DEFAULT_TOKENS, false, [])
}

/// A peer in the /24 with this number.
fn within(network: u8, number: u64) -> Member {
    Member::new(peer(number), DEFAULT_TOKENS, true, [IpAddr::from([93, 184, network, number as u8])])
}

fn some_slots() -> impl Iterator<Item = Slot> {
    Slot::all().step_by(61)
}

fn set(owners: &Owners) -> BTreeSet<PeerKey> {
    owners.as_slice().iter().copied().collect()
}

/// The rule without rules: all peers by the nearest of their tokens.
fn by_sorting(members: &[Member], key: Key) -> Vec<PeerKey> {
    let nearest = |m: &Member| tokens_of(&m.peer, m.tokens).into_iter().map(|t| t ^ key.0).min();
    let mut peers: Vec<_> = members.iter().map(|m| (nearest(m), m.peer)).collect();
    peers.sort();
    peers.into_iter().map(|(_, peer)| peer).collect()
}

#[test]
fn the_owners_are_the_nearest_distinct_peers() {
    let members: Vec<Member> = (0..40).map(plain).collect();
    let placement = Placement::of(members.clone());
    for slot in some_slots() {
        let sorted = by_sorting(&members, Key::of_slot(slot));
        for r in 0..=MAX_OWNERS {
            // The second time it was found out before.
            for _ in 0..2 {
                assert_eq!(placement.owners(slot, r).as_slice(), &sorted[..r]);
            }
        }
        assert_eq!(placement.nearest(Key::of_slot(slot)), Some(sorted[0]));
    }
}

#[test]
fn few_peers_own_everything_and_none_nothing() {
    let slot = Slot::new(77).unwrap();
    let none = Placement::of([]);
    assert_eq!(none.owners(slot, 3).first(), None);
    assert_eq!(none.nearest(Key::of_swarm("a")), None);
    assert_eq!(none.steward([1, 2, 3, 4].into()), None);
    let two = Placement::of([plain(1), plain(2)]);
    assert_eq!(set(&two.owners(slot, 3)), BTreeSet::from([peer(1), peer(2)]));
    assert_eq!(two.owners(slot, usize::MAX).as_slice().len(), 2);
}

#[test]
fn version_1_of_placement_does_not_change() {
    let mut members: Vec<Member> = (0..20).map(plain).collect();
    members.push(relayed(20));
    members.extend((21..30).map(|n| within(n as u8 % 2, n)));
    let placement = Placement::of(members);
    let mut hasher = blake3::Hasher::new();
    for slot in Slot::all() {
        placement.owners(slot, 3).as_slice().iter().for_each(|peer| _ = hasher.update(&peer.0));
    }
    let stewards = (0..=255_u8).filter_map(|n| placement.steward([n, 1, 2, 3].into()));
    stewards.for_each(|peer| _ = hasher.update(&peer.0));
    hasher.update(&placement.nearest(Key::of_swarm("anthill")).unwrap().0);
    hasher.update(placement.digest());
    assert_eq!(
        hasher.finalize().to_hex().as_str(),
        "37eeb4e10642f3416116d571cf5173dc71305c3ce2bceb0e76300449f0f57b13"
    );
}

#[test]
fn capacity_is_proportional_to_tokens() {
    let sized = |n| if n < 10 { MAX_TOKENS } else { MIN_TOKENS };
    let placement = Placement::of((0..50).map(|n| Member::new(peer(n), sized(n), true, [])));
    let large: BTreeSet<PeerKey> = (0..10).map(peer).collect();
    let held = Slot::all().filter(|&s| large.contains(&placement.owners(s, 1).first().unwrap())).count();
    let share = held as f64 / f64::from(crate::key::SLOTS);
    let due = f64::from(10 * MAX_TOKENS) / f64::from(10 * MAX_TOKENS + 40 * MIN_TOKENS);
    assert!((share - due).abs() < 0.05, "{share} of the slots, {due} of the tokens");
}

#[test]
fn a_peer_that_joins_or_leaves_moves_its_share() {
    for n in [5, 20, 100] {
        let before = Placement::of((0..n).map(plain));
        let after = Placement::of((0..=n).map(plain));
        let share = moved(&before, &after, 1).count() as f64 / f64::from(crate::key::SLOTS);
        let due = 1.0 / (n + 1) as f64;
        assert!((share / due - 1.0).abs() < 0.35, "{share} of the slots moved, {due} of the peers joined");
        assert_eq!(moved(&after, &before, 1).count(), moved(&before, &after, 1).count());
        assert_eq!(moved(&before, &before, 3).count(), 0);
    }
}

#[test]
fn a_public_network_has_one_owner_where_there_are_enough_networks() {
    let placement = Placement::of((0..40).map(|n| within(n as u8 % 5, n)));
    for slot in some_slots() {
        let owners = placement.owners(slot, 3);
        let networks: BTreeSet<Network> =
            owners.as_slice().iter().map(|p| placement.member(p).unwrap().networks[0]).collect();
        assert_eq!(networks.len(), 3);
        assert_eq!(owners.first(), placement.nearest(Key::of_slot(slot)));
    }
}

#[test]
fn too_few_networks_relax_the_rule_and_private_ones_do_not_count() {
    let two = Placement::of((0..20).map(|n| within(n as u8 % 2, n)));
    let lan = |n: u64| Member::new(peer(n), DEFAULT_TOKENS, true, [IpAddr::from([10, 0, 0, n as u8])]);
    let (private, unaddressed) = (Placement::of((0..20).map(lan)), Placement::of((0..20).map(plain)));
    for slot in some_slots() {
        let owners = two.owners(slot, 3);
        let of = |p: &PeerKey| two.member(p).unwrap().networks[0];
        assert_eq!(owners.as_slice().len(), 3);
        assert_ne!(of(&owners.as_slice()[0]), of(&owners.as_slice()[1]));
        assert_eq!(private.owners(slot, 3), unaddressed.owners(slot, 3));
    }
}

#[test]
fn a_peer_alone_in_its_network_does_not_hold_everything() {
    let alone = 200;
    let placement = Placement::of((0..200).map(|n| within(1, n)).chain([within(2, alone)]));
    let held = Slot::all().filter(|&s| placement.owners(s, 3).contains(&peer(alone))).count() as f64;
    let most = 1.5 * REACH as f64 / 201.0 * f64::from(crate::key::SLOTS);
    assert!(0.0 < held && held < most, "{held} slots, {most} at most");
}

#[test]
fn one_owner_can_be_dialled_where_any_peer_can() {
    let one = Placement::of((0..60).map(relayed).chain([plain(60)]));
    let plainly = Placement::of((0..61).map(plain));
    for slot in some_slots() {
        for r in 1..=3 {
            let (owners, nearest) = (one.owners(slot, r), plainly.owners(slot, r));
            assert!(owners.contains(&peer(60)));
            assert_eq!(owners.as_slice()[..r - 1], nearest.as_slice()[..r - 1]);
        }
    }
    assert_eq!(one.steward([93, 184, 216, 34].into()), Some(peer(60)));
    let none = Placement::of((0..60).map(relayed));
    assert_eq!(none.owners(Slot::new(0).unwrap(), 3).as_slice().len(), 3);
}

#[test]
fn who_is_brought_in_to_be_dialled_is_of_another_network_if_one_is() {
    let hidden = |n: u64| {
        let ip = IpAddr::from([93, 184, n as u8 % 2, n as u8]);
        Member::new(peer(n), DEFAULT_TOKENS, false, [ip])
    };
    let even = |member: &Member| member.networks[0] == Network::V4([93, 184, 0]);
    let dialable = (100..110).map(|n| within(0, n)).chain([within(2, 110)]);
    let placement = Placement::of((0..100).map(hidden).chain(dialable));
    let pairs = Slot::all().map(|slot| placement.owners(slot, 2));
    let mut brought = 0;
    for owners in pairs {
        let first = placement.member(&owners.as_slice()[0]).unwrap();
        if !first.dialable() && even(first) {
            assert_eq!(owners.as_slice()[1], peer(110));
            brought += 1;
        }
    }
    assert!(brought > 5000, "{brought}");
}

#[test]
fn an_address_has_the_steward_of_its_key() {
    let placement = Placement::of((0..20).map(plain));
    let steward = |ip: &str| placement.steward(ip.parse().unwrap()).unwrap();
    assert_eq!(steward("93.184.216.34"), steward("::ffff:93.184.216.34"));
    assert_eq!(steward("2606:2800:220:1::1"), steward("2606:2800:220:1:ffff::9"));
    let many: BTreeSet<PeerKey> = (0..100).map(|n| steward(&format!("93.184.216.{n}"))).collect();
    assert!(many.len() > 15, "{} stewards", many.len());
}

#[test]
fn the_digest_names_what_placement_depends_on() {
    let all = |last: Member| *Placement::of((0..5).map(plain).chain([last])).digest();
    let members = [
        plain(5),
        plain(6),
        relayed(5),
        within(1, 5),
        within(2, 5),
        Member::new(peer(5), MAX_TOKENS, true, []),
    ];
    let digests: BTreeSet<[u8; 32]> = members.iter().cloned().map(all).collect();
    assert_eq!(digests.len(), members.len());
}

/// Members of all kinds; names may come twice.
fn members() -> impl Strategy<Value = Vec<Member>> {
    let member = (0..40_u64, 0..400_u16, any::<bool>(), prop::collection::vec(0..4_u8, 0..3)).prop_map(
        |(n, tokens, dialable, networks)| {
            let ips = networks.into_iter().map(|c| IpAddr::from([93, 184, c, 1]));
            Member::new(peer(n), tokens, dialable, ips)
        },
    );
    prop::collection::vec(member, 0..30)
}

fn same(a: &Placement, b: &Placement) -> bool {
    a.digest() == b.digest() && some_slots().all(|s| a.owners(s, 3) == b.owners(s, 3))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_order_of_members_does_not_matter(members in members().prop_shuffle(), r in 1..6_usize) {
        let mut sorted = members.clone();
        sorted.sort();
        let (a, b) = (Placement::of(members), Placement::of(sorted));
        prop_assert_eq!(a.digest(), b.digest());
        prop_assert!(some_slots().all(|slot| a.owners(slot, r) == b.owners(slot, r)));
    }

    #[test]
    fn an_updated_placement_is_a_new_one(first in members(), second in members(), kept: prop::sample::Index) {
        let kept = kept.index(first.len() + 1);
        let view = || first.iter().take(kept).chain(&second).cloned();
        let (updated, new) = (Placement::of(first.clone()).updated(view()), Placement::of(view()));
        prop_assert!(updated.all.entries().eq(new.all.entries()));
        prop_assert!(same(&updated, &new));
    }

    #[test]
    fn owners_are_distinct_as_many_as_there_are_and_one_can_be_dialled(members in members(), r in 0..10_usize) {
        let placement = Placement::of(members);
        let can = placement.members().iter().any(Member::dialable);
        for slot in some_slots() {
            let owners = placement.owners(slot, r);
            let peers = set(&owners);
            prop_assert_eq!(peers.len(), owners.as_slice().len());
            prop_assert_eq!(peers.len(), r.min(MAX_OWNERS).min(placement.members().len()));
            let dialable = |p: &PeerKey| placement.member(p).is_some_and(Member::dialable);
            prop_assert_eq!(!can || r == 0, !peers.iter().any(dialable));
        }
    }

    #[test]
    fn only_slots_that_the_joiner_enters_or_the_leaver_held_change(
        members in prop::collection::btree_map(0..60_u64, any::<bool>(), 1..30),
        comes: u64,
        dialable: bool,
        r in 1..5_usize,
    ) {
        let member = |(n, dialable): (u64, bool)| Member::new(peer(n), DEFAULT_TOKENS, dialable, []);
        let comes = 100 + comes % 1000;
        let without = Placement::of(members.clone().into_iter().map(member));
        let with = without.updated(members.into_iter().chain([(comes, dialable)]).map(member));
        for (slot, was, is) in moved(&without, &with, r) {
            prop_assert!(is.contains(&peer(comes)), "{slot:?} moved though {comes} does not own it");
            prop_assert!(set(&was).difference(&set(&is)).count() <= 1, "one makes room");
        }
    }
}
