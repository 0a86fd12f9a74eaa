//! Copies: what is written here is read by others as items, merged by them, and gives the same store there.

use super::super::family::Memory;
use super::super::fixtures;
use super::super::item::{Kind, item_key};
use super::super::value::{StoredDocument, StoredPage, pack};
use super::super::write::{IndexOp, MadePage, Write, Writer, Written};
use super::super::{Store, served::Opened};
use super::Copied;
use anthill_agent::io::{Admission, Commit, IndexAction, Moved, Untried};
use anthill_crawler::record::{CrawlId, HostRecord, QueueEntry, QueueKey, UrlRecord, UrlState};
use anthill_crawler::time::Instant;
use anthill_protocol::claim::Token;
use anthill_protocol::key::{HostId, SiteId, Slot, UrlId};
use anthill_protocol::peer::PeerKey;
use anthill_protocol::replica::{Answer, Bits, Item, Read, Record};
use std::sync::Arc;

const SITE: &str = "a.test";

struct Peer {
    store: Arc<Store>,
    writer: Writer,
    _folder: tempfile::TempDir,
}

fn peer(itemized: bool) -> Peer {
    among(itemized.then_some(true))
}

/// A peer that is alone, or one of several that have copies of each other's or not.
fn among(copied: Option<bool>) -> Peer {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(folder.path(), Memory::default()).unwrap());
    let mut writer = Writer::of_member(Arc::clone(&store)).unwrap();
    copied.into_iter().for_each(|copied| writer.share(copied).unwrap());
    Peer { store, writer, _folder: folder }
}

fn slot() -> Slot {
    SiteId::of(SITE).slot()
}

fn host() -> HostId {
    HostId::of(SiteId::of(SITE), SITE)
}

fn id(n: u32) -> UrlId {
    UrlId::of(SiteId::of(SITE), &url(n))
}

fn url(n: u32) -> String {
    format!("http://{SITE}/{n}")
}

fn entry(n: u32) -> QueueEntry {
    fixtures::entry(&url(n))
}

fn admission(n: u32, force: bool) -> Admission {
    Admission {
        id: id(n),
        host: host(),
        host_name: SITE.into(),
        site_name: SITE.into(),
        level: 2,
        force,
        entry: entry(n),
    }
}

fn record(n: u32) -> UrlRecord {
    UrlRecord { digest: [n as u8; 16], ..fixtures::record(&url(n)) }
}

fn admitting(pages: impl Iterator<Item = u32>) -> Write {
    let admit = pages.map(|n| admission(n, false)).collect();
    Write { commit: Box::new(Commit { admit, ..Commit::default() }), made: None }
}

fn admit(peer: &mut Peer, pages: impl Iterator<Item = u32>) {
    let host = HostRecord { name: SITE.into(), site: SITE.into(), ..HostRecord::default() };
    let commit = Commit { hosts: vec![(self::host(), host)], ..Commit::default() };
    let found = Write { commit: Box::new(commit), made: None };
    peer.writer.write(&[found, admitting(pages)]).unwrap();
}

fn fetch(peer: &mut Peer, n: u32, key: QueueKey) -> Vec<IndexOp> {
    let mut compressor = zstd::bulk::Compressor::new(1).unwrap();
    let document = StoredDocument {
        url: url(n),
        host: SITE.into(),
        site: SITE.into(),
        text: "ants".into(),
        ..StoredDocument::default()
    };
    let page = StoredPage { url: url(n), status: 200, body: b"ants".to_vec(), ..StoredPage::default() };
    let made = MadePage {
        page: pack(&page, &mut compressor).unwrap(),
        document: pack(&document, &mut compressor).unwrap(),
        inlinks: Vec::new(),
        plain: Arc::new(document),
        body_bytes: 4,
    };
    let commit = Commit {
        done: Some((key, true, CrawlId(1))),
        record: Some((id(n), Box::new(record(n)))),
        index: IndexAction::Put,
        ..Commit::default()
    };
    peer.writer.write(&[Write { commit: Box::new(commit), made: Some(Box::new(made)) }]).unwrap().index
}

fn copy_record() -> Record {
    Record {
        slot: slot(),
        log: 1,
        position: None,
        held: Some(Token { counter: 1, minter: PeerKey([1; 32]) }),
    }
}

fn merge(peer: &mut Peer, items: &[Item]) -> (Written, Vec<Untried>) {
    let record = copy_record();
    let (written, news) = peer.writer.merge(&[Copied { slot: slot(), items, record: &record }]).unwrap();
    (written, news.untried)
}

