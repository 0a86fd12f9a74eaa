use super::*;
use crate::peer::{Keys, testing::Keyring};
use crate::replica::Digest;
use proptest::prelude::*;

fn slot() -> Slot {
    Slot::new(3).expect("a slot")
}

fn key(n: u16) -> ItemKey {
    ItemKey::new(slot(), &n.to_be_bytes()).expect("short")
}

fn item(n: u16, size: usize) -> Item {
    let value = vec![n as u8; size];
    Item { key: key(n), digest: Digest::of(&value), value }
}

fn one_of_each() -> Vec<Part> {
    let slot = slot();
    let minter = Keyring::numbered(1).own();
    let token = Token { counter: 7, minter };
    let position = Position { token, seq: 300, log: 5 };
    let (counter, session) = (7, 9);
    let mut buckets = Bits::default();
    buckets.set(77);
    let keys = Keyring::numbered(2);
    let confirmed = Confirmed { by: keys.own(), to: minter, slot, goal: position, placement: [3; 32] };
    vec![
        Part::Where { slot, counter },
        Part::Append { slot, counter, log: 5, after: 1, upto: 300, lifts: true, items: vec![item(1, 3)] },
        Part::Fetch { slot, counter },
        Part::Root { slot, counter, seq: 300, root: [4; 16] },
        Part::Behind { slot, counter, position: Some(position) },
        Part::Acked { slot, counter, upto: 300, lifted: true },
        Part::Stale { slot, token },
        Part::Refused { slot, session, why: Why::Full },
        Part::Compare { slot, session, root: [4; 16] },
        Part::Same { slot, session, position },
        Part::Buckets { slot, session, position, buckets: vec![Bucket { sum: 8, count: 1 }; BUCKETS] },
        Part::List { slot, session, buckets, after: Some(key(1)) },
        Part::Keys {
            slot,
            session,
            entries: vec![Entry { key: key(1), digest: Digest([6; 8]) }],
            done: false,
        },
        Part::Pull { slot, session, buckets, after: None },
        Part::Chunk { slot, session, items: vec![item(1, 3), item(2, 0)], done: true },
        Part::Want { slot, session, keys: vec![key(1)] },
        Part::Items { slot, session, served: 2, items: vec![item(2, 1)] },
        Part::Offer { slot, session, items: vec![item(2, 1)] },
        Part::Took { slot, session, position },
        Part::Confirm { slot, goal: position, placement: [3; 32] },
        Part::Confirmed(Signed::sign(confirmed, &keys).expect("own")),
    ]
}

/// Version 1 of the wire: a change here is a new version.
#[test]
fn the_bytes_of_every_message_stay_what_they_are() {
    let bytes = one_of_each().into_iter().map(|part| Message(vec![part]).encode());
    assert_eq!(
        crate::wire::fingerprints(bytes),
        [
            "5 4e2e9905b70ed0b8",
            "29 c596873d8679854c",
            "5 38e8ad779404b25a",
            "24 1dffc70de1e8881b",
            "43 9c6a9a40f83f5209",
            "9 3664abe1e3b863da",
            "37 96b60b86aa477e4b",
            "6 7568bcb67862e48a",
            "21 c4a525c4908c9cfd",
            "42 27e9774e78e49cfb",
            "557 5e944e7cc8b57d69",
            "17 e17618d62b7ce8b0",
            "20 66d6c995aa67ebaf",
            "12 33521a1ff99a1d54",
            "38 ca9b78d0f250965c",
            "11 a1519176a632cf5c",
            "22 42ad3ee41d202579",
            "21 02b5265cf67acd3d",
            "42 8df96745662c8fd6",
            "73 17480cf4af9a6787",
            "201 46da070e93410556",
        ]
    );
}

#[test]
fn what_is_said_is_understood_alone_and_together() {
    for part in one_of_each() {
        assert!(Message(vec![part.clone()]).encode().len() <= part.size() + 8, "{part:?}");
        let message = Message(vec![part]);
        assert_eq!(Message::decode(&message.encode()), Ok(message));
    }
    let all = Message(one_of_each());
    assert_eq!(Message::decode(&all.encode()), Ok(all));
}

