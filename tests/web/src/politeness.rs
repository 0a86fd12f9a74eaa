//! Whether the crawler whose requests are in a log was polite.

use crate::log::LogEntry;
use crate::web::Web;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

/// How late a request may be noted after it arrived, by default: a busy machine's scheduler. It is allowed for only
/// between two requests, never between the end of an answer and the next request, where lateness errs the other way.
pub const TOLERANCE: Duration = Duration::from_millis(5);

/// How late a server may notice that a client has left before the end of an answer (a timeout, a body beyond its limit):
/// so much is taken off the noted end of such an answer.
pub const NOTICE: Duration = Duration::from_millis(50);

/// Whether a path of a host may be fetched.
pub type Allows<'a> = &'a dyn Fn(&str, &str) -> bool;

/// What is expected of the crawler.
pub struct Expect<'a> {
    /// From the end of one answer of a host to its next request.
    pub host_delay: Duration,
    /// From one request to the next at an address.
    pub ip_delay: Duration,
    /// Crawl-delay of hosts that have one.
    pub crawl_delays: BTreeMap<String, Duration>,
    /// Whether Retry-After of 429 and 503 is to be kept.
    pub retry_after: bool,
    /// Whether each URL is to be fetched once: not where pages are revisited or the crawler was killed.
    pub once: bool,
    /// Whether robots.txt is to be read once by host, and before any page.
    pub robots: bool,
    /// Whether a path of a host may be fetched.
    pub allows: Option<Allows<'a>>,
    /// How late a request may be noted.
    pub tolerance: Duration,
}

impl Default for Expect<'_> {
    fn default() -> Self {
        Self {
            host_delay: Duration::from_secs(1),
            ip_delay: Duration::from_millis(200),
            crawl_delays: BTreeMap::new(),
            retry_after: true,
            once: true,
            robots: true,
            allows: None,
            tolerance: TOLERANCE,
        }
    }
}

impl Expect<'_> {
    /// With the Crawl-delays of a generated web; set `allows` to `&|host, path| web.allows(host, path)` beside it.
    pub fn of(web: &Web, host_delay: Duration, ip_delay: Duration) -> Self {
        Self { host_delay, ip_delay, crawl_delays: web.crawl_delays(), ..Self::default() }
    }
}

/// Something impolite.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "violation", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields are what their names say; times are in microseconds of the log")]
pub enum Violation {
    /// A request came before the answer to the one before it, to the same host, had been sent.
    InFlight { host: String, first: String, second: String, at_us: u64 },
    /// A request came too soon after the end of the answer before it.
    HostSpacing { host: String, first: String, second: String, gap_us: u64, least_us: u64 },
    /// A request came too soon after another to the same address.
    AddressSpacing { address: IpAddr, first: String, second: String, gap_us: u64, least_us: u64 },
    /// A host's Retry-After was not kept.
    RetryAfter { host: String, first: String, second: String, gap_us: u64, least_us: u64 },
    /// A disallowed URL was fetched.
    Disallowed { url: String },
    /// A page was fetched before the host's robots.txt had been answered.
    BeforeRobots { url: String },
    /// robots.txt was fetched again although it had been answered.
    RobotsAgain { host: String, times: usize },
    /// A URL was fetched again although it had been answered.
    Again { url: String, times: usize },
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InFlight { host, first, second, at_us } => {
                write!(out, "{host}: {second} asked for at {at_us} µs while {first} was being answered")
            }
            Self::HostSpacing { host, first, second, gap_us, least_us } => {
                write!(out, "{host}: {second} came {gap_us} µs after {first} ended, less than {least_us}")
            }
            Self::AddressSpacing { address, first, second, gap_us, least_us } => {
                write!(out, "{address}: {second} came {gap_us} µs after {first}, less than {least_us}")
            }
            Self::RetryAfter { host, first, second, gap_us, least_us } => {
                write!(out, "{host}: {second} came {gap_us} µs after {first} said to wait {least_us}")
            }
            Self::Disallowed { url } => write!(out, "{url} is disallowed"),
            Self::BeforeRobots { url } => write!(out, "{url} was fetched before robots.txt"),
            Self::RobotsAgain { host, times } => write!(out, "{host}: robots.txt was fetched {times} times"),
            Self::Again { url, times } => write!(out, "{url} was fetched {times} times"),
        }
    }
}

