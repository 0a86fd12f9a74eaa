//! Exclusions of the swarm.

use super::assert_lines;
use anthill_protocol::epidemic::{BUCKETS, Bucket, Entry};
use anthill_protocol::exclusion::{
    Draft, Exclusion, Item, ItemKey, Message, Proof, RuleKey, Scope, Verified, Witness,
};
use anthill_protocol::peer::{Keys, testing::Keyring};
use anthill_protocol::wire::encode;

fn rule() -> Exclusion {
    let key = RuleKey { issuer: Keyring::numbered(1).own(), number: 300 };
    let (pattern, reason) = ("host:bad.test".into(), "spam".into());
    let draft = Draft { pattern, scope: Scope::Index, reason, expires_s: Some(1 << 33) };
    Exclusion::new(key, None, draft, 70_000)
}

fn exclusion(rule: Exclusion) -> Item {
    Item::Exclusion(Verified::sign(rule, &Keyring::numbered(1)).expect("its own").signed().clone())
}

fn witness(how: Proof) -> Item {
    let (keys, issuer) = (Keyring::numbered(2), Keyring::numbered(1).own());
    let witness = Witness { by: keys.own(), site: "bad.test".into(), issuer, how, seen_s: 70_000 };
    Item::Witness(Verified::sign(witness, &keys).expect("its own").signed().clone())
}

fn messages() -> Vec<(&'static str, Message)> {
    let (session, request, key) = (1 << 40, 513, ItemKey([1; 16]));
    let entries = vec![Entry { key, digest: [2; 16] }];
    vec![
        ("news", Message::News(vec![exclusion(rule())])),
        ("root", Message::Root { session, root: [3; 16] }),
        ("same", Message::Same { session }),
        ("list", Message::List { session, request, buckets: vec![1, 255], after: Some(key) }),
        ("keys", Message::Keys { session, request, entries, done: true }),
        ("want", Message::Want { session, request, keys: vec![key] }),
        ("items", Message::Items { session, request, served: 2, items: vec![witness(Proof::Dns)] }),
    ]
}

#[test]
fn messages_and_records_are_what_they_were() {
    let mut all: Vec<_> = messages().iter().map(|(name, message)| (*name, message.encode())).collect();
    all.push(("rule", encode(&exclusion(rule()))));
    all.push(("take-back", encode(&exclusion(rule().tombstone(70_001)))));
    all.push(("witness", encode(&witness(Proof::WellKnown))));
    assert_lines(&all, include_str!("exclusion.hex"));
    for (_, message) in messages() {
        assert_eq!(Message::decode(&message.encode()), Ok(message));
    }
}

#[test]
fn buckets_are_what_they_were() {
    let mut buckets = vec![Bucket::default(); BUCKETS];
    buckets[0] = Bucket { sum: [9; 16], count: 300 };
    let bytes = Message::Buckets { session: 7, buckets }.encode();
    let begin = "010307fb000109090909090909090909090909090909fb2c01";
    assert_eq!(super::hex(&bytes[..25]), begin);
    assert_eq!((bytes.len(), bytes[25..].iter().all(|byte| *byte == 0)), (25 + 17 * 255, true));
}
