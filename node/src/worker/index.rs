//! The indexing thread: follows the store's changes in order, commits now and then, and lets the store forget what
//! the index has on disk. What it missed when the process ended, or was not told because there was too much, it reads from the store.

use crate::metrics::Metrics;
use crate::shared::Shared;
use crate::store::intact::Found;
use crate::store::value::{Change, StoredDocument};
use crate::store::write::IndexOp;
use crate::store::{Store, StoreError};
use anthill_agent::importance::MILLIONTHS;
use anthill_index::{Document, Index, Searcher, Writer};
use anthill_protocol::key::UrlId;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use prometheus_client::metrics::histogram::Histogram;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

mod standing;

use standing::Standing;
pub use standing::Standings;

/// Links to a page that are looked at for its standing.
const MAX_INLINKS: usize = 4_096;
/// Anchor texts indexed with a page, first by hash.
const MAX_ANCHORS: usize = 32;
/// Quiet after which what is uncommitted is committed, so that the end of a crawl can be searched at once.
const QUIET: Duration = Duration::from_millis(400);
/// Time without new pages or links after which pages are indexed again whose links from other sites became more: only ranking gains
/// by it, so it waits until nobody needs the time more, and until there are no more links to come.
const REFRESH_QUIET: Duration = Duration::from_secs(3);
/// It is done after this time though links keep coming.
const REFRESH_AFTER: Duration = Duration::from_secs(60);
/// Wait before a writer that failed is replaced.
const RETRY: Duration = Duration::from_secs(5);
/// Sequence of an index that is being filled: no change has it, so that one left behind like this is known.
pub const UNFINISHED: u64 = 0;
/// Pages refreshed between two looks at the inbox.
const REFRESH_BATCH: usize = 64;
/// Changes read from the store between two looks at the inbox.
const FOLLOWED_BATCH: usize = 64;
/// Changes followed before a peer that starts does anything else; the others meanwhile.
const FOLLOWED_FIRST: usize = 4_096;

/// What the indexing thread is asked. The channel is bounded: what does not fit is read from the store.
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
    /// The index.
    pub index: Index,
    /// Its writer; none since it failed: nothing that came after the last commit is kept by it.
    pub writer: Option<Writer>,
    /// When the next one is tried, while there is none.
    pub retry_at: Instant,
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
    /// With what pages were indexed lately.
    pub standings: Standings,
    /// How many links there were with the last change, or when it was looked last whether it is quiet.
    pub marked: u64,
    /// When it was last.
    pub quiet_at: Instant,
    /// How often pages had been marked when it was looked last and none was left to be indexed again.
    pub fresh_at: Option<u64>,
    /// Changes since the last commit.
    pub pending: u32,
    /// Pages indexed again for their links since the last commit.
    pub refreshed: u32,
    /// The store's last change when some last were: their documents may be later than what was followed.
    pub refreshed_upto: u64,
    /// When the first of them came.
    pub since: Instant,
    /// When the index last changed, and whether deleted documents may be left in it since.
    pub changed: Instant,
    /// See `changed`.
    pub impure: bool,
}

impl IndexThread {
    /// Follows at most so many changes that the store knows since the index's last commit. Returns how many that were.
    ///
    /// # Errors
    /// The store cannot be read, or the index cannot be written.
    fn catch_up(&mut self, most: usize) -> anyhow::Result<usize> {
        self.sequence = self.index.last_seq()?.unwrap_or(0);
        let replayed = self.follow_store(most)?;
        if self.pending > 0 {
            self.commit()?;
        }
        self.followed(self.sequence);
        Ok(replayed)
    }

    /// What a peer does first: when there is much to follow, only some of it, and the rest while it runs.
    ///
    /// # Errors
    /// As [`IndexThread::catch_up`].
    pub fn begin(&mut self) -> anyhow::Result<usize> {
        let replayed = self.catch_up(FOLLOWED_FIRST)?;
        self.shared.index_behind.store(replayed == FOLLOWED_FIRST, Ordering::SeqCst);
        Ok(replayed)
    }

