//! A contract as its manager sees it.

use super::super::io::Effect;
use super::super::state::Common;
use crate::key::Slot;
use crate::time::Instant;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// The contractor was told.
    Awarded,
    /// It has agreed: the lots are moving.
    Moving,
    /// All have moved that will.
    Running,
}

/// Whether the contractor was seen to do anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// Not yet.
    Awaited,
    Seen,
    /// There is no copy here that would show it.
    Unseen,
}

/// A contract in which this peer gave something.
#[derive(Debug)]
pub(super) struct Deal {
    pub stage: Stage,
    /// Whether it was made for ability's sake: then load does not matter to it.
    pub able: bool,
    /// When the stage is over, one way or the other.
    pub until: Instant,
    /// What it is about, and whether that has moved.
    pub lots: BTreeMap<Slot, (u32, bool)>,
    /// Pages in the beginning, and as the contractor said last.
    pub pages: u64,
    pub waiting: u64,
    /// How often something of it was tried, as far as this peer's copies show, and when its contractor was last seen to do anything.
    pub tried: BTreeMap<Slot, u64>,
    pub moved_on: Instant,
    pub work: Work,
    /// In which its contractor would be done with all that it had then, as it said.
    pub done_in: Duration,
    /// How long the slowest host of it wants to be left alone between two requests.
    pub delay: Duration,
}

impl Deal {
    /// Pages that are promised and still here.
    pub fn pending(&self) -> u64 {
        self.lots.values().filter(|(_, gone)| !gone).map(|(pages, _)| u64::from(*pages)).sum()
    }

    /// Whether little of it was done, as the contractor says.
    pub fn is_hardly_begun(&self) -> bool {
        self.waiting.saturating_mul(4) > self.pages.saturating_mul(3)
    }

    /// Lots that have not gone stay.
    pub fn withdraw(&mut self, out: &mut Vec<Effect>) {
        let pending = self.lots.iter().filter(|(_, (_, gone))| !gone);
        out.extend(pending.map(|(slot, _)| Effect::Withdraw(*slot)));
        self.lots.retain(|_, (_, gone)| *gone);
    }

    /// All have gone that will.
    pub fn run(&mut self, common: &Common) {
        self.stage = Stage::Running;
        self.moved_on = common.now;
        self.until = common.now + common.config.limit + common.config.arrival;
    }
}
