//! May this request's connection be kept for the next one?
//!
//! The HTTP client keeps idle connections per origin, without bound on origins and without regard to where they
//! go. Here is what bounds them: an origin may keep its connection while there is room, and only to one address at a
//! time, so that a connection taken from the pool goes where the request is pinned to.

use super::Instant;
use crate::map::Map;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The origins that may hold an idle connection.
pub(super) struct Origins {
    state: Mutex<State>,
    max: usize,
    /// How long after its last use an origin may still have its connection.
    linger: Duration,
}

#[derive(Default)]
struct State {
    known: Map<Box<str>, Origin>,
    /// Each known origin once, with a time before which it need not be looked at.
    order: VecDeque<(Instant, Box<str>)>,
}

struct Origin {
    peer: SocketAddr,
    in_flight: u32,
    last: Instant,
}

/// Held while a request uses a connection that may be kept.
pub(super) struct Kept<'a> {
    origins: &'a Origins,
    name: Box<str>,
}

impl Origins {
    /// At most `max` origins at a time, each for `linger` after its last use.
    pub(super) fn new(max: usize, linger: Duration) -> Origins {
        Origins { state: Mutex::default(), max, linger }
    }

    /// Asks for a kept connection of the origin `name` (scheme, host and port) to `peer`. None: use one and close it.
    pub(super) fn keep(&self, name: &str, peer: SocketAddr, now: Instant) -> Option<Kept<'_>> {
        let mut state = self.lock();
        state.expire(now, self.linger);
        if let Some(origin) = state.known.get_mut(name) {
            if origin.peer != peer {
                return None;
            }
            origin.in_flight += 1;
            origin.last = now;
        } else {
            if state.known.len() >= self.max {
                return None;
            }
            state.known.insert(name.into(), Origin { peer, in_flight: 1, last: now });
            state.order.push_back((now, name.into()));
        }
        Some(Kept { origins: self, name: name.into() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing between lock and unlock can leave it half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn expire(&mut self, now: Instant, linger: Duration) {
        // Each turn removes an origin or puts it back at a later time than `now - linger`, so this ends.
        while self.order.front().is_some_and(|(since, _)| *since + linger <= now) {
            let Some((_, name)) = self.order.pop_front() else { return };
            let Some(origin) = self.known.get(&name) else { continue };
            if origin.in_flight > 0 {
                self.order.push_back((now, name));
            } else if origin.last + linger > now {
                self.order.push_back((origin.last, name));
            } else {
                self.known.remove(&name);
            }
        }
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        let mut state = self.origins.lock();
        if let Some(origin) = state.known.get_mut(&self.name) {
            origin.in_flight = origin.in_flight.saturating_sub(1);
            origin.last = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINGER: Duration = Duration::from_secs(10);

    fn peer(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], port))
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_origins_are_kept_than_there_is_room_for() {
        let origins = Origins::new(2, LINGER);
        assert!(origins.keep("a", peer(1), Instant::now()).is_some());
        assert!(origins.keep("b", peer(1), Instant::now()).is_some());
        assert!(origins.keep("c", peer(1), Instant::now()).is_none());
        assert!(origins.keep("a", peer(1), Instant::now()).is_some(), "who is in stays in");
        tokio::time::advance(LINGER).await;
        assert!(origins.keep("c", peer(1), Instant::now()).is_some(), "an idle one made room");
    }

    #[tokio::test(start_paused = true)]
    async fn an_origin_keeps_connections_to_one_address_at_a_time() {
        let origins = Origins::new(2, LINGER);
        drop(origins.keep("a", peer(1), Instant::now()));
        tokio::time::advance(LINGER / 2).await;
        assert!(origins.keep("a", peer(2), Instant::now()).is_none());
        tokio::time::advance(LINGER / 2).await;
        assert!(origins.keep("a", peer(2), Instant::now()).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn time_counts_from_the_end_of_the_last_use() {
        let origins = Origins::new(1, LINGER);
        let using = origins.keep("a", peer(1), Instant::now());
        tokio::time::advance(LINGER * 3).await;
        assert!(origins.keep("b", peer(1), Instant::now()).is_none(), "still in use");
        drop(using);
        tokio::time::advance(LINGER / 2).await;
        assert!(origins.keep("b", peer(1), Instant::now()).is_none(), "not idle for long enough");
        tokio::time::advance(LINGER * 2).await;
        assert!(origins.keep("b", peer(1), Instant::now()).is_some());
        let state = origins.lock();
        assert_eq!((state.known.len(), state.order.len()), (1, 1));
    }
}
