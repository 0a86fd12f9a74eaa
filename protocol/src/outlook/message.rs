//! The message in which outlooks travel.

use super::{CLASSES, Outlook};
use crate::wire::{self, Versioned, WireError};
use serde::{Deserialize, Serialize};

/// Outlooks of a message.
pub const MAX_OUTLOOKS: usize = 32;
/// Bytes of a message: those of outlooks that are all as large as can be, and some around them.
pub const MAX_MESSAGE: usize = MAX_OUTLOOKS * (32 + 9 + 5 + 9 + 1 + 1 + CLASSES * 3) + 16;

/// What a peer has, and what it heard of others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Message(pub Vec<Outlook>);

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
        wire::decode_message(bytes, MAX_MESSAGE, "outlooks", |message: &Message| {
            message.0.len() <= MAX_OUTLOOKS && message.0.iter().all(|one| one.worths.0.len() <= CLASSES)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Wanted, Worths};
    use super::*;
    use crate::peer::PeerKey;
    use proptest::prelude::*;

    fn fullest() -> Outlook {
        Outlook {
            peer: PeerKey([0xff; 32]),
            said: u64::MAX,
            age_ms: u32::MAX,
            wanted: Wanted { given: u64::MAX, near: u8::MAX },
            worths: Worths(vec![u16::MAX; CLASSES]),
        }
    }

    #[test]
    fn the_fullest_message_fits_and_no_more() {
        let message = Message(vec![fullest(); MAX_OUTLOOKS]);
        assert!(message.encode().len() <= MAX_MESSAGE, "{}", message.encode().len());
        assert_eq!(Message::decode(&message.encode()), Ok(message));
        assert!(Message::decode(&Message(vec![fullest(); MAX_OUTLOOKS + 1]).encode()).is_err());
        let worths = Worths(vec![0; CLASSES + 1]);
        assert!(Message::decode(&Message(vec![Outlook { worths, ..fullest() }]).encode()).is_err());
        assert!(Message::decode(&vec![1; MAX_MESSAGE + 1]).is_err());
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
