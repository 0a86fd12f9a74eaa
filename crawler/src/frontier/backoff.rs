//! How long to wait after the n-th failure in a row.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use std::time::Duration;

/// `base` doubled for every failure after the first, at most `max`, and up to a quarter more by chance, so that
/// what failed together does not come back together.
pub fn delay(failures: u8, base: Duration, max: Duration, rng: &mut ChaCha8Rng) -> Duration {
    let doublings = u32::from(failures.saturating_sub(1)).min(31);
    let plain = base.saturating_mul(1_u32 << doublings).min(max);
    plain.saturating_add(jitter(plain / 4, rng))
}

/// Any time from zero up to `most`.
pub fn jitter(most: Duration, rng: &mut ChaCha8Rng) -> Duration {
    let span = u64::try_from(most.as_micros()).unwrap_or(u64::MAX);
    Duration::from_micros(rng.next_u64() % span.saturating_add(1).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    const BASE: Duration = Duration::from_secs(30);
    const MAX: Duration = Duration::from_secs(86_400);

    #[test]
    fn it_doubles_up_to_its_bound_with_at_most_a_quarter_of_chance() {
        let mut rng = ChaCha8Rng::from_seed([1; 32]);
        for failures in 0..=255_u8 {
            let plain = (30_u64 << u32::from(failures.saturating_sub(1)).min(20)).min(86_400);
            let got = delay(failures, BASE, MAX, &mut rng);
            assert!(got >= Duration::from_secs(plain), "{failures}: {got:?}");
            assert!(
                got <= Duration::from_secs(plain) + Duration::from_secs(plain) / 4,
                "{failures}: {got:?}"
            );
        }
    }

    #[test]
    fn the_same_seed_waits_the_same() {
        let run = || {
            let mut rng = ChaCha8Rng::from_seed([7; 32]);
            (1..9).map(|n| delay(n, BASE, MAX, &mut rng)).collect::<Vec<_>>()
        };
        assert_eq!(run(), run());
    }

    #[test]
    fn no_time_has_no_chance_in_it() {
        let mut rng = ChaCha8Rng::from_seed([7; 32]);
        assert_eq!(jitter(Duration::ZERO, &mut rng), Duration::ZERO);
        assert_eq!(delay(3, Duration::ZERO, MAX, &mut rng), Duration::ZERO);
    }
}
