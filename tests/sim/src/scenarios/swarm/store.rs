//! The store of a peer on the simulated disk: what the hands promise. Items merge; queues are in memory, made from them.

use crate::disk::{Batch, Disk};
use anthill_agent::io::{Commit, Gain, Moved, Scheme, StoredHost, Untried};
use anthill_agent::peer::io::Applied;
use anthill_agent::peer::offers;
use anthill_crawler::record::{
    CrawlId, CrawlRecord, HostRecord, QueueEntry, QueueItem, QueueKey, RobotsRecord,
};
use anthill_protocol::key::{HostId, Slot, UrlId};
use anthill_protocol::links::{self, Cursor, Link};
use anthill_protocol::replica::{Answer, Buckets, Digest, Entry, Item, ItemKey, Read, Record};
use anthill_protocol::time::Instant;
use anthill_protocol::wire::{Versioned, decode, encode};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Changes that the log keeps at least.
const KEPT: u64 = 200;

/// An item. The greater version wins; of two with one version the greater bytes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Value {
    pub version: u64,
    pub body: Body,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Body {
    Host(HostRecord),
    Robots(RobotsRecord),
    /// Waits in the queue.
    Queued(u8, QueueEntry),
    /// Comes back.
    Later(Instant, u8, QueueEntry),
    /// Nothing is left to do.
    Done(CrawlId),
}

impl Versioned for Value {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

const HOST: u8 = 1;
const ROBOTS: u8 = 2;
const URL: u8 = 3;

fn key(kind: u8, slot: Slot, rest: &[u8]) -> Vec<u8> {
    [&[kind], slot.number().to_be_bytes().as_slice(), rest].concat()
}

fn number(disk: &Disk, key: &[u8]) -> u64 {
    disk.get(key).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes)
}

/// The last change of a slot.
pub fn head(disk: &Disk, slot: Slot) -> u64 {
    number(disk, &key(b'h', slot, &[]))
}

/// The records of all copies, with their last changes.
pub fn records(disk: &Disk) -> Vec<(Record, u64)> {
    let all = disk.range(b"r").filter_map(|(_, bytes)| decode::<Record>(bytes).ok());
    all.map(|record| (record.clone(), head(disk, record.slot))).collect()
}

/// All items of a slot.
pub fn items(disk: &Disk, slot: Slot) -> BTreeMap<ItemKey, Value> {
    let prefix = key(b'i', slot, &[]);
    let parse = |(key, bytes): (&[u8], &[u8])| {
        Some((ItemKey::try_from(key[1..].to_vec()).ok()?, decode(bytes).ok()?))
    };
    disk.range(&prefix).filter_map(parse).collect()
}

fn value(disk: &Disk, item: &ItemKey) -> Option<Value> {
    decode(disk.get(&[b"i", item.bytes()].concat())?).ok()
}

fn item_key(slot: Slot, kind: u8, id: &[u8], more: &[u8]) -> ItemKey {
    ItemKey::new(slot, &[&[kind], id, more].concat()).expect("short")
}

fn url_key(id: &UrlId) -> ItemKey {
    item_key(id.slot(), URL, id.bytes(), &[])
}

fn url_id(key: &ItemKey) -> Option<UrlId> {
    let rest = key.bytes().get(2..)?;
    (rest.first() == Some(&URL)).then(|| UrlId::from_slice(&rest[1..]))?
}

fn host_key(id: &HostId) -> ItemKey {
    item_key(id.slot(), HOST, id.bytes(), &[])
}

/// Whether a URL was fetched, as this disk knows.
pub fn is_done(disk: &Disk, id: &UrlId) -> bool {
    value(disk, &url_key(id)).is_some_and(|value| matches!(value.body, Body::Done(_)))
}

/// What this disk knows of a URL.
pub fn state(disk: &Disk, id: &UrlId) -> String {
    format!("{:?}", value(disk, &url_key(id)))
}

