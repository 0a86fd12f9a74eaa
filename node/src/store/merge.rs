//! Copies from other peers: items are merged into what is here, and a slot is deleted that is not to be kept any more.

use super::family::Family;
use super::item::{Kept, Kind, MAX_CONTENT, State, Sums, Value, parts, range_of};
use super::records::{self, Kind as RecordKind};
use super::value::Change;
use super::write::{Draft, IndexOp, Writer, Written, sum_of};
use super::{Result, damaged, key};
use anthill_agent::io::Untried;
use anthill_crawler::record::{CrawlId, UrlRecord};
use anthill_protocol::key::{Slot, UrlId};
use anthill_protocol::replica::{Digest, Item, ItemKey, Record};
use anthill_protocol::wire::{decode, encode};
use serde_bytes::ByteBuf;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Items of others for a slot.
pub struct Copied<'a> {
    /// Which.
    pub slot: Slot,
    /// What.
    pub items: &'a [Item],
    /// The copy's record, in place of what was there.
    pub record: &'a Record,
}

/// What items of others told that was not known here.
#[derive(Debug, Default)]
pub struct News {
    /// Of what queues gained, what was never tried.
    pub untried: Vec<Untried>,
    /// By slot, URLs of which an attempt was made.
    pub tried: BTreeMap<Slot, u64>,
}

/// An item that is another than before.
struct Merged {
    key: ItemKey,
    before: Option<Kept>,
    value: Value,
}

impl Merged {
    fn is_of_url(&self) -> bool {
        parts(&self.key).is_some_and(|(kind, _)| kind == Kind::Url)
    }
}

