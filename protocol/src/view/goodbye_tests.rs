//! Goodbyes: those of others, and the own.

use super::*;

fn goodbye(n: u64, sequence: u64) -> News {
    goodbye_at(n, sequence, LastStand::default())
}

fn goodbye_at(n: u64, sequence: u64, stand: LastStand) -> News {
    let keys = Keyring::numbered(n);
    let incarnation = Incarnation { generation: 1, sequence };
    let goodbye = Goodbye { peer: keys.own(), incarnation, stand };
    News { goodbyes: vec![Signed::sign(goodbye, &keys).unwrap()], ..News::default() }
}

/// Numbers of peers, nearest to the swarm's key first: the nearest decides where votes are equal.
fn nearest_first(numbers: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let swarm = Key::of_swarm("test");
    let mut numbers: Vec<u64> = numbers.into_iter().collect();
    numbers.sort_by_key(|n| swarm.distance_of(&Keyring::numbered(*n).own()));
    numbers
}

#[test]
fn who_is_a_majority_without_one_that_left_looks_when_its_word_does_not_last_any_more() {
    let four = nearest_first(0..4);
    let (away, left, own) = (four[0], four[1], four[3]);
    let mut bench = Bench::start(own, true, BTreeMap::new(), START);
    bench.meet(four[..3].iter().copied());
    bench.run(s(5));
    bench.state.primary.settle(electors(&four));
    bench.run(s(1));
    let LastStand { number, digest, .. } = bench.state.primary.parting();
    bench.news(left, goodbye_at(left, 2, LastStand { number, digest, ..LastStand::default() }));
    bench.answering.remove(&Keyring::numbered(away).own());
    bench.run(s(25));
    assert_eq!(bench.status(away), Some(Status::Down));
    assert!(!bench.state.view().primary(), "the one that is away may count who left");
    bench.run(s(18));
    assert!(!bench.state.view().primary());
    bench.run(s(1) + config().publish_after);
    assert!(bench.state.view().primary(), "two of three");
}

#[test]
fn the_only_one_left_goes_on_two_minutes_after_a_goodbye_that_leaves_it_in_doubt() {
    let two = nearest_first(0..2);
    let (left, own) = (two[0], two[1]);
    let mut bench = Bench::start(own, true, BTreeMap::new(), START);
    bench.meet([left]);
    bench.run(s(5));
    bench.state.primary.settle(electors(&two));
    bench.run(s(1));
    let LastStand { number, digest, .. } = bench.state.primary.parting();
    let attempts = std::array::from_fn(|i| if i == 0 { 77 } else { 0 });
    bench.news(left, goodbye_at(left, 2, LastStand { number, digest, attempts }));
    bench.run(s(3));
    // It looks whenever the view has stood still for a while: not at the same time.
    bench.meet([7]);
    bench.run(config().survivor_after - s(4));
    assert!(!bench.state.view().primary());
    bench.run(s(1) + config().publish_after);
    assert!(bench.state.view().primary());
}

/// A loss of power took the record of the other, not that both may have settled (scenario `view`, seed 9002952): it was away since no time
/// at all for ever.
#[test]
fn the_only_one_left_goes_on_two_minutes_after_it_forgot_the_other() {
    let two = nearest_first(0..2);
    let own = two[1];
    let mut bench = Bench::start(own, true, BTreeMap::new(), START);
    bench.run(s(5));
    let mut disk = bench.disk;
    disk.insert(StoredKey::Electors, Stored::Electors { last: Some(electors(&two)), attempts: Vec::new() });
    let mut again = Bench::start(own, true, disk, bench.now);
    again.run(config().survivor_after - s(1));
    assert!(again.state.view().settled() && !again.state.view().primary());
    again.run(s(1) + config().publish_after);
    assert!(again.state.view().primary());
}

#[test]
fn who_left_is_gone_at_once_and_comes_back_only_by_a_later_record() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.meet(1..=3);
    bench.run(s(30));
    bench.news(2, goodbye(1, 2));
    assert_eq!(bench.status(1), None);
    bench.news(1, News { records: vec![record(1, 2)], ..News::default() });
    assert_eq!(bench.status(1), None);
    bench.run(s(30));
    let mut again = Bench::start(0, true, bench.disk, bench.now);
    again.meet(1..=1);
    assert_eq!(again.status(1), None, "nor after a restart");
    again.news(1, News { records: vec![record(1, 3)], ..News::default() });
    assert_eq!(again.status(1), Some(Status::Alive));
}

