//! Links for slots that others hold: none is lost, and planted bugs are found.

use anthill_sim::scenarios::links::{Links, Variant};
use anthill_sim::{Options, Violation, run};

fn first_failure(variant: Variant, seeds: impl IntoIterator<Item = u64>) -> Option<Box<Violation>> {
    seeds.into_iter().find_map(|seed| run(&Links(variant), seed, &Options::default()).violation)
}

fn is_found(variant: Variant, seeds: u64) {
    let violation = first_failure(variant, 0..seeds).unwrap_or_else(|| panic!("{variant:?} was not found"));
    assert_eq!(violation.check, "durable", "{violation}");
}

#[test]
fn no_link_is_lost() {
    if let Some(violation) = first_failure(Variant::Right, 100..125) {
        panic!("{violation}");
    }
}

/// A part that was larger than the receiver's whole spool was told to come again for ever.
#[test]
fn a_part_larger_than_the_spool_is_taken_when_nothing_waits() {
    if let Some(violation) = first_failure(Variant::Right, [5]) {
        panic!("{violation}");
    }
}

#[test]
fn a_cursor_that_moves_on_received_is_found() {
    is_found(Variant::MovesOnReceived, 20);
}

#[test]
fn a_cursor_written_on_send_is_found() {
    is_found(Variant::WritesOnSend, 20);
}

#[test]
fn a_filter_that_knows_what_was_only_sent_is_found() {
    is_found(Variant::FiltersOnSend, 20);
}

/// A loss of power must undo links that were sent, and an answer must come late: seed 5 is the first.
#[test]
fn a_process_that_has_the_number_of_the_one_before_is_found() {
    let violation = first_failure(Variant::OneSession, 0..10).expect("found");
    assert_eq!(violation.check, "durable", "{violation}");
}
