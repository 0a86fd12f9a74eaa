use super::*;
use crate::claim::Token;
use crate::key::{SiteId, UrlId};
use crate::links::link::{Flags, Link, MAX_LINK};
use crate::links::message::{Answer, Answered, Batch, Cursor, MAX_MESSAGE, Part, Refusal};
use crate::peer::{Keys, testing::Keyring};
use rand_chacha::rand_core::SeedableRng;
use std::collections::BTreeMap;
use std::time::Duration;

const S: Duration = Duration::from_secs(1);

fn peer(number: u64) -> PeerKey {
    Keyring::numbered(number).own()
}

fn slot(number: u16) -> Slot {
    Slot::new(number).expect("a slot")
}

fn token(counter: u64) -> Token {
    Token { counter, minter: peer(99) }
}

fn link(number: u64, size: usize) -> Link {
    let source = UrlId::of(SiteId::of("a.test"), "http://a.test/");
    let url = format!("http://b.test/{number}/{}", "x".repeat(size));
    Link { source, url, anchor: String::new(), crawl: 1, depth: 1, flags: Flags::default() }
}

/// A peer with its log, and the time.
struct Sender {
    state: State,
    now: Instant,
    log: BTreeMap<Slot, Vec<Link>>,
    cursors: BTreeMap<Slot, Cursor>,
    out: Vec<Effect>,
}

impl Sender {
    fn new(config: Config) -> Sender {
        let now = Instant::from_unix_s(1_000);
        let state = State::new(config, peer(1), ChaCha8Rng::seed_from_u64(1), now, []);
        Sender { state, now, log: BTreeMap::new(), cursors: BTreeMap::new(), out: Vec::new() }
    }

    fn tell(&mut self, input: Input) {
        let mut effects = Vec::new();
        self.state.handle(self.now, input, &mut effects);
        for effect in effects {
            match effect {
                Effect::ReadLog { slot, after, limit_bytes } => {
                    let log = self.log.get(&slot).cloned().unwrap_or_default();
                    let (mut links, mut bytes, mut upto) = (Vec::new(), 0, after);
                    for (link, entry) in log.into_iter().zip(1..).skip(after as usize) {
                        bytes += link.cost() as u64;
                        if bytes > limit_bytes {
                            break;
                        }
                        upto = entry;
                        links.push((entry, link));
                    }
                    self.tell(Input::LogRead { slot, after, links, upto });
                }
                Effect::Persist(records) => self.cursors.extend(records),
                other => self.out.push(other),
            }
        }
    }

    fn log(&mut self, slot: Slot, links: impl IntoIterator<Item = Link>) {
        let log = self.log.entry(slot).or_default();
        let before = log.len();
        log.extend(links);
        let bytes = log[before..].iter().map(|link| link.cost() as u64).sum();
        let upto = log.len() as u64;
        self.tell(Input::Logged { slot, upto, bytes });
    }

    /// Lets time pass, deadline by deadline.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some((at, _)) = self.state.deadline().filter(|(at, _)| *at <= end) {
            self.now = self.now.max(at);
            self.tell(Input::Tick);
        }
        self.now = end;
    }

    /// Batches sent since the last call, with who they were for.
    fn batches(&mut self) -> Vec<(PeerKey, Batch)> {
        let sent = |effect| match effect {
            Effect::Send(to, Message::Batch(batch)) => Some((to, batch)),
            _ => None,
        };
        std::mem::take(&mut self.out).into_iter().filter_map(sent).collect()
    }

    fn answer(&mut self, from: PeerKey, batch: &Batch, answer: &Answer) {
        let one = |part: &Part| Answered { id: batch.id, slot: part.slot, answer: answer.clone() };
        let answers = batch.parts.iter().map(one).collect();
        self.tell(Input::Received(from, Message::Answers { session: batch.session, answers }));
    }

    fn durable(&self, slot: Slot) -> u64 {
        self.cursors.get(&slot).map_or(0, |cursor| cursor.durable)
    }
}

