use super::*;
use crate::peer::testing::Keyring;
use crate::registry::book::tests::spec;
use rand_chacha::rand_core::SeedableRng;
use std::collections::VecDeque;
use std::time::Duration;

const LIFE: Incarnation = Incarnation { generation: 1, sequence: 0 };
const NOW: Instant = Instant(1_700_000_000_000_000);

fn key(number: u64) -> PeerKey {
    Keyring::numbered(number).own()
}

fn state(number: u64, stored: Vec<Item>) -> State<Keyring> {
    let rng = ChaCha8Rng::seed_from_u64(number);
    State::new(Config::default(), Keyring::numbered(number), rng, NOW, stored)
}

fn handle(state: &mut State<Keyring>, now: Instant, input: Input) -> Vec<Effect> {
    let mut out = Vec::new();
    state.handle(now, input, &mut out);
    out
}

/// Peer 1 after it began a crawl.
fn begun() -> (State<Keyring>, CrawlKey, Item) {
    let mut one = state(1, Vec::new());
    let asked = handle(&mut one, NOW, Input::Begin(9, spec(1)));
    let [Effect::Promise(ticket, item)] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(one.book().crawls().count(), 0, "nobody hears of it before it is on disk");
    let done = handle(&mut one, NOW, Input::Persisted(*ticket));
    let Some(Effect::Answer(9, Ok(crawl))) = done.last() else { panic!("{done:?}") };
    (one, *crawl, item.clone())
}

fn register(effects: &[Effect]) -> Option<Register> {
    let register = |effect: &Effect| match effect {
        Effect::Persist(Item::Register(signed)) => Some(*signed.body()),
        _ => None,
    };
    effects.iter().find_map(register)
}

fn reports(crawl: CrawlKey, fetched: u64, epoch: Option<u64>) -> Input {
    let quiet = epoch.map(|epoch| Quiet { epoch, served: 7 });
    let counts = Counts { fetched, ..Counts::default() };
    Input::Reports { incarnation: LIFE, knows: Some(7), reports: vec![Report { crawl, counts, quiet }] }
}

#[test]
fn a_crawl_is_told_when_it_is_on_disk_and_not_begun_where_it_cannot_be_written() {
    let (mut one, crawl, item) = begun();
    assert!(one.book().crawl(&crawl).is_some());
    let (at, _) = one.deadline().unwrap();
    let told = handle(&mut one, at + Duration::from_secs(1), Input::Tick);
    let news = Effect::Broadcast(Message::Spread(epidemic::Message::News(vec![item.clone()])));
    assert!(told.contains(&news), "{told:?}");
    assert_eq!(state(1, vec![item]).book().crawls().count(), 1, "it is known after a restart");
    let asked = handle(&mut one, NOW, Input::Begin(10, spec(1)));
    let [Effect::Promise(ticket, _)] = asked[..] else { panic!("{asked:?}") };
    let failed = handle(&mut one, NOW, Input::NotPersisted(ticket));
    assert_eq!(failed, [Effect::Answer(10, Err(Refused::Disk))]);
}

#[test]
fn who_links_of_an_unknown_crawl_came_from_is_asked_at_once_and_answers() {
    let (mut one, crawl, item) = begun();
    let mut two = state(2, Vec::new());
    let asked = handle(&mut two, NOW, Input::Want(crawl.tag(), key(1)));
    assert_eq!(asked, [Effect::Send(key(1), Message::Ask(vec![crawl.tag()]))]);
    assert_eq!(handle(&mut two, NOW, Input::Want(crawl.tag(), key(1))), [], "not twice in a second");
    let answer = handle(&mut one, NOW, Input::Received(key(2), Message::Ask(vec![crawl.tag(), 5])));
    let [Effect::Send(to, message)] = &answer[..] else { panic!("{answer:?}") };
    assert_eq!(*to, key(2));
    let learned = handle(&mut two, NOW, Input::Received(key(1), message.clone()));
    assert_eq!(learned, [Effect::Persist(item), Effect::Changed(vec![Name::Crawl(crawl)])]);
}

#[test]
fn what_did_not_change_is_not_said_again() {
    let (mut one, crawl, _) = begun();
    assert_eq!(register(&handle(&mut one, NOW, reports(crawl, 5, None))).unwrap().seq, 1);
    assert_eq!(handle(&mut one, NOW, reports(crawl, 5, None)), []);
    assert_eq!(register(&handle(&mut one, NOW, reports(crawl, 6, None))).unwrap().seq, 2);
    assert_eq!(one.totals(&crawl).counts.fetched, 6);
}

#[test]
fn a_peer_alone_agrees_with_itself() {
    let (mut one, crawl, _) = begun();
    handle(&mut one, NOW, reports(crawl, 5, None));
    assert_eq!(one.over(&crawl), None);
    let quiet = register(&handle(&mut one, NOW, reports(crawl, 5, Some(1)))).unwrap();
    assert!(quiet.agreed.is_some());
    assert_eq!(one.over(&crawl), Some(Over { away: 0 }));
    assert_eq!(handle(&mut one, NOW, reports(crawl, 5, Some(2))), [], "that it is over needs no other word");
    handle(&mut one, NOW, reports(crawl, 5, None));
    assert_eq!(one.over(&crawl), None);
    let Input::Reports { reports, .. } = reports(crawl, 5, Some(3)) else { panic!("reports") };
    handle(&mut one, NOW, Input::Reports { incarnation: LIFE, knows: Some(8), reports });
    assert_eq!(one.over(&crawl), None, "not where it knows of a slot that nobody serves");
}

