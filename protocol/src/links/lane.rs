//! What the sender has for one peer: slots in line, links read and staged, and whether the peer may be sent to.

use super::message::Part;
use crate::key::Slot;
use crate::time::Instant;
use std::collections::BTreeSet;

/// Everything on its way to one peer. Its links in memory are bounded by [`super::Config::window_each`].
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Slots that have links to send, in the order in which they came.
    pub ready: BTreeSet<(u64, Slot)>,
    /// Bytes that wait in those, more or less: enough for a batch ends the gathering.
    pub gathered: u64,
    /// Until when links are gathered.
    pub gather_until: Option<Instant>,
    /// Bytes of the window in use: being read, staged, sent.
    pub bytes: u64,
    /// Reads under way.
    pub reading: usize,
    /// Parts of the next batch.
    pub staged: Vec<Part>,
    /// Their bytes, with what is around them.
    pub staged_bytes: usize,
    /// Slots whose parts were sent.
    pub flying: BTreeSet<Slot>,
    /// Nothing is sent before.
    pub opens: Instant,
    /// Batches in a row that were not answered.
    pub failures: u32,
    /// Batches with lower numbers were counted as failed.
    pub failed_before: u64,
    /// The timer that is set.
    pub timer: Option<Instant>,
}

impl Lane {
    /// When what is ready may be read, if that is not now.
    pub(super) fn waits_until(&self, enough: u64) -> Instant {
        match self.gather_until {
            Some(until) if self.gathered < enough => self.opens.max(until),
            _ => self.opens,
        }
    }

    /// Bytes that may be read for it. Who does not answer gets one thing at a time.
    pub(super) fn room(&self, window: u64) -> u64 {
        match self.failures > 0 && self.bytes > 0 {
            true => 0,
            false => window.saturating_sub(self.bytes),
        }
    }

    /// Takes a slot's part out of the next batch, if it is there.
    pub(super) fn unstage(&mut self, slot: Slot) {
        self.staged.retain(|part| part.slot != slot);
    }

    /// Nothing is under way, and nothing is to be remembered.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.ready.is_empty()
            && self.bytes == 0
            && self.reading == 0
            && self.failures == 0
            && self.opens <= now
    }
}