#[test]
fn links_of_many_slots_go_in_one_message_and_the_cursor_waits_for_durable() {
    let mut sender = Sender::new(Config::default());
    for n in 0..100 {
        sender.log(slot(n), [link(1, 5), link(2, 5)]);
        sender.tell(Input::Route(slot(n), Some((peer(2), token(1)))));
    }
    assert!(sender.batches().is_empty(), "links are gathered");
    sender.pass(S);
    let sent = sender.batches();
    let [(to, batch)] = &sent[..] else { panic!("{} batches", sent.len()) };
    assert_eq!((*to, batch.parts.len()), (peer(2), 100));
    assert!(batch.parts.iter().all(|part| (part.first, part.upto, part.links.len()) == (1, 2, 2)));
    sender.answer(peer(2), batch, &Answer::Received);
    assert!(sender.cursors.is_empty());
    sender.answer(peer(2), batch, &Answer::Durable);
    assert!((0..100).all(|n| sender.durable(slot(n)) == 2));
    assert_eq!((sender.state.behind(), sender.state.in_memory()), (0, (0, 0)));
    let entered = sender.out.iter().filter(|effect| {
        matches!(effect, Effect::Sent { fingerprints, .. }
        if *fingerprints == [link(1, 5).fingerprint(), link(2, 5).fingerprint()])
    });
    assert_eq!(entered.count(), 100);
    assert_eq!(sender.state.deadline(), None, "nothing is left to do");
}

#[test]
fn messages_are_small_enough_and_a_long_log_goes_in_parts_one_after_the_other() {
    let mut sender = Sender::new(Config::default());
    sender.tell(Input::Route(slot(7), Some((peer(2), token(1)))));
    sender.log(slot(7), (0..500).map(|n| link(n, 1_000)));
    let mut upto = 0;
    while upto < 500 {
        sender.pass(S);
        let sent = sender.batches();
        let [(_, batch)] = &sent[..] else { panic!("one part is under way, not {}", sent.len()) };
        assert_eq!(batch.parts[0].first, upto + 1);
        assert!(Message::Batch(batch.clone()).encode().len() <= MAX_MESSAGE);
        upto = batch.parts[0].upto;
        sender.answer(peer(2), batch, &Answer::Durable);
        assert_eq!(sender.durable(slot(7)), upto);
    }
}

#[test]
fn a_receiver_that_is_dead_costs_no_memory_and_is_asked_seldom() {
    let config = Config { window_each: 1 << 16, ..Config::default() };
    let mut sender = Sender::new(config.clone());
    for n in 0..50 {
        sender.tell(Input::Route(slot(n), Some((peer(2), token(1)))));
        sender.log(slot(n), (0..50).map(|m| link(m, 500)));
    }
    sender.pass(10 * S);
    sender.batches();
    let mut tries = 0;
    for _ in 0..600 {
        sender.pass(S);
        assert!(sender.state.in_memory().0 <= config.window_each);
        tries += sender.batches().len();
    }
    assert!((8..40).contains(&tries), "{tries} batches in ten minutes");
    sender.tell(Input::PeerDown(peer(2)));
    assert_eq!(sender.state.in_memory().0, 0);
    sender.batches();
    sender.tell(Input::PeerUp(peer(2)));
    assert!(!sender.batches().is_empty(), "it is there again");
}

#[test]
fn others_are_sent_to_while_one_is_dead() {
    let config = Config { window_all: 1 << 17, window_each: 1 << 16, ..Config::default() };
    let mut sender = Sender::new(config);
    for n in 0..40 {
        sender.tell(Input::Route(slot(n), Some((peer(2 + u64::from(n % 2)), token(1)))));
        sender.log(slot(n), (0..20).map(|m| link(m, 500)));
    }
    for _ in 0..120 {
        sender.pass(S);
        for (to, batch) in sender.batches() {
            if to == peer(3) {
                sender.answer(to, &batch, &Answer::Durable);
            }
        }
    }
    assert!((0..40).all(|n| sender.durable(slot(n)) == if n % 2 == 1 { 20 } else { 0 }));
}

#[test]
fn answers_of_others_and_of_other_batches_move_nothing() {
    let mut sender = Sender::new(Config::default());
    sender.tell(Input::Route(slot(1), Some((peer(2), token(1)))));
    sender.log(slot(1), [link(1, 5)]);
    sender.pass(S);
    let (_, batch) = sender.batches().remove(0);
    sender.answer(peer(3), &batch, &Answer::Durable);
    sender.answer(peer(2), &Batch { session: batch.session ^ 1, ..batch.clone() }, &Answer::Durable);
    assert_eq!(sender.durable(slot(1)), 0);
    sender.answer(peer(2), &Batch { id: batch.id + 1, ..batch.clone() }, &Answer::Durable);
    assert!(sender.out.iter().any(|effect| *effect == Effect::Misbehaved(peer(2), Fault::Answer)));
    sender.tell(Input::PeerDown(peer(2)));
    sender.answer(peer(2), &batch, &Answer::Durable);
    assert_eq!(sender.durable(slot(1)), 0, "what was under way when the stream broke is sent again");
    sender.pass(2 * S);
    let (_, again) = sender.batches().remove(0);
    sender.answer(peer(2), &again, &Answer::Durable);
    assert_eq!(sender.durable(slot(1)), 1);
}

