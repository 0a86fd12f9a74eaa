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

#[path = "golden/claim.rs"]
mod claim;
#[path = "golden/exclusion.rs"]
mod exclusion;
#[path = "golden/newer.rs"]
mod newer;
#[path = "golden/registry.rs"]
mod registry;
#[path = "golden/replica.rs"]
mod replica;
#[path = "golden/view.rs"]
mod view;

/// Fails unless the bytes are these, and says what they are.
fn assert_golden(name: &str, bytes: &[u8], golden: &str) {
    assert_eq!(hex(bytes), golden, "{name}: with other bytes it needs another VERSION");
}

/// Fails unless these are the lines of a file: a name and the bytes.
#[track_caller]
fn assert_lines(all: &[(&str, Vec<u8>)], golden: &str) {
    let lines: Vec<String> = all.iter().map(|(name, bytes)| format!("{name} {}", hex(bytes))).collect();
    for (line, golden) in lines.iter().zip(golden.lines()) {
        assert_eq!(line, golden, "with other bytes it needs another VERSION");
    }
    assert_eq!(lines.len(), golden.lines().count(), "all is\n{}", lines.join("\n"));
}

mod links {
    use super::*;
    use anthill_protocol::links::link::Context;
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
        golden(&link(), "05111111111111111111111111111111110e687474703a2f2f622e746573742f0162070212");
        let of_topic = Link {
            flags: link().flags.of_page(&Context {
                relevance: 700,
                layers: [1, 2, 3, 4, 5, 112],
                since: 3,
                class: Some(1),
            }),
            ..link()
        };
        golden(
            &of_topic,
            "05111111111111111111111111111111110e687474703a2f2f622e746573742f01620702fd52af028201a17002",
        );
        let with_text_around = Link { flags: of_topic.flags.around(700), ..link() };
        golden(
            &with_text_around,
            "05111111111111111111111111111111110e687474703a2f2f622e746573742f01620702fd52af028201a170a2",
        );
    }

    #[test]
    fn a_batch() {
        let part = Part { slot: slot(16_383), counter: 300, first: 5, upto: 6, links: vec![link()] };
        golden(
            &Message::Batch(Batch { session: 1 << 40, id: 9, parts: vec![part] }),
            "0500fd00000000000100000901fbff3ffb2c01050601111111111111111111111111111111110e687474703a2f2f622e746573742f0162070212",
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
            "0501fd000000000001000006090300090301090302bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbfb2c01aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa090303090304fbe80309030500",
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

mod lesson {
    use super::*;
    use anthill_protocol::lesson::{Lesson, Message};

    #[test]
    fn lessons() {
        let lesson = Lesson { page: UrlId::from_bytes([0x11; 16]), steps: 2, worth: 563 };
        golden(&Message(vec![lesson]), "01011111111111111111111111111111111102fb3302");
    }
}

mod cash {
    use super::*;
    use anthill_protocol::cash::{Amount, Message, Payment};

    #[test]
    fn payments() {
        let amount = Amount::of(0.15).expect("more than nothing");
        golden(
            &Message(vec![Payment { page: UrlId::from_bytes([0x11; 16]), amount }]),
            "010111111111111111111111111111111111fb1a3e",
        );
    }
}

mod outlook {
    use super::*;
    use anthill_protocol::outlook::{Message, Outlook, Wanted, Worths};
    use anthill_protocol::peer::PeerKey;

    #[test]
    fn outlooks() {
        let mut worths = Worths::default();
        [0, 1, 1, 3].into_iter().for_each(|worth| worths.count(worth));
        let wanted = Wanted { given: 300, near: 5 };
        let outlook = Outlook { peer: PeerKey([0x11; 32]), said: 1 << 40, age_ms: 250, wanted, worths };
        golden(
            &Message(vec![outlook]),
            "01011111111111111111111111111111111111111111111111111111111111111111fd0000000000010000fafb2c0105080102000000000001",
        );
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
}

mod plan {
    use super::*;
    use anthill_protocol::plan::message::{Answer, Ask};
    use anthill_protocol::plan::{Manifest, Message, SlotSet};

    fn set(slots: impl IntoIterator<Item = u16>) -> SlotSet {
        slots.into_iter().map(slot).collect()
    }

    #[test]
    fn asks() {
        let excluded = vec![PeerKey([0xbb; 32])];
        let slots = set([0, 1, 2, 300, 16_383]);
        golden(
            &Message::Ask(Ask { query: 1 << 40, phase: 1, digest: [0xcc; 16], excluded, slots }),
            "0100fd000000000001000001cccccccccccccccccccccccccccccccc01bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb00030002fb2c0100fbff3f00",
        );
    }

    #[test]
    fn answers() {
        let (slots, declined) = (SlotSet::all(), SlotSet::empty());
        golden(
            &Message::Answer(Answer { query: 7, phase: 0, same_view: true, slots, declined }),
            "0101070001000100fbff3f0000",
        );
    }

    #[test]
    fn sets_of_many_runs() {
        let slots = set((0..16_384).step_by(2));
        let answer = Answer { query: 7, phase: 0, same_view: true, slots, declined: SlotSet::empty() };
        let bytes = encode(&Message::Answer(answer));
        assert_eq!((bytes.len(), hex(&bytes[..12]).as_str()), (2_059, "010107000101fb0008555555"));
    }

    #[test]
    fn manifests() {
        let manifest = Manifest { token: token(), seq: 70_000, documents: 300, whole: true };
        golden(
            &Message::Manifests(vec![(slot(5), manifest)]),
            "01020105fb2c01aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaafc70110100fb2c0101",
        );
    }
}
