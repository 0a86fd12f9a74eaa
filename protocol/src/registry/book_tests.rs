use super::*;
use crate::epidemic::Book as _;
use crate::peer::testing::Keyring;
use crate::registry::record::{Scope, Spec, Why};
use proptest::prelude::*;

const NOW: u64 = 1_700_000_000;

pub(in crate::registry) fn spec(seeds: usize) -> Spec {
    Spec {
        seeds: (0..seeds).map(|n| format!("http://h{n}.test/")).collect(),
        more_seeds: 0,
        scope: Scope::Any,
        max_depth: None,
        max_pages: Some(100),
        max_sites: None,
        max_time_s: None,
    }
}

fn begun(starter: u64, nonce: u64) -> Begun {
    Begun { starter: Keyring::numbered(starter).own(), nonce, started_s: NOW + nonce, spec: spec(1) }
}

fn told(begun: Begun, starter: u64, ended: Option<Ended>) -> Item {
    let begun = Signed::sign(begun, &Keyring::numbered(starter)).unwrap();
    let by = |by: PeerKey| (0..20).map(Keyring::numbered).find(|keys| keys.own() == by).unwrap();
    let ended = ended.map(|ended| Signed::sign(ended, &by(ended.by)).unwrap());
    Item::Crawl(Box::new(Told { begun, ended }))
}

fn ended(begun: &Begun, by: u64, at_s: u64, why: Why) -> Ended {
    Ended { at_s, by: Keyring::numbered(by).own(), crawl: begun.key(), why }
}

fn register(crawl: CrawlKey, by: u64, generation: u64, seq: u64, fetched: u64) -> Item {
    let keys = Keyring::numbered(by);
    let counts = Counts { fetched, waiting: 1, ..Counts::default() };
    let body = Register { crawl, by: keys.own(), generation, seq, counts, quiet: None, agreed: None };
    Item::Register(Box::new(Signed::sign(body, &keys).unwrap()))
}

fn book(limits: Limits, items: &[Item]) -> Book {
    let mut book = Book::empty(&limits, ());
    for item in items {
        book.merge(NOW, Book::verify(item.clone(), &Keyring::numbered(0)).unwrap());
    }
    book
}

fn say(book: &mut Book, item: Item) -> Outcome<Refusal> {
    book.merge(NOW, Book::verify(item, &Keyring::numbered(0)).unwrap()).0
}

/// Crawls of three starters, some ended, and registers: a crawl's before those of it.
fn items() -> Vec<Item> {
    let mut items = Vec::new();
    for starter in 1..4 {
        for nonce in 0..2 {
            let one = begun(starter, nonce);
            items.push(told(one.clone(), starter, None));
            items.push(told(one.clone(), starter, Some(ended(&one, starter, NOW + 5, Why::Asked))));
            items.push(told(one.clone(), starter, Some(ended(&one, 9, NOW + starter, Why::Pages))));
            for seq in 1..3 {
                items.push(register(one.key(), 5, 1, seq, seq * 10));
                items.push(register(one.key(), 5, 2, seq, seq * 100));
                items.push(register(one.key(), 6, 1, seq, seq * 1_000));
            }
        }
    }
    items
}

proptest! {
    #[test]
    fn in_whatever_order_and_however_often_words_come_peers_know_the_same(
        order in Just((0..items().len()).chain(0..items().len()).collect::<Vec<_>>()).prop_shuffle()
    ) {
        let items = items();
        // A register is taken when its crawl is known: what was refused comes again by comparison.
        let mut shuffled: Vec<Item> = order.iter().map(|n| items[*n].clone()).collect();
        shuffled.extend(items.iter().cloned());
        let (mut one, mut other) = (book(Limits::default(), &shuffled), book(Limits::default(), &items));
        prop_assert_eq!(one.index_mut().root(), other.index_mut().root());
        for (key, told) in one.crawls() {
            prop_assert_eq!(told.ended.as_ref().map(|e| e.body()), other.crawl(key).unwrap().ended.as_ref().map(|e| e.body()));
            prop_assert_eq!(one.totals(key, |_| true), other.totals(key, |_| true));
        }
    }
}

#[test]
fn sums_count_each_disk_of_each_peer_once() {
    let book = book(Limits::default(), &items());
    let totals = book.totals(&begun(1, 0).key(), |peer| *peer == Keyring::numbered(5).own());
    assert_eq!(totals.counts.fetched, 20 + 200 + 2_000);
    assert_eq!((totals.counts.waiting, totals.peers), (1, 2), "only of who is live, and has that disk");
}

#[test]
fn the_earlier_end_counts_and_nothing_goes_back() {
    let one = begun(1, 0);
    let mut book = book(Limits::default(), &[]);
    let end = |by, at_s, why| told(one.clone(), 1, Some(ended(&one, by, at_s, why)));
    assert_eq!(say(&mut book, end(1, NOW + 5, Why::Asked)), Outcome::New);
    assert_eq!(say(&mut book, told(one.clone(), 1, None)), Outcome::Older);
    assert_eq!(say(&mut book, end(9, NOW + 6, Why::Pages)), Outcome::Older);
    assert_eq!(say(&mut book, end(9, NOW + 4, Why::Pages)), Outcome::Newer);
    assert_eq!(say(&mut book, end(9, NOW + 4, Why::Pages)), Outcome::Same);
}

