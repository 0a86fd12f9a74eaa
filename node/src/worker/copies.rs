//! What the swarm's protocols want of the writing thread: records that are synced before anything is promised, copies of slots, the link
//! log, and slots that come to be served here.

use super::write::{SYNC_EVERY, WriteThread};
use crate::driver::ToDriver;
use crate::store::merge::Copied;
use crate::store::served::Opened;
use anthill_agent::io as crawl;
use anthill_agent::peer::io::{Applied, Change, Input, Ticket};
use anthill_protocol::key::Slot;
use anthill_protocol::links::Cursor;
use anthill_protocol::replica::{self, Answer, Item, Read, ReadId, Record};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Bytes of copies that are written together, about.
const MERGED: usize = 4 << 20;
/// What is promised waits for the disk at most so long: what comes meanwhile shares the sync.
const GATHER: Duration = Duration::from_millis(10);
/// Changes of copies wait so long: other peers do not get them before. Each sync is a message about each slot that changed, to each of
/// its keepers, and its acknowledgement.
const CHANGES: Duration = Duration::from_millis(250);

/// What is wanted. Each with an answer has exactly one, synced where that is promised.
pub enum Work {
    /// Write records.
    Persist(Ticket, Vec<Change>),
    /// Write how far link logs are durable elsewhere; no answer.
    Cursors(Vec<(Slot, Cursor)>),
    /// Merge items into a slot.
    Apply {
        /// For the answer.
        ticket: replica::Ticket,
        /// Which.
        slot: Slot,
        /// What.
        items: Vec<Item>,
        /// The copy's record.
        record: Record,
        /// Whether it waits for the disk as promises do, or as changes.
        urgent: bool,
    },
    /// Delete a slot.
    Delete(replica::Ticket, Slot),
    /// Read of a slot.
    Read(ReadId, Read),
    /// Read links for others.
    ReadLinks {
        /// Whose.
        slot: Slot,
        /// After this number.
        after: u64,
        /// About so many bytes.
        limit_bytes: u64,
    },
    /// Links up to a number need not be kept; no answer.
    TrimLinks(Slot, u64),
    /// Links are durable where they lead; no answer.
    LinksSent(Slot, Vec<u64>),
    /// They may have been lost; no answer.
    LinksReplay(Slot),
    /// Slots are served here.
    Open(Vec<Slot>),
    /// Slots are not served here; no answer.
    Close(Vec<Slot>),
    /// There are others; no answer.
    Share {
        /// Whether they are to have copies of what there is.
        copied: bool,
    },
}

impl Work {
    /// Whether it may be done some hundredths of a second later.
    pub(super) fn can_wait(&self) -> bool {
        matches!(
            self,
            Work::Apply { urgent: false, .. }
                | Work::Cursors(_)
                | Work::TrimLinks(..)
                | Work::LinksSent(..)
                | Work::LinksReplay(_)
        )
    }
}

/// What waits for the log to be synced.
#[derive(Default)]
pub struct Unsynced {
    /// Answers, and what they are if syncing fails.
    answers: Vec<(Input, Input)>,
    /// Those that may wait as long as changes.
    patient: Vec<(Input, Input)>,
    /// The last changes of slots.
    heads: BTreeMap<Slot, u64>,
    /// The last changes that are synced.
    synced: BTreeMap<Slot, u64>,
    /// Records of copies to which no item comes: a peer takes up thousands of slots at once, and they share a write.
    records: Vec<(replica::Ticket, Record)>,
    /// Copies to be written together, of each slot one, and their bytes.
    copies: BTreeMap<Slot, Gathered>,
    copied_bytes: usize,
}

/// Items of others for a slot.
struct Gathered {
    ticket: replica::Ticket,
    items: Vec<Item>,
    record: Record,
    urgent: bool,
}

impl Unsynced {
    /// Nothing waits; slots are synced up to here.
    pub fn new(heads: impl Iterator<Item = (Slot, u64)>) -> Unsynced {
        Unsynced { synced: heads.collect(), ..Unsynced::default() }
    }

    /// Whether something does.
    pub(super) fn waits(&self) -> bool {
        !(self.answers.is_empty() && self.patient.is_empty() && self.heads.is_empty())
    }

    /// How long the log may stay unsynced.
    pub(super) fn patience(&self) -> Duration {
        match (self.answers.is_empty(), self.patient.is_empty() && self.heads.is_empty()) {
            (false, _) => GATHER,
            (true, false) => CHANGES,
            (true, true) => SYNC_EVERY,
        }
    }
}

impl WriteThread {
    fn tell(&self, input: Input) {
        let _ = self.driver.send(ToDriver::Peer(Box::new(input)));
    }

