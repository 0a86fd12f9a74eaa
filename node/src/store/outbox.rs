//! The link log: links for slots that others hold, until these have them.

use super::family::Family;
use super::records::{self, Kind};
use super::write::{Draft, MadePage, Writer};
use super::{Result, Store, damaged, key};
use anthill_agent::io::{Commit, Offer};
use anthill_agent::peer::offers;
use anthill_protocol::key::Slot;
use anthill_protocol::links::{Cursor, Lately, Link, Stored};
use anthill_protocol::wire::{decode, encode};
use rocksdb::WriteBatch;
use std::collections::BTreeMap;

/// Links that are remembered as sent, at least: they are not sent again. 18 MB.
const LATELY: usize = 500_000;
/// Links read at once, at most.
const READ: usize = 4_096;

/// The writer's part of the log: the last number of each slot, and what was sent lately.
pub struct Outbox {
    last: BTreeMap<Slot, u64>,
    before: BTreeMap<Slot, u64>,
    lately: Lately,
}

impl Outbox {
    pub(super) fn load(store: &Store) -> Result<Outbox> {
        let last = store.log_heads()?;
        Ok(Outbox { last, before: BTreeMap::new(), lately: Lately::new(LATELY) })
    }

    /// The number of a link more.
    fn next(&mut self, slot: Slot) -> u64 {
        let last = self.last.entry(slot).or_default();
        self.before.entry(slot).or_insert(*last);
        *last += 1;
        *last
    }

    pub(super) fn draft(&self, store: &Store, batch: &mut WriteBatch) {
        for slot in self.before.keys() {
            let last = self.last.get(slot).copied().unwrap_or(0);
            let key = records::key(Kind::LogHead, &slot.number().to_be_bytes());
            batch.put_cf(store.cf(Family::Swarm), key, last.to_be_bytes());
        }
    }

    pub(super) fn written(&mut self) {
        self.before.clear();
    }

    pub(super) fn undo(&mut self) {
        self.last.append(&mut self.before);
    }
}

impl Store {
    fn log_heads(&self) -> Result<BTreeMap<Slot, u64>> {
        let heads = self.records(Kind::LogHead).map(|entry| {
            let (k, v) = entry?;
            let last = v.as_ref().try_into().map_or(0, u64::from_be_bytes);
            Ok(records::slot(&k).map(|slot| (slot, last)))
        });
        heads.filter_map(Result::transpose).collect()
    }

    /// What there is of link logs.
    ///
    /// # Errors
    /// As all that reads.
    pub fn link_logs(&self) -> Result<Vec<Stored>> {
        let cursors = self.records(Kind::Cursor).map(|entry| {
            let (k, v) = entry?;
            let cursor: Cursor = decode(&v).map_err(|e| damaged(Family::Swarm, e))?;
            Ok(records::slot(&k).map(|slot| (slot, cursor)))
        });
        let cursors: BTreeMap<Slot, Cursor> = cursors.filter_map(Result::transpose).collect::<Result<_>>()?;
        let mut logs: BTreeMap<Slot, Stored> = BTreeMap::new();
        for (slot, last) in self.log_heads()? {
            let cursor = cursors.get(&slot).copied().unwrap_or_default();
            logs.insert(slot, Stored { slot, oldest: last + 1, last, bytes: 0, behind: 0, cursor });
        }
        for entry in self.range(Family::Links, &[], &[]) {
            let (k, v) = entry?;
            let link: Link = decode(&v).map_err(|e| damaged(Family::Links, e))?;
            let Some((slot, number)) = key::read_numbered(&k) else { continue };
            let Some(log) = logs.get_mut(&slot) else { continue };
            let cost = link.cost() as u64;
            log.oldest = log.oldest.min(number);
            log.bytes += cost;
            if number > log.cursor.durable {
                log.behind += cost;
            }
        }
        Ok(logs.into_values().collect())
    }

    /// Links of a slot's log after a number, about so many bytes of them and one at least, with their numbers; and the last one that
    /// was looked at.
    ///
    /// # Errors
    /// As all that reads.
    pub fn read_links(&self, slot: Slot, after: u64, limit_bytes: u64) -> Result<(Vec<(u64, Link)>, u64)> {
        let prefix = slot.number().to_be_bytes();
        let (mut links, mut upto, mut bytes) = (Vec::new(), after, 0);
        for entry in self.range(Family::Links, &prefix, &key::numbered(slot, after.saturating_add(1))) {
            let (k, v) = entry?;
            let link: Link = decode(&v).map_err(|e| damaged(Family::Links, e))?;
            bytes += link.cost() as u64;
            if !links.is_empty() && (bytes > limit_bytes || links.len() >= READ) {
                break;
            }
            let Some((_, number)) = key::read_numbered(&k) else { continue };
            upto = number;
            links.push((upto, link));
        }
        Ok((links, upto))
    }
}

impl Writer {
    /// Logs links for others, but those that they were sent lately.
    pub(super) fn put_offers(&mut self, commit: &Commit, made: Option<&MadePage>, draft: &mut Draft<'_>) {
        let mut logged: BTreeMap<Slot, (u64, u64)> = BTreeMap::new();
        for offer in &commit.offers {
            let Some(link) = offers::link(offer, anchor(offer, made)) else { continue };
            let slot = offer.link.host.slot();
            // What a person asks for is asked for again.
            let again = offer.by == anthill_agent::io::Found::Seed;
            if !again && self.outbox.lately.knows(slot, link.fingerprint()) {
                draft.suppressed += 1;
                continue;
            }
            let number = self.outbox.next(slot);
            let log = logged.entry(slot).or_default();
            *log = (number, log.1 + link.cost() as u64);
            draft.batch.put_cf(self.store.cf(Family::Links), key::numbered(slot, number), encode(&link));
        }
        draft.logged.extend(logged.into_iter().map(|(slot, (last, bytes))| (slot, last, bytes)));
    }

    /// Links are durable where they lead.
    pub fn links_sent(&mut self, slot: Slot, fingerprints: &[u64]) {
        self.outbox.lately.enter(slot, fingerprints);
    }

    /// They may have been lost.
    pub fn links_replay(&mut self, slot: Slot) {
        self.outbox.lately.forget(slot);
    }

    /// Links up to this number need not be kept any more.
    ///
    /// # Errors
    /// As all that writes.
    pub fn trim_links(&mut self, slot: Slot, upto: u64) -> Result<()> {
        let mut batch = WriteBatch::default();
        batch.delete_range_cf(
            self.store.cf(Family::Links),
            key::numbered(slot, 0),
            key::numbered(slot, upto.saturating_add(1)),
        );
        self.store.commit(batch)
    }
}

/// The text of a link: of the page that it was found on.
fn anchor<'a>(offer: &'a Offer, made: Option<&'a MadePage>) -> &'a str {
    let found = made.and_then(|made| made.inlinks.iter().find(|link| link.target == offer.link.id));
    found.map_or(&offer.anchor, |link| &link.anchor)
}