    /// Follows at most so many changes that the store has after the last one followed; how many there were.
    fn follow_store(&mut self, most: usize) -> anyhow::Result<usize> {
        let store = Arc::clone(&self.store);
        let mut replayed = 0;
        for change in store.changes_after(self.sequence).take(most) {
            let (sequence, change) = change?;
            if self.pending == 0 {
                self.since = Instant::now();
            }
            self.replay(change, &store)?;
            self.followed(sequence);
            self.pending += 1;
            replayed += 1;
            if self.pending >= self.commit_changes.max(1) {
                self.commit()?;
            }
        }
        Ok(replayed)
    }

    fn followed(&mut self, sequence: u64) {
        self.sequence = sequence;
        self.shared.index_followed.store(sequence, Ordering::Relaxed);
    }

    fn is_behind(&self) -> bool {
        self.writer.is_some() && self.shared.index_behind.load(Ordering::SeqCst)
    }

    /// Follows some of what this thread was not told. When there is no more it is told again; what came in between it reads first.
    fn follow_more(&mut self) {
        let begun = Instant::now();
        let result = self.follow_store(FOLLOWED_BATCH).and_then(|count| {
            if count > 0 {
                self.indexing.observe(begun.elapsed().as_secs_f64() / count as f64);
                return Ok(());
            }
            self.shared.index_behind.store(false, Ordering::SeqCst);
            self.follow_store(usize::MAX).map(drop)
        });
        if let Err(error) = result {
            self.fail(&error, "what is stored could not be indexed");
        }
    }

    /// Follows all that is stored by now.
    fn follow_all(&mut self) {
        let upto = self.shared.totals().sequence;
        while self.is_behind() && self.sequence < upto {
            self.follow_more();
        }
    }

