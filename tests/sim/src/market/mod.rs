//! How even load becomes, and how soon: many peers that negotiate, with hosts to fetch from and no faults.
//!
//! The contract net is the real one. What it stands on is as simple as can be, so that thousands of peers fit: all have the same view,
//! messages take 20 to 150 ms, and a slot that both sides want to move has moved after one to four seconds, which is what claims and copies of
//! small slots take between real processes. Each site is one host with a delay of one second. What claims and copies make of
//! it under faults is for the scenarios.

mod model;
mod sizes;

pub use model::Market;

use anthill_protocol::contract_net::load::Load;
use std::time::Duration;

/// What is uneven.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Nothing but what hashing makes of sites whose sizes follow Zipf's law.
    Zipf,
    /// One peer holds half of all sites: it founded the swarm, say, and the others have only just come.
    Hot,
    /// The sites of one peer have fifty times as many pages as they would have.
    Burst,
    /// Peers are up to eight times as fast as others.
    Unequal,
    /// One peer is a tenth as fast as the others.
    Slow,
}

impl Shape {
    /// All, with their names.
    pub const ALL: [(&'static str, Shape); 5] = [
        ("zipf", Shape::Zipf),
        ("hot", Shape::Hot),
        ("burst", Shape::Burst),
        ("unequal", Shape::Unequal),
        ("slow", Shape::Slow),
    ];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Shape> {
        Shape::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, shape)| shape)
    }
}

/// What is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// What is uneven.
    pub shape: Shape,
    /// How many peers.
    pub peers: u32,
    /// For how long.
    pub length: Duration,
    /// Whether they negotiate; otherwise each keeps what hashing gave it.
    pub contracts: bool,
    /// From which everything is drawn.
    pub seed: u64,
    /// Above what load a peer gives something away (W of the paper); below a third of it one takes. None: as it is by default.
    pub threshold: Option<Duration>,
}

/// How unevenly peers are busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spread {
    /// The time in which the busiest peer would be done if no host made it wait, and the mean over all; in milliseconds.
    pub max_ms: u64,
    /// See `max_ms`.
    pub mean_ms: u64,
    /// What no division could be better than, as a multiple of the mean in thousandths: the largest host at the fastest peer.
    pub bound_permille: u64,
}

/// How things stood after a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Seconds since the beginning.
    pub second: u32,
    /// By what can be done of each host within the time that load looks ahead
    /// ([`HORIZON`](anthill_protocol::contract_net::load::HORIZON)), which is what is negotiated about.
    pub near: Spread,
    /// By all that waits.
    pub whole: Spread,
    /// Messages sent in this second.
    pub messages: u64,
    /// Slots that moved in it.
    pub moves: u64,
}

impl Spread {
    /// Of hosts that each of these peers has, and its speed.
    fn of(peers: &[(u32, Vec<u64>)]) -> Spread {
        let busy = |pages: u64, speed: u32| Load { pages, speed }.ability().as_millis() as u64;
        let times = peers.iter().map(|(speed, hosts)| busy(hosts.iter().sum(), *speed));
        let mean_ms = times.clone().sum::<u64>() / peers.len().max(1) as u64;
        let fastest = peers.iter().map(|(speed, _)| *speed).max().unwrap_or(1);
        let largest = peers.iter().flat_map(|(_, hosts)| hosts).max().copied().unwrap_or(0);
        let bound_permille = (busy(largest, fastest) * 1_000 / mean_ms.max(1)).max(1_000);
        Spread { max_ms: times.max().unwrap_or(0), mean_ms, bound_permille }
    }

    /// The largest over the mean, in thousandths of what is possible.
    pub fn excess_permille(&self) -> u64 {
        self.max_ms * 1_000_000 / self.mean_ms.max(1) / self.bound_permille.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(shape: Shape, peers: u32, contracts: bool) -> Vec<Sample> {
        Market::run(Setup {
            shape,
            peers,
            length: Duration::from_secs(60),
            contracts,
            seed: 1,
            threshold: None,
        })
    }

    #[test]
    fn a_hot_spot_is_even_within_a_minute_and_stays_one_where_nobody_negotiates() {
        for shape in [Shape::Hot, Shape::Burst] {
            let last = |contracts| *run(shape, 40, contracts).last().expect("a minute");
            assert!(last(true).near.excess_permille() <= 1_600, "{:?}", last(true));
            assert!(last(false).near.excess_permille() > 2_000, "{:?}", last(false));
        }
    }

    #[test]
    fn who_has_less_than_the_threshold_gives_nothing_away() {
        let threshold = Some(Duration::from_secs(100_000));
        let (shape, length) = (Shape::Zipf, Duration::from_secs(60));
        let samples = Market::run(Setup { shape, peers: 40, length, contracts: true, seed: 1, threshold });
        assert_eq!(samples.iter().map(|sample| sample.moves).sum::<u64>(), 0);
        assert!(run(Shape::Zipf, 40, true).iter().any(|sample| sample.moves > 0));
    }

    #[test]
    fn a_run_is_the_same_each_time() {
        assert_eq!(run(Shape::Unequal, 10, true), run(Shape::Unequal, 10, true));
    }
}
