//! Bytes of the wire and of the disk, one of each: a change here is a new `VERSION`. One section for each protocol.

use anthill_protocol::claim::Token;
use anthill_protocol::key::{Slot, UrlId};
use anthill_protocol::peer::PeerKey;
use anthill_protocol::wire::{Versioned, decode, encode};
use std::fmt::Debug;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// That a value has these bytes, and these bytes are that value.
#[track_caller]
fn golden<T: Versioned + PartialEq + Debug>(value: &T, expected: &str) {
    let bytes = encode(value);
    assert_eq!(hex(&bytes), expected, "{value:?}");
    assert_eq!(decode::<T>(&bytes).as_ref(), Ok(value));
}

fn slot(number: u16) -> Slot {
    Slot::new(number).expect("a slot")
}

fn token() -> Token {
    Token { counter: 300, minter: PeerKey([0xaa; 32]) }
}

mod links {
    use super::*;
    use anthill_protocol::links::message::{Answer, Answered, Batch, Part, Refusal};
    use anthill_protocol::links::{Cursor, Flags, Link, Message};

    fn link() -> Link {
        Link {
            source: UrlId::from_bytes([0x11; 16]),
            url: "http://b.test/".into(),
            anchor: "b".into(),
            crawl: 7,
            depth: 2,
            flags: Flags::DOUBTFUL.with(Flags::REDIRECT),
        }
    }

    #[test]
    fn a_link() {
        golden(&link(), "01111111111111111111111111111111110e687474703a2f2f622e746573742f0162070212");
    }

    #[test]
    fn a_batch() {
        let part = Part { slot: slot(16_383), counter: 300, first: 5, upto: 6, links: vec![link()] };
        golden(
            &Message::Batch(Batch { session: 1 << 40, id: 9, parts: vec![part] }),
            "0100fd00000000000100000901fbff3ffb2c01050601111111111111111111111111111111110e687474703a2f2f622e746573742f0162070212",
        );
    }

    #[test]
    fn answers() {
        let answers = [
            Answer::Received,
            Answer::Durable,
            Answer::Moved { holder: PeerKey([0xbb; 32]), token: token() },
            Answer::NotMine,
            Answer::Busy { retry_ms: 1_000 },
            Answer::Refused(Refusal::Full),
        ];
        let answered = |answer| Answered { id: 9, slot: slot(3), answer };
        let answers = answers.map(answered).to_vec();
        golden(
            &Message::Answers { session: 1 << 40, answers },
            "0101fd000000000001000006090300090301090302bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbfb2c01aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa090303090304fbe80309030500",
        );
    }

