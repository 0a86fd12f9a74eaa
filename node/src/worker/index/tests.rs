use super::*;
use crate::metrics::Step;
use crate::store::family::Memory;
use crate::store::value::{StoredPage, pack};
use crate::store::write::{self, MadePage, Write};
use anthill_agent::io::{Commit, IndexAction};
use anthill_crawler::canon::Rules;
use anthill_index::Settings;
use anthill_protocol::key::SiteId;
use crossbeam_channel::{Receiver, unbounded};
use std::path::Path;

struct Bench {
    thread: IndexThread,
    writer: write::Writer,
    ops: Vec<IndexOp>,
}

fn bench(dir: &Path) -> Bench {
    let store = Arc::new(Store::open(&dir.join("db"), Memory::default()).unwrap());
    let index = Index::open(&dir.join("index"), Settings::default()).unwrap();
    let metrics = Arc::new(Metrics::new());
    let (_, inbox): (Sender<ToIndexer>, Receiver<ToIndexer>) = unbounded();
    let thread = IndexThread {
        writer: Some(index.writer().unwrap()),
        searcher: index.searcher(),
        sequence: index.last_seq().unwrap().unwrap_or(0),
        index,
        retry_at: Instant::now(),
        store: Arc::clone(&store),
        inbox,
        shared: Arc::new(Shared::default()),
        indexing: metrics.step(Step::Index),
        metrics,
        commit_after: Duration::from_secs(60),
        commit_changes: 1_000,
        standings: Standings::default(),
        marked: 0,
        quiet_at: Instant::now(),
        fresh_at: None,
        pending: 0,
        refreshed: 0,
        refreshed_upto: 0,
        changed: Instant::now(),
        impure: true,
        since: Instant::now(),
    };
    Bench { thread, writer: write::Writer::new(store).unwrap(), ops: Vec::new() }
}

impl Bench {
    /// Writes pages to the store; what the index is to do about them waits in `ops`.
    fn store(&mut self, numbers: std::ops::Range<u32>) {
        self.store_with(numbers, |_| Vec::new());
    }

    /// The same of pages with links to others.
    fn store_with(&mut self, numbers: std::ops::Range<u32>, links: impl Fn(u32) -> Vec<write::Inlink>) {
        let mut compressor = zstd::bulk::Compressor::new(1).unwrap();
        for n in numbers {
            let canon = Rules::default().canonical(&format!("http://a.test/{n}"), None).unwrap();
            let url = canon.url().to_owned();
            let plain = Arc::new(StoredDocument {
                url: url.clone(),
                host: "a.test".into(),
                site: "a.test".into(),
                text: format!("ants and number{n}"),
                ..StoredDocument::default()
            });
            let page = StoredPage { url, ..StoredPage::default() };
            let made = MadePage {
                page: pack(&page, &mut compressor).unwrap(),
                document: pack(plain.as_ref(), &mut compressor).unwrap(),
                inlinks: links(n),
                plain,
                body_bytes: 10,
            };
            let record = crate::worker::make::first_record(&canon, &Default::default(), 200, 5);
            let commit = Commit {
                record: Some((canon.url_id(), Box::new(record))),
                index: IndexAction::Put,
                ..Commit::default()
            };
            let write = Write { commit: Box::new(commit), made: Some(Box::new(made)) };
            self.ops.extend(self.writer.write(&[write]).unwrap().index);
        }
    }

    fn refresh(&mut self) -> u64 {
        while self.thread.refresh() {}
        self.thread.metrics.pages_refreshed.get()
    }

    fn follow(&mut self) {
        self.ops.drain(..).for_each(|op| self.thread.follow(op));
    }

    fn documents(&self) -> u64 {
        self.thread.searcher.documents()
    }
}