impl Writer {
    /// Merges items of others into slots, each of which is named once, as one batch. What queues gained is told in `gained`.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn merge(&mut self, copies: &[Copied<'_>]) -> Result<(Written, News)> {
        self.itemize()?;
        let merged = copies.iter().map(|copy| Ok((copy, self.greater(copy.slot, copy.items)?)));
        let merged: Vec<_> = merged.collect::<Result<_>>()?;
        let mut tried: BTreeMap<Slot, u64> = BTreeMap::new();
        let mut untried: BTreeMap<(CrawlId, Slot), u64> = BTreeMap::new();
        let (_, written) = self.attempt(|writer, draft| {
            for (copy, merged) in &merged {
                let key = records::key(RecordKind::Copy, &copy.slot.number().to_be_bytes());
                draft.batch.put_cf(writer.store.cf(Family::Swarm), key, encode(copy.record));
                for one in merged {
                    writer.put_merged(one, draft)?;
                }
                let changed: Vec<ItemKey> = merged.iter().map(|one| one.key.clone()).collect();
                writer.log(&changed, &mut draft.batch);
                if writer.slots.get(copy.slot).open {
                    for crawl in writer.put_new(merged, draft) {
                        *untried.entry((crawl, copy.slot)).or_default() += 1;
                    }
                }
            }
            Ok(())
        })?;
        for (copy, merged) in &merged {
            // Of a URL that was never tried there is no record.
            let attempts = merged.iter().filter(|one| one.is_of_url() && one.value.content.is_some());
            *tried.entry(copy.slot).or_default() += attempts.count() as u64;
        }
        let untried = untried.into_iter().map(|((crawl, slot), count)| (crawl, slot, count)).collect();
        Ok((written, News { untried, tried }))
    }

    /// Puts into queues what did not wait here before; the crawls of those never tried.
    fn put_new(&mut self, merged: &[Merged], draft: &mut Draft<'_>) -> Vec<CrawlId> {
        let waits =
            |one: &&Merged| matches!(&one.before, Some(Kept { state: Some(State::Queued { .. }), .. }));
        let new = merged.iter().filter(|one| !waits(one));
        let new: Vec<_> = new.filter_map(|one| Some((&one.key, one.value.state.as_ref()?))).collect();
        let untried = new.iter().filter_map(|(_, state)| state.untried()).collect();
        self.put_waiting(new.into_iter(), draft);
        untried
    }

    /// Those of these items that are greater than what is here, each key once.
    fn greater(&self, slot: Slot, items: &[Item]) -> Result<Vec<Merged>> {
        let mut merged: BTreeMap<ItemKey, Merged> = BTreeMap::new();
        for item in items.iter().filter(|item| item.key.slot() == slot) {
            let Some((kind, name)) = parts(&item.key) else { continue };
            // What no honest peer keeps.
            let Ok(value) = decode::<Value>(&item.value) else { continue };
            let too_large = value.content.as_ref().is_some_and(|content| content.len() > MAX_CONTENT);
            if too_large || !is_sound(kind, name, &value) {
                continue;
            }
            let before = match merged.get(&item.key) {
                Some(earlier) => Some(Kept {
                    version: earlier.value.version,
                    digest: Digest::of_encoded(&earlier.value),
                    state: earlier.value.state.clone(),
                }),
                None => self.store.kept(&item.key)?,
            };
            let greater = match &before {
                None => true,
                Some(kept) if kept.version != value.version => kept.version < value.version,
                Some(kept) if kept.digest == Digest::of_encoded(&value) => false,
                Some(kept) => {
                    let earlier = merged.get(&item.key).map(|earlier| encode(&earlier.value));
                    let ours = match earlier {
                        Some(bytes) => bytes,
                        None => encode(&self.value_of(kind, name, kept)?),
                    };
                    ours < encode(&value)
                }
            };
            if greater {
                // Of two in one batch the first tells what was there before.
                let before = match merged.remove(&item.key) {
                    Some(earlier) => earlier.before,
                    None => before,
                };
                merged.insert(item.key.clone(), Merged { key: item.key.clone(), before, value });
            }
        }
        Ok(merged.into_values().collect())
    }

    fn value_of(&self, kind: Kind, name: &[u8], kept: &Kept) -> Result<Value> {
        let content = self.store.content(kind, name)?;
        Ok(Value { version: kept.version, state: kept.state.clone(), content })
    }

    fn put_merged(&mut self, one: &Merged, draft: &mut Draft<'_>) -> Result<()> {
        let store = Arc::clone(&self.store);
        let Some((kind, name)) = parts(&one.key) else { return Ok(()) };
        let slot = one.key.slot();
        let kept = Kept {
            version: one.value.version,
            digest: Digest::of_encoded(&one.value),
            state: one.value.state.clone(),
        };
        draft.batch.put_cf(store.cf(Family::Items), one.key.bytes(), encode(&kept));
        let had = match kind {
            Kind::Url | Kind::Document => store.content(kind, name)?,
            _ => None,
        };
        match &one.value.content {
            Some(content) => draft.batch.put_cf(store.cf(kind.family()), name, content),
            None => draft.batch.delete_cf(store.cf(kind.family()), name),
        }
        match kind {
            Kind::Url => self.count_merged(slot, one, had.as_ref(), draft)?,
            Kind::Document => self.put_document(slot, name, one, had.is_some(), draft),
            Kind::Inlink => store.mark_stale(name.get(..16).unwrap_or_default(), draft),
            Kind::Host | Kind::Robots | Kind::Page => {}
        }
        Ok(())
    }

    fn count_merged(
        &mut self,
        slot: Slot,
        one: &Merged,
        had: Option<&ByteBuf>,
        draft: &mut Draft<'_>,
    ) -> Result<()> {
        let record = |bytes: &ByteBuf| decode::<UrlRecord>(bytes).map_err(|e| damaged(Family::Urls, e));
        let mut by = Sums { known: i64::from(one.before.is_none()), ..Sums::default() };
        if let Some(before) = had {
            *sum_of(&mut by, &record(before)?.state) -= 1;
        }
        if let Some(after) = &one.value.content {
            *sum_of(&mut by, &record(after)?.state) += 1;
        }
        self.slots.tally(slot, &by, &mut self.totals);
        let untried = |state: Option<&State>| state.and_then(State::untried);
        let before = untried(one.before.as_ref().and_then(|kept| kept.state.as_ref()));
        let after = untried(one.value.state.as_ref());
        if before != after {
            before.into_iter().for_each(|crawl| self.count_untried(slot, crawl, -1, draft));
            after.into_iter().for_each(|crawl| self.count_untried(slot, crawl, 1, draft));
        }
        Ok(())
    }

    fn put_document(&mut self, slot: Slot, name: &[u8], one: &Merged, had: bool, draft: &mut Draft<'_>) {
        let Some(id) = UrlId::from_slice(name) else { return };
        let has = one.value.content.is_some();
        let by = Sums { pages: i64::from(has) - i64::from(had), ..Sums::default() };
        self.slots.tally(slot, &by, &mut self.totals);
        if has {
            let sequence = self.change(Change::Put(id), draft);
            draft.index.push(IndexOp::Read { sequence, id, fresh: !had });
        } else if had {
            let sequence = self.change(Change::Remove(id), draft);
            draft.index.push(IndexOp::Remove { sequence, id });
        }
    }

    /// Deletes all of a slot: others keep it.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn delete_slot(&mut self, slot: Slot) -> Result<Written> {
        self.itemize_for(slot)?;
        self.close_slots(&[slot])?;
        self.changes.forget(slot);
        let store = Arc::clone(&self.store);
        let (_, written) = self.attempt(|writer, draft| {
            for entry in store.items_of(slot, Some(Kind::Document), None) {
                let (key, _) = entry?;
                let id = parts(&key).and_then(|(_, name)| UrlId::from_slice(name));
                if let Some(id) = id {
                    let sequence = writer.change(Change::Remove(id), draft);
                    draft.index.push(IndexOp::Remove { sequence, id });
                }
            }
            let number = slot.number().to_be_bytes();
            // Most slots have nothing.
            if writer.slots.get(slot).head != 0 {
                let (from, to) = range_of(slot);
                let to = to.unwrap_or_else(|| vec![0xff; 64]);
                for kind in Kind::ALL {
                    store.clear(kind.family(), &from, &to, &mut draft.batch)?;
                }
                let next = (slot.number() + 1).to_be_bytes();
                store.clear(Family::Items, &number, &next, &mut draft.batch)?;
                let [from, to] = [0, u64::MAX].map(|seq| key::numbered(slot, seq));
                store.clear(Family::Log, &from, &to, &mut draft.batch)?;
            }
            draft.batch.delete_cf(store.cf(Family::Swarm), records::key(RecordKind::Copy, &number));
            *writer.slots.at(slot) = super::slots::SlotState::default();
            Ok(())
        })?;
        Ok(written)
    }
}

/// Whether a value may be that of its key: what is kept is read by code that trusts it.
fn is_sound(kind: Kind, name: &[u8], value: &Value) -> bool {
    match (kind, &value.state) {
        (Kind::Url, Some(state)) => UrlId::from_slice(name).is_some_and(|id| state.is_of(&id)),
        (Kind::Url, None) => false,
        (_, state) => state.is_none(),
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
