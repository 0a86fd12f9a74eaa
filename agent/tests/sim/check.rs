//! What must hold of any run, from the web's log.

use crate::driver::{Driver, Request};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Spacing per host and address, `Crawl-delay`, `Retry-After`, and nothing disallowed.
pub fn politeness(driver: &Driver, host_delay: Duration, ip_delay: Duration) {
    let mut by_host: BTreeMap<_, Vec<&Request>> = BTreeMap::new();
    let mut by_address: BTreeMap<_, Vec<&Request>> = BTreeMap::new();
    for request in &driver.requests {
        by_host.entry(request.host).or_default().push(request);
        by_address.entry(request.address).or_default().push(request);
        assert!(request.robots || driver.web.allowed(&request.url), "disallowed: {}", request.url);
    }
    for requests in by_host.values_mut() {
        requests.sort_by_key(|request| request.sent);
        for pair in requests.windows(2) {
            host_pair(driver, pair[0], pair[1], host_delay);
        }
    }
    for requests in by_address.values_mut() {
        requests.sort_by_key(|request| request.sent);
        for pair in requests.windows(2) {
            let gap = pair[1].sent.since(pair[0].sent);
            assert!(gap >= ip_delay, "{gap:?} at one address between {:#?} and {:#?}", pair[0], pair[1]);
        }
    }
}

fn host_pair(driver: &Driver, before: &Request, after: &Request, host_delay: Duration) {
    assert!(after.sent >= before.ended, "two in flight: {before:#?} and {after:#?}");
    let gap = after.sent.since(before.ended);
    assert!(gap >= host_delay, "{gap:?} between {before:#?} and {after:#?}");
    if !after.robots {
        let name = after.url.trim_start_matches("http://").split('/').next().unwrap_or_default();
        let asked = Duration::from_secs(driver.web.crawl_delay_s(name));
        assert!(gap >= asked, "{gap:?} in spite of Crawl-delay {asked:?}: {before:#?} and {after:#?}");
    }
    if let (Some(pause), true) = (before.retry_after, before.run == after.run) {
        assert!(gap >= Duration::from_secs(pause), "{gap:?} in spite of Retry-After {pause}");
    }
}

/// URLs answered with a status other than those that ask to come back, and how often.
pub fn answered(driver: &Driver) -> BTreeMap<String, u32> {
    let mut answered = BTreeMap::new();
    for request in driver.requests.iter().filter(|request| !request.robots) {
        if matches!(request.status, Some(200 | 302 | 404 | 410)) {
            *answered.entry(request.url.clone()).or_default() += 1;
        }
    }
    answered
}

/// What was fetched is what the right crawl fetches; and twice only what was in flight at a crash.
pub fn complete(driver: &Driver, seeds: &[String]) {
    let (asked, pages) = driver.web.truth(seeds);
    let answered = answered(driver);
    let got: BTreeSet<_> = answered.keys().cloned().collect();
    let missing: Vec<_> = asked.difference(&got).collect();
    let extra: Vec<_> = got.difference(&asked).collect();
    assert!(missing.is_empty() && extra.is_empty(), "missing {missing:#?}, extra {extra:#?}");
    for (url, times) in &answered {
        let lost = driver.lost.iter().filter(|lost| *lost == url).count() as u32;
        assert!(*times <= 1 + lost, "{url} answered {times} times, in flight at {lost} crashes");
    }
    let recorded = driver.store.records.values().filter(|record| record.last_success_s > 0).count();
    assert_eq!(recorded, pages.len(), "every page has its record");
    assert!(driver.store.queues.is_empty(), "{:#?}", driver.store.queues);
    assert!(driver.store.in_flight.is_empty());
}
