//! What does not come back when a contract is over.

use super::io::Effect;
use crate::key::Slot;
use crate::time::Instant;
use std::collections::BTreeMap;
use std::time::Duration;

/// Slots that are to come back, and when each is asked for next: at most all that there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Overdue {
    slots: BTreeMap<Slot, (Instant, u32)>,
}

/// So often is a slot asked for. Then whoever should hold it is somebody else, or those that keep it are gone.
const MOST_TRIES: u32 = 20;

impl Overdue {
    /// It is to come back within so long.
    pub fn expect(&mut self, slot: Slot, by: Instant) {
        self.slots.insert(slot, (by, 0));
    }

    /// It has come, or goes by another contract.
    pub fn came(&mut self, slot: Slot) {
        self.slots.remove(&slot);
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.slots.values().map(|(at, _)| *at).min()
    }

    /// Asks for what is late, and does so again after a pause.
    pub fn tick(&mut self, now: Instant, pause: Duration, out: &mut Vec<Effect>) {
        for (slot, (at, tries)) in self.slots.iter_mut().filter(|(_, (at, _))| *at <= now) {
            (*at, *tries) = (now + pause, *tries + 1);
            out.push(Effect::Revoke(*slot));
        }
        self.slots.retain(|_, (_, tries)| *tries < MOST_TRIES);
    }
}
