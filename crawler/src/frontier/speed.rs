//! How fast a peer may be, as its operator wants, and as the delays of its hosts let it.

use super::state::State;
use crate::time::Instant;
use anthill_protocol::key::Slot;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

/// After a pause as many requests may be made at once as in so long.
const BURST: Duration = Duration::from_secs(1);

/// What is left of what an operator allows: the generic cell rate algorithm (ITU-T I.371, annex A).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Speed {
    /// From one request to the next; zero where nothing is said.
    step: Duration,
    opens: Instant,
}

impl Speed {
    /// So many requests in a thousand seconds.
    pub fn new(max: Option<NonZeroU32>) -> Speed {
        let step = max.map_or(Duration::ZERO, |max| Duration::from_secs(1_000) / max.get());
        Speed { step, opens: Instant::ZERO }
    }

    /// When the next request may be made.
    pub fn opens(&self) -> Instant {
        self.opens
    }

    /// One is made.
    pub fn take(&mut self, now: Instant) {
        self.opens = self.opens.max(now - BURST.saturating_sub(self.step)) + self.step;
    }
}

/// What the delays of a slot's hosts let be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allowed {
    /// Requests within some time, whatever else holds them up.
    pub requests: u64,
    /// When the first of them has had its delay.
    pub first: Instant,
    /// The longest of the delays.
    pub delay: Duration,
}

impl State {
    /// Of each slot that has hosts with something to do, what their delays let be done within so long; nothing of those that want to be left alone for longer.
    pub fn allowed_within(&self, horizon: Duration, now: Instant) -> BTreeMap<Slot, Allowed> {
        let mut allowed: BTreeMap<Slot, Allowed> = BTreeMap::new();
        for (id, host) in self.hosts.iter().filter(|(_, host)| host.in_flight || host.has_work()) {
            let public = host.public();
            let next = host.pace.next(&self.config, public).max(now);
            let left = horizon.saturating_sub(next.since(now));
            if left.is_zero() {
                continue;
            }
            let delay = host.pace.delay(&self.config, public);
            let requests = left.as_micros().checked_div(delay.as_micros());
            let requests = requests.map_or(u64::MAX, |n| u64::try_from(n).unwrap_or(u64::MAX));
            let nothing = Allowed { requests: 0, first: Instant(u64::MAX), delay: Duration::ZERO };
            let slot = allowed.entry(id.slot()).or_insert(nothing);
            slot.requests = slot.requests.saturating_add(requests);
            slot.first = slot.first.min(next + delay);
            slot.delay = slot.delay.max(delay);
        }
        allowed
    }

    /// Of each slot in which something waits, the level of the best.
    pub fn best_levels(&self) -> BTreeMap<Slot, u8> {
        let mut levels: BTreeMap<Slot, u8> = BTreeMap::new();
        for (id, host) in self.hosts.iter() {
            if let Some(level) = host.best() {
                levels.entry(id.slot()).and_modify(|best| *best = level.min(*best)).or_insert(level);
            }
        }
        levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(speed: u32, from: u64, until: u64) -> usize {
        let mut gate = Speed::new(NonZeroU32::new(speed));
        let times =
            (from * 1_000..until * 1_000).map(|ms| Instant::from_unix_s(1_000) + Duration::from_millis(ms));
        let mut taken = |now: Instant| {
            let opens = gate.opens() <= now;
            if opens {
                gate.take(now);
            }
            opens
        };
        times.filter(|now| taken(*now)).count()
    }

    #[test]
    fn no_more_requests_are_made_than_allowed_but_for_one_second_s_worth_at_once() {
        for (speed, least, most) in [(500, 5, 6), (1_000, 10, 11), (4_000, 40, 44), (25_000, 250, 275)] {
            let count = taken(speed, 0, 10);
            assert!((least..=most).contains(&count), "{speed}: {count}");
        }
    }

    #[test]
    fn where_nothing_is_said_it_is_always_open() {
        let mut gate = Speed::new(None);
        let now = Instant::from_unix_s(5);
        (0..1_000).for_each(|_| gate.take(now));
        assert!(gate.opens() <= now);
    }
}
