use super::*;
use crate::claim::Token;
use crate::key::Slot;
use crate::peer::{Keys, testing::Keyring};
use crate::steward::io::stretched;
use crate::steward::message::{Ask, Moved};
use rand_chacha::rand_core::SeedableRng;
use std::time::Duration;

const S: Duration = Duration::from_secs(1);

fn peer(number: u64) -> PeerKey {
    Keyring::numbered(number).own()
}

fn token(counter: u64) -> Token {
    Token { counter, minter: peer(99) }
}

fn address() -> IpAddr {
    [93, 184, 216, 34].into()
}

fn slot() -> Slot {
    AddressKey::of(address()).slot()
}

struct Peer {
    state: State,
    now: Instant,
}

impl Peer {
    fn new(number: u64, shared: bool) -> Peer {
        // Every clock shows something else.
        let now = Instant::from_unix_s(1_000 * number);
        let config = Config { exempt: vec![([10, 0, 0, 0].into(), 8)], ..Config::default() };
        Peer { state: State::new(config, peer(number), ChaCha8Rng::seed_from_u64(number), now, shared), now }
    }

    fn tell(&mut self, input: Input) -> Vec<Effect> {
        let mut out = Vec::new();
        self.state.handle(self.now, input, &mut out);
        out
    }

    fn lease(&mut self, counter: u64) -> Vec<Effect> {
        let until = self.now + 15 * S;
        self.tell(Input::Lease { slot: slot(), token: token(counter), until })
    }

    fn want(&mut self) -> Vec<Effect> {
        self.tell(Input::Want { address: address(), delay: S, wanted: 1 })
    }

    /// Lets time pass, deadline by deadline.
    fn pass(&mut self, time: Duration) -> Vec<Effect> {
        let (end, mut out) = (self.now + time, Vec::new());
        while let Some((at, _)) = self.state.deadline().filter(|(at, _)| *at <= end) {
            self.now = self.now.max(at);
            out.extend(self.tell(Input::Tick));
        }
        self.now = end;
        out
    }

    fn open(&self) -> Option<Duration> {
        match self.state.window(address(), self.now) {
            Window::Open { until, .. } => Some(until.since(self.now)),
            Window::Wait => None,
        }
    }
}

fn sent(effects: &[Effect], to: u64) -> Vec<Message> {
    let to = peer(to);
    let messages = effects.iter().filter_map(|effect| match effect {
        Effect::Send(peer, message) if *peer == to => Some(message.clone()),
        _ => None,
    });
    messages.collect()
}

/// Gives `to` what `from` sent it; gives what `to` does.
fn carry(effects: &[Effect], from: u64, to: &mut Peer, number: u64) -> Vec<Effect> {
    let messages = sent(effects, number);
    messages.into_iter().flat_map(|message| to.tell(Input::Received(peer(from), message))).collect()
}

#[test]
fn who_is_its_own_steward_has_a_window_at_once_and_for_as_long_as_it_wants() {
    let mut one = Peer::new(1, false);
    one.tell(Input::Route(slot(), Some((peer(1), token(1)))));
    one.lease(1);
    one.now = one.now + 2 * S;
    let effects = one.want();
    assert!(effects.contains(&Effect::Opened(AddressKey::of(address()))));
    assert!(effects.contains(&Effect::NeedLease(slot())));
    for _ in 0..100 {
        one.pass(S);
        one.lease(1);
        assert!(one.open().is_some_and(|left| left > S));
    }
    one.tell(Input::Idle(address()));
    assert_eq!(one.open(), None);
    one.pass(60 * S);
    assert_eq!(one.state.deadline(), None, "nothing is left to do");
}

#[test]
fn exempt_addresses_are_always_open() {
    let mut one = Peer::new(1, false);
    let open = Window::Open { from: Instant::ZERO, until: Instant(u64::MAX) };
    assert_eq!(one.state.window([10, 1, 2, 3].into(), one.now), open);
    assert!(one.tell(Input::Want { address: [10, 1, 2, 3].into(), delay: S, wanted: 1 }).is_empty());
}

/// A steward with a lease that has told its disk that others may have windows, and a peer that knows it.
fn two() -> (Peer, Peer) {
    let (mut steward, mut other) = (Peer::new(1, false), Peer::new(2, false));
    for one in [&mut steward, &mut other] {
        one.tell(Input::Route(slot(), Some((peer(1), token(1)))));
    }
    steward.lease(1);
    steward.pass(5 * S);
    steward.lease(1);
    (steward, other)
}

#[test]
fn a_window_of_another_waits_for_the_record_and_is_counted_from_the_question() {
    let (mut steward, mut other) = two();
    let asked = other.want();
    other.now = other.now + S;
    let effects = carry(&asked, 2, &mut steward, 1);
    assert!(sent(&effects, 2).is_empty());
    let ticket = effects.iter().find_map(|effect| match effect {
        Effect::Persist { shared: true, ticket } => Some(*ticket),
        _ => None,
    });
    steward.now = steward.now + S / 2;
    let granted = steward.tell(Input::Persisted(ticket.expect("written first")));
    other.now = other.now + S;
    carry(&granted, 1, &mut other, 2);
    let left = other.open().expect("open");
    assert!(left < 7 * S && left > 5 * S, "{left:?}: two seconds passed, half of one at the steward");
    steward.want();
    assert_eq!(steward.open(), None);
    let released = other.tell(Input::Idle(address()));
    assert_eq!(other.open(), None);
    carry(&released, 2, &mut steward, 1);
    steward.pass(S / 2);
    assert_eq!(steward.open(), None, "the delay");
    steward.pass(S);
    assert!(steward.open().is_some());
}

