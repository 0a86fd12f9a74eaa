//! What peers say to each other about crawls, and how large it may be.

use super::book::Item;
use crate::epidemic;
use crate::epidemic::message::MAX_MESSAGE;
use crate::wire::{self, Versioned, WireError};
use serde::{Deserialize, Serialize};

/// Crawls asked for in one message.
pub const MAX_ASKED: usize = 256;

/// A message about crawls.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Message {
    /// Gossip and comparison.
    Spread(epidemic::Message<Item>),
    /// "Links came of the crawls with these tags, which I do not know." Answered by news of those that are known.
    Ask(Vec<u64>),
}

impl Versioned for Message {
    const VERSION: u8 = 1;
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
    /// [`WireError`], also for messages that are larger, or have more parts, than they may.
    pub fn decode(bytes: &[u8]) -> Result<Message, WireError> {
        // One byte says which of the two it is.
        wire::decode_message(bytes, MAX_MESSAGE + 1, "crawls", Message::is_within_bounds)
    }

    pub(super) fn is_within_bounds(&self) -> bool {
        match self {
            Message::Spread(message) => message.is_within_bounds(),
            Message::Ask(tags) => tags.len() <= MAX_ASKED,
        }
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
