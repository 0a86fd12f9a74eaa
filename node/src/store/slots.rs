//! What the writer keeps of each slot: how far its changes are, whether its queues are built, and sums.

use super::family::Family;
use super::item::Sums;
use super::value::Totals;
use super::{Result, Store, damaged};
use anthill_crawler::record::CrawlId;
use anthill_protocol::key::{SLOTS, Slot};
use anthill_protocol::wire::{Versioned, decode, encode};
use rocksdb::WriteBatch;
use serde::{Deserialize, Serialize};

/// A slot, as it is written down.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SlotState {
    /// The number of its last change. While the store has no items: 1 if there is anything, or, where others are told of it, more with
    /// each batch that changes something.
    pub head: u64,
    /// Changes up to this one are not told one by one any more.
    pub trimmed: u64,
    /// Whether it is served here: its queues are built, what is admitted goes into them, and it is in the totals.
    pub open: bool,
    /// Sums over it.
    pub sums: Sums,
    /// URLs never tried, by crawl.
    pub untried: Vec<(CrawlId, i64)>,
}

impl Versioned for SlotState {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x10_0000;
}

impl SlotState {
    /// One URL never tried more or less.
    pub fn count_untried(&mut self, crawl: CrawlId, by: i64) {
        self.sums.untried += by;
        match self.untried.iter_mut().find(|(id, _)| *id == crawl) {
            Some((_, count)) => *count += by,
            None => self.untried.push((crawl, by)),
        }
        self.untried.retain(|(_, count)| *count != 0);
    }
}

/// All slots, in memory as on disk but for what is being written.
pub struct Slots {
    states: Vec<SlotState>,
    /// What those that a batch changes were before.
    before: Vec<(Slot, SlotState)>,
    touched: Vec<bool>,
    /// Those of which a batch changes what there is.
    grown: Vec<Slot>,
    /// Whether everything is this peer's, opened or not.
    alone: bool,
}

impl Slots {
    /// As the store has them.
    pub fn load(store: &Store, alone: bool) -> Result<Slots> {
        let mut states = vec![SlotState::default(); SLOTS as usize];
        for entry in store.range(Family::Slots, &[], &[]) {
            let (k, v) = entry?;
            let number = k.as_ref().try_into().map(u16::from_be_bytes).unwrap_or(u16::MAX);
            if let Some(state) = states.get_mut(usize::from(number)) {
                *state = decode(&v).map_err(|e| damaged(Family::Slots, e))?;
            }
        }
        let touched = vec![false; SLOTS as usize];
        Ok(Slots { states, before: Vec::new(), touched, grown: Vec::new(), alone })
    }

    /// A slot.
    pub fn get(&self, slot: Slot) -> &SlotState {
        &self.states[usize::from(slot.number())]
    }

    /// All of which there is anything.
    pub fn all(&self) -> impl Iterator<Item = (Slot, &SlotState)> {
        let all = self.states.iter().enumerate();
        let some = all.filter(|(_, state)| state.head > 0 || state.open);
        some.filter_map(|(number, state)| Some((Slot::new(u16::try_from(number).ok()?)?, state)))
    }

    /// A slot, to be changed with the batch that is being made.
    pub fn at(&mut self, slot: Slot) -> &mut SlotState {
        let number = usize::from(slot.number());
        if !std::mem::replace(&mut self.touched[number], true) {
            self.before.push((slot, self.states[number].clone()));
        }
        &mut self.states[number]
    }

    /// Whether a slot's sums are part of the totals.
    pub fn counts(&self, slot: Slot) -> bool {
        self.alone || self.get(slot).open
    }

    /// Adds to the sums of a slot, and to the totals if it is part of them.
    pub fn tally(&mut self, slot: Slot, by: &Sums, totals: &mut Totals) {
        if self.counts(slot) {
            by.change(totals, 1);
        }
        self.at(slot).sums.add(by, 1);
        self.grow(slot);
    }

    /// The batch that is being made changes what a slot has.
    pub fn grow(&mut self, slot: Slot) {
        if self.grown.last() != Some(&slot) {
            self.grown.push(slot);
        }
    }

    /// Numbers what the batch changes in a store without items: nobody can be told of single changes. Where there is nobody else
    /// (not `shared`), whether there is anything is enough.
    pub fn number(&mut self, shared: bool) {
        for slot in std::mem::take(&mut self.grown) {
            if shared || self.get(slot).head == 0 {
                let state = self.at(slot);
                state.head += 1;
                state.trimmed = if shared { state.head } else { 0 };
            }
        }
    }

    /// Puts what changed into the batch that is being made.
    pub fn draft(&self, store: &Store, batch: &mut WriteBatch) {
        for (slot, _) in &self.before {
            let key = slot.number().to_be_bytes();
            batch.put_cf(store.cf(Family::Slots), key, encode(self.get(*slot)));
        }
    }

    /// The batch is written: slots whose changes count further, and up to where.
    pub fn written(&mut self) -> Vec<(Slot, u64)> {
        self.grown.clear();
        let mut further = Vec::new();
        for (slot, before) in self.before.drain(..) {
            self.touched[usize::from(slot.number())] = false;
            let head = self.states[usize::from(slot.number())].head;
            if head != before.head {
                further.push((slot, head));
            }
        }
        further
    }

    /// The batch was not written.
    pub fn undo(&mut self) {
        self.grown.clear();
        for (slot, before) in self.before.drain(..) {
            self.touched[usize::from(slot.number())] = false;
            self.states[usize::from(slot.number())] = before;
        }
    }
}
