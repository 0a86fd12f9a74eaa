//! The one clock: Unix time as it was at the start, plus what has passed since, suspends included.

use anthill_crawler::time::Instant;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the time as the agent wants it: never going back while the process runs.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    unix_at_start: Duration,
    boot_at_start: Duration,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Clock {
        let unix_at_start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock { unix_at_start, boot_at_start: since_boot() }
    }

    /// Now.
    pub fn now(&self) -> Instant {
        Instant::ZERO + self.unix_at_start + since_boot().saturating_sub(self.boot_at_start)
    }
}

/// `CLOCK_BOOTTIME`: goes on while the machine sleeps, so that delays and leases do too.
fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanos)
}

/// Time spent computing, for measurements.
pub mod cpu {
    use rustix::time::{ClockId, clock_gettime};
    use std::time::Duration;

    fn read(clock: ClockId) -> Duration {
        let time = clock_gettime(clock);
        Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
    }

    /// Of this thread.
    pub fn thread() -> Duration {
        read(ClockId::ThreadCPUTime)
    }

    /// Of all threads of this process.
    pub fn process() -> Duration {
        read(ClockId::ProcessCPUTime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_goes_back() {
        let clock = Clock::start();
        let (a, b) = (clock.now(), clock.now());
        assert!(a <= b && a.unix_s() > 1_700_000_000);
    }
}
