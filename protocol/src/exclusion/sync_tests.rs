use super::*;
use crate::epidemic::state::MAX_FAILURES;
use crate::exclusion::Message;
use crate::exclusion::message::{MAX_ITEMS, MAX_MESSAGE};
use crate::exclusion::record::{Draft, Exclusion, RuleKey, Scope};
use crate::exclusion::signed::tests::Forger;
use crate::exclusion::signed::{StatementError, Verified};
use crate::peer::{Keys, testing::Keyring};
use crate::signed::Signed;
use crate::time::Instant;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::VecDeque;
use std::time::Duration;

const NOW: Instant = Instant(1_700_000_000_000_000);

fn key(number: u64) -> PeerKey {
    Keyring::numbered(number).own()
}

fn rule(issuer: u64, number: u32) -> Item {
    let keys = Keyring::numbered(issuer);
    let draft = Draft {
        pattern: format!("http://site{number}.test/some/longer/path/*"),
        scope: Scope::Crawl,
        reason: "the owner asked for it by mail".into(),
        expires_s: None,
    };
    let exclusion = Exclusion::new(RuleKey { issuer: key(issuer), number }, None, draft, NOW.unix_s());
    Item::Exclusion(Verified::sign(exclusion, &keys).unwrap().signed().clone())
}

fn state(number: u64, known: impl IntoIterator<Item = Item>) -> State<Keyring> {
    let rng = ChaCha8Rng::seed_from_u64(number);
    State::new(Config::default(), Keyring::numbered(number), rng, NOW, Default::default(), known)
}

fn handle(state: &mut State<Keyring>, now: Instant, input: Input) -> Vec<Effect> {
    let mut out = Vec::new();
    state.handle(now, input, &mut out);
    out
}

fn sent(effects: &[Effect]) -> Vec<Message> {
    let message = |one: &Effect| match one {
        Effect::Send(_, message) => Some(message.clone()),
        _ => None,
    };
    effects.iter().filter_map(message).collect()
}

/// What peer 1 asks peer 2 first.
fn opening(state: &mut State<Keyring>) -> (Instant, Message) {
    handle(state, NOW, Input::PeerUp(key(2)));
    let (at, reason) = state.deadline().unwrap();
    assert_eq!(reason, Reason::Compare);
    let [question] = sent(&handle(state, at, Input::Tick)).try_into().unwrap();
    (at, question)
}

/// Carries messages between peers 1 and 2 until they are silent. Gives messages and bytes to and from peer 1, and the rounds.
fn talk(one: &mut State<Keyring>, two: &mut State<Keyring>) -> (usize, usize, usize) {
    let (at, question) = opening(one);
    let (mut count, mut bytes, mut rounds) = (0, 0, 0);
    let mut to_two = vec![question];
    while !to_two.is_empty() {
        rounds += 1;
        let mut to_one = Vec::new();
        for message in to_two.drain(..) {
            count += 1;
            bytes += message.encode().len();
            to_one.extend(sent(&handle(two, at, Input::Received(key(1), message))));
        }
        for message in to_one {
            count += 1;
            assert!(message.encode().len() <= MAX_MESSAGE);
            bytes += message.encode().len();
            to_two.extend(sent(&handle(one, at, Input::Received(key(2), message))));
        }
    }
    (count, bytes, rounds)
}

#[test]
fn peers_that_know_the_same_say_so_in_two_small_messages() {
    let known = || (0..100).map(|n| rule(9, n));
    let (mut one, mut two) = (state(1, known()), state(2, known()));
    let (count, bytes, rounds) = talk(&mut one, &mut two);
    assert_eq!((count, rounds), (2, 1));
    assert!(bytes < 60, "{bytes}");
}