/// Changes of several slots, to be written together.
#[derive(Default)]
struct Changes {
    batch: Batch,
    fresh: BTreeMap<ItemKey, Value>,
}

impl Changes {
    fn get(&self, disk: &Disk, key: &ItemKey) -> Option<Value> {
        self.fresh.get(key).cloned().or_else(|| value(disk, key))
    }

    fn put(&mut self, key: ItemKey, value: Value) {
        self.fresh.insert(key, value);
    }

    /// Merges a value; true if something is another now.
    fn merge(&mut self, disk: &Disk, key: &ItemKey, theirs: Value) -> bool {
        let ours = self.get(disk, key);
        let rank = |value: &Value| (value.version, encode(value));
        if ours.is_some_and(|ours| rank(&ours) >= rank(&theirs)) {
            return false;
        }
        self.put(key.clone(), theirs);
        true
    }

    /// The batch, and the last change of each slot in it.
    fn finish(mut self, disk: &Disk) -> (Batch, Vec<(Slot, u64)>) {
        let mut heads: BTreeMap<Slot, u64> = BTreeMap::new();
        for (item, value) in self.fresh {
            let slot = item.slot();
            let head = heads.entry(slot).or_insert_with(|| head(disk, slot));
            *head += 1;
            self.batch.push((key(b'l', slot, &head.to_be_bytes()), Some(item.bytes().to_vec())));
            self.batch.push(([b"i", item.bytes()].concat(), Some(encode(&value))));
        }
        for (&slot, head) in &heads {
            let trimmed = head.saturating_sub(KEPT) / KEPT * KEPT;
            self.batch.push((key(b'h', slot, &[]), Some(head.to_be_bytes().to_vec())));
            self.batch.push((key(b't', slot, &[]), Some(trimmed.to_be_bytes().to_vec())));
        }
        (self.batch, heads.into_iter().collect())
    }
}

/// Queues of the slots that are served, in memory.
#[derive(Default)]
pub struct Queues {
    queue: BTreeMap<QueueKey, (UrlId, QueueEntry)>,
    /// Also of entries that were taken off.
    names: BTreeMap<QueueKey, UrlId>,
    due: BTreeSet<(Instant, UrlId)>,
    open: BTreeSet<Slot>,
    seq: u64,
}

/// What a commit came to.
#[derive(Default)]
pub struct Written {
    pub batch: Batch,
    pub numbered: Vec<(Slot, u64)>,
    pub logged: Vec<(Slot, u64, u64)>,
    pub gained: Vec<Gain>,
    pub admitted: Vec<Untried>,
    pub gone: Vec<Untried>,
}

impl Queues {
    fn push(&mut self, level: u8, id: UrlId, host: HostId, entry: QueueEntry) {
        self.seq += 1;
        let key = QueueKey { host, level, seq: self.seq };
        self.names.insert(key, id);
        self.queue.insert(key, (id, entry));
    }

    fn gain(host: HostId, record: &HostRecord, level: u8) -> Gain {
        Gain { host, host_name: record.name.clone(), site_name: record.site.clone(), level, count: 1 }
    }

    /// Reads a slot: hosts with queues, and what was never tried.
    pub fn open(&mut self, disk: &Disk, slot: Slot) -> (Vec<StoredHost>, Vec<Untried>) {
        self.queue.retain(|key, _| key.host.slot() != slot);
        self.due.retain(|(_, id)| id.slot() != slot);
        self.open.insert(slot);
        let mut levels: BTreeMap<HostId, u8> = BTreeMap::new();
        let mut untried: BTreeMap<CrawlId, u64> = BTreeMap::new();
        for (key, value) in items(disk, slot) {
            let Some(id) = url_id(&key) else { continue };
            match value.body {
                Body::Queued(level, entry) => {
                    let host = super::web::found(&entry.url).host;
                    let first = levels.entry(host).or_insert(level);
                    *first = (*first).min(level);
                    *untried.entry(entry.crawl).or_default() += u64::from(entry.untried());
                    self.push(level, id, host, entry);
                }
                Body::Later(at, ..) => _ = self.due.insert((at, id)),
                _ => {}
            }
        }
        let stored = |(id, first_level): (HostId, u8)| {
            let record = host_record(disk, &id)?;
            Some(StoredHost { id, record, first_level })
        };
        let untried = untried.into_iter().map(|(crawl, count)| (crawl, slot, count)).collect();
        (levels.into_iter().filter_map(stored).collect(), untried)
    }

