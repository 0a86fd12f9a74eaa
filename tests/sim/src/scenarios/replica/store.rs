//! A store of mergeable items on the simulated disk: what the hands promise, in a few hundred lines less.

use crate::disk::{Batch, Disk};
use anthill_protocol::key::Slot;
use anthill_protocol::replica::{Answer, Buckets, Digest, Entry, Item, ItemKey, Read, Record};
use anthill_protocol::wire::{Versioned, decode, encode};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Changes that the log keeps at least: few, so that it is often too short.
const KEPT: u64 = 40;

/// A value of one of two kinds that merge.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Value {
    /// The greater version wins.
    Versioned {
        /// Counted up by who writes.
        version: u64,
        /// Tells versions of two writers apart.
        by: u32,
        /// Whatever.
        body: Vec<u8>,
    },
    /// The union wins.
    Set(BTreeSet<u64>),
}

impl Versioned for Value {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}

impl Value {
    pub(super) fn merge(self, other: Value) -> Value {
        match (self, other) {
            (Value::Set(mut one), Value::Set(other)) => {
                one.extend(other);
                Value::Set(one)
            }
            (one @ Value::Versioned { .. }, Value::Set(_)) => one,
            (Value::Set(_), other) => other,
            (
                Value::Versioned { version, by, body },
                Value::Versioned { version: version_2, by: by_2, body: body_2 },
            ) => {
                // A version that was seen by others and lost here before it was synced is written a second time.
                if (version_2, by_2, &body_2) > (version, by, &body) {
                    Value::Versioned { version: version_2, by: by_2, body: body_2 }
                } else {
                    Value::Versioned { version, by, body }
                }
            }
        }
    }

    /// Whether this one has all that the other has.
    pub(super) fn covers(&self, other: &Value) -> bool {
        self.clone().merge(other.clone()) == *self
    }
}

fn key(kind: u8, slot: Slot, rest: &[u8]) -> Vec<u8> {
    let mut key = vec![kind];
    key.extend_from_slice(&slot.number().to_be_bytes());
    key.extend_from_slice(rest);
    key
}

fn number(disk: &Disk, key: &[u8]) -> u64 {
    disk.get(key).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes)
}

/// The last change of a slot.
pub(super) fn head(disk: &Disk, slot: Slot) -> u64 {
    number(disk, &key(b'h', slot, &[]))
}

/// The records of all copies, with their last changes.
pub(super) fn records(disk: &Disk) -> Vec<(Record, u64)> {
    let all = disk.range(b"r").filter_map(|(_, bytes)| decode::<Record>(bytes).ok());
    all.map(|record| (record.clone(), head(disk, record.slot))).collect()
}

/// All items of a slot.
pub(super) fn items(disk: &Disk, slot: Slot) -> BTreeMap<ItemKey, Value> {
    let prefix = key(b'i', slot, &[]);
    let all = disk
        .range(&prefix)
        .filter_map(|(key, bytes)| Some((ItemKey::try_from(key[1..].to_vec()).ok()?, decode(bytes).ok()?)));
    all.collect()
}

pub(super) fn value(disk: &Disk, item: &ItemKey) -> Option<Value> {
    decode(disk.get(&[b"i", item.bytes()].concat())?).ok()
}

/// Merges items into a slot; with a record, puts that in place. Gives the batch and the slot's last change after it.
pub(super) fn merge(disk: &Disk, slot: Slot, new: Vec<Item>, record: Option<Record>) -> (Batch, u64) {
    let mut batch = Batch::new();
    let mut head = head(disk, slot);
    let mut merged: BTreeMap<ItemKey, Value> = BTreeMap::new();
    for item in new {
        let Ok(theirs) = decode::<Value>(&item.value) else { continue };
        let ours = merged.get(&item.key).cloned().or_else(|| value(disk, &item.key));
        let after = match ours.clone() {
            Some(ours) => ours.merge(theirs),
            None => theirs,
        };
        if ours.as_ref() != Some(&after) {
            merged.insert(item.key, after);
        }
    }
    for (item, value) in merged {
        head += 1;
        batch.push((key(b'l', slot, &head.to_be_bytes()), Some(item.bytes().to_vec())));
        batch.push(([b"i", item.bytes()].concat(), Some(encode(&value))));
    }
    batch.push((key(b'h', slot, &[]), Some(head.to_be_bytes().to_vec())));
    batch
        .push((key(b't', slot, &[]), Some((head.saturating_sub(KEPT) / KEPT * KEPT).to_be_bytes().to_vec())));
    if let Some(record) = record {
        batch.push((key(b'r', slot, &[]), Some(encode(&record))));
    }
    (batch, head)
}

