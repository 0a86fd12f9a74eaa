//! What a peer thinks of others by the contracts that they kept and broke: its own opinion, told to nobody.
//!
//! After "Q-Contract Net": reliability weighs bids. It fades, so that who broke a contract is tried again.

use crate::peer::PeerKey;
use crate::time::Instant;
use std::collections::BTreeMap;
use std::time::Duration;

/// Nothing but good was heard.
const WHOLE: u32 = 1_000;
/// Of who is not known: a little less than of who kept a contract.
const UNKNOWN: u32 = 800;
/// Below it nothing is given to a peer.
const TRUSTED: u32 = 300;
/// In this time half of the difference to [`UNKNOWN`] is forgotten.
const HALF_LIFE: Duration = Duration::from_secs(600);
/// Peers of which something is remembered; beyond them the least remarkable are forgotten.
const MOST: usize = 1_024;

/// Of one peer, in thousandths, at a time.
#[derive(Clone, Copy, Debug)]
struct Opinion {
    score: u32,
    at: Instant,
}

/// Of all peers.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    peers: BTreeMap<PeerKey, Opinion>,
}

impl Standing {
    /// How far a peer is relied upon, in thousandths.
    pub fn of(&self, peer: &PeerKey, now: Instant) -> u32 {
        self.peers.get(peer).map_or(UNKNOWN, |opinion| opinion.faded(now))
    }

    /// Whether it is given anything.
    pub fn trusts(&self, peer: &PeerKey, now: Instant) -> bool {
        self.of(peer, now) >= TRUSTED
    }

    /// Whether it has kept a contract, and that is not forgotten, and broke none since.
    pub fn has_kept(&self, peer: &PeerKey, now: Instant) -> bool {
        self.of(peer, now) > UNKNOWN
    }

    /// An ability as it is told, and as it counts among those of others.
    pub fn weigh(&self, peer: &PeerKey, ability: Duration, now: Instant) -> Duration {
        ability.saturating_mul(WHOLE) / self.of(peer, now).max(1)
    }

    /// How fast a peer is that says it is so fast: who is less relied upon than a stranger counts as slower.
    pub fn believed(&self, peer: &PeerKey, speed: u32, now: Instant) -> u32 {
        let speed = u64::from(speed) * u64::from(self.of(peer, now).min(UNKNOWN)) / u64::from(UNKNOWN);
        u32::try_from(speed).unwrap_or(u32::MAX)
    }

    /// It did what it had agreed to.
    pub fn kept(&mut self, peer: PeerKey, now: Instant) {
        let score = self.of(&peer, now);
        self.set(peer, score + (WHOLE - score) / 4, now);
    }

    /// It did not.
    pub fn broke(&mut self, peer: PeerKey, now: Instant) {
        let score = self.of(&peer, now);
        self.set(peer, score / 4, now);
    }

    /// It did not answer in time: perhaps nobody's fault, once. Nothing had gone.
    pub fn tarried(&mut self, peer: PeerKey, now: Instant) {
        let score = self.of(&peer, now);
        self.set(peer, score / 2, now);
    }

    fn set(&mut self, peer: PeerKey, score: u32, now: Instant) {
        self.peers.insert(peer, Opinion { score, at: now });
        if self.peers.len() > MOST {
            let plain = self.peers.iter().min_by_key(|(_, one)| one.faded(now).abs_diff(UNKNOWN));
            let plain = plain.map(|(peer, _)| *peer);
            plain.map(|peer| self.peers.remove(&peer));
        }
    }
}

impl Opinion {
    fn faded(&self, now: Instant) -> u32 {
        let passed = now.since(self.at).as_millis();
        let whole = HALF_LIFE.as_millis();
        let halvings = u32::try_from(passed / whole).unwrap_or(u32::MAX).min(31);
        // Between two halvings along a line: good to three per cent, without logarithms that differ from machine to machine.
        let rest = u32::try_from(passed % whole * 500 / whole).unwrap_or(0);
        let difference = (self.score.abs_diff(UNKNOWN) >> halvings) * (1_000 - rest) / 1_000;
        match self.score < UNKNOWN {
            true => UNKNOWN - difference,
            false => UNKNOWN + difference,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(n: u8) -> PeerKey {
        PeerKey([n; 32])
    }

    #[test]
    fn who_breaks_a_contract_is_given_nothing_for_a_while() {
        let (mut standing, now) = (Standing::default(), Instant::from_unix_s(1_000));
        assert!(standing.trusts(&peer(1), now), "who is not known is tried");
        standing.broke(peer(1), now);
        assert!(!standing.trusts(&peer(1), now) && standing.trusts(&peer(2), now));
        assert!(!standing.trusts(&peer(1), now + HALF_LIFE / 10));
        assert!(standing.trusts(&peer(1), now + HALF_LIFE), "it may show that it is better now");
        standing.broke(peer(1), now + HALF_LIFE);
        assert!(standing.of(&peer(1), now + HALF_LIFE) < 200, "it is remembered");
    }

    #[test]
    fn who_is_late_is_tried_once_more() {
        let (mut standing, now) = (Standing::default(), Instant::from_unix_s(1_000));
        standing.tarried(peer(1), now);
        assert!(standing.trusts(&peer(1), now) && standing.of(&peer(1), now) < UNKNOWN);
        standing.tarried(peer(1), now);
        assert!(!standing.trusts(&peer(1), now));
    }

    #[test]
    fn who_keeps_contracts_is_preferred_and_that_fades_too() {
        let (mut standing, now) = (Standing::default(), Instant::from_unix_s(1_000));
        (0..8).for_each(|_| standing.kept(peer(1), now));
        let ability = Duration::from_secs(10);
        assert!(standing.weigh(&peer(1), ability, now) < standing.weigh(&peer(2), ability, now));
        let high = standing.of(&peer(1), now);
        assert!(high > 950 && high <= WHOLE);
        let later = [1, 2, 5, 40].map(|n| standing.of(&peer(1), now + HALF_LIFE * n));
        assert!(later.is_sorted_by(|a, b| a >= b) && later[0] < high && later[3] == UNKNOWN, "{later:?}");
    }

    #[test]
    fn of_too_many_those_are_forgotten_of_whom_least_is_known() {
        let (mut standing, now) = (Standing::default(), Instant::from_unix_s(1_000));
        standing.broke(peer(1), now);
        for n in 0..2_000u32 {
            let mut key = [7; 32];
            key[..4].copy_from_slice(&n.to_le_bytes());
            standing.kept(PeerKey(key), now);
        }
        assert_eq!(standing.peers.len(), MOST);
        assert!(!standing.trusts(&peer(1), now));
    }
}
