//! Crawls about a topic: what is likely on topic comes first, and nothing is lost, or fetched twice, for that.

use crate::check;
use crate::driver::Driver;
use crate::web::{Dice, Shape, Web};
use crate::{DAY, config, forgetful, impatient, ms, seeds};
use anthill_agent::Config;
use anthill_agent::focus::Settings;
use anthill_agent::io::{CrawlSpec, Input};
use anthill_crawler::focus::bayes::Model;
use anthill_crawler::focus::reader::About;
use anthill_crawler::frontier::Others;
use anthill_protocol::outlook::{Wanted, Worths};
use std::sync::Arc;

const WIDE: Shape = Shape { hosts: 12, addresses: 12, pages: 30, links: 8, trouble: false };

/// Every third host is on topic.
fn relevance(url: &str) -> u16 {
    let host: usize = url.trim_start_matches("http://h").get(..3).and_then(|n| n.parse().ok()).unwrap_or(0);
    if host.is_multiple_of(3) { 950 } else { 30 }
}

fn about(levels: u8, config: Config) -> Config {
    Config {
        focus: Some(Settings { about: About::Examples(Arc::new(Model::unknowing())), levels, rules: true }),
        ..config
    }
}

fn crawled(config: Config, shape: Shape, seed: u64) -> (Driver, Vec<String>) {
    let web = Web::new(seed, shape);
    let seeds = seeds(&web);
    let mut driver = Driver::new(config, web, seed);
    driver.relevance = Some(relevance);
    driver.crawl(1, &seeds, CrawlSpec::default());
    (driver, seeds)
}

/// Of the first `n` pages, how many are on topic.
fn harvest(driver: &Driver, n: usize) -> usize {
    let pages = driver.requests.iter().filter(|r| !r.robots && r.status == Some(200)).take(n);
    pages.filter(|request| relevance(&request.url) > 500).count()
}

#[test]
fn what_is_likely_on_topic_comes_first_and_all_the_rest_after_it() {
    let (mut with, mut without) = (0, 0);
    for seed in 0..10 {
        let (mut plain, _) = crawled(config(100, 0), WIDE, seed);
        assert!(plain.run_until_idle(DAY));
        let (mut driver, seeds) = crawled(about(4, config(100, 0)), WIDE, seed);
        assert!(driver.run_until_idle(DAY), "seed {seed}: {:?}", driver.agent.counts());
        check::complete(&driver, &seeds);
        check::politeness(&driver, ms(100), ms(0));
        with += harvest(&driver, 60);
        without += harvest(&plain, 60);
    }
    assert!(with * 2 > without * 3, "{with} and {without} of 600");
}

/// Pages off topic that were fetched so far.
fn off_topic(driver: &Driver) -> usize {
    let pages = driver.requests.iter().filter(|r| !r.robots && r.status == Some(200));
    pages.filter(|request| relevance(&request.url) < 500).count()
}

#[test]
fn while_other_peers_get_on_with_what_is_better_the_worse_waits_here() {
    let (mut driver, seeds) = crawled(about(4, config(100, 0)), WIDE, 0);
    let hear = |driver: &mut Driver, given| {
        let mut others = Others::default();
        others.add(Wanted { given, near: 1 });
        driver.tell(Input::Others(others, Worths::default()));
        let end = driver.now + ms(1_000);
        driver.run_for(ms(1_000));
        driver.now = driver.now.max(end);
    };
    (0..10).for_each(|second| hear(&mut driver, 10 * second));
    let before = off_topic(&driver);
    (10..40).for_each(|second| hear(&mut driver, 10 * second));
    let meanwhile = off_topic(&driver) - before;
    // Of 300 permits of others a fiftieth, and of that half, for what waits here; and one a minute.
    assert!((1..=5).contains(&meanwhile), "{meanwhile} after {before}");
    (0..300).for_each(|_| hear(&mut driver, 390));
    assert!(off_topic(&driver) > before + 100, "they do not get on: {}", off_topic(&driver));
    driver.tell(Input::Others(Others::default(), Worths::default()));
    assert!(driver.run_until_idle(DAY), "{:?}", driver.agent.counts());
    check::complete(&driver, &seeds);
}

#[test]
fn entries_that_go_to_worse_levels_are_fetched_once_whatever_is_forgotten_or_breaks() {
    let mut moves = 0;
    for seed in 0..40 {
        let mut dice = Dice(seed);
        let config = about(1 + (seed % 6) as u8, config(50, 0));
        let config = if seed % 2 == 0 { config } else { impatient(forgetful(config)) };
        let shape = Shape { trouble: seed % 4 > 1, ..WIDE };
        let (mut driver, seeds) = crawled(config, shape, seed);
        while driver.store.seen.len() < seeds.len() {
            driver.run_inputs(1);
        }
        for _ in 0..seed % 3 {
            driver.run_inputs(1 + dice.below(600));
            driver.crash(ms(dice.below(3_000)));
        }
        assert!(driver.run_until_idle(DAY), "seed {seed}: {:?}", driver.agent.counts());
        driver.run_for(DAY * 9);
        check::complete(&driver, &seeds);
        moves += driver.store.moves;
    }
    assert!(moves > 100, "{moves}");
}
