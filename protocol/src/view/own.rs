//! What this peer says of itself: its record, the sequences it may use, and whether somebody else speaks with its key.
//!
//! A sequence is used only when the disk knows that it may have been: blocks of them are reserved by one write, and a process
//! begins behind the block of the one before it. So a record of our own generation that we did not make was made by another
//! process with our key, or by one whose disk we have an older copy of.

use super::io::{Description, Effect};
use super::rumor::Rumor;
use super::state::State;
use super::statement::{Goodbye, Incarnation, LastStand};
use super::stored::Stored;
use crate::member::{MIN_TOKEN_INTERVAL, MemberError, MemberRecord};
use crate::peer::{Keys, PeerKey};
use crate::signed::Signed;
use crate::time::Instant;
use std::cmp::Ordering;
use std::sync::Arc;

/// Sequences reserved by one write: refutations do not wait for the disk, and a full disk stops none for a while.
const BLOCK: u64 = 64;

/// This peer's own side.
#[derive(Debug)]
pub(super) struct Own {
    pub record: Arc<MemberRecord>,
    pub signed: Option<Signed<MemberRecord>>,
    /// Sequences up to this one, which is left for the goodbye, are on the disk as used.
    reserved: u64,
    /// What this peer says of itself.
    wanted: Description,
    /// It had nothing on its disk, and nobody has taken it for a member yet.
    fresh: bool,
}

/// What a record of our own key, by its own signature, says about who speaks with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mirror {
    /// It is ours.
    Ours,
    /// It is of an earlier life, or an earlier one of this life.
    Old,
    /// We lost our disk, and our clock is behind: a generation above this one is ours.
    Behind(u64),
    /// Somebody else's.
    Twin,
}

impl Own {
    /// `stored` is what the process before wrote down. The first record is to be written before anything is said.
    pub fn new(
        peer: PeerKey,
        wanted: Description,
        stored: Option<(MemberRecord, u64)>,
        now: Instant,
    ) -> Result<Own, MemberError> {
        let fresh = stored.is_none();
        let (before, reserved) = match stored {
            Some((record, reserved)) => {
                (MemberRecord { sequence: reserved.saturating_add(1), ..record }, reserved)
            }
            None => {
                let first = MemberRecord::first(peer, Vec::new(), false, wanted.tokens, now);
                (MemberRecord { generation: now.0, ..first }, 0)
            }
        };
        let mut own = Own { record: Arc::new(before), signed: None, reserved, wanted, fresh };
        let record = own.described(&own.record, now);
        record.check(now)?;
        own.record = Arc::new(record);
        Ok(own)
    }

    pub fn incarnation(&self) -> Incarnation {
        Incarnation::of(&self.record)
    }

    pub fn peer(&self) -> PeerKey {
        self.record.peer
    }

    /// What a record says with what is wanted now; tokens only when they may change.
    fn described(&self, record: &MemberRecord, now: Instant) -> MemberRecord {
        let mut next = MemberRecord {
            addresses: self.wanted.addresses.clone(),
            dialable: self.wanted.dialable,
            leaving: self.wanted.leaving,
            ..record.clone()
        };
        if next.tokens != self.wanted.tokens && now >= next.tokens_changed_at + MIN_TOKEN_INTERVAL {
            (next.tokens, next.tokens_changed_at) = (self.wanted.tokens, now);
        }
        next
    }

    /// Describes this peer otherwise; true if a record is to be made now.
    pub fn describe(&mut self, wanted: Description, now: Instant) -> Result<bool, MemberError> {
        let before = std::mem::replace(&mut self.wanted, wanted);
        let tokens = self.wanted.tokens;
        // Whatever may be said in an hour must be sayable.
        let check = MemberRecord { tokens, ..self.described(&self.record, now) }.check(now);
        if let Err(error) = check {
            self.wanted = before;
            return Err(error);
        }
        Ok(self.described(&self.record, now) != *self.record)
    }

    /// When tokens may change that wait for it.
    pub fn tokens_at(&self) -> Option<Instant> {
        (self.wanted.tokens != self.record.tokens).then(|| self.record.tokens_changed_at + MIN_TOKEN_INTERVAL)
    }

    /// The record that a write has to be of before anything is said by it or by its block.
    pub fn to_store(&self) -> Stored {
        let record = MemberRecord::clone(&self.record);
        Stored::Own { reserved: record.sequence.saturating_add(BLOCK), record }
    }

