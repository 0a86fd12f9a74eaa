use super::super::io::Change;
use super::super::message::{Claim, Stand};
use super::super::{Goodbye, Incarnation, LastStand, Witnessed};
use super::*;
use crate::member::{Address, MemberRecord, Transport};
use crate::peer::testing::Keyring;
use crate::placement::Key;
use crate::signed::Signed;
use rand_chacha::rand_core::SeedableRng;
use std::net::{IpAddr, Ipv4Addr};

const START: Instant = Instant(1_700_000_000_000_000);

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn description(n: u64) -> Description {
    let ip = IpAddr::V4(Ipv4Addr::new(192, 0, 2, n as u8));
    let address = Address::Direct { ip, port: 4_000, transport: Transport::Tcp };
    Description { addresses: vec![address], dialable: true, tokens: 64, leaving: false }
}

fn config() -> Config {
    Config::of(Key::of_swarm("test"))
}

/// A peer, its disk, and others that answer as they are told.
struct Bench {
    state: State<Keyring>,
    now: Instant,
    disk: BTreeMap<StoredKey, Stored>,
    out: Vec<Effect>,
    answering: BTreeSet<PeerKey>,
}

impl Bench {
    fn start(number: u64, founds: bool, disk: BTreeMap<StoredKey, Stored>, now: Instant) -> Bench {
        let stored = disk.values().cloned().collect();
        let start = Start { description: description(number), expects_others: !founds, stored };
        let rng = ChaCha8Rng::seed_from_u64(number);
        let state = State::new(config(), Keyring::numbered(number), rng, now, start).unwrap();
        let mut bench = Bench { state, now, disk, out: Vec::new(), answering: BTreeSet::new() };
        bench.run(Duration::ZERO);
        bench
    }

    fn tell(&mut self, input: Input) {
        let mut out = Vec::new();
        self.state.handle(self.now, input, &mut out);
        for effect in out {
            match effect {
                Effect::Persist(ticket, changes) => {
                    for change in changes {
                        match change {
                            Change::Put(stored) => drop(self.disk.insert(stored.key(), *stored)),
                            Change::Forget(key) => drop(self.disk.remove(&key)),
                        }
                    }
                    self.tell(Input::Persisted(ticket));
                }
                Effect::Send(peer, Message::Ping { nonce, .. }) if self.answering.contains(&peer) => {
                    let incarnation = self.state.book.get(&peer).expect("known").incarnation();
                    // They know what this one does, and are ready for nothing.
                    let stand = Stand { attempt: 0, ..self.state.primary.stand() };
                    let word = Word { incarnation, stand };
                    self.tell(Input::Received(peer, Message::Ack { nonce, word, news: News::default() }));
                }
                Effect::Send(peer, Message::Compare { session, .. }) if self.answering.contains(&peer) => {
                    let listing = Message::Listing { session, entries: Vec::new(), done: true };
                    self.tell(Input::Received(peer, listing));
                }
                other => self.out.push(other),
            }
        }
    }

    /// Lets time pass, with all ticks in time.
    fn run(&mut self, long: Duration) {
        let end = self.now + long;
        while let Some((at, _)) = self.state.deadline().filter(|(at, _)| *at <= end) {
            self.now = at.max(self.now);
            self.tell(Input::Tick);
        }
        self.now = end;
    }

    fn meet(&mut self, numbers: impl IntoIterator<Item = u64>) {
        for n in numbers {
            let keys = Keyring::numbered(n);
            self.answering.insert(keys.own());
            self.news(n, News { records: vec![record(n, 1)], ..News::default() });
        }
    }

    fn news(&mut self, from: u64, news: News) {
        self.tell(Input::Received(Keyring::numbered(from).own(), Message::News(news)));
    }

    fn status(&self, n: u64) -> Option<Status> {
        self.state.book.get(&Keyring::numbered(n).own()).map(|known| known.status)
    }

    fn faults(&self) -> usize {
        self.out.iter().filter(|effect| matches!(effect, Effect::Misbehaved(..))).count()
    }
}

fn record(n: u64, sequence: u64) -> Signed<MemberRecord> {
    let keys = Keyring::numbered(n);
    let first = MemberRecord::first(keys.own(), description(n).addresses, true, 64, START);
    Signed::sign(MemberRecord { generation: 1, sequence, ..first }, &keys).unwrap()
}