/// Two machines joined by way of a third; that left, then the founder, which had not heard of them, with all claims (scenario
/// `swarm`, seed 92233 of its day).
#[test]
fn who_knows_the_swarm_only_by_one_that_leaves_is_not_alone_after_its_goodbye() {
    let mut leaver = Bench::start(1, true, BTreeMap::new(), START);
    leaver.meet([0, 2, 3]);
    leaver.run(s(30));
    leaver.out.clear();
    leaver.tell(Input::Leave);
    let founder = Keyring::numbered(0).own();
    let goodbye = leaver.out.iter().find_map(|effect| match effect {
        Effect::Send(to, Message::News(news)) if *to == founder && !news.goodbyes.is_empty() => Some(news),
        _ => None,
    });
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.meet([1]);
    bench.run(s(30));
    assert!(!bench.state.can_be_spared(bench.now));
    bench.news(1, goodbye.expect("its goodbye").clone());
    bench.run(s(1));
    assert_eq!([1, 2, 3].map(|n| bench.status(n).is_some()), [false, true, true]);
    assert!(!bench.state.can_be_spared(bench.now), "there are those that stay");
}

/// Of three, two of them electors, one that begins to leave, all of whom have answered since; the other elector leaves as well
/// if `both`.
fn leaves(own: u64, other: u64, both: bool) -> Bench {
    let mut bench = Bench::start(own, true, BTreeMap::new(), START);
    bench.meet([other, 7]);
    bench.run(s(5));
    bench.state.primary.settle(electors(&[own, other]));
    bench.run(s(3));
    if both {
        let leaving = MemberRecord { leaving: true, ..record(other, 2).body().clone() };
        let records = vec![Signed::sign(leaving, &Keyring::numbered(other)).unwrap()];
        bench.news(other, News { records, ..News::default() });
    }
    bench.tell(Input::Describe(Description { leaving: true, ..description(own) }));
    bench
}

/// Two numbers, that of the lesser key first.
fn in_order() -> (u64, u64) {
    if Keyring::numbered(0).own() < Keyring::numbered(1).own() { (0, 1) } else { (1, 0) }
}

/// Both electors of a swarm of four left at once, each counting on the other, and no two of those that stayed were ever primary
/// (scenario `swarm`, seed 6001783 of its day).
#[test]
fn of_two_that_leave_one_goes_after_a_view_with_those_that_stay() {
    let (lesser, greater) = in_order();
    for (own, other) in [(lesser, greater), (greater, lesser)] {
        let mut bench = leaves(own, other, false);
        bench.run(s(3));
        assert!(bench.state.can_be_spared(bench.now), "the other stays");
        let mut bench = leaves(own, other, true);
        bench.run(s(3));
        assert!(
            !bench.state.can_be_spared(bench.now),
            "both are ready to settle on a view with who stays, and wait for that"
        );
        bench.state.primary.settle(Electors { number: 10, ..electors(&[own, other, 7]) });
        bench.run(s(3));
        // The greater one, and who stays, are half of it: the lesser goes first.
        assert_eq!(bench.state.can_be_spared(bench.now), own == lesser);
        bench.news(other, goodbye_at(other, 3, bench.state.primary.parting()));
        assert!(bench.state.can_be_spared(bench.now), "with one that stays");
    }
}

#[test]
fn who_leaves_counts_on_nobody_before_it_was_heard() {
    let (lesser, greater) = in_order();
    let mut bench = leaves(lesser, greater, false);
    let answering = std::mem::take(&mut bench.answering);
    bench.run(s(1));
    assert!(!bench.state.can_be_spared(bench.now), "the other may be about to count on this one");
    bench.answering = answering;
    bench.run(s(3));
    assert!(bench.state.can_be_spared(bench.now));
}

#[test]
fn who_leaves_counts_on_nobody_before_it_can_say_so() {
    let (lesser, greater) = in_order();
    let mut bench = leaves(lesser, greater, false);
    bench.tell(Input::Describe(description(lesser)));
    bench.run(s(3));
    let keys = Keyring::numbered(lesser);
    while bench.state.own.next(bench.now, &keys).is_some() {}
    bench.tell(Input::Describe(Description { leaving: true, ..description(lesser) }));
    assert!(!bench.state.can_be_spared(bench.now), "its disk knows of no more sequences");
    bench.run(s(10));
    assert!(bench.state.can_be_spared(bench.now));
}

#[test]
fn who_leaves_counts_on_nobody_that_has_said_more_of_itself_than_is_known() {
    let (lesser, greater) = in_order();
    let mut bench = leaves(greater, lesser, false);
    bench.run(s(3));
    assert!(bench.state.can_be_spared(bench.now));
    let other = Keyring::numbered(lesser).own();
    let incarnation = Incarnation { generation: 1, sequence: 2 };
    let word = Word { incarnation, stand: Stand { attempt: 0, ..bench.state.primary.stand() } };
    bench.tell(Input::Received(other, Message::Ping { nonce: 1, word, news: News::default() }));
    assert!(!bench.state.can_be_spared(bench.now), "that it leaves, perhaps");
    bench.news(lesser, News { records: vec![record(lesser, 2)], ..News::default() });
    assert!(bench.state.can_be_spared(bench.now));
}

#[test]
fn who_says_goodbye_has_no_vote_of_its_own_any_more() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.meet(1..=2);
    bench.run(s(30));
    assert!(bench.state.view().primary());
    bench.tell(Input::Leave);
    assert!(!bench.state.view().primary(), "the others are two of two, and it is none of them");
}

