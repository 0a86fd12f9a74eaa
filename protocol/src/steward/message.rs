//! What holders of hosts and stewards say to each other, and how large it may be.

use super::address::AddressKey;
use crate::claim::Token;
use crate::key::{SLOTS, Slot};
use crate::peer::PeerKey;
use crate::wire::{self, Versioned, WireError};
use serde::{Deserialize, Serialize};

/// The largest message in bytes.
pub const MAX_MESSAGE: usize = 64 * 1_024;
/// Items of a message: with the 80 bytes that one has at most they fill it nearly.
pub const MAX_ITEMS: usize = 800;

/// What travels; about many addresses at once.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Message {
    /// "I have hosts there and something to fetch."
    Ask(Vec<Ask>),
    /// "It is yours for a while."
    Grant(Vec<Grant>),
    /// "I have nothing to fetch there any more", for windows and for what was asked.
    Release(Vec<Release>),
    /// "I am not the steward of these slots' addresses."
    Moved(Vec<Moved>),
}

/// A wish for a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ask {
    /// Where.
    pub address: AddressKey,
    /// Names the wish; later ones of a process are greater.
    pub id: u64,
    /// The address's delay.
    pub delay_ms: u32,
    /// How many fetches wait: the share of who asks among those that do.
    pub wanted: u16,
}

/// A window. It is counted by who asked from when it asked, and ends `waited + length` after that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Grant {
    /// Where.
    pub address: AddressKey,
    /// Of the wish.
    pub id: u64,
    /// How long the wish waited at the steward, by its clock, in microseconds.
    pub waited_us: u64,
    /// How long the window is from then on.
    pub length_us: u64,
}

/// The end of a wish, or of the window that came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Release {
    /// Where.
    pub address: AddressKey,
    /// Of the wish.
    pub id: u64,
}

/// Another peer is the steward, as far as is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Moved {
    /// Of which slot's addresses.
    pub slot: Slot,
    /// Who holds the slot, if that is known.
    pub holder: Option<(PeerKey, Token)>,
}

impl Versioned for Message {
    const VERSION: u8 = 1;
    /// Vectors are larger in memory than on the wire; [`Message::decode`] bounds what is read.
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
    /// [`WireError`], also for messages over [`MAX_MESSAGE`] or with more than [`MAX_ITEMS`].
    pub fn decode(bytes: &[u8]) -> Result<Message, WireError> {
        wire::decode_message(bytes, MAX_MESSAGE, "windows", Message::is_within_bounds)
    }

    /// Its name in metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Message::Ask(_) => "window-ask",
            Message::Grant(_) => "window-grant",
            Message::Release(_) => "window-release",
            Message::Moved(_) => "window-moved",
        }
    }

    pub(super) fn is_within_bounds(&self) -> bool {
        let items = match self {
            Message::Ask(asks) => asks.len(),
            Message::Grant(grants) => grants.len(),
            Message::Release(releases) => releases.len(),
            Message::Moved(moved) => {
                if moved.iter().any(|one| u32::from(one.slot.number()) >= SLOTS) {
                    return false;
                }
                moved.len()
            }
        };
        items <= MAX_ITEMS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn any_address() -> impl Strategy<Value = AddressKey> {
        prop_oneof![any::<[u8; 4]>().prop_map(AddressKey::V4), any::<[u8; 8]>().prop_map(AddressKey::V6)]
    }

    fn any_message() -> impl Strategy<Value = Message> {
        let ask = (any_address(), any::<u64>(), any::<u32>(), any::<u16>())
            .prop_map(|(address, id, delay_ms, wanted)| Ask { address, id, delay_ms, wanted });
        let grant = (any_address(), any::<u64>(), any::<u64>(), any::<u64>())
            .prop_map(|(address, id, waited_us, length_us)| Grant { address, id, waited_us, length_us });
        let release = (any_address(), any::<u64>()).prop_map(|(address, id)| Release { address, id });
        let moved =
            (0u16..16_384, any::<Option<([u8; 32], u64, [u8; 32])>>()).prop_map(|(slot, holder)| Moved {
                slot: Slot::new(slot).expect("a slot"),
                holder: holder.map(|(peer, counter, minter)| {
                    (PeerKey(peer), Token { counter, minter: PeerKey(minter) })
                }),
            });
        prop_oneof![
            vec(ask, 0..9).prop_map(Message::Ask),
            vec(grant, 0..9).prop_map(Message::Grant),
            vec(release, 0..9).prop_map(Message::Release),
            vec(moved, 0..9).prop_map(Message::Moved),
        ]
    }

    /// Version 1 of the wire: a change here is a new version.
    #[test]
    fn the_bytes_of_every_message_stay_what_they_are() {
        let (address, id) = (AddressKey::V4([192, 0, 2, 1]), 300);
        let other = AddressKey::V6([1, 2, 3, 4, 5, 6, 7, 8]);
        let slot = Slot::new(300).expect("a slot");
        let token = Token { counter: 70, minter: PeerKey([2; 32]) };
        let moved = |holder: bool| {
            Message::Moved(vec![Moved { slot, holder: holder.then_some((PeerKey([1; 32]), token)) }])
        };
        let all = [
            Message::Ask(vec![Ask { address, id, delay_ms: 200, wanted: 3 }]),
            Message::Grant(vec![Grant { address: other, id, waited_us: 1 << 20, length_us: 1 << 30 }]),
            Message::Release(vec![Release { address, id }]),
            moved(true),
            moved(false),
        ];
        assert_eq!(
            crate::wire::fingerprints(all.map(|message| message.encode())),
            [
                "13 e63f99ebe0e1464b",
                "25 b5f774385d91f1a6",
                "11 4ee03e1b803dba52",
                "72 ea6ef685f2350bdd",
                "7 d044fde1b3651fd2",
            ]
        );
    }

    #[test]
    fn the_fullest_messages_are_small_enough() {
        let address = AddressKey::V6([0xff; 8]);
        let peer = PeerKey([0xff; 32]);
        let token = Token { counter: u64::MAX, minter: peer };
        let grant = Grant { address, id: u64::MAX, waited_us: u64::MAX, length_us: u64::MAX };
        let moved = Moved { slot: Slot::new(16_383).expect("a slot"), holder: Some((peer, token)) };
        for message in [Message::Grant(vec![grant; MAX_ITEMS]), Message::Moved(vec![moved; MAX_ITEMS])] {
            assert!(message.encode().len() <= MAX_MESSAGE, "{}", message.encode().len());
            assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
        assert!(Message::decode(&Message::Grant(vec![grant; MAX_ITEMS + 1]).encode()).is_err());
        assert!(Message::decode(&[1, 3, 1, 251, 0xff, 0xff, 0]).is_err(), "a slot that does not exist");
    }

    proptest! {
        #[test]
        fn what_is_said_is_understood(message in any_message()) {
            prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
        }

        #[test]
        fn hostile_bytes_never_panic(bytes: Vec<u8>, message in any_message(), at: usize, byte: u8) {
            let _ = Message::decode(&bytes);
            let mut near = message.encode();
            let at = at % near.len();
            near[at] = byte;
            if let Ok(message) = Message::decode(&near) {
                prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
            }
        }
    }
}
