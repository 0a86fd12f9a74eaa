//! When a host may be asked again.

use super::Config;
use super::backoff;
use crate::time::Instant;
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

/// Public hosts wait at least this, whatever the settings say.
pub const PUBLIC_HOST_DELAY: Duration = Duration::from_millis(500);
/// Public addresses wait at least this between sendings.
pub const PUBLIC_IP_DELAY: Duration = Duration::from_millis(100);
/// Failures in a row after which a host that ever answered counts as down, however short its pauses: its queue is put
/// off instead of waited for.
pub const PATIENCE: u8 = 3;
/// The same of a host that never answered.
const PATIENCE_AT_FIRST: u8 = 1;
/// A host that never answered is asked a second time this soon, or after the first step of the back-off if that is
/// shorter: that one connection is lost, or one look-up, says little; that a second is, says enough.
const SECOND_TRY: Duration = Duration::from_secs(3);
/// A host whose pause after a failure is longer than this counts as down until then: no crawl is kept from ending by
/// it. The first step of the default back-off is waited for, its second is not: a service that is started anew is back
/// within the first.
pub const WORTH_WAITING: Duration = Duration::from_secs(45);
/// Failures in a row after which the entries of a host that is down are given up. With the default base that is after
/// a day and a half.
pub const GIVE_UP: u8 = 12;
/// A name that does not exist counts as so many failures: three lookups, over a day, settle it.
const UNKNOWN_NAME: u8 = 3;
/// A host that asked for its pause is waited for longer, because it will keep its word: up to this.
pub const LONG_PAUSE: Duration = Duration::from_secs(600);
/// A host that answers with trouble waits at least this, doubled each time.
const STRAINED_DELAY: Duration = Duration::from_millis(250);
/// And at most this, or its own delay if that is longer.
const STRAINED_MAX: Duration = Duration::from_secs(60);

/// A host's timing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pace {
    /// When its last response ended; zero if none did.
    pub last_end: Instant,
    /// No request before, because of a failure or of `Retry-After`.
    pub hold_until: Instant,
    /// Delay asked for by robots.txt, in milliseconds; zero if none.
    pub crawl_delay_ms: u64,
    /// Failures in a row that count against the host.
    pub failures: u8,
    /// Answers with trouble in a row.
    pub strain: u8,
    /// Whether it ever answered anything.
    pub reached: bool,
    /// Whether the pause that `hold_until` ends is longer than a crawl waits for.
    pub long: bool,
}

impl Pace {
    /// From the end of a response to the next request.
    pub fn delay(&self, config: &Config, public: bool) -> Duration {
        let floor = if public { PUBLIC_HOST_DELAY } else { Duration::ZERO };
        let delay = config.host_delay.max(floor).max(Duration::from_millis(self.crawl_delay_ms));
        if self.strain == 0 {
            return delay;
        }
        let doubled = delay.max(STRAINED_DELAY).saturating_mul(1 << u32::from(self.strain).min(16));
        doubled.min(delay.max(STRAINED_MAX))
    }

    /// The earliest time of the next request.
    pub fn next(&self, config: &Config, public: bool) -> Instant {
        if self.last_end == Instant::ZERO {
            return self.hold_until;
        }
        (self.last_end + self.delay(config, public)).max(self.hold_until)
    }

    /// Whether the host counts as down: its entries are put off rather than waited for.
    pub fn down(&self, now: Instant) -> bool {
        let patience = if self.reached { PATIENCE } else { PATIENCE_AT_FIRST };
        now < self.hold_until && self.failures > 0 && (self.failures > patience || self.long)
    }

    /// Takes over a pause that an earlier process was told of. Whether the host had asked for it is not known any
    /// more, so that it gets the benefit of the doubt.
    pub fn resume(&mut self, hold_until: Instant, failures: u8, boot: Instant) {
        self.hold_until = self.hold_until.max(hold_until);
        self.last_end = self.last_end.max(boot);
        self.failures = failures;
        self.long = self.hold_until.since(boot) > LONG_PAUSE;
    }

