//! Who may fetch: safety for many seeds, planted bugs that are found, and what was found once.

use anthill_sim::scenarios::claim::{Claims, Variant};
use anthill_sim::{FaultKind, Options, Violation, run};

fn first_failure(variant: Variant, seeds: std::ops::Range<u64>) -> Option<Box<Violation>> {
    seeds.into_iter().find_map(|seed| run(&Claims(variant), seed, &Options::default()).violation)
}

fn safety_fails(variant: Variant, seeds: std::ops::Range<u64>) {
    let checks = ["one-holder", "tokens-rise", "promises-kept"];
    let found = seeds.clone().find_map(|seed| {
        let violation = run(&Claims(variant), seed, &Options::default()).violation?;
        checks.contains(&violation.check.as_str()).then_some(violation)
    });
    assert!(found.is_some(), "{variant:?} was not found in {seeds:?}");
}

#[test]
fn claims_hold_for_some_seeds() {
    if let Some(violation) = first_failure(Variant::Right, 0..8) {
        panic!("{violation}");
    }
}

#[test]
fn claims_hold_where_slots_are_lent_and_go_back() {
    if let Some(violation) = first_failure(Variant::Lending, 0..8) {
        panic!("{violation}");
    }
}

#[test]
fn a_set_of_which_too_many_are_gone_is_replaced() {
    // Seed 3: a proposer whose set had lost its majority proposed for ever.
    if let Some(violation) = first_failure(Variant::Right, 3..4) {
        panic!("{violation}");
    }
}

#[test]
fn a_holder_that_another_line_has_overtaken_hears_of_it() {
    // Seed 90: members refused the forced claim as long as the old holder renewed, and nobody told that one.
    if let Some(violation) = first_failure(Variant::Right, 90..91) {
        panic!("{violation}");
    }
}

#[test]
fn a_restarted_peer_alone_in_its_set_holds() {
    // Seed 241: it waited for somebody's acknowledgement before it counted its own.
    if let Some(violation) = first_failure(Variant::Right, 241..242) {
        panic!("{violation}");
    }
}

#[test]
fn a_claim_is_shown_to_nobody_before_it_is_on_disk() {
    // An answer showed a claim that the crash of its holder then undid; it could have minted it twice. Seed 50: the promise
    // of its ballot, which has the same token, was taken for the claim.
    for seed in [279, 50] {
        if let Some(violation) = first_failure(Variant::Right, seed..seed + 1) {
            panic!("{violation}");
        }
    }
}

#[test]
fn a_holder_that_is_asked_to_acknowledge_another_line_lets_go() {
    // Seed 403: a claim by force had the old holder in its set, which was bound to itself and told nobody else.
    if let Some(violation) = first_failure(Variant::Right, 403..404) {
        panic!("{violation}");
    }
}

#[test]
fn who_comes_back_to_the_primary_component_waits_for_the_leases_of_those_before() {
    // Seed 2475: a holder that was cut off went on at once, while a permit of who had forced its slot was still good.
    if let Some(violation) = first_failure(Variant::Right, 2475..2476) {
        panic!("{violation}");
    }
}

#[test]
fn promises_are_enough_once_the_claim_before_is_established() {
    // Seed 90023: a holder asked for promises while its own claim was not acknowledged by the set before. That came late, from
    // one who was gone then, and the promises it had were not counted again: it asked the dead for ever.
    if let Some(violation) = first_failure(Variant::Right, 90_023..90_024) {
        panic!("{violation}");
    }
}

#[test]
fn what_a_process_finds_when_it_starts_no_loss_of_power_undoes() {
    // Seed 303483: the disk of the simulator could lose what a process had found on it when it started. A process syncs what it finds before
    // it goes on.
    if let Some(violation) = first_failure(Variant::Right, 303_483..303_484) {
        panic!("{violation}");
    }
}

#[test]
fn one_line_stays_where_two_swarms_meet() {
    // Seed 243: who should have taken over rested because somebody had said to hold by a claim that another had overtaken.
    // Seed 686: who should have held waited for a holder that another, which had left since, had overtaken.
    for seeds in [0..4, 243..244, 686..687] {
        if let Some(violation) = first_failure(Variant::TwoFounders, seeds) {
            panic!("{violation}");
        }
    }
}

#[test]
fn an_answer_before_the_disk_has_it_is_found() {
    safety_fails(Variant::AnswersBeforeSync, 0..10);
}

#[test]
fn a_lease_forgotten_at_a_restart_is_found() {
    safety_fails(Variant::ForgetsLease, 0..100);
}

#[test]
fn a_slot_given_away_with_permits_out_is_found() {
    safety_fails(Variant::DoesNotDrain, 0..10);
}

#[test]
fn a_lease_counted_from_the_answer_is_found() {
    safety_fails(Variant::CountsFromAnswer, 0..45);
}

#[test]
fn a_change_that_does_not_ask_the_old_set_is_found() {
    safety_fails(Variant::ForgetsOldSet, 0..30);
}

#[test]
fn streams_break_of_a_machine_in_the_state_that_is_wanted_though_it_seldom_has_one_then() {
    // Who has yet to name itself has a stream only if others know it, as when its disk was lost.
    let options = Options { state: Some("naming".to_owned()), ..Options::default() };
    let broken = |seed| {
        let faults = run(&Claims(Variant::Right), seed, &options).metrics.faults;
        faults.get(&FaultKind::Break).and_then(|of| of.get("naming")).copied()
    };
    assert!((0..60).filter_map(broken).sum::<u64>() > 0);
}

#[test]
fn a_founder_whose_disk_was_lost_looks_for_others_however_soon_it_stops_again() {
    // No bug of a peer: it was killed before it had written who it is, and was started as at the beginning of the run.
    let options = Options { state: Some("naming".to_owned()), ..Options::default() };
    if let Some(violation) = run(&Claims(Variant::Right), 11_000_255, &options).violation {
        panic!("{violation}");
    }
}
