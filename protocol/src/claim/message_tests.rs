use super::*;
use crate::claim::proof::{How, Root};
use crate::claim::{Claim, Record};
use crate::peer::{Keys, testing::Keyring};
use crate::wire::{decode, encode};
use proptest::prelude::*;

fn slot(n: u16) -> Slot {
    Slot::new(n).expect("a slot")
}

fn give() -> Signed<Give> {
    let (a, b) = (Keyring::numbered(1), Keyring::numbered(2));
    let token = Token { counter: 64, minter: a.own() };
    Signed::sign(Give { by: a.own(), slot: slot(7), token, to: b.own() }, &a).unwrap()
}

fn grant() -> Signed<Grant> {
    let (a, b) = (Keyring::numbered(1), Keyring::numbered(2));
    let ballot = Token { counter: 128, minter: b.own() };
    Signed::sign(Grant { by: a.own(), slot: slot(7), ballot, seen: None }, &a).unwrap()
}

fn mint(how: How) -> Signed<Mint> {
    let b = Keyring::numbered(2);
    let mut set = vec![Keyring::numbered(1).own(), b.own()];
    set.sort_unstable();
    let token = Token { counter: 128, minter: b.own() };
    let claim = Claim { slot: slot(7), token, holder: b.own(), set };
    Signed::sign(Mint { claim, base: Some(vec![b.own()]), root: Root([7; 16]), how }, &b).unwrap()
}

fn one_of_each() -> Vec<Message> {
    let ballot = Token { counter: 128, minter: Keyring::numbered(2).own() };
    let position = Some(Position { token: ballot, seq: 9, log: 1 });
    let (slot, round, counter) = (slot(7), 1 << 40, 64);
    let parts = vec![
        Part::Prepare { slot, ballot, known: None },
        Part::Promise { grant: grant(), mint: Some(mint(How::Forced)), established: true, position },
        Part::Propose { mint: mint(How::Granted(vec![grant()])), round },
        Part::Accepted { slot, counter, round },
        Part::Refuse { slot, asked: ballot, highest: Some(ballot), wait_ms: 9, mint: None },
        Part::Settled { slot, counter },
        Part::Handoff { give: give(), mint: mint(How::Founded) },
        Part::Ask(slot),
        Part::Moved(mint(How::Handed(Box::new(give())))),
        Part::Revoke { slot, token: ballot },
    ];
    vec![
        Message::Parts(parts),
        Message::Renew { round, runs: vec![Run { first: slot, more: 300, counter }] },
        Message::Renewed { round, refused: vec![slot] },
        Message::Hints(vec![Run { first: slot, more: 0, counter }]),
    ]
}

#[test]
fn every_message_is_read_as_it_was_written() {
    for message in one_of_each() {
        assert_eq!(Message::decode(&message.encode()), Ok(message));
    }
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let record = Record {
        promised: None,
        mint: Some(mint(How::Forced)),
        established: true,
        given: Some(Box::new(give())),
    };
    assert_eq!(decode::<Record>(&encode(&record)), Ok(record));
}

/// Version 1 of the wire: a change here is a new version.
#[test]
fn the_bytes_of_every_message_stay_what_they_are() {
    let bytes = one_of_each().into_iter().flat_map(|message| match message {
        Message::Parts(parts) => {
            parts.into_iter().map(|part| Message::Parts(vec![part]).encode()).collect::<Vec<_>>()
        }
        other => vec![other.encode()],
    });
    assert_eq!(
        crate::wire::fingerprints(bytes),
        [
            "39 f0bd49f3b9574cb6",
            "419 edc9c771155f227d",
            "391 d540b29c830e24ca",
            "15 0b60e023610410a8",
            "74 cf2a1430e55f700a",
            "6 56f9e2c14da70f27",
            "412 d6f46df9920b7d9a",
            "5 00d07cd6954b2eb5",
            "412 bf33ced9ac8a77f7",
            "38 cc6e68f3cf83e840",
            "17 9e592253c6e8ac9f",
            "13 e5ff0a122f1eb03d",
            "6 06fc584f27ebc403",
        ]
    );
}

#[test]
fn runs_that_overlap_or_leave_the_slots_are_refused() {
    let run = |first, more| Run { first: slot(first), more, counter: 1 };
    for runs in [vec![run(5, 5), run(10, 0)], vec![run(16_383, 1)], vec![run(1, u16::MAX)]] {
        assert!(Message::decode(&Message::Hints(runs).encode()).is_err());
    }
}

#[test]
fn many_parts_are_split_into_messages_within_bounds() {
    let parts = vec![Part::Moved(mint(How::Granted(vec![grant(); 8]))); 500];
    let messages = Message::split(parts.clone());
    let all = messages.iter().flat_map(|message| {
        assert!(message.encode().len() <= MAX_MESSAGE);
        match Message::decode(&message.encode()) {
            Ok(Message::Parts(parts)) => parts,
            other => panic!("{other:?}"),
        }
    });
    assert!(all.eq(parts));
    assert!(messages.len() > 1);
}

proptest! {
    #[test]
    fn slots_come_out_of_runs_as_they_went_in(some in prop::collection::btree_map(0u16..600, 0u64..3, 0..300)) {
        let slots: Vec<(Slot, u64)> = some.into_iter().map(|(n, counter)| (slot(n), counter)).collect();
        let runs = Run::of(slots.iter().copied());
        prop_assert!(runs.iter().flat_map(|run| run.slots().map(|slot| (slot, run.counter))).eq(slots));
        prop_assert!(Message::Hints(runs).is_within_bounds());
    }

    #[test]
    fn hostile_bytes_never_panic(bytes: Vec<u8>, at in 0usize..600, to: u8) {
        let _ = Message::decode(&bytes);
        for message in one_of_each() {
            let mut bytes = message.encode();
            let at = at % bytes.len();
            bytes[at] = to;
            if let Ok(message) = Message::decode(&bytes) {
                prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
            }
        }
    }
}
