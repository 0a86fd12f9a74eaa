//! Which writes are under way, and which hosts they are about.

use anthill_protocol::key::HostId;
use std::collections::VecDeque;

/// Hosts of which one commit tells; these must not be forgotten, or read again, before it is on disk.
pub type About = [Option<HostId>; 2];

/// Commits that were not answered yet, in order.
#[derive(Debug, Default)]
pub struct Ledger {
    open: VecDeque<About>,
}

impl Ledger {
    /// A commit was asked for.
    pub fn push(&mut self, about: About) {
        self.open.push_back(about);
    }

    /// The oldest one is on disk.
    pub fn pop(&mut self) -> Option<About> {
        self.open.pop_front()
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
