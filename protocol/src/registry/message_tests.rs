use super::*;
use crate::peer::{Keys, testing::Keyring};
use crate::registry::book::Told;
use crate::registry::record::{Counts, MAX_SEED_BYTES, Register, Scope, Spec};
use crate::registry::{Begun, Ended, Why};
use crate::signed::Signed;
use proptest::prelude::*;

fn crawl(seeds: Vec<String>) -> Item {
    let keys = Keyring::numbered(1);
    let spec = Spec {
        seeds,
        more_seeds: u64::MAX,
        scope: Scope::Any,
        max_depth: Some(u16::MAX),
        max_pages: Some(u64::MAX),
        max_sites: Some(u64::MAX),
        max_time_s: Some(u64::MAX),
    };
    let begun = Begun { starter: keys.own(), nonce: u64::MAX, started_s: u64::MAX, spec };
    let ended = Ended { at_s: u64::MAX, by: keys.own(), crawl: begun.key(), why: Why::Time };
    let begun = Signed::sign(begun, &keys).unwrap();
    Item::Crawl(Box::new(Told { begun, ended: Some(Signed::sign(ended, &keys).unwrap()) }))
}

#[test]
fn the_largest_crawl_fits_a_message() {
    let seeds = vec!["u".repeat(2_046); MAX_SEED_BYTES / 2_048];
    let message = Message::Spread(epidemic::Message::News(vec![crawl(seeds)]));
    assert!(message.encode().len() > MAX_SEED_BYTES);
    assert_eq!(Message::decode(&message.encode()), Ok(message));
    let least = vec!["u".to_owned(); MAX_SEED_BYTES / 3];
    let item = crawl(least);
    assert_eq!(wire::decode(&wire::encode(&item)), Ok(item.clone()), "strings are larger in memory");
    let message = Message::Spread(epidemic::Message::News(vec![item]));
    assert_eq!(Message::decode(&message.encode()), Ok(message));
}

/// Version 1 of the wire: a change here is a new version. What spreads does so as exclusions do, whose messages are all pinned.
#[test]
fn the_bytes_of_every_message_stay_what_they_are() {
    let keys = Keyring::numbered(1);
    let Item::Crawl(told) = crawl(vec!["http://a.test/".into()]) else { panic!("a crawl") };
    let begun = told.begun.body().clone();
    let register = Register {
        crawl: begun.key(),
        by: keys.own(),
        generation: 3,
        seq: 4,
        counts: Counts::default(),
        quiet: None,
        agreed: None,
    };
    let items = vec![Item::Crawl(told), Item::Register(Box::new(Signed::sign(register, &keys).unwrap()))];
    let one = |item| Message::Spread(epidemic::Message::News(vec![item]));
    let all = items.into_iter().map(one).chain([Message::Ask(vec![7, 8])]);
    assert_eq!(
        wire::fingerprints(all.map(|message| message.encode())),
        ["302 1eca32c093c28c67", "126 65f55586f66d8887", "5 c2d4cdd9bf40dbe7",]
    );
}

#[test]
fn too_much_is_refused() {
    assert!(Message::decode(&Message::Ask(vec![1; MAX_ASKED]).encode()).is_ok());
    assert!(Message::decode(&Message::Ask(vec![1; MAX_ASKED + 1]).encode()).is_err());
    assert!(Message::decode(&[1; MAX_MESSAGE + 2]).is_err());
}

proptest! {
    #[test]
    fn hostile_bytes_never_panic(bytes: Vec<u8>) {
        let _ = Message::decode(&[&[1], bytes.as_slice()].concat());
    }

    #[test]
    fn what_is_understood_is_written_the_same(tags in prop::collection::vec(any::<u64>(), 0..MAX_ASKED)) {
        let message = Message::Ask(tags);
        prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
    }
}