#[test]
fn who_may_not_end_a_crawl_does_not() {
    let (one, other) = (begun(1, 0), begun(1, 1));
    let keys = Keyring::numbered(0);
    let refused = |item: Item| Book::verify(item, &keys).unwrap_err();
    assert_eq!(refused(told(one.clone(), 1, Some(ended(&one, 2, NOW, Why::Asked)))), Invalid::End);
    assert_eq!(
        refused(told(one.clone(), 1, Some(ended(&one, 2, NOW, Why::Time)))),
        Invalid::End,
        "no such limit"
    );
    assert_eq!(refused(told(one.clone(), 1, Some(ended(&other, 1, NOW, Why::Asked)))), Invalid::End);
    let mut many = one;
    many.spec.seeds = (0..20).map(|n| format!("http://a.test/{n}{}", "x".repeat(2_000))).collect();
    assert_eq!(refused(told(many, 1, None)), Invalid::Bounds);
}

#[test]
fn what_is_forged_is_refused() {
    let Item::Register(signed) = register(begun(1, 0).key(), 5, 1, 1, 1) else { panic!("a register") };
    let forged = Register { by: Keyring::numbered(6).own(), ..*signed.body() };
    let bytes = [encode(&forged), encode(signed.as_ref())[encode(signed.body()).len()..].to_vec()].concat();
    let forged: Signed<Register> = crate::wire::decode(&bytes).unwrap();
    let forger = Keyring::numbered(6).own();
    assert_eq!(
        Book::verify(Item::Register(Box::new(forged)), &Keyring::numbered(0)),
        Err(Invalid::Forged(forger))
    );
}

#[test]
fn where_there_is_no_room_what_ended_first_goes_first_and_takes_its_registers_along() {
    let limits = Limits { crawls: 3, of_starter: 2, ..Limits::default() };
    let crawls: Vec<Begun> = (0..3).map(|n| begun(n, n)).collect();
    let mut book = book(limits, &[]);
    for (n, one) in (0..).zip(&crawls) {
        let end = (n > 0).then(|| ended(one, n, NOW + 10 - n, Why::Asked));
        say(&mut book, told(one.clone(), n, end));
        say(&mut book, register(one.key(), 5, 1, 1, 1));
    }
    assert_eq!(say(&mut book, told(begun(7, 7), 7, None)), Outcome::New);
    assert!(book.crawl(&crawls[2].key()).is_none() && book.registers(&crawls[2].key()).next().is_none());
    assert_eq!((book.crawls().count(), book.index().len()), (3, 5));
    assert!(book.tagged(crawls[2].key().tag()).is_none() && book.tagged(crawls[1].key().tag()).is_some());
    // Of one starter there may be two: the third of it goes itself, being the last to begin.
    assert_eq!(say(&mut book, told(begun(7, 8), 7, None)), Outcome::New);
    assert_eq!(say(&mut book, told(begun(7, 9), 7, None)), Outcome::Refused(Refusal::Full));
    assert!(!book.has_room(&Keyring::numbered(7).own()));
}

#[test]
fn what_ended_is_remembered_for_a_month() {
    let one = begun(1, 0);
    let end = told(one.clone(), 1, Some(ended(&one, 1, NOW, Why::Asked)));
    let mut book = book(Limits::default(), &[end.clone(), register(one.key(), 5, 1, 1, 1)]);
    assert_eq!(book.collect(NOW + REMEMBERED_S - 1), []);
    assert_eq!(book.collect(NOW + REMEMBERED_S).len(), 2);
    let again = Book::verify(end, &Keyring::numbered(0)).unwrap();
    assert_eq!(book.merge(NOW + REMEMBERED_S, again).0, Outcome::Refused(Refusal::Dead));
    assert!(book.index().is_empty());
}

#[test]
fn registers_are_bounded_and_of_known_crawls() {
    let one = begun(1, 0);
    let limits = Limits { registers_each: 3, ..Limits::default() };
    let mut book = book(limits, &[]);
    assert_eq!(say(&mut book, register(one.key(), 5, 1, 1, 1)), Outcome::Refused(Refusal::Unknown));
    say(&mut book, told(one.clone(), 1, None));
    for by in 5..12 {
        say(&mut book, register(one.key(), by, 1, 1, 1));
    }
    assert_eq!((book.registers(&one.key()).count(), book.index().len()), (3, 4));
    let mut book = self::book(Limits::default(), &[told(one.clone(), 1, None)]);
    for generation in 0..20 {
        say(&mut book, register(one.key(), 5, generation, 1, 1));
    }
    let kept: Vec<u64> = book.registers(&one.key()).map(|register| register.generation).collect();
    assert_eq!(kept, (12..20).collect::<Vec<_>>());
    assert_eq!(say(&mut book, register(one.key(), 5, 3, 1, 1)), Outcome::Refused(Refusal::Full));
}
