//! Membership under faults: what must hold holds, what is planted is found, and what it costs is counted.

use anthill_sim::scenarios::view::{Measured, Membership, Setting, Variant};
use anthill_sim::{Options, Outcome, Violation, run};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn scenario(setting: Setting, variant: Variant) -> Membership {
    Membership { setting, variant, measured: None }
}

fn first_failure(
    setting: Setting,
    variant: Variant,
    options: &Options,
    seeds: Range<u64>,
) -> Option<Box<Violation>> {
    let scenario = scenario(setting, variant);
    seeds.into_iter().find_map(|seed| run(&scenario, seed, options).violation)
}

fn holds(setting: Setting, seeds: Range<u64>) {
    if let Some(violation) = first_failure(setting, Variant::Right, &Options::default(), seeds) {
        panic!("{violation}");
    }
}

fn is_found(setting: Setting, variant: Variant, machines: u32, seeds: Range<u64>, check: &str) {
    let options = Options { machines: Some(machines), ..Options::default() };
    let violation = first_failure(setting, variant, &options, seeds);
    let violation = violation.unwrap_or_else(|| panic!("{variant:?} was not found"));
    assert_eq!(violation.check, check, "{violation}");
}

#[test]
fn views_become_right_under_every_fault() {
    holds(Setting::All, 0..24);
}

#[test]
fn nobody_who_is_well_is_held_for_down() {
    holds(Setting::Seen, 0..16);
}

/// Bugs that runs have found.
#[test]
fn what_was_wrong_once_stays_right() {
    for (setting, seed) in [
        // Who lost its disk said that its tokens had just changed, and was not believed for an hour.
        (Setting::All, 0),
        // Newcomers that found only each other settled on a view of their own, and made a second primary component.
        (Setting::All, 101),
        // A founder that was stopped before anybody came did not settle again.
        (Setting::All, 752),
        // A twin left and said goodbye: nobody took the other for a member any more, and nobody told it.
        (Setting::All, 559),
        // Twins of the only two left, and said goodbye each to the other one: both held each other for gone, and did not ask why.
        (Setting::Seen, 41_002_806),
        // The check took a machine that had slept, and was not called since, for primary.
        (Setting::All, 2097),
        // Who did not know that an elector of an attempt had left could never settle again.
        (Setting::All, 8451),
        // One that had just started counted for who had been cut off, before it had said on what it might have settled.
        (Setting::All, 506_494),
        // An answer was long on its way; its sender had left since, and counted for who had not heard so, and for nobody else.
        (Setting::All, 915_605),
        // Nobody knew any more what those that had left were ready to settle on: the only one that did had lost its disk. No bug.
        (Setting::All, 3_105_973),
        // A loss of power took the record of the only other elector, which left: it was away since no time at all for ever.
        (Setting::All, 9_002_952),
        // Of the next three the bugs are not met any more by these seeds, since members look for others more often.
        // Who said goodbye counted its own vote on.
        (Setting::Seen, 2347),
        // Who did not know on what one that left had been ready to settle could never settle again.
        (Setting::Seen, 480),
        // Who slept for long took the time for one in which others were down.
        (Setting::Seen, 3582),
        // Who slept for long was ready to settle on a view of before, with those that had left since: nobody could settle any more.
        (Setting::Seen, 3_013_465),
        // Who had just started, and heard that the only other one left, thought itself cut off for ever.
        (Setting::Seen, 3_111_492),
        // Faults left more views than were remembered on which somebody might settle; each knew others, and nobody was primary any more.
        (Setting::Seen, 7_003_369),
        // Who came back when all whom it had known were gone did not look where others had come meanwhile. No bug: the simulator's.
        (Setting::Seen, 7_006_198),
        // Streams that broke one after the other, each with a question on it, were taken for a death.
        (Setting::Seen, 277),
    ] {
        holds(setting, seed..seed + 1);
    }
}

#[test]
fn the_last_two_of_many_find_each_other() {
    // Members that were left alone looked at three of all machines, at random: of forty that were gone one that was there was missed. No
    // bug: the simulator's.
    let options = Options { state: Some("stopped".to_owned()), ..Options::default() };
    if let Some(violation) = run(&scenario(Setting::All, Variant::Right), 9_200_302, &options).violation {
        panic!("{violation}");
    }
}