/// All items, as comparison would find them.
fn everything(peer: &mut Peer) -> Vec<Item> {
    let all = Bits([u64::MAX; 4]);
    let (mut items, mut after) = (Vec::new(), None);
    loop {
        let read = Read::Range { slot: slot(), buckets: all, after: after.clone(), limit: 500 };
        let Answer::Items { items: some, more, .. } = peer.writer.read(read, u64::MAX).unwrap() else {
            panic!()
        };
        after = some.last().map(|item| item.key.clone());
        items.extend(some);
        if !more {
            return items;
        }
    }
}

fn root(peer: &mut Peer) -> [u8; 16] {
    match peer.writer.read(Read::Digest(slot()), u64::MAX).unwrap() {
        Answer::Digest { buckets, .. } => buckets.root(),
        other => panic!("{other:?}"),
    }
}

fn waiting(peer: &mut Peer) -> Vec<String> {
    let (items, _) = peer.store.front(host(), 2, 0, 1_000).unwrap();
    let mut urls: Vec<String> = items.into_iter().map(|item| item.entry.url).collect();
    urls.sort();
    urls
}

fn open(peer: &mut Peer) -> Opened {
    peer.writer.open_slots(&[slot()]).unwrap().pop().expect("one")
}

/// A peer that admitted five pages and fetched two.
fn holder(itemized: bool) -> Peer {
    holder_among(itemized.then_some(true))
}

/// The same, see [`among`].
fn holder_among(copied: Option<bool>) -> Peer {
    let mut peer = among(copied);
    open(&mut peer);
    admit(&mut peer, 0..5);
    let (items, _) = peer.store.front(host(), 2, 0, 10).unwrap();
    for n in [1, 3] {
        let item = items.iter().find(|item| item.entry.url == url(n)).expect("it waits");
        assert_eq!(fetch(&mut peer, n, item.key).len(), 1);
    }
    peer
}

#[test]
fn a_copy_knows_to_which_level_an_entry_went_and_what_another_has_done_with_goes_nowhere() {
    let mut one = holder(true);
    let queued = one.store.front(host(), 2, 0, 10).unwrap().0;
    let moved = |to: u8| {
        let moved = queued.iter().map(|item| Moved { item: item.clone(), to }).collect();
        Write { commit: Box::new(Commit { moved, ..Commit::default() }), made: None }
    };
    one.writer.write(&[moved(5)]).unwrap();
    let mut other = peer(true);
    merge(&mut other, &everything(&mut one));
    open(&mut other);
    assert_eq!((waiting(&mut other).len(), other.store.front(host(), 5, 0, 10).unwrap().0.len()), (0, 3));

    // It fetches one of them; who held the slot before hears of that, and had it in its queue still.
    let there = other.store.front(host(), 5, 0, 10).unwrap().0;
    let n = (0..5).find(|n| url(*n) == there[0].entry.url).expect("one of them");
    fetch(&mut other, n, there[0].key);
    merge(&mut one, &everything(&mut other));
    let here = one.store.front(host(), 5, 0, 10).unwrap().0;
    let again = here.iter().map(|item| Moved { item: item.clone(), to: 6 }).collect();
    let commit = Commit { moved: again, ..Commit::default() };
    let written = one.writer.write(&[Write { commit: Box::new(commit), made: None }]).unwrap();
    let gone: u64 = written.gone.iter().map(|(.., count)| count).sum();
    assert_eq!(gone, 1, "who counts what is to be tried hears that it is in no queue any more");
    let left: Vec<_> =
        one.store.front(host(), 6, 0, 10).unwrap().0.into_iter().map(|i| i.entry.url).collect();
    assert!(left.len() == 2 && !left.contains(&url(n)), "{left:?}");
    assert_eq!((one.writer.totals().untried, other.writer.totals().untried), (2, 2));
}

#[test]
fn a_copy_has_what_the_holder_has_and_goes_on_where_it_was() {
    for copied in [Some(true), Some(false), None] {
        let mut one = holder_among(copied);
        let mut other = peer(true);
        let items = everything(&mut one);
        let (written, _) = merge(&mut other, &items);
        assert_eq!(written.index.len(), 2, "pages are to be found");
        assert_eq!(root(&mut one), root(&mut other));
        assert_eq!(waiting(&mut other), Vec::<String>::new(), "no queue before the slot is served");
        let totals = other.writer.totals();
        assert_eq!((totals.known, totals.queued, totals.fetched), (0, 0, 0), "nor a place in the sums");

        let opened = open(&mut other);
        assert_eq!(opened.untried, [(CrawlId(1), slot(), 3)]);
        assert_eq!(opened.hosts.len(), 1);
        assert_eq!(waiting(&mut other), [0, 2, 4].map(url));
        let (a, b) = (one.writer.totals(), other.writer.totals());
        assert_eq!(
            (a.known, a.queued, a.untried, a.fetched, a.pages),
            (b.known, b.queued, b.untried, b.fetched, b.pages)
        );
        assert_eq!(other.store.document(&id(3)).unwrap().map(|d| d.text), Some("ants".into()));
        // What was admitted before is known: nothing is fetched again.
        admit(&mut other, 0..6);
        assert_eq!(waiting(&mut other), [0, 2, 4, 5].map(url));
    }
}

