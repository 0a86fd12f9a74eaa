//! What is to be done: queues, what is due later, and permits that are out.

use super::block::{BLOCK, Block, Marks, block_of, mark_of, seq_of};
use super::item::range_of;
use super::value::PermitRecord;
use super::{Entry, Family, Result, Store, damaged, key, once_over};
use anthill_agent::io::StoredHost;
use anthill_crawler::canon::Rules;
use anthill_crawler::record::{HostRecord, QueueEntry, QueueItem, QueueKey};
use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, Slot, UrlId};
use anthill_protocol::wire::{decode, encode};
use rocksdb::{ReadOptions, WriteBatch};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Entries of one host's queue that `find_queued` reads at most; beyond, it says that it does not know.
const FIND_LIMIT: usize = 200_000;
/// Records stepped over to come to the next host, before its place is looked for: a step costs a tenth of that.
const STEPS: usize = 12;

/// Slots whose queues are looked into each for itself; those of more are gone over in one pass.
const ONE_BY_ONE: usize = 8;

fn unpack(bytes: &[u8]) -> Result<Vec<QueueEntry>> {
    decode::<Block<'_>>(bytes).and_then(|block| block.unpack()).map_err(|e| damaged(Family::Queue, e))
}

impl Store {
    /// What is left of each block from the key `from` on, in order, of those with this prefix.
    fn blocks(
        &self,
        prefix: &[u8],
        from: &[u8],
    ) -> impl Iterator<Item = Result<Vec<(QueueKey, QueueEntry)>>> + use<'_> {
        let mut records = self.range(Family::Queue, prefix, from).peekable();
        std::iter::from_fn(move || {
            loop {
                let (k, v) = match records.next()? {
                    Ok(record) => record,
                    Err(error) => return Some(Err(error)),
                };
                // Marks of a block that lies before what was asked for are passed over.
                let Some((host, level, block)) = key::read_block(&k) else { continue };
                let marks =
                    records.next_if(|next| matches!(next, Ok((m, _)) if key::marks_of(m) == Some(&k)));
                return Some(left(&v, marks).map(|entries| {
                    let key = |place| QueueKey { host, level, seq: seq_of(block, place) };
                    entries.into_iter().map(|(place, entry)| (key(place), entry)).collect()
                }));
            }
        })
    }

    /// All entries that wait, in order of hosts and levels.
    pub(super) fn all_queued(&self) -> impl Iterator<Item = Result<(QueueKey, QueueEntry)>> + use<'_> {
        self.blocks(&[], &[]).flat_map(|block| match block {
            Ok(entries) => entries.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        })
    }

    /// The entry that waits at a place.
    pub(super) fn queued(&self, key: &QueueKey) -> Result<Option<QueueEntry>> {
        let block = key::block(&key.host, key.level, block_of(key.seq));
        let Some(bytes) = self.bytes(Family::Queue, &block)? else { return Ok(None) };
        let entries = unpack(&bytes)?;
        let place = (key.seq - seq_of(block_of(key.seq), 0)) as usize;
        Ok(entries.into_iter().nth(place))
    }

    /// Marks of a block as they are; none if there is no such block.
    pub(super) fn marks(&self, host: &HostId, level: u8, block: u64) -> Result<Option<Marks>> {
        let key = key::block(host, level, block);
        if let Some(marks) = self.value(Family::Queue, &key::marks(&key))? {
            return Ok(Some(marks));
        }
        let Some(bytes) = self.bytes(Family::Queue, &key)? else { return Ok(None) };
        let block: Block<'_> = decode(&bytes).map_err(|e| damaged(Family::Queue, e))?;
        Ok(Some(Marks { count: block.count(), done: 0 }))
    }

    /// Entries of a host's queue at `level` with a number greater than `after`, at most `limit`, and whether
    /// there are more.
    pub fn front(&self, host: HostId, level: u8, after: u64, limit: usize) -> Result<(Vec<QueueItem>, bool)> {
        let mut prefix = host.bytes().to_vec();
        prefix.push(level);
        let from = key::block(&host, level, block_of(after.saturating_add(1)));
        let mut items = Vec::new();
        for block in self.blocks(&prefix, &from) {
            for (key, entry) in block? {
                if key.seq <= after {
                    continue;
                }
                if items.len() == limit {
                    return Ok((items, true));
                }
                items.push(QueueItem { key, id: UrlId::of(host.site(), &entry.url), entry });
            }
        }
        Ok((items, false))
    }

    /// The queue entry of a URL, if it waits in its host's queue; `Err(())` inside when the queue is too long to say.
    pub fn find_queued(&self, host: HostId, url: &str) -> Result<std::result::Result<Option<QueueItem>, ()>> {
        let mut passed = 0;
        for block in self.blocks(host.bytes(), host.bytes()) {
            let block = block?;
            passed += block.len();
            if let Some((key, entry)) = block.into_iter().find(|(_, entry)| entry.url == url) {
                return Ok(Ok(Some(QueueItem { key, id: UrlId::of(host.site(), url), entry })));
            }
            if passed >= FIND_LIMIT {
                return Ok(Err(()));
            }
        }
        Ok(Ok(None))
    }

    /// Number of entries in a host's queue, counted up to `limit`.
    pub fn queue_length(&self, host: HostId, limit: usize) -> Result<usize> {
        let mut count = 0;
        for block in self.blocks(host.bytes(), host.bytes()) {
            count += block?.len();
            if count >= limit {
                return Ok(limit);
            }
        }
        Ok(count)
    }

    /// Hosts that have entries, in order of keys.
    pub fn hosts_with_queues(&self) -> Result<Vec<StoredHost>> {
        self.hosts_with_queues_between(&[], None, once_over())
    }

    /// The same, by slot, of these, which are in order. A peer takes up thousands at once: then all queues are gone over once.
    pub fn hosts_with_queues_in(&self, slots: &[Slot]) -> Result<BTreeMap<Slot, Vec<StoredHost>>> {
        let mut found: BTreeMap<Slot, Vec<StoredHost>> = BTreeMap::new();
        match slots {
            [first, .., last] if slots.len() > ONE_BY_ONE => {
                let (from, to) = (range_of(*first).0, range_of(*last).1);
                for host in self.hosts_with_queues_between(&from, to.as_deref(), once_over())? {
                    let slot = host.id.slot();
                    if slots.binary_search(&slot).is_ok() {
                        found.entry(slot).or_default().push(host);
                    }
                }
            }
            few => {
                for slot in few {
                    let (from, to) = range_of(*slot);
                    let hosts =
                        self.hosts_with_queues_between(&from, to.as_deref(), ReadOptions::default())?;
                    found.insert(*slot, hosts);
                }
            }
        }
        Ok(found)
    }

    fn hosts_with_queues_between(
        &self,
        from: &[u8],
        to: Option<&[u8]>,
        mut options: ReadOptions,
    ) -> Result<Vec<StoredHost>> {
        let mut records = self.range(Family::Hosts, &[], from).peekable();
        if let Some(to) = to {
            options.set_iterate_upper_bound(to);
        }
        let mut iterator = self.db.raw_iterator_cf_opt(self.cf(Family::Queue), options);
        let mut hosts: Vec<StoredHost> = Vec::new();
        let mut steps = 0;
        iterator.seek(from);
        while let (Some(k), Some(v)) = (iterator.key(), iterator.value()) {
            let host = key::read_block(k).map(|(host, level, _)| (host, level));
            match host {
                Some((id, first_level)) if hosts.last().is_none_or(|last| last.id != id) => {
                    let record = named(known(&mut records, &id)?, v)?;
                    hosts.extend(record.map(|record| StoredHost { id, first_level, record }));
                    steps = 0;
                }
                Some((id, _)) if steps >= STEPS => {
                    let Some(next) = key::after_prefix(id.bytes()) else { break };
                    iterator.seek(next);
                    continue;
                }
                _ => {}
            }
            steps += 1;
            iterator.next();
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

/// Entries of a block that are not marked, with their places.
fn left(block: &[u8], marks: Option<Result<Entry>>) -> Result<Vec<(usize, QueueEntry)>> {
    let done = match marks.transpose()? {
        Some((_, bytes)) => decode::<Marks>(&bytes).map_err(|e| damaged(Family::Queue, e))?.done,
        None => 0,
    };
    let entries = unpack(block)?.into_iter().enumerate().take(BLOCK);
    Ok(entries.filter(|&(place, _)| done & mark_of(place as u64) == 0).collect())
}

/// The record of a host, of records in order.
fn known(
    records: &mut std::iter::Peekable<impl Iterator<Item = Result<Entry>>>,
    id: &HostId,
) -> Result<HostRecord> {
    while records.next_if(|r| matches!(r, Ok((k, _)) if k[..] < id.bytes()[..])).is_some() {}
    match records.next_if(|r| !matches!(r, Ok((k, _)) if k[..] != id.bytes()[..])).transpose()? {
        Some((_, v)) => decode(&v).map_err(|e| damaged(Family::Hosts, e)),
        None => Ok(HostRecord::default()),
    }
}

/// A host's record with its names, which are those of a URL of this block where it has none; nothing if no URL of that is one, as
/// another peer may have it.
fn named(record: HostRecord, block: &[u8]) -> Result<Option<HostRecord>> {
    if !record.name.is_empty() {
        return Ok(Some(record));
    }
    let names = unpack(block)?.iter().find_map(|entry| names_of(&entry.url));
    Ok(names.map(|(name, site)| HostRecord { name, site, ..record }))
}

/// The names of a URL's host and site; none if it is no URL of the web. What is dropped of URLs makes no difference to that.
pub(super) fn names_of(url: &str) -> Option<(String, String)> {
    static RULES: LazyLock<Rules> = LazyLock::new(Rules::default);
    let canon = RULES.canonical(url, None).ok()?;
    Some((canon.host().to_owned(), canon.site().to_owned()))
}
