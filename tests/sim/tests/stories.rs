//! One thing goes wrong with a swarm that crawls: everything becomes right again, and what it costs is bounded.

use anthill_sim::scenarios::swarm::Story;
use anthill_sim::{Metrics, Options, run};

fn told(story: Story, seeds: std::ops::Range<u64>) -> Metrics {
    let mut sum = Metrics::default();
    for seed in seeds {
        let outcome = run(&story, seed, &Options::default());
        if let Some(violation) = outcome.violation {
            panic!("{violation}");
        }
        sum.add(&outcome.metrics);
    }
    sum
}

fn most(of: &Metrics, name: &str) -> u64 {
    of.measures.get(name).unwrap_or_else(|| panic!("{name} is not measured")).most
}

#[test]
fn nothing_is_fetched_again_where_nobody_stops_or_is_cut_off() {
    let stories =
        [Story::Join, Story::Leave, Story::OneWay, Story::FullDisk, Story::SlowPeer, Story::Suspended];
    for story in stories {
        let sum = told(story, 0..2);
        assert_eq!((most(&sum, "pages_again"), most(&sum, "slots_forced")), (0, 0), "{story:?}");
    }
}

#[test]
fn the_slots_of_a_holder_that_stops_are_held_again_soon_and_those_it_has_copies_of_all_the_time() {
    let sum = told(Story::HolderCrash, 0..4);
    // A death is known after five to ten seconds, and a lease lasts as long.
    assert!((1..25_000).contains(&most(&sum, "pause_longest_ms")), "{sum:?}");
    assert_eq!(most(&sum, "slots_forced"), 0);
    let sum = told(Story::ReplicaCrash, 0..4);
    assert!(most(&sum, "slots_measured") > 0);
    assert_eq!(most(&sum, "pause_longest_ms"), 0);
}

#[test]
fn the_slots_of_one_that_says_goodbye_with_all_that_it_holds_are_held_again_soon() {
    let sum = told(Story::LeaveAtOnce, 0..4);
    assert!((1..25_000).contains(&most(&sum, "pause_longest_ms")), "{sum:?}");
    assert_eq!((most(&sum, "pages_again"), most(&sum, "slots_forced")), (0, 0));
}

/// The two that stayed held themselves for the lesser part for ever, where the first view of all had not settled.
#[test]
fn a_swarm_goes_on_that_its_founder_leaves_while_it_is_young() {
    let sum = told(Story::FounderLeaves, 0..8);
    assert_eq!(most(&sum, "slots_forced"), 0, "{sum:?}");
}

#[test]
fn who_is_cut_off_waits_and_loses_nothing() {
    for story in [Story::TwoOfThree, Story::ThreeAndTwo, Story::TwoAndTwo, Story::Flapping] {
        let sum = told(story, 0..2);
        assert_eq!(most(&sum, "slots_forced"), 0, "{story:?}");
    }
}

#[test]
fn what_a_disk_had_comes_back_from_others_and_of_twins_both_stop() {
    // Who forgot what it held asks until somebody shows it: it had asked once, too early, and two minutes later used force.
    let sum = told(Story::EmptyDisk, 0..4);
    assert!(most(&sum, "pause_longest_ms") < 20_000, "{sum:?}");
    assert_eq!(most(&sum, "slots_forced"), 0);
    assert_eq!(most(&told(Story::CopiedFolder, 0..2), "slots_forced"), 0);
}

#[test]
fn of_slots_taken_by_force_no_more_is_fetched_again_than_was_asked_for_and_could_not_be_copied() {
    // Who stopped: what it asked for in the last seconds. Who is cut off goes on until it knows: that, and what follows.
    for (story, seed) in [Story::SetLost, Story::SetCutOff].into_iter().flat_map(|s| [(s, 0), (s, 1)]) {
        let one = told(story, seed..seed + 1);
        assert!(most(&one, "slots_forced") > 0, "{story:?}");
        let (again, at_stake) = (most(&one, "pages_again"), most(&one, "pages_at_stake"));
        assert!(again <= at_stake, "{story:?} {seed}: {again} of {at_stake}");
        // T_force is a minute, and who forces has been of the greater part for a lease.
        assert!((60_000..120_000).contains(&(most(&one, "pause_longest_ms") + 20_000)), "{one:?}");
    }
}
