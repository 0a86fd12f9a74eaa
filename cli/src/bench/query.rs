//! `anthill bench query`: the latency of one index, in process, without HTTP and snippets.

use super::percentile;
use crate::human;
use anthill_index::{Index, Query, SearchOptions, Settings};
use anyhow::{Context, ensure};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// What is asked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of an index: DATA/index of a peer that is not running
    #[arg(long, value_name = "DIR")]
    index: PathBuf,
    /// Queries, one a line
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// Times all queries are asked; the round of median rate is told
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// Asks, and prints p50, p99 and rate: top 10 with URL and title, duplicates grouped, matches not counted.
///
/// # Errors
/// The index or the file cannot be read.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let text = std::fs::read_to_string(&args.queries)
        .with_context(|| format!("{} cannot be read", args.queries.display()))?;
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    ensure!(
        !lines.is_empty() && args.rounds > 0,
        "there is nothing to ask: give queries, and one round at least"
    );
    let index = Index::open(&args.index, Settings::default())
        .with_context(|| format!("{} cannot be opened", args.index.display()))?;
    let searcher = index.searcher();
    let options = SearchOptions { count: false, ..SearchOptions::default() };
    let mut rounds = Vec::new();
    for _ in 0..args.rounds {
        let mut times = Vec::with_capacity(lines.len());
        let begun = Instant::now();
        for line in &lines {
            let asked = Instant::now();
            let query = Query::parse(line);
            std::hint::black_box(searcher.search(&query, 10, 0, &options)?);
            times.push(asked.elapsed().as_secs_f64() * 1e3);
        }
        let rate = lines.len() as f64 / begun.elapsed().as_secs_f64();
        times.sort_by(f64::total_cmp);
        rounds.push((rate, percentile(&times, 0.50), percentile(&times, 0.99)));
    }
    rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (rate, p50_ms, p99_ms) = rounds[rounds.len() / 2];
    human::line(serde_json::json!({
        "documents": searcher.documents(), "queries": lines.len(), "rounds": args.rounds,
        "per_s": rate, "p50_ms": p50_ms, "p99_ms": p99_ms,
    }));
    Ok(ExitCode::SUCCESS)
}
