//! What peers say to each other about contracts, and how large it may be.

use super::able::{Able, Scored, WHOLE};
use super::load::{Load, Lot};
use crate::key::Slot;
use crate::wire::{self, Versioned, WireError};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The largest message in bytes: with lots of 8 bytes at most, what [`MAX_LOTS`] need and what is around them.
pub const MAX_MESSAGE: usize = 12 * 1_024;
/// Lots of one call, and of one contract. Of ten thousand sites with sizes by Zipf's law (exponent .8) the largest thousand have more than half of all
/// pages.
pub const MAX_LOTS: usize = 1_024;

/// A span as it travels.
pub(super) fn millis(span: Duration) -> u32 {
    u32::try_from(span.as_millis()).unwrap_or(u32::MAX)
}

/// Names a call, and the contracts that come of it: of its caller, with whom it is spoken of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CallId(pub u64);

/// Why somebody does not want, or cannot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Why {
    /// It has as much to do itself.
    Busy,
    /// No room: its disk is low, it is paused, or it has as many contracts as it may.
    Full,
    /// It leaves, or has only begun.
    Away,
    /// What was reserved for it is not any more, or never was.
    Late,
    /// Others got everything: of a call, or what had been agreed on before it could move. Or that did not move, for no fault of the
    /// contractor's, which has a whole copy.
    Others,
    /// The time limit came first.
    Time,
    /// It gives back what it had taken (WebAnts' UNCLAIM).
    Released,
    /// Nothing came, or nothing was done.
    Nothing,
}

impl Why {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Why::Busy => "busy",
            Why::Full => "full",
            Why::Away => "away",
            Why::Late => "late",
            Why::Others => "others",
            Why::Time => "time",
            Why::Released => "released",
            Why::Nothing => "nothing",
        }
    }
}

/// What travels. The words are FIPA's contract net (SC00029H), in the order of the paper's five stages.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Message {
    /// "Who takes some of this?" (cfp), with what the caller has to do itself.
    Call {
        /// Which.
        id: CallId,
        /// Of the caller.
        load: Load,
        /// Bids count that come within this time, in milliseconds.
        patience_ms: u32,
        /// What it would give away, the largest first.
        lots: Vec<Lot>,
    },
    /// "I would." (propose)
    Propose {
        /// Of the call.
        id: CallId,
        /// Of the bidder, with what it has promised to others.
        load: Load,
        /// Pages it takes at most.
        room: u64,
    },
    /// "I would not." (refuse)
    Refuse {
        /// Of the call.
        id: CallId,
        /// The reason.
        why: Why,
    },
    /// "These are yours, for so long." (accept-proposal)
    Accept {
        /// Of the call.
        id: CallId,
        /// Whose.
        lots: Vec<Lot>,
        /// The time limit, in milliseconds from when this is agreed to.
        limit_ms: u32,
    },
    /// "Thank you, no." (reject-proposal)
    Reject {
        /// Of the call.
        id: CallId,
    },
    /// "Agreed": the contract begins. (agree)
    Agree {
        /// Of the call.
        id: CallId,
    },
    /// How far it is. (inform)
    Inform {
        /// Of the call.
        id: CallId,
        /// Lots that came.
        came: u16,
        /// Pages that wait in them.
        waiting: u64,
    },
    /// "It is done, and all goes back." (inform-done)
    Done {
        /// Of the call.
        id: CallId,
    },
    /// "It ends, and was not done." From either. (failure, cancel)
    Failure {
        /// Of the call.
        id: CallId,
        /// The reason.
        why: Why,
    },
    /// "The time limit comes, and I am not done: shall I go on?"
    Renew {
        /// Of the call.
        id: CallId,
        /// Of the contractor.
        load: Load,
    },
    /// "Yes, for so long from now."
    Renewed {
        /// Of the call.
        id: CallId,
        /// In milliseconds.
        limit_ms: u32,
    },
    /// "I have little to do: who has something for me?" (WebAnts' ASSIGNMENT?)
    Solicit {
        /// Of the idle one.
        load: Load,
    },
    /// "Who follows some of these?" (cfp), in a crawl of a topic.
    CallAble {
        /// Which.
        id: CallId,
        /// Of the caller.
        able: Able,
        /// Bids count that come within this time, in milliseconds.
        patience_ms: u32,
        /// What it would give away, the best first.
        lots: Vec<Scored>,
    },
    /// "I would, for I have nothing better." (propose)
    ProposeAble {
        /// Of the call.
        id: CallId,
        /// Of the bidder.
        able: Able,
        /// Pages it takes at most.
        room: u64,
    },
}

impl Versioned for Message {
    const VERSION: u8 = 1;
    /// Vectors are larger in memory than on the wire; [`Message::decode`] bounds what is read.
    const LIMIT: usize = 0x1_0000;
}

impl Message {
    /// The bytes that travel.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// The message in bytes that may be hostile.
    ///
    /// # Errors
    /// [`WireError`], also for messages over [`MAX_MESSAGE`], with more than [`MAX_LOTS`], none, or one twice.
    pub fn decode(bytes: &[u8]) -> Result<Message, WireError> {
        wire::decode_message(bytes, MAX_MESSAGE, "contracts", Message::is_within_bounds)
    }

    /// Its name in metrics and in the story.
    pub fn kind(&self) -> &'static str {
        match self {
            Message::Call { .. } => "call",
            Message::Propose { .. } => "propose",
            Message::Refuse { .. } => "refuse",
            Message::Accept { .. } => "accept",
            Message::Reject { .. } => "reject",
            Message::Agree { .. } => "agree",
            Message::Inform { .. } => "inform",
            Message::Done { .. } => "done",
            Message::Failure { .. } => "failure",
            Message::Renew { .. } => "renew",
            Message::Renewed { .. } => "renewed",
            Message::Solicit { .. } => "solicit",
            Message::CallAble { .. } => "call_able",
            Message::ProposeAble { .. } => "propose_able",
        }
    }

    pub(super) fn is_within_bounds(&self) -> bool {
        match self {
            Message::Call { lots, .. } | Message::Accept { lots, .. } => {
                are_slots(lots.iter().map(|lot| lot.slot).collect())
            }
            Message::CallAble { able, lots, .. } => {
                let scores = lots.iter().all(|lot| lot.score <= WHOLE);
                scores && able.is_within_bounds() && are_slots(lots.iter().map(|lot| lot.slot).collect())
            }
            Message::ProposeAble { able, .. } => able.is_within_bounds(),
            _ => true,
        }
    }
}

/// Whether these are some slots, not too many, and each once.
fn are_slots(mut slots: Vec<Slot>) -> bool {
    let count = slots.len();
    slots.sort_unstable();
    slots.dedup();
    let known = slots.iter().all(|slot| u32::from(slot.number()) < crate::key::SLOTS);
    (1..=MAX_LOTS).contains(&count) && slots.len() == count && known
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