#[test]
fn a_peer_that_was_away_for_a_week_gets_everything_in_few_round_trips() {
    // A swarm with 10,000 rules, of which 300 are of this week.
    let all: Vec<_> = (0..10_000).map(|n| rule(9, n)).collect();
    let (mut one, mut two) = (state(1, all[300..].to_vec()), state(2, all));
    let (count, bytes, rounds) = talk(&mut one, &mut two);
    assert_eq!(one.root(), two.root());
    println!("{count} messages, {bytes} bytes, {rounds} round trips");
    assert_eq!(rounds, 3, "root, keys, items");
    assert!(count < 50, "{count}");
    assert!(bytes < 400_000, "{bytes}");
}

#[test]
fn a_peer_that_knows_nothing_gets_everything() {
    let (mut one, mut two) = (state(1, []), state(2, (0..3_000).map(|n| rule(9, n))));
    let (count, bytes, rounds) = talk(&mut one, &mut two);
    println!("{count} messages, {bytes} bytes, {rounds} round trips");
    assert_eq!(one.root(), two.root());
    assert!(rounds <= 6, "{rounds}");
    assert!(count < 80, "{count}");
}

#[test]
fn who_is_asked_by_one_who_knows_more_asks_in_turn() {
    let (mut one, mut two) = (state(1, [rule(9, 1)]), state(2, []));
    handle(&mut two, NOW, Input::PeerUp(key(1)));
    handle(&mut two, NOW, Input::PeerUp(key(3)));
    two.compare_at = NOW + Duration::from_secs(1_000);
    let (at, root) = opening(&mut one);
    handle(&mut two, at, Input::Received(key(1), root));
    let (due, reason) = two.deadline().unwrap();
    assert_eq!((due, reason), (at + two.config.pause, Reason::Compare));
    let asked = handle(&mut two, due, Input::Tick);
    assert!(matches!(asked[..], [Effect::Send(to, Message::Root { .. })] if to == key(1)));
}

#[test]
fn what_is_said_here_is_written_down_and_gossiped_in_a_batch() {
    let mut one = state(1, []);
    let first = handle(&mut one, NOW, Input::Local(rule(1, 0)));
    let name = Name::Rule(RuleKey { issuer: key(1), number: 0 });
    assert_eq!(first, [Effect::Persist(rule(1, 0)), Effect::Changed(vec![name])]);
    handle(&mut one, NOW, Input::Local(rule(1, 1)));
    let (at, reason) = one.deadline().unwrap();
    assert_eq!(reason, Reason::Gossip);
    let told = handle(&mut one, at, Input::Tick);
    assert_eq!(told, [Effect::Broadcast(Message::News(vec![rule(1, 0), rule(1, 1)]))]);
    assert_eq!(handle(&mut one, at, Input::Local(rule(1, 1))), [], "known");
    assert_ne!(one.deadline().unwrap().1, Reason::Gossip);
}

#[test]
fn what_cannot_be_taken_is_refused_with_the_reason() {
    let mut one = state(1, []);
    let Item::Exclusion(said) = rule(2, 0) else { panic!("a rule") };
    let forged = Signed::sign(said.body().clone(), &Forger(key(2))).unwrap();
    let name = Name::Rule(said.body().key);
    let effects = handle(&mut one, NOW, Input::Local(Item::Exclusion(forged.clone())));
    assert_eq!(effects, [Effect::Refused(name, Refused::Statement(StatementError::Forged(key(2))))]);
    let news = Input::Received(key(2), Message::News(vec![rule(2, 1), Item::Exclusion(forged)]));
    let effects = handle(&mut one, NOW, news);
    assert_eq!(effects.last(), Some(&Effect::Misbehaved(key(2), Fault::Statement)));
    assert_eq!(one.book().shared(), 1, "what came before the forgery stays");
}

