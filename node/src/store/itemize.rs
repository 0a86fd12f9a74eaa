//! How items follow what the writer writes: each change of a URL, a host or a page is a change of its item, with the next version, in the
//! same batch. A store that nobody has copies of has no items; they are made of everything at once when somebody wants some.

use super::family::Family;
use super::item::{Kept, Kind, MAX_CONTENT, State, Value, item_key, slot_of};
use super::value::Later;
use super::write::{Draft, Writer};
use super::{Entry, Result, Store, damaged, key, once_over};
use anthill_agent::io::Commit;
use anthill_crawler::record::{CrawlId, QueueKey, UrlRecord};
use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, Slot, UrlId};
use anthill_protocol::replica::{Digest, ItemKey};
use anthill_protocol::wire::{Versioned, decode, encode};
use rocksdb::WriteBatch;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Key in `meta`: there are items.
const ITEMIZED_KEY: &[u8] = b"itemized";
/// Key in `meta`: there are, or were, others.
const SHARED_KEY: &[u8] = b"shared";
/// Items made between two writes, where they are made of everything.
const CHUNK: usize = 4_096;
/// Changes of a slot that are told one by one, at least. Who lacks more is told by comparison.
pub const KEPT: u64 = 8_192;

/// What changed of an item.
#[derive(Debug, Default)]
pub(super) struct Edit {
    /// How the URL stands now, if that changed.
    pub(super) state: Option<State>,
    /// The content now, if that changed; none in it for what is gone.
    pub(super) content: Option<Option<Vec<u8>>>,
}

/// What changed of items, by their keys: of each what it is at the end.
#[derive(Debug, Default)]
pub(super) struct Edits(pub(super) BTreeMap<ItemKey, Edit>);

impl Edits {
    /// Content changed.
    pub fn content(&mut self, kind: Kind, key: &[u8], content: Option<Vec<u8>>) {
        self.0.entry(item_key(kind, key)).or_default().content = Some(content);
    }

    /// A URL stands otherwise.
    pub fn state(&mut self, url: &UrlId, state: State) {
        self.0.entry(item_key(Kind::Url, url.bytes())).or_default().state = Some(state);
    }
}

/// Items changed by one batch in one slot, in order; without their slot. Kept under the number of the last of them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Logged(pub(super) Vec<ByteBuf>);

impl Versioned for Logged {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x400_0000;
}

impl Store {
    /// Whether there are items.
    pub(super) fn is_itemized(&self) -> Result<bool> {
        Ok(self.bytes(Family::Meta, ITEMIZED_KEY)?.is_some())
    }

    /// Whether there are, or were, others.
    pub(super) fn is_shared(&self) -> Result<bool> {
        Ok(self.bytes(Family::Meta, SHARED_KEY)?.is_some())
    }

    /// What is kept of an item.
    pub(super) fn kept(&self, key: &ItemKey) -> Result<Option<Kept>> {
        self.value(Family::Items, key.bytes())
    }

    /// The content of an item.
    pub(super) fn content(&self, kind: Kind, key: &[u8]) -> Result<Option<ByteBuf>> {
        Ok(self.bytes(kind.family(), key)?.map(|bytes| ByteBuf::from(bytes.to_vec())))
    }
}

impl Writer {
    /// Which of these URLs, in order, have items.
    pub(super) fn have_items(&self, ids: &[u128]) -> Result<Vec<bool>> {
        let cf = self.store.cf(Family::Items);
        let has = |id: &u128| {
            let key = item_key(Kind::Url, &id.to_be_bytes());
            let may = self.store.db.key_may_exist_cf(cf, key.bytes());
            Ok(may && self.store.bytes(Family::Items, key.bytes())?.is_some())
        };
        ids.iter().map(has).collect()
    }

    /// Whether a URL that is due is still to come back: another peer may have changed that, or hold it now.
    pub(super) fn comes_back(&self, id: &UrlId, due: Instant) -> Result<bool> {
        if !self.itemized {
            return Ok(true);
        }
        let kept = self.store.kept(&item_key(Kind::Url, id.bytes()))?;
        let waits = matches!(kept.and_then(|kept| kept.state), Some(State::Later { at, .. }) if at == due);
        Ok(waits && self.slots.counts(id.slot()))
    }

