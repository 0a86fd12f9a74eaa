//! What the protocol of links is told, what it asks for, and how much and how long.

use super::link::Link;
use super::message::{Cursor, Message};
use crate::claim::Token;
use crate::key::Slot;
use crate::peer::PeerKey;
use std::time::Duration;

/// How much and how long. The same at all peers, except in tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Bytes being read, staged or on their way to one peer. With an answer in 100 ms that is 2.5 MB/s.
    pub window_each: u64,
    /// The same to all peers: what links take of memory at the sender.
    pub window_all: u64,
    /// How long links for a peer are gathered, unless a batch is full before.
    pub linger: Duration,
    /// How long the first answer is waited for.
    pub patience: Duration,
    /// How long `Durable` is waited for after `Received`.
    pub durable_patience: Duration,
    /// Shortest and longest wait before something is tried again; doubled each time, drawn between half and the whole.
    pub retry: (Duration, Duration),
    /// Bytes of links not durable above which the peer slows its own fetching, until half of it.
    pub max_lag_bytes: u64,
    /// How many bytes of links logged later are kept behind what is durable, for replay after a forced take-over.
    pub keep_log: u64,
    /// Bytes received and not written yet, from one peer; one part more where it is less than a part.
    pub spool_each: u64,
    /// The same from all: what links take of memory at the receiver.
    pub spool_all: u64,
    /// Parts received and not durable yet, from one peer.
    pub waiting_each: usize,
    /// The same from all; some 150 bytes each.
    pub waiting_all: usize,
    /// How long answers are gathered.
    pub answer_delay: Duration,
    /// When a sender that was told `Busy` is to come again.
    pub busy_retry: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            window_each: 256 << 10,
            window_all: 4 << 20,
            linger: Duration::from_secs(1),
            patience: Duration::from_secs(10),
            durable_patience: Duration::from_secs(60),
            retry: (Duration::from_millis(500), Duration::from_secs(60)),
            max_lag_bytes: 1 << 30,
            keep_log: 1 << 30,
            spool_each: 1 << 20,
            spool_all: 16 << 20,
            waiting_each: 8_192,
            waiting_all: 65_536,
            answer_delay: Duration::from_millis(20),
            busy_retry: Duration::from_secs(1),
        }
    }
}

/// What is found on disk of one slot's log when the process starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored {
    /// Which.
    pub slot: Slot,
    /// The oldest entry kept; entries count from 1.
    pub oldest: u64,
    /// The last entry; `oldest - 1` if there is none.
    pub last: u64,
    /// Bytes of the entries kept, by [`Link::cost`].
    pub bytes: u64,
    /// Bytes of those after the cursor.
    pub behind: u64,
    /// The record written last.
    pub cursor: Cursor,
}

/// What it is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A deadline may have come.
    Tick,
    /// A peer says something.
    Received(PeerKey, Message),
    /// A peer can be reached.
    PeerUp(PeerKey),
    /// The stream with it broke: what was on its way may or may not have come.
    PeerDown(PeerKey),
    /// Links were found and written to the log, in the same atomic write as the page they were found on.
    Logged {
        /// The slot of their targets.
        slot: Slot,
        /// The number of the last one: numbers of a slot rise by one from link to link.
        upto: u64,
        /// Their bytes, by [`Link::cost`].
        bytes: u64,
    },
    /// Who holds a slot, or should, as far as is known: the claim's token where there is one. May be this peer.
    Route(Slot, Option<(PeerKey, Token)>),
    /// Answer to [`Effect::ReadLog`], exactly one each.
    LogRead {
        /// As asked.
        slot: Slot,
        /// As asked.
        after: u64,
        /// Entries and their numbers, in order. What need not be sent any more (its crawl ended, it was excluded) may be left out.
        links: Vec<(u64, Link)>,
        /// The last entry that was looked at; `after` if none could be read.
        upto: u64,
    },
    /// A slot was taken over by force, by this token: what its holder lost is sent again. May be told often, also at each start.
    Forced(Slot, Token),
    /// This peer holds a slot.
    Held(Slot, Token),
    /// It does not any more.
    Lost(Slot),
    /// Answer to [`Effect::Admit`]: sieved and written (not synced).
    Admitted {
        /// Of the effect.
        ticket: u64,
        /// The number of the slot's change that holds it, under the present token; of the last change if there was nothing new.
        seq: u64,
        /// Links whose target is not of the slot, which were left out. An honest peer sends none.
        rejected: u32,
    },
    /// Answer to [`Effect::Admit`]: it could not be written.
    NotAdmitted {
        /// Of the effect.
        ticket: u64,
    },
    /// Changes of a slot up to `seq` are on a majority of its set, under this token.
    Durable {
        /// The slot.
        slot: Slot,
        /// The token under which changes are counted.
        token: Token,
        /// The last that is durable.
        seq: u64,
    },
}

/// What it asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// To one peer, on its stream; opens one if there is none.
    Send(PeerKey, Message),
    /// Read entries of a slot's log that come after `after`, in order: as many as have `limit_bytes` together by [`Link::cost`], at
    /// least one.
    ReadLog {
        /// The slot.
        slot: Slot,
        /// Numbers are greater.
        after: u64,
        /// At least [`super::link::MAX_LINK`].
        limit_bytes: u64,
    },
    /// Write these down, without a sync, after what was asked before. When it fails, links are sent once more after a restart.
    Persist(Vec<(Slot, Cursor)>),
    /// These links of a slot are durable: to be entered in [`super::Lately`].
    Sent {
        /// The slot.
        slot: Slot,
        /// See [`Link::fingerprint`].
        fingerprints: Vec<u64>,
    },
    /// Links of this slot may have been lost by its holder: [`super::Lately::forget`] it.
    Replay(Slot),
    /// Entries of a slot's log up to here may be deleted: they are durable, and old.
    Trim {
        /// The slot.
        slot: Slot,
        /// The last that may be.
        upto: u64,
    },
    /// Too much waits to be sent: give fewer permits, and say so; or not any more.
    Slow(bool),
    /// Sieve and write these, as links that `from` found. Answer: [`Input::Admitted`] or [`Input::NotAdmitted`].
    Admit {
        /// For the answer.
        ticket: u64,
        /// Who sent them.
        from: PeerKey,
        /// Their slot, if the targets' names say so too: that is for who answers to check.
        slot: Slot,
        /// The links.
        links: Vec<Link>,
    },
    /// A peer said that another holds this slot: a hint for whoever keeps routes.
    Hint {
        /// The slot.
        slot: Slot,
        /// Who is said to hold it; none if `by` does not know.
        holder: Option<(PeerKey, Token)>,
        /// Who said so.
        by: PeerKey,
    },
    /// A peer did what no honest one does.
    Misbehaved(PeerKey, Fault),
}

/// What no honest peer does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// A message out of bounds.
    #[error("a message about links out of bounds")]
    Bounds,
    /// Links for other slots than their targets'.
    #[error("{0} links whose targets are not of the slot they were sent for")]
    Foreign(u32),
    /// An answer to a batch that was never sent.
    #[error("an answer to a batch that was never sent")]
    Answer,
}

/// Why it wants to be called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// Answers wait to be sent.
    Answers,
    /// Links were gathered, or a peer may be tried again.
    Peer,
    /// A slot may be tried again, or an answer should have come.
    Slot,
}
