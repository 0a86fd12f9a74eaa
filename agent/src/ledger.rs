//! Which writes are under way, and which hosts they are about.

use anthill_crawler::record::CrawlId;
use anthill_protocol::key::HostId;
use std::collections::VecDeque;

/// Hosts of which one commit tells; these must not be forgotten, or read again, before it is on disk.
pub type About = [Option<HostId>; 2];

/// A commit that was not answered yet.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// The hosts it is about.
    pub about: About,
    /// The crawl it belongs to: until it is answered, nobody knows whether URLs it offers are new, nor can what it brings
    /// be found.
    pub of: Option<CrawlId>,
    /// What was offered by another peer, and is on disk with this.
    pub offered: Option<u64>,
    /// How often slots had been opened when it was asked for.
    pub openings: u64,
}

/// Commits that were not answered yet, in order.
#[derive(Debug, Default)]
pub struct Ledger {
    open: VecDeque<Open>,
}

impl Ledger {
    /// A commit was asked for.
    pub fn push(&mut self, open: Open) {
        self.open.push_back(open);
    }

    /// The oldest one is on disk.
    pub fn pop(&mut self) -> Option<Open> {
        self.open.pop_front()
    }

    /// How often slots had been opened when the oldest one was asked for.
    pub fn openings(&self) -> u64 {
        self.open.front().map_or(u64::MAX, |open| open.openings)
    }

    /// How many are under way.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether everything is on disk.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}
