//! The crawl of a whole swarm: that it is known, counted, limited and over, and that exclusions are heeded; and planted bugs.

use anthill_sim::scenarios::swarm::{Flaw, Swarm};
use anthill_sim::{Options, Violation, run};
use std::ops::Range;

fn first_failure(swarm: Swarm, seeds: Range<u64>) -> Option<Violation> {
    seeds.into_iter().find_map(|seed| run(&swarm, seed, &Options::default()).violation.map(|one| *one))
}

fn is_found(flaw: Flaw, check: &str, seeds: Range<u64>) {
    let found = first_failure(Swarm::Flawed(flaw), seeds).unwrap_or_else(|| panic!("{flaw:?} is not found"));
    assert_eq!(found.check, check, "{found}");
}

#[test]
fn a_crawl_begun_at_one_peer_is_known_counted_and_over_at_all() {
    if let Some(violation) = first_failure(Swarm::Calm, 1..7) {
        panic!("{violation}");
    }
}

#[test]
fn what_was_admitted_for_a_slot_that_is_lost_waits_at_its_next_holder_only() {
    // Seed 14: what came for a slot that another held was counted here for ever, and the crawl was never over.
    if let Some(violation) = first_failure(Swarm::Calm, 14..15) {
        panic!("{violation}");
    }
}

#[test]
fn of_a_limit_all_is_fetched_and_hardly_more() {
    // Seed 0: the last pages were the share of peers to which nothing waited.
    if let Some(violation) = first_failure(Swarm::Limited, 0..4) {
        panic!("{violation}");
    }
}

#[test]
fn admissions_that_are_not_counted_are_found() {
    is_found(Flaw::CountsNothing, "over", 1..5);
}

#[test]
fn a_slot_taken_over_without_what_waits_in_it_is_found() {
    is_found(Flaw::ForgetsWhatWaits, "over", 1..10);
}

#[test]
fn an_exclusion_that_is_not_passed_on_is_found() {
    is_found(Flaw::TellsNobody, "excluded", 1..45);
}
