//! What peers say to each other about who is there, and how large it may be.

use super::primary::MAX_ATTEMPTS;
use super::statement::{Goodbye, Incarnation, LastStand, Witnessed};
use crate::member::MemberRecord;
use crate::peer::PeerKey;
use crate::signed::Signed;
use crate::wire::{self, Versioned, WireError};
use serde::{Deserialize, Serialize};

/// The largest message in bytes.
pub const MAX_MESSAGE: usize = 64 * 1_024;
/// Items of news in a message: records of the largest size fill half of it.
pub const MAX_NEWS: usize = 64;
/// Items of news that ride on a probe or its answer.
pub const PIGGYBACK: usize = 16;
/// Parts of the key space that are compared one by one: 512 bytes of digests find one difference among 64 members.
pub const BUCKETS: usize = 64;
/// Entries of a [`Message::Listing`]: at most 62 bytes each.
pub const MAX_ENTRIES: usize = 800;
/// Peers asked for in a [`Message::Want`].
pub const MAX_WANTED: usize = MAX_NEWS;
/// Members that decide which component is primary. Of a larger swarm those nearest to its key do: as many fill half a
/// message.
pub const MAX_ELECTORS: usize = 1_000;

/// What is told on from peer to peer, each item signed by whom it is of.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct News {
    /// What members say of themselves.
    pub records: Vec<Signed<MemberRecord>>,
    /// Who could not be reached.
    pub witnesses: Vec<Signed<Witnessed>>,
    /// Who left.
    pub goodbyes: Vec<Signed<Goodbye>>,
}

impl News {
    /// How many items there are.
    pub fn len(&self) -> usize {
        self.records.len() + self.witnesses.len() + self.goodbyes.len()
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What the sender's primary component is; see [`super::primary`].
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Stand {
    /// The number of the settled view; 0 if it knows of none.
    pub number: u64,
    /// The settled view's digest.
    pub digest: u64,
    /// Digest of the view that it would settle on, and has written down; 0 for none.
    pub attempt: u64,
    /// Digests of all other views that it knows somebody may have settled on, at most [`MAX_ATTEMPTS`].
    pub others: Vec<u64>,
}

impl Stand {
    /// Digests of all views after the settled one, and zeros.
    pub(super) fn attempts(&self) -> impl Iterator<Item = u64> + Clone {
        std::iter::once(self.attempt).chain(self.others.iter().copied())
    }
}

impl From<LastStand> for Stand {
    fn from(LastStand { number, digest, attempts: [attempt, others @ ..] }: LastStand) -> Stand {
        Stand { number, digest, attempt, others: others.to_vec() }
    }
}

/// What the sender of a probe, or of an answer to one, says of itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Word {
    /// Of its latest record.
    pub incarnation: Incarnation,
    /// Where it stands.
    pub stand: Stand,
}

/// How a member does, as a listing says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Claim {
    /// It answers, or is not doubted.
    Live,
    /// It is held for down.
    Down,
    /// It said goodbye.
    Left,
}

/// A line of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Who.
    pub peer: PeerKey,
    /// Of the record known, or of the goodbye.
    pub incarnation: Incarnation,
    /// The record's digest; 0 for a goodbye.
    pub digest: u64,
    /// What is held of it.
    pub claim: Claim,
}

/// A message about membership.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Message {
    /// "Are you there?" Answered by `Ack`.
    Ping {
        /// Chosen by who asks.
        nonce: u64,
        /// Of the sender.
        word: Word,
        /// What is new.
        news: News,
    },
    /// "Yes."
    Ack {
        /// Of the ping.
        nonce: u64,
        /// Of the sender.
        word: Word,
        /// What is new.
        news: News,
    },
    /// "Does that peer answer you?" Answered by `Reached` if so, else not at all.
    PingFor {
        /// Chosen by who asks.
        nonce: u64,
        /// Who is to be pinged.
        target: PeerKey,
    },
    /// "It does."
    Reached {
        /// Of the question.
        nonce: u64,
        /// Who answered.
        target: PeerKey,
    },
    /// What is new.
    News(News),
    /// "Where do we differ?" Answered by a `Listing` of what the asked one knows in buckets whose digests differ.
    Compare {
        /// Chosen by who asks.
        session: u64,
        /// [`BUCKETS`] digests.
        buckets: Vec<u64>,
        /// Leave out what comes before, and this.
        after: Option<PeerKey>,
    },
    /// What is known in the buckets that differ, in order of peers.
    Listing {
        /// Of the question.
        session: u64,
        /// In rising order.
        entries: Vec<Entry>,
        /// Whether there are no more.
        done: bool,
    },
    /// "Give me what you know of these." Answered by `Items`.
    Want {
        /// Of the comparison; 0 outside of one.
        session: u64,
        /// Which, in rising order.
        peers: Vec<PeerKey>,
    },
    /// Records and goodbyes that were asked for.
    Items {
        /// Of the question.
        session: u64,
        /// What is known of the peers asked for.
        news: News,
    },
    /// "What is your settled view, and on what would you settle?" Answered by `Attempt`s and `Electors`.
    WantElectors,
    /// The settled view.
    Electors {
        /// Its number.
        number: u64,
        /// Its members in rising order, at most [`MAX_ELECTORS`].
        members: Vec<PeerKey>,
    },
    /// A view on which somebody was ready to settle.
    Attempt {
        /// Its members in rising order, at most [`MAX_ELECTORS`].
        members: Vec<PeerKey>,
    },
}

impl Versioned for Message {
    const VERSION: u8 = 4;
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
        wire::decode_message(bytes, MAX_MESSAGE, "members", Message::is_within_bounds)
    }

    /// What kind it is, in a word, for metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Message::Ping { .. } => "ping",
            Message::Ack { .. } => "ack",
            Message::PingFor { .. } => "ping-for",
            Message::Reached { .. } => "reached",
            Message::News(_) => "news",
            Message::Compare { .. } => "compare",
            Message::Listing { .. } => "listing",
            Message::Want { .. } => "want",
            Message::Items { .. } => "items",
            Message::WantElectors => "want-electors",
            Message::Electors { .. } => "electors",
            Message::Attempt { .. } => "attempt",
        }
    }

    pub(super) fn is_within_bounds(&self) -> bool {
        match self {
            Message::Ping { news, word, .. } | Message::Ack { news, word, .. } => {
                news.len() <= PIGGYBACK && word.stand.others.len() <= MAX_ATTEMPTS
            }
            Message::News(news) | Message::Items { news, .. } => news.len() <= MAX_NEWS,
            Message::Compare { buckets, .. } => buckets.len() == BUCKETS,
            Message::Listing { entries, done, .. } => {
                // A listing that goes on must get further, or it would never end.
                entries.len() <= MAX_ENTRIES
                    && entries.is_sorted_by(|a, b| a.peer < b.peer)
                    && (*done || !entries.is_empty())
            }
            Message::Want { peers, .. } => peers.len() <= MAX_WANTED && peers.is_sorted_by(|a, b| a < b),
            Message::Electors { members, .. } | Message::Attempt { members } => {
                (1..=MAX_ELECTORS).contains(&members.len()) && members.is_sorted_by(|a, b| a < b)
            }
            Message::PingFor { .. } | Message::Reached { .. } | Message::WantElectors => true,
        }
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
