use super::*;
use crate::epidemic::index::{BUCKETS, Bucket, Entry, ItemKey};
use crate::epidemic::message::that_fit;
use crate::exclusion::record::{Draft, Exclusion, MAX_PATTERN, MAX_REASON, RuleKey, Scope};
use crate::exclusion::signed::Verified;
use crate::exclusion::witness::{Proof, Witness};
use crate::peer::{Keys, testing::Keyring};
use crate::wire::WireError;
use proptest::prelude::*;

fn item(pattern: &str, reason: &str) -> Item {
    let keys = Keyring::numbered(1);
    let draft =
        Draft { pattern: pattern.into(), scope: Scope::Index, reason: reason.into(), expires_s: Some(300) };
    let exclusion = Exclusion::new(RuleKey { issuer: keys.own(), number: 7 }, None, draft, 5);
    Item::Exclusion(Verified::sign(exclusion, &keys).unwrap().signed().clone())
}

fn witness() -> Item {
    let keys = Keyring::numbered(2);
    let witness = Witness {
        by: keys.own(),
        site: "a.test".into(),
        issuer: keys.own(),
        how: Proof::WellKnown,
        seen_s: 9,
    };
    Item::Witness(Verified::sign(witness, &keys).unwrap().signed().clone())
}

fn one_of_each() -> Vec<Message> {
    let (session, request) = (1 << 40, 513);
    let entry = |n: u8| Entry { key: ItemKey([n; 16]), digest: [n; 16] };
    vec![
        Message::News(vec![item("a.test", "spam"), witness()]),
        Message::Root { session, root: [3; 16] },
        Message::Same { session },
        Message::Buckets { session, buckets: vec![Bucket { sum: [1; 16], count: 300 }; BUCKETS] },
        Message::List { session, request, buckets: vec![1, 255], after: Some(ItemKey([1; 16])) },
        Message::Keys { session, request, entries: vec![entry(1), entry(2)], done: false },
        Message::Want { session, request, keys: vec![ItemKey([1; 16])] },
        Message::Items { session, request, served: 2, items: vec![witness()] },
    ]
}

#[test]
fn what_is_said_is_understood() {
    for message in one_of_each() {
        assert_eq!(Message::decode(&message.encode()), Ok(message));
    }
}

/// Version 1 of the wire: a change here is a new version.
#[test]
fn the_bytes_of_every_message_stay_what_they_are() {
    let digests: Vec<_> = one_of_each()
        .iter()
        .map(|message| {
            let bytes = message.encode();
            (bytes.len(), blake3::hash(&bytes).to_hex()[..16].to_string())
        })
        .collect();
    let golden = [
        (265, "911091bca68f12d2"),
        (27, "95481b12b0897d2f"),
        (11, "85c7529e577e3b7c"),
        (4878, "5ca44bcc8d54da35"),
        (34, "d92fad24f3e70445"),
        (80, "7deba69fbc278a72"),
        (31, "1fed6698cb0825fc"),
        (154, "e14e05d104d8b22b"),
    ];
    assert_eq!(digests, golden.map(|(length, digest)| (length, digest.to_owned())));
}

#[test]
fn the_fullest_messages_are_small_enough_and_understood() {
    let keys: Vec<_> = (0..=MAX_ENTRIES as u32)
        .map(|n| ItemKey([[0xff; 12].as_slice(), &n.to_be_bytes()].concat().try_into().unwrap()))
        .collect();
    let entries = keys[..MAX_ENTRIES].iter().map(|&key| Entry { key, digest: [0xff; 16] }).collect();
    let (session, request) = (u64::MAX, u16::MAX);
    let most = [item(&"x".repeat(MAX_PATTERN), &"y".repeat(MAX_REASON)), item("a", "")];
    let items = |one: &Item| {
        let all = vec![one.clone(); MAX_ITEMS];
        let fit = that_fit(all.iter());
        assert!(fit > 8);
        all[..fit].to_vec()
    };
    let full = [
        Message::Keys { session, request, entries, done: true },
        Message::Buckets { session, buckets: vec![Bucket { sum: [0xff; 16], count: u32::MAX }; BUCKETS] },
        Message::List { session, request, buckets: (0..=255).collect(), after: Some(ItemKey([0xff; 16])) },
        Message::Want { session, request, keys: keys[..MAX_ITEMS].to_vec() },
        Message::Items { session, request, served: MAX_ITEMS as u16, items: items(&most[0]) },
        Message::Items { session, request, served: MAX_ITEMS as u16, items: items(&most[1]) },
        Message::News(items(&most[1])),
    ];
    for message in full {
        let bytes = message.encode();
        assert!(bytes.len() <= MAX_MESSAGE, "{}", bytes.len());
        assert_eq!(Message::decode(&bytes), Ok(message));
    }
}

#[test]
fn what_has_too_many_parts_or_leads_nowhere_is_refused() {
    let (session, request) = (1, 1);
    let entry = |n: u8| Entry { key: ItemKey([n; 16]), digest: [n; 16] };
    for bad in [
        Message::Buckets { session, buckets: vec![Bucket::default(); BUCKETS - 1] },
        Message::List { session, request, buckets: vec![1, 1], after: None },
        Message::Keys { session, request, entries: vec![entry(2), entry(1)], done: true },
        Message::Keys { session, request, entries: vec![], done: false },
        Message::Want { session, request, keys: vec![ItemKey([0; 16]); MAX_ITEMS + 1] },
        Message::Items { session, request, served: 0, items: vec![witness()] },
        Message::News(vec![witness(); MAX_ITEMS + 1]),
    ] {
        assert!(Message::decode(&bad.encode()).is_err(), "{bad:?}");
    }
    let long = vec![1; MAX_MESSAGE + 1];
    assert!(matches!(Message::decode(&long), Err(WireError::Body(_))));
}

proptest! {
    #[test]
    fn hostile_bytes_never_panic(kind in 0usize..8, cut in 0usize..400, flips in proptest::collection::vec((0usize..400, any::<u8>()), 0..6)) {
        let mut bytes = one_of_each()[kind].encode();
        for (at, byte) in flips {
            let length = bytes.len();
            bytes[at % length] = byte;
        }
        bytes.truncate(bytes.len().saturating_sub(cut).max(1));
        if let Ok(message) = Message::decode(&bytes) {
            assert_eq!(Message::decode(&message.encode()).as_ref(), Ok(&message));
        }
    }
}
