//! How even placement is, with fixed seeds. Largest share over mean of the peers, 64 tokens each.

use super::*;
use crate::member::DEFAULT_TOKENS;
use crate::peer::Keys;
use crate::peer::testing::Keyring;

/// Swarms drawn for each figure.
const TRIALS: u64 = 60;

fn swarm(peers: u64, trial: u64) -> Placement {
    let numbers = (0..peers).map(|i| trial * 10_000 + i);
    Placement::of(numbers.map(|n| Member::new(Keyring::numbered(n).own(), DEFAULT_TOKENS, true, [])))
}

/// Largest over mean of what the peers hold as one of `r` owners of these keys.
fn unevenness(placement: &Placement, keys: impl Iterator<Item = Key>, r: usize) -> f64 {
    let mut held = vec![0_u32; placement.members.len()];
    for key in keys {
        placement.choose(key, r).as_slice().iter().for_each(|&m| held[m as usize] += 1);
    }
    let mean = f64::from(held.iter().sum::<u32>()) / held.len() as f64;
    f64::from(*held.iter().max().unwrap()) / mean
}

/// Mean and 95th percentile over the trials.
fn drawn(peers: u64, keys: impl Fn() -> Box<dyn Iterator<Item = Key>>, r: usize) -> (f64, f64) {
    let mut all: Vec<f64> = (0..TRIALS).map(|t| unevenness(&swarm(peers, t), keys(), r)).collect();
    all.sort_by(f64::total_cmp);
    (all.iter().sum::<f64>() / all.len() as f64, all[all.len() * 95 / 100])
}

fn of_slots() -> Box<dyn Iterator<Item = Key>> {
    Box::new(Slot::all().map(Key::of_slot))
}

fn hashed() -> Box<dyn Iterator<Item = Key>> {
    Box::new(Slot::all().map(|slot| Key::hashed("anthill test slot", &slot.number().to_le_bytes())))
}

#[test]
fn shares_are_as_even_as_64_tokens_make_them() {
    // Measured: 1.096 (1.187), 1.173 (1.310), 1.293 (1.422). A single token: 1.7, 2.7 and 3.7.
    for (peers, most, p95_most) in [(5, 1.13, 1.25), (20, 1.21, 1.37), (100, 1.34, 1.48)] {
        let (mean, p95) = drawn(peers, of_slots, 1);
        assert!(mean < most && p95 < p95_most, "{peers} peers: {mean}, 95 % below {p95}");
    }
}

/// What the key of a slot was chosen by. Mean (p95) over 60 swarms, number against hashed number:
///
/// | peers | 1 owner | | 3 owners | |
/// |---|---|---|---|---|
/// | 5 | 1.096 (1.187) | 1.100 (1.185) | 1.078 (1.148) | 1.078 (1.152) |
/// | 20 | 1.173 (1.310) | 1.191 (1.326) | 1.113 (1.154) | 1.118 (1.186) |
/// | 100 | 1.293 (1.422) | 1.327 (1.422) | 1.152 (1.196) | 1.187 (1.245) |
/// | 1000 | 1.764 (1.953) | 1.982 (2.258) | | |
#[test]
#[ignore = "measures, for ten seconds: run it with --nocapture"]
fn keys_of_slots_that_are_their_numbers_against_hashed_ones() {
    for (peers, r) in [(5, 1), (20, 1), (100, 1), (1000, 1), (5, 3), (20, 3), (100, 3)] {
        let (raw, hash) = (drawn(peers, of_slots, r), drawn(peers, hashed, r));
        println!(
            "{peers:5} peers, r = {r}: number {:.3} (p95 {:.3}), hashed {:.3} (p95 {:.3})",
            raw.0, raw.1, hash.0, hash.1
        );
    }
}