fn word(witness: u64, subject: u64, sequence: u64) -> News {
    let keys = Keyring::numbered(witness);
    let incarnation = Incarnation { generation: 1, sequence };
    let word = Witnessed { witness: keys.own(), subject: Keyring::numbered(subject).own(), incarnation };
    News { witnesses: vec![Signed::sign(word, &keys).unwrap()], ..News::default() }
}

#[test]
fn a_founder_is_settled_and_primary_at_once_and_who_expects_others_is_not() {
    let mut founder = Bench::start(0, true, BTreeMap::new(), START);
    founder.run(s(1));
    assert!(founder.state.view().settled() && founder.state.view().primary());
    let mut other = Bench::start(0, false, BTreeMap::new(), START);
    other.run(s(600));
    assert!(!other.state.view().settled() && !other.state.view().primary());
}

#[test]
fn who_does_not_answer_is_suspect_then_down_then_gone_and_old_news_does_not_bring_it_back() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.meet(1..=3);
    bench.run(s(30));
    bench.answering.remove(&Keyring::numbered(1).own());
    bench.run(s(6));
    assert_ne!(bench.status(1), Some(Status::Alive));
    bench.run(s(6));
    assert_eq!(bench.status(1), Some(Status::Down));
    assert_eq!([2, 3].map(|n| bench.status(n)), [Some(Status::Alive); 2]);
    bench.run(s(24 * 3_600));
    assert_eq!(bench.status(1), None);
    bench.news(2, News { records: vec![record(1, 1)], ..News::default() });
    assert_eq!(bench.status(1), None, "old news");
    bench.answering.insert(Keyring::numbered(1).own());
    bench.news(1, News { records: vec![record(1, 1)], ..News::default() });
    assert_eq!(bench.status(1), Some(Status::Alive), "its own word");
}

/// Each has to hear of all that they may settle on a view: until their rounds came to it, others came and went.
#[test]
fn who_may_settle_on_a_view_says_so_to_all_of_it_at_once() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.meet(1..=20);
    bench.run(s(5));
    let at = bench.state.primary.deadline().expect("a view to settle on");
    bench.run(at.since(bench.now) - Duration::from_millis(1));
    assert!(bench.state.primary.attempts().len() == 0);
    let all = std::mem::take(&mut bench.answering);
    bench.out.clear();
    bench.run(s(1));
    let asked = |effect: &Effect| match effect {
        Effect::Send(peer, Message::Ping { word, .. }) if word.stand.attempt != 0 => Some(*peer),
        _ => None,
    };
    assert_eq!(bench.out.iter().filter_map(asked).collect::<BTreeSet<_>>(), all);
}

#[test]
fn who_nobody_answers_doubts_itself_first() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.meet(1..=5);
    bench.run(s(30));
    bench.answering.clear();
    bench.run(s(15));
    assert!((1..=5).all(|n| bench.status(n) != Some(Status::Down)));
    bench.run(s(30));
    assert!((1..=5).all(|n| bench.status(n) == Some(Status::Down)), "but not for ever");
}

#[test]
fn who_hears_few_of_those_it_settled_with_doubts_that_it_is_primary_long_before_it_holds_them_for_down() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.meet(1..=4);
    bench.run(s(5));
    let five: Vec<PeerKey> = (0..5).map(|n| Keyring::numbered(n).own()).collect();
    bench.state.primary.settle(electors(&[0, 1, 2, 3, 4]));
    bench.run(s(1));
    let standing = |bench: &Bench| (bench.state.view().primary(), bench.state.view().in_doubt());
    assert_eq!(standing(&bench), (true, false));
    // Most are there.
    bench.answering.remove(&five[1]);
    bench.run(s(15));
    assert_eq!(standing(&bench), (true, false));
    bench.answering.remove(&five[2]);
    bench.answering.remove(&five[3]);
    bench.run(config().probe_every * 2 + config().patience * 2);
    let status = [1, 2, 3, 4].map(|n| bench.status(n));
    assert_eq!(status, [Status::Down, Status::Suspect, Status::Suspect, Status::Alive].map(Some));
    assert_eq!(standing(&bench), (true, true));
    bench.run(config().alone_after + s(2));
    assert_eq!(standing(&bench), (false, false));
    bench.answering.extend(&five);
    bench.run(s(30));
    assert_eq!(standing(&bench), (true, false));
}