#[test]
fn what_a_writer_that_failed_has_lost_is_read_from_the_store_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = bench(dir.path());
    bench.store(0..3);
    bench.follow();
    bench.thread.commit_or_say();
    assert_eq!(bench.documents(), 3);

    let (place, away) = (dir.path().join("index"), dir.path().join("away"));
    std::fs::rename(&place, &away).unwrap();
    bench.store(3..6);
    bench.follow();
    bench.thread.commit_or_say();
    assert!(bench.thread.writer.is_none(), "nothing can be written where the folder is gone");
    bench.store(6..8);
    bench.follow();
    bench.thread.recover();
    assert!(bench.thread.writer.is_none());
    assert_eq!(bench.documents(), 3);

    // One more is on its way to the thread when it reads the store: it must not be there twice.
    bench.store(8..9);
    std::fs::rename(&away, &place).unwrap();
    bench.thread.recover();
    bench.follow();
    bench.thread.commit_or_say();
    assert_eq!(bench.documents(), 9);
    assert_eq!(bench.thread.index.last_seq().unwrap(), Some(9));
    assert_eq!(bench.thread.store.changes_after(0).count(), 0, "and only then it is forgotten there");
}

#[test]
fn an_index_that_follows_the_store_commits_on_its_way() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = bench(dir.path());
    bench.store(0..7);
    bench.thread.commit_changes = 3;
    assert_eq!(bench.thread.catch_up(usize::MAX).unwrap(), 7);
    assert_eq!((bench.documents(), bench.thread.sequence, bench.thread.pending), (7, 7, 0));
}

#[test]
fn what_the_index_was_not_told_it_reads_in_order_and_is_told_again_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = bench(dir.path());
    bench.store(0..3);
    bench.follow();
    bench.thread.shared.index_behind.store(true, Ordering::SeqCst);
    bench.store(3..100);
    bench.ops.clear();
    while bench.thread.is_behind() {
        bench.thread.follow_more();
    }
    assert_eq!(bench.thread.shared.index_followed.load(Ordering::Relaxed), 100);
    bench.store(100..105);
    bench.follow();
    bench.thread.commit_or_say();
    assert_eq!((bench.documents(), bench.thread.index.last_seq().unwrap()), (105, Some(105)));
}

#[test]
fn a_peer_that_starts_far_behind_follows_the_rest_while_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = bench(dir.path());
    bench.store(0..FOLLOWED_FIRST as u32 + 10);
    assert_eq!(bench.thread.begin().unwrap(), FOLLOWED_FIRST);
    assert!(bench.thread.is_behind());
    bench.thread.shared.set_totals(bench.writer.totals(), std::iter::empty());
    bench.thread.follow_all();
    bench.thread.commit_or_say();
    assert_eq!(bench.documents(), FOLLOWED_FIRST as u64 + 10);
}

/// A link from another site to the first page.
fn link(from: &str) -> write::Inlink {
    let target = Rules::default().canonical("http://a.test/0", None).unwrap().url_id();
    write::Inlink { target, from: SiteId::of(from), anchor: format!("{from} says"), anchor_hash: 1 }
}

#[test]
fn a_page_is_indexed_again_for_links_that_came_after_it_only() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = bench(dir.path());
    bench.store_with(1..2, |_| vec![link("b.test")]);
    bench.store(0..1);
    bench.follow();
    assert_eq!(bench.refresh(), 0, "it was indexed with the link");
    assert_eq!(bench.thread.store.stale(None, 1).unwrap(), []);
    bench.store_with(2..3, |_| vec![link("b.test")]);
    bench.follow();
    assert_eq!(bench.refresh(), 0, "the link is known");
    bench.store_with(3..4, |_| vec![link("c.test")]);
    bench.follow();
    assert_eq!(bench.refresh(), 1);
    bench.thread.commit_or_say();
    assert_eq!(bench.documents(), 4);

    // Until a page is marked again none need be looked for.
    assert!(bench.thread.is_fresh());
    bench.store_with(5..6, |_| vec![link("d.test")]);
    assert!(!bench.thread.is_fresh());

    // No more links are to come, or they have been coming for long.
    assert!(!bench.thread.is_quiet() && bench.thread.is_quiet());
    bench.store_with(6..7, |_| vec![link("d.test")]);
    bench.thread.quiet_at -= REFRESH_AFTER;
    assert!(bench.thread.is_quiet());
    bench.follow();
    assert_eq!(bench.refresh(), 2);
    bench.thread.commit_or_say();

    // What a writer that failed was told last is not known.
    bench.store_with(4..5, |_| vec![link("d.test")]);
    bench.follow();
    bench.thread.fail(&anyhow::anyhow!("a disk"), "a test");
    bench.thread.recover();
    assert_eq!(bench.refresh(), 3);
}