#[test]
fn goodbye_is_said_until_it_is_said_back_and_not_for_ever() {
    let said = |bench: &Bench| -> Vec<News> {
        let goodbye = |effect: &Effect| match effect {
            Effect::Send(_, Message::News(news)) if !news.goodbyes.is_empty() => Some(news.clone()),
            _ => None,
        };
        bench.out.iter().filter_map(goodbye).collect()
    };
    let left = |bench: &Bench| bench.out.iter().any(|effect| matches!(effect, Effect::Left));
    let leaving = || {
        let mut bench = Bench::start(0, true, BTreeMap::new(), START);
        bench.meet(1..=2);
        bench.run(s(30));
        bench.out.clear();
        bench.tell(Input::Leave);
        bench
    };
    // Nobody answers: it is said again, and at last it goes.
    let mut unheard = leaving();
    unheard.run(s(2));
    assert!(said(&unheard).len() > 2 && !left(&unheard) && unheard.state.takes_part());
    unheard.run(s(70));
    assert!(left(&unheard) && !unheard.state.takes_part());
    // Both say it back: it goes soon.
    let mut heard = leaving();
    let goodbye = said(&heard).pop().expect("it is said");
    for n in 1..=2 {
        heard.news(n, goodbye.clone());
    }
    heard.run(s(4));
    assert!(left(&heard));
    // Who hears it from the leaver says it back, each time.
    let mut other = Bench::start(3, true, BTreeMap::new(), START);
    other.meet([0]);
    for _ in 0..2 {
        other.out.clear();
        other.news(0, goodbye.clone());
        let back = Message::News(News { records: Vec::new(), ..goodbye.clone() });
        assert!(other.out.contains(&Effect::Send(Keyring::numbered(0).own(), back)));
    }
}

#[test]
fn a_goodbye_of_ours_that_we_did_not_say_is_a_twins() {
    let (mut stays, mut other) =
        (Bench::start(0, true, BTreeMap::new(), START), Bench::start(1, true, BTreeMap::new(), START));
    stays.meet(1..=2);
    stays.run(s(30));
    let copy = Bench::start(0, true, stays.disk.clone(), stays.now);
    let goodbye = copy.state.own.goodbye(LastStand::default(), &Keyring::numbered(0)).expect("written");
    // Who has heard it tells it to who goes on.
    other.meet(2..=2);
    other.news(2, News { goodbyes: vec![goodbye.clone()], ..News::default() });
    let word = stays.state.word();
    let ping = Message::Ping { nonce: 1, word, news: News::default() };
    other.tell(Input::Received(Keyring::numbered(0).own(), ping));
    let told = other.out.iter().find_map(|effect| match effect {
        Effect::Send(_, Message::News(news)) => news.goodbyes.first(),
        _ => None,
    });
    assert_eq!(told, Some(&goodbye));
    stays.news(1, News { goodbyes: vec![goodbye], ..News::default() });
    assert!(matches!(stays.out.last(), Some(Effect::Twin(_))) && !stays.state.takes_part());
}

/// Who holds a peer for gone does not ping it, and answers when it compares.
#[test]
fn a_goodbye_of_ours_is_asked_for_when_a_comparison_shows_it() {
    use crate::view::message::{Claim, Entry};
    let (own, friend) = (Keyring::numbered(0).own(), Keyring::numbered(1).own());
    let is_wanted = |earlier: u64, later: u64| {
        let mut stays = Bench::start(0, false, BTreeMap::new(), START);
        stays.news(1, News { records: vec![record(1, 1)], ..News::default() });
        stays.run(s(2));
        let asked = stays.out.iter().rev().find_map(|effect| match effect {
            Effect::Send(to, Message::Compare { session, .. }) if *to == friend => Some(*session),
            _ => None,
        });
        let session = asked.expect("a newcomer compares");
        let said = stays.state.own.incarnation();
        let incarnation =
            Incarnation { generation: said.generation - earlier, sequence: said.sequence + later };
        let entries = vec![Entry { peer: own, incarnation, digest: 0, claim: Claim::Left }];
        stays.tell(Input::Received(friend, Message::Listing { session, entries, done: true }));
        stays.out.contains(&Effect::Send(friend, Message::Want { session, peers: vec![own] }))
    };
    assert!(is_wanted(0, 9));
    assert!(!is_wanted(1, 9), "that of an earlier life is nothing");
}

#[test]
fn a_goodbye_of_an_earlier_life_is_nothing() {
    let mut again = Bench::start(3, true, BTreeMap::new(), START);
    let before = again.state.own.goodbye(LastStand::default(), &Keyring::numbered(3)).expect("written");
    again.run(s(5));
    let mut again = Bench::start(3, true, again.disk.clone(), again.now);
    again.meet(1..=1);
    again.news(1, News { goodbyes: vec![before], ..News::default() });
    assert!(again.state.takes_part());
}
