//! Which URLs of a batch are new, and what their hosts' queues gain.
//!
//! Most of what admitting costs is finding places in sorted memory. So a batch is gone through in order of keys, not of
//! arrival: neighbours are found where the last one was.

use super::family::Family;
use super::value::Later;
use super::write::{Draft, Write, Writer, url_fingerprint};
use super::{Result, damaged, key};
use anthill_agent::io::{Admission, Gain};
use anthill_crawler::record::QueueKey;
use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, UrlId};
use anthill_protocol::wire::{decode, encode, encode_into};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of an entry with key, but for long URLs: what a value's buffer begins with.
const ENTRY_BYTES: usize = 256;

/// Keys asked for at once: what is allocated for them stays small enough to be used again.
const ASKED: usize = 512;

impl Writer {
    /// The sieve: of all URLs offered in these commits, in order, which were never admitted and not offered before in
    /// these. They count as known from now on.
    pub(super) fn sift(&mut self, writes: &[Write], draft: &mut Draft<'_>) -> Result<Vec<bool>> {
        let offers = writes.iter().flat_map(|write| &write.commit.admit).map(|admission| admission.id);
        let mut fresh = Vec::new();
        let mut ids: Vec<(UrlId, usize)> = Vec::new();
        for id in offers {
            if !self.recent_urls.contains(url_fingerprint(&id)) {
                ids.push((id, fresh.len()));
            }
            fresh.push(false);
        }
        // The same URL may be offered twice in a batch: the first one is admitted, at its level.
        ids.sort_unstable();
        ids.dedup_by_key(|&mut (id, _)| id);
        let store = Arc::clone(&self.store);
        let cf = store.cf(Family::Seen);
        for ids in ids.chunks(ASKED) {
            let found = store.db.batched_multi_get_cf(cf, ids.iter().map(|(id, _)| id.bytes()), true);
            for ((id, place), result) in ids.iter().zip(found) {
                match result {
                    Ok(None) => {
                        draft.batch.put_cf(cf, id.bytes(), []);
                        draft.urls.push(url_fingerprint(id));
                        self.totals.known += 1;
                        fresh[*place] = true;
                    }
                    Ok(Some(_)) => self.recent_urls.insert(url_fingerprint(id)),
                    Err(e) => return Err(store.failed(e)),
                }
            }
        }
        Ok(fresh)
    }

    /// Gives a URL that is new, or wanted anyway, its number.
    pub(super) fn admit<'a>(&mut self, admission: &'a Admission, new: bool, draft: &mut Draft<'a>) {
        if !new && !admission.force {
            return;
        }
        if admission.entry.untried() {
            *draft.admitted.entry(admission.entry.crawl).or_default() += 1;
        }
        let key = self.next_key(admission.host, admission.level);
        draft.queued.push((key, admission));
    }

    fn next_key(&mut self, host: HostId, level: u8) -> QueueKey {
        self.totals.queue_seq += 1;
        self.totals.queued += 1;
        QueueKey { host, level, seq: self.totals.queue_seq }
    }

    /// Puts what was admitted into the queues.
    pub(super) fn put_queued(&mut self, draft: &mut Draft<'_>) {
        for (&crawl, &count) in &draft.admitted {
            self.totals.untried += count;
            let counts = self.crawls.entry(crawl).or_default();
            counts.admitted += count;
            counts.untried += count;
            draft.touched.insert(crawl);
        }
        draft.queued.sort_unstable_by_key(|&(key, _)| key);
        let cf = self.store.cf(Family::Queue);
        let mut value = Vec::with_capacity(ENTRY_BYTES);
        for gain in draft.queued.chunk_by(|(a, _), (b, _)| (a.host, a.level) == (b.host, b.level)) {
            for (key, admission) in gain {
                value.clear();
                encode_into(&admission.entry, &mut value);
                draft.batch.put_cf(cf, key::queue(key), &value);
            }
            if let Some((key, first)) = gain.first() {
                draft.gained.push(Gain {
                    host: key.host,
                    host_name: first.host_name.clone(),
                    site_name: first.site_name.clone(),
                    level: key.level,
                    count: u32::try_from(gain.len()).unwrap_or(u32::MAX),
                });
            }
        }
    }

    /// Moves scheduled entries that are due by `now`, at most `limit`, into their queues.
    pub(super) fn draft_due(&mut self, now: Instant, limit: usize, draft: &mut Draft<'_>) -> Result<()> {
        let store = Arc::clone(&self.store);
        let mut counts: BTreeMap<(HostId, u8), u32> = BTreeMap::new();
        for entry in store.range(Family::Later, &[], &[]).take(limit) {
            let (k, v) = entry?;
            if key::read_later(&k).is_none_or(|(due, _)| due > now) {
                break;
            }
            let later: Later = decode(&v).map_err(|e| damaged(Family::Later, e))?;
            let host = HostId::from_bytes(later.host);
            draft.batch.delete_cf(store.cf(Family::Later), &k);
            let key = self.next_key(host, later.level);
            draft.batch.put_cf(store.cf(Family::Queue), key::queue(&key), encode(&later.entry));
            *counts.entry((host, later.level)).or_default() += 1;
        }
        for ((host, level), count) in counts {
            let (host_name, site_name) = store.host(&host)?.map(|h| (h.name, h.site)).unwrap_or_default();
            draft.gained.push(Gain { host, host_name, site_name, level, count });
        }
        Ok(())
    }
}
