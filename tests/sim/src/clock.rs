//! The clock of one machine: it starts somewhere and runs a little too fast or too slow.

use anthill_protocol::time::Instant;
use std::time::Duration;

/// What a machine believes the time to be, as a function of the true time. Suspends count, as they do for
/// CLOCK_BOOTTIME.
#[derive(Clone, Debug)]
pub struct Clock {
    true_base: Instant,
    local_base: Instant,
    /// Microseconds gained in a second.
    ppm: i32,
}

impl Clock {
    /// A clock that shows `local` at the true time `now` and gains `ppm` microseconds a second.
    pub fn new(now: Instant, local: Instant, ppm: i32) -> Clock {
        Clock { true_base: now, local_base: local, ppm: ppm.max(-900_000) }
    }

    /// What the clock shows at the true time `at`, which is not before its last change.
    pub fn show(&self, at: Instant) -> Instant {
        let gone = i128::from(at.0.saturating_sub(self.true_base.0));
        let local = gone + (gone * i128::from(self.ppm)).div_euclid(1_000_000);
        Instant(self.local_base.0.saturating_add(u64::try_from(local).unwrap_or(0)))
    }

    /// The first true time at which the clock shows `local` or later.
    pub fn when(&self, local: Instant) -> Instant {
        let Some(wanted) = local.0.checked_sub(self.local_base.0) else { return self.true_base };
        let rate = 1_000_000 + i128::from(self.ppm);
        let guess = i128::from(wanted) * 1_000_000 / rate;
        let mut at =
            Instant(self.true_base.0.saturating_add(u64::try_from(guess.max(1) - 1).unwrap_or(u64::MAX)));
        while self.show(at) < local && at.0 < u64::MAX {
            at = Instant(at.0 + 1);
        }
        at
    }

    /// From the true time `now` on, gains `ppm` microseconds a second; what it shows now does not change.
    pub fn set_rate(&mut self, now: Instant, ppm: i32) {
        *self = Clock::new(now, self.show(now), ppm);
    }

    /// Sets the clock forward or back, as happens between two processes but never during one.
    pub fn step(&mut self, now: Instant, by: Duration, back: bool) {
        let shown = self.show(now);
        *self = Clock::new(now, if back { shown - by } else { shown + by }, self.ppm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_change_of_rate_makes_no_jump() {
        let mut clock = Clock::new(Instant(1_000), Instant(5_000_000), 10_000);
        assert_eq!(clock.show(Instant(1_001_000)), Instant(6_010_000));
        clock.set_rate(Instant(1_001_000), -10_000);
        assert_eq!(clock.show(Instant(1_001_000)), Instant(6_010_000));
        assert_eq!(clock.show(Instant(2_001_000)), Instant(7_000_000));
    }

    proptest! {
        #[test]
        fn when_is_the_first_moment_that_shows_it(ppm in -50_000i32..50_000, wanted in 0u64..10_000_000_000) {
            let clock = Clock::new(Instant(77), Instant(1_000_000), ppm);
            let local = Instant(wanted);
            let at = clock.when(local);
            prop_assert!(clock.show(at) >= local);
            prop_assert!(at == Instant(77) || clock.show(Instant(at.0 - 1)) < local);
        }
    }
}
