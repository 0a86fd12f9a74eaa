//! Copies.

use anthill_protocol::wire::{Versioned, encode};

/// The bytes in hexadecimal.
fn hex(value: &impl Versioned) -> String {
    encode(value).iter().map(|byte| format!("{byte:02x}")).collect()
}

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
        Part::Append { slot, counter, log: 5, after: 1, upto: 300, lifts: true, items: vec![item.clone()] },
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
    let golden = include_str!("replica.hex");
    assert_eq!(all.join("\n"), golden.trim_end());
}
