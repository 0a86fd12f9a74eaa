//! Whole crawls in virtual time: an agent, a store and a web in memory, everything from a seed.

mod check;
mod driver;
mod importance;
mod store;
mod topic;
mod web;

use anthill_agent::Config;
use anthill_agent::io::{CrawlSpec, Input};
use anthill_crawler::exclusion::{Exclusion, Exclusions, Pattern};
use anthill_crawler::frontier::{self, Waiting, politeness, revisit};
use anthill_crawler::record::{CrawlId, Scope, UrlState};
use driver::Driver;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use web::{Dice, Page, Robots, Shape, Web, link};

const DAY: Duration = Duration::from_secs(86_400);
const QUIET: Shape = Shape { hosts: 6, addresses: 3, pages: 20, links: 6, trouble: false };
const TROUBLED: Shape = Shape { hosts: 9, addresses: 3, pages: 15, links: 5, trouble: true };

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn config(host_delay_ms: u64, ip_delay_ms: u64) -> Config {
    Config {
        frontier: frontier::Config {
            host_delay: ms(host_delay_ms),
            ip_delay: ms(ip_delay_ms),
            max_in_flight: 20,
            max_unmade: 20,
            ..frontier::Config::default()
        },
        revisit: None,
        ..Config::default()
    }
}

/// Memory so small that fronts and hosts are forgotten all the time.
fn forgetful(mut config: Config) -> Config {
    config.frontier.front_urls = 12;
    config.frontier.idle_hosts = 1;
    config
}

/// Waits so short that only what hosts ask for holds them off for long.
fn impatient(mut config: Config) -> Config {
    config.frontier.backoff_base = ms(10);
    config
}

fn seeds(web: &Web) -> Vec<String> {
    vec![web.url(0, 0), web.url(1, 0)]
}

fn crawled(config: Config, web: Web, seed: u64) -> (Driver, Vec<String>) {
    let seeds = seeds(&web);
    let mut driver = Driver::new(config, web, seed);
    driver.crawl(1, &seeds, CrawlSpec::default());
    (driver, seeds)
}

#[test]
fn every_reachable_url_is_fetched_exactly_once_and_robots_txt_once_per_host() {
    for seed in 0..10 {
        let (mut driver, seeds) = crawled(config(0, 0), Web::new(seed, QUIET), seed);
        assert!(driver.run_until_idle(DAY));
        check::complete(&driver, &seeds);
        let robots = driver.requests.iter().filter(|request| request.robots).count();
        assert_eq!(robots, driver.web.hosts.len());
        let crawl = driver.agent.crawls().next().expect("one crawl");
        assert_eq!(crawl.record.fetched, driver.web.truth(&seeds).1.len() as u64);
        assert_eq!(crawl.record.untried, 0);
        assert!(crawl.record.excluded > 0);
        assert_eq!(driver.store.crawls[&crawl.record.id], *crawl.record, "the written counts are final");
        assert!(driver.peak > 1 && driver.peak <= 20);
    }
}

#[test]
fn politeness_holds_on_a_web_full_of_trouble_and_everything_is_found_in_the_end() {
    for seed in 0..60 {
        let delays = [(0, 0), (200, 100), (100, 300), (1_000, 0), (0, 50)][seed as usize % 5];
        let config = config(delays.0, delays.1);
        let config = if seed % 2 == 0 { config } else { impatient(forgetful(config)) };
        let (mut driver, seeds) = crawled(config, Web::new(seed, TROUBLED), seed);
        assert!(driver.run_until_idle(DAY), "seed {seed}: {:?}", driver.agent.counts());
        driver.run_for(DAY * 9);
        check::politeness(&driver, ms(delays.0), ms(delays.1));
        check::complete(&driver, &seeds);
    }
}

