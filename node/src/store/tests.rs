//! The store's promises: what is written together is there together, and counters tell the truth.

use super::block::seq_of;
use super::family::{Family, Memory};
use super::fixtures::{self, entry};
use super::intact::Found;
use super::value::{PermitRecord, StoredDocument, StoredPage, pack};
use super::write::{IndexOp, Inlink, MadePage, Write, Writer};
use super::{Store, StoreError};
use anthill_agent::io::{Admission, Commit, IndexAction, Moved, PermitId, StoredHost};
use anthill_crawler::focus::predict::{Clues, Context};
use anthill_crawler::record::{
    CrawlId, CrawlRecord, HostRecord, QueueEntry, QueueItem, QueueKey, UrlRecord, UrlState,
};
use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, SiteId, UrlId};
use std::sync::Arc;

fn open(dir: &std::path::Path) -> (Arc<Store>, Writer) {
    let store = Arc::new(Store::open(dir, Memory::default()).unwrap());
    let writer = Writer::new(Arc::clone(&store)).unwrap();
    (store, writer)
}

fn host() -> HostId {
    HostId::of(SiteId::of("a.test"), "a.test")
}

fn id(url: &str) -> UrlId {
    UrlId::of(SiteId::of("a.test"), url)
}

fn admission(url: &str, level: u8) -> Admission {
    Admission {
        id: id(url),
        host: host(),
        host_name: "a.test".into(),
        site_name: "a.test".into(),
        level,
        force: false,
        entry: entry(url),
    }
}

fn commit(admit: Vec<Admission>) -> Write {
    Write { commit: Box::new(Commit { admit, ..Commit::default() }), made: None }
}

fn record(url: &str, state: UrlState) -> Box<UrlRecord> {
    Box::new(UrlRecord {
        state,
        digest: *b"0123456789abcdef",
        fingerprint: 0x1234_5678_9abc_def0,
        lang: Some("en".into()),
        ..fixtures::record(url)
    })
}

fn made(url: &str) -> Box<MadePage> {
    let mut compressor = zstd::bulk::Compressor::new(1).unwrap();
    let page = StoredPage { url: url.into(), body: b"<p>text</p>".to_vec(), ..StoredPage::default() };
    let plain =
        Arc::new(StoredDocument { url: url.into(), text: "text".into(), ..StoredDocument::default() });
    Box::new(MadePage {
        page: pack(&page, &mut compressor).unwrap(),
        document: pack(plain.as_ref(), &mut compressor).unwrap(),
        inlinks: vec![Inlink {
            target: id("http://a.test/2"),
            from: SiteId::of("b.test"),
            anchor: "two".into(),
            anchor_hash: 7,
        }],
        plain,
        body_bytes: 11,
    })
}

#[test]
fn a_url_is_admitted_once_however_often_it_is_offered() {
    let dir = tempfile::tempdir().unwrap();
    let (store, mut writer) = open(dir.path());
    let (a, b) = ("http://a.test/1", "http://a.test/2");
    let first = writer.write(&[commit(vec![admission(a, 1), admission(b, 1), admission(a, 0)])]).unwrap();
    assert_eq!(first.gained.iter().map(|g| g.count).sum::<u32>(), 2);
    assert_eq!(first.admitted, [(CrawlId(1), host().slot(), 2)]);
    let again = writer.write(&[commit(vec![admission(a, 1)]), commit(vec![admission(b, 2)])]).unwrap();
    assert!(again.gained.is_empty());
    let (items, more) = store.front(host(), 1, 0, 10).unwrap();
    assert_eq!(items.iter().map(|i| i.entry.url.as_str()).collect::<Vec<_>>(), [a, b]);
    assert!(!more);
    assert_eq!((writer.totals().known, writer.totals().queued, writer.totals().untried), (2, 2, 2));
}

