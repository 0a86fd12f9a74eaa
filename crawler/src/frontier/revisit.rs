//! When a page is worth another look.
//!
//! Cho and Garcia-Molina, "Estimating frequency of change" (ACM Transactions on Internet Technology 3(3), 2003),
//! section 4: of n visits at regular intervals I, X found a change; then r = -ln((n - X + .5) / (n + .5)) estimates
//! the changes per interval with little bias, also for X = n. The next interval is I / r: one change is expected in it.
//! Our intervals are not regular, so I is the latest one and old visits count for less.

use std::time::Duration;

/// Visits that count: more would keep a page that changed its ways at its old interval.
const MEMORY: f64 = 16.0;
/// An interval grows at most so much at once.
const GROWTH: f64 = 2.0;
/// And shrinks at most to this part of itself.
const SHRINK: f64 = 0.25;

/// Bounds of the interval between visits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// At least.
    pub min: Duration,
    /// At most.
    pub max: Duration,
    /// After the first visit.
    pub first: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        let day = Duration::from_secs(86_400);
        Settings { min: Duration::from_secs(3_600), max: day * 60, first: day * 7 }
    }
}

/// What is known of a page's visits, the latest included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct History {
    /// Successful visits.
    pub visits: u32,
    /// Those of them that found a change.
    pub changes: u32,
    /// Between the last two visits.
    pub last_interval: Option<Duration>,
}

/// How long to wait for the next visit.
pub fn interval(history: History, settings: &Settings) -> Duration {
    let (Some(last), Some(compared)) = (history.last_interval, history.visits.checked_sub(1)) else {
        return settings.first.clamp(settings.min, settings.max.max(settings.min));
    };
    let seen = f64::from(compared.max(1));
    let n = seen.min(MEMORY);
    let changes = f64::from(history.changes.min(compared)) * (n / seen);
    let per_interval = -((n - changes + 0.5) / (n + 0.5)).ln();
    let factor = if per_interval > 0.0 { 1.0 / per_interval } else { GROWTH };
    let next = last.as_secs_f64().max(settings.min.as_secs_f64()) * factor.clamp(SHRINK, GROWTH);
    let bounded = next.clamp(settings.min.as_secs_f64(), settings.max.max(settings.min).as_secs_f64());
    Duration::try_from_secs_f64(bounded).unwrap_or(settings.max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn at(visits: u32, changes: u32, last: Duration) -> Duration {
        interval(History { visits, changes, last_interval: Some(last) }, &Settings::default())
    }

    #[test]
    fn a_page_seen_once_comes_back_after_the_first_interval() {
        let once = History { visits: 1, changes: 0, last_interval: None };
        assert_eq!(interval(once, &Settings::default()), Settings::default().first);
    }

    #[test]
    fn a_page_that_never_changes_is_visited_ever_less_up_to_the_bound() {
        let mut wait = Settings::default().first;
        for visits in 2..10 {
            let next = at(visits, 0, wait);
            assert!(next == wait * 2 || next == Settings::default().max);
            wait = next;
        }
        assert_eq!(wait, Settings::default().max);
    }

    #[test]
    fn a_page_that_always_changes_is_visited_ever_more_down_to_the_bound() {
        let mut wait = Settings::default().first;
        for visits in 2..20 {
            let next = at(visits, visits - 1, wait);
            assert!(next < wait || next == Settings::default().min, "{visits}: {next:?} after {wait:?}");
            wait = next;
        }
        assert_eq!(wait, Settings::default().min);
    }

    #[test]
    fn the_interval_settles_near_the_mean_time_between_changes() {
        // A page that changes every 10 hours, on a fixed beat.
        let (mut now, mut wait) = (0_u64, HOUR * 24 * 7);
        let (mut visits, mut changes) = (1_u32, 0_u32);
        for _ in 0..200 {
            let before = now / 36_000;
            now += wait.as_secs();
            visits += 1;
            changes += u32::from(now / 36_000 != before);
            wait = at(visits, changes, wait);
        }
        assert!(wait >= HOUR * 4 && wait <= HOUR * 25, "{wait:?}");
    }

    proptest! {
        #[test]
        fn any_history_gives_an_interval_within_the_bounds(
            visits: u32, changes: u32, last in proptest::option::of(any::<u64>()),
        ) {
            let settings = Settings::default();
            let last_interval = last.map(Duration::from_secs);
            let got = interval(History { visits, changes, last_interval }, &settings);
            prop_assert!(got >= settings.min && got <= settings.max);
        }
    }
}