    /// An entry is done with: for good, or until it comes back.
    pub(super) fn edit_done(
        &mut self,
        key: QueueKey,
        crawl: CrawlId,
        commit: &Commit,
        draft: &mut Draft<'_>,
    ) -> Result<()> {
        if !self.itemized {
            return Ok(());
        }
        if let Some((at, id, host, level, entry)) = &commit.schedule {
            let state = State::Later { at: *at, host: *host, level: *level, entry: entry.clone() };
            draft.edits.state(id, state);
            return Ok(());
        }
        let named = commit.record.as_ref().map(|(id, _)| *id);
        let id = match named {
            Some(id) => Some(id),
            None => self.store.queued(&key)?.map(|entry| UrlId::of(key.host.site(), &entry.url)),
        };
        if let Some(id) = id {
            draft.edits.state(&id, State::Done(crawl));
        }
        Ok(())
    }

    /// A record of a URL that no queue had: a page of an archive. It is known, and done with.
    pub(super) fn edit_found(&mut self, id: &UrlId, crawl: CrawlId, draft: &mut Draft<'_>) -> Result<()> {
        if self.itemized && self.store.kept(&item_key(Kind::Url, id.bytes()))?.is_none() {
            draft.edits.state(id, State::Done(crawl));
        }
        Ok(())
    }

    /// Puts items that changed into the batch, with their next versions, and what changed into the slots' logs.
    pub(super) fn put_edits(&mut self, draft: &mut Draft<'_>) -> Result<()> {
        if !self.itemized {
            // Who asks for a copy is told of everything at once.
            self.slots.number(self.shared);
            return Ok(());
        }
        let store = Arc::clone(&self.store);
        let mut changed: Vec<ItemKey> = Vec::with_capacity(draft.edits.0.len());
        for (key, edit) in std::mem::take(&mut draft.edits.0) {
            let Some((kind, name)) = super::item::parts(&key) else { continue };
            let before = store.kept(&key)?;
            let Some(content) = (match edit.content {
                Some(Some(content)) if content.len() > MAX_CONTENT => None,
                Some(content) => Some(content.map(ByteBuf::from)),
                None => Some(store.content(kind, name)?),
            }) else {
                tracing::warn!(?key, "too large to be copied to other peers");
                continue;
            };
            let was = before.as_ref().and_then(|kept| kept.state.as_ref());
            let untried = was.and_then(State::untried);
            let state = edit.state.or_else(|| was.cloned());
            if let Some(crawl) = untried
                && state.as_ref().and_then(State::untried) != untried
            {
                self.count_untried(key.slot(), crawl, -1, draft);
            }
            let version = before.map_or(1, |kept| kept.version.saturating_add(1));
            let value = Value { version, state, content };
            let digest = if self.changes.follows(key.slot()) {
                let item = value.item(&key);
                let digest = item.digest;
                draft.changes.entry(key.slot()).or_default().push(item);
                digest
            } else {
                Digest::of_encoded(&value)
            };
            let kept = Kept { version, digest, state: value.state };
            draft.batch.put_cf(store.cf(Family::Items), key.bytes(), encode(&kept));
            changed.push(key);
        }
        self.log(&changed, &mut draft.batch);
        Ok(())
    }

    /// Numbers changes of items, in order of their keys.
    pub(super) fn log(&mut self, changed: &[ItemKey], batch: &mut WriteBatch) {
        let store = Arc::clone(&self.store);
        let cf = store.cf(Family::Log);
        for of_slot in changed.chunk_by(|a, b| a.slot() == b.slot()) {
            let Some(slot) = of_slot.first().map(ItemKey::slot) else { continue };
            let state = self.slots.at(slot);
            state.head += of_slot.len() as u64;
            let (head, trimmed) = (state.head, state.trimmed);
            let names = of_slot.iter().map(|key| ByteBuf::from(key.bytes()[2..].to_vec())).collect();
            batch.put_cf(cf, key::numbered(slot, head), encode(&Logged(names)));
            if head - trimmed > 2 * KEPT {
                state.trimmed = head - KEPT;
                batch.delete_range_cf(cf, key::numbered(slot, 0), key::numbered(slot, state.trimmed + 1));
            }
        }
    }

    /// There are others. Where each of them keeps what is its alone (not `copied`) there are no items before somebody wants a copy of
    /// something: a slot that goes to another.
    ///
    /// # Errors
    /// As [`Writer::itemize`].
    pub fn share(&mut self, copied: bool) -> Result<()> {
        if !self.shared {
            let mut batch = WriteBatch::default();
            batch.put_cf(self.store.cf(Family::Meta), SHARED_KEY, []);
            self.store.commit(batch)?;
            self.shared = true;
        }
        if copied { self.itemize() } else { Ok(()) }
    }