#[test]
fn a_crash_at_any_moment_loses_nothing_and_repeats_only_what_was_in_flight() {
    for seed in 0..60 {
        let mut dice = Dice(seed);
        let config = config(100, 50);
        let config = if seed % 2 == 0 { config } else { impatient(forgetful(config)) };
        let (mut driver, seeds) = crawled(config, Web::new(seed, TROUBLED), seed);
        // The answer to the crawl is what makes it acknowledged.
        while driver.store.seen.len() < seeds.len() {
            driver.run_inputs(1);
        }
        for _ in 0..1 + seed % 8 {
            driver.run_inputs(1 + dice.below(400));
            driver.crash(ms(dice.below(3_000)));
        }
        assert!(driver.run_until_idle(DAY), "seed {seed}: {:?}", driver.agent.counts());
        driver.run_for(DAY * 9);
        check::politeness(&driver, ms(100), ms(50));
        check::complete(&driver, &seeds);
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let (mut driver, _) = crawled(forgetful(config(100, 50)), Web::new(7, TROUBLED), seed);
        driver.run_inputs(700);
        driver.crash(ms(700));
        driver.run_until_idle(DAY);
        driver.log
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn public_hosts_are_never_asked_faster_than_the_least_delays_whatever_the_settings() {
    let web = Web::new(3, QUIET);
    let seeds = seeds(&web);
    let mut driver = Driver::new(config(0, 0), web, 3);
    driver.local = false;
    driver.crawl(1, &seeds, CrawlSpec::default());
    assert!(driver.run_until_idle(DAY));
    check::politeness(&driver, ms(500), ms(100));
    check::complete(&driver, &seeds);
}

#[test]
fn a_crawl_ends_at_its_limit_of_pages_and_not_one_later() {
    for seed in 0..10 {
        let web = Web::new(seed, TROUBLED);
        let seeds = seeds(&web);
        if web.truth(&seeds).1.len() < 30 {
            continue;
        }
        let mut driver = Driver::new(config(10, 0), web, seed);
        driver.crawl(1, &seeds, CrawlSpec { max_pages: Some(17), ..CrawlSpec::default() });
        assert!(driver.run_until_idle(DAY), "seed {seed}");
        let pages = driver.requests.iter().filter(|r| !r.robots && r.status == Some(200)).count();
        assert_eq!(pages, 17, "seed {seed}");
        driver.run_for(DAY * 9);
        assert!(driver.store.queues.is_empty() && driver.store.due.is_empty(), "what is left is discarded");
        assert_eq!(driver.store.crawls[&CrawlId(1)].ended.as_deref(), Some("page limit"));
        let pages = driver.requests.iter().filter(|r| !r.robots && r.status == Some(200)).count();
        assert_eq!(pages, 17, "seed {seed}");
    }
}

#[test]
fn limits_of_depth_sites_and_scope_are_kept() {
    let run = |spec: CrawlSpec| {
        let web = Web::new(2, QUIET);
        let seeds = vec![web.url(0, 0)];
        let mut driver = Driver::new(config(0, 0), web, 2);
        driver.crawl(1, &seeds, spec);
        assert!(driver.run_until_idle(DAY));
        driver
    };
    let asked = |driver: &Driver| {
        driver.requests.iter().filter(|r| !r.robots).map(|r| r.url.clone()).collect::<Vec<_>>()
    };
    let seed_only = run(CrawlSpec { max_depth: Some(0), ..CrawlSpec::default() });
    assert_eq!(asked(&seed_only).len(), 1);
    let one_step = run(CrawlSpec { max_depth: Some(1), ..CrawlSpec::default() });
    assert!(asked(&one_step).len() > 1 && asked(&one_step).len() < 12);

    let host = run(CrawlSpec { scope: Scope::Host, ..CrawlSpec::default() });
    assert!(
        asked(&host).len() > 1 && asked(&host).iter().all(|url| url.starts_with("http://h000.site0.test/"))
    );
    let site = run(CrawlSpec { scope: Scope::Site, ..CrawlSpec::default() });
    assert!(asked(&site).len() > asked(&host).len());
    assert!(asked(&site).iter().all(|url| url.contains(".site0.test/")));
    let prefix = run(CrawlSpec { scope: Scope::Prefix, ..CrawlSpec::default() });
    assert!(asked(&prefix).iter().all(|url| url.starts_with("http://h000.site0.test/p/")));
    assert!(asked(&prefix).len() < asked(&site).len());
    let one_site = run(CrawlSpec { max_sites: Some(1), ..CrawlSpec::default() });
    assert_eq!(asked(&one_site).iter().collect::<BTreeSet<_>>(), asked(&site).iter().collect());
}

#[test]
fn a_limit_of_sites_holds_over_restarts_also_for_sites_that_are_done() {
    for seed in 0..10 {
        let mut dice = Dice(seed);
        let shape = Shape { hosts: 18, ..QUIET };
        let web = Web::new(seed, shape);
        let seeds = vec![web.url(0, 0)];
        let mut driver = Driver::new(config(20, 0), web, seed);
        driver.crawl(1, &seeds, CrawlSpec { max_sites: Some(3), ..CrawlSpec::default() });
        while driver.store.seen.is_empty() {
            driver.run_inputs(1);
        }
        for _ in 0..6 {
            driver.run_inputs(1 + dice.below(300));
            driver.crash(ms(dice.below(500)));
        }
        assert!(driver.run_until_idle(DAY), "seed {seed}");
        let sites: BTreeSet<_> = driver.requests.iter().map(|request| request.host.site()).collect();
        assert!(sites.len() <= 3, "seed {seed}: {}", sites.len());
    }
}

#[test]
fn a_seed_that_redirects_takes_its_scope_along_also_after_a_restart() {
    let mut web = Web::new(2, QUIET);
    web.hosts[0].pages[0].0 = Page::Redirect(5, 0);
    let seeds = vec![web.url(0, 0)];
    let mut driver = Driver::new(config(500, 0), web, 2);
    driver.crawl(1, &seeds, CrawlSpec { scope: Scope::Host, ..CrawlSpec::default() });
    while !driver.requests.iter().any(|request| request.url.contains("h005") && !request.robots) {
        driver.run_inputs(1);
    }
    driver.crash(ms(100));
    assert!(driver.run_until_idle(DAY));
    let there = driver.requests.iter().filter(|r| !r.robots && r.url.starts_with("http://h005.")).count();
    assert!(there > 5, "{there}");
}

#[test]
fn a_crawl_ends_when_its_time_is_over_or_somebody_says_so() {
    let web = Web::new(2, QUIET);
    let seeds = seeds(&web);
    let mut driver = Driver::new(config(1_000, 0), web, 2);
    let spec = CrawlSpec { max_time: Some(Duration::from_secs(5)), ..CrawlSpec::default() };
    driver.crawl(1, &seeds, spec);
    driver.run_for(Duration::from_secs(8));
    assert!(driver.agent.idle());
    let asked = driver.requests.len();
    assert!(asked > 2 && driver.requests.iter().all(|r| r.sent.since(driver::START) < ms(5_100)));
    driver.run_for(DAY);
    assert_eq!(driver.requests.len(), asked);
    assert!(driver.store.queues.is_empty());

    driver.crawl(2, &seeds, CrawlSpec::default());
    driver.run_for(Duration::from_secs(4));
    assert!(driver.requests.len() > asked, "seeds are asked for again");
    driver.tell(Input::EndCrawl(CrawlId(2), "enough".into()));
    driver.run_for(Duration::from_secs(2));
    let asked = driver.requests.len();
    driver.run_for(DAY);
    assert_eq!(driver.requests.len(), asked);
    assert_eq!(driver.store.crawls[&CrawlId(2)].ended.as_deref(), Some("enough"));
}

#[test]
fn a_pause_lets_in_flight_requests_end_and_gives_no_others() {
    let (mut driver, seeds) = crawled(config(50, 0), Web::new(2, QUIET), 2);
    driver.run_for(Duration::from_secs(1));
    driver.tell(Input::Pause("the disk is full".into()));
    driver.run_for(Duration::from_secs(1));
    let asked = driver.requests.len();
    assert_eq!(driver.agent.counts().permits, 0);
    let host = link(&seeds[0]).host;
    let waiting = driver.agent.host_view(host).expect("it has a queue").waiting;
    assert_eq!(waiting, Waiting::Paused("the disk is full".into()));
    driver.run_for(Duration::from_secs(60));
    assert_eq!(driver.requests.len(), asked);
    driver.tell(Input::Resume);
    assert!(driver.run_until_idle(DAY));
    check::complete(&driver, &seeds);
}

#[test]
fn what_is_excluded_is_not_asked_for_from_then_on() {
    let (mut driver, _) = crawled(config(50, 0), Web::new(2, QUIET), 2);
    driver.run_for(Duration::from_secs(1));
    let mut exclusions = Exclusions::default();
    let exclusion = Exclusion {
        pattern: Pattern::parse("host:h002.site0.test").expect("a pattern"),
        scope: anthill_crawler::exclusion::Scope::Crawl,
        reason: String::new(),
        issuer: String::new(),
        seq: 0,
        created_s: 0,
    };
    exclusions.insert(exclusion).expect("room");
    driver.tell(Input::Exclusions(Arc::new(exclusions)));
    let at = driver.now;
    assert!(driver.run_until_idle(DAY));
    let late = driver.requests.iter().filter(|r| r.url.contains("//h002.") && !r.robots);
    assert_eq!(late.filter(|r| r.sent > at + ms(30)).count(), 0);
    let excluded = driver.store.records.values().filter(|r| matches!(r.state, UrlState::Excluded(_))).count();
    assert!(excluded > 0);
}

#[test]
fn a_dead_host_keeps_no_crawl_from_ending_and_is_tried_again_later() {
    let mut web = Web::new(2, QUIET);
    web.hosts[2].robots = Robots::Never;
    for page in &mut web.hosts[3].pages {
        page.0 = Page::Unreachable(u32::MAX);
    }
    let seeds = seeds(&web);
    let mut driver = Driver::new(config(50, 0), web, 2);
    driver.no_such_name = vec![driver.web.hosts[4].name.clone()];
    driver.crawl(1, &seeds, CrawlSpec::default());
    assert!(driver.run_until_idle(Duration::from_secs(3_600)));
    let to = |driver: &Driver, name: &str| driver.requests.iter().filter(|r| r.url.contains(name)).count();
    let (second, third) = (to(&driver, "//h002."), to(&driver, "//h003."));
    assert!(second >= 1 && third >= 1, "{second} {third}");
    assert_eq!(to(&driver, "//h004."), 0);
    assert!(!driver.store.due.is_empty());
    driver.run_for(DAY * 9);
    assert!(to(&driver, "//h002.") > second && to(&driver, "//h003.") > third);
    assert!(to(&driver, "//h003.") < 200, "it is left alone most of the time");
    assert!(driver.store.due.is_empty() && driver.store.queues.is_empty(), "given up in the end");
    assert!(driver.agent.crawls().all(|crawl| crawl.record.failed > 20));
    check::politeness(&driver, ms(50), Duration::ZERO);
}

#[test]
fn a_host_that_answered_and_then_refuses_keeps_no_crawl_from_ending_for_longer_than_one_short_pause() {
    for seed in 0..10 {
        let mut web = Web::new(seed, QUIET);
        for page in web.hosts[3].pages.iter_mut().skip(1) {
            page.0 = Page::Unreachable(u32::MAX);
        }
        let seeds = vec![web.url(3, 0), web.url(0, 0)];
        let mut driver = Driver::new(config(50, 0), web, seed);
        driver.crawl(1, &seeds, CrawlSpec::default());
        assert!(
            driver.run_until_idle(politeness::WORTH_WAITING * 2),
            "seed {seed}: {:?}",
            driver.agent.counts()
        );
        let to = |driver: &Driver| {
            driver.requests.iter().filter(|r| r.url.contains("//h003.") && !r.robots).count()
        };
        let refused = to(&driver) - 1;
        assert_eq!(refused, 2, "it is given one more chance");
        let crawl = driver.agent.crawls().next().expect("one crawl");
        assert!(crawl.done && crawl.record.untried == 0);
        driver.run_for(DAY * 9);
        assert!(to(&driver) > refused + 5, "it is asked again later");
        check::politeness(&driver, ms(50), Duration::ZERO);
    }
}

#[test]
fn pages_are_visited_again_within_the_bounds_and_robots_txt_once_a_day() {
    let web = Web::new(2, QUIET);
    let seeds = seeds(&web);
    let hour = Duration::from_secs(3_600);
    let settings = revisit::Settings { min: hour, max: hour * 48, first: hour * 12 };
    let mut driver = Driver::new(Config { revisit: Some(settings), ..config(50, 0) }, web, 2);
    driver.crawl(1, &seeds, CrawlSpec::default());
    driver.run_for(DAY * 10);
    let first = driver.requests.iter().filter(|request| request.url == seeds[0]).collect::<Vec<_>>();
    let gaps: Vec<_> = first.windows(2).map(|pair| pair[1].sent.since(pair[0].sent)).collect();
    assert!(gaps.len() >= 4 && gaps.len() <= 20, "{gaps:?}");
    assert!(gaps[0] >= hour * 12 && gaps[0] < hour * 14, "{gaps:?}");
    assert!(gaps.iter().all(|gap| *gap <= hour * 53), "it never changes: {gaps:?}");
    let record = &driver.store.records[&link(&seeds[0]).id];
    assert_eq!(record.visits as usize, first.len());
    assert_eq!(record.changes, 0);
    for host in &driver.web.hosts {
        let robots = format!("http://{}/robots.txt", host.name);
        let sent: Vec<_> = driver.requests.iter().filter(|r| r.url == robots).map(|r| r.sent).collect();
        assert!(sent.len() >= 3 && sent.windows(2).all(|pair| pair[1].since(pair[0]) >= DAY), "{sent:?}");
    }
    assert!(driver.agent.idle(), "revisits keep nobody waiting");
    check::politeness(&driver, ms(50), Duration::ZERO);
}