#[test]
fn the_fullest_parts_fit_and_are_understood() {
    let slot = slot();
    let long = |n: u16| ItemKey::new(slot, &[&n.to_be_bytes()[..], &[0xff; 60]].concat()).expect("short");
    let (session, done) = (u64::MAX, true);
    let entries: Vec<Entry> =
        (0..MAX_ENTRIES as u16).map(|n| Entry { key: long(n), digest: Digest([0xff; 8]) }).collect();
    let largest = Item { key: long(1), digest: Digest([0xff; 8]), value: vec![0xff; MAX_VALUE] };
    let token = Token { counter: u64::MAX, minter: PeerKey([0xff; 32]) };
    let position = Position { token, seq: u64::MAX, log: u64::MAX };
    let full = vec![Bucket { sum: u64::MAX, count: u32::MAX }; BUCKETS];
    let small = [
        Part::Keys { slot, session, entries, done },
        Part::Want { slot, session, keys: (0..MAX_KEYS as u16).map(long).collect() },
        Part::Buckets { slot, session, position, buckets: full },
    ];
    for part in small {
        let message = Message(vec![part]);
        let bytes = message.encode();
        assert!(bytes.len() <= FULL_MESSAGE, "{}", bytes.len());
        assert_eq!(Message::decode(&bytes), Ok(message));
    }
    let message = Message(vec![Part::Chunk { slot, session, items: vec![largest], done }]);
    let bytes = message.encode();
    assert!(bytes.len() <= MAX_MESSAGE, "{}", bytes.len());
    assert_eq!(Message::decode(&bytes), Ok(message));
}

#[test]
fn what_has_too_much_or_the_wrong_things_in_it_is_refused() {
    let (slot, session) = (slot(), 1);
    let foreign = ItemKey::new(Slot::new(4).expect("a slot"), &[1]).expect("short");
    let odd = Item { key: foreign.clone(), ..item(1, 1) };
    let entry = |key| Entry { key, digest: Digest([0; 8]) };
    let append =
        |after, upto, items| Part::Append { slot, counter: 1, log: 1, after, upto, lifts: false, items };
    for bad in [
        append(2, 1, vec![]),
        append(1, 2, vec![odd.clone()]),
        append(1, 2, vec![item(1, 0); MAX_ITEMS + 1]),
        append(1, 2, vec![item(1, MAX_VALUE + 1)]),
        Part::Buckets {
            slot,
            session,
            position: Position { token: Token { counter: 1, minter: PeerKey([0; 32]) }, seq: 0, log: 0 },
            buckets: vec![Bucket::default(); BUCKETS - 1],
        },
        Part::Keys { slot, session, entries: vec![entry(key(2)), entry(key(1))], done: true },
        Part::Keys { slot, session, entries: vec![], done: false },
        Part::Keys { slot, session, entries: vec![entry(foreign)], done: true },
        Part::Chunk { slot, session, items: vec![], done: false },
        Part::Chunk { slot, session, items: vec![item(2, 0), item(1, 0)], done: true },
        Part::Want { slot, session, keys: vec![key(1); MAX_KEYS + 1] },
        Part::Items { slot, session, served: 0, items: vec![] },
        Part::Items { slot, session, served: 1, items: vec![item(1, 0), item(2, 0)] },
        Part::Offer { slot, session, items: vec![] },
        Part::Offer { slot, session, items: vec![odd] },
    ] {
        assert!(Message::decode(&Message(vec![bad.clone()]).encode()).is_err(), "{bad:?}");
    }
    let many = Message(vec![Part::Where { slot, counter: 1 }; MAX_PARTS + 1]);
    assert!(Message::decode(&many.encode()).is_err());
    assert!(Message::decode(&vec![1; MAX_MESSAGE + 1]).is_err());
}

proptest! {
    #[test]
    fn hostile_bytes_never_panic(
        kind in 0usize..21,
        cut in 0usize..200,
        flips in proptest::collection::vec((0usize..400, any::<u8>()), 0..6),
    ) {
        let mut bytes = Message(vec![one_of_each()[kind].clone()]).encode();
        for (at, byte) in flips {
            let length = bytes.len();
            bytes[at % length] = byte;
        }
        bytes.truncate(bytes.len().saturating_sub(cut).max(1));
        if let Ok(message) = Message::decode(&bytes) {
            prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
    }
}