    /// What a commit writes.
    pub fn commit(&mut self, disk: &Disk, commit: Commit) -> Written {
        let mut out = Written::default();
        let mut changes = Changes::default();
        if let Some((key, _, crawl)) = commit.done
            && let Some(&id) = self.names.get(&key)
        {
            self.queue.remove(&key);
            let version = changes.get(disk, &url_key(&id)).map_or(1, |value| value.version + 1);
            let body = match commit.schedule {
                Some((at, id, _, level, entry)) => {
                    self.due.insert((at, id));
                    Body::Later(at, level, entry)
                }
                None => Body::Done(crawl),
            };
            changes.put(url_key(&id), Value { version, body });
        }
        for (id, record) in commit.hosts {
            let version = changes.get(disk, &host_key(&id)).map_or(1, |value| value.version + 1);
            changes.put(host_key(&id), Value { version, body: Body::Host(record) });
        }
        for (host, scheme, record) in commit.robots {
            let key = robots_key(&host, scheme);
            let version = changes.get(disk, &key).map_or(1, |value| value.version + 1);
            changes.put(key, Value { version, body: Body::Robots(record) });
        }
        for record in &commit.crawls {
            changes.batch.push((crawl_key(record.id), Some(encode(record))));
        }
        let mut admitted: BTreeMap<(CrawlId, Slot), u64> = BTreeMap::new();
        for admission in commit.admit {
            let key = url_key(&admission.id);
            let before = changes.get(disk, &key);
            let forced = |value: &Value| {
                let other = matches!(value.body, Body::Done(crawl) if crawl != admission.entry.crawl);
                admission.force && other
            };
            if before.as_ref().is_some_and(|value| !forced(value)) {
                continue;
            }
            let version = before.map_or(1, |value| value.version + 1);
            let entry = admission.entry;
            *admitted.entry((entry.crawl, admission.host.slot())).or_default() += 1;
            changes.put(key, Value { version, body: Body::Queued(admission.level, entry.clone()) });
            let host = host_key(&admission.host);
            if changes.get(disk, &host).is_none() {
                let (name, site) = (admission.host_name.clone(), admission.site_name.clone());
                let record = HostRecord { name, site, ..HostRecord::default() };
                changes.put(host, Value { version: 1, body: Body::Host(record) });
            }
            out.gained.push(Gain {
                host: admission.host,
                host_name: admission.host_name,
                site_name: admission.site_name,
                level: admission.level,
                count: 1,
            });
            self.push(admission.level, admission.id, admission.host, entry);
        }
        for Moved { item, to } in commit.moved {
            let key = url_key(&item.id);
            let before = changes.get(disk, &key);
            let Some(Value { version, body: Body::Queued(..) }) = before else {
                // Another has it behind it.
                if self.queue.remove(&item.key).is_some() && item.entry.untried() {
                    out.gone.push((item.entry.crawl, item.key.host.slot(), 1));
                }
                continue;
            };
            if self.names.contains_key(&item.key) && self.queue.remove(&item.key).is_some() {
                changes.put(key, Value { version: version + 1, body: Body::Queued(to, item.entry.clone()) });
                let (host_name, site_name) = Default::default();
                out.gained.push(Gain { host: item.key.host, host_name, site_name, level: to, count: 0 });
                self.push(to, item.id, item.key.host, item.entry);
            }
        }
        let mut logs: BTreeMap<Slot, (u64, u64)> = BTreeMap::new();
        for offer in &commit.offers {
            let Some(link) = offers::link(offer, "") else { continue };
            let slot = offer.link.host.slot();
            let log = logs.entry(slot).or_insert_with(|| (number(disk, &key(b'G', slot, &[])), 0));
            log.0 += 1;
            log.1 += link.cost() as u64;
            changes.batch.push((key(b'g', slot, &log.0.to_be_bytes()), Some(encode(&link))));
        }
        for (&slot, (last, _)) in &logs {
            changes.batch.push((key(b'G', slot, &[]), Some(last.to_be_bytes().to_vec())));
        }
        if let Some(permit) = commit.permit {
            changes.batch.push((permit_key(permit.0), None));
        }
        (out.batch, out.numbered) = changes.finish(disk);
        out.logged = logs.into_iter().map(|(slot, (last, bytes))| (slot, last, bytes)).collect();
        out.admitted = admitted.into_iter().map(|((crawl, slot), count)| (crawl, slot, count)).collect();
        out
    }