    /// Changes and links that were written have numbers.
    pub(super) fn tell_numbers(&mut self, mut numbered: Vec<(Slot, u64)>, logged: Vec<(Slot, u64, u64)>) {
        numbered.extend(self.writer.take_itemized());
        if !numbered.is_empty() {
            let count = |(slot, _): &(Slot, u64)| (*slot, self.writer.documents(*slot));
            self.shared.set_documents(numbered.iter().map(count));
            self.unsynced.heads.extend(numbered.iter().copied());
            self.tell(Input::Numbered(numbered));
        }
        if !logged.is_empty() {
            self.tell(Input::Logged(logged));
        }
    }

    /// Makes everything written safe, and says so.
    pub(super) fn sync(&mut self) {
        let synced = self.store.sync();
        let mut answers = std::mem::take(&mut self.unsynced.answers);
        answers.append(&mut self.unsynced.patient);
        match synced {
            Ok(()) => {
                answers.into_iter().for_each(|(done, _)| self.tell(done));
                let heads = std::mem::take(&mut self.unsynced.heads);
                if !heads.is_empty() {
                    self.unsynced.synced.extend(heads.iter().map(|(slot, head)| (*slot, *head)));
                    self.tell(Input::Synced(heads.into_iter().collect()));
                }
            }
            Err(error) => {
                tracing::error!(%error, "the log could not be synced");
                answers.into_iter().for_each(|(_, failed)| self.tell(failed));
            }
        }
    }

    /// Writes what is gathered of copies.
    pub(super) fn put_copies(&mut self) {
        self.put_records();
        self.merge_copies();
    }

    fn put_records(&mut self) {
        let records = std::mem::take(&mut self.unsynced.records);
        if records.is_empty() {
            return;
        }
        let put = self.store.put_copies(records.iter().map(|(_, record)| record));
        if let Err(error) = &put {
            tracing::error!(%error, "records of copies could not be written");
        }
        for (ticket, record) in records {
            let head = self.writer.slot(record.slot).head;
            match put {
                Ok(()) => {
                    let done = Input::Applied(ticket, Applied { head, ..Applied::default() });
                    self.unsynced.answers.push((done, Input::NotApplied(ticket)));
                }
                Err(_) => self.tell(Input::NotApplied(ticket)),
            }
        }
    }

    pub(super) fn work(&mut self, work: Work) {
        // Nobody waits for it any more; what others keep they have.
        if self.shared.ending.load(Ordering::Relaxed) {
            return;
        }
        let work = match work {
            Work::Apply { ticket, slot, items, record, urgent } => {
                return self.gather_copy(slot, Gathered { ticket, items, record, urgent });
            }
            other => other,
        };
        self.put_copies();
        match work {
            Work::Persist(ticket, changes) => match self.store.put_records(&changes) {
                Ok(()) => self.unsynced.answers.push((Input::Persisted(ticket), Input::NotPersisted(ticket))),
                Err(error) => {
                    tracing::error!(%error, "records of the swarm could not be written");
                    self.tell(Input::NotPersisted(ticket));
                }
            },
            Work::Apply { .. } => unreachable!("taken above"),
            Work::Delete(ticket, slot) => match self.writer.delete_slot(slot) {
                Ok(written) => {
                    self.aside(written);
                    self.shared.set_documents(std::iter::once((slot, 0)));
                    self.unsynced.heads.remove(&slot);
                    self.unsynced.synced.remove(&slot);
                    let done = Input::Applied(ticket, Applied::default());
                    self.unsynced.answers.push((done, Input::NotApplied(ticket)));
                }
                Err(error) => {
                    tracing::error!(%error, slot = slot.number(), "a copy could not be deleted");
                    self.tell(Input::NotApplied(ticket));
                }
            },
            Work::Read(id, what) => self.read(id, what),
            Work::ReadLinks { slot, after, limit_bytes } => {
                let store = std::sync::Arc::clone(&self.store);
                let read = self.persistently(|_| store.read_links(slot, after, limit_bytes));
                let Some((links, upto)) = read else { return };
                self.tell(Input::LogRead { slot, after, links, upto });
            }
            Work::Open(slots) => self.open(&slots),
            Work::Close(slots) => {
                self.persistently(|writer| writer.close_slots(&slots));
                // What another holds from now on is counted there.
                self.shared.set_totals(self.writer.totals(), self.writer.crawl_counts());
            }
            Work::Share { copied } => {
                self.persistently(|writer| writer.share(copied));
                self.tell_numbers(Vec::new(), Vec::new());
            }
            Work::Cursors(cursors) => or_say(self.store.put_cursors(&cursors)),
            Work::TrimLinks(slot, upto) => or_say(self.writer.trim_links(slot, upto)),
            Work::LinksSent(slot, fingerprints) => self.writer.links_sent(slot, &fingerprints),
            Work::LinksReplay(slot) => self.writer.links_replay(slot),
        }
    }

