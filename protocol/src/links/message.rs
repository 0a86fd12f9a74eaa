//! What sender and receiver of links say to each other, and how large it may be; and what the sender writes down.

use super::link::Link;
use crate::claim::Token;
use crate::key::{SLOTS, Slot};
use crate::peer::PeerKey;
use crate::wire::{self, Versioned, WireError};
use serde::{Deserialize, Serialize};

/// The largest message in bytes: as all between peers that are not transfers of pages.
pub const MAX_MESSAGE: usize = 64 * 1_024;
/// Bytes of a part at most, its links' [`Link::cost`] added up: it fits into a message with what is around it.
pub const MAX_PART: usize = 60 * 1_024;
/// Parts of a batch: those of one link of 30 bytes each fill a message.
pub const MAX_PARTS: usize = 2_048;
/// Answers of a message: with the 86 bytes that `Moved` has at most they nearly fill one.
pub const MAX_ANSWERS: usize = 720;
/// What a part costs beside its links: slot, token's counter, range, length.
pub(super) const AROUND_PART: usize = 40;
/// What a batch costs beside its parts.
pub(super) const AROUND_BATCH: usize = 32;

/// What travels.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Message {
    /// Links for slots that the receiver should hold.
    Batch(Batch),
    /// What becomes of parts.
    Answers {
        /// Of the batches.
        session: u64,
        /// For each part.
        answers: Vec<Answered>,
    },
}

/// Links for many slots of one holder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Batch {
    /// The sending process: numbers of batches and of entries mean something within it only. (After a loss of power other links may
    /// get numbers that were used before.)
    pub session: u64,
    /// Counts the batches of this process.
    pub id: u64,
    /// By slot, in rising order.
    pub parts: Vec<Part>,
}

/// The links of one slot.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// The slot of all their targets.
    pub slot: Slot,
    /// The counter of the token under which the sender believes that the receiver holds the slot. A hint: whether links become
    /// durable, the set decides.
    pub counter: u64,
    /// The first entry of the sender's log for this slot.
    pub first: u64,
    /// The last. Entries that are not sent any more may be missing.
    pub upto: u64,
    /// In order of the log.
    pub links: Vec<Link>,
}

/// What becomes of one part.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Answered {
    /// Of its batch.
    pub id: u64,
    /// Which part.
    pub slot: Slot,
    /// What.
    pub answer: Answer,
}

/// What becomes of a part.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// It is written at the holder; `Durable` or one of the others follows, unless the holder stops.
    Received,
    /// A majority of the slot's set has it: the sender may let go.
    Durable,
    /// Another holds the slot, as far as is known here.
    Moved {
        /// Who.
        holder: PeerKey,
        /// By which token.
        token: Token,
    },
    /// The slot is not held here, and who holds it is not known.
    NotMine,
    /// Too much waits here: again after so many milliseconds.
    Busy {
        /// From when this comes.
        retry_ms: u32,
    },
    /// It cannot be taken.
    Refused(Refusal),
}

/// Why links are not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Refusal {
    /// Nothing can be written there.
    Full,
}

impl Versioned for Message {
    const VERSION: u8 = 5;
    /// Strings and vectors are larger in memory than on the wire; [`Message::decode`] bounds what is read.
    const LIMIT: usize = 0x10_0000;
}

impl Message {
    /// The bytes that travel.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// The message in bytes that may be hostile.
    ///
    /// # Errors
    /// [`WireError`], also for messages over [`MAX_MESSAGE`] or with parts out of bounds.
    pub fn decode(bytes: &[u8]) -> Result<Message, WireError> {
        wire::decode_message(bytes, MAX_MESSAGE, "links", Message::is_within_bounds)
    }

    /// Its name in metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Message::Batch(_) => "links",
            Message::Answers { .. } => "links-answers",
        }
    }

    pub(super) fn is_within_bounds(&self) -> bool {
        match self {
            Message::Batch(batch) => {
                let parts = &batch.parts;
                parts.len() <= MAX_PARTS
                    && parts.is_sorted_by(|a, b| a.slot < b.slot)
                    && parts.iter().all(Part::is_within_bounds)
            }
            Message::Answers { answers, .. } => {
                answers.len() <= MAX_ANSWERS && answers.iter().all(|one| is_slot(one.slot))
            }
        }
    }
}

impl Part {
    fn is_within_bounds(&self) -> bool {
        let entries = self.upto.checked_sub(self.first).and_then(|more| more.checked_add(1));
        is_slot(self.slot)
            && self.first > 0
            && entries.is_some_and(|entries| self.links.len() as u64 <= entries)
            && self.links.iter().all(Link::is_within_bounds)
    }
}

fn is_slot(slot: Slot) -> bool {
    u32::from(slot.number()) < SLOTS
}

/// How far a slot's links are durable: a record of the sender's disk, written without a sync. An older one only makes links be sent
/// again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Cursor {
    /// Entries up to here are durable at the slot's holder.
    pub durable: u64,
    /// The last forced take-over for which the log was replayed. Holders by older tokens are not sent to any more.
    pub forced: Option<Token>,
}

impl Versioned for Cursor {
    const VERSION: u8 = 1;
    const LIMIT: usize = 128;
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
