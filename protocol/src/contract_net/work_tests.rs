//! Contractors that do nothing, and those that only seem so.

use super::*;

#[test]
fn a_contractor_that_does_nothing_is_found_out_and_what_does_not_come_back_is_taken_back() {
    let mut swarm = Swarm::new(&[1, 2]);
    swarm.copies = true;
    swarm.fill(1, 0..200, 1);
    swarm.pass(10, false);
    let taken = swarm.state(2).contracted().0;
    assert!(taken > 80 && swarm.state(1).open() == (1, 0));
    let before = swarm.state(1).standing(&peer(2), swarm.now);
    swarm.pass(80, false);
    assert_eq!(swarm.state(1).open(), (1, 0), "it has as long as it would need for all of it");
    swarm.pass(30, false);
    assert_eq!((swarm.state(1).open(), swarm.state(1).ended()), ((0, 0), (0, 1)));
    assert!(swarm.state(1).standing(&peer(2), swarm.now) < before / 2);
    assert!(swarm.revoked.is_empty(), "it may still give it back");
    swarm.pass(60, false);
    let revoked: BTreeSet<Slot> = swarm.revoked.iter().map(|(_, slot)| *slot).collect();
    assert!(revoked.len() == taken && swarm.revoked.iter().all(|(by, _)| *by == peer(1)));
    swarm.take_back();
    swarm.revoked.clear();
    swarm.pass(100, false);
    assert!(swarm.revoked.is_empty(), "it is back");
}

#[test]
fn what_an_idle_contractor_has_from_others_is_taken_back_with_what_it_has_from_here() {
    let mut swarm = Swarm::new(&[1, 2]);
    swarm.copies = true;
    swarm.fill(1, 0..200, 1);
    swarm.pass(10, false);
    // Given to another, who gave it on.
    swarm.placed.insert((peer(1), slot(300)));
    swarm.held.entry(peer(2)).or_default().insert(slot(300), 5);
    swarm.pass(90, false);
    assert!(swarm.revoked.is_empty());
    swarm.pass(90, false);
    assert_eq!(swarm.state(1).ended(), (0, 1));
    assert!(swarm.revoked.contains(&(peer(1), slot(300))));
}

#[test]
fn who_would_be_done_soon_is_found_out_soon_unless_it_has_little_or_what_it_has_is_slow() {
    let cases =
        [(0..200, 1, 0, 50), (0..200, 1, 40, 50), (0..2, 35, 0, 60), (0..2, 35, 30, 90), (0..2, 35, 60, 120)];
    for (lots, pages, delay, wait) in cases {
        let mut swarm = Swarm::new(&(1..=30).collect::<Vec<_>>());
        (swarm.copies, swarm.delay) = (true, Duration::from_secs(delay));
        swarm.fill(1, lots, pages);
        swarm.pass(2, false);
        let open = swarm.state(1).open().0;
        assert!(open > 0);
        swarm.pass(wait - 5, false);
        assert_eq!(swarm.state(1).ended().1, 0, "{pages}");
        swarm.pass(15, false);
        assert!(swarm.state(1).ended().1 >= open as u64, "{pages}: {:?}", swarm.state(1).ended());
    }
}

#[test]
fn who_was_not_seen_to_do_anything_gets_no_more_until_it_is() {
    let given = |work: bool| {
        let mut swarm = Swarm::new(&[1, 2]);
        swarm.copies = true;
        swarm.fill(1, 0..100, 1);
        swarm.pass(8, false);
        let first = swarm.state(2).contracted().0;
        assert!(first > 0);
        swarm.fill(1, 100..1_000, 1);
        swarm.pass(12, work);
        (first, swarm.state(2).contracted().0)
    };
    let (first, then) = given(false);
    assert_eq!(then, first);
    let (first, then) = given(true);
    assert!(then > first * 2, "{then}");
}