#[test]
fn who_starts_again_waits_for_windows_that_it_does_not_know() {
    let mut again = Peer::new(1, true);
    again.tell(Input::Route(slot(), Some((peer(1), token(1)))));
    again.lease(1);
    again.want();
    let mut waited = Duration::ZERO;
    again.tell(Input::Drain(Slot::new(9).expect("another slot"), token(1)));
    while again.open().is_none() {
        again.pass(S / 10);
        again.lease(1);
        waited += S / 10;
    }
    let least = stretched(Config::default().window) + stretched(S);
    assert!(waited >= least && waited < least + S, "{waited:?}");
}

#[test]
fn a_new_token_waits_for_the_delay_and_another_holder_is_named() {
    let (mut steward, mut other) = two();
    let effects = carry(&other.want(), 2, &mut steward, 1);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Persist { .. })));
    steward.pass(20 * S);
    let effects = steward.tell(Input::Route(slot(), Some((peer(3), token(2)))));
    let moved = Message::Moved(vec![Moved { slot: slot(), holder: Some((peer(3), token(2))) }]);
    assert_eq!(sent(&effects, 2), [moved]);
    let effects = carry(&effects, 1, &mut other, 2);
    assert!(matches!(effects[..], [Effect::Hint { holder: Some(_), .. }]));
    let effects = other.pass(S);
    assert!(matches!(sent(&effects, 3)[..], [Message::Ask(_)]), "{effects:?}");
    let mut third = Peer::new(3, false);
    third.tell(Input::Route(slot(), Some((peer(3), token(2)))));
    third.lease(2);
    third.want();
    assert_eq!(third.open(), None);
    third.pass(stretched(S));
    assert!(third.open().is_some());
}

#[test]
fn a_slot_that_is_handed_over_is_drained_and_stays_so() {
    let (mut steward, _) = two();
    steward.want();
    assert!(steward.open().is_some());
    assert!(!steward.tell(Input::Drain(slot(), token(1))).contains(&Effect::Drained(slot(), token(1))));
    steward.lease(1);
    let effects = steward.pass(9 * S);
    assert_eq!(effects.iter().filter(|effect| **effect == Effect::Drained(slot(), token(1))).count(), 1);
    steward.lease(1);
    steward.pass(20 * S);
    assert_eq!(steward.open(), None, "not under this token again");
    steward.lease(3);
    steward.pass(2 * S);
    steward.lease(3);
    assert!(steward.open().is_some());
}

#[test]
fn a_slot_that_another_holds_gets_no_window_though_the_lease_was_not_over() {
    let (mut steward, _) = two();
    steward.want();
    let left = steward.open();
    steward.tell(Input::Lost(slot()));
    assert!(left.is_some() && steward.open() == left, "what is had is had until it ends");
    steward.pass(10 * S);
    assert_eq!(steward.open(), None);
    steward.lease(3);
    steward.pass(2 * S);
    steward.lease(3);
    assert!(steward.open().is_some());
}

#[test]
fn who_looks_at_an_address_for_another_reason_sees_that_its_slot_is_drained() {
    let (mut steward, _) = two();
    steward.want();
    assert!(steward.open().is_some());
    steward.tell(Input::Drain(slot(), token(1)));
    // It was asked before it came to look at the time.
    steward.now = steward.now + 9 * S;
    assert!(
        steward
            .tell(Input::Lease { slot: slot(), token: token(1), until: steward.now + S })
            .contains(&Effect::Drained(slot(), token(1)))
    );
}

#[test]
fn who_starts_again_does_not_call_a_slot_drained_before_windows_that_it_does_not_know_have_ended() {
    let mut again = Peer::new(1, true);
    again.lease(1);
    assert_eq!(again.tell(Input::Drain(slot(), token(1))), []);
    assert_eq!(again.pass(Config::default().window), []);
    assert_eq!(again.pass(S), [Effect::Drained(slot(), token(1))]);
    assert_eq!(again.state.deadline(), None);
}

#[test]
fn many_addresses_go_in_one_message_and_a_flood_is_bounded() {
    let (mut steward, mut other) = two();
    let mut asks = Vec::new();
    for n in 0..200u8 {
        let address = IpAddr::from([93, 184, 216, n]);
        let slot = AddressKey::of(address).slot();
        other.tell(Input::Route(slot, Some((peer(1), token(1)))));
        asks.extend(other.tell(Input::Want { address, delay: S, wanted: 1 }));
    }
    let again = other.pass(11 * S);
    assert_eq!(sent(&again, 1).len(), 1, "said again, together");
    for n in 0..20_000u32 {
        let ask = Ask { address: AddressKey::V4(n.to_be_bytes()), id: 1, delay_ms: 1, wanted: 1 };
        steward.tell(Input::Received(peer(7), Message::Ask(vec![ask])));
    }
    steward.tell(Input::PeerDown(peer(7)));
    steward.pass(Duration::from_secs(120));
    assert_eq!(steward.state.deadline(), None, "all is forgotten");
}
