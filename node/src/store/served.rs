//! Slots that come to be served here, and that are not any more: queues are built of items, and go again.

use super::admit::Arrival;
use super::family::Family;
use super::item::{Kept, Kind, State, Sums, parts, range_of};
use super::slots::SlotState;
use super::value::Later;
use super::write::{Draft, Writer};
use super::{Result, Store, damaged, key};
use anthill_agent::io::{StoredHost, Untried};
use anthill_crawler::record::QueueEntry;
use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, Slot, UrlId};
use anthill_protocol::replica::ItemKey;
use anthill_protocol::wire::{decode, encode};
use std::sync::Arc;

/// A slot that is served here.
#[derive(Debug)]
pub struct Opened {
    /// Which.
    pub slot: Slot,
    /// Its hosts that have entries.
    pub hosts: Vec<StoredHost>,
    /// What in these was never tried.
    pub untried: Vec<Untried>,
}

/// Items looked at between two writes.
const CHUNK: usize = 8_192;

impl Store {
    /// Items of a kind in a slot, after one of them.
    pub(super) fn items_of(
        &self,
        slot: Slot,
        kind: Option<Kind>,
        after: Option<&ItemKey>,
    ) -> impl Iterator<Item = Result<(ItemKey, Kept)>> + use<'_> {
        let mut prefix = slot.number().to_be_bytes().to_vec();
        prefix.extend(kind.map(|kind| kind as u8));
        let mut from = after.map_or_else(|| prefix.clone(), |key| key.bytes().to_vec());
        if after.is_some() {
            from.push(0);
        }
        self.range(Family::Items, &prefix, &from).map(|entry| {
            let (k, v) = entry?;
            let name = ItemKey::try_from(k.into_vec());
            let name = name.map_err(|e| {
                damaged(Family::Items, anthill_protocol::wire::WireError::Body(e.to_string()))
            })?;
            Ok((name, decode(&v).map_err(|e| damaged(Family::Items, e))?))
        })
    }
}

impl Writer {
    /// How slots are.
    pub fn slot(&self, slot: Slot) -> &SlotState {
        self.slots.get(slot)
    }

    /// Documents of a slot, those that others keep too included.
    pub fn documents(&self, slot: Slot) -> u32 {
        u32::try_from(self.slots.get(slot).sums.pages).unwrap_or(0)
    }