    /// Brings back what is due.
    pub fn promote(&mut self, disk: &Disk, now: Instant, limit: u32) -> Written {
        let mut out = Written::default();
        let mut changes = Changes::default();
        for _ in 0..limit {
            let Some(&(at, id)) = self.due.first().filter(|(at, _)| *at <= now) else { break };
            self.due.remove(&(at, id));
            let Some(Value { version, body: Body::Later(_, level, entry) }) = value(disk, &url_key(&id))
            else {
                continue;
            };
            let host = super::web::found(&entry.url).host;
            changes
                .put(url_key(&id), Value { version: version + 1, body: Body::Queued(level, entry.clone()) });
            out.gained.extend(host_record(disk, &host).map(|record| Queues::gain(host, &record, level)));
            self.push(level, id, host, entry);
        }
        (out.batch, out.numbered) = changes.finish(disk);
        out
    }

    /// When the next one is.
    pub fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Part of a host's queue.
    pub fn front(&self, host: HostId, level: u8, after: u64, limit: u32) -> (Vec<QueueItem>, bool) {
        let from = QueueKey { host, level, seq: after + 1 };
        let to = QueueKey { host, level, seq: u64::MAX };
        let item = |(&key, (id, entry)): (&QueueKey, &(UrlId, QueueEntry))| QueueItem {
            key,
            id: *id,
            entry: entry.clone(),
        };
        let mut items = self.queue.range(from..=to).map(item);
        (items.by_ref().take(limit as usize).collect(), items.next().is_some())
    }

    /// Merges items of others; the batch, the slot's last change, what queues gained, and what of that was never tried.
    pub fn merge(&mut self, disk: &Disk, slot: Slot, new: Vec<Item>, record: Record) -> (Batch, Applied) {
        let mut changes = Changes::default();
        let (mut gained, mut untried, mut tried) = (Vec::new(), Vec::new(), 0);
        let mut hosts: Vec<(HostId, u8, UrlId, QueueEntry)> = Vec::new();
        for item in new {
            let Ok(theirs) = decode::<Value>(&item.value) else { continue };
            let body = theirs.body.clone();
            if !changes.merge(disk, &item.key, theirs) {
                continue;
            }
            tried += u64::from(matches!(body, Body::Later(..) | Body::Done(_)));
            if !self.open.contains(&slot) {
                continue;
            }
            let Some(id) = url_id(&item.key) else { continue };
            match body {
                // It waits here already.
                Body::Queued(..) if self.queue.values().any(|(queued, _)| *queued == id) => {}
                Body::Queued(level, entry) => {
                    let host = super::web::found(&entry.url).host;
                    hosts.push((host, level, id, entry));
                }
                Body::Later(at, ..) => _ = self.due.insert((at, id)),
                _ => {}
            }
        }
        for (host, level, id, entry) in hosts {
            let record = match changes.get(disk, &host_key(&host)) {
                Some(Value { body: Body::Host(record), .. }) => record,
                _ => continue,
            };
            gained.push(Queues::gain(host, &record, level));
            untried.push((entry.crawl, slot, u64::from(entry.untried())));
            self.push(level, id, host, entry);
        }
        changes.batch.push((key(b'r', slot, &[]), Some(encode(&record))));
        let (batch, heads) = changes.finish(disk);
        let head = heads.first().map_or_else(|| head(disk, slot), |(_, head)| *head);
        (batch, Applied { head, gained, untried, tried })
    }
}