    /// Whether the entries of a host that is down are not worth keeping.
    pub fn given_up(&self) -> bool {
        self.failures >= GIVE_UP
    }

    /// The host answered well.
    pub fn well(&mut self) {
        self.failures = 0;
        self.strain = 0;
    }

    /// The host answered with trouble.
    pub fn strained(&mut self) {
        self.strain = self.strain.saturating_add(1);
    }

    /// The host failed, and perhaps asked for a pause, counted from `at`.
    pub fn failed(&mut self, at: Instant, asked: Option<Duration>, config: &Config, rng: &mut ChaCha8Rng) {
        self.failures = self.failures.saturating_add(1);
        let wait = match asked {
            // What a host asks for is kept; a little more, so that not all come back at one moment.
            Some(asked) if self.failures <= 1 => {
                asked.saturating_add(backoff::jitter(asked.min(Duration::from_secs(60)) / 16, rng))
            }
            None if self.is_asked_soon() => {
                let soon = SECOND_TRY.min(config.backoff_base);
                soon.saturating_add(backoff::jitter(soon / 4, rng))
            }
            _ => backoff::delay(self.failures, config.backoff_base, config.backoff_max, rng)
                .max(asked.unwrap_or_default()),
        };
        self.hold_until = self.hold_until.max(at + wait);
        let worth_waiting = if asked.is_some() { LONG_PAUSE } else { WORTH_WAITING };
        self.long = self.hold_until.since(at) > worth_waiting;
    }

    /// Whether its only failure was that it did not answer when it was first asked.
    fn is_asked_soon(&self) -> bool {
        !self.reached && self.failures <= PATIENCE_AT_FIRST
    }

    /// The host's robots.txt cannot be had, so that nothing of it may be asked for: it is down at once, unless it is
    /// asked a second time soon.
    pub fn closed(&mut self) {
        if !self.is_asked_soon() {
            self.failures = self.failures.max(PATIENCE + 1);
        }
    }