fn electors(numbers: &[u64]) -> Electors {
    let mut members: Vec<PeerKey> = numbers.iter().map(|n| Keyring::numbered(*n).own()).collect();
    members.sort();
    Electors { number: 9, members }
}

#[test]
fn a_loop_that_hung_blames_nobody() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.meet(1..=3);
    bench.run(s(30));
    bench.answering.remove(&Keyring::numbered(1).own());
    while bench.status(1) == Some(Status::Alive) {
        bench.run(Duration::from_millis(100));
    }
    bench.now = bench.now + s(60);
    bench.tell(Input::Tick);
    assert_eq!(bench.status(1), Some(Status::Suspect), "its time begins anew");
    bench.answering.insert(Keyring::numbered(1).own());
    bench.run(s(4));
    assert_eq!(bench.status(1), Some(Status::Alive));
}

/// Forty peers on two processors had so much to do with each other's views that they answered late, held each other for dead, and so made views.
#[test]
fn who_is_late_blames_nobody_and_publishes_what_others_do_the_more_seldom() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.meet(1..=3);
    bench.run(s(30));
    bench.answering.clear();
    for _ in 0..60 {
        let (at, _) = bench.state.deadline().expect("probes");
        bench.now = at.max(bench.now) + Duration::from_millis(500);
        bench.tell(Input::Tick);
    }
    assert!((1..=3).all(|n| bench.status(n) != Some(Status::Down)), "{:?}", bench.now.since(START));

    let mut newcomers = 4..;
    let mut waits = |late| {
        let mut bench = Bench::start(0, true, BTreeMap::new(), START);
        bench.run(s(5));
        bench.meet(newcomers.next());
        let (at, _) = bench.state.deadline().expect("to publish");
        bench.now = at + late;
        bench.tell(Input::Tick);
        bench.meet(newcomers.next());
        bench.out.clear();
        let begun = bench.now;
        while !bench.out.iter().any(|effect| matches!(effect, Effect::Changed)) {
            bench.run(Duration::from_millis(10));
        }
        bench.now.since(begun)
    };
    let ms = Duration::from_millis;
    assert_eq!([0, 100, 3_000].map(|late| waits(ms(late))), [config().publish_after, ms(800), config().calm]);
}

#[test]
fn the_time_of_a_sleep_makes_nobody_gone() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.meet(1..=3);
    bench.run(s(30));
    bench.answering.remove(&Keyring::numbered(1).own());
    bench.run(s(60));
    assert_eq!(bench.status(1), Some(Status::Down));
    bench.now = bench.now + config().gone_after * 2;
    bench.run(s(60));
    assert_eq!(bench.status(1), Some(Status::Down), "it may have been there meanwhile");
    bench.run(config().gone_after);
    assert_eq!(bench.status(1), None);
}

#[test]
fn the_word_of_three_is_believed_and_that_of_two_or_of_old_is_looked_into() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.meet(1..=7);
    bench.run(s(30));
    let subject = Keyring::numbered(1).own();
    bench.answering.remove(&subject);
    bench.news(2, word(2, 1, 1));
    bench.news(3, word(3, 1, 1));
    bench.news(3, word(3, 1, 1));
    assert_ne!(bench.status(1), Some(Status::Down), "two");
    bench.news(4, word(4, 1, 0));
    assert_ne!(bench.status(1), Some(Status::Down), "of an incarnation that is over");
    bench.run(s(1));
    bench.news(2, word(4, 1, 1));
    assert_eq!(bench.status(1), Some(Status::Down), "three, whoever brings it");
    bench.answering.insert(subject);
    bench.run(s(6));
    assert_eq!(bench.status(1), Some(Status::Alive), "it answers");
    for witness in 2..5 {
        bench.news(witness, word(witness, 1, 1));
    }
    assert_eq!(bench.status(1), Some(Status::Alive), "words that were heard before count no more");
}

#[test]
fn a_few_members_look_for_themselves() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.meet(1..=4);
    bench.run(s(30));
    for witness in 2..5 {
        bench.news(witness, word(witness, 1, 1));
    }
    bench.run(s(10));
    assert_eq!(bench.status(1), Some(Status::Alive));
}