/// Everything impolite in a log, in order of time by host, then by address. The order of `entries` does not matter.
pub fn check(entries: &[LogEntry], expect: &Expect<'_>) -> Vec<Violation> {
    let mut sorted: Vec<&LogEntry> = entries.iter().collect();
    sorted.sort_by_key(|entry| (entry.received_us, entry.finished_us));
    let mut hosts: BTreeMap<&str, Vec<&LogEntry>> = BTreeMap::new();
    let mut addresses: BTreeMap<IpAddr, Vec<&LogEntry>> = BTreeMap::new();
    for entry in sorted {
        hosts.entry(&entry.host).or_default().push(entry);
        addresses.entry(entry.address).or_default().push(entry);
    }
    let mut found = Vec::new();
    for (host, entries) in hosts {
        spacing(host, &entries, expect, &mut found);
        rules(host, &entries, expect, &mut found);
        repeats(host, &entries, expect, &mut found);
    }
    for (address, entries) in addresses {
        let least = expect.ip_delay.saturating_sub(expect.tolerance);
        for pair in entries.windows(2) {
            let gap_us = pair[1].received_us - pair[0].received_us;
            if gap_us < micros(least) {
                let (first, second) = (pair[0].url(), pair[1].url());
                let least_us = micros(expect.ip_delay);
                found.push(Violation::AddressSpacing { address, first, second, gap_us, least_us });
            }
        }
    }
    found
}

fn spacing(host: &str, entries: &[&LogEntry], expect: &Expect<'_>, found: &mut Vec<Violation>) {
    let delay = expect.crawl_delays.get(host).copied().unwrap_or_default().max(expect.host_delay);
    // The answer that ended last, and the time before which a Retry-After forbids the next request.
    let mut last: Option<&LogEntry> = None;
    let mut wait: Option<(u64, &LogEntry)> = None;
    for entry in entries {
        let second = entry.path.clone();
        if let Some(before) = last {
            let first = before.path.clone();
            match entry.received_us.checked_sub(ended(before)) {
                None => found.push(Violation::InFlight {
                    host: host.into(),
                    first,
                    second: second.clone(),
                    at_us: entry.received_us,
                }),
                Some(gap_us) if gap_us < micros(delay) => found.push(Violation::HostSpacing {
                    host: host.into(),
                    first,
                    second: second.clone(),
                    gap_us,
                    least_us: micros(delay),
                }),
                Some(_) => {}
            }
        }
        if let Some((until, before)) =
            wait.filter(|(until, _)| entry.received_us < *until && expect.retry_after)
        {
            found.push(Violation::RetryAfter {
                host: host.into(),
                first: before.path.clone(),
                second,
                gap_us: entry.received_us.saturating_sub(ended(before)),
                least_us: until - ended(before),
            });
        }
        if last.is_none_or(|before| ended(before) <= ended(entry)) {
            last = Some(entry);
        }
        if let Some(seconds) = entry.retry_after_s.filter(|_| matches!(entry.status, 429 | 503)) {
            let until = ended(entry).saturating_add(u64::from(seconds) * 1_000_000);
            if wait.is_none_or(|(before, _)| before < until) {
                wait = Some((until, entry));
            }
        }
    }
}

fn rules(host: &str, entries: &[&LogEntry], expect: &Expect<'_>, found: &mut Vec<Violation>) {
    // When robots.txt had first been answered, if it ever was.
    let answered = entries.iter().filter(|entry| entry.path == "/robots.txt" && entry.complete);
    let answered = answered.map(|entry| entry.finished_us).min().unwrap_or(u64::MAX);
    for entry in entries.iter().filter(|entry| !is_robots(&entry.path)) {
        if expect.robots && entry.received_us < answered {
            found.push(Violation::BeforeRobots { url: entry.url() });
        }
        if expect.allows.is_some_and(|allows| !allows(host, &entry.path)) {
            found.push(Violation::Disallowed { url: entry.url() });
        }
    }
}

