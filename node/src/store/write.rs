//! The one writer: commits become one atomic batch, counters included.

use super::admit::Arrival;
use super::changes::Changes;
use super::family::Family;
use super::item::{Kind, Sums, slot_of};
use super::itemize::Edits;
use super::outbox::Outbox;
use super::recent::RecentSet;
use super::sieve::Sieve;
use super::slots::Slots;
use super::value::{Change, Later, StoredDocument, Totals};
use super::{COUNTS_KEY, CrawlCounts, Result, Store, TOTALS_KEY, counts_key, key};
use anthill_agent::io::{Commit, Gain, IndexAction, Scheme, Untried};
use anthill_crawler::fingerprint;
use anthill_crawler::map::{Map, Set};
use anthill_crawler::record::{CrawlId, QueueKey, UrlRecord, UrlState};
use anthill_crawler::time::Instant;
use anthill_protocol::key::{SiteId, Slot, UrlId};
use anthill_protocol::replica::Item;
use anthill_protocol::wire::encode;
use rocksdb::WriteBatch;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Places in the memory of URLs admitted lately: 8 MB; the links of a large site fit.
const RECENT_BITS: u32 = 20;
/// Pages among which near duplicates are counted.
const NEAR_WINDOW: usize = 4096;

/// A link that counts for its target's standing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inlink {
    /// Where it leads.
    pub target: UrlId,
    /// The site it is on.
    pub from: SiteId,
    /// Its text, empty if none, and the first 4 bytes of that text's BLAKE3.
    pub anchor: String,
    /// See `anchor`.
    pub anchor_hash: u32,
}

/// A page ready to be written: packed by a worker, so that the writer only copies.
#[derive(Debug, Default)]
pub struct MadePage {
    /// `StoredPage`, packed.
    pub page: Vec<u8>,
    /// `StoredDocument`, packed.
    pub document: Vec<u8>,
    /// Links to others that were not recorded lately.
    pub inlinks: Vec<Inlink>,
    /// The document, for the index.
    pub plain: Arc<StoredDocument>,
    /// Bytes of the body.
    pub body_bytes: u64,
}

/// A commit with the page it is about.
pub struct Write {
    /// What the agent decided.
    pub commit: Box<Commit>,
    /// What the worker made.
    pub made: Option<Box<MadePage>>,
}

/// What the index is to do, in order of sequence.
#[derive(Debug)]
pub enum IndexOp {
    /// Index this document; `fresh` when no older version can be there.
    Put {
        /// Its sequence.
        sequence: u64,
        /// Its key.
        id: UrlId,
        /// Whether it is the first version.
        fresh: bool,
        /// What to index.
        document: Arc<StoredDocument>,
    },
    /// Take this document out.
    Remove {
        /// Its sequence.
        sequence: u64,
        /// Its key.
        id: UrlId,
    },
    /// Index the document that the store has: a copy of another peer's.
    Read {
        /// Its sequence.
        sequence: u64,
        /// Its key.
        id: UrlId,
        /// Whether no older version can be there.
        fresh: bool,
    },
}

impl IndexOp {
    /// Its sequence.
    pub fn sequence(&self) -> u64 {
        match self {
            IndexOp::Put { sequence, .. }
            | IndexOp::Remove { sequence, .. }
            | IndexOp::Read { sequence, .. } => *sequence,
        }
    }
}

/// What a batch brought about.
#[derive(Debug, Default)]
pub struct Written {
    /// New entries per host and level.
    pub gained: Vec<Gain>,
    /// URLs admitted that were never tried.
    pub admitted: Vec<Untried>,
    /// Entries that were to go to another level and that another peer has behind it, of those that were never tried here.
    pub gone: Vec<Untried>,
    /// When the first scheduled entry is due.
    pub next_due: Option<Instant>,
    /// What the index is to do.
    pub index: Vec<IndexOp>,
    /// Slots that changed, and the number of the last change of each.
    pub numbered: Vec<(Slot, u64)>,
    /// Slots that links were logged for, the number of the last one, and their bytes.
    pub logged: Vec<(Slot, u64, u64)>,
    /// Links for others that were not logged, because these had them lately.
    pub suppressed: u64,
}

