//! In how many pages of a swarm words stand, told by parts where crawls have a topic: how much a word weighs is the same at all peers then
//! (document frequencies; P5 compares peers by the weights of words on their pages).
//!
//! Words have their place in a table of fixed size by a hash; those that meet there are taken for one. A part that is lost comes again with the next
//! round; one that is a lie makes words of pages look rarer or more frequent than they are, and by that a peer more or less able.

use crate::wire::{self, Versioned, WireError};
use serde::{Deserialize, Serialize};

/// Places of a table: words of one language that are frequent enough to matter mostly have one of their own.
pub const PLACES: usize = 1 << 13;
/// Places of a part.
pub const PART: usize = 512;
/// Parts of a table.
pub const PARTS: u8 = (PLACES / PART) as u8;
/// Bytes of a message, at most.
pub const MAX_MESSAGE: usize = PART * 5 + 32;

/// A part of one peer's table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Message {
    /// Pages that were counted.
    pub pages: u64,
    /// Which part, below [`PARTS`].
    pub part: u8,
    /// For each of its places, how many of the pages have such a word.
    pub counts: Vec<u32>,
}

impl Versioned for Message {
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
    /// [`WireError`], also for messages over [`MAX_MESSAGE`], of no part, or that count more pages with a word than pages.
    pub fn decode(bytes: &[u8]) -> Result<Message, WireError> {
        wire::decode_message(bytes, MAX_MESSAGE, "frequencies", |message: &Message| {
            let possible = message.counts.iter().all(|count| u64::from(*count) <= message.pages);
            message.part < PARTS && message.counts.len() == PART && possible
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn part(pages: u64, part: u8, count: u32, places: usize) -> Message {
        Message { pages, part, counts: vec![count; places] }
    }

    #[test]
    fn the_fullest_message_fits_and_what_cannot_be_is_refused() {
        let fullest = part(u64::MAX, PARTS - 1, u32::MAX, PART);
        assert!(fullest.encode().len() <= MAX_MESSAGE, "{}", fullest.encode().len());
        assert_eq!(Message::decode(&fullest.encode()), Ok(fullest));
        for wrong in
            [part(9, PARTS, 1, PART), part(9, 0, 10, PART), part(9, 0, 1, PART - 1), part(9, 0, 1, PART + 1)]
        {
            assert!(Message::decode(&wrong.encode()).is_err());
        }
    }

    #[test]
    fn the_bytes_of_a_message_stay_what_they_are() {
        let bytes = part(300, 2, 7, PART).encode();
        assert_eq!((bytes.len(), &bytes[..7]), (8 + PART, &[1, 251, 44, 1, 2, 251, 0][..]));
    }

    proptest! {
        #[test]
        fn hostile_bytes_never_panic(bytes: Vec<u8>) {
            if let Ok(message) = Message::decode(&bytes) {
                prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
            }
        }
    }
}
