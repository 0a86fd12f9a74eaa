//! The indexing thread: follows the store's changes in order, commits now and then, and lets the store forget what
//! the index has on disk. What it missed when the process ended, it replays from the store at the next start.

use crate::metrics::Metrics;
use crate::shared::Shared;
use crate::store::intact::Found;
use crate::store::value::{Change, StoredDocument};
use crate::store::write::IndexOp;
use crate::store::{Store, StoreError};
use anthill_index::{Document, Searcher, Writer};
use anthill_protocol::key::UrlId;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use prometheus_client::metrics::histogram::Histogram;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Links to a page that are looked at for its standing.
const MAX_INLINKS: usize = 4_096;
/// Anchor texts indexed with a page, first by hash.
const MAX_ANCHORS: usize = 32;
/// Quiet after which what is uncommitted is committed, so that the end of a crawl can be searched at once.
const QUIET: Duration = Duration::from_millis(400);

/// Quiet after which pages are indexed again whose links from other sites became more: only ranking gains by it, so it
/// waits until nobody needs the time more.
const REFRESH_QUIET: Duration = Duration::from_secs(3);
/// Pages refreshed between two looks at the inbox.
const REFRESH_BATCH: usize = 64;

/// What the indexing thread is asked. The channel is bounded: when it is full the writer waits.
pub enum ToIndexer {
    /// Follow a change.
    Op(IndexOp),
    /// Commit everything before, then answer.
    Commit(Sender<()>),
    /// Commit and end.
    Stop,
}

/// The thread's state.
pub struct IndexThread {
    /// The index's writer.
    pub writer: Writer,
    /// The index, for reading.
    pub searcher: Searcher,
    /// For links to pages.
    pub store: Arc<Store>,
    /// What it is asked.
    pub inbox: Receiver<ToIndexer>,
    /// What everybody may look at.
    pub shared: Arc<Shared>,
    /// Numbers.
    pub metrics: Arc<Metrics>,
    /// Seconds that a document takes.
    pub indexing: Histogram,
    /// Longest time from a change to its commit.
    pub commit_after: Duration,
    /// Changes after which to commit, however little time has passed.
    pub commit_changes: u32,
    /// Last sequence followed.
    pub sequence: u64,
    /// Changes since the last commit.
    pub pending: u32,
    /// Pages indexed again for their links since the last commit.
    pub refreshed: u32,
    /// When the first of them came.
    pub since: Instant,
}

impl IndexThread {
    /// Follows what happened while the index was not open.
    ///
    /// # Errors
    /// The store cannot be read, or the index cannot be written.
    pub fn catch_up(&mut self) -> anyhow::Result<u64> {
        let store = Arc::clone(&self.store);
        let from = self.writer.last_seq()?.unwrap_or(0);
        let mut replayed = 0;
        for change in store.changes_after(from) {
            let (sequence, change) = change?;
            self.replay(sequence, change, &store)?;
            replayed += 1;
        }
        if replayed > 0 {
            self.commit()?;
        }
        Ok(replayed)
    }

    /// Fills an empty index from the store's documents.
    ///
    /// # Errors
    /// As [`IndexThread::catch_up`].
    pub fn rebuild(&mut self) -> anyhow::Result<u64> {
        let store = Arc::clone(&self.store);
        let mut count = 0u64;
        for entry in store.all_documents() {
            let (id, document) = match entry? {
                Found::Whole(id, document) => (id, document),
                Found::Damaged(id, error) => {
                    tracing::warn!(?id, %error, "a damaged document is left out of the index");
                    continue;
                }
            };
            if !document.noindex {
                self.put(&id, &document, true)?;
                count += 1;
                self.pending += 1;
            }
            if self.pending >= self.commit_changes.max(1) {
                tracing::info!(documents = count, "rebuilding the index");
                self.commit_at(0)?;
            }
        }
        self.sequence = store.totals()?.sequence;
        self.commit()?;
        Ok(count)
    }

    fn replay(&mut self, sequence: u64, change: Change, store: &Store) -> anyhow::Result<()> {
        match change {
            Change::Put(id) => {
                // A later change may have removed it; that one is replayed too.
                if let Some(document) = store.document(&id)?
                    && !document.noindex
                {
                    self.put(&id, &document, false)?;
                }
            }
            Change::Remove(id) => self.writer.remove(id.bytes()),
        }
        self.sequence = sequence;
        self.pending += 1;
        Ok(())
    }