#[test]
fn changes_are_told_in_order_and_only_synced_ones() {
    let mut one = holder(true);
    let mut other = peer(true);
    let head = one.writer.slot(slot()).head;
    let mut after = 0;
    while after < head {
        let read = Read::Changes { slot: slot(), after, limit: 300 };
        let Answer::Changes { items, upto } = one.writer.read(read, head).unwrap() else { panic!() };
        assert!(upto > after, "it goes on");
        merge(&mut other, &items);
        after = upto;
    }
    assert_eq!(root(&mut one), root(&mut other));
    let read = Read::Changes { slot: slot(), after: 0, limit: 1 << 20 };
    let Answer::Changes { upto, .. } = one.writer.read(read, 3).unwrap() else { panic!() };
    assert_eq!(upto, 3, "what is not synced may be lost");
}

#[test]
fn copies_of_several_slots_are_one_write() {
    let mut one = holder(true);
    let items = everything(&mut one);
    let elsewhere = SiteId::of("b.test");
    assert_ne!(elsewhere.slot(), slot());
    let mut two = peer(true);
    two.writer.open_slots(&[elsewhere.slot()]).unwrap();
    let (url, host) = ("http://b.test/0", HostId::of(elsewhere, "b.test"));
    let admit = Admission {
        id: UrlId::of(elsewhere, url),
        host,
        entry: fixtures::entry(url),
        host_name: "b.test".into(),
        site_name: "b.test".into(),
        level: 2,
        force: false,
    };
    let commit = Commit { admit: vec![admit], ..Commit::default() };
    two.writer.write(&[Write { commit: Box::new(commit), made: None }]).unwrap();
    let all = Read::Range { slot: elsewhere.slot(), buckets: Bits([u64::MAX; 4]), after: None, limit: 500 };
    let Answer::Items { items: others, .. } = two.writer.read(all, u64::MAX).unwrap() else { panic!() };

    let mut copy = peer(true);
    copy.writer.open_slots(&[slot(), elsewhere.slot()]).unwrap();
    let records = [slot(), elsewhere.slot()].map(|slot| Record { slot, ..copy_record() });
    let copied = |n: usize, items| Copied { slot: records[n].slot, items, record: &records[n] };
    let (written, news) = copy.writer.merge(&[copied(0, &items), copied(1, &others)]).unwrap();
    let mut untried = news.untried;
    let heads = [slot(), elsewhere.slot()].map(|slot| (slot, copy.writer.slot(slot).head));
    assert_eq!(heads.map(|(_, head)| head), [items.len() as u64, 1]);
    let mut numbered = written.numbered.clone();
    numbered.sort_unstable();
    let mut heads = heads.to_vec();
    heads.sort_unstable();
    assert_eq!(numbered, heads);
    untried.sort_unstable();
    let mut expected = vec![(CrawlId(1), slot(), 3), (CrawlId(1), elsewhere.slot(), 1)];
    expected.sort_unstable();
    assert_eq!(untried, expected);
    assert_eq!(root(&mut copy), root(&mut one));
    let gained =
        |of: HostId| written.gained.iter().filter(|gain| gain.host == of).map(|gain| gain.count).sum::<u32>();
    assert_eq!((gained(self::host()), gained(host)), (3, 1));
    let mut names: Vec<_> =
        written.gained.iter().map(|gain| (gain.host_name.as_str(), gain.site_name.as_str())).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names, [("a.test", "a.test"), ("b.test", "b.test")], "hosts of which no record came yet");
}

#[test]
fn of_what_is_merged_attempts_are_counted_that_were_not_known_and_no_links() {
    let (mut one, mut copy) = (holder(true), peer(true));
    let mut tried = |items: &[Item]| {
        let record = copy_record();
        let (_, news) = copy.writer.merge(&[Copied { slot: slot(), items, record: &record }]).unwrap();
        news.tried[&slot()]
    };
    let items = everything(&mut one);
    assert_eq!(tried(&items), 2, "five were admitted, two fetched");
    assert_eq!(tried(&items), 0, "that is known");
    admit(&mut one, 5..9);
    assert_eq!(tried(&everything(&mut one)), 0, "others are found, none is fetched");
}

