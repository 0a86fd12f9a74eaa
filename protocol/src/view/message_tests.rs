use super::*;
use crate::peer::{Keys, testing::Keyring};
use crate::time::Instant;
use crate::view::{Electors, LastStand, Stored};
use crate::wire::decode;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv6Addr};

fn record(n: u64, addresses: usize) -> Signed<MemberRecord> {
    let keys = Keyring::numbered(n);
    let address = |port: u16| crate::member::Address::Direct {
        ip: IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, port)),
        port,
        transport: crate::member::Transport::Quic,
    };
    let addresses = (1..=addresses as u16).map(address).collect();
    let record = MemberRecord::first(keys.own(), addresses, false, 64, Instant(n));
    Signed::sign(MemberRecord { generation: u64::MAX, sequence: u64::MAX, ..record }, &keys).unwrap()
}

fn incarnation(n: u64) -> Incarnation {
    Incarnation { generation: 1 << 40, sequence: n }
}

fn news() -> News {
    let (witness, subject) = (Keyring::numbered(1), Keyring::numbered(2));
    let word = Witnessed { witness: witness.own(), subject: subject.own(), incarnation: incarnation(3) };
    let goodbye = Goodbye { peer: subject.own(), incarnation: incarnation(4), stand: last_stand() };
    News {
        records: vec![record(1, 1)],
        witnesses: vec![Signed::sign(word, &witness).unwrap()],
        goodbyes: vec![Signed::sign(goodbye, &subject).unwrap()],
    }
}

fn last_stand() -> LastStand {
    let attempts = std::array::from_fn(|n| if n < 2 { 1 << (50 + n) } else { 0 });
    LastStand { number: 7, digest: 8, attempts }
}

fn one_of_each() -> Vec<Message> {
    let (a, b) = (PeerKey([1; 32]), PeerKey([2; 32]));
    let word = Word {
        incarnation: incarnation(300),
        stand: Stand { number: 7, digest: 8, attempt: 1 << 50, others: vec![1 << 51] },
    };
    let entry = |peer, claim| Entry { peer, incarnation: incarnation(1), digest: 9, claim };
    let (nonce, session) = (1 << 33, 1 << 60);
    vec![
        Message::Ping { nonce, word: word.clone(), news: News::default() },
        Message::Ack { nonce, word, news: news() },
        Message::PingFor { nonce, target: a },
        Message::Reached { nonce, target: a },
        Message::News(news()),
        Message::Compare { session, buckets: vec![5; BUCKETS], after: Some(a) },
        Message::Listing { session, entries: vec![entry(a, Claim::Down), entry(b, Claim::Left)], done: true },
        Message::Want { session, peers: vec![a, b] },
        Message::Items { session, news: news() },
        Message::WantElectors,
        Message::Electors { number: 3, members: vec![a, b] },
        Message::Attempt { members: vec![a, b] },
    ]
}

/// Version 4 of the wire: a change here is a new version.
#[test]
fn the_bytes_of_every_message_stay_what_they_are() {
    let bytes = one_of_each().iter().map(Message::encode).collect::<Vec<_>>();
    assert_eq!(
        crate::wire::fingerprints(bytes),
        [
            "47 beefa9c6df0712be",
            "480 35e0a3a1d0f555a9",
            "43 ad010a7e598a0baf",
            "43 022b3f69efe30e46",
            "438 60d6bb71147380c4",
            "109 eff08c7d86bf4ed4",
            "101 64ec857f81d06cff",
            "76 037e5fc07073b6be",
            "447 5831c268ef6a580d",
            "2 f8f52dc1de65bb41",
            "68 76cff54e356acf42",
            "67 34273439e6dacfc0",
        ]
    );
}

#[test]
fn what_is_said_is_understood() {
    for message in one_of_each() {
        assert_eq!(Message::decode(&message.encode()), Ok(message));
    }
}

