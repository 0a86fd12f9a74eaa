//! The simulator finds what is planted, passes what is right, says the same twice, and makes failures smaller.

use anthill_sim::scenarios::gossip::Gossip;
use anthill_sim::scenarios::lease::{Lease, Variant};
use anthill_sim::{FaultKind, Metrics, Options, Outcome, Violation, first_difference, run, shrink};

fn first_failure(variant: Variant, seeds: u64) -> Option<Box<Violation>> {
    (0..seeds).find_map(|seed| run(&Lease(variant), seed, &Options::default()).violation)
}

fn safety_fails_within(variant: Variant, seeds: u64) {
    let violation = first_failure(variant, seeds).unwrap_or_else(|| panic!("{variant:?} was not found"));
    assert_eq!(violation.check, "one-holder", "{violation}");
}

#[test]
fn the_right_lease_holds_for_two_thousand_seeds() {
    if let Some(violation) = first_failure(Variant::Right, 2_000) {
        panic!("{violation}");
    }
}

#[test]
fn a_grant_before_the_sync_is_found() {
    safety_fails_within(Variant::GrantsBeforeSync, 4_000);
}

#[test]
fn a_lease_counted_from_the_answer_is_found() {
    safety_fails_within(Variant::CountsFromAnswer, 500);
}

#[test]
fn half_taken_for_a_majority_is_found() {
    safety_fails_within(Variant::HalfIsEnough, 100);
}

#[test]
fn a_forgotten_promise_is_found() {
    safety_fails_within(Variant::Forgets, 500);
}

#[test]
fn clocks_that_run_too_wrong_are_noticed() {
    safety_fails_within(Variant::WildClocks, 4_000);
}

#[test]
fn the_same_seed_gives_the_same_log_and_another_seed_another() {
    let twice = |seed| -> [Outcome; 2] { [0, 1].map(|_| run(&Gossip, seed, &Options::default())) };
    for seed in 0..20 {
        let [one, other] = twice(seed);
        assert_eq!((one.digest, one.lines), (other.digest, other.lines));
        assert_eq!(one.metrics, other.metrics);
        assert_ne!(one.digest, run(&Gossip, seed + 1, &Options::default()).digest);
    }
}

#[test]
fn where_two_runs_part_is_found() {
    let options = Options::default();
    assert_eq!(first_difference(&Lease(Variant::Right), &Lease(Variant::Right), 14, &options), None);
    let parting = first_difference(&Lease(Variant::Right), &Lease(Variant::Forgets), 14, &options)
        .expect("one of them forgets");
    assert_ne!(parting.one, parting.other);
    assert_eq!(parting.one[..2], parting.other[..2], "what came before is the same");
}

#[test]
fn a_violation_replays_by_its_options_and_tells_what_happened() {
    let violation = first_failure(Variant::Forgets, 500).expect("found");
    let again =
        run(&Lease(Variant::Forgets), violation.seed, &violation.options).violation.expect("fails again");
    assert_eq!((again.at, &again.what, again.line), (violation.at, &violation.what, violation.line));
    assert!(!again.recent.is_empty() && again.recent.iter().any(|line| line.contains("says holds")));
    let expected = format!("--scenario lease-forgets --seed {}", violation.seed);
    assert!(violation.to_string().contains(&expected), "{violation}");
}

#[test]
fn shrinking_keeps_the_failure_and_leaves_little_else() {
    let violation = first_failure(Variant::HalfIsEnough, 100).expect("found");
    let small =
        shrink(&Lease(Variant::HalfIsEnough), violation.seed, &violation.options, 500).expect("fails");
    assert_eq!(small.violation.check, violation.check);
    let options = &small.violation.options;
    assert!(options.accidents.as_ref().is_some_and(|kept| kept.len() <= 3), "{options}");
    assert!(small.violation.at <= violation.at);
    let again = run(&Lease(Variant::HalfIsEnough), violation.seed, options).violation.expect("fails again");
    assert_eq!(again.what, small.violation.what);
    let kept = options.accidents.as_ref().expect("named");
    let fewer = Options { accidents: Some([].into()), ..options.clone() };
    if !kept.is_empty() {
        let check = run(&Lease(Variant::HalfIsEnough), violation.seed, &fewer).violation.map(|v| v.check);
        assert_ne!(check.as_deref(), Some("one-holder"), "nothing that is left is needless");
    }
}

#[test]
fn every_fault_happens_to_nodes_in_several_states_and_ends() {
    let mut sum = Metrics::default();
    for seed in 0..200 {
        let outcome = run(&Gossip, seed, &Options::default());
        assert!(outcome.violation.is_none(), "{}", outcome.violation.expect("some"));
        sum.add(&outcome.metrics);
    }
    for kind in FaultKind::ALL {
        let met: u64 = sum.faults.get(&kind).map_or(0, |labels| labels.values().sum());
        assert!(met >= 10, "{kind} was met {met} times:\n{}", sum.table());
    }
    for (kind, traffic) in &sum.traffic {
        assert!(traffic.delivered > 0 && traffic.lost > 0, "{kind} {traffic:?}");
        assert!(traffic.delivered + traffic.lost <= traffic.sent + traffic.duplicated, "{kind} {traffic:?}");
    }
    let json = serde_json::to_value(&sum).expect("metrics are plain");
    assert!(json["faults"]["power-loss"].is_object() && json["traffic"]["tell"]["bytes"].is_u64());
}

#[test]
fn what_is_left_out_does_not_happen() {
    let all = Options { without: FaultKind::ALL.into(), ..Options::default() };
    for seed in 0..50 {
        let outcome = run(&Gossip, seed, &all);
        assert!(outcome.violation.is_none());
        assert!(outcome.metrics.faults.is_empty(), "{}", outcome.metrics.table());
        assert_eq!(outcome.metrics.queue_full + outcome.metrics.writes_failed, 0);
    }
}
