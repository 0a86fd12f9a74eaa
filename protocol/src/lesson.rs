//! What peers tell each other of paths to the topic of a swarm's crawls: that a link on a page of yours led there.
//!
//! Who fetches a page on topic knows on which page it was found, and not what that page says, which its holder knows. So
//! the holder is told how many steps the topic is away, once for each page that was fetched, and passes it on to the holder of the page
//! before. A lesson that is lost, comes twice or is a lie makes some pages be fetched earlier or later than others, and nothing else: nobody
//! acknowledges one, and none is sent again.

use crate::key::UrlId;
use crate::links::link::MAX_RELEVANCE;
use crate::wire::{self, Versioned, WireError};
use serde::{Deserialize, Serialize};

/// Lessons of a message.
pub const MAX_LESSONS: usize = 512;
/// Bytes of a message: those of lessons that are all as large as can be, and some around them.
pub const MAX_MESSAGE: usize = MAX_LESSONS * 24 + 16;

/// That a path leads from a page to the topic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Lesson {
    /// The page, of a slot that the receiver holds.
    pub page: UrlId,
    /// Links of the path, 1 or more.
    pub steps: u8,
    /// What the page is worth for that, in thousandths.
    pub worth: u16,
}

/// Lessons for one holder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Message(pub Vec<Lesson>);

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
    /// [`WireError`], also for messages that are larger, or have more in them, than they may.
    pub fn decode(bytes: &[u8]) -> Result<Message, WireError> {
        wire::decode_message(bytes, MAX_MESSAGE, "lessons", |message: &Message| {
            let fits = |lesson: &Lesson| lesson.steps > 0 && lesson.worth <= MAX_RELEVANCE;
            message.0.len() <= MAX_LESSONS && message.0.iter().all(fits)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_fullest_message_fits() {
        let lesson = Lesson { page: UrlId::from_bytes([0xff; 16]), steps: u8::MAX, worth: MAX_RELEVANCE };
        let message = Message(vec![lesson; MAX_LESSONS]);
        assert!(message.encode().len() <= MAX_MESSAGE, "{}", message.encode().len());
        assert_eq!(Message::decode(&message.encode()), Ok(message));
    }

    #[test]
    fn what_is_out_of_bounds_is_refused() {
        let lesson = Lesson { page: UrlId::from_bytes([1; 16]), steps: 1, worth: 1 };
        for lessons in [
            vec![lesson; MAX_LESSONS + 1],
            vec![Lesson { steps: 0, ..lesson }],
            vec![Lesson { worth: MAX_RELEVANCE + 1, ..lesson }],
        ] {
            assert!(Message::decode(&Message(lessons).encode()).is_err());
        }
        assert!(Message::decode(&vec![1; MAX_MESSAGE + 1]).is_err());
    }

    proptest! {
        #[test]
        fn hostile_bytes_never_panic_and_what_is_said_is_understood(
            bytes: Vec<u8>,
            lessons in proptest::collection::vec((any::<[u8; 16]>(), 1u8.., 0..=MAX_RELEVANCE), 0..20),
        ) {
            if let Ok(message) = Message::decode(&bytes) {
                prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
            }
            let lesson = |(page, steps, worth)| Lesson { page: UrlId::from_bytes(page), steps, worth };
            let message = Message(lessons.into_iter().map(lesson).collect());
            prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
    }
}