#[test]
fn what_is_seen_survives_a_restart_and_a_forced_seed_is_admitted_again() {
    let dir = tempfile::tempdir().unwrap();
    {
        let (_, mut writer) = open(dir.path());
        writer.write(&[commit(vec![admission("http://a.test/1", 1)])]).unwrap();
    }
    let (store, mut writer) = open(dir.path());
    assert_eq!(writer.totals().known, 1);
    assert!(writer.write(&[commit(vec![admission("http://a.test/1", 1)])]).unwrap().gained.is_empty());
    let seed = admission("http://a.test/1", 0);
    let again = Admission { force: true, ..seed.clone() };
    assert!(writer.write(&[commit(vec![again])]).unwrap().gained.is_empty(), "it waits for this crawl");
    let entry = QueueEntry { crawl: CrawlId(2), ..seed.entry.clone() };
    let forced = Admission { force: true, entry, ..seed };
    assert_eq!(writer.write(&[commit(vec![forced.clone()])]).unwrap().gained.len(), 1);
    let done = Box::new(UrlRecord { crawl: CrawlId(2), ..*record("http://a.test/1", UrlState::Status(200)) });
    let tried = Commit { record: Some((forced.id, done)), ..Commit::default() };
    writer.write(&[Write { commit: Box::new(tried), made: None }]).unwrap();
    assert!(writer.write(&[commit(vec![forced])]).unwrap().gained.is_empty(), "this crawl has tried it");
    assert_eq!(writer.totals().known, 1);
    let named = HostRecord { name: "a.test".into(), site: "a.test".into(), ..HostRecord::default() };
    let waiting = StoredHost { id: host(), record: named, first_level: 0 };
    assert_eq!(store.hosts_with_queues().unwrap(), [waiting], "named by its URL");
}

#[test]
fn a_page_its_record_links_and_change_come_together() {
    let dir = tempfile::tempdir().unwrap();
    let (store, mut writer) = open(dir.path());
    let url = "http://a.test/1";
    writer.write(&[commit(vec![admission(url, 0)])]).unwrap();
    let item = store.front(host(), 0, 0, 1).unwrap().0.remove(0);
    store.log_permits(&[(9, PermitRecord { url: url.into(), at_us: 5 })]).unwrap();
    let write = Write {
        commit: Box::new(Commit {
            permit: Some(PermitId(9)),
            done: Some((item.key, true, CrawlId(1))),
            record: Some((item.id, record(url, UrlState::Status(200)))),
            index: IndexAction::Put,
            admit: vec![admission("http://a.test/2", 2)],
            ..Commit::default()
        }),
        made: Some(made(url)),
    };
    let written = writer.write(&[write]).unwrap();
    assert!(matches!(written.index[..], [IndexOp::Put { sequence: 1, fresh: true, .. }]));
    assert_eq!(store.page(&item.id).unwrap().unwrap().body, b"<p>text</p>");
    assert_eq!(store.document(&item.id).unwrap().unwrap().text, "text");
    assert_eq!(store.changes_after(0).count(), 1);
    assert_eq!(store.inlinks(&id("http://a.test/2"), 100, 32).unwrap(), (1, vec!["two".to_string()]));
    assert!(store.take_interrupted().unwrap().is_empty());
    let totals = writer.totals();
    assert_eq!((totals.fetched, totals.pages, totals.queued, totals.untried), (1, 1, 1, 1));
    store.trim_changes(1).unwrap();
    assert_eq!(store.changes_after(0).count(), 0);
}

#[test]
fn interrupted_permits_are_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _writer) = open(dir.path());
    store.log_permits(&[(1, PermitRecord { url: "http://a.test/".into(), at_us: 1 })]).unwrap();
    assert_eq!(store.take_interrupted().unwrap().len(), 1);
    assert_eq!(store.take_interrupted().unwrap().len(), 0);
}

#[test]
fn what_is_scheduled_comes_back_when_due() {
    let dir = tempfile::tempdir().unwrap();
    let (store, mut writer) = open(dir.path());
    let url = "http://a.test/1";
    let again = QueueEntry { attempt: 1, ..entry(url) };
    let schedule = Some((Instant(500), id(url), host(), 2, again));
    let write = Write { commit: Box::new(Commit { schedule, ..Commit::default() }), made: None };
    assert_eq!(writer.write(&[write]).unwrap().next_due, Some(Instant(500)));
    assert!(writer.promote_due(Instant(499), 10).unwrap().gained.is_empty());
    let promoted = writer.promote_due(Instant(500), 10).unwrap();
    assert_eq!(promoted.next_due, None);
    let gained: Vec<_> =
        promoted.gained.iter().map(|g| (g.host_name.as_str(), g.site_name.as_str())).collect();
    assert_eq!(gained, [("a.test", "a.test")], "a host without a record is named by its URL");
    assert_eq!(store.front(host(), 2, 0, 10).unwrap().0[0].entry.attempt, 1);
    let key = QueueKey { host: host(), level: 2, seq: seq_of(1, 0) };
    assert_eq!(store.front(host(), 2, 0, 10).unwrap().0[0].key, key);
}