#[test]
fn answers_that_were_not_asked_for_are_not_read() {
    let mut one = state(1, []);
    let (at, root) = opening(&mut one);
    let Message::Root { session, .. } = root else { panic!("a root") };
    let items = vec![rule(9, 1)];
    for (from, answer) in [
        (2, Message::Items { session, request: 0, served: 1, items: items.clone() }),
        (2, Message::Keys { session, request: 0, entries: vec![], done: true }),
        (2, Message::Same { session: session ^ 1 }),
        (3, Message::Same { session }),
    ] {
        assert_eq!(handle(&mut one, at, Input::Received(key(from), answer)), []);
    }
    assert_eq!(one.book().shared(), 0);
    assert!(one.pull.is_some());
}

/// Peer 1 in a session with peer 2, which has one rule, up to the question for it.
fn asked_for_one() -> (State<Keyring>, Instant, u64, u16) {
    let (mut one, mut two) = (state(1, []), state(2, [rule(9, 1)]));
    let (at, mut question) = opening(&mut one);
    for _ in 0..2 {
        let [answer] = sent(&handle(&mut two, at, Input::Received(key(1), question))).try_into().unwrap();
        [question] = sent(&handle(&mut one, at, Input::Received(key(2), answer))).try_into().unwrap();
    }
    let Message::Want { session, request, .. } = question else { panic!("{question:?}") };
    (one, at, session, request)
}

#[test]
fn a_peer_that_gives_something_else_than_was_asked_for_is_found_out() {
    for (served, items, fault) in
        [(1, vec![rule(9, 2)], Fault::Items), (0, vec![], Fault::Items), (2, vec![rule(9, 1)], Fault::Items)]
    {
        let (mut one, at, session, request) = asked_for_one();
        let answer = Message::Items { session, request, served, items };
        let effects = handle(&mut one, at, Input::Received(key(2), answer));
        assert_eq!(effects.last(), Some(&Effect::Misbehaved(key(2), fault)));
        assert!(one.pull.is_none());
        assert_eq!(one.book().shared(), 0);
    }
}

#[test]
fn the_same_answer_twice_is_read_once() {
    let (mut one, at, session, request) = asked_for_one();
    let answer = Message::Items { session, request, served: 1, items: vec![rule(9, 1)] };
    let effects = handle(&mut one, at, Input::Received(key(2), answer.clone()));
    assert!(matches!(effects[..], [Effect::Persist(_), Effect::Changed(_)]));
    assert_eq!(handle(&mut one, at, Input::Received(key(2), answer)), []);
}

#[test]
fn a_peer_that_does_not_answer_is_left_for_another() {
    let mut one = state(1, []);
    handle(&mut one, NOW, Input::PeerUp(key(3)));
    let mut at = opening(&mut one).0;
    for _ in 0..MAX_FAILURES {
        let (until, reason) = one.deadline().unwrap();
        assert_eq!((until, reason), (at + one.config.patience, Reason::Patience));
        handle(&mut one, until, Input::Tick);
        at = one.deadline().unwrap().0;
        assert!(at >= until);
        handle(&mut one, at, Input::Tick);
    }
    assert!(one.failures >= MAX_FAILURES - 1);
}

#[test]
fn who_asks_without_end_is_not_answered() {
    let mut two = state(2, (0..3_000).map(|n| rule(9, n)));
    let ask = || Message::List { session: 1, request: 0, buckets: (0..=255).collect(), after: None };
    let answers =
        (0..200).map(|_| sent(&handle(&mut two, NOW, Input::Received(key(1), ask()))).len()).sum::<usize>();
    assert!((30..40).contains(&answers), "1 MiB in messages of 32 KiB: {answers}");
    assert_eq!(sent(&handle(&mut two, NOW, Input::Received(key(3), ask()))).len(), 1, "others are answered");
}

#[test]
fn who_gossips_without_end_is_not_heard() {
    let mut one = state(1, []);
    for flood in 0..20u32 {
        let items = (0..MAX_ITEMS as u32).map(|n| rule(2, flood * MAX_ITEMS as u32 + n)).collect();
        handle(&mut one, NOW, Input::Received(key(2), Message::News(items)));
    }
    assert_eq!(one.book().shared(), 4 * MAX_ITEMS);
    handle(&mut one, NOW, Input::Received(key(3), Message::News(vec![rule(3, 0)])));
    assert_eq!(one.book().shared(), 4 * MAX_ITEMS + 1);
}

