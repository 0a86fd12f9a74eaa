use super::*;
use anthill_protocol::key::SiteId;
use proptest::prelude::*;

fn host(n: u8) -> HostId {
    let name = format!("h{n}.test");
    HostId::of(SiteId::of(&name), &name)
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

/// A turn that comes to a permit.
fn ask(preference: &mut Preference, n: u8, level: u8, now: Instant) -> bool {
    let may = preference.may(host(n), (level, u64::from(n)), now);
    if may {
        preference.leave(host(n));
        preference.gave(host(n), level, now);
    }
    may
}

#[test]
fn the_worse_waits_until_the_better_has_been_asked_and_its_answer_is_known() {
    let mut all = Preference::new(0);
    all.stand(host(1), 0, at(5));
    all.stand(host(2), 2, at(0));
    assert!(!ask(&mut all, 2, 2, at(0)), "the better has its turn in five seconds");
    assert_eq!(all.next(at(4)), None);
    assert!(ask(&mut all, 1, 0, at(5)));
    assert_eq!(all.next(at(5)), None, "it may bring more that is better");
    all.done(host(1));
    assert_eq!(all.next(at(6)), Some(host(2)));
    assert_eq!(all.next(at(6)), None, "named once");
    assert!(ask(&mut all, 2, 2, at(6)));
}

#[test]
fn hosts_of_one_level_do_not_wait_for_each_other_and_none_waits_for_who_is_away_for_long() {
    let mut all = Preference::new(0);
    all.stand(host(1), 1, at(5));
    all.stand(host(2), 1, at(0));
    assert!(ask(&mut all, 2, 1, at(0)));
    all.stand(host(1), 0, at(600));
    assert!(!ask(&mut all, 3, 3, at(500)), "an answer is awaited");
    all.done(host(2));
    assert!(ask(&mut all, 3, 3, at(500)));
    assert!(!ask(&mut all, 4, 3, at(550)), "it comes within a minute");
}

#[test]
fn who_was_held_and_gets_something_better_is_held_no_more() {
    let mut all = Preference::new(0);
    all.stand(host(1), 0, at(5));
    assert!(!ask(&mut all, 2, 2, at(0)));
    all.stand(host(2), 0, at(0));
    assert!(ask(&mut all, 2, 0, at(0)));
    all.leave(host(1));
    all.done(host(2));
    assert_eq!(all.next(at(1)), None);
}

#[test]
fn few_are_asked_at_once_while_little_is_learned_and_fewer_where_nothing_good_is_known() {
    let mut all = Preference::new(0);
    let asked = (0..20).filter(|n| ask(&mut all, *n, 3, at(0))).count();
    assert_eq!((asked, all.next(at(0))), (2, None));
    assert_eq!((20..60).filter(|n| ask(&mut all, *n, 0, at(0))).count(), AT_ONCE - 2);
    (0..60).for_each(|n| all.done(host(n)));
    for _ in 0..10 * ONE_MORE {
        all.gave(host(1), 0, at(0));
    }
    all.done(host(1));
    all.stands.clone().into_keys().for_each(|host| all.leave(host));
    assert_eq!((0..60).filter(|n| ask(&mut all, *n, 0, at(0))).count(), AT_ONCE + 10);
}

fn others(best: &[(usize, u32)], given: u64) -> Others {
    let mut others = Others { given, ..Others::default() };
    for (level, count) in best {
        others.best[*level] = *count;
        others.peers += count;
    }
    others
}

#[test]
fn what_others_have_is_waited_for_as_long_as_they_get_on_and_for_a_minute() {
    let mut all = Preference::new(0);
    all.hear(others(&[(1, 1)], 1), at(0));
    assert!(!ask(&mut all, 1, 2, at(0)), "another has better");
    assert!(ask(&mut all, 2, 1, at(1)), "of one level they do not wait for each other");
    all.done(host(2));
    all.hear(others(&[(1, 1)], 2), at(5));
    assert_eq!(all.next(at(14)), None);
    assert_eq!(all.next(at(16)), Some(host(1)), "it said so, and did nothing for ten seconds");
    assert!(ask(&mut all, 1, 2, at(16)));
    all.done(host(1));

    // Who gets on for ever, or says so, is not waited for for ever.
    let mut asked = Vec::new();
    for second in 20..200 {
        all.hear(others(&[(1, 1)], second), at(second));
        if all.held[2].is_empty() && ask(&mut all, 3, 2, at(second)) || all.next(at(second)).is_some() {
            all.gave(host(3), 2, at(second));
            all.done(host(3));
            all.leave(host(3));
            asked.push(second);
        }
    }
    assert_eq!(asked, [76, 136, 196]);
    all.leave(host(3));
    all.hear(Others::default(), at(200));
    assert!(ask(&mut all, 4, 3, at(200)), "nobody has anything");
}

#[test]
fn of_what_others_are_given_a_part_is_for_what_waits_here() {
    let mut all = Preference::new(100);
    all.hear(others(&[(0, 4)], 1_000), at(0));
    all.saved = 0;
    assert!(!ask(&mut all, 1, 2, at(0)));
    all.hear(others(&[(0, 4)], 1_049), at(1));
    assert_eq!(all.next(at(1)), None);
    all.hear(others(&[(0, 4)], 1_051), at(2));
    assert_eq!(all.next(at(2)), Some(host(1)), "of fifty permits a tenth, and of that a fifth");
    all.hear(others(&[(0, 4)], u64::MAX), at(3));
    assert_eq!(all.saved, SAVED);
    all.hear(others(&[(0, 4)], 0), at(4));
    assert_eq!(all.saved, SAVED, "who started again gave nothing");
}

#[test]
fn who_look_for_the_same_share_what_may_be_asked_at_once() {
    let count = |best: &[(usize, u32)], level: u8, given: u64| {
        let mut all = Preference::new(0);
        all.hear(others(best, given), at(0));
        (0..40).filter(|n| ask(&mut all, *n, level, at(0))).count()
    };
    assert_eq!(count(&[(1, 3)], 0, 0), AT_ONCE, "others look for something else");
    assert_eq!(count(&[(0, 1)], 0, 0), AT_ONCE / 2);
    assert_eq!(count(&[(0, 1)], 0, 20 * ONE_MORE), (AT_ONCE + 20) / 2);
    assert_eq!(count(&[(0, 100)], 0, 0), 1);
    assert_eq!(count(&[(3, 1)], 3, 0), 1, "one of two scouts");
    assert_eq!(count(&[(3, 9)], 3, 0), 1);
}

#[test]
fn who_begins_supposes_that_those_of_whom_nothing_is_heard_look_for_the_same() {
    let mut all = Preference::new(0);
    all.hear(Others { silent: 3, ..Others::default() }, at(0));
    assert_eq!((0..20).filter(|n| ask(&mut all, *n, 0, at(7))).count(), AT_ONCE / 4);
    assert_eq!(all.next(at(9)), None);
    assert_eq!(all.next(at(10)), Some(host(1)), "after three seconds they are not waited for");
    let mut all = Preference::new(0);
    all.hear(Others::default(), at(7));
    assert_eq!((0..20).filter(|n| ask(&mut all, *n, 0, at(7))).count(), AT_ONCE);
}

#[test]
fn what_is_soon_is_told() {
    let mut all = Preference::new(0);
    assert_eq!(all.wanted(at(0)), Wanted::default());
    all.stand(host(1), 2, at(61));
    all.stand(host(2), 4, at(60));
    assert_eq!(all.wanted(at(0)).near, 1 << 4);
    assert!(ask(&mut all, 3, 0, at(0)));
    assert_eq!(all.wanted(at(1)), Wanted { given: 1, near: 0b1_0101 });
    let mut others = Others::default();
    others.add(all.wanted(at(1)));
    others.add(Wanted { given: 4, near: 0 });
    assert_eq!((others.peers, others.given, others.best[0]), (2, 5, 1));
    assert_eq!(others.best.iter().sum::<u32>(), 1);
}

#[test]
fn of_one_level_the_entry_that_was_found_first_has_its_turn_first() {
    let mut all = Preference::new(0);
    all.stand(host(9), 0, at(0));
    for (n, seq) in [(1, 30), (2, 10), (3, 20)] {
        assert!(!all.may(host(n), (1, seq), at(0)));
    }
    all.leave(host(9));
    assert!(!all.may(host(4), (1, 25), at(0)), "others are before it");
    for n in [2, 3, 4, 1] {
        assert_eq!(all.next(at(0)), Some(host(n)));
        all.leave(host(n));
    }
}

#[test]
fn a_share_goes_to_what_waits_and_no_level_starves() {
    let mut all = Preference::new(100);
    let mut counts = [0_u32; LEVELS];
    // One host of each level always has more, and its answer is known at once.
    for step in 0..2_000_u64 {
        let now = at(step);
        for level in 0..LEVELS as u8 {
            if all.held[usize::from(level)].is_empty() {
                all.stand(host(level), level, now);
            }
        }
        for level in 0..LEVELS as u8 {
            if !all.held[usize::from(level)].contains(&(u64::from(level), host(level)))
                && ask(&mut all, level, level, now)
            {
                all.stand(host(level), level, now);
                all.done(host(level));
                counts[usize::from(level)] += 1;
            }
        }
        while let Some(named) = all.next(now) {
            let level = (0..LEVELS as u8).find(|level| host(*level) == named).unwrap();
            assert!(ask(&mut all, level, level, now));
            all.stand(named, level, now);
            all.done(host(level));
            counts[usize::from(level)] += 1;
        }
    }
    assert_eq!(counts[0], 2_000, "the best never waits");
    let others: u32 = counts[1..].iter().sum();
    assert!((190..=205).contains(&others), "a tenth more: {counts:?}");
    let least = counts[1..].iter().min().unwrap();
    assert!(*least >= others / (LEVELS as u32 - 1) - 2, "{counts:?}");
}

proptest! {
    #[test]
    fn whoever_is_held_is_named_when_nothing_better_is_left(
        steps in proptest::collection::vec((0u8..6, 0u8..LEVELS as u8, 0u64..90, 0u8..3), 0..120),
    ) {
        let mut all = Preference::new(50);
        let mut under_way = Vec::new();
        let mut held = BTreeSet::new();
        let mut now = 0;
        for (n, level, later, what) in steps {
            now += later / 10;
            match what {
                0 => {
                    all.stand(host(n), level, at(now + later));
                    held.remove(&host(n));
                }
                1 => match ask(&mut all, n, level, at(now)) {
                    true => {
                        held.remove(&host(n));
                        under_way.push(n);
                    }
                    false => _ = held.insert(host(n)),
                },
                _ => under_way.pop().into_iter().for_each(|n| all.done(host(n))),
            }
            while let Some(named) = all.next(at(now)) {
                prop_assert!(held.remove(&named), "only who is held is named");
                all.leave(named);
            }
        }
        under_way.into_iter().for_each(|n| all.done(host(n)));
        (0..6).filter(|n| !held.contains(&host(*n))).for_each(|n| all.leave(host(n)));
        while let Some(named) = all.next(at(now)) {
            all.leave(named);
            prop_assert!(held.remove(&named));
        }
        prop_assert!(held.is_empty(), "{:?}", held);
    }
}
