//! What peers say to each other about copies, and how large it may be.
//!
//! Every part is about one slot; parts to one peer are gathered and travel together. Of a token only the counter travels where
//! its minter is one of the two peers that speak: a holder is always the minter of its token.

use super::item::{BUCKETS, Bits, Bucket, Entry, Item, ItemKey, MAX_VALUE, Position, Root};
use crate::claim::Token;
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::signed::{Signable, Signed};
use crate::wire::{self, Versioned, WireError};
use serde::{Deserialize, Serialize};

/// The largest message in bytes: one that carries items.
pub const MAX_MESSAGE: usize = 1 << 20;
/// Bytes from which on parts are no longer gathered. Only a part that is larger by itself makes a larger message.
pub const FULL_MESSAGE: usize = 64 << 10;
/// Parts of a message.
pub const MAX_PARTS: usize = 4_096;
/// Items of a part.
pub const MAX_ITEMS: usize = 1_024;
/// Entries of a [`Part::Keys`]: at most 75 bytes each.
pub const MAX_ENTRIES: usize = 768;
/// Keys of a [`Part::Want`].
pub const MAX_KEYS: usize = 256;

/// Why somebody does not do what it was asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Why {
    /// Its disk is full: later, when there is room.
    Full,
    /// It has too much to do: later.
    Busy,
    /// It does not know (yet) that it should, or is not (yet) able to.
    NotReady,
}

/// "My copy of the slot is on disk and whole up to here, and by my view it is mine to keep."
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Confirmed {
    /// Who says so.
    pub by: PeerKey,
    /// To whom: nobody else may delete by it.
    pub to: PeerKey,
    /// Of what.
    pub slot: Slot,
    /// What was asked for: the copy of `by` is at least here.
    pub goal: Position,
    /// The digest of the placement by which both reckon.
    pub placement: [u8; 32],
}

impl Versioned for Confirmed {
    const VERSION: u8 = 1;
    const LIMIT: usize = 512;
}

impl Signable for Confirmed {
    const CONTEXT: &'static str = "anthill replica confirmed";
    fn signer(&self) -> PeerKey {
        self.by
    }
}

/// One word about one slot.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the text of a variant names its fields")]
pub enum Part {
    /// Holder to member: "how far are you?" Answered by `Behind`, `Stale` or `Refused`.
    Where { slot: Slot, counter: u64 },
    /// Holder to member: my changes after `after`, up to `upto`, of my store's numbers `log`. If `lifts`, who has them has all
    /// that was durable before this token as well.
    Append { slot: Slot, counter: u64, log: u64, after: u64, upto: u64, lifts: bool, items: Vec<Item> },
    /// Holder to member: "where you are my log does not begin: compare your copy with mine".
    Fetch { slot: Slot, counter: u64 },
    /// Holder to member: my content at change `seq`, to be compared with yours.
    Root { slot: Slot, counter: u64, seq: u64, root: Root },
    /// Member to holder: "go on from here".
    Behind { slot: Slot, counter: u64, position: Option<Position> },
    /// Member to holder: all up to here is on disk.
    Acked { slot: Slot, counter: u64, upto: u64, lifted: bool },
    /// Anybody to who says it holds: a higher token is known.
    Stale { slot: Slot, token: Token },
    /// Not done; `session` is that of the question, 0 for one of a holder.
    Refused { slot: Slot, session: u64, why: Why },
    /// "What do you have that differs from this?" Answered by `Same` or `Buckets`. Opens a session.
    Compare { slot: Slot, session: u64, root: Root },
    /// Nothing.
    Same { slot: Slot, session: u64, position: Position },
    /// The state of all buckets, and where the copy was.
    Buckets { slot: Slot, session: u64, position: Position, buckets: Vec<Bucket> },
    /// "What is in these buckets, after this key?" Answered by `Keys`.
    List { slot: Slot, session: u64, buckets: Bits, after: Option<ItemKey> },
    /// Entries in order; `done` if there are no more.
    Keys { slot: Slot, session: u64, entries: Vec<Entry>, done: bool },
    /// "Give me all in these buckets, after this key." Answered by `Chunk`.
    Pull { slot: Slot, session: u64, buckets: Bits, after: Option<ItemKey> },
    /// Items in order of keys; `done` if there are no more.
    Chunk { slot: Slot, session: u64, items: Vec<Item>, done: bool },
    /// "Give me these." Answered by `Items`.
    Want { slot: Slot, session: u64, keys: Vec<ItemKey> },
    /// The items of the first `served` keys, those that are there.
    Items { slot: Slot, session: u64, served: u16, items: Vec<Item> },
    /// "You do not have these." Answered by `Took`.
    Offer { slot: Slot, session: u64, items: Vec<Item> },
    /// They are on disk; whoever is at this position has them.
    Took { slot: Slot, session: u64, position: Position },
    /// "Is your copy at least here? Then I may delete mine." Answered by `Confirmed`, `Refused` or `Stale`.
    Confirm { slot: Slot, goal: Position, placement: [u8; 32] },
    /// It is.
    Confirmed(Signed<Confirmed>),
}