/// Removes all of a slot.
pub(super) fn delete(disk: &Disk, slot: Slot) -> Batch {
    let mut batch = Batch::new();
    for kind in [b'i', b'l', b'h', b't', b'r'] {
        let prefix = key(kind, slot, &[]);
        batch.extend(disk.range(&prefix).map(|(key, _)| (key.to_vec(), None)));
    }
    batch
}

/// Whether there is anything of a slot.
pub(super) fn has_copy(disk: &Disk, slot: Slot) -> bool {
    disk.range(&key(b'i', slot, &[])).next().is_some()
}

fn item(key: &ItemKey, value: &Value) -> Item {
    let value = encode(value);
    Item { key: key.clone(), digest: Digest::of(&value), value }
}

/// An item to be merged.
pub(super) fn new_item(key: ItemKey, value: &Value) -> Item {
    item(&key, value)
}

fn limited(all: Vec<Item>, limit: usize) -> (Vec<Item>, bool) {
    let mut bytes = 0;
    let fit = all.iter().take_while(|one| {
        let before = bytes;
        bytes += one.size();
        before == 0 || bytes <= limit
    });
    let count = fit.count();
    let more = count < all.len();
    (all.into_iter().take(count).collect(), more)
}

/// Answers a read. `synced`: up to where changes are.
pub(super) fn read(disk: &Disk, what: Read, synced: u64) -> Answer {
    match what {
        Read::Changes { slot, after, limit } => changes(disk, slot, after, limit, synced),
        Read::Digest(slot) => {
            let mut buckets = Buckets::default();
            let all = items(disk, slot);
            for (key, value) in &all {
                buckets.change(key, None, Some(Digest::of(&encode(value))));
            }
            Answer::Digest { seq: synced, documents: all.len() as u64, buckets }
        }
        Read::Keys { slot, buckets, after, until, limit } => {
            let all = items(disk, slot);
            let within = all.iter().filter(|(key, _)| {
                buckets.has(key.bucket())
                    && after.as_ref().is_none_or(|after| *key > after)
                    && until.as_ref().is_none_or(|until| *key <= until)
            });
            let entry = |(key, value): (&ItemKey, &Value)| Entry {
                key: key.clone(),
                digest: Digest::of(&encode(value)),
            };
            // Pages are short here, so that there are several.
            let limit = limit.min(7);
            let mut entries: Vec<Entry> = within.map(entry).take(limit + 1).collect();
            let more = entries.len() > limit;
            entries.truncate(limit);
            Answer::Keys { entries, more }
        }
        Read::Range { slot, buckets, after, limit } => {
            let all = items(disk, slot);
            let within = all.iter().filter(|(key, _)| {
                buckets.has(key.bucket()) && after.as_ref().is_none_or(|after| *key > after)
            });
            let (items, more) = limited(within.map(|(key, value)| item(key, value)).collect(), limit);
            Answer::Items { looked_up: items.len(), items, more }
        }
        Read::Items { keys, limit, .. } => {
            let mut found = Vec::new();
            let (mut bytes, mut looked_up) = (0, 0);
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
    let mut found = BTreeMap::new();
    let (mut bytes, mut upto) = (0, after);
    for (entry, name) in disk.range(&prefix) {
        let seq = entry[3..].try_into().map_or(0, u64::from_be_bytes);
        if seq <= after {
            continue;
        }
        let Ok(name) = ItemKey::try_from(name.to_vec()) else { continue };
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