#[test]
fn one_peers_word_taken_for_three_is_found() {
    is_found(Setting::Seen, Variant::BelievesAnybody, 9, 0..40, "nobody-falsely-down");
}

#[test]
fn a_generation_that_does_not_rise_is_found() {
    is_found(Setting::All, Variant::OneGeneration, 4, 0..40, "all-agree");
}

#[test]
fn sequences_used_twice_are_found() {
    is_found(Setting::All, Variant::ReservesOnce, 4, 0..20, "all-agree");
}

#[test]
fn half_taken_for_a_majority_is_found() {
    is_found(Setting::All, Variant::HalfIsPrimary, 4, 0..60, "one-primary");
}

#[test]
fn the_same_seed_gives_the_same_log() {
    for seed in 3..5 {
        let [one, other] =
            [0, 1].map(|_| run(&scenario(Setting::All, Variant::Right), seed, &Options::default()));
        assert_eq!((one.digest, one.lines), (other.digest, other.lines));
    }
}

fn measured(setting: Setting, machines: u32, seeds: Range<u64>) -> (Measured, Vec<Outcome>) {
    let into = Arc::new(Mutex::new(Measured::default()));
    let scenario = Membership { setting, variant: Variant::Right, measured: Some(into.clone()) };
    let options = Options { machines: Some(machines), ..Options::default() };
    let outcomes = seeds.map(|seed| run(&scenario, seed, &options)).collect();
    let measured = into.lock().expect("nobody panicked").clone();
    (measured, outcomes)
}

#[test]
fn a_death_among_ten_is_known_to_all_within_ten_seconds() {
    let (measured, _) = measured(Setting::Death, 10, 0..30);
    let mut all = measured.noticed;
    all.sort();
    assert_eq!(all.len(), 270, "each of the others noticed, once");
    let of = |percent: usize| all[all.len() * percent / 100];
    println!("down after {:?} (median), {:?} (p99), {:?} (last)", of(50), of(99), all.last());
    assert!(of(50) < Duration::from_secs(7) && of(99) < Duration::from_secs(10), "{:?} {:?}", of(50), of(99));
}

#[test]
fn half_of_two_hundred_that_stop_at_once_are_noticed() {
    let (measured, _) = measured(Setting::Halved, 200, 0..1);
    let mut all = measured.noticed;
    all.sort();
    assert_eq!(all.len(), 100 * 100, "each of the others noticed each, once");
    println!("down after {:?} (median), {:?} (p99), {:?} (last)", all[5_000], all[9_900], all.last());
    assert!(all[9_900] < Duration::from_secs(30), "{:?}", all[9_900]);
}

/// Messages and bytes that a peer sends in a second when nothing happens.
fn idle(machines: u32) -> (f64, f64) {
    let scenario = scenario(Setting::Idle, Variant::Right);
    let [short, long] = [200, 500].map(|seconds| {
        let faulty = Some(Duration::from_secs(seconds));
        let options =
            Options { machines: Some(machines), faulty, quiet: Some(Duration::ZERO), ..Options::default() };
        let metrics = run(&scenario, 1, &options).metrics;
        let bytes: u64 = metrics.traffic.values().map(|t| t.bytes).sum();
        (metrics.messages(), bytes)
    });
    let each = |a: u64, b: u64| (b - a) as f64 / 300.0 / f64::from(machines);
    (each(short.0, long.0), each(short.1, long.1))
}

#[test]
fn an_idle_peer_costs_a_probe_a_second_whatever_the_size() {
    let (few, many) = (idle(8), idle(64));
    println!("messages and bytes a second: {few:?} of 8, {many:?} of 64");
    for (messages, bytes) in [few, many] {
        assert!((1.9..2.6).contains(&messages), "a probe and an answer: {messages}");
        assert!(bytes < 250.0, "{bytes}");
    }
    assert!(many.1 < few.1 * 1.3, "{few:?} {many:?}");
}