#[test]
fn the_largest_messages_fit() {
    let records = vec![record(1, crate::member::MAX_ADDRESSES); MAX_NEWS];
    let peer = |n: usize| PeerKey(std::array::from_fn(|i| if i < 2 { n.to_be_bytes()[6 + i] } else { 255 }));
    let entry = |n| Entry {
        peer: peer(n),
        incarnation: Incarnation { generation: u64::MAX, sequence: u64::MAX },
        digest: u64::MAX,
        claim: Claim::Left,
    };
    let keys = Keyring::numbered(1);
    let stand = LastStand { number: u64::MAX, digest: u64::MAX, attempts: [u64::MAX; MAX_ATTEMPTS] };
    let last = Incarnation { generation: u64::MAX, sequence: u64::MAX };
    let goodbye = Signed::sign(Goodbye { peer: keys.own(), incarnation: last, stand }, &keys).unwrap();
    let goodbyes = |many| News { goodbyes: vec![goodbye.clone(); many], ..News::default() };
    let word =
        Word { incarnation: last, stand: Stand { others: vec![u64::MAX; MAX_ATTEMPTS], ..stand.into() } };
    for message in [
        Message::News(News { records, ..News::default() }),
        Message::News(goodbyes(MAX_NEWS)),
        Message::Ping { nonce: u64::MAX, word, news: goodbyes(PIGGYBACK) },
        Message::Listing { session: u64::MAX, entries: (0..MAX_ENTRIES).map(entry).collect(), done: false },
        Message::Electors { number: u64::MAX, members: (0..MAX_ELECTORS).map(peer).collect() },
        Message::Attempt { members: (0..MAX_ELECTORS).map(peer).collect() },
    ] {
        assert_eq!(Message::decode(&message.encode()).as_ref(), Ok(&message), "{}", message.encode().len());
    }
}

#[test]
fn what_is_out_of_bounds_is_refused() {
    let news = News { records: vec![record(1, 0); PIGGYBACK + 1], ..News::default() };
    let word = Word { incarnation: incarnation(1), stand: Stand::default() };
    let many = Stand { others: vec![1; MAX_ATTEMPTS + 1], ..Stand::default() };
    let (a, b) = (PeerKey([1; 32]), PeerKey([2; 32]));
    let entry = |peer| Entry { peer, incarnation: incarnation(1), digest: 9, claim: Claim::Live };
    for message in [
        Message::Ping { nonce: 1, word: word.clone(), news },
        Message::Ack { nonce: 1, word: Word { stand: many, ..word }, news: News::default() },
        Message::News(News { records: vec![record(1, 0); MAX_NEWS + 1], ..News::default() }),
        Message::Compare { session: 1, buckets: vec![1; BUCKETS - 1], after: None },
        Message::Listing { session: 1, entries: vec![], done: false },
        Message::Listing { session: 1, entries: vec![entry(b), entry(a)], done: true },
        Message::Want { session: 1, peers: vec![a, a] },
        Message::Electors { number: 1, members: vec![] },
        Message::Attempt { members: vec![b, a] },
    ] {
        assert!(Message::decode(&message.encode()).is_err(), "{message:?}");
    }
    assert!(Message::decode(&vec![0; MAX_MESSAGE + 1]).is_err());
}

#[test]
fn what_is_stored_is_read() {
    let keys = Keyring::numbered(2);
    let goodbye = Goodbye { peer: keys.own(), incarnation: incarnation(4), stand: last_stand() };
    let electors = || Electors { number: u64::MAX, members: vec![PeerKey([9; 32]); MAX_ELECTORS] };
    let attempts = vec![electors(); crate::view::primary::MAX_ATTEMPTS];
    for stored in [
        Stored::Own { record: record(1, 2).body().clone(), reserved: 7 },
        Stored::Electors { last: Some(electors()), attempts },
        Stored::Member(record(3, crate::member::MAX_ADDRESSES)),
        Stored::Tomb {
            peer: keys.own(),
            incarnation: incarnation(4),
            goodbye: Some(Signed::sign(goodbye, &keys).unwrap()),
            until: Instant(5),
        },
    ] {
        assert_eq!(decode::<Stored>(&wire::encode(&stored)), Ok(stored));
    }
}

proptest! {
    #[test]
    fn hostile_bytes_never_panic(kind in 0u8..13, mut bytes: Vec<u8>) {
        bytes.splice(0..0, [Message::VERSION, kind]);
        if let Ok(message) = Message::decode(&bytes) {
            prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
    }

    #[test]
    fn a_changed_message_is_another_or_none(which in 0usize..12, at: prop::sample::Index, bit in 0u8..8) {
        let sent = one_of_each().swap_remove(which);
        let mut bytes = sent.encode();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let read = Message::decode(&bytes);
        prop_assert_ne!(read.as_ref(), Ok(&sent));
    }
}