    /// Such a write is on the disk. True if that was the first one: now there is a record to be shown.
    pub fn stored(&mut self, generation: u64, reserved: u64, keys: &impl Keys) -> bool {
        if generation != self.record.generation {
            return false;
        }
        self.reserved = self.reserved.max(reserved);
        let first = self.signed.is_none();
        if first {
            self.signed = Signed::sign(MemberRecord::clone(&self.record), keys).ok();
        }
        first && self.signed.is_some()
    }

    /// Whether it may speak.
    pub fn is_ready(&self) -> bool {
        self.signed.is_some()
    }

    /// Whether half of the block is used up.
    pub fn is_short(&self) -> bool {
        self.record.sequence.saturating_add(BLOCK / 2) > self.reserved
    }

    /// The next record; none as long as the disk does not know of its sequence.
    pub fn next(&mut self, now: Instant, keys: &impl Keys) -> Option<Signed<MemberRecord>> {
        let next = self.described(&self.record.successor(), now);
        if !self.is_ready() || next.sequence >= self.reserved {
            return None;
        }
        let signed = Signed::sign(next.clone(), keys).ok()?;
        self.record = Arc::new(next);
        self.signed = Some(signed.clone());
        Some(signed)
    }

    /// The last word. Its sequence is in the block, and no record has it: the next process begins behind the block.
    pub fn goodbye(&self, stand: LastStand, keys: &impl Keys) -> Option<Signed<Goodbye>> {
        let sequence = self.record.sequence.saturating_add(1);
        let incarnation = Incarnation { sequence, ..self.incarnation() };
        let goodbye = Goodbye { peer: self.record.peer, incarnation, stand };
        (self.is_ready() && sequence <= self.reserved).then(|| Signed::sign(goodbye, keys).ok())?
    }

    /// Others take this peer for a member: from now on a later generation is not ours.
    pub fn settled(&mut self) {
        self.fresh = false;
    }

    /// What a record of our key is, which has its signature.
    pub fn mirror(&self, record: &MemberRecord) -> Mirror {
        match *record == *self.record {
            true => Mirror::Ours,
            false => self.mirror_said(Incarnation::of(record)),
        }
    }

    /// The same of what else has our signature, and was not said by this process.
    pub fn mirror_said(&self, incarnation: Incarnation) -> Mirror {
        match incarnation.generation.cmp(&self.record.generation) {
            Ordering::Less => Mirror::Old,
            Ordering::Greater if self.fresh => Mirror::Behind(incarnation.generation),
            Ordering::Greater => Mirror::Twin,
            Ordering::Equal if incarnation.sequence < self.record.sequence => Mirror::Old,
            Ordering::Equal => Mirror::Twin,
        }
    }

    /// Begins another life above `generation`, once. It has to be written before anything is said.
    pub fn be_reborn(&mut self, generation: u64) {
        self.fresh = false;
        self.record = Arc::new(self.record.reborn(generation.saturating_add(1)));
        self.signed = None;
        self.reserved = 0;
    }
}

impl<K: Keys> State<K> {
    /// Somebody else speaks with our key.
    pub(super) fn twin(&mut self, incarnation: Incarnation, out: &mut Vec<Effect>) {
        self.over = true;
        out.push(Effect::Twin(incarnation));
    }

    /// We had lost our disk, and begin above what others know of us.
    pub(super) fn be_reborn(&mut self, now: Instant, generation: u64) {
        self.own.be_reborn(generation);
        self.own_write_at = Some(now);
    }

    /// Others doubt that this peer is there: it says so anew, soon.
    pub(super) fn refute(&mut self, now: Instant) {
        let at = now.max(self.refuted_at + self.config.refute_every);
        self.record_at = Some(self.record_at.map_or(at, |planned| planned.min(at)));
    }

    pub(super) fn make_record(&mut self, now: Instant) {
        self.record_at = None;
        if self.own.next(now, &self.keys).is_none() {
            // When the disk knows of more sequences.
            self.record_at = Some(now + self.config.rewrite_after);
            self.own_write_at.get_or_insert(now);
            return;
        }
        self.refuted_at = now;
        match self.own.record.leaving {
            true if self.leaves_since.is_none() => self.leaves(now),
            true => {}
            false => self.leaves_since = None,
        }
        self.book.set_own(&self.own.record);
        self.rumor(now, Rumor::Record(self.own.peer()));
        if self.own.is_short() {
            self.own_write_at.get_or_insert(now);
        }
        self.change(now);
    }
}