    #[test]
    fn a_cursor() {
        golden(
            &Cursor { durable: 70_000, forced: Some(token()) },
            "01fc7011010001fb2c01aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        );
    }

    #[test]
    fn a_fingerprint() {
        assert_eq!(link().fingerprint(), 12067542545674558300);
//! The bytes of what travels and what is stored, by which versions of the program understand each other. A change here needs a new
//! `VERSION` of the type.

use anthill_protocol::wire::{Versioned, encode};

/// The bytes in hexadecimal.
fn hex(value: &impl Versioned) -> String {
    encode(value).iter().map(|byte| format!("{byte:02x}")).collect()
}

mod replica {
    use super::hex;
    use anthill_protocol::claim::Token;
    use anthill_protocol::key::{SiteId, Slot, UrlId};
    use anthill_protocol::peer::{Keys, testing::Keyring};
    use anthill_protocol::replica::message::Why;
    use anthill_protocol::replica::{
        Bits, Bucket, Confirmed, Digest, Entry, Item, ItemKey, Message, Part, Position, Record,
    };
    use anthill_protocol::signed::Signed;
    use anthill_protocol::tally::{Anchors, Link, Links, Sites, Source};

    fn parts() -> Vec<Part> {
        let slot = Slot::new(300).expect("a slot");
        let minter = Keyring::numbered(1).own();
        let token = Token { counter: 7, minter };
        let position = Position { token, seq: 300, log: 5 };
        let key = ItemKey::new(slot, &[1, 2]).expect("short");
        let item = Item { key: key.clone(), digest: Digest([6; 8]), value: vec![8, 9] };
        let (counter, session) = (7, 9);
        let mut buckets = Bits::default();
        buckets.set(77);
        let keys = Keyring::numbered(2);
        let confirmed = Confirmed { by: keys.own(), to: minter, slot, goal: position, placement: [3; 32] };
        vec![
            Part::Where { slot, counter },
            Part::Append {
                slot,
                counter,
                log: 5,
                after: 1,
                upto: 300,
                lifts: true,
                items: vec![item.clone()],
            },
            Part::Fetch { slot, counter },
            Part::Root { slot, counter, seq: 300, root: [4; 16] },
            Part::Behind { slot, counter, position: Some(position) },
            Part::Acked { slot, counter, upto: 300, lifted: true },
            Part::Stale { slot, token },
            Part::Refused { slot, session, why: Why::Full },
            Part::Compare { slot, session, root: [4; 16] },
            Part::Same { slot, session, position },
            Part::Buckets { slot, session, position, buckets: vec![Bucket { sum: 8, count: 1 }] },
            Part::List { slot, session, buckets, after: Some(key.clone()) },
            Part::Keys {
                slot,
                session,
                entries: vec![Entry { key: key.clone(), digest: Digest([6; 8]) }],
                done: true,
            },
            Part::Pull { slot, session, buckets, after: None },
            Part::Chunk { slot, session, items: vec![item.clone()], done: true },
            Part::Want { slot, session, keys: vec![key] },
            Part::Items { slot, session, served: 2, items: vec![item.clone()] },
            Part::Offer { slot, session, items: vec![item] },
            Part::Took { slot, session, position },
            Part::Confirm { slot, goal: position, placement: [3; 32] },
            Part::Confirmed(Signed::sign(confirmed, &keys).expect("own")),
        ]
    }

    #[test]
    fn messages_and_records_are_what_they_were() {
        let mut all: Vec<String> = parts().into_iter().map(|part| hex(&Message(vec![part]))).collect();
        let slot = Slot::new(300).expect("a slot");
        let token = Token { counter: 7, minter: Keyring::numbered(1).own() };
        let position = Some(Position { token, seq: 300, log: 5 });
        all.push(hex(&Record { slot, log: 5, position, held: Some(token) }));
        let site = SiteId::of("a.test");
        let mut links = Links::default();
        let source = Source { page: UrlId::of(site, "http://a.test/"), version: 3 };
        links.add(source, Link { count: 2, importance: 500, anchor: "word".into() });
        let mut sites = Sites::default();
        sites.add(site);
        all.push(hex(&links));
        all.push(hex(&sites));
        all.push(hex(&Anchors::from(vec!["word".to_owned()])));
        let golden = include_str!("golden/replica.hex");
        assert_eq!(all.join("\n"), golden.trim_end());
    }
}

mod steward {
    use super::*;
    use anthill_protocol::steward::message::{Ask, Grant, Moved, Release};
    use anthill_protocol::steward::{AddressKey, Message};

    const V4: AddressKey = AddressKey::V4([93, 184, 216, 34]);
    const V6: AddressKey = AddressKey::V6([0x26, 6, 0x28, 0, 2, 0x20, 0, 1]);

    #[test]
    fn asks() {
        let ask = |address| Ask { address, id: 1 << 40, delay_ms: 1_000, wanted: 300 };
        golden(
            &Message::Ask(vec![ask(V4), ask(V6)]),
            "010002005db8d822fd0000000000010000fbe803fb2c01012606280002200001fd0000000000010000fbe803fb2c01",
        );
    }

    #[test]
    fn grants() {
        let grant = Grant { address: V4, id: 1 << 40, waited_us: 70_000, length_us: 8_000_000 };
        golden(&Message::Grant(vec![grant]), "010101005db8d822fd0000000000010000fc70110100fc00127a00");
    }

    #[test]
    fn releases() {
        golden(&Message::Release(vec![Release { address: V6, id: 5 }]), "01020101260628000220000105");
    }

    #[test]
    fn moved() {
        let known = Moved { slot: slot(16_383), holder: Some((PeerKey([0xbb; 32]), token())) };
        golden(
            &Message::Moved(vec![known, Moved { slot: slot(1), holder: None }]),
            "010302fbff3f01bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbfb2c01aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa0100",
        );
    }

    #[test]
    fn slots_of_addresses() {
        assert_eq!([V4, V6].map(|address| address.slot().number()), [15614, 9453]);
    }
//! The bytes of messages and records, one section a protocol. A change here is a change of a `VERSION`.

#[path = "golden/view.rs"]
mod view;

/// Fails unless the bytes are these, and says what they are.
fn assert_golden(name: &str, bytes: &[u8], golden: &str) {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, golden, "{name}: with other bytes it needs another VERSION");
}