#[test]
fn merging_twice_or_what_is_older_changes_nothing() {
    let mut one = holder(true);
    let before = everything(&mut one);
    let mut other = peer(true);
    merge(&mut other, &before);
    let (items, _) = one.store.front(host(), 2, 0, 10).unwrap();
    let left = items.iter().find(|item| item.entry.url == url(0)).expect("it waits");
    fetch(&mut one, 0, left.key);
    let after = everything(&mut one);
    for items in [&after, &before, &after] {
        merge(&mut other, items);
    }
    assert_eq!(root(&mut one), root(&mut other));
    let head = other.writer.slot(slot()).head;
    merge(&mut other, &after);
    assert_eq!(other.writer.slot(slot()).head, head);
}

#[test]
fn a_slot_that_is_served_no_more_keeps_its_content_and_can_be_served_again() {
    for copied in [Some(false), None] {
        let mut one = holder_among(copied);
        let known = one.writer.totals().known;
        one.writer.close_slots(&[slot()]).unwrap();
        assert_eq!((one.writer.totals().known, one.writer.totals().queued), (0, 0));
        assert_eq!(waiting(&mut one), Vec::<String>::new());
        let opened = open(&mut one);
        assert_eq!(opened.untried, [(CrawlId(1), slot(), 3)]);
        assert_eq!(waiting(&mut one), [0, 2, 4].map(url));
        assert_eq!(one.writer.totals().known, known);
    }
}

fn key(peer: &Peer, n: u32) -> QueueKey {
    let (items, _) = peer.store.front(host(), 2, 0, 10).unwrap();
    items.iter().find(|item| item.entry.url == url(n)).expect("it waits").key
}

/// How many wait in the slot, and how many of those were never tried.
fn counted(peer: &Peer) -> (i64, i64) {
    let sums = peer.writer.slot(slot()).sums;
    (sums.queued, sums.untried)
}

#[test]
fn what_was_asked_for_when_its_slot_went_is_counted_once_whenever_it_comes() {
    // While the slot is closed.
    let mut one = holder(true);
    let asked = key(&one, 0);
    one.writer.close_slots(&[slot()]).unwrap();
    fetch(&mut one, 0, asked);
    assert_eq!(counted(&one), (0, 2));
    let opened = open(&mut one);
    assert_eq!((opened.hosts.len(), opened.untried), (1, vec![(CrawlId(1), slot(), 2)]));
    assert_eq!((waiting(&mut one), counted(&one)), ([2, 4].map(url).to_vec(), (2, 2)));
    // When it is open again, and another has not fetched it meanwhile: it is fetched again.
    let asked = key(&one, 2);
    one.writer.close_slots(&[slot()]).unwrap();
    open(&mut one);
    fetch(&mut one, 2, asked);
    assert_eq!((waiting(&mut one), counted(&one)), ([2, 4].map(url).to_vec(), (2, 1)));
    let again = key(&one, 2);
    fetch(&mut one, 2, again);
    assert_eq!((waiting(&mut one), counted(&one)), (vec![url(4)], (1, 1)));
    assert_eq!(one.writer.totals().untried, 1);
    // When it is open again, and another has.
    let asked = key(&one, 4);
    let mut other = peer(true);
    let all = everything(&mut one);
    merge(&mut other, &all);
    one.writer.close_slots(&[slot()]).unwrap();
    open(&mut other);
    let there = key(&other, 4);
    fetch(&mut other, 4, there);
    let all = everything(&mut other);
    merge(&mut one, &all);
    open(&mut one);
    fetch(&mut one, 4, asked);
    assert_eq!((waiting(&mut one), counted(&one)), (Vec::new(), (0, 0)));
    assert_eq!((one.writer.totals().untried, one.writer.totals().queued), (0, 0));
}

