//! What copies are told, what they ask for, and how often and how much.

use super::item::{Bits, Buckets, Entry, Item, ItemKey, Position, Record, Root};
use super::message::Message;
use crate::claim::{Claim, DEFAULT_REPLICAS, Token};
use crate::key::Slot;
use crate::peer::PeerKey;
use crate::view;
use std::sync::Arc;
use std::time::Duration;

/// How often and how much. The same at all peers, except in tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// How many peers should keep a slot.
    pub replicas: usize,
    /// How long parts for a peer are gathered. Adds to the time until something is durable, so short.
    pub gather: Duration,
    /// Bytes of changes that one read asks for. A read gives one item at least.
    pub batch: usize,
    /// Bytes of changes sent to a peer and not acknowledged: a tenth of a second at 300 Mbit/s.
    pub window: u64,
    /// The same over all peers: what may wait in queues.
    pub window_all: u64,
    /// Bytes received and not yet on disk. What comes beyond is refused.
    pub applying: u64,
    /// Bytes a second for copying and repair, both what is answered and what is offered. A quarter of a 40 Mbit/s uplink.
    pub bytes_per_s: u64,
    /// Slots compared or pulled at once.
    pub sessions: usize,
    /// Questions of one peer that wait for an answer.
    pub questions: usize,
    /// Reads for other peers under way.
    pub reads: usize,
    /// The least and the longest time until a member that did not do as it should is asked again.
    pub retry: (Duration, Duration),
    /// How long an answer is waited for.
    pub patience: Duration,
    /// How often every slot held is compared with its members' copies.
    pub compare_every: Duration,
    /// How long a copy is kept after others have first confirmed theirs; then they are asked once more.
    pub keep: Duration,
    /// How often who is to confirm is asked, and for how long what it said counts.
    pub confirm_every: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            replicas: DEFAULT_REPLICAS,
            gather: Duration::from_millis(10),
            batch: 256 << 10,
            window: 4 << 20,
            window_all: 64 << 20,
            applying: 128 << 20,
            bytes_per_s: 1_250_000,
            sessions: 16,
            questions: 64,
            reads: 8,
            retry: (Duration::from_millis(500), Duration::from_secs(15)),
            patience: Duration::from_secs(30),
            compare_every: Duration::from_secs(600),
            keep: Duration::from_secs(600),
            confirm_every: Duration::from_secs(30),
        }
    }
}

/// Names a write until it is answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

/// Names a read until it is answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReadId(pub u64);

/// What this machine is told.
#[derive(Clone, Debug)]
pub enum Input {
    /// A deadline may have come.
    Tick,
    /// A peer says something.
    Received(PeerKey, Message),
    /// A stream with a peer is open.
    PeerUp(PeerKey),
    /// It broke: what was sent may not have come.
    PeerDown(PeerKey),
    /// Who is in the swarm.
    View(Arc<view::View>),
    /// We hold by this claim. With a take-over goes who of those that promised had the greatest [`Position`]: what it has
    /// must be here before we are [`Effect::CaughtUp`].
    Holding(Claim, Option<(PeerKey, Position)>),
    /// We are of the recorded set; another holds.
    Member(Claim),
    /// We are to get a copy, and are not of the set yet.
    Learn(Claim),
    /// We are not of the set of this claim any more: our copy may go when it is safe.
    Released(Claim),
    /// We have promised this token, or accepted it: nothing is acknowledged by a lesser one from now on. Must be told *before*
    /// the [`super::State::position`] that goes with the promise is read, and again after a restart.
    Fence(Slot, Token),
    /// As holder: these are to become whole, and are told by [`Effect::Whole`] when they are.
    Copy(Slot, Vec<PeerKey>),
    /// A commit of ours to this slot is on disk and synced: all up to this change is.
    Wrote(Slot, u64),
    /// A write is on disk and synced; the slot's last change is now this one.
    Applied(Ticket, u64),
    /// A write failed and changed nothing.
    NotApplied(Ticket),
    /// An answer of the store.
    Read(ReadId, Answer),
    /// Whether there is no room for what others send.
    Full(bool),
}

impl Input {
    /// Whether a copy may become whole by it, or cease to be: the parts that peers have in slots, tokens, and what is on disk.
    pub(super) fn may_change_whole(&self) -> bool {
        match self {
            Input::Holding(..)
            | Input::Member(_)
            | Input::Learn(_)
            | Input::Released(_)
            | Input::Fence(..) => true,
            Input::Applied(..) => true,
            Input::Tick | Input::Received(..) | Input::PeerUp(_) | Input::PeerDown(_) | Input::View(_) => {
                false
            }
            Input::Copy(..) | Input::Wrote(..) | Input::NotApplied(_) | Input::Read(..) | Input::Full(_) => {
                false
            }
        }
    }
}

