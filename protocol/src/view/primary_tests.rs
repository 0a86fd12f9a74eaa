use super::*;
use crate::peer::{Keys, testing::Keyring};
use crate::view::Config;

fn peers(n: u64) -> Vec<PeerKey> {
    let mut peers: Vec<PeerKey> = (0..n).map(|n| Keyring::numbered(n).own()).collect();
    peers.sort();
    peers
}

fn config() -> Config {
    Config::of(Key::of_swarm("test"))
}

fn settled_on(members: &[PeerKey]) -> Primary {
    Primary::new(&config(), Some(Electors { number: 5, members: members.to_vec() }), Vec::new())
}

fn sees(live: &[PeerKey]) -> impl Fn(&PeerKey) -> Voter {
    |peer| if live.contains(peer) { Voter::Live } else { Voter::Away(Duration::ZERO) }
}

fn gone(from: &Primary) -> Voter {
    Voter::Left(from.parting(), Duration::ZERO)
}

const START: Instant = Instant(1_000_000_000);

#[test]
fn of_any_two_parts_at_most_one_is_primary_and_of_two_halves_exactly_one() {
    for count in 1..=8 {
        let all = peers(count);
        let primary = settled_on(&all);
        for part in 0..1u32 << count {
            let (one, other): (Vec<_>, Vec<_>) = all.iter().zip(0..).partition(|(_, n)| part >> n & 1 == 1);
            let of = |side: Vec<(&PeerKey, u32)>| side.into_iter().map(|(peer, _)| *peer).collect::<Vec<_>>();
            let (one, other) = (of(one), of(other));
            let is_primary = [&one, &other].map(|part| primary.is_primary(sees(part)));
            assert_ne!(is_primary[0], is_primary[1], "{one:?} {other:?}");
        }
    }
}

#[test]
fn of_two_the_survivor_goes_on_after_a_while_and_of_more_none_does() {
    let pair = peers(2);
    let away = |of: &PeerKey, long| {
        let of = *of;
        move |peer: &PeerKey| if *peer == of { Voter::Away(Duration::from_secs(long)) } else { Voter::Live }
    };
    assert!(pair.iter().all(|dead| settled_on(&pair).is_primary(away(dead, 120))));
    let at_once = pair.iter().filter(|dead| settled_on(&pair).is_primary(away(dead, 119)));
    assert_eq!(at_once.count(), 1, "the nearest does not wait");
    let four = peers(4);
    let long =
        |peer: &PeerKey| if *peer == four[0] { Voter::Live } else { Voter::Away(Duration::from_secs(9_999)) };
    assert!(!settled_on(&four).is_primary(long));
}

#[test]
fn who_left_counts_no_more() {
    let three = peers(3);
    let left = |peer: &PeerKey| if *peer == three[0] { Voter::Live } else { gone(&settled_on(&three)) };
    assert!(settled_on(&three).is_primary(left));
}

#[test]
fn a_view_settles_soon_where_somebody_waits_for_that_to_leave() {
    let three = peers(3);
    let mut primary = settled_on(&three[..1]);
    primary.see(START, Some(three.clone()), false);
    assert_eq!(primary.deadline(), Some(START + config().settle_after));
    primary.see(START + Duration::from_millis(1), Some(three), true);
    assert_eq!(primary.deadline(), Some(START + config().settle_soon));
}

