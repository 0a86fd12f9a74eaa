//! What of membership is on the disk.

use super::message::MAX_ELECTORS;
use super::primary::Electors;
use super::statement::{Goodbye, Incarnation};
use crate::member::MemberRecord;
use crate::peer::PeerKey;
use crate::signed::Signed;
use crate::time::Instant;
use crate::wire::Versioned;
use serde::{Deserialize, Serialize};

/// One record on the disk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "made to be written or when it was read; most are members")]
pub enum Stored {
    /// This peer.
    Own {
        /// One of its records; those that came after may not be here.
        record: MemberRecord,
        /// Sequences up to this one may have been used.
        reserved: u64,
    },
    /// The settled view, and those on which others may have settled.
    Electors {
        /// The last one this peer settled on.
        last: Option<Electors>,
        /// What it was ready to settle on since.
        attempts: Vec<Electors>,
    },
    /// Another member.
    Member(Signed<MemberRecord>),
    /// One that is gone.
    Tomb {
        /// Who.
        peer: PeerKey,
        /// Up to which incarnation.
        incarnation: Incarnation,
        /// What it said when it left.
        goodbye: Option<Signed<Goodbye>>,
        /// Until when that is remembered.
        until: Instant,
    },
}

/// Under which name a record is stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Key {
    /// [`Stored::Own`].
    Own,
    /// [`Stored::Electors`].
    Electors,
    /// [`Stored::Member`].
    Member(PeerKey),
    /// [`Stored::Tomb`].
    Tomb(PeerKey),
}

impl Key {
    /// The bytes under which a store keeps it: a letter, then the peer.
    pub fn bytes(&self) -> Vec<u8> {
        let with = |letter: u8, peer: &PeerKey| [&[letter], peer.0.as_slice()].concat();
        match self {
            Key::Own => b"o".to_vec(),
            Key::Electors => b"e".to_vec(),
            Key::Member(peer) => with(b'm', peer),
            Key::Tomb(peer) => with(b't', peer),
        }
    }
}

impl Stored {
    /// Under which name it is stored.
    pub fn key(&self) -> Key {
        match self {
            Stored::Own { .. } => Key::Own,
            Stored::Electors { .. } => Key::Electors,
            Stored::Member(signed) => Key::Member(signed.body().peer),
            Stored::Tomb { peer, .. } => Key::Tomb(*peer),
        }
    }
}

impl Versioned for Stored {
    const VERSION: u8 = 3;
    /// The settled view and all attempts, of the largest size.
    const LIMIT: usize = 1_024 + (super::primary::MAX_ATTEMPTS + 1) * (MAX_ELECTORS * 32 + 64);
}
