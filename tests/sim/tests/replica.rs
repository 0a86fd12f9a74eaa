//! Copies of slots: nothing durable is lost under any fault; what is planted is found; what was found stays mended.

use anthill_sim::scenarios::replica::{Replica, Variant};
use anthill_sim::{Options, Violation, run};

fn first_failure(variant: Variant, seeds: std::ops::Range<u64>) -> Option<Box<Violation>> {
    seeds.into_iter().find_map(|seed| run(&Replica(variant), seed, &Options::default()).violation)
}

fn holds(seeds: std::ops::Range<u64>) {
    if let Some(violation) = first_failure(Variant::Right, seeds) {
        panic!("{violation}");
    }
}

#[test]
fn copies_stay_whole_under_every_fault() {
    holds(1_000..1_010);
}

#[test]
fn an_acknowledgement_before_the_sync_is_found() {
    let violation = first_failure(Variant::AcknowledgesBeforeSync, 0..100).expect("found");
    assert_eq!(violation.check, "nothing-lost", "{violation}");
}

#[test]
fn a_copy_deleted_unasked_is_found() {
    let violation = first_failure(Variant::DeletesUnasked, 0..50).expect("found");
    assert_eq!(violation.check, "nothing-lost", "{violation}");
}

#[test]
fn a_holder_that_does_not_catch_up_is_found() {
    let violation = first_failure(Variant::NoCatchUp, 0..50).expect("found");
    assert_eq!(violation.check, "nothing-lost", "{violation}");
}

/// A member that compared its copy took the holder's position after its own offer for where it was, and so was counted as having what
/// the holder had written since.
#[test]
fn an_offer_does_not_lift_who_made_it() {
    holds(2..3);
}

/// A new holder was told to catch up with a member of the set before, which is not of the new one and so refused.
#[test]
fn who_promised_serves_whom_it_promised() {
    holds(5..6);
}

/// The store of the scenario kept its own of two values of one version: one that others saw, and that was lost here unsynced, and
/// the one that was written in its place. Values have to be ordered wholly, as those of the real store are.
#[test]
fn a_version_that_is_written_twice_is_the_same_everywhere() {
    holds(596..597);
    holds(959..960);
}

/// Two had confirmed that they have all, and one of them lost its disk while the third was not heard for eight seconds: the copy was deleted
/// because of three confirmations, and two had it.
#[test]
fn a_confirmation_counts_for_a_while_only() {
    holds(43_004_619..43_004_620);
}