#[test]
fn who_is_told_that_the_slot_moved_sends_there_and_tells_others() {
    let mut sender = Sender::new(Config::default());
    sender.tell(Input::Route(slot(1), Some((peer(2), token(1)))));
    sender.log(slot(1), [link(1, 5)]);
    sender.pass(S);
    let (_, batch) = sender.batches().remove(0);
    sender.answer(peer(2), &batch, &Answer::Moved { holder: peer(3), token: token(2) });
    let hint = Effect::Hint { slot: slot(1), holder: Some((peer(3), token(2))), by: peer(2) };
    assert!(sender.out.contains(&hint));
    sender.pass(3 * S);
    let (to, batch) = sender.batches().remove(0);
    assert_eq!((to, batch.parts[0].counter), (peer(3), 2));
    sender.answer(peer(3), &batch, &Answer::Moved { holder: peer(2), token: token(1) });
    sender.pass(5 * S);
    assert_eq!(sender.batches().remove(0).0, peer(3), "an older token is no news");
}

#[test]
fn of_slots_that_nobody_wants_any_more_only_what_was_logged_or_forced_is_remembered() {
    let mut sender = Sender::new(Config::default());
    let route = |n: u64| Some((peer(n), token(n)));
    let [unused, waiting, forced] = [1, 2, 3].map(slot);
    [unused, waiting, forced].iter().for_each(|slot| sender.tell(Input::Route(*slot, route(2))));
    sender.tell(Input::Forced(forced, token(3)));
    sender.tell(Input::Route(forced, route(3)));
    sender.log(waiting, [link(1, 5)]);
    [unused, waiting, forced].iter().for_each(|slot| sender.tell(Input::Route(*slot, None)));
    sender.state.repack();
    assert_eq!(sender.state.outbox.slots(), 2);
    sender.pass(100 * S);
    assert_eq!(sender.batches(), [], "nobody is known to send it to");
    // What was forced is not sent to who had it before.
    sender.log(forced, [link(2, 5)]);
    [unused, waiting, forced].iter().for_each(|slot| sender.tell(Input::Route(*slot, route(2))));
    sender.pass(S);
    let sent: Vec<Slot> =
        sender.batches().iter().flat_map(|(_, batch)| &batch.parts).map(|part| part.slot).collect();
    assert_eq!(sent, [waiting]);
}

#[test]
fn a_force_sends_again_what_is_kept_and_not_to_older_holders() {
    let mut sender = Sender::new(Config::default());
    sender.tell(Input::Route(slot(1), Some((peer(2), token(1)))));
    sender.log(slot(1), [link(1, 5), link(2, 5)]);
    sender.pass(S);
    let (_, batch) = sender.batches().remove(0);
    sender.answer(peer(2), &batch, &Answer::Durable);
    sender.log(slot(1), [link(3, 5)]);
    sender.pass(S);
    let (_, batch) = sender.batches().remove(0);
    sender.tell(Input::Forced(slot(1), token(5)));
    assert!(sender.out.contains(&Effect::Replay(slot(1))));
    assert_eq!(sender.cursors[&slot(1)], Cursor { durable: 0, forced: Some(token(5)) });
    sender.answer(peer(2), &batch, &Answer::Durable);
    assert_eq!(sender.durable(slot(1)), 0, "the old holder's word does not count any more");
    sender.pass(100 * S);
    assert!(sender.batches().is_empty(), "the old holder gets nothing more");
    sender.tell(Input::Route(slot(1), Some((peer(3), token(5)))));
    sender.pass(S);
    let (to, batch) = sender.batches().remove(0);
    assert_eq!((to, batch.parts[0].first, batch.parts[0].upto), (peer(3), 1, 3));
    sender.answer(peer(3), &batch, &Answer::Durable);
    sender.tell(Input::Forced(slot(1), token(5)));
    assert_eq!(sender.durable(slot(1)), 3, "once");
}

