//! What is to be done: queues, what is due later, and permits that are out.

use super::value::PermitRecord;
use super::{Family, Result, Store, damaged, key};
use anthill_crawler::record::{QueueEntry, QueueItem, QueueKey};
use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, UrlId};
use anthill_protocol::wire::{decode, encode};
use rocksdb::WriteBatch;

/// Entries of one host's queue that `find_queued` reads at most; beyond, it says that it does not know.
const FIND_LIMIT: usize = 200_000;

impl Store {
    /// Entries of a host's queue at `level` with a number greater than `after`, at most `limit`, and whether
    /// there are more.
    pub fn front(&self, host: HostId, level: u8, after: u64, limit: usize) -> Result<(Vec<QueueItem>, bool)> {
        let mut prefix = host.bytes().to_vec();
        prefix.push(level);
        let from = key::queue(&QueueKey { host, level, seq: after.saturating_add(1) });
        let mut items = Vec::new();
        for entry in self.range(Family::Queue, &prefix, &from) {
            let (k, v) = entry?;
            if items.len() == limit {
                return Ok((items, true));
            }
            let Some(key) = key::read_queue(&k) else { continue };
            let entry: QueueEntry = decode(&v).map_err(|e| damaged(Family::Queue, e))?;
            let id = UrlId::of(host.site(), &entry.url);
            items.push(QueueItem { key, id, entry });
        }
        Ok((items, false))
    }

    /// The queue entry of a URL, if it waits in its host's queue; `Err(())` inside when the queue is too long to say.
    pub fn find_queued(&self, host: HostId, url: &str) -> Result<std::result::Result<Option<QueueItem>, ()>> {
        for (n, entry) in self.range(Family::Queue, host.bytes(), host.bytes()).enumerate() {
            if n == FIND_LIMIT {
                return Ok(Err(()));
            }
            let (k, v) = entry?;
            let entry: QueueEntry = decode(&v).map_err(|e| damaged(Family::Queue, e))?;
            if entry.url == url
                && let Some(key) = key::read_queue(&k)
            {
                return Ok(Ok(Some(QueueItem { key, id: UrlId::of(host.site(), url), entry })));
            }
        }
        Ok(Ok(None))
    }

    /// Number of entries in a host's queue, counted up to `limit`.
    pub fn queue_length(&self, host: HostId, limit: usize) -> Result<usize> {
        let mut count = 0;
        for entry in self.range(Family::Queue, host.bytes(), host.bytes()).take(limit) {
            entry?;
            count += 1;
        }
        Ok(count)
    }

    /// Hosts that have entries, each with its first level and one of its URLs: one seek a host.
    pub fn hosts_with_queues(&self) -> Result<Vec<(HostId, u8, String)>> {
        let mut iterator = self.db.raw_iterator_cf(self.cf(Family::Queue));
        let mut hosts = Vec::new();
        iterator.seek_to_first();
        while let (Some(k), Some(v)) = (iterator.key(), iterator.value()) {
            let Some(key) = key::read_queue(k) else {
                iterator.next();
                continue;
            };
            let entry: QueueEntry = decode(v).map_err(|e| damaged(Family::Queue, e))?;
            hosts.push((key.host, key.level, entry.url));
            match key::after_prefix(key.host.bytes()) {
                Some(next) => iterator.seek(next),
                None => break,
            }
        }
        iterator.status().map_err(|e| self.failed(e))?;
        Ok(hosts)
    }

    /// When the first scheduled entry is due.
    pub fn next_due(&self) -> Result<Option<Instant>> {
        match self.range(Family::Later, &[], &[]).next() {
            None => Ok(None),
            Some(entry) => Ok(key::read_later(&entry?.0).map(|(due, _)| due)),
        }
    }

    /// Writes permits down before they are acted upon.
    pub fn log_permits(&self, permits: &[(u64, PermitRecord)]) -> Result<()> {
        let mut batch = WriteBatch::default();
        for (id, record) in permits {
            batch.put_cf(self.cf(Family::InFlight), id.to_be_bytes(), encode(record));
        }
        self.commit(batch)
    }

    /// Permits that are outstanding now.
    pub fn in_flight(&self) -> Result<Vec<PermitRecord>> {
        self.range(Family::InFlight, &[], &[])
            .map(|r| decode(&r?.1).map_err(|e| damaged(Family::InFlight, e)))
            .collect()
    }

    /// Permits that were outstanding when the last process ended; forgets them.
    pub fn take_interrupted(&self) -> Result<Vec<PermitRecord>> {
        let mut batch = WriteBatch::default();
        let mut records = Vec::new();
        for entry in self.range(Family::InFlight, &[], &[]) {
            let (k, v) = entry?;
            records.push(decode(&v).map_err(|e| damaged(Family::InFlight, e))?);
            batch.delete_cf(self.cf(Family::InFlight), k);
        }
        self.commit(batch)?;
        Ok(records)
    }
}
