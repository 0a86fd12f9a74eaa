//! The disk of one machine: a map of keys to values, of which a crash keeps what it must and, by chance, more.
//!
//! Writes take effect in the order in which they were asked for, each whole: what a log-structured store promises.
//! A killed process keeps what was written; a machine without power keeps what was synced. Of the rest, a crash
//! keeps a random first part: never a later write without an earlier one. What a process finds when it starts is safe: a store
//! that is opened writes what it recovers from its log to synced tables before it answers (RocksDB does, unless told not to).

use crate::dice::Dice;
use std::collections::{BTreeMap, VecDeque};

/// Writes that the operating system leaves unsynced at most: what is older has reached the disk by itself.
const UNSYNCED: usize = 4096;

/// Names one write of one process, in the order in which they were asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

/// The disk took nothing of a write: it is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the disk is full and nothing of this was written: try again when there is room")]
pub struct DiskFull;

/// Changes that are made together or not at all. `None` removes.
pub type Batch = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// Keys and values as their owner sees them: what it asked to be written can be read at once.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    live: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Writes that a loss of power may undo, oldest first.
    unsafe_yet: VecDeque<Write>,
    full: bool,
}

#[derive(Clone, Debug)]
struct Write {
    ticket: Ticket,
    /// What was there before, in order of the batch.
    before: Batch,
    /// Done as far as the process knows; only the machine can still lose it.
    written: bool,
}