#[test]
fn who_cannot_send_slows_down_until_half_is_gone() {
    let config = Config { max_lag_bytes: 10_000, keep_log: 0, ..Config::default() };
    let mut sender = Sender::new(config);
    sender.log(slot(1), (0..15).map(|n| link(n, 600)));
    assert!(!sender.out.contains(&Effect::Slow(true)));
    sender.log(slot(1), (0..15).map(|n| link(n, 600)));
    assert!(sender.out.contains(&Effect::Slow(true)));
    sender.out.clear();
    sender.tell(Input::Route(slot(1), Some((peer(2), token(1)))));
    sender.pass(2 * S);
    let (_, batch) = sender.batches().remove(0);
    sender.answer(peer(2), &batch, &Answer::Durable);
    assert!(sender.out.contains(&Effect::Slow(false)));
    let trimmed = Effect::Trim { slot: slot(1), upto: 30 };
    assert!(sender.out.contains(&trimmed), "nothing is kept here");
}

#[test]
fn what_waits_is_sent_again_after_a_restart() {
    let config = Config::default();
    let now = Instant::from_unix_s(1_000);
    let cursor = Cursor { durable: 1, forced: Some(token(3)) };
    let stored = Stored { slot: slot(1), oldest: 1, last: 2, bytes: 100, behind: 50, cursor };
    let mut state = State::new(config, peer(1), ChaCha8Rng::seed_from_u64(2), now, [stored]);
    let mut out = Vec::new();
    assert_eq!(state.behind(), 50);
    state.handle(now, Input::Route(slot(1), Some((peer(2), token(2)))), &mut out);
    assert_eq!(state.deadline(), None, "a holder by a token before the force");
    state.handle(now, Input::Route(slot(1), Some((peer(2), token(3)))), &mut out);
    let (at, reason) = state.deadline().expect("gathers");
    assert_eq!((at, reason), (now + S, Reason::Peer));
    state.handle(at, Input::Tick, &mut out);
    assert_eq!(out, [Effect::ReadLog { slot: slot(1), after: 1, limit_bytes: MAX_LINK as u64 }]);
}

/// A receiver that holds slot 1, and what it said to whom.
struct Receiver {
    state: State,
    now: Instant,
}

impl Receiver {
    fn new(config: Config) -> Receiver {
        let now = Instant::from_unix_s(5_000);
        let rng = ChaCha8Rng::seed_from_u64(3);
        let mut receiver = Receiver { state: State::new(config, peer(2), rng, now, []), now };
        receiver.tell(Input::Held(slot(1), token(4)));
        receiver
    }

    fn tell(&mut self, input: Input) -> Vec<Effect> {
        let mut out = Vec::new();
        self.state.handle(self.now, input, &mut out);
        out
    }

    fn batch(&mut self, session: u64, id: u64, counter: u64, upto: u64) -> Vec<Effect> {
        let links = (1..=upto).map(|n| link(n, 100)).collect();
        let part = Part { slot: slot(1), counter, first: 1, upto, links };
        self.tell(Input::Received(peer(1), Message::Batch(Batch { session, id, parts: vec![part] })))
    }

    fn said(&mut self) -> Vec<(u64, Answer)> {
        let Some((at, Reason::Answers)) = self.state.deadline() else { return Vec::new() };
        self.now = at;
        let effects = self.tell(Input::Tick);
        let answers = effects.into_iter().filter_map(|effect| match effect {
            Effect::Send(to, Message::Answers { answers, .. }) if to == peer(1) => Some(answers),
            _ => None,
        });
        answers.flatten().map(|one| (one.id, one.answer)).collect()
    }
}

fn ticket(effects: &[Effect]) -> u64 {
    let mut tickets = effects.iter().filter_map(|effect| match effect {
        Effect::Admit { ticket, .. } => Some(*ticket),
        _ => None,
    });
    tickets.next_back().expect("links are written")
}

#[test]
fn a_part_is_received_when_written_and_durable_when_the_set_has_it() {
    let mut receiver = Receiver::new(Config::default());
    let effects = receiver.batch(7, 0, 4, 3);
    assert!(receiver.said().is_empty() && receiver.state.in_memory().1 > 0);
    receiver.tell(Input::Admitted { ticket: ticket(&effects), seq: 9, rejected: 0 });
    assert_eq!(receiver.said(), [(0, Answer::Received)]);
    receiver.tell(Input::Durable { slot: slot(1), token: token(4), seq: 8 });
    receiver.tell(Input::Durable { slot: slot(1), token: token(3), seq: 99 });
    assert!(receiver.said().is_empty());
    receiver.tell(Input::Durable { slot: slot(1), token: token(4), seq: 9 });
    assert_eq!(receiver.said(), [(0, Answer::Durable)]);
    assert_eq!(receiver.state.in_memory().1, 0);
    let effects = receiver.batch(7, 1, 4, 3);
    receiver.tell(Input::Admitted { ticket: ticket(&effects), seq: 9, rejected: 0 });
    assert_eq!(receiver.said(), [(1, Answer::Durable)], "nothing was new, and all is durable");
}

