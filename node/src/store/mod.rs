//! The one place that knows RocksDB: what is stored, and how it is read back.
//!
//! Reading is open to every thread ([`Store`] is shared); writing goes through one [`write::Writer`], so that
//! counters and what they count change in one atomic batch.

mod admit;
pub mod block;
mod changes;
mod copy;
mod error;
pub mod family;
pub mod intact;
pub mod item;
mod itemize;
pub mod key;
pub mod merge;
mod outbox;
pub mod queue;
pub mod recent;
pub mod records;
pub mod served;
mod sieve;
pub mod slots;
pub mod value;
pub mod write;

#[cfg(test)]
pub mod fixtures;
#[cfg(test)]
mod tests;

use anthill_crawler::record::{CrawlId, CrawlRecord, HostRecord, RobotsRecord, UrlRecord};
use anthill_protocol::key::{HostId, SiteId, UrlId};
use anthill_protocol::wire::{Versioned, decode};
pub use error::StoreError;
use error::{damaged, remedy};
use family::{FAMILIES, Family, Memory};
use rocksdb::{Cache, ColumnFamily, DB, Direction, IteratorMode, ReadOptions, WriteBatch};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use value::{Change, StoredDocument, StoredPage, Totals, unpack};

/// Version of the layout; a store of another version is refused.
const FORMAT: u8 = 9;
/// Bytes read ahead where all of a family is read.
const READ_AHEAD: usize = 1 << 20;
/// Entries that are deleted one by one where a range of them goes.
const FEW: usize = 256;
/// Key of [`FORMAT`] in `meta`.
const FORMAT_KEY: &[u8] = b"format";
/// Key of [`Totals`] in `meta`.
const TOTALS_KEY: &[u8] = b"totals";
/// Key prefix of a crawl's counts in `meta`, followed by its number.
const COUNTS_KEY: &[u8] = b"crawl/";

type Result<T, E = StoreError> = std::result::Result<T, E>;
/// Key and value.
type Entry = (Box<[u8]>, Box<[u8]>);

/// The database of one data folder.
pub struct Store {
    db: DB,
    path: PathBuf,
    cache: Cache,
    new: bool,
    /// How often pages were marked as stale since it was opened.
    marked: AtomicU64,
}

/// URLs of one crawl: admitted, and not tried yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct CrawlCounts {
    /// Admitted in all.
    pub admitted: u64,
    /// Of those, not tried.
    pub untried: u64,
}

impl Versioned for CrawlCounts {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

impl Store {
    /// Opens the store in `path`, or makes one.
    ///
    /// # Errors
    /// [`StoreError`], with what to do.
    pub fn open(path: &Path, memory: Memory) -> Result<Store> {
        let cache = Cache::new_hyper_clock_cache(memory.cache, 0);
        let options = family::database_options(memory, &cache);
        let db = DB::open_cf_descriptors(&options, path, family::descriptors(&cache)).map_err(|source| {
            StoreError::Database { path: path.to_owned(), remedy: remedy(&source), source }
        })?;
        let mut store = Store { db, path: path.to_owned(), cache, new: false, marked: AtomicU64::new(0) };
        let found = store.bytes(Family::Meta, FORMAT_KEY)?.map(|found| found.to_vec());
        match found {
            None => {
                let mut batch = WriteBatch::default();
                batch.put_cf(store.cf(Family::Meta), FORMAT_KEY, [FORMAT]);
                store.commit(batch)?;
                // Before anything is done that the next process must not think it does first.
                store.sync()?;
                store.new = true;
            }
            Some(found) if found == [FORMAT] => {}
            Some(found) => {
                let found = found.first().copied().unwrap_or(0);
                return Err(StoreError::Format { path: store.path.clone(), found });
            }
        }
        Ok(store)
    }

    /// Whether it was made when it was opened: no earlier process had it.
    pub fn is_new(&self) -> bool {
        self.new
    }

    fn cf(&self, family: Family) -> &ColumnFamily {
        self.db.cf_handle(family.name()).expect("every family is opened")
    }

    fn failed(&self, source: rocksdb::Error) -> StoreError {
        StoreError::Database { path: self.path.clone(), remedy: remedy(&source), source }
    }

    fn commit(&self, batch: WriteBatch) -> Result<()> {
        self.db.write(batch).map_err(|e| self.failed(e))
    }

    fn bytes(&self, family: Family, key: &[u8]) -> Result<Option<rocksdb::DBPinnableSlice<'_>>> {
        self.db.get_pinned_cf(self.cf(family), key).map_err(|e| self.failed(e))
    }

    fn value<T: Versioned>(&self, family: Family, key: &[u8]) -> Result<Option<T>> {
        match self.bytes(family, key)? {
            None => Ok(None),
            Some(bytes) => decode(&bytes).map(Some).map_err(|e| damaged(family, e)),
        }
    }

    fn packed<T: Versioned>(&self, family: Family, key: &[u8]) -> Result<Option<T>> {
        match self.bytes(family, key)? {
            None => Ok(None),
            Some(bytes) => unpack(&bytes).map(Some).map_err(|e| damaged(family, e)),
        }
    }