impl Disk {
    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.live.get(key).map(Vec::as_slice)
    }

    /// Keys that begin with `prefix`, and their values, in order of keys.
    pub fn range<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        self.live
            .range::<[u8], _>((std::ops::Bound::Included(prefix), std::ops::Bound::Unbounded))
            .map(|(key, value)| (key.as_slice(), value.as_slice()))
            .take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// True if nothing was ever written, or all was removed.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// True while writes fail.
    pub fn is_full(&self) -> bool {
        self.full
    }

    pub(crate) fn set_full(&mut self, full: bool) {
        self.full = full;
    }

    /// Takes a write; it is done when [`Disk::done`] is told.
    pub(crate) fn write(&mut self, ticket: Ticket, batch: Batch) -> Result<(), DiskFull> {
        if self.full {
            return Err(DiskFull);
        }
        let before = batch
            .into_iter()
            .map(|(key, value)| {
                let old = match value {
                    Some(value) => self.live.insert(key.clone(), value),
                    None => self.live.remove(&key),
                };
                (key, old)
            })
            .collect();
        self.unsafe_yet.push_back(Write { ticket, before, written: false });
        Ok(())
    }

    /// A write, and so all before it, is done; if synced, no crash undoes it.
    pub(crate) fn done(&mut self, ticket: Ticket, synced: bool) {
        if synced {
            while self.unsafe_yet.front().is_some_and(|w| w.ticket <= ticket) {
                self.unsafe_yet.pop_front();
            }
        } else {
            for write in self.unsafe_yet.iter_mut().rev().skip_while(|w| w.ticket > ticket) {
                if write.written {
                    break;
                }
                write.written = true;
            }
            while self.unsafe_yet.len() > UNSYNCED && self.unsafe_yet.front().is_some_and(|w| w.written) {
                self.unsafe_yet.pop_front();
            }
        }
    }

    /// The process ends: of what was not written yet, a random first part has been.
    pub(crate) fn kill(&mut self, dice: &mut Dice) {
        let written = self.unsafe_yet.iter().take_while(|w| w.written).count();
        self.cut(written, dice);
        for write in &mut self.unsafe_yet {
            write.written = true;
            // Tickets of the next process begin anew; nothing may confirm this write in its name.
            write.ticket = Ticket(0);
        }
    }

    /// The machine stops: of what was not synced, a random first part was kept. All that is there now is safe.
    pub(crate) fn lose_power(&mut self, dice: &mut Dice) {
        self.cut(0, dice);
        self.unsafe_yet.clear();
    }

    /// An orderly end, or a process that opens it: everything is synced.
    pub(crate) fn sync(&mut self) {
        self.unsafe_yet.clear();
    }

    /// What a copy of the data folder, made while the process runs, has.
    pub(crate) fn copy(&self, dice: &mut Dice) -> Disk {
        let mut copy = self.clone();
        copy.full = false;
        copy.lose_power(dice);
        copy
    }

    /// Everything is gone.
    pub(crate) fn wipe(&mut self) {
        *self = Disk { full: self.full, ..Disk::default() };
    }

    /// Undoes writes from the last one back to one drawn from those after `kept`.
    fn cut(&mut self, kept: usize, dice: &mut Dice) {
        let cut = kept + dice.index(self.unsafe_yet.len() - kept + 1);
        while self.unsafe_yet.len() > cut {
            let Some(write) = self.unsafe_yet.pop_back() else { return };
            for (key, old) in write.before.into_iter().rev() {
                match old {
                    Some(value) => self.live.insert(key, value),
                    None => self.live.remove(&key),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(disk: &mut Disk, ticket: u64, key: u8) {
        disk.write(Ticket(ticket), vec![(vec![key], Some(vec![key]))]).expect("room");
    }

    fn keys(disk: &Disk) -> Vec<u8> {
        disk.range(&[]).map(|(k, _)| k[0]).collect()
    }

    #[test]
    fn loss_of_power_keeps_what_was_synced_and_a_first_part_of_the_rest() {
        let mut lengths = std::collections::BTreeSet::new();
        for seed in 0..100 {
            let mut disk = Disk::default();
            for n in 1..=5 {
                put(&mut disk, u64::from(n), n);
            }
            disk.done(Ticket(2), true);
            disk.done(Ticket(4), false);
            disk.lose_power(&mut Dice::new(seed, "disk"));
            let kept = keys(&disk);
            assert_eq!(kept, [1, 2, 3, 4, 5][..kept.len()]);
            lengths.insert(kept.len());
        }
        assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [2, 3, 4, 5]);
    }

    #[test]
    fn a_killed_process_keeps_what_was_written() {
        let mut lengths = std::collections::BTreeSet::new();
        for seed in 0..100 {
            let mut disk = Disk::default();
            for n in 1..=5 {
                put(&mut disk, u64::from(n), n);
            }
            disk.done(Ticket(3), false);
            disk.kill(&mut Dice::new(seed, "disk"));
            lengths.insert(disk.len());
        }
        assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [3, 4, 5]);
    }

    #[test]
    fn a_sync_of_the_next_process_makes_what_was_killed_safe_too() {
        let mut disk = Disk::default();
        put(&mut disk, 9, 1);
        disk.done(Ticket(9), false);
        disk.kill(&mut Dice::new(1, "disk"));
        put(&mut disk, 1, 2);
        disk.done(Ticket(1), true);
        disk.lose_power(&mut Dice::new(1, "disk"));
        assert_eq!(keys(&disk), [1, 2]);
    }

    #[test]
    fn undoing_brings_back_what_was_there_and_batches_stay_whole() {
        for seed in 0..50 {
            let mut disk = Disk::default();
            put(&mut disk, 1, 1);
            disk.done(Ticket(1), true);
            let batch = vec![(vec![1], None), (vec![2], Some(vec![9])), (vec![2], Some(vec![8]))];
            disk.write(Ticket(2), batch).expect("room");
            disk.lose_power(&mut Dice::new(seed, "disk"));
            assert!(keys(&disk) == [1] || (keys(&disk) == [2] && disk.get(&[2]) == Some(&[8])));
        }
    }

    #[test]
    fn a_full_disk_takes_nothing() {
        let mut disk = Disk::default();
        disk.set_full(true);
        assert_eq!(disk.write(Ticket(1), vec![(vec![1], Some(vec![]))]), Err(DiskFull));
        assert!(disk.is_empty());
    }
}