#[test]
fn a_view_settles_when_it_stood_still_and_all_have_written_it_down() {
    let four = peers(4);
    let three = four[..3].to_vec();
    let mut primary = settled_on(&four);
    primary.see(START, Some(three.clone()), false);
    let after = START + config().settle_after;
    assert_eq!(primary.attempt(START, true), None, "too early");
    primary.see(START + Duration::from_secs(1), Some(three.clone()), false);
    assert!(primary.attempt(after, primary.is_primary(sees(&three))).is_some());
    let digest = Electors { number: 6, members: three.clone() }.digest();
    let stand = Stand { attempt: digest, ..primary.stand() };
    assert_eq!(primary.stand().attempt, 0, "said when it is written");
    primary.heard(three[1], &stand);
    let Stored::Electors { attempts, .. } = primary.stored() else { panic!("electors") };
    primary.written(&attempts);
    assert_eq!(primary.stand().attempt, digest);
    assert_eq!(primary.agreed(&three[0]), None, "what was said before does not count");
    primary.heard(three[1], &stand);
    primary.heard(three[2], &stand);
    let electors = primary.agreed(&three[0]).expect("all have agreed");
    primary.settle(electors.clone());
    assert_eq!((primary.last(), primary.attempts().len()), (Some(&electors), 0));
}

#[test]
fn who_goes_leaves_a_majority_that_knows_the_settled_view() {
    let four = peers(4);
    let mut primary = settled_on(&four);
    let stand = primary.stand();
    let spared = |primary: &Primary| primary.goes_on_without(&four[0], sees(&four));
    primary.heard(four[1], &stand);
    assert!(!spared(&primary), "one of the three others");
    primary.heard(four[2], &Stand { number: 4, ..stand.clone() });
    assert!(!spared(&primary), "it stands elsewhere");
    primary.heard(four[2], &stand);
    assert!(spared(&primary));
    let next = Electors { number: 6, members: four.clone() };
    primary.settle(next);
    assert!(!spared(&primary), "nobody has said that it heard of that");
}

/// Whoever settled is gone by then.
#[test]
fn what_all_have_agreed_on_is_settled_though_the_view_has_changed() {
    let three = peers(3);
    let attempt = Electors { number: 6, members: three.clone() };
    let restarted = || {
        let last = Electors { number: 5, members: three[..1].to_vec() };
        Primary::new(&config(), Some(last), vec![attempt.clone()])
    };
    let mut primary = restarted();
    assert_eq!(primary.stand().attempt, attempt.digest(), "it is on the disk");
    primary.see(START, Some(three[1..].to_vec()), false);
    assert_eq!(primary.agreed(&three[1]), None);
    for peer in [three[0], three[2]] {
        primary.heard(peer, &Stand { number: 5, attempt: attempt.digest(), ..Stand::default() });
    }
    assert_eq!(primary.agreed(&three[1]), Some(attempt.clone()));
    let mut primary = restarted();
    primary.heard(three[0], &Stand { number: 6, digest: attempt.digest(), ..Stand::default() });
    assert_eq!(primary.agreed(&three[1]), Some(attempt), "it has settled, so all had agreed");
}

