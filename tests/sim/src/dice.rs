//! The only randomness of a run: streams of numbers, each from the run's seed and a purpose.
//!
//! Every purpose has its own stream, so that drawing one number more for the network does not change which node is
//! killed next: shrinking a failure needs that. Whole numbers only, because floating point logarithms differ between
//! machines and a seed has to give the same run on all of them.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::time::Duration;

/// One in this many: the unit of probabilities here.
pub const MILLION: u32 = 1_000_000;

/// A stream of random numbers for one purpose.
#[derive(Clone, Debug)]
pub struct Dice(ChaCha8Rng);

impl Dice {
    /// The stream of `purpose` in the run of `seed`.
    pub fn new(seed: u64, purpose: &str) -> Dice {
        let mut hasher = blake3::Hasher::new_derive_key("anthill simulator dice 1");
        hasher.update(&seed.to_le_bytes());
        hasher.update(purpose.as_bytes());
        Dice(ChaCha8Rng::from_seed(*hasher.finalize().as_bytes()))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        // The bias of the multiplication is below 2^-32 for all that is drawn here.
        u64::try_from((u128::from(self.number()) * u128::from(end)) >> 64).unwrap_or(0)
    }

    /// An index below `len`; 0 if `len` is 0.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below((high.saturating_sub(low)).saturating_add(1))
    }

    /// A span of time from `low` to `high`, both included.
    pub fn span(&mut self, low: Duration, high: Duration) -> Duration {
        Duration::from_micros(self.between(micros(low), micros(high)))
    }

    /// True in `ppm` of a million cases.
    pub fn chance(&mut self, ppm: u32) -> bool {
        ppm > 0 && self.below(u64::from(MILLION)) < u64::from(ppm)
    }

    /// A number with an (almost) exponential distribution of this mean: waiting times and jitter.
    pub fn around(&mut self, mean: u64) -> u64 {
        // -log2(u) is the count of leading zeros and, between two powers, a straight line; ln 2 = 0.693. The line
        // lies above the curve, by 6 % of the mean at most.
        let r = self.number() | 1;
        let zeros = u64::from(r.leading_zeros());
        let mantissa = (r << zeros) << 1 >> 44;
        let sixteenths = (zeros << 20) + ((1 << 20) - mantissa);
        u64::try_from((u128::from(mean) * u128::from(sixteenths) * 693 / 1000) >> 20).unwrap_or(u64::MAX)
    }

    /// One of these, or nothing of nothing.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.index(of.len()))
    }

    /// Puts these in a random order.
    pub fn shuffle<T>(&mut self, of: &mut [T]) {
        for last in (1..of.len()).rev() {
            let other = self.index(last + 1);
            of.swap(last, other);
        }
    }
}

/// Whole microseconds of a span.
pub fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purpose_has_its_own_stream_and_the_same_one_each_time() {
        let drawn = |purpose| {
            let mut dice = Dice::new(7, purpose);
            [dice.number(), dice.number(), dice.number()]
        };
        assert_eq!(drawn("net"), drawn("net"));
        assert_ne!(drawn("net"), drawn("disk"));
    }

    #[test]
    fn waiting_times_have_the_mean_they_were_asked_for() {
        let mut dice = Dice::new(1, "mean");
        let sum: u64 = (0..100_000).map(|_| dice.around(10_000)).sum();
        let mean = sum / 100_000;
        assert!((9_500..10_900).contains(&mean), "{mean}");
    }

    #[test]
    fn chances_and_bounds_are_kept() {
        let mut dice = Dice::new(1, "chance");
        let hits = (0..100_000).filter(|_| dice.chance(100_000)).count();
        assert!((9_500..10_500).contains(&hits), "{hits}");
        assert!(!dice.chance(0));
        assert!((0..1000).all(|_| (3..=5).contains(&dice.between(3, 5))));
        assert_eq!(dice.below(0), 0);
        assert_eq!(dice.pick::<u8>(&[]), None);
    }
}
