//! The time this room is told: it never reads a clock.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// Microseconds since the Unix epoch as the driver counts them: never going back while a process runs, and
/// comparable with what an earlier process wrote down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Instant(pub u64);

impl Instant {
    /// The beginning of time: before everything.
    pub const ZERO: Instant = Instant(0);

    /// Whole seconds since the Unix epoch.
    pub fn unix_s(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The instant at a Unix time in seconds.
    pub fn from_unix_s(seconds: u64) -> Instant {
        Instant(seconds.saturating_mul(1_000_000))
    }

    /// How long it is from `earlier` to here; zero if `earlier` is later.
    pub fn since(self, earlier: Instant) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, by: Duration) -> Instant {
        Instant(self.0.saturating_add(u64::try_from(by.as_micros()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, by: Duration) -> Instant {
        Instant(self.0.saturating_sub(u64::try_from(by.as_micros()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}s", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}