impl Part {
    /// The slot it is about.
    pub fn slot(&self) -> Slot {
        match self {
            Part::Where { slot, .. }
            | Part::Append { slot, .. }
            | Part::Fetch { slot, .. }
            | Part::Root { slot, .. }
            | Part::Behind { slot, .. }
            | Part::Acked { slot, .. }
            | Part::Stale { slot, .. }
            | Part::Refused { slot, .. }
            | Part::Compare { slot, .. }
            | Part::Same { slot, .. }
            | Part::Buckets { slot, .. }
            | Part::List { slot, .. }
            | Part::Keys { slot, .. }
            | Part::Pull { slot, .. }
            | Part::Chunk { slot, .. }
            | Part::Want { slot, .. }
            | Part::Items { slot, .. }
            | Part::Offer { slot, .. }
            | Part::Took { slot, .. }
            | Part::Confirm { slot, .. } => *slot,
            Part::Confirmed(signed) => signed.body().slot,
        }
    }

    /// An upper bound of its bytes.
    pub fn size(&self) -> usize {
        const AROUND: usize = 256;
        let keys = |keys: &[ItemKey]| keys.iter().map(|key| key.bytes().len() + 2).sum();
        AROUND
            + match self {
                Part::Append { items, .. }
                | Part::Chunk { items, .. }
                | Part::Items { items, .. }
                | Part::Offer { items, .. } => items.iter().map(Item::size).sum(),
                Part::Keys { entries, .. } => entries.iter().map(|one| one.key.bytes().len() + 10).sum(),
                Part::Want { keys: wanted, .. } => keys(wanted),
                Part::Buckets { buckets, .. } => buckets.len() * 14,
                _ => 0,
            }
    }

    fn is_within_bounds(&self) -> bool {
        let slot = self.slot();
        let all_of = |items: &[Item]| {
            items.len() <= MAX_ITEMS
                && items.iter().all(|one| one.key.slot() == slot && one.value.len() <= MAX_VALUE)
        };
        match self {
            Part::Append { items, after, upto, .. } => after <= upto && all_of(items),
            Part::Buckets { buckets, .. } => buckets.len() == BUCKETS,
            Part::List { after, .. } | Part::Pull { after, .. } => {
                after.as_ref().is_none_or(|key| key.slot() == slot)
            }
            // What goes on must get further, or it would never end.
            Part::Keys { entries, done, .. } => {
                entries.len() <= MAX_ENTRIES
                    && entries.iter().all(|one| one.key.slot() == slot)
                    && entries.is_sorted_by(|a, b| a.key < b.key)
                    && (*done || !entries.is_empty())
            }
            Part::Chunk { items, done, .. } => {
                all_of(items) && items.is_sorted_by(|a, b| a.key < b.key) && (*done || !items.is_empty())
            }
            Part::Want { keys, .. } => keys.len() <= MAX_KEYS && keys.iter().all(|key| key.slot() == slot),
            Part::Items { items, served, .. } => {
                let served = usize::from(*served);
                (1..=MAX_KEYS).contains(&served) && items.len() <= served && all_of(items)
            }
            Part::Offer { items, .. } => !items.is_empty() && all_of(items),
            _ => true,
        }
    }
}

/// What travels: parts for one peer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Message(pub Vec<Part>);

impl Versioned for Message {
    const VERSION: u8 = 1;
    /// Parts are larger in memory than on the wire; [`Message::decode`] bounds what is read.
    const LIMIT: usize = 4 << 20;
}

impl Message {
    /// The bytes that travel.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// An upper bound of these bytes.
    pub fn size(&self) -> usize {
        self.0.iter().map(Part::size).sum::<usize>() + 8
    }

    /// The message in bytes that may be hostile.
    ///
    /// # Errors
    /// [`WireError`], also for messages over [`MAX_MESSAGE`] or with more in them than there may be.
    pub fn decode(bytes: &[u8]) -> Result<Message, WireError> {
        wire::decode_message(bytes, MAX_MESSAGE, "copies", |message: &Message| {
            message.0.len() <= MAX_PARTS && message.0.iter().all(Part::is_within_bounds)
        })
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
