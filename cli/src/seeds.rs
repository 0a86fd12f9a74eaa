//! `anthill seeds`: where to begin a crawl of a topic, from what the swarm has found already.

use crate::ask::{Node, Target, wait_for};
use crate::failure::{Code, Failure};
use crate::human::{clean, line};
use anthill_node::api::types::{Hit, SearchResults};
use anthill_node::api::{MAX_DEPTH, MAX_HITS};
use clap::value_parser;
use std::collections::BTreeMap;
use std::process::ExitCode;
use url::Url;

/// A topic.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints addresses of pages, a line each, the best first, for `anthill crawl` or another swarm:
  anthill seeds 'museum history' -n 50 | xargs anthill crawl")]
pub struct Args {
    /// A query, as for `anthill search`
    #[arg(allow_hyphen_values = true)]
    query: String,
    /// More words
    #[arg(value_name = "WORD")]
    more: Vec<String>,
    /// Seeds wanted
    #[arg(short, value_name = "N", default_value_t = 20, value_parser = value_parser!(u16).range(1..=1_000))]
    n: u16,
    /// Seeds of one host, at most: a crawl finds the rest of it by itself
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u16).range(1..))]
    per_host: u16,
    /// Print a line of JSON each, with title and score
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// Asks, and prints.
///
/// # Errors
/// When no node answers, or it refuses.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let node = args.target.node()?;
    let query = [std::slice::from_ref(&args.query), &args.more].concat().join(" ");
    let (seeds, complete) = wait_for(best(&node, &query, args.n.into(), args.per_host.into()))?;
    for seed in &seeds {
        match args.json {
            true => line(serde_json::json!({"url": seed.url, "title": seed.title, "score": seed.score})),
            false => line(clean(&seed.url)),
        };
    }
    if seeds.is_empty() {
        eprintln!("anthill: nothing is known of that; begin with pages that you know: anthill crawl URL");
        return Ok(Code::Failed.into());
    }
    if !complete {
        eprintln!("anthill: not all peers answered; there may be better ones");
    }
    Ok(ExitCode::SUCCESS)
}

/// The best `wanted` hits, few of each host; and whether all peers were asked.
///
/// # Errors
/// When no node answers, or it refuses.
pub async fn best(
    node: &Node,
    query: &str,
    wanted: usize,
    per_host: usize,
) -> Result<(Vec<Hit>, bool), Failure> {
    let mut seeds = Seeds::new(wanted, per_host);
    let (mut offset, mut complete) = (0, true);
    while !seeds.enough() && offset < MAX_DEPTH {
        let page = [("q", query.to_owned()), ("n", MAX_HITS.to_string()), ("offset", offset.to_string())];
        let found: SearchResults = node.get(&["search"], &page).await?.read()?;
        complete &= found.coverage.complete;
        let last = found.hits.len() < MAX_HITS;
        offset += MAX_HITS;
        found.hits.into_iter().for_each(|hit| seeds.take(hit));
        if last {
            break;
        }
    }
    Ok((seeds.taken, complete))
}

/// The best hits, few of each host.
struct Seeds {
    taken: Vec<Hit>,
    by_host: BTreeMap<String, usize>,
    wanted: usize,
    per_host: usize,
}

impl Seeds {
    fn new(wanted: usize, per_host: usize) -> Seeds {
        Seeds { taken: Vec::new(), by_host: BTreeMap::new(), wanted, per_host }
    }

    fn enough(&self) -> bool {
        self.taken.len() >= self.wanted
    }

    fn take(&mut self, hit: Hit) {
        // What is no URL was never fetched.
        let Ok(url) = Url::parse(&hit.url) else { return };
        let of_host = self.by_host.entry(url.host_str().unwrap_or_default().to_owned()).or_default();
        if self.taken.len() < self.wanted && *of_host < self.per_host {
            *of_host += 1;
            self.taken.push(hit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_the_best_hits_and_few_of_each_host() {
        let mut seeds = Seeds::new(3, 2);
        for url in [
            "http://a.test/1",
            "http://a.test/2",
            "http://a.test/3",
            "no url",
            "http://b.test/",
            "http://c.test/",
        ] {
            assert!(seeds.taken.len() <= 3);
            seeds.take(Hit { url: url.into(), ..Hit::default() });
        }
        let urls: Vec<&str> = seeds.taken.iter().map(|hit| hit.url.as_str()).collect();
        assert_eq!(urls, ["http://a.test/1", "http://a.test/2", "http://b.test/"]);
        assert!(seeds.enough());
    }
}