fn crawl_key(id: CrawlId) -> Vec<u8> {
    [b"C".as_slice(), &id.0.to_be_bytes()].concat()
}

/// All crawls that this disk knows, without what is untried: that comes with slots.
pub fn crawls(disk: &Disk) -> Vec<CrawlRecord> {
    let all = disk.range(b"C").filter_map(|(_, bytes)| decode::<CrawlRecord>(bytes).ok());
    all.map(|record| CrawlRecord { untried: 0, ..record }).collect()
}

/// A permit that may be in flight.
pub fn permit_key(id: u64) -> Vec<u8> {
    [b"p".as_slice(), &id.to_be_bytes()].concat()
}

fn robots_key(host: &HostId, scheme: Scheme) -> ItemKey {
    item_key(host.slot(), ROBOTS, host.bytes(), &[scheme as u8])
}

/// A host's record.
pub fn host_record(disk: &Disk, id: &HostId) -> Option<HostRecord> {
    match value(disk, &host_key(id))?.body {
        Body::Host(record) => Some(record),
        _ => None,
    }
}

/// A host's rules.
pub fn robots(disk: &Disk, host: &HostId) -> [Option<RobotsRecord>; 2] {
    [Scheme::Http, Scheme::Https].map(|scheme| match value(disk, &robots_key(host, scheme))?.body {
        Body::Robots(record) => Some(record),
        _ => None,
    })
}

/// Removes all of a slot.
pub fn delete(disk: &Disk, slot: Slot) -> Batch {
    let mut batch = Batch::new();
    for kind in [b'i', b'l', b'h', b't', b'r'] {
        let prefix = key(kind, slot, &[]);
        batch.extend(disk.range(&prefix).map(|(key, _)| (key.to_vec(), None)));
    }
    batch
}

/// What is on disk of link logs.
pub fn logs(disk: &Disk, slots: &[Slot]) -> Vec<links::Stored> {
    let log = |&slot: &Slot| {
        let last = number(disk, &key(b'G', slot, &[]));
        let cursor: Cursor =
            disk.get(&key(b'c', slot, &[])).and_then(|bytes| decode(bytes).ok()).unwrap_or_default();
        let prefix = key(b'g', slot, &[]);
        let entries: Vec<(u64, u64)> =
            disk.range(&prefix).map(|(key, bytes)| (entry_number(key), bytes.len() as u64)).collect();
        let oldest = entries.first().map_or(last + 1, |(n, _)| *n);
        let bytes = entries.iter().map(|(_, bytes)| bytes).sum();
        let behind = entries.iter().filter(|(n, _)| *n > cursor.durable).map(|(_, bytes)| bytes).sum();
        links::Stored { slot, oldest, last, bytes, behind, cursor }
    };
    slots.iter().filter(|slot| number(disk, &key(b'G', **slot, &[])) > 0).map(log).collect()
}

fn entry_number(key: &[u8]) -> u64 {
    key.get(3..).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes)
}

/// Entries of a link log.
pub fn read_log(disk: &Disk, slot: Slot, after: u64, limit: u64) -> (Vec<(u64, Link)>, u64) {
    let prefix = key(b'g', slot, &[]);
    let (mut links, mut upto, mut bytes) = (Vec::new(), after, 0);
    for (key, value) in disk.range(&prefix) {
        let n = entry_number(key);
        let Some(link) = decode::<Link>(value).ok().filter(|_| n > after) else { continue };
        bytes += link.cost() as u64;
        if !links.is_empty() && bytes > limit {
            break;
        }
        upto = n;
        links.push((n, link));
    }
    (links, upto)
}

