//! The parts of a query's messages that say who answers for what, and the gossip of manifests.

use super::slots::SlotSet;
use super::table::Manifest;
use crate::key::{SLOTS, Slot};
use crate::peer::PeerKey;
use crate::wire::{self, Versioned, WireError};
use serde::{Deserialize, Serialize};

/// The largest message in bytes.
pub const MAX_MESSAGE: usize = 64 * 1_024;
/// Peers that a question names as not answering: with more, a swarm has other worries.
pub const MAX_EXCLUDED: usize = 256;
/// Manifests of a message: with the 64 bytes that one has at most they nearly fill it.
pub const MAX_MANIFESTS: usize = 1_000;

/// What travels.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Message {
    /// Part of a question.
    Ask(Ask),
    /// Part of its answer.
    Answer(Answer),
    /// How whole the sender's copies are: gossip, what changed, and everything now and then.
    Manifests(Vec<(Slot, Manifest)>),
}

/// "Answer for these slots."
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ask {
    /// The query, by a number of who asks.
    pub query: u64,
    /// Which of its rounds: statistics, hits, snippets.
    pub phase: u8,
    /// What who asks knows of who keeps what: see [`super::Table::digest`].
    pub digest: [u8; 16],
    /// Who does not answer, in order of names: the first [`MAX_EXCLUDED`].
    pub excluded: Vec<PeerKey>,
    /// For which slots.
    pub slots: SlotSet,
}

/// "This is for these slots."
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Of the question.
    pub query: u64,
    /// Of the question.
    pub phase: u8,
    /// Whether who answers knows the same of who keeps what.
    pub same_view: bool,
    /// Those that it answers for, of those it was asked for.
    pub slots: SlotSet,
    /// The others: another has to be asked.
    pub declined: SlotSet,
}

impl Ask {
    /// The answer of a peer that knows `digest`, and whose whole copies are `whole`.
    pub fn answer(&self, digest: &[u8; 16], whole: &SlotSet) -> Answer {
        let slots = self.slots.and(whole);
        let mut declined = self.slots.clone();
        declined.subtract(&slots);
        Answer { query: self.query, phase: self.phase, same_view: self.digest == *digest, slots, declined }
    }
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
    /// [`WireError`], also for messages over [`MAX_MESSAGE`] or with more parts than they may have.
    pub fn decode(bytes: &[u8]) -> Result<Message, WireError> {
        wire::decode_message(bytes, MAX_MESSAGE, "a query plan", Message::is_within_bounds)
    }

    fn is_within_bounds(&self) -> bool {
        match self {
            Message::Ask(ask) => {
                ask.excluded.len() <= MAX_EXCLUDED && ask.excluded.is_sorted_by(|a, b| a < b)
            }
            Message::Answer(_) => true,
            Message::Manifests(manifests) => {
                manifests.len() <= MAX_MANIFESTS
                    && manifests.is_sorted_by(|a, b| a.0 < b.0)
                    && manifests.last().is_none_or(|(slot, _)| u32::from(slot.number()) < SLOTS)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Token;
    use proptest::collection::{btree_map, btree_set};
    use proptest::prelude::*;

    fn any_set() -> impl Strategy<Value = SlotSet> {
        btree_set(0u16..16_384, 0..600).prop_map(|set| set.into_iter().filter_map(Slot::new).collect())
    }

    fn any_message() -> impl Strategy<Value = Message> {
        let excluded = btree_set(any::<[u8; 32]>(), 0..9);
        let ask = (any::<u64>(), any::<u8>(), any::<[u8; 16]>(), excluded, any_set()).prop_map(
            |(query, phase, digest, excluded, slots)| {
                let excluded = excluded.into_iter().map(PeerKey).collect();
                Message::Ask(Ask { query, phase, digest, excluded, slots })
            },
        );
        let answer = (any::<u64>(), any::<u8>(), any::<bool>(), any_set(), any_set()).prop_map(
            |(query, phase, same_view, slots, declined)| {
                Message::Answer(Answer { query, phase, same_view, slots, declined })
            },
        );
        let manifest = (any::<u64>(), any::<[u8; 32]>(), any::<u64>(), any::<u32>(), any::<bool>()).prop_map(
            |(counter, minter, seq, documents, whole)| {
                let token = Token { counter, minter: PeerKey(minter) };
                Manifest { token, seq, documents, whole }
            },
        );
        let manifests = btree_map(0u16..16_384, manifest, 0..9).prop_map(|all| {
            let all = all.into_iter().filter_map(|(slot, manifest)| Some((Slot::new(slot)?, manifest)));
            Message::Manifests(all.collect())
        });
        prop_oneof![ask, answer, manifests]
    }

    /// Version 1 of the wire: a change here is a new version.
    #[test]
    fn the_bytes_of_every_message_stay_what_they_are() {
        let some = |step| (3..900).step_by(step).filter_map(Slot::new).collect::<SlotSet>();
        let token = Token { counter: 70, minter: PeerKey([2; 32]) };
        let manifest = Manifest { token, seq: 300, documents: 70_000, whole: true };
        let slot = Slot::new(300).expect("a slot");
        let all = [
            Message::Ask(Ask {
                query: 9,
                phase: 1,
                digest: [3; 16],
                excluded: vec![PeerKey([1; 32])],
                slots: some(7),
            }),
            Message::Answer(Answer {
                query: 9,
                phase: 1,
                same_view: true,
                slots: some(14),
                declined: some(200),
            }),
            Message::Manifests(vec![(slot, manifest)]),
        ];
        assert_eq!(
            crate::wire::fingerprints(all.map(|message| message.encode())),
            ["499 d58840f63725f348", "249 b557d98addf8a361", "48 e8cd9fff30399170",]
        );
    }

    #[test]
    fn the_fullest_messages_are_small_enough() {
        let slots: SlotSet = (0..16_384).step_by(2).filter_map(Slot::new).collect();
        let excluded = (0..MAX_EXCLUDED as u16).map(|n| {
            let [a, b] = n.to_be_bytes();
            PeerKey([[a, b].as_slice(), &[0xff; 30]].concat().try_into().expect("32 bytes"))
        });
        let ask = Ask { query: u64::MAX, phase: 2, digest: [0xff; 16], excluded: excluded.collect(), slots };
        let token = Token { counter: u64::MAX, minter: PeerKey([0xff; 32]) };
        let manifest = Manifest { token, seq: u64::MAX, documents: u32::MAX, whole: true };
        let manifests =
            (300..).take(MAX_MANIFESTS).filter_map(Slot::new).map(|slot| (slot, manifest)).collect();
        for message in [Message::Ask(ask), Message::Manifests(manifests)] {
            assert!(message.encode().len() <= MAX_MESSAGE, "{}", message.encode().len());
            assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
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
