//! What peers say to each other about claims, and how large it may be.

use super::Token;
use super::proof::{Give, Grant, Mint};
use crate::key::Slot;
use crate::replica::Position;
use crate::signed::Signed;
use crate::wire::{self, Versioned, WireError};
use serde::{Deserialize, Serialize};

/// The largest message in bytes.
pub const MAX_MESSAGE: usize = 48 * 1_024;
/// Parts of a message: a thousand prepares fill it.
pub const MAX_PARTS: usize = 1_024;
/// Runs of a message: with 10 bytes at most each they fit.
pub const MAX_RUNS: usize = 4_096;

/// Neighbouring slots held by the sender with tokens of one counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The first.
    pub first: Slot,
    /// How many more.
    pub more: u16,
    /// The counter of their tokens; the sender is their minter.
    pub counter: u64,
}

impl Run {
    /// Its slots.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        let first = self.first.number();
        (first..=first.saturating_add(self.more)).filter_map(Slot::new)
    }

    /// These slots, which come in order, as runs.
    pub fn of(slots: impl IntoIterator<Item = (Slot, u64)>) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (slot, counter) in slots {
            match runs.last_mut() {
                Some(run)
                    if run.counter == counter
                        && u32::from(run.first.number()) + u32::from(run.more) + 1
                            == u32::from(slot.number()) =>
                {
                    run.more += 1;
                }
                _ => runs.push(Run { first: slot, more: 0, counter }),
            }
        }
        runs
    }
}

/// One slot's part of a message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Part {
    /// "Promise me this ballot." From a candidate.
    Prepare {
        /// Of what.
        slot: Slot,
        /// The token its claim would have.
        ballot: Token,
        /// The claim it knows.
        known: Option<Token>,
    },
    /// "I promise."
    Promise {
        /// Signed.
        grant: Signed<Grant>,
        /// The claim the member knows, if it is not the candidate's.
        mint: Option<Signed<Mint>>,
        /// Whether that claim's old set counts no more.
        established: bool,
        /// How far the member's copy is.
        position: Option<Position>,
    },
    /// "Acknowledge this claim." From its holder.
    Propose {
        /// The claim.
        mint: Signed<Mint>,
        /// Chosen by the holder, to know when it asked.
        round: u64,
    },
    /// "I acknowledge it, and no other for a lease from now."
    Accepted {
        /// Of what.
        slot: Slot,
        /// The counter of the claim's token.
        counter: u64,
        /// Of the question.
        round: u64,
    },
    /// "I cannot promise or acknowledge that."
    Refuse {
        /// Of what.
        slot: Slot,
        /// What was asked.
        asked: Token,
        /// The highest token promised or known.
        highest: Option<Token>,
        /// For how long not, in milliseconds; 0 if for ever.
        wait_ms: u32,
        /// The claim known, if it is later.
        mint: Option<Signed<Mint>>,
    },
    /// "My claim is established: its old set counts no more."
    Settled {
        /// Of what.
        slot: Slot,
        /// Of the claim's token.
        counter: u64,
    },
    /// "The slot is yours."
    Handoff {
        /// The giver's word.
        give: Signed<Give>,
        /// The claim it was held by.
        mint: Signed<Mint>,
    },
    /// "Who holds this?"
    Ask(Slot),
    /// "This is the last claim I know": to whoever asked, or asked the wrong peer.
    Moved(Signed<Mint>),
    /// "Acknowledge this claim no more: its slot is placed here." From who should hold it and is of its set, to the others of that.
    Revoke {
        /// Of what.
        slot: Slot,
        /// Of the claim.
        token: Token,
    },
}

impl Part {
    /// The claim it tells of.
    pub(super) fn mint_mut(&mut self) -> Option<&mut Signed<Mint>> {
        match self {
            Part::Promise { mint, .. } | Part::Refuse { mint, .. } => mint.as_mut(),
            Part::Propose { mint, .. } | Part::Handoff { mint, .. } | Part::Moved(mint) => Some(mint),
            Part::Prepare { .. }
            | Part::Accepted { .. }
            | Part::Settled { .. }
            | Part::Ask(_)
            | Part::Revoke { .. } => None,
        }
    }
}

/// A message about claims.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Message {
    /// Of many slots.
    Parts(Vec<Part>),
    /// "Acknowledge these established claims of mine again."
    Renew {
        /// Chosen by the holder.
        round: u64,
        /// In order.
        runs: Vec<Run>,
    },
    /// "I do, but for those."
    Renewed {
        /// Of the question.
        round: u64,
        /// In order.
        refused: Vec<Slot>,
    },
    /// "I hold these": gossip, a hint for who looks for a holder.
    Hints(Vec<Run>),
}

impl Versioned for Message {
    const VERSION: u8 = 1;
    /// Vectors are larger in memory than on the wire; [`Message::decode`] bounds what is read.
    const LIMIT: usize = 0x10_0000;
}

impl Versioned for Part {
    const VERSION: u8 = 1;
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
    /// [`WireError`], also for messages over [`MAX_MESSAGE`] or with more parts than they may have.
    pub fn decode(bytes: &[u8]) -> Result<Message, WireError> {
        wire::decode_message(bytes, MAX_MESSAGE, "claims", Message::is_within_bounds)
    }

    pub(super) fn is_within_bounds(&self) -> bool {
        let ordered = |runs: &[Run]| {
            let end = |run: &Run| u32::from(run.first.number()) + u32::from(run.more);
            runs.len() <= MAX_RUNS
                && runs.is_sorted_by(|a, b| end(a) < u32::from(b.first.number()))
                && runs.iter().all(|run| u16::try_from(end(run)).ok().and_then(Slot::new).is_some())
        };
        match self {
            Message::Parts(parts) => parts.len() <= MAX_PARTS && !parts.is_empty(),
            Message::Renew { runs, .. } | Message::Hints(runs) => ordered(runs),
            Message::Renewed { refused, .. } => refused.is_sorted_by(|a, b| a < b),
        }
    }

    /// These parts in as many messages as they need.
    pub(super) fn split(parts: Vec<Part>) -> Vec<Message> {
        let (mut messages, mut now, mut bytes) = (Vec::new(), Vec::new(), 0);
        for part in parts {
            let size = wire::encode(&part).len();
            if !now.is_empty() && (bytes + size > MAX_MESSAGE - 64 || now.len() == MAX_PARTS) {
                messages.push(Message::Parts(std::mem::take(&mut now)));
                bytes = 0;
            }
            bytes += size;
            now.push(part);
        }
        if !now.is_empty() {
            messages.push(Message::Parts(now));
        }
        messages
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
