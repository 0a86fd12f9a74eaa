//! One direction between two machines: how long it takes, and what waits for it.

use crate::dice::{Dice, micros};
use crate::fault::Weather;
use anthill_protocol::time::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// Messages a link's queue holds at most, whatever their bytes: a bound on memory when a link is clogged.
const MOST_WAITING: usize = 65_536;

/// One direction between two machines.
#[derive(Debug)]
pub(crate) struct Link {
    /// Its own time, drawn once.
    distance: Duration,
    /// When the last message handed to it has left.
    free_at: Instant,
    /// When it lets something through again.
    clogged_until: Instant,
    /// What has not left: when it will, and its bytes.
    waiting: VecDeque<(Instant, u64)>,
    waiting_bytes: u64,
}

impl Link {
    /// A link whose distance is that of this place in this run, whatever was drawn before.
    pub fn new(seed: u64, key: u64, weather: &Weather) -> Link {
        let place = seed ^ key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let distance = Dice::new(place, "link").span(weather.latency_least, weather.latency_most);
        Link {
            distance,
            free_at: Instant::ZERO,
            clogged_until: Instant::ZERO,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        }
    }

    /// Nothing leaves before `until`.
    pub fn clog(&mut self, until: Instant) {
        self.clogged_until = self.clogged_until.max(until);
    }

    /// Ends what faults did to it.
    pub fn calm(&mut self) {
        self.clogged_until = Instant::ZERO;
    }

    /// Its own time.
    pub fn distance(&self) -> Duration {
        self.distance
    }

    /// When the last byte of a message handed over at `now` leaves; nothing if the queue is full.
    pub fn leave(&mut self, now: Instant, clog: Instant, len: usize, weather: &Weather) -> Option<Instant> {
        while let Some(&(at, bytes)) = self.waiting.front()
            && at <= now
        {
            self.waiting.pop_front();
            self.waiting_bytes -= bytes;
        }
        let bytes = len as u64;
        if self.waiting_bytes.saturating_add(bytes) > weather.queue_bytes && !self.waiting.is_empty()
            || self.waiting.len() >= MOST_WAITING
        {
            return None;
        }
        let begins = now.max(self.free_at).max(self.clogged_until).max(clog);
        let takes = bytes.saturating_mul(1_000_000) / weather.bytes_per_s.max(1);
        self.free_at = begins + Duration::from_micros(takes);
        if self.free_at > now {
            self.waiting.push_back((self.free_at, bytes));
            self.waiting_bytes += bytes;
        }
        Some(self.free_at)
    }

    /// How long a message that has left is on its way.
    pub fn travel(&self, dice: &mut Dice, weather: &Weather) -> Duration {
        self.distance + Duration::from_micros(dice.around(micros(weather.jitter)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn weather() -> Weather {
        let mut weather = Weather::draw(&mut Dice::new(1, "weather"), &BTreeSet::new());
        weather.bytes_per_s = 1_000;
        weather.queue_bytes = 2_000;
        weather
    }

    #[test]
    fn a_link_carries_its_bytes_a_second_and_its_queue_overflows() {
        let weather = weather();
        let mut link = Link::new(1, 1, &weather);
        let mut leave = |now, len| link.leave(Instant(now), Instant::ZERO, len, &weather);
        assert_eq!(leave(0, 1_000), Some(Instant(1_000_000)));
        assert_eq!(leave(0, 1_000), Some(Instant(2_000_000)));
        assert_eq!(leave(0, 1), None);
        assert_eq!(leave(1_000_000, 1_000), Some(Instant(3_000_000)));
        assert_eq!(leave(9_000_000, 5_000), Some(Instant(14_000_000)), "an empty link takes what is large");
    }

    #[test]
    fn a_clogged_link_holds_everything_and_then_lets_it_go() {
        let weather = weather();
        let mut link = Link::new(1, 1, &weather);
        link.clog(Instant(5_000_000));
        assert_eq!(link.leave(Instant(0), Instant::ZERO, 1_000, &weather), Some(Instant(6_000_000)));
        link.calm();
        assert_eq!(link.leave(Instant(7_000_000), Instant::ZERO, 1_000, &weather), Some(Instant(8_000_000)));
    }
}
