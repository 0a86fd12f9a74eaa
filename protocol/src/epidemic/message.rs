//! What peers say to each other, and how large it may be.

use super::Item;
use super::index::{BUCKETS, Bucket, Digest, Entry, ItemKey};
use crate::wire::{self, Versioned, WireError};
use serde::{Deserialize, Serialize};

/// The largest message in bytes: gossip carries 64 KiB, of which this leaves half to others.
pub const MAX_MESSAGE: usize = 32 * 1_024;
/// Entries of a [`Message::Keys`]: with 32 bytes each they fill a message.
pub const MAX_ENTRIES: usize = 1_000;
/// Items of a message. The least have some 120 bytes, so size is nearly always the narrower bound.
pub const MAX_ITEMS: usize = 256;
/// Bytes left for what is around items in a message.
const AROUND: usize = 64;

/// What travels. Who asks opens a session with [`Message::Root`]; all else but news is an answer or a question
/// within it, and an answer that was not asked for is not read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Message<I> {
    /// What was just said: gossip. Comes from the peer that first said it to the swarm, not from who passed it on.
    News(Vec<I>),
    /// "This is the digest of all I know; where do we differ?" Answered by `Same` or `Buckets`.
    Root {
        /// Chosen by who asks.
        session: u64,
        /// See [`super::Index::root`].
        root: Digest,
    },
    /// Nowhere.
    Same {
        /// Of the question.
        session: u64,
    },
    /// The state of all buckets.
    Buckets {
        /// Of the question.
        session: u64,
        /// [`BUCKETS`] of them.
        buckets: Vec<Bucket>,
    },
    /// "What is in these buckets?" Answered by `Keys`.
    List {
        /// Of the root.
        session: u64,
        /// Which question of the session.
        request: u16,
        /// In rising order.
        buckets: Vec<u8>,
        /// Leave out what comes before, and this.
        after: Option<ItemKey>,
    },
    /// Entries of the buckets in order, as many as go into a message.
    Keys {
        /// Of the question.
        session: u64,
        /// Of the question.
        request: u16,
        /// In rising order.
        entries: Vec<Entry>,
        /// Whether there are no more.
        done: bool,
    },
    /// "Give me these." Answered by `Items`.
    Want {
        /// Of the root.
        session: u64,
        /// Which question of the session.
        request: u16,
        /// Which.
        keys: Vec<ItemKey>,
    },
    /// The items of the first `served` keys (those that are still there): as many as go into a message.
    Items {
        /// Of the question.
        session: u64,
        /// Of the question.
        request: u16,
        /// How many keys were looked up.
        served: u16,
        /// In the order of the keys.
        items: Vec<I>,
    },
}

impl<I: Item> Versioned for Message<I> {
    const VERSION: u8 = I::MESSAGE_VERSION;
    /// Strings and vectors are larger in memory than on the wire; [`Message::decode`] bounds what is read.
    const LIMIT: usize = 0x10_0000;
}

impl<I: Item> Message<I> {
    /// The bytes that travel.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// The message in bytes that may be hostile.
    ///
    /// # Errors
    /// [`WireError`], also for messages over [`MAX_MESSAGE`] or with more parts than they may have.
    pub fn decode(bytes: &[u8]) -> Result<Message<I>, WireError> {
        wire::decode_message(bytes, MAX_MESSAGE, "what spreads", Message::is_within_bounds)
    }

    pub(crate) fn is_within_bounds(&self) -> bool {
        match self {
            Message::News(items) => items.len() <= MAX_ITEMS,
            Message::Root { .. } | Message::Same { .. } => true,
            Message::Buckets { buckets, .. } => buckets.len() == BUCKETS,
            Message::List { buckets, .. } => buckets.len() <= BUCKETS && buckets.is_sorted_by(|a, b| a < b),
            Message::Keys { entries, done, .. } => {
                // A list that goes on must get further, or it would never end.
                entries.len() <= MAX_ENTRIES
                    && entries.is_sorted_by(|a, b| a.key < b.key)
                    && (*done || !entries.is_empty())
            }
            Message::Want { keys, .. } => keys.len() <= MAX_ITEMS,
            Message::Items { items, served, .. } => {
                items.len() <= usize::from(*served) && usize::from(*served) <= MAX_ITEMS
            }
        }
    }
}

/// How many of these go into one message, counted from the first; at least one, if there is one.
pub(crate) fn that_fit<'a, I: Item + 'a>(items: impl Iterator<Item = &'a I>) -> usize {
    let mut bytes = Vec::new();
    let mut count = 0;
    for item in items.take(MAX_ITEMS) {
        wire::encode_into(item, &mut bytes);
        if count > 0 && bytes.len() > MAX_MESSAGE - AROUND {
            break;
        }
        count += 1;
    }
    count
}
