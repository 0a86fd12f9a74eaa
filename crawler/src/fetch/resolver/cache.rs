//! What was answered about a host, for as long as the answer holds.

use super::ResolveError;
use crate::fetch::Instant;
use crate::map::Map;
use std::net::IpAddr;
use std::time::Duration;

/// Addresses of a name, the next to be connected to first; there is one at least.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Known {
    pub(super) addresses: Vec<IpAddr>,
    /// How often one of them could not be connected to.
    pub(super) failed: usize,
}

type Answered = Result<Known, ResolveError>;

/// Answers by name, bounded in number: two generations, of which the older is dropped as a whole when the younger is
/// full. What is asked for moves to the younger.
pub(super) struct Cache {
    young: Map<Box<str>, (Instant, Answered)>,
    old: Map<Box<str>, (Instant, Answered)>,
    /// Names per generation.
    room: usize,
}

impl Cache {
    /// A cache of at most `max` names.
    pub(super) fn new(max: usize) -> Cache {
        Cache { young: Map::default(), old: Map::default(), room: (max / 2).max(1) }
    }

    /// The answer for a name if it still holds, and for how long.
    pub(super) fn get(&mut self, name: &str, now: Instant) -> Option<(Answered, Duration)> {
        if let Some((until, answered)) = self.young.get(name) {
            return (*until > now).then(|| (answered.clone(), *until - now));
        }
        let (until, answered) = self.old.remove(name)?;
        if until <= now {
            return None;
        }
        self.put(name, answered.clone(), until);
        Some((answered, until - now))
    }

    /// An address of a name cannot be connected to: it is the last to be tried again. Whether there is one that has
    /// not failed.
    pub(super) fn turn(&mut self, name: &str, address: IpAddr, now: Instant) -> bool {
        // Moves it to the younger generation.
        if !matches!(self.get(name, now), Some((Ok(_), _))) {
            return false;
        }
        let Some((_, Ok(known))) = self.young.get_mut(name) else { return false };
        // Somebody else may have found out before.
        if known.addresses.first() == Some(&address) {
            known.addresses.rotate_left(1);
            known.failed = known.failed.saturating_add(1);
        }
        known.failed < known.addresses.len()
    }

    /// Keeps an answer until a time.
    pub(super) fn put(&mut self, name: &str, answered: Answered, until: Instant) {
        if self.young.len() >= self.room && !self.young.contains_key(name) {
            self.old = std::mem::take(&mut self.young);
        }
        self.old.remove(name);
        self.young.insert(name.into(), (until, answered));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_NAME: Answered = Err(ResolveError::NoSuchName);

    #[tokio::test(start_paused = true)]
    async fn an_answer_holds_until_its_time() {
        let mut cache = Cache::new(10);
        cache.put("a", NO_NAME, Instant::now() + Duration::from_secs(5));
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(cache.get("a", Instant::now()), Some((NO_NAME, Duration::from_secs(1))));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(cache.get("a", Instant::now()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_that_failed_is_last_and_each_is_tried_once() {
        let mut cache = Cache::new(10);
        let now = Instant::now();
        let [a, b, c] = [1, 2, 3].map(|n| IpAddr::from([1, 1, 1, n]));
        let known = Known { addresses: vec![a, b, c], failed: 0 };
        cache.put("x", Ok(known), now + Duration::from_secs(5));
        let first = |cache: &mut Cache| cache.get("x", now).and_then(|(k, _)| k.ok()).map(|k| k.addresses[0]);
        assert!(cache.turn("x", a, now));
        assert_eq!(first(&mut cache), Some(b));
        assert!(cache.turn("x", a, now), "a second request to it that failed changes nothing");
        assert_eq!(first(&mut cache), Some(b));
        assert!(cache.turn("x", b, now));
        assert!(!cache.turn("x", c, now), "all have failed");
        assert_eq!(first(&mut cache), Some(a));
        assert!(!cache.turn("y", a, now), "nothing is known of it");
        assert!(!cache.turn("x", a, now + Duration::from_secs(5)), "nor of this any more");
    }

    #[tokio::test(start_paused = true)]
    async fn it_never_holds_more_than_its_bound_and_keeps_what_is_asked_for() {
        let mut cache = Cache::new(10);
        let until = Instant::now() + Duration::from_secs(5);
        cache.put("kept", NO_NAME, until);
        for i in 0..1_000 {
            cache.put(&i.to_string(), NO_NAME, until);
            assert!(cache.get("kept", Instant::now()).is_some());
            assert!(cache.young.len() + cache.old.len() <= 10);
        }
        assert!(cache.get("0", Instant::now()).is_none());
    }
}
