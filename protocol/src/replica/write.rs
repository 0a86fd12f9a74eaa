//! Writes to copies: gathered, and done one at a time for each slot.

use super::copy::{Then, Write};
use super::io::{Effect, Ticket};
use super::item::{Item, Position};
use super::message::Why;
use super::state::{State, Timer};
use crate::key::Slot;
use crate::peer::Keys;
use rand_chacha::rand_core::Rng;

impl<K: Keys> State<K> {
    /// Adds to what is to be written to a slot.
    pub(super) fn write(&mut self, slot: Slot, items: Vec<Item>, position: Option<Position>, then: Then) {
        let copy = self.copy(slot);
        let bytes: u64 = items.iter().map(|one| one.size() as u64).sum();
        copy.received = copy.received.max(position);
        let next = copy.next.get_or_insert_default();
        next.items.extend(items);
        next.bytes += bytes;
        next.position = next.position.max(position);
        if let Then::CaughtUp(token) = then {
            next.held = next.held.max(Some(token));
        }
        next.then.push(then);
        self.applying += bytes;
        self.write_next(slot);
    }

    fn ticket(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    fn write_next(&mut self, slot: Slot) {
        let ticket = Ticket(self.last_ticket + 1);
        let Some(copy) = self.copies.get_mut(&slot) else { return };
        let Some(mut write) = copy.next.take_if(|_| copy.writing.is_none()) else { return };
        let items = std::mem::take(&mut write.items);
        let record = copy.record(slot, &write);
        let urgent = !write.then.iter().all(|then| matches!(then, Then::Ack { lifted: true, .. }));
        copy.writing = Some((ticket, write));
        self.last_ticket += 1;
        self.tickets.insert(ticket, slot);
        self.out.push(Effect::Apply { ticket, slot, items, record, urgent });
    }

    /// A write is done (the slot's last change is now `seq`), or failed.
    pub(super) fn applied(&mut self, ticket: Ticket, seq: Option<u64>) {
        let Some(slot) = self.tickets.remove(&ticket) else { return };
        let Some(copy) = self.copies.get_mut(&slot) else { return };
        let Some(writing) = copy.writing.take_if(|writing| writing.0 == ticket) else { return };
        let (_, write) = writing;
        self.applying -= write.bytes;
        let mut failed = Vec::new();
        match seq {
            Some(seq) => {
                copy.head = copy.head.max(seq);
                copy.position = copy.position.max(write.position);
                copy.held = copy.held.max(write.held);
                for then in write.then {
                    self.written(slot, then);
                }
                self.pump(slot);
            }
            None => {
                // What was to follow would leave a gap.
                let next = copy.next.take().unwrap_or_default();
                self.applying -= next.bytes;
                copy.received = copy.at();
                failed.extend(write.then.into_iter().chain(next.then));
            }
        }
        for then in failed {
            self.not_written(slot, then);
        }
        self.write_next(slot);
    }

    fn written(&mut self, slot: Slot, then: Then) {
        match then {
            Then::Ack { to, counter, upto, lifted } => self.acknowledge(slot, to, counter, upto, lifted),
            Then::Session(id) => self.session_wrote(slot, id),
            Then::Took { to, session } => self.took(slot, to, session),
            Then::CaughtUp(token) => self.caught_up(slot, token),
            Then::Deleted => self.deleted(slot),
        }
    }

    fn not_written(&mut self, slot: Slot, then: Then) {
        match then {
            Then::Ack { to, .. } => self.refuse(to, slot, 0, Why::Full),
            Then::Session(_) => self.end_session(slot),
            Then::Took { to, session } => self.refuse(to, slot, session, Why::Full),
            Then::CaughtUp(_) => {
                let again = self.jitter(self.config.retry.0);
                self.at(again, Timer::CatchUp(slot));
            }
            Then::Deleted => {}
        }
    }

    pub(super) fn write_deletion(&mut self, slot: Slot) {
        let ticket = self.ticket();
        let log = self.rng.next_u64();
        let Some(copy) = self.copies.get_mut(&slot) else { return };
        let write = Write { then: vec![Then::Deleted], ..Write::default() };
        (copy.position, copy.held, copy.received, copy.digest) = (None, None, None, None);
        self.kept.set(None);
        (copy.head, copy.log, copy.writing) = (0, log, Some((ticket, Box::new(write))));
        self.tickets.insert(ticket, slot);
        self.out.push(Effect::Delete { ticket, slot });
    }
}
