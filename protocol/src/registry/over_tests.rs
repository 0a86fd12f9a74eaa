use super::*;
use crate::epidemic::Book as _;
use crate::peer::{Keys, testing::Keyring};
use crate::registry::book::Told;
use crate::registry::book::tests::spec;
use crate::registry::{Agreed, Begun, Counts, Item, Limits, Register};
use crate::signed::Signed;
use proptest::prelude::*;

fn key(number: u64) -> PeerKey {
    Keyring::numbered(number).own()
}

fn live(numbers: std::ops::Range<u64>) -> BTreeSet<PeerKey> {
    numbers.map(key).collect()
}

/// A book with a crawl of peer 1.
fn book() -> (Book, CrawlKey) {
    let begun = Begun { starter: key(1), nonce: 7, started_s: 5, spec: spec(1) };
    let crawl = begun.key();
    let begun = Signed::sign(begun, &Keyring::numbered(1)).unwrap();
    let mut book = Book::empty(&Limits::default(), ());
    let item = Item::Crawl(Box::new(Told { begun, ended: None }));
    book.merge(5, Book::verify(item, &Keyring::numbered(0)).unwrap());
    (book, crawl)
}

fn say(book: &mut Book, crawl: CrawlKey, by: u64, quiet: Option<Quiet>, agreed: Option<Agreed>) {
    let seq = book.register(&crawl, &key(by), 1).map_or(1, |register| register.seq + 1);
    let register =
        Register { crawl, by: key(by), generation: 1, seq, counts: Counts::default(), quiet, agreed };
    let item = Item::Register(Box::new(Signed::sign(register, &Keyring::numbered(by)).unwrap()));
    book.merge(5, Book::verify(item, &Keyring::numbered(0)).unwrap());
}

fn quiet(epoch: u64) -> Option<Quiet> {
    Some(Quiet { epoch, served: epoch * 3 })
}

#[test]
fn a_crawl_is_over_when_all_say_the_digest_of_all() {
    let (mut book, crawl) = book();
    let all = live(1..4);
    let group = |book: &Book| Group::of_live(book, &crawl, &all, (key(1), 1, quiet(1).unwrap()));
    (1..3).for_each(|n| say(&mut book, crawl, n, quiet(n), None));
    assert_eq!(group(&book), None, "the third has said nothing");
    say(&mut book, crawl, 3, None, None);
    assert_eq!(group(&book), None, "or that it is not quiet");
    say(&mut book, crawl, 3, quiet(3), None);
    let whole = group(&book).unwrap();
    assert_eq!(whole.served(), 3 + 6 + 9);
    let agreed = Some(Agreed { digest: whole.digest(), away: 2 });
    for n in 1..4 {
        assert_eq!(over(&book, &crawl, &all), None);
        say(&mut book, crawl, n, quiet(n), agreed);
    }
    assert_eq!(over(&book, &crawl, &all), Some(Over { away: 2 }));
    assert_eq!(over(&book, &crawl, &live(1..9)), Some(Over { away: 2 }), "who comes later changes nothing");
    say(&mut book, crawl, 5, None, None);
    assert_eq!(over(&book, &crawl, &live(1..9)), None, "but who comes with something to do does");
    assert_eq!(over(&book, &crawl, &all), Some(Over { away: 2 }), "if it is live");
    say(&mut book, crawl, 2, quiet(22), agreed);
    assert_eq!(over(&book, &crawl, &all), None, "another epoch");
}

#[test]
fn slots_are_told_apart_by_number_and_token() {
    let token = |counter, n| Token { counter, minter: key(n) };
    let slot = |n| Slot::new(n).unwrap();
    let all = [
        served(slot(1), token(1, 1)),
        served(slot(2), token(1, 1)),
        served(slot(1), token(2, 1)),
        served(slot(1), token(1, 2)),
    ];
    assert_eq!(BTreeSet::from(all).len(), 4);
}

proptest! {
    #[test]
    fn shares_of_those_who_know_the_same_add_up_to_what_is_left(
        max in 0u64..10_000, own in prop::collection::vec(0u64..2_000, 1..12)
    ) {
        let all = live(0..own.len() as u64);
        let fetched: u64 = own.iter().sum();
        let may: u64 = (0u64..).zip(&own).map(|(n, own)| share(max, fetched, *own, &all, &key(n))).sum();
        prop_assert_eq!(may, max.max(fetched));
    }
}
