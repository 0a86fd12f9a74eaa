//! Windows of time at addresses: spacing holds across peers, and planted bugs are found.

use anthill_sim::scenarios::steward::{Steward, Variant};
use anthill_sim::{Options, Violation, run};

fn first_failure(variant: Variant, seeds: impl IntoIterator<Item = u64>) -> Option<Box<Violation>> {
    seeds.into_iter().find_map(|seed| run(&Steward(variant), seed, &Options::default()).violation)
}

fn is_found(variant: Variant, seeds: u64) {
    let violation = first_failure(variant, 0..seeds).unwrap_or_else(|| panic!("{variant:?} was not found"));
    assert_eq!(violation.check, "spacing", "{violation}");
}

#[test]
fn spacing_holds_and_everybody_has_its_turn() {
    if let Some(violation) = first_failure(Variant::Right, 0..150) {
        panic!("{violation}");
    }
}

/// A steward that had started again called a slot drained while a window was open that it did not know any more (456), and
/// forgot, once the longest window was over, that the delay has to pass as well (557). That windows of a token were drained was taken
/// for those of the next (59453).
#[test]
fn a_steward_that_starts_again_waits_before_a_slot_is_drained_and_after_unknown_windows() {
    if let Some(violation) = first_failure(Variant::Right, [456, 557, 59_453]) {
        panic!("{violation}");
    }
}

#[test]
fn who_wants_an_address_late_by_chance_is_not_taken_for_one_that_never_has_its_turn() {
    // Seed 5006835 with accidents that wait for the state *writing*: a check that asked too much.
    let options = Options { state: Some("writing".into()), ..Options::default() };
    if let Some(violation) = run(&Steward(Variant::Right), 5_006_835, &options).violation {
        panic!("{violation}");
    }
}

#[test]
fn forgotten_windows_are_found() {
    is_found(Variant::ForgetsWindows, 40);
}

#[test]
fn windows_counted_from_the_answer_are_found() {
    is_found(Variant::CountsFromAnswer, 80);
}

#[test]
fn windows_that_outlast_the_lease_are_found() {
    is_found(Variant::OutlastsLease, 20);
}

#[test]
fn windows_without_a_delay_between_them_are_found() {
    is_found(Variant::NoGap, 20);
}