/// What is read from the store. All but changes are of the content as it is. An answer is given when all that it shows is synced: another
/// peer may be told of it, and must not have what a loss of power undoes here, together with all else that was in the same
/// commit.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the text of a variant names its fields")]
pub enum Read {
    /// The present values of the keys changed after a change, in order of changes, synced ones only: a key that changed twice
    /// belongs to the first of these too, so that who has all up to a change lacks nothing that was there then. About so many
    /// bytes, and at most [`super::message::MAX_ITEMS`]; one at least. Answered by [`Answer::Changes`] or [`Answer::Trimmed`].
    Changes { slot: Slot, after: u64, limit: usize },
    /// Answered by [`Answer::Digest`].
    Digest(Slot),
    /// Keys and digests in these buckets in order, after a key and not after another. Answered by [`Answer::Keys`].
    Keys { slot: Slot, buckets: Bits, after: Option<ItemKey>, until: Option<ItemKey>, limit: usize },
    /// Items in these buckets in order of keys: about so many bytes, one at least. Answered by [`Answer::Items`].
    Range { slot: Slot, buckets: Bits, after: Option<ItemKey>, limit: usize },
    /// These items, those that are there, in this order: about so many bytes, one key looked up at least. Answered by
    /// [`Answer::Items`], `more` if some keys were not looked up.
    Items { slot: Slot, keys: Vec<ItemKey>, limit: usize },
}

impl Read {
    /// The slot that is read of.
    pub fn slot(&self) -> Slot {
        match self {
            Read::Changes { slot, .. }
            | Read::Keys { slot, .. }
            | Read::Range { slot, .. }
            | Read::Items { slot, .. }
            | Read::Digest(slot) => *slot,
        }
    }
}

/// What the store answers.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the text of a variant names its fields")]
pub enum Answer {
    /// Changes up to `upto`; the rest, if there are more, comes with the next read.
    Changes { items: Vec<Item>, upto: u64 },
    /// The log does not go back so far.
    Trimmed,
    /// The state at change `seq`, and how many documents there are.
    Digest { seq: u64, documents: u64, buckets: Buckets },
    /// Whether there are more after these.
    Keys { entries: Vec<Entry>, more: bool },
    /// `looked_up`: how many keys of [`Read::Items`] these answer.
    Items { items: Vec<Item>, looked_up: usize, more: bool },
    /// The store could not read: asked again later.
    Failed,
}

/// What this machine asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the text of a variant names its fields")]
pub enum Effect {
    /// To one peer, on its stream.
    Send(PeerKey, Message),
    /// Merge these into the slot, and put this record in place of what is there, together or not at all, synced. In order of
    /// tickets. What merging changes is a change of the slot like any other. Unless it is `urgent` it is only acknowledged when it
    /// is done, and may wait to share its sync.
    Apply { ticket: Ticket, slot: Slot, items: Vec<Item>, record: Record, urgent: bool },
    /// Delete all of the slot: items, changes, record; together or not at all.
    Delete { ticket: Ticket, slot: Slot },
    /// Answer this.
    Read(ReadId, Read),
    /// A majority of the recorded set has all that the holder's store had at this change, by this token. The first one says that
    /// all that was durable by earlier tokens is so in this claim's set: until then nothing may be learned from this set alone.
    Durable { slot: Slot, token: Token, seq: u64 },
    /// The holder has all that was ever durable: it may serve, write, hand over.
    CaughtUp(Slot, Token),
    /// This peer's copy is whole by our token.
    Whole(Slot, PeerKey),
    /// This peer's disk is full: the slot has a copy less than it should.
    MemberFull(Slot, PeerKey),
    /// Somebody speaks by a later token than that of the claim known here: claims should ask whose it is.
    Later(Slot, Token),
    /// A peer did what no honest one does.
    Misbehaved(PeerKey, Fault),
}

/// What a peer did.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fault {
    /// Says it holds by the token of somebody else.
    NotHolder,
    /// Is at a change of our store that is yet to come.
    Ahead,
    /// Answered with what was not asked for.
    Unasked,
    /// A signature that is none.
    Forged,
}

/// Why the machine wants to be called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// Parts for a peer were gathered.
    Gather,
    /// A member is asked again.
    Retry,
    /// An answer should have come.
    Patience,
    /// Bytes for copying are there again.
    Rate,
    /// Time to compare.
    Compare,
    /// Time to ask whether a copy may go.
    Release,
}

/// What a copy is worth to a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Manifest {
    /// By which the copy is known to be where it is; none for one that was never whole.
    pub position: Option<Position>,
    /// By the claim known here.
    pub token: Option<Token>,
    /// Whether it has all that the holder had a moment ago: of a set, under the token known here.
    pub whole: bool,
    /// Documents, as of the last digest.
    pub documents: u64,
    /// The content as of the last digest.
    pub root: Option<Root>,
}

/// What is known to be missing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Debt {
    /// Changes of slots held here that members have not acknowledged, summed over members.
    pub changes: u64,
    /// Copies of members that are there, which are not whole.
    pub copies: u64,
    /// Items that this peer knows it lacks.
    pub items: u64,
}