#[test]
fn who_keeps_contracts_is_given_more_before_it_is_seen_to_do_anything() {
    let mut swarm = Swarm::new(&[1, 2]);
    swarm.copies = true;
    swarm.fill(1, 0..100, 1);
    swarm.pass(100, true);
    assert_eq!(swarm.state(1).ended(), (1, 0));
    swarm.fill(1, 100..200, 1);
    swarm.pass(7, false);
    let first = swarm.state(2).contracted().0;
    swarm.fill(1, 200..1_000, 1);
    swarm.pass(7, false);
    assert!(swarm.state(2).contracted().0 > first && first > 0);
}

#[test]
fn who_does_nothing_of_one_contract_loses_all_and_has_broken_one() {
    let mut swarm = Swarm::new(&[1, 2]);
    swarm.copies = true;
    swarm.fill(1, 0..100, 1);
    swarm.pass(20, true);
    swarm.fill(1, 100..1_000, 1);
    swarm.pass(10, true);
    assert_eq!(swarm.state(1).open().0, 2);
    let before = swarm.state(1).standing(&peer(2), swarm.now);
    swarm.pass(130, false);
    assert_eq!((swarm.state(1).open().0, swarm.state(1).ended()), (0, (0, 2)));
    assert!(swarm.state(1).standing(&peer(2), swarm.now) >= before / 4);
}

#[test]
fn who_says_that_nothing_waits_any_more_and_never_that_it_is_done_has_it_taken_back() {
    let mut swarm = Swarm::new(&[1, 2]);
    swarm.copies = true;
    swarm.fill(1, 0..200, 1);
    swarm.pass(10, false);
    let agreed = swarm.said.iter().find_map(|(_, _, message)| match message {
        Message::Agree { id } => Some(*id),
        _ => None,
    });
    let lie = Message::Inform { id: agreed.expect("a contract"), came: 1, waiting: 0 };
    swarm.mute.insert(peer(2));
    for _ in 0..40 {
        swarm.pass(5, false);
        swarm.tell(peer(1), Input::Received(peer(2), lie.clone()));
    }
    assert!(swarm.revoked.is_empty());
    swarm.pass(60, false);
    assert!(swarm.revoked.len() >= swarm.state(2).contracted().0);
}

#[test]
fn what_came_just_now_makes_nobody_idle_that_has_had_one_slow_site() {
    let mut swarm = Swarm::new(&[1, 2]);
    (swarm.copies, swarm.delay) = (true, Duration::from_secs(40));
    swarm.fill(1, 0..2, 40);
    swarm.pass(10, true);
    assert_eq!(swarm.state(1).open().0, 1);
    swarm.pass(40, false);
    swarm.fill(1, 100..200, 1);
    swarm.pass(30, false);
    assert_eq!((swarm.state(1).open().0, swarm.state(1).ended()), (2, (0, 0)));
    swarm.pass(60, false);
    assert_eq!((swarm.state(1).open().0, swarm.state(1).ended()), (0, (0, 2)));
}

#[test]
fn what_a_contractor_gave_on_is_taken_from_who_does_nothing_of_it_as_soon_as_if_it_was_given_from_here() {
    let mut swarm = Swarm::new(&[1, 2, 3]);
    swarm.copies = true;
    swarm.fill(1, 0..200, 1);
    swarm.pass(10, true);
    let (&given, &pages) = swarm.held[&peer(2)].last_key_value().expect("it was given some");
    swarm.held.entry(peer(2)).or_default().remove(&given);
    swarm.held.entry(peer(3)).or_default().retain(|_, _| false);
    swarm.held.entry(peer(3)).or_default().insert(given, pages);
    swarm.tell(peer(2), Input::Lost(given, Some(peer(3))));
    swarm.pass(115, false);
    assert!(!swarm.revoked.contains(&(peer(1), given)));
    swarm.pass(20, false);
    assert!(swarm.revoked.contains(&(peer(1), given)));
}

#[test]
fn who_works_is_left_alone_however_long_it_takes() {
    let mut swarm = Swarm::new(&[1, 2]);
    swarm.copies = true;
    swarm.fill(1, 0..200, 10);
    for _ in 0..10 {
        swarm.pass(5, true);
        swarm.pass(45, false);
    }
    assert!(swarm.state(1).ended().1 == 0 && swarm.revoked.is_empty(), "{:?}", swarm.state(1).ended());
}
