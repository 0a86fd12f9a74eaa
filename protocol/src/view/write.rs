//! What is written down, and what waits for it.

use super::io::{Change, Effect, Ticket};
use super::primary::Electors;
use super::state::State;
use super::stored::{Key as StoredKey, Stored};
use crate::peer::Keys;
use crate::time::Instant;
use std::collections::BTreeSet;

/// Records in one write.
const WRITTEN_AT_ONCE: usize = 256;

/// What a write is of.
#[derive(Debug)]
pub(super) enum Write {
    Own { generation: u64, reserved: u64 },
    Electors { attempts: Vec<Electors>, settle: Option<Electors> },
    Others(BTreeSet<StoredKey>),
}

impl<K: Keys> State<K> {
    pub(super) fn ticket(&mut self, write: Write) -> Ticket {
        self.tickets += 1;
        self.writes.insert(Ticket(self.tickets), write);
        Ticket(self.tickets)
    }

    pub(super) fn write_own(&mut self, out: &mut Vec<Effect>) {
        let stored = self.own.to_store();
        let Stored::Own { record, reserved } = &stored else { return };
        let write = Write::Own { generation: record.generation, reserved: *reserved };
        out.push(Effect::Persist(self.ticket(write), vec![Change::Put(Box::new(stored))]));
    }

    pub(super) fn write_electors(&mut self, out: &mut Vec<Effect>) {
        self.electors_write_at = None;
        let settle = self.settling.clone();
        let (attempts, stored) = match (&settle, self.primary.stored()) {
            (Some(last), _) => {
                (Vec::new(), Stored::Electors { last: Some(last.clone()), attempts: Vec::new() })
            }
            (None, Stored::Electors { last, attempts }) => {
                (attempts.clone(), Stored::Electors { last, attempts })
            }
            (None, other) => (Vec::new(), other),
        };
        let ticket = self.ticket(Write::Electors { attempts, settle });
        out.push(Effect::Persist(ticket, vec![Change::Put(Box::new(stored))]));
    }

    /// This is to be written, or taken off the disk.
    pub(super) fn unwritten(&mut self, now: Instant, keys: impl IntoIterator<Item = StoredKey>) {
        self.unwritten.extend(keys);
        if !self.unwritten.is_empty() {
            self.unwritten_at.get_or_insert(now + self.config.write_after);
        }
    }

    pub(super) fn write_others(&mut self, out: &mut Vec<Effect>) {
        let mut keys = std::mem::take(&mut self.unwritten);
        if let Some(rest) = keys.iter().nth(WRITTEN_AT_ONCE).copied() {
            self.unwritten = keys.split_off(&rest);
        } else {
            self.unwritten_at = None;
        }
        let changes = keys.iter().map(|key| match self.stored(key) {
            Some(stored) => Change::Put(Box::new(stored)),
            None => Change::Forget(*key),
        });
        let changes = changes.collect();
        let ticket = self.ticket(Write::Others(keys));
        out.push(Effect::Persist(ticket, changes));
    }

    pub(super) fn stored(&self, key: &StoredKey) -> Option<Stored> {
        match key {
            StoredKey::Member(peer) => self.book.get(peer).map(|known| Stored::Member(known.signed.clone())),
            StoredKey::Tomb(peer) => self.book.tomb(peer).map(|tomb| Stored::Tomb {
                peer: *peer,
                incarnation: tomb.incarnation,
                goodbye: tomb.goodbye.clone(),
                until: tomb.until,
            }),
            StoredKey::Own | StoredKey::Electors => None,
        }
    }

    pub(super) fn persisted(&mut self, now: Instant, ticket: Ticket, out: &mut Vec<Effect>) {
        match self.writes.remove(&ticket) {
            Some(Write::Own { generation, reserved }) => {
                if self.own.stored(generation, reserved, &self.keys) {
                    self.begin(now, out);
                }
            }
            Some(Write::Electors { attempts, settle: None }) => {
                let hear = self.primary.written(&attempts);
                self.ask_soon(now, hear);
                self.review = true;
            }
            Some(Write::Electors { settle: Some(electors), .. }) => {
                self.settling.take_if(|settling| *settling == electors);
                self.primary.settle(electors);
                if !matches!(self.primary.stored(), Stored::Electors { attempts, .. } if attempts.is_empty())
                {
                    self.electors_write_at.get_or_insert(now);
                }
                self.change(now);
            }
            Some(Write::Others(_)) | None => {}
        }
    }

    /// A write failed: what still counts is written again.
    pub(super) fn not_persisted(&mut self, now: Instant, ticket: Ticket) {
        let again = now + self.config.rewrite_after;
        match self.writes.remove(&ticket) {
            Some(Write::Own { .. }) => drop(self.own_write_at.get_or_insert(again)),
            Some(Write::Electors { .. }) => drop(self.electors_write_at.get_or_insert(again)),
            Some(Write::Others(keys)) => self.unwritten(now, keys),
            None => {}
        }
    }
}