    /// Makes items if there is anything in a slot that somebody wants a copy of.
    pub(super) fn itemize_for(&mut self, slot: Slot) -> Result<()> {
        if self.slots.get(slot).head == 0 { Ok(()) } else { self.itemize() }
    }

    /// Makes items of everything, once: other peers may want copies. What there is before somebody has one counts as one change.
    ///
    /// # Errors
    /// As all that writes; what was made so far is made again with the next try.
    pub fn itemize(&mut self) -> Result<()> {
        if self.itemized {
            return Ok(());
        }
        let store = Arc::clone(&self.store);
        let mut making =
            Making { store: &store, batch: WriteBatch::default(), count: 0, slots: BTreeMap::new() };
        making.urls()?;
        for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Url) {
            for entry in store.range_opt(kind.family(), &[], &[], once_over()) {
                let (k, v) = entry?;
                making.put(kind, &k, None, Some(v.into_vec()))?;
            }
        }
        let count = making.count;
        let (slots, mut batch) = (making.slots, making.batch);
        for (slot, items) in slots {
            let state = self.slots.at(slot);
            state.head = state.head.max(1) + items;
            state.trimmed = state.head;
        }
        self.slots.draft(&store, &mut batch);
        batch.put_cf(store.cf(Family::Meta), ITEMIZED_KEY, []);
        if let Err(error) = store.commit(batch) {
            self.slots.undo();
            return Err(error);
        }
        (self.itemized, self.shared) = (true, true);
        if count > 0 {
            tracing::info!(items = count, "what there is can be copied to other peers now");
        }
        self.by_itemizing = self.slots.written();
        Ok(())
    }

    /// Slots whose changes were numbered when items were made of everything, if that was since this was asked last.
    pub fn take_itemized(&mut self) -> Vec<(Slot, u64)> {
        std::mem::take(&mut self.by_itemizing)
    }
}

/// Items being made of everything.
struct Making<'a> {
    store: &'a Store,
    batch: WriteBatch,
    count: u64,
    /// How many in each slot.
    slots: BTreeMap<Slot, u64>,
}

impl Making<'_> {
    fn put(&mut self, kind: Kind, key: &[u8], state: Option<State>, content: Option<Vec<u8>>) -> Result<()> {
        if content.as_ref().is_some_and(|content| content.len() > MAX_CONTENT) {
            return Ok(());
        }
        let value = Value { version: 1, state, content: content.map(ByteBuf::from) };
        let kept = Kept { version: 1, digest: Digest::of_encoded(&value), state: value.state };
        self.batch.put_cf(self.store.cf(Family::Items), item_key(kind, key).bytes(), encode(&kept));
        *self.slots.entry(slot_of(key)).or_default() += 1;
        self.count += 1;
        if self.count.is_multiple_of(CHUNK as u64) {
            self.store.commit(std::mem::take(&mut self.batch))?;
        }
        Ok(())
    }

    /// URLs: those that come back, those that wait, and of the rest those that were tried. One that waits may have been tried too.
    fn urls(&mut self) -> Result<()> {
        let store = self.store;
        for entry in store.range_opt(Family::Urls, &[], &[], once_over()) {
            let (k, v) = entry?;
            let record: UrlRecord = decode(&v).map_err(|e| damaged(Family::Urls, e))?;
            self.put(Kind::Url, &k, Some(State::Done(record.crawl)), Some(v.into_vec()))?;
        }
        for entry in store.range_opt(Family::Later, &[], &[], once_over()) {
            let (at, id, later) = read_later(entry?)?;
            let Later { host, level, entry } = later;
            let state = State::Later { at, host: HostId::from_bytes(host), level, entry };
            self.again(&id, state)?;
        }
        for entry in store.all_queued() {
            let (key, entry) = entry?;
            let id = UrlId::of(key.host.site(), &entry.url);
            self.again(&id, State::Queued { host: key.host, level: key.level, entry })?;
        }
        Ok(())
    }

    fn again(&mut self, id: &UrlId, state: State) -> Result<()> {
        let record = self.store.content(Kind::Url, id.bytes())?;
        self.put(Kind::Url, id.bytes(), Some(state), record.map(ByteBuf::into_vec))
    }
}

fn read_later((k, v): Entry) -> Result<(Instant, UrlId, Later)> {
    let (at, id) = key::read_later(&k).unwrap_or((Instant::ZERO, UrlId::from_bytes([0; 16])));
    Ok((at, id, decode(&v).map_err(|e| damaged(Family::Later, e))?))
}