#[test]
fn a_word_against_us_is_refuted_by_a_record_it_does_not_speak_of() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.meet(1..=3);
    bench.run(s(30));
    let before = Incarnation::of(bench.state.own());
    let keys = Keyring::numbered(1);
    let said = Witnessed { witness: keys.own(), subject: bench.state.own.peer(), incarnation: before };
    let news = || News { witnesses: vec![Signed::sign(said, &keys).unwrap()], ..News::default() };
    bench.news(1, news());
    bench.run(s(2));
    let after = Incarnation::of(bench.state.own());
    assert_eq!((after.generation, after.sequence), (before.generation, before.sequence + 1));
    bench.news(1, news());
    bench.run(s(2));
    assert_eq!(Incarnation::of(bench.state.own()), after, "it has been");
}

#[test]
fn a_restart_goes_on_behind_all_that_may_have_been_said_and_an_empty_disk_is_another_generation() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    let first = Incarnation::of(bench.state.own());
    for _ in 0..100 {
        bench.state.refute(bench.now);
        bench.run(s(2));
    }
    let last = Incarnation::of(bench.state.own());
    assert_eq!(last.sequence, first.sequence + 100, "blocks are reserved as they are used");
    let again = Bench::start(0, true, bench.disk.clone(), bench.now);
    let restarted = Incarnation::of(again.state.own());
    assert!(restarted.generation == last.generation && restarted.sequence > last.sequence);
    let empty = Bench::start(0, false, BTreeMap::new(), bench.now);
    assert!(Incarnation::of(empty.state.own()).generation > last.generation);
}

#[test]
fn a_record_of_ours_that_we_did_not_make_is_a_twin() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.meet(1..=2);
    bench.run(s(30));
    let copy = Bench::start(0, true, bench.disk.clone(), bench.now);
    let theirs = copy.state.own.signed.clone().expect("written");
    bench.news(1, News { records: vec![theirs.clone()], ..News::default() });
    assert!(matches!(bench.out.last(), Some(Effect::Twin(_))) && !bench.state.takes_part());
    assert_eq!(bench.state.deadline(), None);
    // Whoever has not our key stops nobody.
    let mut other = Bench::start(5, true, BTreeMap::new(), START);
    other.meet(1..=1);
    other.run(s(10));
    let later = MemberRecord { sequence: 999, ..other.state.own().clone() };
    let mut bytes = crate::wire::encode(&Signed::sign(later, &Keyring::numbered(5)).unwrap());
    *bytes.last_mut().expect("some") ^= 1;
    other.news(1, News { records: vec![crate::wire::decode(&bytes).unwrap()], ..News::default() });
    assert!(other.state.takes_part());
}

#[test]
fn a_peer_whose_clock_went_back_begins_above_what_others_know_of_it() {
    let mut bench = Bench::start(0, false, BTreeMap::new(), START - s(3_000));
    let earlier = Bench::start(0, false, BTreeMap::new(), START);
    let known = earlier.state.own.signed.clone().expect("written");
    bench.meet(1..=1);
    bench.news(1, News { records: vec![known.clone()], ..News::default() });
    bench.run(s(1));
    assert!(bench.state.takes_part());
    assert!(bench.state.own().generation > known.body().generation);
    let again = MemberRecord { generation: known.body().generation + 9, ..known.body().clone() };
    let again = Signed::sign(again, &Keyring::numbered(0)).unwrap();
    bench.news(1, News { records: vec![again], ..News::default() });
    assert!(!bench.state.takes_part(), "once: the second time somebody else is at work");
}

#[test]
fn nothing_is_said_before_it_is_written() {
    let start = Start { description: description(0), expects_others: true, stored: Vec::new() };
    let mut state =
        State::new(config(), Keyring::numbered(0), ChaCha8Rng::seed_from_u64(1), START, start).unwrap();
    let mut out = Vec::new();
    let other = Keyring::numbered(1).own();
    state.handle(START, Input::PeerUp(other), &mut out);
    let word = Word { incarnation: Incarnation::default(), stand: Default::default() };
    let ping = Message::Ping { nonce: 1, word, news: News::default() };
    state.handle(START, Input::Received(other, ping), &mut out);
    let [Effect::Persist(ticket, _)] = out.as_slice() else { panic!("{out:?}") };
    let ticket = *ticket;
    out.clear();
    state.handle(START, Input::NotPersisted(ticket), &mut out);
    assert!(out.is_empty(), "{out:?}");
    let (at, _) = state.deadline().expect("it tries again");
    state.handle(at, Input::Tick, &mut out);
    let Some(Effect::Persist(ticket, _)) = out.pop() else { panic!("a write") };
    state.handle(at, Input::Persisted(ticket), &mut out);
    assert!(out.iter().any(|effect| matches!(effect, Effect::Send(to, _) if *to == other)), "{out:?}");
}