#[test]
fn a_url_counts_once_under_its_last_word() {
    let dir = tempfile::tempdir().unwrap();
    let (_store, mut writer) = open(dir.path());
    let url = "http://a.test/1";
    let tried = |state, untried| Write {
        commit: Box::new(Commit {
            done: Some((QueueKey { host: host(), level: 0, seq: 1 }, untried, CrawlId(1))),
            record: Some((id(url), record(url, state))),
            ..Commit::default()
        }),
        made: None,
    };
    writer.write(&[tried(UrlState::Status(503), true)]).unwrap();
    assert_eq!((writer.totals().failed, writer.totals().fetched), (1, 0));
    writer.write(&[tried(UrlState::Status(200), false)]).unwrap();
    assert_eq!((writer.totals().failed, writer.totals().fetched), (0, 1));
}

#[test]
fn a_second_process_on_the_same_data_is_refused_with_its_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let (_store, _writer) = open(dir.path());
    let error = Store::open(dir.path(), Memory::default()).err().unwrap();
    assert!(matches!(error, StoreError::Database { .. }) && error.to_string().contains("--data"), "{error}");
}

#[test]
fn the_first_offer_of_a_batch_decides_the_level_and_gains_are_told_per_level() {
    let dir = tempfile::tempdir().unwrap();
    let (store, mut writer) = open(dir.path());
    // More than are asked for at once, in an order that is not that of keys.
    let many: Vec<_> =
        (0..1_500).map(|n| admission(&format!("http://a.test/{}", n * 7 % 1_500), 2)).collect();
    let twice = admission("http://a.test/3", 1);
    let new = admission("http://a.test/new", 1);
    let written = writer.write(&[commit(vec![new]), commit(many.clone()), commit(vec![twice])]).unwrap();
    let gained: Vec<_> = written.gained.iter().map(|gain| (gain.level, gain.count)).collect();
    assert_eq!(gained, [(1, 1), (2, 1_500)]);
    assert_eq!(written.admitted, [(CrawlId(1), host().slot(), 1_501)]);
    let totals = writer.totals();
    assert_eq!((totals.known, totals.queued, totals.untried), (1_501, 1_501, 1_501));
    let (items, more) = store.front(host(), 2, 0, 2_000).unwrap();
    assert!(!more);
    let order: Vec<_> = items.iter().map(|item| item.entry.url.as_str()).collect();
    let offered: Vec<_> = many.iter().map(|offer| offer.entry.url.as_str()).collect();
    assert_eq!(order, offered, "served in order of arrival");
    assert!(writer.write(&[commit(many)]).unwrap().gained.is_empty());
}

#[test]
fn entries_leave_their_queue_one_by_one_and_the_last_takes_the_block_along() {
    let dir = tempfile::tempdir().unwrap();
    let (store, mut writer) = open(dir.path());
    let urls: Vec<_> = (0..150).map(|n| format!("http://a.test/{n}")).collect();
    writer.write(&[commit(urls.iter().map(|url| admission(url, 2)).collect())]).unwrap();
    let done = |items: &[QueueItem]| -> Vec<Write> {
        let done = |item: &QueueItem| Some((item.key, true, CrawlId(1)));
        let commit = |item| Box::new(Commit { done: done(item), ..Commit::default() });
        items.iter().map(|item| Write { commit: commit(item), made: None }).collect()
    };
    let (all, more) = store.front(host(), 2, 0, 200).unwrap();
    assert_eq!((all.len(), more), (150, false));
    // Out of order, several of a block in one batch, and one of them twice.
    let (odd, even): (Vec<_>, Vec<_>) = all.iter().cloned().enumerate().partition(|(n, _)| n % 2 == 1);
    let plain = |items: Vec<(usize, QueueItem)>| items.into_iter().map(|(_, item)| item).collect::<Vec<_>>();
    let (odd, even) = (plain(odd), plain(even));
    writer.write(&done(&odd[10..])).unwrap();
    writer.write(&done(&odd[..11])).unwrap();
    assert_eq!(store.front(host(), 2, 0, 200).unwrap(), (even.clone(), false));
    assert_eq!(store.front(host(), 2, even[40].key.seq, 9).unwrap(), (even[41..50].to_vec(), true));
    assert_eq!(store.queue_length(host(), 1_000).unwrap(), 75);
    assert_eq!(store.find_queued(host(), "http://a.test/6").unwrap(), Ok(Some(even[3].clone())));
    assert_eq!(store.find_queued(host(), "http://a.test/7").unwrap(), Ok(None));
    writer.write(&done(&even)).unwrap();
    assert_eq!(store.range(Family::Queue, &[], &[]).count(), 0, "neither blocks nor marks are left");
    assert!(store.hosts_with_queues().unwrap().is_empty());
}