    /// Runs until told to stop.
    pub fn run(mut self) {
        let mut refreshing = false;
        loop {
            let wait = match self.pending {
                0 if refreshing => Duration::ZERO,
                0 => REFRESH_QUIET,
                _ => QUIET.min(self.commit_after.saturating_sub(self.since.elapsed())),
            };
            match self.inbox.recv_timeout(wait) {
                Ok(ToIndexer::Op(op)) => {
                    self.follow(op);
                    if self.pending >= self.commit_changes || self.since.elapsed() >= self.commit_after {
                        self.commit_or_say();
                    }
                }
                Ok(ToIndexer::Commit(reply)) => {
                    self.commit_or_say();
                    let _ = reply.send(());
                }
                Err(RecvTimeoutError::Timeout) if self.pending == 0 => refreshing = self.refresh(),
                Err(RecvTimeoutError::Timeout) => self.commit_or_say(),
                Ok(ToIndexer::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.commit_or_say();
    }

    fn follow(&mut self, op: IndexOp) {
        if self.pending == 0 {
            self.since = Instant::now();
        }
        self.pending += 1;
        let begun = Instant::now();
        let (sequence, result) = match op {
            IndexOp::Put { sequence, id, fresh, document } => (sequence, self.put(&id, &document, fresh)),
            IndexOp::Remove { sequence, id } => {
                self.writer.remove(id.bytes());
                (sequence, Ok(()))
            }
        };
        self.sequence = sequence;
        self.indexing.observe(begun.elapsed().as_secs_f64());
        self.metrics.pages_indexed.inc();
        if let Err(error) = result {
            // The change stays in the store until a commit covers it; a damaged index is rebuilt at the next start.
            tracing::error!(%error, sequence, "a document could not be indexed");
        }
    }

    fn put(&mut self, id: &UrlId, document: &StoredDocument, fresh: bool) -> anyhow::Result<()> {
        let (inlinks, anchors) = self.inlinks(id)?;
        self.writer.put(&Document {
            key: *id.bytes(),
            url: &document.url,
            host: &document.host,
            site: &document.site,
            title: &document.title,
            headings: &document.headings,
            text: &document.text,
            description: &document.description,
            anchors: &anchors,
            lang: document.lang.as_deref(),
            fetched_at_s: document.fetched_at_s,
            inlinks,
            fingerprint: document.fingerprint,
            digest: document.digest,
            fresh,
        })?;
        Ok(())
    }

    fn inlinks(&self, id: &UrlId) -> Result<(u32, Vec<String>), StoreError> {
        self.store.inlinks(id, MAX_INLINKS, MAX_ANCHORS)
    }

    /// Indexes some pages again that more links lead to by now. Whether there may be more of them.
    fn refresh(&mut self) -> bool {
        let result = self.refresh_some();
        if let Err(error) = &result {
            tracing::error!(%error, "pages with new links could not be indexed again");
        }
        result.unwrap_or(false)
    }

    fn refresh_some(&mut self) -> anyhow::Result<bool> {
        let stale = self.store.stale(None, REFRESH_BATCH)?;
        for id in &stale {
            // Before the links are read: one that comes later marks the page again.
            self.store.freshen(id)?;
            if let Some(document) = self.store.document(id)?
                && !document.noindex
            {
                self.put(id, &document, false)?;
                self.refreshed += 1;
            }
        }
        let more = stale.len() == REFRESH_BATCH;
        if self.refreshed > 0 && (!more || self.refreshed >= self.commit_changes) {
            self.commit_at(self.sequence)?;
        }
        Ok(more)
    }

    fn commit_or_say(&mut self) {
        if self.pending == 0 {
            return;
        }
        if let Err(error) = self.commit() {
            tracing::error!(%error, "the index could not be committed; trying again with the next change");
            self.since = Instant::now();
        }
    }

    fn commit(&mut self) -> anyhow::Result<()> {
        self.commit_at(self.sequence)?;
        self.store.trim_changes(self.sequence)?;
        Ok(())
    }

    fn commit_at(&mut self, sequence: u64) -> anyhow::Result<()> {
        self.writer.commit(sequence)?;
        (self.pending, self.refreshed) = (0, 0);
        self.shared.indexed.store(self.searcher.documents(), Ordering::Relaxed);
        self.shared.index_sequence.store(sequence, Ordering::Release);
        Ok(())
    }
}
