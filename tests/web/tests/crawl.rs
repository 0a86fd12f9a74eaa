//! A simple crawler over HTTP finds what the truth says.
#![allow(clippy::unwrap_used, reason = "in a test it is a failed check")]

mod common;

use anthill_web::politeness::{self, Expect, Violation};
use anthill_web::{Ask, Kind, Log, Server, Shares, Source, Web, WebSettings, serve};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Serves `web` on a runtime of its own, which has to live as long as the server.
fn served(web: &Arc<Web>) -> (tokio::runtime::Runtime, Server) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let source: Arc<dyn Source> = Arc::clone(web) as _;
    let server = runtime.block_on(serve(source, &web.addresses(), 0, Arc::new(Log::default()))).unwrap();
    (runtime, server)
}

/// Where hosts are, read from the flags a crawler would be given.
fn resolver(web: &Web, server: &Server) -> impl Fn(&str) -> SocketAddr + use<> {
    let flags = web.resolve_flags(server.addresses());
    let pairs: Vec<(String, SocketAddr)> = flags
        .iter()
        .map(|flag| {
            flag.split_once('=').map(|(pattern, to)| (pattern.to_owned(), to.parse().unwrap())).unwrap()
        })
        .collect();
    move |host: &str| {
        let fits = |pattern: &str| match pattern.split_once('*') {
            Some((start, end)) => host.starts_with(start) && host.ends_with(end),
            None => host == pattern,
        };
        pairs.iter().find(|(pattern, _)| fits(pattern)).map(|(_, to)| *to).unwrap()
    }
}

fn quick(settings: WebSettings) -> WebSettings {
    WebSettings { retry_after_s: 0, slow_ms: 20, huge_bytes: 1 << 20, bomb_bytes: 1 << 20, ..settings }
}

fn the_truth_holds(settings: WebSettings, tick: u64) {
    let web = Arc::new(Web::new(settings).unwrap());
    web.set_tick(tick);
    let (_runtime, server) = served(&web);
    let crawl = common::crawl(&web.seeds(), resolver(&web, &server));
    let seeds = web.seeds();
    let expected = web.expected(seeds.iter().map(String::as_str));
    let difference = expected.compare(crawl.fetched.iter().map(String::as_str));
    assert!(difference.is_empty(), "{difference:#?}");
    let pages = crawl.pages.iter().filter(|url| !expected.traps.contains(*url)).cloned();
    assert_eq!(pages.collect::<std::collections::BTreeSet<_>>(), expected.pages);
    assert_eq!(crawl.noindex, expected.noindex);
    assert_eq!(crawl.disallowed, expected.disallowed);
    for (from, to) in &expected.redirects {
        assert_eq!(crawl.redirects.get(from), Some(to));
    }
    for (one, other) in &expected.exact_duplicates {
        assert!(crawl.bodies[one] == crawl.bodies[other], "{one} {other}");
    }
    for (one, other) in &expected.near_duplicates {
        assert!(crawl.bodies[one] != crawl.bodies[other], "{one} {other}");
    }
    let served = server.log().entries();
    let asked = served.iter().map(|entry| entry.url()).collect::<std::collections::BTreeSet<_>>();
    assert!(expected.compare(asked.iter().map(String::as_str)).is_empty());
    let allows = |host: &str, path: &str| web.allows(host, path);
    let expect = Expect { allows: Some(&allows), ..Expect::of(&web, Duration::ZERO, Duration::ZERO) };
    let violations = politeness::check(&served, &Expect { crawl_delays: BTreeMap::new(), ..expect });
    assert!(violations.is_empty(), "{violations:#?}");
}

#[test]
fn a_crawl_of_every_oddity_finds_the_truth() {
    let settings = quick(WebSettings { pages_per_host: 80, ..WebSettings::everything(7) });
    let web = Web::new(settings.clone()).unwrap();
    let seeds = web.seeds();
    let expected = web.expected(seeds.iter().map(String::as_str));
    // The test is of something only if each oddity is met.
    for set in
        [&expected.noindex, &expected.disallowed, &expected.retried, &expected.oversized, &expected.binary]
    {
        assert!(!set.is_empty());
    }
    assert!([0, 404, 410, 500].iter().all(|status| expected.failing.values().any(|one| one == status)));
    assert!(expected.pages.len() > 1_000 && expected.sitemaps.len() > 10 && expected.traps.len() > 10);
    the_truth_holds(settings, 0);
}

#[test]
fn a_crawl_of_the_demo_finds_the_truth() {
    the_truth_holds(quick(WebSettings::demo()), 3);
}

#[test]
fn a_crawl_over_several_addresses_finds_the_truth() {
    the_truth_holds(quick(WebSettings { crawl_delay_s: 0.0, ..WebSettings::polite(12, 3) }), 0);
}