/// Writes, and keeps the counters.
pub struct Writer {
    pub(super) store: Arc<Store>,
    pub(super) totals: Totals,
    pub(super) crawls: Map<CrawlId, CrawlCounts>,
    pub(super) sieve: Sieve,
    pub(super) recent_urls: Arc<RecentSet>,
    recent_links: Arc<RecentSet>,
    near: VecDeque<u64>,
    pub(super) next_due: Option<Instant>,
    pub(super) slots: Slots,
    /// Whether there are, or were, others.
    pub(super) shared: bool,
    /// Whether there are items of what there is: others have copies, or may.
    pub(super) itemized: bool,
    pub(super) by_itemizing: Vec<(Slot, u64)>,
    pub(super) outbox: Outbox,
    pub(super) changes: Changes,
}

/// What is gathered while a batch is built.
#[derive(Default)]
pub(super) struct Draft<'a> {
    pub(super) batch: WriteBatch,
    /// What is to be put into queues, in order of arrival.
    pub(super) queued: Vec<Arrival<'a>>,
    /// Entries of queues that are done with.
    pub(super) done: Vec<QueueKey>,
    pub(super) gained: Vec<Gain>,
    pub(super) admitted: BTreeMap<(CrawlId, Slot), u64>,
    pub(super) gone: BTreeMap<(CrawlId, Slot), u64>,
    pub(super) touched: Set<CrawlId>,
    /// What was not known before, in order.
    pub(super) urls: Vec<u128>,
    /// What changed of items.
    pub(super) edits: Edits,
    /// Those that are kept to be told, by their slots.
    pub(super) changes: BTreeMap<Slot, Vec<Item>>,
    links: Vec<u64>,
    /// How many pages are marked as stale.
    pub(super) marked: u64,
    pub(super) index: Vec<IndexOp>,
    pub(super) logged: Vec<(Slot, u64, u64)>,
    pub(super) suppressed: u64,
}

/// The fingerprint under which a URL is remembered.
pub fn url_fingerprint(id: &UrlId) -> u64 {
    let mut site = [0; 8];
    site.copy_from_slice(id.site().bytes());
    id.low() ^ u64::from_be_bytes(site).rotate_left(32)
}

/// The first 4 bytes of a link text's BLAKE3.
pub fn inlink_hash(anchor: &str) -> u32 {
    let [a, b, c, d, ..] = *blake3::hash(anchor.as_bytes()).as_bytes();
    u32::from_be_bytes([a, b, c, d])
}

/// The sum that a URL counts in by its last word.
pub(super) fn sum_of<'a>(sums: &'a mut Sums, state: &UrlState) -> &'a mut i64 {
    match state {
        UrlState::Status(200..=399) => &mut sums.fetched,
        UrlState::Status(_) | UrlState::Failed(_) => &mut sums.failed,
        UrlState::RobotsDenied | UrlState::Excluded(_) => &mut sums.excluded,
    }
}

