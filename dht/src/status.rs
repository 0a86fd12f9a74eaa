//! What the network says of itself.

use crate::lane::Counts;
use libp2p::{Multiaddr, PeerId};
use std::sync::atomic::Ordering;

/// Whether others can reach this peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reach {
    /// Nobody has tried yet.
    #[default]
    Unknown,
    /// Directly.
    Open,
    /// Not directly: through relays, and where a hole could be punched.
    Closed,
}

/// How things stand.
#[derive(Clone, Debug)]
pub struct Status {
    /// Addresses listened at, those at relays included.
    pub listening: Vec<Multiaddr>,
    /// Addresses at which others have reached this peer.
    pub external: Vec<Multiaddr>,
    /// Connected peers of the swarm, and whether only through a relay.
    pub peers: Vec<(PeerId, bool)>,
    /// Whether others can reach this peer.
    pub reach: Reach,
    /// Relays that pass on for this peer.
    pub relays: Vec<PeerId>,
    /// Whether peers need a shared key, and QUIC is off therefore.
    pub private: bool,
    /// What was sent and received.
    pub tally: Tally,
    /// Seconds since the start.
    pub up_s: u64,
}

/// Messages to and from single peers since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Messages written to a stream.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Messages read from streams.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Messages that were too many, too large, or for peers that cannot be reached.
    pub dropped: u64,
}

impl Tally {
    pub(crate) fn of(counts: &Counts) -> Tally {
        let of = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        Tally {
            sent: of(&counts.sent),
            sent_bytes: of(&counts.sent_bytes),
            received: of(&counts.received),
            received_bytes: of(&counts.received_bytes),
            dropped: of(&counts.dropped),
        }
    }
}