#[test]
fn every_host_is_reached_at_its_own_address() {
    let web = Arc::new(Web::new(WebSettings::polite(23, 10)).unwrap());
    let (_runtime, server) = served(&web);
    let connect = resolver(&web, &server);
    for (host, name) in web.hosts().iter().enumerate() {
        assert_eq!(connect(name), server.addresses()[host % 10], "{name}");
    }
}

#[test]
fn a_page_that_fails_at_first_says_when_to_come_again() {
    let shares = Shares { too_many: 5_000, unavailable: 5_000, ..Shares::default() };
    let web =
        Web::new(WebSettings { shares, failures: 2, retry_after_s: 9, ..WebSettings::default() }).unwrap();
    let seeds = web.seeds();
    let expected = web.expected(seeds.iter().map(String::as_str));
    let url = expected.retried.iter().next().unwrap();
    let (host, path) = url.strip_prefix("http://").unwrap().split_at(7);
    let ask = Ask { host, path, ..Ask::default() };
    let answers: Vec<_> = (0..3).map(|_| web.answer(&ask)).collect();
    let seen: Vec<_> =
        answers.iter().map(|answer| (answer.status.as_u16() > 299, answer.retry_after_s)).collect();
    assert_eq!(seen, [(true, Some(9)), (true, Some(9)), (false, None)], "{url}");
    web.forget_failures();
    assert!(web.answer(&ask).status.as_u16() > 299);
}

#[test]
fn what_has_not_changed_is_answered_304_and_what_has_is_not() {
    let settings = WebSettings { change_every: vec![5], ..WebSettings::default() };
    let web = Arc::new(Web::new(settings).unwrap());
    let (_runtime, server) = served(&web);
    let ask = |fields: &str| common::get(server.address(), &web.hosts()[1], "/", fields).unwrap();
    let first = ask("");
    let etag = first.header("etag").unwrap();
    let since = first.header("last-modified").unwrap();
    for fields in [format!("If-None-Match: {etag}\r\n"), format!("If-Modified-Since: {since}\r\n")] {
        let again = ask(&fields);
        assert_eq!((again.status, again.body.len()), (304, 0));
    }
    web.set_tick(10);
    for fields in [format!("If-None-Match: {etag}\r\n"), format!("If-Modified-Since: {since}\r\n")] {
        let changed = ask(&fields);
        assert_eq!(changed.status, 200);
        assert!(changed.body != first.body);
    }
}

#[test]
fn a_client_of_a_proxy_is_answered_too() {
    let web = Arc::new(Web::new(WebSettings::demo()).unwrap());
    let (_runtime, server) = served(&web);
    let reply = common::get(server.address(), "proxy", "http://en.formica.test/", "").unwrap();
    assert_eq!(reply.status, 200);
    assert_eq!(server.log().entries()[0].url(), "http://en.formica.test/");
}

#[test]
fn planted_violations_are_seen_in_a_real_log() {
    let web = Arc::new(Web::new(WebSettings::polite(4, 2)).unwrap());
    let (_runtime, server) = served(&web);
    let connect = resolver(&web, &server);
    let host = &web.hosts()[0];
    let seeds = web.seeds();
    let expected = web.expected(seeds.iter().map(String::as_str));
    let private = expected.disallowed.iter().find(|url| url.contains(host.as_str())).unwrap();
    let private = &private[7 + host.len()..];
    for path in ["/", "/robots.txt", "/", private] {
        common::get(connect(host), host, path, "").unwrap();
    }
    let allows = |host: &str, path: &str| web.allows(host, path);
    let expect = Expect::of(&web, Duration::from_secs(1), Duration::from_millis(200));
    let found = politeness::check(&server.log().entries(), &Expect { allows: Some(&allows), ..expect });
    let count = |wanted: fn(&Violation) -> bool| found.iter().filter(|one| wanted(one)).count();
    assert_eq!(count(|one| matches!(one, Violation::HostSpacing { .. })), 3);
    assert_eq!(count(|one| matches!(one, Violation::AddressSpacing { .. })), 3);
    assert_eq!(count(|one| matches!(one, Violation::BeforeRobots { .. })), 1);
    assert_eq!(count(|one| matches!(one, Violation::Disallowed { .. })), 1);
    assert_eq!(count(|one| matches!(one, Violation::Again { .. })), 1);
    assert_eq!(found.len(), 9, "{found:#?}");
}

#[test]
fn a_kind_is_known_by_its_url() {
    let web = Web::new(WebSettings::everything(1)).unwrap();
    let seeds = web.seeds();
    let expected = web.expected(seeds.iter().map(String::as_str));
    assert_eq!(web.kind(&seeds[0]), Some(Kind::Plain));
    assert!(expected.redirects.keys().any(|url| web.kind(url) == Some(Kind::Redirect)));
    assert_eq!(web.kind("http://elsewhere.test/"), None);
}
