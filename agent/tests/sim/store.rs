//! A store in memory, with the semantics that the real one must have: what was applied survives a crash.

use anthill_agent::io::{Commit, Gain, Moved, Permit, Scheme, StoredHost};
use anthill_crawler::record::{
    CrawlId, CrawlRecord, HostRecord, QueueEntry, QueueItem, QueueKey, RobotsRecord, UrlRecord,
};
use anthill_crawler::time::Instant;
use anthill_protocol::key::{HostId, SiteId, Slot, UrlId};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub struct Store {
    pub queues: BTreeMap<QueueKey, (UrlId, QueueEntry)>,
    pub seen: BTreeSet<UrlId>,
    pub records: BTreeMap<UrlId, UrlRecord>,
    pub hosts: BTreeMap<HostId, HostRecord>,
    pub robots: BTreeMap<(HostId, Scheme), RobotsRecord>,
    pub crawls: BTreeMap<CrawlId, CrawlRecord>,
    pub entered: BTreeSet<(CrawlId, SiteId)>,
    pub due: BTreeMap<(Instant, UrlId), (HostId, u8, QueueEntry)>,
    /// By run and permit.
    pub in_flight: BTreeMap<(u32, u64), Permit>,
    pub seq: u64,
    /// Entries that went to another level.
    pub moves: u64,
}

/// What came of some commits.
#[derive(Default)]
pub struct Applied {
    pub gains: BTreeMap<(HostId, u8), Gain>,
    pub admitted: BTreeMap<(CrawlId, Slot), u64>,
}

impl Applied {
    fn gain(&mut self, host: HostId, name: &str, site: &str, level: u8, count: u32) {
        let gain = Gain { host, host_name: name.into(), site_name: site.into(), level, count: 0 };
        self.gains.entry((host, level)).or_insert(gain).count += count;
    }
}

impl Store {
    pub fn apply(&mut self, run: u32, commit: Commit, applied: &mut Applied) {
        if let Some(permit) = commit.permit {
            assert!(self.in_flight.remove(&(run, permit.0)).is_some(), "{permit:?} ended twice");
        }
        if let Some((key, untried, crawl)) = commit.done {
            let (_, entry) = self.queues.remove(&key).expect("done with what was queued");
            assert_eq!(entry.untried(), untried);
            assert_eq!(entry.crawl, crawl);
            if untried {
                self.crawls.get_mut(&crawl).expect("known").untried -= 1;
            }
        }
        if let Some((id, record)) = commit.record {
            self.records.insert(id, *record);
        }
        for (id, record) in commit.hosts {
            assert!(!record.name.is_empty());
            self.hosts.insert(id, record);
        }
        for (host, scheme, record) in commit.robots {
            self.robots.insert((host, scheme), record);
        }
        for mut record in commit.crawls {
            let known = self.crawls.entry(record.id).or_default();
            record.admitted = known.admitted;
            record.untried = known.untried;
            *known = record;
        }
        self.entered.extend(commit.entered);
        for admission in commit.admit {
            if !self.seen.insert(admission.id) && !admission.force {
                continue;
            }
            let crawl = self.crawls.entry(admission.entry.crawl).or_default();
            crawl.admitted += 1;
            crawl.untried += 1;
            *applied.admitted.entry((admission.entry.crawl, admission.host.slot())).or_default() += 1;
            applied.gain(admission.host, &admission.host_name, &admission.site_name, admission.level, 1);
            self.hosts.entry(admission.host).or_insert_with(|| HostRecord {
                name: admission.host_name,
                site: admission.site_name,
                ..HostRecord::default()
            });
            self.push(admission.host, admission.level, admission.id, admission.entry);
        }
        for Moved { item, to } in commit.moved {
            let (id, entry) = self.queues.remove(&item.key).expect("it waits where it is said to");
            assert!((id, &entry) == (item.id, &item.entry) && to > item.key.level);
            let record = self.hosts[&item.key.host].clone();
            applied.gain(item.key.host, &record.name, &record.site, to, 0);
            self.push(item.key.host, to, id, entry);
            self.moves += 1;
        }
        if let Some((at, id, host, level, entry)) = commit.schedule {
            self.due.insert((at, id), (host, level, entry));
        }
    }

    fn push(&mut self, host: HostId, level: u8, id: UrlId, entry: QueueEntry) {
        self.seq += 1;
        self.queues.insert(QueueKey { host, level, seq: self.seq }, (id, entry));
    }

    pub fn promote(&mut self, now: Instant, limit: u32, applied: &mut Applied) {
        for _ in 0..limit {
            let Some(entry) = self.due.first_entry().filter(|entry| entry.key().0 <= now) else { return };
            let ((_, id), (host, level, entry)) = entry.remove_entry();
            let record = &self.hosts[&host];
            applied.gain(host, &record.name.clone(), &record.site.clone(), level, 1);
            self.push(host, level, id, entry);
        }
    }

    pub fn next_due(&self) -> Option<Instant> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    pub fn front(&self, host: HostId, level: u8, after: u64, limit: u32) -> (Vec<QueueItem>, bool) {
        let from = QueueKey { host, level, seq: after + 1 };
        let to = QueueKey { host, level, seq: u64::MAX };
        let mut items = self.queues.range(from..=to).map(|(&key, (id, entry))| QueueItem {
            key,
            id: *id,
            entry: entry.clone(),
        });
        let front = items.by_ref().take(limit as usize).collect();
        (front, items.next().is_some())
    }

    pub fn robots_of(&self, host: HostId) -> [Option<RobotsRecord>; 2] {
        [Scheme::Http, Scheme::Https].map(|scheme| self.robots.get(&(host, scheme)).cloned())
    }

    pub fn stored_hosts(&self) -> Vec<StoredHost> {
        let mut hosts: BTreeMap<HostId, u8> = BTreeMap::new();
        for key in self.queues.keys() {
            let first = hosts.entry(key.host).or_insert(key.level);
            *first = (*first).min(key.level);
        }
        let stored = |(id, first_level)| StoredHost { id, record: self.hosts[&id].clone(), first_level };
        hosts.into_iter().map(stored).collect()
    }
}
