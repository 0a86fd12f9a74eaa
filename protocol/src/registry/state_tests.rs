use super::*;
use crate::peer::testing::Keyring;
use crate::registry::book::tests::spec;
use rand_chacha::rand_core::SeedableRng;
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

#[test]
fn who_goes_has_told_another_within_an_exchange() {
    let (mut one, crawl, _) = begun();
    let mut two = state(2, Vec::new());
    handle(&mut one, NOW, Input::PeerUp(key(2)));
    handle(&mut two, NOW, Input::PeerUp(key(1)));
    handle(&mut one, NOW, reports(crawl, 5, None));
    assert!(!one.is_told());
    let mut on_the_way: Vec<(u64, Effect)> =
        handle(&mut one, NOW, Input::Hurry).into_iter().map(|effect| (1, effect)).collect();
    assert!(on_the_way.iter().any(|(_, effect)| matches!(effect, Effect::Broadcast(_))), "and all others");
    while let Some((from, effect)) = (!on_the_way.is_empty()).then(|| on_the_way.remove(0)) {
        let Effect::Send(_, message) = effect else { continue };
        let (of, to) = if from == 1 { (2, &mut two) } else { (1, &mut one) };
        let answers = handle(to, NOW, Input::Received(key(from), message));
        on_the_way.extend(answers.into_iter().map(|effect| (of, effect)));
    }
    assert!(one.is_told());
    assert_eq!(two.totals(&crawl).counts.fetched, 5);
    assert_eq!(handle(&mut one, NOW, Input::Hurry), [], "there is nothing left to tell");
}