/// The fingerprint under which a link is remembered: by source site, target and anchor.
pub fn link_fingerprint(link: &Inlink) -> u64 {
    let mut site = [0; 8];
    site.copy_from_slice(link.from.bytes());
    let from = u64::from_be_bytes(site) ^ u64::from(link.anchor_hash).rotate_left(17);
    url_fingerprint(&link.target) ^ from.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Writer {
    /// The writer of a store whose slots are all this peer's, whoever else there may be; there must be one only.
    ///
    /// # Errors
    /// As all that reads.
    pub fn new(store: Arc<Store>) -> Result<Writer> {
        Writer::of(store, true)
    }

    /// The writer of the store of a member of a swarm: what is written counts where a slot is open ([`Writer::open_slots`]).
    ///
    /// # Errors
    /// As all that reads.
    pub fn of_member(store: Arc<Store>) -> Result<Writer> {
        Writer::of(store, false)
    }

    fn of(store: Arc<Store>, alone: bool) -> Result<Writer> {
        let totals = store.totals()?;
        let next_due = store.next_due()?;
        let mut crawls = Map::default();
        for crawl in store.crawls()? {
            crawls.insert(crawl.id, CrawlCounts { admitted: crawl.admitted, untried: crawl.untried });
        }
        debug_assert!(counts_key(CrawlId(0)).starts_with(COUNTS_KEY));
        let sieve = Sieve::open(&store)?;
        let itemized = store.is_itemized()?;
        Ok(Writer {
            slots: Slots::load(&store, alone)?,
            shared: itemized || store.is_shared()?,
            itemized,
            by_itemizing: Vec::new(),
            outbox: Outbox::load(&store)?,
            changes: Changes::default(),
            store,
            sieve,
            totals,
            crawls,
            recent_urls: Arc::new(RecentSet::new(RECENT_BITS)),
            recent_links: Arc::new(RecentSet::new(RECENT_BITS)),
            near: VecDeque::with_capacity(NEAR_WINDOW),
            next_due,
        })
    }

    /// URLs known to be admitted, by [`url_fingerprint`]: workers leave them out.
    pub fn recent_urls(&self) -> Arc<RecentSet> {
        Arc::clone(&self.recent_urls)
    }

    /// Links known to be recorded, by [`link_fingerprint`]: workers leave them out.
    pub fn recent_links(&self) -> Arc<RecentSet> {
        Arc::clone(&self.recent_links)
    }

    /// The sums now.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Counts of all crawls now.
    pub fn crawl_counts(&self) -> impl Iterator<Item = (CrawlId, CrawlCounts)> + '_ {
        self.crawls.iter().map(|(&id, &c)| (id, c))
    }

    /// Writes commits as one batch.
    ///
    /// # Errors
    /// [`super::StoreError`]; then nothing was written and counters are as before, so the same commits can be tried again.
    pub fn write(&mut self, writes: &[Write]) -> Result<Written> {
        self.attempt(|writer, draft| writer.draft(writes, draft)).map(|(_, written)| written)
    }

    /// Makes a batch and writes it. Where that fails all is as before.
    pub(super) fn attempt<'a, T>(
        &mut self,
        make: impl FnOnce(&mut Writer, &mut Draft<'a>) -> Result<T>,
    ) -> Result<(T, Written)> {
        let before = (self.totals, self.crawls.clone(), self.next_due);
        let mut draft = Draft::default();
        let made = make(self, &mut draft).and_then(|made| self.finish(&mut draft).map(|()| made));
        match made {
            Ok(made) => Ok((made, self.written(draft))),
            Err(error) => {
                (self.totals, self.crawls, self.next_due) = before;
                self.slots.undo();
                self.outbox.undo();
                Err(error)
            }
        }
    }

    /// Moves scheduled entries that are due by `now`, at most `limit`, into their queues.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn promote_due(&mut self, now: Instant, limit: usize) -> Result<Written> {
        let (_, mut written) = self.attempt(|writer, draft| writer.draft_due(now, limit, draft))?;
        self.next_due = self.store.next_due()?;
        written.next_due = self.next_due;
        Ok(written)
    }

    /// Removes the documents for which `condemned` holds from store and index.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn purge(
        &mut self,
        prefix: &[u8],
        condemned: impl Fn(&StoredDocument) -> bool,
    ) -> Result<(u64, Written)> {
        self.attempt(|writer, draft| {
            let store = Arc::clone(&writer.store);
            let mut purged = 0;
            for entry in store.documents(prefix) {
                let (id, document) = entry?;
                if condemned(&document) {
                    writer.remove_page(&id, draft);
                    writer.forget_content(&id, draft)?;
                    purged += 1;
                }
            }
            Ok(purged)
        })
    }

    /// A purged page is new when it is allowed again: nothing it is compared with may be left.
    fn forget_content(&mut self, id: &UrlId, draft: &mut Draft<'_>) -> Result<()> {
        if let Some(mut record) = self.store.url(id)? {
            record.digest = [0; 16];
            record.fingerprint = 0;
            (record.etag, record.last_modified) = (None, None);
            self.put_content(Kind::Url, id.bytes(), encode(&record), draft);
        }
        Ok(())
    }

    fn written(&mut self, draft: Draft<'_>) -> Written {
        let untried = |of: BTreeMap<(CrawlId, Slot), u64>| -> Vec<Untried> {
            of.into_iter().map(|((crawl, slot), count)| (crawl, slot, count)).collect()
        };
        for &url in &draft.urls {
            self.recent_urls.insert(url_fingerprint(&UrlId::from_bytes(url.to_be_bytes())));
        }
        if !self.itemized {
            self.sieve.admitted(&self.store, &draft.urls);
        }
        for (slot, items) in draft.changes {
            self.changes.add(slot, self.slots.get(slot).head, items);
        }
        for link in draft.links {
            self.recent_links.insert(link);
        }
        Written {
            gained: draft.gained,
            admitted: untried(draft.admitted),
            gone: untried(draft.gone),
            next_due: self.next_due,
            index: draft.index,
            numbered: self.slots.written(),
            suppressed: draft.suppressed,
            logged: {
                self.outbox.written();
                draft.logged
            },
        }
    }

    fn finish(&mut self, draft: &mut Draft<'_>) -> Result<()> {
        let store = Arc::clone(&self.store);
        self.put_edits(draft)?;
        self.slots.draft(&store, &mut draft.batch);
        self.outbox.draft(&store, &mut draft.batch);
        draft.batch.put_cf(store.cf(Family::Meta), TOTALS_KEY, encode(&self.totals));
        for id in &draft.touched {
            let counts = self.crawls.get(id).copied().unwrap_or_default();
            draft.batch.put_cf(store.cf(Family::Meta), counts_key(*id), encode(&counts));
        }
        store.commit(std::mem::take(&mut draft.batch))?;
        store.have_marked(draft.marked);
        Ok(())
    }

    fn draft<'a>(&mut self, writes: &'a [Write], draft: &mut Draft<'a>) -> Result<()> {
        let mut fresh = self.sift(writes, draft)?.into_iter();
        for write in writes {
            self.draft_commit(write, draft)?;
            for admission in &write.commit.admit {
                self.admit(admission, fresh.next() == Some(true), draft)?;
            }
            self.move_entries(&write.commit.moved, draft)?;
        }
        self.put_done(draft)?;
        self.put_admitted(draft);
        Ok(())
    }

    fn draft_commit(&mut self, write: &Write, draft: &mut Draft<'_>) -> Result<()> {
        let store = Arc::clone(&self.store);
        let commit = &write.commit;
        if let Some(permit) = commit.permit {
            draft.batch.delete_cf(store.cf(Family::InFlight), permit.0.to_be_bytes());
        }
        if let Some((key, untried, crawl)) = commit.done {
            draft.done.push(key);
            self.slots.grow(key.host.slot());
            // Where there are items they tell whether it is done with already: its slot may have been another's meanwhile.
            if untried && !self.itemized {
                self.count_untried(key.host.slot(), crawl, -1, draft);
            }
            self.edit_done(key, crawl, commit, draft)?;
        }
        if let Some((id, record)) = &commit.record {
            self.count(id, record)?;
            self.put_content(Kind::Url, id.bytes(), encode(record.as_ref()), draft);
            if commit.done.is_none() {
                self.edit_found(id, record.crawl, draft)?;
            }
        }
        self.draft_page(commit, write.made.as_deref(), draft)?;
        if let Some((due, id, host, level, entry)) = &commit.schedule {
            let later = Later { host: *host.bytes(), level: *level, entry: entry.clone() };
            draft.batch.put_cf(store.cf(Family::Later), key::later(*due, id), encode(&later));
            self.next_due = Some(self.next_due.map_or(*due, |n| n.min(*due)));
        }
        for (id, record) in &commit.hosts {
            self.put_content(Kind::Host, id.bytes(), encode(record), draft);
        }
        for (id, scheme, record) in &commit.robots {
            let key = key::robots(id, *scheme == Scheme::Https);
            self.put_content(Kind::Robots, &key, encode(record), draft);
        }
        for linked in &commit.linked {
            let anchor_hash = inlink_hash(&linked.anchor);
            let (target, from, anchor) = (linked.target, linked.from, linked.anchor.clone());
            self.put_inlink(&Inlink { target, from, anchor, anchor_hash }, draft);
        }
        self.put_offers(commit, write.made.as_deref(), draft);
        for crawl in &commit.crawls {
            draft.batch.put_cf(store.cf(Family::Crawls), crawl.id.0.to_be_bytes(), encode(crawl));
            draft.touched.insert(crawl.id);
            self.totals.crawls = self.totals.crawls.max(crawl.id.0);
        }
        for &(crawl, site) in &commit.entered {
            draft.batch.put_cf(store.cf(Family::Entered), key::entered(crawl, site), []);
        }
        for crawl in commit.crawls.iter().filter(|crawl| crawl.ended.is_some() && crawl.max_sites.is_some()) {
            let after = CrawlId(crawl.id.0.saturating_add(1));
            let [from, to] = [crawl.id, after].map(|id| key::entered(id, SiteId::from_bytes([0; 8])));
            draft.batch.delete_range_cf(store.cf(Family::Entered), from, to);
        }
        Ok(())
    }

    /// Keeps the sums of outcomes in step: each URL counts once, under its last word.
    fn count(&mut self, id: &UrlId, record: &UrlRecord) -> Result<()> {
        // Most URLs are counted for the first time, which the filters tell without a read.
        let may_exist = self.store.db.key_may_exist_cf(self.store.cf(Family::Urls), id.bytes());
        let before = if may_exist { self.store.url(id)? } else { None };
        let mut by = Sums::default();
        before.into_iter().for_each(|before| *sum_of(&mut by, &before.state) -= 1);
        *sum_of(&mut by, &record.state) += 1;
        self.slots.tally(id.slot(), &by, &mut self.totals);
        Ok(())
    }

    /// One URL never tried more or less of a crawl.
    pub(super) fn count_untried(&mut self, slot: Slot, crawl: CrawlId, by: i64, draft: &mut Draft<'_>) {
        self.slots.at(slot).count_untried(crawl, by);
        if self.slots.counts(slot) {
            self.totals.untried = self.totals.untried.saturating_add_signed(by);
            let counts = self.crawls.entry(crawl).or_default();
            counts.untried = counts.untried.saturating_add_signed(by);
            draft.touched.insert(crawl);
        }
    }

    /// Puts what a family has under a key, and notes it as a change of its item.
    pub(super) fn put_content(&mut self, kind: Kind, key: &[u8], content: Vec<u8>, draft: &mut Draft<'_>) {
        draft.batch.put_cf(self.store.cf(kind.family()), key, &content);
        match self.itemized {
            true => draft.edits.content(kind, key, Some(content)),
            false => self.slots.grow(slot_of(key)),
        }
    }

    /// Counts a link for a page of a slot that is served here, or will be, as nobody else has anything. Of others, others are told.
    fn put_inlink(&mut self, link: &Inlink, draft: &mut Draft<'_>) {
        if self.shared && !self.slots.counts(link.target.slot()) {
            return;
        }
        let key = key::inlink(&link.target, link.from, link.anchor_hash);
        self.put_content(Kind::Inlink, &key, link.anchor.as_bytes().to_vec(), draft);
        self.store.mark_stale(link.target.bytes(), draft);
        draft.links.push(link_fingerprint(link));
    }

    fn draft_page(&mut self, commit: &Commit, made: Option<&MadePage>, draft: &mut Draft<'_>) -> Result<()> {
        let Some((id, record)) = &commit.record else { return Ok(()) };
        match (commit.index, made) {
            (IndexAction::Put | IndexAction::StoreOnly, Some(made)) => {
                self.put_page(id, record, commit.index, made, draft)?;
            }
            (IndexAction::Remove, _) => self.remove_page(id, draft),
            _ => {}
        }
        Ok(())
    }

    fn put_page(
        &mut self,
        id: &UrlId,
        record: &UrlRecord,
        action: IndexAction,
        made: &MadePage,
        draft: &mut Draft<'_>,
    ) -> Result<()> {
        let store = Arc::clone(&self.store);
        let known = store.db.key_may_exist_cf(store.cf(Family::Documents), id.bytes())
            && store.bytes(Family::Documents, id.bytes())?.is_some();
        draft.batch.put_cf(store.cf(Family::Pages), id.bytes(), &made.page);
        draft.batch.put_cf(store.cf(Family::Documents), id.bytes(), &made.document);
        if self.itemized {
            draft.edits.content(Kind::Page, id.bytes(), Some(made.page.clone()));
            draft.edits.content(Kind::Document, id.bytes(), Some(made.document.clone()));
        }
        for link in &made.inlinks {
            self.put_inlink(link, draft);
        }
        if !known {
            let page_bytes = i64::try_from(made.body_bytes).unwrap_or(i64::MAX);
            let one = Sums { pages: 1, page_bytes, ..Sums::default() };
            self.slots.tally(id.slot(), &one, &mut self.totals);
            self.count_duplicates(id, record, draft)?;
        }
        let document = Arc::clone(&made.plain);
        match action {
            IndexAction::Put => {
                let sequence = self.change(Change::Put(*id), draft);
                draft.index.push(IndexOp::Put { sequence, id: *id, fresh: !known, document });
            }
            _ if known => {
                let sequence = self.change(Change::Remove(*id), draft);
                draft.index.push(IndexOp::Remove { sequence, id: *id });
            }
            _ => {}
        }
        Ok(())
    }

    fn count_duplicates(&mut self, id: &UrlId, record: &UrlRecord, draft: &mut Draft<'_>) -> Result<()> {
        let cf = self.store.cf(Family::Digests);
        if self.store.db.key_may_exist_cf(cf, record.digest)
            && self.store.bytes(Family::Digests, &record.digest)?.is_some()
        {
            self.totals.duplicates_exact += 1;
            return Ok(());
        }
        draft.batch.put_cf(cf, record.digest, id.bytes());
        if record.fingerprint != 0 {
            let near = |&f: &u64| fingerprint::distance(f, record.fingerprint) <= fingerprint::NEAR;
            if self.near.iter().any(near) {
                self.totals.duplicates_near += 1;
            }
            if self.near.len() == NEAR_WINDOW {
                self.near.pop_front();
            }
            self.near.push_back(record.fingerprint);
        }
        Ok(())
    }

    fn remove_page(&mut self, id: &UrlId, draft: &mut Draft<'_>) {
        for kind in [Kind::Page, Kind::Document] {
            draft.batch.delete_cf(self.store.cf(kind.family()), id.bytes());
            if self.itemized {
                draft.edits.content(kind, id.bytes(), None);
            }
        }
        let sequence = self.change(Change::Remove(*id), draft);
        draft.index.push(IndexOp::Remove { sequence, id: *id });
    }

    pub(super) fn change(&mut self, change: Change, draft: &mut Draft<'_>) -> u64 {
        self.totals.sequence += 1;
        let sequence = self.totals.sequence;
        draft.batch.put_cf(self.store.cf(Family::Changes), sequence.to_be_bytes(), encode(&change));
        sequence
    }
}