    /// Answers a read.
    pub(super) fn read(&mut self, id: ReadId, what: Read) {
        let (slot, is_urgent) = (what.slot(), !is_of_changes(&what));
        let synced = self.unsynced.synced.get(&slot).copied().unwrap_or(0);
        let answer = self.writer.read(what, synced).unwrap_or_else(|error| {
            tracing::error!(%error, "a copy could not be read");
            Answer::Failed
        });
        self.tell_numbers(Vec::new(), Vec::new());
        if !self.unsynced.heads.contains_key(&slot) {
            return self.tell(Input::Read(id, answer));
        }
        // Nobody is shown what a loss of power may undo.
        let waits = if is_urgent { &mut self.unsynced.answers } else { &mut self.unsynced.patient };
        waits.push((Input::Read(id, answer), Input::Read(id, Answer::Failed)));
    }

    /// Takes a copy to be written with others. Of one slot nothing overtakes what came before.
    fn gather_copy(&mut self, slot: Slot, copy: Gathered) {
        if self.unsynced.copies.contains_key(&slot) {
            self.merge_copies();
        }
        if copy.items.is_empty() {
            return self.unsynced.records.push((copy.ticket, copy.record));
        }
        if self.unsynced.records.iter().any(|(_, record)| record.slot == slot) {
            self.put_records();
        }
        self.unsynced.copied_bytes += copy.items.iter().map(Item::size).sum::<usize>();
        self.unsynced.copies.insert(slot, copy);
        if self.unsynced.copied_bytes >= MERGED {
            self.merge_copies();
        }
    }

    /// Writes items that are gathered: what is to be answered when it is synced, or not, waits for that.
    fn merge_copies(&mut self) {
        self.unsynced.copied_bytes = 0;
        let copies = std::mem::take(&mut self.unsynced.copies);
        if !copies.is_empty() {
            self.merge_all(copies);
        }
    }

    fn merge_all(&mut self, copies: BTreeMap<Slot, Gathered>) {
        let together: Vec<Copied<'_>> = copies
            .iter()
            .map(|(slot, copy)| Copied { slot: *slot, items: &copy.items, record: &copy.record })
            .collect();
        match self.writer.merge(&together) {
            Ok((mut written, news)) => {
                let mut gained: BTreeMap<Slot, Vec<crawl::Gain>> = BTreeMap::new();
                for gain in std::mem::take(&mut written.gained) {
                    gained.entry(gain.host.slot()).or_default().push(gain);
                }
                self.aside(written);
                for (slot, Gathered { ticket, urgent, .. }) in copies {
                    let gained = gained.remove(&slot).unwrap_or_default();
                    let untried = news.untried.iter().filter(|(_, of, _)| *of == slot).copied().collect();
                    let tried = news.tried.get(&slot).copied().unwrap_or(0);
                    let head = self.writer.slot(slot).head;
                    let done = Input::Applied(ticket, Applied { head, gained, untried, tried });
                    let waits = if urgent { &mut self.unsynced.answers } else { &mut self.unsynced.patient };
                    waits.push((done, Input::NotApplied(ticket)));
                }
            }
            // One whose slot is damaged must not keep the others from being written.
            Err(_) if copies.len() > 1 => {
                copies.into_iter().for_each(|(slot, copy)| self.merge_all(BTreeMap::from([(slot, copy)])));
            }
            Err(error) => {
                for (slot, copy) in copies {
                    tracing::error!(%error, slot = slot.number(), "a copy could not be written");
                    self.tell(Input::NotApplied(copy.ticket));
                }
            }
        }
    }

    fn open(&mut self, slots: &[Slot]) {
        let begun = Instant::now();
        let Some(opened) = self.persistently(|writer| writer.open_slots(slots)) else { return };
        self.shared.set_totals(self.writer.totals(), self.writer.crawl_counts());
        let took_ms = begun.elapsed().as_millis() as u64;
        for Opened { slot, hosts, untried } in opened {
            tracing::debug!(
                slot = slot.number(),
                hosts = hosts.len(),
                took_ms,
                "queues are there: served from now on"
            );
            self.tell(Input::SlotLoaded(slot, hosts, untried));
        }
        let next_due = self.writer.next_due();
        let (gained, admitted, gone) = (Vec::new(), Vec::new(), Vec::new());
        let due = crawl::Input::Committed { commits: 0, gained, admitted, gone, next_due, promoted: false };
        let _ = self.driver.send(ToDriver::Input(due));
    }
}

/// Whether changes are asked for. They are told up to the last that is synced, whatever was written since: such a read may overtake writes.
/// After them it would wait for the next sync, as its slot has changed again.
pub(super) fn is_of_changes(what: &Read) -> bool {
    matches!(what, Read::Changes { .. })
}

/// What is lost if this fails is only work done twice.
fn or_say(result: Result<(), crate::store::StoreError>) {
    if let Err(error) = result {
        tracing::warn!(%error, "the link log could not be kept in order");
    }
}