fn repeats(host: &str, entries: &[&LogEntry], expect: &Expect<'_>, found: &mut Vec<Violation>) {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    let mut order = Vec::new();
    for entry in entries.iter().filter(|entry| is_final(entry)) {
        let count = times.entry(&entry.path).or_default();
        *count += 1;
        if *count == 2 {
            order.push(entry.path.as_str());
        }
    }
    for path in order {
        let times = times[path];
        if path == "/robots.txt" {
            if expect.robots && times - begun_anew(entries) > 1 {
                found.push(Violation::RobotsAgain { host: host.into(), times });
            }
        } else if expect.once && !is_robots(path) {
            found.push(Violation::Again { url: format!("http://{host}{path}"), times });
        }
    }
}

/// How often a robots.txt that is elsewhere was asked for anew before it was had there: who takes a host over in between begins at the beginning.
fn begun_anew(entries: &[&LogEntry]) -> usize {
    let had = entries.iter().filter(|entry| entry.path == "/robots-moved.txt" && is_final(entry));
    let Some(had) = had.map(|entry| entry.received_us).min() else { return 0 };
    let before =
        |entry: &&&LogEntry| entry.path == "/robots.txt" && is_final(entry) && entry.finished_us <= had;
    entries.iter().filter(before).filter(|entry| (300..400).contains(&entry.status)).count().saturating_sub(1)
}

/// Whether a path is that of robots.txt or of what it redirects to.
fn is_robots(path: &str) -> bool {
    path == "/robots.txt" || path == "/robots-moved.txt"
}

/// Whether an answer settles its URL: one that does not may be asked for again.
fn is_final(entry: &LogEntry) -> bool {
    entry.complete && !matches!(entry.status, 0 | 408 | 425 | 429 | 500..)
}

