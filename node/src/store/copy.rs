//! What other peers are told of a slot: changes, digests, items.

use super::family::Family;
use super::item::{Kept, Kind, Value, parts};
use super::itemize::Logged;
use super::write::Writer;
use super::{Result, Store, damaged, key};
use anthill_protocol::key::Slot;
use anthill_protocol::replica::{Answer, Bits, Buckets, Entry, Item, ItemKey, Read};
use anthill_protocol::wire::decode;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Items told at once, at most.
const MAX_ITEMS: usize = anthill_protocol::replica::message::MAX_ITEMS;

impl Writer {
    /// Answers a read. `synced`: up to which change of the slot everything is safe.
    ///
    /// # Errors
    /// As all that reads.
    pub fn read(&mut self, what: Read, synced: u64) -> Result<Answer> {
        self.itemize_for(what.slot())?;
        let store = Arc::clone(&self.store);
        match what {
            Read::Changes { slot, after, limit } => self.read_changes(slot, (after, synced), limit),
            Read::Digest(slot) => {
                let (mut buckets, mut documents) = (Buckets::default(), 0);
                for entry in store.items_of(slot, None, None) {
                    let (key, kept) = entry?;
                    documents += u64::from(parts(&key).is_some_and(|(kind, _)| kind == Kind::Document));
                    buckets.change(&key, None, Some(kept.digest));
                }
                Ok(Answer::Digest { seq: synced, documents, buckets })
            }
            Read::Keys { slot, buckets, after, until, limit } => {
                let mut entries = Vec::new();
                for entry in store.items_in(slot, buckets, after.as_ref()) {
                    let (key, kept) = entry?;
                    if until.as_ref().is_some_and(|until| key > *until) {
                        break;
                    }
                    if entries.len() == limit {
                        return Ok(Answer::Keys { entries, more: true });
                    }
                    entries.push(Entry { key, digest: kept.digest });
                }
                Ok(Answer::Keys { entries, more: false })
            }
            Read::Range { slot, buckets, after, limit } => {
                let (mut items, mut bytes) = (Vec::new(), 0);
                for entry in store.items_in(slot, buckets, after.as_ref()) {
                    let (key, kept) = entry?;
                    let Some(item) = store.item(&key, kept)? else { continue };
                    bytes += item.size();
                    if !items.is_empty() && (bytes > limit || items.len() == MAX_ITEMS) {
                        let looked_up = items.len();
                        return Ok(Answer::Items { items, looked_up, more: true });
                    }
                    items.push(item);
                }
                Ok(Answer::Items { looked_up: items.len(), items, more: false })
            }
            Read::Items { keys, limit, .. } => {
                let (mut items, mut bytes, mut looked_up) = (Vec::new(), 0, 0);
                for key in &keys {
                    let item = match store.kept(key)? {
                        Some(kept) => store.item(key, kept)?,
                        None => None,
                    };
                    bytes += item.as_ref().map_or(0, Item::size);
                    if looked_up > 0 && bytes > limit {
                        break;
                    }
                    looked_up += 1;
                    items.extend(item);
                }
                Ok(Answer::Items { items, looked_up, more: looked_up < keys.len() })
            }
        }
    }

    /// What changed of a slot after a number and up to another: mostly what was written within the last second.
    fn read_changes(&mut self, slot: Slot, (after, synced): (u64, u64), limit: usize) -> Result<Answer> {
        if after < self.slots.get(slot).trimmed {
            return Ok(Answer::Trimmed);
        }
        if let Some((items, upto)) = self.changes.take(slot, after, synced, (limit, MAX_ITEMS)) {
            return Ok(Answer::Changes { items, upto });
        }
        self.changes.follow(slot);
        self.store.changes_of(slot, after, limit, synced)
    }
}

impl Store {
    fn items_in(
        &self,
        slot: Slot,
        buckets: Bits,
        after: Option<&ItemKey>,
    ) -> impl Iterator<Item = Result<(ItemKey, Kept)>> + use<'_> {
        let within = move |entry: &Result<(ItemKey, Kept)>| match entry {
            Ok((key, _)) => buckets.has(key.bucket()),
            Err(_) => true,
        };
        self.items_of(slot, None, after).filter(within)
    }

    /// An item as it is; none if its key is none of this program.
    fn item(&self, key: &ItemKey, kept: Kept) -> Result<Option<Item>> {
        let Some((kind, name)) = parts(key) else { return Ok(None) };
        let content = self.content(kind, name)?;
        Ok(Some(Value { version: kept.version, state: kept.state, content }.item(key)))
    }

    fn changes_of(&self, slot: Slot, after: u64, limit: usize, synced: u64) -> Result<Answer> {
        let prefix = slot.number().to_be_bytes();
        let (mut found, mut bytes, mut upto) = (BTreeMap::new(), 0, after);
        let mut told = BTreeSet::new();
        'log: for entry in self.range(Family::Log, &prefix, &key::numbered(slot, after.saturating_add(1))) {
            let (k, v) = entry?;
            let last = key::read_numbered(&k).map_or(0, |(_, last)| last);
            let Logged(names) = decode(&v).map_err(|e| damaged(Family::Log, e))?;
            let first = (last + 1).saturating_sub(names.len() as u64);
            for (seq, name) in (first..=last).zip(names) {
                if seq <= after {
                    continue;
                }
                if seq > synced {
                    break 'log;
                }
                let Ok(key) = ItemKey::new(slot, &name) else { continue };
                if !told.insert(key.clone()) {
                    upto = seq;
                    continue;
                }
                let item = match self.kept(&key)? {
                    Some(kept) => self.item(&key, kept)?,
                    None => None,
                };
                let Some(item) = item else {
                    upto = seq;
                    continue;
                };
                bytes += item.size();
                if !found.is_empty() && (bytes > limit || found.len() == MAX_ITEMS) {
                    break 'log;
                }
                upto = seq;
                found.insert(key, item);
            }
        }
        Ok(Answer::Changes { items: found.into_values().collect(), upto })
    }
}
