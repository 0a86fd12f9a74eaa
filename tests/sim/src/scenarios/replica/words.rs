//! What the fixture that gives claims and peers say to each other.

use crate::node::NodeId;
use anthill_protocol::claim::{Claim, Token};
use anthill_protocol::key::Slot;
use anthill_protocol::peer::{Keys, PeerKey, testing::Keyring};
use anthill_protocol::replica::Position;
use anthill_protocol::wire::Versioned;
use serde::{Deserialize, Serialize};

/// Slots there are.
pub(super) const SLOTS: u16 = 5;

/// All of them.
pub(super) fn slots() -> impl Iterator<Item = Slot> {
    // Far from each other, so that their owners differ.
    (0..SLOTS).filter_map(|n| Slot::new(n * 3_000))
}

/// The peer of a machine.
pub(super) fn peer(node: NodeId) -> PeerKey {
    Keyring::numbered(u64::from(node.0)).own()
}

/// A claim, and what of it concerns who is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Told {
    pub claim: Claim,
    /// For the holder: whom to catch up with.
    pub from: Option<(PeerKey, Position)>,
    /// Who is to become whole.
    pub learners: Vec<PeerKey>,
    /// Whether those that are not of the set may let go.
    pub settled: bool,
}

/// Words about claims.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Word {
    /// A peer is there, on a disk it has had since it drew this number.
    Here { generation: u64 },
    /// Who is in the swarm, and whether holders still write.
    Members(Vec<PeerKey>, bool),
    /// Promise this token.
    Prepare { slot: Slot, token: Token },
    /// Promised, on disk.
    Promised { slot: Slot, token: Token, generation: u64, position: Option<Position> },
    /// What is, for a peer with this disk.
    Claims(Vec<Told>, u64),
    /// Of the holder.
    CaughtUp { slot: Slot, token: Token },
    /// Of the holder.
    Durable { slot: Slot, token: Token },
    /// Of the holder.
    Whole { slot: Slot, token: Token, peer: PeerKey },
}

impl Versioned for Word {
    const VERSION: u8 = 1;
    const LIMIT: usize = 0x1_0000;
}