    /// The host's name does not exist: it is down at once.
    pub fn unknown_name(&mut self, at: Instant, config: &Config, rng: &mut ChaCha8Rng) {
        self.failures = self.failures.max(PATIENCE).saturating_add(UNKNOWN_NAME - 1);
        self.failed(at, None, config, rng);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    fn config(host_delay_ms: u64) -> Config {
        Config { host_delay: Duration::from_millis(host_delay_ms), ..Config::default() }
    }

    const T: Instant = Instant(1_000_000_000);

    #[test]
    fn a_public_host_waits_at_least_half_a_second_and_a_local_one_what_the_setting_says() {
        let pace = Pace { last_end: T, ..Pace::default() };
        assert_eq!(pace.next(&config(0), true), T + PUBLIC_HOST_DELAY);
        assert_eq!(pace.next(&config(0), false), T);
        assert_eq!(pace.next(&config(2_000), true), T + Duration::from_secs(2));
    }

    #[test]
    fn a_host_never_asked_waits_for_nothing() {
        assert_eq!(Pace::default().next(&config(1_000), true), Instant::ZERO);
    }

    #[test]
    fn the_longest_of_delay_crawl_delay_and_hold_counts() {
        let mut pace = Pace { last_end: T, crawl_delay_ms: 7_000, ..Pace::default() };
        assert_eq!(pace.next(&config(1_000), true), T + Duration::from_secs(7));
        pace.hold_until = T + Duration::from_secs(9);
        assert_eq!(pace.next(&config(1_000), true), T + Duration::from_secs(9));
    }

    #[test]
    fn retry_after_is_never_cut_short() {
        let mut rng = ChaCha8Rng::from_seed([3; 32]);
        let mut pace = Pace { last_end: T, ..Pace::default() };
        for _ in 0..6 {
            pace.failed(T, Some(Duration::from_secs(77)), &config(0), &mut rng);
            assert!(pace.hold_until >= T + Duration::from_secs(77));
        }
    }

    #[test]
    fn a_host_is_down_when_patience_ends_and_only_until_its_time() {
        let mut rng = ChaCha8Rng::from_seed([3; 32]);
        let quick = Config { backoff_base: Duration::from_millis(10), ..config(0) };
        let mut pace = Pace { last_end: T, reached: true, ..Pace::default() };
        for _ in 0..PATIENCE {
            pace.failed(T, None, &quick, &mut rng);
            assert!(!pace.down(T));
        }
        pace.failed(T, None, &quick, &mut rng);
        assert!(pace.down(T));
        assert!(!pace.down(pace.hold_until));
        pace.well();
        assert!(!pace.down(T));
    }

    #[test]
    fn a_pause_that_is_not_worth_waiting_for_puts_a_host_down_and_one_it_asked_for_may_be_longer() {
        let mut rng = ChaCha8Rng::from_seed([3; 32]);
        let well = Pace { last_end: T, reached: true, ..Pace::default() };
        let mut silent = well;
        silent.failed(T, None, &config(0), &mut rng);
        assert!(!silent.down(T), "the first step of the back-off is waited for");
        silent.failed(T, None, &config(0), &mut rng);
        assert!(silent.down(T) && silent.failures < PATIENCE);

        let mut busy = well;
        busy.failed(T, Some(Duration::from_secs(300)), &config(0), &mut rng);
        assert!(!busy.down(T));
        busy.well();
        busy.failed(T, Some(LONG_PAUSE * 2), &config(0), &mut rng);
        assert!(busy.down(T));
    }

    #[test]
    fn a_pause_of_an_earlier_process_is_waited_for_as_if_the_host_had_asked_for_it() {
        let mut pace = Pace { reached: true, ..Pace::default() };
        pace.resume(T + Duration::from_secs(300), 1, T);
        assert!(!pace.down(T));
        pace.resume(T + LONG_PAUSE * 2, 1, T);
        assert!(pace.down(T));
    }

    #[test]
    fn a_host_that_never_answered_is_asked_again_soon_and_is_down_at_its_second_failure() {
        let mut rng = ChaCha8Rng::from_seed([3; 32]);
        let mut pace = Pace { last_end: T, ..Pace::default() };
        pace.failed(T, None, &config(0), &mut rng);
        pace.closed();
        assert!(!pace.down(T) && pace.hold_until < T + SECOND_TRY * 2, "{pace:?}");
        let second = pace.hold_until;
        pace.failed(second, None, &config(0), &mut rng);
        assert!(pace.down(second) && !pace.down(pace.hold_until) && !pace.given_up());
        assert!(pace.hold_until >= second + config(0).backoff_base);
    }

    #[test]
    fn a_host_that_answers_and_has_no_rules_to_give_is_down_at_once() {
        let mut rng = ChaCha8Rng::from_seed([3; 32]);
        let mut pace = Pace { last_end: T, reached: true, ..Pace::default() };
        pace.failed(T, None, &config(0), &mut rng);
        assert!(!pace.down(T));
        pace.closed();
        assert!(pace.down(T));
    }

    #[test]
    fn a_name_that_does_not_exist_is_down_at_once_and_given_up_after_three_lookups() {
        let mut rng = ChaCha8Rng::from_seed([3; 32]);
        let mut pace = Pace::default();
        let mut now = T;
        for lookup in 1..=3 {
            assert!(!pace.given_up(), "{lookup}");
            pace.unknown_name(now, &config(0), &mut rng);
            assert!(pace.down(now));
            now = pace.hold_until;
        }
        assert!(pace.given_up());
    }

    #[test]
    fn trouble_slows_a_host_down_and_an_answer_restores_it() {
        let mut pace = Pace { last_end: T, ..Pace::default() };
        let plain = pace.delay(&config(1_000), true);
        pace.strained();
        assert_eq!(pace.delay(&config(1_000), true), plain * 2);
        for _ in 0..300 {
            pace.strained();
        }
        assert_eq!(pace.delay(&config(1_000), true), STRAINED_MAX);
        pace.crawl_delay_ms = 90_000;
        assert_eq!(pace.delay(&config(1_000), true), Duration::from_secs(90));
        pace.well();
        pace.crawl_delay_ms = 0;
        assert_eq!(pace.delay(&config(1_000), true), plain);
    }
}
