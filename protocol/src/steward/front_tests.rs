use super::*;
use crate::peer::{Keys, testing::Keyring};
use std::collections::BTreeMap;

const S: Duration = Duration::from_secs(1);

fn peer(number: u64) -> PeerKey {
    Keyring::numbered(number).own()
}

fn now() -> Instant {
    Instant::from_unix_s(1_000)
}

fn limits() -> Limits {
    Limits { base: Instant::ZERO, lease: Instant(u64::MAX), own_only: None }
}

fn asked(number: u64, at: Instant, wanted: u16) -> Asked {
    Asked { peer: peer(number), id: 1, at, delay: S, wanted }
}

#[test]
fn who_is_alone_gets_all_and_more_before_it_ends() {
    let (mut front, config) = (Front::default(), Config::default());
    front.ask(asked(1, now(), 1));
    let Turn::Now { length, waited, .. } = front.turn(now(), &config, &limits()) else { panic!("granted") };
    assert!(length > config.window * 9 / 10 && length < config.window && waited == Duration::ZERO);
    let later = now() + 4 * S;
    front.ask(Asked { id: 2, ..asked(1, later, 1) });
    assert!(matches!(front.turn(later, &config, &limits()), Turn::Now { id: 2, .. }));
}

#[test]
fn another_waits_for_the_end_and_the_delay_and_a_release_brings_both_forward() {
    let (mut front, config) = (Front::default(), Config::default());
    front.ask(asked(1, now(), 1));
    front.turn(now(), &config, &limits());
    front.ask(asked(2, now(), 1));
    let Turn::At(at) = front.turn(now(), &config, &limits()) else { panic!("waits") };
    assert_eq!(at, front.open_until(now()).expect("open") + stretched(S));
    assert!(
        front.open_until(now()) <= Some(now() + config.window),
        "the longest that a new steward waits for"
    );
    front.release(now() + S, peer(1), 1);
    assert_eq!(front.turn(now() + S, &config, &limits()), Turn::At(now() + S + stretched(S)));
    let at = now() + S + stretched(S);
    let Turn::Now { waited, .. } = front.turn(at, &config, &limits()) else { panic!("granted") };
    assert_eq!(waited, at.since(now()));
}

#[test]
fn windows_end_with_the_lease_and_begin_after_those_that_are_not_known() {
    let (mut front, config) = (Front::default(), Config::default());
    let base = now() + 3 * S;
    let limits = Limits { base, lease: now() + 8 * S, own_only: None };
    front.ask(asked(1, now(), 1));
    let starts = base + stretched(S);
    assert_eq!(front.turn(now(), &config, &limits), Turn::At(starts));
    let Turn::Now { .. } = front.turn(starts, &config, &limits) else { panic!("granted") };
    assert!(front.open_until(starts).expect("open") <= limits.lease);
    let mut late = Front::default();
    late.ask(asked(1, now(), 1));
    assert_eq!(
        late.turn(now() + 15 * S / 2, &config, &limits),
        Turn::Nobody,
        "too little is left of the lease"
    );
}

#[test]
fn turns_are_shared_in_proportion_and_nobody_starves() {
    let (mut front, config) = (Front::default(), Config::default());
    let mut time = now();
    let mut had: BTreeMap<PeerKey, Duration> = BTreeMap::new();
    let wanted = [(1, 60), (2, 30), (3, 10), (4, 1)];
    wanted.iter().for_each(|(number, wanted)| _ = front.ask(asked(*number, time, *wanted)));
    let mut last = BTreeMap::new();
    for _ in 0..400 {
        match front.turn(time, &config, &limits()) {
            Turn::Now { peer: who, length, .. } => {
                *had.entry(who).or_default() += length;
                let before = last.insert(who, time).unwrap_or(time);
                assert!(time.since(before) < 5 * config.window, "{who} waited for {:?}", time.since(before));
                let (number, wanted) = *wanted.iter().find(|(n, _)| peer(*n) == who).expect("one of them");
                front.ask(asked(number, time, wanted));
            }
            Turn::At(at) => time = at,
            Turn::Nobody => panic!("somebody waits"),
        }
    }
    let share = |number: u64| {
        had[&peer(number)].as_millis() * 100 / had.values().map(Duration::as_millis).sum::<u128>()
    };
    assert!((38..48).contains(&share(1)), "{}", share(1));
    assert!((18..25).contains(&share(2)), "{}", share(2));
    assert!((14..21).contains(&share(3)) && share(3).abs_diff(share(4)) <= 1, "the least window");
}

#[test]
fn others_wait_while_only_the_own_peer_may() {
    let (mut front, config) = (Front::default(), Config::default());
    let limits = Limits { own_only: Some(peer(9)), ..limits() };
    front.ask(asked(1, now(), 1));
    assert_eq!(front.turn(now(), &config, &limits), Turn::Nobody);
    front.ask(asked(9, now(), 1));
    assert!(matches!(front.turn(now(), &config, &limits), Turn::Now { peer: who, .. } if who == peer(9)));
}