/// Of five, two decide with a third on a view of their own; it leaves, and says so to one who was away.
#[test]
fn who_left_counts_until_what_it_may_have_decided_is_known() {
    let five = peers(5);
    let three = [five[0], five[1], five[2]].to_vec();
    let mut leaver = settled_on(&five);
    leaver.see(START, Some(three.clone()), false);
    leaver.attempt(START + config().settle_after, true).expect("an attempt");
    let (ready, next) = (leaver.parting(), Electors { number: 6, members: three.clone() });
    leaver.settle(next.clone());
    let decided = leaver.parting();
    let away = settled_on(&five);
    let with = |left: LastStand| {
        let five = five.clone();
        move |peer: &PeerKey| match five.iter().position(|one| one == peer) {
            Some(0) => Voter::Left(left, Duration::ZERO),
            Some(3 | 4) => Voter::Live,
            _ => Voter::Away(Duration::ZERO),
        }
    };
    // Without the leaver these are two of four; the two that have decided are a majority by what they decided.
    for stand in [ready, decided] {
        assert!(!away.is_primary(with(stand)), "{stand:?}");
    }
    // Of a swarm of two it is as if it were down.
    let two = Primary::new(&config(), Some(Electors { number: 5, members: five[..2].to_vec() }), Vec::new());
    let stays = five[1];
    let other =
        |since| move |peer: &PeerKey| if *peer == stays { Voter::Live } else { Voter::Left(decided, since) };
    assert!(two.is_primary(other(config().survivor_after)));
    // What it was ready for can be learnt, by whoever knows it.
    let stands = |peer: &PeerKey| (*peer == three[0]).then(|| Stand::from(ready));
    let mut learns = settled_on(&peers(5));
    assert_eq!(learns.misses(stands), [next.digest()].into());
    assert!(!learns.learn(three[1..].to_vec(), stands), "nobody asked for that");
    assert!(learns.learn(three.clone(), stands));
    assert!(learns.attempts().map(|of| &of.members).eq([&three]) && learns.misses(stands).is_empty());
    assert_eq!(learns.stand().attempt, 0, "it is not agreed to");
    assert!(!learns.learn(three.clone(), stands), "it is known");
    let left_and = |away: PeerKey| {
        let gone = three[0];
        move |peer: &PeerKey| match *peer {
            peer if peer == gone => Voter::Left(ready, Duration::ZERO),
            peer if peer == away => Voter::Away(Duration::ZERO),
            _ => Voter::Live,
        }
    };
    assert!(learns.is_primary(left_and(five[4])), "three of four, and all that are left of the attempt");
    assert!(!settled_on(&peers(5)).is_primary(with(ready)));
}

/// Of four one left, and of the others two heard so. One that is away did not: it counts the leaver by an answer that was long on its way, and
/// with it half (scenario `view`, seed 915605).
#[test]
fn a_leaver_counts_for_a_while_where_somebody_who_may_not_have_heard_is_away() {
    let four = peers(4);
    let primary = settled_on(&four);
    let swarm = Key::of_swarm("test");
    let mut near = four.clone();
    near.sort_by_key(|peer| swarm.distance_of(peer));
    // The one that is away would win the tie.
    let (away, left) = (near[0], near[1]);
    let goodbye = primary.parting();
    let sees = |since| {
        move |peer: &PeerKey| match *peer {
            peer if peer == away => Voter::Away(Duration::ZERO),
            peer if peer == left => Voter::Left(goodbye, since),
            _ => Voter::Live,
        }
    };
    assert!(primary.is_primary(|peer| if [away, left].contains(peer) {
        Voter::Live
    } else {
        Voter::Away(Duration::ZERO)
    }));
    assert!(!primary.is_primary(sees(Duration::from_secs(43))));
    assert!(primary.is_primary(sees(Duration::from_secs(44))), "two of three");
    let all_hear =
        |peer: &PeerKey| if *peer == left { Voter::Left(goodbye, Duration::ZERO) } else { Voter::Live };
    assert!(primary.is_primary(all_hear));
}

/// Who slept for an hour was ready at once to settle on who had been there before, of whom nobody was any more (scenario `view-seen`, seed
/// 3013465).
#[test]
fn a_view_that_nobody_looked_at_did_not_stand_still() {
    let three = peers(3);
    let mut slept = settled_on(&three[..2]);
    slept.see(START, Some(three.clone()), false);
    slept.look_anew();
    let wakes = START + Duration::from_secs(3_600);
    slept.see(wakes, Some(three.clone()), false);
    assert!(slept.attempt(wakes, true).is_none());
    assert!(slept.attempt(wakes + config().settle_after, true).is_some());
}

/// The example for which attempts are written down: of five, three settle on themselves, but one of them does not hear the end of it.
#[test]
fn who_missed_the_end_of_an_attempt_is_not_primary_with_those_who_were_away() {
    let five = peers(5);
    let (three, others) = (five[..3].to_vec(), five[2..].to_vec());
    let mut missed = settled_on(&five);
    assert!(missed.is_primary(sees(&others)), "by the old view alone");
    missed.see(START, Some(three.clone()), false);
    missed.attempt(START + config().settle_after, true).expect("an attempt");
    assert!(!missed.is_primary(sees(&others)));
    assert!(missed.is_primary(sees(&three)));
}

