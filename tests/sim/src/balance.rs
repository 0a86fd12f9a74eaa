//! `--balance`: how even load becomes, hashing alone beside contracts.

use anthill_sim::market::{Market, Sample, Setup};
use serde_json::{Value, json};

fn second(sample: &Sample) -> Value {
    json!({
        "second": sample.second,
        "max_ms": sample.near.max_ms,
        "mean_ms": sample.near.mean_ms,
        "bound": sample.near.bound_permille as f64 / 1e3,
        "excess": sample.near.excess_permille() as f64 / 1e3,
        "bound_of_all": sample.whole.bound_permille as f64 / 1e3,
        "excess_of_all": sample.whole.excess_permille() as f64 / 1e3,
        "messages": sample.messages,
        "moves": sample.moves,
    })
}

/// Runs it both ways, and prints each second as JSON.
pub fn print(setup: Setup, name: &str) {
    let run = |contracts| Market::run(Setup { contracts, ..setup });
    let (alone, contracts) = (run(false), run(true));
    let sent: u64 = contracts.iter().map(|sample| sample.messages).sum();
    let each = sent as f64 / f64::from(setup.peers) / contracts.len().max(1) as f64;
    let all = |samples: &[Sample]| samples.iter().map(second).collect::<Vec<_>>();
    let result = json!({
        "shape": name,
        "peers": setup.peers,
        "seed": setup.seed,
        "threshold_s": setup.threshold.map(|threshold| threshold.as_secs()),
        "messages_per_peer_and_second": each,
        "slots_moved": contracts.iter().map(|sample| sample.moves).sum::<u64>(),
        "hashing_alone": all(&alone),
        "contracts": all(&contracts),
    });
    say!("{result}");
}