/// Cursors to be written.
pub fn cursors(all: Vec<(Slot, Cursor)>) -> Batch {
    all.into_iter().map(|(slot, cursor)| (key(b'c', slot, &[]), Some(encode(&cursor)))).collect()
}

/// Entries of a link log up to `upto`, to be removed.
pub fn trim(disk: &Disk, slot: Slot, upto: u64) -> Batch {
    let prefix = key(b'g', slot, &[]);
    let old = disk.range(&prefix).filter(|(key, _)| entry_number(key) <= upto);
    old.map(|(key, _)| (key.to_vec(), None)).collect()
}

fn item(key: &ItemKey, value: &Value) -> Item {
    let value = encode(value);
    Item { key: key.clone(), digest: Digest::of(&value), value }
}

/// Answers a read. `synced`: up to where changes are.
pub fn read(disk: &Disk, what: Read, synced: u64) -> Answer {
    match what {
        Read::Changes { slot, after, limit } => changes(disk, slot, after, limit, synced),
        Read::Digest(slot) => {
            let all = items(disk, slot);
            let mut buckets = Buckets::default();
            for (key, value) in &all {
                buckets.change(key, None, Some(Digest::of(&encode(value))));
            }
            Answer::Digest { seq: synced, documents: all.len() as u64, buckets }
        }
        Read::Keys { slot, buckets, after, until, limit } => {
            let within = |key: &ItemKey| {
                buckets.has(key.bucket())
                    && after.as_ref().is_none_or(|after| key > after)
                    && until.as_ref().is_none_or(|until| key <= until)
            };
            let entry = |(key, value): (ItemKey, Value)| Entry { key, digest: Digest::of(&encode(&value)) };
            let all = items(disk, slot).into_iter().filter(|(key, _)| within(key)).map(entry);
            let mut entries: Vec<Entry> = all.take(limit.saturating_add(1)).collect();
            let more = entries.len() > limit;
            entries.truncate(limit);
            Answer::Keys { entries, more }
        }
        Read::Range { slot, buckets, after, limit } => {
            let all = items(disk, slot);
            let within = all.iter().filter(|(key, _)| {
                buckets.has(key.bucket()) && after.as_ref().is_none_or(|after| *key > after)
            });
            let all: Vec<Item> = within.map(|(key, value)| item(key, value)).collect();
            let mut bytes = 0;
            let fits = |one: &&Item| {
                let first = bytes == 0;
                bytes += one.size();
                first || bytes <= limit
            };
            let count = all.iter().take_while(fits).count();
            let more = count < all.len();
            Answer::Items { items: all.into_iter().take(count).collect(), looked_up: count, more }
        }
        Read::Items { keys, limit, .. } => {
            let (mut found, mut bytes, mut looked_up) = (Vec::new(), 0, 0);
            for key in &keys {
                let one = value(disk, key).map(|value| item(key, &value));
                bytes += one.as_ref().map_or(0, Item::size);
                if looked_up > 0 && bytes > limit {
                    break;
                }
                looked_up += 1;
                found.extend(one);
            }
            Answer::Items { items: found, looked_up, more: looked_up < keys.len() }
        }
    }
}

fn changes(disk: &Disk, slot: Slot, after: u64, limit: usize, synced: u64) -> Answer {
    if after < number(disk, &key(b't', slot, &[])) {
        return Answer::Trimmed;
    }
    let prefix = key(b'l', slot, &[]);
    let (mut found, mut bytes, mut upto) = (BTreeMap::new(), 0, after);
    for (entry, name) in disk.range(&prefix) {
        let seq = entry_number(entry);
        let Some(name) = ItemKey::try_from(name.to_vec()).ok().filter(|_| seq > after) else { continue };
        let Some(value) = value(disk, &name) else { continue };
        let one = item(&name, &value);
        bytes += one.size();
        if seq > synced || (upto > after && bytes > limit) {
            break;
        }
        upto = seq;
        found.insert(name, one);
    }
    Answer::Changes { items: found.into_values().collect(), upto }
}