#[test]
fn what_is_being_written_is_recognised_but_not_that_of_another_process() {
    let mut receiver = Receiver::new(Config::default());
    let first = receiver.batch(7, 0, 4, 3);
    assert!(receiver.batch(7, 1, 4, 3).is_empty(), "the same");
    let second = receiver.batch(8, 0, 4, 3);
    assert!(ticket(&second) != ticket(&first), "the same numbers, perhaps other links");
    receiver.tell(Input::Admitted { ticket: ticket(&first), seq: 1, rejected: 0 });
    receiver.tell(Input::Durable { slot: slot(1), token: token(4), seq: 1 });
    assert!(receiver.said().is_empty(), "nobody waits for the first any more");
    receiver.tell(Input::Admitted { ticket: ticket(&second), seq: 2, rejected: 0 });
    assert_eq!(receiver.said(), [(0, Answer::Received)]);
}

#[test]
fn a_slot_that_is_lost_or_held_anew_answers_so_and_old_writes_count_for_nothing() {
    let mut receiver = Receiver::new(Config::default());
    let effects = receiver.batch(7, 0, 4, 3);
    receiver.tell(Input::Held(slot(1), token(5)));
    assert_eq!(receiver.said(), [(0, Answer::Busy { retry_ms: 0 })]);
    receiver.tell(Input::Admitted { ticket: ticket(&effects), seq: 1, rejected: 0 });
    receiver.tell(Input::Durable { slot: slot(1), token: token(5), seq: 1 });
    assert!(receiver.said().is_empty());
    receiver.batch(7, 1, 5, 3);
    receiver.tell(Input::Lost(slot(1)));
    assert_eq!(receiver.said(), [(1, Answer::NotMine)]);
    receiver.tell(Input::Route(slot(1), Some((peer(3), token(6)))));
    receiver.batch(7, 2, 5, 3);
    assert_eq!(receiver.said(), [(2, Answer::Moved { holder: peer(3), token: token(6) })]);
    receiver.tell(Input::Held(slot(1), token(7)));
    receiver.batch(7, 3, 8, 3);
    assert_eq!(receiver.said(), [(3, Answer::NotMine)], "the sender knows a later holder");
}

#[test]
fn a_full_spool_and_a_full_disk_are_said_and_lies_are_told() {
    let mut receiver = Receiver::new(Config { spool_each: 1_000, ..Config::default() });
    let effects = receiver.batch(7, 0, 4, 50);
    receiver.batch(7, 0, 4, 51);
    assert_eq!(receiver.said(), [(0, Answer::Busy { retry_ms: 1_000 })], "something waits");
    receiver.tell(Input::NotAdmitted { ticket: ticket(&effects) });
    let effects = receiver.batch(7, 1, 4, 50);
    receiver.tell(Input::NotAdmitted { ticket: ticket(&effects) });
    assert_eq!(receiver.said(), [(1, Answer::Refused(Refusal::Full))]);
    let effects = receiver.batch(7, 2, 4, 3);
    let told = receiver.tell(Input::Admitted { ticket: ticket(&effects), seq: 1, rejected: 2 });
    assert_eq!(told, [Effect::Misbehaved(peer(1), Fault::Foreign(2))]);
}

#[test]
fn a_slot_that_comes_here_is_sent_to_oneself() {
    let mut sender = Sender::new(Config::default());
    sender.log(slot(1), [link(1, 5)]);
    sender.tell(Input::Route(slot(1), Some((peer(1), token(4)))));
    sender.tell(Input::Held(slot(1), token(4)));
    sender.pass(2 * S);
    let ticket = ticket(&sender.out);
    sender.tell(Input::Admitted { ticket, seq: 1, rejected: 0 });
    sender.tell(Input::Durable { slot: slot(1), token: token(4), seq: 1 });
    sender.pass(S);
    assert_eq!(sender.durable(slot(1)), 1);
    assert!(!sender.out.iter().any(|effect| matches!(effect, Effect::Send(..))));
}
