//! What waits for peers, and how many bytes may.

use super::message::Part;
use crate::time::Instant;
use std::time::Duration;

/// One peer's stream.
#[derive(Debug, Default)]
pub(super) struct Link {
    pub up: bool,
    pub parts: Vec<Part>,
    pub bytes: usize,
    pub flush_at: Option<Instant>,
    /// Bytes of changes sent and not acknowledged.
    pub flight: u64,
    /// Its questions that wait.
    pub questions: usize,
}

/// Bytes that may be spent over time: a token bucket that holds a second's worth, and goes below zero by what is spent last.
#[derive(Debug)]
pub(super) struct Rate {
    per_s: u64,
    /// In byte-microseconds.
    level: i128,
    at: Instant,
}

impl Rate {
    pub fn new(per_s: u64, now: Instant) -> Rate {
        let per_s = per_s.max(1);
        Rate { per_s, level: i128::from(per_s) * 1_000_000, at: now }
    }

    fn earn(&mut self, now: Instant) {
        let earned = i128::from(self.per_s) * i128::try_from(now.since(self.at).as_micros()).unwrap_or(0);
        self.level = (self.level + earned).min(i128::from(self.per_s) * 1_000_000);
        self.at = now;
    }

    /// None if something may be spent now, else when.
    pub fn closed_until(&mut self, now: Instant) -> Option<Instant> {
        self.earn(now);
        (self.level < 0).then(|| {
            let wait = (-self.level) as u128 / u128::from(self.per_s) + 1;
            now + Duration::from_micros(u64::try_from(wait).unwrap_or(u64::MAX))
        })
    }

    pub fn spend(&mut self, now: Instant, bytes: usize) {
        self.earn(now);
        self.level -= bytes as i128 * 1_000_000;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_is_earned_back_at_the_rate() {
        let start = Instant::from_unix_s(1);
        let mut rate = Rate::new(1_000, start);
        rate.spend(start, 3_500);
        let open = rate.closed_until(start).expect("closed");
        assert_eq!(open.since(start).as_millis(), 2_500);
        assert_eq!(rate.closed_until(open), None);
        rate.spend(open + Duration::from_secs(100), 1_001);
        assert!(
            rate.closed_until(open + Duration::from_secs(100)).is_some(),
            "no more than a second's worth"
        );
    }
}
