use super::*;
use crate::peer::{Keys, testing::Keyring};
use crate::registry::book::Told;
use crate::registry::record::{MAX_SEED_BYTES, Scope, Spec};
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