#[test]
fn entries_go_to_another_level_once_and_what_is_done_with_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let (store, mut writer) = open(dir.path());
    let clues = Some(Box::new(Clues {
        around: 300,
        from: Context { relevance: 700, layers: [127, 0, 0, 0, 0, 0], since: 0, class: None },
        anchor: 300,
        words: vec![1, 2],
    }));
    let of = |n: usize| {
        let plain = admission(&format!("http://a.test/{n}"), 0);
        Admission { entry: QueueEntry { clues: clues.clone(), ..plain.entry }, ..plain }
    };
    writer.write(&[commit((0..100).map(of).collect())]).unwrap();
    let all = store.front(host(), 0, 0, 200).unwrap().0;
    let done = Commit { done: Some((all[3].key, true, CrawlId(1))), ..Commit::default() };
    writer.write(&[Write { commit: Box::new(done), made: None }]).unwrap();
    let moving = |to: u8| {
        let moved = [3, 5, 70, 99].map(|n: usize| Moved { item: all[n].clone(), to });
        Write { commit: Box::new(Commit { moved: moved.into(), ..Commit::default() }), made: None }
    };
    let before = writer.totals();
    let written = writer.write(&[moving(4), commit(vec![admission("http://a.test/new", 4)])]).unwrap();
    let gained: Vec<_> = written.gained.iter().map(|g| (g.level, g.count, g.host_name.as_str())).collect();
    assert_eq!(gained, [(4, 1, "a.test")], "only one is new");
    let there = store.front(host(), 4, 0, 10).unwrap().0;
    let urls: Vec<_> = there.iter().map(|item| item.entry.url.as_str()).collect();
    assert_eq!(urls, ["http://a.test/5", "http://a.test/70", "http://a.test/99", "http://a.test/new"]);
    assert_eq!(there[0].entry, all[5].entry, "with its clues");
    assert_eq!(store.front(host(), 0, 0, 200).unwrap().0.len(), 96);
    let after = writer.totals();
    assert_eq!((after.queued, after.untried), (before.queued + 1, before.untried + 1));
    assert!(writer.write(&[moving(5)]).unwrap().gained.is_empty(), "they are there no more");
    assert_eq!(writer.totals().queued, after.queued);
}

#[test]
fn a_start_finds_each_host_once_with_its_lowest_level() {
    let dir = tempfile::tempdir().unwrap();
    let (store, mut writer) = open(dir.path());
    let name = |n: u32| format!("h{n}.test");
    let at = |n: u32, level: u8, path: u32| {
        let (site, url) = (SiteId::of(&name(n)), format!("http://{}/{path}", name(n)));
        let (id, host) = (UrlId::of(site, &url), HostId::of(site, &name(n)));
        Admission { id, host, level, entry: entry(&url), ..admission("", 0) }
    };
    // Many blocks of some hosts, so that both stepping and looking for the next are tried.
    for path in 0..40 {
        let some = (0..20).filter(|n| n % 3 == 0 || path == 0);
        let admit = some.map(|n| at(n, if path == 39 { 1 } else { 2 }, path)).collect();
        writer.write(&[commit(admit)]).unwrap();
    }
    let record = HostRecord { name: name(4), requests: 7, ..HostRecord::default() };
    let hosts = vec![(HostId::of(SiteId::of(&name(4)), &name(4)), record.clone())];
    writer.write(&[Write { commit: Box::new(Commit { hosts, ..Commit::default() }), made: None }]).unwrap();
    let found = store.hosts_with_queues().unwrap();
    assert_eq!(found.len(), 20);
    assert!(found.is_sorted_by_key(|host| host.id));
    for n in 0..20 {
        let host = found.iter().find(|host| host.id == HostId::of(SiteId::of(&name(n)), &name(n))).unwrap();
        assert_eq!(host.first_level, if n % 3 == 0 { 1 } else { 2 });
        let unknown = HostRecord { name: name(n), site: name(n), ..HostRecord::default() };
        assert_eq!(host.record, if n == 4 { record.clone() } else { unknown });
    }
}