#[test]
fn where_nobody_has_copies_changes_are_numbered_and_items_made_when_somebody_wants_one() {
    let mut one = among(Some(false));
    let other_slot = Slot::new(slot().number() ^ 1).expect("a slot");
    open(&mut one);
    one.writer.open_slots(&[other_slot]).unwrap();
    let written = one.writer.write(&[admitting(0..5)]).unwrap();
    assert_eq!(written.numbered, [(slot(), 1)]);
    let again = one.writer.write(&[admitting(0..5)]).unwrap();
    assert_eq!(again.numbered, [], "it changes nothing");
    let more = one.writer.write(&[admitting(5..6)]).unwrap();
    assert_eq!(more.numbered, [(slot(), 2)], "who waits for its links waits for this");
    // What goes to others with nothing in it, or comes from them, makes no items of the rest.
    one.writer.close_slots(&[other_slot]).unwrap();
    one.writer.delete_slot(other_slot).unwrap();
    let nothing = Read::Changes { slot: other_slot, after: 0, limit: 300 };
    assert!(matches!(one.writer.read(nothing, 0), Ok(Answer::Changes { items, .. }) if items.is_empty()));
    assert_eq!(one.store.items_of(slot(), None, None).count(), 0);

    let changes = Read::Changes { slot: slot(), after: 2, limit: 300 };
    assert!(
        matches!(one.writer.read(changes, 2), Ok(Answer::Trimmed)),
        "what it lacks is found by comparison"
    );
    assert_eq!(one.store.items_of(slot(), None, None).count(), 6);
    assert_eq!(
        one.writer.take_itemized(),
        [(slot(), 8)],
        "those that had it before lack nothing that has a number"
    );
    let written = one.writer.write(&[admitting(6..7)]).unwrap();
    assert_eq!(written.numbered, [(slot(), 9)]);
}

#[test]
fn a_slot_that_is_deleted_is_gone_and_can_be_copied_anew() {
    let mut one = holder(true);
    let items = everything(&mut one);
    let written = one.writer.delete_slot(slot()).unwrap();
    assert_eq!(written.index.len(), 2, "pages are taken out of the index");
    assert!(everything(&mut one).is_empty());
    assert_eq!(one.writer.totals().known, 0);
    assert!(one.store.document(&id(3)).unwrap().is_none());
    merge(&mut one, &items);
    open(&mut one);
    assert_eq!(waiting(&mut one), [0, 2, 4].map(url));
}

#[test]
fn what_waits_for_its_time_comes_back_at_the_next_holder() {
    let mut one = holder(true);
    let (items, _) = one.store.front(host(), 2, 0, 10).unwrap();
    let item = items.iter().find(|item| item.entry.url == url(0)).expect("it waits");
    let later = QueueEntry { attempt: 1, ..entry(0) };
    let commit = Commit {
        done: Some((item.key, true, CrawlId(1))),
        record: Some((id(0), Box::new(UrlRecord { state: UrlState::Failed("timeout".into()), ..record(0) }))),
        schedule: Some((Instant(500), id(0), host(), 2, later)),
        ..Commit::default()
    };
    one.writer.write(&[Write { commit: Box::new(commit), made: None }]).unwrap();
    let mut other = peer(true);
    merge(&mut other, &everything(&mut one));
    open(&mut other);
    assert_eq!(other.writer.next_due(), Some(Instant(500)));
    assert_eq!(waiting(&mut other), [2, 4].map(url));
    other.writer.promote_due(Instant(600), 10).unwrap();
    assert_eq!(waiting(&mut other), [0, 2, 4].map(url));
    // The one that does not serve it any more leaves it alone.
    one.writer.close_slots(&[slot()]).unwrap();
    one.writer.promote_due(Instant(600), 10).unwrap();
    assert_eq!(waiting(&mut one), Vec::<String>::new());
}

#[test]
fn a_seed_is_wanted_again_by_another_crawl_only_and_once() {
    let mut one = holder(true);
    let again = |crawl: u64| {
        let mut admission = admission(1, true);
        admission.entry.crawl = CrawlId(crawl);
        Write { commit: Box::new(Commit { admit: vec![admission], ..Commit::default() }), made: None }
    };
    one.writer.write(&[again(1)]).unwrap();
    assert_eq!(waiting(&mut one), [0, 2, 4].map(url), "its own crawl has it");
    one.writer.write(&[again(2)]).unwrap();
    one.writer.write(&[again(2)]).unwrap();
    assert_eq!(waiting(&mut one), [0, 1, 2, 4].map(url));
}

#[test]
fn what_no_honest_peer_keeps_is_left_out() {
    let mut one = holder(true);
    let mut items = everything(&mut one);
    let url_item =
        items.iter().position(|item| item.key == item_key(Kind::Url, id(0).bytes())).expect("there");
    let host_item =
        items.iter().position(|item| item.key == item_key(Kind::Host, host().bytes())).expect("there");
    items[url_item].value = items[host_item].value.clone();
    items[host_item].value = vec![9; 40];
    let mut other = peer(true);
    merge(&mut other, &items);
    assert!(other.store.host(&host()).unwrap().is_none());
    open(&mut other);
    assert_eq!(waiting(&mut other), [2, 4].map(url));
}
