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
    }
}
