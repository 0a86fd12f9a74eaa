//! What crawls and exclusions want written down: gathered, since most of it comes back from others if it is lost.

use super::io::{Change, Ticket};
use anthill_crawler::time::Instant;
use anthill_protocol::epidemic::ItemKey;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long what changes all the time waits to be written.
const GATHER: Duration = Duration::from_secs(10);
/// What waits for the disk at most; beyond it the rest goes at once.
const MAX_WAITING: usize = 4_096;

/// Changes by what they are of: crawls (false) or exclusions (true), and key.
#[derive(Debug, Default)]
pub(super) struct Unwritten {
    changes: BTreeMap<(bool, ItemKey), Change>,
    due: Option<Instant>,
    writing: BTreeMap<Ticket, Vec<Change>>,
}

impl Unwritten {
    /// Something is to be written: now, with what waits, or when it was gathered for a while.
    pub fn put(&mut self, change: Change, soon: bool, now: Instant) {
        let name = match &change {
            Change::Crawl(key, _) => (false, *key),
            Change::Exclusion(key, _) => (true, *key),
            _ => return,
        };
        self.changes.insert(name, change);
        let soon = soon || self.changes.len() >= MAX_WAITING;
        let due = if soon { now } else { now + GATHER };
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }

    /// What waits is to be written now.
    pub fn hurry(&mut self, now: Instant) {
        self.due = self.due.map(|before| before.min(now));
    }

    /// When something is to be written.
    pub fn deadline(&self) -> Option<Instant> {
        self.due
    }

    /// What is to be written now.
    pub fn take(&mut self, now: Instant) -> Vec<Change> {
        match self.due.take_if(|due| *due <= now) {
            Some(_) => std::mem::take(&mut self.changes).into_values().collect(),
            None => Vec::new(),
        }
    }

    /// It is being written.
    pub fn writing(&mut self, ticket: Ticket, changes: Vec<Change>) {
        self.writing.insert(ticket, changes);
    }

    /// It is written, or is to be written again, except where something later waits.
    pub fn written(&mut self, ticket: Ticket, done: bool, now: Instant) {
        for change in self.writing.remove(&ticket).into_iter().flatten().filter(|_| !done) {
            let name = match &change {
                Change::Crawl(key, _) => (false, *key),
                Change::Exclusion(key, _) => (true, *key),
                _ => continue,
            };
            self.changes.entry(name).or_insert(change);
            self.due.get_or_insert(now + GATHER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gathered_waits_unless_it_is_hurried() {
        let now = Instant::from_unix_s(1_700_000_000);
        let mut unwritten = Unwritten::default();
        unwritten.hurry(now);
        assert_eq!(unwritten.deadline(), None, "nothing waits");
        unwritten.put(Change::Crawl(ItemKey([1; 16]), None), false, now);
        assert_eq!(unwritten.take(now), []);
        unwritten.hurry(now);
        assert_eq!(unwritten.take(now).len(), 1);
        assert_eq!(unwritten.deadline(), None);
    }
}