#[test]
fn when_all_pages_are_fetched_the_crawl_ends() {
    let (mut one, crawl, _) = begun();
    let waits = |fetched, waiting| Counts { fetched, waiting, ..Counts::default() };
    assert_eq!(one.allowance(&crawl, &waits(10, 1)), Some(100));
    handle(&mut one, NOW, Input::Members { live: [key(1), key(2)].into(), away: 0 });
    assert_eq!(one.allowance(&crawl, &waits(10, 1)), Some(10 + 45));
    assert_eq!(one.allowance(&crawl, &waits(10, 0)), Some(10), "nothing waits here, perhaps with the other");
    handle(&mut one, NOW, reports(crawl, 99, None));
    assert!(one.book().crawl(&crawl).unwrap().ended.is_none());
    handle(&mut one, NOW, reports(crawl, 100, None));
    let ended = one.book().crawl(&crawl).unwrap().ended.clone();
    assert_eq!(ended.unwrap().body().why, Why::Pages);
    assert_eq!(one.allowance(&crawl, &waits(100, 1)), Some(100));
}

#[test]
fn what_was_said_before_a_crash_never_takes_the_place_of_what_is_said_after_it() {
    let (mut one, crawl, item) = begun();
    let old: Vec<Register> =
        (1..10).filter_map(|n| register(&handle(&mut one, NOW, reports(crawl, n, None)))).collect();
    // Nothing of that is on its disk; the process after the crash begins at a later sequence of the member's record.
    let mut again = state(1, vec![item]);
    let Input::Reports { knows, reports, .. } = reports(crawl, 4, None) else { panic!("reports") };
    let incarnation = Incarnation { sequence: 64, ..LIFE };
    let new = register(&handle(&mut again, NOW, Input::Reports { incarnation, knows, reports })).unwrap();
    assert!(old.iter().all(|old| old.seq < new.seq), "{new:?}");
    let late = |register: &Register| {
        let signed = Signed::sign(*register, &Keyring::numbered(1)).unwrap();
        epidemic::Message::News(vec![Item::Register(Box::new(signed))])
    };
    for old in &old {
        handle(&mut again, NOW, Input::Received(key(2), Message::Spread(late(old))));
    }
    assert_eq!(again.totals(&crawl).counts.fetched, 4);
}

/// Passes on what peer 1 asks for when it is in a hurry, and what others answer.
fn hurried(one: &mut State<Keyring>, now: Instant, others: &mut BTreeMap<u64, State<Keyring>>) -> usize {
    let asked = handle(one, now, Input::Hurry);
    let broadcasts = asked.iter().filter(|effect| matches!(effect, Effect::Broadcast(_))).count();
    let mut on_the_way: VecDeque<(u64, Effect)> = asked.into_iter().map(|effect| (1, effect)).collect();
    while let Some((from, effect)) = on_the_way.pop_front() {
        let Effect::Send(to, message) = effect else { continue };
        let of = if to == key(1) { 1 } else { *others.keys().find(|of| key(**of) == to).unwrap() };
        let state = if of == 1 { &mut *one } else { others.get_mut(&of).unwrap() };
        let answers = handle(state, now, Input::Received(key(from), message));
        on_the_way.extend(answers.into_iter().map(|effect| (of, effect)));
    }
    broadcasts
}

/// Peer 1, which has fetched 5 pages, and others that it has met.
fn about_to_go(numbers: &[u64]) -> (State<Keyring>, CrawlKey, BTreeMap<u64, State<Keyring>>) {
    let (mut one, crawl, _) = begun();
    let mut others = BTreeMap::new();
    for number in numbers {
        let mut other = state(*number, Vec::new());
        handle(&mut one, NOW, Input::PeerUp(key(*number)));
        handle(&mut other, NOW, Input::PeerUp(key(1)));
        others.insert(*number, other);
    }
    handle(&mut one, NOW, reports(crawl, 5, None));
    assert!(!one.is_told());
    (one, crawl, others)
}

#[test]
fn who_goes_has_told_the_only_other_within_an_exchange() {
    let (mut one, crawl, mut others) = about_to_go(&[2]);
    assert_eq!(hurried(&mut one, NOW, &mut others), 1, "all are told by gossip as well");
    assert!(one.is_told());
    assert_eq!(others[&2].totals(&crawl).counts.fetched, 5);
    assert_eq!(handle(&mut one, NOW, Input::Hurry), [], "there is nothing left to tell");
}

#[test]
fn who_goes_has_told_two_of_several() {
    let (mut one, crawl, mut others) = about_to_go(&[2, 3, 4]);
    let knowing = |others: &BTreeMap<u64, State<Keyring>>| {
        others.values().filter(|other| other.totals(&crawl).counts.fetched == 5).count()
    };
    hurried(&mut one, NOW, &mut others);
    assert_eq!(knowing(&others), 1);
    assert!(!one.is_told(), "the one that knows may stop before it has written it");
    let later = NOW + Duration::from_secs(1);
    hurried(&mut one, later, &mut others);
    assert_eq!(knowing(&others), 2);
    assert!(one.is_told());
    handle(&mut one, later, reports(crawl, 6, None));
    assert!(!one.is_told(), "that is news to both");
}

#[test]
fn of_two_that_knew_one_that_goes_down_does_not_count_for_who_goes() {
    let (mut one, crawl, mut others) = about_to_go(&[2, 3]);
    hurried(&mut one, NOW, &mut others);
    let (knows, lacks) = if others[&2].totals(&crawl).counts.fetched == 5 { (2, 3) } else { (3, 2) };
    handle(&mut one, NOW, Input::PeerDown(key(knows)));
    assert!(!one.is_told());
    hurried(&mut one, NOW + Duration::from_secs(1), &mut others);
    assert_eq!(others[&lacks].totals(&crawl).counts.fetched, 5);
    assert!(one.is_told());
}
