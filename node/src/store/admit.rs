//! Which URLs of a batch are new, and what their hosts' queues gain.
//!
//! Most of what admitting costs is finding places in sorted memory. So a batch is gone through in order of keys, not of
//! arrival: neighbours are found where the last one was.

use super::block::{self, Block};
use super::family::Family;
use super::item::{Kind, State, Sums, item_key};
use super::queue::names_of;
use super::sieve;
use super::value::Later;
use super::write::{Draft, Write, Writer, url_fingerprint};
use super::{Result, damaged, key};
use anthill_agent::io::{Admission, Gain, Moved};
use anthill_crawler::record::{QueueEntry, QueueKey};
use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, UrlId};
use anthill_protocol::wire::{decode, encode, encode_into};
use std::sync::Arc;

/// Bytes of a block, but for long URLs: what a value's buffer begins with.
const BLOCK_BYTES: usize = 8 << 10;

/// An entry on its way into a queue.
pub(super) struct Arrival<'a> {
    pub(super) host: HostId,
    pub(super) level: u8,
    /// Its place in the order of arrival.
    pub(super) order: usize,
    pub(super) entry: &'a QueueEntry,
    /// Of its host and site; empty where the URL is to say.
    pub(super) names: (&'a str, &'a str),
    /// Whether it was in this queue before, at another level.
    pub(super) moved: bool,
}

impl Writer {
    /// The sieve: of all URLs offered in these commits, in order, which were never admitted and not offered before in
    /// these. They count as known from now on, and so do pages that nobody offered: those of archives.
    pub(super) fn sift(&mut self, writes: &[Write], draft: &mut Draft<'_>) -> Result<Vec<bool>> {
        let mut asked: Vec<(u128, usize)> = Vec::new();
        let mut fresh = Vec::new();
        let offers = writes.iter().flat_map(|write| &write.commit.admit).map(|admission| admission.id);
        for id in offers {
            if !self.recent_urls.contains(url_fingerprint(&id)) {
                asked.push((sieve::number(&id), fresh.len()));
            }
            fresh.push(false);
        }
        for Write { commit, .. } in writes {
            if let (None, Some((id, _))) = (commit.done, &commit.record) {
                asked.push((sieve::number(id), usize::MAX));
            }
        }
        // The same URL may be offered twice in a batch: the first one is admitted, at its level.
        asked.sort_unstable();
        asked.dedup_by_key(|&mut (id, _)| id);
        let store = Arc::clone(&self.store);
        let ids: Vec<u128> = asked.iter().map(|&(id, _)| id).collect();
        let known = match self.itemized {
            true => self.have_items(&ids)?,
            false => self.sieve.known(&store, &ids)?,
        };
        for ((id, place), known) in asked.into_iter().zip(known) {
            if known {
                self.recent_urls.insert(url_fingerprint(&UrlId::from_bytes(id.to_be_bytes())));
                continue;
            }
            draft.urls.push(id);
            let slot = UrlId::from_bytes(id.to_be_bytes()).slot();
            self.slots.tally(slot, &Sums { known: 1, ..Sums::default() }, &mut self.totals);
            if let Some(fresh) = fresh.get_mut(place) {
                *fresh = true;
            }
        }
        if !self.itemized {
            self.sieve.admit(&store, &draft.urls, &mut draft.batch);
        }
        Ok(fresh)
    }

