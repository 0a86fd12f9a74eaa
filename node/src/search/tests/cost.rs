//! What the rounds cost beside the search of one index: printed, not judged.

use super::swarm::{Swarm, query, search};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::time::{Duration, Instant};

fn percentile(times: &mut [Duration], part: f64) -> f64 {
    times.sort_unstable();
    times[(times.len() as f64 * part) as usize].as_secs_f64() * 1e6
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures: run it in a release build, alone"]
async fn five_peers_and_one() {
    let swarm = Swarm::new(31, 20_000, 5, 3);
    swarm.net.change(|weather| weather.slow = Duration::ZERO);
    let central = swarm.central(|_| true);
    let (mut one, mut five) = (Vec::new(), Vec::new());
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    for n in 0..400 {
        let mut query = query(&mut rng, n);
        (query.n, query.offset) = (10, 0);
        for (peer, times) in [(&central, &mut one), (&swarm.peers[n % 5], &mut five)] {
            let begun = Instant::now();
            let (results, _) = search(peer, &query).await;
            times.push(begun.elapsed());
            assert!(results.coverage.complete);
        }
    }
    for (what, times) in [("one peer by rounds", &mut one), ("five peers", &mut five)] {
        let (p50, p99) = (percentile(times, 0.5), percentile(times, 0.99));
        println!("{what}: p50 {p50:.0} µs, p99 {p99:.0} µs");
    }
}