    /// The last changes of all slots of which there is anything.
    pub fn heads(&self) -> impl Iterator<Item = (Slot, u64)> + '_ {
        self.slots.all().map(|(slot, state)| (slot, state.head))
    }

    /// Slots are served here from now on: their queues are built, if they are not. Tells of each its hosts that have entries, and how
    /// many of those were never tried.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn open_slots(&mut self, slots: &[Slot]) -> Result<Vec<Opened>> {
        let closed: Vec<Slot> = slots.iter().copied().filter(|slot| !self.slots.get(*slot).open).collect();
        if self.itemized {
            closed.iter().try_for_each(|slot| self.build(*slot))?;
        }
        if closed.is_empty() {
            return self.opened(slots);
        }
        self.attempt(|writer, draft| {
            for slot in closed {
                let state = writer.slots.at(slot);
                state.open = true;
                let (sums, untried) = (state.sums, state.untried.clone());
                writer.count_slot(&sums, &untried, 1, draft);
            }
            Ok(())
        })?;
        self.next_due = self.store.next_due()?;
        self.opened(slots)
    }

    fn opened(&self, slots: &[Slot]) -> Result<Vec<Opened>> {
        let mut queued: Vec<Slot> =
            slots.iter().copied().filter(|slot| self.slots.get(*slot).sums.queued != 0).collect();
        queued.sort_unstable();
        let mut hosts = self.store.hosts_with_queues_in(&queued)?;
        let opened = slots.iter().map(|&slot| {
            let untried = self.slots.get(slot).untried.iter();
            let untried = untried.map(|&(crawl, count)| (crawl, slot, u64::try_from(count).unwrap_or(0)));
            Opened { slot, hosts: hosts.remove(&slot).unwrap_or_default(), untried: untried.collect() }
        });
        Ok(opened.collect())
    }

    /// When the first scheduled entry is due, as far as is known.
    pub fn next_due(&self) -> Option<Instant> {
        self.next_due
    }

    /// Slots are not served here any more. What others keep of them too stays.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn close_slots(&mut self, slots: &[Slot]) -> Result<()> {
        let open: Vec<Slot> = slots.iter().copied().filter(|slot| self.slots.get(*slot).open).collect();
        if open.is_empty() {
            return Ok(());
        }
        // Queues can be built again of items only.
        open.iter().try_for_each(|slot| self.itemize_for(*slot))?;
        self.attempt(|writer, draft| {
            for slot in open {
                if writer.slots.get(slot).sums.queued != 0 {
                    let (from, to) = range_of(slot);
                    let to = to.unwrap_or_else(|| vec![0xff; 32]);
                    writer.store.clear(Family::Queue, &from, &to, &mut draft.batch)?;
                }
                let state = writer.slots.at(slot);
                state.open = false;
                let (sums, untried) = (state.sums, state.untried.clone());
                state.sums.queued = 0;
                writer.count_slot(&sums, &untried, -1, draft);
            }
            Ok(())
        })?;
        slots.iter().for_each(|slot| self.changes.forget(*slot));
        // What was admitted here lately is another's to know.
        self.recent_urls.clear();
        Ok(())
    }

    fn count_slot(
        &mut self,
        sums: &Sums,
        untried: &[(anthill_crawler::record::CrawlId, i64)],
        sign: i64,
        draft: &mut Draft<'_>,
    ) {
        sums.change(&mut self.totals, sign);
        for (crawl, count) in untried {
            let counts = self.crawls.entry(*crawl).or_default();
            counts.untried = counts.untried.saturating_add_signed(sign * count);
            draft.touched.insert(*crawl);
        }
    }

    /// Builds the queues of a slot that is not open: it has none.
    fn build(&mut self, slot: Slot) -> Result<()> {
        if self.slots.get(slot).head == 0 {
            return Ok(());
        }
        let store = Arc::clone(&self.store);
        let mut items = store.items_of(slot, Some(Kind::Url), None);
        loop {
            let chunk: Vec<(ItemKey, Kept)> = items.by_ref().take(CHUNK).collect::<Result<_>>()?;
            if chunk.is_empty() {
                return Ok(());
            }
            self.attempt(|writer, draft| {
                writer.put_waiting(
                    chunk.iter().filter_map(|(key, kept)| Some((key, kept.state.as_ref()?))),
                    draft,
                );
                Ok(())
            })?;
        }
    }

    /// Puts what waits into queues, and what comes back at its time.
    pub(super) fn put_waiting<'a>(
        &mut self,
        all: impl Iterator<Item = (&'a ItemKey, &'a State)>,
        draft: &mut Draft<'_>,
    ) {
        let mut arrivals: Vec<(HostId, u8, &QueueEntry)> = Vec::new();
        for (key, state) in all {
            let Some(id) = parts(key).and_then(|(_, name)| UrlId::from_slice(name)) else { continue };
            match state {
                State::Queued { host, level, entry } => arrivals.push((*host, *level, entry)),
                State::Later { at, host, level, entry } => {
                    let later = Later { host: *host.bytes(), level: *level, entry: entry.clone() };
                    draft.batch.put_cf(self.store.cf(Family::Later), key::later(*at, &id), encode(&later));
                    self.next_due = Some(self.next_due.map_or(*at, |next| next.min(*at)));
                }
                State::Done(_) => {}
            }
        }
        let numbered = arrivals.into_iter().enumerate();
        let arrivals = numbered.map(|(order, (host, level, entry))| Arrival {
            host,
            level,
            order,
            entry,
            names: ("", ""),
            moved: false,
        });
        self.put_queued(arrivals.collect(), draft);
    }
}
