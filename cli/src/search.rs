//! `anthill search`: ask the swarm.

use crate::ask::{Target, wait_for};
use crate::failure::{Code, Failure};
use crate::human::{Page, json_line};
use anthill_node::api::types::{Coverage, SearchResults};
use anthill_node::api::{MAX_DEPTH, MAX_HITS};
use clap::value_parser;
use std::process::ExitCode;

/// A query.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A query is words, of which any may match and pages with all come first; +word must be there, -word must not; \
\"words in this order\"; a OR b; site:example.org host:www.example.org lang:en title:word url:word.")]
pub struct Args {
    /// Words and what goes with them (see below); in quotes where it has -word or "words"
    #[arg(allow_hyphen_values = true)]
    query: String,
    /// More words
    #[arg(value_name = "WORD")]
    more: Vec<String>,
    /// Hits wanted
    #[arg(short, value_name = "N", default_value_t = 10, value_parser = value_parser!(u16).range(1..=MAX_HITS as i64))]
    pub n: u16,
    /// Hits left out at the beginning
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value_parser!(u16).range(0..=(MAX_DEPTH - 1) as i64))]
    offset: u16,
    /// Exit with 4 unless everything that was crawled was asked
    #[arg(long)]
    require_full: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

impl Args {
    /// The query, however many words were typed apart.
    pub fn query(&self) -> String {
        [std::slice::from_ref(&self.query), &self.more].concat().join(" ")
    }
}

/// Asks.
///
/// # Errors
/// When no node answers, or it refuses.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let node = args.target.node()?;
    let query = [("q", args.query()), ("n", args.n.to_string()), ("offset", args.offset.to_string())];
    let answer = wait_for(node.get(&["search"], &query))?;
    let results: SearchResults = answer.read()?;
    if args.json {
        json_line(answer.text());
    } else {
        let mut page = Page::new();
        write(&mut page, &results);
        page.show();
    }
    if args.require_full && !results.coverage.complete {
        if args.json {
            eprintln!("anthill: {}", coverage(&results.coverage));
        }
        return Ok(Code::Partial.into());
    }
    Ok(ExitCode::SUCCESS)
}

fn write(page: &mut Page, results: &SearchResults) {
    for hit in &results.hits {
        let title = if hit.title.trim().is_empty() { &hit.url } else { &hit.title };
        page.bold(&format!("{:>2}. {title}", hit.rank));
        page.link(&format!("    {}", hit.url));
        if !hit.snippet.is_empty() {
            page.snippet("    ", &hit.snippet);
        }
        let day = hit.fetched_at.as_deref().map(|at| at.chars().take(10).collect::<String>());
        let facts: Vec<String> = [hit.lang.clone(), day].into_iter().flatten().collect();
        if !facts.is_empty() {
            page.quiet(&format!("    {}", facts.join(" · ")));
        }
    }
    for note in &results.notes {
        page.line(&format!("note: {note}"));
    }
    page.quiet(&format!(
        "{} in {:.1} ms; {}",
        match results.total {
            0 => "nothing found".to_owned(),
            1 => "1 page".to_owned(),
            n => format!("{n} pages"),
        },
        results.took_ms,
        coverage(&results.coverage)
    ));
}

fn coverage(coverage: &Coverage) -> String {
    if coverage.complete {
        return format!(
            "everything was asked ({} of {} peers)",
            coverage.peers_answered, coverage.peers_asked
        );
    }
    format!(
        "not everything was asked: {} of {} peers answered, {} documents in {} slots are missing",
        coverage.peers_answered, coverage.peers_asked, coverage.documents_missing, coverage.slots_missing
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use anthill_node::api::types::Hit;

    #[test]
    fn hits_are_numbered_with_title_address_and_snippet() {
        let hit = Hit {
            rank: 11,
            url: "http://a.test/".to_owned(),
            title: "All \u{1b}ants".to_owned(),
            snippet: "of <b>ants</b>".to_owned(),
            lang: Some("en".to_owned()),
            fetched_at: Some("2026-11-20T01:02:03Z".to_owned()),
            ..Hit::default()
        };
        let coverage = Coverage { complete: true, peers_asked: 1, peers_answered: 1, ..Coverage::default() };
        let results =
            SearchResults { total: 12, took_ms: 1.26, coverage, hits: vec![hit], ..SearchResults::default() };
        let mut page = Page::plain();
        write(&mut page, &results);
        assert_eq!(
            page.text(),
            "11. All \u{fffd}ants\n    http://a.test/\n    of *ants*\n    en · 2026-11-20\n\
             12 pages in 1.3 ms; everything was asked (1 of 1 peers)\n"
        );
    }
}
