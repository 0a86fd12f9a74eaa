//! What a peer is told about the network before it starts.

use crate::shared::SharedKey;
use libp2p::{Multiaddr, PeerId};
use std::collections::BTreeSet;
use std::time::Duration;

/// The longest name of a swarm, in bytes: it is part of every protocol's name.
pub const MAX_SWARM_NAME: usize = 64;

/// Settings of the network.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which swarm: peers of others are not understood.
    pub swarm: String,
    /// Where to listen; port 0 takes a free one.
    pub listen: Vec<Multiaddr>,
    /// Where to find others at first: addresses that end in `/p2p/NAME`.
    pub bootstrap: Vec<Multiaddr>,
    /// How often those are tried that are not connected though others are: two newcomers that found each other alone would otherwise
    /// stay by themselves for good. While nobody is connected they are tried each few seconds.
    pub bootstrap_again: Duration,
    /// A key that all peers of a private swarm share. With it only TCP is used: QUIC knows no such keys.
    pub shared_key: Option<SharedKey>,
    /// To look for others on the local network, by multicast.
    pub lan: bool,
    /// To ask the router for a way in.
    pub upnp: bool,
    /// To pass on for members that cannot be reached, within limits.
    pub relay: bool,
    /// Whether to answer others' lookups: by itself once an address is known to be reachable, if nothing is said. Where addresses
    /// are private nobody confirms them.
    pub server: Option<bool>,
    /// Topics of gossip.
    pub topics: Vec<String>,
    /// Whom alone to talk to, if anybody is named.
    pub only: BTreeSet<PeerId>,
    /// Whom never to talk to.
    pub never: BTreeSet<PeerId>,
    /// Bounds.
    pub limits: Limits,
}

/// Bounds of what the network may take, each with what happens at it.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections in all; more are refused.
    pub connections: u32,
    /// To one peer. Not one: where both dial at a time both would be closed.
    pub per_peer: u32,
    /// Being made at a time, in each direction; more are refused.
    pub pending: u32,
    /// Bytes of a message to one peer; larger ones are refused, and who sends one is not listened to any more.
    pub message: usize,
    /// Bytes of a message to all.
    pub gossip: usize,
    /// Messages that wait to be sent to one peer on one lane; the next one is dropped, as if it were lost.
    pub queue: usize,
    /// And their bytes.
    pub queue_bytes: usize,
    /// Messages that were received and wait for the peer's mind; who sends more waits.
    pub received: usize,
    /// Peers with lanes at a time; of more, the lane that nothing was sent on for longest goes.
    pub lanes: usize,
    /// Messages a second that are taken from one peer on one lane; it waits when it sends more.
    pub rate: u32,
    /// Bytes a second, likewise.
    pub byte_rate: u64,
    /// How long a lane waits for a stream, or for a frame to be taken by the other side.
    pub patience: Duration,
    /// Circuits that are passed on at a time; for one peer half of them.
    pub circuits: usize,
    /// Bytes of a circuit: enough for claims and members and some pages, until a hole is punched.
    pub circuit_bytes: u64,
    /// How long a circuit may last.
    pub circuit_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 512,
            per_peer: 3,
            pending: 64,
            message: (1 << 20) + 16,
            gossip: 32 << 10,
            queue: 1_024,
            queue_bytes: 8 << 20,
            received: 256,
            lanes: 1_024,
            rate: 2_000,
            byte_rate: 64 << 20,
            patience: Duration::from_secs(10),
            circuits: 32,
            circuit_bytes: 64 << 20,
            circuit_time: Duration::from_secs(3_600),
        }
    }
}

impl Config {
    /// Settings of a swarm of this name, which listens at no address yet.
    ///
    /// # Errors
    /// [`BadName`].
    pub fn of(swarm: &str) -> Result<Config, BadName> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if swarm.is_empty() || swarm.len() > MAX_SWARM_NAME || !swarm.chars().all(fits) {
            return Err(BadName(swarm.chars().take(MAX_SWARM_NAME).collect()));
        }
        Ok(Config {
            swarm: swarm.to_owned(),
            listen: Vec::new(),
            bootstrap: Vec::new(),
            bootstrap_again: Duration::from_secs(30),
            shared_key: None,
            lan: false,
            upnp: false,
            relay: true,
            server: None,
            topics: Vec::new(),
            only: BTreeSet::new(),
            never: BTreeSet::new(),
            limits: Limits::default(),
        })
    }

    /// The name of a protocol of this swarm.
    pub(crate) fn protocol(&self, what: &str) -> String {
        format!("/anthill/{}/{what}/1", self.swarm)
    }
}

/// A swarm cannot have this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} cannot be the name of a swarm: use up to {MAX_SWARM_NAME} letters, digits, and - _ .")]
pub struct BadName(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_part_of_protocols_and_cannot_forge_one() {
        assert_eq!(Config::of("ants-2.0").expect("fine").protocol("kad"), "/anthill/ants-2.0/kad/1");
        for bad in ["", "a/b", "ä", "a b", &"a".repeat(65)] {
            let error = Config::of(bad).expect_err("no name").to_string();
            assert!(error.contains("letters, digits"), "{error}");
        }
    }
}
