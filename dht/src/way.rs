//! Ways in: whether others can reach this peer, and through whom if not.

use crate::behaviour::Node;
use crate::status::Reach;
use libp2p::multiaddr::Protocol;
use libp2p::swarm::Swarm;
use libp2p::{Multiaddr, PeerId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;

/// Relays that a peer wants which cannot be reached: one may go.
const RELAYS: usize = 2;
/// After so many failed tries from outside, and none that came through, a peer is taken for closed.
const TRIES: u32 = 3;
/// A relay that did not take us is asked again after this.
const AGAIN: Duration = Duration::from_secs(60);

/// What is known of ways in.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    open: bool,
    /// Said by the operator.
    said: Option<bool>,
    failures: u32,
    /// Connected peers, and whether only through a relay.
    connected: BTreeMap<PeerId, bool>,
    /// Of these, who passes on for others, and where it says that it is.
    relays: BTreeMap<PeerId, Multiaddr>,
    /// When each was asked last.
    asked: BTreeMap<PeerId, Instant>,
}

impl Ways {
    pub fn new(server: Option<bool>) -> Ways {
        Ways { said: server, ..Ways::default() }
    }

    /// An address of this peer was reached from outside.
    pub fn confirmed(&mut self) {
        self.open = true;
    }

    pub fn is_said_to_be_open(&self) -> bool {
        self.said == Some(true)
    }

    pub fn probed(&mut self, reached: bool) {
        match reached {
            true => self.open = true,
            false => self.failures = self.failures.saturating_add(1),
        }
    }

    pub fn connected(&mut self, peer: PeerId, relayed: bool) {
        // One direct connection is enough.
        self.connected.entry(peer).and_modify(|only| *only &= relayed).or_insert(relayed);
    }

    pub fn closed(&mut self, peer: PeerId) {
        self.connected.remove(&peer);
        self.relays.remove(&peer);
        self.asked.remove(&peer);
    }

    /// A peer passes on for others, and is to be found at an address; or it does not.
    pub fn relays(&mut self, peer: PeerId, at: Option<Multiaddr>) {
        match at {
            Some(address) => _ = self.relays.insert(peer, address),
            None => _ = self.relays.remove(&peer),
        }
    }

    pub fn is_relayed(&self, peer: &PeerId) -> bool {
        self.connected.get(peer).copied().unwrap_or(false)
    }

    pub fn reach(&self) -> Reach {
        match (self.open, self.said) {
            (true, _) | (_, Some(true)) => Reach::Open,
            (_, Some(false)) => Reach::Closed,
            _ if self.failures >= TRIES => Reach::Closed,
            _ => Reach::Unknown,
        }
    }

    /// Relays at which this peer is listened for.
    pub fn reserved(&self, swarm: &Swarm<Node>) -> Vec<PeerId> {
        let all: BTreeSet<PeerId> = swarm.listeners().filter_map(relay_of).collect();
        all.into_iter().collect()
    }

    /// Where to listen besides: at relays, for who cannot be reached otherwise.
    pub fn wanted(&mut self, swarm: &Swarm<Node>, now: Instant) -> Vec<Multiaddr> {
        if self.reach() != Reach::Closed {
            return Vec::new();
        }
        let have = self.reserved(swarm);
        let free = |(peer, _): &(&PeerId, &Multiaddr)| {
            let direct = self.connected.get(*peer) == Some(&false);
            let rested = self.asked.get(*peer).is_none_or(|at| now.duration_since(*at) >= AGAIN);
            direct && rested && !have.contains(peer)
        };
        let more: Vec<(PeerId, Multiaddr)> = self
            .relays
            .iter()
            .filter(free)
            .take(RELAYS.saturating_sub(have.len()))
            .map(|(peer, address)| (*peer, address.clone()))
            .collect();
        let mut addresses = Vec::new();
        for (relay, address) in more {
            self.asked.insert(relay, now);
            let at = address.with_p2p(relay).unwrap_or_else(|whole| whole);
            addresses.push(at.with(Protocol::P2pCircuit));
        }
        addresses
    }
}

/// Whether others pass on what is sent there.
pub(crate) fn goes_through_a_relay(address: &Multiaddr) -> bool {
    address.iter().any(|part| part == Protocol::P2pCircuit)
}

/// The relay of an address that goes through one.
fn relay_of(address: &Multiaddr) -> Option<PeerId> {
    let mut last = None;
    for part in address {
        match part {
            Protocol::P2p(peer) => last = Some(peer),
            Protocol::P2pCircuit => return last,
            _ => {}
        }
    }
    None
}