    /// Fills an empty index from the store's documents.
    ///
    /// # Errors
    /// As [`IndexThread::catch_up`].
    pub fn rebuild(&mut self) -> anyhow::Result<usize> {
        let store = Arc::clone(&self.store);
        let mut count = 0;
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
                self.commit_at(UNFINISHED)?;
            }
        }
        self.followed(store.totals()?.sequence);
        self.commit()?;
        Ok(count)
    }

    fn replay(&mut self, change: Change, store: &Store) -> anyhow::Result<()> {
        match change {
            Change::Put(id) => self.put_stored(&id, store, false),
            Change::Remove(id) => Ok(self.remove(&id)?),
        }
    }

    /// Indexes the document that the store has; `fresh` when no older version can be in the index.
    fn put_stored(&mut self, id: &UrlId, store: &Store, fresh: bool) -> anyhow::Result<()> {
        match store.document(id) {
            Ok(Some(document)) if !document.noindex => self.put(id, &document, fresh)?,
            // It may have been indexed before it said that it must not be.
            Ok(Some(_)) if !fresh => self.remove(id)?,
            // Nothing to take out; or a later change has, which is replayed too.
            Ok(_) => {}
            Err(error) if error.is_damage() => {
                tracing::warn!(?id, %error, "a damaged document is left out of the index");
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Runs until told to stop.
    pub fn run(mut self) {
        let mut refreshing = false;
        loop {
            let wait = match (&self.writer, self.pending) {
                (None, _) => self.retry_at.saturating_duration_since(Instant::now()),
                _ if self.is_behind() => Duration::ZERO,
                (_, 0) if refreshing => Duration::ZERO,
                (_, 0) => REFRESH_QUIET,
                _ => QUIET.min(self.commit_after.saturating_sub(self.since.elapsed())),
            };
            match self.inbox.recv_timeout(wait) {
                // Nobody waits for it any more; the next process reads it from the store.
                Ok(ToIndexer::Op(_)) if self.shared.ending.load(Ordering::Relaxed) => {}
                Ok(ToIndexer::Op(op)) => {
                    self.follow(op);
                    self.commit_if_due();
                }
                Ok(ToIndexer::Commit(reply)) => {
                    self.follow_all();
                    self.commit_or_say();
                    let _ = reply.send(());
                }
                Err(RecvTimeoutError::Timeout) if self.writer.is_none() => self.recover(),
                Err(RecvTimeoutError::Timeout) if self.is_behind() => {
                    self.follow_more();
                    self.commit_if_due();
                }
                Err(RecvTimeoutError::Timeout) if self.pending == 0 => {
                    refreshing = (refreshing || self.is_quiet() && !self.is_fresh()) && self.refresh();
                    if !refreshing {
                        self.purge();
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.commit_or_say(),
                Ok(ToIndexer::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            }
            // Changes that keep coming do not keep it from being mended.
            if self.writer.is_none() && self.retry_at <= Instant::now() {
                self.recover();
            }
        }
        self.commit_or_say();
    }

    fn commit_if_due(&mut self) {
        if self.pending >= self.commit_changes
            || self.pending > 0 && self.since.elapsed() >= self.commit_after
        {
            self.commit_or_say();
        }
    }

    fn follow(&mut self, op: IndexOp) {
        let sequence = op.sequence();
        // Without a writer it stays in the store until there is one; and then it was read from there already.
        if self.writer.is_none() || sequence <= self.sequence {
            return;
        }
        if self.pending == 0 {
            self.since = Instant::now();
        }
        self.pending += 1;
        let begun = Instant::now();
        let result = match op {
            IndexOp::Put { id, fresh, document, .. } => {
                self.put(&id, &document, fresh && sequence > self.refreshed_upto).map_err(Into::into)
            }
            IndexOp::Remove { id, .. } => self.remove(&id).map_err(Into::into),
            IndexOp::Read { id, fresh, .. } => {
                let store = Arc::clone(&self.store);
                self.put_stored(&id, &store, fresh && sequence > self.refreshed_upto)
            }
        };
        self.followed(sequence);
        self.marked = self.store.marked();
        self.indexing.observe(begun.elapsed().as_secs_f64());
        if let Err(error) = result {
            self.fail(&error, "a document could not be indexed");
        }
    }

    fn writer(&mut self) -> Result<&mut Writer, anthill_index::Error> {
        let none = || anthill_index::Error::Stopped { why: "it failed before".into() };
        self.writer.as_mut().ok_or_else(none)
    }

    /// The writer has failed, and has lost what came after the last commit: the store still has the changes.
    fn fail(&mut self, error: &anyhow::Error, what: &str) {
        tracing::error!(%error, "{what}; what is missing is read from the store in {} s", RETRY.as_secs());
        self.writer = None;
        // The crawl does not wait for what may take long to mend.
        self.shared.index_followed.store(u64::MAX, Ordering::Relaxed);
        (self.pending, self.refreshed) = (0, 0);
        self.standings.clear();
        self.retry_at = Instant::now() + RETRY;
    }

    /// Opens another writer and follows what is missing since the last commit.
    fn recover(&mut self) {
        let caught_up = match self.index.writer() {
            Ok(writer) => {
                self.writer = Some(writer);
                self.catch_up(usize::MAX)
            }
            Err(error) => Err(error.into()),
        };
        match caught_up {
            Ok(changes) => {
                tracing::info!(changes, "the index can be written again: it has followed the store")
            }
            Err(error) => self.fail(&error, "the index cannot be written"),
        }
    }

    /// A document that cannot be indexed is left out; an error is the writer's end.
    fn put(
        &mut self,
        id: &UrlId,
        document: &StoredDocument,
        fresh: bool,
    ) -> Result<(), anthill_index::Error> {
        let standing = self.standing(id).unwrap_or_else(|error| {
            tracing::error!(?id, %error, "links to a page cannot be read: it is indexed without");
            Standing::default()
        });
        self.standings.remember(id, &standing);
        let result = self.writer()?.put(&Document {
            key: *id.bytes(),
            url: &document.url,
            host: &document.host,
            site: &document.site,
            title: &document.title,
            headings: &document.headings,
            text: &document.text,
            description: &document.description,
            anchors: &standing.anchors,
            lang: document.lang.as_deref(),
            fetched_at_s: document.fetched_at_s,
            inlinks: standing.inlinks,
            importance: (standing.importance as f64 / MILLIONTHS) as f32,
            fingerprint: document.fingerprint,
            digest: document.digest,
            fresh,
        });
        match result {
            Ok(()) => self.metrics.pages_indexed.inc(),
            Err(error @ anthill_index::Error::Document { .. }) => {
                tracing::warn!(?id, %error, "a document is left out of the index");
                return Ok(());
            }
            other => return other,
        };
        Ok(())
    }

    fn remove(&mut self, id: &UrlId) -> Result<(), anthill_index::Error> {
        self.writer()?.remove(id.bytes());
        self.metrics.pages_removed.inc();
        Ok(())
    }

    fn standing(&self, id: &UrlId) -> Result<Standing, StoreError> {
        let (inlinks, anchors) = self.store.inlinks(id, MAX_INLINKS, MAX_ANCHORS)?;
        let importance = self.store.url(id)?.map_or(0, |record| record.importance);
        Ok(Standing { inlinks, anchors, importance })
    }

    /// Whether no link came lately, or it was so last long ago.
    fn is_quiet(&mut self) -> bool {
        let marked = self.store.marked();
        let quiet = marked == self.marked || self.quiet_at.elapsed() >= REFRESH_AFTER;
        self.marked = marked;
        if quiet {
            self.quiet_at = Instant::now();
        }
        quiet
    }

    /// Whether no page was marked since there was none left: the store need not be asked.
    fn is_fresh(&self) -> bool {
        self.fresh_at == Some(self.store.marked())
    }

    /// Indexes some pages again that more links lead to by now. Whether there may be more of them.
    fn refresh(&mut self) -> bool {
        match self.refresh_some() {
            Ok(more) => more,
            Err(error) => {
                let what = "pages with new links could not be indexed again";
                match error.downcast_ref::<StoreError>() {
                    Some(error) => tracing::error!(%error, "{what}"),
                    None => self.fail(&error, what),
                }
                false
            }
        }
    }

    fn refresh_some(&mut self) -> anyhow::Result<bool> {
        // Before they are read: who is marked meanwhile is looked for again.
        let marked = self.store.marked();
        let stale = self.store.stale(None, REFRESH_BATCH)?;
        for id in &stale {
            // Before the links are read: one that comes later marks the page again.
            self.store.freshen(id)?;
            if self.standings.has(id, &self.standing(id)?) {
                continue;
            }
            if let Some(document) = self.store.document(id)?
                && !document.noindex
            {
                self.put(id, &document, false)?;
                self.metrics.pages_refreshed.inc();
                self.refreshed += 1;
            }
        }
        self.refreshed_upto = self.store.totals()?.sequence;
        let more = stale.len() == REFRESH_BATCH;
        self.fresh_at = (!more).then_some(marked);
        if self.refreshed > 0 && (!more || self.refreshed >= self.commit_changes) {
            self.commit_at(self.sequence)?;
        }
        Ok(more)
    }

    /// Nothing changes: deleted documents are taken out of the statistics, so that scores do not depend on how the index
    /// came to be.
    fn purge(&mut self) {
        if !self.impure {
            return;
        }
        let quiet = self.changed.elapsed();
        let purged = self.index.refresh().and_then(|()| self.writer()?.purge(quiet));
        match purged {
            Ok(_) => self.impure = self.index.has_deleted(),
            Err(error) => self.fail(&error.into(), "deleted documents could not be taken out of the index"),
        }
    }

    fn commit_or_say(&mut self) {
        if self.pending == 0 {
            return;
        }
        if let Err(error) = self.commit() {
            self.fail(&error, "the index could not be committed");
        }
    }

    fn commit(&mut self) -> anyhow::Result<()> {
        self.commit_at(self.sequence)?;
        if let Err(error) = self.store.trim_changes(self.sequence) {
            // They are forgotten with the next ones.
            tracing::warn!(%error, "changes that the index has could not be forgotten");
        }
        Ok(())
    }

    fn commit_at(&mut self, sequence: u64) -> anyhow::Result<()> {
        self.writer()?.commit(sequence)?;
        self.metrics.index_commits.inc();
        (self.pending, self.refreshed) = (0, 0);
        (self.changed, self.impure) = (Instant::now(), true);
        self.shared.indexed.store(self.searcher.documents(), Ordering::Relaxed);
        self.shared.index_sequence.store(sequence, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