#[test]
fn invented_keys_cost_no_more_than_a_session() {
    let mut one = state(1, []);
    let (at, root) = opening(&mut one);
    let Message::Root { session, .. } = root else { panic!("a root") };
    let bucket = crate::epidemic::Bucket { sum: [1; 16], count: u32::MAX };
    let buckets = Message::Buckets { session, buckets: vec![bucket; 256] };
    let mut questions: VecDeque<_> = sent(&handle(&mut one, at, Input::Received(key(2), buckets))).into();
    let mut asked = 0;
    let mut fresh = 0u32;
    while let Some(question) = questions.pop_front() {
        asked += 1;
        assert!(asked < 5_000, "no end");
        let answer = match question {
            Message::List { session, request, buckets, after } => {
                fresh += 1;
                let _ = after;
                let mut key = [0xfe; 16];
                key[0] = buckets[0];
                let entries: Vec<_> = (0..1_000u32)
                    .map(|n| {
                        key[1..5].copy_from_slice(&fresh.to_be_bytes());
                        key[5..9].copy_from_slice(&n.to_be_bytes());
                        crate::epidemic::Entry { key: crate::epidemic::ItemKey(key), digest: [2; 16] }
                    })
                    .collect();
                Message::Keys { session, request, entries, done: false }
            }
            Message::Want { session, request, keys } => {
                Message::Items { session, request, served: keys.len() as u16, items: vec![] }
            }
            other => panic!("{other:?}"),
        };
        questions.extend(sent(&handle(&mut one, at, Input::Received(key(2), answer))));
    }
    assert!(one.pull.is_none());
}

#[test]
fn what_is_dead_is_taken_off_the_disk_in_time() {
    let keys = Keyring::numbered(1);
    let draft = Draft {
        pattern: "a.test".into(),
        scope: Scope::Show,
        reason: String::new(),
        expires_s: Some(NOW.unix_s() + 5),
    };
    let exclusion = Exclusion::new(RuleKey { issuer: key(1), number: 0 }, None, draft, NOW.unix_s());
    let dead = Instant::from_unix_s(exclusion.remembered_until_s.unwrap());
    let name = Name::Rule(exclusion.key);
    let item = Item::Exclusion(Verified::sign(exclusion, &keys).unwrap().signed().clone());
    let mut one = state(1, [item.clone()]);
    let (at, reason) = one.deadline().unwrap();
    assert_eq!(reason, Reason::Collect);
    assert_eq!(handle(&mut one, at, Input::Tick), []);
    let effects = handle(&mut one, dead, Input::Tick);
    assert_eq!(effects, [Effect::Forget(name.clone()), Effect::Changed(vec![name])]);
    let news = Input::Received(key(2), Message::News(vec![item]));
    assert_eq!(handle(&mut one, dead, news), [], "and it does not come back");
}

#[test]
fn who_is_met_is_told_what_was_said_here_a_moment_ago_and_no_older_word() {
    let mut speaker = state(1, [rule(1, 1)]);
    handle(&mut speaker, NOW, Input::PeerUp(key(2)));
    handle(&mut speaker, NOW, Input::Local(rule(1, 2)));
    let soon = NOW + Duration::from_secs(9);
    handle(&mut speaker, soon, Input::Tick);
    let told = sent(&handle(&mut speaker, soon, Input::PeerUp(key(3))));
    assert!(matches!(&told[..], [Message::News(items)] if *items == [rule(1, 2)]), "{told:?}");
    assert_eq!(sent(&handle(&mut speaker, soon, Input::PeerUp(key(3)))), [], "it is known already");
    let late = NOW + speaker.config.period;
    assert_eq!(sent(&handle(&mut speaker, late, Input::PeerUp(key(4)))), [], "comparison has had its time");
}