    /// Takes a URL that is new, or wanted anyway, for its host's queue.
    pub(super) fn admit<'a>(
        &mut self,
        admission: &'a Admission,
        new: bool,
        draft: &mut Draft<'a>,
    ) -> Result<()> {
        if !new && (!admission.force || !self.is_wanted_again(admission)?) {
            return Ok(());
        }
        if self.itemized {
            let Admission { id, host, level, entry, .. } = admission;
            let state = State::Queued { host: *host, level: *level, entry: entry.clone() };
            draft.edits.state(id, state);
        }
        if admission.entry.untried() {
            *draft.admitted.entry((admission.entry.crawl, admission.host.slot())).or_default() += 1;
        }
        let Admission { host, level, entry, .. } = admission;
        let names = (admission.host_name.as_str(), admission.site_name.as_str());
        let order = draft.queued.len();
        draft.queued.push(Arrival { host: *host, level: *level, order, entry, names, moved: false });
        Ok(())
    }

    /// Takes entries to other levels of their queue, where they still wait in it: its slot may be another's meanwhile.
    pub(super) fn move_entries<'a>(&mut self, moved: &'a [Moved], draft: &mut Draft<'a>) -> Result<()> {
        let block = |moved: &Moved| {
            let QueueKey { host, level, seq } = moved.item.key;
            (host, level, block::block_of(seq))
        };
        for of_block in moved.chunk_by(|a, b| block(a) == block(b)) {
            let Some((host, level, number)) = of_block.first().map(block) else { continue };
            let Some(marks) = self.store.marks(&host, level, number)? else { continue };
            let waits = |moved: &&Moved| marks.done & block::mark_of(moved.item.key.seq) == 0;
            self.slots.grow(host.slot());
            for Moved { item, to } in of_block.iter().filter(waits) {
                draft.done.push(item.key);
                let (order, entry) = (draft.queued.len(), &item.entry);
                if self.itemized {
                    let kept = self.store.kept(&item_key(Kind::Url, item.id.bytes()))?;
                    if !matches!(kept.and_then(|kept| kept.state), Some(State::Queued { .. })) {
                        // Another peer has it behind it.
                        if entry.untried() {
                            *draft.gone.entry((entry.crawl, host.slot())).or_default() += 1;
                        }
                        continue;
                    }
                    let state = State::Queued { host, level: *to, entry: entry.clone() };
                    draft.edits.state(&item.id, state);
                }
                draft.queued.push(Arrival { host, level: *to, order, entry, names: ("", ""), moved: true });
            }
        }
        Ok(())
    }

    /// Whether a URL that is known is to be tried again because a crawl asks for it: not if that crawl tried it, or it waits for that.
    /// A seed may be sent twice.
    fn is_wanted_again(&self, admission: &Admission) -> Result<bool> {
        let crawl = admission.entry.crawl;
        if self.itemized {
            let kept = self.store.kept(&item_key(Kind::Url, admission.id.bytes()))?;
            return Ok(match kept.and_then(|kept| kept.state) {
                // It is fetched soon, for whomever.
                Some(State::Queued { .. }) => false,
                Some(State::Later { entry, .. }) => entry.crawl != crawl,
                Some(State::Done(by)) => by != crawl,
                None => true,
            });
        }
        if self.store.url(&admission.id)?.is_some_and(|record| record.crawl == crawl) {
            return Ok(false);
        }
        let waits = self.store.find_queued(admission.host, &admission.entry.url)?;
        Ok(!waits.is_ok_and(|item| item.is_some_and(|item| item.entry.crawl == crawl)))
    }

    /// Puts what was admitted into the queues.
    pub(super) fn put_admitted(&mut self, draft: &mut Draft<'_>) {
        for ((crawl, slot), count) in draft.admitted.clone() {
            self.count_untried(slot, crawl, i64::try_from(count).unwrap_or(i64::MAX), draft);
            self.crawls.entry(crawl).or_default().admitted += count;
            draft.touched.insert(crawl);
        }
        let queued = std::mem::take(&mut draft.queued);
        self.put_queued(queued, draft);
    }

    /// Puts entries into their hosts' queues, in order of arrival.
    pub(super) fn put_queued(&mut self, mut arrivals: Vec<Arrival<'_>>, draft: &mut Draft<'_>) {
        arrivals.sort_unstable_by_key(|a| (a.host, a.level, a.order));
        let store = Arc::clone(&self.store);
        let cf = store.cf(Family::Queue);
        let mut value = Vec::with_capacity(BLOCK_BYTES);
        for gain in arrivals.chunk_by(|a, b| (a.host, a.level) == (b.host, b.level)) {
            let Some(&Arrival { host, level, .. }) = gain.first() else { continue };
            let queued = Sums { queued: gain.len() as i64, ..Sums::default() };
            self.slots.tally(host.slot(), &queued, &mut self.totals);
            let mut rest = gain;
            while !rest.is_empty() {
                let (packed, count) = Block::pack(rest.iter().map(|arrival| arrival.entry));
                let number = block::block_of(self.totals.queue_seq) + 1;
                self.totals.queue_seq = block::seq_of(number, count - 1);
                value.clear();
                encode_into(&packed, &mut value);
                draft.batch.put_cf(cf, key::block(&host, level, number), &value);
                rest = &rest[count..];
            }
            let named = gain.iter().map(|arrival| arrival.names).find(|(name, _)| !name.is_empty());
            let named = named.map(|(host, site)| (host.to_owned(), site.to_owned()));
            // A host that is not known yet cannot be looked up without its name.
            let urls = gain.iter().map(|arrival| arrival.entry.url.as_str());
            let Some((host_name, site_name)) = named.or_else(|| urls.filter_map(names_of).next()) else {
                tracing::warn!(host = %host, "URLs of another peer that are none are left where they are");
                continue;
            };
            let count = gain.iter().filter(|arrival| !arrival.moved).count();
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            draft.gained.push(Gain { host, host_name, site_name, level, count });
        }
    }

    /// Marks entries that are done with; their blocks go when all of theirs are.
    pub(super) fn put_done(&mut self, draft: &mut Draft<'_>) -> Result<()> {
        let store = Arc::clone(&self.store);
        let cf = store.cf(Family::Queue);
        draft.done.sort_unstable();
        let of = |key: &QueueKey| (key.host, key.level, block::block_of(key.seq));
        for done in draft.done.chunk_by(|a, b| of(a) == of(b)) {
            let Some((host, level, number)) = done.first().map(of) else { continue };
            // There is none where the slot was closed meanwhile.
            let Some(mut marks) = store.marks(&host, level, number)? else { continue };
            let before = marks.done.count_ones();
            marks.done |= done.iter().fold(0, |bits, key| bits | block::mark_of(key.seq));
            let fewer =
                Sums { queued: i64::from(before) - i64::from(marks.done.count_ones()), ..Sums::default() };
            self.slots.tally(host.slot(), &fewer, &mut self.totals);
            let key = key::block(&host, level, number);
            if marks.complete() {
                draft.batch.delete_cf(cf, key);
                draft.batch.delete_cf(cf, key::marks(&key));
            } else {
                draft.batch.put_cf(cf, key::marks(&key), encode(&marks));
            }
        }
        Ok(())
    }

    /// Moves scheduled entries that are due by `now`, at most `limit`, into their queues.
    pub(super) fn draft_due(&mut self, now: Instant, limit: usize, draft: &mut Draft<'_>) -> Result<()> {
        let store = Arc::clone(&self.store);
        let mut due = Vec::new();
        for entry in store.range(Family::Later, &[], &[]).take(limit) {
            let (k, v) = entry?;
            let Some((at, id)) = key::read_later(&k).filter(|(at, _)| *at <= now) else { break };
            draft.batch.delete_cf(store.cf(Family::Later), &k);
            if self.comes_back(&id, at)? {
                due.push(decode::<Later>(&v).map_err(|e| damaged(Family::Later, e))?);
            }
        }
        let arrivals = due.iter().enumerate().map(|(order, later)| Arrival {
            host: HostId::from_bytes(later.host),
            level: later.level,
            order,
            entry: &later.entry,
            names: ("", ""),
            moved: false,
        });
        self.put_queued(arrivals.collect(), draft);
        Ok(())
    }
}