    /// Keys and values whose key starts with `prefix`, from `from` on, in order.
    fn range(
        &self,
        family: Family,
        prefix: &[u8],
        from: &[u8],
    ) -> impl Iterator<Item = Result<Entry>> + use<'_> {
        self.range_opt(family, prefix, from, ReadOptions::default())
    }

    fn range_opt(
        &self,
        family: Family,
        prefix: &[u8],
        from: &[u8],
        mut options: ReadOptions,
    ) -> impl Iterator<Item = Result<Entry>> + use<'_> {
        if let Some(end) = key::after_prefix(prefix) {
            options.set_iterate_upper_bound(end);
        }
        options.set_total_order_seek(true);
        self.db
            .iterator_cf_opt(self.cf(family), options, IteratorMode::From(from, Direction::Forward))
            .map(|r| r.map_err(|e| self.failed(e)))
    }

    /// Deletes what is on disk from one key up to another: key by key if there is little, since each range that is deleted slows down
    /// all that reads the family until it is compacted, and a swarm that changes deletes thousands.
    fn clear(&self, family: Family, from: &[u8], to: &[u8], batch: &mut WriteBatch) -> Result<()> {
        let mut options = ReadOptions::default();
        options.set_iterate_upper_bound(to);
        let keys: Vec<Entry> =
            self.range_opt(family, &[], from, options).take(FEW + 1).collect::<Result<_>>()?;
        match keys.len() > FEW {
            true => batch.delete_range_cf(self.cf(family), from, to),
            false => keys.iter().for_each(|(key, _)| batch.delete_cf(self.cf(family), key)),
        }
        Ok(())
    }

    /// The sums.
    ///
    /// # Errors
    /// [`StoreError`] (as all that reads).
    pub fn totals(&self) -> Result<Totals> {
        Ok(self.value(Family::Meta, TOTALS_KEY)?.unwrap_or_default())
    }

    /// Record of a URL that was tried.
    pub fn url(&self, id: &UrlId) -> Result<Option<UrlRecord>> {
        self.value(Family::Urls, id.bytes())
    }

    /// Record of a host.
    pub fn host(&self, id: &HostId) -> Result<Option<HostRecord>> {
        self.value(Family::Hosts, id.bytes())
    }

    /// Records of all hosts of a site.
    pub fn hosts_of(&self, site: SiteId) -> Result<Vec<(HostId, HostRecord)>> {
        self.range(Family::Hosts, site.bytes(), site.bytes())
            .map(|r| {
                let (k, v) = r?;
                let id = HostId::from_slice(&k).unwrap_or(HostId::from_bytes([0; 16]));
                Ok((id, decode(&v).map_err(|e| damaged(Family::Hosts, e))?))
            })
            .collect()
    }

    /// robots.txt of a host: http, https.
    pub fn robots(&self, host: &HostId) -> Result<[Option<RobotsRecord>; 2]> {
        Ok([
            self.value(Family::Robots, &key::robots(host, false))?,
            self.value(Family::Robots, &key::robots(host, true))?,
        ])
    }

    /// A page as received.
    pub fn page(&self, id: &UrlId) -> Result<Option<StoredPage>> {
        self.packed(Family::Pages, id.bytes())
    }

    /// A document.
    pub fn document(&self, id: &UrlId) -> Result<Option<StoredDocument>> {
        self.packed(Family::Documents, id.bytes())
    }

    /// All documents whose key starts with `prefix`, in key order.
    pub fn documents(
        &self,
        prefix: &[u8],
    ) -> impl Iterator<Item = Result<(UrlId, StoredDocument)>> + use<'_> {
        self.range(Family::Documents, prefix, prefix).map(|r| {
            let (k, v) = r?;
            let id = UrlId::from_slice(&k).unwrap_or(UrlId::from_bytes([0; 16]));
            Ok((id, unpack(&v).map_err(|e| damaged(Family::Documents, e))?))
        })
    }

    /// Records of all URLs whose key starts with `prefix`, in key order.
    pub fn urls(&self, prefix: &[u8]) -> impl Iterator<Item = Result<(UrlId, UrlRecord)>> + use<'_> {
        self.range(Family::Urls, prefix, prefix).map(|r| {
            let (k, v) = r?;
            let id = UrlId::from_slice(&k).unwrap_or(UrlId::from_bytes([0; 16]));
            Ok((id, decode(&v).map_err(|e| damaged(Family::Urls, e))?))
        })
    }

    /// Links to a page: distinct linking sites (counted up to `limit`), and anchor texts, at most `anchors`
    /// of them, in the order of their keys, which is that of hashes.
    pub fn inlinks(&self, target: &UrlId, limit: usize, anchors: usize) -> Result<(u32, Vec<String>)> {
        let (mut sites, mut last, mut texts) = (0u32, None, Vec::new());
        for entry in self.range(Family::Inlinks, target.bytes(), target.bytes()).take(limit) {
            let (k, v) = entry?;
            let site = k.get(16..24).map(<[u8]>::to_vec);
            if site != last {
                sites += 1;
                last = site;
            }
            if texts.len() < anchors && !v.is_empty() {
                texts.push(String::from_utf8_lossy(&v).into_owned());
            }
        }
        Ok((sites, texts))
    }

    /// Pages with links the index has not heard of, after `after`, at most `limit`.
    pub fn stale(&self, after: Option<UrlId>, limit: usize) -> Result<Vec<UrlId>> {
        let mut from = after.map(|id| id.bytes().to_vec()).unwrap_or_default();
        from.push(0);
        let entries = self.range(Family::Stale, &[], &from).take(limit);
        entries.map(|r| r.map(|(k, _)| UrlId::from_slice(&k).unwrap_or(UrlId::from_bytes([0; 16])))).collect()
    }

    /// Marks a page that the index has not heard of all links to.
    fn mark_stale(&self, target: &[u8], draft: &mut write::Draft<'_>) {
        draft.batch.put_cf(self.cf(Family::Stale), target, []);
        draft.marked += 1;
    }

    /// So many marks were written: who sees them counted finds them.
    fn have_marked(&self, count: u64) {
        self.marked.fetch_add(count, Ordering::Release);
    }

    /// How often pages were marked so since the store was opened.
    pub fn marked(&self) -> u64 {
        self.marked.load(Ordering::Acquire)
    }

    /// Notes that the index is about to hear of all links to a page that are in the store now.
    pub fn freshen(&self, id: &UrlId) -> Result<()> {
        self.db.delete_cf(self.cf(Family::Stale), id.bytes()).map_err(|e| self.failed(e))
    }

    /// All crawls, with their counts.
    pub fn crawls(&self) -> Result<Vec<CrawlRecord>> {
        let mut crawls = Vec::new();
        for entry in self.range(Family::Crawls, &[], &[]) {
            let mut crawl: CrawlRecord = decode(&entry?.1).map_err(|e| damaged(Family::Crawls, e))?;
            let counts = self.crawl_counts(crawl.id)?;
            (crawl.admitted, crawl.untried) = (counts.admitted, counts.untried);
            crawls.push(crawl);
        }
        Ok(crawls)
    }

    /// Sites that crawls with a limit of them have entered.
    pub fn entered(&self) -> Result<Vec<(CrawlId, SiteId)>> {
        let keys = self.range(Family::Entered, &[], &[]);
        keys.filter_map(|r| r.map(|(k, _)| key::read_entered(&k)).transpose()).collect()
    }

    /// Counts of a crawl.
    pub fn crawl_counts(&self, id: CrawlId) -> Result<CrawlCounts> {
        Ok(self.value(Family::Meta, &counts_key(id))?.unwrap_or_default())
    }

    /// What the index has yet to learn after `sequence`.
    pub fn changes_after(&self, sequence: u64) -> impl Iterator<Item = Result<(u64, Change)>> + use<'_> {
        self.range(Family::Changes, &[], &sequence.saturating_add(1).to_be_bytes()).map(|r| {
            let (k, v) = r?;
            let sequence = k.as_ref().try_into().map(u64::from_be_bytes).unwrap_or(0);
            Ok((sequence, decode(&v).map_err(|e| damaged(Family::Changes, e))?))
        })
    }

    /// Forgets changes up to `sequence`, which the index has on disk.
    pub fn trim_changes(&self, sequence: u64) -> Result<()> {
        let mut batch = WriteBatch::default();
        batch.delete_range_cf(
            self.cf(Family::Changes),
            0u64.to_be_bytes(),
            sequence.saturating_add(1).to_be_bytes(),
        );
        self.commit(batch)
    }

    /// Makes everything written so far safe from power loss.
    pub fn sync(&self) -> Result<()> {
        self.db.flush_wal(true).map_err(|e| self.failed(e))
    }

    /// Writes memory to files, so that the next start has nothing to replay.
    pub fn flush(&self) -> Result<()> {
        for family in FAMILIES {
            self.db.flush_cf(self.cf(family)).map_err(|e| self.failed(e))?;
        }
        self.sync()
    }

    /// Bytes on disk, by RocksDB's own count.
    pub fn disk_bytes(&self) -> u64 {
        FAMILIES
            .iter()
            .flat_map(|&f| {
                ["rocksdb.total-sst-files-size", "rocksdb.total-blob-file-size"]
                    .map(|p| self.db.property_int_value_cf(self.cf(f), p).ok().flatten().unwrap_or(0))
            })
            .sum()
    }

    /// Bytes in the block cache, write buffers charged.
    pub fn cache_bytes(&self) -> usize {
        self.cache.get_usage()
    }
}

fn counts_key(id: CrawlId) -> Vec<u8> {
    [COUNTS_KEY, &id.0.to_be_bytes()].concat()
}

/// Reads much, once: what others read stays in the cache.
fn once_over() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.fill_cache(false);
    options.set_readahead_size(READ_AHEAD);
    options
}
