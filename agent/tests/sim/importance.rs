//! How important pages are found to be: PageRank, whatever the order of visits was; and who is important comes first.

use crate::driver::Driver;
use crate::web::{Shape, Web, link};
use crate::{DAY, QUIET, config, crawled, ms};
use anthill_agent::Config;
use anthill_agent::importance::MILLIONTHS;
use anthill_crawler::frontier::revisit;
use anthill_protocol::key::UrlId;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Links between pages that were fetched, by page, and how many links each page has in all.
fn graph(driver: &Driver) -> BTreeMap<UrlId, (BTreeSet<UrlId>, usize)> {
    let web = &driver.web;
    let mut graph = BTreeMap::new();
    for (h, host) in web.hosts.iter().enumerate() {
        for (p, (_, links)) in host.pages.iter().enumerate() {
            let id = link(&web.url(h, p)).id;
            let targets: BTreeSet<UrlId> =
                links.iter().map(|(h, p)| link(&web.url(*h, *p)).id).filter(|to| *to != id).collect();
            let links = targets.len();
            graph.insert(id, (targets, links));
        }
    }
    graph.retain(|id, _| driver.store.records.get(id).is_some_and(|record| record.visits > 0));
    graph
}

/// PageRank, times the number of pages; what leads to pages that are not there is lost.
fn pagerank(graph: &BTreeMap<UrlId, (BTreeSet<UrlId>, usize)>) -> BTreeMap<UrlId, f64> {
    let begin: BTreeMap<UrlId, f64> = graph.keys().map(|id| (*id, 0.15)).collect();
    let mut rank = begin.clone();
    for _ in 0..200 {
        let mut next = begin.clone();
        for (id, (targets, links)) in graph {
            for target in targets {
                if let Some(came) = next.get_mut(target) {
                    *came += 0.85 * rank[id] / *links as f64;
                }
            }
        }
        rank = next;
    }
    rank
}

/// The most that a page's importance, with what came to it since, differs from its PageRank, as a part of that.
fn error(driver: &Driver) -> f64 {
    let graph = graph(driver);
    assert!(graph.len() > 50, "{}", graph.len());
    let off = pagerank(&graph).into_iter().map(|(id, rank)| {
        let found = driver.store.records[&id].importance + driver.agent.cash_of(&id);
        (found as f64 / MILLIONTHS - rank).abs() / rank
    });
    off.fold(0.0, f64::max)
}

#[test]
fn what_comes_to_pages_in_the_end_is_their_pagerank() {
    for seed in 0..4 {
        let often = Duration::from_secs(10);
        let revisit = Some(revisit::Settings { min: often, max: often, first: often });
        let config = Config { revisit, ..config(10, 0) };
        let (mut driver, _) = crawled(config, Web::new(seed, QUIET), seed);
        assert!(driver.run(DAY, |driver| driver.requests.len() > 90));
        driver.run_for(Duration::from_secs(12));
        let first = error(&driver);
        driver.run_for(Duration::from_secs(400));
        let last = error(&driver);
        assert!(first > 0.02 && last < 1e-3, "seed {seed}: {first}, then {last}");
    }
}

#[test]
fn a_crash_loses_some_of_it_and_visits_go_on() {
    let often = Duration::from_secs(10);
    let revisit = Some(revisit::Settings { min: often, max: often, first: often });
    let (mut driver, _) = crawled(Config { revisit, ..config(10, 0) }, Web::new(1, QUIET), 1);
    driver.run_for(Duration::from_secs(60));
    driver.crash(ms(500));
    driver.run_for(Duration::from_secs(400));
    let lost = error(&driver);
    assert!(lost > 1e-3 && lost < 0.5, "{lost}");
}

/// Where in the order of requests the most important tenth of pages is, on average.
fn place_of_the_best(important_urls: Option<usize>, seed: u64) -> f64 {
    let shape = Shape { hosts: 3, addresses: 3, pages: 80, links: 6, trouble: false };
    let mut web = Web::new(seed, shape);
    // Some pages of each host are linked to by many.
    for (_, links) in web.hosts.iter_mut().flat_map(|host| &mut host.pages) {
        links.iter_mut().step_by(2).for_each(|(_, page)| *page = 60 + *page % 8);
    }
    let mut config = config(10, 0);
    config.frontier.important_urls = important_urls;
    let (mut driver, _) = crawled(config, web, seed);
    assert!(driver.run_until_idle(DAY));
    let graph = graph(&driver);
    let mut best: Vec<(UrlId, f64)> = pagerank(&graph).into_iter().collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1));
    best.truncate(graph.len() / 10);
    let pages = driver.requests.iter().filter(|request| !request.robots);
    let order: Vec<UrlId> = pages.map(|request| link(&request.url).id).collect();
    let places = best.iter().filter_map(|(id, _)| order.iter().position(|one| one == id));
    places.sum::<usize>() as f64 / best.len() as f64 / order.len() as f64
}

#[test]
fn important_pages_are_fetched_before_others_of_their_host() {
    let mean = |urls| (0..6).map(|seed| place_of_the_best(urls, seed)).sum::<f64>() / 6.0;
    let (with, without) = (mean(Some(10_000)), mean(None));
    assert!(with < without * 0.8, "{with} and {without}");
}