/// When an answer ended for the client.
fn ended(entry: &LogEntry) -> u64 {
    let notice = if entry.complete { 0 } else { micros(NOTICE) };
    entry.finished_us.saturating_sub(notice).max(entry.received_us)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An answered request, times in milliseconds.
    fn entry(host: &str, path: &str, received: u64, finished: u64) -> LogEntry {
        LogEntry {
            received_us: received * 1_000,
            answered_us: received * 1_000,
            finished_us: finished * 1_000,
            received_unix_us: 0,
            address: IpAddr::from([127, 0, 0, 1]),
            host: host.into(),
            path: path.into(),
            status: 200,
            user_agent: String::new(),
            bytes: 0,
            retry_after_s: None,
            complete: true,
        }
    }

    fn expect(host_ms: u64, ip_ms: u64) -> Expect<'static> {
        Expect {
            host_delay: Duration::from_millis(host_ms),
            ip_delay: Duration::from_millis(ip_ms),
            robots: false,
            ..Expect::default()
        }
    }

    #[test]
    fn the_end_of_an_answer_counts_for_a_host_and_its_beginning_for_an_address() {
        let log = [entry("a", "/1", 0, 500), entry("a", "/2", 700, 710), entry("b", "/3", 800, 810)];
        assert_eq!(check(&log, &expect(200, 100)), []);
        let found = check(&log, &expect(201, 100));
        assert!(matches!(&found[..], [Violation::HostSpacing { gap_us: 200_000, .. }]), "{found:?}");
        let found = check(&log, &expect(200, 106));
        assert!(matches!(&found[..], [Violation::AddressSpacing { gap_us: 100_000, .. }]), "{found:?}");
    }

    #[test]
    fn a_second_request_in_flight_is_seen_even_behind_a_short_one() {
        let log = [entry("a", "/long", 0, 900), entry("a", "/short", 10, 20), entry("a", "/third", 500, 510)];
        let found = check(&log, &expect(0, 0));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().all(|one| matches!(one, Violation::InFlight { first, .. } if first == "/long")));
    }

    #[test]
    fn an_answer_that_the_client_gave_up_ended_a_little_before_the_server_noticed() {
        let mut left = entry("a", "/1", 0, 1_000);
        left.complete = false;
        assert_eq!(check(&[left.clone(), entry("a", "/2", 960, 970)], &expect(0, 0)), []);
        assert_eq!(check(&[left, entry("a", "/2", 900, 910)], &expect(0, 0)).len(), 1);
    }

    #[test]
    fn a_crawl_delay_is_kept_where_there_is_one() {
        let log = [
            entry("a", "/1", 0, 0),
            entry("a", "/2", 300, 300),
            entry("b", "/1", 0, 0),
            entry("b", "/2", 300, 300),
        ];
        let crawl_delays = BTreeMap::from([("b".to_owned(), Duration::from_millis(400))]);
        let found = check(&log, &Expect { crawl_delays, ..expect(100, 0) });
        assert!(matches!(&found[..], [Violation::HostSpacing { host, .. }] if host == "b"), "{found:?}");
    }

    #[test]
    fn retry_after_holds_for_every_page_of_the_host_until_it_is_over() {
        let mut refused = entry("a", "/1", 0, 100);
        (refused.status, refused.retry_after_s) = (429, Some(2));
        let log = [
            refused,
            entry("a", "/2", 1_000, 1_010),
            entry("a", "/3", 2_099, 2_100),
            entry("a", "/4", 2_101, 2_102),
        ];
        let found = check(&log, &expect(0, 0));
        let second = |one: &Violation| match one {
            Violation::RetryAfter { second, .. } => second.clone(),
            other => panic!("{other}"),
        };
        assert_eq!(found.iter().map(second).collect::<Vec<_>>(), ["/2", "/3"]);
        assert_eq!(check(&log, &Expect { retry_after: false, ..expect(0, 0) }), []);
    }

    #[test]
    fn what_failed_for_now_may_be_asked_for_again_and_what_succeeded_may_not() {
        let mut failed = entry("a", "/1", 0, 0);
        failed.status = 503;
        let mut cut = entry("a", "/1", 1, 1);
        cut.complete = false;
        let log = [failed, cut, entry("a", "/1", 2, 2), entry("a", "/2", 3, 3), entry("a", "/2", 4, 4)];
        let found = check(&log, &expect(0, 0));
        assert_eq!(found, [Violation::Again { url: "http://a/2".into(), times: 2 }]);
        assert_eq!(check(&log, &Expect { once: false, ..expect(0, 0) }), []);
    }

    #[test]
    fn robots_come_first_and_once() {
        let log = [entry("a", "/1", 0, 0), entry("a", "/robots.txt", 1, 2), entry("a", "/robots.txt", 3, 4)];
        let found = check(&log, &Expect { robots: true, ..expect(0, 0) });
        let expected = [
            Violation::BeforeRobots { url: "http://a/1".into() },
            Violation::RobotsAgain { host: "a".into(), times: 2 },
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_robots_txt_that_is_elsewhere_may_be_asked_for_anew_until_it_was_had_there() {
        let moved = |at| LogEntry { status: 302, ..entry("a", "/robots.txt", at, at + 1) };
        let had = entry("a", "/robots-moved.txt", 5, 6);
        let found = |log: &[LogEntry]| check(log, &Expect { robots: true, ..expect(0, 0) });
        let again = |times| [Violation::RobotsAgain { host: "a".into(), times }];
        assert_eq!(found(&[moved(1), moved(3), had.clone()]), []);
        assert_eq!(found(&[moved(1), had.clone(), moved(7)]), again(2));
        assert_eq!(found(&[moved(1), moved(3), had, moved(7)]), again(3));
        assert_eq!(found(&[moved(1), moved(3)]), again(2), "it was not followed");
    }

    proptest! {
        #[test]
        fn a_crawler_that_waits_is_never_blamed_and_one_that_does_not_is(
            steps in proptest::collection::vec((0_u8..3, 0_u64..50, 0_u64..400), 2..40),
            hurry in any::<proptest::sample::Index>(),
        ) {
            // One host after another, so that the end of each answer is before the next request.
            let mut now = 0;
            let mut log: Vec<LogEntry> = Vec::new();
            for (number, (host, takes, idles)) in steps.iter().enumerate() {
                now += 300 + idles;
                log.push(entry(&host.to_string(), &format!("/{number}"), now, now + takes));
                now += takes;
            }
            prop_assert_eq!(check(&log, &expect(300, 300)), vec![]);
            let at = 1 + hurry.index(log.len() - 1);
            // Planted: one comes 200 ms after the one before it.
            log[at].received_us = log[at - 1].received_us + 200_000;
            log[at].finished_us = log[at].finished_us.max(log[at].received_us);
            let found = check(&log, &expect(300, 300));
            let blamed = found.iter().any(|one| matches!(one, Violation::AddressSpacing { gap_us: 200_000, .. }));
            prop_assert!(blamed, "{:?}", found);
        }
    }
}