#[test]
fn the_least_memory_for_writes_slows_writing_but_never_stops_it() {
    let dir = tempfile::tempdir().unwrap();
    let memory = Memory { cache: 8 << 20, write_buffers: 1 << 20 };
    let store = Arc::new(Store::open(dir.path(), memory).unwrap());
    let mut writer = Writer::new(Arc::clone(&store)).unwrap();
    let (done, finished) = std::sync::mpsc::channel();
    // On a thread of its own: a write that waits for ever fails the test instead of hanging it.
    let thread = std::thread::spawn(move || {
        for n in 0..600 {
            let url = format!("http://a.test/{n}");
            let record = Some((id(&url), record(&url, UrlState::Status(200))));
            let commit = Commit {
                record,
                admit: vec![admission(&url, 1)],
                index: IndexAction::Put,
                ..Commit::default()
            };
            let mut page = made(&url);
            page.page.resize(20_000, n as u8);
            writer.write(&[Write { commit: Box::new(commit), made: Some(page) }]).unwrap();
            store.log_permits(&[(n, PermitRecord { url, at_us: 1 })]).unwrap();
        }
        let _ = done.send(());
    });
    finished.recv_timeout(std::time::Duration::from_secs(120)).expect("the store stopped taking writes");
    thread.join().unwrap();
}

/// A store with pages that compress badly, so that each has its place in a blob file.
fn with_large_pages(dir: &std::path::Path, count: u32) -> Arc<Store> {
    let (store, mut writer) = open(dir);
    let mut compressor = zstd::bulk::Compressor::new(1).unwrap();
    for n in 0..count {
        let url = format!("http://a.test/{n}");
        let body = (0..250u32).flat_map(|i| *blake3::hash(&[n, i].map(u32::to_be_bytes).concat()).as_bytes());
        let page = StoredPage { url: url.clone(), body: body.collect(), ..StoredPage::default() };
        let mut made = made(&url);
        made.page = pack(&page, &mut compressor).unwrap();
        let commit = Commit {
            record: Some((id(&url), record(&url, UrlState::Status(200)))),
            index: IndexAction::Put,
            ..Commit::default()
        };
        writer.write(&[Write { commit: Box::new(commit), made: Some(made) }]).unwrap();
    }
    store.flush().unwrap();
    store
}

/// URLs of the pages that can be read, and the number of those that cannot.
fn read_all(store: &Store) -> (Vec<String>, usize) {
    let (mut whole, mut damaged) = (Vec::new(), 0);
    for found in store.pages() {
        match found.unwrap() {
            Found::Whole(found, page) => {
                assert_eq!(found, id(&page.url));
                whole.push(page.url);
            }
            Found::Damaged(..) => damaged += 1,
        }
    }
    (whole, damaged)
}

#[test]
fn a_value_that_cannot_be_understood_is_told_and_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let store = with_large_pages(dir.path(), 10);
    for n in [0, 4, 5, 9] {
        let id = id(&format!("http://a.test/{n}"));
        store.db.put_cf(store.cf(Family::Pages), id.bytes(), b"nonsense").unwrap();
    }
    let (whole, damaged) = read_all(&store);
    assert_eq!((whole.len(), damaged), (6, 4));
}

#[test]
fn what_the_disk_damaged_is_told_and_passed_over_and_nothing_else_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let urls: Vec<String> = read_all(&with_large_pages(dir.path(), 30)).0;
    assert_eq!(urls.len(), 30);
    let blob = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let blob = blob.filter(|path| path.extension().is_some_and(|e| e == "blob"));
    let blob = blob.max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    let mut bytes = std::fs::read(&blob).unwrap();
    // One value in the middle, and two next to each other at the end: pages of 8 kB, in the order of their keys.
    for at in [bytes.len() / 2, bytes.len() - 6_000, bytes.len() - 14_000] {
        bytes[at] ^= 0x55;
    }
    std::fs::write(&blob, bytes).unwrap();
    let (store, _) = open(dir.path());
    let (whole, damaged) = read_all(&store);
    assert_eq!(damaged, 3);
    assert_eq!(whole.len(), 27);
    assert!(urls.iter().filter(|url| whole.contains(url)).eq(&whole), "in order, each once");
}

#[test]
fn sites_that_a_crawl_entered_are_known_until_it_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let (store, mut writer) = open(dir.path());
    let sites = ["a.test", "b.test"].map(SiteId::of);
    let write = |entered, crawls| Write {
        commit: Box::new(Commit { entered, crawls, ..Commit::default() }),
        made: None,
    };
    let entered = vec![(CrawlId(1), sites[0]), (CrawlId(2), sites[0]), (CrawlId(2), sites[1])];
    writer.write(&[write(entered, Vec::new())]).unwrap();
    assert_eq!(store.entered().unwrap().len(), 3);
    let ended =
        |id| CrawlRecord { id, max_sites: Some(2), ended: Some("enough".into()), ..CrawlRecord::default() };
    writer.write(&[write(Vec::new(), vec![ended(CrawlId(2))])]).unwrap();
    assert_eq!(store.entered().unwrap(), [(CrawlId(1), sites[0])]);
}
