//! What the rounds cost beside the search of one index: printed, not judged.

use super::swarm::{Swarm, query, search};
use crate::clock::cpu;
use anthill_index::{Query, SearchOptions};
use anthill_protocol::key::UrlId;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Of each query: how long it took, and how long all threads of all peers computed.
#[derive(Default)]
struct Times([Vec<Duration>; 2]);

struct Begun(Instant, Duration);

fn begin() -> Begun {
    Begun(Instant::now(), cpu::process())
}

impl Times {
    fn end(&mut self, begun: Begun) {
        self.0[0].push(begun.0.elapsed());
        self.0[1].push(cpu::process() - begun.1);
    }

    fn print(mut self, what: &str) {
        self.0.iter_mut().for_each(|times| times.sort_unstable());
        let [took, computed] = &self.0;
        let us = |times: &[Duration], part: usize| times[times.len() * part / 100].as_micros();
        println!(
            "{what}: p50 {} µs, p99 {} µs; computing p50 {} µs, p99 {} µs",
            us(took, 50),
            us(took, 99),
            us(computed, 50),
            us(computed, 99)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures: run it in a release build, alone"]
async fn five_peers_and_one() {
    let swarm = Swarm::new(31, 20_000, 5, 3);
    swarm.net.change(|weather| weather.slow = Duration::ZERO);
    let central = swarm.central(|_| true);
    let (mut direct, mut one, mut five) = (Times::default(), Times::default(), Times::default());
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    for n in 0..400 {
        let mut query = query(&mut rng, n);
        (query.n, query.offset) = (10, 0);
        let begun = begin();
        let (parsed, searcher) = (Query::parse(&query.query), central.shard.searcher());
        let results = searcher.search(&parsed, 10, 0, &SearchOptions::default()).unwrap();
        for hit in results.hits {
            let document = swarm.store.document(&UrlId::from_bytes(hit.key)).unwrap().unwrap();
            black_box(searcher.snippet(&parsed, &document.text, hit.lang.as_deref()));
        }
        direct.end(begun);
        for (peer, times) in [(&central, &mut one), (&swarm.peers[n % 5], &mut five)] {
            let begun = begin();
            let (results, _) = search(peer, &query).await;
            times.end(begun);
            assert!(results.coverage.complete);
        }
    }
    direct.print("one index");
    one.print("one peer by rounds");
    five.print("five peers in one process");
}