/// Of four, three are ready to settle on themselves; one of them comes back to the fourth, which knows nothing of that (scenario
/// `view`, seed 506494).
#[test]
fn whose_attempts_are_not_known_does_not_count() {
    let four = peers(4);
    let three = four[1..].to_vec();
    let mut ready = settled_on(&four);
    ready.see(START, Some(three.clone()), false);
    ready.attempt(START + config().settle_after, true).expect("an attempt");
    let write = |primary: &mut Primary| {
        let Stored::Electors { attempts, .. } = primary.stored() else { panic!("electors") };
        primary.written(&attempts);
    };
    write(&mut ready);
    let mut away = settled_on(&four);
    assert!(away.follows(&away.stand()) && !away.follows(&ready.stand()));
    assert!(!away.follows(&Stand::default()), "it knows nothing, and may have forgotten");
    // What was tried before goes on to count, though it is the last that it would settle on.
    ready.see(START, Some(four[2..].to_vec()), false);
    ready.attempt(START + config().settle_after, true).expect("another");
    write(&mut ready);
    let stands = |peer: &PeerKey| (*peer == four[1]).then(|| ready.stand());
    assert_eq!(away.misses(stands).len(), 2);
    assert!(away.learn(four[2..].to_vec(), stands) && !away.follows(&ready.stand()));
    assert!(away.learn(three.clone(), stands) && away.follows(&ready.stand()));
    assert!(!away.is_primary(sees(&four[..2])) && away.is_primary(sees(&[four[0], four[2], four[3]])));
    // Who sees the same knows it without asking, and agrees to it when it stands still here too.
    let mut sees_it = settled_on(&four);
    sees_it.see(START, Some(three.clone()), false);
    sees_it.see(START, None, false);
    let said = Stand { others: Vec::new(), attempt: digest_of(&three), ..ready.stand() };
    assert!(sees_it.heard(four[1], &said).learned && sees_it.follows(&said));
    sees_it.see(START, Some(three.clone()), false);
    sees_it.attempt(START + config().settle_after, true).expect("the own attempt");
    assert_eq!(sees_it.attempts().len(), 1);
    // Who has settled follows one that has agreed to that, whatever it tried before.
    let settled = settled_on(&three);
    let behind = |attempt| Stand { number: 4, digest: 9, attempt, others: vec![7] };
    assert!(settled.follows(&behind(settled.stand().digest)) && !settled.follows(&behind(8)));
}

/// Faults left eight views on which somebody might have settled; who slept meanwhile could learn seven of them (scenario `view-seen`, seed
/// 7003369).
#[test]
fn all_views_that_many_faults_left_are_learnt() {
    let ten = peers(10);
    let mut tried = settled_on(&ten);
    for away in &ten[1..] {
        let seen = ten.iter().filter(|peer| *peer != away).copied().collect();
        tried.see(START, Some(seen), false);
        tried.attempt(START + config().settle_after, true).expect("another");
    }
    let Stored::Electors { attempts, .. } = tried.stored() else { panic!("electors") };
    tried.written(&attempts);
    let mut slept = settled_on(&ten);
    for attempt in attempts {
        assert!(slept.learn(attempt.members, |_| Some(tried.stand())));
    }
    assert!(slept.follows(&tried.stand()) && tried.follows(&slept.stand()));
}

#[test]
fn who_hears_of_a_later_view_waits_for_it() {
    let three = peers(3);
    let mut primary = settled_on(&three);
    assert!(primary.heard(three[1], &Stand { number: 6, digest: 1, ..Stand::default() }).later);
    assert!(!primary.is_primary(sees(&three)));
    primary.lost(&three[1]);
    assert!(primary.is_primary(sees(&three)), "it cannot be asked any more");
    assert!(!primary.heard(three[1], &primary.stand()).later);
}