#[test]
fn liars_are_named_and_honest_peers_are_not() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.meet(1..=3);
    bench.run(s(10));
    assert_eq!(bench.faults(), 0);
    let mut bytes = crate::wire::encode(&record(2, 5));
    *bytes.last_mut().expect("some") ^= 1;
    let forged = crate::wire::decode(&bytes).unwrap();
    bench.news(1, News { records: vec![forged], ..News::default() });
    assert_eq!(bench.faults(), 1);
    assert_eq!(bench.state.book.get(&Keyring::numbered(2).own()).map(|k| k.record.sequence), Some(1));
    let unsorted = Message::Want { session: 1, peers: vec![PeerKey([2; 32]), PeerKey([1; 32])] };
    bench.tell(Input::Received(Keyring::numbered(1).own(), unsorted));
    assert_eq!(bench.faults(), 2);
    // Answers to no question are not read.
    let news = News { records: vec![record(9, 1)], ..News::default() };
    bench.tell(Input::Received(Keyring::numbered(1).own(), Message::Items { session: 77, news }));
    assert_eq!((bench.faults(), bench.status(9)), (2, None));
}

#[test]
fn a_flood_of_strangers_is_checked_for_as_long_as_its_sender_may() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.meet(1..=1);
    for chunk in (100..5_100u64).collect::<Vec<_>>().chunks(50) {
        bench.news(1, News { records: chunk.iter().map(|n| record(*n, 1)).collect(), ..News::default() });
    }
    assert_eq!(bench.state.book.members().len() as u64, config().check_each.burst, "with the first one");
}

#[test]
fn a_comparison_gives_what_was_missed_and_doubts_what_others_hold_for_down() {
    let mut bench = Bench::start(0, false, BTreeMap::new(), START);
    let friend = Keyring::numbered(1).own();
    bench.news(1, News { records: vec![record(1, 1)], ..News::default() });
    bench.run(s(2));
    let asked = bench.out.iter().rev().find_map(|effect| match effect {
        Effect::Send(to, Message::Compare { session, .. }) if *to == friend => Some(*session),
        _ => None,
    });
    let session = asked.expect("a newcomer compares");
    let entry = |n: u64, claim| super::super::message::Entry {
        peer: Keyring::numbered(n).own(),
        incarnation: Incarnation { generation: 1, sequence: 1 },
        digest: 1,
        claim,
    };
    let mut entries = vec![entry(2, Claim::Live), entry(3, Claim::Down), entry(4, Claim::Left)];
    entries.sort_by_key(|entry| entry.peer);
    bench.out.clear();
    bench.tell(Input::Received(friend, Message::Listing { session, entries, done: true }));
    let Some(Effect::Send(_, Message::Want { peers, .. })) = bench.out.first() else {
        panic!("{:?}", bench.out)
    };
    assert_eq!(peers.len(), 2, "who left and is not known is not asked for");
    bench.answering.insert(friend);
    bench.answering.insert(Keyring::numbered(2).own());
    let news = News { records: vec![record(2, 1), record(3, 1)], ..News::default() };
    bench.tell(Input::Received(friend, Message::Items { session, news }));
    bench.run(s(2));
    assert!(!bench.state.view().settled(), "it does not know yet how one of them does");
    bench.run(s(30));
    assert_eq!(bench.status(3), Some(Status::Down));
    assert!(bench.state.view().settled());
}

#[test]
fn tokens_change_when_they_may() {
    let mut bench = Bench::start(0, true, BTreeMap::new(), START);
    bench.tell(Input::Describe(Description { tokens: 128, ..description(0) }));
    bench.run(s(60));
    assert_eq!(bench.state.own().tokens, 64);
    bench.run(s(3_600));
    assert_eq!(bench.state.own().tokens, 128);
    bench.tell(Input::Describe(Description { tokens: 5, ..description(0) }));
    assert!(matches!(bench.out.last(), Some(Effect::Refused(MemberError::Tokens(5)))));
}

#[path = "goodbye_tests.rs"]
mod goodbyes;
